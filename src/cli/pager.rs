//! A long text for whoever reads it: page by page on a terminal, as it is anywhere else.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use shardscope_engine::text::{printable, visible};

use super::exit::Failure;
use super::{interrupt, output};

/// Shows a text in `$PAGER`, else in `less` if there is one, where stdout is a terminal.
pub(super) fn show(text: &str) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return output::result(text);
    }
    // Ctrl-C goes to both programs: the pager decides what it means.
    interrupt::is_left_to_others();
    match start() {
        Some(pager) => feed(pager, text).map_err(|error| Failure::Io(format!("pager: {error}"))),
        None => output::result(text),
    }
}

/// The pager, if one is wanted and there.
fn start() -> Option<Child> {
    let asked = env::var("PAGER").ok();
    // No shell reads it: it is a program with its options. An empty one asks for none.
    let words = shlex::split(asked.as_deref().unwrap_or("less")).unwrap_or_default();
    let (program, options) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(options).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // What fits on the screen is printed, and stays there.
        command.env("LESS", "FRX");
    }
    match command.spawn() {
        Ok(pager) => Some(pager),
        Err(error) => {
            if let Some(asked) = asked {
                output::warning(&format!("$PAGER, '{}', does not start: {error}", printable(&asked)));
            }
            None
        }
    }
}

/// Hands the text over and waits; a reader who leaves before its end is no failure.
fn feed(mut pager: Child, text: &str) -> io::Result<()> {
    let written = pager.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(visible(text).as_bytes()));
    pager.wait()?;
    written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
