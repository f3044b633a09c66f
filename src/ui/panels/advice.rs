//! What would help: more of which resource, and which change of the plan.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{frame, in_view, words};
use crate::app::advice::{Row, Suggestion};
use crate::app::inputs::FIELDS;
use crate::app::{Answer, App, Panel};
use crate::explain::{Figure, explain};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::text::fit;
use crate::units::significant;

/// Columns of a resource, of a change, and of a gain.
const RESOURCE: usize = 40;
const CHANGE: usize = 26;
const GAIN: usize = 8;

/// Columns of the longest bar.
const BAR: usize = 24;

/// Rows that it takes: frame, two headings with a blank between them, a row for each.
pub(super) fn height(app: &App) -> u16 {
    u16::try_from(app.advice_rows().len()).unwrap_or(u16::MAX).saturating_add(6)
}

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let advice = &app.views.advice;
    let note = if advice.is_complete() { format!("{} changes tried", advice.tried()) } else { "trying".to_owned() };
    let inside = frame(app, theme, Panel::Map, "What would help", &note, area, buf);
    let rows = app.advice_rows();
    let cursor = app.advice_cursor(rows.len());
    let has_keys = app.focus == Panel::Map && app.layer.is_none();
    let most = rows.iter().map(|row| if let Row::Resource(_, gain) = row { *gain } else { 0.0 }).fold(0.0, f64::max);
    let mut lines: Vec<(Line, bool)> = Vec::new();
    let heading = |text: &str| (Line::styled(text.to_owned(), theme.style(Role::Title)), false);
    let mut changes = false;
    for (index, row) in rows.iter().enumerate() {
        if index == 0 && matches!(row, Row::Resource(..)) {
            lines.push(heading("throughput with more of the hardware"));
        }
        if matches!(row, Row::Change(_)) && !changes {
            changes = true;
            lines.extend((index > 0).then(|| (Line::default(), false)));
            lines.push(heading(title(advice.fits())));
        }
        lines.push((line(row, app, theme, most), index == cursor));
    }
    if advice.is_complete() && !changes {
        lines.push((Line::default(), false));
        let nothing = match advice.fits() {
            Some(false) => "no single change of the plan lets it fit",
            _ => "no single change of the plan makes it faster",
        };
        lines.push((Line::styled(nothing, theme.style(Role::Dim)), false));
    }
    let at = lines.iter().position(|(_, here)| *here).unwrap_or(0);
    let seen = in_view(at, lines.len(), inside.height.into());
    for ((line, here), row) in lines[seen].iter().zip(inside.rows()) {
        buf.set_style(row, if *here && has_keys { theme.style(Role::Cursor) } else { Style::new() });
        buf.set_line(row.x, row.y, line, row.width);
    }
}

/// What the cursor is on, for the status line.
pub(super) fn status(app: &App) -> String {
    let rows = app.advice_rows();
    match rows.get(app.advice_cursor(rows.len())) {
        Some(Row::Change(_)) => "Enter makes the change, u undoes it".to_owned(),
        Some(Row::Resource(..)) => "Enter explains it".to_owned(),
        None => String::new(),
    }
}

const fn title(fits: Option<bool>) -> &'static str {
    match fits {
        Some(false) => "it would fit with",
        _ => "throughput with another plan",
    }
}

/// What is changed, what it gives, and a bar for that, or what else changes.
fn line(row: &Row, app: &App, theme: Theme, most: f64) -> Line<'static> {
    let gained = |name: &str, columns: usize, gain: f64| {
        let gain = words::change(1.0, 1.0 + gain, theme);
        Span::raw(format!(" {:<columns$}{gain:>GAIN$}  ", fit(name, columns, theme)))
    };
    Line::from(match row {
        Row::Resource(index, gain) => {
            let length = if most > 0.0 { (gain / most * BAR as f64).round() as usize } else { 0 };
            let bar = Span::styled(theme.glyphs().fills[0].repeat(length), theme.fill(Tone::Blue));
            vec![gained(&resource(app, *index), RESOURCE, *gain), bar]
        }
        Row::Change(suggestion) => {
            let Suggestion { trial, gain, .. } = suggestion;
            let name = format!("{} {}", FIELDS[trial.field].label, trial.value);
            vec![gained(&name, CHANGE, *gain), Span::styled(aside(suggestion), theme.style(Role::Dim))]
        }
    })
}

/// `10 % more bandwidth of the node level`.
fn resource(app: &App, index: usize) -> String {
    let name = |answer: &Answer| explain(Figure::Elasticity(index), &answer.scenario, &answer.evaluation);
    app.answer.as_ref().and_then(name).map_or_else(String::new, |explanation| explanation.name)
}

/// `step 6.84 s, 41.2 GiB, 2 x the batch`.
fn aside(suggestion: &Suggestion) -> String {
    let Suggestion { summary, batch, .. } = suggestion;
    let batch =
        if (batch - 1.0).abs() < 1e-9 { String::new() } else { format!(", {} x the batch", significant(*batch, 2)) };
    format!("step {}, {}{batch}", summary.step_time, summary.memory.peak)
}
