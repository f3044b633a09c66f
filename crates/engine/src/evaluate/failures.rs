//! Forecasts of a training under failures: the plan's state gives the bytes of a checkpoint; the cluster gives the time
//! to write it, the rate of failures and the time of a restart. Not for the laws ([`crate::bounds::goodput`]).

use crate::bounds::goodput::{Interruptions, IntervalLaw, TimeShares};
use crate::cost::Parameters;
use crate::scenario::Scenario;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A job that is stopped and goes on from its last checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureForecast {
    /// Rate and costs of failures.
    pub interruptions: Interruptions,
    /// Work between two checkpoints: by Daly's rule, but no less than a step.
    pub interval: Seconds,
    /// Where the time goes.
    pub shares: TimeShares,
}

impl FailureForecast {
    /// The forecast for this step time; `None` if the cluster file lacks reliability data.
    pub fn new(scenario: &Scenario, step: Seconds) -> Option<Self> {
        let known = &scenario.cluster.reliability;
        let interruptions = Interruptions {
            between: known.device_mtbf? / f64::from(scenario.devices()),
            restart: known.restart?,
            write: checkpoint_size(scenario) / checkpoint_bandwidth(scenario)?,
        };
        let interval = interruptions.interval(IntervalLaw::Daly).max(step);
        Some(Self { interruptions, interval, shares: interruptions.shares(interval) })
    }

    /// The share of the time that failures leave to steps of some length; all of it where the cluster states none.
    pub fn useful_share(scenario: &Scenario, step: Seconds) -> f64 {
        Self::new(scenario, step).map_or(1.0, |forecast| forecast.shares.useful)
    }

    /// The most that they leave to jobs of a scenario's size, however long a step and however often they write checkpoints.
    pub(crate) fn max_useful_share(scenario: &Scenario) -> f64 {
        Self::new(scenario, Seconds::ZERO).map_or(1.0, |forecast| forecast.interruptions.max_useful_share())
    }
}

/// Bytes of a checkpoint: weights, master weights, moments and averages of what is trained, each once, however many ranks hold
/// them.
/// Frozen weights are those that the training began with.
pub fn checkpoint_size(scenario: &Scenario) -> Bytes {
    Parameters::trained_in_all(scenario).saved(&scenario.plan)
}

/// How fast it is written: as the file system takes it, and no faster than the devices' links to their hosts and the
/// nodes' ports into the network.
pub fn checkpoint_bandwidth(scenario: &Scenario) -> Option<BytesPerSecond> {
    let cluster = &scenario.cluster;
    let links = scenario.host_link() * f64::from(scenario.devices());
    let ports = cluster.node_injection() * f64::from(scenario.nodes());
    Some(cluster.reliability.write_rate?.min(links).min(ports))
}

#[cfg(test)]
mod tests;
