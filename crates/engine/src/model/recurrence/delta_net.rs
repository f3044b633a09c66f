//! Gated delta nets: their shape, and their core by the kernels of fla-org's flash-linear-attention, which transformers and
//! Megatron-Core call (`chunk_gated_delta_rule`), and Kimi Linear where each channel decays by itself (`chunk_kda`).

use serde::{Deserialize, Serialize};

use crate::model::{LayerMatrix, LayerPlaces, Matrix, MatrixRole, is_off};
use crate::units::{Count, Flop};

use super::{FieldProblem, GATE_BACKWARD, GATE_FORWARD, Recurrence, RecurrentKernels, TokenWork};

/// Layers with a gated delta net in place of attention (Yang et al., "Gated Delta Networks", arXiv 2412.06464), as
/// Qwen3-Next has them: queries, keys and values pass a short convolution and update a state of `key_head x value_head`
/// for each value head, and the output passes a norm with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// Tokens of a chunk (`chunk_size` of those kernels). Inside one the rule is products of its tokens by each other, and
/// between chunks the state passes.
const CHUNK: f64 = 64.0;

/// Flop, and elements that move, for a token and a value head.
struct HeadWork {
    flop: f64,
    elements: f64,
}

impl GatedDeltaNet {
    /// Width of all heads of queries together, and of all heads of keys.
    fn key_width(self) -> u64 {
        u64::from(self.key_heads) * u64::from(self.key_head)
    }

    /// Width of all heads of values together.
    fn value_width(self) -> u64 {
        u64::from(self.value_heads) * u64::from(self.value_head)
    }

    /// Channels that pass the convolution: queries, keys and values.
    fn channels(self) -> u64 {
        2 * self.key_width() + self.value_width()
    }

    /// Width of what the one product before the state gives, where gates are not narrow.
    fn projected(self) -> u64 {
        self.channels() + self.value_width() + 2 * u64::from(self.value_heads)
    }

    /// Decays of a token: one for each value head, or for each channel that reads its state.
    fn decays(self) -> u64 {
        u64::from(self.value_heads) * if self.gate_rank.is_some() { u64::from(self.key_head) } else { 1 }
    }

    /// Channels of a head's keys and values, and numbers in its state.
    fn head_sizes(self) -> [f64; 3] {
        let [key, value] = [self.key_head, self.value_head].map(f64::from);
        [key, value, key * value]
    }

    /// Forward of a value head.
    fn head_forward(self) -> HeadWork {
        let [key, value, state] = self.head_sizes();
        // Products of the chunk's keys by keys and of queries by keys, and the inverse of the first by keys and values (the
        // `w` and `u` of Yang et al., section 3.3), then scores by new values: 2 c per channel. The states: what of them
        // `w` finds, what queries find, and the update, 2 per number each. The inverse by substitution is c^3 / 3 for c tokens.
        let flop = 2.0 * CHUNK * (3.0 * key + 2.0 * value) + 6.0 * state + CHUNK * CHUNK / 3.0;
        let states = state / CHUNK;
        let elements = if self.gate_rank.is_some() {
            // Decays are in fp32, twice k. By kernel: `kda_gate_chunk_cumsum` 3 k; `chunk_kda_fwd_intra` q, k, decays and
            // two A of c, then k, v, decays, A, `w`, `u` and decayed keys; `chunk_fwd_h` 2 k, 2 v and a state;
            // `chunk_gla_fwd_o_gk` q, decays, 2 v, A and a state.
            17.0 * key + 6.0 * value + 4.0 * CHUNK + 2.0 * states
        } else {
            // By kernel: `chunk_scaled_dot_kkt` k, A; `solve_tril` A, A; `recompute_w_u` 2 k, 2 v, A; `chunk_fwd_h` 2 k, 2 v
            // and a state; `chunk_fwd_o` 2 k, 2 v and a state. A is a row of the chunk, in fp32 before it is inverted: twice
            // 2 c.
            7.0 * key + 6.0 * value + 6.0 * CHUNK + 2.0 * states
        };
        HeadWork { flop, elements }
    }

    /// Backward of a value head, which computes `w`, `u` and the states again; each product has two gradients.
    fn head_backward(self) -> HeadWork {
        let [key, value, state] = self.head_sizes();
        let again = 2.0 * CHUNK * (key + value) + 4.0 * state;
        let states = state / CHUNK;
        let elements = if self.gate_rank.is_some() {
            // By kernel: decays again 3 k; `recompute_w_u` 7 k, 2 v, A; `chunk_fwd_h` as in forward; `chunk_kda_bwd_dAv` 3 v,
            // A and its gradient in fp32; `chunk_bwd_dhu` 3 k, 3 v and a state; `wy_dqkg_fused` 4 k and three gradients in
            // fp32, 5 v, A and its gradient, two states; `chunk_kda_bwd_intra` 4 k, two gradients of A, three of k in and
            // out; gradients of decays 4 k summed, 4 k through the gate; those of queries and keys 6 k to bf16.
            55.0 * key + 15.0 * value + 11.0 * CHUNK + 4.0 * states
        } else {
            // By kernel: `recompute_w_u` and `chunk_fwd_h` as in forward, `chunk_bwd_dv_local` 2 k, 2 v; `chunk_bwd_dhu` 3 k,
            // 3 v and a state; `chunk_bwd_dqkwg` 6 k, 3 v and two states; `prepare_wy_repr_bwd` 3 k, 3 v, A; the sum of both
            // gradients of keys 3 k.
            21.0 * key + 15.0 * value + 2.0 * CHUNK + 4.0 * states
        };
        HeadWork { flop: again + 2.0 * self.head_forward().flop, elements }
    }

    /// The work of all heads, of the convolution, which has so many products, and of the gate, which has so many accesses to
    /// memory. The convolution reads its channels, backward a gradient too, and writes one or the other.
    fn token_work(self, HeadWork { flop, elements }: HeadWork, products: f64, gate: f64) -> TokenWork {
        let [heads, conv] = [self.value_heads, self.conv].map(f64::from);
        let [channels, values] = [self.channels(), self.value_width()].map(|width| width as f64);
        TokenWork {
            flop: Flop::new(flop * heads + 2.0 * conv * channels * products),
            elements: Count::new(elements * heads + (1.0 + products) * channels + gate * values),
        }
    }
}

impl Recurrence for GatedDeltaNet {
    fn name(&self) -> &'static str {
        if self.gate_rank.is_some() { "Kimi delta attention" } else { "gated delta net" }
    }

    fn core_name(&self) -> &'static str {
        "gated delta rule"
    }

    fn source(&self) -> &'static str {
        "state of each value head: found, written, decayed and read (arXiv 2412.06464), as num_floating_point_operations \
         of Megatron-LM counts it"
    }

    fn places(&self, layers: u32) -> Option<LayerPlaces> {
        let end = if self.full_last { layers.saturating_sub(1) } else { u32::MAX };
        Some(LayerPlaces { end, ..LayerPlaces::all_but_last_of(Some(self.full_every)) })
    }

    /// Queries, keys, values, the output's gate, and two numbers for each value head, which say how much of the state decays and
    /// how much is written (`in_proj_qkvz` and `in_proj_ba` of transformers' `Qwen3NextGatedDeltaNet`, one `in_proj` in
    /// Megatron-Core). With narrow gates the first one has these in place of the decay and the gate, and two more expand them
    /// (`f_proj` and `g_proj` of fla-org/flash-linear-attention's `KimiDeltaAttention`).
    fn inputs(&self, hidden: u32) -> [Option<LayerMatrix>; 3] {
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

    fn width(&self) -> u64 {
        self.value_width()
    }

    /// The convolution has no biases.
    fn conv_weights(&self) -> u64 {
        u64::from(self.conv) * self.channels()
    }

    /// `A_log` of each value head, `dt_bias` of each decay, and a norm over a head.
    fn other_parameters(&self) -> u64 {
        u64::from(self.value_heads) + self.decays() + u64::from(self.value_head)
    }

    fn states(&self) -> u64 {
        self.value_width() * u64::from(self.key_head)
    }

    /// A product each for the part that a key finds, the value written in its place, the state's decay and the query's answer.
    fn flop_per_number(&self) -> f64 {
        8.0
    }

    fn chunked_flop(&self) -> Flop {
        Flop::new(self.head_forward().flop * f64::from(self.value_heads))
    }

    fn forward(&self) -> TokenWork {
        self.token_work(self.head_forward(), 1.0, GATE_FORWARD)
    }

    fn backward(&self) -> TokenWork {
        self.token_work(self.head_backward(), 2.0, GATE_BACKWARD)
    }

    /// Queries and keys for each value head, values, the rule's output, the gated norm's, and a row of the chunk's inverse; with a
    /// decay for each channel also a row of its queries by keys.
    fn kept(&self) -> Count {
        let [key, value, _] = self.head_sizes();
        let rows = if self.gate_rank.is_some() { 2.0 } else { 1.0 };
        Count::new(f64::from(self.value_heads) * (2.0 * key + 3.0 * value + rows * CHUNK))
    }

    /// `w`, `u`, new values, and a share of a chunk's states; with a decay for each channel these in fp32, decayed queries and
    /// keys, and in fp32 gradients of all three.
    fn worked_in(&self) -> Count {
        let [key, value, state] = self.head_sizes();
        let decayed = if self.gate_rank.is_some() { 2.0 + 2.0 + 3.0 * 2.0 } else { 0.0 };
        Count::new(f64::from(self.value_heads) * ((1.0 + decayed) * key + 2.0 * value + state / CHUNK))
    }

    fn kernels(&self) -> Option<RecurrentKernels> {
        Some(RecurrentKernels::DeltaRule)
    }

    fn groups(&self) -> (u32, &'static str) {
        (self.key_heads, "key heads of its gated delta net")
    }

    /// All that the first product gives goes out together (`a2a_cp_to_hp` in `megatron/core/ssm/gated_delta_net/gdn.py`), and
    /// values come back.
    fn exchanged(&self) -> Result<[Option<u64>; 6], &'static str> {
        if self.gate_rank.is_some() {
            return Err("the gates of Kimi delta attention are made of a few channels");
        }
        Ok([Some(self.projected()), Some(self.value_width()), None, None, None, None])
    }

    fn sizes(&self) -> Vec<(&'static str, u32)> {
        let gate_rank = self.gate_rank.map(|rank| ("delta_net.gate_rank", rank));
        let sizes = [
            ("delta_net.key_heads", self.key_heads),
            ("delta_net.value_heads", self.value_heads),
            ("delta_net.key_head", self.key_head),
            ("delta_net.value_head", self.value_head),
            ("delta_net.conv", self.conv),
        ];
        sizes.into_iter().chain(gate_rank).collect()
    }

    fn problems(&self, layers: u32) -> Vec<FieldProblem> {
        let uneven = self.key_heads > 0 && !self.value_heads.is_multiple_of(self.key_heads);
        let outside = self.full_every < 2 || self.full_every > layers;
        vec![
            ("delta_net.value_heads", uneven, format!("must be a multiple of the {} key_heads", self.key_heads)),
            ("delta_net.full_every", outside, format!("must be between 2 and the {layers} layers")),
        ]
    }

    fn most_weights(&self, hidden: f64) -> f64 {
        let [key_heads, key, value_heads, value, conv] =
            [self.key_heads, self.key_head, self.value_heads, self.value_head, self.conv].map(f64::from);
        let (keys, values, rank) = (key_heads * key, value_heads * value, f64::from(self.gate_rank.unwrap_or(0)));
        (hidden + conv) * (2.0 * keys + 3.0 * values + 2.0 * value_heads)
            + rank * (2.0 * hidden + values + value_heads * key)
    }
}
