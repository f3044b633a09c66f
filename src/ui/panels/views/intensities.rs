//! The arithmetic intensity of each kind of transfer against its link's threshold.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::views;
use crate::app::{Answer, App};
use crate::ui::panels::staleness;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::table::{Aligned, headings};
use shardscope_engine::bounds::intensity::Intensity;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::thousands;
use shardscope_report::figures::{CellTone, Table, TableCell, bandwidth, carries, intensities, verdict};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::intensities::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Table(view),
    status: |_, _| String::new(),
};

/// Rows that it takes: frame, header, a row a kind, a blank, the chosen one in words.
const HEIGHT: u16 = 2 + 1 + 6 + 1 + SAID;
const SAID: u16 = 6;

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

fn view(app: &App, theme: Theme, _: Rect) -> TableView {
    let framed = TableView {
        title: format!("Arithmetic intensities{}", staleness(app)),
        notes: vec!["flop per byte".to_owned()],
        ..TableView::default()
    };
    let Some(Answer { scenario, evaluation }) = &app.answer else { return framed };
    let transfers = &evaluation.details.transfers;
    if transfers.is_empty() {
        let why = if scenario.plan.operators.is_empty() {
            "nothing is transferred between devices"
        } else {
            "per-operator sharding: no single intensity holds for all operators"
        };
        return TableView { instead: Some(why.to_owned()), ..framed };
    }
    let table = table(transfers, scenario, theme);
    TableView {
        over: vec![headings(&table, &COLUMNS, |_| Role::Dim, theme)],
        list: rows(app, theme, &table, &COLUMNS, app.views.intensities.row(transfers.len())),
        under: vec![Line::default()],
        kept: SAID,
        rest: Some(draw_words),
        ..framed
    }
}

/// The chosen transfer in words, wrapped.
fn draw_words(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let Some(Answer { scenario, evaluation }) = &app.answer else { return };
    let transfers = &evaluation.details.transfers;
    let chosen = transfers.get(app.views.intensities.row(transfers.len()));
    let words = chosen.map(|chosen| words(chosen, scenario, theme)).unwrap_or_default();
    Paragraph::new(words).wrap(Wrap { trim: false }).render(area, buf);
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

/// A bar to the right of a line for intensity above the threshold, to the left for less, in powers of ten.
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
    vec![
        Line::styled(format!("{}: {}", transfer.kind.word(), carries(transfer.kind)), theme.style(Role::Title)),
        Line::raw(format!("  {found}")),
        Line::raw(format!("  {needed}")),
        Line::raw(format!("  {}", verdict(transfer))),
        Line::styled(
            "Bytes in and out are added, and so are a link's two directions; compute is the",
            theme.style(Role::Dim),
        ),
        Line::styled("arithmetic that the transfer belongs to, in steady state.", theme.style(Role::Dim)),
    ]
}
