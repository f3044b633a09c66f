//! The table of keys itself: where each works, what it asks for, and the words for it.

mod layers;
mod panels;
mod views;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::keys::Keys;
use super::{Binding, Place};
use crate::app::action::Action;

/// The table. A line with no words belongs to the one above it.
pub static BINDINGS: LazyLock<Vec<Binding>> =
    LazyLock::new(|| [panels::EACH, views::EACH, panels::ALL, layers::EACH].concat());

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

const LEFT_RIGHT: (&str, &str) = ("←→", "Left Right");
const ARROWS: (&str, &str) = ("←↓↑→", "Arrows");
const UP_DOWN: (&str, &str) = ("↑↓", "Up Down");
const PAGES: (&str, &str) = ("PgUp PgDn", "PgUp PgDn");

const fn same(text: &'static str) -> (&'static str, &'static str) {
    (text, text)
}
