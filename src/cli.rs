//! The command line: reads arguments, does what they ask, says how it ended.
//!
//! stdout carries only the result. Not for what a result looks like ([`crate::figures`]), and not for
//! the explorer itself ([`crate::term`]).

mod args;
mod calibrate;
mod document;
mod eval;
mod explore;
mod export;
mod files;
mod limits;
pub mod log;
mod output;
mod plan;
mod presets;
mod session;
mod sweep;
mod validate;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitCode, Termination};

use clap::{CommandFactory, Parser};

use crate::app::keymap;
use crate::config;
use crate::scenario::Problem;

use args::{Cli, Command};
use session::Session;

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
enum Failure {
    /// A file, or the terminal, could not be read or written.
    Io(String),
    /// Bad usage or bad input.
    Input(Vec<String>),
    /// A bug.
    Bug(Vec<String>),
}

impl Failure {
    fn io(what: &Path, error: &io::Error) -> Self {
        let what = what.display();
        Self::Io(match error.kind() {
            ErrorKind::AlreadyExists => format!("{what}: is there already; choose another name"),
            _ => format!("{what}: {error}"),
        })
    }

    fn input(line: impl Into<String>) -> Self {
        Self::Input(vec![line.into()])
    }

    /// A result that cannot be put into its format.
    fn unwritten(error: impl Display) -> Self {
        Self::Io(format!("the result cannot be written: {error}"))
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Io(_) => Exit::Io,
            Self::Input(_) => Exit::Input,
            Self::Bug(_) => Exit::Bug,
        }
    }
}

/// What is wrong with the arguments, one line for each, that says how to fix it.
#[derive(Debug, Default)]
struct Refusals(Vec<String>);

impl Refusals {
    fn refuse(&mut self, wrong: bool, line: impl Into<String>) {
        if wrong {
            self.0.push(line.into());
        }
    }

    fn end(self) -> Result<(), Failure> {
        if self.0.is_empty() { Ok(()) } else { Err(Failure::Input(self.0)) }
    }
}

impl From<Vec<Problem>> for Failure {
    fn from(problems: Vec<Problem>) -> Self {
        let lines = problems.iter().map(ToString::to_string).collect();
        if problems.iter().any(Problem::is_bug) { Self::Bug(lines) } else { Self::Input(lines) }
    }
}

/// Does what the arguments ask; `arguments` begin with the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let outcome = match Cli::try_parse_from(arguments) {
        Ok(cli) => dispatch(&cli),
        Err(error) => usage(&error),
    };
    outcome.unwrap_or_else(|failure| {
        output::failure(&failure);
        failure.exit()
    })
}

fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    if let Some(file) = &cli.everywhere.log {
        log::open(file).map_err(|error| Failure::io(file, &error))?;
    }
    let session = || Session::start(&cli.everywhere);
    let Some(command) = &cli.command else { return explore::run(session()?, &cli.input, &cli.rows) };
    let misplaced = cli.input.first();
    if let Some(misplaced) = misplaced.or_else(|| (!cli.rows.is_empty()).then(|| "--rows".to_owned())) {
        return Err(Failure::input(format!("'{misplaced}' stands before a command: write it after the command")));
    }
    match command {
        Command::Eval(eval) => eval::run(&session()?, eval),
        Command::Sweep(sweep) => sweep::run(&session()?, sweep),
        Command::Plan(plan) => plan::run(&session()?, plan),
        Command::Export(export) => export::run(&session()?, export),
        Command::Limits(limits) => limits::run(&session()?, limits),
        Command::Validate(validate) => validate::run(&session()?, validate),
        Command::Calibrate(calibrate) => calibrate::run(&session()?, calibrate),
        Command::Presets(presets) => presets::run(&session()?, presets),
        Command::Config(_) => output::result(&settings()).map(|()| Exit::Done),
        Command::Completions { shell } => document::completions(*shell, Cli::command()),
        Command::Man => document::man(Cli::command()),
    }
}

/// A commented `config.toml` that changes nothing.
fn settings() -> String {
    format!("{}{}", config::DEFAULT, keymap::documented())
}

/// Prints what clap has to say: the help or the version on stdout, an error on stderr.
fn usage(error: &clap::Error) -> Result<Exit, Failure> {
    let printed = error.print();
    match printed {
        _ if error.use_stderr() => Ok(Exit::Input),
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Io(format!("stdout: {error}"))),
        _ => Ok(Exit::Done),
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
