//! State spaces, which mix tokens through a state of fixed size.

use serde::{Deserialize, Serialize};

use super::{LayerMatrix, Matrix, MatrixRole};

/// The state space of layers of Mamba-2 (Dao & Gu, "Transformers are SSMs", arXiv 2405.21060): inputs of each head pass a
/// short convolution, with what writes them into the head's state (`B`) and reads it (`C`), which heads of a group share;
/// the state decays by a step of each head and token (`dt`), and the output passes a gate (`z`) and a norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba {
    /// Heads, each with a state of `head x state`; a multiple of `groups`.
    pub heads: u32,
    /// Channels of a head.
    pub head: u32,
    /// Numbers that each channel keeps.
    pub state: u32,
    /// Groups of heads that write and read alike.
    pub groups: u32,
    /// Tokens that the convolution sees.
    pub conv: u32,
    /// Tokens of a chunk: inside one the scan is products of its tokens by each other, between chunks the state passes.
    pub chunk: u32,
}

impl Mamba {
    /// Width of all heads together.
    pub fn width(self) -> u64 {
        u64::from(self.heads) * u64::from(self.head)
    }

    /// Width of what all groups write with, and of what they read with.
    pub(crate) fn group_width(self) -> u64 {
        u64::from(self.groups) * u64::from(self.state)
    }

    /// Channels that pass the convolution: the inputs, `B` and `C`.
    pub(crate) fn channels(self) -> u64 {
        self.width() + 2 * self.group_width()
    }

    /// The product before the scan: gate, inputs, `B`, `C`, and a step for each head (`in_proj` of state-spaces/mamba,
    /// transformers and Megatron-LM).
    pub(super) fn input(self, hidden: u32) -> LayerMatrix {
        let matrix = Matrix { input: hidden.into(), output: self.width() + self.channels() + u64::from(self.heads) };
        LayerMatrix::of_mixer("gates, inputs, B, C and steps", MatrixRole::First, matrix)
    }

    /// Weights of the convolution.
    pub(super) fn conv_weights(self) -> u64 {
        u64::from(self.conv) * self.channels()
    }

    /// Parameters beside matrices and weights of the convolution: its biases, `A_log`, `D` and `dt_bias` of each head, and
    /// the gated norm.
    pub(super) fn other_parameters(self) -> u64 {
        self.channels() + 3 * u64::from(self.heads) + self.width()
    }

    /// Numbers in the states of all heads.
    pub(super) fn states(self) -> u64 {
        self.width() * u64::from(self.state)
    }
}
