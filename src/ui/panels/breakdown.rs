//! The parts of a step's time, the traffic of each level, and the gain from more of each resource.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{frame, has_keys, staleness, words};
use crate::app::views::View;
use crate::app::views::panels::breakdown;
use crate::app::{Answer, App, Panel};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::columns;
use shardscope_engine::units::{Amount, percent};
use shardscope_report::figures::{Figure, TRAINING};

/// Columns that it takes.
pub(in crate::ui) const WIDTH: u16 = 41;

/// Headings of the sections on the left, where there are two columns.
const TIME: &str = "time";
const COST: &str = "training";

/// Over the gains from 10 % of each resource with the same plan, and from more memory, which asks for another.
const GAINED: &str = "throughput with 10 %, memory re-tuned";

/// Rows that gains take, with their heading.
const GAINS: usize = 7;

/// Columns of a bar.
const BAR: usize = 8;

/// Rows that it needs in one column: frame, figures under their headings, gains that are still computed.
pub(in crate::ui) fn height(app: &App) -> u16 {
    let rows = breakdown(app.answer.as_ref());
    let headings = rows.chunk_by(|one, next| heading(*one) == heading(*next)).count();
    let computed = rows.iter().any(|figure| matches!(figure, Figure::Elasticity(_)));
    columns(2 + rows.len() + headings + if computed { 0 } else { GAINS })
}

/// Draws it; the row that has the keys is reversed.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    // Beside the other panels, which say it too, it would only cost bytes on a slow line.
    let stale = if app.focus == Panel::Time { staleness(app) } else { "" };
    let title = format!("Where the step goes{stale}");
    let Some(answer) = &app.answer else {
        frame(app, theme, Panel::Time, &title, "", area, buf);
        return;
    };
    let trace = &answer.evaluation.trace;
    // The timeline may be at another one.
    let whose = if trace.ranks() > 1 { format!("rank {}", trace.last_rank()) } else { String::new() };
    let inside = frame(app, theme, Panel::Time, &title, &whose, area, buf);
    for (area, list) in lists(app, answer, theme, inside) {
        list.render(area, buf);
    }
}

/// The row at a place.
pub(in crate::ui) fn row_at(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<usize> {
    let lists = lists(app, app.answer.as_ref()?, theme, inside);
    lists.into_iter().find_map(|(area, list)| list.row_at(area, at))
}

/// The lists and their areas: traffic and gains stand beside the rest where there is room.
fn lists(app: &App, answer: &Answer, theme: Theme, inside: Rect) -> Vec<(Rect, RowList<'static>)> {
    let rows = breakdown(app.answer.as_ref());
    let beside = inside.width >= 2 * WIDTH - 6;
    let cursor = has_keys(app, Panel::Time).then(|| app.time.cursor(&app.context()));
    let [mut left, mut right] = [Vec::new(), Vec::new()];
    let mut section = "";
    for (index, figure) in rows.into_iter().enumerate() {
        let title = heading(figure);
        let lines = if beside && !matches!(title, TIME | COST) { &mut right } else { &mut left };
        if title != section {
            let of_transfers = if title == TIME { transfers(answer) } else { String::new() };
            let text = Line::styled(format!("{title}{of_transfers}"), theme.style(Role::Title));
            lines.push((text, None));
            section = title;
        }
        lines.push((row(figure, answer, theme), Some(index)));
    }
    let list = |lines| RowList { theme, lines, cursor, focused: true, ..RowList::default() };
    if beside {
        let [first, second] = inside.layout(&Layout::horizontal([Constraint::Length(WIDTH - 2), Constraint::Fill(1)]));
        return vec![(first, list(left)), (second, list(right))];
    }
    vec![(inside, list(left))]
}

/// The section that a row belongs to.
fn heading(figure: Figure) -> &'static str {
    match figure {
        Figure::Elasticity(_) => GAINED,
        Figure::Traffic(_) => "sent per device",
        Figure::Copied(_) => "copied per device",
        _ if TRAINING.contains(&figure) => COST,
        _ => TIME,
    }
}

/// The share of the step that is lost to transfers: `, 29 % of it lost to transfers`.
fn transfers(answer: &Answer) -> String {
    let lost = words::lost_to_transfers(answer);
    lost.map_or_else(String::new, |share| format!(", {share} of it lost to transfers"))
}

fn row(figure: Figure, answer: &Answer, theme: Theme) -> Line<'static> {
    let summary = &answer.evaluation.summary;
    let subject = answer.subject();
    let label = figure.entry().map_or("", |entry| entry.label);
    let amount = figure.amount(&subject);
    let value = amount.map_or_else(String::new, Amount::in_row);
    Line::raw(match figure {
        Figure::Traffic(_) | Figure::Copied(_) => {
            let name = subject.which(figure).unwrap_or_default();
            let busy = figure.busy().and_then(|busy| busy.amount(&subject)).map_or_else(String::new, Amount::in_row);
            format!(" {name:<10}{value:>9}, busy {busy}")
        }
        Figure::Elasticity(_) => {
            let gain = amount.map_or(0.0, |amount| amount.value);
            format!(" {:<31}{:>7}", subject.which(figure).unwrap_or_default(), words::change(1.0, 1.0 + gain, theme))
        }
        _ if TRAINING.contains(&figure) => format!(" {label:<13}{value:>18}"),
        // A part of the line above it, so that it has no bar of its own.
        Figure::Slowed => {
            let share = amount.map_or(0.0, |amount| amount.value / summary.step_time.get());
            format!("  {label:<9}{value:>9} {:>7} transfers", percent(share))
        }
        _ => {
            let share = amount.map_or(0.0, |amount| amount.value / summary.step_time.get());
            let bar = theme.glyphs().fills[0].repeat((share.min(1.0) * BAR as f64).round() as usize);
            format!(" {label:<10}{value:>9} {:>7}  {bar}", percent(share))
        }
    })
}
