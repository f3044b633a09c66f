//! `guide`: lists the chapters of the guide, or shows one, page by page on a terminal, or looks words up in all of them.

mod find;
mod markdown;

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use crate::guide::CHAPTERS;
use shardscope_engine::text::{printable, visible};

use super::args::GuideArgs;
use super::exit::{Exit, Failure};
use super::{interrupt, output};

pub(super) fn run(guide: &GuideArgs) -> Result<Exit, Failure> {
    let chapter = match &guide.words[..] {
        [word] => CHAPTERS.iter().find(|chapter| chapter.name == word),
        _ => None,
    };
    match chapter {
        Some(chapter) => show(&markdown::plain(chapter.text)),
        None if guide.words.is_empty() => output::result(&list()),
        None => show(&find::look_up(&guide.words).map_err(Failure::input)?),
    }?;
    Ok(Exit::Done)
}

fn list() -> String {
    let width = CHAPTERS.iter().map(|chapter| chapter.name.len()).max().unwrap_or(0);
    let lines = CHAPTERS.iter().map(|chapter| format!("  {:width$}  {}\n", chapter.name, chapter.title()));
    format!(
        "Chapters of the guide; `shardscope guide CHAPTER` shows one, and\n`shardscope guide WORD` finds where the guide speaks of something:\n\n{}",
        lines.collect::<String>()
    )
}

/// Shows a text in `$PAGER`, else in `less` if there is one, where stdout is a terminal.
fn show(text: &str) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return output::result(text);
    }
    // Ctrl-C goes to both programs: the pager decides what it means.
    interrupt::is_left_to_others();
    match start_pager() {
        Some(pager) => feed(pager, text).map_err(|error| Failure::Io(format!("pager: {error}"))),
        None => output::result(text),
    }
}

/// The pager, if one is wanted and there.
fn start_pager() -> Option<Child> {
    let asked = env::var("PAGER").ok();
    // No shell reads it: it is a program with its options. An empty one asks for none.
    let words = shlex::split(asked.as_deref().unwrap_or("less")).unwrap_or_default();
    let (program, options) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(options).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Text that fits on the screen is printed, and stays there.
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
