//! Scenarios side by side: figures with differences, memory on one scale, steps on one scale of time, and why.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Content, Drawing};
use crate::app::state::pointing::PointerTarget;
use crate::app::views;
use crate::app::views::compare::{ComparedColumn, MOST, columns};
use crate::app::{App, Panel};
use crate::ui::panels::{frame, outdated, words};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::{fit, fit_end, width, wrapped};
use crate::ui::widgets::{StackedBar, Strip};
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::units::{Amount, Bytes, Dimension, Seconds, devices};
use shardscope_report::figures::{Better, COMPARED, CellTone, Figure, FigureSubject, Table, TableCell};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::compare::SPEC.id,
    height,
    content: Content::Picture { render, target },
    status: |app, _| status(app),
};

/// Columns of the names of figures, of a value at least and at most, of the difference at least and at most.
const NAMES: usize = 13;
const VALUE: (usize, usize) = (8, 16);
const DIFFERENCE: (usize, usize) = (8, 28);

/// Columns of a scenario's name at least.
const LEAST_NAME: usize = 8;

/// Columns of a letter before a bar.
const LETTER: u16 = 4;

/// Rows that it takes: frame, header, figures, why, a bar and a timeline for each.
fn height(app: &App) -> u16 {
    let shown = Shown::new(app, MOST);
    u16::try_from(shown.figures.len() + 2 * shown.columns.len() + 6).unwrap_or(u16::MAX)
}

/// Draws the scenarios side by side.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let shown = Shown::fitting(app, area.width.saturating_sub(2).into());
    let all = columns(&app.context()).len();
    let some = if all > shown.columns.len() { format!("{} of {all}, ", shown.columns.len()) } else { String::new() };
    let note = format!("{some}rates and memory per device");
    let title = format!("Comparison{}", outdated(app));
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    if shown.columns.len() < 2 {
        let text = if app.pins.all().is_empty() {
            "nothing to compare with yet: p pins the scenario shown, then change it or move on the map; pinned \
             scenarios stand here beside the one shown"
        } else {
            "the scenario shown is the pinned one: change it or move on the map, and both appear here"
        };
        return Paragraph::new(text).wrap(Wrap { trim: true }).render(inside, buf);
    }
    let table = ComparisonTable::new(&shown, theme, inside.width.into());
    let (header, rows) = table.lines();
    let said = |text: Option<&str>, role: Role| {
        let lines = text.map_or_else(Vec::new, |text| wrapped(text, inside.width.into()));
        lines.into_iter().map(move |line| Line::styled(line, theme.style(role)))
    };
    // What it comes to stays in sight; the figures move under it.
    let head: Vec<Line> = said(app.views.compare.why(), Role::Title).chain([header]).collect();
    let mut drawn: Vec<Drawn> = rows.into_iter().map(Drawn::Line).collect();
    drawn.extend(said(table.names().as_deref(), Role::Dim).map(Drawn::Line));
    drawn.extend(said(app.views.compare.unknown(), Role::Dim).map(Drawn::Line));
    drawn.extend((0..shown.columns.len()).map(Drawn::Memory));
    drawn.extend((0..shown.columns.len()).map(Drawn::Step));
    let mut rows = inside.rows();
    for (line, at) in head.iter().zip(rows.by_ref()) {
        buf.set_line(at.x, at.y, line, at.width);
    }
    let beyond = (drawn.len() + head.len()).saturating_sub(inside.height.into());
    let top = app.views.compare.top(shown.columns.len()).min(beyond);
    for (row, at) in drawn.into_iter().skip(top).zip(rows) {
        match row {
            Drawn::Line(line) => buf.set_line(at.x, at.y, &line, at.width).0,
            Drawn::Memory(index) => shown.draw_memory(index, theme, at, buf),
            Drawn::Step(index) => shown.draw_step(index, app.views.compare.zoom, theme, at, buf),
        };
    }
}

/// The scenario whose column is at a place of the table, by its place among all columns.
fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<PointerTarget> {
    let shown = Shown::fitting(app, inside.width.into());
    if shown.columns.len() < 2 {
        return None;
    }
    let table = ComparisonTable::new(&shown, theme, inside.width.into());
    let across = usize::from(at.x - inside.x).checked_sub(NAMES)? / table.value;
    let why = app.views.compare.why().map_or(0, |why| wrapped(why, inside.width.into()).len());
    let tall = usize::from(at.y - inside.y) <= why + shown.figures.len();
    let (column, _) = shown.columns.get(across).filter(|_| tall)?;
    Some(PointerTarget::Row(Panel::Map, column.pin.unwrap_or(app.pins.all().len())))
}

/// Describes the column under the cursor.
fn status(app: &App) -> String {
    let columns = columns(&app.context());
    let Some(column) = columns.get(app.views.compare.column(columns.len())) else { return String::new() };
    let ComparedColumn { scenario, .. } = column;
    let what = format!("{}: {}, {}, {}", column.letter(), scenario.model.id, column.name, devices(scenario.devices()));
    if column.pin.is_some() { format!("{what} (Enter applies it)") } else { format!("{what}, the scenario shown") }
}

/// One row of the drawing.
enum Drawn {
    Line(Line<'static>),
    Memory(usize),
    Step(usize),
}

/// The columns that are seen, each with its evaluation.
struct Shown<'a> {
    columns: Vec<(ComparedColumn<'a>, &'a Evaluation)>,
    /// The one that is held against the first.
    chosen: usize,
    /// The one that trains the most tokens a second of all that fit, if it is among them.
    best: Option<usize>,
    /// The figures, the most telling first.
    figures: Vec<ComparedRow>,
}

/// One figure of all columns.
struct ComparedRow {
    figure: Figure,
    name: String,
    values: Vec<f64>,
    better: Better,
    /// The dimension of the values.
    dimension: Dimension,
    /// The unit of the difference.
    unit: String,
}

impl<'a> Shown<'a> {
    /// The first column, and as many around the cursor as there is room for.
    fn fitting(app: &'a App, width: usize) -> Self {
        let shown = Self::new(app, MOST);
        let room = width.saturating_sub(NAMES + DIFFERENCE.0) / shown.least_value();
        if shown.columns.len() <= room.max(2) { shown } else { Self::new(app, room.max(2)) }
    }

    /// Columns that a value takes with a space before it: those of the longest.
    fn least_value(&self) -> usize {
        let texts = self.figures.iter().flat_map(|row| row.values.iter().map(|value| width(&row.text(*value)) + 1));
        texts.fold(VALUE.0, usize::max)
    }

    /// The first column, and those around the cursor, with their figures.
    fn new(app: &'a App, most: usize) -> Self {
        let shown = Self::columns(app, most);
        Self { figures: shown.figures(), ..shown }
    }

    /// The first column, and those around the cursor.
    fn columns(app: &'a App, most: usize) -> Self {
        let all = columns(&app.context());
        let cursor = app.views.compare.column(all.len());
        let pair = app.views.compare.pair(&all).unwrap_or_default();
        let first = cursor.saturating_sub(most - 2).max(1);
        let near = first..first + most - 1;
        let seen = |(index, _): &(usize, ComparedColumn)| pair.contains(index) || near.contains(index);
        let speed = |column: &ComparedColumn| {
            let summary = &column.evaluation?.summary;
            summary.fits.then(|| summary.tokens_per_s())
        };
        let speeds = all.iter().enumerate().filter_map(|(index, column)| Some((index, speed(column)?)));
        let fastest = speeds.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let known: Vec<(usize, (ComparedColumn, &Evaluation))> = all
            .into_iter()
            .enumerate()
            .filter(seen)
            .filter_map(|(index, column)| Some((index, (column, column.evaluation?.as_ref()))))
            .collect();
        let place = |wanted: usize| known.iter().position(|(index, _)| *index == wanted);
        let best = fastest.and_then(|(index, _)| place(index));
        let chosen = place(pair[1]).unwrap_or_default();
        let columns = known.into_iter().map(|(_, column)| column).collect();
        Self { chosen, best, columns, figures: Vec::new() }
    }

    fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.columns.iter().map(|(_, evaluation)| &evaluation.summary)
    }

    /// The figures, the most telling first; those that are nothing everywhere are left out, and those that some column
    /// lacks.
    fn figures(&self) -> Vec<ComparedRow> {
        let most = self.summaries().map(|summary| summary.step_time.get()).fold(0.0, f64::max);
        let time = if most < 1.0 { ("ms", 1e3) } else { ("s", 1.0) };
        let rows = COMPARED.into_iter().filter_map(|figure| self.row(figure, time));
        rows.filter(|row| row.values.iter().any(|value| *value > 0.0)).collect()
    }

    /// A figure of all columns, where these count it in the same unit; times in one that suits the longest step.
    fn row(&self, figure: Figure, (time, factor): (&'static str, f64)) -> Option<ComparedRow> {
        let entry = figure.entry()?;
        let amount = |(column, evaluation): &(ComparedColumn, &Evaluation)| {
            figure.amount(&FigureSubject::evaluated(column.scenario, evaluation))
        };
        let amounts = self.columns.iter().map(amount).collect::<Option<Vec<Amount>>>()?;
        let dimension = amounts.first()?.unit;
        let same = amounts.iter().all(|amount| amount.unit == dimension);
        let in_column = amounts.into_iter().map(Amount::in_column);
        let (unit, values) = match dimension {
            Dimension::Seconds => (time.to_owned(), in_column.map(|value| value * factor).collect()),
            Dimension::Bytes => (dimension.column_unit(), in_column.collect()),
            _ => (String::new(), in_column.collect()),
        };
        let written = if unit.is_empty() { dimension.column_unit() } else { unit.clone() };
        let known = written.is_empty() || written == entry.label;
        let name = if known { entry.label.to_owned() } else { format!("{}, {written}", entry.label) };
        same.then_some(ComparedRow { figure, name, values, better: entry.better, dimension, unit })
    }

    fn draw_letter(&self, index: usize, theme: Theme, row: Rect, buf: &mut Buffer) -> Rect {
        let letter = self.columns[index].0.letter();
        buf.set_stringn(row.x, row.y, letter, usize::from(LETTER), theme.style(Role::Dim));
        Rect { x: row.x.saturating_add(LETTER).min(row.right()), width: row.width.saturating_sub(LETTER), ..row }
    }

    /// Memory, on the scale of the largest.
    fn draw_memory(&self, index: usize, theme: Theme, row: Rect, buf: &mut Buffer) -> u16 {
        let scale = self.summaries().map(|summary| summary.memory.peak.max(summary.memory.capacity));
        let scale = scale.fold(Bytes::ZERO, Bytes::max);
        let memory = &self.columns[index].1.summary.memory;
        let bar = self.draw_letter(index, theme, row, buf);
        StackedBar { scale: Some(scale), legend: false, ..StackedBar::new(theme, memory.parts, memory.capacity) }
            .render(bar, buf);
        row.right()
    }

    /// The step of the rank that ends last, on the scale of the longest.
    fn draw_step(&self, index: usize, zoom: u32, theme: Theme, row: Rect, buf: &mut Buffer) -> u16 {
        let longest = self.summaries().map(|summary| summary.step_time).fold(Seconds::ZERO, Seconds::max);
        let evaluation = self.columns[index].1;
        let trace = &evaluation.trace;
        let rank = trace.last_rank();
        let idle = trace.idle_of(rank);
        let bar = self.draw_letter(index, theme, row, buf);
        let window = longest / f64::from(1 << zoom);
        Strip { folded: trace.folded_of(rank), ..Strip::new(theme, idle, evaluation.summary.step_time, window) }
            .render(bar, buf);
        row.right()
    }
}

/// The widths of the table.
struct ComparisonTable<'a> {
    shown: &'a Shown<'a>,
    theme: Theme,
    value: usize,
    difference: usize,
}

impl<'a> ComparisonTable<'a> {
    fn new(shown: &'a Shown<'a>, theme: Theme, width: usize) -> Self {
        let count = shown.columns.len();
        let room = width.saturating_sub(NAMES);
        let least = shown.least_value();
        let value = (room.saturating_sub(DIFFERENCE.1) / count).clamp(least, VALUE.1.max(least));
        Self { shown, theme, value, difference: room.saturating_sub(value * count) }
    }

    /// Columns of the figures' names, of each scenario, and of the difference.
    fn columns(&self) -> Vec<Aligned> {
        let values = self.shown.columns.iter().map(|_| Aligned::Right(self.value));
        std::iter::once(Aligned::Left(NAMES)).chain(values).chain([Aligned::Left(0)]).collect()
    }

    /// The heading, and the figures under it.
    fn lines(&self) -> (Line<'static>, Vec<Line<'static>>) {
        // The names stand at 0, the scenarios after them, the difference last.
        let (chosen, last) = (1 + self.shown.chosen, 1 + self.shown.columns.len());
        let role = |at: usize| match at {
            _ if at == chosen => Role::Accent,
            _ if at == last => Role::Dim,
            _ => Role::Title,
        };
        let (table, columns) = (self.table(), self.columns());
        (table::headings(&table, &columns, role, self.theme), table::lines(&table, &columns, self.theme))
    }

    /// The figures, a row each, under the scenarios.
    fn table(&self) -> Table {
        let scenarios = self.shown.columns.iter().enumerate().map(|(index, (column, _))| self.heading(index, column));
        let headings: Vec<String> = scenarios.chain(self.difference_heading()).collect();
        let mut table = Table::headed(std::iter::once("").chain(headings.iter().map(String::as_str)));
        table.extend(self.shown.figures.iter().map(|figure| {
            let best = figure.best().filter(|_| self.shown.columns.len() > 2);
            let values = figure.values.iter().enumerate().map(|(index, value)| {
                let over = figure.figure == Figure::Peak && !self.shown.columns[index].1.summary.fits;
                let text = figure.text(*value);
                if over {
                    TableCell::word(format!("{text} {}", self.theme.glyphs().too_big)).toned(CellTone::Bad)
                } else if best.is_some_and(|best| figure.text(best) == text) {
                    TableCell::word(text).toned(CellTone::Good)
                } else {
                    TableCell::word(text)
                }
            });
            std::iter::once(TableCell::aside(figure.name.clone())).chain(values).chain(self.differing(figure)).collect()
        }));
        table
    }

    /// `A fsdp *`: the letter of a scenario, its name, and a mark if it is the fastest; where names have too little room
    /// they stand under the table.
    fn heading(&self, index: usize, column: &ComparedColumn) -> String {
        let star = (self.shown.best == Some(index)).then(|| self.theme.glyphs().best.to_owned());
        let name = (!self.is_lettered()).then(|| self.short_name(column, self.room(column)));
        std::iter::once(column.letter()).chain(name).chain(star).collect::<Vec<_>>().join(" ")
    }

    /// Columns of a scenario's name beside its letter and a mark.
    fn room(&self, column: &ComparedColumn) -> usize {
        self.value.saturating_sub(width(&column.letter()) + 4)
    }

    /// Whether names have so little room that only letters stand over the columns.
    fn is_lettered(&self) -> bool {
        let cut = |(column, _): &(ComparedColumn, _)| {
            let room = self.room(column);
            room < LEAST_NAME && width(column.name) > room
        };
        self.shown.columns.iter().any(cut)
    }

    /// The names that the letters stand for, where these stand alone: `A fsdp  B zeropp, nodes 16`.
    fn names(&self) -> Option<String> {
        let named = |(column, _): &(ComparedColumn, _)| format!("{} {}", column.letter(), column.name);
        self.is_lettered().then(|| self.shown.columns.iter().map(named).collect::<Vec<_>>().join("   "))
    }

    /// The end of a name, which mostly tells it from the others, or else its beginning without the field's word.
    fn short_name(&self, column: &ComparedColumn, room: usize) -> String {
        let end = |name: &str| fit_end(name, room, self.theme);
        let alike = |(other, _): &(ComparedColumn, _)| other.name != column.name && end(other.name) == end(column.name);
        if self.shown.columns.iter().any(alike) {
            fit(column.name.split_once(' ').map_or(column.name, |(_, value)| value), room, self.theme)
        } else {
            end(column.name)
        }
    }

    /// `  B - A`.
    fn difference_heading(&self) -> Option<String> {
        let [(a, _), (b, _)] = [self.shown.columns.first()?, self.shown.columns.get(self.shown.chosen)?];
        let text = format!("  {} {} {}", b.letter(), self.theme.glyphs().minus, a.letter());
        Some(fit(&text, self.difference, self.theme))
    }

    /// `  ▼ 3.87 s  −36 %  better`, as much of it as there is room for.
    fn differing(&self, figure: &ComparedRow) -> Option<TableCell> {
        let (from, to) = (*figure.values.first()?, *figure.values.get(self.shown.chosen)?);
        let (change, tone) = verdict(figure, from, to);
        let percent = if from > 0.0 { words::change(from, to, self.theme) } else { String::new() };
        let glyph = self.theme.glyphs().change[usize::from(to < from)];
        let by = figure.text((to - from).abs());
        let unit = if figure.unit.is_empty() { String::new() } else { format!(" {}", figure.unit) };
        let forms = [
            format!("  {glyph} {by}{unit}  {percent}  {change}"),
            format!("  {percent} {change}"),
            format!(" {percent}"),
        ];
        let text = if figure.text(from) == figure.text(to) {
            "  same".to_owned()
        } else {
            forms.into_iter().find(|text| width(text.trim_end()) <= self.difference).unwrap_or_default()
        };
        Some(TableCell::word(text).toned(tone))
    }
}

/// Whether a change is for the better, in a word.
fn verdict(figure: &ComparedRow, from: f64, to: f64) -> (&'static str, CellTone) {
    let more = match figure.better {
        Better::More => true,
        Better::Less => false,
        Better::Neither => return ("", CellTone::Aside),
    };
    match figure.text(from) != figure.text(to) {
        true if (to > from) == more => ("better", CellTone::Good),
        true => ("worse", CellTone::Bad),
        false => ("", CellTone::Aside),
    }
}

impl ComparedRow {
    /// The value that is better than all others, where more or less of it is.
    fn best(&self) -> Option<f64> {
        let values = self.values.iter().copied();
        match self.better {
            Better::More => values.reduce(f64::max),
            Better::Less => values.reduce(f64::min),
            Better::Neither => None,
        }
    }

    fn text(&self, value: f64) -> String {
        // A chance of less than one in a million is none.
        if self.dimension == Dimension::Share && value.abs() < 1e-4 {
            return "0".to_owned();
        }
        Amount::in_column_text(self.dimension, value)
    }
}
