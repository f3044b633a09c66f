//! The keys, as data: key, where it works, what it asks for, and the words that the footer and the help print.
//!
//! The one place above the terminal that knows key codes.

mod custom;
mod keys;
mod names;
mod table;

use std::borrow::Cow;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::backend::crossterm::to_input_request;

use super::action::Action;
use super::panel::Panel;
use super::panel::ViewId;

pub use custom::{documented, markdown};
pub use table::BINDINGS;

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
    const fn takes_text(self) -> bool {
        matches!(self, Self::Search | Self::Entry | Self::Palette | Self::Find)
    }

    /// Whether it is a panel, a view or all of them, and no layer above.
    pub(super) const fn is_under_layers(self) -> bool {
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

/// The keys in use: the table, with the user's own keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Default for Keymap {
    /// The table as it is.
    fn default() -> Self {
        Self { bindings: BINDINGS.to_vec() }
    }
}

impl Keymap {
    /// All of them.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// What a key asks for where the keys go now.
    pub fn action(&self, place: Place, key: KeyEvent) -> Option<Action> {
        let bound = self.at(place).chain(self.under(place)).find(|binding| is_bound(binding, key));
        match bound {
            Some(binding) => Some(binding.action),
            None if place.takes_text() => to_input_request(&Event::Key(key)).map(Action::Type),
            None => None,
        }
    }

    /// What the footer names where the keys go now, the place's own keys first; those hide the same keys elsewhere.
    pub fn hints(&self, place: Place) -> impl Iterator<Item = &Binding> {
        let hidden = move |binding: &&Binding| self.at(place).any(|own| own.keys == binding.keys);
        let idle = move |binding: &&Binding| {
            binding.action == Action::Metric && matches!(place, Place::View(view) if !view.has_metrics())
        };
        let under = self.under(place).filter(move |binding| !hidden(binding) && !idle(binding));
        self.at(place).chain(under).filter(|binding| !binding.hint.is_empty())
    }

    /// The key that shows a view, in words.
    pub fn key_of(&self, view: ViewId, ascii: bool) -> &str {
        let binding = self.bindings.iter().find(|binding| binding.action == Action::View(view));
        binding.map_or("", |binding| binding.name(ascii))
    }

    /// The places of the help with their lines: where the keys go now, everywhere, then the rest in order.
    pub fn help(&self, here: Place) -> impl Iterator<Item = (Place, Vec<&Binding>)> {
        let others = Place::all().filter(move |place| *place != here);
        let lines = |place| (place, self.at(place).filter(|binding| !binding.help.is_empty()).collect::<Vec<_>>());
        std::iter::once(here).chain(others).map(lines).filter(|(_, lines)| !lines.is_empty())
    }

    /// The same as rows: keys and what they do; a row without keys is a heading.
    pub fn help_rows(&self, here: Place, ascii: bool) -> Vec<(String, String)> {
        let row = |binding: &Binding| (binding.name(ascii).to_owned(), binding.help.to_string());
        let section = |(place, lines): (Place, Vec<&Binding>)| {
            let heading = (String::new(), place.title().to_owned());
            std::iter::once(heading).chain(lines.into_iter().map(row)).collect::<Vec<_>>()
        };
        self.help(here).flat_map(section).collect()
    }

    fn at(&self, place: Place) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(move |binding| binding.place == place)
    }

    /// The keys that work on every panel, for a panel or a view.
    fn under(&self, place: Place) -> impl Iterator<Item = &Binding> {
        self.at(Place::Panels).filter(move |_| matches!(place, Place::Panel(_) | Place::View(_)))
    }
}

/// A character says its shift itself (`G`, `?`), and terminals differ in whether they also report the modifier.
fn is_bound(binding: &Binding, key: KeyEvent) -> bool {
    let modifiers = match key.code {
        KeyCode::Char(_) | KeyCode::BackTab => key.modifiers.difference(KeyModifiers::SHIFT),
        _ => key.modifiers,
    };
    binding.keys.contains(&(key.code, modifiers))
}

#[cfg(test)]
mod tests;
