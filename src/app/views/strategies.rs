//! The view of the strategies: all of them on the scenario shown, in one table, the best first.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{Candidate, StrategyOutcome, outcomes, strategies, with_strategy};
use shardscope_report::figures::{Figure, FigureSubject};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "strategies", name: "Strategies", about: "all strategies for this scenario, best first" },
    opens: "S",
    hint: "",
    keys: |keys| {
        keys.rows("strategy").key("enter", Action::Take, "apply", "apply the strategy").key(
            "m",
            Action::Metric,
            "sort",
            "sort by the next column",
        )
    },
};

/// Orders of the table, the best first, with words for the title; of the levels the outermost.
const ORDERS: [(Figure, &str); 4] = [
    (Figure::ModelFlops, "by throughput"),
    (Figure::Peak, "by memory"),
    (Figure::Exposed, "by exposed communication"),
    (Figure::Traffic(0), "by inter-node traffic"),
];

/// The table, its order and its cursor.
#[derive(Debug, Clone, Default)]
pub struct StrategiesView {
    /// Its order: a place in [`ORDERS`].
    order: usize,
    /// The strategy under the cursor.
    chosen: String,
    /// The scenario that was asked about last.
    asked: Option<Scenario>,
    /// Whether the rows are of that scenario.
    complete: bool,
    rows: Vec<StrategyOutcome>,
}

impl StrategiesView {
    /// Whether the rows are of the last scenario.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[StrategyOutcome] {
        &self.rows
    }

    /// The place of the cursor.
    pub fn row(&self) -> usize {
        self.rows.iter().position(|row| row.id == self.chosen).unwrap_or(0)
    }

    /// Words for the order of the rows.
    pub fn order(&self) -> &'static str {
        ORDERS[self.order].1
    }

    /// The order of the rows.
    fn sorted_by(&self, scenario: &Scenario) -> Figure {
        match ORDERS[self.order].0 {
            Figure::Traffic(_) => Figure::Traffic(scenario.cluster.levels.len().saturating_sub(1)),
            figure => figure,
        }
    }

    /// The next column sorts the rows.
    fn reorder(&mut self) {
        self.order = (self.order + 1) % ORDERS.len();
        self.sort();
    }

    /// The strategy under the cursor becomes the scenario's, on the cell that the screen shows: the edits that it was
    /// tried with.
    fn take(&self, context: &Context) -> Option<Effect> {
        let row = self.rows.get(self.row())?;
        let tried = with_strategy(context.library, context.shown, &row.id)?;
        Some(Effect::EditShown(tried.edits, format!("applied {}", row.id)))
    }

    fn sort(&mut self) {
        let Some(scenario) = &self.asked else { return };
        let figure = self.sorted_by(scenario);
        // What fits before what does not.
        let place = |row: &StrategyOutcome| {
            let Ok(summary) = &row.outcome else { return (2, 0.0) };
            let value = figure.amount(&FigureSubject::new(scenario, summary)).map_or(f64::NAN, |amount| amount.value);
            (u8::from(!summary.fits), if figure.more_is_better() { -value } else { value })
        };
        self.rows.sort_by(|a, b| {
            let ((a_group, a), (b_group, b)) = (place(a), place(b));
            a_group.cmp(&b_group).then(a.total_cmp(&b))
        });
    }
}

/// The scenario with each strategy.
impl ViewJob for Vec<(String, Candidate)> {
    fn work(&self, job: &JobContext) {
        job.tell(outcomes(self, &job.evaluator()));
    }
}

impl View for StrategiesView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => return self.take(context).into_iter().collect(),
            Action::Metric => self.reorder(),
            _ => {
                let mut cursor = ListCursor::at(self.row());
                // All rows are seen at once, so that a page is all of them.
                cursor.go(action, self.rows.len(), self.rows.len() + 1);
                self.go_to(cursor.row(self.rows.len()), context);
            }
        }
        Vec::new()
    }

    /// The key of a strategy in the order of the table.
    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        if !self.complete {
            return Err(LATER);
        }
        let row = self.rows.get(self.row()).ok_or(NOTHING)?;
        let asked = self.asked.as_ref().and_then(|asked| with_strategy(context.library, asked, &row.id));
        let scenario = asked.ok_or(NOTHING)?.scenario;
        let figure = self.sorted_by(&scenario);
        row.outcome.as_ref().map_err(|_| "this strategy is not possible here: it has no figures")?;
        Ok(Asked::Other(row.id.clone(), figure, Box::new(scenario)))
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(|row| row.id.clone()).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        if let Some(row) = self.rows.get(row) {
            self.chosen.clone_from(&row.id);
        }
        None
    }

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        if self.complete && self.asked.as_ref() == Some(context.shown) {
            return None;
        }
        self.complete = false;
        self.asked = Some(context.shown.clone());
        if self.chosen.is_empty() {
            self.chosen = context.shown.strategy.to_string();
        }
        Some(Arc::new(strategies(context.library, context.shown)))
    }

    fn is_waiting(&self, _: &Context) -> bool {
        !self.complete
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        if let Ok(rows) = found.take() {
            (self.rows, self.complete) = (rows, true);
            self.sort();
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
