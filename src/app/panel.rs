//! The panels, and the views that can stand in the map's place: what can have the keys.
//!
//! Not for what they know or show.

/// A panel that can have the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Panel {
    /// The fields of the scenario.
    Inputs,
    /// The map, or another view in its place.
    Map,
    /// Where the memory goes.
    Memory,
    /// What runs when.
    Timeline,
    /// Where the time of the step goes, and what would shorten it.
    Time,
}

impl Panel {
    /// All of them, in the order of Tab.
    pub const ALL: [Self; 5] = [Self::Inputs, Self::Map, Self::Memory, Self::Timeline, Self::Time];

    /// Its name.
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
    pub(super) fn step(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// What stands in the map's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ViewId {
    /// A figure over nodes and shard extents.
    #[default]
    Map,
    /// Pinned scenarios side by side.
    Compare,
    /// Which change would help.
    Advice,
    /// What no schedule beats.
    Limits,
    /// The best points within them.
    Grid,
    /// Throughput over memory and bandwidth.
    Hardware,
    /// Which transfers hide behind arithmetic.
    Intensities,
    /// All strategies in one table.
    Strategies,
    /// What each level carries.
    Traffic,
    /// Days against devices for each method.
    Training,
    /// Which operators to shard.
    Plan,
    /// Predictions beside published measurements.
    Evidence,
}

impl ViewId {
    /// All of them, in the order of the list of views.
    pub const ALL: [Self; 12] = [
        Self::Map,
        Self::Compare,
        Self::Advice,
        Self::Limits,
        Self::Grid,
        Self::Hardware,
        Self::Intensities,
        Self::Strategies,
        Self::Traffic,
        Self::Training,
        Self::Plan,
        Self::Evidence,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Map => "Map",
            Self::Compare => "Compare",
            Self::Advice => "Advice",
            Self::Limits => "Limits",
            Self::Grid => "Grid",
            Self::Hardware => "Hardware",
            Self::Intensities => "Intensities",
            Self::Strategies => "Strategies",
            Self::Traffic => "Traffic",
            Self::Training => "Training time",
            Self::Plan => "Plan",
            Self::Evidence => "Evidence",
        }
    }

    /// Whether there is something to show instead of what it shows: a metric, an order, an objective.
    pub const fn has_metrics(self) -> bool {
        !matches!(self, Self::Compare | Self::Advice | Self::Limits | Self::Grid | Self::Intensities | Self::Traffic)
    }

    /// What it shows, for the list of views.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Map => "a figure over nodes and shard extents",
            Self::Compare => "pinned scenarios side by side",
            Self::Advice => "which single change would help",
            Self::Limits => "what memory, network and peak allow at best",
            Self::Grid => "the best stage, recompute, sequence and batch within them",
            Self::Hardware => "throughput over memory and bandwidth",
            Self::Intensities => "which transfers hide behind arithmetic",
            Self::Strategies => "all strategies on this scenario, the best first",
            Self::Traffic => "bytes and busy time of each level of the cluster",
            Self::Training => "the shortest training: days against devices",
            Self::Plan => "which operators to shard, within a memory limit",
            Self::Evidence => "predictions beside published measurements",
        }
    }
}
