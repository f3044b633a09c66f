//! The matrices of a layer, each once: its parameters, time, kernels, adapters, flop and repeats are sums over them. Not for
//! norms and convolutions, nor for a router, which are no products of the storage format.

use super::{LayerKind, LayerMatrix, LayerPart, Matrix, MatrixRole, Mlps, Model};

impl Model {
    /// The matrices of a layer of a kind: those of the mixer, of experts, and of the MLPs beside these.
    pub(crate) fn matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        self.mixer_matrices(kind).chain(self.mlp_matrices(kind))
    }

    pub(super) fn mixer_matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let [first, second, third] = self.mixer_inputs(kind);
        [first, second, third, self.projection(kind)].into_iter().flatten()
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
            LayerMatrix { whole: narrows, bias, joined, count, active, ..LayerMatrix::new(name, part, role, matrix) }
        };
        let joined = if gated && !narrows { 2 } else { 1 };
        [of(names[0], MatrixRole::First, up, joined), of(names[1], MatrixRole::Last, down, 1)]
    }
}
