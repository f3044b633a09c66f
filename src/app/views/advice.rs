//! The view of the advice: what more of each resource would give, then what the plan could change, the most first.
//!
//! Not for finding the changes ([`AdviceSearch`]).

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::panels::gains;
use crate::app::views::{View, ViewSpec};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{Advice, AdviceSearch, Suggestion};
use shardscope_interop::runs_in::runs_in;
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "advice", name: "Advice", about: "which single change would help" },
    opens: "W",
    hint: "advice",
    keys: |keys| keys.rows("row").key("enter", Action::Take, "apply", "apply the change, or explain the gain"),
};

/// The state of the view.
#[derive(Debug, Clone, Default)]
pub struct AdviceView {
    /// The scenario that the changes start from.
    asked: Option<Scenario>,
    /// The advice that was found.
    advice: Option<Advice>,
    /// The gains of more of each resource, the most first, then changes of the plan; changes come first where the
    /// scenario does not fit.
    rows: Vec<AdviceRow>,
    /// The launchers that run each of them; none for a resource.
    runs_in: Vec<Vec<&'static str>>,
    cursor: ListCursor,
}

/// A row of the view.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "few rows, most of them changes")]
pub enum AdviceRow {
    /// More of a resource: its place among the elasticities, its name, and the gain.
    Resource(usize, String, f64),
    /// A change of the plan.
    Change(Suggestion),
}

impl AdviceRow {
    /// The name of a row: `10 % more bandwidth of the node level`, `micro 4`.
    pub fn name(&self) -> String {
        match self {
            Self::Resource(_, name, _) => name.clone(),
            Self::Change(Suggestion { candidate, .. }) => candidate.to_string(),
        }
    }
}

impl AdviceView {
    /// The advice, once it is there.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// The rows: what more of each resource would give, the most first, then what the plan could change.
    pub fn rows(&self) -> &[AdviceRow] {
        &self.rows
    }

    /// The launchers that run a change's plan, by its row.
    pub fn runs_in(&self, row: usize) -> &[&'static str] {
        self.runs_in.get(row).map_or(&[], Vec::as_slice)
    }

    /// The row that has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.rows.len())
    }

    /// The row under the cursor.
    pub fn chosen(&self) -> Option<&AdviceRow> {
        self.rows.get(self.row())
    }

    /// Enter makes a change, or explains a gain.
    fn take(&self, context: &Context) -> Option<Effect> {
        Some(match self.chosen()? {
            AdviceRow::Resource(..) => Effect::Explain,
            AdviceRow::Change(_) if !context.is_possible => {
                let why = "these changes are of the last possible scenario: fix the fields first";
                Effect::Tell(why.into())
            }
            AdviceRow::Change(Suggestion { candidate, .. }) => {
                Effect::Edit(candidate.edits.clone(), format!("applied {candidate}: u undoes it"))
            }
        })
    }
}

impl ViewJob for AdviceSearch {
    fn work(&self, job: &JobContext) {
        job.tell(self.run(&job.evaluator()));
    }
}

impl View for AdviceView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        if action == Action::Take { self.take(context).into_iter().collect() } else { Vec::new() }
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        match self.chosen().ok_or(NOTHING)? {
            AdviceRow::Resource(index, ..) => Ok(Asked::Shown(Figure::Elasticity(*index))),
            AdviceRow::Change(_) => Err("a change of the plan is no figure to explain: Enter applies it".into()),
        }
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(AdviceRow::name).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    /// Searches advice for the current scenario, unless that was done. Nothing is tried from fields that make
    /// no scenario: what was tried before stays in sight.
    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        if self.asked.as_ref() != Some(context.scenario) {
            *self = Self::default();
            if context.is_possible {
                self.asked = Some(context.scenario.clone());
            }
        }
        self.is_waiting(context).then(|| {
            let (library, file, scenario) = (context.library.clone(), context.file.clone(), context.scenario.clone());
            Arc::new(AdviceSearch { library, file, scenario }) as _
        })
    }

    fn renew(&mut self, context: &Context) {
        let resources = context.answer.map_or_else(Vec::new, |answer| {
            let subject = answer.subject();
            let name = |index| Figure::Elasticity(index).name(&subject).unwrap_or_default();
            gains(&answer.evaluation).map(|(index, gain)| AdviceRow::Resource(index, name(index), gain)).collect()
        });
        let resources = resources.into_iter();
        let changes = self.advice.iter().flat_map(|advice| &advice.suggestions).cloned().map(AdviceRow::Change);
        // What makes a scenario fit matters more than how fast it would be.
        self.rows = if context.answer.is_some_and(|answer| !answer.evaluation.summary.fits) {
            // Where no change does, how fast it would be is beside the point.
            let changes: Vec<AdviceRow> = changes.collect();
            let none = changes.is_empty() && self.advice.is_some();
            changes.into_iter().chain(resources.filter(|_| !none)).collect()
        } else {
            resources.chain(changes).collect()
        };
        let launchers = |row: &AdviceRow| match row {
            AdviceRow::Change(one) => runs_in(&one.candidate.scenario),
            AdviceRow::Resource(..) => Vec::new(),
        };
        self.runs_in = self.rows.iter().map(launchers).collect();
    }

    fn is_waiting(&self, context: &Context) -> bool {
        context.is_possible && self.advice.is_none()
    }

    /// The figures of the changes are there.
    fn receive(&mut self, found: Found, context: &Context) -> Vec<Effect> {
        let Ok(advice) = found.take() else { return Vec::new() };
        if self.asked.as_ref() == Some(context.scenario) {
            self.advice = Some(advice);
        } else {
            // An edit has come between: the answer is to what is no longer asked.
            *self = Self::default();
        }
        self.renew(context);
        Vec::new()
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
