//! `plan --grid`: the search of the FSDP limits.

use crate::cli::args::PlanArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::Session;
use crate::cli::{limits, output};
use shardscope_engine::bounds::fsdp::{self, grid};
use shardscope_engine::units::Bytes;
use shardscope_report::figures::GridReport;

pub fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let wanted = &arguments.grid;
    let (scenario, own) = limits::given(session, &arguments.input, &wanted.bare, fsdp::FsdpLimits::of_family)?;
    let limits = fsdp::FsdpLimits {
        memory: arguments.memory_limit.map_or(own.memory, |limit| limit.min(own.memory)),
        reserve: arguments.profile.reserve.unwrap_or(Bytes::ZERO),
        ..own
    };
    let found = grid::search(&limits, wanted.alpha);
    let report = GridReport { scenario: &scenario, limits: &limits, alpha: wanted.alpha, found };
    output::report(arguments.format, || report.text(), || report.json())?;
    Ok(if found.is_some() { Exit::Done } else { Exit::DoesNotFit })
}
