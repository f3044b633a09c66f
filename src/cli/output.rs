//! What reaches stdout and stderr.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use super::args::{Form, TableForm};
use super::exit::Failure;
use super::log;

/// Writes a result to stdout. A reader that has gone (`| head`) is no failure.
pub(super) fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Io(format!("stdout: {error}"))),
        _ => Ok(()),
    }
}

/// Writes a report to stdout in the form that was asked for.
pub(super) fn report(form: Form, text: impl FnOnce() -> String, json: impl FnOnce() -> String) -> Result<(), Failure> {
    result(&match form {
        Form::Text => text(),
        Form::Json => json() + "\n",
    })
}

/// The same, for what is a table.
pub(super) fn table<E: Display>(
    form: TableForm,
    text: impl FnOnce() -> String,
    csv: impl FnOnce() -> Result<String, E>,
    json: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match form {
        TableForm::Text => report(Form::Text, text, json),
        TableForm::Json => report(Form::Json, text, json),
        TableForm::Csv => result(&csv().map_err(Failure::unwritten)?),
    }
}

/// Says what went wrong, one line for each problem.
pub(super) fn failure(failure: &Failure) {
    match failure {
        Failure::Io(line) => line_to_stderr("error", line),
        Failure::Input(lines) | Failure::Bug(lines) => lines.iter().for_each(|line| line_to_stderr("error", line)),
    }
}

/// Says what may not have been meant, to whoever watches: a script goes on undisturbed.
pub(super) fn note(what: &dyn Display) {
    let text = what.to_string();
    if io::stderr().is_terminal() {
        line_to_stderr("note", &text);
    } else {
        log::line(&format!("note: {}", printable(&text)));
    }
}

/// Says what is wrong with an input that can be done without.
pub(super) fn warning(what: &dyn Display) {
    line_to_stderr("warning", &what.to_string());
}

fn line_to_stderr(kind: &str, text: &str) {
    let line = format!("{kind}: {}", printable(text));
    log::line(&line);
    // Nobody is left to tell if stderr has gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Text from a file or an argument without what could command the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
