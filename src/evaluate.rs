//! The verdict: scenario in, evaluation out. One run; what takes many, sweeps and elasticities,
//! is [`crate::search`]'s.

mod band;
mod expense;
mod host;
mod summary;
mod trace;
mod turn;
mod window;

use crate::cost::Factors;
use crate::hardware::MAX_LEVELS;
use crate::scenario::{Problem, Scenario};
use crate::units::{Bytes, FlopPerSecond, Seconds};

pub use crate::program::{Activity, Lane, ModelPart, TaskKind};
pub use band::{ErrorBand, evidence, likeness};
pub use expense::Expense;
pub use host::{Copies, HostDirection, HostTraffic};
pub use summary::Workspace;
pub use trace::{Folded, IdleCause, MemoryPoint, Span, Stall, Trace};
pub use turn::SpanMicroBatches;
pub use window::WindowTotals;

/// The figures of one scenario, without anything allocated: what a cell of a map needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Whether the peak is within the capacity.
    pub fits: bool,
    /// Devices of the job.
    pub devices: u32,
    /// Tokens of one optimizer step, all devices together.
    pub tokens_per_step: f64,
    /// Time of one optimizer step, on the rank that ends last.
    pub step_time: Seconds,
    /// Tokens per second and device.
    pub tokens_per_s_per_device: f64,
    /// Model flop per second and device (recompute not counted).
    pub model_flops: FlopPerSecond,
    /// Hardware flop per second and device (recompute counted).
    pub hardware_flops: FlopPerSecond,
    /// What no schedule of this plan's work beats, in `model_flops`: the peak, the busiest level or the link to
    /// the host takes the whole step.
    pub limit: FlopPerSecond,
    /// `model_flops` over the device's peak at this precision.
    pub mfu: f64,
    /// `hardware_flops` over the device's peak at this precision.
    pub hfu: f64,
    /// Where the step's time goes.
    pub time: TimeParts,
    /// The same step by its phases.
    pub phases: Phases,
    /// Where the memory goes at the peak.
    pub memory: Memory,
    /// Peak of a device of the first pipeline rank.
    pub first_peak: Bytes,
    /// Traffic by level of the cluster, innermost first; levels that the cluster lacks stay empty.
    pub traffic: [Traffic; MAX_LEVELS],
    /// Traffic between a device and the host's memory; nothing where nothing lives there.
    pub host: HostTraffic,
    /// What most of the step goes into; [`Evaluation::bottleneck`] knows better.
    pub bottleneck: Resource,
}

/// Parts of the step; without `communication` they sum to the step time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeParts {
    /// Compute of forward, recompute and backward.
    pub compute: Seconds,
    /// Time during which any communication runs, hidden or not.
    pub communication: Seconds,
    /// Time during which compute stands still for a transfer.
    pub exposed: Seconds,
    /// Time during which compute waits for another pipeline rank.
    pub bubble: Seconds,
    /// The optimizer's exposed part.
    pub optimizer: Seconds,
    /// Launch, host and waits.
    pub other: Seconds,
}

/// The phases of the step, on the rank that ends last; they sum to the step time. Time spent waiting belongs to
/// the compute that waits; for a reduction of gradients, to backward.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Phases {
    /// Forward.
    pub forward: Seconds,
    /// Backward, recompute and reductions included.
    pub backward: Seconds,
    /// The optimizer's update, and the gathers of what it wrote.
    pub update: Seconds,
}

/// Memory of the fullest device at its fullest moment. The parts sum to the peak.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Memory {
    /// What the device has.
    pub capacity: Bytes,
    /// The peak.
    pub peak: Bytes,
    /// What it is made of.
    pub parts: MemoryParts,
    /// When the peak is reached, from the start of the step.
    pub moment: Seconds,
    /// What runs then.
    pub during: Activity,
}

/// Memory by what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryParts {
    /// This device's shard of the weights.
    pub weights: Bytes,
    /// Gradients, sharded or whole.
    pub gradients: Bytes,
    /// Optimizer state and master weights.
    pub optimizer: Bytes,
    /// The second copy of the weights.
    pub secondary_weights: Bytes,
    /// Activations kept for backward, working buffers and logits.
    pub activations: Bytes,
    /// Gathered units.
    pub gathered: Bytes,
    /// Buffers of collectives.
    pub communication: Bytes,
    /// Runtime and allocator.
    pub reserved: Bytes,
}

impl MemoryParts {
    /// The parts with their names, in the order in which a bar shows them.
    pub fn named(&self) -> [(&'static str, Bytes); 8] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("secondary_weights", self.secondary_weights),
            ("activations", self.activations),
            ("gathered", self.gathered),
            ("communication", self.communication),
            ("reserved", self.reserved),
        ]
    }

    /// Their sum.
    pub fn total(&self) -> Bytes {
        self.named().into_iter().map(|(_, bytes)| bytes).sum()
    }
}

/// What one level of the cluster carries in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Bytes that one device sends into it, on average over the devices.
    pub bytes_per_device: Bytes,
    /// Time during which it would be busy if each transfer had it alone.
    pub busy: Seconds,
    /// Time during which compute stands still for a transfer that keeps this level busiest.
    pub exposed: Seconds,
}

/// What limits a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Arithmetic.
    Compute,
    /// The device's memory bandwidth.
    Memory,
    /// A level of the cluster, by its index.
    Level(usize),
    /// Waiting for another pipeline rank.
    Bubble,
    /// The link to the host's memory.
    HostLink,
    /// The host that launches the work.
    Host,
}

impl Summary {
    /// What sets the limit: whatever is busy all through the shortest step.
    pub fn limiting(&self) -> Resource {
        let shortest = self.step_time * (self.model_flops / self.limit);
        let all_through = |busy: Seconds| busy >= shortest * (1.0 - 1e-9);
        if HostDirection::ALL.iter().any(|way| all_through(self.host.way(*way).busy)) {
            return Resource::HostLink;
        }
        self.traffic.iter().position(|level| all_through(level.busy)).map_or(Resource::Compute, Resource::Level)
    }
}

impl Resource {
    /// Its name in reports: `compute`, `memory`, a level's name, `bubble` or `host`.
    pub fn name(self, scenario: &Scenario) -> &str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Level(index) => scenario.cluster.levels.get(index).map_or("network", |level| &level.name),
            Self::Bubble => "bubble",
            Self::HostLink | Self::Host => "host",
        }
    }
}

/// A property of the hardware that throughput may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Arithmetic of the device.
    PeakFlop,
    /// Bandwidth of the device's memory.
    MemoryBandwidth,
    /// Bandwidth of the link to the host.
    HostBandwidth,
    /// Bandwidth of a level, by its index.
    LevelBandwidth(usize),
    /// Latency of a level, by its index.
    LevelLatency(usize),
    /// Memory of the device, which makes room and not speed.
    MemoryCapacity,
}

impl Property {
    /// Its key in files: `peak_flop`, `memory_bandwidth`, `host_bandwidth`, `LEVEL.bandwidth`, `LEVEL.latency` or
    /// `memory_capacity`.
    pub fn key(self, scenario: &Scenario) -> String {
        let level = |index: usize| Resource::Level(index).name(scenario);
        match self {
            Self::PeakFlop => "peak_flop".to_owned(),
            Self::MemoryBandwidth => "memory_bandwidth".to_owned(),
            Self::HostBandwidth => "host_bandwidth".to_owned(),
            Self::LevelBandwidth(index) => format!("{}.bandwidth", level(index)),
            Self::LevelLatency(index) => format!("{}.latency", level(index)),
            Self::MemoryCapacity => "memory_capacity".to_owned(),
        }
    }

    /// The same in words.
    pub fn words(self, scenario: &Scenario) -> String {
        let level = |index: usize| Resource::Level(index).name(scenario);
        match self {
            Self::PeakFlop => "arithmetic peak".to_owned(),
            Self::MemoryBandwidth => "memory bandwidth".to_owned(),
            Self::HostBandwidth => "bandwidth of the host link".to_owned(),
            Self::LevelBandwidth(index) => format!("bandwidth of the {} level", level(index)),
            Self::LevelLatency(index) => format!("latency of the {} level", level(index)),
            Self::MemoryCapacity => "memory".to_owned(),
        }
    }

    /// By how much it is changed when one asks what that would give; `None` for the memory's capacity, whose elasticity
    /// is the gain of 10 % more itself.
    pub const fn change(self) -> Option<f64> {
        match self {
            Self::MemoryCapacity => None,
            Self::LevelLatency(_) => Some(0.9),
            _ => Some(1.1),
        }
    }

    /// What throughput is limited by where it depends on this most; `None` for the memory's capacity.
    const fn limits(self) -> Option<Resource> {
        match self {
            Self::PeakFlop => Some(Resource::Compute),
            Self::MemoryBandwidth => Some(Resource::Memory),
            Self::HostBandwidth => Some(Resource::HostLink),
            Self::LevelBandwidth(index) | Self::LevelLatency(index) => Some(Resource::Level(index)),
            Self::MemoryCapacity => None,
        }
    }
}

/// How much throughput depends on one property: `d ln throughput / d ln property`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elasticity {
    /// Of the hardware.
    pub property: Property,
    /// The elasticity; for the memory's capacity the relative gain of 10 % more, re-tuned.
    pub value: f64,
}

impl Elasticity {
    /// The gain in throughput of a change of the property by 10 %.
    pub fn gain(&self) -> f64 {
        self.property.change().map_or(self.value, |factor| libm::pow(factor, self.value) - 1.0)
    }
}

/// The whole answer about the scenario in hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The figures.
    pub summary: Summary,
    /// Memory of each pipeline rank.
    pub stages: Vec<Memory>,
    /// What runs when.
    pub trace: Trace,
    /// What more of each resource would give.
    pub elasticity: Vec<Elasticity>,
    /// 80 % band of the step time and the rows behind it; `None` where no calibration stands behind the stack.
    pub error_band: Option<ErrorBand>,
}

impl Evaluation {
    /// What limits the step: whatever throughput depends on most. Time that no hardware shortens, a bubble
    /// or the host's, limits it where most of the step goes into it.
    pub fn bottleneck(&self) -> Resource {
        if matches!(self.summary.bottleneck, Resource::Bubble | Resource::Host) {
            return self.summary.bottleneck;
        }
        let felt = self.elasticity.iter().filter_map(|one| Some((one.value.abs(), one.property.limits()?)));
        let most = felt.max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or(self.summary.bottleneck, |(_, resource)| resource)
    }
}

/// The figures of one scenario. Nothing is allocated once the workspace has grown to its size.
pub fn summary(scenario: &Scenario, workspace: &mut Workspace) -> Result<Summary, Vec<Problem>> {
    summary_with(scenario, &Factors::default(), workspace)
}

/// The same on hardware with what-if factors.
pub fn summary_with(
    scenario: &Scenario,
    factors: &Factors,
    workspace: &mut Workspace,
) -> Result<Summary, Vec<Problem>> {
    summary::run(scenario, factors, workspace, true)
}

/// The figures of one scenario, and what runs when.
pub fn traced(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Summary, Trace), Vec<Problem>> {
    trace::run(scenario, workspace)
}

/// Memory of each pipeline rank in the run that was made last in this workspace.
pub fn stages(scenario: &Scenario, workspace: &Workspace) -> Vec<Memory> {
    summary::stages(scenario, workspace)
}

#[cfg(test)]
mod tests;
