//! What the best plan is best in, and what it must keep to.

use crate::evaluate::Summary;

/// What a plan is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Most tokens per second of all devices together.
    Throughput,
    /// Fewest days: the same order.
    Days,
    /// Least money: fewest device-hours, since all devices of a cluster cost the same.
    Cost,
    /// Least energy: the same order, since all draw the same power.
    Energy,
    /// Fewest devices, then tokens per second.
    Devices,
    /// Least memory of the fullest device, then tokens per second.
    Memory,
}

impl Aim {
    /// All of them, with their words on the command line.
    pub const ALL: [(&'static str, Self); 6] = [
        ("throughput", Self::Throughput),
        ("days", Self::Days),
        ("cost", Self::Cost),
        ("energy", Self::Energy),
        ("devices", Self::Devices),
        ("memory", Self::Memory),
    ];

    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, aim)| *aim == self).map_or("", |(word, _)| word)
    }

    /// Scores of a plan, the less the better, the first one first. They rise with each of what they are made of, so that
    /// those of floors are floors of the scores.
    pub(super) fn scores(self, devices: u32, per_token: f64, memory: f64) -> [f64; 2] {
        match self {
            Self::Throughput | Self::Days => [per_token, f64::from(devices)],
            Self::Cost | Self::Energy => [per_token * f64::from(devices), per_token],
            Self::Devices => [f64::from(devices), per_token],
            Self::Memory => [memory, per_token],
        }
    }

    /// The scores of a plan that was simulated: the less the better.
    pub fn of(self, summary: &Summary) -> [f64; 2] {
        self.scores(summary.devices, 1.0 / summary.tokens_per_s(), summary.memory.peak.get())
    }
}

/// What every plan must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchLimits {
    /// Seconds for a token at most, all devices together.
    pub per_token: f64,
    /// Seconds of devices for a token at most.
    pub device_time_per_token: f64,
    /// Devices at most.
    pub devices: u32,
    /// Share of the memory that must stay free.
    pub margin: f64,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { per_token: f64::INFINITY, device_time_per_token: f64::INFINITY, devices: u32::MAX, margin: 0.0 }
    }
}

impl SearchLimits {
    /// Whether plans of so many devices that take at least so long can keep to them.
    pub(super) fn allow(&self, devices: u32, per_token: f64) -> bool {
        devices <= self.devices
            && per_token <= self.per_token
            && per_token * f64::from(devices) <= self.device_time_per_token
    }

    /// Whether a plan that was simulated keeps to them.
    pub(super) fn keeps(&self, summary: &Summary) -> bool {
        let room = summary.memory.capacity * (1.0 - self.margin);
        summary.memory.peak <= room && self.allow(summary.devices, 1.0 / summary.tokens_per_s())
    }
}
