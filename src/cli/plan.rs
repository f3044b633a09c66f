//! `plan`: the best plans for an objective; each kind of search has its own module.

mod best;
mod grid;
mod operators;
mod profile;
mod training;

use crate::search::planner::Objective;

use super::args::{self, Plan};
use super::exit::{Exit, Failure};
use super::files;
use super::session::Session;

pub(super) fn run(session: &Session, arguments: &Plan) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::vacant(out)?;
    }
    if arguments.profile.file.is_some() {
        return profile::run(arguments);
    }
    if arguments.grid.wanted {
        return grid::run(session, arguments);
    }
    let objective = match arguments.objective {
        args::Objective::TrainingTime => return training::run(session, arguments),
        args::Objective::Throughput => Objective::Throughput,
        args::Objective::StepTime => Objective::StepTime,
        args::Objective::Memory => Objective::Memory,
        args::Objective::Devices => Objective::Devices,
    };
    if let Some(flag) = arguments.training.first() {
        let line = format!("--{flag}: only the shortest training asks for it; add --objective training-time");
        return Err(Failure::input(line));
    }
    operators::run(session, arguments, objective)
}
