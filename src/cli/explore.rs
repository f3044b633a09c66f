//! No command: the explorer; without a terminal, the report of `eval`.

use std::io::{self, IsTerminal};

use crate::app::Start;
use crate::snapshot::Opened;
use crate::term;

use super::args::{EvalFormat, Input};
use super::session::Session;
use super::{Exit, Failure, eval};

pub(super) fn run(session: Session, input: &Input) -> Result<Exit, Failure> {
    let opened = session.open_possible(input.scenario.as_deref(), &input.flags)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return eval::report(&session.library, &opened, EvalFormat::Text);
    }
    let Opened { file, scenario, pins, .. } = opened;
    let Session { library, options } = session;
    term::run(Start { library, file, scenario, pins, options })
        .map_err(|error| Failure::Io(format!("terminal: {error}")))?;
    Ok(Exit::Done)
}
