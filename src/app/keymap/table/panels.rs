//! The keys of the panels.

use crossterm::event::KeyCode;

use super::super::binding::{Binding, Place};
use super::super::keys::{
    CLOSE, DOWN, FIRST, Keys, LAST, LEFT, LESS, LETTER_M, LETTER_N, LETTER_R, LETTER_T, MORE, NEXT, NONE, PAGE_DOWN,
    PAGE_UP, PREVIOUS, QUIT, RIGHT, SEARCH, SUSPEND, TAKE, UP, ZERO,
};
use super::words::{ARROWS, LEFT_RIGHT, PAGES, UP_DOWN, key, same};
use crate::app::action::Action;
use crate::app::panel::Panel;
use crate::app::panel::ViewId;

const PANELS: Place = Place::Panels;
const INPUTS: Place = Place::Panel(Panel::Inputs);
const MAP: Place = Place::Panel(Panel::Map);
const MEMORY: Place = Place::Panel(Panel::Memory);
const TIMELINE: Place = Place::Panel(Panel::Timeline);
const TIME: Place = Place::Panel(Panel::Time);

/// The key that shows a view.
const fn view(view: ViewId, keys: Keys, shown: &'static str, help: &'static str) -> Binding {
    key(PANELS, keys, Action::View(view), same(shown), "", help)
}

/// Of each panel.
pub const EACH: &[Binding] = &[
    key(INPUTS, UP, Action::Up, UP_DOWN, "field", "previous and next field (also k and j)"),
    key(INPUTS, DOWN, Action::Down, same(""), "", ""),
    key(INPUTS, LEFT, Action::Left, LEFT_RIGHT, "change", "previous and next value (also h and l, - and +)"),
    key(INPUTS, RIGHT, Action::Right, same(""), "", ""),
    key(INPUTS, LESS, Action::Less, same(""), "", ""),
    key(INPUTS, MORE, Action::More, same(""), "", ""),
    key(INPUTS, TAKE, Action::Take, same("Enter"), "choose", "choose from a list, or type a value"),
    key(
        INPUTS,
        &[(KeyCode::Char('a'), NONE)],
        Action::Adapt,
        same("a"),
        "adapt",
        "edit a copy of the cluster, or on its field of the model",
    ),
    key(INPUTS, FIRST, Action::First, same("g G"), "", "first and last field"),
    key(INPUTS, LAST, Action::Last, same(""), "", ""),
    key(INPUTS, PAGE_UP, Action::PageUp, same(""), "", ""),
    key(INPUTS, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(MAP, LEFT, Action::Left, ARROWS, "move", "move (also h, j, k, l); the other panels show the cell"),
    key(MAP, DOWN, Action::Down, same(""), "", ""),
    key(MAP, UP, Action::Up, same(""), "", ""),
    key(MAP, RIGHT, Action::Right, same(""), "", ""),
    key(MAP, TAKE, Action::Take, same("Enter"), "take", "make the cell the scenario"),
    key(MAP, FIRST, Action::First, same("g G"), "", "first and last column"),
    key(MAP, LAST, Action::Last, same(""), "", ""),
    key(MAP, PAGE_UP, Action::PageUp, PAGES, "", "first and last row (also ^U and ^D)"),
    key(MAP, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(
        MAP,
        LETTER_T,
        Action::Tune,
        same("t"),
        "tune",
        "each cell with its best batch and recompute, or the scenario's",
    ),
    key(MAP, &[(KeyCode::Char('x'), NONE)], Action::Across, same("x"), "", "choose what runs across"),
    key(MAP, &[(KeyCode::Char('X'), NONE)], Action::Along, same("X"), "", "choose what runs down"),
    key(
        MAP,
        &[(KeyCode::Char('o'), NONE)],
        Action::Contour,
        same("o"),
        "",
        "draw the memory's contour, or take it away",
    ),
    key(MAP, &[(KeyCode::Char('y'), NONE)], Action::Copy, same("y"), "", "copy the map as CSV, through the terminal"),
    key(MAP, &[(KeyCode::Char('Y'), NONE)], Action::SaveMap, same("Y"), "", "write the map as CSV to a file"),
    key(MEMORY, UP, Action::Up, UP_DOWN, "rank", "previous and next pipeline rank (also k and j)"),
    key(MEMORY, DOWN, Action::Down, same(""), "", ""),
    key(MEMORY, FIRST, Action::First, same("g G"), "", "first and last pipeline rank"),
    key(MEMORY, LAST, Action::Last, same(""), "", ""),
    key(MEMORY, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(MEMORY, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(TIMELINE, LEFT, Action::Left, LEFT_RIGHT, "span", "previous and next span or visit (also h and l)"),
    key(TIMELINE, RIGHT, Action::Right, same(""), "", ""),
    key(MEMORY, TAKE, Action::Take, same("Enter"), "peak", "show the moment of the peak on the timeline"),
    key(TIMELINE, UP, Action::Up, UP_DOWN, "row", "lane or pipeline rank above and below (also k and j)"),
    key(TIMELINE, DOWN, Action::Down, same(""), "", ""),
    key(TIMELINE, LETTER_N, Action::NextExposed, same("n"), "exposed", "next stretch of exposed communication"),
    key(TIMELINE, MORE, Action::More, same("+ -"), "zoom", "closer and further out"),
    key(TIMELINE, LESS, Action::Less, same(""), "", ""),
    key(TIMELINE, &[(KeyCode::Char('z'), NONE)], Action::Zoom, same("z"), "layer", "zoom to the layer"),
    key(
        TIMELINE,
        &[(KeyCode::Char('f'), NONE)],
        Action::Follow,
        same("f"),
        "follow",
        "from a gather to its use and back, a reduction to its backward",
    ),
    key(
        TIMELINE,
        &[(KeyCode::Char('N'), NONE)],
        Action::PreviousExposed,
        same("N"),
        "",
        "stretch of exposed communication before",
    ),
    key(TIMELINE, TAKE, Action::Take, same("Enter"), "lanes", "all lanes of the pipeline rank, and all ranks again"),
    key(TIMELINE, PAGE_UP, Action::PageUp, PAGES, "", "a window back and on (also ^U and ^D)"),
    key(TIMELINE, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(TIMELINE, FIRST, Action::First, same("g G"), "", "first and last span of the row"),
    key(TIMELINE, LAST, Action::Last, same(""), "", ""),
    key(TIMELINE, ZERO, Action::Whole, same("0"), "whole", "the whole step, and back"),
    key(TIME, UP, Action::Up, UP_DOWN, "row", "previous and next figure (also k and j)"),
    key(TIME, DOWN, Action::Down, same(""), "", ""),
    key(TIME, FIRST, Action::First, same("g G"), "", "first and last figure"),
    key(TIME, LAST, Action::Last, same(""), "", ""),
    key(TIME, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(TIME, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(TIME, TAKE, Action::Explain, same("Enter"), "explain", "explain the figure"),
];

/// Of all panels, and of what stands in the map's place.
pub const ALL: &[Binding] = &[
    key(PANELS, NEXT, Action::NextPanel, same("Tab"), "panel", "next panel (Shift-Tab: the one before)"),
    key(PANELS, PREVIOUS, Action::PreviousPanel, same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('1'), NONE)], Action::Panel(Panel::Inputs), same("1 to 5"), "", "go to a panel"),
    key(PANELS, &[(KeyCode::Char('2'), NONE)], Action::Panel(Panel::Map), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('3'), NONE)], Action::Panel(Panel::Memory), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('4'), NONE)], Action::Panel(Panel::Timeline), same(""), "", ""),
    key(PANELS, &[(KeyCode::Char('5'), NONE)], Action::Panel(Panel::Time), same(""), "", ""),
    key(
        PANELS,
        &[(KeyCode::Char('v'), NONE)],
        Action::Views,
        same("v"),
        "views",
        "choose what stands in the map's place",
    ),
    view(ViewId::Map, &[(KeyCode::Char('M'), NONE)], "M", "the map"),
    view(ViewId::Advice, &[(KeyCode::Char('W'), NONE)], "W", "what would help: single changes, tried"),
    view(ViewId::Limits, &[(KeyCode::Char('L'), NONE)], "L", "limits: what memory, network and peak allow at best"),
    view(ViewId::Grid, &[(KeyCode::Char('F'), NONE)], "F", "FSDP grid: the best of stage, recompute, sequence, batch"),
    view(ViewId::Hardware, &[(KeyCode::Char('H'), NONE)], "H", "hardware: throughput over memory and bandwidth"),
    view(
        ViewId::Intensities,
        &[(KeyCode::Char('I'), NONE)],
        "I",
        "intensities: which transfers hide behind arithmetic",
    ),
    view(ViewId::Strategies, &[(KeyCode::Char('S'), NONE)], "S", "strategies: all of them in one table"),
    view(ViewId::Traffic, &[(KeyCode::Char('T'), NONE)], "T", "traffic: what each level of the cluster carries"),
    view(ViewId::Training, &[(KeyCode::Char('D'), NONE)], "D", "days: the shortest training, days against devices"),
    view(ViewId::Plan, &[(KeyCode::Char('P'), NONE)], "P", "plan: which operators to shard, within a memory limit"),
    view(ViewId::Evidence, &[(KeyCode::Char('E'), NONE)], "E", "evidence: predictions beside published measurements"),
    key(
        PANELS,
        &[(KeyCode::Char('p'), NONE)],
        Action::Pin,
        same("p"),
        "pin",
        "pin the scenario shown, or let go of it",
    ),
    key(
        PANELS,
        &[(KeyCode::Char('c'), NONE)],
        Action::View(ViewId::Compare),
        same("c"),
        "compare",
        "compare: pinned scenarios side by side",
    ),
    key(
        PANELS,
        &[(KeyCode::Char('i'), NONE)],
        Action::Explain,
        same("i"),
        "explain",
        "explain the figure at the cursor: formula, inputs, sources",
    ),
    key(PANELS, LETTER_M, Action::Metric, same("m"), "metric", "next metric of the map"),
    key(PANELS, &[(KeyCode::Char('b'), NONE)], Action::Best, same("b"), "best", "go to the map's best cell"),
    key(PANELS, &[(KeyCode::Char('u'), NONE)], Action::Undo, same("u"), "", "undo the last change"),
    key(PANELS, &[(KeyCode::Char('U'), NONE)], Action::Redo, same("U"), "", "redo what was undone last"),
    key(
        PANELS,
        &[(KeyCode::Char('s'), NONE)],
        Action::Snapshots,
        same("s"),
        "",
        "snapshots and sets: open, save, delete",
    ),
    key(PANELS, &[(KeyCode::Char('e'), NONE)], Action::Export, same("e"), "export", "export a snapshot that replays"),
    key(
        PANELS,
        &[(KeyCode::Char('w'), NONE)],
        Action::Screen,
        same("w"),
        "",
        "write the screen to a file: text, ANSI colours or SVG",
    ),
    key(PANELS, &[(KeyCode::Char('&'), NONE)], Action::Mouse, same("&"), "", "take the mouse, or give it back"),
    key(
        PANELS,
        &[(KeyCode::Char('!'), NONE)],
        Action::Diagnostics,
        same("!"),
        "",
        "diagnostics: what the terminal can do, and how to change it",
    ),
    key(PANELS, SEARCH, Action::Search, same("/"), "", "search the rows of the panel or view"),
    key(PANELS, &[(KeyCode::Char(':'), NONE)], Action::Palette, same(":"), "command", "find a command by its name"),
    key(PANELS, &[(KeyCode::Char('?'), NONE)], Action::Help, same("?"), "help", "this list of keys"),
    key(PANELS, CLOSE, Action::Close, same("Esc"), "", "close the top layer, else back to the map, and its home cell"),
    key(PANELS, LETTER_R, Action::Reload, same("r"), "", "read the presets again, where their files have changed"),
    key(PANELS, SUSPEND, Action::Suspend, same("^Z"), "", "suspend"),
    key(PANELS, QUIT, Action::Quit, same("q"), "quit", "quit (also ^C)"),
];
