//! Logs as nccl-tests and rccl-tests of every version print them, with or without a launcher's line prefix.

use crate::runs::plain;

use super::run::{BenchmarkRow, BenchmarkRun, ListedRank, TimedCollective};

/// Element types that rows name.
const TYPES: [&str; 20] = [
    "int8", "char", "uint8", "int32", "int", "uint32", "int64", "uint64", "half", "fp16", "float16", "float", "double",
    "bfloat16", "bf16", "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "float8",
];

/// Columns of a row after its type: position of the time, and whether there is a reduction.
#[derive(Debug, Clone, Copy)]
struct Columns {
    time: usize,
    reduces: bool,
    /// Positions of the counts of wrong elements, out of place and in place. Older programs write the largest
    /// difference instead, which rounding causes.
    wrong: [Option<usize>; 2],
}

/// All runs of a log, including those without rows.
pub fn runs(file: &str, text: &str) -> Vec<BenchmarkRun> {
    let mut reader = LogReader { file, done: Vec::new(), run: None, program: None, columns: None };
    for (at, line) in text.lines().enumerate() {
        reader.read(at + 1, &plain(line));
    }
    reader.close();
    reader.done
}

struct LogReader<'a> {
    file: &'a str,
    done: Vec<BenchmarkRun>,
    run: Option<BenchmarkRun>,
    /// The program in the last command line, for the next run that names none.
    program: Option<TimedCollective>,
    columns: Option<Columns>,
}

impl LogReader<'_> {
    fn read(&mut self, number: usize, line: &str) {
        if let Some(row) = self.row(number, line) {
            let file = self.file;
            let program = self.program;
            let open =
                || BenchmarkRun { file: file.to_owned(), line: number, named: program, ..BenchmarkRun::default() };
            let run = self.run.get_or_insert_with(open);
            match row {
                Ok(row) => run.rows.push(row),
                Err(()) => run.wrong = run.wrong.or(Some(number)),
            }
            return;
        }
        // A line that is neither a row nor a comment may be the command of the next run.
        let Some((_, comment)) = line.split_once('#') else {
            if let Some(collective) = TimedCollective::named_in(line).filter(|_| !line.contains("NCCL INFO")) {
                self.program = Some(collective);
            }
            return;
        };
        let words: Vec<&str> = comment.split_whitespace().collect();
        match words.as_slice() {
            ["Collective", "test", "starting:", program, ..] => {
                self.begin(number, |run| !run.rows.is_empty() || run.named.is_some() || !run.listed.is_empty());
                self.name(TimedCollective::named_in(program).unwrap_or(TimedCollective::Other));
            }
            ["nThread" | "nThreads", ..] => {
                self.begin(number, |run| !run.rows.is_empty() || !run.listed.is_empty());
            }
            ["Rank", rest @ ..] => {
                self.begin(number, |run| !run.rows.is_empty());
                self.list(rest);
            }
            ["size", "count", "type", rest @ ..] => {
                self.begin(number, |run| !run.rows.is_empty());
                let time = rest.iter().position(|word| word.ends_with("time"));
                let mut counts = (0..rest.len()).filter(|at| rest[*at] == "#wrong");
                self.columns = time.map(|time| Columns {
                    time,
                    reduces: rest.contains(&"redop"),
                    wrong: [counts.next(), counts.next()],
                });
            }
            _ => {}
        }
    }

    /// Starts another run if the current one already has what each run has once.
    fn begin(&mut self, number: usize, full: impl Fn(&BenchmarkRun) -> bool) {
        if self.run.as_ref().is_some_and(full) {
            self.close();
        }
        let (file, named) = (self.file, self.program);
        let open = || BenchmarkRun { file: file.to_owned(), line: number, named, ..BenchmarkRun::default() };
        self.run.get_or_insert_with(open);
    }

    fn close(&mut self) {
        self.columns = None;
        if let Some(run) = self.run.take() {
            self.program = None;
            self.done.push(run);
        }
    }

    fn name(&mut self, collective: TimedCollective) {
        if let Some(run) = &mut self.run {
            run.named = Some(collective);
        }
    }

    /// `0 Group 0 Pid 7 on HOST device 0 [0000:1b:00] NVIDIA H100`; older logs have no group, and RCCL's no name.
    fn list(&mut self, words: &[&str]) {
        let after = |word: &str| words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1));
        let number = |word: Option<&&str>| word.and_then(|word| word.parse().ok());
        let (Some(rank), Some(host)) = (number(words.first()), after("on")) else { return };
        // The bus id may contain a blank: `[0x00]`, `[0000:1b:00]`, `[ 0]`.
        let device = words.iter().position(|word| word.ends_with(']')).map(|at| words[at + 1..].join(" "));
        let rank = ListedRank {
            rank,
            group: number(after("Group")).unwrap_or(0),
            host: (*host).to_owned(),
            device: device.unwrap_or_default(),
        };
        if let Some(run) = &mut self.run {
            run.listed.push(rank);
        }
    }

    /// A row of sizes and times after any prefix; `Err` if results were wrong.
    fn row(&self, number: usize, line: &str) -> Option<Result<BenchmarkRow, ()>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| TYPES.contains(word)).filter(|at| *at >= 2)?;
        // A wide number has no blank before it: `0:137438953472`.
        let size: u64 = words[at - 2].rsplit([':', '>']).next()?.parse().ok()?;
        words[at - 1].parse::<u64>().ok()?;
        let rest = &words[at + 1..];
        let columns = self.columns.unwrap_or_else(|| guessed(rest));
        let figure = |place: usize| {
            let value = rest.get(columns.time + place)?.parse::<f64>().ok()?;
            Some(value).filter(|value| value.is_finite() && *value >= 0.0)
        };
        let (micros, algorithm, bus) = (figure(0)?, figure(1)?, figure(2)?);
        let count_at = |at: usize| rest.get(at).and_then(|count| count.parse::<f64>().ok());
        let in_place = (columns.time + 4..rest.len()).find(|at| rest[*at] == "N/A");
        let out_checked = count_at(columns.time + 3).is_some();
        if columns.wrong.into_iter().flatten().any(|at| count_at(at).is_some_and(|count| count >= 1.0)) {
            return Some(Err(()));
        }
        // If the time has only two digits (`1.2e+07`), the bandwidth is more precise.
        let rounded = rest.get(columns.time).is_some_and(|word| word.contains('e')) && algorithm > 0.0;
        let micros = if rounded { size as f64 / algorithm / 1e3 } else { micros };
        let reduces = columns.reduces.then(|| rest.first().is_some_and(|word| *word != "none"));
        let checked = [out_checked, in_place.is_none() && out_checked];
        Some(Ok(BenchmarkRow { line: number, size: size as f64, micros, algorithm, bus, reduces, checked }))
    }
}

/// Position of the time in a row without a head: after reduction and root, the reduction alone, or neither.
fn guessed(rest: &[&str]) -> Columns {
    let is_word = rest.first().is_some_and(|word| word.parse::<f64>().is_err());
    let is_root = rest.get(1).is_some_and(|word| word.parse::<i64>().is_ok() && !word.contains('.'));
    let time = if is_word { 1 + usize::from(is_root) } else { 0 };
    // Further columns of `-I` may lie between.
    let in_place = Some(time + 7).filter(|last| rest.len() == last + 1);
    Columns { time, reduces: is_word, wrong: [Some(time + 3), in_place] }
}
