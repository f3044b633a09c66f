//! The view of context lengths: the fastest plan of each length, up to the longest that fits.
//!
//! Not for the search itself ([`shardscope_engine::search::sequences`]).

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::{Asked, LATER, Notice};
use crate::app::action::panel::ViewId;
use crate::app::answers::work::{Found, JobContext, SoFar, Teller, ViewJob};
use crate::app::views::{ANY_PLAN, View, ViewSpec, say_any_plan};
use shardscope_engine::plan::Offload;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::plans::{
    Launchers, Objective, PlanSearch, SearchLimits, SearchSpace, launched_fields, searched_fields,
};
use shardscope_engine::search::sequences::{ContextLength, SequenceAnswer, SequenceSearch};
use shardscope_engine::units::thousands;
use shardscope_interop::runs_in;
use shardscope_library::command;
use shardscope_report::figures::{Figure, plan_words};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "lengths", name: "Context lengths", about: "how long a context fits, and how fast" },
    opens: "A",
    hint: "",
    keys: |keys| {
        keys.rows("length").key("enter", Action::Take, "apply", "apply the plan of the length to the scenario").key(
            "x",
            Action::AnyPlan,
            "any plan",
            ANY_PLAN,
        )
    },
};

/// The state of the view: its question and the answer so far.
#[derive(Debug, Clone, Default)]
pub struct SequencesView {
    /// Whether plans may have what the stack lacks.
    pub any_plan: bool,
    cursor: ListCursor,
    /// The last search.
    asked: Option<Arc<SequenceSearch>>,
    answer: SequenceAnswer,
    /// The launchers that run the plan of each length.
    runs_in: Vec<Vec<&'static str>>,
    complete: bool,
    elapsed: Duration,
    /// The plan that was applied last: the table that it came from stays.
    taken: Option<Box<Scenario>>,
}

impl SequencesView {
    pub fn asked(&self) -> Option<&SequenceSearch> {
        self.asked.as_deref()
    }

    /// What is known so far.
    pub const fn answer(&self) -> &SequenceAnswer {
        &self.answer
    }

    /// Whether the search has ended.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// For how long it has been searched.
    pub const fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The launchers that run the plan of a length, by its place.
    pub fn runs_in(&self, place: usize) -> &[&'static str] {
        self.runs_in.get(place).map_or(&[], Vec::as_slice)
    }

    /// The length that has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.answer.lengths.len())
    }

    /// The length under the cursor.
    pub fn chosen(&self) -> Option<&ContextLength> {
        self.answer.lengths.get(self.row())
    }

    fn fill(&mut self, answer: SequenceAnswer) {
        self.runs_in = answer.lengths.iter().map(|length| runs_in::runs_in(&length.found.scenario)).collect();
        self.answer = answer;
    }

    fn take(&mut self, context: &Context) -> Vec<Effect> {
        let Some(ContextLength { sequence, found, .. }) = self.chosen() else {
            let nothing = if self.complete { "no length fits".into() } else { LATER };
            return say(nothing);
        };
        let length = thousands(f64::from(*sequence));
        let said = format!("applied {length} tokens: {}", plan_words(&found.scenario.plan));
        let changed = |field: &Field| field.value(&found.scenario) != field.value(context.scenario);
        let fields = [Field::Sequence].into_iter().chain(searched_fields()).chain(launched_fields().filter(changed));
        let file = context.file.with_plan(&found.scenario, fields);
        self.taken = Some(Box::new(found.scenario.clone()));
        vec![Effect::Revise(Box::new(file), said)]
    }

    /// The search for a scenario.
    fn search(&self, context: &Context) -> SequenceSearch {
        let mut space = SearchSpace::of_stack(self.any_plan);
        space.fix_said(context.file);
        if context.scenario.plan.offload != Offload::None {
            space.fix(Field::Offload);
        }
        let launchers = if self.any_plan { Launchers::default() } else { runs_in::searched(None) };
        let base = context.scenario.clone();
        let plans = PlanSearch::new(base, space, Objective::Throughput, SearchLimits::SAFE, 1);
        SequenceSearch { plans: PlanSearch { launchers, ..plans } }
    }
}

/// Tells of each length when its plan is found, and of what is tried once a pause is over.
impl ViewJob for SequenceSearch {
    fn work(&self, job: &JobContext) {
        let (mut teller, mut known) = (Teller::new(job), 0);
        let answer = self.run(&job.evaluator(), &mut |so_far: &SequenceAnswer| {
            let before = mem::replace(&mut known, so_far.lengths.len());
            teller.so_far(so_far, known > before);
        });
        teller.end(answer);
    }
}

impl View for SequencesView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => self.take(context),
            Action::AnyPlan => {
                self.any_plan = !self.any_plan;
                vec![Effect::Follow, say_any_plan(self.any_plan)]
            }
            _ => Vec::new(),
        }
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        let ContextLength { found, .. } = self.chosen().ok_or(LATER)?;
        Ok(Asked::Other(plan_words(&found.scenario.plan), Figure::TotalTokens, Box::new(found.scenario.clone())))
    }

    fn command_line(&self, context: &Context) -> Option<(&'static str, String)> {
        let PlanSearch { base, space, .. } = &self.asked()?.plans;
        let line = command::search(context.library, base, |field| space.is_free(field))?;
        let line = line.option("objective", "sequence");
        let line = if self.any_plan { line.switch("any-plan") } else { line };
        Some(("the context lengths", line.line().ok()?))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.answer.lengths.iter().map(|length| thousands(f64::from(length.sequence))).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let search = self.search(context);
        let is_taken = self.taken.as_ref().is_some_and(|taken| taken.plan == context.scenario.plan);
        let asked = |asked: &Arc<SequenceSearch>| is_taken || asked.plans.has_same_answer_as(&search.plans);
        let same = self.asked.as_ref().is_some_and(asked);
        if same && self.complete {
            return None;
        }
        if !same {
            (self.asked, self.complete, self.taken) = (Some(Arc::new(search)), false, None);
            self.fill(SequenceAnswer::default());
        }
        self.asked.clone().map(|search| search as _)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        !self.complete
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        let Ok(SoFar { answer, complete, elapsed }) = found.take::<SoFar<SequenceAnswer>>() else { return Vec::new() };
        let first = self.answer.lengths.is_empty();
        // A search that was interrupted begins again: until it has come as far, what it had found stays.
        if complete || answer.lengths.len() >= self.answer.lengths.len() {
            self.fill(answer);
        }
        (self.complete, self.elapsed) = (complete, elapsed);
        if first && !self.answer.lengths.is_empty() { vec![Effect::Arrived] } else { Vec::new() }
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
