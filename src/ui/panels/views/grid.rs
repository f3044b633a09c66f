//! The best points of the FSDP limits' grid, for each size.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Drawing, row};
use crate::app::views;
use crate::app::{App, Panel};
use crate::search::GridRow;
use crate::ui::panels::{frame, outdated, panel_list};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::draw_lines;
use crate::units::{significant, thousands};

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: views::grid::SPEC.id,
    height: |_| HEIGHT,
    render,
    target: |app, _, inside, at| row(row_at(app, inside, at)),
    status: |app, _| status(app),
};

/// Rows that it wants: frame, what is assumed, heading, rows, what it stands for.
const HEIGHT: u16 = 2 + 2 + 15 + 1;

/// Columns of what is sought.
const NAMES: usize = 17;

/// The numbers' heads, and the columns of each.
const NUMBERS: [(&str, usize); 5] = [("MFU", 8), ("tok/s/device", 13), ("sequence", 9), ("batch", 9), ("stage", 6)];

/// Draws it.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let scenario = app.shown.as_ref().unwrap_or(&app.scenario);
    let title = format!("Best points of data parallelism{}", outdated(app));
    let note = if app.views.grid.is_complete() { &scenario.model.id } else { "computing" };
    let inside = frame(app, theme, Panel::Map, &title, note, area, buf);
    let [head, points] = halves(inside);
    let percent = significant(100.0 * app.views.grid.efficiency(), 3);
    let asked = format!(" kernels at {percent} % of the peak; over stage, activations kept, sequence, batch");
    let columns = NUMBERS.map(|(name, width)| format!("{name:>width$}")).concat();
    let heading = format!(" {:>7} {:<NAMES$}{columns}{:>6}", "devices", "", "kept");
    draw_lines(buf, head, &[Line::raw(asked), Line::styled(heading, theme.style(Role::Dim))], theme);
    list(app, theme).render(points, buf);
}

/// The row at a place.
fn row_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    list(app, Theme::default()).row_at(halves(inside)[1], at)
}

/// Where the two headings and the rows are.
fn halves(inside: Rect) -> [Rect; 2] {
    inside.layout(&Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]))
}

fn list(app: &App, theme: Theme) -> RowList<'static> {
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(app.context().shown));
    let lines = rows.iter().map(|row| line(row, theme)).zip((0..).map(Some)).collect();
    panel_list(app, theme, lines, cursor)
}

/// A size's best point in one thing.
fn line(row: &GridRow, theme: Theme) -> Line<'static> {
    let size = thousands(f64::from(row.devices));
    let mut spans = vec![Span::raw(format!(" {size:>7} {:<NAMES$}", row.best.words()))];
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
fn status(app: &App) -> String {
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(app.context().shown));
    match rows.get(cursor).map(|row| row.point) {
        None => String::new(),
        Some(Some(_)) => "closed forms, memory full: Enter takes the point, and the simulation judges it".to_owned(),
        Some(None) => "the state alone leaves no room: choose more devices, or more memory".to_owned(),
    }
}
