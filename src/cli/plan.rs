//! `plan`: the best plans for an objective; each kind of search has its own module.

mod grid;
mod operators;
mod profile;
mod training;

use super::args::{Objective, Plan};
use super::session::Session;
use super::{Exit, Failure};

pub(super) fn run(session: &Session, arguments: &Plan) -> Result<Exit, Failure> {
    match arguments {
        Plan { profile, .. } if profile.file.is_some() => profile::run(arguments),
        Plan { grid, .. } if grid.wanted => grid::run(session, arguments),
        Plan { objective: Objective::TrainingTime, .. } => training::run(session, arguments),
        _ => operators::run(session, arguments),
    }
}
