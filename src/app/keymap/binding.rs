//! What has the keys, and one line of the table of keys.

use std::borrow::Cow;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::app::action::Action;
use crate::app::panel::{Panel, ViewId};

/// What has the keys: a panel, or the layer above them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
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

impl Place {
    /// Its heading in the help.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Panels => "Everywhere",
            Self::Panel(panel) => panel.title(),
            Self::View(view) => view.name(),
            Self::Snapshots => "Snapshots and sets",
            Self::Form => "Editing a cluster or a model",
            Self::Question => "Deleting a file",
            Self::Palette => "Command palette",
            Self::Explain => "Explanations",
            Self::Help => "This help",
            Self::List => "Lists",
            Self::Search => "Search in a list",
            Self::Entry => "Typing a value",
            Self::Find => "Finding a row",
        }
    }

    /// All of them, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        let panels =
            std::iter::once(Self::Panels).chain(Panel::ALL.map(Self::Panel)).chain(ViewId::ALL.map(Self::View));
        let layers = [
            Self::Explain,
            Self::Palette,
            Self::Snapshots,
            Self::Question,
            Self::Form,
            Self::List,
            Self::Search,
            Self::Entry,
            Self::Find,
            Self::Help,
        ];
        panels.chain(layers)
    }

    /// Whether characters are text here.
    pub(super) const fn takes_text(self) -> bool {
        matches!(self, Self::Search | Self::Entry | Self::Palette | Self::Find)
    }

    /// Whether it is a panel, a view or all of them, and no layer above.
    pub(crate) const fn is_under_layers(self) -> bool {
        matches!(self, Self::Panels | Self::Panel(_) | Self::View(_))
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Where it works.
    pub place: Place,
    /// The keys, any of which does.
    pub keys: Cow<'static, [(KeyCode, KeyModifiers)]>,
    /// What they ask for.
    pub action: Action,
    /// The keys in words, for a terminal with arrows in its font and for one without.
    pub shown: (Cow<'static, str>, Cow<'static, str>),
    /// One word for the footer; empty for what the footer leaves to the help.
    pub hint: &'static str,
    /// What it does, for the help.
    pub help: Cow<'static, str>,
}

impl Binding {
    /// The keys in words.
    pub fn name(&self, ascii: bool) -> &str {
        if ascii { &self.shown.1 } else { &self.shown.0 }
    }

    /// The same, also for a line that another one speaks for.
    pub fn key(&self, ascii: bool) -> String {
        match (self.name(ascii), self.keys.first()) {
            ("", Some((KeyCode::Char(letter), _))) | (_, Some((KeyCode::Char(letter @ '1'..='9'), _))) => {
                letter.to_string()
            }
            (name, _) => name.to_owned(),
        }
    }
}
