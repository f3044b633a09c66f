//! What each level of the cluster and the link to the host carry in a step, beside what they carry with the pinned
//! scenario.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Drawing, row};
use crate::app::views;
use crate::app::views::traffic;
use crate::app::{App, Panel};
use crate::evaluate::{Copies, Summary, Traffic};
use crate::figures::Figure;
use crate::scenario::Scenario;
use crate::ui::panels::{frame, panel_list, staleness};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::ListLine;
use crate::units::Bytes;

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: views::traffic::SPEC.id,
    height,
    render,
    target: |app, theme, inside, at| row(row_at(app, theme, inside, at)),
    status: |_, _| String::new(),
};

/// Columns of the names, and of what stands behind a bar.
const NAMES: usize = 13;
const AMOUNT: usize = 31;

/// A run whose traffic is drawn: what it is called, and the mark of its bars.
struct DrawnRun<'a> {
    name: String,
    scenario: &'a Scenario,
    summary: &'a Summary,
    fill: &'static str,
}

/// Rows that it wants: frame, two rows per link and run, a row between links, a sentence per run.
fn height(app: &App) -> u16 {
    let links = traffic::carried(&app.context()).len() / 2;
    let runs = 1 + usize::from(app.pins.reference().is_some());
    u16::try_from(2 + links * (2 * runs + 1) + runs).unwrap_or(u16::MAX)
}

/// Draws it.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Traffic per device and step{}", staleness(app));
    let hint = if app.pins.reference().is_some() { "" } else { "p pins one to compare with" };
    let inside = frame(app, theme, Panel::Map, &title, hint, area, buf);
    list(app, theme, inside).render(inside, buf);
}

/// The figure at a place.
fn row_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    list(app, theme, inside).row_at(inside, at)
}

fn list(app: &App, theme: Theme, inside: Rect) -> RowList<'static> {
    let (runs, figures) = (runs(app, theme), traffic::carried(&app.context()));
    let mut lines = links(&runs, &figures, usize::from(inside.width), theme);
    lines.extend(runs.iter().map(|run| (outside(run), None)));
    panel_list(app, theme, lines, app.views.traffic.row(figures.len()))
}

/// The scenario shown, then the pinned one.
fn runs(app: &App, theme: Theme) -> Vec<DrawnRun<'_>> {
    let fills = &theme.glyphs().fills;
    let present = app.answer.as_ref().map(|answer| DrawnRun {
        name: answer.scenario.strategy.to_string(),
        scenario: &answer.scenario,
        summary: &answer.evaluation.summary,
        fill: fills[0],
    });
    let pinned = app.pins.reference().map(|(pinned, summary)| DrawnRun {
        name: format!("{} {}", theme.glyphs().pinned, pinned.scenario.strategy),
        scenario: &pinned.scenario,
        summary,
        fill: fills[2],
    });
    let with = present.is_some();
    present.into_iter().chain(pinned.filter(|_| with)).collect()
}

/// Two bars per link and run: what it carries, against the most; how long it is busy, against the step.
fn links(runs: &[DrawnRun], figures: &[Figure], width: usize, theme: Theme) -> Vec<ListLine<'static>> {
    let all = runs.iter().flat_map(|run| figures.iter().filter_map(|figure| carried(run, *figure, runs)));
    let most = all.map(|copies| copies.bytes).fold(Bytes::ZERO, Bytes::max);
    let mut lines = Vec::new();
    for (place, figure) in figures.iter().enumerate().step_by(2) {
        for (index, run) in runs.iter().enumerate() {
            let Some(copies) = carried(run, *figure, runs) else { continue };
            let name = if index == 0 { link(*figure, run.scenario) } else { &run.name };
            let role = if index == 0 { Role::Title } else { Role::Dim };
            let bars = bars(run, *figure, copies, most);
            for ((bar, name), row) in bars.iter().zip([name, ""]).zip([place, place + 1]) {
                let row = (index == 0).then_some(row);
                let name = Span::styled(format!("{name:<width$}", width = NAMES - 1), theme.style(role));
                let mut line = Line::from(vec![Span::raw(" "), name]);
                line.extend(bar.spans(run.fill, width.saturating_sub(NAMES + 5 + AMOUNT), theme));
                lines.push((line, row));
            }
        }
        lines.push((Line::default(), None));
    }
    lines
}

/// One bar, how much of it is filled, and what is said behind it.
struct TrafficBar {
    what: &'static str,
    filled: f64,
    amount: String,
    said: String,
}

impl TrafficBar {
    fn spans(&self, fill: &str, width: usize, theme: Theme) -> [Span<'static>; 4] {
        let filled = (self.filled.min(1.0) * width as f64).round() as usize;
        [
            Span::styled(format!("{} ", self.what), theme.style(Role::Dim)),
            Span::raw(format!("{:<width$}", fill.repeat(filled))),
            Span::raw(format!("{:>10}", self.amount)),
            Span::styled(self.said.clone(), theme.style(Role::Dim)),
        ]
    }
}

/// What a link carries, and how long it is busy.
fn bars(run: &DrawnRun, figure: Figure, Copies { bytes, busy }: Copies, most: Bytes) -> [TrafficBar; 2] {
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let of_all = percent(share(bytes.get(), total(run.summary).get()));
    let (what, said) = match figure {
        Figure::Traffic(_) => ("sent", format!(" {of_all:>7} of all")),
        _ => ("copy", String::new()),
    };
    let of_step = share(busy.get(), run.summary.step_time.get());
    [
        TrafficBar { what, filled: share(bytes.get(), most.get()), amount: bytes.to_string(), said },
        TrafficBar {
            what: "busy",
            filled: of_step,
            amount: busy.to_string(),
            said: format!(" {:>7} of the step", percent(of_step)),
        },
    ]
}

/// The name of the link that a figure is of.
fn link(figure: Figure, scenario: &Scenario) -> &str {
    match figure {
        Figure::Traffic(level) => scenario.cluster.levels.get(level).map_or("network", |level| &level.name),
        Figure::Copied(way) => way.lane().name(),
        _ => "",
    }
}

/// What a link of the first run carries in any of them; `None` where a cluster has no level of that name.
fn carried(run: &DrawnRun, figure: Figure, runs: &[DrawnRun]) -> Option<Copies> {
    match figure {
        Figure::Traffic(level) => {
            let name = &runs.first()?.scenario.cluster.levels.get(level)?.name;
            let Traffic { bytes_per_device, busy, .. } = run.summary.traffic[run.scenario.cluster.level(name)?];
            Some(Copies { bytes: bytes_per_device, busy })
        }
        Figure::Copied(way) => Some(run.summary.host.way(way)),
        _ => None,
    }
}

fn total(summary: &Summary) -> Bytes {
    summary.traffic.iter().map(|traffic| traffic.bytes_per_device).sum()
}

/// `zero-topo: 3.8 % of it leaves the node, 6.13 s exposed in a step of 35.3 s`.
fn outside(run: &DrawnRun) -> Line<'static> {
    let beyond = run.scenario.cluster.level("node").map_or(0, |node| node + 1);
    let left: Bytes = run.summary.traffic[beyond..].iter().map(|traffic| traffic.bytes_per_device).sum();
    let all = total(run.summary);
    let share = if all > Bytes::ZERO { left / all } else { 0.0 };
    Line::raw(format!(
        " {}: {} of it leaves the node, {} exposed in a step of {}",
        run.name,
        percent(share),
        run.summary.time.exposed,
        run.summary.step_time
    ))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
