//! The plans that are compared, each with lower bounds on its days and memory. Not for finding the best of them
//! ([`super::run`]).

use std::cmp::Ordering;

use crate::evaluate::FailureForecast;
use crate::plan::{Offload, Recompute};
use crate::program::StepTerms;
use crate::scenario::Scenario;
use crate::search::step_bound::{StepBound, reserved};
use crate::units::Bytes;

use super::method::{Method, StageAssignment};
use super::question::{TrainingChoice, TrainingSearch};

/// A choice, with lower bounds on its days and memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundedChoice {
    pub days: f64,
    pub memory: Bytes,
    pub choice: TrainingChoice,
}

impl Eq for BoundedChoice {}

impl PartialOrd for BoundedChoice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BoundedChoice {
    /// A heap's greatest is the candidate to be simulated next.
    fn cmp(&self, other: &Self) -> Ordering {
        other.days.total_cmp(&self.days).then(other.choice.cmp(&self.choice))
    }
}

/// The largest micro-batch that is tried, in sequences. Critical batches leave little room for larger ones.
const LARGEST_MICRO_BATCH: u32 = 64;

/// Batches beyond this many critical batches are tried only where a pipeline needs them: from here on even an infinite
/// batch saves no more than an eighth of the steps.
const MOST_CRITICAL: f64 = 8.0;

/// All counts up to 8, then four per octave: 8, 10, 12, 14, 16, 20 and so on. No count between is further than an
/// eighth from one of them.
fn counts() -> impl Iterator<Item = u32> {
    let octaves = (1_u32..28).flat_map(|power| [4, 5, 6, 7].map(|quarter| quarter << power));
    (1..8).chain(octaves)
}

impl TrainingSearch {
    fn tensors(&self) -> impl Iterator<Item = u32> {
        let (node, heads) = (self.base.cluster.devices_per_node(), self.base.model.heads);
        let sizes = std::iter::successors(Some(1_u32), |size| size.checked_mul(2));
        sizes
            .take_while(move |size| *size <= node)
            .filter(move |size| node.is_multiple_of(*size) && heads.is_multiple_of(*size))
    }

    fn pipelines(&self, assignment: StageAssignment) -> impl Iterator<Item = u32> {
        let layers = self.base.model.layers;
        let sizes = if assignment == StageAssignment::None { 1..=1 } else { 2..=layers };
        sizes.filter(move |size| layers.is_multiple_of(*size))
    }

    /// Offloads to the host's memory, to which the closed forms are: of checkpoints only where there are any.
    fn offloads(&self) -> impl Iterator<Item = Offload> {
        let checkpoints = matches!(self.base.plan.recompute, Recompute::Full | Recompute::Share(_));
        Offload::ALL.iter().copied().filter(move |offload| {
            !offload.on_drives() && !offload.activations() && (checkpoints || !offload.checkpoints())
        })
    }

    /// Every plan of a method that fills `budget` devices and may fit, with the days that it takes at least.
    pub(super) fn candidates(&self, method: &Method, budget: u32) -> Vec<BoundedChoice> {
        let mut found = Vec::new();
        let mut trial = self.base.clone();
        for (assignment, layers) in method.assignments.iter().enumerate() {
            for (tensor, pipeline) in
                self.tensors().flat_map(|tensor| self.pipelines(*layers).map(move |pipeline| (tensor, pipeline)))
            {
                let group = tensor * pipeline * self.base.plan.context;
                // Only plans that fill the budget compete here; those of smaller budgets are other questions.
                let devices = self.devices(budget, group);
                if devices == 0 {
                    continue;
                }
                for strategy in 0..method.strategies.len() {
                    let data = devices / group;
                    let choice = TrainingChoice {
                        devices,
                        tensor,
                        pipeline,
                        data,
                        assignment,
                        strategy,
                        ..TrainingChoice::PLAINEST
                    };
                    self.batches(method, choice, &mut trial, &mut found);
                }
            }
        }
        found
    }

    /// Adds the plans of a mesh: micro-batches of growing size, until nothing fits any more.
    fn batches(&self, method: &Method, choice: TrainingChoice, trial: &mut Scenario, found: &mut Vec<BoundedChoice>) {
        let sizes = std::iter::successors(Some(1_u32), |size| Some(size * 2));
        for micro_batch in sizes.take_while(|size| *size <= LARGEST_MICRO_BATCH) {
            let before = found.len();
            for offload in self.offloads() {
                self.steps(method, TrainingChoice { micro_batch, offload, ..choice }, trial, found);
            }
            // Not even one micro-batch of this size fits, with anything offloaded: larger ones fit less.
            if found.len() == before {
                break;
            }
        }
    }

    /// Adds the plans of a micro-batch: growing counts of it.
    fn steps(&self, method: &Method, choice: TrainingChoice, trial: &mut Scenario, found: &mut Vec<BoundedChoice>) {
        self.apply(trial, method, &choice);
        let Ok(layout) = trial.layout() else { return };
        if !self.any_plan && trial.lacks_more_than(&self.base) {
            return;
        }
        let terms = StepTerms::new(trial, &layout);
        let capacity = trial.capacity();
        let bound = StepBound::new(trial, &layout, &terms).envelope();
        let useful = FailureForecast::max_useful_share(trial);
        // A pipeline needs as many micro-batches as it has ranks to be filled, however large the batch gets.
        let most = MOST_CRITICAL * self.goal.critical / choice.sequences();
        for accumulate in counts().take_while(|count| f64::from(*count) <= most || *count <= choice.pipeline) {
            let memory = reserved(trial, bound.memory(accumulate));
            // More micro-batches never take less memory.
            if memory > capacity {
                break;
            }
            let choice = TrainingChoice { accumulate, ..choice };
            let days = self.goal.days(choice.sequences(), bound.time(accumulate).get()) / useful;
            found.push(BoundedChoice { days, memory, choice });
        }
    }
}
