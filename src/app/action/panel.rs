//! The panels, and the views that can stand in the map's place: what can have the keys.
//!
//! Not for what they know or show.

/// A panel that can have the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Panel {
    /// The fields of the scenario.
    Inputs,
    /// The map, or another view in its place.
    Map,
    /// Where the memory goes.
    Memory,
    /// The tasks over time.
    Timeline,
    /// Where the time of the step goes, and what would shorten it.
    Time,
}

impl Panel {
    /// All of them, in the order of Tab.
    pub const ALL: [Self; 5] = [Self::Inputs, Self::Map, Self::Memory, Self::Timeline, Self::Time];

    /// Its name in its frame, in the help and in the configuration.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Inputs => "Scenario",
            Self::Map => "Map",
            Self::Memory => "Memory",
            Self::Timeline => "Timeline",
            Self::Time => "Time",
        }
    }

    /// The panel so many places on in the order of Tab.
    pub(crate) fn step(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// A view that can stand in the map's place, in words. [`crate::app::views`] has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ViewId {
    /// In the names of actions, which the configuration has: `limits` in `view-limits`.
    pub word: &'static str,
    /// In titles.
    pub name: &'static str,
    /// Its subject, in the list of views and in the help.
    pub about: &'static str,
}

impl ViewId {
    /// The map, in whose place all others stand.
    pub const MAP: Self = Self { word: "map", name: "Map", about: "a figure over nodes and shard extents" };
}
