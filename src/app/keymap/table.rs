//! The table of keys itself: where each works, what it asks for, and the words for it.

mod layers;
mod panels;
mod views;
mod words;

use std::sync::LazyLock;

use super::binding::Binding;

/// The table. A line with no words belongs to the one above it.
pub static BINDINGS: LazyLock<Vec<Binding>> =
    LazyLock::new(|| [panels::EACH, views::EACH, panels::ALL, layers::EACH].concat());
