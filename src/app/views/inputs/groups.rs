//! The groups of the scenario's fields: what trains, on what, how, and the details of how. Not for which are folded.

use shardscope_engine::scenario::Field;

/// Fields that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldGroup {
    /// What is trained.
    Job,
    /// On what.
    Machine,
    /// How.
    Plan,
    /// How much of what state is where.
    Extents,
    /// Stages and their order.
    Pipeline,
    /// How the state is updated, and in which formats it is held.
    Optimizer,
    /// What is in the host's memory or on drives.
    Offload,
    /// What is not trained, and the adapters that are.
    Adapters,
    /// Experts and their exchange.
    Experts,
    /// When and in what form weights and gradients move.
    Transfers,
    /// Data, kernels, and how work is counted.
    Details,
}

impl FieldGroup {
    /// All of them, in the order of the panel.
    pub const ALL: [Self; 11] = [
        Self::Job,
        Self::Machine,
        Self::Plan,
        Self::Extents,
        Self::Pipeline,
        Self::Optimizer,
        Self::Offload,
        Self::Adapters,
        Self::Experts,
        Self::Transfers,
        Self::Details,
    ];

    /// Its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Job => "JOB",
            Self::Machine => "MACHINE",
            Self::Plan => "PLAN",
            Self::Extents => "extents",
            Self::Pipeline => "pipeline",
            Self::Optimizer => "update",
            Self::Offload => "host",
            Self::Adapters => "adapters",
            Self::Experts => "experts",
            Self::Transfers => "transfers",
            Self::Details => "details",
        }
    }

    /// Whether it is unfolded until it is folded: what nearly every job sets.
    pub const fn opens(self) -> bool {
        matches!(self, Self::Job | Self::Machine | Self::Plan)
    }

    /// The group of a field; one that no other has is a detail.
    pub const fn holding(field: Field) -> Self {
        use Field::{
            Accumulate, Accumulation, Bandwidth, Capacity, ClipNorm, Cluster, Context, Devices, DispatchFormat,
            Dispatcher, Ema, ExpertOverlap, ExpertTensor, Experts, FrozenEnds, FrozenFormat, FrozenLayers, GlobalBatch,
            GradientFormat, GradientsOver, HostPinned, HostThreads, Hpz, Imbalance, LoraDropout, LoraRank, LoraTargets,
            MasterWeights, Memory, MicroBatch, Model, Moments, Nodes, Offload, OffloadOverlap, OffloadRatio, Optimizer,
            OptimizerOver, PagedOptimizer, Pipeline, Precision, Prefetch, Price, Qgz, Qwz, Recompute, Reduction,
            Reshard, Schedule, Sequence, Shard, SharedOverlap, Stack, StageLayers, StagesPerRank, Strategy, Tensor,
            TensorOverlap, Tokens, Train, WeightsOver,
        };
        match field {
            Model | GlobalBatch | Sequence | Tokens => Self::Job,
            Cluster | Stack | Nodes | Devices | Bandwidth | Memory | Price => Self::Machine,
            Strategy | Shard | MicroBatch | Accumulate | Recompute | Precision | Tensor | Context | Pipeline => {
                Self::Plan
            }
            WeightsOver | GradientsOver | OptimizerOver | Hpz => Self::Extents,
            Schedule | StagesPerRank | StageLayers | Accumulation => Self::Pipeline,
            Optimizer | Moments | MasterWeights | GradientFormat | ClipNorm | Ema => Self::Optimizer,
            Offload | OffloadRatio | OffloadOverlap | HostThreads | HostPinned | PagedOptimizer => Self::Offload,
            Train | LoraRank | LoraTargets | LoraDropout | FrozenFormat | FrozenLayers | FrozenEnds => Self::Adapters,
            Experts | ExpertTensor | Imbalance | Capacity | Dispatcher | ExpertOverlap | SharedOverlap
            | DispatchFormat => Self::Experts,
            Reduction | TensorOverlap | Prefetch | Reshard | Qwz | Qgz => Self::Transfers,
            _ => Self::Details,
        }
    }

    /// Its fields, in the order of the table.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        Field::all().filter(move |field| Self::holding(*field) == self)
    }
}
