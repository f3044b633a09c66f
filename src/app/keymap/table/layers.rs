//! The keys of what lies over the panels.

use crossterm::event::KeyCode;

use super::super::binding::{Binding, Place};
use super::super::keys::{
    CLOSE, DOWN, FIRST, INTERRUPT, LAST, LEFT, NEXT, NONE, PAGE_DOWN, PAGE_UP, PREVIOUS, QUIT, REMOVE, RIGHT, SEARCH,
    SUSPEND, TAKE, UP,
};
use super::words::{PAGES, UP_DOWN, key, same};
use crate::app::action::Action;

const EXPLAIN: Place = Place::Explain;
const PALETTE: Place = Place::Palette;
const SNAPSHOTS: Place = Place::Snapshots;
const FORM: Place = Place::Form;
const QUESTION: Place = Place::Question;
const HELP: Place = Place::Help;
const LIST: Place = Place::List;
const SEARCHING: Place = Place::Search;
const ENTRY: Place = Place::Entry;
const FIND: Place = Place::Find;

/// Of each layer.
pub const EACH: &[Binding] = &[
    key(EXPLAIN, UP, Action::Up, UP_DOWN, "input", "previous and next input (also k and j)"),
    key(EXPLAIN, DOWN, Action::Down, same(""), "", ""),
    key(
        EXPLAIN,
        TAKE,
        Action::Take,
        same("Enter"),
        "follow",
        "explain the input, if it is a figure (also Right and l)",
    ),
    key(EXPLAIN, RIGHT, Action::Right, same(""), "", ""),
    key(EXPLAIN, LEFT, Action::Left, ("←", "Left"), "back", "back to the figure that led here (also h)"),
    key(EXPLAIN, NEXT, Action::NextPanel, same("Tab"), "next", "next figure (Shift-Tab: the one before)"),
    key(EXPLAIN, PREVIOUS, Action::PreviousPanel, same(""), "", ""),
    key(EXPLAIN, FIRST, Action::First, same("g G"), "", "top and bottom"),
    key(EXPLAIN, LAST, Action::Last, same(""), "", ""),
    key(EXPLAIN, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(EXPLAIN, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(EXPLAIN, SEARCH, Action::Search, same("/"), "search", "search the inputs"),
    key(
        EXPLAIN,
        &[(KeyCode::Esc, NONE), (KeyCode::Char('i'), NONE)],
        Action::Close,
        same("Esc"),
        "close",
        "close (also i)",
    ),
    key(EXPLAIN, SUSPEND, Action::Suspend, same(""), "", ""),
    key(EXPLAIN, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(HELP, UP, Action::Up, UP_DOWN, "scroll", "scroll (also k and j)"),
    key(HELP, DOWN, Action::Down, same(""), "", ""),
    key(HELP, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(HELP, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(HELP, FIRST, Action::First, same("g G"), "", "top and bottom"),
    key(HELP, LAST, Action::Last, same(""), "", ""),
    key(HELP, SEARCH, Action::Search, same("/"), "search", "search"),
    key(HELP, &[(KeyCode::Esc, NONE), (KeyCode::Char('?'), NONE)], Action::Close, same("Esc"), "close", "close"),
    key(HELP, SUSPEND, Action::Suspend, same(""), "", ""),
    key(HELP, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(LIST, UP, Action::Up, UP_DOWN, "move", "previous and next item (also k and j)"),
    key(LIST, DOWN, Action::Down, same(""), "", ""),
    key(LIST, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(LIST, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(LIST, FIRST, Action::First, same("g G"), "", "first and last item"),
    key(LIST, LAST, Action::Last, same(""), "", ""),
    key(LIST, SEARCH, Action::Search, same("/"), "search", "search"),
    key(LIST, TAKE, Action::Take, same("Enter"), "take", "take the item"),
    key(LIST, CLOSE, Action::Close, same("Esc"), "close", "close"),
    key(LIST, SUSPEND, Action::Suspend, same(""), "", ""),
    key(LIST, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(SEARCHING, &[(KeyCode::Up, NONE)], Action::Up, ("↑↓", "Up Down"), "move", "previous and next item"),
    key(SEARCHING, &[(KeyCode::Down, NONE)], Action::Down, same(""), "", ""),
    key(SEARCHING, TAKE, Action::Take, same("Enter"), "take", "take the item"),
    key(SEARCHING, CLOSE, Action::Close, same("Esc"), "list", "back to the list"),
    key(SEARCHING, SUSPEND, Action::Suspend, same(""), "", ""),
    key(SEARCHING, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
    key(SNAPSHOTS, UP, Action::Up, UP_DOWN, "move", "previous and next file (also k and j)"),
    key(SNAPSHOTS, DOWN, Action::Down, same(""), "", ""),
    key(SNAPSHOTS, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(SNAPSHOTS, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(SNAPSHOTS, FIRST, Action::First, same("g G"), "", "first and last file"),
    key(SNAPSHOTS, LAST, Action::Last, same(""), "", ""),
    key(SNAPSHOTS, TAKE, Action::Take, same("Enter"), "open", "open it; a set's scenarios are pinned"),
    key(SNAPSHOTS, &[(KeyCode::Char('e'), NONE)], Action::Export, same("e"), "save", "save the scenario shown"),
    key(SNAPSHOTS, &[(KeyCode::Char('s'), NONE)], Action::SaveSet, same("s"), "save set", "save all pinned as a set"),
    key(SNAPSHOTS, REMOVE, Action::Remove, same("x"), "delete", "delete it, after a question (also Delete)"),
    key(SNAPSHOTS, SEARCH, Action::Search, same("/"), "search", "search"),
    key(SNAPSHOTS, CLOSE, Action::Close, same("Esc"), "close", "close"),
    key(SNAPSHOTS, SUSPEND, Action::Suspend, same(""), "", ""),
    key(SNAPSHOTS, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(FORM, UP, Action::Up, UP_DOWN, "field", "previous and next field (also k and j)"),
    key(FORM, DOWN, Action::Down, same(""), "", ""),
    key(FORM, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(FORM, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(FORM, FIRST, Action::First, same("g G"), "", "first and last field"),
    key(FORM, LAST, Action::Last, same(""), "", ""),
    key(FORM, TAKE, Action::Take, same("Enter"), "type", "type a value; none leaves an optional field out"),
    key(FORM, &[(KeyCode::Char('s'), NONE)], Action::Save, same("s"), "save", "save it; the scenario switches to it"),
    key(FORM, SEARCH, Action::Search, same("/"), "search", "search the fields"),
    key(FORM, CLOSE, Action::Close, same("Esc"), "close", "close; what was changed is lost, after a warning"),
    key(FORM, SUSPEND, Action::Suspend, same(""), "", ""),
    key(FORM, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(QUESTION, TAKE, Action::Take, same("Enter"), "delete", "delete it for good"),
    key(
        QUESTION,
        &[(KeyCode::Esc, NONE), (KeyCode::Char('n'), NONE)],
        Action::Close,
        same("Esc"),
        "leave it",
        "leave it (also n)",
    ),
    key(QUESTION, SUSPEND, Action::Suspend, same(""), "", ""),
    key(QUESTION, QUIT, Action::Quit, same("q"), "quit", "quit"),
    key(PALETTE, &[(KeyCode::Up, NONE)], Action::Up, ("↑↓", "Up Down"), "move", "previous and next command"),
    key(PALETTE, &[(KeyCode::Down, NONE)], Action::Down, same(""), "", ""),
    key(PALETTE, &[(KeyCode::PageUp, NONE)], Action::PageUp, PAGES, "", "a page up and down"),
    key(PALETTE, &[(KeyCode::PageDown, NONE)], Action::PageDown, same(""), "", ""),
    key(PALETTE, TAKE, Action::Take, same("Enter"), "do", "do it"),
    key(PALETTE, CLOSE, Action::Close, same("Esc"), "close", "close"),
    key(PALETTE, SUSPEND, Action::Suspend, same(""), "", ""),
    key(PALETTE, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
    key(ENTRY, TAKE, Action::Take, same("Enter"), "take", "take the value"),
    key(ENTRY, CLOSE, Action::Close, same("Esc"), "cancel", "leave the value as it was"),
    key(ENTRY, SUSPEND, Action::Suspend, same(""), "", ""),
    key(ENTRY, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
    key(FIND, &[(KeyCode::Up, NONE)], Action::Up, UP_DOWN, "next", "the match before and after"),
    key(FIND, &[(KeyCode::Down, NONE)], Action::Down, same(""), "", ""),
    key(FIND, TAKE, Action::Take, same("Enter"), "stay", "stay there"),
    key(FIND, CLOSE, Action::Close, same("Esc"), "back", "back to where the search began"),
    key(FIND, SUSPEND, Action::Suspend, same(""), "", ""),
    key(FIND, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
];
