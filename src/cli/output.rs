//! Output to stdout and stderr, all through [`shardscope_engine::text`], since it may repeat text of a file.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use super::args::{ReportForm, TableForm};
use super::exit::Failure;
use super::log;
use shardscope_engine::text::{escaped, visible};

/// Writes a text to stdout. A reader that has gone (`| head`) is no failure.
pub(super) fn result(text: &str) -> Result<(), Failure> {
    write(&visible(text)).map(drop)
}

/// Writes a piece of a longer text to stdout. Returns whether anyone reads on.
pub(super) fn piece(text: &str) -> Result<bool, Failure> {
    write(&visible(text))
}

/// Writes JSON to stdout.
pub(super) fn json(text: &str) -> Result<(), Failure> {
    write(&format!("{}\n", escaped(text))).map(drop)
}

/// Returns whether anyone reads it.
// A stdout that was closed (`>&-`) is no error here: before `main` the runtime opens /dev/null in its place, for reading
// and writing, as Python's `subprocess.DEVNULL` hands it over too. Nothing tells the two apart without unsafe code.
fn write(text: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::Io(format!("stdout: {error}"))),
    }
}

/// Writes a report to stdout in the form that was asked for.
pub(super) fn report(
    form: ReportForm,
    text: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match form {
        ReportForm::Text => result(&text()),
        ReportForm::Json => self::json(&json()),
    }
}

/// Writes a table to stdout in the form that was asked for.
pub(super) fn table(
    form: TableForm,
    text: impl FnOnce() -> String,
    csv: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match form {
        TableForm::Text => report(ReportForm::Text, text, json),
        TableForm::Json => report(ReportForm::Json, text, json),
        TableForm::Csv => result(&csv()),
    }
}

/// The most problems that are said one by one: whoever has more mends these and asks again.
const MOST_PROBLEMS: usize = 20;

/// Says what went wrong, one line for each problem.
pub(super) fn failure(failure: &Failure) {
    let lines = match failure {
        Failure::Io(line) => std::slice::from_ref(line),
        Failure::Input(lines) | Failure::Bug(lines) => lines,
    };
    lines.iter().take(MOST_PROBLEMS).for_each(|line| line_to_stderr("error", line));
    let more = lines.len().saturating_sub(MOST_PROBLEMS);
    if more > 0 {
        line_to_stderr("error", &format!("and {more} more like these; mend them and try again"));
    }
}

/// Says what may not have been meant, to whoever watches: a script goes on undisturbed.
pub(super) fn note(what: &dyn Display) {
    let text = what.to_string();
    if io::stderr().is_terminal() {
        line_to_stderr("note", &text);
    } else {
        log::line(&format!("note: {text}"));
    }
}

/// Says what is wrong with an input that can be done without, or what it means where most would mean another thing.
pub(super) fn warning(what: &dyn Display) {
    line_to_stderr("warning", &what.to_string());
}

fn line_to_stderr(kind: &str, text: &str) {
    let line = format!("{kind}: {text}");
    log::line(&line);
    to_stderr(&(line + "\n"));
}

/// Writes a text to stderr; nobody is left to tell if that has gone.
pub(super) fn to_stderr(text: &str) {
    let _ = io::stderr().write_all(visible(text).as_bytes());
}
