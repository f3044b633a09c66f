//! Why an operator lies where it does: what it saves, and the memory that it spends on that.

use crate::evaluate::Summary;
use crate::units::{Bytes, Seconds};

/// What some operators' place saves and spends, against the same plan with just them sharded over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Why {
    /// Bytes that a device need not send in a step, over all levels.
    pub traffic_saved: Bytes,
    /// Time of a step.
    pub time_saved: Seconds,
    /// Memory of the fullest device.
    pub memory_spent: Bytes,
}

impl Why {
    /// Of a plan, and of the same plan with some operators sharded.
    pub(super) fn of(plan: &Summary, sharded: &Summary) -> Self {
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
