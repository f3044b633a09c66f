//! A matrix of a layer, and its place there. Not for which matrices a layer has ([`super::matrices`]).

use derive_more::Add;

use super::Matrix;

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
    pub(crate) const ALL: [Self; 3] = [Self::Mixer, Self::Plain, Self::Routed];
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
    /// Rows and columns.
    pub matrix: Matrix,
    /// Numbers of the bias that is added to the product.
    pub bias: u64,
    /// Numbers of a token that are kept for backward behind the product: its output, and what is made of it; none behind a last
    /// matrix, whose output joins the residual stream. [`crate::cost`] gives them a format.
    pub kept_outputs: u64,
    /// Matrices side by side in it that a runtime keeps one by one.
    pub joined: u64,
    /// How many of them the layer has.
    pub count: u64,
    /// How many of these a token meets.
    pub active: u64,
}

impl LayerMatrix {
    /// One matrix without a bias, whose output alone is left.
    pub(super) const fn new(name: &'static str, part: LayerPart, role: MatrixRole, matrix: Matrix) -> Self {
        let kept_outputs = if matches!(role, MatrixRole::Last) { 0 } else { matrix.output };
        Self { name, part, role, whole: false, matrix, bias: 0, kept_outputs, joined: 1, count: 1, active: 1 }
    }

    /// A matrix before a mixer's core.
    pub(super) const fn of_mixer(name: &'static str, role: MatrixRole, matrix: Matrix) -> Self {
        Self::new(name, LayerPart::Mixer, role, matrix)
    }

    /// Whether it narrows tokens for experts or widens them again, with no activation function between.
    pub(crate) fn narrows(&self) -> bool {
        self.whole && self.part == LayerPart::Plain
    }

    /// Weights of all that the layer has.
    pub fn weights(&self) -> u64 {
        self.count * self.matrix.parameters()
    }

    /// Parameters of all that the layer has: weights and biases.
    pub fn parameters(&self) -> u64 {
        self.count * (self.matrix.parameters() + self.bias)
    }

    /// Weights of those that a token meets.
    pub(crate) fn active_weights(&self) -> u64 {
        self.active * self.matrix.parameters()
    }
}

/// Parameters of a part of a layer, or of an end of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Add)]
pub(crate) struct PartParameters {
    /// All of them.
    pub all: u64,
    /// Those that are weights of matrices in a layer.
    pub weights: u64,
    /// Those of all that tensor parallelism does not divide, but each of its ranks has whole.
    pub whole: u64,
    /// Weights that each tensor rank has whole.
    pub whole_weights: u64,
}
