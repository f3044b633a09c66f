//! The objective of a search, and the limits that every plan must keep to.

use crate::evaluate::{FailureForecast, Summary, safe_share};
use crate::scenario::Scenario;
use crate::units::{Seconds, Watts};

use super::answer::EvaluatedPlan;

/// The aim of a search over plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Most tokens per second of all devices together.
    Throughput,
    /// Fewest days, with what failures take where the cluster states them.
    Days,
    /// Least money, failures included; fewest device-hours where there is no price.
    Cost,
    /// Least energy, failures included.
    Energy,
    /// Fewest devices, then tokens per second.
    Devices,
    /// Least memory of the fullest device, then tokens per second.
    Memory,
}

impl Objective {
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
        Self::ALL.iter().find(|(_, objective)| *objective == self).map_or("", |(word, _)| word)
    }

    /// Scores of a plan, the less the better, the first one first. They rise with each of what they are made of, so that
    /// those of lower bounds are lower bounds of the scores.
    pub(super) fn scores(self, pace: &TokenPace, memory: f64) -> [f64; 2] {
        let TokenPace { devices, per_token, with_failures, .. } = *pace;
        let devices = f64::from(devices);
        match self {
            Self::Throughput => [per_token, devices],
            Self::Days => [with_failures, devices],
            Self::Cost => [pace.cost(), with_failures],
            Self::Energy => [pace.device_time() * pace.watts, with_failures],
            Self::Devices => [devices, per_token],
            Self::Memory => [memory, per_token],
        }
    }

    /// The longest step of plans that may have lower scores than `beaten`, where a step of a second has the pace `second`.
    pub(super) fn longest_step(self, second: &TokenPace, beaten: [f64; 2]) -> Seconds {
        match self {
            Self::Devices | Self::Memory => Seconds::new(f64::INFINITY),
            // In proportion to the step.
            Self::Throughput | Self::Days | Self::Cost | Self::Energy => {
                Seconds::new(beaten[0] / self.scores(second, 0.0)[0])
            }
        }
    }

    /// The scores of a plan that was simulated: the less the better.
    pub fn of(self, found: &EvaluatedPlan) -> [f64; 2] {
        self.scores(&TokenPace::of(&found.scenario, &found.summary), found.summary.memory.peak.get())
    }
}

/// How fast a plan is, or is at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPace {
    pub(super) devices: u32,
    /// Seconds for a token, all devices together.
    pub per_token: f64,
    /// Seconds for a token with those that failures take, where the cluster states them.
    pub with_failures: f64,
    /// Price of an hour of one of the devices, and its power; 1 where the cluster does not say.
    price: f64,
    watts: f64,
}

impl TokenPace {
    /// The pace of a plan that was simulated.
    pub fn of(scenario: &Scenario, summary: &Summary) -> Self {
        let useful = FailureForecast::useful_share(scenario, summary.step_time);
        Self::new(scenario, summary.devices, 1.0 / summary.tokens_per_s(), useful)
    }

    /// The pace of a step that takes at least so long, where failures leave at most a share of the time.
    pub(super) fn at_most(scenario: &Scenario, devices: u32, step: Seconds, useful: f64) -> Self {
        Self::new(scenario, devices, step.get() / tokens(scenario), useful)
    }

    fn new(scenario: &Scenario, devices: u32, per_token: f64, useful: f64) -> Self {
        let cluster = &scenario.cluster;
        Self {
            devices,
            per_token,
            with_failures: per_token / useful,
            price: scenario.price().map_or(1.0, |price| price.amount),
            watts: cluster.watts_per_device.map_or(1.0, Watts::get),
        }
    }

    /// Seconds of devices for a token, failures included.
    fn device_time(&self) -> f64 {
        self.with_failures * f64::from(self.devices)
    }

    /// Money for a token, failures included.
    fn cost(&self) -> f64 {
        self.device_time() / Seconds::HOUR.get() * self.price
    }

    /// Devices and their price: of plans alike in both the fastest is the best in days, cost and devices.
    pub(super) fn size(&self) -> (u32, u64) {
        // Prices are not negative, and such numbers are in the order of their bits.
        (self.devices, self.price.to_bits())
    }
}

/// Tokens of a step.
pub(super) fn tokens(scenario: &Scenario) -> f64 {
    scenario.tokens_of_step()
}

/// Limits that every plan must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchLimits {
    /// Seconds for a token at most, all devices together and failures included.
    pub per_token: f64,
    /// Money for a token at most, failures included, in the currency of the prices.
    pub cost_per_token: f64,
    /// Devices at most.
    pub devices: u32,
    /// Memory that must stay free.
    pub margin: Margin,
}

/// Memory that must stay free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Margin {
    /// This share of the device's.
    Share(f64),
    /// As much as a plan needs to fit safely (with a chance of [`crate::evaluate::SAFE_CHANCE`]).
    Likely,
}

impl Margin {
    /// None.
    pub const NONE: Self = Self::Share(0.0);

    /// The share of the memory that a plan may fill.
    pub(in crate::search) fn filled(self, scenario: &Scenario) -> f64 {
        match self {
            Self::Share(share) => 1.0 - share,
            Self::Likely => safe_share(scenario),
        }
    }
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self::NONE
    }
}

impl SearchLimits {
    /// No limit but that plans fit safely (with a chance of [`crate::evaluate::SAFE_CHANCE`]).
    pub const SAFE: Self = Self { margin: Margin::Likely, ..Self::NONE };

    /// No limit but the memory that there is.
    pub const NONE: Self =
        Self { per_token: f64::INFINITY, cost_per_token: f64::INFINITY, devices: u32::MAX, margin: Margin::NONE };

    /// These limits and days: a training of so many tokens takes at most so long.
    #[must_use]
    pub fn within(self, time: Seconds, tokens: f64) -> Self {
        Self { per_token: time.get() / tokens, ..self }
    }

    /// These limits and a budget: a training of so many tokens costs at most so much.
    #[must_use]
    pub fn for_at_most(self, amount: f64, tokens: f64) -> Self {
        Self { cost_per_token: amount / tokens, ..self }
    }

    /// Whether plans that are no faster can keep to them.
    pub(super) fn allow(&self, pace: &TokenPace) -> bool {
        pace.devices <= self.devices && pace.with_failures <= self.per_token && pace.cost() <= self.cost_per_token
    }

    /// Whether a plan that was simulated keeps to them.
    pub(in crate::search) fn keeps(&self, scenario: &Scenario, summary: &Summary) -> bool {
        let memory = &summary.memory;
        memory.needed() <= memory.capacity * self.margin.filled(scenario)
            && self.allow(&TokenPace::of(scenario, summary))
    }
}
