use super::*;
use crate::app::layer::Layer;
use crate::app::tests::{explorer, press};

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
        ("j", Figure::Exposed),
        ("1gjjjjjj", Figure::TokensPerStep),
        ("G", Figure::Days),
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
    assert_eq!((page(&app).explanation.figure, page(&app).cursor), (Figure::StepTime, 1));
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
    assert_eq!(page(&app).cursor, page(&app).stops() - 1);
    press(&mut app, "gkkk");
    assert_eq!(page(&app).cursor, 0);
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
    let rows = app.breakdown();
    assert!(rows.len() > 5, "{rows:?}");
    press(&mut app, "5g");
    for figure in rows {
        press(&mut app, "<ret>");
        assert_eq!(page(&app).explanation.figure, figure);
        press(&mut app, "ij");
    }
}
