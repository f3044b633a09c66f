//! What the program says of a step, as the JSON of `eval` has it.

use rayon::prelude::*;
use serde_json::Value;
use shardscope_engine::evaluate::{Evaluation, Workspace};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::{Problem, Scenario, file};
use shardscope_engine::search;
use shardscope_report::figures::EvaluationReport;

use super::scenarios::Question;
use super::table::Table;

/// Every how many scenarios elasticities are asked for, since they take twenty runs each.
const ELASTIC: usize = 12;

/// Columns, each with the paths in the JSON whose values stand in its cells; `*` is every element of a list.
const FIGURES: [(&str, &[&str]); 42] = [
    ("fits", &["fits"]),
    ("step_time_s", &["step_time_s"]),
    ("tokens_per_s_per_device", &["tokens_per_s_per_device"]),
    ("model_tflops_per_device", &["model_tflops_per_device"]),
    ("hardware_tflops_per_device", &["hardware_tflops_per_device"]),
    ("mfu", &["mfu"]),
    ("hfu", &["hfu"]),
    ("band_low", &["error_band.low"]),
    ("band_high", &["error_band.high"]),
    ("band_rows", &["error_band.rows"]),
    ("compute_s", &["time.compute_s"]),
    ("communication_s", &["time.communication_s"]),
    ("exposed_communication_s", &["time.exposed_communication_s"]),
    ("bubble_s", &["time.bubble_s"]),
    ("optimizer_s", &["time.optimizer_s"]),
    ("other_s", &["time.other_s"]),
    ("forward_s", &["phases.forward_s"]),
    ("backward_s", &["phases.backward_s"]),
    ("update_s", &["phases.update_s"]),
    ("capacity_bytes", &["memory.capacity_bytes"]),
    ("peak_bytes", &["memory.peak_bytes"]),
    ("weights", &["memory.parts.weights"]),
    ("gradients", &["memory.parts.gradients"]),
    ("optimizer", &["memory.parts.optimizer"]),
    ("secondary_weights", &["memory.parts.secondary_weights"]),
    ("activations", &["memory.parts.activations"]),
    ("gathered", &["memory.parts.gathered"]),
    ("communication", &["memory.parts.communication"]),
    ("reserved", &["memory.parts.reserved"]),
    ("experts", &["memory.experts.weights", "memory.experts.gradients", "memory.experts.optimizer"]),
    ("pages", &["memory.pages.moved_bytes", "memory.pages.left_bytes"]),
    ("host_bytes", &["memory.host.node_bytes"]),
    ("drives_bytes", &["memory.drives.node_bytes"]),
    ("stages_peak_bytes", &["memory.stages.*.peak_bytes"]),
    ("traffic_bytes", &["traffic.*.bytes_per_device"]),
    ("traffic_busy_s", &["traffic.*.busy_s"]),
    ("to_host", &["host_link.to_host.bytes_per_device", "host_link.to_host.busy_s"]),
    ("from_host", &["host_link.from_host.bytes_per_device", "host_link.from_host.busy_s"]),
    ("bottleneck", &["bottleneck.resource", "bottleneck.host"]),
    ("training", &["training.days", "training.device_hours", "training.cost", "training.energy_kwh"]),
    (
        "intensities",
        &[
            "intensities.*.flop_per_byte",
            "intensities.*.threshold_flop_per_byte",
            "intensities.*.slowdown",
            "intensities.*.micro_batches_to_hide",
        ],
    ),
    (
        "beside",
        &[
            "phases.beside_s",
            "memory.parts.beside",
            "post_training.phases.*.peak_bytes",
            "memory.parts.engine",
            "post_training.prompts_per_step",
            "post_training.answers_per_step",
            "post_training.updates_per_step",
            "post_training.slots",
            "post_training.cache_bytes",
        ],
    ),
];

/// The figures of each scenario, or the fields for which it is refused.
pub fn steps(questions: &[Question]) -> Table {
    let library = shardscope_presets::library();
    let rows = questions.par_iter().map_init(Workspace::default, |workspace, question| {
        let answer = scenario(&library, question)
            .and_then(|scenario| search::once(&scenario, workspace).map(|evaluation| json(&scenario, &evaluation)));
        let cells = match answer {
            Ok(json) => {
                let figures = FIGURES.iter().map(|(_, paths)| cell(&json, paths));
                std::iter::once(String::new()).chain(figures).collect()
            }
            Err(problems) => {
                let fields = problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>().join(" ");
                std::iter::once(fields).chain(FIGURES.map(|_| String::new())).collect()
            }
        };
        (question.id(), cells)
    });
    let columns: Vec<&str> = std::iter::once("refused").chain(FIGURES.map(|(name, _)| name)).collect();
    Table::new(&columns, rows.collect())
}

/// The bottleneck and the elasticities of some of the scenarios.
pub fn elasticities(questions: &[Question]) -> Table {
    let library = shardscope_presets::library();
    let some: Vec<&Question> = questions.iter().step_by(ELASTIC).collect();
    let rows = some.par_iter().map_init(Workspace::default, |workspace, question| {
        let scenario = scenario(&library, question).ok()?;
        let json = json(&scenario, &search::full(&scenario, workspace).ok()?);
        let bottleneck = &json["bottleneck"];
        let elasticity = bottleneck["elasticity"].as_object().expect("an object");
        let all: Vec<String> = elasticity.iter().map(|(resource, value)| format!("{resource} {value}")).collect();
        Some((question.id(), vec![cell(bottleneck, &["resource", "host"]), all.join(" ")]))
    });
    Table::new(&["bottleneck", "elasticity"], rows.flatten().collect())
}

pub(super) fn scenario(library: &Library, question: &Question) -> Result<Scenario, Vec<Problem>> {
    let text = question.to_toml();
    let file = file::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    library.resolve(&file)
}

/// Exactly what `eval --format json` prints.
fn json(scenario: &Scenario, evaluation: &Evaluation) -> Value {
    serde_json::to_value(EvaluationReport::new(scenario, evaluation, None)).expect("a report is JSON")
}

/// The values under some paths, with spaces between them; what is absent is left out.
fn cell(json: &Value, paths: &[&str]) -> String {
    let mut found = Vec::new();
    for path in paths {
        collect(json, path, &mut found);
    }
    found.join(" ")
}

fn collect(json: &Value, path: &str, found: &mut Vec<String>) {
    let (step, rest) = path.split_once('.').unwrap_or((path, ""));
    let below: Vec<&Value> = match json {
        Value::Array(all) if step == "*" => all.iter().collect(),
        _ => json.get(step).into_iter().collect(),
    };
    for value in below {
        match value {
            _ if !rest.is_empty() => collect(value, rest, found),
            Value::String(text) => found.push(text.clone()),
            value => found.push(value.to_string()),
        }
    }
}
