//! Mixers that keep a state of fixed size where attention looks at all tokens before.

use crate::units::Flop;

use super::{GatedDeltaNet, LayerKind, LayerMatrix, Mamba, Mixer, Model};

/// A mixer with a state in place of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recurrence {
    /// A gated delta net.
    DeltaNet(GatedDeltaNet),
    /// A state space of Mamba-2.
    Mamba(Mamba),
}

impl Recurrence {
    /// The products before the state: the first one fused, then what expands narrow gates.
    pub(super) fn inputs(self, hidden: u32) -> [Option<LayerMatrix>; 3] {
        match self {
            Self::DeltaNet(net) => net.inputs(hidden),
            Self::Mamba(mamba) => [Some(mamba.input(hidden)), None, None],
        }
    }

    /// Width of what it hands to the projection.
    pub(super) fn width(self) -> u64 {
        match self {
            Self::DeltaNet(net) => net.value_width(),
            Self::Mamba(mamba) => mamba.width(),
        }
    }

    /// Weights of its convolution.
    fn conv_weights(self) -> u64 {
        match self {
            Self::DeltaNet(net) => net.conv_weights(),
            Self::Mamba(mamba) => mamba.conv_weights(),
        }
    }

    /// Parameters beside matrices and weights of the convolution.
    pub(super) fn other_parameters(self) -> u64 {
        match self {
            Self::DeltaNet(net) => net.other_parameters(),
            Self::Mamba(mamba) => mamba.other_parameters(),
        }
    }

    /// Numbers in the states of all its heads.
    pub fn states(self) -> u64 {
        match self {
            Self::DeltaNet(net) => net.states(),
            Self::Mamba(mamba) => mamba.states(),
        }
    }

    /// Flop of a token in one forward pass for each of those numbers, token by token, as Megatron-LM's
    /// `num_floating_point_operations` counts them. A gated delta net has a product each for the part that a key finds, the
    /// value written in its place, the state's decay and the query's answer.
    pub fn flop_per_number(self) -> f64 {
        match self {
            Self::DeltaNet(_) => 8.0,
            Self::Mamba(_) => 7.0,
        }
    }

    /// Flop of one token in one forward pass, token by token.
    pub(crate) fn flop(self) -> Flop {
        Flop::new(self.flop_per_number() * self.states() as f64)
    }
}

impl Model {
    /// Weights of the convolution before a layer's mixer; none in most.
    pub(crate) fn conv_weights(&self, kind: LayerKind) -> u64 {
        self.recurrence(kind).map_or(0, Recurrence::conv_weights)
    }

    /// The mixer that layers of a kind have in place of attention.
    pub fn recurrence(&self, kind: LayerKind) -> Option<Recurrence> {
        match kind.mixer {
            Mixer::DeltaNet => self.delta_net.map(Recurrence::DeltaNet),
            Mixer::Mamba => self.mamba.map(Recurrence::Mamba),
            Mixer::Attention | Mixer::Window | Mixer::None => None,
        }
    }

    /// A sum over the layers that have such a mixer.
    pub(crate) fn over_recurrences(&self, of: impl Fn(Recurrence) -> f64) -> f64 {
        if self.delta_net.is_none() && self.mamba.is_none() {
            return 0.0;
        }
        self.over_layers(|kind| self.recurrence(kind).map_or(0.0, &of))
    }

    /// Flop of one token in one forward pass of all of them, token by token.
    pub(crate) fn recurrence_flop(&self) -> Flop {
        Flop::new(self.over_recurrences(|recurrence| recurrence.flop().get()))
    }
}
