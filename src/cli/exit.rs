//! How a command ends: its exit code, and why it did not do what was asked. Not for printing that ([`super::output`]).

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitCode, Termination};

use shardscope_engine::problem::Problem;
use shardscope_interop::import::ImportError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// A file, or the terminal, could not be read or written.
    Io = 1,
    /// Bad usage or bad input.
    Input = 2,
    /// The scenario, or every cell of a map, does not fit into memory; the report was printed.
    DoesNotFit = 3,
    /// A bug.
    Bug = 70,
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// Why a command did not do what was asked; each line says what, where and how to fix it.
#[derive(Debug)]
pub(super) enum Failure {
    /// A file, or the terminal, could not be read or written.
    Io(String),
    /// Bad usage or bad input.
    Input(Vec<String>),
    /// A bug.
    Bug(Vec<String>),
}

impl Failure {
    pub(super) fn io(what: &Path, error: &io::Error) -> Self {
        let what = what.display();
        match error.kind() {
            ErrorKind::AlreadyExists => {
                Self::Io(format!("{what}: already exists; choose another name, or overwrite it with --force"))
            }
            // It was read, and is not what was asked for.
            ErrorKind::InvalidData => Self::input(format!("{what}: {error}")),
            // Where the kernel did not say it: `/proc` holds no files of anyone's own.
            ErrorKind::NotFound if error.raw_os_error().is_none() => Self::Io(format!(
                "{what}: no file can be made there; choose a folder that is there and can be written to"
            )),
            _ => Self::Io(format!("{what}: {error}")),
        }
    }

    pub(super) fn input(line: impl Into<String>) -> Self {
        Self::Input(vec![line.into()])
    }

    /// A result that cannot be put into its format.
    pub(super) fn unwritten(error: impl Display) -> Self {
        Self::Io(format!("the result cannot be written: {error}"))
    }

    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Io(_) => Exit::Io,
            Self::Input(_) => Exit::Input,
            Self::Bug(_) => Exit::Bug,
        }
    }
}

/// Mistakes in the arguments, a line for each with its fix.
#[derive(Debug, Default)]
pub(super) struct Refusals(pub(super) Vec<String>);

impl Refusals {
    pub(super) fn refuse(&mut self, wrong: bool, line: impl Into<String>) {
        if wrong {
            self.0.push(line.into());
        }
    }

    pub(super) fn end(self) -> Result<(), Failure> {
        if self.0.is_empty() { Ok(()) } else { Err(Failure::Input(self.0)) }
    }
}

impl From<Vec<Problem>> for Failure {
    fn from(problems: Vec<Problem>) -> Self {
        let lines = problems.iter().map(ToString::to_string).collect();
        if problems.iter().any(Problem::is_bug) { Self::Bug(lines) } else { Self::Input(lines) }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Unreadable(name, error) => Self::io(Path::new(&name), &error),
            ImportError::Refused(problems) => problems.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shardscope_itself_got_wrong_is_a_bug() {
        let bug = Problem::bug("plan", "the program is stuck".to_owned());
        let failure = Failure::from(vec![bug]);
        assert_eq!(failure.exit(), Exit::Bug);
        assert!(matches!(&failure, Failure::Bug(lines) if lines[0].contains("please report it")), "{failure:?}");
        assert_eq!(Failure::from(vec![Problem::nothing_sharded()]).exit(), Exit::Input);
    }
}
