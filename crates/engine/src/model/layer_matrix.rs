//! A matrix of a layer, and its place there. Not for which matrices a layer has ([`super::matrices`]).

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
    /// Rows and columns.
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
    pub(crate) fn active_weights(&self) -> u64 {
        self.active * self.matrix.parameters()
    }
}
