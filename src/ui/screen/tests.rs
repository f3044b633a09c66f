//! Whole screens at the three sizes, in both character sets, in each state.

mod any_input;
mod fixture;
mod layers;
mod styles;
mod titles;
mod views;

use super::*;
use crate::app::action::Action;
use crate::app::state::pointing::Gesture;
use crate::app::tests as engine;
use crate::config::Markers;
use crate::ui::caps::Depth;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use shardscope_engine::evaluate::TaskKind;
use shardscope_engine::search::Cell;
use shardscope_report::figures::Figure;

const UTF8: Caps =
    Caps { depth: Depth::C256, ascii: false, light: false, markers: Markers::Braille, low_bandwidth: false };

const ASCII: Caps =
    Caps { depth: Depth::None, ascii: true, light: false, markers: Markers::Ascii, low_bandwidth: false };

fn screen(app: &App, caps: Caps, (width, height): (u16, u16)) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = |frame: &mut Frame<'_>| {
        draw(app, &caps, frame);
        hide_counts(frame.buffer_mut());
    };
    terminal.draw(drawn).unwrap();
    terminal.backend().clone()
}

/// Hides how many fields are folded away, and how many commands are found, so that a new field changes the helps alone.
fn hide_counts(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width.max(1));
    for row in buffer.content.chunks_mut(width) {
        let line: Vec<char> = row.iter().map(|cell| cell.symbol().chars().next().unwrap_or(' ')).collect();
        let text = |part: &[char]| part.iter().collect::<String>();
        let whole = text(&line);
        let (folded, commands) = (whole.contains(" more "), whole.contains(" Commands "));
        for at in (0..line.len()).filter(|at| (folded || commands) && line[*at].is_ascii_digit()) {
            let (before, after) = (text(&line[..at]), text(&line[at..]));
            let before = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if before.trim_end().ends_with(" more") || commands && after.starts_with(" found") {
                row[at].set_symbol("#");
            }
        }
    }
}

/// The screen after some keys that ask the engine nothing.
fn after(keys: &str, size: (u16, u16)) -> TestBackend {
    shown(fixture::explorer(), keys, UTF8, size)
}

fn shown(mut app: App, keys: &str, caps: Caps, size: (u16, u16)) -> TestBackend {
    engine::press(&mut app, keys);
    screen(&app, caps, size)
}

#[test]
fn compact() {
    insta::assert_snapshot!(screen(&fixture::explorer(), UTF8, (80, 24)));
}

#[test]
fn wide() {
    insta::assert_snapshot!(screen(&fixture::explorer(), UTF8, (120, 40)));
}

#[test]
fn large() {
    insta::assert_snapshot!(screen(&fixture::explorer(), UTF8, (200, 50)));
}

#[test]
fn ascii() {
    let shown = screen(&fixture::explorer(), ASCII, (80, 24));
    assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!(shown);
    assert!(
        screen(&fixture::explorer(), ASCII, (200, 50)).buffer().content.iter().all(|cell| cell.symbol().is_ascii())
    );
}

/// The newcomer's screen of 100 by 30 had a hole of seven rows in the map.
#[test]
fn a_map_that_leaves_rows_has_the_memory_under_it() {
    let app = fixture::explorer();
    let panels = |width, height| {
        let places = ScreenPlaces::new(&app, Rect { x: 0, y: 0, width, height }).unwrap();
        places.panels.into_iter().map(|(panel, area)| (panel, area.height)).collect::<Vec<_>>()
    };
    assert_eq!(panels(80, 24).len(), 1, "what is left is the summary's");
    let [(Panel::Map, map), (Panel::Memory, memory)] = panels(100, 30)[..] else { panic!("{:?}", panels(100, 30)) };
    assert_eq!(
        (map, map + memory),
        (crate::ui::panels::views::height(&app), 24),
        "the map has what it needs, and the memory the rest"
    );
    let all: Vec<Panel> = panels(100, 60).into_iter().map(|(panel, _)| panel).collect();
    assert_eq!(all, [Panel::Map, Panel::Memory, Panel::Timeline]);
}

#[test]
fn too_small() {
    insta::assert_snapshot!(screen(&fixture::explorer(), UTF8, (30, 4)));
}

#[test]
fn nothing_answered_yet() {
    insta::assert_snapshot!(screen(&fixture::waiting(), UTF8, (80, 24)));
}

#[test]
fn a_value_that_cannot_be() {
    // 7 ranks of tensor parallelism do not divide 384 devices.
    insta::assert_snapshot!(after("1:tp 7<ret>", (80, 24)));
}

#[test]
fn a_pinned_scenario() {
    insta::assert_snapshot!(after("p", (120, 40)));
}

#[test]
fn a_chosen_span() {
    insta::assert_snapshot!(after("4jl", (80, 24)));
}

#[test]
fn a_pipelines_ranks() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "4jl", UTF8, (80, 24)));
}

#[test]
fn a_pipelines_ranks_in_ascii() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "4", ASCII, (80, 24)));
}

/// More ranks than rows scroll: they leave a row for what the marks mean.
#[test]
fn the_marks_are_explained_however_many_ranks_there_are() {
    let many = engine::PIPELINE.replace("pipeline = 8", "pipeline = 16");
    let shown = shown(engine::explorer_on(&many), "4", UTF8, (80, 24));
    let text = crate::ui::export::text(shown.buffer());
    assert!(text.contains("rank 0 of 16") && text.contains("forward") && text.contains("both"), "{text}");
}

#[test]
fn a_pipelines_rank_with_its_lanes() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "4jl<ret>", UTF8, (120, 40)));
}

#[test]
fn the_memory() {
    insta::assert_snapshot!(after("3", (80, 24)));
}

#[test]
fn the_memory_of_a_pipeline() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "3j", UTF8, (80, 24)));
}

#[test]
fn a_pipeline() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "", UTF8, (120, 40)));
}

#[test]
fn the_views() {
    insta::assert_snapshot!(after("v", (80, 24)));
}

#[test]
fn the_help() {
    insta::assert_snapshot!(after("?", (80, 24)));
}

#[test]
fn a_list_that_is_filtered() {
    insta::assert_snapshot!(after("1g<ret>20b", (80, 24)));
}

#[test]
fn a_value_being_typed() {
    let mut app = fixture::explorer();
    engine::press(&mut app, "1gjjjjjj<ret>");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&app, &UTF8, frame)).unwrap();
    insta::assert_snapshot!(terminal.backend());
    let at = terminal.get_cursor_position().unwrap();
    let before = terminal.backend().buffer()[(at.x - 1, at.y)].symbol();
    assert_eq!(before, "8", "the text cursor stands behind the last digit of 48");
}

/// What the whole job takes stands in the headline of every size, with a pinned scenario too.
#[test]
fn the_headline_says_what_the_whole_job_takes() {
    for (size, pinned) in [((80, 24), false), ((80, 24), true), ((120, 40), true), ((200, 50), true)] {
        let mut app = fixture::explorer();
        let answer = app.answer.as_mut().unwrap();
        let cluster = std::sync::Arc::make_mut(&mut answer.scenario.cluster);
        cluster.price_per_device_hour = "2.50 EUR".parse().ok();
        cluster.watts_per_device = "1.2 kW".parse().ok();
        if pinned {
            let mut slower = shardscope_engine::evaluate::Evaluation::clone(&answer.evaluation);
            slower.summary.tokens_per_s_per_device /= 1.5;
            let scenario = app.scenario.clone();
            app.pins.add("before".to_owned(), scenario, Some(std::sync::Arc::new(slower)));
        }
        let shown = screen(&app, UTF8, size).to_string();
        let rows = usize::from(crate::ui::panels::headline::height(size.1));
        let head = shown.lines().take(rows).collect::<Vec<_>>().join(" ");
        // A step is 6,291,456 tokens in 6.84 s, 919,804 a second: 300e9 tokens take 326,156 s, 90.60 h or 3.77 days. On 384
        // devices these are 34,790 device-hours, at 2.50 EUR 86,975 EUR, at 1.2 kW 41,748 kWh.
        for word in
            ["3.77 days", "34,790 device-hours", "86,975 EUR", "41.7 MWh", "920k tokens/s", "57.1 TFLOP/s", "6.84 s"]
        {
            // On 80 x 24 the four answers stand alone: the panel of the time has the rest.
            let is_answer = ["3.77 days", "57.1 TFLOP/s"].contains(&word);
            assert!(head.contains(word) || size.1 < 34 && !is_answer, "{word} at {size:?}: {head}");
        }
        // On 80 columns the difference to the pinned scenario takes the place of what limits the step.
        assert!(head.contains("limit") || (pinned && size.0 < 110), "{size:?}: {head}");
        assert_eq!(head.contains("+50 %"), pinned, "{size:?}: {head}");
    }
}

#[test]
fn how_long_a_gather_is_held_is_said_before_what_it_is_for() {
    let mut app = engine::explorer();
    engine::press(&mut app, "4jgll");
    let spans = &app.answer.as_ref().unwrap().evaluation.trace.spans;
    let first = |kind: TaskKind| {
        let of_layer =
            |span: &&shardscope_engine::evaluate::Span| (span.activity.kind, span.activity.layer) == (kind, 1);
        spans.iter().find(of_layer).unwrap()
    };
    let held = first(TaskKind::Forward).start - first(TaskKind::AllGather).end;
    let text = crate::ui::export::text(screen(&app, UTF8, (80, 24)).buffer());
    assert!(text.contains("all-gather, layer 1"), "{text}");
    assert!(text.contains(&format!("hidden; used {held} later by forward, layer 1, at ")), "{text}");
}

/// Forward of layer 37 runs from 6.387 s to 6.498 s: zoomed, the window is a part of that.
#[test]
fn a_narrow_window_has_the_digits_that_tell_its_ends_apart() {
    let text = crate::ui::export::text(after("4Ghhz++", (80, 24)).buffer());
    assert!(text.contains(" 6.417 – 6.468 s, exposed 0 s of 410 ms "), "{text}");
    assert!(text.contains("forward, layer 37, micro-batch 0: 111 ms, at 6.387 s"), "{text}");
}

/// The fixture's first rank has the last backwards; the timeline goes to another one.
#[test]
fn where_the_step_goes_is_of_the_rank_that_ends_last() {
    let text = crate::ui::export::text(shown(fixture::pipeline(), "4jj", UTF8, (120, 40)).buffer());
    assert!(text.contains("rank 2 of 4: bubble"), "{text}");
    let title = text.lines().find(|line| line.contains("5 Where the step goes")).unwrap();
    assert!(title.contains(" rank 0 "), "{title}");
}
