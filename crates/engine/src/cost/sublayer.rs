//! The two sublayers of a transformer layer, and one of something for each. Not for what they cost.

use std::ops::Add;

/// A part of a transformer layer that adds to the residual stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sublayer {
    /// Attention, with its projections and norm.
    Attention,
    /// The MLP, with its norm.
    Mlp,
}

/// One of something for each sublayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerSublayer<T> {
    /// For attention.
    pub attention: T,
    /// For the MLP.
    pub mlp: T,
}

impl<T> PerSublayer<T> {
    /// The same for each.
    pub const fn both(value: T) -> Self
    where
        T: Copy,
    {
        Self { attention: value, mlp: value }
    }

    /// The one for a sublayer.
    pub const fn get(&self, sublayer: Sublayer) -> &T {
        match sublayer {
            Sublayer::Attention => &self.attention,
            Sublayer::Mlp => &self.mlp,
        }
    }

    /// What comes of each.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> PerSublayer<U> {
        PerSublayer { attention: make(self.attention), mlp: make(self.mlp) }
    }

    /// Both together.
    pub fn sum(self) -> T
    where
        T: Add<Output = T>,
    {
        self.attention + self.mlp
    }
}
