//! Keys in, state out: no terminal, jobs run in line.

mod answers;
mod fields;
mod views;

use std::any::Any;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::app::action::{Command, JobReport};
use crate::app::answers::work::ViewJob;
use crate::app::layer::Layer;
use shardscope_engine::evaluate::Summary;
use shardscope_engine::scenario::{Field, file};
use shardscope_engine::search;
use shardscope_report::figures::Figure;

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
    let library = Arc::new(shardscope_presets::library());
    let file = file::parse(text).unwrap();
    let scenario = library.resolve(&file).unwrap();
    Start::new(library, file, scenario)
}

/// Does what the jobs' threads would do.
pub(crate) fn obey(app: &mut App, commands: Vec<Command>) {
    let mut waiting = commands;
    while !waiting.is_empty() {
        let reports = waiting.drain(..).flat_map(jobs::in_line).collect::<Vec<_>>();
        waiting = reports.into_iter().flat_map(|report| app.receive(report)).collect();
        waiting.extend(app.follow_cursor());
    }
}

/// Has the panels follow the map's cursor.
pub(crate) fn follow(app: &mut App) {
    let commands = app.follow_cursor();
    obey(app, commands);
}

/// The question of a command, where a view asks one of this kind.
pub(crate) fn question<T: ViewJob>(command: &Command) -> Option<&T> {
    let Command::Work { job, .. } = command else { return None };
    question_of(&**job)
}

pub(crate) fn question_of<T: ViewJob>(job: &dyn ViewJob) -> Option<&T> {
    (job as &dyn Any).downcast_ref()
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
        "del" => KeyCode::Delete,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
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

/// The field that the screen calls so.
pub(crate) fn field(label: &str) -> Field {
    Field::all().find(|field| field.spec().label == label).expect(label)
}

/// The value of a field on the screen.
pub(crate) fn value(app: &App, label: &str) -> String {
    app.inputs.text(field(label), &app.scenario)
}

pub(crate) fn figures(app: &App) -> Summary {
    app.answer.as_ref().unwrap().evaluation.summary
}

#[test]
fn it_opens_on_the_map_with_everything_answered() {
    let app = explorer();
    assert_eq!(app.focus, Panel::Map);
    assert!(!app.stale && app.views.map.is_complete() && !app.is_waiting());
    assert_eq!(app.views.map.home, Some(app.views.map.cursor));
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

fn help_top(app: &App) -> usize {
    let Some(Layer::Help(sheet)) = &app.layer else { panic!("no help: {:?}", app.layer) };
    sheet.top(&app.context())
}

#[test]
fn help_opens_scrolls_and_closes() {
    let mut app = explorer();
    press(&mut app, "?<down><down><down>");
    assert_eq!(help_top(&app), 3);
    press(&mut app, "<end><home>");
    assert_eq!(help_top(&app), 0);
    press(&mut app, "?");
    assert!(app.layer.is_some(), "what is typed filters the keys");
    press(&mut app, "<esc>");
    assert!(app.layer.is_none());
}

#[test]
fn the_help_scrolls_no_further_than_its_end() {
    let mut app = explorer();
    app.set_page(20);
    press(&mut app, "?<end>");
    let Some(Layer::Help(help)) = &app.layer else { panic!("no help") };
    // The line to type on stands over them.
    let lines = help.found(app.keymap.help_rows(app.panel_place(), false)).len() + 1;
    assert_eq!(help_top(&app) + 20, lines);
    press(&mut app, "<down><pgup>");
    // A page keeps one line of the one before.
    assert_eq!(help_top(&app) + 20 + 19, lines);
}

#[test]
fn q_quits_from_the_panels_and_is_text_where_one_types() {
    let mut app = explorer();
    assert_eq!(press(&mut app, "1gjjjjjj<ret>q"), []);
    assert_eq!(press(&mut app, "<esc>q"), [Command::Quit]);
    assert_eq!(press(&mut app, "?q"), []);
    assert_eq!(press(&mut app, "<c-c>"), [Command::Quit]);
    assert_eq!(press(&mut app, "<c-z>"), [Command::Suspend]);
}

/// Puts the cursor of the inputs on a field.
pub(crate) fn to_field(app: &mut App, label: &str) {
    press(app, "1");
    if let Some(field) = Field::all().find(|field| field.spec().label == label) {
        app.inputs.choose(field);
    } else {
        let index = app.inputs.rows().position(|row| row.label() == label).unwrap();
        press(app, &format!("g{}", "j".repeat(index)));
    }
    assert_eq!(app.inputs.row().label(), label);
}
