//! What is computed behind the screen: late answers, pins that wait for theirs, what does not fit, broken jobs.

use super::*;
use crate::app::state::pointing::{Gesture, PointerTarget};
use shardscope_engine::search::Cell;

#[test]
fn what_does_not_fit_says_by_how_much_and_what_would_fix_it() {
    // 70 B parameters x 16 bytes = 1120 GB on the 8 devices of one node, which have 64 GiB each.
    let mut app = explorer_on(&FRONTIER.replace("gpt-neox-20b", "mpt-70b").replace("nodes = 48", "nodes = 1"));
    let summary = figures(&app);
    assert!(!summary.fits);
    app.fix = None;
    let excess = app.excess(&summary).unwrap();
    assert!(excess.ends_with("too many"), "{excess}");
    let fix = search::Fixes(vec![shardscope_engine::scenario::Edit::new(shardscope_engine::scenario::Field::Nodes, 4)]);
    app.receive(JobReport::Fixed { generation: app.question + 1, fix: fix.clone() });
    assert_eq!(app.fix, None, "the fix of another question");
    app.receive(JobReport::Fixed { generation: app.question, fix });
    assert_eq!(app.excess(&summary).unwrap(), format!("{excess}: nodes 4 would fit"));
    let commands = app.update(action::Action::Right);
    assert_eq!(app.fix, None, "another cell, another fix");
    obey(&mut app, commands);
}

#[test]
fn export_waits_for_the_figures() {
    let mut app = explorer();
    assert!(matches!(press(&mut app, "e")[..], [Command::Export(_)]));
    let (mut app, first) = App::new(start(H100));
    assert_eq!(app.update(action::Action::Export), []);
    assert_eq!(app.notice.as_deref(), Some("still computing: export when the figures are there"));
    obey(&mut app, first);
    assert_eq!(app.notice, None, "they are there");
    assert!(matches!(press(&mut app, "e")[..], [Command::Export(_)]));
}

/// Neither a value that cannot be nor a cell of the map that cannot: the figures beside them are of something else.
#[test]
fn what_is_not_possible_is_not_exported() {
    let mut app = explorer();
    to_field(&mut app, "tp");
    // 3 divides neither 128 devices nor 32 heads.
    press(&mut app, "<ret><c-u>3<ret>");
    assert!(app.answer.is_some(), "the last picture is still there");
    assert_eq!(press(&mut app, "e"), []);
    assert_eq!(app.notice.as_deref(), Some("not possible, so there is nothing to export"));
    press(&mut app, "<ret><c-u>1<ret>");
    assert!(matches!(press(&mut app, "e")[..], [Command::Export(_)]), "fixed");
    let impossible =
        (0..app.views.map.progress().1).find(|index| matches!(app.views.map.cell(*index), Some(Cell::Impossible(_))));
    app.point(PointerTarget::Cell(impossible.unwrap()), Gesture::Click);
    follow(&mut app);
    assert_eq!(press(&mut app, "e"), []);
    assert_eq!(app.notice.as_deref(), Some("not possible, so there is nothing to export"));
}

#[test]
fn what_is_pinned_before_its_figures_are_there_is_pinned_with_them() {
    let (mut app, first) = App::new(start(H100));
    app.update(action::Action::Pin);
    assert!(app.pins.are_waiting() && app.is_waiting());
    assert!(app.notice.as_ref().unwrap().contains("headline"), "{:?}", app.notice);
    obey(&mut app, first);
    assert_eq!(app.pins.reference().map(|(_, summary)| summary), Some(&figures(&app)));
}

/// Who goes on before the figures are there still has pinned what was on the screen, however far the answer is away.
#[test]
fn a_pin_is_kept_by_who_moves_on_before_its_figures_are_there() {
    for keys in ["l", "1gjjjjjjl", "S", "1gjjjjjj<ret>3<ret>"] {
        let (mut app, first) = App::new(start(H100));
        let pinned = app.scenario.clone();
        press(&mut app, "p");
        let mut commands = press_obeying(&mut app, keys, |_| false);
        commands.extend(app.follow_cursor());
        obey(&mut app, commands);
        assert_eq!(app.pins.all()[0].scenario, pinned, "{keys}");
        assert!(!app.pins.are_waiting(), "{keys}");
        obey(&mut app, first);
        assert_eq!(app.pins.all().len(), 1, "{keys}");
    }
}

#[test]
fn a_pin_that_waits_is_taken_back_by_the_same_key() {
    let (mut app, first) = App::new(start(H100));
    press(&mut app, "pp");
    assert_eq!(app.notice.as_deref(), Some("unpinned the scenario: u pins it again"));
    obey(&mut app, first);
    assert!(app.pins.all().is_empty());
}

#[test]
fn what_is_not_possible_is_not_pinned() {
    let mut app = explorer();
    app.shown = Err(Vec::new());
    app.stale = true;
    press(&mut app, "p");
    assert_eq!(app.notice.as_deref(), Some("not possible, so there is nothing to pin"));
    assert!(app.pins.all().is_empty());
}

#[test]
fn answers_to_older_questions_are_dropped() {
    let (mut app, first) = App::new(start(H100));
    app.update(action::Action::Right);
    let newer = app.follow_cursor();
    obey(&mut app, first);
    assert!(app.answer.is_none(), "the first question is no longer asked");
    obey(&mut app, newer);
    assert_eq!(figures(&app).devices, 32 * 8);
}

#[test]
fn the_last_picture_stays_until_it_is_replaced() {
    let mut app = explorer();
    let cell = app.views.map.cell(0).cloned();
    // With another sequence length every cell changes, none of the axes does.
    to_field(&mut app, "seq");
    let commands = app.update(action::Action::Right);
    assert_eq!(app.views.map.progress().0, 0);
    assert_eq!(app.views.map.cell(0).cloned(), cell, "the old cell is still there");
    assert!(app.is_waiting() && app.stale);
    obey(&mut app, commands);
    assert!(app.views.map.is_complete());
}

#[test]
fn a_broken_job_is_told_and_survived() {
    let mut app = explorer();
    let generation = app.views.map.generation;
    app.receive(JobReport::Failed { generation, job: "the map", message: "index out of bounds".to_owned() });
    assert!(app.notice.as_ref().unwrap().contains("the map failed: index out of bounds"));
    press(&mut app, "l");
    assert_eq!(figures(&app).devices, 32 * 8);
}
