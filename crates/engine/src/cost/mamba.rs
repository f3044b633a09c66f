//! The core of a layer of Mamba-2: convolution, chunked scan, gate and norm, by the kernels of state-spaces/mamba, which
//! Megatron-LM and transformers call (`mamba_split_conv1d_scan_combined` in `mamba_ssm/ops/triton/ssd_combined.py`).
//!
//! Steps and decays, a number for each head and token, are left out: a hundredth of what moves.

use crate::model::Mamba;
use crate::plan::pass::PerDirection;
use crate::units::{Count, Flop};

use super::recurrence::TokenWork;

/// What a number in fp32 counts in elements of the storage format.
const FP32: f64 = 2.0;

/// Numbers for a token, of all heads and groups of a layer.
struct ScanWidths {
    /// Inputs of all heads, their outputs, or their gates.
    heads: f64,
    /// Width of B, and of C, in all groups.
    groups: f64,
    /// A row of the products of a chunk's tokens by each other, for all groups.
    rows: f64,
    /// A token's share of the states of all heads, one for each chunk.
    states: f64,
    /// Channels of the convolution.
    channels: f64,
}

impl Mamba {
    fn widths(self) -> ScanWidths {
        let [heads, groups, channels] = [self.width(), self.group_width(), self.channels()].map(|width| width as f64);
        let chunk = f64::from(self.chunk);
        let (rows, states) = (f64::from(self.groups) * chunk, heads * f64::from(self.state) / chunk);
        ScanWidths { heads, groups, rows, states, channels }
    }

    /// Flop of a token's products in one pass: `C` by `B` of its chunk for each group, those rows by inputs for each head,
    /// and what writes states or reads them (Dao & Gu, section 6), each as often as said.
    fn products(self, [rows, inputs, states]: [f64; 3]) -> f64 {
        let ScanWidths { heads, groups, .. } = self.widths();
        let (chunk, state) = (f64::from(self.chunk), f64::from(self.state));
        2.0 * (rows * chunk * groups + inputs * chunk * heads + states * state * heads)
    }

    /// Flop of a token in one forward pass of the chunked scan: the states are written once and read once.
    pub(super) fn chunked_flop(self) -> Flop {
        Flop::new(self.products([1.0, 1.0, 2.0]))
    }

    /// The work of a layer for a token.
    pub(super) fn token_work(self) -> PerDirection<TokenWork> {
        let ScanWidths { heads, groups, rows, states, channels } = self.widths();
        let conv = 2.0 * f64::from(self.conv) * channels;
        PerDirection {
            // By kernel: `causal_conv1d` twice its channels; `chunk_state` `B`, inputs and states in fp32; `state_passing`
            // these and states; `bmm_chunk` `C`, `B` and rows in fp32; `chunk_scan` rows, inputs, gates, `C` and states, and
            // outputs with and without gate; the norm in and out.
            forward: TokenWork {
                flop: self.chunked_flop() + Flop::new(conv),
                elements: Count::new(
                    2.0 * channels
                        + (1.0 + 4.0 + 2.0) * heads
                        + (1.0 + 2.0 + 1.0) * groups
                        + 2.0 * FP32 * rows
                        + (2.0 * FP32 + 2.0) * states,
                ),
            },
            // The convolution, rows and states are computed again. Each product has two gradients, and the steps' needs
            // outputs' gradients by inputs once more (`chunk_scan_bwd_ddAcs_stable`). By kernel: norm 3 heads; `causal_conv1d`
            // as above; `bmm_chunk`, `chunk_state`, `state_passing` as above, all states in fp32; `bwd_dz` 6 heads; `bwd_dstates` `C`, a
            // head and states; `state_passing_bwd` both states in and out; `bwd_dx` 3 heads, rows, `B`, states; `bwd_db` and
            // `bwd_dC` a head, states, a group, and a gradient in fp32 each; `bwd_dcb` 2 heads, rows; `bmm_chunk_bwd` twice
            // rows, a group and two gradients, one in fp32; `ddAcs_stable` 2 heads, rows; the convolution's own 3 channels.
            backward: TokenWork {
                flop: Flop::new(self.products([1.0 + 2.0, 2.0 + 1.0, 1.0 + 4.0]) + 3.0 * conv),
                elements: Count::new(
                    (2.0 + 3.0) * channels
                        + (3.0 + 1.0 + 6.0 + 1.0 + 3.0 + 2.0 + 2.0 + 2.0) * heads
                        + (2.0 + 1.0 + 1.0 + 1.0 + 2.0 * (1.0 + FP32) + 2.0 * (2.0 + FP32)) * groups
                        + (1.0 + 1.0 + 1.0 + 2.0 + 1.0) * FP32 * rows
                        + ((1.0 + 2.0 + 1.0 + 2.0) * FP32 + 2.0 + 1.0 + 2.0) * states,
                ),
            },
        }
    }

    /// Elements that a token keeps for backward between the product before the scan, whose output is kept, and the one after
    /// it: the scan's output, the gated one, which the norm reads, and the norm's.
    pub(super) fn kept(self) -> Count {
        Count::new(3.0 * self.widths().heads)
    }

    /// Elements for a token with which backward works: the convolution's output again and its gradient, rows and their
    /// gradients in fp32, and states and theirs, in fp32 and in the storage format.
    pub(super) fn worked_in(self) -> Count {
        let ScanWidths { rows, states, channels, .. } = self.widths();
        Count::new(2.0 * (channels + FP32 * rows + (FP32 + 1.0) * states))
    }
}
