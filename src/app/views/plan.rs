//! The view of the plan: which operators to shard within each memory limit, with cursors on a limit and on an operator.
//!
//! Not for finding the plans ([`crate::search::planner`]).

use std::sync::Arc;

use crate::scenario::file::ScenarioFile;
use crate::scenario::{Field, Scenario};
use crate::search::planner::{CostModel, Found, Ladder, Objective, Planned, Request};

use crate::app::action::{Action, Command};
use crate::app::update::moved;
use crate::app::work::Work;
use crate::app::{App, COMPUTING};

/// What a key steps through.
const OBJECTIVES: [Objective; 2] = [Objective::Throughput, Objective::StepTime];

/// What the view asks and what it knows.
#[derive(Debug, Clone, Default)]
pub struct Planning {
    /// What the plans are best in, by its place in [`OBJECTIVES`].
    objective: usize,
    /// The limit under the cursor, as a share of the device's memory; the scenario's own where none was chosen.
    limit: Option<f64>,
    /// The operators under the cursor.
    operator: usize,
    /// The last picture.
    pub picture: Option<Picture>,
}

/// A search within each limit, and what is known of it.
#[derive(Debug, Clone)]
pub struct Picture {
    /// What is asked.
    pub ladder: Arc<Ladder>,
    /// What was found within each limit: by this search, or still by the one before.
    plans: Vec<Option<Planned>>,
    /// Which of them are of this search.
    fresh: Vec<bool>,
}

impl Picture {
    fn new(ladder: Ladder, last: Option<&Self>) -> Self {
        let known = |limit: &f64| {
            let last = last?;
            let place = last.ladder.limits.iter().position(|other| other.total_cmp(limit).is_eq())?;
            last.plans[place].clone()
        };
        let plans: Vec<_> = ladder.limits.iter().map(known).collect();
        Self { fresh: vec![false; plans.len()], ladder: Arc::new(ladder), plans }
    }

    /// What was found within the limit at a place, as far as is known.
    pub fn at(&self, place: usize) -> Option<&Planned> {
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

impl Planning {
    /// Follows the scenario; gives what has to be computed.
    pub fn follow(&mut self, scenario: &Scenario) -> Option<Work> {
        let (scenario, objective) = (scenario.clone(), self.objective());
        let ladder = Ladder::new(Request { scenario, objective, cost_model: CostModel::Simulator, top: 1 });
        let picture = match self.picture.take() {
            Some(last) if *last.ladder == ladder => last,
            last => Picture::new(ladder, last.as_ref()),
        };
        let work = Work::Plan(Arc::clone(&picture.ladder), self.place_in(&picture));
        let open = !picture.is_complete();
        self.picture = Some(picture);
        open.then_some(work)
    }

    /// Takes over what was found within the limit at a place.
    pub fn fill(&mut self, place: usize, planned: Planned) {
        let Some(picture) = &mut self.picture else { return };
        if let (Some(slot), Some(fresh)) = (picture.plans.get_mut(place), picture.fresh.get_mut(place)) {
            (*slot, *fresh) = (Some(planned), true);
        }
    }

    /// Whether each limit was searched.
    pub fn is_complete(&self) -> bool {
        self.picture.as_ref().is_none_or(Picture::is_complete)
    }

    /// What the plans are best in.
    pub fn objective(&self) -> Objective {
        OBJECTIVES[self.objective]
    }

    /// The place of the limit under the cursor.
    pub fn place(&self) -> usize {
        self.picture.as_ref().map_or(0, |picture| self.place_in(picture))
    }

    fn place_in(&self, picture: &Picture) -> usize {
        let limits = &picture.ladder.limits;
        let chosen = self.limit.and_then(|limit| limits.iter().position(|other| other.total_cmp(&limit).is_eq()));
        chosen.unwrap_or_else(|| picture.ladder.own())
    }

    /// What was found within the limit under the cursor, as far as is known.
    pub fn planned(&self) -> Option<&Planned> {
        self.picture.as_ref()?.at(self.place())
    }

    /// The plan within the limit under the cursor.
    pub fn chosen(&self) -> Option<&Found> {
        self.planned()?.plans.first()
    }

    /// The operators under the cursor, by their place in the plan.
    pub fn operator(&self) -> usize {
        self.operator.min(self.chosen().map_or(0, |found| found.operators.len().saturating_sub(1)))
    }

    /// The cursor goes to some operators.
    pub(in crate::app) const fn go_to(&mut self, operator: usize) {
        self.operator = operator;
    }

    /// The cursor goes to a limit, by its place.
    pub(in crate::app) fn go_to_place(&mut self, place: usize) {
        if let Some(picture) = &self.picture {
            self.limit = picture.ladder.limits.get(place).copied().or(self.limit);
        }
    }

    /// Moves the cursors; says whether something else is asked now.
    fn update(&mut self, action: Action, page: usize) -> bool {
        let Some(picture) = &self.picture else { return false };
        let (place, limits) = (self.place_in(picture), &picture.ladder.limits);
        match action {
            Action::Left => self.go_to_place(place.saturating_sub(1)),
            Action::Right => self.go_to_place((place + 1).min(limits.len() - 1)),
            Action::Metric => {
                self.objective = (self.objective + 1) % OBJECTIVES.len();
                return true;
            }
            _ => {
                let count = self.chosen().map_or(0, |found| found.operators.len());
                self.operator = moved(self.operator(), action, count, page);
            }
        }
        false
    }
}

impl App {
    /// Does what the user asked of the view.
    pub(in crate::app) fn on_plan(&mut self, action: Action) -> Vec<Command> {
        if action == Action::Take {
            return self.take_plan();
        }
        let asks = self.views.planning.update(action, self.page);
        asks.then(|| self.ask_view()).flatten().into_iter().collect()
    }

    /// An answer has come, perhaps the one that is waited for.
    pub(in crate::app) fn hear_plan(&mut self, place: usize, planned: Planned) {
        self.views.planning.fill(place, planned);
        if place == self.views.planning.place() {
            self.computed();
        }
    }

    /// The plan within the limit under the cursor becomes the scenario's.
    fn take_plan(&mut self) -> Vec<Command> {
        let planning = &self.views.planning;
        if !planning.picture.as_ref().is_some_and(|picture| picture.is_fresh(planning.place())) {
            self.tell(format!("{COMPUTING}: take the plan when it is there"));
            return Vec::new();
        }
        let Some(found) = planning.chosen() else {
            self.tell("no plan fits within this limit".to_owned());
            return Vec::new();
        };
        let (file, taken) = (with_plan(&self.file, found, &self.scenario), said(found));
        let commands = self.revise(file);
        if self.notice.is_none() {
            self.tell(taken);
        }
        commands
    }
}

/// The file with a plan's placements, batch and recompute; of its limit only what lies beyond the scenario's own.
fn with_plan(file: &ScenarioFile, found: &Found, scenario: &Scenario) -> ScenarioFile {
    let (mut file, plan) = (file.clone(), ScenarioFile::of(&found.scenario).plan);
    (file.name, file.about, file.published) = (None, None, None);
    let to = &mut file.plan;
    for field in [Field::Nodes, Field::Devices, Field::MicroBatch, Field::Accumulate, Field::Recompute] {
        to.put(field, plan.get(field).cloned());
    }
    Field::all().filter(|field| field.is_in_sharding()).for_each(|field| to.put(field, None));
    if found.summary.memory.peak > scenario.cluster.device.memory * scenario.plan.memory_factor {
        to.put(Field::Memory, plan.get(Field::Memory).cloned());
    }
    (to.sharding, to.operators) = (plan.sharding, plan.operators);
    file
}

/// `took the plan: micro 16, accum 1, recompute full`.
fn said(found: &Found) -> String {
    let plan = &found.scenario.plan;
    let (micro, accumulate, recompute) = (plan.micro_batch, plan.accumulate, plan.recompute);
    format!("took the plan: micro {micro}, accum {accumulate}, recompute {recompute}")
}

#[cfg(test)]
mod tests;
