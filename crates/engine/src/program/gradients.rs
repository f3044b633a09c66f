//! Which gradients are reduced or stored: those of part of a step, or the whole step's.

/// What gradients are the sums of, when backward leaves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gradients {
    /// Some of the step's micro-batches: others follow.
    Partial,
    /// All of them: the optimizer can have them.
    Complete,
}

impl Gradients {
    /// Those that nothing is added to any more, or others.
    pub const fn new(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::Partial }
    }
}

/// One of something for each kind of gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerGradients<T> {
    /// For those of part of the step.
    pub partial: T,
    /// For the whole step's.
    pub complete: T,
}

impl<T> PerGradients<T> {
    /// From what makes it for either.
    pub fn from_fn(mut make: impl FnMut(Gradients) -> T) -> Self {
        Self { partial: make(Gradients::Partial), complete: make(Gradients::Complete) }
    }

    /// The one for either.
    pub const fn get(&self, gradients: Gradients) -> &T {
        match gradients {
            Gradients::Partial => &self.partial,
            Gradients::Complete => &self.complete,
        }
    }

    /// What comes of each.
    pub fn map<U>(self, mut make: impl FnMut(T) -> U) -> PerGradients<U> {
        PerGradients { partial: make(self.partial), complete: make(self.complete) }
    }
}
