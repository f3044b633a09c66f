//! The keys, as data: key, where it works, what it asks for, and the words that the footer and the help print.
//!
//! The one place above the terminal that knows key codes.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::backend::crossterm::to_input_request;

use super::Panel;
use super::action::Action;

/// What has the keys: a panel, or the layer above them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Any panel.
    Panels,
    /// One panel.
    Panel(Panel),
    /// The list of keys.
    Help,
    /// A list to choose from.
    List,
    /// The search line of a list.
    Search,
    /// A value being typed.
    Entry,
}

impl Place {
    /// Its heading in the help.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Panels => "Everywhere",
            Self::Panel(panel) => panel.title(),
            Self::Help => "This help",
            Self::List => "Lists",
            Self::Search => "Search in a list",
            Self::Entry => "Typing a value",
        }
    }

    /// Whether characters are text here.
    const fn takes_text(self) -> bool {
        matches!(self, Self::Search | Self::Entry)
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Where it works.
    pub place: Place,
    /// The keys, any of which does.
    pub keys: &'static [(KeyCode, KeyModifiers)],
    /// What they ask for.
    pub action: Action,
    /// The keys in words, for a terminal with arrows in its font and for one without.
    pub shown: (&'static str, &'static str),
    /// One word for the footer; empty for what the footer leaves to the help.
    pub hint: &'static str,
    /// What it does, for the help.
    pub help: &'static str,
}

impl Binding {
    /// The keys in words.
    pub const fn name(&self, ascii: bool) -> &'static str {
        if ascii { self.shown.1 } else { self.shown.0 }
    }
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

type Keys = &'static [(KeyCode, KeyModifiers)];

const LEFT: Keys = &[(KeyCode::Left, NONE), (KeyCode::Char('h'), NONE)];
const RIGHT: Keys = &[(KeyCode::Right, NONE), (KeyCode::Char('l'), NONE)];
const UP: Keys = &[(KeyCode::Up, NONE), (KeyCode::Char('k'), NONE)];
const DOWN: Keys = &[(KeyCode::Down, NONE), (KeyCode::Char('j'), NONE)];
const FIRST: Keys = &[(KeyCode::Char('g'), NONE), (KeyCode::Home, NONE)];
const LAST: Keys = &[(KeyCode::Char('G'), NONE), (KeyCode::End, NONE)];
const PAGE_UP: Keys = &[(KeyCode::PageUp, NONE), (KeyCode::Char('u'), CTRL)];
const PAGE_DOWN: Keys = &[(KeyCode::PageDown, NONE), (KeyCode::Char('d'), CTRL)];
const TAKE: Keys = &[(KeyCode::Enter, NONE)];
const CLOSE: Keys = &[(KeyCode::Esc, NONE)];
const MORE: Keys = &[(KeyCode::Char('+'), NONE), (KeyCode::Char('='), NONE)];
const LESS: Keys = &[(KeyCode::Char('-'), NONE)];
const NEXT: Keys = &[(KeyCode::Tab, NONE)];
const PREVIOUS: Keys = &[(KeyCode::BackTab, NONE)];
const QUIT: Keys = &[(KeyCode::Char('q'), NONE), (KeyCode::Char('c'), CTRL)];
const INTERRUPT: Keys = &[(KeyCode::Char('c'), CTRL)];
const SUSPEND: Keys = &[(KeyCode::Char('z'), CTRL)];

const fn key(
    place: Place,
    keys: Keys,
    action: Action,
    shown: (&'static str, &'static str),
    hint: &'static str,
    help: &'static str,
) -> Binding {
    Binding { place, keys, action, shown, hint, help }
}

const PANELS: Place = Place::Panels;
const INPUTS: Place = Place::Panel(Panel::Inputs);
const MAP: Place = Place::Panel(Panel::Map);
const MEMORY: Place = Place::Panel(Panel::Memory);
const TIMELINE: Place = Place::Panel(Panel::Timeline);

const LEFT_RIGHT: (&str, &str) = ("←→", "Left Right");
const UP_DOWN: (&str, &str) = ("↑↓", "Up Down");
const PAGES: (&str, &str) = ("PgUp PgDn", "PgUp PgDn");

const fn same(text: &'static str) -> (&'static str, &'static str) {
    (text, text)
}

/// The table. A line with no words belongs to the one above it.
pub const BINDINGS: &[Binding] = &[
    key(INPUTS, UP, Action::Up, UP_DOWN, "field", "previous and next field (also k and j)"),
    key(INPUTS, DOWN, Action::Down, same(""), "", ""),
    key(INPUTS, LEFT, Action::Left, LEFT_RIGHT, "change", "previous and next value (also h and l, - and +)"),
    key(INPUTS, RIGHT, Action::Right, same(""), "", ""),
    key(INPUTS, LESS, Action::Less, same(""), "", ""),
    key(INPUTS, MORE, Action::More, same(""), "", ""),
    key(INPUTS, TAKE, Action::Take, same("Enter"), "choose", "choose from a list, or type a value"),
    key(INPUTS, FIRST, Action::First, same("g G"), "", "first and last field"),
    key(INPUTS, LAST, Action::Last, same(""), "", ""),
    key(INPUTS, PAGE_UP, Action::PageUp, same(""), "", ""),
    key(INPUTS, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(MAP, LEFT, Action::Left, ("←↓↑→", "Arrows"), "move", "move (also h, j, k, l); the other panels show the cell"),
    key(MAP, DOWN, Action::Down, same(""), "", ""),
    key(MAP, UP, Action::Up, same(""), "", ""),
    key(MAP, RIGHT, Action::Right, same(""), "", ""),
    key(MAP, TAKE, Action::Take, same("Enter"), "take", "make the cell the scenario"),
    key(MAP, FIRST, Action::First, same("g G"), "", "first and last column"),
    key(MAP, LAST, Action::Last, same(""), "", ""),
    key(MAP, PAGE_UP, Action::PageUp, PAGES, "", "first and last row (also ^U and ^D)"),
    key(MAP, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(MEMORY, UP, Action::Up, UP_DOWN, "rank", "previous and next pipeline rank (also k and j)"),
    key(MEMORY, DOWN, Action::Down, same(""), "", ""),
    key(MEMORY, FIRST, Action::First, same("g G"), "", "first and last pipeline rank"),
    key(MEMORY, LAST, Action::Last, same(""), "", ""),
    key(MEMORY, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(MEMORY, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(TIMELINE, LEFT, Action::Left, LEFT_RIGHT, "span", "previous and next span or visit (also h and l)"),
    key(TIMELINE, RIGHT, Action::Right, same(""), "", ""),
    key(TIMELINE, UP, Action::Up, UP_DOWN, "row", "lane or pipeline rank above and below (also k and j)"),
    key(TIMELINE, DOWN, Action::Down, same(""), "", ""),
    key(TIMELINE, TAKE, Action::Take, same("Enter"), "lanes", "all lanes of the pipeline rank, and all ranks again"),
    key(TIMELINE, MORE, Action::More, same("+ -"), "zoom", "closer and further out"),
    key(TIMELINE, LESS, Action::Less, same(""), "", ""),
    key(TIMELINE, PAGE_UP, Action::PageUp, PAGES, "", "a window back and on (also ^U and ^D)"),
    key(TIMELINE, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(TIMELINE, FIRST, Action::First, same("g G"), "", "first and last span of the row"),
    key(TIMELINE, LAST, Action::Last, same(""), "", ""),
    key(TIMELINE, &[(KeyCode::Char('0'), NONE)], Action::Whole, same("0"), "whole", "the whole step, and back"),
    key(PANELS, NEXT, Action::NextPanel, same("Tab"), "panel", "next panel (Shift-Tab: the one before)"),
    key(PANELS, PREVIOUS, Action::PreviousPanel, same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('1'), NONE)], Action::Panel(Panel::Inputs), same("1 to 5"), "", "go to a panel"),
    key(PANELS, &[(KeyCode::Char('2'), NONE)], Action::Panel(Panel::Map), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('3'), NONE)], Action::Panel(Panel::Memory), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('4'), NONE)], Action::Panel(Panel::Timeline), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('5'), NONE)], Action::Panel(Panel::Time), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('m'), NONE)], Action::Metric, same("m"), "metric", "next metric of the map"),
    key(PANELS, &[(KeyCode::Char('b'), NONE)], Action::Best, same("b"), "best", "go to the map's best cell"),
    key(
        PANELS,
        &[(KeyCode::Char('p'), NONE)],
        Action::Pin,
        same("p"),
        "pin",
        "pin the scenario shown, or let go of it",
    ),
    key(PANELS, &[(KeyCode::Char('e'), NONE)], Action::Export, same("e"), "export", "export a snapshot that replays"),
    key(PANELS, &[(KeyCode::Char('?'), NONE)], Action::Help, same("?"), "help", "this list of keys"),
    key(PANELS, CLOSE, Action::Close, same("Esc"), "", "close the top layer, or go back to the scenario's cell"),
    key(PANELS, SUSPEND, Action::Suspend, same("^Z"), "", "suspend"),
    key(PANELS, QUIT, Action::Quit, same("q"), "quit", "quit (also ^C)"),
    key(Place::Help, UP, Action::Up, UP_DOWN, "scroll", "scroll (also k and j)"),
    key(Place::Help, DOWN, Action::Down, same(""), "", ""),
    key(Place::Help, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(Place::Help, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(Place::Help, FIRST, Action::First, same("g G"), "", "top and bottom"),
    key(Place::Help, LAST, Action::Last, same(""), "", ""),
    key(Place::Help, &[(KeyCode::Esc, NONE), (KeyCode::Char('?'), NONE)], Action::Close, same("Esc"), "close", "close"),
    key(Place::Help, SUSPEND, Action::Suspend, same(""), "", ""),
    key(Place::Help, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(Place::List, UP, Action::Up, UP_DOWN, "move", "previous and next item (also k and j)"),
    key(Place::List, DOWN, Action::Down, same(""), "", ""),
    key(Place::List, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(Place::List, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(Place::List, FIRST, Action::First, same("g G"), "", "first and last item"),
    key(Place::List, LAST, Action::Last, same(""), "", ""),
    key(Place::List, &[(KeyCode::Char('/'), NONE)], Action::Search, same("/"), "search", "search"),
    key(Place::List, TAKE, Action::Take, same("Enter"), "take", "take the item"),
    key(Place::List, CLOSE, Action::Close, same("Esc"), "close", "close"),
    key(Place::List, SUSPEND, Action::Suspend, same(""), "", ""),
    key(Place::List, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(Place::Search, &[(KeyCode::Up, NONE)], Action::Up, ("↑↓", "Up Down"), "move", "previous and next item"),
    key(Place::Search, &[(KeyCode::Down, NONE)], Action::Down, same(""), "", ""),
    key(Place::Search, TAKE, Action::Take, same("Enter"), "take", "take the item"),
    key(Place::Search, CLOSE, Action::Close, same("Esc"), "list", "back to the list"),
    key(Place::Search, SUSPEND, Action::Suspend, same(""), "", ""),
    key(Place::Search, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
    key(Place::Entry, TAKE, Action::Take, same("Enter"), "take", "take the value"),
    key(Place::Entry, CLOSE, Action::Close, same("Esc"), "cancel", "leave the value as it was"),
    key(Place::Entry, SUSPEND, Action::Suspend, same(""), "", ""),
    key(Place::Entry, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
];

/// What a key asks for where the keys go now.
pub fn action(place: Place, key: KeyEvent) -> Option<Action> {
    let bound = at(place).chain(under(place)).find(|binding| is_bound(binding, key));
    match bound {
        Some(binding) => Some(binding.action),
        None if place.takes_text() => to_input_request(&Event::Key(key)).map(Action::Type),
        None => None,
    }
}

/// What the footer names where the keys go now, the place's own keys first.
pub fn hints(place: Place) -> impl Iterator<Item = &'static Binding> {
    at(place).chain(under(place)).filter(|binding| !binding.hint.is_empty())
}

/// The places of the help with their lines, in order.
pub fn help() -> impl Iterator<Item = (Place, Vec<&'static Binding>)> {
    let places = [PANELS, INPUTS, MAP, MEMORY, TIMELINE, Place::List, Place::Search, Place::Entry, Place::Help];
    let lines = |place| (place, at(place).filter(|binding| !binding.help.is_empty()).collect::<Vec<_>>());
    places.into_iter().map(lines).filter(|(_, lines)| !lines.is_empty())
}

fn at(place: Place) -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().filter(move |binding| binding.place == place)
}

/// The keys that work on every panel, for a panel.
fn under(place: Place) -> impl Iterator<Item = &'static Binding> {
    at(PANELS).filter(move |_| matches!(place, Place::Panel(_)))
}

/// A character says its shift itself (`G`, `?`), and terminals differ in whether they also report the modifier.
fn is_bound(binding: &Binding, key: KeyEvent) -> bool {
    let modifiers = match key.code {
        KeyCode::Char(_) | KeyCode::BackTab => key.modifiers.difference(SHIFT),
        _ => key.modifiers,
    };
    binding.keys.contains(&(key.code, modifiers))
}

#[cfg(test)]
mod tests;
