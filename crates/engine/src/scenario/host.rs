//! What a plan keeps in the memory of a node's host and on its drives. Not for the time that it takes there.

use crate::plan::{Ema, Extent};
use crate::stack::ProcessLauncher;
use crate::units::{Bytes, Count, Share};

use super::Scenario;
use super::layout::{devices, ranks};

/// Bytes of a gradient on the host, which is kept in fp32 there: `DeepSpeed`'s own estimate counts 16 bytes per parameter
/// with Adam, 18 with the weights (deepspeed/runtime/zero/stage3.py, `estimate_zero3_model_states_mem_needs`).
pub(crate) const HOST_GRADIENT: f64 = 4.0;

/// Buffers through which a state comes from the drives: `buffer_count` of fp32 tensors as long as the largest part that is
/// updated at once, which holds up to `sub_group_size` parameters of a rank (`deepspeed/runtime/zero/offload_config.py` and
/// `config.py`, their defaults; `runtime/swap_tensor/optimizer_utils.py`).
const SWAP_BUFFERS: f64 = 4.0 * 4.0;
const SWAPPED_AT_ONCE: f64 = 1e9;

/// Parameters in the buffers of weights that come from the drives: `buffer_count` of `buffer_size`.
const WEIGHT_BUFFERS: f64 = 5.0 * 1e8;

/// The share of its link's rate that a copy reaches to and from memory of the host that is not page-locked: the driver passes
/// it through a buffer that is. A DGX A100 copies 10.0 of 25.7 GB/s to the device (`bandwidthTest` of NVIDIA's CUDA samples,
/// in `gengwg/gpu`); other hosts 0.17 (deepspeedai/DeepSpeed pull request 5301) to 0.48 (rapidsai/dask-cuda pull request 98).
pub const PAGEABLE: Share = Share::new(10.0 / 25.7);

/// Parameters of a rank, on average over the stages of a pipeline, as each part of its state divides them.
struct RankShare {
    optimizer: f64,
    weights: f64,
}

/// Threads of the host with which each rank updates an offloaded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostThreads {
    /// The threads that an update is timed with.
    pub counted: u32,
    /// A rank's share of the cores, where nothing says that fewer threads run; absent where the threads are known.
    pub most: Option<u32>,
}

impl Scenario {
    /// The threads of each rank's update: as the plan says, or one for each of several processes that torchrun starts. Where
    /// neither is so one is counted, at whose rate two of four published runs of `DeepSpeed` updated.
    pub fn host_threads(&self) -> HostThreads {
        let ranks = self.devices_on_node();
        let launched = self.stack.launcher == Some(ProcessLauncher::Torchrun) && ranks > 1;
        let known = self.plan.host_threads.or(launched.then_some(1));
        let share = || (self.cluster.host_cores() / ranks).max(1);
        HostThreads { counted: known.unwrap_or(1), most: known.is_none().then(share) }
    }

    /// Whether copies to and from the host are of page-locked memory: the program asks for it, and the host lets it.
    pub fn pins_host(&self) -> bool {
        self.plan.host_pinned && self.cluster.host.as_ref().is_none_or(|host| host.pinned)
    }

    /// Parameters that each rank updates on its host, on average over the stages of a pipeline.
    pub fn updated_on_host(&self) -> Count {
        Count::new(self.rank_share().optimizer * self.plan.optimizer_on_host())
    }

    /// Memory that a plan takes of one node's host, on average over the stages of a pipeline: the optimizer's share with its
    /// gradients, weights, and the checkpoints of one micro-batch. Where the state is on the drives, the buffers through
    /// which it comes and the gradients in the format of the weights. Buffers that are pinned beside a state in memory are
    /// not counted, nor are the state and the frozen weights of a run that trains adapters.
    pub fn host_memory(&self) -> Bytes {
        let (plan, model) = (&self.plan, &self.model);
        let storage = plan.precision.storage().bytes();
        let RankShare { optimizer, weights } = self.rank_share();
        let state = self.updated_on_host().get() * (plan.optimizer_state() + HOST_GRADIENT);
        let weights = if plan.offload.state() { storage * weights } else { 0.0 };
        let state = if plan.offload.on_drives() && optimizer > 0.0 {
            let weights = if plan.offload.state() { storage * WEIGHT_BUFFERS } else { 0.0 };
            SWAP_BUFFERS * optimizer.min(SWAPPED_AT_ONCE) + storage * optimizer + weights
        } else {
            state + weights
        };
        let held = plan.recompute.layers() * f64::from(model.all_layers()) / f64::from(plan.pipeline);
        let tokens = f64::from(plan.micro_batch) * f64::from(plan.sequence) / f64::from(plan.context.max(1));
        let split = if self.stack.sequence_parallel { f64::from(plan.tensor) } else { 1.0 };
        let checkpoint = tokens * f64::from(model.hidden) * storage / split;
        let checkpoints = if plan.offload.checkpoints() { held * checkpoint } else { 0.0 };
        // The average, and the copy of the weights that it is taken of.
        let averaged = if plan.ema == Ema::Host { 2.0 * plan.updated_weight() * optimizer } else { 0.0 };
        Bytes::new((state + checkpoints + averaged) * f64::from(self.devices_on_node()))
    }

    /// What a plan keeps on the drives of a node: the optimizer's share with its gradients, and weights where those are
    /// there too. Nothing where it offloads to memory alone.
    pub fn drive_memory(&self) -> Bytes {
        let plan = &self.plan;
        if !plan.offload.on_drives() {
            return Bytes::ZERO;
        }
        let weights = self.rank_share().weights;
        let state = self.updated_on_host().get() * (plan.optimizer_state() + HOST_GRADIENT);
        let weights = if plan.offload.state() { plan.precision.storage().bytes() * weights } else { 0.0 };
        Bytes::new((state + weights) * f64::from(self.devices_on_node()))
    }

    fn rank_share(&self) -> RankShare {
        let (plan, sharding) = (&self.plan, &self.plan.sharding);
        let stages = plan.tensor * plan.pipeline;
        let group = devices(self) / stages.max(1);
        let over = |extent: &Extent| f64::from(ranks(self, extent, group).unwrap_or(1).max(1));
        let all = if plan.tuning.freezes() { 0 } else { self.model.parameters() };
        let [trained, all] = [self.trained_in_full(), all].map(|count| count as f64 / f64::from(stages));
        RankShare { optimizer: trained / over(&sharding.optimizer), weights: all / over(&sharding.weights) }
    }
}
