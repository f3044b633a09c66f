//! Time of mixers that keep a state, and what context ranks exchange around them. Not for how much work that is for a token
//! ([`crate::model::Recurrence`]).

use std::ops::Add;

use crate::model::{Model, Recurrence, RecurrentKernels, TokenWork};
use crate::plan::pass::PerDirection;
use crate::scenario::Layout;
use crate::units::Flop;

use super::attention::KernelWork;
use super::collective::{Payload, Transfer};
use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// Flop of one token in one forward pass of all such mixers, chunk by chunk.
pub(super) fn chunked_flop(model: &Model) -> Flop {
    Flop::new(model.over_recurrences(|recurrence| recurrence.chunked_flop().get()))
}

impl Rates<'_> {
    /// The exchanges before and behind a mixer with a state whose heads context ranks share; backward sends as much.
    pub(crate) fn heads_exchange(&self, layout: &Layout) -> Transfer {
        let exchanged = self.scenario.model.recurrent().and_then(|recurrent| recurrent.exchanged().ok());
        let (format, group) = (self.scenario.plan.precision.storage(), layout.context_group());
        let exchange = |width: u64| {
            let elements = self.tokens() * (width as f64 / f64::from(layout.tensor));
            self.all_to_all(Payload::plain(elements, format), group, false)
        };
        exchanged.into_iter().flatten().flatten().map(exchange).fold(Transfer::default(), Transfer::add)
    }

    /// Flop and bytes of such a mixer for so many sequences on a rank; tensor and context ranks share its heads.
    pub(super) fn recurrence_work(&self, recurrence: &dyn Recurrence, sequences: u32) -> PerDirection<KernelWork> {
        let plan = &self.scenario.plan;
        let tokens = f64::from(sequences) * f64::from(plan.sequence) / f64::from(plan.tensor * plan.context);
        let on_rank = |TokenWork { flop, elements }: TokenWork| KernelWork {
            flop: flop * tokens,
            bytes: elements * tokens * self.storage(),
        };
        PerDirection { forward: on_rank(recurrence.forward()), backward: on_rank(recurrence.backward()) }
    }

    /// Time of that work: the slower of the arithmetic, at the rate of large products, and of memory, of which its kernels reach
    /// a share.
    pub(super) fn recurrence_time(&self, recurrence: &dyn Recurrence, sequences: u32) -> PassTimes {
        let share = recurrence.kernels().and_then(|kernels| match kernels {
            RecurrentKernels::Scan => self.calibrated.efficiency.scan,
            RecurrentKernels::DeltaRule => self.calibrated.efficiency.delta_rule,
        });
        let share = share.unwrap_or(1.0);
        let time = |KernelWork { flop, bytes }: KernelWork| {
            DeviceTime::roofline(flop / self.matmul_storage, bytes / (self.memory * share))
        };
        let PerDirection { forward, backward } = self.recurrence_work(recurrence, sequences);
        PassTimes::of_inputs(time(forward), time(backward))
    }
}
