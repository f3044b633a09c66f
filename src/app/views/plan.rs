//! The view of the plan: which operators to shard within each memory limit, with cursors on a limit and on an operator.
//!
//! Not for finding the plans ([`shardscope_engine::search::planner`]).

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::{ListCursor, across};
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER, PLAN_LATER};
use crate::app::action::panel::ViewId;
use crate::app::answers::launchers::RUNS_IN;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{ANY_PLAN, View, ViewSpec, say_any_plan};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::Tuned;
use shardscope_engine::search::planner::{
    CostModel, FoundPlan, MemoryCurve, PlanAnswer, PlanRequest, PlannerObjective,
};
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "plan", name: "Operators", about: "which to shard, within a memory limit" },
    opens: "P",
    hint: "",
    keys: |keys| {
        keys.keys(&[("[ left h", Action::Left), ("] right l", Action::Right)], "limit", "less and more memory")
            .up_down("operator", "previous and next operators")
            .key("enter", Action::Take, "apply", "apply the plan to the scenario")
            .key("m", Action::Metric, "objective", "optimize throughput at any batch, or step time")
            .key("x", Action::AnyPlan, "any plan", ANY_PLAN)
            .ends("first and last operators")
            .pages("a page up and down")
    },
};

/// The question that a key steps through.
const OBJECTIVES: [PlannerObjective; 2] = [PlannerObjective::Throughput, PlannerObjective::StepTime];

/// The state of the view: its question and the answers so far.
#[derive(Debug, Clone, Default)]
pub struct PlanView {
    /// The objective, by its place in [`OBJECTIVES`].
    objective: usize,
    /// Whether plans may have what the stack lacks.
    pub any_plan: bool,
    /// The limit under the cursor, as a share of the device's memory; the scenario's own where none was chosen.
    limit: Option<f64>,
    /// The operators under the cursor.
    operator: ListCursor,
    /// The last picture.
    pub picture: Option<PlanPicture>,
}

/// A search within each limit, and what is known of it.
#[derive(Debug, Clone)]
pub struct PlanPicture {
    pub curve: Arc<MemoryCurve>,
    /// The plans within each limit: of this search, or still of the one before.
    plans: Vec<Option<PlanAnswer>>,
    /// Which of them are of this search.
    fresh: Vec<bool>,
}

impl PlanPicture {
    fn new(curve: MemoryCurve, last: Option<&Self>) -> Self {
        // What was planned within the same limit stays on the screen until its new answer comes.
        let known = |limit: &f64| {
            let last = last?;
            let place = last.curve.limits.iter().position(|other| other.total_cmp(limit).is_eq())?;
            last.plans[place].clone()
        };
        let plans: Vec<_> = curve.limits.iter().map(known).collect();
        Self { fresh: vec![false; plans.len()], curve: Arc::new(curve), plans }
    }

    fn fill(&mut self, place: usize, planned: PlanAnswer) {
        if let (Some(slot), Some(fresh)) = (self.plans.get_mut(place), self.fresh.get_mut(place)) {
            (*slot, *fresh) = (Some(planned), true);
        }
    }

    /// The plans within the limit at a place, as far as known.
    pub fn at(&self, place: usize) -> Option<&PlanAnswer> {
        self.plans.get(place)?.as_ref()
    }

    /// Whether what is known within the limit at a place is of this search.
    pub fn is_fresh(&self, place: usize) -> bool {
        self.fresh.get(place).is_some_and(|fresh| *fresh)
    }

    /// Limits that were searched, and all of them.
    pub fn progress(&self) -> (usize, usize) {
        (self.fresh.iter().filter(|fresh| **fresh).count(), self.fresh.len())
    }

    /// Whether each limit was searched.
    pub fn is_complete(&self) -> bool {
        self.fresh.iter().all(|fresh| *fresh)
    }
}

impl PlanView {
    /// The objective of the plans.
    pub fn objective(&self) -> PlannerObjective {
        OBJECTIVES[self.objective]
    }

    /// The place of the limit under the cursor.
    pub fn place(&self) -> usize {
        self.picture.as_ref().map_or(0, |picture| self.place_in(picture))
    }

    fn place_in(&self, picture: &PlanPicture) -> usize {
        let limits = &picture.curve.limits;
        let chosen = self.limit.and_then(|limit| limits.iter().position(|other| other.total_cmp(&limit).is_eq()));
        chosen.unwrap_or_else(|| picture.curve.own())
    }

    /// The plans within the limit under the cursor, as far as known.
    pub fn planned(&self) -> Option<&PlanAnswer> {
        self.picture.as_ref()?.at(self.place())
    }

    /// The plan within the limit under the cursor.
    pub fn chosen(&self) -> Option<&FoundPlan> {
        self.planned()?.plans.first()
    }

    /// The launchers that run it, in words.
    pub fn runs_in(&self) -> Option<String> {
        Some(RUNS_IN.words(&self.chosen()?.scenario))
    }

    /// The operators under the cursor, by their place in the plan.
    pub fn operator(&self) -> usize {
        self.operator.row(self.operators())
    }

    fn operators(&self) -> usize {
        self.chosen().map_or(0, |found| found.operators.len())
    }

    /// The cursor goes to a limit, by its place.
    fn choose_limit(&mut self, place: usize) {
        if let Some(picture) = &self.picture {
            self.limit = picture.curve.limits.get(place).copied().or(self.limit);
        }
    }

    /// The plan within the limit under the cursor becomes the scenario's.
    fn take(&self, context: &Context) -> Effect {
        if !self.picture.as_ref().is_some_and(|picture| picture.is_fresh(self.place())) {
            return Effect::Tell(PLAN_LATER);
        }
        let Some(found) = self.chosen() else {
            return Effect::Tell("no plan fits within this limit".into());
        };
        Effect::Revise(Box::new(with_plan(context.file, found, context.scenario)), describe(found))
    }
}

/// The plans within each memory limit, beginning with a place.
#[derive(Debug)]
pub struct CurveFill {
    pub curve: Arc<MemoryCurve>,
    pub from: usize,
}

/// The plans within a limit, by its place.
impl ViewJob for CurveFill {
    fn work(&self, job: &JobContext) {
        self.curve.run(&job.evaluator(), self.from, &|place, planned| job.tell((place, planned)));
    }
}

impl View for PlanView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => return vec![self.take(context)],
            Action::Left | Action::Right => {
                let limits = self.picture.as_ref().map_or(0, |picture| picture.curve.limits.len());
                let mut limit = ListCursor::at(self.place());
                limit.go(across(action), limits, limits);
                self.choose_limit(limit.row(limits));
            }
            Action::Metric => {
                self.objective = (self.objective + 1) % OBJECTIVES.len();
                return vec![Effect::Follow];
            }
            Action::AnyPlan => {
                self.any_plan = !self.any_plan;
                return vec![Effect::Follow, say_any_plan(self.any_plan)];
            }
            _ => {}
        }
        Vec::new()
    }

    /// The objective of the plan within the limit.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        if !self.picture.as_ref().is_some_and(|picture| picture.is_fresh(self.place())) {
            return Err(LATER);
        }
        let found = self.chosen().ok_or("no plan fits within this limit: there is nothing to explain")?;
        let figure = match self.objective() {
            PlannerObjective::StepTime => Figure::StepTime,
            PlannerObjective::Memory => Figure::Peak,
            PlannerObjective::Throughput | PlannerObjective::Devices => Figure::ModelFlops,
        };
        let whose = format!("within {}", found.summary.memory.capacity);
        Ok(Asked::Other(whose, figure, Box::new(found.scenario.clone())))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        let found = self.chosen()?;
        Some(found.operators.iter().map(|placement| found.name(placement)).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.operator()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.operator)
    }

    fn place(&self, _: &Context) -> Option<usize> {
        Some(self.place())
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        self.choose_limit(place);
        None
    }

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let (scenario, objective) = (context.shown.clone(), self.objective());
        let (cost_model, any_plan) = (CostModel::Simulator, self.any_plan);
        let curve = MemoryCurve::new(PlanRequest { scenario, objective, cost_model, top: 1, any_plan });
        let picture = match self.picture.take() {
            Some(last) if *last.curve == curve => last,
            last => PlanPicture::new(curve, last.as_ref()),
        };
        let fill = CurveFill { curve: Arc::clone(&picture.curve), from: self.place_in(&picture) };
        let open = !picture.is_complete();
        self.picture = Some(picture);
        open.then(|| Arc::new(fill) as _)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.picture.as_ref().is_some_and(|picture| !picture.is_complete())
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Ok((place, planned)) = found.take() else { return Vec::new() };
        if let Some(picture) = &mut self.picture {
            picture.fill(place, planned);
        }
        if place == self.place() { vec![Effect::Arrived] } else { Vec::new() }
    }
}

/// Fields in which the view's plans differ from the scenario, the placement of the state apart.
const CHANGED: [Field; 5] = [Field::Nodes, Field::Devices, Field::MicroBatch, Field::Accumulate, Field::Recompute];

/// The file with a plan in place of its own; of its limit only what lies beyond the scenario's own.
fn with_plan(file: &ScenarioFile, found: &FoundPlan, scenario: &Scenario) -> ScenarioFile {
    let mut file = file.with_plan(&found.scenario, CHANGED);
    if found.summary.memory.peak > scenario.capacity() {
        file.plan.put(Field::Memory, ScenarioFile::of(&found.scenario).plan.get(Field::Memory).cloned());
    }
    file
}

/// `applied the plan: micro 16, accum 1, recompute full`.
fn describe(found: &FoundPlan) -> String {
    format!("applied the plan: {}", Tuned::from(&found.scenario))
}

#[cfg(test)]
mod tests;
