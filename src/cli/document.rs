//! Completions and man page, printed from the same types that read the command line.

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::exit::{Exit, Failure};
use super::output;

pub(super) fn completions(shell: Shell, mut command: Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&script)
}

/// The page of the program, then one for each command.
pub(super) fn man(command: Command) -> Result<Exit, Failure> {
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
