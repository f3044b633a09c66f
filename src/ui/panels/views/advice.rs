//! Advice: the gain from more of each resource, and from each change of the plan.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::table::TableView;
use super::{Content, Drawing};
use crate::app::App;
use crate::app::answers::launchers::RUNS_IN;
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

/// Columns of a resource, which no change takes more than; of a change at least; and of a gain.
const RESOURCE: usize = 40;
const CHANGE: usize = 18;
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
    let changes_named = rows.iter().filter(|row| matches!(row, AdviceRow::Change(_)));
    let widest = changes_named.map(|row| text::width(&row.name()) + 1).max().unwrap_or(0);
    let named = Named { of_change: widest.clamp(CHANGE, RESOURCE), most };
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
        lines.push((line(row, app.views.advice.runs_in(index), theme, named, width), Some(index)));
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

/// Says what Enter does with the row under the cursor, and who runs its plan.
fn status(app: &App) -> String {
    let advice = &app.views.advice;
    match advice.chosen() {
        Some(AdviceRow::Change(Suggestion { candidate, coarser, .. })) => {
            let missing = || (RUNS_IN.missing)(&candidate.scenario).unwrap_or_else(|| "none known".to_owned());
            let runs_in = match advice.runs_in(advice.row()) {
                [] => format!("runs nowhere, {}", missing()),
                names => format!("runs in {}", names.join(", ")),
            };
            let said = format!("Enter applies it, u undoes it; {runs_in}");
            if coarser.is_empty() { said } else { format!("{said}; number formats change: {}", coarser.join(", ")) }
        }
        Some(AdviceRow::Resource(..)) => "Enter explains it".to_owned(),
        None => String::new(),
    }
}

/// The heading of the changes: their purpose, and that they keep the batch.
fn title(advice: Option<&Advice>, app: &App) -> String {
    let what = match advice {
        Some(Advice { fits: Some(false), pairs: true, .. }) => "one change is not enough; two are",
        Some(Advice { fits: Some(false), .. }) => "it would fit with",
        _ => "throughput with another plan",
    };
    let kept = app.scenario.wanted_sequences().map(words::kept);
    [what.to_owned(), safety_words()].into_iter().chain(kept).collect::<Vec<_>>().join(", ")
}

/// What the rows of a list share.
#[derive(Clone, Copy)]
struct Named {
    /// Columns of the name of a change.
    of_change: usize,
    /// The gain of the longest bar.
    most: f64,
}

/// A change or a resource, its gain, and a bar, or the figures that change with it.
fn line(
    row: &AdviceRow,
    runs_in: &[&str],
    theme: Theme,
    Named { of_change, most }: Named,
    width: u16,
) -> Line<'static> {
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
            let room = usize::from(width).saturating_sub(of_change + GAIN + 3 + words::LEAST_LAUNCHERS);
            let launchers = words::launchers(runs_in, words::LEAST_LAUNCHERS);
            let aside = format!("{:<room$}{launchers}", aside(suggestion, room));
            vec![gained(&row.name(), of_change, suggestion.gain), Span::styled(aside, theme.style(Role::Dim))]
        }
    })
}

/// `int8 weights!, 88.2 days, batch 1,056, step 6.84 s, 41.2 GiB`: first what makes the numbers coarser, and of the rest
/// as much as has room.
fn aside(suggestion: &Suggestion, room: usize) -> String {
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
    ];
    let parts = marked.chain(figures.into_iter().flatten());
    let said = parts.scan(String::new(), |said, part| {
        let between = if said.is_empty() { "" } else { ", " };
        *said = format!("{said}{between}{part}");
        Some(said.clone())
    });
    said.take_while(|said| text::width(said) < room).last().unwrap_or_default()
}
