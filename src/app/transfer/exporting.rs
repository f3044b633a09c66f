//! Plans as files for other tools, written into a folder. Nothing that is there is replaced unless that was asked for.
//! Not for what is in them ([`shardscope_interop::export`]), nor for snapshots.

use std::io::{self, BufWriter, ErrorKind};
use std::path::{Path, PathBuf};

use shardscope_engine::scenario::Scenario;
use shardscope_engine::text::printable;
use shardscope_engine::units::Seconds;
use shardscope_interop::export::{ExportForm, ExportedFiles};
use shardscope_interop::plans::JobWishes;
use shardscope_interop::trace::RankTrace;
use shardscope_library::disk::{self, Staged, Watch};

/// What an export may do that was not asked of it at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportConsent {
    /// Replace files that are there.
    pub replacing: bool,
    /// Write the nearest plan that the tool has.
    pub nearest: bool,
}

/// A plan to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportQuestion {
    /// As what.
    pub form: ExportForm,
    /// Where; created if it is missing.
    pub folder: PathBuf,
    /// What may be written otherwise than asked.
    pub consent: ExportConsent,
    /// The scenario whose plan it is.
    pub scenario: Scenario,
    /// How long the training takes, where that is known: what a job asks for.
    pub time: Option<Seconds>,
}

/// The outcome of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The files, and what the tool does otherwise than planned.
    Written(Vec<String>, Vec<String>),
    /// A file is there already, and nothing was written.
    Taken(String),
    /// What the tool lacks of the plan, and the nearest plan that it has, in words; nothing was written.
    Lacking(Vec<String>, String),
    /// Why there is none, a line for each mistake.
    Refused(Vec<String>),
}

impl ExportQuestion {
    /// Writes the files.
    pub fn answer(&self, watch: &Watch) -> ExportOutcome {
        let job = JobWishes { time: self.time, ..JobWishes::default() };
        let lacking = self.form.lacking(None, &self.scenario, self.consent.nearest).ok().flatten();
        let nearest =
            lacking.as_ref().and_then(|lacking| Some((lacking.nearest_in_words()?, lacking.nearest.as_ref()?)));
        let (scenario, notes) = match (&lacking, nearest) {
            (Some(lacking), Some((words, _))) if !self.consent.nearest => {
                return ExportOutcome::Lacking(lacking.refused.iter().map(|lack| lack.what.clone()).collect(), words);
            }
            (_, Some((words, nearest))) => (&nearest.scenario, vec![format!("the nearest plan: {words}")]),
            _ => (&self.scenario, Vec::new()),
        };
        let content = match self.form.files(None, scenario, &job) {
            Ok(content) => content,
            Err(problems) => return ExportOutcome::Refused(problems.iter().map(ToString::to_string).collect()),
        };
        let names: Vec<String> = match &content {
            ExportedFiles::Texts(files, _) => files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            ExportedFiles::Traces(traces) => (0..traces.len()).map(|rank| format!("rank{rank}.json")).collect(),
        };
        // All are looked for before any is written: half of a plan is worse than none.
        let paths: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        if let Some(taken) = paths.iter().find(|path| !self.consent.replacing && path.symlink_metadata().is_ok()) {
            return ExportOutcome::Taken(shown(taken));
        }
        match self.write(&content, &paths, watch) {
            Ok(others) => {
                let notes = notes.into_iter().chain(others).collect();
                ExportOutcome::Written(paths.iter().map(|path| shown(path)).collect(), notes)
            }
            Err((path, error)) if error.kind() == ErrorKind::AlreadyExists => ExportOutcome::Taken(shown(&path)),
            Err((path, error)) => ExportOutcome::Refused(vec![format!("cannot write {}: {error}", shown(&path))]),
        }
    }

    /// Gives what the tool does otherwise than planned.
    fn write(
        &self,
        content: &ExportedFiles,
        paths: &[PathBuf],
        watch: &Watch,
    ) -> Result<Vec<String>, (PathBuf, io::Error)> {
        disk::create_folder(&self.folder).map_err(|error| (self.folder.clone(), error))?;
        match content {
            ExportedFiles::Texts(files, notes) => {
                let named: Vec<(PathBuf, &str)> =
                    paths.iter().cloned().zip(files.iter().map(|(_, text)| text.as_str())).collect();
                disk::write(&named, self.consent.replacing).map_err(|(path, error)| (path.to_owned(), error))?;
                Ok(notes.clone())
            }
            ExportedFiles::Traces(traces) => {
                // One after the other and not staged together: a trace may take hundreds of MB.
                for (path, trace) in paths.iter().zip(traces) {
                    self.write_trace(path, trace, watch).map_err(|error| (path.clone(), error))?;
                }
                Ok(Vec::new())
            }
        }
    }

    fn write_trace(&self, path: &Path, trace: &RankTrace, watch: &Watch) -> io::Result<()> {
        let mut staged = BufWriter::new(Staged::beside(path, self.consent.replacing)?.watched(watch));
        trace.write(&mut staged)?;
        staged.into_inner().map_err(io::IntoInnerError::into_error)?.finish(path, self.consent.replacing)
    }
}

/// A file as whoever looks for it needs it: from the root.
fn shown(path: &Path) -> String {
    printable(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string())
}

#[cfg(test)]
mod tests;
