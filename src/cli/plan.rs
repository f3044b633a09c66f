//! `plan`: the best sharding of each operator, by the simulator, by the FSDP limits (`--grid`) or a measured profile.

mod training;

use std::path::Path;
use std::time::Instant;

use crate::app::answers::launchers::RUNS_IN;
use crate::cli::args::{PlanArgs, PlanGoal};
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::{Session, note_chosen, note_idle};
use crate::cli::{files, interrupt, limits, log, output, progress};
use shardscope_engine::bounds::fsdp::{self, grid};
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::plan::{Plan, Recompute};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::field::{Steps, Type};
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::planner::profile::{MeasuredProfile, ProfileRequest};
use shardscope_engine::search::planner::{self, CostModel, PlanRequest, PlannerObjective};
use shardscope_engine::search::{self, Cancel};
use shardscope_engine::units::Bytes;
use shardscope_library::disk::{self, InputKind};
use shardscope_report::figures::{GridReport, PlanReport, ProfileReport};

pub(super) fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::refuse_taken(out, arguments.force, &session.inputs)?;
    }
    if arguments.profile.file.is_some() {
        return plan_profile(session, arguments);
    }
    if arguments.grid.wanted {
        return plan_grid(session, arguments);
    }
    let PlanGoal::Best(objective) = arguments.objective else { return training::run(session, arguments) };
    if let Some(flag) = arguments.training.first() {
        let line = format!("--{flag}: only the shortest training asks for it; add --objective training-time");
        return Err(Failure::input(line));
    }
    plan_operators(session, arguments, objective)
}

/// Lowers the memory that a device may use to a limit; never raises it.
fn limit_memory(scenario: &mut Scenario, limit: Option<Bytes>) {
    if let Some(limit) = limit {
        let factor = &mut scenario.plan.memory_factor;
        *factor = factor.min(limit / scenario.cluster.device.capacity());
    }
}

/// Writes the best plan as a scenario, where that is wanted and there is one.
fn save_best(library: &Library, arguments: &PlanArgs, best: Option<&Scenario>) -> Result<(), Failure> {
    let Some((file, best)) = arguments.out.as_ref().zip(best) else { return Ok(()) };
    let text = library.file(best).to_toml().map_err(Failure::unwritten)?;
    files::write(&[(file.clone(), &text)], arguments.force)
}

/// `plan --grid`: the search of the FSDP limits.
fn plan_grid(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let wanted = &arguments.grid;
    let (scenario, own) = limits::read_limits(session, &arguments.input, &wanted.bare, fsdp::FsdpLimits::of_family)?;
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

/// Whether the search chooses a field for each operator: the extents of its state, and its recompute.
fn is_chosen(field: Field) -> bool {
    let spec = field.spec();
    spec.steps == Steps::Extents || spec.takes == Type::Recompute
}

/// `plan`: the best sharding of each operator.
fn plan_operators(session: &Session, arguments: &PlanArgs, objective: PlannerObjective) -> Result<Exit, Failure> {
    let mut scenario = session.open_possible(&arguments.input)?.scenario;
    note_idle(&arguments.input, [Plan { recompute: Recompute::Full, ..scenario.plan.clone() }]);
    note_chosen(&arguments.input, is_chosen);
    limit_memory(&mut scenario, arguments.memory_limit);
    let cost_model = cost_model(&scenario, arguments)?;
    let (top, any_plan) = (arguments.top as usize, arguments.any_plan);
    let request = PlanRequest { scenario, objective, cost_model, top, any_plan };
    let start = Instant::now();
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    log::line("searching plans");
    let waiting = progress::waiting("searching plans; Ctrl-C prints the best so far", &session.options);
    let planned = planner::plan(&request, &cancel)?;
    waiting.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    let mut workspace = Workspace::default();
    let evaluations = planned.plans.iter().map(|plan| search::full(&plan.scenario, &mut workspace));
    let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
    let report =
        PlanReport { request: &request, planned: &planned, evaluations: &evaluations, runs_in: RUNS_IN, seconds };
    output::report(arguments.format, || report.text(), || report.json())?;
    save_best(&session.library, arguments, planned.plans.first().map(|best| &best.scenario))?;
    interrupt::ends(&cancel);
    Ok(if planned.plans.is_empty() { Exit::DoesNotFit } else { Exit::Done })
}

fn cost_model(scenario: &Scenario, arguments: &PlanArgs) -> Result<CostModel, Failure> {
    let plan = &scenario.plan;
    match arguments.cost_model {
        CostModel::Paper if plan.tensor * plan.context * plan.pipeline > 1 => Err(Failure::input(
            "--cost-model: the paper's model is one of data parallelism alone; choose simulator, or tp, cp and pp 1",
        )),
        possible => Ok(possible),
    }
}

/// Memory that the authors' search keeps free on each device: 800 of its MB, which are MiB [osdp C5].
const RESERVE: Bytes = Bytes::new(800.0 * Bytes::MIB.get());

/// The largest number of layers that is planned, far above any model's.
const MOST_LAYERS: u32 = 4096;

/// `plan --profile`: the paper's search on measured operators.
fn plan_profile(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let wanted = &arguments.profile;
    // The command line has made sure that these are there.
    let (Some(file), Some(layers), Some(hidden), Some(limit)) =
        (&wanted.file, wanted.layers, wanted.hidden, arguments.memory_limit)
    else {
        return Err(Failure::input("--profile: needs --layers, --hidden and --memory-limit"));
    };
    if let Some(foreign) = arguments.input.first() {
        return Err(Failure::input(format!("{foreign}: the profile is planned by itself; leave it out")));
    }
    let profile = read_profile(file)?;
    check_profile(&profile, arguments)?;
    let reserve = wanted.reserve.unwrap_or(RESERVE);
    let room_mib = ((limit / Bytes::MIB).floor() - (reserve / Bytes::MIB).ceil()).max(0.0) as u64;
    let request = ProfileRequest { layers, hidden, room_mib, batch_index: wanted.batch_index };
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    log::line("searching plans");
    let waiting = progress::waiting("planning; Ctrl-C prints the batches so far", &session.options);
    let plans = profile.plan(request, &cancel);
    waiting.finish_and_clear();
    if cancel.is_cancelled() {
        output::warning(&"interrupted: larger batches were not planned");
    }
    let report = ProfileReport { layers, hidden, limit, reserve, plans: &plans };
    output::report(arguments.format, || report.text(), || report.json())?;
    interrupt::ends(&cancel);
    Ok(if plans.plans.is_empty() { Exit::DoesNotFit } else { Exit::Done })
}

fn read_profile(file: &Path) -> Result<MeasuredProfile, Failure> {
    let text = disk::read_text(file, InputKind::Profile).map_err(|error| Failure::io(file, &error))?;
    let name = file.display().to_string();
    MeasuredProfile::parse(&text).map_err(|error| Failure::input(error.in_file(&name).to_string()))
}

/// Refuses arguments that the profile has no rows for.
fn check_profile(profile: &MeasuredProfile, arguments: &PlanArgs) -> Result<(), Failure> {
    let wanted = &arguments.profile;
    let list = |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !wanted.layers.is_some_and(|layers| (1..=MOST_LAYERS).contains(&layers)) {
        return Err(Failure::input(format!("--layers: choose 1 to {MOST_LAYERS}")));
    }
    let hidden = wanted.hidden.unwrap_or_default();
    let widths = profile.widths();
    if !widths.contains(&hidden) {
        let line = format!("--hidden: the profile has no rows of width {hidden}; choose one of {}", list(&widths));
        return Err(Failure::input(line));
    }
    let batches = profile.batches(hidden);
    match wanted.batch_index {
        Some(batch) if !batches.contains(&batch) => {
            let line = format!("--batch-index: no rows of batch {batch}; choose one of {}", list(&batches));
            Err(Failure::input(line))
        }
        _ => Ok(()),
    }
}
