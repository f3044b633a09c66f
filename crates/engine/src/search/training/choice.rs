//! One plan of the grid: what is chosen for a method, as numbers that are cheap to sort.

use crate::plan::Offload;

/// What a plan is chosen from: everything that the scenario does not say. The order is that in which equal
/// days are settled: fewer devices first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrainingChoice {
    /// Devices.
    pub devices: u32,
    /// Tensor-parallel ranks.
    pub tensor: u32,
    /// Pipeline ranks.
    pub pipeline: u32,
    /// Data-parallel ranks.
    pub data: u32,
    /// Sequences per micro-batch.
    pub micro_batch: u32,
    /// Micro-batches per step.
    pub accumulate: u32,
    /// What is offloaded to host memory.
    pub offload: Offload,
    /// How layers are assigned, by index into the method's.
    pub assignment: usize,
    /// How the state is placed, by index into the method's strategies.
    pub strategy: usize,
}

impl TrainingChoice {
    /// One rank along each dimension.
    pub(super) const PLAINEST: Self = Self {
        devices: 1,
        tensor: 1,
        pipeline: 1,
        data: 1,
        micro_batch: 1,
        accumulate: 1,
        offload: Offload::None,
        assignment: 0,
        strategy: 0,
    };

    /// Sequences of a step.
    pub fn sequences(&self) -> f64 {
        f64::from(self.data) * f64::from(self.micro_batch) * f64::from(self.accumulate)
    }
}
