//! Which layers of a model have something, where its file says that in numbers and not layer by layer.

/// Places of layers: in a range either one of every so many, or all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerPlaces {
    /// The first layer of the range.
    pub(super) start: u32,
    /// The layer behind its last one; `u32::MAX` where it has no end.
    pub(super) end: u32,
    /// The number of layers after which places repeat, at least 1.
    pub(super) every: u32,
    /// What is left of the number of such a layer, counted from 0, by `every`.
    pub(super) turn: u32,
    /// Whether the places are all layers of the range but those.
    pub(super) others: bool,
}

impl LayerPlaces {
    /// The last of every so many layers from one on.
    pub(super) fn last_of(start: u32, every: u32) -> Self {
        let every = every.max(1);
        let turn = start.checked_sub(1).map_or(every - 1, |before| before % every);
        Self { start, end: u32::MAX, every, turn, others: false }
    }

    /// All layers but the last of every so many; all where none is said.
    pub(super) fn all_but_last_of(every: Option<u32>) -> Self {
        Self { others: every.is_some(), ..Self::last_of(0, every.unwrap_or(1)) }
    }

    /// Whether a layer is one of them.
    pub fn contains(self, layer: u32) -> bool {
        (self.start..self.end).contains(&layer) && (layer % self.every == self.turn) != self.others
    }

    /// Whether they are those of a list.
    pub(super) fn are(self, with: &[bool]) -> bool {
        with.iter().zip(0..).all(|(with, layer)| *with == self.contains(layer))
    }
}
