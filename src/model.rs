//! Transformer shapes: parameters and arithmetic, layer by layer.
//!
//! Not for bytes or activations, which depend on the software stack and on the plan.

use serde::{Deserialize, Serialize};

use crate::units::Flop;

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
    /// Size of one head.
    pub head_size: u32,
    /// Width inside the MLP.
    pub ffn_hidden: u32,
    /// Whether the MLP has a gate (SwiGLU): three matrices instead of two.
    #[serde(default)]
    pub gated: bool,
    /// Rows of the embedding; 0 for blocks without embedding and logits.
    #[serde(default)]
    pub vocab: u32,
    /// Whether the logits reuse the embedding.
    #[serde(default)]
    pub tied: bool,
    /// How positions enter.
    pub positions: Positions,
    /// The normalisation before each half of a layer.
    pub norm: Norm,
    /// Whether matrices have biases.
    #[serde(default)]
    pub bias: bool,
    /// Whether attention is causal.
    #[serde(default = "yes")]
    pub causal: bool,
    /// The sequence length it was trained with: what `--model` brings.
    pub sequence: u32,
    /// Mixture of experts, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
}

fn yes() -> bool {
    true
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

/// A mixture of experts in place of each layer's MLP; experts are sharded like other parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts per layer.
    pub count: u32,
    /// Experts that each token visits.
    pub active: u32,
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

/// The most layers that a model may have: a hundred times those of any.
const MOST_LAYERS: u32 = 1 << 14;

/// The most weights that a model's layers may have: far above any, far below an overflow.
const MOST_WEIGHTS: f64 = 1e17;

impl Model {
    /// Width of all query heads together.
    pub fn attention_width(&self) -> u64 {
        u64::from(self.heads) * u64::from(self.head_size)
    }

    /// Width of all key heads together; values have the same.
    pub fn kv_width(&self) -> u64 {
        u64::from(self.kv_heads) * u64::from(self.head_size)
    }

    /// Query, key and value projection, fused.
    pub fn qkv(&self) -> Matrix {
        Matrix { input: self.hidden.into(), output: self.attention_width() + 2 * self.kv_width() }
    }

    /// The projection after attention.
    pub fn projection(&self) -> Matrix {
        Matrix { input: self.attention_width(), output: self.hidden.into() }
    }

    /// The MLP's first matrix, with the gate beside it where there is one.
    pub fn up(&self) -> Matrix {
        let gates = if self.gated { 2 } else { 1 };
        Matrix { input: self.hidden.into(), output: gates * u64::from(self.ffn_hidden) }
    }

    /// The MLP's second matrix.
    pub fn down(&self) -> Matrix {
        Matrix { input: self.ffn_hidden.into(), output: self.hidden.into() }
    }

    /// Parameters of one layer's attention: matrices, biases and the norm before it.
    pub fn attention_parameters(&self) -> u64 {
        let bias = if self.bias { self.qkv().output + self.projection().output } else { 0 };
        self.qkv().parameters() + self.projection().parameters() + bias + self.norm_parameters()
    }

    /// Parameters of one layer's MLP, all experts and their router included, and the norm before it.
    pub fn mlp_parameters(&self) -> u64 {
        let bias = if self.bias { self.up().output + self.down().output } else { 0 };
        let one = self.up().parameters() + self.down().parameters() + bias;
        self.expert_count() * one + self.router_parameters() + self.norm_parameters()
    }

    fn router_parameters(&self) -> u64 {
        self.experts.map_or(0, |experts| u64::from(experts.count) * u64::from(self.hidden))
    }

    fn norm_parameters(&self) -> u64 {
        self.norm.parameters() * u64::from(self.hidden)
    }

    fn expert_count(&self) -> u64 {
        self.experts.map_or(1, |experts| experts.count.into())
    }

    /// Experts that each token visits; 1 for a dense model.
    pub fn active_experts(&self) -> u64 {
        self.experts.map_or(1, |experts| experts.active.into())
    }

    /// Parameters of one layer.
    pub fn layer_parameters(&self) -> u64 {
        self.attention_parameters() + self.mlp_parameters()
    }

    /// Parameters of the embedding of tokens and of learned positions.
    pub fn embedding_parameters(&self) -> u64 {
        if self.vocab == 0 {
            return 0;
        }
        let positions = match self.positions {
            Positions::Learned => u64::from(self.sequence),
            Positions::Computed => 0,
        };
        (u64::from(self.vocab) + positions) * u64::from(self.hidden)
    }

    /// Parameters of the last norm and, where the logits have their own matrix, of that.
    pub fn head_parameters(&self) -> u64 {
        if self.vocab == 0 {
            return 0;
        }
        let logits = if self.tied { 0 } else { u64::from(self.vocab) * u64::from(self.hidden) };
        logits + self.norm_parameters()
    }

    /// All trained parameters; a tied embedding counts once.
    pub fn parameters(&self) -> u64 {
        u64::from(self.layers) * self.layer_parameters() + self.embedding_parameters() + self.head_parameters()
    }

    /// Parameters that take part in one token's arithmetic: all but the experts that it does not visit.
    pub fn active_parameters(&self) -> u64 {
        let Some(experts) = self.experts else { return self.parameters() };
        let one = self.up().parameters() + self.down().parameters();
        let idle = u64::from(experts.count - experts.active.min(experts.count));
        self.parameters() - u64::from(self.layers) * idle * one
    }

    /// Weights of matrix products that take part in one token's arithmetic: those of the layers (active
    /// experts only) and the logits'.
    pub fn matrix_parameters(&self) -> u64 {
        let mlp = self.up().parameters() + self.down().parameters();
        let layer = self.qkv().parameters() + self.projection().parameters() + self.active_experts() * mlp;
        u64::from(self.layers) * layer + u64::from(self.vocab) * u64::from(self.hidden)
    }

    /// Flop of five Newton-Schulz iterations over every weight matrix of the layers, as Muon runs them on each update
    /// (K. Jordan et al., "Muon", 2024). One iteration on an `m x n` matrix `X`, `m` the smaller side, is `X Xt`, its
    /// square, and the product of both with `X`: `4 m^2 n + 2 m^3`. Query, key, value and gate are matrices of their own.
    pub fn orthogonalisation_flop(&self) -> Flop {
        let hidden = f64::from(self.hidden);
        // Newton-Schulz on an m x n matrix, m the smaller: X X^T (2 m^2 n), its square (2 m^3) and their product with X
        // (2 m^2 n), five times over.
        let (queries, keys) = (self.attention_width() as f64, self.kv_width() as f64);
        let one = |width: f64| {
            let (m, n) = (width.min(hidden), width.max(hidden));
            4.0 * m * m * n + 2.0 * m * m * m
        };
        let products = self.expert_count() as f64 * if self.gated { 3.0 } else { 2.0 };
        let layer = 2.0 * one(queries) + 2.0 * one(keys) + products * one(f64::from(self.ffn_hidden));
        Flop::new(5.0 * f64::from(self.layers) * layer)
    }

    /// Flop of one token in one forward pass of all attention cores: scores and values over the full
    /// square, not halved for causality.
    pub fn attention_flop(&self, sequence: u32) -> Flop {
        Flop::new(4.0 * f64::from(self.layers) * self.attention_width() as f64 * f64::from(sequence))
    }

    /// Flop of one token, forward and backward, over `parameters` weights: 6 each, and three passes of
    /// the attention cores.
    pub fn flop_per_token(&self, parameters: u64, sequence: u32) -> Flop {
        Flop::new(6.0 * parameters as f64) + self.attention_flop(sequence) * 3.0
    }

    /// What is wrong with it, each with the field's path and how to fix it.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut refuse = |field: &str, wrong: bool, fix: String| {
            if wrong {
                found.push((field.to_owned(), fix));
            }
        };
        refuse("layers", self.layers == 0, "must be at least 1".to_owned());
        refuse("layers", self.layers > MOST_LAYERS, format!("must be at most {MOST_LAYERS}"));
        for (field, value) in [
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("head_size", self.head_size),
            ("ffn_hidden", self.ffn_hidden),
            ("sequence", self.sequence),
        ] {
            refuse(field, value == 0, "must be at least 1".to_owned());
            refuse(field, value > 1 << 24, format!("must be at most {}", 1 << 24));
        }
        let [layers, hidden, ffn, heads, kv_heads, head_size] =
            [self.layers, self.hidden, self.ffn_hidden, self.heads, self.kv_heads, self.head_size].map(f64::from);
        let experts = self.experts.map_or(1.0, |experts| f64::from(experts.count));
        let weights = layers * hidden * (2.0 * (heads + kv_heads) * head_size + 3.0 * experts * ffn);
        refuse("layers", weights > MOST_WEIGHTS, format!("must make at most {MOST_WEIGHTS:e} weights with the widths"));
        refuse("vocab", self.vocab > 1 << 24, format!("must be at most {}", 1 << 24));
        let uneven = self.kv_heads > 0 && !self.heads.is_multiple_of(self.kv_heads);
        refuse("kv_heads", uneven, format!("must divide the {} heads", self.heads));
        if let Some(experts) = self.experts {
            let wrong = experts.active == 0 || experts.active > experts.count;
            refuse("experts.active", wrong, format!("must be between 1 and the {} experts", experts.count));
        }
        found
    }
}
