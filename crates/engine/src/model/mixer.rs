//! The mixer of a layer, with all that a model's file says of it. Not for what each has of its own (`layer_attention`,
//! `recurrence`).

use super::{LayerAttention, LayerKind, LayerMatrix, Matrix, MatrixRole, Mixer, Model, PartParameters, Recurrence};

/// What mixes the tokens of a layer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LayerMixer<'a> {
    /// Attention.
    Attention(LayerAttention<'a>),
    /// A mixer with a state.
    Recurrent(&'a dyn Recurrence),
    /// Nothing: the layer is an MLP or experts.
    None,
}

impl Model {
    /// The mixer of layers of a kind.
    pub(crate) fn mixer(&self, kind: LayerKind) -> LayerMixer<'_> {
        let attention = self.attention(kind.mixer).map(LayerMixer::Attention);
        let recurrent = || self.recurrence(kind).map(LayerMixer::Recurrent);
        attention.or_else(recurrent).unwrap_or(LayerMixer::None)
    }

    /// The mixer that layers of a kind have in place of attention.
    pub fn recurrence(&self, kind: LayerKind) -> Option<&dyn Recurrence> {
        if kind.mixer == Mixer::Recurrent { self.recurrent() } else { None }
    }

    /// The matrices of a layer's mixer: those before its core, and the projection behind it.
    pub(super) fn mixer_matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let projection = |input: u64, bias: bool| {
            let matrix = Matrix { input, output: self.hidden.into() };
            let one = LayerMatrix::of_mixer("output projection", MatrixRole::Last, matrix);
            Some(LayerMatrix { bias: if bias { matrix.output } else { 0 }, ..one })
        };
        let ([first, second, third], last) = match self.mixer(kind) {
            LayerMixer::Attention(attention) => {
                (attention.inputs(), projection(attention.heads.value_width(), self.biases().projection))
            }
            LayerMixer::Recurrent(recurrence) => {
                (recurrence.inputs(self.hidden), projection(recurrence.width(), false))
            }
            LayerMixer::None => ([None; 3], None),
        };
        [first, second, third, last].into_iter().flatten()
    }

    /// The matrices of a layer's mixer, each by itself where a product joins several, and those of its indexer.
    pub(super) fn single_mixer_matrices(&self, kind: LayerKind) -> Vec<Matrix> {
        let products = self.mixer_matrices(kind);
        match self.attention(kind.mixer) {
            Some(attention) => {
                let projection = products.filter(|one| one.role == MatrixRole::Last).map(|one| one.matrix);
                attention.single_matrices().into_iter().chain(projection).collect()
            }
            None => products.map(|one| one.matrix).collect(),
        }
    }

    /// Parameters of a layer's mixer: weights, of which a token takes part in one product of each, what the mixer has beside
    /// them, and its share of the norms. Tensor ranks each have norms and a bias behind the projection whole.
    pub(super) fn mixer_parameters(&self, kind: LayerKind) -> PartParameters {
        let beside = match self.mixer(kind) {
            LayerMixer::Attention(attention) => attention.added_parameters(),
            LayerMixer::Recurrent(recurrence) => {
                let weights = recurrence.conv_weights();
                let all = weights + recurrence.other_parameters();
                PartParameters { all, weights, ..PartParameters::default() }
            }
            LayerMixer::None => return PartParameters::default(),
        };
        let norms = u64::from(self.norms.div_ceil(2)) * self.norm_parameters();
        PartParameters::of_matrices(self.mixer_matrices(kind)) + beside + PartParameters::on_each_rank(norms)
    }

    /// Weights of the convolution before a layer's mixer; none in most.
    pub(crate) fn conv_weights(&self, kind: LayerKind) -> u64 {
        self.recurrence(kind).map_or(0, Recurrence::conv_weights)
    }
}
