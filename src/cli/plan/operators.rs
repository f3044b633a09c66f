//! `plan`: the best sharding of each operator.

use std::time::Instant;

use crate::cli::args::{self, Plan, PlanFormat};
use crate::cli::export::write_new;
use crate::cli::session::Session;
use crate::cli::{Exit, Failure, output};
use crate::evaluate::Workspace;
use crate::report::PlanReport;
use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;
use crate::search::planner::{self, CostModel, Objective, Request};
use crate::search::{self, Cancel};

pub fn run(session: &Session, arguments: &Plan) -> Result<Exit, Failure> {
    let opened = session.open_possible(arguments.input.scenario.as_deref(), &arguments.input.flags)?;
    let request = request(opened.scenario, arguments)?;
    let start = Instant::now();
    let planned = planner::plan(&request, &Cancel::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let mut workspace = Workspace::default();
    let evaluations = planned.plans.iter().map(|plan| search::full(&plan.scenario, &mut workspace));
    let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
    if let (Some(file), Some(best)) = (&arguments.out, planned.plans.first()) {
        let text = ScenarioFile::of(&best.scenario).to_toml().map_err(Failure::unwritten)?;
        write_new(file, &text)?;
    }
    let report = PlanReport { request: &request, planned: &planned, evaluations: &evaluations, seconds };
    output::result(&match arguments.format {
        PlanFormat::Text => report.text(),
        PlanFormat::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(if planned.plans.is_empty() { Exit::DoesNotFit } else { Exit::Done })
}

fn request(mut scenario: Scenario, arguments: &Plan) -> Result<Request, Failure> {
    let refused = |line: &str| Failure::Input(vec![line.to_owned()]);
    if let Some(limit) = arguments.memory_limit {
        let factor = limit / scenario.cluster.device.memory;
        if !(factor > 0.0 && factor <= 1e6) {
            return Err(refused("--memory-limit: it is out of range; choose a size above 0"));
        }
        scenario.plan.memory_factor = factor;
    }
    let cost_model = match arguments.cost_model {
        args::CostModel::Simulator => CostModel::Simulator,
        args::CostModel::Paper => CostModel::Paper,
    };
    let plan = &scenario.plan;
    if cost_model == CostModel::Paper && plan.tensor * plan.context * plan.pipeline > 1 {
        let line =
            "--cost-model: the paper's model is one of data parallelism alone; choose simulator, or tp, cp and pp 1";
        return Err(refused(line));
    }
    let objective = match arguments.objective {
        args::Objective::Throughput | args::Objective::TrainingTime => Objective::Throughput,
        args::Objective::StepTime => Objective::StepTime,
        args::Objective::Memory => Objective::Memory,
        args::Objective::Devices => Objective::Devices,
    };
    Ok(Request { scenario, objective, cost_model, top: arguments.top as usize })
}
