//! Gated delta nets, which mix tokens through a state of fixed size where attention looks at all of them.

use serde::{Deserialize, Serialize};

use super::{LayerMatrix, Matrix, MatrixRole, is_off};

/// Layers with a gated delta net in place of attention (Yang et al., "Gated Delta Networks", arXiv 2412.06464), as
/// Qwen3-Next has them: queries, keys and values pass a short convolution and update a state of `key_head x value_head`
/// for each value head, and the output passes a norm with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatedDeltaNet {
    /// Heads of queries and of keys.
    pub key_heads: u32,
    /// Heads of values, each with a state; a multiple of `key_heads`.
    pub value_heads: u32,
    /// Channels of a head of queries or keys.
    pub key_head: u32,
    /// Channels of a head of values.
    pub value_head: u32,
    /// Tokens that the convolution sees.
    pub conv: u32,
    /// The last of every so many layers has attention instead.
    pub full_every: u32,
    /// Whether the last layer has attention, whatever its number.
    #[serde(default, skip_serializing_if = "is_off")]
    pub full_last: bool,
    /// Width through which each channel's decay and the output's gate are computed, as Kimi Delta Attention does (Kimi
    /// Linear, arXiv 2510.26692); without it a head has one decay, and the gate is computed with the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_rank: Option<u32>,
}

impl GatedDeltaNet {
    /// Whether a layer of so many has it.
    pub(super) fn is_in(self, layer: u32, layers: u32) -> bool {
        let attends = (layer + 1).is_multiple_of(self.full_every.max(1)) || self.full_last && layer + 1 == layers;
        !attends
    }

    /// Width of all heads of queries together, and of all heads of keys.
    fn key_width(self) -> u64 {
        u64::from(self.key_heads) * u64::from(self.key_head)
    }

    /// Width of all heads of values together.
    pub(crate) fn value_width(self) -> u64 {
        u64::from(self.value_heads) * u64::from(self.value_head)
    }

    /// Channels that pass the convolution: queries, keys and values.
    pub fn channels(self) -> u64 {
        2 * self.key_width() + self.value_width()
    }

    /// The products before the state, fused: queries, keys, values, the output's gate, and two numbers for each value
    /// head, which say how much of the state decays and how much is written (`in_proj_qkvz` and `in_proj_ba` of
    /// transformers' `Qwen3NextGatedDeltaNet`, one `in_proj` in Megatron-Core). With narrow gates the first one has these in
    /// place of the decay and the gate, and two more expand them (`f_proj` and `g_proj` of fla-org/flash-linear-attention's
    /// `KimiDeltaAttention`).
    pub(super) fn inputs(self, hidden: u32) -> [Option<LayerMatrix>; 3] {
        let (hidden, heads) = (u64::from(hidden), u64::from(self.value_heads));
        let of =
            |name, role, input: u64, output: u64| Some(LayerMatrix::of_mixer(name, role, Matrix { input, output }));
        let first = |name, gates: u64| of(name, MatrixRole::First, hidden, self.channels() + gates);
        let expanded = |name, rank: u64, output: u64| of(name, MatrixRole::Expansion, rank, output);
        match self.gate_rank.map(u64::from) {
            None => [first("queries, keys, values and gates", self.projected() - self.channels()), None, None],
            Some(rank) => [
                first("queries, keys, values and narrow gates", heads + 2 * rank),
                expanded("decays", rank, self.decays()),
                expanded("output gate", rank, self.value_width()),
            ],
        }
    }

    /// What the one product before the state gives, where gates are not narrow.
    pub(crate) fn projected(self) -> u64 {
        self.channels() + self.value_width() + 2 * u64::from(self.value_heads)
    }

    /// Decays of a token: one for each value head, or for each channel that reads its state.
    pub(crate) fn decays(self) -> u64 {
        u64::from(self.value_heads) * if self.gate_rank.is_some() { u64::from(self.key_head) } else { 1 }
    }

    /// Weights of the convolution, which has no biases.
    pub(super) fn conv_weights(self) -> u64 {
        u64::from(self.conv) * self.channels()
    }

    /// Parameters beside matrices and convolution: `A_log` of each value head, `dt_bias` of each decay, and a norm over a
    /// head.
    pub(super) fn other_parameters(self) -> u64 {
        u64::from(self.value_heads) + self.decays() + u64::from(self.value_head)
    }

    /// Numbers in the states of all value heads.
    pub(super) fn states(self) -> u64 {
        self.value_width() * u64::from(self.key_head)
    }
}
