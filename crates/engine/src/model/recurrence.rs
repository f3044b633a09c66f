//! Mixers that keep a state of fixed size where attention looks at all tokens before. Each is a file beside this one, which
//! says its shape, its parameters and its work for a token; what they have in common stands here.

mod delta_net;
mod mamba;

use std::fmt::Debug;

use crate::units::{Count, Flop};

use super::{LayerMatrix, LayerPlaces, Model};

pub use delta_net::GatedDeltaNet;
pub use mamba::Mamba;

/// Accesses to memory by a kernel that multiplies a value with its gate in forward: both in and the product out.
pub(crate) const GATE_FORWARD: f64 = 3.0;

/// Those of its backward: both and the gradient in, two gradients out.
pub(crate) const GATE_BACKWARD: f64 = 5.0;

/// Arithmetic and traffic of a layer's mixer for a token in one pass, products by weights apart.
#[derive(Debug, Clone, Copy)]
pub struct TokenWork {
    /// Flop.
    pub flop: Flop,
    /// Elements of the storage format that move to or from memory.
    pub elements: Count,
}

/// Kernels of which a calibration knows the share of the memory's rate that they reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecurrentKernels {
    /// The chunked scans of state spaces.
    Scan,
    /// The chunked rules of gated delta nets.
    DeltaRule,
}

/// A field of a model's file, whether it is wrong, and what it must be.
pub type FieldProblem = (&'static str, bool, String);

/// A mixer with a state in place of attention.
pub trait Recurrence: Debug {
    /// The name of layers that have it: `Mamba-2`.
    fn name(&self) -> &'static str;

    /// The name of what runs between its products by weights.
    fn core_name(&self) -> &'static str;

    /// Where its state is described, and who counts its flop so.
    fn source(&self) -> &'static str;

    /// The layers that have it, of so many, where no pattern of letters says that.
    fn places(&self, _layers: u32) -> Option<LayerPlaces> {
        None
    }

    /// The products before the state: the first one fused, then what expands narrow gates.
    fn inputs(&self, hidden: u32) -> [Option<LayerMatrix>; 3];

    /// Width of what it hands to the projection.
    fn width(&self) -> u64;

    /// Weights of its convolution.
    fn conv_weights(&self) -> u64;

    /// Parameters beside matrices and weights of the convolution.
    fn other_parameters(&self) -> u64;

    /// Numbers in the states of all its heads.
    fn states(&self) -> u64;

    /// Flop of a token in one forward pass for each of those numbers, token by token, as Megatron-LM's
    /// `num_floating_point_operations` counts them.
    fn flop_per_number(&self) -> f64;

    /// Flop of a token in one forward pass, token by token.
    fn flop(&self) -> Flop {
        Flop::new(self.flop_per_number() * self.states() as f64)
    }

    /// Flop of a token in one forward pass of the kernels, which work chunk by chunk.
    fn chunked_flop(&self) -> Flop;

    /// The work of a layer's forward for a token.
    fn forward(&self) -> TokenWork;

    /// The work of a layer's backward for a token.
    fn backward(&self) -> TokenWork;

    /// Elements that a token keeps for backward between the products by weights.
    fn kept(&self) -> Count;

    /// Elements for a token with which backward works.
    fn worked_in(&self) -> Count;

    /// The kernels that run it, where a calibration knows any.
    fn kernels(&self) -> Option<RecurrentKernels>;

    /// The groups of heads that tensor and context ranks share, each whole on a rank, and what they are called.
    fn groups(&self) -> (u32, &'static str);

    /// Widths of what context ranks that share its heads exchange before and behind it, an all-to-all each.
    ///
    /// # Errors
    ///
    /// If no program exchanges them: why.
    fn exchanged(&self) -> Result<[Option<u64>; 6], &'static str>;

    /// Its sizes by their fields in a model's file; each must be at least 1.
    fn sizes(&self) -> Vec<(&'static str, u32)>;

    /// What may be wrong with it in a model of so many layers.
    fn problems(&self, layers: u32) -> Vec<FieldProblem>;

    /// At least as many weights as a layer of it has, in numbers that cannot overflow.
    fn most_weights(&self, hidden: f64) -> f64;
}

impl Model {
    /// Every mixer with a state that its file describes, each by the field that does.
    pub(super) fn described_recurrences(&self) -> [(&'static str, Option<&dyn Recurrence>); 2] {
        let delta_net = self.delta_net.as_ref().map(|net| net as &dyn Recurrence);
        [("delta_net", delta_net), ("mamba", self.mamba.as_ref().map(|mamba| mamba as &dyn Recurrence))]
    }

    /// The mixer with a state that some of its layers have; a model has one at most.
    pub fn recurrent(&self) -> Option<&dyn Recurrence> {
        self.described_recurrences().into_iter().find_map(|(_, described)| described)
    }
}
