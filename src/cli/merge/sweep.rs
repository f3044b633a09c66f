//! The parts of a sweep as the whole again, byte for byte, in memory that does not grow with them.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str;

use csv_core::ReadRecordResult;

use crate::cli::exit::Failure;
use crate::cli::merge::seal::{self, COMMENT, ContentHash, Seal};
use shardscope_engine::text::printable;
use shardscope_library::disk::{self, InputKind, OpenInput};
use shardscope_library::text::csv::is_formula;
use shardscope_report::figures::SweepCells;

/// Where pieces of the whole go; returns whether anyone reads on.
pub(super) type Sink<'a> = &'a mut dyn FnMut(&str) -> Result<bool, Failure>;

/// All parts, in order.
pub(super) struct Whole(Vec<(PathBuf, Seal)>);

impl Whole {
    /// Looks at the end of each part; refuses what are not all parts of one whole.
    pub(super) fn gather(files: &[PathBuf]) -> Result<Self, Failure> {
        let mut unsealed = Vec::new();
        let mut parts = Vec::new();
        for file in files {
            match read_seal(file)? {
                Some(seal) => parts.push((file.clone(), seal)),
                None => unsealed.push(format!(
                    "{}: is partial, or no part of a sweep: its last line is not '# part K/N of ...'; run it again",
                    display_name(file)
                )),
            }
        }
        let told: Vec<(String, Seal)> = parts.iter().map(|(file, seal)| (display_name(file), seal.clone())).collect();
        unsealed.extend(seal::mistakes(&told));
        parts.sort_by_key(|(_, seal)| seal.part);
        if unsealed.is_empty() { Ok(Self(parts)) } else { Err(Failure::Input(unsealed)) }
    }

    /// Writes the header and the rows of all parts. Returns whether any cell fits.
    pub(super) fn write(&self, to: Sink<'_>) -> Result<bool, Failure> {
        if !to(&SweepCells::header())? {
            return Ok(true);
        }
        let mut fits = false;
        for (file, seal) in &self.0 {
            let mut rows = PartRows::open(file, seal)?;
            while let Some(block) = rows.block()? {
                if !to(&block)? {
                    return Ok(true);
                }
            }
            fits |= rows.fits;
        }
        Ok(fits)
    }
}

/// The most bytes of a line: a cell's reason may name presets of any length.
const LONGEST: usize = 1 << 16;

/// Bytes that are handed on at a time.
const PIECE: usize = 1 << 18;

/// Reads the seal from the last line of a file, if that line is whole.
fn read_seal(file: &Path) -> Result<Option<Seal>, Failure> {
    let tail = disk::tail(file, LONGEST as u64).map_err(|error| Failure::io(file, &error))?;
    let text = String::from_utf8_lossy(&tail);
    let last = text.strip_suffix('\n').map(|text| text.rsplit('\n').next().unwrap_or(text));
    Ok(last.and_then(|line| line.strip_prefix(COMMENT)?.parse().ok()))
}

fn display_name(file: &Path) -> String {
    printable(&file.display().to_string())
}

/// The rows of one part, as they stand in its file.
struct PartRows<'a, R> {
    file: &'a Path,
    end: String,
    lines: BufReader<R>,
    parser: csv_core::Reader,
    /// Lines read so far, the header among them.
    line: usize,
    ended: bool,
    count: usize,
    /// Rows that it must have.
    rows: usize,
    /// A hash of those so far, and what it must come to.
    content: ContentHash,
    sealed: Option<&'a str>,
    fits: bool,
    cells: Vec<u8>,
}

impl<'a> PartRows<'a, Box<dyn Read>> {
    fn open(file: &'a Path, seal: &'a Seal) -> Result<Self, Failure> {
        let input = OpenInput::open(file, InputKind::SweepPart).map_err(|error| Failure::io(file, &error))?;
        let mut rows = Self {
            file,
            end: format!("{COMMENT}{seal}\n"),
            lines: BufReader::with_capacity(PIECE, Box::new(input.stream())),
            parser: csv_core::Reader::new(),
            line: 0,
            ended: false,
            count: 0,
            rows: seal.rows().unwrap_or_default(),
            content: ContentHash::default(),
            sealed: seal.content.as_deref(),
            fits: false,
            cells: vec![0; LONGEST],
        };
        if rows.line()? != SweepCells::header() {
            return Err(rows.wrong("is not the header of a sweep"));
        }
        Ok(rows)
    }

    /// The next rows, or nothing at the end.
    fn block(&mut self) -> Result<Option<String>, Failure> {
        let mut block = String::with_capacity(PIECE + LONGEST);
        while !self.ended && block.len() < PIECE {
            let line = self.line()?;
            if line == self.end {
                self.ended = true;
                self.complete()?;
                break;
            }
            self.check(&line)?;
            self.count += 1;
            self.content.add(&line);
            block.push_str(&line);
        }
        Ok(Some(block).filter(|block| !block.is_empty()))
    }

    /// Refuses a part with more or fewer rows than it had, or with others.
    fn complete(&self) -> Result<(), Failure> {
        let wrong =
            |what: &str| Err(Failure::input(format!("{}: {what}; run this part again", display_name(self.file))));
        if self.count != self.rows {
            return wrong(&format!("has {} rows of {}", self.count, self.rows));
        }
        if self.sealed.is_some_and(|sealed| sealed != self.content.end()) {
            return wrong("its rows are not those that were computed: some were changed, exchanged or put in");
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = Vec::new();
        // A line without an end, however long, is not held: what is read of it stops at the longest that a row can be, and
        // then does not end as a line does.
        let read = (&mut self.lines).take(LONGEST as u64).read_until(b'\n', &mut line);
        read.map_err(|error| Failure::io(self.file, &error))?;
        self.line += 1;
        let line = String::from_utf8(line).map_err(|_| self.wrong("is not text in UTF-8"))?;
        if line.ends_with('\n') { Ok(line) } else { Err(self.wrong("is cut off, or too long")) }
    }

    /// Refuses what is not a cell's row.
    fn check(&mut self, line: &str) -> Result<(), Failure> {
        let mut ends = [0; COLUMNS + 1];
        // One more place for an end than a row has, so that a row of too many cells is told from one of enough.
        let (result, _, _, found) = self.parser.read_record(line.as_bytes(), &mut self.cells, &mut ends);
        if result != ReadRecordResult::Record || found != COLUMNS {
            return Err(self.wrong("is not a row of a sweep"));
        }
        let mut cells = [0].into_iter().chain(ends).zip(ends).take(COLUMNS);
        // Rows reach the whole as they are, and no sweep writes a formula.
        if cells.any(|(from, to)| str::from_utf8(&self.cells[from..to]).is_ok_and(is_formula)) {
            return Err(self.wrong("has a cell that a spreadsheet would compute"));
        }
        self.fits |= &self.cells[ends[FITS - 1]..ends[FITS]] == b"true";
        Ok(())
    }

    fn wrong(&self, what: &str) -> Failure {
        Failure::input(format!("{}: line {} {what}; run this part again", display_name(self.file), self.line))
    }
}

/// The columns of a sweep, and the place of the one that says whether a cell fits.
const COLUMNS: usize = 10;
const FITS: usize = 4;
