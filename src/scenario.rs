//! A scenario: cluster, software stack, model and plan together, checked against one another.
//!
//! Its file format is in [`mod@file`]; its costs are elsewhere.

mod check;
pub mod file;
mod layout;

use std::fmt;
use std::sync::Arc;

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::Plan;
use crate::stack::{Attention, Calibration, Stack};

pub use layout::Layout;

/// Everything that an evaluation needs. Cloning it is cheap: the facts are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name, for people.
    pub name: String,
    /// The machine.
    pub cluster: Arc<Cluster>,
    /// The software.
    pub stack: Arc<Stack>,
    /// What the software reaches on the machine.
    pub calibration: Arc<Calibration>,
    /// The transformer.
    pub model: Arc<Model>,
    /// The id of the strategy that the plan's sharding started from.
    pub strategy: Arc<str>,
    /// The job.
    pub plan: Plan,
}

/// Something in a scenario that cannot be, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field, as in the file (`plan.tensor`).
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// How to mend it.
    pub mend: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.what, self.mend)
    }
}

impl std::error::Error for Problem {}

/// How to mend what no user can.
const REPORT: &str = "this is a bug in shardscope: please report it with the scenario";

impl Problem {
    /// What shardscope itself got wrong.
    pub fn bug(field: &str, what: String) -> Self {
        Self { field: field.to_owned(), what, mend: REPORT.to_owned() }
    }

    /// Whether shardscope itself got it wrong.
    pub fn is_bug(&self) -> bool {
        self.mend == REPORT
    }

    /// An extent to move where there is none.
    pub fn nothing_sharded() -> Self {
        Self {
            field: "plan.shard".to_owned(),
            what: "the strategy shards nothing, so there is no extent to move".to_owned(),
            mend: "leave 'shard' out, or choose a strategy that shards, like fsdp".to_owned(),
        }
    }
}

impl Scenario {
    /// The layout that the plan asks for, or everything that is wrong with it.
    pub fn layout(&self) -> Result<Layout, Vec<Problem>> {
        let problems = check::problems(self);
        if problems.is_empty() { Ok(Layout::of(self)) } else { Err(problems) }
    }

    /// What the plan has other than the cluster, to three figures: `system x 0.5`, `memory x 2`; nothing where it has
    /// the machine as it is.
    pub fn altered(&self) -> Vec<String> {
        let network = self.cluster.levels.last().map_or("network", |level| &level.name);
        let factors = [(network, self.plan.bandwidth_factor), ("memory", self.plan.memory_factor)];
        let altered = factors.into_iter().filter(|(_, factor)| (factor - 1.0).abs() > f64::EPSILON);
        let rounded = |factor: f64| format!("{factor:.2e}").parse().unwrap_or(factor);
        altered.map(|(what, factor)| format!("{what} x {}", rounded(factor))).collect()
    }

    /// The stack's attention kernel on this device.
    pub fn attention(&self) -> Attention {
        self.stack.attention_on(&self.cluster.device.architecture)
    }

    /// How many devices the job has.
    pub fn devices(&self) -> u32 {
        layout::devices(self)
    }
}
