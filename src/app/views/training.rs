//! The view of the training time: the curve of days against devices of each method, with a cursor on it.
//!
//! Not for finding the plans ([`shardscope_engine::search::training`]).

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::{GridCursor, ListCursor};
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, PLAN_LATER};
use crate::app::action::panel::ViewId;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{ANY_PLAN, View, ViewSpec, say_any_plan};
use shardscope_engine::bounds::intensity::LinkNeeds;
use shardscope_engine::bounds::layered::CriticalBatch;
use shardscope_engine::scenario::{Edit, Field, Scenario};
use shardscope_engine::search::training::{
    BestTraining, Goal, METHODS, Method, TrainingAnswer, TrainingSearch, USUAL_STEPS,
};
use shardscope_engine::units::{devices, short};
use shardscope_report::figures::run::TrainingRun;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "training", name: "Training time", about: "fewest days of each method, by device count" },
    opens: "D",
    hint: "",
    keys: |keys| {
        keys.sideways("devices", "fewer and more devices")
            .up_down("method", "previous and next method")
            .key("enter", Action::Take, "apply", "apply the plan to the scenario")
            .key("[", Action::Slower, "slower network", "halve the bandwidth between nodes")
            .key("]", Action::Faster, "", "double the bandwidth between nodes")
            .more_less("most", "double and halve the device limit")
            .key("m", Action::Metric, "law", "next law of the critical batch: layered, kaplan")
            .key("x", Action::AnyPlan, "any plan", ANY_PLAN)
            .ends("fewest and most devices")
            .pages("first and last method")
    },
};

/// How much further than the scenario's devices the curve goes at first.
const FURTHER: u32 = 4;

/// The most devices that keys lead to.
const MOST: u32 = 1 << 20;

/// How much slower or faster a key makes the network, and how far keys lead.
const FACTOR: f64 = 2.0;
const FACTORS: std::ops::RangeInclusive<f64> = 1.0 / 1024.0..=64.0;

/// The state of the view: its question and the answers so far.
#[derive(Debug, Clone, Default)]
pub struct TrainingView {
    /// The law of the critical batch, by its place in [`CriticalBatch::LAWS`].
    law: usize,
    /// Whether plans may have what the stack lacks.
    pub any_plan: bool,
    /// Devices that may be used, once the view has been opened.
    most: Option<u32>,
    /// The method under the cursor.
    method: ListCursor,
    /// The devices under the cursor, by how many places they are from the right end.
    back: usize,
    /// The last picture.
    pub picture: Option<TrainingPicture>,
    /// The scenario of the plan under the cursor.
    plan: Option<Scenario>,
}

/// A search, and what is known of its answers.
#[derive(Debug, Clone)]
pub struct TrainingPicture {
    pub search: Arc<TrainingSearch>,
    /// The answers, by method and budget.
    answers: Vec<Option<TrainingAnswer>>,
    /// The best of each method within each budget, as far as is known.
    best: Vec<Option<BestTraining>>,
    /// Days that an earlier question had in the same places: to be seen until this one is answered, and for nothing
    /// else.
    earlier: Vec<Option<f64>>,
}

impl TrainingPicture {
    fn new(search: TrainingSearch, last: Option<&Self>) -> Self {
        let width = search.budgets.len();
        let earlier = |index: usize| {
            let last = last?;
            let budget = last.search.budgets.iter().position(|budget| *budget == search.budgets[index % width])?;
            let days = last.best(index / width, budget).map(|best| best.days);
            days.or_else(|| last.earlier(index / width, budget))
        };
        let earlier = (0..search.len()).map(earlier).collect();
        let (answers, best) = (vec![None; search.len()], vec![None; search.len()]);
        Self { search: Arc::new(search), answers, best, earlier }
    }

    fn fill(&mut self, index: usize, answer: TrainingAnswer) {
        if let Some(slot) = self.answers.get_mut(index) {
            *slot = Some(answer);
            self.best = self.search.settled(self.answers.iter().map(|answer| answer.as_ref()?.best.clone()));
        }
    }

    /// The best of a method within a budget, as far as is known.
    pub fn best(&self, method: usize, budget: usize) -> Option<&BestTraining> {
        self.best.get(method * self.search.budgets.len() + budget)?.as_ref()
    }

    /// The bandwidth that hides the transfers of that plan.
    pub fn needs(&self, method: usize, budget: usize) -> Option<&LinkNeeds> {
        // A larger budget need not be filled: its best may be that of a smaller one.
        let (first, best) = (method * self.search.budgets.len(), self.best(method, budget));
        let answers = self.answers.get(first..=first + budget)?.iter().flatten();
        answers.rev().find(|answer| answer.best.as_ref() == best)?.needs.as_ref()
    }

    /// Whether this question has an answer in a place: a plan, or that nothing fits.
    pub fn is_answered(&self, method: usize, budget: usize) -> bool {
        let first = method * self.search.budgets.len();
        let all = || self.answers.get(first..=first + budget).is_some_and(|upto| upto.iter().all(Option::is_some));
        self.best(method, budget).is_some() || all()
    }

    /// The days that an earlier question had in a place where this one has no answer yet.
    pub fn earlier(&self, method: usize, budget: usize) -> Option<f64> {
        let days = *self.earlier.get(method * self.search.budgets.len() + budget)?;
        days.filter(|_| !self.is_answered(method, budget))
    }

    /// Answers that are there, and all of them.
    pub fn progress(&self) -> (usize, usize) {
        (self.answers.iter().flatten().count(), self.answers.len())
    }

    /// Whether every answer is there.
    pub fn is_complete(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }
}

impl TrainingView {
    /// Whether the question has an answer under the cursor.
    fn is_answered(&self) -> bool {
        self.picture.as_ref().is_some_and(|picture| picture.is_answered(self.method(), self.budget()))
    }

    /// Takes an answer over.
    pub fn fill(&mut self, index: usize, answer: TrainingAnswer) {
        if let Some(picture) = &mut self.picture {
            picture.fill(index, answer);
        }
        self.choose();
    }

    /// The cursor or the plan under it is another.
    fn choose(&mut self) {
        let found = self.picture.as_ref().zip(self.chosen());
        self.plan = found.map(|(picture, (method, best))| picture.search.scenario(method, &best.choice));
    }

    /// The law of the critical batch.
    pub fn law(&self) -> CriticalBatch {
        CriticalBatch::LAWS[self.law]
    }

    /// The method under the cursor.
    pub fn method(&self) -> usize {
        self.method.row(METHODS.len())
    }

    /// The place of the devices under the cursor.
    pub fn budget(&self) -> usize {
        self.last_budget().saturating_sub(self.back)
    }

    fn last_budget(&self) -> usize {
        self.picture.as_ref().map_or(0, |picture| picture.search.budgets.len() - 1)
    }

    /// The cursor goes to a count of devices, by its place.
    fn choose_budget(&mut self, place: usize) {
        self.back = self.last_budget().saturating_sub(place);
    }

    /// The plan under the cursor.
    pub fn chosen(&self) -> Option<(&'static Method, &BestTraining)> {
        let best = self.picture.as_ref()?.best(self.method(), self.budget())?;
        Some((&METHODS[self.method()], best))
    }

    /// The scenario of that plan.
    pub const fn plan(&self) -> Option<&Scenario> {
        self.plan.as_ref()
    }

    /// The whole training by that plan.
    pub fn run(&self) -> Option<TrainingRun> {
        let (goal, law) = (self.picture.as_ref()?.search.goal, self.law());
        self.chosen().map(|(method, best)| TrainingRun { method: method.name, best: best.clone(), goal, law })
    }

    /// The plan under the cursor becomes the scenario's.
    fn take(&self, context: &Context) -> Vec<Effect> {
        if !context.is_possible {
            return say("these plans are of the last possible scenario: fix the fields first");
        }
        let Some(picture) = self.picture.as_ref().filter(|_| self.is_answered()) else {
            return say(PLAN_LATER);
        };
        let Some((method, best)) = self.chosen() else { return say("no plan of this method fits here") };
        let said = format!("applied the {} plan on {}: u undoes it", method.name, devices(best.choice.devices));
        vec![Effect::Edit(picture.search.edits(method, &best.choice), said)]
    }
}

/// A slower or faster outermost level for the scenario.
fn change_network(factor: f64, context: &Context) -> Effect {
    let next = context.scenario.plan.bandwidth_factor * factor;
    if !FACTORS.contains(&next) {
        return Effect::Tell(format!("no further: the network is x {}", short(next / factor, 3)).into());
    }
    let mut scenario = context.scenario.clone();
    scenario.plan.bandwidth_factor = next;
    let now = scenario.altered().unwrap_or_else(|| "as it is".to_owned());
    Effect::Edit(
        vec![Edit::new(Field::Bandwidth, next)],
        format!("{now}: here [ and ] change it; it counts in every view"),
    )
}

/// The answer to each question, by its index.
impl ViewJob for TrainingSearch {
    fn work(&self, job: &JobContext) {
        self.run(&job.evaluator(), &|index, answer| job.tell((index, answer)));
    }
}

impl View for TrainingView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => return self.take(context),
            Action::Slower => return vec![change_network(1.0 / FACTOR, context)],
            Action::Faster => return vec![change_network(FACTOR, context)],
            Action::Metric => {
                self.law = (self.law + 1) % CriticalBatch::LAWS.len();
                return vec![Effect::Follow];
            }
            Action::AnyPlan => {
                self.any_plan = !self.any_plan;
                return vec![Effect::Follow, say_any_plan(self.any_plan)];
            }
            Action::More | Action::Less => {
                let now = self.most.unwrap_or(1);
                let next = if action == Action::More { now.saturating_mul(2) } else { now / 2 };
                self.most = Some(next.clamp(1, MOST));
                return vec![Effect::Follow];
            }
            _ => {
                let mut cell = GridCursor { column: self.budget(), row: self.method() };
                cell.go(action, self.last_budget() + 1, METHODS.len());
                self.choose_budget(cell.column);
                self.method = ListCursor::at(cell.row);
            }
        }
        self.choose();
        Vec::new()
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        self.run().map(Box::new).map(Asked::Training).ok_or_else(|| "there is no plan here to explain".into())
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(METHODS.iter().map(|one| one.name.to_owned()).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.method()
    }

    // No `list` for the explorer to move: rows and devices are moved together.
    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        self.method = ListCursor::at(row);
        self.choose();
        None
    }

    fn place(&self, _: &Context) -> Option<usize> {
        Some(self.budget())
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        self.choose_budget(place);
        self.choose();
        None
    }

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let scenario = context.shown;
        let most = *self.most.get_or_insert_with(|| scenario.devices().saturating_mul(FURTHER).next_power_of_two());
        let critical = self.law().sequences(&scenario.model, scenario.plan.sequence);
        let sequence = f64::from(scenario.plan.sequence);
        let steps = scenario.plan.length().map_or(USUAL_STEPS, |tokens| tokens / critical / sequence);
        let mut search = TrainingSearch::new(scenario.clone(), Goal { critical, steps }, most, context.library).ok()?;
        // What the search decides itself is no reason to begin anew.
        search.any_plan = self.any_plan;
        search.base = search.simplest();
        search.base.name.clear();
        let same = self.picture.as_ref().is_some_and(|picture| *picture.search == search);
        if !same {
            self.picture = Some(TrainingPicture::new(search, self.picture.as_ref()));
            self.choose();
        }
        let picture = self.picture.as_ref().filter(|picture| !picture.is_complete())?;
        Some(Arc::clone(&picture.search) as _)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.picture.as_ref().is_some_and(|picture| !picture.is_complete())
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Ok((index, answer)) = found.take() else { return Vec::new() };
        self.fill(index, answer);
        if self.is_answered() { vec![Effect::Arrived] } else { Vec::new() }
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
