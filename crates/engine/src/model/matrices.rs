//! The matrices of a layer, each once: its parameters, time, kernels, adapters, flop and repeats are sums over them. Not for
//! norms and convolutions, nor for a router, which are no products of the storage format.

use super::{Biases, LayerKind, Matrix, Mixer, Mlps, Model};

/// The part of a layer in which a matrix lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerPart {
    /// Attention or another mixer.
    Mixer,
    /// An MLP that every token visits.
    Plain,
    /// Experts that a router chooses from.
    Routed,
}

impl LayerPart {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Mixer, Self::Plain, Self::Routed];
}

/// The place of a matrix in its part. Tensor ranks divide the first ones by columns and the last one by rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixRole {
    /// Multiplies the part's input.
    First,
    /// Expands what a first one compressed.
    Expansion,
    /// Gives the part's output.
    Last,
}

/// A matrix of a layer that multiplies activations, or several side by side in one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerMatrix {
    /// What the product gives: `queries, keys and values`.
    pub name: &'static str,
    /// Where it lies.
    pub part: LayerPart,
    /// Its place there.
    pub role: MatrixRole,
    /// Whether each tensor rank has it whole.
    pub whole: bool,
    /// Its shape.
    pub matrix: Matrix,
    /// Numbers of the bias that is added to the product.
    pub bias: u64,
    /// Matrices side by side in it that a runtime keeps one by one.
    pub joined: u64,
    /// How many of them the layer has.
    pub count: u64,
    /// How many of these a token meets.
    pub active: u64,
}

impl LayerMatrix {
    /// Weights of all that the layer has.
    pub fn weights(&self) -> u64 {
        self.count * self.matrix.parameters()
    }

    /// Parameters of all that the layer has: weights and biases.
    pub fn parameters(&self) -> u64 {
        self.count * (self.matrix.parameters() + self.bias)
    }

    /// Weights of those that a token meets.
    pub fn active_weights(&self) -> u64 {
        self.active * self.matrix.parameters()
    }
}

impl Model {
    /// The matrices of a layer of a kind: those of the mixer, of experts, and of the MLPs beside these.
    pub(crate) fn matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let Biases { qkv, projection, mlp, .. } = self.biases();
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
        let gated = self.gated;
        let of_mlps = self.mlps(kind).flat_map(move |mlps| mlps.matrices(kind, gated, mlp));
        inputs.chain(last).chain(of_mlps)
    }

    /// The sum of something over the matrices in a part of a layer.
    pub(crate) fn over_part(&self, kind: LayerKind, part: LayerPart, of: impl Fn(&LayerMatrix) -> u64) -> u64 {
        self.matrices(kind).filter(|matrix| matrix.part == part).map(|matrix| of(&matrix)).sum()
    }

    /// What the products before a mixer's core give.
    fn input_names(&self, kind: LayerKind) -> [&'static str; 3] {
        match self.attention_inputs(kind).count() {
            _ if kind.has_narrow_gates(self) => ["queries, keys, values and narrow gates", "decays", "output gate"],
            1 if kind.mixer == Mixer::Mamba => ["gates, inputs, B, C and steps", "", ""],
            1 if kind.mixer == Mixer::DeltaNet => ["queries, keys, values and gates", "", ""],
            1 if self.output_gate => ["queries, gate, keys and values", "", ""],
            1 => ["queries, keys and values", "", ""],
            2 => ["queries and compressed keys", "keys and values", ""],
            _ => ["compressed queries and keys", "queries", "keys and values"],
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
