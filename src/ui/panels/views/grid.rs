//! The best points of the FSDP limits' grid, for each size.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views;
use crate::ui::panels::outdated;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::table::{self, Aligned};
use shardscope_engine::search::GridRow;
use shardscope_engine::units::{precise_percent, thousands};
use shardscope_report::figures::{Table, TableCell};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::grid::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Table(view),
    status: |app, _| status(app),
};

/// Rows that it wants: frame, what is assumed, heading, rows, what it stands for.
const HEIGHT: u16 = 2 + 2 + 15 + 1;

/// The size, what is sought, and the numbers of the point: their headings, and the columns of each.
const HEADINGS: [&str; 8] = ["devices", "", "MFU", "tok/s/device", "sequence", "batch", "stage", "kept"];
const COLUMNS: [Aligned; 8] = [
    Aligned::Right(8),
    Aligned::Indented(1, 17),
    Aligned::Right(8),
    Aligned::Right(13),
    Aligned::Right(9),
    Aligned::Right(9),
    Aligned::Right(6),
    Aligned::Right(6),
];

fn view(app: &App, theme: Theme, _: Rect) -> TableView {
    let (grid, scenario) = (&app.views.grid, app.on_screen());
    let percent = precise_percent(grid.efficiency());
    let asked = format!(" kernels at {percent} of the peak; over stage, activations kept, sequence, batch");
    let points = points(grid.rows(), theme);
    TableView {
        title: format!("Best points of data parallelism{}", outdated(app)),
        notes: vec![if grid.is_complete() { scenario.model.id.clone() } else { "computing".to_owned() }],
        over: vec![Line::raw(asked), table::headings(&points, &COLUMNS, |_| Role::Dim, theme)],
        list: rows(app, theme, &points, &COLUMNS, grid.row(scenario)),
        ..TableView::default()
    }
}

/// The best points, one row for each size and each thing that is sought.
fn points(rows: &[GridRow], theme: Theme) -> Table {
    let mut table = Table::headed(HEADINGS);
    table.extend(rows.iter().map(|row| {
        let size = TableCell::word(thousands(f64::from(row.devices)));
        let figures = row.point.map_or_else(
            || vec![TableCell::aside(format!("{} not one sequence fits", theme.glyphs().too_big))],
            |point| {
                let mfu = precise_percent(point.reached.mfu);
                let [speed, sequence, batch] = [point.reached.tokens_per_s, point.sequence, point.batch]
                    .map(|count| TableCell::word(thousands(count)));
                let stage = TableCell::word(point.stage.number().to_string());
                vec![TableCell::word(mfu), speed, sequence, batch, stage, TableCell::word(point.gamma.to_string())]
            },
        );
        [size, TableCell::word(row.best.words())].into_iter().chain(figures).collect()
    }));
    table
}

/// Says what Enter does.
fn status(app: &App) -> String {
    let (rows, cursor) = (app.views.grid.rows(), app.views.grid.row(app.on_screen()));
    match rows.get(cursor).map(|row| row.point) {
        None => String::new(),
        Some(Some(_)) => "closed forms, memory full: Enter applies the point, and the simulation judges it".to_owned(),
        Some(None) => "the state alone leaves no room: choose more devices, or more memory".to_owned(),
    }
}
