//! The views in the map's place.

use crate::app::action::Action;
use crate::app::action::keys::KeyPlace;
use crate::app::action::panel::ViewId;
use crate::app::answers::work::Found;
use crate::app::tests::*;
use crate::app::{timeline, views};
use shardscope_engine::search::Cell;

#[test]
fn a_view_takes_the_maps_place_and_escape_gives_it_back() {
    let mut app = explorer();
    press(&mut app, "4L");
    assert_eq!((app.view, app.focus), (views::limits::SPEC.id, Panel::Map));
    assert_eq!(app.place(), KeyPlace::View(views::limits::SPEC.id));
    press(&mut app, "l3<esc>");
    assert_eq!((app.view, app.focus), (ViewId::MAP, Panel::Memory), "whatever has the keys");
    press(&mut app, "2");
    assert_eq!(app.place(), KeyPlace::Panel(Panel::Map));
    // The list of views, by name.
    press(&mut app, "vhard<ret>");
    assert_eq!((app.view, app.layer.is_none()), (views::hardware::SPEC.id, true));
    press(&mut app, "M");
    assert_eq!(app.view, ViewId::MAP);
    press(&mut app, "Lb");
    assert_eq!(app.view, ViewId::MAP, "the best cell is one of the map");
}

/// Each reproduction of a publication is a scenario that the explorer opens on.
#[test]
fn it_opens_on_each_reproduction() {
    for (id, devices) in [("frontier-20b-384", 384), ("zeropp-18b-v100", 64), ("osdp-48x1536", 8)] {
        let text = shardscope_presets::library().scenario_text(id).unwrap().text.clone();
        let (mut app, commands) = App::new(start(&text));
        obey(&mut app, commands.into_iter().filter(|one| matches!(one, Command::Evaluate { .. })).collect());
        assert!(!app.stale && figures(&app).fits && figures(&app).devices == devices, "{id}");
        assert_eq!(app.inputs.wrong, [], "{id}");
        assert!(app.file.published.as_ref().is_some_and(|published| !published.figures.is_empty()), "{id}");
    }
}

#[test]
fn every_view_has_a_key_and_a_line_in_the_list() {
    for view in crate::app::views::SPECS.map(|spec| spec.id) {
        let mut app = explorer();
        let key = app.keymap.key_of(Action::View(view), false);
        let shown =
            |app: &mut App, keys: &str| press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }));
        shown(&mut app, &key);
        assert_eq!(app.view, view);
        shown(&mut app, "v<ret>");
        assert_eq!(app.view, view, "the list begins where one is");
        assert!(!view.about.is_empty());
    }
}

#[test]
fn a_views_work_is_asked_for_when_it_is_shown_and_follows_the_scenario() {
    let mut app = explorer();
    let asks = |commands: &[Command]| commands.iter().any(|command| matches!(command, Command::Work { .. }));
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))) && app.is_waiting());
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))), "what never came is asked for again");
    press(&mut app, "H");
    assert!(!app.is_waiting());
    assert_eq!(press(&mut app, "H"), [], "it is known");
    to_field(&mut app, "seq");
    assert!(asks(&press(&mut app, "l")), "another sequence length");
    press(&mut app, "<esc>");
    assert!(!asks(&press(&mut app, "l")), "nobody looks at it");
    let old = JobReport::Found { generation: 1, found: Found::new(Vec::<(usize, Cell)>::new()) };
    app.receive(old);
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))));
}

/// What is taken in the view of the hardware is of the scenario in hand, wherever the map's cursor was.
#[test]
fn hardware_is_taken_for_the_scenario_in_hand() {
    let mut app = explorer();
    let nodes = app.scenario.plan.size;
    press(&mut app, "llH");
    assert!(!app.looking);
    let summary = figures(&app);
    press(&mut app, "<ret>");
    assert_eq!(app.scenario.plan.size, nodes);
    assert_eq!(app.answer.as_ref().unwrap().scenario, app.scenario);
    assert!(figures(&app).tokens_per_s_per_device >= summary.tokens_per_s_per_device, "its best batch is no worse");
}

/// The list of views prints their keys: each works there as it does on a panel.
#[test]
fn the_key_of_a_view_finds_it_in_the_list_of_views() {
    for spec in views::SPECS {
        let mut app = explorer();
        press(&mut app, &format!("v{}", spec.opens));
        let Some(Layer::List(list)) = &app.layer else { panic!("{}: no list", spec.opens) };
        assert!(list.found().iter().any(|item| item.name == spec.id.name), "{}", spec.opens);
    }
}

#[test]
fn moving_on_the_map_shows_the_cell_and_enter_takes_it() {
    let mut app = explorer();
    press(&mut app, "l");
    assert!(app.looking);
    assert_eq!(figures(&app).devices, 32 * 8, "the panels show the cell under the cursor");
    assert_eq!(value(&app, "nodes"), "16", "the scenario stays");
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "nodes"), "32");
    assert!(!app.looking);
}

#[test]
fn escape_goes_back_to_the_scenario_and_never_quits() {
    let mut app = explorer();
    let home = app.views.map.cursor;
    press(&mut app, "<right><up>");
    assert_ne!(app.views.map.cursor, home);
    assert_eq!(press(&mut app, "<esc><esc><esc>"), []);
    assert_eq!(app.views.map.cursor, home);
    assert_eq!(figures(&app).devices, 16 * 8);
}

#[test]
fn a_part_of_a_node_is_no_cell_but_can_be_left_and_come_back_to() {
    let mut app = explorer_on(&H100.replace("nodes = 16", "devices = 4"));
    assert_eq!((app.views.map.home, app.looking), (None, false));
    assert_eq!(value(&app, "nodes"), "4 devices");
    press(&mut app, "l");
    assert!(app.looking);
    press(&mut app, "<esc>");
    assert!(!app.looking);
    assert_eq!(figures(&app).devices, 4);
    press(&mut app, "1gjjjjjjl");
    assert_eq!(value(&app, "nodes"), "1");
}

#[test]
fn the_cursor_stops_at_the_edges() {
    let mut app = explorer();
    press(&mut app, "gggkkkkkkkkkkk");
    assert_eq!(app.views.map.cursor, 0);
    press(&mut app, "hk");
    assert_eq!(app.views.map.cursor, 0);
    press(&mut app, "G<pgdn>lj");
    assert_eq!(app.views.map.cursor, app.views.map.width() * app.views.map.height() - 1);
}

#[test]
fn taking_a_cell_changes_no_figure_of_the_map() {
    let mut app = explorer_on(FRONTIER);
    let before = app.views.map.generation;
    press(&mut app, "j<ret>h<ret>");
    assert_eq!(app.views.map.generation, before, "the same cells need no new sweep");
    assert_eq!(app.views.map.home, Some(app.views.map.cursor));
}

#[test]
fn a_taken_cell_evaluates_as_it_did_on_the_map() {
    let mut app = explorer_on(FRONTIER);
    for keys in ["k", "jj", "l", "hh"] {
        press(&mut app, keys);
        let Some(Cell::Possible { summary, .. }) = app.views.map.cell(app.views.map.cursor).cloned() else { continue };
        assert_eq!(figures(&app), summary, "the cell under the cursor");
        press(&mut app, "<ret>");
        assert_eq!(figures(&app), summary, "the scenario that it became");
    }
}

#[test]
fn the_metric_changes_and_the_best_cell_follows() {
    let mut app = explorer();
    press(&mut app, "b");
    let best = app.views.map.cursor;
    let all: Vec<f64> = (0..app.views.map.progress().1).filter_map(|index| app.views.map.figure(index)).collect();
    assert_eq!(app.views.map.figure(best), all.iter().copied().reduce(f64::max));
    press(&mut app, "mmb");
    assert_eq!(app.views.map.metric(), shardscope_report::figures::Figure::StepTime);
    let all: Vec<f64> = (0..app.views.map.progress().1).filter_map(|index| app.views.map.figure(index)).collect();
    assert_eq!(app.views.map.figure(app.views.map.cursor), all.iter().copied().reduce(f64::min));
}

fn step(app: &App) -> timeline::ShownStep<'_> {
    timeline::ShownStep::new(&app.answer.as_ref().unwrap().evaluation)
}

#[test]
fn the_timeline_zooms_pans_and_chooses() {
    let mut app = explorer();
    let window = |app: &App| app.timeline.window(step(app));
    let first = window(&app);
    press(&mut app, "4+");
    assert!((window(&app).width - first.width / 2.0).abs() < 1e-12);
    press(&mut app, "0");
    assert_eq!(window(&app), timeline::Window::WHOLE);
    press(&mut app, "0");
    assert_eq!(window(&app), first);
    press(&mut app, "g");
    let chosen = |app: &App| app.timeline.chosen(step(app)).unwrap()[0];
    let before = chosen(&app);
    press(&mut app, "l");
    assert!(chosen(&app).start >= before.end && chosen(&app).lane == before.lane);
    press(&mut app, "h");
    assert_eq!(chosen(&app), before);
    press(&mut app, "j");
    let rows = app.timeline.rows(step(&app));
    assert_eq!(chosen(&app).lane, rows[app.timeline.row(step(&app))].lane);
    press(&mut app, "<ret>");
    assert_eq!(app.timeline.rows(step(&app)), rows, "one rank has nothing to fold");
}

#[test]
fn the_timeline_shows_all_ranks_or_the_lanes_of_one() {
    let mut app = explorer_on(PIPELINE);
    let rows = |app: &App| app.timeline.rows(step(app));
    assert_eq!(rows(&app).len(), 8);
    assert!(rows(&app).iter().all(|row| row.lane == shardscope_engine::evaluate::Stream::Compute));
    press(&mut app, "4kkkkkkkkjjl");
    assert_eq!(app.timeline.rank(step(&app)), 2);
    let visit = app.timeline.chosen(step(&app)).unwrap();
    let (first, layers) = (visit[0], visit.iter().map(|span| span.activity.layer));
    // 96 layers over 8 ranks: rank 2 has 24 to 35, and visits them all for one micro-batch.
    assert_eq!((layers.clone().min(), layers.max()), (Some(24), Some(35)));
    assert!(visit.iter().all(|span| span.activity.micro_batch == first.activity.micro_batch && span.rank == 2));
    press(&mut app, "l");
    assert!(app.timeline.chosen(step(&app)).unwrap()[0].start > first.start);

    press(&mut app, "h<ret>");
    assert!(rows(&app).len() > 1 && rows(&app).iter().all(|row| row.rank == 2), "{:?}", rows(&app));
    assert_eq!(app.timeline.chosen(step(&app)).unwrap(), [first], "the visit's first layer stays chosen");
    let (window, moment) = (app.timeline.window(step(&app)), first.start / step(&app).time);
    assert!((window.start..window.start + window.width).contains(&moment), "and in sight");
    press(&mut app, "<ret>");
    assert_eq!(rows(&app).len(), 8);
}

/// [layered C3]: the overhead falls from (P - 1) / M = 7/16 to (P - 1) / (M K) = 7/64 with 4 stages per rank. [layered
/// C4]: rank 0 keeps the checkpoints of all 16 micro-batches instead of those of 8. Weights and gradients are whole, so
/// that no stage's buffer changes what the memory is made of.
#[test]
fn from_1f1b_to_breadth_first_the_bubble_shrinks_and_checkpoints_grow() {
    let mut app = explorer_on(&PIPELINE.replace("fsdp", "zero1"));
    let look = |app: &App| {
        let first = app.answer.as_ref().unwrap().evaluation.stages[0];
        (figures(app).time.bubble / figures(app).step_time, first.parts.activations, first.peak)
    };
    let before = look(&app);
    to_field(&mut app, "schedule");
    press(&mut app, "<ret>breadth<ret>");
    to_field(&mut app, "stages");
    press(&mut app, "ll");
    assert_eq!((value(&app, "schedule").as_str(), value(&app, "stages").as_str()), ("breadth-first", "4"));
    let after = look(&app);
    assert!(before.0 > 0.25 && after.0 < 0.5 * before.0, "bubble {before:?}, then {after:?}");
    assert!(after.1 > before.1 && after.2 > before.2, "checkpoints and peak {before:?}, then {after:?}");
}

/// [layered B5]: layered accumulation gathers once per layer and batch, where standard accumulation gathers for each of
/// 8 micro-batches.
#[test]
fn with_layered_accumulation_the_gathers_merge() {
    let mut app = explorer();
    to_field(&mut app, "accum");
    press(&mut app, "<ret>8<ret>");
    let gathers = |app: &App| step(app).trace.spans_on(0, shardscope_engine::evaluate::Stream::Gather).len() as f64;
    let before = gathers(&app);
    to_field(&mut app, "acc order");
    press(&mut app, "l");
    assert_eq!(value(&app, "acc order"), "layered");
    let ratio = before / gathers(&app);
    assert!((7.0..=9.0).contains(&ratio), "{before} gathers, then {}", gathers(&app));
}

/// The headline counts caveats; one key lists them as sentences, and says where there are none.
#[test]
fn caveats_are_listed_under_their_key() {
    let deepspeed = H100.replace("\"default\"", "\"deepspeed-zeropp-2023\"").replace("\"fsdp\"", "\"zero3\"");
    let mut app = explorer_on(&deepspeed.replace("selective", "full"));
    press(&mut app, "!");
    let Some(Layer::Page(page)) = &app.layer else { panic!("{:?}", app.notice) };
    assert_eq!(page.title, "What the model cannot say: 1");
    let text = page.lines.join(" ");
    assert!(text.contains("plain attention"), "{text}");
    let mut app = explorer();
    press(&mut app, "!");
    assert!(app.layer.is_none());
    assert_eq!(app.notice.as_deref(), Some("no caveats: the model can say all of what is shown"));
}
