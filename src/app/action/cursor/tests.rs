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
