//! Rows of published measurements, as a CSV file holds them. Not for what they mean: a cell is text or
//! a number here, and a blank one is unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardscope_engine::scenario::file::printable;
use shardscope_engine::text::no_name;
use shardscope_library::text::csv::meant;

/// One row of a file. Columns that nothing asks for are kept and ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredRow {
    file: Arc<str>,
    line: u64,
    columns: Arc<[String]>,
    cells: Vec<String>,
}

/// A row or file that has no prediction, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The row's id, or its file and line.
    pub id: String,
    /// Why, where, and how to fix it, in one printable line.
    pub why: String,
}

impl Skipped {
    /// Says why, whatever foreign text that repeats.
    pub fn new(id: &str, why: &str) -> Self {
        Self { id: printable(id), why: printable(why) }
    }
}

/// Columns without which a row cannot be a measurement.
pub(super) const NEEDED: [&str; 8] =
    ["id", "cluster", "stack", "num_gpus", "strategy_class", "layers", "hidden", "seq_len"];

/// Columns by which rows of post-training are told from others, and those without which such a row cannot be a measurement.
const OF_POST_TRAINING: [&str; 2] = ["framework", "layout"];
const NEEDED_OF_POST_TRAINING: [&str; 5] = ["id", "method", "model", "gpus_total", "train_backend"];

/// The column that says what was trained: tables that have it say the class of a strategy in `strategy`.
const METHOD: &str = "method";

/// Columns that name something.
const NAMES: [&str; 6] = ["id", "group", "cluster", "stack", "strategy_class", "model"];

/// The most letters of a cell that a message repeats.
const MOST_QUOTED: usize = 60;

/// The most that a count may be: what a model may have of anything, so that a few can be multiplied.
const MOST: u32 = 1 << 24;

/// The most rows of a file: several times all that are published, and what a fit takes minutes for.
const MOST_ROWS: usize = 10_000;

/// The rows of a file's text; those that cannot be read are listed with the reason.
pub fn read(file: &str, text: &str) -> (Vec<MeasuredRow>, Vec<Skipped>) {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut skip = |line: u64, why: &str| {
        let id = if line > 1 { format!("{file}:{line}") } else { file.to_owned() };
        skipped.push(Skipped::new(&id, why));
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let columns: Arc<[String]> = match reader.headers() {
        Ok(header) => header.iter().map(str::to_owned).collect(),
        Err(error) => {
            skip(1, &format!("is not a table: {error}"));
            return (rows, skipped);
        }
    };
    let has = |name: &str| columns.iter().any(|column| column == name);
    let elsewhere = |needed: &str| needed == "strategy_class" && has(METHOD) && has("strategy");
    let needed = if is_of_post_training(&columns) { &NEEDED_OF_POST_TRAINING[..] } else { &NEEDED };
    let missing = needed.iter().filter(|needed| !has(needed) && !elsewhere(needed));
    let missing: Vec<String> = missing.map(|column| format!("'{column}'")).collect();
    if !missing.is_empty() {
        let word = if missing.len() == 1 { "column" } else { "columns" };
        let lacks = missing.join(", ");
        skip(1, &format!("its header has no {word} {lacks}; `shardscope validate --template` prints one that has all"));
        return (rows, skipped);
    }
    let name: Arc<str> = file.into();
    for (count, record) in reader.records().enumerate() {
        if count == MOST_ROWS {
            // Neither the rows nor what is wrong with them are kept: there may be millions.
            let why = format!("has more than {MOST_ROWS} rows; give it in several files, one at a time");
            return (Vec::new(), vec![Skipped::new(file, &why)]);
        }
        match record {
            Ok(record) => {
                let row = MeasuredRow {
                    file: Arc::clone(&name),
                    line: record.position().map_or(0, csv::Position::line),
                    columns: Arc::clone(&columns),
                    cells: record.iter().map(|cell| meant(cell).to_owned()).collect(),
                };
                match NAMES.iter().find_map(|column| Some((column, no_name(row.text(column))?))) {
                    None => rows.push(row),
                    Some((column, why)) => skip(row.line, &format!("column '{column}' {why}")),
                }
            }
            Err(error) => {
                skip(error.position().map_or(2, csv::Position::line), &format!("line cannot be read: {error}"));
            }
        }
    }
    (rows, skipped)
}

/// Whether a table with these columns is of post-training.
fn is_of_post_training(columns: &[String]) -> bool {
    OF_POST_TRAINING.iter().all(|needed| columns.iter().any(|column| column == needed))
}

impl MeasuredRow {
    /// Whether it is of post-training.
    pub(super) fn is_of_post_training(&self) -> bool {
        is_of_post_training(&self.columns)
    }

    /// The first row of a table, by its columns.
    pub fn from_cells(file: &str, cells: &BTreeMap<String, String>) -> Self {
        let columns = cells.keys().cloned().collect();
        Self { file: file.into(), line: 2, columns, cells: cells.values().map(|cell| cell.trim().to_owned()).collect() }
    }

    /// The text of a cell; nothing where it is blank or the file has no such column.
    pub fn text(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column);
        index.and_then(|index| self.cells.get(index)).map_or("", String::as_str)
    }

    /// The number of a cell; `None` where it is blank.
    pub fn number(&self, column: &str) -> Result<Option<f64>, String> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        // A cell may say `inf` or `nan`, which parse: no measurement is that.
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| self.wrong(column, "no number; write one like 0.85, or leave it blank"))
    }

    /// The whole number of a cell, from 1 to 2^24; `None` where it is blank.
    pub fn count(&self, column: &str) -> Result<Option<u32>, String> {
        let Some(number) = self.number(column)? else { return Ok(None) };
        let whole = number >= 1.0 && number <= f64::from(MOST) && number.fract() == 0.0;
        if whole {
            return Ok(Some(number as u32));
        }
        Err(self.wrong(column, &format!("no count; write a whole number from 1 to {MOST}, or leave it blank")))
    }

    /// The count of a cell that must not be blank.
    pub fn needed(&self, column: &str) -> Result<u32, String> {
        self.count(column)?
            .ok_or_else(|| format!("'{column}' is blank, and nothing can stand for it; write a whole number"))
    }

    /// Its id, or where it is if it has none.
    pub fn id(&self) -> String {
        match self.text("id") {
            "" => printable(&format!("{}:{}", self.file, self.line)),
            id => printable(id),
        }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Near-duplicates share a group, and are averaged before anything else.
    pub fn group(&self) -> String {
        match self.text("group") {
            "" => self.id(),
            group => printable(group),
        }
    }

    /// Says where a cell is and what is wrong with it.
    pub fn wrong(&self, column: &str, what: &str) -> String {
        let (file, line) = (&self.file, self.line);
        let (cell, cut) = (self.text(column), self.text(column).char_indices().nth(MOST_QUOTED));
        let cell = cut.map_or_else(|| cell.to_owned(), |(end, _)| format!("{}...", &cell[..end]));
        printable(&format!("{file}:{line}: column '{column}': '{cell}' is {what}"))
    }
}
