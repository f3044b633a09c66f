//! `limits`: what memory, bandwidth and peak allow a model at best.

use shardscope_engine::bounds::fsdp;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::units::{BytesPerSecond, FlopPerSecond};
use shardscope_report::figures::LimitsReport;

use super::args::{Bare, LimitsArgs, ScenarioArgs};
use super::exit::{Exit, Failure, Refusals};
use super::output;
use super::session::Session;

pub(super) fn run(session: &Session, arguments: &LimitsArgs) -> Result<Exit, Failure> {
    // Bare numbers alone are the paper's case; a machine's limits are those of its plans.
    let counts = if whole(&arguments.bare) { fsdp::FsdpLimits::of_family } else { fsdp::FsdpLimits::new };
    let (scenario, own) = read_limits(session, &arguments.input, &arguments.bare, counts)?;
    let LimitsArgs { stage, gamma, reserve, .. } = *arguments;
    let limits = fsdp::FsdpLimits { stage, reserve, gamma, ..own };
    let report = LimitsReport { scenario: &scenario, limits: &limits };
    output::report(arguments.format, || report.text(), || report.json())?;
    Ok(Exit::Done)
}

/// Whether the numbers stand for a whole machine.
fn whole(bare: &Bare) -> bool {
    bare.memory.is_some() && bare.link.is_some() && bare.peak.is_some()
}

/// A scenario and its limits by these counts: of the bare numbers where they are given, in place of its machine's and of
/// what was changed there, else of its machine.
pub(super) fn read_limits(
    session: &Session,
    input: &ScenarioArgs,
    bare: &Bare,
    counts: fn(&Scenario) -> fsdp::FsdpLimits,
) -> Result<(Scenario, fsdp::FsdpLimits), Failure> {
    // Where the numbers stand for the whole machine, the scenario's own need not hold the job.
    let mut scenario = if whole(bare) { session.open(input) } else { session.open_possible(input) }?.scenario;
    check(&scenario, input, bare)?;
    let own = counts(&scenario);
    let limits = fsdp::FsdpLimits {
        memory: bare.memory.unwrap_or(own.memory),
        link: bare.link.unwrap_or(own.link),
        latency: bare.latency,
        ring: own.ring || bare.ring,
        peak: bare.peak.unwrap_or(own.peak),
        n_bwd: bare.n_bwd,
        ..own
    };
    if bare.memory.is_some() {
        scenario.plan.memory_factor = 1.0;
    }
    if bare.link.is_some() {
        scenario.plan.bandwidth_factor = 1.0;
    }
    Ok((scenario, limits))
}

/// Flags of what the formulas know; those of other ways to be parallel are refused.
const KNOWN: [Field; 12] = [
    Field::Cluster,
    Field::Model,
    Field::Nodes,
    Field::Devices,
    Field::Bandwidth,
    Field::Memory,
    Field::Sequence,
    Field::Precision,
    Field::Optimizer,
    Field::Tensor,
    Field::Context,
    Field::Pipeline,
];

/// Refuses what the formulas cannot be asked, and says what changes nothing in them.
fn check(scenario: &Scenario, input: &ScenarioArgs, bare: &Bare) -> Result<(), Failure> {
    let plan = &scenario.plan;
    let mut refusals = Refusals::default();
    let mut refuse = |wrong: bool, line: &str| refusals.refuse(wrong, line);
    refuse(plan.tuning.freezes(), "--train: the formulas are of training all parameters; leave it out");
    let part = scenario.trains_part() && !plan.tuning.freezes();
    refuse(part, "--frozen-layers, --frozen-ends: the formulas are of training all parameters; leave them out");
    refuse(bare.link.is_some_and(|link| link <= BytesPerSecond::ZERO), "--link: it is 0; choose a bandwidth above 0");
    refuse(bare.peak.is_some_and(|peak| peak <= FlopPerSecond::ZERO), "--peak: it is 0; choose a rate above 0");
    refuse(scenario.devices() == 0, "--devices: there are none; choose at least 1");
    refuse(plan.sequence == 0, "--seq: it is 0; choose at least 1 token");
    for (flag, ranks) in [("tp", plan.tensor), ("cp", plan.context), ("pp", plan.pipeline)] {
        let line = format!("--{flag}: the limits are those of data parallelism alone; choose {flag} 1");
        refuse(ranks > 1, &line);
    }
    refusals.end()?;
    for (field, _) in input.flags.given().filter(|(field, _)| !KNOWN.contains(field)) {
        output::note(&format!("--{field}: changes no limit; the formulas know stage, gamma and the tokens that fit"));
    }
    Ok(())
}
