//! The views that take the map's place.

use super::*;

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

/// A strategy that makes the numbers coarser than the scenario's is marked, and the fastest of the others has the star.
#[test]
fn a_strategy_of_other_numbers_is_marked() {
    insta::assert_snapshot!(screen(&fixture::strategies_in_fp8(), UTF8, (80, 24)));
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
    app.views.map.show(Figure::ShareOfLimit);
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

/// The last sentence of the advice is on the screen, at the size where a line holds the least.
#[test]
fn a_run_that_is_not_measured_yet_is_asked_for_in_full() {
    let screen = after("V", (80, 24)).to_string();
    assert!(screen.contains("scenario must say what ran."), "{screen}");
}

#[test]
fn the_measured_run() {
    insta::assert_snapshot!(screen(&fixture::measured(), UTF8, (80, 24)));
}

#[test]
fn the_measured_run_beside_the_other_panels() {
    insta::assert_snapshot!(screen(&fixture::measured(), UTF8, (120, 40)));
}

#[test]
fn the_memory_that_ran_out() {
    insta::assert_snapshot!(screen(&fixture::out_of_memory(), UTF8, (80, 24)));
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

/// A plan that places its operators says so in its row, in its words and under the table.
#[test]
fn the_best_plans_with_one_placed_by_operator() {
    insta::assert_snapshot!(screen(&fixture::best_by_operator(), UTF8, (80, 24)));
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
    insta::assert_snapshot!(shown(fixture::network(0.5), "1gjjjjjjjj", UTF8, (120, 40)));
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
fn the_context_lengths() {
    insta::assert_snapshot!(screen(&fixture::lengths(false), UTF8, (80, 24)));
    insta::assert_snapshot!(shown(fixture::lengths(true), "jj", UTF8, (80, 24)));
    insta::assert_snapshot!(shown(fixture::lengths(true), "j", ASCII, (120, 34)));
    insta::assert_snapshot!(shown(fixture::lengths(true), "G", UTF8, (200, 50)));
}
