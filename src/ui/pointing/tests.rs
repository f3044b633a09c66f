//! A place on the screen leads to what is drawn there.

use std::collections::BTreeSet;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::app::state::pointing::Gesture;
use crate::app::tests::{PIPELINE, explorer, explorer_on, press};
use crate::app::timeline::ShownStep;
use crate::app::views;
use crate::app::views::inputs::InputRow;
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

fn under(app: &App, size: (u16, u16), place: (u16, u16)) -> PointerTarget {
    target(app, &Caps::default(), size, place)
}

#[test]
fn the_cursors_cell_is_under_its_marks() {
    let mut app = explorer();
    press(&mut app, "2");
    for size in SIZES {
        let (x, y) = places(&app, size, "▐").into_iter().next().unwrap();
        for x in x..x + 4 {
            assert_eq!(under(&app, size, (x, y)), PointerTarget::Cell(app.views.map.cursor), "{size:?} {x}");
        }
    }
}

#[test]
fn a_fields_name_leads_to_the_field() {
    let mut app = explorer();
    press(&mut app, "1");
    for size in SIZES {
        for (index, row) in app.inputs.rows().enumerate().take(8) {
            let named = places(&app, size, row.label());
            let found =
                named.into_iter().any(|place| under(&app, size, place) == PointerTarget::Row(Panel::Inputs, index));
            assert!(found, "{} at {size:?}", row.label());
        }
    }
}

#[test]
fn below_a_reason_the_fields_are_still_where_they_are_drawn() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjj<ret><c-u>0<ret>");
    let rows: Vec<&str> = app.inputs.rows().map(InputRow::label).collect();
    let index = rows.iter().position(|label| *label == "strategy").unwrap();
    for (wanted, label) in rows.iter().enumerate().skip(index).take(4) {
        let at = places(&app, (200, 50), label);
        assert!(
            at.into_iter().any(|place| under(&app, (200, 50), place) == PointerTarget::Row(Panel::Inputs, wanted)),
            "{label}"
        );
    }
}

#[test]
fn tabs_and_panels_lead_to_their_panels() {
    let app = explorer();
    let name = places(&app, (80, 24), "3 Memory")[0];
    assert_eq!(under(&app, (80, 24), name), PointerTarget::Panel(Panel::Memory));
    let title = places(&app, (120, 40), "3 Memory")[0];
    assert_eq!(under(&app, (120, 40), title), PointerTarget::Panel(Panel::Memory));
    assert_eq!(under(&app, (120, 40), (0, 0)), PointerTarget::Nothing);
    assert_eq!(under(&app, (20, 5), (3, 3)), PointerTarget::Nothing, "a screen that is too small");
}

#[test]
fn the_item_of_a_list_is_under_its_name_also_when_the_list_has_scrolled() {
    for (keys, far) in [("1g<ret>", ""), ("1g<ret>", "<end>"), (":", ""), (":", "<pgdn><pgdn>")] {
        let mut app = explorer();
        press(&mut app, keys);
        press(&mut app, far);
        let (x, y) = places(&app, (80, 24), "▸").into_iter().next_back().unwrap();
        let PointerTarget::Item(index) = under(&app, (80, 24), (x, y)) else { panic!("no item under the mark") };
        app.point(PointerTarget::Item(index), Gesture::Drag);
        assert_eq!(places(&app, (80, 24), "▸").into_iter().next_back(), Some((x, y)), "it is where the cursor is");
        assert_eq!(under(&app, (80, 24), (0, 0)), PointerTarget::Nothing);
    }
}

#[test]
fn the_timeline_knows_how_far_across_it_is() {
    let mut app = explorer();
    press(&mut app, "4");
    let PointerTarget::Moment(left, _) = under(&app, (80, 24), (1, 6)) else { panic!("no moment") };
    let PointerTarget::Moment(right, _) = under(&app, (80, 24), (78, 6)) else { panic!("no moment") };
    assert!(left.abs() < 1e-9 && (right - 1.0).abs() < 1e-9, "{left} {right}");
}

/// What a drag over the whole screen leads to: rows, cells, items.
fn reached(app: &App, size: (u16, u16)) -> [BTreeSet<usize>; 3] {
    let mut reached = [const { BTreeSet::new() }; 3];
    for place in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))) {
        match under(app, size, place) {
            PointerTarget::Row(panel, row) if panel == app.focus => reached[0].insert(row),
            PointerTarget::Cell(cell) => reached[1].insert(cell),
            PointerTarget::Item(item) => reached[2].insert(item),
            _ => continue,
        };
    }
    reached
}

#[test]
fn every_row_of_every_list_is_under_the_mouse_and_a_click_gives_it_the_cursor() {
    let (mut plain, mut pipeline) = (explorer(), explorer_on(PIPELINE));
    for keys in ["W", "L", "I", "S", "5", "p2Ml<ret>pc", "3"] {
        let app = if keys == "3" { &mut pipeline } else { &mut plain };
        press(app, keys);
        for size in [(120, 40), (200, 50)] {
            let count = app.rows().unwrap().0.len();
            let mut rows = reached(app, size)[0].clone();
            // On the smaller screen figures of the step and ranks are scrolled away: they come with the cursor.
            if size.0 < 200 && ["5", "3"].contains(&keys) {
                press(app, "g");
                for _ in 0..count {
                    rows.extend(&reached(app, size)[0]);
                    press(app, "j");
                }
            }
            assert!(rows.iter().copied().eq(0..count), "{keys} at {size:?}: {rows:?}");
            for row in rows.into_iter().rev() {
                app.point(PointerTarget::Row(app.focus, row), Gesture::Drag);
                assert_eq!(app.rows().unwrap().1, row, "{keys} at {size:?}");
            }
        }
    }
}

#[test]
fn a_name_in_a_list_leads_to_its_row() {
    let mut app = explorer();
    for keys in ["W", "L", "I", "S"] {
        press(&mut app, keys);
        for (index, name) in app.rows().unwrap().0.into_iter().enumerate() {
            let mut places = places(&app, (120, 40), &name).into_iter();
            let found = places.any(|place| under(&app, (120, 40), place) == PointerTarget::Row(Panel::Map, index));
            assert!(found, "{name} of {keys}");
        }
    }
}

#[test]
fn each_place_of_a_chart_is_under_the_mouse() {
    let mut app = explorer();
    for (keys, least) in [("H", 49), ("D", 8), ("P", 12), ("E", 50)] {
        press(&mut app, keys);
        let [_, cells, _] = reached(&app, (200, 50));
        assert!(cells.len() >= least, "{} places of {keys}", cells.len());
        for cell in cells {
            app.point(PointerTarget::Panel(Panel::Map), Gesture::Click);
            app.point(PointerTarget::Cell(cell), Gesture::Drag);
            let now = match app.view {
                view if view == views::hardware::SPEC.id => app.views.hardware.map.as_ref().unwrap().cursor,
                view if view == views::training::SPEC.id => app.views.training.budget(),
                view if view == views::plan::SPEC.id => app.views.plan.place(),
                _ => app.rows().unwrap().1,
            };
            assert_eq!(now, cell, "{keys}");
        }
    }
}

#[test]
fn the_fields_of_a_form_and_the_inputs_of_an_explanation_are_items() {
    let mut app = explorer();
    for keys in ["1ga", "1gjjjja", "2i", "5gi"] {
        press(&mut app, keys);
        let count = app.rows().unwrap().0.len();
        let [.., items] = reached(&app, (200, 90));
        assert_eq!(items, (0..count).collect(), "{keys}");
        app.point(PointerTarget::Item(count - 1), Gesture::Click);
        assert_eq!(app.rows().unwrap().1, count - 1, "{keys}");
        assert_eq!(under(&app, (200, 90), (0, 5)), PointerTarget::Nothing, "{keys}: beside it");
        app.point(PointerTarget::Nothing, Gesture::Click);
        assert!(app.layer.is_none(), "{keys}");
    }
}

#[test]
fn beside_the_help_there_is_nothing_and_on_it_the_wheel_scrolls() {
    let mut app = explorer();
    press(&mut app, "?");
    assert_eq!(under(&app, (120, 40), (2, 20)), PointerTarget::Nothing);
    assert_eq!(under(&app, (120, 40), (60, 20)), PointerTarget::Layer);
    app.point(PointerTarget::Layer, Gesture::WheelDown);
    let Some(crate::app::layer::Layer::Help(sheet)) = &app.layer else { panic!("no help") };
    assert_eq!(sheet.top(&app.context()), 1);
}

#[test]
fn a_span_of_the_timeline_is_under_its_name() {
    let size = (120, 40);
    let mut app = explorer();
    let at = |name: &str, app: &App| places(app, size, name).into_iter().next();
    let names = ["fwd", "bwd", "g1", "g2", "r1", "r2"];
    let drawn: Vec<(u16, u16)> = names.iter().filter_map(|name| at(name, &app)).collect();
    assert!(drawn.len() >= 2, "too few names are drawn");
    for place in drawn {
        let PointerTarget::Moment(share, Some(row)) = under(&app, size, place) else {
            panic!("no moment at {place:?}")
        };
        let window = |app: &App| app.timeline.window(ShownStep::new(&app.answer.as_ref().unwrap().evaluation));
        let before = window(&app);
        app.point(PointerTarget::Moment(share, Some(row)), Gesture::Click);
        let answer = app.answer.as_ref().unwrap();
        let step = ShownStep::new(&answer.evaluation);
        let span = app.timeline.chosen(step).unwrap().first().unwrap();
        let (from, to) = before.times(step);
        let moment = from + share * (to - from);
        assert!(span.start <= moment && moment <= span.end, "{span:?} does not run at {moment}");
        assert_eq!(app.timeline.rows(step)[row].lane, span.lane);
    }
}

#[test]
fn a_comparison_without_columns_is_a_panel_and_no_more() {
    let mut app = explorer();
    press(&mut app, "c");
    for columns in [1, 0] {
        assert_eq!(crate::app::views::compare::columns(&app.context()).len(), columns);
        for size in SIZES {
            let (x, y) = places(&app, size, "nothing to compare").into_iter().next().unwrap();
            assert_eq!(under(&app, size, (x + 20, y)), PointerTarget::Panel(Panel::Map), "{columns} at {size:?}");
        }
        app.answer = None;
    }
}
