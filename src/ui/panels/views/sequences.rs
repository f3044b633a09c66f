//! The fastest plan of each context length as a table, the plan under the cursor, and tokens per second over the length.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::App;
use crate::app::views::sequences::{SPEC, SequencesView};
use crate::ui::panels::{joined, outdated};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::table::Aligned;
use crate::ui::widgets::{LogLog, table};
use shardscope_engine::evaluate::SAFE_CHANCE;
use shardscope_engine::search::sequences::{ContextLength, SequenceSearch};
use shardscope_engine::units::{Amount, thousands};
use shardscope_report::figures::{
    CellTone, Figure, FigureSubject, RunsIn, Table, TableCell, change_of_length, longest_words, needs_words,
    plan_words, safety_words, step_words, tried_words,
};

pub(super) const DRAWING: Drawing =
    Drawing { id: SPEC.id, height: |_| HEIGHT, content: Content::Table(view), status: |app, _| status(app) };

/// Rows that it wants: frame, question, heading, lengths, the plan under the cursor, the chart.
const HEIGHT: u16 = 2 + 1 + 1 + 11 + SAID + CHART;

/// Rows of the plan under the cursor.
const SAID: u16 = 2;

/// Rows of the chart at least, and at first.
const LEAST_CHART: u16 = 6;
const CHART: u16 = 9;

fn view(app: &App, theme: Theme, inside: Rect) -> TableView {
    let lengths = &app.views.sequences;
    let mut over = vec![question(lengths, theme, inside.width)];
    let framed =
        TableView { title: format!("Context lengths{}", outdated(app)), notes: notes(lengths), ..TableView::default() };
    if lengths.answer().lengths.is_empty() {
        return TableView { over, instead: Some(nothing(lengths)), ..framed };
    }
    let shown = shown(usize::from(inside.width));
    let (set, columns) = (compared(lengths, &shown), aligned(&shown));
    over.push(table::headings(&set, &columns, |_| Role::Title, theme));
    TableView {
        over,
        list: rows(app, theme, &set, &columns, lengths.row()),
        under: about(lengths, theme, inside.width),
        // One length is no curve.
        kept: if lengths.answer().lengths.len() > 1 { LEAST_CHART } else { 0 },
        rest: Some(draw_rate_over_length),
        ..framed
    }
}

/// Says why there is no length yet, or none at all.
fn nothing(lengths: &SequencesView) -> String {
    if !lengths.is_complete() {
        "searching: the first length that fits will stand here".to_owned()
    } else if lengths.any_plan {
        "no length fits".to_owned()
    } else {
        "no length fits: x searches any plan".to_owned()
    }
}

fn question(lengths: &SequencesView, theme: Theme, width: u16) -> Line<'static> {
    let batch = lengths.asked().and_then(SequenceSearch::tokens_of_step);
    let batch = batch.map(|tokens| format!("{} tokens a step", thousands(tokens)));
    let stack = if lengths.any_plan { "any plan (x)" } else { "runs on the stack and in a launcher (x)" };
    let parts = batch.into_iter().chain([safety_words(), stack.to_owned()]);
    joined(parts.map(Span::raw), theme, width)
}

/// The longest so far, in forms for more and less room.
fn notes(lengths: &SequencesView) -> Vec<String> {
    let answer = lengths.answer();
    let longest = longest_words(answer);
    let short = answer.longest().map(|longest| format!("longest {}", thousands(f64::from(longest.sequence))));
    if lengths.is_complete() {
        return longest.into_iter().chain(short).collect();
    }
    let seconds = lengths.elapsed().as_secs();
    let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
    let tried = thousands(f64::from(answer.tried));
    vec![format!("{}, {clock}", tried_words(answer)), format!("trying {tried} tokens, {clock}"), clock]
}

/// The plan under the cursor in words, with what it cannot do without and what runs it.
fn about(lengths: &SequencesView, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let Some(length) = lengths.chosen() else { return Vec::new() };
    let needs = needs_words(length);
    let needs = if needs.is_empty() { "needs nothing else".to_owned() } else { format!("none fits without {needs}") };
    let runs_in = format!("runs in {}", RunsIn::joined(lengths.runs_in(lengths.row())));
    let figure = |figure: Figure| {
        let amount =
            figure.amount(&FigureSubject::new(&length.found.scenario, length.summary())).map(Amount::in_row)?;
        Some(format!("{} {amount}", figure.entry()?.label))
    };
    let figures = [Figure::StepTime, Figure::Peak].into_iter().filter_map(figure);
    let parts = std::iter::once(format!(" {needs}")).chain([runs_in]).chain(figures);
    vec![
        Line::styled(
            format!("{}{}", theme.glyphs().pinned, plan_words(&length.found.scenario.plan)),
            theme.style(Role::Title),
        ),
        joined(parts.map(Span::raw), theme, width),
    ]
}

/// Tokens per second of the best plan over the length.
fn draw_rate_over_length(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let lengths = &app.views.sequences;
    if lengths.answer().lengths.len() < 2 || area.height < LEAST_CHART {
        return;
    }
    let points: Vec<(f64, f64)> = lengths
        .answer()
        .lengths
        .iter()
        .map(|length| (f64::from(length.sequence), length.summary().tokens_per_s()))
        .collect();
    let places = points.iter().map(|(length, _)| *length).collect();
    let chart = LogLog {
        theme,
        curves: vec![Curve { mark: 'o', tone: Tone::Blue, name: "", points }],
        chosen: 0,
        places,
        cursor: lengths.row(),
        labels: Vec::new(),
        title: "tokens/s",
        across: "over tokens of a sequence".to_owned(),
    };
    chart.render(area, buf);
}

/// Says what Enter does.
fn status(app: &App) -> String {
    let chosen = app.views.sequences.chosen();
    chosen.map_or_else(String::new, |_| "Enter applies this length and its plan to the scenario".to_owned())
}

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthCell {
    Length,
    Speed,
    Change,
    Mfu,
    Peak,
    Step,
    Fits,
    New,
}

impl LengthCell {
    const ALL: [Self; 8] =
        [Self::Length, Self::Speed, Self::Change, Self::Mfu, Self::Step, Self::Peak, Self::Fits, Self::New];
}

/// Columns that the new choices have at least: `  cp 8, recompute full`.
const LEAST_NEW: usize = 24;

/// The columns that have room.
fn shown(width: usize) -> Vec<LengthCell> {
    let mut shown = LengthCell::ALL.to_vec();
    for rare in [LengthCell::Step, LengthCell::Peak] {
        if aligned(&shown).into_iter().map(Aligned::width).sum::<usize>() + LEAST_NEW > width {
            shown.retain(|column| *column != rare);
        }
    }
    shown
}

/// Widths and alignment of the columns.
fn aligned(shown: &[LengthCell]) -> Vec<Aligned> {
    let one = |column: &LengthCell| match column {
        LengthCell::Length => Aligned::Right(12),
        LengthCell::Speed | LengthCell::Peak | LengthCell::Step => Aligned::Right(10),
        LengthCell::Change | LengthCell::Mfu | LengthCell::Fits => Aligned::Right(8),
        // The last one has what is left.
        LengthCell::New => Aligned::Indented(2, 0),
    };
    shown.iter().map(one).collect()
}

fn compared(lengths: &SequencesView, shown: &[LengthCell]) -> Table {
    let heading = |column: &LengthCell| match column {
        LengthCell::Length => "tokens",
        LengthCell::Speed => "tokens/s",
        LengthCell::Change => "change",
        LengthCell::Mfu => "MFU",
        LengthCell::Peak => "memory",
        LengthCell::Step => "step",
        LengthCell::Fits => "fits",
        LengthCell::New => "new",
    };
    let mut table = Table::headed(shown.iter().map(heading));
    let mut before = None;
    for length in &lengths.answer().lengths {
        table.push(shown.iter().map(|column| cell(*column, before, length)).collect());
        before = Some(length);
    }
    table
}

fn cell(column: LengthCell, before: Option<&ContextLength>, length: &ContextLength) -> TableCell {
    let subject = FigureSubject::new(&length.found.scenario, length.summary());
    let figure = |figure: Figure| figure.amount(&subject).map_or_else(String::new, Amount::in_row);
    match column {
        LengthCell::Length => TableCell::word(thousands(f64::from(length.sequence))),
        LengthCell::Speed => TableCell::word(thousands(length.summary().tokens_per_s())),
        LengthCell::Change => change_of_length(before, length).map_or_else(TableCell::default, TableCell::change),
        LengthCell::Mfu => TableCell::word(figure(Figure::Mfu)),
        LengthCell::Peak => TableCell::word(figure(Figure::Peak)),
        LengthCell::Step => TableCell::word(figure(Figure::StepTime)),
        LengthCell::Fits => {
            let chance = length.found.chance_of_fitting();
            let word = TableCell::word(figure(Figure::FitChance));
            if chance >= SAFE_CHANCE { word.toned(CellTone::Good) } else { word }
        }
        LengthCell::New => TableCell::word(step_words(before, length)),
    }
}
