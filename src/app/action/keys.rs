//! Keys as data: which do what where, and the words that the footer and the help print of them. Panels, views and layers
//! declare their own in these terms; [`crate::app::state::keymap`] has all of them.
//!
//! The one place above the terminal that knows key codes.

pub mod names;

use std::borrow::Cow;

use crate::app::action::Action;
use crate::app::action::panel::{Panel, ViewId};

/// A key as a terminal sends it.
pub type KeyStroke = (crossterm::event::KeyCode, crossterm::event::KeyModifiers);

/// Keys that ask for something, any of which does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The first is the one that is shown.
    pub keys: Vec<KeyStroke>,
    /// The action that they ask for.
    pub action: Action,
}

/// Keys that belong together: `←→  previous and next value (also h and l)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// Where its keys work.
    pub place: KeyPlace,
    /// Usually one, or a way there and back.
    pub bindings: Vec<Binding>,
    /// One word for the footer; empty for what the footer leaves to the help.
    pub hint: &'static str,
    /// The effect of the keys, in the order of the bindings.
    pub help: Cow<'static, str>,
}

impl KeyLine {
    /// The first key of each binding in words, for a terminal with arrows in its font or one without.
    pub fn name(&self, ascii: bool) -> String {
        let keys = self.bindings.iter().filter_map(|binding| binding.keys.first());
        let shown: Vec<String> = keys.map(|key| names::shown(*key, ascii)).collect();
        let arrows = shown.iter().all(|key| "←↓↑→".contains(key.as_str()));
        match shown.join(if arrows { "" } else { " " }) {
            all if all == "Left Down Up Right" => "Arrows".to_owned(),
            some => some,
        }
    }

    /// Its effect, with the keys that its name leaves out: `quit (also ^C)`.
    pub fn text(&self) -> String {
        let others = self.bindings.iter().flat_map(|binding| binding.keys.iter().skip(1));
        let others: Vec<String> = others.map(|key| names::shown(*key, true)).collect();
        match &others[..] {
            [] => self.help.to_string(),
            [one] => format!("{} (also {one})", self.help),
            [first @ .., last] => format!("{} (also {} and {last})", self.help, first.join(", ")),
        }
    }

    /// Its effect after the footer's word for it, where it does not hold that word: `deadline: within a year`.
    pub fn text_with_hint(&self) -> String {
        let text = self.text();
        if self.hint.is_empty() || text.to_lowercase().contains(&self.hint.to_lowercase()) {
            text
        } else {
            format!("{}: {text}", self.hint)
        }
    }

    /// What it is for.
    pub fn intent(&self) -> Intent {
        let action = self.bindings.first().map(|binding| binding.action);
        match (self.hint, action) {
            // Arrows that change a value, and a closer look at what is there already.
            ("change", _) => Intent::Change,
            ("zoom", _) => Intent::Move,
            (_, Some(action)) => Intent::of_action(action),
            (_, None) => Intent::Change,
        }
    }

    /// Whether one of its keys asks for something.
    pub fn asks(&self, action: Action) -> bool {
        self.bindings.iter().any(|binding| binding.action == action)
    }
}

/// What keys are for, in the order of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Intent {
    /// The cursor goes elsewhere.
    Move,
    /// The scenario changes, or what is asked.
    Change,
    /// A question is answered on the screen.
    Ask,
    /// Something leaves the program.
    Out,
    /// Help, commands, and the way back or out.
    Leave,
}

impl Intent {
    /// Its word before the keys; none where they explain themselves.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Move => "MOVE",
            Self::Change => "CHANGE",
            Self::Ask => "ASK",
            Self::Out => "OUT",
            Self::Leave => "",
        }
    }

    const fn of_action(action: Action) -> Self {
        match action {
            Action::Up
            | Action::Down
            | Action::Left
            | Action::Right
            | Action::NextPanel
            | Action::Best
            | Action::NextExposed
            | Action::Zoom
            | Action::Follow
            | Action::Whole => Self::Move,
            Action::View(_) | Action::Views | Action::Explain => Self::Ask,
            Action::Export | Action::ExportPlan | Action::Screen | Action::Copy | Action::SaveMap => Self::Out,
            Action::Help | Action::Palette | Action::Close | Action::Quit => Self::Leave,
            _ => Self::Change,
        }
    }
}

/// The lines of a place, one after another.
///
/// Keys are written as in the configuration, with a blank between those that do the same: `"up k"`.
#[derive(Debug, Clone)]
#[must_use = "each line is added to a new list"]
pub struct KeyLines {
    place: KeyPlace,
    lines: Vec<KeyLine>,
}

impl KeyLines {
    /// None yet.
    pub const fn at(place: KeyPlace) -> Self {
        Self { place, lines: Vec::new() }
    }

    /// The lines, as they were written.
    pub fn into_lines(self) -> Vec<KeyLine> {
        self.lines
    }

    /// Keys that ask for one thing.
    pub fn key(self, keys: &str, action: Action, hint: &'static str, help: impl Into<Cow<'static, str>>) -> Self {
        self.keys(&[(keys, action)], hint, help)
    }

    /// Keys that ask for things that belong together.
    pub fn keys(mut self, bound: &[(&str, Action)], hint: &'static str, help: impl Into<Cow<'static, str>>) -> Self {
        // A name that is no key would leave a binding without keys, which a test looks for.
        let keys = |text: &str| text.split(' ').filter_map(|name| names::key(name).ok()).collect();
        let bindings = bound.iter().map(|(text, action)| Binding { keys: keys(text), action: *action }).collect();
        self.lines.push(KeyLine { place: self.place, bindings, hint, help: help.into() });
        self
    }

    /// Left and right.
    pub fn sideways(self, hint: &'static str, help: &'static str) -> Self {
        self.keys(&[("left h", Action::Left), ("right l", Action::Right)], hint, help)
    }

    /// Up and down.
    pub fn up_down(self, hint: &'static str, help: impl Into<Cow<'static, str>>) -> Self {
        self.keys(&[("up k", Action::Up), ("down j", Action::Down)], hint, help)
    }

    /// All four ways.
    pub fn around(self, help: &'static str) -> Self {
        let ways =
            [("left h", Action::Left), ("down j", Action::Down), ("up k", Action::Up), ("right l", Action::Right)];
        self.keys(&ways, "move", help)
    }

    /// More and less of something.
    pub fn more_less(self, hint: &'static str, help: &'static str) -> Self {
        self.keys(&[("+ =", Action::More), ("-", Action::Less)], hint, help)
    }

    /// The first and the last.
    pub fn ends(self, help: impl Into<Cow<'static, str>>) -> Self {
        self.keys(&[("g home", Action::First), ("G end", Action::Last)], "", help)
    }

    /// A page back and on.
    pub fn pages(self, help: &'static str) -> Self {
        self.keys(&[("pgup ctrl-u", Action::PageUp), ("pgdn ctrl-d", Action::PageDown)], "", help)
    }

    /// All motions of a list in which characters are text.
    pub fn typed_rows(self, hint: &'static str, row: &'static str) -> Self {
        self.keys(&[("up ctrl-p", Action::Up), ("down ctrl-n", Action::Down)], hint, format!("previous and next {row}"))
            .keys(&[("home", Action::First), ("end", Action::Last)], "", format!("first and last {row}"))
            .pages("a page up and down")
    }

    /// All motions of a list whose rows are called so.
    pub fn rows(self, row: &'static str) -> Self {
        self.up_down(row, format!("previous and next {row}"))
            .ends(format!("first and last {row}"))
            .pages("a page up and down")
    }
}

/// The owner of the keys: a panel, a view, or the layer above them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyPlace {
    /// Any panel.
    Panels,
    /// One panel; in the map's place, the map.
    Panel(Panel),
    /// Another view in the map's place.
    View(ViewId),
    /// The card of the first start.
    FirstStart,
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
    /// A page of text.
    Page,
    /// A list to choose from.
    List,
    /// A value being typed.
    Entry,
    /// The path of a file being typed.
    Path,
    /// The search line of rows that are no list to choose from.
    Find,
}

impl KeyPlace {
    /// The layers over panels and views, in the order of the help.
    pub const LAYERS: [Self; 13] = [
        Self::FirstStart,
        Self::Explain,
        Self::Palette,
        Self::CommandLines,
        Self::Snapshots,
        Self::Question,
        Self::Form,
        Self::List,
        Self::Entry,
        Self::Path,
        Self::Find,
        Self::Page,
        Self::Help,
    ];

    /// Its heading in the help.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Panels => "Everywhere",
            Self::Panel(panel) => panel.title(),
            Self::View(view) => view.name,
            Self::FirstStart => "First start",
            Self::Snapshots => "Snapshots and sets",
            Self::Form => "Editing a cluster or a model",
            Self::Question => "Deleting a file",
            Self::Palette => "Command palette",
            Self::CommandLines => "Command lines",
            Self::Explain => "Explanations",
            Self::Help => "This help",
            Self::Page => "Pages of text",
            Self::List => "Lists",
            Self::Entry => "Typing a value",
            Self::Path => "Typing a path",
            Self::Find => "Finding a row",
        }
    }

    /// Whether characters are text here.
    pub const fn takes_text(self) -> bool {
        matches!(
            self,
            Self::Palette | Self::Snapshots | Self::List | Self::Help | Self::Entry | Self::Path | Self::Find
        )
    }

    /// Whether it is a panel, a view or all of them, and no layer above.
    pub const fn is_under_layers(self) -> bool {
        matches!(self, Self::Panels | Self::Panel(_) | Self::View(_))
    }
}
