//! What stands in the map's place: which drawing belongs to which view.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{
    advice, cell, compare, evidence, grid, hardware, intensities, limits, map, plan, strategies, traffic, training,
};
use crate::app::panel::ViewId;
use crate::app::pointing::Target;
use crate::app::{App, Panel};
use crate::ui::theme::Theme;

/// Rows that it wants.
pub(in crate::ui) fn height(app: &App) -> u16 {
    match app.view {
        ViewId::Map => map::height(app),
        ViewId::Compare => compare::height(app),
        ViewId::Advice => advice::height(app),
        ViewId::Limits => limits::HEIGHT,
        ViewId::Grid => grid::HEIGHT,
        ViewId::Hardware => hardware::HEIGHT,
        ViewId::Intensities => intensities::HEIGHT,
        ViewId::Strategies => strategies::height(app),
        ViewId::Traffic => traffic::height(app),
        ViewId::Training => training::HEIGHT,
        ViewId::Plan => plan::HEIGHT,
        ViewId::Evidence => evidence::HEIGHT,
    }
}

/// Draws it.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    match app.view {
        ViewId::Map => map::render(app, theme, area, buf),
        ViewId::Compare => compare::render(app, theme, area, buf),
        ViewId::Advice => advice::render(app, theme, area, buf),
        ViewId::Limits => limits::render(app, theme, area, buf),
        ViewId::Grid => grid::render(app, theme, area, buf),
        ViewId::Hardware => hardware::render(app, theme, area, buf),
        ViewId::Intensities => intensities::render(app, theme, area, buf),
        ViewId::Strategies => strategies::render(app, theme, area, buf),
        ViewId::Traffic => traffic::render(app, theme, area, buf),
        ViewId::Training => training::render(app, theme, area, buf),
        ViewId::Plan => plan::render(app, theme, area, buf),
        ViewId::Evidence => evidence::render(app, theme, area, buf),
    }
}

/// What of it is at a place inside its frame.
pub(in crate::ui) fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<Target> {
    let row = |row| Target::Row(Panel::Map, row);
    match app.view {
        ViewId::Map => map::cell_at(app, theme, inside, at).map(Target::Cell),
        ViewId::Compare => compare::column_at(app, theme, inside, at).map(row),
        ViewId::Advice => advice::row_at(app, theme, inside, at).map(row),
        ViewId::Limits => limits::row_at(app, inside, at).map(row),
        ViewId::Grid => grid::row_at(app, inside, at).map(row),
        ViewId::Hardware => hardware::cell_at(app, theme, inside, at).map(Target::Cell),
        ViewId::Intensities => intensities::row_at(app, inside, at).map(row),
        ViewId::Strategies => strategies::row_at(app, inside, at).map(row),
        ViewId::Traffic => traffic::row_at(app, theme, inside, at).map(row),
        ViewId::Training => training::target(app, theme, inside, at),
        ViewId::Plan => plan::target(app, theme, inside, at),
        ViewId::Evidence => evidence::run_at(app, theme, inside, at).map(Target::Cell),
    }
}

/// What its cursor is on, for the status line, in so many columns.
pub(super) fn status(app: &App, width: u16) -> String {
    match app.view {
        ViewId::Map => cell::status(app, width),
        ViewId::Compare => compare::status(app),
        ViewId::Advice => advice::status(app),
        ViewId::Limits | ViewId::Intensities | ViewId::Traffic => String::new(),
        ViewId::Grid => grid::status(app),
        ViewId::Hardware => hardware::status(app),
        ViewId::Strategies => strategies::status(app),
        ViewId::Training => training::status(app),
        ViewId::Plan => plan::status(app),
        ViewId::Evidence => evidence::status(app),
    }
}
