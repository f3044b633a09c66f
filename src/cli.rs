//! The command line: reads arguments, does what they ask, says how it ended.
//!
//! stdout carries only the result. Not for what a result looks like ([`shardscope_report::figures`]), and not for
//! the explorer itself ([`crate::term`]).

mod args;
mod calibrate;
mod cluster;
mod document;
mod eval;
mod exit;
mod explore;
mod export;
mod files;
mod foreign;
mod guide;
mod import;
mod inputs;
mod interrupt;
mod limits;
pub mod log;
mod merge;
mod model;
mod output;
mod pager;
mod parts;
mod plan;
mod presets;
mod progress;
mod rows;
mod search;
mod session;
mod support;
mod sweep;
mod validate;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::ErrorKind;

use clap::{CommandFactory, Parser};

use crate::app::state::keymap;
use crate::config;
use shardscope_engine::text::visible;

use args::{Cli, CliCommand};
use exit::Failure;
use session::Session;

pub use exit::Exit;

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
    let mut inputs = cli.inputs();
    if let Some(file) = &cli.everywhere.log {
        files::refuse_input(file, &inputs)?;
        log::open(file).map_err(|error| Failure::io(file, &error))?;
        // Nothing is written over the log either.
        inputs.push(file.clone());
    }
    let session = || Session::start(&cli.everywhere, inputs.clone());
    let Some(command) = &cli.command else { return explore::run(session()?, cli) };
    let misplaced = cli.input.first();
    let own = [("--rows", !cli.rows.is_empty()), ("--fresh", cli.fresh)];
    let own = || own.iter().find(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned());
    if let Some(misplaced) = misplaced.or_else(own) {
        return Err(Failure::input(format!("'{misplaced}' stands before a command: write it after the command")));
    }
    interrupt::watch()?;
    match command {
        CliCommand::Eval(eval) => eval::run(&session()?, eval),
        CliCommand::Sweep(sweep) => sweep::run(&session()?, sweep),
        CliCommand::Merge(merge) => merge::run(merge, &inputs),
        CliCommand::Plan(plan) => plan::run(&session()?, plan),
        CliCommand::Search(search) => search::run(&session()?, search),
        CliCommand::Export(export) => export::run(&session()?, &cli.everywhere, export),
        CliCommand::Import(import) => import::run(&session()?, import),
        CliCommand::Limits(limits) => limits::run(&session()?, limits),
        CliCommand::Support(support) => support::run(&session()?, support),
        CliCommand::Validate(validate) => validate::run(&session()?, validate),
        CliCommand::Calibrate(calibrate) => calibrate::run(&session()?, calibrate),
        CliCommand::Presets(presets) => presets::run(&session()?, presets),
        CliCommand::Guide(chapter) => guide::run(chapter),
        CliCommand::Config(_) => output::result(&settings()).map(|()| Exit::Done),
        CliCommand::Completions { shell } => document::completions(*shell, Cli::command()),
        CliCommand::Man => document::man(Cli::command()),
    }
}

/// A commented `config.toml` that changes nothing.
fn settings() -> String {
    format!("{}{}", config::DEFAULT, keymap::documented())
}

/// Prints what clap has to say: the help or the version on stdout, an error on stderr.
fn usage(error: &clap::Error) -> Result<Exit, Failure> {
    let text = error.render().to_string();
    let printed = match visible(&text) {
        Cow::Borrowed(_) => error.print(),
        // What it repeats of the arguments could command the terminal: it is said without colours.
        Cow::Owned(text) => {
            output::to_stderr(&text);
            Ok(())
        }
    };
    match printed {
        _ if error.use_stderr() => Ok(Exit::Input),
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Io(format!("stdout: {error}"))),
        _ => Ok(Exit::Done),
    }
}
