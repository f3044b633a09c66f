//! The core of a gated delta net: convolution, chunked rule and gated norm, by the kernels of fla-org's
//! flash-linear-attention, which transformers and Megatron-Core call (`chunk_gated_delta_rule`), and Kimi Linear where each
//! channel decays by itself (`chunk_kda`).

use crate::model::GatedDeltaNet;
use crate::plan::pass::PerDirection;
use crate::units::{Count, Flop};

use super::attention::GATE_ACCESSES;
use super::recurrence::TokenWork;

/// Tokens of a chunk (`chunk_size` of those kernels). Inside one the rule is products of its tokens by each other, and
/// between chunks the state passes.
const CHUNK: f64 = 64.0;

/// Flop and elements moved for a token and a value head whose keys and values have these channels, and whose state has a
/// decay for each channel or one.
fn of_head(key: f64, value: f64, by_channel: bool) -> PerDirection<[f64; 2]> {
    let state = key * value;
    // Products of the chunk's keys by keys and of queries by keys, and the inverse of the first by keys and values (the
    // `w` and `u` of Yang et al., section 3.3), then scores by new values: 2 c per channel. The states: what of them
    // `w` finds, what queries find, and the update, 2 per number each. The inverse by substitution is c^3 / 3 for c tokens.
    let again = 2.0 * CHUNK * (key + value) + 4.0 * state;
    let products = 2.0 * CHUNK * (3.0 * key + 2.0 * value) + 6.0 * state;
    let forward = products + CHUNK * CHUNK / 3.0;
    let states = state / CHUNK;
    let moved = if by_channel {
        PerDirection {
            // Decays are in fp32, twice k. By kernel: `kda_gate_chunk_cumsum` 3 k; `chunk_kda_fwd_intra` q, k, decays and
            // two A of c, then k, v, decays, A, `w`, `u` and decayed keys; `chunk_fwd_h` 2 k, 2 v and a state;
            // `chunk_gla_fwd_o_gk` q, decays, 2 v, A and a state.
            forward: 17.0 * key + 6.0 * value + 4.0 * CHUNK + 2.0 * states,
            // By kernel: decays again 3 k; `recompute_w_u` 7 k, 2 v, A; `chunk_fwd_h` as above; `chunk_kda_bwd_dAv` 3 v,
            // A and its gradient in fp32; `chunk_bwd_dhu` 3 k, 3 v and a state; `wy_dqkg_fused` 4 k and three gradients in
            // fp32, 5 v, A and its gradient, two states; `chunk_kda_bwd_intra` 4 k, two gradients of A, three of k in and
            // out; gradients of decays 4 k summed, 4 k through the gate; those of queries and keys 6 k to bf16.
            backward: 55.0 * key + 15.0 * value + 11.0 * CHUNK + 4.0 * states,
        }
    } else {
        PerDirection {
            // By kernel: `chunk_scaled_dot_kkt` k, A; `solve_tril` A, A; `recompute_w_u` 2 k, 2 v, A; `chunk_fwd_h` 2 k, 2 v
            // and a state; `chunk_fwd_o` 2 k, 2 v and a state. A is a row of the chunk, in fp32 before it is inverted: twice
            // 2 c.
            forward: 7.0 * key + 6.0 * value + 6.0 * CHUNK + 2.0 * states,
            // By kernel: `recompute_w_u` and `chunk_fwd_h` as above, `chunk_bwd_dv_local` 2 k, 2 v; `chunk_bwd_dhu` 3 k, 3 v
            // and a state; `chunk_bwd_dqkwg` 6 k, 3 v and two states; `prepare_wy_repr_bwd` 3 k, 3 v, A; the sum of both
            // gradients of keys 3 k.
            backward: 21.0 * key + 15.0 * value + 2.0 * CHUNK + 4.0 * states,
        }
    };
    // Backward computes `w`, `u` and the states again; each product has two gradients.
    PerDirection { forward: [forward, moved.forward], backward: [again + 2.0 * forward, moved.backward] }
}

impl GatedDeltaNet {
    fn of_head(self) -> PerDirection<[f64; 2]> {
        of_head(self.key_head.into(), self.value_head.into(), self.gate_rank.is_some())
    }

    /// The work of a layer for a token.
    pub(super) fn token_work(self) -> PerDirection<TokenWork> {
        let [heads, conv] = [self.value_heads, self.conv].map(f64::from);
        let [channels, values] = [self.channels(), self.value_width()].map(|width| width as f64);
        // The convolution has one product forward and two backward; it reads its channels, backward a gradient too, and
        // writes one or the other.
        let work = |[flop, elements]: [f64; 2], products: f64, gate: f64| TokenWork {
            flop: Flop::new(flop * heads + 2.0 * conv * channels * products),
            elements: Count::new(elements * heads + (1.0 + products) * channels + gate * values),
        };
        let PerDirection { forward, backward } = self.of_head();
        PerDirection {
            forward: work(forward, 1.0, GATE_ACCESSES.forward),
            backward: work(backward, 2.0, GATE_ACCESSES.backward),
        }
    }

    /// Flop of a token in one forward pass of the chunked rule.
    pub(super) fn chunked_flop(self) -> Flop {
        let [flop, _] = self.of_head().forward;
        Flop::new(flop * f64::from(self.value_heads))
    }

    /// Elements that a token keeps for backward between the product before the state and the one after it: queries and
    /// keys for each value head, values, the rule's output, the gated norm's, and a row of the chunk's inverse; with a decay
    /// for each channel also a row of its queries by keys.
    pub(super) fn kept(self) -> Count {
        let (key, value) = (f64::from(self.key_head), f64::from(self.value_head));
        let rows = if self.gate_rank.is_some() { 2.0 } else { 1.0 };
        Count::new(f64::from(self.value_heads) * (2.0 * key + 3.0 * value + rows * CHUNK))
    }

    /// Elements for a token with which the rule's backward works: `w`, `u`, new values, and its share of a chunk's states;
    /// with a decay for each channel these in fp32, decayed queries and keys, and in fp32 gradients of all three.
    pub(super) fn worked_in(self) -> Count {
        let (key, value) = (f64::from(self.key_head), f64::from(self.value_head));
        let decayed = if self.gate_rank.is_some() { 2.0 + 2.0 + 3.0 * 2.0 } else { 0.0 };
        Count::new(f64::from(self.value_heads) * ((1.0 + decayed) * key + 2.0 * value + key * value / CHUNK))
    }
}
