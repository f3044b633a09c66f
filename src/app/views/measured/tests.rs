use super::*;
use crate::app::layer::Layer;
use crate::app::tests::{explorer, figures, press, to_field};
use crate::app::{App, Panel};
use shardscope_engine::plan::{Plan, Recompute};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{self, OwnFigure, Workspace};
use shardscope_engine::units::Seconds;
use shardscope_evidence::calibrate::Attribution;

fn told(app: &App) -> &Attribution {
    app.views
        .measured
        .diagnosis()
        .expect("an answer")
        .as_ref()
        .expect("possible")
        .attribution
        .as_ref()
        .expect("a posterior")
}

#[test]
fn a_measured_step_is_typed_and_its_gap_is_shared_out() {
    let mut app = explorer();
    press(&mut app, "V");
    assert!(app.views.measured.diagnosis().is_none() && !app.is_asking());
    // Twice the predicted time: the gap is 100 %.
    let twice = format!("{} s", 2.0 * figures(&app).step_time.get());
    press(&mut app, &format!("<ret>{twice}<ret>"));
    assert!((told(&app).gap - 1.0).abs() < 1e-6, "{}", told(&app).gap);
    let shares: f64 = told(&app).causes.iter().map(|cause| cause.share).sum();
    // Causes of less than 1 % each are not told.
    assert!((shares + told(&app).unexplained - 1.0).abs() < 0.2, "{shares}");
    // The band moves towards the measurement, and is hardly wider: one run leaves open as much of what its source differs by as
    // rows of others left of all.
    let (before, after) = (told(&app).band_before.expect("a band"), told(&app).band_after);
    assert!(after.low > before.low && after.high / after.low < 1.05 * before.high / before.low);
    // What is shown counts with the run by now: its band is the same.
    assert_eq!(app.answer.as_ref().unwrap().evaluation.error_band, Some(after));
    assert_eq!(
        app.inputs.row_text(crate::app::views::inputs::InputRow::Measured, &app.scenario),
        app.inputs.measured.as_ref().unwrap().figure.to_string()
    );
}

#[test]
fn the_row_of_the_scenario_takes_a_utilisation() {
    let mut app = explorer();
    let before = figures(&app).mfu;
    press(&mut app, "1G<ret>38 %<ret>");
    assert_eq!(app.inputs.measured.as_ref().map(|run| run.figure), Some(OwnFigure::Mfu(0.38)));
    assert_eq!((app.view, app.focus), (SPEC.id, Panel::Map));
    assert!((told(&app).gap - (before / 0.38 - 1.0)).abs() < 1e-9);
    // An empty line takes it back.
    press(&mut app, "<ret><bs><bs><bs><bs><bs><bs><bs><bs><bs><ret>");
    assert_eq!((app.inputs.measured.clone(), app.views.measured.diagnosis()), (None, None));
}

/// Where a linear model puts the logarithm of a step that was measured as `error` more: by g' (C + S) g / (g' (C + S) g +
/// s^2) of that, g being the slopes, C what the fit leaves open, S how far sources differ, and s a row's noise, of which
/// one's own row has 1.5 times.
fn middle(scenario: &Scenario, shipped: f64, error: f64) -> f64 {
    let posterior = scenario.calibration.posterior().expect("fitted");
    let slopes = search::slopes(scenario, Seconds::new(shipped), &mut Workspace::default());
    let pairs = slopes.iter().flat_map(|pair| slopes.iter().map(move |other| (pair, other)));
    let covariance =
        |one, other| posterior.covariance(one, other) + if one == other { posterior.spread(one) } else { 0.0 };
    let own: f64 = pairs.map(|((row, one), (column, other))| one * covariance(row, column) * other).sum();
    shipped * libm::exp(error * own / (own + 1.5 * 1.5 * posterior.noise * posterior.noise))
}

/// A step that took longer: whatever is shown afterwards, other plans too, is nearer to it by as much as the view says,
/// until that is taken back by undo or by an empty line.
#[test]
fn what_is_shown_after_a_run_counts_with_it() {
    let step = |app: &App| figures(app).step_time.get();
    let plan = "1<down><down><down><down><down><down>";
    let mut untold = explorer();
    let shipped = step(&untold);
    press(&mut untold, &format!("{plan}<right>"));
    let mut app = explorer();
    let calibration = app.scenario.calibration.clone();
    press(&mut app, &format!("V<ret>{} s<ret>", 1.5 * shipped));
    let (learned, band) = (step(&app), told(&app).band_after);
    assert!((band.low.get()..band.high.get()).contains(&learned), "{learned} in {band:?}");
    assert!(learned > 1.01 * shipped, "{learned} {shipped}");
    // Constants are as they were where the slopes were taken, so that a small step goes where they say.
    let mut near = explorer();
    let expected = middle(&near.scenario, shipped, libm::log(1.1));
    press(&mut near, &format!("V<ret>{} s<ret>", 1.1 * shipped));
    let band = told(&near).band_after;
    for found in [step(&near), libm::sqrt(band.low.get() * band.high.get())] {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} of {expected}, {shipped} before");
    }
    press(&mut app, &format!("{plan}<right>"));
    assert_ne!(app.scenario.plan, app.inputs.measured.as_ref().unwrap().scenario.plan);
    assert!(step(&app) > 1.01 * step(&untold), "{} {}", step(&app), step(&untold));
    press(&mut app, "uu");
    assert_eq!((&app.scenario.calibration, step(&app).to_bits()), (&calibration, shipped.to_bits()));
    // Another figure of the same run begins where the first did; an empty line leaves nothing of either.
    let mut app = explorer();
    press(&mut app, &format!("V<ret>{} s<ret>", 1.5 * shipped));
    let gap = told(&app).gap;
    press(
        &mut app,
        &format!(
            "<ret><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs>{} s<ret>",
            1.2 * shipped
        ),
    );
    assert!((gap - 0.5).abs() < 1e-3 && (told(&app).gap - 0.2).abs() < 1e-3, "{gap} {}", told(&app).gap);
    press(&mut app, "<ret><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><bs><ret>");
    assert_eq!((&app.scenario.calibration, step(&app).to_bits()), (&calibration, shipped.to_bits()));
}

#[test]
fn that_another_stack_counts_without_the_run_is_said() {
    let mut app = explorer();
    press(&mut app, "V<ret>5 s<ret>");
    let learned = app.scenario.calibration.clone();
    to_field(&mut app, "stack");
    press(&mut app, "<right>");
    assert_ne!(
        (&app.scenario.calibration, &app.scenario.stack),
        (&learned, &app.inputs.measured.as_ref().unwrap().scenario.stack)
    );
    assert!(app.notice.as_ref().unwrap().contains("the calibration to your run does not apply"), "{:?}", app.notice);
    press(&mut app, "u");
    assert_eq!(app.scenario.calibration, learned);
}

#[test]
fn it_stays_that_of_what_ran_when_the_scenario_changes() {
    let mut app = explorer();
    press(&mut app, "V<ret>5 s<ret>");
    let (gap, ran) = (told(&app).gap, app.inputs.measured.as_ref().unwrap().scenario.clone());
    press(&mut app, "1<down><down><down><down><down><down><right>");
    assert_ne!(app.scenario, ran);
    assert_eq!((told(&app).gap, &app.inputs.measured.as_ref().unwrap().scenario), (gap, &ran));
}

#[test]
fn what_is_no_figure_is_refused_with_one_that_is() {
    let mut app = explorer();
    press(&mut app, "V<ret>38<ret>");
    assert!(app.notice.as_ref().unwrap().contains("like 3.4 s"), "{:?}", app.notice);
    assert!(app.inputs.measured.is_none());
    // The line stays, so that what is missing can be added.
    let Some(Layer::Entry(entry)) = &app.layer else { panic!("no line: {:?}", app.layer) };
    assert_eq!(entry.line.text(), "38");
    press(&mut app, "<esc>i");
    assert!(app.notice.as_ref().unwrap().contains("no measured run"), "{:?}", app.notice);
}

/// What took as long as full recompute takes is explained by it; `Enter` makes it the scenario, without what was learned of the
/// run, and undo takes it back.
#[test]
fn a_hypothesis_is_applied_and_undone() {
    let mut app = explorer();
    let truth = search::once(
        &Scenario { plan: Plan { recompute: Recompute::Full, ..app.scenario.plan.clone() }, ..app.scenario.clone() },
        &mut Workspace::default(),
    );
    let (calibration, recompute) = (app.scenario.calibration.clone(), app.scenario.plan.recompute);
    assert_ne!(recompute, Recompute::Full);
    press(&mut app, &format!("V<ret>{} s<ret>", truth.expect("possible").summary.step_time.get()));
    let at = app
        .views
        .measured
        .entries()
        .iter()
        .position(|row| matches!(row, MeasuredEntry::Hypothesis(one) if one.to_string() == "recompute full"));
    let at = at.expect("the cause");
    assert!(at <= 3, "the first row is the figure: {at}");
    press(&mut app, &"<down>".repeat(at));
    press(&mut app, "<ret>");
    assert_eq!((app.scenario.plan.recompute, &app.scenario.calibration), (Recompute::Full, &calibration));
    assert!(app.notice.as_ref().unwrap().contains("applied recompute full"), "{:?}", app.notice);
    press(&mut app, "u");
    assert_eq!(app.scenario.plan.recompute, recompute);
}

/// A message that memory ran out is pasted anywhere, and gives prices in place of constants.
#[test]
fn a_message_that_memory_ran_out_is_pasted() {
    let mut app = explorer();
    let message = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 76.20 GiB already \
                   allocated; 0.40 GiB free; 77.10 GiB reserved in total by PyTorch)";
    let commands = app.paste(message);
    crate::app::tests::obey(&mut app, commands);
    let gib = |size: f64| size * shardscope_engine::units::Bytes::GIB;
    let figure = app.inputs.measured.as_ref().expect("a figure").figure;
    // 76.20 + 2.00 of tensors, 77.10 + 2.00 with what the allocator holds.
    assert_eq!(figure, OwnFigure::OutOfMemory { least: gib(78.2), needed: gib(79.1), room: gib(79.15) });
    let told = app.views.measured.diagnosis().expect("an answer").as_ref().expect("possible");
    assert!(told.attribution.is_none() && !told.diagnosis.prices.is_empty());
    assert!(app.views.measured.entries().iter().any(|row| matches!(row, MeasuredEntry::Price(_))));
}
