//! Traffic of each level of the cluster and of the link to the host in a step, beside that of the pinned scenario.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::table::TableView;
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views;
use crate::ui::panels::{panel_list, staleness};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::ListLine;
use crate::ui::widgets::table::{self, Aligned};
use shardscope_engine::evaluate::{Copies, Summary, Traffic};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Bytes, percent};
use shardscope_report::figures::{CellTone, Figure, Table, TableCell};

pub(super) const DRAWING: Drawing =
    Drawing { id: views::traffic::SPEC.id, height, content: Content::Table(view), status: |_, _| String::new() };

/// Columns of the names, of what a bar shows, and behind the bar of the amount and of its share.
const NAMES: Aligned = Aligned::Indented(1, 12);
const KINDS: Aligned = Aligned::Left(5);
const AMOUNTS: Aligned = Aligned::Right(10);
const SHARES: Aligned = Aligned::Right(8);
const WORDS: Aligned = Aligned::Indented(1, 12);

/// A run whose traffic is drawn: what it is called, and the mark of its bars.
struct DrawnRun<'a> {
    name: String,
    scenario: &'a Scenario,
    summary: &'a Summary,
    fill: &'static str,
}

/// Rows that it wants: frame, two rows per link and run, a row between links, a sentence per run.
fn height(app: &App) -> u16 {
    let links = app.views.traffic.figures().len() / 2;
    let runs = 1 + usize::from(app.pins.reference().is_some());
    u16::try_from(2 + links * (2 * runs + 1) + runs).unwrap_or(u16::MAX)
}

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let (runs, traffic) = (runs(app, theme), &app.views.traffic);
    let mut lines = links(&runs, traffic.figures(), inside.width.into(), theme);
    lines.extend(runs.iter().map(|run| (outside(run), None)));
    let hint = if app.pins.reference().is_some() { "" } else { "p pins one to compare with" };
    TableView {
        title: format!("Traffic per device and step{}", staleness(app)),
        notes: vec![hint.to_owned()],
        list: panel_list(app, theme, lines, traffic.row()),
        ..TableView::default()
    }
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
    let others = [NAMES, KINDS, AMOUNTS, SHARES, WORDS].map(Aligned::width).iter().sum();
    let bar = width.saturating_sub(others);
    let columns = [NAMES, KINDS, Aligned::Left(bar), AMOUNTS, SHARES, WORDS];
    let mut table = Table::headed([""; 6]);
    let mut places = Vec::new();
    for (place, figure) in figures.iter().enumerate().step_by(2) {
        for (index, run) in runs.iter().enumerate() {
            let Some(copies) = carried(run, *figure, runs) else { continue };
            let name = match index {
                0 => TableCell::word(link(*figure, run.scenario)).toned(CellTone::Name),
                _ => TableCell::aside(run.name.clone()),
            };
            table.extend(bars(run, *figure, copies, most).into_iter().zip([name, TableCell::default()]).map(
                |(TrafficBar { what, filled, amount, share, of }, name)| {
                    let filled = run.fill.repeat((filled.min(1.0) * bar as f64).round() as usize);
                    let amounts = [TableCell::word(filled), TableCell::word(amount)];
                    let said = [TableCell::aside(share), TableCell::aside(of)];
                    [name, TableCell::aside(what)].into_iter().chain(amounts).chain(said).collect()
                },
            ));
            // The pinned run's traffic stands under it, and belongs to no row of the list.
            places.extend([place, place + 1].map(|row| (index == 0).then_some(row)));
        }
        table.push(Vec::new());
        places.push(None);
    }
    table::lines(&table, &columns, theme).into_iter().zip(places).collect()
}

/// The name of the link that a figure is of.
fn link(figure: Figure, scenario: &Scenario) -> &str {
    match figure {
        Figure::Traffic(level) => scenario.cluster.levels.get(level).map_or("network", |level| &level.name),
        Figure::Copied(way) => way.stream().name(),
        _ => "",
    }
}

/// One bar: what it shows, how much of it is filled, what that is, and which share of what.
struct TrafficBar {
    what: &'static str,
    filled: f64,
    amount: String,
    share: String,
    of: &'static str,
}

/// The bytes of a link, and the time that it is busy.
fn bars(run: &DrawnRun, figure: Figure, Copies { bytes, busy }: Copies, most: Bytes) -> [TrafficBar; 2] {
    let part = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let of_all = percent(part(bytes.get(), total(run.summary).get()));
    let (what, share, of) = match figure {
        Figure::Traffic(_) => ("sent", of_all, "of all"),
        _ => ("copy", String::new(), ""),
    };
    let of_step = part(busy.get(), run.summary.step_time.get());
    let amount = bytes.to_string();
    [
        TrafficBar { what, filled: part(bytes.get(), most.get()), amount, share, of },
        TrafficBar {
            what: "busy",
            filled: of_step,
            amount: busy.to_string(),
            share: percent(of_step),
            of: "of the step",
        },
    ]
}

/// The traffic of a link of the first run in any of them; `None` where a cluster has no level of that name.
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
