//! The matrices of a layer, each once: its parameters, time, kernels, adapters, flop and repeats are sums over them. Not for
//! norms and convolutions, nor for a router, which are no products of the storage format.

use super::{Biases, LayerKind, LayerMatrix, LayerPart, Matrix, MatrixRole, Mixer, Mlps, Model};

impl Model {
    /// The matrices of a layer of a kind: those of the mixer, of experts, and of the MLPs beside these.
    pub(crate) fn matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        self.mixer_matrices(kind).chain(self.mlp_matrices(kind))
    }

    fn mixer_matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let Biases { qkv, projection, .. } = self.biases();
        let biased = self.recurrence(kind).is_none();
        let (names, whole) = (self.input_names(kind), self.replicated_inputs(kind));
        let first_bias = if qkv && biased { self.qkv_biases(kind) } else { 0 };
        let of_mixer = |name: &'static str, role: MatrixRole, matrix: Matrix| {
            let part = LayerPart::Mixer;
            LayerMatrix { name, part, role, whole: false, matrix, bias: 0, joined: 1, count: 1, active: 1 }
        };
        let inputs = self.attention_inputs(kind).zip(names).enumerate().map(move |(place, (matrix, name))| {
            let (role, bias) = if place == 0 { (MatrixRole::First, first_bias) } else { (MatrixRole::Expansion, 0) };
            LayerMatrix { whole: place < whole, bias, ..of_mixer(name, role, matrix) }
        });
        let last = self.projection(kind).map(|matrix| {
            let bias = if projection && biased { matrix.output } else { 0 };
            LayerMatrix { bias, ..of_mixer("output projection", MatrixRole::Last, matrix) }
        });
        inputs.chain(last)
    }

    /// The matrices of a layer's MLPs and experts.
    pub(crate) fn mlp_matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let (gated, biased) = (self.gated, self.biases().mlp);
        self.mlps(kind).flat_map(move |mlps| mlps.matrices(kind, gated, biased))
    }

    /// The sum of something over the matrices in a part of a layer.
    pub(crate) fn over_part(&self, kind: LayerKind, part: LayerPart, of: impl Fn(&LayerMatrix) -> u64) -> u64 {
        match part {
            LayerPart::Mixer => self.mixer_matrices(kind).map(|one| of(&one)).sum(),
            _ => self.mlp_matrices(kind).filter(|one| one.part == part).map(|one| of(&one)).sum(),
        }
    }

    /// What the products before a mixer's core give.
    fn input_names(&self, kind: LayerKind) -> [&'static str; 3] {
        match (kind.mixer, self.latent) {
            _ if kind.has_narrow_gates(self) => ["queries, keys, values and narrow gates", "decays", "output gate"],
            (Mixer::Mamba, _) => ["gates, inputs, B, C and steps", "", ""],
            (Mixer::DeltaNet, _) => ["queries, keys, values and gates", "", ""],
            (_, Some(latent)) if latent.query.is_none() => ["queries and compressed keys", "keys and values", ""],
            (_, Some(_)) => ["compressed queries and keys", "queries", "keys and values"],
            (_, None) if self.output_gate => ["queries, gate, keys and values", "", ""],
            (_, None) => ["queries, keys and values", "", ""],
        }
    }
}

impl Mlps {
    /// Both matrices of the MLPs.
    fn matrices(self, kind: LayerKind, gated: bool, biased: bool) -> [LayerMatrix; 2] {
        let Self { up, down, count, active, routed, narrows } = self;
        let names = match (kind.has_experts(), routed) {
            _ if narrows => ["tokens narrowed for experts", "tokens widened behind experts"],
            (false, _) if gated => ["MLP's gate and up", "MLP's down"],
            (false, _) => ["MLP's up", "MLP's down"],
            (true, true) if gated => ["experts' gate and up", "experts' down"],
            (true, true) => ["experts' up", "experts' down"],
            (true, false) if gated => ["shared expert's gate and up", "shared expert's down"],
            (true, false) => ["shared expert's up", "shared expert's down"],
        };
        let part = if routed { LayerPart::Routed } else { LayerPart::Plain };
        let of = |name, role, matrix: Matrix, joined| {
            let bias = if biased { matrix.output } else { 0 };
            LayerMatrix { name, part, role, whole: narrows, matrix, bias, joined, count, active }
        };
        let joined = if gated && !narrows { 2 } else { 1 };
        [of(names[0], MatrixRole::First, up, joined), of(names[1], MatrixRole::Last, down, 1)]
    }
}
