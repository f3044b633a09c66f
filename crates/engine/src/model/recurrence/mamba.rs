//! State spaces of Mamba-2: their shape, and their core by the kernels of state-spaces/mamba, which Megatron-LM and
//! transformers call (`mamba_split_conv1d_scan_combined` in `mamba_ssm/ops/triton/ssd_combined.py`).
//!
//! Steps and decays, a number for each head and token, are left out of its work: a hundredth of what moves.

use serde::{Deserialize, Serialize};

use crate::model::{LayerMatrix, Matrix, MatrixRole};
use crate::units::{Count, Flop};

use super::{FieldProblem, Recurrence, RecurrentKernels, TokenWork};

/// The state space of layers of Mamba-2 (Dao & Gu, "Transformers are SSMs", arXiv 2405.21060): inputs of each head pass a
/// short convolution, with what writes them into the head's state (`B`) and reads it (`C`), which heads of a group share;
/// the state decays by a step of each head and token (`dt`), and the output passes a gate (`z`) and a norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Width of all heads together.
    fn all_heads(self) -> u64 {
        u64::from(self.heads) * u64::from(self.head)
    }

    /// Width of what all groups write with, and of what they read with.
    fn all_groups(self) -> u64 {
        u64::from(self.groups) * u64::from(self.state)
    }

    /// Channels that pass the convolution: the inputs, `B` and `C`.
    fn channels(self) -> u64 {
        self.all_heads() + 2 * self.all_groups()
    }

    fn widths(self) -> ScanWidths {
        let [heads, groups, channels] =
            [self.all_heads(), self.all_groups(), self.channels()].map(|width| width as f64);
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

    /// Flop of the convolution for a token in one pass.
    fn conv_flop(self) -> f64 {
        2.0 * f64::from(self.conv) * self.channels() as f64
    }
}

impl Recurrence for Mamba {
    fn name(&self) -> &'static str {
        "Mamba-2"
    }

    fn core_name(&self) -> &'static str {
        "chunked scan"
    }

    fn source(&self) -> &'static str {
        "state of each head (arXiv 2405.21060), as num_floating_point_operations of Megatron-LM counts it"
    }

    /// Gate, inputs, `B`, `C`, and a step for each head (`in_proj` of state-spaces/mamba, transformers and Megatron-LM).
    fn inputs(&self, hidden: u32) -> [Option<LayerMatrix>; 3] {
        let output = self.all_heads() + self.channels() + u64::from(self.heads);
        let matrix = Matrix { input: hidden.into(), output };
        [Some(LayerMatrix::of_mixer("gates, inputs, B, C and steps", MatrixRole::First, matrix)), None, None]
    }

    fn width(&self) -> u64 {
        self.all_heads()
    }

    fn conv_weights(&self) -> u64 {
        u64::from(self.conv) * self.channels()
    }

    /// The convolution's biases, `A_log`, `D` and `dt_bias` of each head, and the gated norm.
    fn other_parameters(&self) -> u64 {
        self.channels() + 3 * u64::from(self.heads) + self.all_heads()
    }

    fn states(&self) -> u64 {
        self.all_heads() * u64::from(self.state)
    }

    fn flop_per_number(&self) -> f64 {
        7.0
    }

    /// The states are written once and read once.
    fn chunked_flop(&self) -> Flop {
        Flop::new(self.products([1.0, 1.0, 2.0]))
    }

    fn forward(&self) -> TokenWork {
        let ScanWidths { heads, groups, rows, states, channels } = self.widths();
        // By kernel: `causal_conv1d` twice its channels; `chunk_state` `B`, inputs and states in fp32; `state_passing`
        // these and states; `bmm_chunk` `C`, `B` and rows in fp32; `chunk_scan` rows, inputs, gates, `C` and states, and
        // outputs with and without gate; the norm in and out.
        TokenWork {
            flop: self.chunked_flop() + Flop::new(self.conv_flop()),
            elements: Count::new(
                2.0 * channels
                    + (1.0 + 4.0 + 2.0) * heads
                    + (1.0 + 2.0 + 1.0) * groups
                    + 2.0 * FP32 * rows
                    + (2.0 * FP32 + 2.0) * states,
            ),
        }
    }

    fn backward(&self) -> TokenWork {
        let ScanWidths { heads, groups, rows, states, channels } = self.widths();
        // The convolution, rows and states are computed again. Each product has two gradients, and the steps' needs
        // outputs' gradients by inputs once more (`chunk_scan_bwd_ddAcs_stable`). By kernel: norm 3 heads; `causal_conv1d`
        // as above; `bmm_chunk`, `chunk_state`, `state_passing` as above, all states in fp32; `bwd_dz` 6 heads; `bwd_dstates` `C`, a
        // head and states; `state_passing_bwd` both states in and out; `bwd_dx` 3 heads, rows, `B`, states; `bwd_db` and
        // `bwd_dC` a head, states, a group, and a gradient in fp32 each; `bwd_dcb` 2 heads, rows; `bmm_chunk_bwd` twice
        // rows, a group and two gradients, one in fp32; `ddAcs_stable` 2 heads, rows; the convolution's own 3 channels.
        TokenWork {
            flop: Flop::new(self.products([1.0 + 2.0, 2.0 + 1.0, 1.0 + 4.0]) + 3.0 * self.conv_flop()),
            elements: Count::new(
                (2.0 + 3.0) * channels
                    + (3.0 + 1.0 + 6.0 + 1.0 + 3.0 + 2.0 + 2.0 + 2.0) * heads
                    + (2.0 + 1.0 + 1.0 + 1.0 + 2.0 * (1.0 + FP32) + 2.0 * (2.0 + FP32)) * groups
                    + (1.0 + 1.0 + 1.0 + 2.0 + 1.0) * FP32 * rows
                    + ((1.0 + 2.0 + 1.0 + 2.0) * FP32 + 2.0 + 1.0 + 2.0) * states,
            ),
        }
    }

    /// Between the product before the scan, whose output is kept, and the one after it: the scan's output, the gated one, which
    /// the norm reads, and the norm's.
    fn kept(&self) -> Count {
        Count::new(3.0 * self.widths().heads)
    }

    /// The convolution's output again and its gradient, rows and their gradients in fp32, and states and theirs, in fp32 and in
    /// the storage format.
    fn worked_in(&self) -> Count {
        let ScanWidths { rows, states, channels, .. } = self.widths();
        Count::new(2.0 * (channels + FP32 * rows + (FP32 + 1.0) * states))
    }

    fn kernels(&self) -> Option<RecurrentKernels> {
        Some(RecurrentKernels::Scan)
    }

    fn groups(&self) -> (u32, &'static str) {
        (self.groups, "groups of its state space")
    }

    /// Gates, inputs, `B`, `C` and steps go out, and outputs come back (Megatron-LM,
    /// `megatron/core/ssm/mamba_context_parallel.py`).
    fn exchanged(&self) -> Result<[Option<u64>; 6], &'static str> {
        let [inputs, states] = [self.all_heads(), self.all_groups()];
        Ok([inputs, inputs, states, states, self.heads.into(), inputs].map(Some))
    }

    fn sizes(&self) -> Vec<(&'static str, u32)> {
        vec![
            ("mamba.heads", self.heads),
            ("mamba.head", self.head),
            ("mamba.state", self.state),
            ("mamba.groups", self.groups),
            ("mamba.conv", self.conv),
            ("mamba.chunk", self.chunk),
        ]
    }

    fn problems(&self, _layers: u32) -> Vec<FieldProblem> {
        let wrong = self.groups > 0 && !self.heads.is_multiple_of(self.groups);
        vec![("mamba.heads", wrong, format!("must be a multiple of the {} groups", self.groups))]
    }

    fn most_weights(&self, hidden: f64) -> f64 {
        let [heads, head, groups, state] = [self.heads, self.head, self.groups, self.state].map(f64::from);
        (hidden + f64::from(self.conv) + 1.0) * (3.0 * heads * head + 2.0 * groups * state + heads)
    }
}
