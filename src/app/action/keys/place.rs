//! What can have the keys.

use crate::app::action::panel::{Panel, ViewId};

/// What has the keys: a panel, or the layer above them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyPlace {
    /// Any panel.
    Panels,
    /// One panel; in the map's place, the map.
    Panel(Panel),
    /// Another view in the map's place.
    View(ViewId),
    /// The list of snapshots and sets.
    Snapshots,
    /// The form of a cluster or a model.
    Form,
    /// Whether a file is to be deleted.
    Question,
    /// The command palette.
    Palette,
    /// The command lines of what is shown.
    CommandLines,
    /// An explanation.
    Explain,
    /// The list of keys.
    Help,
    /// A list to choose from.
    List,
    /// The search line of a list.
    Search,
    /// A value being typed.
    Entry,
    /// The search line of rows that are no list to choose from.
    Find,
}

impl KeyPlace {
    /// What lies over panels and views, in the order of the help.
    pub const LAYERS: [Self; 11] = [
        Self::Explain,
        Self::Palette,
        Self::CommandLines,
        Self::Snapshots,
        Self::Question,
        Self::Form,
        Self::List,
        Self::Search,
        Self::Entry,
        Self::Find,
        Self::Help,
    ];

    /// Its heading in the help.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Panels => "Everywhere",
            Self::Panel(panel) => panel.title(),
            Self::View(view) => view.name,
            Self::Snapshots => "Snapshots and sets",
            Self::Form => "Editing a cluster or a model",
            Self::Question => "Deleting a file",
            Self::Palette => "Command palette",
            Self::CommandLines => "Command lines",
            Self::Explain => "Explanations",
            Self::Help => "This help",
            Self::List => "Lists",
            Self::Search => "Search in a list",
            Self::Entry => "Typing a value",
            Self::Find => "Finding a row",
        }
    }

    /// Whether characters are text here.
    pub const fn takes_text(self) -> bool {
        matches!(self, Self::Search | Self::Entry | Self::Palette | Self::Find)
    }

    /// Whether it is a panel, a view or all of them, and no layer above.
    pub const fn is_under_layers(self) -> bool {
        matches!(self, Self::Panels | Self::Panel(_) | Self::View(_))
    }
}
