//! Whole screens at the three sizes, in both character sets, in each state; and no panic at any size.

mod fixture;
mod hostile;
mod layers;
mod spans;
mod titles;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::*;
use crate::app::action::Action;
use crate::app::pointing::Gesture;
use crate::app::tests as engine;
use crate::config::Markers;
use crate::figures::Figure;
use crate::search::Cell;
use crate::ui::caps::Depth;

const UTF8: Caps =
    Caps { depth: Depth::C256, ascii: false, light: false, markers: Markers::Braille, low_bandwidth: false };
const ASCII: Caps =
    Caps { depth: Depth::None, ascii: true, light: false, markers: Markers::Ascii, low_bandwidth: false };

fn screen(app: &App, caps: Caps, (width, height): (u16, u16)) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, &caps, frame)).unwrap();
    terminal.backend().clone()
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
    insta::assert_snapshot!(after("1Gkkkkkkkkkkkk<ret><c-u>7<ret>", (80, 24)));
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
fn the_limits() {
    insta::assert_snapshot!(after("L", (80, 24)));
}

#[test]
fn the_limits_of_less_sharding() {
    insta::assert_snapshot!(after("Ljjhjjj", (80, 24)));
}

#[test]
fn the_grid() {
    insta::assert_snapshot!(after("Fj", (80, 24)));
}

#[test]
fn the_grid_beside_the_other_panels() {
    insta::assert_snapshot!(shown(fixture::explorer(), "F", ASCII, (120, 40)));
}

#[test]
fn the_limits_beside_the_other_panels() {
    insta::assert_snapshot!(after("Ljl", (120, 40)));
}

#[test]
fn the_limits_of_a_pipeline() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "L", UTF8, (80, 24)));
}

#[test]
fn the_strategies() {
    insta::assert_snapshot!(screen(&fixture::strategies(), UTF8, (80, 24)));
}

#[test]
fn the_strategies_beside_the_other_panels() {
    insta::assert_snapshot!(screen(&fixture::strategies(), ASCII, (120, 40)));
}

#[test]
fn the_strategies_on_a_large_screen() {
    insta::assert_snapshot!(screen(&fixture::strategies(), UTF8, (200, 50)));
}

#[test]
fn the_traffic() {
    insta::assert_snapshot!(screen(&fixture::traffic(), UTF8, (80, 24)));
}

#[test]
fn the_traffic_beside_the_other_panels() {
    insta::assert_snapshot!(screen(&fixture::traffic(), ASCII, (120, 40)));
}

#[test]
fn the_traffic_of_the_host() {
    insta::assert_snapshot!(screen(&fixture::copies(), UTF8, (80, 24)));
}

#[test]
fn the_traffic_on_a_large_screen() {
    insta::assert_snapshot!(shown(fixture::explorer(), "T", UTF8, (200, 50)));
}

/// A cell's limit is what a better schedule reaches; the line under the map says what sets it.
#[test]
fn a_limit_says_what_sets_it() {
    let mut app = fixture::explorer();
    app.views.map.metric = Figure::ShareOfLimit;
    let line = |app: &App| {
        let shown = screen(app, UTF8, (200, 50));
        let row = shown.buffer().content.chunks(200).nth(48).unwrap();
        row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
    };
    assert!(line(&app).contains("% of the limit, set by arithmetic"), "{}", line(&app));
    let Some(Cell::Possible { mut summary, choice }) = app.views.map.cell(app.views.map.cursor).cloned() else {
        panic!()
    };
    summary.host.from.busy = summary.step_time;
    app.views.map.fill(vec![(app.views.map.cursor, Cell::Possible { summary, choice })]);
    assert!(line(&app).contains("% of the limit, set by the link to the host"), "{}", line(&app));
}

/// Where a factor was typed it has more digits than anybody wants to read.
#[test]
fn the_training_time_asks_of_a_network_in_few_digits() {
    let mut app = fixture::network(1.0 / 3.0);
    app.update(Action::View(crate::app::views::training::SPEC.id));
    let shown = screen(&app, UTF8, (200, 50)).to_string();
    assert!(shown.contains("GB/s (x 0.333)"), "{shown}");
}

#[test]
fn the_hardware() {
    insta::assert_snapshot!(screen(&fixture::hardware(), UTF8, (80, 24)));
}

#[test]
fn the_hardware_in_ascii_beside_the_other_panels() {
    insta::assert_snapshot!(screen(&fixture::hardware(), ASCII, (120, 40)));
}

#[test]
fn the_intensities() {
    insta::assert_snapshot!(shown(fixture::pipeline(), "Ij", UTF8, (80, 24)));
}

#[test]
fn the_failures() {
    insta::assert_snapshot!(shown(fixture::explorer(), "Rl", UTF8, (80, 24)));
    insta::assert_snapshot!(shown(fixture::explorer(), "R", ASCII, (120, 40)));
}

#[test]
fn the_best_plans() {
    insta::assert_snapshot!(shown(fixture::best(false, false), "jj", UTF8, (80, 24)));
    insta::assert_snapshot!(shown(fixture::best(true, true), "jl j", UTF8, (80, 24)));
    insta::assert_snapshot!(shown(fixture::best(true, true), "j", ASCII, (120, 40)));
    insta::assert_snapshot!(shown(fixture::best(true, true), "lllll", UTF8, (200, 50)));
}

#[test]
fn the_training_time() {
    insta::assert_snapshot!(shown(fixture::training(), "jjjjh", UTF8, (80, 24)));
}

#[test]
fn the_training_time_beside_the_other_panels() {
    insta::assert_snapshot!(shown(fixture::training(), "jjjj", UTF8, (120, 40)));
}

#[test]
fn the_training_time_on_a_large_screen() {
    insta::assert_snapshot!(shown(fixture::training(), "jhh", UTF8, (200, 50)));
}

#[test]
fn the_training_time_in_ascii() {
    let shown = shown(fixture::training(), "", ASCII, (80, 24));
    assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!(shown);
}

#[test]
fn the_training_time_of_a_new_question() {
    let mut app = fixture::training();
    app.update(Action::Metric);
    insta::assert_snapshot!(screen(&app, UTF8, (80, 24)));
}

#[test]
fn a_changed_network() {
    insta::assert_snapshot!(shown(fixture::network(0.5), "1gjjjjj", UTF8, (120, 40)));
}

#[test]
fn a_changed_network_with_little_room() {
    insta::assert_snapshot!(screen(&fixture::network(0.5), UTF8, (80, 24)));
}

#[test]
fn the_plan() {
    insta::assert_snapshot!(screen(&fixture::planned(), UTF8, (80, 24)));
}

#[test]
fn the_plan_beside_the_other_panels() {
    insta::assert_snapshot!(shown(fixture::planned(), "[[j", UTF8, (120, 40)));
}

#[test]
fn the_plan_on_a_large_screen() {
    insta::assert_snapshot!(shown(fixture::planned(), "[G", UTF8, (200, 50)));
}

#[test]
fn the_plan_in_ascii() {
    let shown = shown(fixture::planned(), "[[jj", ASCII, (80, 24));
    assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!(shown);
}

#[test]
fn the_plan_where_nothing_fits() {
    insta::assert_snapshot!(shown(fixture::planned(), "[[[[[[[[[[[[", UTF8, (80, 24)));
}

#[test]
fn the_evidence() {
    insta::assert_snapshot!(shown(fixture::evidence(), "lllll", UTF8, (80, 24)));
}

#[test]
fn the_evidence_of_some_runs_beside_the_other_panels() {
    insta::assert_snapshot!(shown(fixture::evidence(), "dl", UTF8, (120, 40)));
}

#[test]
fn the_evidence_as_ratios_on_a_large_screen() {
    insta::assert_snapshot!(shown(fixture::evidence(), "rkkkk", UTF8, (200, 50)));
}

#[test]
fn the_evidence_in_ascii() {
    let shown = shown(fixture::evidence(), "G", ASCII, (80, 24));
    assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
    insta::assert_snapshot!(shown);
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
fn a_list_and_its_search() {
    insta::assert_snapshot!(after("1gjj<ret>/20b", (80, 24)));
}

#[test]
fn a_value_being_typed() {
    let mut app = fixture::explorer();
    engine::press(&mut app, "1gjjjj<ret>");
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&app, &UTF8, frame)).unwrap();
    insta::assert_snapshot!(terminal.backend());
    let at = terminal.get_cursor_position().unwrap();
    let before = terminal.backend().buffer()[(at.x - 1, at.y)].symbol();
    assert_eq!(before, "8", "the text cursor stands behind the last digit of 48");
}

#[test]
fn the_cursor_is_reversed_without_colours() {
    let shown = screen(&fixture::explorer(), Caps { depth: Depth::None, ..UTF8 }, (120, 40));
    let reversed = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED);
    let text: String = shown.buffer().content.iter().filter(reversed).map(ratatui::buffer::Cell::symbol).collect();
    // Row `package`, column 48 nodes: 66 - 6 - 4.
    assert!(text.contains("56"), "{text:?}");
}

/// Keys that lead everywhere.
const KEYS: [&str; 54] = [
    "h", "j", "k", "l", "g", "G", "<pgup>", "<pgdn>", "<c-u>", "<c-d>", "<tab>", "<s-tab>", "1", "2", "3", "4",
    "<ret>", "<esc>", "+", "-", "0", "m", "b", "p", "e", "?", "/", "v", "L", "F", "H", "I", "9", "é", "<bs>", "<left>",
    "<right>", "<up>", "<down>", "c", "W", "S", "M", "o", ":", "s", "i", "u", "U", "w", "!", "&", "5", "x",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn plan_and_evidence_are_drawn_on_any_size(size in (0_u16..=300, 0_u16..=100), keys in vec(select(&["[", "]", "j"][..]), 0..12)) {
        shown(fixture::planned(), &keys.concat(), UTF8, size);
        shown(fixture::evidence(), &keys.concat(), UTF8, size);
    }

    #[test]
    fn nothing_panics_at_any_size_after_any_keys(
        keys in vec(select(&KEYS[..]), 0..12),
        sizes in vec((0_u16..=500, 0_u16..=200), 1..3),
        narrow in (0_u16..=45, 0_u16..=45),
        depth in select(&[Depth::None, Depth::C16, Depth::C256, Depth::True][..]),
        markers in select(&[Markers::Braille, Markers::Block, Markers::Dot][..]),
        switches: (bool, bool),
        pointer in (0_u16..=220, 0_u16..=60),
    ) {
        let (ascii, light) = switches;
        let caps = Caps { ascii, depth, light, markers, low_bandwidth: false };
        let mut app = engine::explorer();
        // What is typed is the user's own: it stays as it is, on a terminal that is only sent ASCII too.
        let ascii = ascii && keys.iter().all(|key| key.is_ascii());
        for key in keys {
            engine::press(&mut app, key);
            screen(&app, caps, narrow);
            let target = crate::ui::pointing::target(&app, &caps, (120, 40), pointer);
            app.point(target, Gesture::Click);
            engine::follow(&mut app);
        }
        for size in sizes {
            let shown = screen(&app, caps, size);
            if ascii {
                prop_assert!(shown.buffer().content.iter().all(|cell| cell.symbol().is_ascii()));
            }
            if depth == Depth::None {
                let plain = |cell: &ratatui::buffer::Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
                prop_assert!(shown.buffer().content.iter().all(plain));
            }
        }
    }
}

/// The style runs of a few rows: what text alone does not show.
fn styles(app: &App, caps: Caps, rows: std::ops::Range<u16>) -> ratatui::buffer::Buffer {
    let shown = screen(app, caps, (80, 24));
    let mut crop = ratatui::buffer::Buffer::empty(Rect::new(0, 0, 80, rows.end - rows.start));
    for (to, from) in rows.enumerate() {
        for x in 0..80 {
            crop[(x, to as u16)] = shown.buffer()[(x, from)].clone();
        }
    }
    crop
}

#[test]
fn the_cursors_cell_and_its_neighbours_by_style_at_each_depth() {
    for depth in [Depth::None, Depth::C16, Depth::C256, Depth::True] {
        let crop = styles(&fixture::explorer(), Caps { depth, ..UTF8 }, 6..8);
        insta::assert_debug_snapshot!(format!("styles_of_the_map_{}", depth.name()), crop);
    }
}

#[test]
fn the_chosen_item_of_a_list_by_style() {
    let mut app = fixture::explorer();
    engine::press(&mut app, "v");
    insta::assert_debug_snapshot!("styles_of_a_list", styles(&app, UTF8, 8..10));
}

#[test]
fn screens_in_each_depth_say_the_same() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let text = |depth| crate::ui::export::text(screen(&fixture::explorer(), Caps { depth, ..UTF8 }, size).buffer());
        // Where cells are filled with colour, no shade stands beside the number; else the texts are the same.
        assert_eq!(text(Depth::C256), text(Depth::True));
        assert_eq!(text(Depth::None), text(Depth::C16));
        let numbers = |text: String| -> Vec<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
        };
        assert_eq!(numbers(text(Depth::None)), numbers(text(Depth::True)));
    }
}
