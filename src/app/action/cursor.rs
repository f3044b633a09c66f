//! The cursor of a list: where it is, and where a motion leads. Every list, panel, form and page of text has one, and
//! [`crate::app::views::View`] moves it.
//!
//! Maps and charts with rows have two ways to go: one of the same along each. Not for the timeline, whose rows and
//! moments go their own.

use crate::app::action::Action;

/// The row of a list that has the keys.
///
/// Lists get shorter while a cursor rests, so the row is only known of a list of some length: it is the last one where
/// the cursor was on a row that is no longer there, and where it was once that is there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListCursor(usize);

impl ListCursor {
    /// On a row.
    pub const fn at(row: usize) -> Self {
        Self(row)
    }

    /// The row, of so many.
    pub fn row(self, count: usize) -> usize {
        self.0.min(count.saturating_sub(1))
    }

    /// Goes where an action leads on a list of so many rows, of which a page is seen at once; says whether it is a
    /// motion.
    pub fn go(&mut self, action: Action, count: usize, page: usize) -> bool {
        let (from, last) = (self.row(count), count.saturating_sub(1));
        // A page keeps one row of the one before in sight.
        let page = page.saturating_sub(1).max(1);
        self.0 = match action {
            Action::Up => from.saturating_sub(1),
            Action::Down => (from + 1).min(last),
            Action::PageUp => from.saturating_sub(page),
            Action::PageDown => from.saturating_add(page).min(last),
            Action::First => 0,
            Action::Last => last,
            _ => return false,
        };
        true
    }
}

/// A motion to the left or right, as one of a list that lies on its side.
pub fn across(action: Action) -> Action {
    match action {
        Action::Left => Action::Up,
        Action::Right => Action::Down,
        other => other,
    }
}

/// The cell of a map that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridCursor {
    /// Its place among the columns.
    pub column: usize,
    /// Its place among the rows.
    pub row: usize,
}

impl GridCursor {
    /// Goes where an action leads on so many columns and rows, all of which are seen: the first and the last are those of
    /// the row, and a page is a whole column. Says whether it is another cell then.
    pub fn go(&mut self, action: Action, columns: usize, rows: usize) -> bool {
        let before = *self;
        let (mut column, mut row) = (ListCursor::at(self.column), ListCursor::at(self.row));
        match action {
            Action::Left | Action::Right | Action::First | Action::Last => column.go(across(action), columns, columns),
            Action::PageUp => row.go(Action::First, rows, rows),
            Action::PageDown => row.go(Action::Last, rows, rows),
            Action::Up | Action::Down => row.go(action, rows, rows),
            _ => false,
        };
        *self = Self { column: column.row(columns), row: row.row(rows) };
        *self != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(from: usize, action: Action) -> usize {
        let mut cursor = ListCursor::at(from);
        cursor.go(action, 20, 5);
        cursor.row(20)
    }

    #[test]
    fn motions_end_at_the_ends_and_a_page_keeps_a_row() {
        let places = [Action::Up, Action::Down, Action::PageUp, Action::PageDown, Action::First, Action::Last];
        assert_eq!(places.map(|action| gone(10, action)), [9, 11, 6, 14, 0, 19]);
        assert_eq!(places.map(|action| gone(0, action)), [0, 1, 0, 4, 0, 19]);
        assert_eq!(places.map(|action| gone(19, action)), [18, 19, 15, 19, 0, 19]);
    }

    #[test]
    fn a_shorter_list_is_read_from_its_last_row_and_an_empty_one_from_its_first() {
        let mut cursor = ListCursor::at(7);
        assert_eq!([cursor.row(20), cursor.row(5), cursor.row(0)], [7, 4, 0]);
        assert!(!cursor.go(Action::Take, 5, 5), "taking is no motion");
        assert_eq!(cursor.row(20), 7);
        assert!(cursor.go(Action::Up, 5, 5));
        assert_eq!(cursor.row(20), 3);
    }

    /// On 5 columns and 4 rows, of column 2 in row 1.
    #[test]
    fn on_a_map_ends_are_those_of_the_row_and_pages_those_of_the_column() {
        let gone = |action| {
            let mut cell = GridCursor { column: 2, row: 1 };
            let moved = cell.go(action, 5, 4);
            (cell.column, cell.row, moved)
        };
        assert_eq!([Action::Left, Action::Right].map(gone), [(1, 1, true), (3, 1, true)]);
        assert_eq!([Action::Up, Action::Down].map(gone), [(2, 0, true), (2, 2, true)]);
        assert_eq!([Action::First, Action::Last].map(gone), [(0, 1, true), (4, 1, true)]);
        assert_eq!([Action::PageUp, Action::PageDown].map(gone), [(2, 0, true), (2, 3, true)]);
        assert_eq!(gone(Action::Take), (2, 1, false), "taking is no motion");
        let mut corner = GridCursor { column: 4, row: 3 };
        assert!(!corner.go(Action::Right, 5, 4) && !corner.go(Action::PageDown, 5, 4), "no further");
    }
}
