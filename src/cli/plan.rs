//! `plan`: the best plans for an objective; each kind of search has its own module.

mod grid;
mod operators;
mod profile;
mod training;

use std::path::Path;

use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;
use crate::search::planner::Objective;
use crate::units::Bytes;

use super::args::{self, Plan};
use super::session::Session;
use super::{Exit, Failure, files};

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

/// Lets a device use no more memory than this, and never more than it may.
fn limit_memory(scenario: &mut Scenario, limit: Option<Bytes>) {
    if let Some(limit) = limit {
        let factor = &mut scenario.plan.memory_factor;
        *factor = factor.min(limit / scenario.cluster.device.memory);
    }
}

/// Writes the best plan as a scenario, where that is wanted and there is one.
fn save(out: Option<&Path>, best: Option<&Scenario>) -> Result<(), Failure> {
    let Some((file, best)) = out.zip(best) else { return Ok(()) };
    let text = ScenarioFile::of(best).to_toml().map_err(Failure::unwritten)?;
    files::write_new(&[(file.to_owned(), &text)])
}
