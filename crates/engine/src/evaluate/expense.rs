//! The expense of a whole training at the speed of one step: time, device-hours, money and energy. Not for the search
//! of the shortest training ([`crate::search`]).

use crate::scenario::Scenario;
use crate::units::{Joules, Money, Seconds};

use super::figures::Summary;

/// The expense of a training without evaluation or idle devices, and without restarts unless they are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expense {
    /// Time from beginning to end: `tokens / (tokens per second and device x devices)`.
    pub time: Seconds,
    /// Time of all devices together: `time x devices`.
    pub device_time: Seconds,
    /// `device-hours x price per device-hour`, where there is a price.
    pub cost: Option<Money>,
    /// `device-hours x power per device`, where the cluster states it.
    pub energy: Option<Joules>,
}

impl Expense {
    /// The expense where only a share of the time is productive.
    #[must_use]
    pub fn at(self, goodput: f64) -> Self {
        Self {
            time: self.time / goodput,
            device_time: self.device_time / goodput,
            cost: self.cost.map(|cost| cost * (1.0 / goodput)),
            energy: self.energy.map(|energy| energy / goodput),
        }
    }

    /// The expense of a training of `tokens` at the speed of a summary.
    pub fn new(tokens: f64, summary: &Summary, scenario: &Scenario) -> Self {
        let device_time = Seconds::new(tokens / summary.tokens_per_s_per_device);
        Self {
            time: device_time / f64::from(summary.devices),
            device_time,
            cost: scenario.price().map(|price| price * device_time.hours()),
            energy: scenario.cluster.watts_per_device.map(|power| power * device_time),
        }
    }
}
