//! The view of the grid: the best points of the FSDP limits' search for each count of nodes, with a cursor on one.
//!
//! Not for the search ([`GridSearch`]).

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::Asked;
use crate::app::action::notice::Notice;
use crate::app::action::panel::ViewId;
use crate::app::answers::work::{Found, JobContext, ViewJob};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::plan::{Accumulation, Offload, Recompute};
use shardscope_engine::scenario::{Edit, Field, Scenario, Value};
use shardscope_engine::search::{Best, GridRow, GridSearch};
use shardscope_engine::units::percent;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "grid", name: "Grid", about: "the best stage, sequence and batch of FSDP" },
    opens: "F",
    hint: "",
    keys: |keys| {
        keys.rows("point")
            .key("enter", Action::Take, "apply", "apply the point to the scenario")
            .more_less("efficiency", "raise and lower the kernels' share of the peak")
    },
};

/// Twentieths of the peak that kernels reach at most: the default of the command line, 75 %.
const EFFICIENCY: u8 = 15;

/// The cursor, what is assumed, and what was found.
#[derive(Debug, Clone)]
pub struct GridView {
    /// Devices, and what is sought, of the row that has the keys, once it was moved: before that it is the first of
    /// the scenario's own size. A point that is taken changes which sizes there are, so no place in the rows lasts.
    cursor: Option<(u32, Best)>,
    /// Twentieths of the peak that kernels reach when nothing waits for the network.
    efficiency: u8,
    /// The last question.
    asked: Option<Arc<GridSearch>>,
    /// Whether the rows are the answer to that.
    complete: bool,
    rows: Vec<GridRow>,
}

impl Default for GridView {
    fn default() -> Self {
        Self { cursor: None, efficiency: EFFICIENCY, asked: None, complete: false, rows: Vec::new() }
    }
}

impl GridView {
    /// The share of the peak that kernels reach when nothing waits for the network.
    pub fn efficiency(&self) -> f64 {
        f64::from(self.efficiency) / 20.0
    }

    /// Whether the rows are those of what is shown.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// The last result, the fewest nodes first.
    pub fn rows(&self) -> &[GridRow] {
        &self.rows
    }

    /// The row that has the keys; where its size is no longer there, that of the next smaller one.
    pub fn row(&self, scenario: &Scenario) -> usize {
        let (devices, best) = self.cursor.unwrap_or((scenario.devices(), Best::Mfu));
        self.rows.iter().rposition(|row| row.devices <= devices && row.best == best).unwrap_or(0)
    }
}

impl GridView {
    /// The point under the cursor becomes the scenario's: data parallelism alone, each batch at once.
    fn take(&self, context: &Context) -> Vec<Effect> {
        let Some((row, point)) = self.rows.get(self.row(context.shown)).and_then(|row| Some((*row, row.point?))) else {
            return say("not even one sequence fits on this many devices, at any stage");
        };
        let recompute = match 1.0 - point.gamma {
            none if none <= 0.0 => Recompute::None,
            all if all >= 1.0 => Recompute::Full,
            // Whole tenths, as the search has them.
            share => Recompute::Share((share * 10.0).round() / 10.0),
        };
        let whole = row.devices.is_multiple_of(context.scenario.cluster.devices_per_node());
        let strategy = format!("zero{}", point.stage.number());
        let edits = vec![
            Edit { field: Field::Strategy, value: Value::Id(strategy.into()) },
            if whole { Edit::new(Field::Nodes, row.nodes) } else { Edit::new(Field::Devices, row.devices) },
            Edit::new(Field::Tensor, 1),
            Edit::new(Field::Context, 1),
            Edit::new(Field::Pipeline, 1),
            Edit::new(Field::Accumulation, Accumulation::Standard),
            Edit::new(Field::Accumulate, 1),
            Edit::new(Field::Offload, Offload::None),
            Edit::new(Field::Recompute, recompute),
            Edit::new(Field::Sequence, point.sequence as u32),
            Edit::new(Field::MicroBatch, point.batch as u32),
        ];
        let mfu = percent(point.reached.mfu);
        let said = format!("applied {mfu} MFU by the limits; the headline simulates it; u undoes it");
        vec![Effect::Edit(edits, said)]
    }
}

impl ViewJob for GridSearch {
    fn work(&self, job: &JobContext) {
        job.tell(self.run(job.cancel));
    }
}

impl View for GridView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => return self.take(context),
            Action::More => self.efficiency = (self.efficiency + 1).min(20),
            Action::Less => self.efficiency = self.efficiency.saturating_sub(1).max(1),
            _ => {
                let mut cursor = ListCursor::at(self.row(context.shown));
                if cursor.go(action, self.rows.len(), context.page) {
                    self.go_to(cursor.row(self.rows.len()), context);
                }
                return Vec::new();
            }
        }
        vec![Effect::Follow]
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Err("the limits behind these points are explained in their view, L".into())
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(|row| format!("{} {}", row.devices, row.best.words())).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.row(context.shown)
    }

    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        self.cursor = self.rows.get(row).map(|row| (row.devices, row.best));
        None
    }

    /// Searches for the scenario shown under the assumptions, unless the result is known.
    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let limits = context.assumed.grid_limits(context.shown);
        let search = GridSearch { limits, scenario: context.shown.clone(), efficiency: self.efficiency() };
        if self.complete && self.asked.as_deref() == Some(&search) {
            return None;
        }
        let search = Arc::new(search);
        (self.asked, self.complete) = (Some(Arc::clone(&search)), false);
        Some(search)
    }

    fn is_waiting(&self, _: &Context) -> bool {
        !self.complete
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        if let Ok(rows) = found.take() {
            (self.rows, self.complete) = (rows, true);
        }
        Vec::new()
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
