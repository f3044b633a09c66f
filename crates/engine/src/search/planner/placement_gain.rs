//! Why an operator lies where it does: what it saves, and the memory that it spends on that.

use std::fmt;

use crate::evaluate::Summary;
use crate::units::{Bytes, Seconds, significant};

/// What some operators' place saves and spends, against the same plan with just them sharded over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlacementGain {
    /// Bytes that a device need not send in a step, over all levels.
    pub traffic_saved: Bytes,
    /// Time of a step.
    pub time_saved: Seconds,
    /// Memory of the fullest device.
    pub memory_spent: Bytes,
}

impl fmt::Display for PlacementGain {
    /// What is saved, and for how much.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (traffic, spent) = (self.traffic_saved, self.memory_spent);
        let time = if self.time_saved < Seconds::ZERO {
            format!("-{}", -self.time_saved)
        } else {
            self.time_saved.to_string()
        };
        match self.ratio() {
            Some(ratio) => {
                let ratio = significant(ratio, 3);
                write!(f, "saves {time} and {traffic} of traffic for {spent}: {ratio} bytes per byte")
            }
            None if traffic <= Bytes::ZERO => f.write_str("saves nothing and spends nothing"),
            None => write!(f, "saves {time} and {traffic} of traffic for no memory"),
        }
    }
}

impl PlacementGain {
    /// What a plan gains over the same plan with some operators sharded.
    pub(super) fn between(plan: &Summary, sharded: &Summary) -> Self {
        let traffic = |summary: &Summary| summary.traffic.iter().map(|level| level.bytes_per_device).sum::<Bytes>();
        Self {
            traffic_saved: traffic(sharded) - traffic(plan),
            time_saved: sharded.step_time - plan.step_time,
            memory_spent: plan.memory.peak - sharded.memory.peak,
        }
    }

    /// Bytes saved per byte spent; `None` where nothing is spent.
    pub fn ratio(&self) -> Option<f64> {
        (self.memory_spent > Bytes::ZERO).then(|| self.traffic_saved / self.memory_spent)
    }
}
