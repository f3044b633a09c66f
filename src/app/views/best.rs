//! The view of the best plans: a search over whole plans for the current scenario, what it leaves free, and its table.
//!
//! Not for the search itself ([`shardscope_engine::search::plans`]).

mod question;
mod row;

use std::sync::Arc;
use std::time::Duration;

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER};
use crate::app::action::panel::ViewId;
use crate::app::action::{Action, Facet};
use crate::app::answers::work::{Found, SoFar, ViewJob};
use crate::app::views::{ANY_PLAN, View, ViewSpec};
use shardscope_engine::scenario::Field;
use shardscope_engine::search::plans::{
    EvaluatedPlan, Objective, PlanSearch, PlanSearchAnswer, launched_fields, searched_fields,
};
use shardscope_interop::runs_in::{missing, runs_in};
use shardscope_report::figures::{Figure, RecipePlan, folded, plan_words};

pub use question::PlanQuestion;
pub use row::{PlanColumn, PlanRow};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "best", name: "Best plans", about: "which whole plans are best, by search" },
    opens: "B",
    hint: "plans",
    keys: |keys| {
        keys.rows("plan")
            .sideways("sort", "sort by the column before or after")
            .key("enter", Action::Take, "apply", "apply the plan to the scenario")
            .key("p", Action::PinPlan, "pin", "pin the plan; a range of plans is pinned and compared")
            .key("space", Action::Range, "range", "begin a range of plans, or end it")
            .key("o", Action::Metric, "objective", "fastest, fewest device-hours, fewest devices, or least memory")
            .key(
                "d",
                Action::Filter(Facet::Devices),
                "devices",
                "as many devices, half to twice, a quarter to four times",
            )
            .key("f", Action::Filter(Facet::Strategy), "sharding", "search the sharding too, or keep the scenario's")
            .key("x", Action::AnyPlan, "any plan", ANY_PLAN)
            .key("n", Action::Numerics, "numerics", "the scenario's numbers, quantised transfers too, or FP8 too")
            .key("t", Action::Deadline, "deadline", "within a year, half a year, and so on to a week; then any time")
            .key("$", Action::Budget, "budget", "for 100 million at most, 50, 20, down to 10,000; then any cost")
            .more_less("spare", "more and less of the memory stays free")
    },
};

/// The state of the view: its question and the answers so far.
#[derive(Debug, Clone, Default)]
pub struct BestView {
    /// The question, whatever scenario is current.
    pub question: PlanQuestion,
    /// The order of the rows.
    pub sort: PlanColumn,
    /// Where a range of plans begins.
    mark: Option<usize>,
    cursor: ListCursor,
    /// The last search.
    asked: Option<Arc<PlanSearch>>,
    /// The plans found, best first.
    answer: PlanSearchAnswer,
    /// Its plans in the order of the table.
    rows: Vec<PlanRow>,
    /// Whether that is all that it finds.
    complete: bool,
    /// For how long it has been searched.
    elapsed: Duration,
    /// The best plan by the recipe of a vendor.
    recipe: Option<RecipePlan>,
}

impl BestView {
    /// For how long they have been searched.
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The best plan by the recipe of a vendor, where the first one is another.
    pub fn recipe(&self) -> Option<&RecipePlan> {
        self.recipe.as_ref()
    }

    /// The plans found so far.
    pub const fn answer(&self) -> &PlanSearchAnswer {
        &self.answer
    }

    /// Whether the plans offload because none fits otherwise.
    const fn offloads(&self) -> bool {
        self.answer.without_offload.is_some()
    }

    /// Whether the search has ended.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn asked(&self) -> Option<&PlanSearch> {
        self.asked.as_deref()
    }

    /// The plans in the order of the table.
    pub fn plans(&self) -> &[PlanRow] {
        &self.rows
    }

    /// Takes another answer over.
    fn fill(&mut self, answer: PlanSearchAnswer) {
        let row = |(at, alike): (usize, Vec<usize>)| PlanRow {
            rank: at + 1,
            found: answer.plans[at].clone(),
            alike: alike.len(),
            runs_in: runs_in(&answer.plans[at].scenario),
            beyond: None,
        };
        let count = answer.plans.len();
        let beyond = |(at, found): (usize, &EvaluatedPlan)| PlanRow {
            rank: count + 1 + at,
            found: found.clone(),
            alike: 0,
            runs_in: Vec::new(),
            beyond: missing(&found.scenario),
        };
        let beyond = answer.beyond.iter().enumerate().map(beyond);
        self.rows = folded(&answer.plans).into_iter().map(row).chain(beyond).collect();
        self.answer = answer;
        self.sort_by(self.sort);
    }

    fn sort_by(&mut self, column: PlanColumn) {
        self.sort = column;
        self.rows.sort_by(|a, b| column.key(a).total_cmp(&column.key(b)).then(a.rank.cmp(&b.rank)));
    }

    /// The row that has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.rows.len())
    }

    /// The first and the last row of the range, or twice that of the cursor.
    pub fn range(&self) -> (usize, usize) {
        let (row, last) = (self.row(), self.rows.len().saturating_sub(1));
        let mark = self.mark.unwrap_or(row).min(last);
        (row.min(mark), row.max(mark))
    }

    /// The plan under the cursor.
    pub fn chosen(&self) -> Option<&PlanRow> {
        self.rows.get(self.row())
    }

    /// Another question: what is in sight stays until its first answer comes.
    fn ask(&mut self) -> Vec<Effect> {
        self.mark = None;
        vec![Effect::Follow]
    }

    fn take(&self, context: &Context) -> Vec<Effect> {
        let Some(PlanRow { found, .. }) = self.chosen() else { return say(self.nothing()) };
        let said = format!("applied {}", plan_words(&found.scenario.plan));
        let changed = |field: &Field| field.value(&found.scenario) != field.value(context.scenario);
        let fields = searched_fields().chain(launched_fields().filter(changed));
        vec![Effect::Revise(Box::new(context.file.with_plan(&found.scenario, fields)), said)]
    }

    /// Pins the plan under the cursor, or compares those of the range.
    fn pin(&mut self) -> Vec<Effect> {
        let (first, last) = self.range();
        let Some(pinned) = self.rows.get(first..=last) else { return say(self.nothing()) };
        let several = pinned.len() > 1;
        let said =
            if several { format!("pinned {} plans", pinned.len()) } else { "pinned the plan: c compares".into() };
        let mut effects: Vec<Effect> =
            pinned.iter().map(|row| Effect::Pin(Box::new(row.found.scenario.clone()))).collect();
        effects.push(Effect::Tell(said.into()));
        self.mark = None;
        if several {
            effects.push(Effect::Show(super::compare::SPEC.id));
        } else if self.complete {
            // A search that runs is not begun again: the pin's figures are computed after it.
            effects.push(Effect::Follow);
        }
        effects
    }

    fn nothing(&self) -> Notice {
        if self.complete { "no plan fits".into() } else { Notice::Computing("still computing: no plan is known yet") }
    }
}

impl View for BestView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        if matches!(action, Action::Deadline | Action::Budget)
            && let Some(lack) = PlanQuestion::lacks(action, context.scenario)
        {
            return say(lack);
        }
        match action {
            Action::Take => return self.take(context),
            Action::PinPlan => return self.pin(),
            Action::Range => self.mark = if self.mark.is_none() { Some(self.row()) } else { None },
            Action::Left => self.sort_by(self.sort.step(false)),
            Action::Right => self.sort_by(self.sort.step(true)),
            _ if self.question.change(action) => return self.ask(),
            _ => {}
        }
        Vec::new()
    }

    /// The objective of the plan.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        let PlanRow { found, .. } = self.chosen().ok_or(LATER)?;
        let figure = match self.question.objective() {
            Objective::Memory => Figure::Peak,
            _ => Figure::TotalTokens,
        };
        Ok(Asked::Other(plan_words(&found.scenario.plan), figure, Box::new(found.scenario.clone())))
    }

    fn command_line(&self, context: &Context) -> Option<(&'static str, String)> {
        Some(("the best plans", self.question.command(self.asked()?, self.offloads(), context.library)?))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(|row| plan_words(&row.found.scenario.plan)).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    /// A plan of the last answer may have been taken: then the question is the same, and so is the answer.
    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let search = self.question.search(context.scenario, context.file);
        let same = self.asked.as_ref().is_some_and(|asked| asked.has_same_answer_as(&search));
        if same && self.complete {
            return None;
        }
        if !same {
            (self.asked, self.complete, self.mark) = (Some(Arc::new(search)), false, None);
            self.recipe = None;
            self.fill(PlanSearchAnswer::default());
        }
        self.asked.clone().map(|search| search as _)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        !self.complete
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let SoFar { answer, complete, elapsed } = match found.take() {
            Ok(so_far) => so_far,
            Err(found) => {
                if let Ok(recipe) = found.take() {
                    self.recipe = Some(recipe);
                }
                return Vec::new();
            }
        };
        let objective = self.question.objective();
        let best = |answer: &PlanSearchAnswer| answer.plans.first().map(|plan| objective.of(plan));
        // A search that was interrupted begins again: until it has come as far, what it had found stays.
        let behind = best(&self.answer).is_some_and(|known| best(&answer).is_none_or(|new| new > known));
        let first = self.rows.is_empty();
        if complete || !behind {
            self.fill(answer);
        }
        (self.complete, self.elapsed) = (complete, elapsed);
        if first && !self.rows.is_empty() { vec![Effect::Arrived] } else { Vec::new() }
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
