use super::*;
use crate::app::action::Format;
use crate::app::layer::Layer;
use crate::app::tests::{explorer, press};

#[test]
fn a_click_goes_to_a_cell_and_the_same_again_takes_it() {
    let mut app = explorer();
    let to = app.views.map.cursor + 1;
    press(&mut app, "1");
    app.point(PointerTarget::Cell(to), Gesture::Click);
    assert_eq!((app.focus, app.views.map.cursor, app.following), (Panel::Map, to, true));
    assert_ne!(app.views.map.home, Some(to));
    app.point(PointerTarget::Cell(to), Gesture::Click);
    assert_eq!(app.views.map.home, Some(to), "the cell is the scenario now");
}

#[test]
fn a_second_click_does_not_apply_a_cell_that_does_not_fit() {
    let mut app = explorer();
    let map = &app.views.map;
    let full = (0..map.cells().len()).find(|at| map.figure(*at).is_none()).expect("a cell without a plan");
    let before = app.scenario.clone();
    for _ in 0..2 {
        app.point(PointerTarget::Cell(full), Gesture::Click);
    }
    assert_eq!((app.views.map.cursor, &app.scenario), (full, &before));
    assert!(app.notice.as_ref().is_some_and(|notice| notice.contains("Enter does")), "{:?}", app.notice);
}

#[test]
fn a_click_goes_to_a_field_and_the_same_again_opens_it() {
    let mut app = explorer();
    app.point(PointerTarget::Row(Panel::Inputs, 0), Gesture::Click);
    assert_eq!((app.focus, app.inputs.place()), (Panel::Inputs, 0));
    app.point(PointerTarget::Row(Panel::Inputs, 0), Gesture::Click);
    assert_eq!(app.place(), KeyPlace::List);
    let Some(Layer::List(list)) = &app.layer else { panic!("no list") };
    let (cursor, before) = (list.row(), app.scenario.model.id.clone());
    app.point(PointerTarget::Item(cursor + 1), Gesture::Click);
    app.point(PointerTarget::Item(cursor + 1), Gesture::Click);
    assert!(app.layer.is_none());
    assert_ne!(app.scenario.model.id, before, "the item was taken");
}

#[test]
fn a_click_beside_a_layer_closes_it_and_one_inside_does_not() {
    let mut app = explorer();
    press(&mut app, ":");
    app.point(PointerTarget::Layer, Gesture::Click);
    assert!(app.layer.is_some());
    app.point(PointerTarget::Nothing, Gesture::Click);
    assert!(app.layer.is_none());
}

#[test]
fn a_question_is_not_answered_by_a_click() {
    let mut app = explorer();
    press(&mut app, "s");
    let Some(Layer::Browser(browser)) = &mut app.layer else { panic!("no list of files") };
    browser.asking = true;
    assert_eq!(app.point(PointerTarget::Item(0), Gesture::Click), []);
    assert_eq!(app.place(), KeyPlace::Question);
}

#[test]
fn the_wheel_goes_through_lists_and_zooms_the_timeline() {
    let mut app = explorer();
    app.point(PointerTarget::Row(Panel::Inputs, 0), Gesture::WheelDown);
    assert_eq!((app.focus, app.inputs.place()), (Panel::Inputs, 1));
    let step = |app: &App| {
        let answer = app.answer.as_ref().unwrap();
        app.timeline.window(ShownStep::new(&answer.evaluation)).width
    };
    let before = step(&app);
    app.point(PointerTarget::Moment(0.5, None), Gesture::WheelDown);
    assert_eq!(app.focus, Panel::Timeline);
    assert!((step(&app) / before - 2.0).abs() < 1e-9, "out by a factor of 2");
    assert_eq!(app.point(PointerTarget::Nothing, Gesture::WheelUp), []);
}

#[test]
fn a_drag_pulls_the_timeline_along_and_the_maps_cursor() {
    let mut app = explorer();
    let start = |app: &App| {
        let answer = app.answer.as_ref().unwrap();
        app.timeline.window(ShownStep::new(&answer.evaluation))
    };
    app.point(PointerTarget::Moment(0.25, None), Gesture::Click);
    let before = start(&app);
    app.point(PointerTarget::Moment(0.5, None), Gesture::Drag);
    // A quarter of the window to the right: what was at 0.25 is at 0.5.
    assert!((start(&app).start - (before.start - before.width / 4.0)).abs() < 1e-9, "{before:?}");
    app.point(PointerTarget::Cell(3), Gesture::Drag);
    assert_eq!(app.views.map.cursor, 3);
}

#[test]
fn the_mouse_is_the_terminals_until_a_key_takes_it() {
    let mut app = explorer();
    assert!(!app.mouse.taken);
    assert_eq!(press(&mut app, "&"), [Command::Mouse(true)]);
    assert!(app.mouse.taken && app.notice.as_ref().unwrap().contains("Shift"));
    assert_eq!(press(&mut app, "&"), [Command::Mouse(false)]);
}

#[test]
fn the_screen_is_written_in_the_form_that_is_chosen() {
    for (keys, format) in [("w<ret>", Format::Text), ("wansi<ret>", Format::Ansi), ("w<end><ret>", Format::Svg)] {
        assert_eq!(press(&mut explorer(), keys), [Command::SaveScreen(format)], "{keys}");
    }
}

#[test]
fn the_wheel_and_a_click_end_a_search_and_a_drag_does_not() {
    for gesture in [Gesture::WheelDown, Gesture::WheelUp, Gesture::Click] {
        let mut app = explorer();
        press(&mut app, "5G/");
        app.point(PointerTarget::Row(Panel::Inputs, 3), Gesture::Drag);
        assert_eq!((app.place(), app.focus), (KeyPlace::Find, Panel::Time));
        app.point(PointerTarget::Row(Panel::Inputs, 3), gesture);
        assert_eq!((app.place(), app.focus), (KeyPlace::Panel(Panel::Inputs), Panel::Inputs), "{gesture:?}");
    }
}
