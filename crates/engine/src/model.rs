//! Transformer shapes: parameters and arithmetic, layer by layer.
//!
//! Not for bytes or activations, which depend on the software stack and on the plan.

mod attention;
mod indexer;
mod kinds;
mod layer_attention;
mod layer_matrix;
mod matrices;
mod mixer;
mod mlp;
mod places;
mod problems;
mod recurrence;

use serde::{Deserialize, Serialize};

use crate::units::{Flop, thousands};

pub use attention::{AttentionWindow, Biases, Heads, LatentAttention, QkNorm};
pub use indexer::Indexer;
pub use kinds::{LayerKind, LayerMlp, LayerPattern, Mixer, PerKind};
pub(crate) use layer_attention::LayerAttention;
pub(crate) use layer_matrix::PartParameters;
pub use layer_matrix::{LayerMatrix, LayerPart, MatrixRole};
pub(crate) use mixer::LayerMixer;
pub use mlp::Experts;
pub use places::LayerPlaces;
pub use recurrence::{FieldProblem, GatedDeltaNet, Mamba, Recurrence, RecurrentKernels, TokenWork};
pub(crate) use recurrence::{GATE_BACKWARD, GATE_FORWARD};

/// A decoder-only transformer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the architecture, free of the others")]
pub struct Model {
    /// Version of the file format.
    pub format: u32,
    /// The id that `--model` takes.
    #[serde(default)]
    pub id: String,
    /// The name that people use.
    pub name: String,
    /// Where the shape comes from.
    pub source: String,
    /// Transformer layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Attention heads.
    pub heads: u32,
    /// Key and value heads (grouped-query attention); equal to `heads` without it.
    pub kv_heads: u32,
    /// Size of one head of queries and keys.
    pub head_size: u32,
    /// Size of one head of values, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_head: Option<u32>,
    /// Whether attention to the whole sequence has keys for values, by the same weights (`attention_k_eq_v` of Gemma 4).
    #[serde(default, skip_serializing_if = "is_off")]
    pub values_are_keys: bool,
    /// Width inside the MLP; inside each expert, unless `experts` says another.
    pub ffn_hidden: u32,
    /// Whether the MLP has a gate (SwiGLU): three matrices instead of two.
    #[serde(default)]
    pub gated: bool,
    /// The bound within which what the MLP's activation function reads is kept, where there is one (`swiglu_limit` of GPT-OSS's
    /// configurations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_limit: Option<f64>,
    /// Rows of the embedding; 0 for blocks without embedding and logits.
    #[serde(default)]
    pub vocab: u32,
    /// Whether the logits reuse the embedding.
    #[serde(default)]
    pub tied: bool,
    /// How positions enter.
    pub positions: Positions,
    /// Rows of the table of learned positions, where it has not one for each of `sequence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_rows: Option<u32>,
    /// The normalisation before each half of a layer.
    pub norm: Norm,
    /// Norms of a layer: 1 where its halves share one, 4 where the output of each has one too, 7 where an MLP beside experts
    /// has norms of its own.
    #[serde(default = "two", skip_serializing_if = "is_two")]
    pub norms: u32,
    /// Norms of queries and keys.
    #[serde(default, skip_serializing_if = "QkNorm::is_none")]
    pub qk_norm: QkNorm,
    /// Whether the matrices of the layers have biases; `biases` says of each otherwise.
    #[serde(default)]
    pub bias: bool,
    /// Whether attention's output passes a gate of its own width, computed with the queries.
    #[serde(default, skip_serializing_if = "is_off")]
    pub output_gate: bool,
    /// Whether attention is causal.
    #[serde(default = "yes")]
    pub causal: bool,
    /// The sequence length it was trained with: what `--model` brings.
    pub sequence: u32,
    /// What each layer is, where it is a mixer, an MLP or experts alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<LayerPattern>,
    /// Which matrices have biases, where not all or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub biases: Option<Biases>,
    /// Queries, keys and values out of compressed ones, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latent: Option<LatentAttention>,
    /// What chooses the tokens that latent attention looks at, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexer: Option<Indexer>,
    /// Layers whose attention looks back no further than a window, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<AttentionWindow>,
    /// Layers with a gated delta net in place of attention, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_net: Option<GatedDeltaNet>,
    /// The state space of layers of Mamba-2, if `pattern` has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mamba: Option<Mamba>,
    /// Mixture of experts, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
    /// Layers behind the last one that are trained to predict a further token each (multi-token prediction). A plan says
    /// it (`plan.mtp_layers`), and no model's file.
    #[serde(skip)]
    pub mtp_layers: u32,
    /// First layers whose parameters stay as they are. A plan says it (`plan.frozen_layers`), and no model's file.
    #[serde(skip)]
    pub frozen_layers: u32,
    /// Whether a score stands in place of the logits, as of a reward model. A plan says it (`post_training.method`), and no
    /// model's file.
    #[serde(skip)]
    pub scores: bool,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(crate) fn is_off(on: &bool) -> bool {
    !on
}

fn two() -> u32 {
    2
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_two(norms: &u32) -> bool {
    *norms == 2
}

impl Model {
    /// A dense transformer whose MLP has no gate and is four times as wide, with heads as wide as divide `hidden`, without
    /// embedding, biases and norms: what most others differ from in a few things.
    pub fn dense(layers: u32, hidden: u32, heads: u32) -> Self {
        Self {
            format: 1,
            id: String::new(),
            name: String::new(),
            source: String::new(),
            layers,
            hidden,
            heads,
            kv_heads: heads,
            head_size: (hidden / heads.max(1)).max(1),
            value_head: None,
            values_are_keys: false,
            ffn_hidden: 4 * hidden,
            gated: false,
            activation_limit: None,
            vocab: 0,
            tied: false,
            positions: Positions::Computed,
            position_rows: None,
            norm: Norm::None,
            norms: 2,
            qk_norm: QkNorm::None,
            bias: false,
            causal: true,
            sequence: 1024,
            pattern: None,
            biases: None,
            latent: None,
            indexer: None,
            output_gate: false,
            window: None,
            delta_net: None,
            mamba: None,
            experts: None,
            mtp_layers: 0,
            frozen_layers: 0,
            scores: false,
        }
    }
}

/// How positions enter the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// A learned embedding for each position of the training sequence.
    Learned,
    /// Rotary, `ALiBi` or none: no parameters.
    Computed,
}

/// The normalisation before each half of a layer and before the logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Scale and shift: two parameters per channel.
    LayerNorm,
    /// Scale only.
    RmsNorm,
    /// Not counted (shapes given by 12 L H^2).
    None,
}

impl Norm {
    /// Parameters per channel.
    pub fn parameters(self) -> u64 {
        match self {
            Self::LayerNorm => 2,
            Self::RmsNorm => 1,
            Self::None => 0,
        }
    }
}

/// One matrix product of a layer: `tokens x input` by `input x output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// Rows of the weight: the dimension summed over.
    pub input: u64,
    /// Columns of the weight.
    pub output: u64,
}

impl Matrix {
    /// Weights.
    pub fn parameters(self) -> u64 {
        self.input * self.output
    }
}

impl Model {
    fn norm_parameters(&self) -> u64 {
        self.norm.parameters() * u64::from(self.hidden)
    }

    /// Parameters of one layer of a kind.
    pub fn layer_parameters(&self, kind: LayerKind) -> u64 {
        LayerPart::ALL.map(|part| self.part_parameters(kind, part).all).into_iter().sum()
    }

    /// Parameters of the largest layer.
    pub fn largest_layer_parameters(&self) -> u64 {
        self.kinds().map(|(kind, _)| self.layer_parameters(kind)).max().unwrap_or_default()
    }

    /// Parameters of all layers.
    pub(crate) fn layers_parameters(&self) -> u64 {
        self.count_over_layers(|kind| self.layer_parameters(kind))
    }

    /// Parameters of the embedding of tokens and of learned positions.
    pub(crate) fn embedding_parameters(&self) -> u64 {
        // Without a vocabulary a shape is its layers alone, as papers count `12 L H^2`.
        if self.vocab == 0 {
            return 0;
        }
        u64::from(self.vocab) * u64::from(self.hidden) + self.position_parameters()
    }

    /// Those of learned positions, which each tensor rank has whole.
    pub(crate) fn position_parameters(&self) -> u64 {
        match self.positions {
            Positions::Learned if self.vocab > 0 => {
                u64::from(self.position_rows.unwrap_or(self.sequence)) * u64::from(self.hidden)
            }
            _ => 0,
        }
    }

    /// Parameters of the last norm, of the logits' biases, of the logits' matrix where they have one of their own, and of
    /// what leads to layers that predict further tokens.
    pub(crate) fn head_parameters(&self) -> u64 {
        if self.vocab == 0 {
            return 0;
        }
        let logits = if self.has_tied_logits() { 0 } else { self.logits_weights() };
        let bias = if self.biases().head && !self.scores { u64::from(self.vocab) } else { 0 };
        let further = u64::from(self.mtp_layers) * self.further_projection().parameters();
        logits + bias + further + self.head_norm_parameters()
    }

    /// Those of its norms, which each tensor rank has whole: the last one, and of each further token those of its embedding, of
    /// the layer before and of the layer itself (`MultiTokenPredictionLayer` of Megatron-Core).
    pub(crate) fn head_norm_parameters(&self) -> u64 {
        if self.vocab == 0 { 0 } else { (1 + 3 * u64::from(self.mtp_layers)) * self.norm_parameters() }
    }

    /// The product before a layer that predicts a further token: the output of the layer before, and the embedding of the
    /// next token (`DeepSeek-V3`, arXiv 2412.19437, equation 21).
    pub(crate) fn further_projection(&self) -> Matrix {
        let hidden = u64::from(self.hidden);
        Matrix { input: 2 * hidden, output: hidden }
    }

    /// Whether what comes last reads the embedding's matrix too: logits that reuse it, or layers for further tokens.
    pub(crate) fn shares_embedding(&self) -> bool {
        self.has_tied_logits() || self.mtp_layers > 0
    }

    /// Whether logits reuse the embedding's matrix; a score has one of its own.
    pub(crate) fn has_tied_logits(&self) -> bool {
        self.tied && !self.scores
    }

    /// Numbers that come out of the last product for a token: a logit for each row of the embedding, or a score.
    pub(crate) fn logits_width(&self) -> u32 {
        if self.scores { self.vocab.min(1) } else { self.vocab }
    }

    /// Weights of that product.
    pub(crate) fn logits_weights(&self) -> u64 {
        u64::from(self.logits_width()) * u64::from(self.hidden)
    }

    /// All layers, those that predict further tokens included.
    pub fn all_layers(&self) -> u32 {
        self.layers + self.mtp_layers
    }

    /// All trained parameters, exactly; a tied embedding counts once.
    pub fn parameters(&self) -> u64 {
        self.layers_parameters() + self.embedding_parameters() + self.head_parameters()
    }

    /// Parameters that take part in one token's arithmetic, exactly: all but the experts that it does not visit.
    pub fn active_parameters(&self) -> u64 {
        let idle = self.experts.map_or(0, |_| self.count_over_layers(|kind| self.idle_parameters(kind)));
        self.parameters() - idle
    }

    /// The most stages that a pipeline can have: each with a layer, and one for the embedding and one for the head alone.
    pub(crate) fn most_stages(&self) -> u32 {
        self.layers + if self.vocab > 0 { 2 } else { 0 }
    }

    /// The exact counts in words: `46,702,792,704 parameters, 12,879,925,248 of them active`.
    pub fn counts(&self) -> String {
        let [all, active] = [self.parameters(), self.active_parameters()].map(|count| thousands(count as f64));
        let some = if active == all { String::new() } else { format!(", {active} of them active") };
        format!("{all} parameters{some}")
    }

    /// Weights of matrix products that take part in one token's arithmetic: those of the layers (active
    /// experts only) and the logits', which each further token meets once more.
    pub fn matrix_parameters(&self) -> u64 {
        // Looking a row up is no product, but the logits are one, also where they share the embedding's matrix.
        let logits = self.logits_weights();
        let further = u64::from(self.mtp_layers) * (self.further_projection().parameters() + logits);
        self.layers_matrix_parameters() + logits + further
    }

    /// Those of the layers alone.
    pub fn layers_matrix_parameters(&self) -> u64 {
        self.count_over_layers(|kind| self.active_weights(kind))
    }

    /// Flop of five Newton-Schulz iterations over every weight matrix of the layers, as Muon runs them on each update
    /// (K. Jordan et al., "Muon", 2024). One iteration on an `m x n` matrix `X`, `m` the smaller side, is `X Xt`, its
    /// square, and the product of both with `X`: `4 m^2 n + 2 m^3`. Query, key, value and gate are matrices of their own.
    pub(crate) fn orthogonalisation_flop(&self) -> Flop {
        Flop::new(self.over_layer_matrices(|matrix| {
            let (m, n) = (matrix.input.min(matrix.output) as f64, matrix.input.max(matrix.output) as f64);
            5.0 * (4.0 * m * m * n + 2.0 * m * m * m)
        }))
    }

    /// Weight matrices of the layers, and their weights.
    pub(crate) fn layer_matrices(&self) -> (f64, f64) {
        (self.over_layer_matrices(|_| 1.0), self.over_layer_matrices(|matrix| matrix.parameters() as f64))
    }

    /// The sum of something over every weight matrix of the layers.
    fn over_layer_matrices(&self, of: impl Fn(Matrix) -> f64) -> f64 {
        let of_mixer = |kind| self.single_mixer_matrices(kind).into_iter().map(&of).sum::<f64>();
        let of_mlp = |one: LayerMatrix| {
            (one.count * one.joined) as f64 * of(Matrix { output: one.matrix.output / one.joined, ..one.matrix })
        };
        self.over_layers(|kind| of_mixer(kind) + self.mlp_matrices(kind).map(of_mlp).sum::<f64>())
    }

    /// Flop of one token in one forward pass of all attention cores: scores and values over the full
    /// square, not halved for causality, of windows their share of it.
    pub(crate) fn attention_flop(&self, sequence: u32) -> Flop {
        // 2 flop for each channel and position attended to in the scores, and 2 in the sum of the values.
        Flop::new(4.0 * self.over_layers(|kind| self.attended_width(kind, sequence)) * f64::from(sequence))
    }

    /// Flop of one token in one forward pass of all mixers with a state, token by token.
    pub(crate) fn recurrence_flop(&self) -> Flop {
        Flop::new(self.over_recurrences(|recurrence| recurrence.flop().get()))
    }

    /// Flop of one token, forward and backward, over `parameters` weights, `each` for one of them, and three passes of the
    /// share `attended` of the attention cores, and of the mixers in their place.
    pub(crate) fn flop_per_token(&self, each: Flop, parameters: u64, sequence: u32, attended: f64) -> Flop {
        each * parameters as f64 + self.attention_flop(sequence) * (3.0 * attended) + self.recurrence_flop() * 3.0
    }
}

#[cfg(test)]
mod tests;
