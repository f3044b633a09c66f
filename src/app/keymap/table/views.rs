//! The keys of the views in the map's place.

use crossterm::event::KeyCode;

use super::super::keys::{
    DOWN, FIRST, LAST, LEFT, LESS, LESS_LIMIT, LETTER_D, LETTER_M, LETTER_N, LETTER_R, LETTER_T, MORE, MORE_LIMIT,
    NONE, PAGE_DOWN, PAGE_UP, REMOVE, RIGHT, TAKE, UP, ZERO,
};
use super::super::{Binding, Place};
use super::{ARROWS, LEFT_RIGHT, PAGES, UP_DOWN, key, same};
use crate::app::action::Action;
use crate::app::evidence::Facet;
use crate::app::view::View;

const COMPARE: Place = Place::View(View::Compare);
const ADVICE: Place = Place::View(View::Advice);
const LIMITS: Place = Place::View(View::Limits);
const HARDWARE: Place = Place::View(View::Hardware);
const INTENSITIES: Place = Place::View(View::Intensities);
const STRATEGIES: Place = Place::View(View::Strategies);
const TRAINING: Place = Place::View(View::Training);
const PLAN: Place = Place::View(View::Plan);
const EVIDENCE: Place = Place::View(View::Evidence);

/// Of each view.
pub const EACH: &[Binding] = &[
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
];
