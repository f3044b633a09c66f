//! What the best plan is best in, and what it must keep to.

use crate::evaluate::FailureForecast;
use crate::scenario::Scenario;
use crate::units::{Money, Seconds};

use super::answer::FoundWhole;

/// What a plan is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Most tokens per second of all devices together.
    Throughput,
    /// Fewest days, with what failures take where the cluster states them.
    Days,
    /// Least money: fewest device-hours, failures included, since all devices of a cluster cost the same.
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
    pub(super) fn scores(self, pace: &TokenPace, memory: f64) -> [f64; 2] {
        let TokenPace { devices, per_token, with_failures } = *pace;
        let devices = f64::from(devices);
        match self {
            Self::Throughput => [per_token, devices],
            Self::Days => [with_failures, devices],
            Self::Cost | Self::Energy => [with_failures * devices, with_failures],
            Self::Devices => [devices, per_token],
            Self::Memory => [memory, per_token],
        }
    }

    /// The scores of a plan that was simulated: the less the better.
    pub fn of(self, found: &FoundWhole) -> [f64; 2] {
        self.scores(&TokenPace::of(found), found.summary.memory.peak.get())
    }
}

/// How fast a plan is, or is at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPace {
    pub(super) devices: u32,
    /// Seconds for a token, all devices together.
    pub per_token: f64,
    /// The same with what failures take, where the cluster states them.
    pub with_failures: f64,
}

impl TokenPace {
    /// Of a plan that was simulated.
    pub fn of(FoundWhole { scenario, summary }: &FoundWhole) -> Self {
        let useful = FailureForecast::new(scenario, summary.step_time).map_or(1.0, |forecast| forecast.shares.useful);
        let per_token = 1.0 / summary.tokens_per_s();
        Self { devices: summary.devices, per_token, with_failures: per_token / useful }
    }

    /// Of a step that takes at least so long, where failures leave at most a share of the time.
    pub(super) fn at_most(scenario: &Scenario, devices: u32, step: Seconds, useful: f64) -> Self {
        let per_token = step.get() / tokens(scenario);
        Self { devices, per_token, with_failures: per_token / useful }
    }
}

/// Tokens of a step.
pub(super) fn tokens(scenario: &Scenario) -> f64 {
    scenario.sequences() * f64::from(scenario.plan.sequence)
}

/// The share of the time that failures leave at most to jobs of a scenario's size, however often they write checkpoints.
pub(super) fn useful_at_most(scenario: &Scenario) -> f64 {
    FailureForecast::new(scenario, Seconds::ZERO).map_or(1.0, |forecast| forecast.interruptions.useful_at_most())
}

/// What every plan must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchLimits {
    /// Seconds for a token at most, all devices together and failures included.
    pub per_token: f64,
    /// Seconds of devices for a token at most, failures included.
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
    /// The same for a training of so many tokens that takes at most so long.
    #[must_use]
    pub fn within(self, time: Seconds, tokens: f64) -> Self {
        Self { per_token: time.get() / tokens, ..self }
    }

    /// The same for a training of so many tokens that costs at most so much, at a price for an hour of a device.
    #[must_use]
    pub fn for_at_most(self, amount: f64, price: &Money, tokens: f64) -> Self {
        Self { device_time_per_token: amount / price.amount * Seconds::HOUR.get() / tokens, ..self }
    }

    /// Whether plans that are no faster can keep to them.
    pub(super) fn allow(&self, pace: &TokenPace) -> bool {
        pace.devices <= self.devices
            && pace.with_failures <= self.per_token
            && pace.with_failures * f64::from(pace.devices) <= self.device_time_per_token
    }

    /// Whether a plan that was simulated keeps to them.
    pub(super) fn keeps(&self, found: &FoundWhole) -> bool {
        let memory = &found.summary.memory;
        memory.peak <= memory.capacity * (1.0 - self.margin) && self.allow(&TokenPace::of(found))
    }
}
