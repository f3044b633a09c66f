//! Keys of the constants that a fit may move, and a number for each. Not for what a constant is ([`super::constants`]).

use std::ops::{Index, IndexMut};

use super::constants::{CONSTANTS, Constant};

/// Which of [`CONSTANTS`]: the key of all that is known of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConstantId(usize);

impl ConstantId {
    /// How many there are.
    pub const COUNT: usize = CONSTANTS.len();

    /// Every key, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).map(Self)
    }

    /// The constant itself.
    pub fn constant(self) -> &'static Constant {
        &CONSTANTS[self.0]
    }

    /// Its row and its column in matrices over all constants.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// A number for each constant.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantValues(Vec<f64>);

impl ConstantValues {
    /// From what makes it for a constant.
    pub fn from_fn(make: impl FnMut(ConstantId) -> f64) -> Self {
        Self(ConstantId::all().map(make).collect())
    }

    /// Each with its constant's key, in the order of their table.
    pub fn iter(&self) -> impl Iterator<Item = (ConstantId, f64)> {
        ConstantId::all().zip(self.0.iter().copied())
    }

    /// The numbers in the order of their table.
    pub fn numbers(&self) -> &[f64] {
        &self.0
    }
}

impl Index<ConstantId> for ConstantValues {
    type Output = f64;
    fn index(&self, id: ConstantId) -> &f64 {
        &self.0[id.0]
    }
}

impl IndexMut<ConstantId> for ConstantValues {
    fn index_mut(&mut self, id: ConstantId) -> &mut f64 {
        &mut self.0[id.0]
    }
}
