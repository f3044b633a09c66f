//! `limits`: what memory, bandwidth and peak allow a model at best.

use crate::bounds::fsdp;
use crate::report::LimitsReport;
use crate::scenario::Scenario;
use crate::units::{BytesPerSecond, FlopPerSecond};

use super::args::{Limits, LimitsFormat};
use super::session::Session;
use super::{Exit, Failure, output};

pub(super) fn run(session: &Session, arguments: &Limits) -> Result<Exit, Failure> {
    let (name, flags) = (arguments.input.scenario.as_deref(), &arguments.input.flags);
    // Where the numbers stand for the whole machine, the scenario's own need not hold the job.
    let bare = arguments.memory.is_some() && arguments.link.is_some() && arguments.peak.is_some();
    let opened = if bare { session.open(name, flags) } else { session.open_possible(name, flags) }?;
    let scenario = &opened.scenario;
    check(scenario, arguments)?;
    let own = fsdp::Limits::of(scenario);
    let limits = fsdp::Limits {
        stage: arguments.stage,
        memory: arguments.memory.unwrap_or(own.memory),
        reserve: arguments.reserve,
        link: arguments.link.unwrap_or(own.link),
        latency: arguments.latency,
        ring: arguments.ring,
        peak: arguments.peak.unwrap_or(own.peak),
        gamma: arguments.gamma,
        n_bwd: arguments.n_bwd,
        ..own
    };
    let report = LimitsReport { model: &scenario.model.name, limits: &limits };
    output::result(&match arguments.format {
        LimitsFormat::Text => report.text(),
        LimitsFormat::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(Exit::Done)
}

/// Refuses what the formulas cannot be asked.
fn check(scenario: &Scenario, arguments: &Limits) -> Result<(), Failure> {
    let plan = &scenario.plan;
    let mut problems = Vec::new();
    let mut refuse = |wrong: bool, line: &str| {
        if wrong {
            problems.push(line.to_owned());
        }
    };
    refuse(
        arguments.link.is_some_and(|link| link <= BytesPerSecond::ZERO),
        "--link: it is 0; choose a bandwidth above 0",
    );
    refuse(arguments.peak.is_some_and(|peak| peak <= FlopPerSecond::ZERO), "--peak: it is 0; choose a rate above 0");
    refuse(scenario.devices() == 0, "--devices: there are none; choose at least 1");
    refuse(plan.sequence == 0, "--seq: it is 0; choose at least 1 token");
    for (flag, ranks) in [("tp", plan.tensor), ("cp", plan.context), ("pp", plan.pipeline)] {
        let line = format!("--{flag}: the limits are those of data parallelism alone; choose {flag} 1");
        refuse(ranks > 1, &line);
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems)) }
}
