//! The table of keys: what works where, in the order of the help and of the footer.

mod layers;
mod panels;

use std::sync::LazyLock;

use crate::app::action::keys::{KeyLine, KeyLines, KeyPlace};
use crate::app::views::SPECS;

/// All lines: those of each panel, of each view, those that work on all of them, and of what lies over them.
pub static TABLE: LazyLock<Vec<KeyLine>> = LazyLock::new(|| {
    let views = SPECS.iter().map(|spec| (spec.keys)(KeyLines::at(spec.place())));
    let lines = panels::each().into_iter().chain(views).chain([panels::everywhere()]).chain(layers::each());
    lines.flat_map(KeyLines::into_lines).collect()
});

/// What works on every panel and view.
pub const EVERYWHERE: KeyPlace = KeyPlace::Panels;
