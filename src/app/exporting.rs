//! Plans as files for other tools: which tools there are, and writing into a folder. Nothing that is there is replaced
//! unless that was asked for. Not for any tool's keys ([`crate::interop`]), nor for snapshots.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::disk::{self, Staged, Watch};
use crate::interop::fsdp2::{self, Names};
use crate::interop::plans::{self, JobWishes, PlanTarget};
use crate::interop::trace::RankTrace;
use crate::scenario::{Problem, Scenario};
use crate::search::Workspace;
use crate::text::printable;
use crate::units::Seconds;

/// What a plan is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// A launcher's configuration, or a job.
    Plan(PlanTarget),
    /// Module by module, under a library's names.
    Modules(Names),
    /// The simulated step.
    Trace,
}

impl ExportForm {
    /// All of them, in the order of the command line.
    pub const ALL: [Self; 9] = [
        Self::Modules(Names::Torchtitan),
        Self::Modules(Names::HuggingFace),
        Self::Plan(PlanTarget::Accelerate),
        Self::Plan(PlanTarget::Trainer),
        Self::Plan(PlanTarget::DeepSpeed),
        Self::Plan(PlanTarget::Megatron),
        Self::Plan(PlanTarget::Torchtitan),
        Self::Plan(PlanTarget::Sbatch),
        Self::Trace,
    ];

    /// What it is called: the word of `export --to`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modules(Names::Torchtitan) => "fsdp2",
            Self::Modules(Names::HuggingFace) => "fsdp2, Hugging Face",
            Self::Plan(PlanTarget::Accelerate) => "accelerate",
            Self::Plan(PlanTarget::Trainer) => "hf-trainer",
            Self::Plan(PlanTarget::DeepSpeed) => "deepspeed",
            Self::Plan(PlanTarget::Megatron) => "megatron",
            Self::Plan(PlanTarget::Torchtitan) => "torchtitan",
            Self::Plan(PlanTarget::Sbatch) => "sbatch",
            Self::Trace => "trace",
        }
    }

    /// What is written.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Modules(Names::Torchtitan) => "fsdp2.json and fsdp2.py, torchtitan's modules",
            Self::Modules(Names::HuggingFace) => "the same, Hugging Face's modules",
            Self::Plan(PlanTarget::Accelerate) => "YAML for accelerate launch",
            Self::Plan(PlanTarget::Trainer) => "arguments of HF's Trainer, as YAML",
            Self::Plan(PlanTarget::DeepSpeed) => "DeepSpeed's JSON",
            Self::Plan(PlanTarget::Megatron) => "a script of Megatron-LM's arguments",
            Self::Plan(PlanTarget::Torchtitan) => "torchtitan's command",
            Self::Plan(PlanTarget::Sbatch) => "a job for Slurm",
            Self::Trace => "the simulated step, for Perfetto",
        }
    }
}

/// A plan to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportQuestion {
    /// As what.
    pub form: ExportForm,
    /// Where; created if it is missing.
    pub folder: PathBuf,
    /// Whether files that are there may be replaced.
    pub replacing: bool,
    /// The scenario whose plan it is.
    pub scenario: Scenario,
    /// How long the training takes, where that is known: what a job asks for.
    pub time: Option<Seconds>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The files, and what the tool does otherwise than planned.
    Written(Vec<String>, Vec<String>),
    /// A file is there already, and nothing was written.
    Taken(String),
    /// Why there is none, a line for each mistake.
    Refused(Vec<String>),
}

/// The files that a plan makes.
enum Content {
    Texts(Vec<(&'static str, String)>, Vec<String>),
    Traces(Vec<RankTrace>),
}

impl ExportQuestion {
    /// Writes the files.
    pub fn answer(&self, watch: &Watch) -> ExportOutcome {
        let content = match self.content() {
            Ok(content) => content,
            Err(why) => return ExportOutcome::Refused(why),
        };
        let names: Vec<String> = match &content {
            Content::Texts(files, _) => files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            Content::Traces(traces) => (0..traces.len()).map(|rank| format!("rank{rank}.json")).collect(),
        };
        // All are looked for before any is written: half of a plan is worse than none.
        let paths: Vec<PathBuf> = names.iter().map(|name| self.folder.join(name)).collect();
        if let Some(taken) = paths.iter().find(|path| !self.replacing && path.symlink_metadata().is_ok()) {
            return ExportOutcome::Taken(shown(taken));
        }
        match self.write(&content, &paths, watch) {
            Ok(notes) => ExportOutcome::Written(paths.iter().map(|path| shown(path)).collect(), notes),
            Err((path, error)) if error.kind() == ErrorKind::AlreadyExists => ExportOutcome::Taken(shown(&path)),
            Err((path, error)) => ExportOutcome::Refused(vec![format!("cannot write {}: {error}", shown(&path))]),
        }
    }

    fn content(&self) -> Result<Content, Vec<String>> {
        let lines = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        match self.form {
            ExportForm::Plan(target) => {
                let job = JobWishes { time: self.time, ..JobWishes::default() };
                let exported = plans::export(target, None, &self.scenario, &job).map_err(lines)?;
                Ok(Content::Texts(vec![(exported.file, exported.text)], exported.notes))
            }
            ExportForm::Modules(names) => {
                let spec = fsdp2::specify(&self.scenario, names).map_err(lines)?;
                let files = spec.files().map_err(|error| vec![error.to_string()])?;
                Ok(Content::Texts(files.into(), spec.notes))
            }
            ExportForm::Trace => {
                RankTrace::all(&self.scenario, &mut Workspace::default()).map(Content::Traces).map_err(lines)
            }
        }
    }

    /// Gives what the tool does otherwise than planned.
    fn write(&self, content: &Content, paths: &[PathBuf], watch: &Watch) -> Result<Vec<String>, (PathBuf, io::Error)> {
        disk::create_folder(&self.folder).map_err(|error| (self.folder.clone(), error))?;
        match content {
            Content::Texts(files, notes) => {
                let named: Vec<(PathBuf, &str)> =
                    paths.iter().cloned().zip(files.iter().map(|(_, text)| text.as_str())).collect();
                if self.replacing {
                    for (path, text) in &named {
                        disk::replace(path, text).map_err(|error| (path.clone(), error))?;
                    }
                } else {
                    disk::create(&named).map_err(|(path, error)| (path.to_owned(), error))?;
                }
                Ok(notes.clone())
            }
            Content::Traces(traces) => {
                // One after the other and not staged together: a trace may take hundreds of MB.
                for (path, trace) in paths.iter().zip(traces) {
                    self.write_trace(path, trace, watch).map_err(|error| (path.clone(), error))?;
                }
                Ok(Vec::new())
            }
        }
    }

    fn write_trace(&self, path: &Path, trace: &RankTrace, watch: &Watch) -> io::Result<()> {
        let mut staged = BufWriter::new(Staged::beside(path, self.replacing)?.watched(watch));
        trace.write(&mut staged)?;
        let mut staged = staged.into_inner().map_err(io::IntoInnerError::into_error)?;
        staged.flush()?;
        if self.replacing { staged.replace(path) } else { staged.create(path).map_err(|(_, error)| error) }
    }
}

/// A file as whoever looks for it needs it: from the root.
fn shown(path: &Path) -> String {
    printable(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string())
}

#[cfg(test)]
mod tests;
