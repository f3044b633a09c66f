//! Rows, their order, and taking one.

use crate::app::App;
use crate::app::tests::{FRONTIER, H100, PIPELINE, explained, explorer_on, press};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::presets::Kind;
use shardscope_report::figures::Figure;

fn ids(app: &App) -> Vec<&str> {
    app.views.strategies.rows().iter().map(|row| row.id.as_str()).collect()
}

fn summaries(app: &App) -> Vec<Summary> {
    app.views.strategies.rows().iter().filter_map(|row| row.outcome.as_ref().ok().copied()).collect()
}

#[test]
fn every_strategy_has_a_row_and_what_fits_comes_first() {
    let mut app = explorer_on(FRONTIER);
    press(&mut app, "S");
    let mut found: Vec<String> = ids(&app).into_iter().map(str::to_owned).collect();
    found.sort();
    let mut all: Vec<String> = app.library.entries(Kind::Strategy).map(|entry| entry.id.clone()).collect();
    all.sort();
    assert_eq!(found, all);
    let rows = summaries(&app);
    let split = rows.iter().position(|summary| !summary.fits).expect("20 B on one device does not fit");
    assert!(rows[split..].iter().all(|summary| !summary.fits));
    for rows in [&rows[..split], &rows[split..]] {
        assert!(rows.windows(2).all(|pair| pair[0].tokens_per_s_per_device >= pair[1].tokens_per_s_per_device));
    }
    // The cursor is on the present strategy, whose row is what the screen shows.
    let strategies = &app.views.strategies;
    let row = &strategies.rows()[strategies.row()];
    let shown = app.answer.as_ref().expect("an answer").evaluation.summary;
    assert_eq!((row.id.as_str(), row.outcome.as_ref()), ("zero-topo", Ok(&shown)));
}

#[test]
fn m_sorts_by_the_next_column_and_the_cursor_stays_on_its_strategy() {
    let mut app = explorer_on(FRONTIER);
    press(&mut app, "Sm");
    let fitting = |app: &App| summaries(app).into_iter().filter(|summary| summary.fits).collect::<Vec<_>>();
    let rows = fitting(&app);
    assert!(rows.windows(2).all(|pair| pair[0].memory.peak <= pair[1].memory.peak));
    press(&mut app, "mm");
    // [frontier D4]: three levels send the least across nodes at accumulation 8.
    let rows = fitting(&app);
    assert!(rows.windows(2).all(|pair| pair[0].traffic[2].bytes_per_device <= pair[1].traffic[2].bytes_per_device));
    let strategies = &app.views.strategies;
    assert_eq!(strategies.rows()[strategies.row()].id, "zero-topo");
}

#[test]
fn enter_takes_the_strategy_under_the_cursor() {
    let mut app = explorer_on(FRONTIER);
    press(&mut app, "Sg");
    let first = ids(&app)[0].to_owned();
    assert_ne!(first, "zero3");
    while app.views.strategies.rows()[app.views.strategies.row()].id != "zero3" {
        press(&mut app, "j");
    }
    press(&mut app, "<ret>");
    assert_eq!((&*app.scenario.strategy, app.notice.as_deref()), ("zero3", Some("applied zero3")));
    assert!(!app.is_waiting(), "the table followed");
    assert_eq!(ids(&app)[0], first, "the others are as they were");
}

#[test]
fn a_cell_that_is_looked_at_is_taken_with_the_strategy() {
    let mut app = explorer_on(FRONTIER);
    // One cell to the left: fewer nodes.
    press(&mut app, "h");
    let fewer = app.shown.as_ref().expect("possible").plan.size;
    assert_ne!(fewer, app.scenario.plan.size);
    press(&mut app, "Sg<ret>");
    assert_eq!(app.scenario.plan.size, fewer);
}

#[test]
fn an_edited_placement_is_the_row_of_its_strategy() {
    let mut app = explorer_on(FRONTIER);
    app.file.set("qwz", "off").expect("valid");
    let scenario = app.library.resolve(&app.file).expect("valid");
    let candidates = shardscope_engine::search::strategies(&app.library, &scenario);
    let of = |id: &str| &candidates.iter().find(|(other, _)| other == id).expect(id).1.scenario.plan.sharding;
    assert_eq!(of("zero-topo"), &scenario.plan.sharding);
    assert_eq!(of("zeropp"), &app.library.strategy("zeropp").expect("a preset").sharding);
}

#[test]
fn what_is_not_possible_says_why_and_comes_last() {
    let mut app = explorer_on(PIPELINE);
    press(&mut app, "S");
    let rows = app.views.strategies.rows();
    let possible = rows.iter().take_while(|row| row.outcome.is_ok()).count();
    assert!(possible > 0 && rows[possible..].iter().all(|row| row.outcome.is_err()));
    // Tensor ranks fill the node: none is left in it to share a second copy.
    let zeropp = rows[possible..].iter().find(|row| row.id == "zeropp").expect("not possible");
    assert_eq!(zeropp.outcome.as_ref().expect_err("not possible").field, "plan.sharding.secondary");
}

/// Not of the strategy in hand: of the one under the cursor, in what the table is sorted by.
#[test]
fn i_explains_the_row_under_the_cursor() {
    let mut app = explorer_on(FRONTIER);
    press(&mut app, "S");
    let mut seen = Vec::new();
    for (keys, name, figure) in [
        ("", "model flop per second and device", Figure::ModelFlops),
        ("m", "peak memory", Figure::Peak),
        ("m", "exposed communication", Figure::Exposed),
        ("m", "sent into the system level", Figure::Traffic(2)),
    ] {
        press(&mut app, &format!("{keys}g"));
        if app.views.strategies.rows()[0].id == "zero-topo" {
            press(&mut app, "j");
        }
        let strategies = &app.views.strategies;
        let row = strategies.rows()[strategies.row()].clone();
        let summary = row.outcome.expect("a possible strategy");
        let value = match figure {
            Figure::ModelFlops => summary.model_flops.get(),
            Figure::Peak => summary.memory.peak.get(),
            Figure::Exposed => summary.time.exposed.get(),
            _ => summary.traffic[2].bytes_per_device.get(),
        };
        press(&mut app, "i");
        assert_eq!(explained(&app), (format!("{name}, {}", row.id), figure, value));
        press(&mut app, "<esc>");
        seen.push(row.id);
    }
    assert!(seen.iter().all(|id| id != "zero-topo"), "{seen:?}");
}

/// Tensor parallelism over the whole node leaves no room there for a second copy of the weights.
#[test]
fn i_does_not_explain_what_is_not_possible() {
    let mut app = explorer_on(&H100.replace("nodes = 16", "nodes = 16\ntensor = 8"));
    press(&mut app, "SG");
    let strategies = &app.views.strategies;
    assert!(strategies.rows()[strategies.row()].outcome.is_err());
    press(&mut app, "i");
    assert_eq!(app.notice.as_deref(), Some("this strategy is not possible here: it has no figures"));
}

/// Whatever refines the placement in hand, its axis of the map included, belongs to the strategy in hand: what a row
/// says of another one is what taking it brings.
#[test]
fn what_is_taken_is_what_was_tried() {
    let refined = "reshard_after_forward = false\nqwz = true\nweights_over = 8";
    let apart = "\n[[plan.operators]]\noperator = \"embedding\"\nextents.weights = \"device\"\n";
    let file = H100.replace("nodes = 16", &format!("nodes = 16\n{refined}")) + apart;
    for (keys, id) in [("S", "zeropp"), ("hS", "hsdp"), ("S", "zero2")] {
        let mut app = explorer_on(&file);
        assert_eq!(app.scenario.plan.operators.len(), 1);
        press(&mut app, keys);
        let row = app.views.strategies.rows().iter().position(|row| row.id == id).expect(id);
        press(&mut app, &format!("g{}", "j".repeat(row)));
        let tried = app.views.strategies.rows()[row].outcome.clone().expect("possible");
        press(&mut app, "<ret>");
        assert_eq!(app.notice.as_deref(), Some(&*format!("applied {id}")));
        assert_eq!(app.answer.as_ref().expect("an answer").evaluation.summary, tried, "{id}");
    }
}
