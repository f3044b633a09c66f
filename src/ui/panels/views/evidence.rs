//! Predictions beside published measurements: a scatter with a band, and the run under the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Content, Drawing};
use crate::app::action::Facet;
use crate::app::state::pointing::PointerTarget;
use crate::app::views;
use crate::app::views::evidence::EvidenceView;
use crate::app::{App, Panel};
use crate::ui::panels::{frame, joined};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::Scatter;
use crate::ui::widgets::loglog::Dot;
use crate::ui::widgets::text::draw_line;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::Tuned;
use shardscope_engine::units::{Amount, percent, significant, thousands};
use shardscope_evidence::measured::Residual;
use shardscope_evidence::measured::runs::PublishedRun;
use shardscope_report::figures::{Figure, FigureSubject, TIME_PARTS};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::evidence::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Picture {
        render,
        target: |app, theme, inside, at| run_at(app, theme, inside, at).map(PointerTarget::Cell),
    },
    status: |app, _| status(app),
};

/// Rows that it wants: frame, filters, the chart, the scores, the run.
const HEIGHT: u16 = 2 + 1 + 18 + 1 + RUN;

/// Rows of the run under the cursor.
const RUN: u16 = 5;

/// The band around a measurement.
const BAND: f64 = 0.1;

/// Draws the scatter and the run under the cursor.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let evidence = &app.views.evidence;
    let figure = Figure::from(evidence.metric);
    let (what, unit) = (figure.entry().map_or("", |entry| entry.name), figure.column_unit());
    let (shown, all) = evidence.shown();
    let note = match &evidence.picture {
        None => "computing".to_owned(),
        Some(picture) => format!("{} skipped", picture.validation.skipped.len()),
    };
    let inside = frame(app, theme, Panel::Map, &format!("Evidence: {what}"), &note, area, buf);
    let [filters, chart, scores, run] = places(inside);
    draw_line(buf, filters, &filtered(evidence, (shown.len(), all), theme, filters.width), theme);
    if shown.is_empty() {
        let nothing = if evidence.picture.is_some() { "no run: 0 shows all again, m the other figure" } else { "" };
        Paragraph::new(nothing).wrap(Wrap { trim: true }).render(chart, buf);
        return;
    }
    let title = if evidence.ratio {
        format!("predicted over measured, against measured {what} in {unit}")
    } else {
        format!("predicted against measured {what}, {unit}")
    };
    scatter(evidence, &shown, title, theme).render(chart, buf);
    draw_line(buf, scores, &scored(evidence, &shown, theme, scores.width), theme);
    if let Some((residual, of)) = evidence.chosen() {
        for (line, row) in about(residual, of, theme, run.width).into_iter().zip(run.rows()) {
            draw_line(buf, row, &line, theme);
        }
    }
}

/// The run at a place, by its place among what is shown.
fn run_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let [_, chart, ..] = places(inside);
    let (shown, _) = app.views.evidence.shown();
    scatter(&app.views.evidence, &shown, String::new(), theme).dot_at(chart, at)
}

/// The areas of filters, chart, scores and run.
fn places(inside: Rect) -> [Rect; 4] {
    let rows = [Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1), Constraint::Length(RUN)];
    inside.layout(&Layout::vertical(rows))
}

fn scatter(evidence: &EvidenceView, shown: &[&Residual], title: String, theme: Theme) -> Scatter {
    Scatter {
        theme,
        dots: shown.iter().map(|one| point(one, evidence)).collect(),
        cursor: Some(evidence.at(shown)),
        line: if evidence.ratio { |_| 1.0 } else { |x| x },
        band: BAND,
        title,
    }
}

fn point(residual: &Residual, evidence: &EvidenceView) -> Dot {
    let scaled = |value: f64| Amount { value, unit: Figure::from(residual.metric).unit() }.in_column();
    let y = if evidence.ratio { residual.predicted / residual.measured } else { scaled(residual.predicted) };
    Dot { x: scaled(residual.measured), y, inside: residual.error().abs() <= BAND }
}

/// The filters, and the count of runs that pass them.
fn filtered(evidence: &EvidenceView, (shown, all): (usize, usize), theme: Theme, width: u16) -> Line<'static> {
    let facet = |facet: Facet| {
        let wanted = evidence.wanted(facet);
        let role = if wanted.is_some() { Role::Accent } else { Role::Text };
        Span::styled(format!("{} {}", facet.into_str(), wanted.unwrap_or("all")), theme.style(role))
    };
    let count = Span::raw(format!(" {shown} of {all} runs"));
    joined(std::iter::once(count).chain(Facet::ALL.map(facet)), theme, width)
}

/// The errors of the predictions shown.
fn scored(evidence: &EvidenceView, shown: &[&Residual], theme: Theme, width: u16) -> Line<'static> {
    let Some(scores) = evidence.quality() else { return Line::default() };
    let inside = shown.iter().filter(|one| one.error().abs() <= BAND).count();
    let parts = [
        Span::styled(format!(" off by {} on average", percent(scores.mean)), theme.style(Role::Title)),
        Span::raw(format!("median {}, 90th {}", percent(scores.median), percent(scores.p90))),
        Span::raw(format!("{inside} of {} within 10 %", shown.len())),
        Span::raw(format!("a constant {}", percent(scores.null_mean))),
    ];
    joined(parts, theme, width)
}

/// The run: both figures, what ran, where its time goes, what is not stated, where it was published.
fn about(residual: &Residual, run: &PublishedRun, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let figure = |value: f64| Amount { value, unit: Figure::from(residual.metric).unit() }.to_string();
    let error = 100.0 * residual.error();
    let sign = if error < 0.0 { theme.glyphs().minus } else { "+" };
    let role = if residual.error().abs() <= BAND { Role::Good } else { Role::Bad };
    let head = [
        Span::styled(format!("{}{}", theme.glyphs().pinned, residual.id), theme.style(Role::Title)),
        Span::raw(format!("{} predicted, {} measured", figure(residual.predicted), figure(residual.measured))),
        Span::styled(format!("{sign}{} %", significant(error.abs(), 2)), theme.style(role)),
    ];
    let plan = &run.scenario.plan;
    let ran = [
        Span::raw(format!(" {}", printable(&run.scenario.model.name))),
        Span::raw(format!("{} of {}", thousands(f64::from(run.scenario.devices())), residual.hardware)),
        Span::raw(format!("{}, tp {} pp {}", residual.class, plan.tensor, plan.pipeline)),
        Span::raw(Tuned::from(&run.scenario).to_string()),
    ];
    let subject = FigureSubject::new(&run.scenario, &run.summary);
    let share = |figure: Figure| {
        let (entry, amount) = (figure.entry()?, figure.amount(&subject).filter(|amount| amount.value > 0.0)?);
        let share = percent(amount.value / run.summary.step_time.get());
        Some(Span::raw(format!("{} {amount}, {share}", entry.label)))
    };
    let goes = TIME_PARTS.into_iter().filter_map(share);
    let goes = std::iter::once(Span::styled(" time goes", theme.style(Role::Dim))).chain(goes);
    let assumed = if run.assumed.is_empty() { "nothing".to_owned() } else { run.assumed.join(", ") };
    let dim = theme.style(Role::Dim);
    vec![
        joined(head, theme, width),
        joined(ran, theme, width),
        joined(goes, theme, width),
        Line::styled(format!(" assumed: {assumed}"), dim),
        Line::styled(format!(" {}, stack {}", run.source, residual.stack), dim),
    ]
}

/// Says what Enter does.
fn status(app: &App) -> String {
    app.views.evidence.chosen().map_or_else(String::new, |(one, _)| format!("Enter opens {}", one.id))
}
