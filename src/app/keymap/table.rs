//! The table of keys itself: where each works, what it asks for, and the words for it.

use std::borrow::Cow;

use crossterm::event::{KeyCode, KeyModifiers};

use super::{Binding, Place};
use crate::app::Panel;
use crate::app::action::Action;
use crate::app::evidence::Facet;
use crate::app::view::View;

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

type Keys = &'static [(KeyCode, KeyModifiers)];

const LEFT: Keys = &[(KeyCode::Left, NONE), (KeyCode::Char('h'), NONE)];
const RIGHT: Keys = &[(KeyCode::Right, NONE), (KeyCode::Char('l'), NONE)];
const UP: Keys = &[(KeyCode::Up, NONE), (KeyCode::Char('k'), NONE)];
const DOWN: Keys = &[(KeyCode::Down, NONE), (KeyCode::Char('j'), NONE)];
const FIRST: Keys = &[(KeyCode::Char('g'), NONE), (KeyCode::Home, NONE)];
const LAST: Keys = &[(KeyCode::Char('G'), NONE), (KeyCode::End, NONE)];
const PAGE_UP: Keys = &[(KeyCode::PageUp, NONE), (KeyCode::Char('u'), CTRL)];
const PAGE_DOWN: Keys = &[(KeyCode::PageDown, NONE), (KeyCode::Char('d'), CTRL)];
const LETTER_M: Keys = &[(KeyCode::Char('m'), NONE)];
const LETTER_T: Keys = &[(KeyCode::Char('t'), NONE)];
const LETTER_N: Keys = &[(KeyCode::Char('n'), NONE)];
const LETTER_R: Keys = &[(KeyCode::Char('r'), NONE)];
const LETTER_D: Keys = &[(KeyCode::Char('d'), NONE)];
const ZERO: Keys = &[(KeyCode::Char('0'), NONE)];
const TAKE: Keys = &[(KeyCode::Enter, NONE)];
const CLOSE: Keys = &[(KeyCode::Esc, NONE)];
const MORE: Keys = &[(KeyCode::Char('+'), NONE), (KeyCode::Char('='), NONE)];
const LESS: Keys = &[(KeyCode::Char('-'), NONE)];
const REMOVE: Keys = &[(KeyCode::Char('x'), NONE), (KeyCode::Delete, NONE)];
const LESS_LIMIT: Keys = &[(KeyCode::Char('['), NONE), (KeyCode::Left, NONE), (KeyCode::Char('h'), NONE)];
const MORE_LIMIT: Keys = &[(KeyCode::Char(']'), NONE), (KeyCode::Right, NONE), (KeyCode::Char('l'), NONE)];
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
    let shown = (Cow::Borrowed(shown.0), Cow::Borrowed(shown.1));
    Binding { place, keys: Cow::Borrowed(keys), action, shown, hint, help: Cow::Borrowed(help) }
}

/// The key that shows a view.
const fn view(view: View, keys: Keys, shown: &'static str, help: &'static str) -> Binding {
    key(PANELS, keys, Action::View(view), same(shown), "", help)
}

const PANELS: Place = Place::Panels;
const INPUTS: Place = Place::Panel(Panel::Inputs);
const MAP: Place = Place::Panel(Panel::Map);
const MEMORY: Place = Place::Panel(Panel::Memory);
const TIMELINE: Place = Place::Panel(Panel::Timeline);
const TIME: Place = Place::Panel(Panel::Time);
const EXPLAIN: Place = Place::Explain;
const PALETTE: Place = Place::Palette;
const SNAPSHOTS: Place = Place::Snapshots;
const FORM: Place = Place::Form;
const QUESTION: Place = Place::Question;
const COMPARE: Place = Place::View(View::Compare);
const ADVICE: Place = Place::View(View::Advice);
const LIMITS: Place = Place::View(View::Limits);
const HARDWARE: Place = Place::View(View::Hardware);
const INTENSITIES: Place = Place::View(View::Intensities);
const STRATEGIES: Place = Place::View(View::Strategies);
const TRAINING: Place = Place::View(View::Training);
const PLAN: Place = Place::View(View::Plan);
const EVIDENCE: Place = Place::View(View::Evidence);

const LEFT_RIGHT: (&str, &str) = ("←→", "Left Right");
const ARROWS: (&str, &str) = ("←↓↑→", "Arrows");
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
    key(MAP, &[(KeyCode::Char('x'), NONE)], Action::Across, same("x"), "axes", "choose what runs across"),
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
    key(TIMELINE, TAKE, Action::Take, same("Enter"), "lanes", "all lanes of the pipeline rank, and all ranks again"),
    key(TIMELINE, MORE, Action::More, same("+ -"), "zoom", "closer and further out"),
    key(TIMELINE, LESS, Action::Less, same(""), "", ""),
    key(TIMELINE, &[(KeyCode::Char('z'), NONE)], Action::Zoom, same("z"), "layer", "zoom to the layer"),
    key(
        TIMELINE,
        &[(KeyCode::Char('f'), NONE)],
        Action::Follow,
        same("f"),
        "follow",
        "from a gather to its use, from compute to its gather, from a reduction to its backward",
    ),
    key(TIMELINE, LETTER_N, Action::NextExposed, same("n"), "exposed", "next stretch of exposed communication"),
    key(
        TIMELINE,
        &[(KeyCode::Char('N'), NONE)],
        Action::PreviousExposed,
        same("N"),
        "",
        "stretch of exposed communication before",
    ),
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
    key(COMPARE, LEFT, Action::Left, LEFT_RIGHT, "column", "previous and next scenario (also h and l)"),
    key(COMPARE, RIGHT, Action::Right, same(""), "", ""),
    key(COMPARE, TAKE, Action::Take, same("Enter"), "take", "make the pinned scenario the one in hand"),
    key(COMPARE, &[(KeyCode::Char('<'), NONE)], Action::Earlier, same("<"), "", "move it towards the front"),
    key(COMPARE, &[(KeyCode::Char('>'), NONE)], Action::Later, same(">"), "", "move it towards the end"),
    key(COMPARE, LETTER_N, Action::Rename, same("n"), "name", "give it a name"),
    key(COMPARE, REMOVE, Action::Remove, same("x"), "remove", "let go of it (also Delete)"),
    key(COMPARE, MORE, Action::More, same("+ -"), "zoom", "the timelines closer and further out"),
    key(COMPARE, LESS, Action::Less, same(""), "", ""),
    key(COMPARE, UP, Action::Up, UP_DOWN, "", "scroll (also k and j)"),
    key(COMPARE, DOWN, Action::Down, same(""), "", ""),
    key(COMPARE, FIRST, Action::First, same("g G"), "", "first and last scenario"),
    key(COMPARE, LAST, Action::Last, same(""), "", ""),
    key(COMPARE, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(COMPARE, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(ADVICE, UP, Action::Up, UP_DOWN, "row", "previous and next row (also k and j)"),
    key(ADVICE, DOWN, Action::Down, same(""), "", ""),
    key(ADVICE, TAKE, Action::Take, same("Enter"), "take", "make the change, or explain the gain"),
    key(ADVICE, FIRST, Action::First, same("g G"), "", "first and last row"),
    key(ADVICE, LAST, Action::Last, same(""), "", ""),
    key(ADVICE, PAGE_UP, Action::PageUp, PAGES, "", "a page up and down (also ^U and ^D)"),
    key(ADVICE, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(LIMITS, UP, Action::Up, UP_DOWN, "field", "previous and next assumption (also k and j)"),
    key(LIMITS, DOWN, Action::Down, same(""), "", ""),
    key(LIMITS, LEFT, Action::Left, LEFT_RIGHT, "change", "previous and next value (also h and l, - and +)"),
    key(LIMITS, RIGHT, Action::Right, same(""), "", ""),
    key(LIMITS, LESS, Action::Less, same(""), "", ""),
    key(LIMITS, MORE, Action::More, same(""), "", ""),
    key(LIMITS, FIRST, Action::First, same("g G"), "", "first and last assumption"),
    key(LIMITS, LAST, Action::Last, same(""), "", ""),
    key(HARDWARE, LEFT, Action::Left, ARROWS, "move", "move (also h, j, k, l)"),
    key(HARDWARE, DOWN, Action::Down, same(""), "", ""),
    key(HARDWARE, UP, Action::Up, same(""), "", ""),
    key(HARDWARE, RIGHT, Action::Right, same(""), "", ""),
    key(HARDWARE, FIRST, Action::First, same("g G"), "", "least and most bandwidth"),
    key(HARDWARE, LAST, Action::Last, same(""), "", ""),
    key(HARDWARE, PAGE_UP, Action::PageUp, PAGES, "", "most and least memory (also ^U and ^D)"),
    key(HARDWARE, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(INTENSITIES, UP, Action::Up, UP_DOWN, "transfer", "previous and next transfer (also k and j)"),
    key(INTENSITIES, DOWN, Action::Down, same(""), "", ""),
    key(INTENSITIES, FIRST, Action::First, same("g G"), "", "first and last transfer"),
    key(INTENSITIES, LAST, Action::Last, same(""), "", ""),
    key(STRATEGIES, UP, Action::Up, UP_DOWN, "strategy", "previous and next strategy (also k and j)"),
    key(STRATEGIES, DOWN, Action::Down, same(""), "", ""),
    key(STRATEGIES, TAKE, Action::Take, same("Enter"), "take", "take the strategy"),
    key(STRATEGIES, FIRST, Action::First, same("g G"), "", "first and last strategy"),
    key(STRATEGIES, LAST, Action::Last, same(""), "", ""),
    key(STRATEGIES, PAGE_UP, Action::PageUp, same(""), "", ""),
    key(STRATEGIES, PAGE_DOWN, Action::PageDown, same(""), "", ""),
    key(STRATEGIES, LETTER_M, Action::Metric, same("m"), "sort", "sort by the next column"),
    key(TRAINING, LEFT, Action::Left, LEFT_RIGHT, "devices", "fewer and more devices (also h and l)"),
    key(TRAINING, RIGHT, Action::Right, same(""), "", ""),
    key(TRAINING, UP, Action::Up, UP_DOWN, "method", "previous and next method (also k and j)"),
    key(TRAINING, DOWN, Action::Down, same(""), "", ""),
    key(TRAINING, TAKE, Action::Take, same("Enter"), "take", "make the plan the scenario's"),
    key(
        TRAINING,
        &[(KeyCode::Char('['), NONE)],
        Action::Slower,
        same("["),
        "slower network",
        "half the bandwidth of the outermost level",
    ),
    key(
        TRAINING,
        &[(KeyCode::Char(']'), NONE)],
        Action::Faster,
        same("]"),
        "",
        "twice the bandwidth of the outermost level",
    ),
    key(TRAINING, MORE, Action::More, same("+ -"), "most", "twice and half as many devices at most"),
    key(TRAINING, LESS, Action::Less, same(""), "", ""),
    key(TRAINING, LETTER_M, Action::Metric, same("m"), "law", "next law of the critical batch: layered, kaplan"),
    key(TRAINING, FIRST, Action::First, same("g G"), "", "fewest and most devices"),
    key(TRAINING, LAST, Action::Last, same(""), "", ""),
    key(PLAN, LESS_LIMIT, Action::Left, ("[ ]", "[ ]"), "limit", "less and more memory (also Left and Right, h and l)"),
    key(PLAN, MORE_LIMIT, Action::Right, same(""), "", ""),
    key(PLAN, UP, Action::Up, UP_DOWN, "operator", "previous and next operators (also k and j)"),
    key(PLAN, DOWN, Action::Down, same(""), "", ""),
    key(PLAN, TAKE, Action::Take, same("Enter"), "take", "make the plan the scenario's"),
    key(
        PLAN,
        LETTER_M,
        Action::Metric,
        same("m"),
        "objective",
        "best in throughput at any batch, or in the time of a step",
    ),
    key(PLAN, FIRST, Action::First, same("g G"), "", "first and last operators"),
    key(PLAN, LAST, Action::Last, same(""), "", ""),
    key(EVIDENCE, LEFT, Action::Left, LEFT_RIGHT, "run", "previous and next run by what was measured (also h and l)"),
    key(EVIDENCE, RIGHT, Action::Right, same(""), "", ""),
    key(EVIDENCE, UP, Action::Up, UP_DOWN, "error", "previous and next run by the error (also k and j)"),
    key(EVIDENCE, DOWN, Action::Down, same(""), "", ""),
    key(EVIDENCE, TAKE, Action::Take, same("Enter"), "open", "make the run the scenario in hand"),
    key(
        EVIDENCE,
        LETTER_D,
        Action::Filter(Facet::Hardware),
        same("d"),
        "hardware",
        "only the next hardware, in the end all",
    ),
    key(
        EVIDENCE,
        LETTER_T,
        Action::Filter(Facet::Strategy),
        same("t"),
        "strategy",
        "only the next class of strategy, in the end all",
    ),
    key(
        EVIDENCE,
        LETTER_N,
        Action::Filter(Facet::Devices),
        same("n"),
        "devices",
        "only runs on so many devices, in the end all",
    ),
    key(EVIDENCE, ZERO, Action::Whole, same("0"), "", "all runs again"),
    key(EVIDENCE, LETTER_M, Action::Metric, same("m"), "memory", "peak of memory, or step time"),
    key(EVIDENCE, LETTER_R, Action::Ratio, same("r"), "ratio", "predicted over measured, or predicted"),
    key(EVIDENCE, FIRST, Action::First, same("g G"), "", "the least and the greatest that was measured"),
    key(EVIDENCE, LAST, Action::Last, same(""), "", ""),
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
    view(View::Map, &[(KeyCode::Char('M'), NONE)], "M", "the map"),
    view(View::Advice, &[(KeyCode::Char('W'), NONE)], "W", "what would help: single changes, tried"),
    view(View::Limits, &[(KeyCode::Char('L'), NONE)], "L", "limits: what memory, network and peak allow at best"),
    view(View::Hardware, &[(KeyCode::Char('H'), NONE)], "H", "hardware: throughput over memory and bandwidth"),
    view(View::Intensities, &[(KeyCode::Char('I'), NONE)], "I", "intensities: which transfers hide behind arithmetic"),
    view(View::Strategies, &[(KeyCode::Char('S'), NONE)], "S", "strategies: all of them in one table"),
    view(View::Traffic, &[(KeyCode::Char('T'), NONE)], "T", "traffic: what each level of the cluster carries"),
    view(
        View::Training,
        &[(KeyCode::Char('D'), NONE)],
        "D",
        "days: the shortest training, the fewest of each method against devices",
    ),
    view(View::Plan, &[(KeyCode::Char('P'), NONE)], "P", "plan: which operators to shard, within a memory limit"),
    view(View::Evidence, &[(KeyCode::Char('E'), NONE)], "E", "evidence: predictions beside published measurements"),
    key(PANELS, LETTER_M, Action::Metric, same("m"), "metric", "next metric of the map"),
    key(PANELS, &[(KeyCode::Char('b'), NONE)], Action::Best, same("b"), "best", "go to the map's best cell"),
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
        Action::View(View::Compare),
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
        "diagnostics: what was found out about the terminal, and how to change it",
    ),
    key(PANELS, &[(KeyCode::Char(':'), NONE)], Action::Palette, same(":"), "command", "find a command by its name"),
    key(PANELS, &[(KeyCode::Char('?'), NONE)], Action::Help, same("?"), "help", "this list of keys"),
    key(
        PANELS,
        CLOSE,
        Action::Close,
        same("Esc"),
        "",
        "close the top layer, or go back to the map, or to the scenario's cell",
    ),
    key(PANELS, LETTER_R, Action::Reload, same("r"), "", "read the presets again, where their files have changed"),
    key(PANELS, SUSPEND, Action::Suspend, same("^Z"), "", "suspend"),
    key(PANELS, QUIT, Action::Quit, same("q"), "quit", "quit (also ^C)"),
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
    key(SNAPSHOTS, &[(KeyCode::Char('/'), NONE)], Action::Search, same("/"), "search", "search"),
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
    key(Place::Entry, TAKE, Action::Take, same("Enter"), "take", "take the value"),
    key(Place::Entry, CLOSE, Action::Close, same("Esc"), "cancel", "leave the value as it was"),
    key(Place::Entry, SUSPEND, Action::Suspend, same(""), "", ""),
    key(Place::Entry, INTERRUPT, Action::Quit, same("^C"), "quit", "quit"),
];
