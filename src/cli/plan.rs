//! `plan`: the best plans for an objective; each kind of search has its own module.

mod best;
mod grid;
mod operators;
mod profile;
mod training;

use super::args::{PlanArgs, PlanGoal};
use super::exit::{Exit, Failure};
use super::files;
use super::session::Session;

pub(super) fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::vacant(out, arguments.force, &session.inputs)?;
    }
    if arguments.profile.file.is_some() {
        return profile::run(session, arguments);
    }
    if arguments.grid.wanted {
        return grid::run(session, arguments);
    }
    let PlanGoal::Best(objective) = arguments.objective else { return training::run(session, arguments) };
    if arguments.any_plan {
        let line = "--any-plan: only the shortest training keeps to the stack; add --objective training-time";
        return Err(Failure::input(line));
    }
    if let Some(flag) = arguments.training.first() {
        let line = format!("--{flag}: only the shortest training asks for it; add --objective training-time");
        return Err(Failure::input(line));
    }
    operators::run(session, arguments, objective)
}
