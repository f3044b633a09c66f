//! Advice: the gain from more of each resource, and from each change of the plan.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::table::TableView;
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views;
use crate::app::views::advice::AdviceRow;
use crate::ui::panels::{outdated, panel_list, words};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::ListLine;
use crate::ui::widgets::text::{self, fit};
use shardscope_engine::search::{Advice, Suggestion};
use shardscope_engine::units::{Amount, thousands};
use shardscope_report::figures::{Figure, FigureSubject, safety_words};

pub(super) const DRAWING: Drawing =
    Drawing { id: views::advice::SPEC.id, height, content: Content::Table(view), status: |app, _| status(app) };

/// Columns of a resource, of a change, and of a gain.
const RESOURCE: usize = 40;
const CHANGE: usize = 26;
const GAIN: usize = 8;

/// Over what more of the hardware gives: the same gains as in the headline and in the panel of the time.
const HARDWARE: &str = "throughput with more of the hardware, same plan";

/// Over what more memory gives.
const MEMORY: &str = "throughput with more memory, micro-batch and recompute re-tuned";

/// Columns of the longest bar.
const BAR: usize = 24;

/// Rows that it takes: frame, headings with blanks between them, a row for each.
fn height(app: &App) -> u16 {
    let rows = app.views.advice.rows();
    let memory = memory(app);
    let retuned = rows.iter().any(|row| matches!(row, AdviceRow::Resource(place, ..) if Some(*place) == memory));
    u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(if retuned { 8 } else { 6 })
}

/// The place of more memory among the elasticities.
fn memory(app: &App) -> Option<usize> {
    app.answer.as_ref()?.evaluation.more_memory().map(|(place, _)| place)
}

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let note = match (app.views.advice.advice(), app.shown.is_ok()) {
        (Some(advice), _) => format!("{} changes tried", advice.tried),
        (None, true) => "trying".to_owned(),
        (None, false) => String::new(),
    };
    let list = panel_list(app, theme, lines(app, theme, inside.width), app.views.advice.row());
    TableView {
        title: format!("What would help{}", outdated(app)),
        notes: vec![note],
        list: RowList { marked: false, ..list },
        ..TableView::default()
    }
}

/// Every line, with the row that it is.
fn lines(app: &App, theme: Theme, width: u16) -> Vec<ListLine<'static>> {
    let (advice, rows) = (app.views.advice.advice(), app.views.advice.rows());
    let most =
        rows.iter().map(|row| if let AdviceRow::Resource(.., gain) = row { *gain } else { 0.0 }).fold(0.0, f64::max);
    let mut lines = Vec::new();
    let heading = |text: &str| (Line::styled(text.to_owned(), theme.style(Role::Title)), None);
    let changes = title(advice, app);
    let memory = memory(app);
    let mut section = None;
    for (index, row) in rows.iter().enumerate() {
        let title = match row {
            AdviceRow::Change(_) => &changes,
            AdviceRow::Resource(place, ..) if Some(*place) == memory => MEMORY,
            AdviceRow::Resource(..) => HARDWARE,
        };
        if section != Some(title) {
            // A blank between the sections.
            lines.extend((index > 0).then(|| (Line::default(), None)));
            lines.push(heading(title));
            section = Some(title);
        }
        lines.push((line(row, app.views.advice.runs_in(index), theme, most, width), Some(index)));
    }
    let any = rows.iter().any(|row| matches!(row, AdviceRow::Change(_)));
    if let Some(nothing) = nothing(advice, app).filter(|_| !any) {
        let said = [(Line::styled(nothing, theme.style(Role::Dim)), None), (Line::default(), None)];
        if advice.is_some_and(|advice| advice.fits == Some(false)) {
            lines.splice(0..0, said);
        } else {
            lines.extend(said.into_iter().rev());
        }
    }
    lines
}

/// Why no change is listed, once that is known.
fn nothing(advice: Option<&Advice>, app: &App) -> Option<&'static str> {
    Some(match advice {
        None if app.shown.is_ok() => return None,
        None => "the scenario is not possible: changes are tried once it is",
        Some(Advice { fits: Some(false), pairs: true, .. }) => {
            "no change to the plan makes it fit safely, nor any two that were tried"
        }
        Some(Advice { fits: Some(false), .. }) => "no change to the plan makes it fit safely",
        Some(_) => "no single change to the plan makes it faster",
    })
}

/// Says what Enter does with the row under the cursor.
fn status(app: &App) -> String {
    match app.views.advice.chosen() {
        Some(AdviceRow::Change(Suggestion { coarser, .. })) if !coarser.is_empty() => {
            format!("Enter applies the change, u undoes it; number formats change: {}", coarser.join(", "))
        }
        Some(AdviceRow::Change(_)) => "Enter applies the change, u undoes it".to_owned(),
        Some(AdviceRow::Resource(..)) => "Enter explains it".to_owned(),
        None => String::new(),
    }
}

/// The heading of the changes: their purpose, and that they keep the batch.
fn title(advice: Option<&Advice>, app: &App) -> String {
    let what = match advice {
        Some(Advice { fits: Some(false), pairs: true, .. }) => "no single change makes it fit; two together would",
        Some(Advice { fits: Some(false), .. }) => "it would fit with",
        _ => "throughput with another plan",
    };
    let kept = app.scenario.wanted_sequences().map(words::kept);
    [what.to_owned(), safety_words()].into_iter().chain(kept).collect::<Vec<_>>().join(", ")
}

/// A change or a resource, its gain, and a bar, or the figures that change with it.
fn line(row: &AdviceRow, runs_in: &[&str], theme: Theme, most: f64, width: u16) -> Line<'static> {
    let gained = |name: &str, columns: usize, gain: f64| {
        let gain = words::change(1.0, 1.0 + gain, theme);
        Span::raw(format!(" {:<columns$}{gain:>GAIN$}  ", fit(name, columns, theme)))
    };
    Line::from(match row {
        AdviceRow::Resource(_, name, gain) => {
            let length = if most > 0.0 { (gain / most * BAR as f64).round() as usize } else { 0 };
            let bar = Span::styled(theme.glyphs().fills[0].repeat(length), theme.fill(Tone::Blue));
            vec![gained(name, RESOURCE, *gain), bar]
        }
        AdviceRow::Change(suggestion) => {
            let columns = if suggestion.candidate.edits.len() > 1 { RESOURCE } else { CHANGE };
            let room = usize::from(width).saturating_sub(columns + GAIN + 3);
            let aside = Span::styled(aside(suggestion, runs_in, room), theme.style(Role::Dim));
            vec![gained(&row.name(), columns, suggestion.gain), aside]
        }
    })
}

/// `int8 weights!, 88.2 days, batch 1,056, step 6.84 s, 41.2 GiB`: first what makes the numbers coarser, and of the rest
/// as much as has room.
fn aside(suggestion: &Suggestion, runs_in: &[&str], room: usize) -> String {
    let Suggestion { candidate, summary, batch, coarser, .. } = suggestion;
    let subject = FigureSubject::new(&candidate.scenario, summary);
    let [days, fits] = [Figure::Days, Figure::FitChance].map(|figure| figure.amount(&subject).map(Amount::in_row));
    let marked = coarser.iter().map(|coarse| format!("{coarse}!"));
    let figures = [
        days.map(|days| format!("{days} days")),
        batch.map(|sequences| format!("batch {}", thousands(sequences))),
        Some(format!("step {}", summary.step_time)),
        Some(summary.memory.peak.to_string()),
        fits.map(|chance| format!("P(fits) {chance}")),
        Some(if runs_in.is_empty() {
            "runs in nothing known".to_owned()
        } else {
            format!("runs in {}", runs_in.join(", "))
        }),
    ];
    let parts = marked.chain(figures.into_iter().flatten());
    let said = parts.scan(String::new(), |said, part| {
        let between = if said.is_empty() { "" } else { ", " };
        *said = format!("{said}{between}{part}");
        Some(said.clone())
    });
    said.take_while(|said| text::width(said) <= room).last().unwrap_or_default()
}
