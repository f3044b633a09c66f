//! The pieces of a layer, which units are made of.

use std::ops::{Add, Index, IndexMut};

/// A piece of a transformer layer, which has a mixer, an MLP or both. Where experts have a mesh of their own, the two last stand
/// in place of the MLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Attention or another mixer, with its projections and norm.
    Mixer,
    /// The MLP, with its norm: of a layer of experts all of them, with their router.
    Mlp,
    /// Norm, router and shared expert beside experts on a mesh of their own.
    Router,
    /// Experts on a mesh of their own.
    Experts,
}

/// A value for each piece of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerPiece<T>([T; 4]);

impl<T> PerPiece<T> {
    /// One value for all.
    pub const fn all(value: T) -> Self
    where
        T: Copy,
    {
        Self([value; 4])
    }

    /// Makes the value of each.
    pub fn from_fn(make: impl FnMut(Piece) -> T) -> Self {
        Self([Piece::Mixer, Piece::Mlp, Piece::Router, Piece::Experts].map(make))
    }

    /// Applies a function to each value.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> PerPiece<U> {
        PerPiece(self.0.map(make))
    }

    /// The sum of all values.
    pub fn sum(self) -> T
    where
        T: Add<Output = T>,
    {
        let Self([mixer, mlp, router, experts]) = self;
        mixer + mlp + router + experts
    }
}

impl<T> Index<Piece> for PerPiece<T> {
    type Output = T;

    fn index(&self, piece: Piece) -> &T {
        &self.0[piece as usize]
    }
}

impl<T> IndexMut<Piece> for PerPiece<T> {
    fn index_mut(&mut self, piece: Piece) -> &mut T {
        &mut self.0[piece as usize]
    }
}
