//! The whole answer about one scenario, and what throughput depends on.

use crate::scenario::Scenario;

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
    /// What would be made faster or larger.
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

/// The whole answer about the current scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Time, memory, traffic and throughput in total.
    pub summary: Summary,
    /// Memory of each pipeline rank.
    pub stages: Vec<Memory>,
    /// What runs when.
    pub trace: Trace,
    /// What more of each resource would give.
    pub elasticity: Vec<Elasticity>,
    /// 80 % band of the step time and the rows behind it; `None` where no calibration stands behind the stack.
    pub error_band: Option<ErrorBand>,
    /// What reasons count with beyond the figures.
    pub details: Details,
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
