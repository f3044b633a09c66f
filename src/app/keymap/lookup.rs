//! The keys in use: what each asks for, and what footer and help print of them.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::backend::crossterm::to_input_request;

use super::binding::{Binding, Place};
use super::table::BINDINGS;
use crate::app::action::Action;
use crate::app::panel::ViewId;

/// The keys in use: the table, with the user's own keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    pub(super) bindings: Vec<Binding>,
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
