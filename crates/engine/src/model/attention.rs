//! What a model's file says of attention: heads, latent vectors, biases, norms and windows. Not for its matrices
//! (`layer_attention`).

use serde::{Deserialize, Serialize};

use super::{LayerPlaces, Mixer, Model, is_off};

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
    pub(super) own_values: bool,
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

    /// Width of what attention hands to the projection: a value for each query head.
    pub(crate) fn value_width(self) -> u64 {
        u64::from(self.queries) * u64::from(self.value)
    }

    /// Width of what computes the values.
    pub(crate) fn value_weights(self) -> u64 {
        if self.own_values { u64::from(self.keys) * u64::from(self.value) } else { 0 }
    }
}

impl AttentionWindow {
    /// The layers that have it.
    pub fn places(self) -> LayerPlaces {
        let all = LayerPlaces::all_but_last_of(self.full_every);
        let turn = if self.full_leads { 0 } else { all.turn };
        LayerPlaces { start: self.full_first.into(), end: self.layers.unwrap_or(u32::MAX), turn, ..all }
    }

    /// A window that says no layers yet, in those of a list, where the numbers of a file can say which these are: all, the
    /// first ones, or all but one of every so many, and perhaps the first one.
    pub fn placed(self, with: &[bool]) -> Option<Self> {
        let layers = with.len() as u32;
        let turns = [(false, false), (true, false), (false, true)].into_iter().flat_map(|(full_first, full_leads)| {
            (2..=layers).map(move |every| Self { full_every: Some(every), full_first, full_leads, ..self })
        });
        let first = (1..layers).map(|first| Self { layers: Some(first), ..self });
        std::iter::once(self).chain(turns).chain(first).find(|window| window.places().are(with))
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
}
