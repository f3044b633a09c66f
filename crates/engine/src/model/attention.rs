//! Attention's half of a layer: its matrices and widths, biases, norms and windows.

use serde::{Deserialize, Serialize};

use super::{LayerKind, LayerMatrix, Matrix, MatrixRole, Mixer, Model, PartParameters, Recurrence, is_off};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Whether it is the first of every so many layers that sees everything, and not the last.
    #[serde(default, skip_serializing_if = "is_off")]
    pub full_leads: bool,
    /// Whether the first layer sees everything too.
    #[serde(default, skip_serializing_if = "is_off")]
    pub full_first: bool,
    /// Heads of queries in layers with the window, where they are not the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<u32>,
    /// Heads of keys and values there, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u32>,
    /// Size of a head there, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_size: Option<u32>,
    /// Size of a head of values there, where it is not `head_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_head: Option<u32>,
}

/// The heads of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Heads of queries.
    pub queries: u32,
    /// Heads of keys and values.
    pub keys: u32,
    /// Channels of a head of queries or keys.
    pub size: u32,
    /// Channels of a head of values.
    pub value: u32,
    /// Whether values are computed by weights of their own.
    own_values: bool,
}

impl Heads {
    /// Width of all query heads together.
    pub(crate) fn query_width(self) -> u64 {
        u64::from(self.queries) * u64::from(self.size)
    }

    /// Width of all key heads together.
    pub(crate) fn key_width(self) -> u64 {
        u64::from(self.keys) * u64::from(self.size)
    }

    /// Width of what computes the values.
    pub(crate) fn value_weights(self) -> u64 {
        if self.own_values { u64::from(self.keys) * u64::from(self.value) } else { 0 }
    }
}

impl AttentionWindow {
    /// Whether a layer has it.
    pub fn is_in(self, layer: u32) -> bool {
        let place = if self.full_leads { layer } else { layer + 1 };
        let sees_all =
            self.full_every.is_some_and(|every| place.is_multiple_of(every)) || self.full_first && layer == 0;
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

    /// The heads of layers with a mixer: of all that attend but those with a window of heads of their own.
    pub fn heads(&self, mixer: Mixer) -> Heads {
        let value = self.latent.map(|latent| latent.value_head).or(self.value_head);
        let full = Heads {
            queries: self.heads,
            keys: self.kv_heads,
            size: self.head_size,
            value: value.unwrap_or(self.head_size),
            own_values: !self.values_are_keys,
        };
        let Some(window) = self.window.filter(|_| mixer == Mixer::Window) else { return full };
        Heads {
            queries: window.heads.unwrap_or(full.queries),
            keys: window.kv_heads.unwrap_or(full.keys),
            size: window.head_size.unwrap_or(full.size),
            value: window.value_head.or(window.head_size).unwrap_or(full.value),
            own_values: true,
        }
    }

    /// Width of all query heads of a layer of a kind together.
    pub(crate) fn attention_width(&self, kind: LayerKind) -> u64 {
        self.heads(kind.mixer).query_width()
    }

    /// Width of what the mixer of a layer of a kind hands to the projection.
    fn mixed_width(&self, kind: LayerKind) -> u64 {
        match kind.mixer {
            Mixer::None => 0,
            _ => self.recurrence(kind).map_or_else(|| self.value_width(kind), Recurrence::width),
        }
    }

    /// Width of what attention hands to the projection.
    pub(crate) fn value_width(&self, kind: LayerKind) -> u64 {
        let heads = self.heads(kind.mixer);
        u64::from(heads.queries) * u64::from(heads.value)
    }

    /// Width of all key heads and of all value heads together.
    pub(crate) fn kv_width(&self, kind: LayerKind) -> u64 {
        let heads = self.heads(kind.mixer);
        match self.latent {
            Some(_) => self.attention_width(kind) + self.value_width(kind),
            None => u64::from(heads.keys) * u64::from(heads.size + heads.value),
        }
    }

    /// The mean of the widths over which attention multiplies queries by keys and scores by values.
    pub(crate) fn whole_width(&self, kind: LayerKind) -> f64 {
        (self.attention_width(kind) + self.value_width(kind)) as f64 / 2.0
    }

    /// The same where an indexer chooses tokens: all heads look at the compressed keys and values, which a head's queries
    /// are expanded to, and its output from (DeepSeek-V2, section 2.1.2; Megatron-LM, `absorbed_mla.py`).
    pub(crate) fn score_width(&self, kind: LayerKind) -> f64 {
        self.indexer(kind).map_or_else(
            || self.whole_width(kind),
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
        self.whole_width(kind) * self.attended(kind, sequence)
    }

    /// The products before a mixer's core: the first one, then what expands what it compresses.
    pub(super) fn mixer_inputs(&self, kind: LayerKind) -> [Option<LayerMatrix>; 3] {
        match (self.recurrence(kind), self.latent) {
            _ if !kind.has_mixer() => [None; 3],
            (Some(recurrence), _) => recurrence.inputs(self.hidden),
            (None, Some(latent)) => self.latent_inputs(latent, kind),
            (None, None) => [Some(self.queries_keys_and_values(kind)), None, None],
        }
    }

    /// Queries, keys and values, with the output's gate where there is one, in one product.
    fn queries_keys_and_values(&self, kind: LayerKind) -> LayerMatrix {
        let heads = self.heads(kind.mixer);
        let (name, gate) = if self.output_gate {
            ("queries, gate, keys and values", self.value_width(kind))
        } else {
            ("queries, keys and values", 0)
        };
        let output = heads.query_width() + heads.key_width() + heads.value_weights() + gate;
        let of_mixer = LayerMatrix::of_mixer(name, MatrixRole::First, Matrix { input: u64::from(self.hidden), output });
        // Values that are made of keys are tensors of their own all the same.
        let made = if heads.own_values { 0 } else { heads.key_width() };
        LayerMatrix { bias: self.qkv_bias(kind), kept_outputs: output + made, ..of_mixer }
    }

    /// Of latent attention first all that compress, then what expands queries, and keys with values. It also keeps the outputs
    /// of the norms of what it compresses, and the keys' channels of positions for each head (Megatron-LM,
    /// `megatron/core/transformer/multi_latent_attention.py`); with an indexer, queries as wide as compressed keys in place of
    /// each head's keys and values. Where queries are compressed, each tensor rank has the whole of what compresses.
    fn latent_inputs(&self, latent: LatentAttention, kind: LayerKind) -> [Option<LayerMatrix>; 3] {
        let (queries, query) = (self.attention_width(kind), latent.query.map(u64::from));
        let [hidden, heads, narrow, rotary] = [self.hidden, self.heads, latent.key_value, latent.rotary].map(u64::from);
        let (name, whole) = match query {
            Some(_) => ("compressed queries and keys", true),
            None => ("queries and compressed keys", false),
        };
        let compressing = Matrix { input: hidden, output: query.unwrap_or(queries) + narrow + rotary };
        let kept_outputs = compressing.output + query.unwrap_or(0) + narrow;
        let first = LayerMatrix::of_mixer(name, MatrixRole::First, compressing);
        let first = LayerMatrix { whole, bias: self.qkv_bias(kind), kept_outputs, ..first };
        let expanded =
            |name, input, output| LayerMatrix::of_mixer(name, MatrixRole::Expansion, Matrix { input, output });
        // Keys without the channels of positions, which come with the compressed ones.
        let keys = heads * u64::from(self.head_size.saturating_sub(latent.rotary));
        let keys_and_values = expanded("keys and values", narrow, keys + self.value_width(kind));
        let of_heads = keys_and_values.kept_outputs + heads * rotary;
        let kept_outputs = if self.indexer(kind).is_some() { heads * (narrow + rotary) } else { of_heads };
        let queries = query.map(|query| expanded("queries", query, queries));
        [Some(first), queries, Some(LayerMatrix { kept_outputs, ..keys_and_values })]
    }

    /// The matrices of the mixer of a layer of a kind, each by itself.
    pub(super) fn attention_matrices(&self, kind: LayerKind) -> Vec<Matrix> {
        if self.latent.is_some() || !kind.mixer.attends() {
            let divided = self.mixer_matrices(kind).map(|one| one.matrix);
            return divided.chain(self.indexer_matrices(kind)).collect();
        }
        let of = |width: u64| (width > 0).then(|| Matrix { input: self.hidden.into(), output: width });
        let (heads, gate) = (self.heads(kind.mixer), if self.output_gate { self.value_width(kind) } else { 0 });
        let queries = of(heads.query_width() + gate);
        [queries, self.projection(kind).map(|one| one.matrix), of(heads.key_width()), of(heads.value_weights())]
            .into_iter()
            .flatten()
            .collect()
    }

    /// The projection after the mixer of a layer of a kind, where it has one.
    pub(super) fn projection(&self, kind: LayerKind) -> Option<LayerMatrix> {
        let matrix = Matrix { input: self.mixed_width(kind), output: self.hidden.into() };
        let bias = if self.biases().projection && self.recurrence(kind).is_none() { matrix.output } else { 0 };
        kind.has_mixer()
            .then(|| LayerMatrix { bias, ..LayerMatrix::of_mixer("output projection", MatrixRole::Last, matrix) })
    }

    /// Parameters of the mixer of a layer of a kind: weights, of which a token takes part in one product of each, biases, an
    /// indexer and the mixer's share of the norms. Tensor ranks each have whole: norms, a bias behind the projection, what
    /// compresses for latent attention, and an indexer (Megatron-LM, `multi_latent_attention.py`,
    /// `parallel_mode='duplicated'`).
    pub(super) fn mixer_parameters(&self, kind: LayerKind) -> PartParameters {
        if !kind.has_mixer() {
            return PartParameters::default();
        }
        let (own, norms) = (PartParameters::of_matrices(self.mixer_matrices(kind)), self.mixer_norm_parameters());
        if let Some(recurrence) = self.recurrence(kind) {
            let conv = self.conv_weights(kind);
            let all = own.all + conv + recurrence.other_parameters() + norms;
            return PartParameters { all, weights: own.weights + conv, whole: norms, ..own };
        }
        let (qk_norms, indexer) = (self.qk_norm_parameters(kind), self.indexer_parameters(kind));
        let sinks = if self.biases().sinks { u64::from(self.heads(kind.mixer).queries) } else { 0 };
        let whole_norms = norms + if self.qk_norm == QkNorm::Width { 0 } else { qk_norms };
        // Where queries are not compressed, their product compresses keys and values too.
        let [compressing, biases] = self.latent.filter(|latent| latent.query.is_none()).map_or([0; 2], |latent| {
            let narrow = u64::from(latent.key_value) + u64::from(latent.rotary);
            [u64::from(self.hidden) * narrow, self.qkv_bias(kind)]
        });
        PartParameters {
            all: own.all + sinks + qk_norms + indexer + norms,
            whole: own.whole + compressing + biases + indexer + whole_norms,
            whole_weights: own.whole_weights + compressing,
            ..own
        }
    }

    /// Weights of the convolution before a layer's mixer; none in most.
    pub(crate) fn conv_weights(&self, kind: LayerKind) -> u64 {
        self.recurrence(kind).map_or(0, Recurrence::conv_weights)
    }

    /// Those of the mixer's share of the norms.
    fn mixer_norm_parameters(&self) -> u64 {
        u64::from(self.norms.div_ceil(2)) * self.norm_parameters()
    }

    /// Numbers in the biases of queries, keys and values, or of what compresses them.
    fn qkv_bias(&self, kind: LayerKind) -> u64 {
        if !self.biases().qkv {
            return 0;
        }
        let heads = self.heads(kind.mixer);
        match self.latent {
            None => heads.query_width() + heads.key_width() + heads.value_weights(),
            Some(latent) => {
                u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value) + u64::from(latent.rotary)
            }
        }
    }

    fn qk_norm_parameters(&self, kind: LayerKind) -> u64 {
        let heads = self.heads(kind.mixer);
        let latent = self.latent.map_or(0, |latent| u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value));
        latent
            + match self.qk_norm {
                QkNorm::None => 0,
                QkNorm::Head => 2 * u64::from(heads.size),
                QkNorm::Width => heads.query_width() + heads.key_width(),
            }
    }
}
