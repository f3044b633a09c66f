//! A run of the user's own beside its prediction, and what may explain the gap.

use std::fmt;

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::table::TableView;
use super::{Content, Drawing};
use crate::app::App;
use crate::app::answers::own_run::OwnRun;
use crate::app::views::measured::{MeasuredEntry, SPEC};
use crate::ui::panels::panel_list;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::list::ListLine;
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::{self, columns};
use shardscope_engine::units::{Seconds, percent};
use shardscope_evidence::calibrate::{Attribution, Cause, RunDiagnosis};
use shardscope_report::figures::{
    CellTone, Table, apart_words, band_words, cause_cells, hypotheses, memory_words, prices, verdict_words,
};

pub(super) const DRAWING: Drawing = Drawing {
    id: SPEC.id,
    height: |app| 2 + columns(lines(app, Theme::default(), NARROW).len()).max(HOW_ROWS),
    content: Content::Table(view),
    status: |app, _| status(app),
};

/// What may have run, how far off that is, its figure, and whether it explains the measured one.
const HYPOTHESES: [Aligned; 4] =
    [Aligned::Indented(1, 46), Aligned::Right(8), Aligned::Right(10), Aligned::Indented(2, 11)];

/// A choice, its peak, what it saves or costs of memory, and of time, its chance of fitting, and whether that is enough.
const PRICES: [Aligned; 6] = [
    Aligned::Indented(1, 36),
    Aligned::Right(10),
    Aligned::Right(11),
    Aligned::Right(9),
    Aligned::Right(8),
    Aligned::Indented(2, 5),
];

/// The share of the gap, the constant, what it would be, how far that is, and what it means.
const CAUSES: [Aligned; 5] =
    [Aligned::Right(8), Aligned::Indented(2, 24), Aligned::Right(9), Aligned::Right(12), Aligned::Indented(2, 38)];

/// Rows that [`HOW`] takes at 60 columns.
const HOW_ROWS: u16 = 5;

/// Advice where nothing was typed.
const HOW: &str = "Enter: type what a step of this job takes on your machine, like 3.4 s, the model flop utilisation that it \
                   reaches, like 38 %, or the peak of its memory, like 71 GiB. A message of PyTorch that memory ran out can \
                   be pasted. The scenario must say what ran.";

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let view = &app.views.measured;
    let stale = if app.inputs.measured.is_some() && view.diagnosis().is_none() { ", computing" } else { "" };
    let framed = TableView {
        title: format!("Measured run{stale}"),
        notes: vec!["what may explain it".to_owned()],
        ..TableView::default()
    };
    match (&app.inputs.measured, view.diagnosis()) {
        (None, _) => TableView { instead: Some(HOW.to_owned()), ..framed },
        (Some(_), Some(Err(why))) => TableView { instead: Some(why.clone()), ..framed },
        (Some(_), None) => framed,
        (Some(_), Some(Ok(_))) => {
            TableView { list: panel_list(app, theme, lines(app, theme, inside.width), view.row()), ..framed }
        }
    }
}

/// Columns that its lines have at least: it is as high as they take there.
const NARROW: u16 = 78;

/// Every line, with the row that it is.
fn lines(app: &App, theme: Theme, width: u16) -> Vec<ListLine<'static>> {
    let (Some(run), Some(Ok(told))) = (&app.inputs.measured, app.views.measured.diagnosis()) else { return Vec::new() };
    let RunDiagnosis { diagnosis, attribution } = told;
    let mut lines = Listing { theme, width: width.into(), drawn: Vec::new(), rows: 0 };
    let mut said = attribution
        .as_ref()
        .map_or_else(|| memory_words(diagnosis), |told| vec![gap_words(told, counted(app, run))])
        .into_iter();
    lines.head(&said.next().unwrap_or_default());
    for line in said {
        lines.say(line);
    }
    lines.say(of_words(app, run));
    if let Some(verdict) = verdict_words(diagnosis) {
        lines.say(verdict);
    }
    lines.table(&hypotheses(diagnosis), &HYPOTHESES);
    if let Some(apart) = apart_words(diagnosis) {
        lines.say(apart);
    }
    lines.table(&prices(diagnosis), &PRICES);
    if let Some(told) = attribution {
        lines.table(&constants(&told.causes), &CAUSES);
        let unexplained = format!(" {:>7}  unexplained by any constant", percent(told.unexplained));
        lines.drawn.push((Line::styled(unexplained, theme.style(Role::Dim)), None));
        lines.say(band_words(told));
    }
    lines.drawn
}

/// Lines of a list, some of which are rows.
struct Listing {
    theme: Theme,
    /// Columns of the list.
    width: usize,
    drawn: Vec<ListLine<'static>>,
    rows: usize,
}

impl Listing {
    fn row(&mut self, line: Line<'static>) {
        self.drawn.push((line, Some(self.rows)));
        self.rows += 1;
    }

    /// The first row, on as many lines as it takes.
    fn head(&mut self, text: &str) {
        let mut lines = self.wrapped(text, Role::Title).into_iter();
        self.row(lines.next().unwrap_or_default());
        self.drawn.extend(lines.map(|line| (line, None)));
    }

    fn say(&mut self, text: impl fmt::Display) {
        let lines = self.wrapped(&text.to_string(), Role::Dim);
        self.drawn.extend(lines.into_iter().map(|line| (line, None)));
    }

    fn wrapped(&self, text: &str, role: Role) -> Vec<Line<'static>> {
        let lines = text::wrapped(text, self.width.saturating_sub(2));
        lines.into_iter().map(|line| Line::styled(format!(" {line}"), self.theme.style(role))).collect()
    }

    /// A table under its headings, after a blank; nothing where it has no rows.
    fn table(&mut self, table: &Table, columns: &[Aligned]) {
        if table.is_empty() {
            return;
        }
        let headings = table::headings(table, columns, |_| Role::Title, self.theme);
        self.drawn.extend([(Line::default(), None), (headings, None)]);
        for line in table::lines(table, columns, self.theme) {
            self.row(line);
        }
    }
}

fn constants(causes: &[Cause]) -> Table {
    let mut table = Table::headed(["of gap", "constant", "would be", "that is", "meaning"]);
    table.extend(causes.iter().map(|cause| {
        let [share, name, value, shift, meaning] = cause_cells(cause);
        vec![share, name, value, shift, meaning.toned(CellTone::Aside)]
    }));
    table
}

/// The step that is shown, if it counts with what the run has told.
fn counted(app: &App, run: &OwnRun) -> Option<Seconds> {
    let answer = app.answer.as_ref().filter(|answer| run.is_of(&answer.scenario) && run.counts_in(&answer.scenario));
    Some(answer?.evaluation.summary.step_time)
}

/// What was measured, beside the prediction without it, and the one with it, which the whole screen shows.
fn gap_words(told: &Attribution, counted: Option<Seconds>) -> String {
    let measured = Seconds::new(told.step_time);
    let place = told.band_before.map_or("", |band| {
        if (band.low..=band.high).contains(&measured) { ", inside the 80 % band" } else { ", outside the 80 % band" }
    });
    let way = if told.gap < 0.0 { "shorter" } else { "longer" };
    let predicted = measured / (1.0 + told.gap);
    let now = counted.map_or_else(String::new, |step| format!("; {step} with it, as all panels have it now"));
    format!("measured {measured}: {} {way} than {predicted}, predicted without it{place}{now}", percent(told.gap.abs()))
}

/// Whether the run is of what the screen shows.
fn of_words(app: &App, run: &OwnRun) -> String {
    if app.shown.as_deref().is_ok_and(|shown| *shown == run.scenario) {
        "of the scenario shown".to_owned()
    } else {
        format!("of the scenario as it was: {}", run.name())
    }
}

/// What the cursor is on, in full: its line may be cut.
fn status(app: &App) -> String {
    match app.views.measured.chosen() {
        Some(MeasuredEntry::Figure) | None => "Enter types a figure of the scenario shown".to_owned(),
        Some(MeasuredEntry::Hypothesis(one)) => format!("{one}: Enter applies it, u undoes it"),
        Some(MeasuredEntry::Price(price)) => format!("{}: Enter applies it, u undoes it", price.candidate),
        Some(MeasuredEntry::Cause(cause)) => format!("{}: {}", cause.constant.name, cause.constant.meaning),
    }
}
