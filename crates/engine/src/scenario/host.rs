//! What a plan keeps in the memory of a node's host. Not for the time that it takes there.

use crate::plan::Extent;
use crate::units::Bytes;

use super::Scenario;
use super::layout::{devices, ranks};

/// Bytes of a gradient on the host, which is kept in fp32 there: `DeepSpeed`'s own estimate counts 16 bytes per parameter
/// with Adam, 18 with the weights (deepspeed/runtime/zero/stage3.py, `estimate_zero3_model_states_mem_needs`).
const GRADIENT: f64 = 4.0;

impl Scenario {
    /// Memory that a plan takes of one node's host, on average over the stages of a pipeline: the optimizer's share with its
    /// gradients, weights, and the checkpoints of one micro-batch. Buffers that are pinned beside them are not counted, nor
    /// are the state and the frozen weights of a run that trains adapters.
    pub fn host_memory(&self) -> Bytes {
        let (plan, model) = (&self.plan, &self.model);
        let group = devices(self) / (plan.tensor * plan.pipeline).max(1);
        let over = |extent: &Extent| f64::from(ranks(self, extent, group).unwrap_or(1).max(1));
        let sharding = &plan.sharding;
        let storage = plan.precision.storage().bytes();
        let optimizer = plan.optimizer_on_host() * (plan.optimizer_state() + GRADIENT) / over(&sharding.optimizer);
        let weights = if plan.offload.state() { storage / over(&sharding.weights) } else { 0.0 };
        let stages = f64::from(plan.tensor * plan.pipeline);
        let trained = if plan.tuning.freezes() { 0.0 } else { model.parameters() as f64 };
        let state = trained / stages * (optimizer + weights);
        let held = plan.recompute.layers() * f64::from(model.all_layers()) / f64::from(plan.pipeline);
        let tokens = f64::from(plan.micro_batch) * f64::from(plan.sequence) / f64::from(plan.context.max(1));
        let split = if self.stack.sequence_parallel { f64::from(plan.tensor) } else { 1.0 };
        let checkpoint = tokens * f64::from(model.hidden) * storage / split;
        let checkpoints = if plan.offload.checkpoints() { held * checkpoint } else { 0.0 };
        let on_node = devices(self).min(self.cluster.devices_per_node());
        Bytes::new((state + checkpoints) * f64::from(on_node))
    }
}
