//! The view of the grid: the best points of the FSDP limits' search for each count of nodes, with a cursor on one.
//!
//! Closed forms, so nothing is computed behind the screen: the rows are there as soon as something else is asked. Not
//! for the search ([`crate::bounds::fsdp::grid`]).

use crate::app::action::Action;
use crate::app::context::Context;
use crate::app::cursor::ListCursor;
use crate::app::effect::Effect;
use crate::app::explaining::Asked;
use crate::app::panel::ViewId;
use crate::app::view::{View, ViewSpec};
use crate::app::work::Work;
use crate::bounds::fsdp::grid::{self, BestPoints, GridPoint};
use crate::bounds::fsdp::{self, FsdpLimits};
use crate::plan::{Accumulation, Offload, Recompute, Size};
use crate::scenario::{Edit, Field, Scenario, Value};

/// What is known of it before it is shown.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "grid", name: "Grid", about: "the best stage, sequence and batch of FSDP" },
    opens: "F",
    hint: "",
    keys: |keys| {
        keys.rows("point")
            .key("enter", Action::Take, "take", "make the point the scenario's")
            .more_less("efficiency", "what kernels reach of the peak, more and less")
    },
};

/// What a point is the best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// Model flop utilisation.
    Mfu,
    /// Tokens per second and device.
    Throughput,
    /// The length of a sequence.
    Sequence,
}

impl Best {
    /// All of them, in the order of the rows of a size.
    pub const ALL: [Self; 3] = [Self::Mfu, Self::Throughput, Self::Sequence];

    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Mfu => "best MFU",
            Self::Throughput => "most tokens/s",
            Self::Sequence => "longest sequence",
        }
    }

    const fn of(self, found: &BestPoints) -> GridPoint {
        match self {
            Self::Mfu => found.mfu,
            Self::Throughput => found.throughput,
            Self::Sequence => found.sequence,
        }
    }
}

/// A size, what is sought, and the point that was found; `None` where not one sequence fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Nodes.
    pub nodes: u32,
    /// Devices of them.
    pub devices: u32,
    /// What is sought.
    pub best: Best,
    /// The point.
    pub point: Option<GridPoint>,
}

/// How much further than the scenario's nodes the sizes go.
const FURTHER: u32 = 4;

/// Twentieths of the peak that kernels reach at most: the default of the command line, 75 %.
const EFFICIENCY: u8 = 15;

/// The cursor, what is assumed, and what was found.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Devices, and what is sought, of the row that has the keys, once it was moved: before that it is the first of
    /// the scenario's own size. A point that is taken changes which sizes there are, so no place in the rows lasts.
    cursor: Option<(u32, Best)>,
    /// Twentieths of the peak that kernels reach where nothing waits for the network.
    efficiency: u8,
    /// What was asked last.
    asked: Option<(FsdpLimits, Scenario, u8)>,
    /// What was found.
    rows: Vec<Row>,
}

impl Default for Grid {
    fn default() -> Self {
        Self { cursor: None, efficiency: EFFICIENCY, asked: None, rows: Vec::new() }
    }
}

impl Grid {
    /// The share of the peak that kernels reach where nothing waits for the network.
    pub fn efficiency(&self) -> f64 {
        f64::from(self.efficiency) / 20.0
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The best points of each size for the limits of a scenario: powers of two, and its own size.
    fn search(&self, limits: &FsdpLimits, scenario: &Scenario) -> Vec<Row> {
        let per_node = scenario.cluster.devices_per_node().max(1);
        let own = scenario.devices().div_ceil(per_node);
        let most = scenario.cluster.nodes.unwrap_or(u32::MAX).min(own.saturating_mul(FURTHER));
        let mut sizes: Vec<u32> = (0..31).map(|power| 1 << power).take_while(|nodes| *nodes <= most).collect();
        sizes.push(own);
        sizes.sort_unstable();
        sizes.dedup();
        let found = |nodes: u32| {
            let devices = if nodes == own { scenario.devices() } else { nodes.saturating_mul(per_node) };
            let mut sized = scenario.clone();
            sized.plan.size = Size::Devices(devices);
            // A smaller job may stay within a faster level.
            let limits = FsdpLimits { devices, link: FsdpLimits::new(&sized).link, ..*limits };
            let found = grid::search(&limits, self.efficiency());
            Best::ALL.map(|best| Row { nodes, devices, best, point: found.as_ref().map(|found| best.of(found)) })
        };
        sizes.into_iter().flat_map(found).collect()
    }

    /// The row that has the keys; where its size is no longer there, that of the next smaller one.
    pub fn row(&self, scenario: &Scenario) -> usize {
        let (devices, best) = self.cursor.unwrap_or((scenario.devices(), Best::Mfu));
        self.rows.iter().rposition(|row| row.devices <= devices && row.best == best).unwrap_or(0)
    }
}

impl Grid {
    /// The point under the cursor becomes the scenario's: data parallelism alone, each batch at once.
    fn take(&self, context: &Context) -> Vec<Effect> {
        let Some((row, point)) = self.rows.get(self.row(context.shown)).and_then(|row| Some((*row, row.point?))) else {
            return vec![Effect::Tell("not one sequence fits on so many devices, by any stage".to_owned())];
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
        let percent = 100.0 * point.reached.mfu;
        let said = format!("took {percent:.1} % MFU by the limits; the headline simulates it; u goes back");
        vec![Effect::Edit(edits, said)]
    }
}

impl View for Grid {
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

    fn figure(&self, _: &Context) -> Result<Asked, &'static str> {
        Err("the limits behind these points are explained in their view, L")
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(|row| format!("{} {}", row.devices, row.best.words())).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        self.row(context.shown)
    }

    fn go_to(&mut self, row: usize, _: &Context) {
        self.cursor = self.rows.get(row).map(|row| (row.devices, row.best));
    }

    /// What is shown and what is assumed; what is asked already is not searched again.
    fn follow(&mut self, context: &Context) -> Option<Work> {
        let limits = context.assumed.limits(context.shown);
        let same = |(of, about, efficiency): &(fsdp::FsdpLimits, Scenario, u8)| {
            *of == limits && about == context.shown && *efficiency == self.efficiency
        };
        if !self.asked.as_ref().is_some_and(same) {
            self.rows = self.search(&limits, context.shown);
            self.asked = Some((limits, context.shown.clone(), self.efficiency));
        }
        None
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
