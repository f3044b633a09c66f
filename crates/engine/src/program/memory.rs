//! Kinds of memory that come and go while a step runs. Not for static memory ([`super::state`]).

use std::iter::Sum;
use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Sub, SubAssign};

/// A purpose of memory that is allocated while a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum MemoryKind {
    /// Gradients of units that are not reduced yet.
    Gradients,
    /// The second copy of the weights.
    Secondary,
    /// Activations.
    Activations,
    /// Gathered units.
    Gathered,
    /// Buffers of collectives.
    Communication,
}

/// Number of kinds, of which this is the last.
const KINDS: usize = MemoryKind::Communication as usize + 1;

/// An amount of memory of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerMemoryKind<T>([T; KINDS]);

impl<T: Copy> PerMemoryKind<T> {
    /// Applies a function to each amount.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> PerMemoryKind<U> {
        PerMemoryKind(self.0.map(make))
    }

    /// The total over all kinds.
    pub fn total(&self) -> T
    where
        T: Sum,
    {
        self.0.iter().copied().sum()
    }
}

impl<T: Copy + Default + PartialEq> PerMemoryKind<T> {
    /// Whether there is none of any kind.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.iter().all(|amount| *amount == T::default())
    }

    /// An amount of one kind and none of the others.
    pub fn only(kind: MemoryKind, amount: T) -> Self {
        let mut all = Self::default();
        all[kind] = amount;
        all
    }
}

impl<T> Index<MemoryKind> for PerMemoryKind<T> {
    type Output = T;
    fn index(&self, kind: MemoryKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<MemoryKind> for PerMemoryKind<T> {
    fn index_mut(&mut self, kind: MemoryKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

impl<T: Copy + Add<Output = T>> Add for PerMemoryKind<T> {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl<T: Copy + Sub<Output = T>> Sub for PerMemoryKind<T> {
    type Output = Self;
    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

impl<T: Copy + Mul<Output = T>> Mul<T> for PerMemoryKind<T> {
    type Output = Self;
    fn mul(self, factor: T) -> Self {
        self.map(|amount| amount * factor)
    }
}

impl<T: Copy + Add<Output = T>> AddAssign for PerMemoryKind<T> {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(amount, more)| *amount = *amount + more);
    }
}

impl<T: Copy + Sub<Output = T>> SubAssign for PerMemoryKind<T> {
    fn sub_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(amount, less)| *amount = *amount - less);
    }
}
