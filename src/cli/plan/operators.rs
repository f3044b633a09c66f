//! `plan`: the best sharding of each operator.

use std::time::Instant;

use crate::cli::args::PlanArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::{Session, note_chosen, note_idle};
use crate::cli::{interrupt, log, output, progress};
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::plan::{Plan, Recompute};
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::planner::{self, CostModel, PlanRequest, PlannerObjective};
use shardscope_engine::search::{self, Cancel};
use shardscope_report::figures::PlanReport;

use super::best;

/// Flags of what the search chooses.
const CHOSEN: [Field; 5] =
    [Field::Shard, Field::WeightsOver, Field::GradientsOver, Field::OptimizerOver, Field::Recompute];

pub fn run(session: &Session, arguments: &PlanArgs, objective: PlannerObjective) -> Result<Exit, Failure> {
    let mut scenario = session.open_possible(&arguments.input)?.scenario;
    note_idle(&arguments.input, [Plan { recompute: Recompute::Full, ..scenario.plan.clone() }]);
    note_chosen(&arguments.input, &CHOSEN);
    best::limit_memory(&mut scenario, arguments.memory_limit);
    let cost_model = cost_model(&scenario, arguments)?;
    let request = PlanRequest { scenario, objective, cost_model, top: arguments.top as usize };
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
    let report = PlanReport { request: &request, planned: &planned, evaluations: &evaluations, seconds };
    output::report(arguments.format, || report.text(), || report.json())?;
    best::save(&session.library, arguments, planned.plans.first().map(|best| &best.scenario))?;
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
