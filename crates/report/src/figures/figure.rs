//! The names of all figures. What each is called, its unit, its value and its reasons stand in the tables of `why`.

use shardscope_engine::evaluate::HostDirection;
use shardscope_evidence::measured::Metric;

/// A figure. Levels are indices into the cluster's, elasticities into the evaluation's, transfers into those of
/// [`shardscope_engine::bounds::intensity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    StepTime,
    Compute,
    Slowed,
    Exposed,
    ExposedCopies,
    LostToTransfers,
    ExposedShare,
    Bubble,
    BubbleLaw,
    Optimizer,
    Other,
    Communication,
    Transfers,
    Forward,
    Backward,
    Update,
    /// Forwards of models beside the one that is trained.
    Beside,
    /// Of a kind of layer, by its place among the model's.
    LayerForward(usize),
    LayerBackward(usize),
    /// Kind by kind, forward's, then backward's.
    Kernel(usize),
    Devices,
    TokensPerStep,
    TokensPerSecond,
    TotalTokens,
    FlopPerToken,
    Recomputed,
    ModelFlops,
    HardwareFlops,
    Mfu,
    Hfu,
    Limit,
    ShareOfLimit,
    Days,
    DeviceHours,
    Cost,
    Energy,
    Goodput,
    DaysWithFailures,
    CostWithFailures,
    EnergyWithFailures,
    TimeBetweenFailures,
    CheckpointBytes,
    CheckpointWrite,
    CheckpointInterval,
    Peak,
    Weights,
    Gradients,
    OptimizerState,
    BesideWeights,
    SecondaryWeights,
    Activations,
    Gathered,
    Buffers,
    /// The engine that writes answers.
    Engine,
    Reserved,
    Allocated,
    Capacity,
    FitChance,
    HostMemory,
    DriveMemory,
    Headroom,
    Traffic(usize),
    Busy(usize),
    Copied(HostDirection),
    Copying(HostDirection),
    /// With a checkpoint after so many seconds of work.
    GoodputEvery(usize),
    Slowdown(usize),
    Intensity(usize),
    Threshold(usize),
    Elasticity(usize),
    /// A limit of fully sharded data parallelism, whatever the plan ([`super::limits`]).
    Limits(Limit, BoundForm),
    /// A figure of the whole training by a plan that a search found ([`super::run`]).
    Run(RunFigure),
}

impl Figure {
    /// Which one of several it is.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::LayerForward(at)
            | Self::LayerBackward(at)
            | Self::Kernel(at)
            | Self::Traffic(at)
            | Self::Busy(at)
            | Self::GoodputEvery(at)
            | Self::Slowdown(at)
            | Self::Intensity(at)
            | Self::Threshold(at)
            | Self::Elasticity(at) => at,
            Self::Copied(way) | Self::Copying(way) => way as usize,
            _ => 0,
        }
    }

    /// Whether it is of a whole step, which nobody times where the model writes its answers.
    pub(super) const fn is_of_whole_step(self) -> bool {
        matches!(
            self,
            Self::StepTime
                | Self::TokensPerSecond
                | Self::TotalTokens
                | Self::Days
                | Self::DeviceHours
                | Self::Cost
                | Self::Energy
                | Self::Goodput
                | Self::GoodputEvery(_)
                | Self::DaysWithFailures
                | Self::CostWithFailures
                | Self::EnergyWithFailures
        )
    }

    /// For how long what carries these bytes is busy.
    pub const fn busy(self) -> Option<Self> {
        match self {
            Self::Traffic(level) => Some(Self::Busy(level)),
            Self::Copied(way) => Some(Self::Copying(way)),
            _ => None,
        }
    }
}

impl From<Metric> for Figure {
    /// The published figures of a measured run.
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::StepTime => Self::StepTime,
            Metric::Memory => Self::Peak,
        }
    }
}

/// The parts of a step, which sum to its time.
pub const TIME_PARTS: [Figure; 5] =
    [Figure::Compute, Figure::Exposed, Figure::Bubble, Figure::Optimizer, Figure::Other];

/// Parts of a part of the step.
pub const WITHIN: [(Figure, Figure); 2] = [(Figure::Compute, Figure::Slowed), (Figure::Exposed, Figure::ExposedCopies)];

/// The phases of a step, which sum to its time too.
pub const PHASES: [Figure; 4] = [Figure::Forward, Figure::Beside, Figure::Backward, Figure::Update];

/// The parts of the peak of memory, which sum to it, in the order of [`shardscope_engine::evaluate::MemoryParts::named`].
pub const MEMORY_PARTS: [Figure; 10] = [
    Figure::Weights,
    Figure::Gradients,
    Figure::OptimizerState,
    Figure::BesideWeights,
    Figure::SecondaryWeights,
    Figure::Activations,
    Figure::Gathered,
    Figure::Buffers,
    Figure::Engine,
    Figure::Reserved,
];

/// Figures of a training of given length.
pub const TRAINING: [Figure; 8] = [
    Figure::Days,
    Figure::DeviceHours,
    Figure::Cost,
    Figure::Energy,
    Figure::Goodput,
    Figure::DaysWithFailures,
    Figure::CostWithFailures,
    Figure::EnergyWithFailures,
];

/// Figures that a map can show.
pub const METRICS: [Figure; 14] = [
    Figure::ModelFlops,
    Figure::Mfu,
    Figure::StepTime,
    Figure::Peak,
    Figure::Headroom,
    Figure::ExposedShare,
    Figure::TotalTokens,
    Figure::Days,
    Figure::DeviceHours,
    Figure::Cost,
    Figure::Energy,
    Figure::Goodput,
    Figure::Limit,
    Figure::ShareOfLimit,
];

/// Figures by which scenarios are compared side by side.
pub const COMPARED: [Figure; 15] = [
    Figure::StepTime,
    Figure::Days,
    Figure::DaysWithFailures,
    Figure::DeviceHours,
    Figure::Cost,
    Figure::Devices,
    Figure::Peak,
    Figure::FitChance,
    Figure::ModelFlops,
    Figure::TokensPerSecond,
    Figure::Mfu,
    Figure::Exposed,
    Figure::Bubble,
    Figure::TotalTokens,
    Figure::Energy,
];

/// Figures by which strategies are listed, beside the traffic of each level: the first two in the unit that heads their
/// column.
pub const STRATEGIES: [Figure; 3] = [Figure::ModelFlops, Figure::Peak, Figure::Exposed];

/// A number among the limits of fully sharded data parallelism; those from [`Self::Shortest`] on are bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    Parameters,
    State,
    Free,
    Activation,
    Tokens,
    Sequence,
    Transfer,
    ForwardFlop,
    Flop,
    Counted,
    Arithmetic,
    Forward,
    Backward,
    Shortest,
    Uncapped,
    UncappedTokens,
    Hfu,
    Mfu,
    TokensPerSecond,
}

/// The two forms of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoundForm {
    /// Each pass hides its own transfers.
    Hidden,
    /// No step ends before its transfers.
    Floor,
}

/// A number of a whole training by a plan that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunFigure {
    /// Days of the whole training.
    Days,
    Steps,
    /// Sequences of a step.
    Batch,
}
