//! A list to choose from, and a line to type on: what both are for, and what is searched or typed. Not for what becomes of
//! what is taken: the explorer alone knows.

use tui_input::{Input, InputRequest};

use crate::scenario::Field;
use crate::search;

use super::action::Format;
use super::cursor::ListCursor;

/// What a list chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A field's value.
    Field(Field),
    /// What stands in the map's place.
    Views,
    /// In what format the screen is written.
    Screen,
    /// What runs across the map (0) or down (1).
    Axis(usize),
    /// What a pinned scenario is called; the pin by its place.
    Pin(usize),
    /// What a set is called.
    Set,
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct List {
    /// What it chooses.
    pub subject: Subject,
    /// All items.
    items: Vec<String>,
    /// Which of the items that are found has the keys.
    pub cursor: ListCursor,
    /// What is searched for.
    pub search: Input,
    /// Whether keys are text of the search.
    pub searching: bool,
}

impl List {
    /// A list with the cursor on an item.
    pub fn new(subject: Subject, items: Vec<String>, current: &str) -> Self {
        let cursor = ListCursor::at(items.iter().position(|item| item == current).unwrap_or(0));
        Self { subject, items, cursor, search: Input::default(), searching: false }
    }

    /// The formats in which the screen can be written.
    pub fn of_formats() -> Self {
        Self::new(Subject::Screen, Format::ALL.map(|format| format.name().to_owned()).into(), "")
    }

    /// What can run across the map (0) or down (1), with the cursor on what does.
    pub fn of_axes(at: usize, now: Field) -> Self {
        Self::new(
            Subject::Axis(at),
            search::axes().map(|field| search::word(field).to_owned()).collect(),
            search::word(now),
        )
    }

    /// The items that hold the searched text, in any case.
    pub fn found(&self) -> Vec<&str> {
        let wanted = self.search.value().to_lowercase();
        self.items.iter().map(String::as_str).filter(|item| item.to_lowercase().contains(&wanted)).collect()
    }

    /// Which of the items that are found has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }

    /// The item that has the keys.
    pub fn chosen(&self) -> Option<&str> {
        self.found().get(self.row()).copied()
    }

    /// Changes the searched text; the cursor goes to the first item found.
    pub fn search(&mut self, request: InputRequest) {
        if self.search.handle(request).is_some_and(|changed| changed.value) {
            self.cursor = ListCursor::default();
        }
    }
}

/// A text being typed.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it is the text of.
    pub subject: Subject,
    /// What is typed, with its cursor.
    pub input: Input,
    /// Whether it is still the old value, which the first character replaces.
    pub untouched: bool,
}

impl Entry {
    /// A text, to be replaced or changed.
    pub fn new(subject: Subject, value: String) -> Self {
        Self { subject, input: Input::new(value), untouched: true }
    }

    /// Changes the text: what is typed first replaces it, any other key changes it from then on.
    pub fn change(&mut self, request: InputRequest) {
        if std::mem::take(&mut self.untouched) && matches!(request, InputRequest::InsertChar(_)) {
            self.input.reset();
        }
        self.input.handle(request);
    }
}
