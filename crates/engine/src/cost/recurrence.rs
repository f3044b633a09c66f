//! The work of mixers that keep a state, beside their products by weights. Not for how much that is for a token
//! ([`super::delta_net`], [`super::mamba`]).

use std::ops::Add;

use crate::model::{Mixer, Model, Recurrence};
use crate::plan::pass::PerDirection;
use crate::scenario::Layout;
use crate::units::{Count, Flop};

use super::attention::KernelWork;
use super::collective::{Payload, Transfer};
use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// Arithmetic and traffic of a recurrent layer for a token, products by weights apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenWork {
    /// Flop.
    pub flop: Flop,
    /// Elements of the storage format that move to or from memory.
    pub elements: Count,
}

impl Recurrence {
    /// What its core is called.
    pub(super) const fn core_name(self) -> &'static str {
        match self {
            Self::DeltaNet(_) => "gated delta rule",
            Self::Mamba(_) => "chunked scan",
        }
    }

    fn token_work(self) -> PerDirection<TokenWork> {
        match self {
            Self::DeltaNet(net) => net.token_work(),
            Self::Mamba(mamba) => mamba.token_work(),
        }
    }

    /// Elements that a token keeps for backward between the products by weights.
    pub(super) fn kept(self) -> Count {
        match self {
            Self::DeltaNet(net) => net.kept(),
            Self::Mamba(mamba) => mamba.kept(),
        }
    }

    /// Elements for a token with which backward works.
    pub(super) fn worked_in(self) -> Count {
        match self {
            Self::DeltaNet(net) => net.worked_in(),
            Self::Mamba(mamba) => mamba.worked_in(),
        }
    }
}

/// Flop of one token in one forward pass of all such mixers, chunk by chunk.
pub(super) fn chunked_flop(model: &Model) -> Flop {
    Flop::new(model.over_recurrences(|recurrence| chunked(recurrence).get()))
}

/// Flop of one token in one forward pass of one of them.
pub(super) fn chunked(recurrence: Recurrence) -> Flop {
    match recurrence {
        Recurrence::DeltaNet(net) => net.chunked_flop(),
        Recurrence::Mamba(mamba) => mamba.chunked_flop(),
    }
}

impl Rates<'_> {
    /// The exchanges before and behind a mixer with a state whose heads context ranks share, an all-to-all each. Of a state space
    /// gates, inputs, `B`, `C` and steps go out, and outputs come back (Megatron-LM,
    /// `megatron/core/ssm/mamba_context_parallel.py`); of a gated delta net all that its first product gives goes out together
    /// (`a2a_cp_to_hp` in `megatron/core/ssm/gated_delta_net/gdn.py`). Backward sends as much.
    pub(crate) fn heads_exchange(&self, mixer: Mixer, layout: &Layout) -> Transfer {
        let Model { mamba, delta_net, .. } = *self.scenario.model;
        let (format, group) = (self.scenario.plan.precision.storage(), layout.context_group());
        let exchange = |width: &u64| {
            let elements = self.tokens() * (*width as f64 / f64::from(layout.tensor));
            self.all_to_all(Payload::plain(elements, format), group, false)
        };
        let in_turn = |widths: &[u64]| widths.iter().map(exchange).fold(Transfer::default(), Transfer::add);
        match (mixer, mamba, delta_net) {
            (Mixer::Mamba, Some(mamba), _) => {
                let [inputs, states] = [mamba.width(), mamba.group_width()];
                in_turn(&[inputs, inputs, states, states, mamba.heads.into(), inputs])
            }
            (Mixer::DeltaNet, _, Some(net)) => in_turn(&[net.projected(), net.value_width()]),
            _ => Transfer::default(),
        }
    }

    /// Flop and bytes of such a mixer for so many sequences on a rank; tensor and context ranks share its heads.
    pub(super) fn recurrence_work(&self, recurrence: Recurrence, sequences: u32) -> PerDirection<KernelWork> {
        let plan = &self.scenario.plan;
        let tokens = f64::from(sequences) * f64::from(plan.sequence) / f64::from(plan.tensor * plan.context);
        recurrence.token_work().map(|TokenWork { flop, elements }| KernelWork {
            flop: flop * tokens,
            bytes: elements * tokens * self.storage(),
        })
    }

    /// Time of that work: the slower of the arithmetic, at the rate of large products, and of memory, of which scans and chunked
    /// rules reach a share.
    pub(super) fn recurrence_time(&self, recurrence: Recurrence, sequences: u32) -> PassTimes {
        let share = match recurrence {
            Recurrence::Mamba(_) => self.calibrated.efficiency.scan,
            Recurrence::DeltaNet(_) => self.calibrated.efficiency.delta_rule,
        };
        let share = share.unwrap_or(1.0);
        let time = |KernelWork { flop, bytes }: KernelWork| {
            DeviceTime::roofline(flop / self.matmul_storage, bytes / (self.memory * share))
        };
        let PerDirection { forward, backward } = self.recurrence_work(recurrence, sequences);
        PassTimes::of_inputs(time(forward), time(backward))
    }
}
