//! Gaps: between two launches a rank mostly has nothing on its streams but transfers in flight. What it does next
//! depends on them alone, so that its streams and events need not be kept up there: they follow from the gap
//! ([`super::in_flight`]).

use crate::program::{LaunchPosition, Picos};

use super::stream::Cursor;

/// The most transfers in flight in a gap; a rank with more of them is run task by task.
pub(super) const MOST_IN_FLIGHT: usize = 4;

/// Values of at most [`MOST_IN_FLIGHT`] transfers. It lives in each rank's state and allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct InlineVec<T> {
    pub items: [T; MOST_IN_FLIGHT],
    pub len: usize,
}

impl<T: Copy + Default> Default for InlineVec<T> {
    fn default() -> Self {
        Self { items: [T::default(); MOST_IN_FLIGHT], len: 0 }
    }
}

impl<T: Copy> InlineVec<T> {
    pub fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(self.len)? = item;
        self.len += 1;
        Some(())
    }

    pub fn as_slice(&self) -> &[T] {
        &self.items[..self.len]
    }

    pub fn remove(&mut self, index: usize) {
        self.items[index..self.len].rotate_left(1);
        self.len -= 1;
    }
}

/// A rank's state between two launches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    /// The transfers in flight, by index.
    pub state: u32,
    /// The rest of each transfer, and the launch that it belongs to.
    pub left: [Picos; MOST_IN_FLIGHT],
    pub launches: [LaunchPosition; MOST_IN_FLIGHT],
    /// Where compute stands, if that is not on its stream.
    pub computed: Option<Cursor>,
}
