//! Rows of cells under columns, each cell for people and for machines: text, CSV and JSON from one table, and panels of
//! the explorer, which set its cells in columns of their own widths.

use serde_json::{Map, Value};

use super::figure::Figure;
use super::why::facts::FigureSubject;
use shardscope_engine::units::{Amount, Bytes, percent, signed};
use shardscope_library::text::csv::{CsvCell, csv_line};

/// One value: what people read, and what machines do.
#[derive(Debug, Clone, Default)]
pub struct TableCell {
    text: String,
    value: Value,
    tone: CellTone,
}

/// How a screen shows a cell's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CellTone {
    /// It is what is asked for.
    #[default]
    Plain,
    /// It stands beside that.
    Aside,
    /// It names what follows.
    Name,
    /// It is better than what it is compared with.
    Good,
    /// It is worse, or tells of something that cannot be.
    Bad,
}

impl TableCell {
    /// A value that people read in their own way.
    pub fn new(text: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { text: text.into(), value: value.into(), tone: CellTone::Plain }
    }

    /// A figure of a scenario with its unit; nothing where the scenario has no such figure.
    pub fn figure(figure: Figure, subject: &FigureSubject) -> Self {
        Self::amount(figure, subject, Amount::in_row)
    }

    /// An amount in the unit of a column that names it.
    pub fn in_column(figure: Figure, subject: &FigureSubject) -> Self {
        Self::amount(figure, subject, |amount| Amount::in_column_text(amount.unit, amount.in_column()))
    }

    fn amount(figure: Figure, subject: &FigureSubject, text: fn(Amount) -> String) -> Self {
        let amount = figure.amount(subject);
        amount.map_or_else(Self::default, |amount| Self::new(text(amount), amount.in_files()))
    }

    #[must_use]
    pub fn toned(self, tone: CellTone) -> Self {
        Self { tone, ..self }
    }

    /// The same with a mark behind it, for people.
    #[must_use]
    pub fn marked(self, mark: &str) -> Self {
        Self { text: self.text + mark, ..self }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn tone(&self) -> CellTone {
        self.tone
    }

    /// A word, the same for both.
    pub fn word(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(text.clone(), text)
    }

    /// A word beside what is asked for.
    pub fn aside(text: impl Into<String>) -> Self {
        Self::word(text).toned(CellTone::Aside)
    }

    pub fn count(count: usize) -> Self {
        Self::new(count.to_string(), count)
    }

    /// A share: `4.7 %`.
    pub fn percent(share: f64) -> Self {
        Self::new(percent(share), share)
    }

    /// A relative change: `+4.7 %`.
    pub fn change(share: f64) -> Self {
        Self::new(signed(share), share)
    }

    /// The value as CSV has it: numbers as Rust prints them, nothing for what is missing.
    pub fn csv(&self) -> CsvCell<'_> {
        match &self.value {
            Value::Null => CsvCell::default(),
            Value::String(text) => CsvCell::text(text),
            // A switch is written as flags take it: `on`.
            Value::Bool(_) if !self.text.is_empty() => CsvCell::text(&self.text),
            Value::Bool(on) => CsvCell::number(on),
            Value::Number(number) if number.is_f64() => CsvCell::number(number.as_f64().unwrap_or_default()),
            Value::Number(count) => CsvCell::number(count),
            other => CsvCell::text(&other.to_string()).into_owned(),
        }
    }
}

/// A table whose columns have a key for machines each, and a heading for people.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(&'static str, String)>,
    rows: Vec<Vec<TableCell>>,
}

impl Table {
    /// A table without rows; a column without a key is for people only.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'static str, &'a str)>) -> Self {
        let columns = columns.into_iter().map(|(key, heading)| (key, heading.to_owned()));
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    /// A table for people only.
    pub fn headed<'a>(headings: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(headings.into_iter().map(|heading| ("", heading)))
    }

    /// A table of texts for people.
    pub fn of_texts(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut table = Self::headed(headings.iter().copied());
        table.extend(rows.into_iter().map(|row| row.into_iter().map(TableCell::word).collect()));
        table
    }

    /// Adds a row; cells at its end may be left out.
    pub fn push(&mut self, row: Vec<TableCell>) {
        self.rows.push(row);
    }

    /// The table with only these columns, in this order.
    #[must_use]
    pub fn only(&self, keys: &[&str]) -> Self {
        let place = |wanted: &&str| self.columns.iter().position(|(key, _)| key == wanted);
        let places: Vec<usize> = keys.iter().filter_map(place).collect();
        let row = |row: &Vec<TableCell>| places.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect();
        Self {
            columns: places.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// The table with one more column for people at a place.
    #[must_use]
    pub fn with_column(mut self, at: usize, heading: &str, cells: impl IntoIterator<Item = TableCell>) -> Self {
        self.columns.insert(at, ("", heading.to_owned()));
        self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.insert(at.min(row.len()), cell));
        self
    }

    /// Adds the rows of another table with the same columns.
    pub fn append(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// The heads of the columns, for people.
    pub fn headings(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(_, heading)| heading.as_str())
    }

    /// Its rows; cells at the end of one may be left out.
    pub fn rows(&self) -> &[Vec<TableCell>] {
        &self.rows
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns wide enough for their texts, the first one to the left, the others to the right.
    pub fn text(&self) -> String {
        let headings = self.columns.iter().map(|(_, heading)| heading.as_str()).collect();
        let mut rows: Vec<Vec<&str>> = vec![headings];
        for row in &self.rows {
            rows.push((0..self.columns.len()).map(|at| row.get(at).map_or("", |cell| cell.text.as_str())).collect());
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// With the keys as its header.
    pub fn csv(&self) -> String {
        let mut text = csv_line(self.columns.iter().map(|(key, _)| CsvCell::text(key)));
        for row in &self.rows {
            let cells = (0..self.columns.len()).map(|at| row.get(at).map_or_else(CsvCell::default, TableCell::csv));
            text.push_str(&csv_line(cells));
        }
        text
    }

    /// Its rows as objects of the columns that have a key.
    pub fn objects(self) -> Vec<Value> {
        let object = |row: Vec<TableCell>| {
            let fields = self.columns.iter().zip(row).filter(|((key, _), _)| !key.is_empty());
            fields.map(|((key, _), cell)| ((*key).to_owned(), cell.value)).collect::<Map<_, _>>().into()
        };
        self.rows.into_iter().map(object).collect()
    }
}

impl Extend<Vec<TableCell>> for Table {
    fn extend<T: IntoIterator<Item = Vec<TableCell>>>(&mut self, rows: T) {
        self.rows.extend(rows);
    }
}

/// A size in whole bytes, up to 2^53: the largest integer up to which numbers are exact.
pub(super) fn whole(bytes: Bytes) -> u64 {
    bytes.get().clamp(0.0, (1_u64 << 53) as f64).round() as u64
}

/// One object with the fields of both.
pub fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut first, second) {
        fields.extend(more);
    }
    first
}

/// An object without the fields that are missing, at any depth.
pub fn known(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().filter(|(_, field)| !field.is_null()).map(|(key, field)| (key, known(field))).collect()
        }
        Value::Array(items) => items.into_iter().map(known).collect(),
        other => other,
    }
}

/// A document as people can read it.
pub(crate) fn pretty(document: &Value) -> String {
    format!("{document:#}")
}
