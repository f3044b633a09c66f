//! `limits`: what memory, bandwidth and peak allow a model at best.

use crate::bounds::fsdp;
use crate::report::LimitsReport;
use crate::scenario::Scenario;
use crate::units::{BytesPerSecond, FlopPerSecond};

use super::args::{Bare, Input, Limits, LimitsFormat};
use super::session::Session;
use super::{Exit, Failure, output};

pub(super) fn run(session: &Session, arguments: &Limits) -> Result<Exit, Failure> {
    let (model, own) = given(session, &arguments.input, &arguments.bare)?;
    let Limits { stage, gamma, reserve, .. } = *arguments;
    let limits = fsdp::Limits { stage, reserve, gamma, ..own };
    let report = LimitsReport { model: &model, limits: &limits };
    output::result(&match arguments.format {
        LimitsFormat::Text => report.text(),
        LimitsFormat::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(Exit::Done)
}

/// A model's name and its limits: by the bare numbers where they are given, else by the scenario.
pub(super) fn given(session: &Session, input: &Input, bare: &Bare) -> Result<(String, fsdp::Limits), Failure> {
    let (name, flags) = (input.scenario.as_deref(), &input.flags);
    // Where the numbers stand for the whole machine, the scenario's own need not hold the job.
    let whole = bare.memory.is_some() && bare.link.is_some() && bare.peak.is_some();
    let scenario = if whole { session.open(name, flags) } else { session.open_possible(name, flags) }?.scenario;
    check(&scenario, bare)?;
    let own = fsdp::Limits::of(&scenario);
    let limits = fsdp::Limits {
        memory: bare.memory.unwrap_or(own.memory),
        link: bare.link.unwrap_or(own.link),
        latency: bare.latency,
        ring: bare.ring,
        peak: bare.peak.unwrap_or(own.peak),
        n_bwd: bare.n_bwd,
        ..own
    };
    Ok((scenario.model.name.clone(), limits))
}

/// Refuses what the formulas cannot be asked.
fn check(scenario: &Scenario, bare: &Bare) -> Result<(), Failure> {
    let plan = &scenario.plan;
    let mut problems = Vec::new();
    let mut refuse = |wrong: bool, line: &str| {
        if wrong {
            problems.push(line.to_owned());
        }
    };
    refuse(bare.link.is_some_and(|link| link <= BytesPerSecond::ZERO), "--link: it is 0; choose a bandwidth above 0");
    refuse(bare.peak.is_some_and(|peak| peak <= FlopPerSecond::ZERO), "--peak: it is 0; choose a rate above 0");
    refuse(scenario.devices() == 0, "--devices: there are none; choose at least 1");
    refuse(plan.sequence == 0, "--seq: it is 0; choose at least 1 token");
    for (flag, ranks) in [("tp", plan.tensor), ("cp", plan.context), ("pp", plan.pipeline)] {
        let line = format!("--{flag}: the limits are those of data parallelism alone; choose {flag} 1");
        refuse(ranks > 1, &line);
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems)) }
}
