//! `validate`: predictions beside published measurements.

use std::fs;
use std::path::PathBuf;

use crate::figures::ValidateReport;
use crate::measured::{self, Row, Skipped};
use crate::presets::Library;
use crate::search;

use super::args::{TableForm, Validate};
use super::session::Session;
use super::{Exit, Failure, output};

pub(super) fn run(session: &Session, arguments: &Validate) -> Result<Exit, Failure> {
    let (rows, mut skipped) = rows(&arguments.rows)?;
    if rows.is_empty() {
        return Err(unread(&arguments.rows, &skipped));
    }
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    let pool = search::pool(session.options.threads).map_err(|error| Failure::Io(format!("threads: {error}")))?;
    let mut validation = measured::validate(&cases, |scenarios| search::summaries(scenarios, &pool));
    skipped.extend(unbuilt);
    skipped.append(&mut validation.skipped);
    validation.skipped = skipped;
    let report = ValidateReport { validation: &validation };
    output::result(&match arguments.format {
        TableForm::Text => report.text(),
        TableForm::Csv => report.csv().map_err(Failure::unwritten)?,
        TableForm::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(Exit::Done)
}

/// Why files hold no run: what is wrong with each line, or that there is none.
pub(super) fn unread(files: &[PathBuf], skipped: &[Skipped]) -> Failure {
    if skipped.is_empty() {
        let line = |file: &PathBuf| format!("{}: holds no run; write each as a line under the header", file.display());
        return Failure::Input(files.iter().map(line).collect());
    }
    Failure::Input(skipped.iter().map(|Skipped { id, why }| format!("{id}: {why}")).collect())
}

/// The rows of the files, or the embedded ones where none is named.
pub(super) fn rows(files: &[PathBuf]) -> Result<(Vec<Row>, Vec<Skipped>), Failure> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |(more, without): (Vec<Row>, Vec<Skipped>)| {
        rows.extend(more);
        skipped.extend(without);
    };
    for file in files {
        let bytes = fs::read(file).map_err(|error| Failure::io(file, &error))?;
        add(measured::read(&file.display().to_string(), &String::from_utf8_lossy(&bytes)));
    }
    if files.is_empty() {
        for (name, text) in Library::measured() {
            add(measured::read(name, text));
        }
    }
    Ok((rows, skipped))
}
