//! The arithmetic intensity of each kind of transfer against its link's threshold.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Drawing, row};
use crate::app::views;
use crate::app::{Answer, App, Panel};
use crate::ui::panels::{frame, panel_list, staleness};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::table::{Aligned, headings, lines};
use crate::ui::widgets::text::{columns, draw_line};
use shardscope_engine::bounds::intensity::Intensity;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::thousands;
use shardscope_report::figures::{CellTone, Table, TableCell, bandwidth, carries, intensities, verdict};

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: views::intensities::SPEC.id,
    height: |_| HEIGHT,
    render,
    target: |app, _, inside, at| row(row_at(app, inside, at)),
    status: |_, _| String::new(),
};

/// Rows that it takes: frame, header, a row a kind, a blank, the chosen one in words.
const HEIGHT: u16 = 2 + 1 + 6 + 1 + 6;

/// Columns of the scale on one side of the threshold: two decades.
const SIDE: usize = 10;

/// Columns of kind, link and the two numbers, of the scale, and of what it means.
const COLUMNS: [Aligned; 6] = [
    Aligned::Indented(1, 19),
    Aligned::Left(9),
    Aligned::Right(9),
    Aligned::Right(9),
    Aligned::Indented(2, 2 * SIDE + 1),
    Aligned::Indented(2, 0),
];

/// Draws each kind of transfer against its threshold.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Arithmetic intensities{}", staleness(app));
    let inside = frame(app, theme, Panel::Map, &title, "flop per byte", area, buf);
    let Some(Answer { scenario, evaluation }) = &app.answer else { return };
    let transfers = &evaluation.details.transfers;
    let cursor = app.views.intensities.row(transfers.len());
    let Some(chosen) = transfers.get(cursor) else {
        let why = if scenario.plan.operators.is_empty() {
            "nothing is transferred between devices"
        } else {
            "per-operator sharding: no single intensity holds for all operators"
        };
        draw_line(buf, inside, &Line::raw(why), theme);
        return;
    };
    let [head, rows, said] = places(transfers.len(), inside);
    draw_line(buf, head, &headings(&table(transfers, scenario, theme), &COLUMNS, |_| Role::Dim, theme), theme);
    list(app, transfers, scenario, theme).render(rows, buf);
    Paragraph::new(words(chosen, scenario, theme)).wrap(Wrap { trim: false }).render(said, buf);
}

/// The transfer at a place.
fn row_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let Answer { scenario, evaluation } = app.answer.as_ref()?;
    let transfers = &evaluation.details.transfers;
    list(app, transfers, scenario, Theme::default()).row_at(places(transfers.len(), inside)[1], at)
}

/// Where the heading and so many transfers are, and under a blank the chosen one in words.
fn places(transfers: usize, inside: Rect) -> [Rect; 3] {
    let rows = [1, columns(transfers), 1].map(Constraint::Length);
    let [head, rows, _, said] = inside.layout(&Layout::vertical(rows.into_iter().chain([Constraint::Fill(1)])));
    [head, rows, said]
}

fn list(app: &App, transfers: &[Intensity], scenario: &Scenario, theme: Theme) -> RowList<'static> {
    let lines = lines(&table(transfers, scenario, theme), &COLUMNS, theme);
    let lines = lines.into_iter().zip((0..).map(Some)).collect();
    panel_list(app, theme, lines, app.views.intensities.row(transfers.len()))
}

/// Each kind: its numbers, how far it is from the threshold, and what that means.
fn table(transfers: &[Intensity], scenario: &Scenario, theme: Theme) -> Table {
    let shown = ["kind", "link", "flop_per_byte", "threshold_flop_per_byte", "slowdown"];
    let scales = transfers.iter().map(|transfer| {
        let tone = if transfer.hidden() { CellTone::Plain } else { CellTone::Bad };
        TableCell::word(scale(transfer.flop_per_byte() / transfer.threshold, theme)).toned(tone)
    });
    let heading = format!("{:^width$}", "1/100 to 100 x", width = 2 * SIDE + 1);
    intensities(scenario, transfers).only(&shown).with_column(4, &heading, scales)
}

/// How much more than needed on the right of a line, how much less on the left, in powers of ten.
fn scale(ratio: f64, theme: Theme) -> String {
    let glyphs = theme.glyphs();
    let length = (libm::log10(ratio) / 2.0 * SIDE as f64).clamp(-(SIDE as f64), SIDE as f64);
    // However close, it is on one side.
    let (less, more) = ((-length).max(0.0).ceil() as usize, length.max(0.0).ceil() as usize);
    let (lacks, has) = (glyphs.exposed.repeat(less), glyphs.fills[0].repeat(more));
    format!("{lacks:>SIDE$}{}{has:<SIDE$}", glyphs.limit)
}

/// The chosen transfer: what it is, how its intensity comes about, what it is held against, what follows.
fn words(transfer: &Intensity, scenario: &Scenario, theme: Theme) -> Vec<Line<'static>> {
    let link = transfer.link.name(scenario).to_owned();
    let bandwidth = bandwidth(transfer.link, scenario);
    let found = format!("{} = {} flop/B", transfer.formula, thousands(transfer.flop_per_byte()));
    let needed = format!("{link} needs peak / (2 x {bandwidth}) = {} flop/B", thousands(transfer.threshold));
    let verdict = verdict(transfer);
    let verdict = if transfer.hidden() { verdict } else { format!("its arithmetic takes {verdict}") };
    vec![
        Line::styled(format!("{}: {}", transfer.kind.word(), carries(transfer.kind)), theme.style(Role::Title)),
        Line::raw(format!("  {found}")),
        Line::raw(format!("  {needed}")),
        Line::raw(format!("  {verdict}")),
        Line::styled(
            "Bytes in and out are added, and so are a link's two directions; a factor is on",
            theme.style(Role::Dim),
        ),
        Line::styled(
            "the time of the arithmetic that the transfer belongs to, in steady state.",
            theme.style(Role::Dim),
        ),
    ]
}
