//! The command line: reads arguments, does what they ask, says how it ended.
//!
//! stdout carries only the result. Not for what a result looks like ([`shardscope_report::figures`]), and not for
//! the explorer itself ([`crate::term`]).

mod args;
mod eval;
mod evidence;
mod exit;
mod explore;
mod export;
mod files;
mod guide;
mod import;
mod interrupt;
mod limits;
pub mod log;
mod merge;
mod output;

mod plan;
mod presets;
mod progress;
mod search;
mod session;
mod sweep;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::app::state::keymap;
use crate::config;
use shardscope_engine::text::visible;

use args::{Cli, CliCommand};
use exit::Failure;
use session::Session;

pub use exit::Exit;

/// Does what the arguments ask; `arguments` begin with the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let outcome = texts(arguments).and_then(|arguments| match Cli::try_parse_from(&arguments) {
        Ok(cli) => dispatch(&cli),
        Err(error) if error.kind() == ErrorKind::InvalidSubcommand => Err(misspelt(&arguments, &error)),
        Err(error) => usage(&error),
    });
    outcome.unwrap_or_else(|failure| {
        output::failure(&failure);
        failure.exit()
    })
}

/// The arguments, all of which must be text: a name that is none could stand in no report, no command to copy and no file.
fn texts(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, Failure> {
    let text = |argument: OsString| {
        let refused = |argument: OsString| {
            let name = argument.to_string_lossy().into_owned();
            Failure::input(format!("'{name}': is not text in UTF-8; rename the file, or link to it by another name"))
        };
        argument.into_string().map_err(refused)
    };
    arguments.into_iter().map(text).collect()
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
        CliCommand::Support(support) => evidence::support(&session()?, support),
        CliCommand::Validate(validate) => evidence::validate(&session()?, validate),
        CliCommand::Calibrate(calibrate) => evidence::calibrate(&session()?, calibrate),
        CliCommand::Presets(presets) => presets::run(&session()?, presets),
        CliCommand::Guide(chapter) => guide::run(chapter),
        CliCommand::Config(_) => output::result(&settings()).map(|()| Exit::Done),
        CliCommand::Completions { shell } => completions(*shell, Cli::command()),
        CliCommand::Man => man(Cli::command()),
    }
}

/// A commented `config.toml` that changes nothing.
fn settings() -> String {
    format!("{}{}", config::DEFAULT, keymap::documented())
}

/// The command that looks most like a word, if any does.
fn like_command(word: &str) -> Option<String> {
    let command = Cli::command();
    let likeness = |name: &str| strsim::jaro_winkler(word, name);
    let near = command.get_subcommands().map(|command| (likeness(command.get_name()), command.get_name()));
    let (likeness, name) = near.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (likeness > LIKE).then(|| name.to_owned())
}

/// How much a word must look like a command to have been meant for it.
const LIKE: f64 = 0.85;

/// A word before another one that is no command was the misspelt one, since a scenario is followed by flags alone.
fn misspelt(arguments: &[String], error: &clap::Error) -> Failure {
    let first = arguments.iter().skip(1).find(|word| !word.starts_with('-'));
    match first.and_then(|word| Some((word, like_command(word)?))) {
        Some((word, command)) => {
            Failure::input(format!("'{word}' is no command; did you mean `shardscope {command}`?"))
        }
        None => {
            Failure::input(visible(error.render().to_string().trim_start_matches("error: ").trim_end()).into_owned())
        }
    }
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
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Io(format!("stdout: {error}"))),
        _ => Ok(Exit::Done),
    }
}

/// Completions, printed from the types that read the command line.
fn completions(shell: Shell, mut command: Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&script)
}

/// The page of the program, then one for each command.
fn man(command: Command) -> Result<Exit, Failure> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let commands: Vec<Command> = command.get_subcommands().cloned().collect();
    let source = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    let mut pages = Vec::new();
    for page in std::iter::once(command).chain(commands) {
        Man::new(page).source(source).render(&mut pages).map_err(Failure::unwritten)?;
    }
    print(&pages)
}

fn print(text: &[u8]) -> Result<Exit, Failure> {
    output::result(&String::from_utf8_lossy(text)).map(|()| Exit::Done)
}
