//! Keys in, state out: no terminal, jobs run in line.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Command, Report};
use super::*;
use crate::explain::Figure;
use crate::presets::Library;
use crate::scenario::file;
use crate::search;

/// 7 B parameters on 16 nodes: memory to spare, communication partly exposed.
pub(crate) const H100: &str = r#"
format = 1
cluster = "h100-80gb-dgx"
stack = "default"
model = "mpt-7b"
strategy = "fsdp"
[plan]
nodes = 16
micro_batch = 2
recompute = "selective"
tokens = 300e9
"#;

/// Three levels of sharding on a machine that has a package.
pub(crate) const FRONTIER: &str = r#"
format = 1
cluster = "mi250x-frontier"
stack = "deepspeed-zero3-2022"
model = "gpt-neox-20b"
strategy = "zero-topo"
[plan]
nodes = 48
accumulate = 8
recompute = "full"
sequence = 2048
"#;

/// 175 B parameters in a pipeline of eight ranks.
pub(crate) const PIPELINE: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "gpt3-175b"
strategy = "fsdp"
[plan]
nodes = 64
tensor = 8
pipeline = 8
accumulate = 16
recompute = "full"
"#;

/// The explorer on a scenario, with everything answered.
pub(crate) fn explorer_on(text: &str) -> App {
    let (mut app, commands) = App::new(start(text));
    obey(&mut app, commands);
    app
}

/// The explorer on a scenario of H100s.
pub(crate) fn explorer() -> App {
    explorer_on(H100)
}

pub(crate) fn start(text: &str) -> Start {
    let library = Arc::new(Library::embedded());
    let file = file::parse(text).unwrap();
    let scenario = library.resolve(&file).unwrap();
    Start { library, file, scenario, pins: Vec::new(), options: Options::default() }
}

/// Does what the jobs' threads would do.
pub(crate) fn obey(app: &mut App, commands: Vec<Command>) {
    let mut waiting = commands;
    while !waiting.is_empty() {
        let reports = waiting.drain(..).flat_map(jobs::in_line).collect::<Vec<_>>();
        waiting = reports.into_iter().flat_map(|report| app.hear(report)).collect();
        waiting.extend(app.follow_cursor());
    }
}

/// Has the panels follow the map's cursor.
pub(crate) fn follow(app: &mut App) {
    let commands = app.follow_cursor();
    obey(app, commands);
}

/// Presses keys: characters as they are, others as `<tab>`, `<s-tab>`, `<ret>`, `<esc>`, `<left>`, `<c-u>`...
/// Gives the commands of the last one.
pub(crate) fn press(app: &mut App, keys: &str) -> Vec<Command> {
    press_obeying(app, keys, |_| true)
}

/// The same, where only some commands are done.
pub(crate) fn press_obeying(app: &mut App, keys: &str, done: impl Fn(&Command) -> bool) -> Vec<Command> {
    let mut last = Vec::new();
    for key in parse(keys) {
        last = app.keymap.action(app.place(), key).map_or_else(Vec::new, |action| app.update(action));
        last.extend(app.follow_cursor());
        obey(app, last.iter().filter(|command| done(command)).cloned().collect());
    }
    last
}

fn parse(keys: &str) -> Vec<KeyEvent> {
    let mut parsed = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let (code, modifiers) = if let Some((name, after)) = named {
            rest = after;
            named_key(name)
        } else {
            rest = &rest[first.len_utf8()..];
            (KeyCode::Char(first), KeyModifiers::NONE)
        };
        parsed.push(KeyEvent::new(code, modifiers));
    }
    parsed
}

fn named_key(name: &str) -> (KeyCode, KeyModifiers) {
    let code = match name {
        "tab" => KeyCode::Tab,
        "s-tab" => return (KeyCode::BackTab, KeyModifiers::SHIFT),
        "ret" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "bs" => KeyCode::Backspace,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "lt" => KeyCode::Char('<'),
        control => {
            let letter = control.strip_prefix("c-").unwrap().chars().next().unwrap();
            return (KeyCode::Char(letter), KeyModifiers::CONTROL);
        }
    };
    (code, KeyModifiers::NONE)
}

/// What is explained on the screen: its title, the figure, and what that is.
pub(crate) fn explained(app: &App) -> (String, Figure, f64) {
    let Some(Layer::Explain(explaining)) = &app.layer else { panic!("no explanation: {:?}", app.notice) };
    let explanation = &explaining.page().unwrap().explanation;
    assert!(explanation.holds());
    (explaining.title().unwrap(), explanation.figure, explanation.amount.value)
}

/// The value of a field on the screen.
pub(crate) fn value(app: &App, label: &str) -> String {
    let index = inputs::FIELDS.iter().position(|field| field.label == label).unwrap();
    app.inputs.text(index, &app.scenario)
}

pub(crate) fn figures(app: &App) -> Summary {
    app.answer.as_ref().unwrap().evaluation.summary
}

#[test]
fn it_opens_on_the_map_with_everything_answered() {
    let app = explorer();
    assert_eq!(app.focus, Panel::Map);
    assert!(!app.stale && app.map.is_complete() && !app.is_waiting());
    assert_eq!(app.map.home, Some(app.map.cursor));
    assert_eq!(figures(&app).devices, 16 * 8);
}

#[test]
fn tab_goes_round_the_panels() {
    let mut app = explorer();
    for expected in [Panel::Memory, Panel::Timeline, Panel::Time, Panel::Inputs, Panel::Map] {
        press(&mut app, "<tab>");
        assert_eq!(app.focus, expected);
    }
    press(&mut app, "<s-tab>");
    assert_eq!(app.focus, Panel::Inputs);
    press(&mut app, "4");
    assert_eq!(app.focus, Panel::Timeline);
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
    let home = app.map.cursor;
    press(&mut app, "<right><up>");
    assert_ne!(app.map.cursor, home);
    assert_eq!(press(&mut app, "<esc><esc><esc>"), []);
    assert_eq!(app.map.cursor, home);
    assert_eq!(figures(&app).devices, 16 * 8);
}

#[test]
fn a_part_of_a_node_is_no_cell_but_can_be_left_and_come_back_to() {
    let mut app = explorer_on(&H100.replace("nodes = 16", "devices = 4"));
    assert_eq!((app.map.home, app.looking), (None, false));
    assert_eq!(value(&app, "nodes"), "4 devices");
    press(&mut app, "l");
    assert!(app.looking);
    press(&mut app, "<esc>");
    assert!(!app.looking);
    assert_eq!(figures(&app).devices, 4);
    press(&mut app, "1gjjjjl");
    assert_eq!(value(&app, "nodes"), "1");
}

#[test]
fn a_value_typed_unchanged_changes_nothing() {
    let mut app = explorer();
    let before = app.file.clone();
    assert_eq!(press(&mut app, "1gjjjj<ret><ret>"), []);
    assert_eq!((&app.file, app.inputs.changed.clone()), (&before, Vec::new()));
}

#[test]
fn the_cursor_stops_at_the_edges() {
    let mut app = explorer();
    press(&mut app, "gggkkkkkkkkkkk");
    assert_eq!(app.map.cursor, 0);
    press(&mut app, "hk");
    assert_eq!(app.map.cursor, 0);
    press(&mut app, "G<pgdn>lj");
    assert_eq!(app.map.cursor, app.map.width() * app.map.height() - 1);
}

#[test]
fn taking_a_cell_changes_no_figure_of_the_map() {
    let mut app = explorer_on(FRONTIER);
    let before = app.map.generation;
    press(&mut app, "j<ret>h<ret>");
    assert_eq!(app.map.generation, before, "the same cells need no new sweep");
    assert_eq!(app.map.home, Some(app.map.cursor));
}

#[test]
fn a_taken_cell_evaluates_as_it_did_on_the_map() {
    let mut app = explorer_on(FRONTIER);
    for keys in ["k", "jj", "l", "hh"] {
        press(&mut app, keys);
        let Some(Cell::Possible { summary, .. }) = app.map.cell(app.map.cursor).cloned() else { continue };
        assert_eq!(figures(&app), summary, "the cell under the cursor");
        press(&mut app, "<ret>");
        assert_eq!(figures(&app), summary, "the scenario that it became");
    }
}

#[test]
fn fields_step_through_valid_values() {
    let mut app = explorer();
    press(&mut app, "1gjjjj");
    assert_eq!(app.inputs.field().label, "nodes");
    press(&mut app, "l");
    assert_eq!(value(&app, "nodes"), "24");
    press(&mut app, "hh");
    assert_eq!(value(&app, "nodes"), "12");
    press(&mut app, "++-");
    assert_eq!(value(&app, "nodes"), "16");
    assert_eq!(app.inputs.changed, [4], "the changed field is marked");
}

#[test]
fn a_step_passes_over_values_that_cannot_be() {
    // MPT-7B has 32 heads: tensor parallelism over 64 and more is not possible.
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.field().label != "tp" {
        press(&mut app, "j");
    }
    press(&mut app, "llllllllllll");
    let tensor: u32 = value(&app, "tp").parse().unwrap();
    assert!((2..=32).contains(&tensor), "{tensor}");
    assert!(app.shown.is_ok() && app.inputs.wrong.is_empty());
    assert!(app.notice.as_ref().unwrap().contains("no valid value after"), "{:?}", app.notice);
}

#[test]
fn the_first_character_replaces_the_value_and_other_keys_edit_it() {
    let mut app = explorer();
    press(&mut app, "1gjjjj<ret>8<ret>");
    assert_eq!(value(&app, "nodes"), "8", "16 is gone");
    press(&mut app, "<ret><right>0<ret>");
    assert_eq!(value(&app, "nodes"), "80", "an arrow says that the value stays");
    press(&mut app, "<ret><bs><bs>12<ret>");
    assert_eq!(value(&app, "nodes"), "12");
    press(&mut app, "<ret>6<esc>");
    assert_eq!(value(&app, "nodes"), "12");
}

#[test]
fn a_typed_value_is_taken_and_a_wrong_one_stays_with_its_reason() {
    let mut app = explorer();
    press(&mut app, "1gjjjj<ret><c-u>8<ret>");
    assert_eq!(value(&app, "nodes"), "8");
    assert_eq!(figures(&app).devices, 64);
    let before = figures(&app);

    press(&mut app, "<ret><c-u>eight<ret>");
    assert_eq!(value(&app, "nodes"), "eight");
    assert!(app.inputs.wrong(4).unwrap().why.contains("whole number"), "{:?}", app.inputs.wrong);
    assert_eq!(figures(&app), before, "the scenario stays as it was");

    press(&mut app, "<ret><c-u>0<ret>");
    assert_eq!(value(&app, "nodes"), "0");
    assert!(app.shown.is_err() && app.stale, "the file holds a value that cannot be");
    assert_eq!(figures(&app), before, "the last picture stays");

    press(&mut app, "<ret><c-u>4<ret>");
    assert_eq!(value(&app, "nodes"), "4");
    assert!(app.inputs.wrong.is_empty() && !app.stale);
}

#[test]
fn a_wrong_value_is_mended_by_another_field() {
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.field().label != "tp" {
        press(&mut app, "j");
    }
    // 3 divides neither 128 devices nor 32 heads.
    press(&mut app, "<ret><c-u>3<ret>");
    assert!(app.shown.is_err());
    press(&mut app, "h");
    assert_eq!(value(&app, "tp"), "2");
    assert!(app.shown.is_ok());
}

#[test]
fn a_list_is_searched_and_taken() {
    let mut app = explorer();
    press(&mut app, "1gjj<ret>");
    assert_eq!(app.place(), Place::List);
    press(&mut app, "/LLAMA-2-13");
    assert_eq!(app.place(), Place::Search);
    let Some(Layer::List(list)) = &app.layer else { panic!("no list") };
    assert_eq!(list.found(), ["llama-2-13b"], "q, j and / are text here, in any case");
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "model"), "llama-2-13b");
    assert_eq!(app.scenario.model.name, figures_model(&app));
}

fn figures_model(app: &App) -> String {
    app.answer.as_ref().unwrap().scenario.model.name.clone()
}

#[test]
fn closing_a_list_changes_nothing() {
    let mut app = explorer();
    let before = app.file.clone();
    press(&mut app, "1<ret>jjj/zzz<ret>");
    assert!(matches!(app.layer, Some(Layer::List(_))), "nothing found: nothing taken");
    press(&mut app, "<esc><esc>");
    assert!(app.layer.is_none());
    assert_eq!(app.file, before);
}

#[test]
fn help_opens_scrolls_and_closes() {
    let mut app = explorer();
    press(&mut app, "?jjj");
    assert!(matches!(app.layer, Some(Layer::Help(3))));
    press(&mut app, "Gg");
    assert!(matches!(app.layer, Some(Layer::Help(0))));
    press(&mut app, "?");
    assert!(app.layer.is_none());
}

#[test]
fn the_help_scrolls_no_further_than_its_end() {
    let mut app = explorer();
    let lines: usize = app.keymap.help(app.place()).map(|(_, lines)| lines.len() + 1).sum();
    app.set_page(20);
    press(&mut app, "?G");
    assert!(matches!(app.layer, Some(Layer::Help(line)) if line + 20 == lines), "{:?}", app.layer);
    press(&mut app, "j<pgup>");
    // A page keeps one line of the one before.
    assert!(matches!(app.layer, Some(Layer::Help(line)) if line + 20 + 19 == lines), "{:?}", app.layer);
}

#[test]
fn what_does_not_fit_says_by_how_much_and_what_would_mend_it() {
    // 70 B parameters x 16 bytes = 1120 GB on the 8 devices of one node, which have 64 GiB each.
    let mut app = explorer_on(&FRONTIER.replace("gpt-neox-20b", "mpt-70b").replace("nodes = 48", "nodes = 1"));
    let summary = figures(&app);
    assert!(!summary.fits);
    app.mend = None;
    let excess = app.excess(&summary).unwrap();
    assert!(excess.ends_with("too many"), "{excess}");
    let mend = search::Mend(vec![search::Change { flag: "nodes", value: "4".to_owned() }]);
    app.hear(Report::Mended { generation: app.question + 1, mend: mend.clone() });
    assert_eq!(app.mend, None, "the mend of another question");
    app.hear(Report::Mended { generation: app.question, mend });
    assert_eq!(app.excess(&summary).unwrap(), format!("{excess}: nodes 4 would fit"));
    let commands = app.update(action::Action::Right);
    assert_eq!(app.mend, None, "another cell, another mend");
    obey(&mut app, commands);
}

#[test]
fn q_quits_from_the_panels_and_is_text_where_one_types() {
    let mut app = explorer();
    assert_eq!(press(&mut app, "1gjjjj<ret>q"), []);
    assert_eq!(press(&mut app, "<esc>q"), [Command::Quit]);
    assert_eq!(press(&mut app, "?q"), [Command::Quit]);
    assert_eq!(press(&mut app, "<c-c>"), [Command::Quit]);
    assert_eq!(press(&mut app, "<c-z>"), [Command::Suspend]);
}

#[test]
fn export_waits_for_the_figures() {
    let mut app = explorer();
    assert!(matches!(press(&mut app, "e")[..], [Command::Export(_)]));
    app.stale = true;
    assert_eq!(press(&mut app, "e"), []);
    assert!(app.notice.as_ref().unwrap().contains("still computing"));
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
    for keys in ["l", "1gjjjjl", "S", "1gjjjj<ret>3<ret>"] {
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
    assert_eq!(app.notice.as_deref(), Some("let go of the pinned scenario"));
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
    let cell = app.map.cell(0).cloned();
    // With another sequence length every cell changes, none of the axes does.
    to_field(&mut app, "seq");
    let commands = app.update(action::Action::Right);
    assert_eq!(app.map.progress().0, 0);
    assert_eq!(app.map.cell(0).cloned(), cell, "the old cell is still there");
    assert!(app.is_waiting() && app.stale);
    obey(&mut app, commands);
    assert!(app.map.is_complete());
}

#[test]
fn a_broken_job_is_told_and_survived() {
    let mut app = explorer();
    let generation = app.map.generation;
    app.hear(Report::Failed { generation, job: "the map", message: "index out of bounds".to_owned() });
    assert!(app.notice.as_ref().unwrap().contains("the map broke down: index out of bounds"));
    press(&mut app, "l");
    assert_eq!(figures(&app).devices, 32 * 8);
}

#[test]
fn the_metric_changes_and_the_best_cell_follows() {
    let mut app = explorer();
    press(&mut app, "b");
    let best = app.map.cursor;
    let all: Vec<f64> = (0..app.map.progress().1).filter_map(|index| app.map.figure(index)).collect();
    assert_eq!(app.map.figure(best), all.iter().copied().reduce(f64::max));
    press(&mut app, "mmb");
    assert_eq!(app.map.metric, search::Metric::StepTime);
    let all: Vec<f64> = (0..app.map.progress().1).filter_map(|index| app.map.figure(index)).collect();
    assert_eq!(app.map.figure(app.map.cursor), all.iter().copied().reduce(f64::min));
}

fn step(app: &App) -> timeline::Step<'_> {
    timeline::Step::of(&app.answer.as_ref().unwrap().evaluation)
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
    assert!(rows(&app).iter().all(|row| row.lane == crate::evaluate::Lane::Compute));
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

#[test]
fn a_view_takes_the_maps_place_and_escape_gives_it_back() {
    let mut app = explorer();
    press(&mut app, "4L");
    assert_eq!((app.view, app.focus), (View::Limits, Panel::Map));
    assert_eq!(app.place(), Place::View(View::Limits));
    press(&mut app, "l3<esc>");
    assert_eq!((app.view, app.focus), (View::Map, Panel::Memory), "whatever has the keys");
    press(&mut app, "2");
    assert_eq!(app.place(), Place::Panel(Panel::Map));
    // The list of views, by name.
    press(&mut app, "v/hard<ret>");
    assert_eq!((app.view, app.layer.is_none()), (View::Hardware, true));
    press(&mut app, "M");
    assert_eq!(app.view, View::Map);
    press(&mut app, "Lb");
    assert_eq!(app.view, View::Map, "the best cell is one of the map");
}

/// Each reproduction of a publication is a scenario that the explorer opens on.
#[test]
fn it_opens_on_each_reproduction() {
    for (id, devices) in [("frontier-20b-384", 384), ("zeropp-18b-v100", 64), ("osdp-48x1536", 8)] {
        let text = Library::embedded().scenario_text(id).unwrap().text.clone();
        let (mut app, commands) = App::new(start(&text));
        obey(&mut app, commands.into_iter().filter(|one| matches!(one, Command::Evaluate { .. })).collect());
        assert!(!app.stale && figures(&app).fits && figures(&app).devices == devices, "{id}");
        assert_eq!(app.inputs.wrong, [], "{id}");
        assert!(app.file.published.as_ref().is_some_and(|published| !published.figures.is_empty()), "{id}");
    }
}

#[test]
fn every_view_has_a_key_and_a_line_in_the_list() {
    for view in View::ALL {
        let mut app = explorer();
        let key = app.keymap.key_of(view, false).to_owned();
        let shown =
            |app: &mut App, keys: &str| press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }));
        shown(&mut app, &key);
        assert_eq!(app.view, view);
        shown(&mut app, "v<ret>");
        assert_eq!(app.view, view, "the list begins where one is");
        assert!(!view.about().is_empty());
    }
}

#[test]
fn a_views_work_is_asked_for_when_it_is_shown_and_follows_the_scenario() {
    let mut app = explorer();
    let asks = |commands: &[Command]| commands.iter().any(|command| matches!(command, Command::Work { .. }));
    assert!(asks(&app.update(action::Action::View(View::Hardware))) && app.is_waiting());
    assert!(asks(&app.update(action::Action::View(View::Hardware))), "what never came is asked for again");
    press(&mut app, "H");
    assert!(app.views.hardware.is_complete() && !app.is_waiting());
    assert_eq!(press(&mut app, "H"), [], "it is known");
    to_field(&mut app, "seq");
    assert!(asks(&press(&mut app, "l")), "another sequence length");
    press(&mut app, "<esc>");
    assert!(!asks(&press(&mut app, "l")), "nobody looks at it");
    let old = Report::Found { generation: 1, found: work::Found::Hardware(Vec::new()) };
    app.hear(old);
    assert!(asks(&app.update(action::Action::View(View::Hardware))));
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

/// Puts the cursor of the inputs on a field.
pub(crate) fn to_field(app: &mut App, label: &str) {
    let index = inputs::FIELDS.iter().position(|field| field.label == label).unwrap();
    press(app, &format!("1g{}", "j".repeat(index)));
    assert_eq!(app.inputs.field().label, label);
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
    press(&mut app, "<ret>/breadth<ret>jll");
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
    let gathers = |app: &App| step(app).trace.spans_on(0, crate::evaluate::Lane::Gather).len() as f64;
    let before = gathers(&app);
    to_field(&mut app, "order");
    press(&mut app, "l");
    assert_eq!(value(&app, "order"), "layered");
    let ratio = before / gathers(&app);
    assert!((7.0..=9.0).contains(&ratio), "{before} gathers, then {}", gathers(&app));
}

/// Whether a choice counts stands beside it: without a pipeline its schedule does not, and layer by layer a pipeline
/// runs breadth first whatever it says.
#[test]
fn a_choice_without_effect_is_shown_as_such_with_its_reason() {
    let field = |label: &str| inputs::FIELDS.iter().find(|field| field.label == label).unwrap();
    let aside = |app: &App, label: &str| field(label).aside(&value(app, label), &app.scenario, &app.library);
    let app = explorer();
    assert_eq!(aside(&app, "schedule"), "unused");
    let why = "schedule has no effect; choose 2 or more pipeline ranks: there is no pipeline";
    assert_eq!(field("schedule").about(&app.scenario).as_deref(), Some(why));
    assert_eq!((aside(&app, "stages"), field("stages").about(&app.scenario)), (String::new(), None), "one is one");
    let app = explorer_on(&format!("{PIPELINE}\nstages_per_rank = 4\n"));
    assert_eq!((aside(&app, "schedule").as_str(), aside(&app, "stages").as_str()), ("", "unused"));
    let app = explorer_on(&format!("{PIPELINE}\nstages_per_rank = 4\naccumulation = \"layered\"\n"));
    assert_eq!((aside(&app, "schedule").as_str(), aside(&app, "stages").as_str()), ("unused", ""));
    assert!(field("schedule").about(&app.scenario).unwrap().contains("runs breadth-first"));
}

#[test]
fn a_changed_network_has_a_field_that_puts_it_back() {
    let mut app = explorer();
    to_field(&mut app, "network");
    let field = app.inputs.field();
    // The interconnect of the H100s has 50 GB/s a device.
    assert_eq!(field.aside("1", &app.scenario, &app.library), "= 50.0 GB/s");
    press(&mut app, "h");
    assert_eq!((value(&app, "network").as_str(), app.scenario.altered()), ("0.5", Some("system x 0.5".to_owned())));
    assert_eq!(field.aside("0.5", &app.scenario, &app.library), "= 25.0 GB/s");
    press(&mut app, "l");
    assert_eq!((app.file.plan.bandwidth_factor, app.scenario.altered()), (None, None));
    app.scenario.plan.bandwidth_factor = 0.123_456_789;
    assert_eq!(app.scenario.altered().as_deref(), Some("system x 0.123"));
}
