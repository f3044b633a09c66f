//! The matrices of a layer, each once: its parameters, time, kernels, adapters, flop and repeats are sums over them. Not for
//! norms and convolutions, nor for a router, which are no products of the storage format.

use std::ops::Add;

use super::{LayerKind, LayerMatrix, LayerPart, MatrixRole, Model, PartParameters};

impl Model {
    /// The matrices of a layer of a kind: those of the mixer, of experts, and of the MLPs beside these.
    pub(crate) fn matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        self.mixer_matrices(kind).chain(self.mlp_matrices(kind))
    }

    /// Parameters of a part of a layer of a kind. Router and norm of an MLP belong to its plain part.
    pub(crate) fn part_parameters(&self, kind: LayerKind, part: LayerPart) -> PartParameters {
        match part {
            LayerPart::Mixer => self.mixer_parameters(kind),
            LayerPart::Plain => self.plain_parameters(kind),
            LayerPart::Routed => PartParameters::of_matrices(self.part_matrices(kind, part)),
        }
    }

    /// The matrices of a layer's MLPs, or of its experts.
    pub(super) fn part_matrices(&self, kind: LayerKind, part: LayerPart) -> impl Iterator<Item = LayerMatrix> + use<> {
        self.mlp_matrices(kind).filter(move |one| one.part == part)
    }
}

impl PartParameters {
    /// Some that are no weights of matrices, and that each tensor rank has whole.
    pub(super) fn on_each_rank(all: u64) -> Self {
        Self { all, whole: all, ..Self::default() }
    }

    /// Those of matrices. Each tensor rank has the bias behind a last one whole, except experts', and that of a whole one.
    pub(super) fn of_matrices(matrices: impl Iterator<Item = LayerMatrix>) -> Self {
        let of_matrix = |one: LayerMatrix| {
            let whole_weights = if one.whole { one.weights() } else { 0 };
            let is_output = one.role == MatrixRole::Last && one.part != LayerPart::Routed;
            let bias = if one.whole || is_output { one.bias } else { 0 };
            Self { all: one.parameters(), weights: one.weights(), whole: whole_weights + bias, whole_weights }
        };
        matrices.map(of_matrix).fold(Self::default(), Self::add)
    }
}
