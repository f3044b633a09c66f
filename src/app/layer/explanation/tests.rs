use std::sync::Arc;

use super::*;
use crate::app::App;
use crate::app::action::Command;
use crate::app::layer::Layer;
use crate::app::tests::{H100, explorer, explorer_on, press, press_obeying};
use crate::app::views::panels::breakdown;
use shardscope_engine::plan::Offload;
use shardscope_engine::search::training::{self, BestTraining, TrainingChoice};
use shardscope_report::figures::{BoundForm, Limit, RunFigure};

fn page(app: &App) -> &Page {
    let Some(Layer::Explain(explaining)) = &app.layer else { panic!("no explanation: {:?}", app.layer) };
    explaining.page().unwrap()
}

#[test]
fn i_explains_the_figure_at_the_cursor_of_each_panel() {
    let mut app = explorer();
    for (keys, figure) in [
        ("2", Figure::ModelFlops),
        ("m", Figure::Mfu),
        ("m", Figure::StepTime),
        ("3", Figure::Peak),
        ("5g", Figure::Compute),
        ("jj", Figure::Exposed),
        ("1gjjjjjjjjjjjjj", Figure::TokensPerStep),
        ("gjjj", Figure::Days),
    ] {
        press(&mut app, &format!("{keys}i"));
        assert_eq!(page(&app).explanation.figure, figure, "{keys}");
        press(&mut app, "<esc>");
        assert!(app.layer.is_none());
    }
}

#[test]
fn a_chosen_span_is_explained_by_what_it_adds_to() {
    let mut app = explorer();
    press(&mut app, "4gi");
    assert_eq!(page(&app).explanation.figure, Figure::Other, "the host's work begins the step");
    press(&mut app, "<esc>jgi");
    assert!(matches!(page(&app).explanation.figure, Figure::Traffic(_)), "{:?}", page(&app).explanation);
}

#[test]
fn inputs_that_are_figures_are_followed_and_come_back_from() {
    let mut app = explorer();
    press(&mut app, "mmi");
    assert_eq!(page(&app).explanation.figure, Figure::StepTime);
    press(&mut app, "j<ret>");
    assert_eq!(page(&app).explanation.figure, Figure::Exposed);
    press(&mut app, "<ret>");
    assert_eq!(page(&app).explanation.figure, Figure::Exposed, "the wait on a level leads no further");
    press(&mut app, "h");
    assert_eq!((page(&app).explanation.figure, page(&app).row()), (Figure::StepTime, 1));
    press(&mut app, "h");
    assert_eq!(page(&app).explanation.figure, Figure::StepTime, "the first has nothing before it");
}

#[test]
fn tab_goes_round_all_figures() {
    let mut app = explorer();
    press(&mut app, "mmi<tab>");
    assert_eq!(page(&app).explanation.figure, Figure::Compute);
    press(&mut app, "<s-tab><s-tab>");
    assert!(matches!(page(&app).explanation.figure, Figure::Elasticity(_)));
    press(&mut app, "<tab>");
    assert_eq!(page(&app).explanation.figure, Figure::StepTime);
}

#[test]
fn the_cursor_stays_on_the_page() {
    let mut app = explorer();
    press(&mut app, "iG<pgdn>jjjj");
    assert_eq!(page(&app).row(), page(&app).stops() - 1);
    press(&mut app, "gkkk");
    assert_eq!(page(&app).row(), 0);
}

#[test]
fn the_explanation_is_of_the_cell_shown() {
    let mut app = explorer();
    press(&mut app, "li");
    let shown = &app.answer.as_ref().unwrap().evaluation.summary;
    assert_eq!(page(&app).explanation.amount.value.to_bits(), shown.model_flops.get().to_bits());
}

#[test]
fn every_row_of_the_time_panel_has_an_explanation() {
    let mut app = explorer();
    let rows = breakdown(app.answer.as_ref());
    assert!(rows.len() > 5, "{rows:?}");
    press(&mut app, "5g");
    for figure in rows {
        press(&mut app, "<ret>");
        assert_eq!(page(&app).explanation.figure, figure);
        press(&mut app, "ij");
    }
}

/// In the views too, where the map has nothing to say.
#[test]
fn i_explains_the_figure_at_the_cursor_of_a_view() {
    let mut app = explorer();
    let explained = |app: &mut App, keys: &str| {
        press(app, &format!("{keys}i"));
        let found = page(app).explanation.figure;
        press(app, "<esc>");
        found
    };
    assert_eq!(explained(&mut app, "I"), Figure::Slowdown(0));
    // An intensity stands against what its link needs, and both lead on.
    press(&mut app, "i<ret>");
    assert_eq!(page(&app).explanation.figure, Figure::Threshold(0));
    press(&mut app, "<esc>");
    assert_eq!(
        explained(&mut app, "L"),
        Figure::Limits(Limit::Activation, BoundForm::Floor),
        "gamma is what is kept of them"
    );
    assert_eq!(
        explained(&mut app, "j"),
        Figure::Limits(Limit::Shortest, BoundForm::Floor),
        "n_bwd is what the floor counts"
    );
    assert!(explained(&mut app, "jj") == Figure::Limits(Limit::Parameters, BoundForm::Floor), "the first number");
    assert_eq!(explained(&mut app, "G"), Figure::Limits(Limit::TokensPerSecond, BoundForm::Floor));
    press(&mut app, "i<ret>");
    assert_eq!(page(&app).explanation.figure, Figure::Limits(Limit::Hfu, BoundForm::Floor));
    press(&mut app, "<tab>");
    assert_eq!(page(&app).explanation.figure, Figure::Limits(Limit::Mfu, BoundForm::Floor), "in their own order");
}

/// [layered B3]: at 100,000 steps of the critical batch a batch of half that size takes 1e5 (1 + 2) / 2.
#[test]
fn i_explains_the_days_of_the_plan_under_the_cursor() {
    let mut app = explorer();
    press_obeying(&mut app, "Di", |command| !matches!(command, Command::Work { .. }));
    assert_eq!(app.notice.as_deref(), Some("there is no plan here to explain"));
    let summary = app.answer.as_ref().unwrap().evaluation.summary;
    let training = &mut app.views.training;
    let search = Arc::clone(&training.picture.as_ref().unwrap().search);
    let data = (search.goal.critical / 2.0) as u32;
    let choice = TrainingChoice {
        devices: data,
        tensor: 1,
        pipeline: 1,
        data,
        micro_batch: 1,
        accumulate: 1,
        offload: Offload::None,
        assignment: 0,
        strategy: 0,
    };
    let steps = search.goal.steps(f64::from(data));
    let days = steps * summary.step_time.get() / 86_400.0;
    let answer = training::TrainingAnswer {
        best: Some(BestTraining { days, choice, summary }),
        needs: None,
        plans: 1,
        simulated: 1,
    };
    app.views.training.fill(search.budgets.len() - 1, answer);
    press(&mut app, "i");
    assert!(page(&app).explanation.holds() && page(&app).explanation.figure == Figure::Run(RunFigure::Days));
    press(&mut app, "<ret>");
    let Explanation { figure, amount, .. } = page(&app).explanation;
    assert_eq!(figure, Figure::Run(RunFigure::Steps));
    assert!(page(&app).explanation.holds());
    let halved = f64::from(data) * 2.0 / search.goal.critical;
    assert!((amount.value / search.goal.steps - f64::midpoint(1.0, 2.0 / halved)).abs() < 1e-9);
}

#[test]
fn where_nothing_is_transferred_there_is_no_intensity_to_explain() {
    let mut app = explorer_on(&H100.replace("nodes = 16", "devices = 1"));
    press(&mut app, "Ii");
    assert!(app.layer.is_none());
    assert_eq!(app.notice.as_deref(), Some("nothing is transferred: there is no figure to explain"));
}
