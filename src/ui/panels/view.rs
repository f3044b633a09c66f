//! What stands in the map's place: which drawing belongs to which view.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{
    advice, compare, evidence, grid, hardware, intensities, limits, map, plan, status, strategies, traffic, training,
};
use crate::app::panel::View;
use crate::app::pointing::Target;
use crate::app::{App, Panel};
use crate::ui::theme::Theme;

/// Rows that it wants.
pub(in crate::ui) fn height(app: &App) -> u16 {
    match app.view {
        View::Map => map::height(app),
        View::Compare => compare::height(app),
        View::Advice => advice::height(app),
        View::Limits => limits::HEIGHT,
        View::Grid => grid::HEIGHT,
        View::Hardware => hardware::HEIGHT,
        View::Intensities => intensities::HEIGHT,
        View::Strategies => strategies::height(app),
        View::Traffic => traffic::height(app),
        View::Training => training::HEIGHT,
        View::Plan => plan::HEIGHT,
        View::Evidence => evidence::HEIGHT,
    }
}

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    match app.view {
        View::Map => map::render(app, theme, area, buf),
        View::Compare => compare::render(app, theme, area, buf),
        View::Advice => advice::render(app, theme, area, buf),
        View::Limits => limits::render(app, theme, area, buf),
        View::Grid => grid::render(app, theme, area, buf),
        View::Hardware => hardware::render(app, theme, area, buf),
        View::Intensities => intensities::render(app, theme, area, buf),
        View::Strategies => strategies::render(app, theme, area, buf),
        View::Traffic => traffic::render(app, theme, area, buf),
        View::Training => training::render(app, theme, area, buf),
        View::Plan => plan::render(app, theme, area, buf),
        View::Evidence => evidence::render(app, theme, area, buf),
    }
}

/// What of it is at a place inside its frame.
pub(in crate::ui) fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<Target> {
    let row = |row| Target::Row(Panel::Map, row);
    match app.view {
        View::Map => map::cell_at(app, theme, inside, at).map(Target::Cell),
        View::Compare => compare::column_at(app, theme, inside, at).map(row),
        View::Advice => advice::row_at(app, theme, inside, at).map(row),
        View::Limits => limits::row_at(app, inside, at).map(row),
        View::Grid => grid::row_at(app, inside, at).map(row),
        View::Hardware => hardware::cell_at(app, theme, inside, at).map(Target::Cell),
        View::Intensities => intensities::row_at(app, inside, at).map(row),
        View::Strategies => strategies::row_at(app, inside, at).map(row),
        View::Traffic => traffic::row_at(app, theme, inside, at).map(row),
        View::Training => training::target(app, theme, inside, at),
        View::Plan => plan::target(app, theme, inside, at),
        View::Evidence => evidence::run_at(app, theme, inside, at).map(Target::Cell),
    }
}

/// What its cursor is on, for the status line, in so many columns.
pub(super) fn status(app: &App, width: u16) -> String {
    match app.view {
        View::Map => status::cell(app, width),
        View::Compare => compare::status(app),
        View::Advice => advice::status(app),
        View::Limits | View::Intensities | View::Traffic => String::new(),
        View::Grid => grid::status(app),
        View::Hardware => hardware::status(app),
        View::Strategies => strategies::status(app),
        View::Training => training::status(app),
        View::Plan => plan::status(app),
        View::Evidence => evidence::status(app),
    }
}
