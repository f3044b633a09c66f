//! Attention's half of a layer: its matrices and widths, biases, norms and windows.

use serde::{Deserialize, Serialize};

use super::{LayerKind, Matrix, Mixer, Model, Recurrence};

/// Which matrices have biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of the architecture, free of the others")]
#[derive(Default)]
pub struct Biases {
    /// Biases of queries, keys and values; of latent attention, those that compress.
    pub qkv: bool,
    /// That after attention.
    pub projection: bool,
    /// Biases of the MLP, or of each expert.
    pub mlp: bool,
    /// The router of the experts.
    pub router: bool,
    /// The logits'.
    pub head: bool,
    /// Whether each head has a learned score that attends to nothing.
    pub sinks: bool,
}

/// Norms of queries and keys, scale only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QkNorm {
    /// None.
    #[default]
    None,
    /// One for the queries of all heads, one for the keys, each over a head.
    Head,
    /// Over all heads together.
    Width,
}

impl QkNorm {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): keys and values, and mostly queries too, are computed
/// from narrow vectors, which have a norm. A head's queries and keys have `head_size` channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentAttention {
    /// Width of the compressed queries; without it they are not compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<u32>,
    /// Width of what keys and values are computed from.
    pub key_value: u32,
    /// Channels of each head's queries and keys that carry positions; the keys' are the same for all heads.
    pub rotary: u32,
    /// Channels of each head's values.
    pub value_head: u32,
}

/// Layers whose attention looks back no further than so many tokens; the others see everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionWindow {
    /// Tokens.
    pub size: u32,
    /// How many layers have it, the first ones; without this and `full_every` all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u32>,
    /// The last of every so many layers sees everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_every: Option<u32>,
    /// Whether it does not slide: the sequence falls into pieces of that size.
    #[serde(default)]
    pub chunked: bool,
}

impl AttentionWindow {
    /// Whether a layer has it.
    pub(super) fn is_in(self, layer: u32) -> bool {
        let sees_all = self.full_every.is_some_and(|every| (layer + 1).is_multiple_of(every));
        !sees_all && self.layers.is_none_or(|layers| layer < layers)
    }

    /// Share of a whole causal sequence's scores that a layer computes: of `n` tokens the last sees `w`, the `i`th of
    /// the first `w` sees `i`, which makes `w n - w^2 / 2` of `n^2 / 2`. Pieces make `n / w` times `w^2 / 2`.
    pub(super) fn attended(self, sequence: u32) -> f64 {
        let share = (f64::from(self.size) / f64::from(sequence)).min(1.0);
        if self.chunked { share } else { share * (2.0 - share) }
    }
}

impl Model {
    /// Which matrices have biases.
    pub fn biases(&self) -> Biases {
        let all = Biases { qkv: self.bias, projection: self.bias, mlp: self.bias, ..Biases::default() };
        self.biases.unwrap_or(all)
    }

    /// Width of all query heads together.
    pub(crate) fn attention_width(&self) -> u64 {
        u64::from(self.heads) * u64::from(self.head_size)
    }

    /// Width of what the mixer of a layer of a kind hands to the projection.
    pub(crate) fn mixed_width(&self, kind: LayerKind) -> u64 {
        match kind.mixer {
            Mixer::None => 0,
            _ => self.recurrence(kind).map_or_else(|| self.value_width(), Recurrence::width),
        }
    }

    /// Width of what attention hands to the projection.
    pub(crate) fn value_width(&self) -> u64 {
        let value = self.latent.map_or(self.head_size, |latent| latent.value_head);
        u64::from(self.heads) * u64::from(value)
    }

    /// Width of all key heads and of all value heads together.
    pub(crate) fn kv_width(&self) -> u64 {
        match self.latent {
            Some(_) => self.attention_width() + self.value_width(),
            None => 2 * u64::from(self.kv_heads) * u64::from(self.head_size),
        }
    }

    /// The mean of the widths over which attention multiplies queries by keys and scores by values.
    pub(crate) fn whole_width(&self) -> f64 {
        (self.attention_width() + self.value_width()) as f64 / 2.0
    }

    /// The same where an indexer chooses tokens: all heads look at the compressed keys and values, which a head's queries
    /// are expanded to, and its output from (DeepSeek-V2, section 2.1.2; Megatron-LM, `absorbed_mla.py`).
    pub(crate) fn score_width(&self, kind: LayerKind) -> f64 {
        self.indexer(kind).map_or_else(
            || self.whole_width(),
            |(_, latent)| f64::from(self.heads) * (f64::from(latent.key_value) + f64::from(latent.rotary) / 2.0),
        )
    }

    /// Share of the scores of a whole sequence that a layer of a kind needs: of its window, or of the tokens that an
    /// indexer chooses; 0 without attention.
    pub(crate) fn attended(&self, kind: LayerKind, sequence: u32) -> f64 {
        if !kind.mixer.attends() {
            return 0.0;
        }
        let window = self.window.filter(|_| kind.mixer == Mixer::Window && self.causal);
        let indexer = self.indexer.filter(|_| self.causal);
        let chosen = || indexer.map_or(1.0, |indexer| indexer.attended(sequence));
        window.map_or_else(chosen, |window| window.attended(sequence))
    }

    /// The width of attention's products over the whole sequence, or over the share of it to which a layer attends; 0
    /// without attention.
    pub fn attended_width(&self, kind: LayerKind, sequence: u32) -> f64 {
        self.whole_width() * self.attended(kind, sequence)
    }

    /// The products before attention: query, key and value projection, fused; of latent attention first all that
    /// compress, then what expands queries, and keys with values. Of a mixer with a state those before it.
    pub(crate) fn attention_inputs(&self, kind: LayerKind) -> impl Iterator<Item = Matrix> + use<> {
        let (hidden, queries) = (u64::from(self.hidden), self.attention_width());
        let gate = if self.output_gate { self.value_width() } else { 0 };
        let matrices = match (self.recurrence(kind), self.latent) {
            _ if !kind.has_mixer() => [None; 3],
            (Some(recurrence), _) => recurrence.inputs(self.hidden),
            (None, None) => [Some(Matrix { input: hidden, output: queries + self.kv_width() + gate }), None, None],
            (None, Some(latent)) => {
                let (narrow, rotary) = (u64::from(latent.key_value), u64::from(latent.rotary));
                // Keys without the channels of positions, which come with the compressed ones.
                let keys = u64::from(self.heads) * u64::from(self.head_size.saturating_sub(latent.rotary));
                let query = latent.query.map(u64::from);
                [
                    Some(Matrix { input: hidden, output: query.unwrap_or(queries) + narrow + rotary }),
                    query.map(|query| Matrix { input: query, output: queries }),
                    Some(Matrix { input: narrow, output: keys + self.value_width() }),
                ]
            }
        };
        matrices.into_iter().flatten()
    }

    /// The products among these that expand what the first one compresses.
    pub(crate) fn expansions(&self, kind: LayerKind) -> impl Iterator<Item = Matrix> + use<> {
        self.attention_inputs(kind).skip(1)
    }

    /// Widths of what is kept between the first products and the mixer's core: of what comes out of the first one, and of
    /// what is expanded from it. Latent attention also keeps the outputs of the norms of what it compresses, and the keys'
    /// channels of positions for each head (Megatron-LM, `megatron/core/transformer/multi_latent_attention.py`); with an
    /// indexer, queries as wide as compressed keys in place of each head's keys and values.
    pub(crate) fn attention_outputs(&self, kind: LayerKind) -> [f64; 2] {
        let first: u64 = self.attention_inputs(kind).take(1).map(|matrix| matrix.output).sum();
        let expanded: u64 = self.expansions(kind).map(|matrix| matrix.output).sum();
        let absorbed = |(_, latent): (_, LatentAttention)| {
            let queries = latent.query.map_or(0, |_| self.attention_width());
            queries + u64::from(self.heads) * u64::from(latent.key_value + latent.rotary)
        };
        let sparse = self.indexer(kind).map(absorbed);
        let latent = self.latent.filter(|_| kind.mixer.attends());
        let [normed, copied] = latent.map_or([0, 0], |latent| {
            let normed = u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value);
            [normed, u64::from(self.heads) * u64::from(latent.rotary)]
        });
        [first + normed, sparse.unwrap_or(expanded + copied)].map(|width| width as f64)
    }

    /// The matrices of the mixer of a layer of a kind, each by itself.
    pub(super) fn attention_matrices(&self, kind: LayerKind) -> Vec<Matrix> {
        if self.latent.is_some() || !kind.mixer.attends() {
            let indexer = self.indexer_matrices(kind);
            return self.attention_inputs(kind).chain(self.projection(kind)).chain(indexer).collect();
        }
        let of = |width: u64| Matrix { input: self.hidden.into(), output: width };
        let (keys, gates) = (of(self.kv_width() / 2), if self.output_gate { 2 } else { 1 });
        let queries = of(gates * self.attention_width());
        [Some(queries), self.projection(kind), Some(keys), Some(keys)].into_iter().flatten().collect()
    }

    /// The projection after the mixer of a layer of a kind, where it has one.
    pub fn projection(&self, kind: LayerKind) -> Option<Matrix> {
        kind.has_mixer().then(|| Matrix { input: self.mixed_width(kind), output: self.hidden.into() })
    }

    /// Weights of the mixer of a layer of a kind, an indexer's apart: of each a token takes part in one product.
    pub(crate) fn attention_weights(&self, kind: LayerKind) -> u64 {
        let conv = self.recurrence(kind).map_or(0, Recurrence::conv_weights);
        self.attention_inputs(kind).chain(self.projection(kind)).map(Matrix::parameters).sum::<u64>() + conv
    }

    /// Parameters of the mixer of a layer of a kind: its weights, biases and its share of the norms.
    pub(crate) fn attention_parameters(&self, kind: LayerKind) -> u64 {
        if !kind.has_mixer() {
            return 0;
        }
        let norms = u64::from(self.norms.div_ceil(2)) * self.norm_parameters();
        if let Some(recurrence) = self.recurrence(kind) {
            return self.attention_weights(kind) + recurrence.other_parameters() + norms;
        }
        let biases = self.biases();
        let given = |has: bool, count: u64| if has { count } else { 0 };
        self.attention_weights(kind)
            + given(biases.qkv, self.qkv_biases())
            + given(biases.projection, self.hidden.into())
            + given(biases.sinks, self.heads.into())
            + self.qk_norm_parameters()
            + self.indexer_parameters(kind)
            + norms
    }

    fn qkv_biases(&self) -> u64 {
        match self.latent {
            None => self.attention_width() + self.kv_width(),
            Some(latent) => {
                u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value) + u64::from(latent.rotary)
            }
        }
    }

    fn qk_norm_parameters(&self) -> u64 {
        let latent = self.latent.map_or(0, |latent| u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value));
        latent
            + match self.qk_norm {
                QkNorm::None => 0,
                QkNorm::Head => 2 * u64::from(self.head_size),
                QkNorm::Width => self.attention_width() + self.kv_width() / 2,
            }
    }
}
