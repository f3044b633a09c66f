//! The keys in use: all that panels, views and layers declare, with the user's own keys laid over them.
//!
//! Not for how a line is written ([`crate::app::action::keys`]).

mod custom;
mod table;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::backend::crossterm::to_input_request;

use crate::app::action::Action;
use crate::app::action::keys::{Binding, KeyLine, KeyPlace, KeyStroke};
use crate::app::action::panel::Panel;
use crate::app::views::SPECS;
use crate::app::views::ViewSpec;

pub use custom::{documented, panels_markdown, views_markdown};
pub use table::TABLE;

/// The keys in use: the table, with the user's own keys in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    pub(super) lines: Vec<KeyLine>,
}

impl Default for Keymap {
    /// The table as it is.
    fn default() -> Self {
        Self { lines: TABLE.to_vec() }
    }
}

/// All owners of keys, in the order of the help.
pub fn places() -> impl Iterator<Item = KeyPlace> {
    let panels = Panel::ALL.map(KeyPlace::Panel).into_iter();
    // The map is both a panel and a view.
    let views = SPECS.into_iter().map(ViewSpec::place).filter(|place| matches!(place, KeyPlace::View(_)));
    std::iter::once(KeyPlace::Panels).chain(panels).chain(views).chain(KeyPlace::LAYERS)
}

impl Keymap {
    /// All lines.
    pub fn lines(&self) -> &[KeyLine] {
        &self.lines
    }

    /// The action of a key where the keys go now.
    pub fn action(&self, place: KeyPlace, key: KeyEvent) -> Option<Action> {
        let bindings = self.at(place).chain(self.under(place)).flat_map(|line| &line.bindings);
        match bindings.into_iter().find(|binding| is_bound(binding, key)) {
            Some(binding) => Some(binding.action),
            None if place.takes_text() => to_input_request(&Event::Key(key)).map(Action::Type),
            None => None,
        }
    }

    /// The lines of the footer where the keys go now, the place's own keys first; those hide equal keys elsewhere.
    pub fn hints(&self, place: KeyPlace) -> impl Iterator<Item = &KeyLine> {
        // Collected once: the footer of each frame asks this of every line.
        let own: Vec<&KeyLine> = self.at(place).collect();
        let shown = |line: &&KeyLine| !line.hint.is_empty();
        let hidden: Vec<&[KeyStroke]> = own.iter().map(|line| line.bindings[0].keys.as_slice()).collect();
        // A view that has metrics has a line of its own for them.
        let idle = move |line: &&KeyLine| matches!(place, KeyPlace::View(_)) && line.asks(Action::Metric);
        let under = self.under(place).filter(shown);
        own.into_iter()
            .filter(shown)
            .chain(under.filter(move |line| !hidden.contains(&line.bindings[0].keys.as_slice()) && !idle(line)))
    }

    /// The key that asks for something, in words.
    pub fn key_of(&self, action: Action, ascii: bool) -> String {
        let line = self.lines.iter().find(|line| line.asks(action));
        line.map_or_else(String::new, |line| line.name(ascii))
    }

    /// The places of the help with their lines: where the keys go now, everywhere, then the rest in order.
    pub fn help(&self, here: KeyPlace) -> impl Iterator<Item = (KeyPlace, Vec<&KeyLine>)> {
        let others = places().filter(move |place| *place != here);
        let lines = |place| (place, self.at(place).collect::<Vec<_>>());
        std::iter::once(here).chain(others).map(lines).filter(|(_, lines)| !lines.is_empty())
    }

    /// The keys as rows: keys and their effect; a row without keys is a heading.
    pub fn help_rows(&self, here: KeyPlace, ascii: bool) -> Vec<(String, String)> {
        let section = |(place, lines): (KeyPlace, Vec<&KeyLine>)| {
            let heading = (String::new(), place.title().to_owned());
            let rows = lines.into_iter().map(|line| (line.name(ascii), line.text_with_hint()));
            std::iter::once(heading).chain(rows).collect::<Vec<_>>()
        };
        let more = [("", "In a shell"), ("$", "`shardscope guide`: chapters on jobs, figures and files")];
        let more = more.map(|(keys, what)| (keys.to_owned(), what.to_owned()));
        self.help(here).flat_map(section).chain(more).collect()
    }

    fn at(&self, place: KeyPlace) -> impl Iterator<Item = &KeyLine> {
        self.lines.iter().filter(move |line| line.place == place)
    }

    /// The keys that work on every panel, for a panel or a view; for the card of the first start too, which they close.
    fn under(&self, place: KeyPlace) -> impl Iterator<Item = &KeyLine> {
        let is_over = matches!(place, KeyPlace::Panel(_) | KeyPlace::View(_) | KeyPlace::FirstStart);
        self.at(KeyPlace::Panels).filter(move |_| is_over)
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
