//! Drawings of the views, which stand in the map's place. `CONTRIBUTING.md` says how to add one.
//!
//! Not for what a view knows, nor for what keys do to it ([`crate::app::views`]).

mod advice;
mod best;
mod compare;
mod evidence;
mod failures;
mod grid;
mod hardware;
mod intensities;
mod limits;
pub(super) mod map;
mod measured;
mod plan;
mod sequences;
mod strategies;
mod table;
mod traffic;
mod training;

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};

use crate::app::action::panel::ViewId;
use crate::app::state::pointing::PointerTarget;
use crate::app::views::SPECS;
use crate::app::{App, Panel};
use crate::ui::theme::Theme;
use table::TableView;

/// How a view is drawn.
struct Drawing {
    id: ViewId,
    /// Rows that it wants, its frame among them.
    height: fn(&App) -> u16,
    content: Content,
    /// Describes the row under the cursor for the status line, in so many columns; nothing where the view says it itself.
    status: fn(&App, u16) -> String,
}

enum Content {
    /// Inside such a rectangle.
    Table(fn(&App, Theme, Rect) -> TableView),
    Picture {
        /// Draws it, with its frame.
        render: fn(&App, Theme, Rect, &mut Buffer),
        /// Finds what of it is at a place inside its frame.
        target: fn(&App, Theme, Rect, Position) -> Option<PointerTarget>,
    },
}

/// In the order of the views' list.
const ALL: [&Drawing; SPECS.len()] = [
    &map::DRAWING,
    &compare::DRAWING,
    &advice::DRAWING,
    &limits::DRAWING,
    &grid::DRAWING,
    &hardware::DRAWING,
    &intensities::DRAWING,
    &strategies::DRAWING,
    &traffic::DRAWING,
    &best::DRAWING,
    &sequences::DRAWING,
    &training::DRAWING,
    &failures::DRAWING,
    &plan::DRAWING,
    &evidence::DRAWING,
    &measured::DRAWING,
];

fn drawing(app: &App) -> &'static Drawing {
    ALL.into_iter().find(|drawing| drawing.id == app.view).unwrap_or(ALL[0])
}

/// Rows that it wants.
pub(in crate::ui) fn height(app: &App) -> u16 {
    (drawing(app).height)(app)
}

/// Draws the view in the map's place.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    match drawing(app).content {
        Content::Table(view) => view(app, theme, area.inner(Margin::new(1, 1))).render(app, theme, area, buf),
        Content::Picture { render, .. } => render(app, theme, area, buf),
    }
}

/// Finds the target at a place inside its frame.
pub(in crate::ui) fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<PointerTarget> {
    match drawing(app).content {
        Content::Table(view) => {
            let row = view(app, theme, inside).row_at(inside, at)?;
            Some(PointerTarget::Row(Panel::Map, row))
        }
        Content::Picture { target, .. } => target(app, theme, inside, at),
    }
}

/// Describes the row under the cursor for the status line, in so many columns.
pub(super) fn status(app: &App, width: u16) -> String {
    (drawing(app).status)(app, width)
}

#[cfg(test)]
mod tests {
    use super::{ALL, SPECS};

    #[test]
    fn every_view_is_drawn() {
        let drawn = ALL.map(|drawing| drawing.id.name);
        assert_eq!(drawn, SPECS.map(|spec| spec.id.name), "`ALL` is in the order of `SPECS`");
    }
}
