//! The best points of the FSDP limits' grid, for each size.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{frame, in_view, outdated};
use crate::app::views::grid::Row;
use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::units::{significant, thousands};

/// Rows that it wants: frame, what is assumed, heading, rows, what it stands for.
pub(super) const HEIGHT: u16 = 2 + 2 + 15 + 1;

/// Columns of what is sought.
const NAMES: usize = 17;

/// The numbers' heads, and the columns of each.
const NUMBERS: [(&str, usize); 5] = [("MFU", 8), ("tok/s/device", 13), ("sequence", 9), ("batch", 9), ("stage", 6)];

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let scenario = app.shown.as_ref().unwrap_or(&app.scenario);
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(scenario));
    let title = format!("Best points of data parallelism{}", outdated(app));
    let inside = frame(app, theme, Panel::Map, &title, &scenario.model.id, area, buf);
    let mut places = inside.rows();
    let (Some(asked), Some(heading)) = (places.next(), places.next()) else { return };
    let percent = significant(100.0 * app.views.grid.efficiency(), 3);
    let text = format!(" kernels at {percent} % of the peak; over stage, activations kept, sequence, batch");
    draw_line(buf, asked, &Line::raw(text), theme);
    let columns = NUMBERS.map(|(name, width)| format!("{name:>width$}")).concat();
    let text = format!(" {:>7} {:<NAMES$}{columns}{:>6}", "devices", "", "kept");
    draw_line(buf, heading, &Line::styled(text, theme.style(Role::Dim)), theme);
    for (index, place) in in_sight(rows, cursor, inside).zip(places) {
        let has_keys = index == cursor && app.focus == Panel::Map && app.layer.is_none();
        buf.set_style(place, if has_keys { theme.style(Role::Cursor) } else { Style::new() });
        draw_line(buf, place, &line(&rows[index], index == cursor, theme), theme);
    }
}

/// The row at a place.
pub(super) fn row_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(app.context().shown));
    let down = usize::from(at.y - inside.y).checked_sub(2)?;
    in_sight(rows, cursor, inside).nth(down)
}

fn in_sight(rows: &[Row], cursor: usize, inside: Rect) -> std::ops::Range<usize> {
    in_view(cursor, rows.len(), usize::from(inside.height.saturating_sub(2)))
}

/// A size's best point in one thing.
fn line(row: &Row, here: bool, theme: Theme) -> Line<'static> {
    let mark = if here { theme.glyphs().pinned } else { " " };
    let size = thousands(f64::from(row.devices));
    let mut spans = vec![Span::raw(format!("{mark}{size:>7} {:<NAMES$}", row.best.words()))];
    let Some(point) = row.point else {
        spans.push(Span::styled(format!("{} not one sequence fits", theme.glyphs().too_big), theme.style(Role::Dim)));
        return Line::from(spans);
    };
    let numbers = [
        format!("{} %", significant(100.0 * point.reached.mfu, 3)),
        thousands(point.reached.tokens_per_s),
        thousands(point.sequence),
        thousands(point.batch),
        point.stage.number().to_string(),
    ];
    spans.extend(numbers.iter().zip(NUMBERS).map(|(number, (_, width))| Span::raw(format!("{number:>width$}"))));
    spans.push(Span::raw(format!("{:>6}", point.gamma)));
    Line::from(spans)
}

/// What Enter does.
pub(super) fn status(app: &App) -> String {
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(app.context().shown));
    match rows.get(cursor).and_then(|row| row.point) {
        Some(_) => "closed forms, memory full: Enter takes the point, and the simulation judges it".to_owned(),
        None => "the state alone leaves no room: choose more devices, or more memory".to_owned(),
    }
}
