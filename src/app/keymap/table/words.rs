//! How a line of the table is written, and words that several lines share.

use std::borrow::Cow;

use super::super::binding::{Binding, Place};
use super::super::keys::Keys;
use crate::app::action::Action;

/// One line: where, which keys, what they ask for, the keys in words, the hint and the help.
pub(super) const fn key(
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

pub(super) const LEFT_RIGHT: (&str, &str) = ("←→", "Left Right");
pub(super) const ARROWS: (&str, &str) = ("←↓↑→", "Arrows");
pub(super) const UP_DOWN: (&str, &str) = ("↑↓", "Up Down");
pub(super) const PAGES: (&str, &str) = ("PgUp PgDn", "PgUp PgDn");

pub(super) const fn same(text: &'static str) -> (&'static str, &'static str) {
    (text, text)
}
