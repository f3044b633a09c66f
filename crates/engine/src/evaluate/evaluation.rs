//! The whole answer about one scenario, and what throughput depends on.

use crate::scenario::{Field, Scenario, Value};
use crate::units::Seconds;

use super::band::ErrorBand;
use super::details::Details;
use super::figures::{Memory, Resource, Summary};
use super::trace::Trace;

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

    /// The property in words.
    pub fn words(self, scenario: &Scenario) -> String {
        let place = |index: usize| scenario.cluster.place(index);
        match self {
            Self::PeakFlop => "arithmetic peak".to_owned(),
            Self::MemoryBandwidth => "memory bandwidth".to_owned(),
            Self::HostBandwidth => "bandwidth of the host link".to_owned(),
            Self::LevelBandwidth(index) => format!("bandwidth {}", place(index)),
            Self::LevelLatency(index) => format!("latency {}", place(index)),
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

    /// The resource that limits throughput where it depends on this most; `None` for the memory's capacity.
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
    /// The property that grows.
    pub property: Property,
    /// The elasticity; for the memory's capacity the relative gain of 10 % more, re-tuned.
    pub value: f64,
    /// The relative gain in throughput of a change of the property by 10 %, simulated: on the way there something else
    /// may begin to limit the step.
    pub gain: f64,
}

impl Elasticity {
    /// Whether less than half of the gain that the elasticity promises is left at 10 %: something else limits the step
    /// almost as much.
    pub fn ties(&self) -> bool {
        let promised = self.property.change().map_or(self.value, |factor| libm::pow(factor, self.value) - 1.0);
        self.gain < promised / 2.0
    }

    /// Whether what should shorten the step makes it longer, by the elasticity or at 10 %: more than rounding would.
    pub fn is_reversed(&self) -> bool {
        let promised = self.property.change().map_or(self.value, |factor| libm::pow(factor, self.value) - 1.0);
        promised.min(self.gain) < -REVERSED
    }
}

/// The smallest loss at 10 % that is more than rounding.
const REVERSED: f64 = 0.000_5;

/// The smallest share of a step, or of the peak of memory, that a setback takes more.
const LEAST_SETBACK: f64 = 0.01;

/// Of what a step has more than another one.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "an evaluation has a few of them")]
pub enum More {
    /// Of a property of the hardware, as much as [`Property::change`] says.
    Property(Property),
    /// A choice of the plan that is meant to spare something.
    Choice {
        /// The field of the choice.
        field: Field,
        /// The value that the plan has.
        value: Value,
        /// The value that does without.
        instead: Value,
    },
}

/// What is meant to make a step faster and makes it slower: what was hidden behind one thing may show once that is gone. Of
/// adapters also what makes it larger.
#[derive(Debug, Clone, PartialEq)]
pub struct Setback {
    /// What there is more of.
    pub more: More,
    /// The step that has less of it.
    pub without: Summary,
    /// The step that has more of it.
    pub with: Summary,
}

impl Setback {
    /// The setback of more of something, if the step takes at least 1 % longer for it, or with adapters as much more memory.
    pub fn new(more: More, without: Summary, with: Summary) -> Option<Self> {
        let setback = Self { more, without, with };
        let spares_memory = matches!(setback.more, More::Choice { field: Field::Train, .. });
        let is_one = setback.longer() >= LEAST_SETBACK || spares_memory && setback.larger() >= LEAST_SETBACK;
        is_one.then_some(setback)
    }

    /// By how much the step is longer, as a share.
    pub fn longer(&self) -> f64 {
        self.with.step_time / self.without.step_time - 1.0
    }

    /// By how much the peak of memory is larger, as a share.
    pub fn larger(&self) -> f64 {
        self.with.memory.peak / self.without.memory.peak - 1.0
    }
}

/// The whole answer about the current scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Time, memory, traffic and throughput in total.
    pub summary: Summary,
    /// Memory of each pipeline rank.
    pub stages: Vec<Memory>,
    /// Timeline.
    pub trace: Trace,
    /// Gain from more of each property.
    pub elasticity: Vec<Elasticity>,
    /// What makes the step slower that should make it faster, among its own choices and what was asked for the elasticities.
    pub setbacks: Vec<Setback>,
    /// 80 % band of the step time and the rows behind it; `None` where no calibration stands behind the stack.
    pub error_band: Option<ErrorBand>,
    /// Inputs to explanations beyond the figures.
    pub details: Details,
    /// Time of the pass ahead of the training over as much as a step takes, where what a reference gives is kept from it.
    pub ahead: Option<Seconds>,
}

impl Evaluation {
    /// The bottleneck: the resource that leads the [ranking](Self::ranking). Time that no hardware shortens, a bubble or
    /// the host's, is the bottleneck where most of the step goes into it.
    pub fn bottleneck(&self) -> Resource {
        // A bubble and a slow host are no property of the hardware, so that no elasticity can name them: where most
        // time goes decides. Else what helps most does, which exposed time alone would miss: a link may be hidden, and
        // yet slow the compute beside it.
        if matches!(self.summary.bottleneck, Resource::Bubble | Resource::Host) {
            return self.summary.bottleneck;
        }
        self.ranking().find_map(|(_, first)| first.property.limits()).unwrap_or(self.summary.bottleneck)
    }

    /// The second bottleneck, where 10 % more of the first alone would not help.
    pub fn tie(&self) -> Option<Resource> {
        let bottleneck = self.bottleneck();
        let limits = |one: &Elasticity| one.property.limits();
        self.ranking().next().filter(|(_, first)| limits(first) == Some(bottleneck) && first.ties())?;
        self.ranking().find_map(|(_, one)| limits(one).filter(|limit| *limit != bottleneck))
    }

    /// The ranking of what limits the step: properties of the hardware with their places among the elasticities, by the
    /// gain from 10 % of each with the plan as it is, the largest first. Not by elasticity: where two limit the step
    /// together, a hair more of the one may give much and 10 % more of it hardly anything. More memory helps another
    /// plan only, so that it stands apart.
    pub fn ranking(&self) -> impl Iterator<Item = (usize, &Elasticity)> {
        let mut ranked: Vec<_> =
            self.elasticity.iter().enumerate().filter(|(_, one)| one.property.limits().is_some()).collect();
        ranked.sort_by(|(_, a), (_, b)| b.gain.total_cmp(&a.gain));
        ranked.into_iter()
    }

    /// The gain from 10 % more memory, with micro-batch and recompute re-tuned, and its place among the elasticities.
    pub fn more_memory(&self) -> Option<(usize, &Elasticity)> {
        self.elasticity.iter().enumerate().find(|(_, one)| one.property == Property::MemoryCapacity)
    }
}
