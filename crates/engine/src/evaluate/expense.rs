//! What a whole training takes: time, device-hours, money and energy, at the speed of one step from beginning to end.
//! Not for the search of the shortest training ([`crate::search`]).

use crate::hardware::Cluster;
use crate::units::{Joules, Money, Seconds};

use super::figures::Summary;

/// What a training takes. No evaluation, no idle devices; no restarts unless they are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expense {
    /// From beginning to end: `tokens / (tokens per second and device x devices)`.
    pub time: Seconds,
    /// Of all devices together: `time x devices`.
    pub device_time: Seconds,
    /// `device-hours x price per device-hour`, where the cluster has a price.
    pub cost: Option<Money>,
    /// `device-hours x power per device`, where the cluster states it.
    pub energy: Option<Joules>,
}

impl Expense {
    /// The same where only a share of the time is made use of.
    #[must_use]
    pub fn at(self, goodput: f64) -> Self {
        Self {
            time: self.time / goodput,
            device_time: self.device_time / goodput,
            cost: self.cost.map(|cost| cost * (1.0 / goodput)),
            energy: self.energy.map(|energy| energy / goodput),
        }
    }

    /// Of a training of `tokens` at the speed of a summary.
    pub fn new(tokens: f64, summary: &Summary, cluster: &Cluster) -> Self {
        let device_time = Seconds::new(tokens / summary.tokens_per_s_per_device);
        Self {
            time: device_time / f64::from(summary.devices),
            device_time,
            cost: cluster.price_per_device_hour.map(|price| price * device_time.hours()),
            energy: cluster.watts_per_device.map(|power| power * device_time),
        }
    }
}
