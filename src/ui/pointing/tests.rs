//! A place on the screen leads to what is drawn there.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::app::pointing::Gesture;
use crate::app::tests::{explorer, press};
use crate::ui;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

/// Columns and rows at which a text stands on the screen.
fn places(app: &App, size: (u16, u16), text: &str) -> Vec<(u16, u16)> {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| ui::draw(app, &Caps::default(), frame)).unwrap();
    let buf = terminal.backend().buffer();
    let row = |y: u16| (0..size.0).map(move |x| buf[(x, y)].symbol()).collect::<Vec<_>>();
    let wanted: Vec<String> = text.chars().map(String::from).collect();
    (0..size.1)
        .flat_map(|y| {
            let cells = row(y);
            let found: Vec<u16> =
                cells.windows(wanted.len()).zip(0..).filter(|(window, _)| *window == wanted).map(|(_, x)| x).collect();
            found.into_iter().map(move |x| (x, y))
        })
        .collect()
}

fn under(app: &App, size: (u16, u16), place: (u16, u16)) -> Target {
    target(app, &Caps::default(), size, place)
}

#[test]
fn the_cursors_cell_is_under_its_marks() {
    let mut app = explorer();
    press(&mut app, "2");
    for size in SIZES {
        let (x, y) = places(&app, size, "▐").into_iter().next().unwrap();
        for x in x..x + 4 {
            assert_eq!(under(&app, size, (x, y)), Target::Cell(app.map.cursor), "{size:?} {x}");
        }
    }
}

#[test]
fn a_fields_name_leads_to_the_field() {
    let mut app = explorer();
    press(&mut app, "1");
    for size in SIZES {
        for (index, field) in crate::app::inputs::FIELDS.iter().enumerate().take(8) {
            let named = places(&app, size, field.label);
            let found = named.into_iter().any(|place| under(&app, size, place) == Target::Field(index));
            assert!(found, "{} at {size:?}", field.label);
        }
    }
}

#[test]
fn below_a_reason_the_fields_are_still_where_they_are_drawn() {
    let mut app = explorer();
    press(&mut app, "1gjjjj<ret><c-u>0<ret>");
    let index = crate::app::inputs::FIELDS.iter().position(|field| field.label == "strategy").unwrap();
    for label in crate::app::inputs::FIELDS.iter().map(|field| field.label).skip(index).take(4) {
        let at = places(&app, (200, 50), label);
        let wanted = crate::app::inputs::FIELDS.iter().position(|field| field.label == label).unwrap();
        assert!(at.into_iter().any(|place| under(&app, (200, 50), place) == Target::Field(wanted)), "{label}");
    }
}

#[test]
fn tabs_and_panels_lead_to_their_panels() {
    let app = explorer();
    let name = places(&app, (80, 24), "3 Memory")[0];
    assert_eq!(under(&app, (80, 24), name), Target::Panel(Panel::Memory));
    let title = places(&app, (120, 40), "3 Memory")[0];
    assert_eq!(under(&app, (120, 40), title), Target::Panel(Panel::Memory));
    assert_eq!(under(&app, (120, 40), (0, 0)), Target::Nothing);
    assert_eq!(under(&app, (20, 5), (3, 3)), Target::Nothing, "a screen that is too small");
}

#[test]
fn the_item_of_a_list_is_under_its_name_also_when_the_list_has_scrolled() {
    for (keys, far) in [("1gjj<ret>", ""), ("1gjj<ret>", "G"), (":", ""), (":", "<pgdn><pgdn>")] {
        let mut app = explorer();
        press(&mut app, keys);
        press(&mut app, far);
        let (x, y) = places(&app, (80, 24), "▸").into_iter().next_back().unwrap();
        let Target::Item(index) = under(&app, (80, 24), (x, y)) else { panic!("no item under the mark") };
        app.point(Target::Item(index), Gesture::Drag);
        assert_eq!(places(&app, (80, 24), "▸").into_iter().next_back(), Some((x, y)), "it is where the cursor is");
        assert_eq!(under(&app, (80, 24), (0, 0)), Target::Nothing);
    }
}

#[test]
fn the_timeline_knows_how_far_across_it_is() {
    let mut app = explorer();
    press(&mut app, "4");
    let Target::Moment(left) = under(&app, (80, 24), (1, 6)) else { panic!("no moment") };
    let Target::Moment(right) = under(&app, (80, 24), (78, 6)) else { panic!("no moment") };
    assert!(left.abs() < 1e-9 && (right - 1.0).abs() < 1e-9, "{left} {right}");
}
