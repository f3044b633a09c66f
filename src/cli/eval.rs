//! `eval`: one scenario, everything about it.

use crate::evaluate::Workspace;
use crate::report::{self, Figures, Report};
use crate::scenario::Scenario;
use crate::search;
use crate::snapshot::Stored;

use super::args::{Eval, EvalFormat};
use super::session::Session;
use super::{Exit, Failure, output};

pub(super) fn run(session: &Session, eval: &Eval) -> Result<Exit, Failure> {
    let opened = session.open_possible(eval.input.scenario.as_deref(), &eval.input.flags)?;
    report(&opened.scenario, opened.stored.as_ref(), eval.format)
}

/// Prints the report; a scenario that does not fit has one too.
pub(super) fn report(scenario: &Scenario, stored: Option<&Stored>, format: EvalFormat) -> Result<Exit, Failure> {
    let evaluation = search::full(scenario, &mut Workspace::default())?;
    let report = || Report::of(scenario, &evaluation);
    output::result(&match format {
        EvalFormat::Text => {
            // Figures of this version are the same to the bit: there is nothing to put beside them.
            let stored = stored.filter(|stored| stored.version != env!("CARGO_PKG_VERSION"));
            let now = || Figures::of(scenario, &evaluation);
            let beside = stored.map(|stored| report::beside(&stored.version, &stored.figures, &now()));
            report::text(scenario, &evaluation) + &beside.unwrap_or_default()
        }
        EvalFormat::Json => report().to_json().map_err(Failure::unwritten)? + "\n",
        EvalFormat::Toml => report().to_toml().map_err(Failure::unwritten)?,
    })?;
    Ok(if evaluation.summary.fits { Exit::Done } else { Exit::DoesNotFit })
}
