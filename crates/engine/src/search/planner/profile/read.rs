//! Reading a profile from the text of a CSV; what is wrong with it is told with its line and column.
//! Lines that begin with `#` are comments.

use crate::scenario::file::{FileError, Mistake, printable};

use super::{MeasuredLayer, MeasuredProfile};

/// The columns, in any order; others are left alone.
const COLUMNS: [&str; 5] = ["hidden", "batch_index", "strategy", "time_s", "mem_mib"];

/// The most ways of sharding a layer, and the largest time and memory that are believed: an hour, a PiB.
const MOST_STRATEGIES: u32 = 64;
const MOST_SECONDS: f64 = 3600.0;
const MOST_MIB: f64 = (1 << 30) as f64;

/// The most mistakes that are told at once.
const MOST_MISTAKES: usize = 20;

/// Rows that were read so far, and what is wrong with them.
struct ProfileRows {
    /// Where each of the columns stands.
    places: [usize; COLUMNS.len()],
    mistakes: Vec<Mistake>,
}

impl MeasuredProfile {
    /// Reads the text of a profile, or tells everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let spoken = |line: &(usize, &str)| !line.1.trim().is_empty() && !line.1.starts_with('#');
        let mut lines = (1..).zip(text.lines()).filter(spoken).map(|(number, line)| (number, record(line)));
        let Some((number, header)) = lines.next() else {
            return refused(vec![mistake(1, 1, &format!("the header is missing; write {}", COLUMNS.join(",")))]);
        };
        let mut rows = ProfileRows { places: places(number, &header)?, mistakes: Vec::new() };
        let mut profile = Self::default();
        for (line, record) in lines {
            if rows.mistakes.len() < MOST_MISTAKES {
                rows.add(line, &record, header.len(), &mut profile);
            }
        }
        if profile.layers.is_empty() && rows.mistakes.is_empty() {
            rows.mistakes.push(mistake(number, 1, "there are no rows below the header; add some"));
        }
        if rows.mistakes.is_empty() { Ok(profile) } else { refused(rows.mistakes) }
    }
}

/// The fields of a line, with their quotes; no field goes over its end.
fn record(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(separates).collect()
}

/// What a field holds.
fn held(field: &str) -> &str {
    field.trim().trim_matches('"').trim()
}

fn refused<T>(mistakes: Vec<Mistake>) -> Result<T, FileError> {
    Err(FileError { file: String::new(), mistakes })
}

fn places(line: usize, header: &[&str]) -> Result<[usize; COLUMNS.len()], FileError> {
    let place = |name: &str| header.iter().position(|column| held(column) == name);
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|name| place(name).is_none()).collect();
    if missing.is_empty() {
        return Ok(COLUMNS.map(|name| place(name).unwrap_or_default()));
    }
    refused(vec![mistake(line, 1, &format!("the header has no {}; add the column", missing.join(", ")))])
}

impl ProfileRows {
    fn add(&mut self, line: usize, record: &[&str], columns: usize, profile: &mut MeasuredProfile) {
        if record.len() != columns {
            let what = format!("{} fields where the header has {columns}; write one for each column", record.len());
            self.mistakes.push(mistake(line, 1, &what));
            return;
        }
        let whole = "a whole number";
        let hidden = self.field::<u32>(line, record, 0, whole, |hidden| *hidden > 0);
        let batch = self.field::<u32>(line, record, 1, whole, |_| true);
        let strategy =
            self.field::<u32>(line, record, 2, "a number from 0 to 63", |strategy| *strategy < MOST_STRATEGIES);
        let time = self.field(line, record, 3, "seconds from 0 to 3600", |time| (0.0..=MOST_SECONDS).contains(time));
        let memory = self.field(line, record, 4, "MiB from 0", |memory| (0.0..=MOST_MIB).contains(memory));
        let (Some(hidden), Some(batch), Some(strategy), Some(time_s), Some(mem_mib)) =
            (hidden, batch, strategy, time, memory)
        else {
            return;
        };
        let layer = profile.layers.entry((hidden, batch)).or_default();
        if layer.insert(strategy, MeasuredLayer { time_s, mem_mib }).is_some() {
            let what = format!("strategy {strategy} of hidden {hidden} at batch {batch} appears twice; keep one row");
            self.mistakes.push(mistake(line, 1, &what));
        }
    }

    /// A field as a number of the kind that `wanted` names.
    fn field<T: std::str::FromStr>(
        &mut self,
        line: usize,
        record: &[&str],
        column: usize,
        wanted: &str,
        right: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let place = self.places[column];
        let text = held(record[place]);
        let value = text.parse().ok().filter(right);
        if value.is_none() {
            let before: usize = record[..place].iter().map(|field| field.chars().count() + 1).sum();
            let what = format!("{}: '{}' is not {wanted}; fix it", COLUMNS[column], printable(text));
            self.mistakes.push(mistake(line, before + 1, &what));
        }
        value
    }
}

fn mistake(line: usize, column: usize, message: &str) -> Mistake {
    Mistake { line, column, message: message.to_owned() }
}
