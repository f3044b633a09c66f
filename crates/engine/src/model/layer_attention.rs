//! Attention of a layer: its matrices, widths and parameters, with latent vectors, a window and an indexer where it has them.
//! Not for what a model's file says of each (`attention`, `indexer`).

use super::{
    AttentionWindow, Heads, Indexer, LatentAttention, LayerKind, LayerMatrix, Matrix, MatrixRole, Mixer, Model,
    PartParameters, QkNorm,
};

/// Attention of a layer: what the parts of a model's file say of it together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerAttention<'a> {
    model: &'a Model,
    /// Heads of queries, keys and values.
    pub heads: Heads,
    /// What its queries, keys and values are computed from, where they are compressed.
    pub latent: Option<&'a LatentAttention>,
    /// What chooses the tokens that it looks at, and the latent attention whose tokens these are.
    pub indexer: Option<(&'a Indexer, &'a LatentAttention)>,
    /// The window beyond which it does not look back.
    pub window: Option<&'a AttentionWindow>,
}

impl LayerAttention<'_> {
    /// Width of all key heads and of all value heads together.
    pub(crate) fn kv_width(&self) -> u64 {
        let heads = self.heads;
        match self.latent {
            Some(_) => heads.query_width() + heads.value_width(),
            None => u64::from(heads.keys) * u64::from(heads.size + heads.value),
        }
    }

    /// The mean of the widths over which it multiplies queries by keys and scores by values.
    pub(crate) fn whole_width(&self) -> f64 {
        (self.heads.query_width() + self.heads.value_width()) as f64 / 2.0
    }

    /// The same where an indexer chooses tokens: all heads look at the compressed keys and values, which a head's queries
    /// are expanded to, and its output from (DeepSeek-V2, section 2.1.2; Megatron-LM, `absorbed_mla.py`).
    pub(crate) fn score_width(&self) -> f64 {
        self.indexer.map_or_else(
            || self.whole_width(),
            |(_, latent)| {
                f64::from(self.heads.queries) * (f64::from(latent.key_value) + f64::from(latent.rotary) / 2.0)
            },
        )
    }

    /// Share of the scores of a whole sequence that it needs: of its window, or of the tokens that an indexer chooses.
    pub(crate) fn attended(&self, sequence: u32) -> f64 {
        if !self.model.causal {
            return 1.0;
        }
        let chosen = || self.indexer.map_or(1.0, |(indexer, _)| indexer.attended(sequence));
        self.window.map_or_else(chosen, |window| window.attended(sequence))
    }

    /// Width of the gate of its output, where it has one.
    pub(crate) fn gate_width(&self) -> u64 {
        if self.model.output_gate { self.heads.value_width() } else { 0 }
    }

    /// The products before its core: the first one, then what expands what it compresses.
    pub(super) fn inputs(&self) -> [Option<LayerMatrix>; 3] {
        match self.latent {
            Some(latent) => self.latent_inputs(latent),
            None => [Some(self.queries_keys_and_values()), None, None],
        }
    }

    /// Queries, keys and values, with the output's gate where there is one, in one product.
    fn queries_keys_and_values(&self) -> LayerMatrix {
        let (heads, gate) = (self.heads, self.gate_width());
        let name = if gate > 0 { "queries, gate, keys and values" } else { "queries, keys and values" };
        let output = heads.query_width() + heads.key_width() + heads.value_weights() + gate;
        let matrix = Matrix { input: u64::from(self.model.hidden), output };
        // Values that are made of keys are tensors of their own all the same.
        let made = if heads.own_values { 0 } else { heads.key_width() };
        let of_mixer = LayerMatrix::of_mixer(name, MatrixRole::First, matrix);
        LayerMatrix { bias: self.qkv_bias(), kept_outputs: output + made, ..of_mixer }
    }

    /// Of latent attention first all that compress, then what expands queries, and keys with values. It also keeps the outputs
    /// of the norms of what it compresses, and the keys' channels of positions for each head (Megatron-LM,
    /// `megatron/core/transformer/multi_latent_attention.py`); with an indexer, queries as wide as compressed keys in place of
    /// each head's keys and values. Where queries are compressed, each tensor rank has the whole of what compresses.
    fn latent_inputs(&self, latent: &LatentAttention) -> [Option<LayerMatrix>; 3] {
        let (queries, query) = (self.heads.query_width(), latent.query.map(u64::from));
        let [hidden, heads, narrow, rotary] =
            [self.model.hidden, self.heads.queries, latent.key_value, latent.rotary].map(u64::from);
        let (name, whole) = match query {
            Some(_) => ("compressed queries and keys", true),
            None => ("queries and compressed keys", false),
        };
        let compressing = Matrix { input: hidden, output: query.unwrap_or(queries) + narrow + rotary };
        let kept_outputs = compressing.output + query.unwrap_or(0) + narrow;
        let first = LayerMatrix::of_mixer(name, MatrixRole::First, compressing);
        let first = LayerMatrix { whole, bias: self.qkv_bias(), kept_outputs, ..first };
        let expanded =
            |name, input, output| LayerMatrix::of_mixer(name, MatrixRole::Expansion, Matrix { input, output });
        // Keys without the channels of positions, which come with the compressed ones.
        let keys = heads * u64::from(self.heads.size.saturating_sub(latent.rotary));
        let keys_and_values = expanded("keys and values", narrow, keys + self.heads.value_width());
        let of_heads = keys_and_values.kept_outputs + heads * rotary;
        let kept_outputs = if self.indexer.is_some() { heads * (narrow + rotary) } else { of_heads };
        let queries = query.map(|query| expanded("queries", query, queries));
        [Some(first), queries, Some(LayerMatrix { kept_outputs, ..keys_and_values })]
    }

    /// Its matrices before the core, each by itself, and those of its indexer.
    pub(super) fn single_matrices(&self) -> Vec<Matrix> {
        if self.latent.is_some() {
            let divided = self.inputs().into_iter().flatten().map(|one| one.matrix);
            return divided.chain(self.indexer_matrices()).collect();
        }
        let of = |output: u64| Matrix { input: self.model.hidden.into(), output };
        let widths = [self.heads.query_width() + self.gate_width(), self.heads.key_width(), self.heads.value_weights()];
        widths.into_iter().filter(|width| *width > 0).map(of).collect()
    }

    /// What it adds to the parameters of its matrices and of the norm before it: learned scores, norms of heads, and an indexer.
    /// Tensor ranks each have whole the last two and, of a matrix that counts already, the part that compresses (Megatron-LM,
    /// `multi_latent_attention.py`, `parallel_mode='duplicated'`).
    pub(super) fn added_parameters(&self) -> PartParameters {
        let (norms, indexer) = (self.qk_norm_parameters(), self.indexer_parameters());
        let sinks = if self.model.biases().sinks { u64::from(self.heads.queries) } else { 0 };
        let whole_norms = if self.model.qk_norm == QkNorm::Width { 0 } else { norms };
        // Where queries are not compressed, their product compresses keys and values too.
        let [compressing, biases] = self.latent.filter(|latent| latent.query.is_none()).map_or([0; 2], |latent| {
            let narrow = u64::from(latent.key_value) + u64::from(latent.rotary);
            [u64::from(self.model.hidden) * narrow, self.qkv_bias()]
        });
        PartParameters {
            all: sinks + norms + indexer,
            weights: 0,
            whole: compressing + biases + indexer + whole_norms,
            whole_weights: compressing,
        }
    }

    /// Numbers in the biases of queries, keys and values, or of what compresses them.
    fn qkv_bias(&self) -> u64 {
        if !self.model.biases().qkv {
            return 0;
        }
        match self.latent {
            None => self.heads.query_width() + self.heads.key_width() + self.heads.value_weights(),
            Some(latent) => {
                u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value) + u64::from(latent.rotary)
            }
        }
    }

    fn qk_norm_parameters(&self) -> u64 {
        let latent = self.latent.map_or(0, |latent| u64::from(latent.query.unwrap_or(0)) + u64::from(latent.key_value));
        latent
            + match self.model.qk_norm {
                QkNorm::None => 0,
                QkNorm::Head => 2 * u64::from(self.heads.size),
                QkNorm::Width => self.heads.query_width() + self.heads.key_width(),
            }
    }

    /// The products of its indexer, where it has one.
    fn indexer_matrices(&self) -> impl Iterator<Item = Matrix> + use<> {
        let hidden = self.model.hidden;
        let of = |(own, latent): (&Indexer, &LatentAttention)| own.matrices(hidden, latent.query.unwrap_or(hidden));
        self.indexer.map(of).into_iter().flatten()
    }

    /// Weights of its indexer.
    pub(crate) fn indexer_weights(&self) -> u64 {
        self.indexer_matrices().map(Matrix::parameters).sum()
    }

    /// Parameters of its indexer: weights, and the norm of its key, with scale and shift.
    fn indexer_parameters(&self) -> u64 {
        self.indexer_weights() + self.indexer.map_or(0, |(own, _)| 2 * u64::from(own.head))
    }
}

impl Model {
    /// The attention that a mixer is, if it is one.
    pub(crate) fn attention(&self, mixer: Mixer) -> Option<LayerAttention<'_>> {
        mixer.attends().then(|| LayerAttention {
            model: self,
            heads: self.heads(mixer),
            latent: self.latent.as_ref(),
            indexer: self.indexer.as_ref().zip(self.latent.as_ref()),
            window: self.window.as_ref().filter(|_| mixer == Mixer::Window),
        })
    }

    /// The width of attention's products over the share of the sequence to which a layer attends; 0 without attention.
    pub fn attended_width(&self, kind: LayerKind, sequence: u32) -> f64 {
        self.attention(kind.mixer).map_or(0.0, |attention| attention.whole_width() * attention.attended(sequence))
    }
}
