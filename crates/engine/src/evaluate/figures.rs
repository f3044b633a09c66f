//! The figures of one step: time, memory, traffic and limits. Not for how they are found
//! ([`mod@super::summary`]).

use crate::hardware::MAX_LEVELS;
use crate::program::{
    Activity, Copies, HostCopies, HostDirection, HostMemory, MemoryKind, ModelState, PerMemoryKind, StateBytes, Volume,
};
use crate::scenario::Scenario;
use crate::units::{Bytes, Count, FlopPerSecond, Seconds};

/// The figures of one scenario, as a cell of a map needs them: without allocations.
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
    /// The pipeline rank that ends last, whose time `time`, `phases` and `traffic` divide.
    pub last_rank: u32,
    /// Tokens per second and device.
    pub tokens_per_s_per_device: f64,
    /// Model flop per second and device (recompute not counted).
    pub model_flops: FlopPerSecond,
    /// Hardware flop per second and device (recompute counted).
    pub hardware_flops: FlopPerSecond,
    /// The upper bound on `model_flops` over all schedules of this plan's work: arithmetic at the peak, the busiest
    /// level or the link to the host takes the whole step.
    pub limit: FlopPerSecond,
    /// `model_flops` over the device's peak at this precision.
    pub mfu: f64,
    /// `hardware_flops` over the device's peak at this precision.
    pub hfu: f64,
    /// Where the step's time goes.
    pub time: TimeParts,
    /// The step's phases.
    pub phases: Phases,
    /// Where the memory goes at the peak.
    pub memory: Memory,
    /// Peak of a device of the first pipeline rank.
    pub first_peak: Bytes,
    /// Traffic by level of the cluster, innermost first; levels that the cluster lacks stay empty.
    pub traffic: [Traffic; MAX_LEVELS],
    /// Traffic between a device and the host's memory; nothing where nothing lives there.
    pub host: HostTraffic,
    /// What the host and the drives of a node keep, of the node that keeps the most.
    pub host_memory: HostMemory,
    /// Parameters that a rank updates on its host, of the rank that updates the most there.
    pub updated_on_host: Count,
    /// The resource on which most of the step is spent; [`crate::evaluate::Evaluation::bottleneck`] knows better.
    pub bottleneck: Resource,
}

/// Parts of the step; without `communication` they sum to the step time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeParts {
    /// Compute of forward, recompute and backward.
    pub compute: Seconds,
    /// Time during which any communication runs, hidden or not.
    pub communication: Seconds,
    /// Time during which compute stalls for a transfer.
    pub exposed: Seconds,
    /// Part of `exposed`: stalls for exchanges of tokens with their experts.
    pub dispatch: Seconds,
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
    /// Forwards of models beside the one that is trained.
    pub beside: Seconds,
}

/// Memory of the fullest device at its fullest moment. The parts sum to the peak.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Memory {
    /// The device's memory.
    pub capacity: Bytes,
    /// The most in use at any moment, reserve and fragmentation included.
    pub peak: Bytes,
    /// Parts of the peak.
    pub parts: MemoryParts,
    /// The parts of weights, gradients and optimizer state that are of experts with a mesh of their own.
    pub experts: StateBytes,
    /// Pages of the optimizer's state among them, which leave where anything else needs their room.
    pub pages: Bytes,
    /// Pages that left since they had no room, and come back for the update.
    pub moved_pages: Bytes,
    /// Time of the peak, from the start of the step.
    pub moment: Seconds,
    /// Activity at that moment.
    pub during: Activity,
}

impl Memory {
    /// The memory that a device must have: its peak without the pages that may leave.
    pub fn needed(&self) -> Bytes {
        self.peak - self.pages
    }

    /// Whether pages of the optimizer's state move to the host and back.
    pub fn moves_pages(&self) -> bool {
        self.moved_pages > Bytes::ZERO
    }
}

/// Memory by use.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryParts {
    /// This device's shard of the weights.
    pub weights: Bytes,
    /// Gradients, sharded or whole.
    pub gradients: Bytes,
    /// Optimizer state and master weights.
    pub optimizer: Bytes,
    /// This device's shard of the weights of models beside the one that is trained.
    pub beside: Bytes,
    /// The second copy of the weights.
    pub secondary_weights: Bytes,
    /// Activations kept for backward, working buffers and logits.
    pub activations: Bytes,
    /// Gathered units.
    pub gathered: Bytes,
    /// Buffers of collectives.
    pub communication: Bytes,
    /// The engine's that writes answers, asleep or awake.
    pub engine: Bytes,
    /// Reserve of the runtime and the allocator.
    pub reserved: Bytes,
}

impl MemoryParts {
    /// The parts of a rank's state and allocations; nothing reserved.
    pub(super) fn new(state: &ModelState, allocated: &PerMemoryKind<Bytes>) -> Self {
        let StateBytes { weights, gradients, optimizer, beside } = state.resident();
        Self {
            weights,
            gradients: gradients + allocated[MemoryKind::Gradients],
            optimizer,
            beside,
            secondary_weights: allocated[MemoryKind::Secondary],
            activations: allocated[MemoryKind::Activations],
            gathered: allocated[MemoryKind::Gathered],
            communication: state.buffers + allocated[MemoryKind::Communication],
            engine: Bytes::ZERO,
            reserved: Bytes::ZERO,
        }
    }

    /// The parts with their names, in the order in which a bar shows them.
    pub fn named(&self) -> [(&'static str, Bytes); 10] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("beside", self.beside),
            ("secondary_weights", self.secondary_weights),
            ("activations", self.activations),
            ("gathered", self.gathered),
            ("communication", self.communication),
            ("engine", self.engine),
            ("reserved", self.reserved),
        ]
    }

    /// All parts together: the peak.
    pub fn total(&self) -> Bytes {
        self.named().into_iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Traffic on one level of the cluster in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Bytes that one device sends into it, on average over the devices.
    pub bytes_per_device: Bytes,
    /// Time during which it would be busy if each transfer ran alone.
    pub busy: Seconds,
    /// Time during which compute stalls for a transfer that keeps this level busiest.
    pub exposed: Seconds,
}

/// A resource that may limit a step.
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
    /// How long so many tokens take, without what goes wrong.
    pub fn training_time(&self, tokens: f64) -> Seconds {
        self.step_time * (tokens / self.tokens_per_step)
    }

    /// Tokens per second of all devices together.
    pub fn tokens_per_s(&self) -> f64 {
        self.tokens_per_s_per_device * f64::from(self.devices)
    }

    /// The resource that sets the limit: busy throughout the shortest step.
    pub fn limiting(&self) -> Resource {
        let shortest = self.step_time * (self.model_flops / self.limit);
        // The limit was found as the longest of these times, so that one of them is it, but for rounding.
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

/// Traffic on the link to the host's memory in a step; each direction has the link's bandwidth for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostTraffic {
    /// Copies to the host, of the rank that ends last.
    pub to: Copies,
    /// Copies from the host.
    pub from: Copies,
    /// Time during which compute stalls for a copy.
    pub exposed: Seconds,
}

impl HostTraffic {
    /// Copies in one direction.
    pub const fn way(&self, way: HostDirection) -> Copies {
        match way {
            HostDirection::Out => self.to,
            HostDirection::In => self.from,
        }
    }

    /// Whether there is any traffic.
    pub fn any(&self) -> bool {
        HostDirection::ALL.iter().any(|way| self.way(*way).bytes > Bytes::ZERO)
    }

    /// The traffic of one rank; `exposed` is how long its compute stalls for it.
    pub(super) fn new(volume: &Volume, exposed: Seconds) -> Self {
        let HostCopies { to, from } = volume.host_copies;
        Self { to, from, exposed }
    }
}
