//! Labels of tasks, for people: they travel with tasks and mean nothing to the simulator.

use crate::plan::pass::Pass;

use super::stream::Stream;

/// A kind of task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TaskKind {
    /// Forward compute.
    #[default]
    Forward,
    /// Forward compute of a model beside the one that is trained: nothing is kept for a backward.
    ForwardAlone,
    /// Backward compute, recompute included: the gradients of inputs and weights together.
    Backward,
    /// Backward for the gradients of inputs, where a schedule runs the two apart.
    BackwardInputs,
    /// Backward for the gradients of weights.
    BackwardWeights,
    /// Optimizer update.
    Optimizer,
    /// All-gather of weights.
    AllGather,
    /// Reduce-scatter of gradients.
    ReduceScatter,
    /// All-reduce.
    AllReduce,
    /// All-to-all (tokens to experts, quantised gradients).
    AllToAll,
    /// Point-to-point.
    PointToPoint,
    /// Transfer to or from the host.
    Copy,
    /// A fixed cost of the host.
    Host,
    /// Answers that an engine writes between updates.
    Rollout,
}

impl TaskKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Forward,
        Self::ForwardAlone,
        Self::Backward,
        Self::BackwardInputs,
        Self::BackwardWeights,
        Self::Optimizer,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllReduce,
        Self::AllToAll,
        Self::PointToPoint,
        Self::Copy,
        Self::Host,
        Self::Rollout,
    ];

    /// Whether it is a pass over layers.
    pub const fn computes_layers(self) -> bool {
        matches!(self, Self::Forward | Self::ForwardAlone) || self.is_backward()
    }

    /// Whether it is backward, whole or one of its two parts.
    pub const fn is_backward(self) -> bool {
        matches!(self, Self::Backward | Self::BackwardInputs | Self::BackwardWeights)
    }

    /// Whether it moves bytes, between devices or to the host and back.
    pub const fn communicates(self) -> bool {
        !self.computes_layers() && !matches!(self, Self::Optimizer | Self::Host | Self::Rollout)
    }

    /// Its name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::ForwardAlone => "forward alone",
            Self::Backward => "backward",
            Self::BackwardInputs => "backward, inputs",
            Self::BackwardWeights => "backward, weights",
            Self::Optimizer => "optimizer",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::AllToAll => "all-to-all",
            Self::PointToPoint => "point-to-point",
            Self::Copy => "copy",
            Self::Host => "host",
            Self::Rollout => "rollout",
        }
    }
}

impl From<Pass> for TaskKind {
    fn from(pass: Pass) -> Self {
        match pass {
            Pass::Forward => Self::Forward,
            Pass::Backward => Self::Backward,
            Pass::BackwardInputs => Self::BackwardInputs,
            Pass::BackwardWeights => Self::BackwardWeights,
        }
    }
}

/// A part of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ModelPart {
    /// A transformer layer.
    #[default]
    Layer,
    /// A layer's attention, where it is a unit of its own.
    Attention,
    /// A layer's MLP, where it is a unit of its own.
    Mlp,
    /// A layer's experts, where they have a mesh of their own.
    Experts,
    /// The table of token embeddings.
    Embedding,
    /// Last norm, logits and loss.
    Head,
    /// The whole model.
    Model,
}

/// The phases of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// Forward, and what it waits for.
    #[default]
    Forward,
    /// Backward, recompute and reductions included.
    Backward,
    /// The optimizer's update and the gathers of what it wrote.
    Update,
    /// Forwards of models beside the one that is trained.
    Beside,
}

/// Number of phases.
pub const PHASES: usize = 4;

impl From<Pass> for Phase {
    fn from(pass: Pass) -> Self {
        if pass.is_backward() { Self::Backward } else { Self::Forward }
    }
}

/// An activity: kind, part, layer and micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Activity {
    /// Kind of task.
    pub kind: TaskKind,
    /// Part of the model.
    pub part: ModelPart,
    /// The layer, from 0, where the part is a layer.
    pub layer: u32,
    /// The micro-batch, from 0.
    pub micro_batch: u32,
}

/// A task's activity in the first iteration of all its loops, and how its layer moves with the task loop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Label {
    /// Lane of the timeline.
    pub lane: Stream,
    /// Phase of the step that needs it.
    pub phase: Phase,
    /// Activity in the first iteration, with layer and micro-batch counted from its launch's.
    pub first: Activity,
    /// Change of the layer from one iteration of the task loop to the next: 1, -1 or 0.
    pub layer_step: i32,
    /// Bytes that one device receives, for a transfer.
    pub bytes: u64,
    /// The level that it keeps busiest, for a transfer between devices.
    pub level: Option<u8>,
}
