//! The rows of what has the keys, and the search among them: `/` types a text, the cursor goes to the rows that hold it, and
//! `Enter` takes the one it is on where that has a value to change.
//!
//! Not for the lists to choose from, whose typed text leaves out what does not match ([`crate::app::layer::list`]).

use crate::app::state::Find;

use crate::app::action::keys::KeyPlace;
use crate::app::action::panel::Panel;
use crate::app::action::{Action, Command};
use crate::app::state::App;

/// Texts of rows, and which of them has the cursor.
pub type Rows = (Vec<String>, usize);

impl App {
    /// Does what the user asked of the search, which begins where there is none.
    pub(crate) fn on_find(&mut self, action: Action) -> Vec<Command> {
        let Some(mut find) = self.find.take() else {
            self.open_find();
            return Vec::new();
        };
        match action {
            Action::Take if find.row.is_some() => return self.take_row(),
            Action::Take => return Vec::new(),
            Action::Close => {
                self.go_to_row(find.from);
                return Vec::new();
            }
            Action::Type(request) => {
                find.input.handle(request);
                self.seek(&mut find, 0);
            }
            Action::Down => self.seek(&mut find, 1),
            Action::Up => self.seek(&mut find, -1),
            _ => {}
        }
        self.find = Some(find);
        Vec::new()
    }

    /// Opens the value of the row that was found; a row without one has the cursor, and that is all.
    fn take_row(&mut self) -> Vec<Command> {
        match self.place() {
            KeyPlace::Panel(Panel::Inputs) => self.on_panel(Action::Take),
            KeyPlace::Form => self.on_keyed(Action::Take),
            _ => Vec::new(),
        }
    }

    fn open_find(&mut self) {
        match self.rows() {
            Some((_, from)) => self.find = Some(Find { from, ..Find::default() }),
            None => self.tell("no rows to search here; : finds a command by its name".to_owned()),
        }
    }

    /// Goes to the next row that holds the text (1), the one before (-1), or the first from where the search began (0).
    fn seek(&mut self, find: &mut Find, way: isize) {
        let wanted = find.input.value().to_lowercase();
        let mut found = self.rows_with(&wanted);
        if found.is_empty() && !wanted.is_empty() && self.place() == KeyPlace::Panel(Panel::Inputs) {
            self.inputs.unfold_for(&wanted);
            found = self.rows_with(&wanted);
        }
        let place = match (found.is_empty(), way) {
            (true, _) => None,
            (_, 0) => Some(found.iter().position(|row| *row >= find.from).unwrap_or(0)),
            _ => Some((find.place.0.cast_signed() - 1 + way).rem_euclid(found.len().cast_signed()).cast_unsigned()),
        };
        find.row = place.map(|place| found[place]);
        find.place = (place.map_or(0, |place| place + 1), found.len());
        self.go_to_row(find.row.unwrap_or(find.from));
    }

    /// The rows that hold a text in any case; none hold no text.
    fn rows_with(&self, wanted: &str) -> Vec<usize> {
        let rows = self.rows().map_or_else(Vec::new, |(rows, _)| rows);
        let holds = |row: &usize| !wanted.is_empty() && rows[*row].to_lowercase().contains(wanted);
        (0..rows.len()).filter(holds).collect()
    }

    /// The rows' texts, as far as one can search them, and the row that has the cursor.
    pub fn rows(&self) -> Option<Rows> {
        let (keyed, context) = (self.keyed(), self.context());
        Some((keyed.rows(&context)?, keyed.cursor(&context)))
    }
}

#[cfg(test)]
mod tests;
