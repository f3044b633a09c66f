//! Text, JSON, explanations and snapshots tell one number for a figure, whatever the scenario.

use std::collections::BTreeMap;

use serde_json::Value;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::search;
use shardscope_engine::testing::random::{self, Draws};
use shardscope_engine::units::Amount;
use shardscope_report::figures::{EvaluationReport, Figure, FigureSubject, PHASES, explain, text};
use shardscope_report::snapshot::Snapshot;

/// Figures, and where they stand in JSON.
const PLACES: [(Figure, &str); 25] = [
    (Figure::StepTime, "/step_time_s"),
    (Figure::TokensPerSecond, "/tokens_per_s_per_device"),
    (Figure::TotalTokens, "/tokens_per_s"),
    (Figure::ModelFlops, "/model_tflops_per_device"),
    (Figure::HardwareFlops, "/hardware_tflops_per_device"),
    (Figure::Mfu, "/mfu"),
    (Figure::Hfu, "/hfu"),
    (Figure::Compute, "/time/compute_s"),
    (Figure::Communication, "/time/communication_s"),
    (Figure::Exposed, "/time/exposed_communication_s"),
    (Figure::Bubble, "/time/bubble_s"),
    (Figure::Optimizer, "/time/optimizer_s"),
    (Figure::Other, "/time/other_s"),
    (Figure::Forward, "/phases/forward_s"),
    (Figure::Backward, "/phases/backward_s"),
    (Figure::Update, "/phases/update_s"),
    (Figure::Peak, "/memory/peak_bytes"),
    (Figure::Weights, "/memory/parts/weights"),
    (Figure::Gradients, "/memory/parts/gradients"),
    (Figure::OptimizerState, "/memory/parts/optimizer"),
    (Figure::SecondaryWeights, "/memory/parts/secondary_weights"),
    (Figure::Activations, "/memory/parts/activations"),
    (Figure::Gathered, "/memory/parts/gathered"),
    (Figure::Buffers, "/memory/parts/communication"),
    (Figure::Reserved, "/memory/parts/reserved"),
];

/// Figures that only the simulation knows, which an explanation can but repeat.
fn is_only_counted(figure: Figure) -> bool {
    figure == Figure::Buffers || PHASES.contains(&figure)
}

/// What stands with a figure that shares the line of another one.
fn beside(figure: Figure) -> Option<&'static str> {
    match figure {
        Figure::TokensPerSecond => Some("per device"),
        Figure::Mfu => Some("MFU"),
        Figure::Hfu => Some("HFU"),
        _ => None,
    }
}

#[test]
fn text_json_explanation_and_snapshot_tell_one_number() {
    let library = shardscope_presets::library();
    let (mut workspace, mut told, mut apart) = (Workspace::default(), 0, Vec::new());
    let mut unexplained: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..250 {
        let scenario = random::of_presets(&library, &mut Draws::seeded(seed));
        let Ok(evaluation) = search::once(&scenario, &mut workspace) else { continue };
        let json = serde_json::to_value(EvaluationReport::new(&scenario, &evaluation, None)).expect("JSON");
        let text = text(&scenario, &evaluation, None);
        let snapshot = Snapshot::new(&scenario, &evaluation).to_toml().expect("TOML");
        let stored = match Snapshot::parse(&snapshot) {
            Ok(snapshot) => snapshot.evaluation,
            Err(error) => {
                apart.push(format!("seed {seed}: {error}"));
                continue;
            }
        };
        let stored = serde_json::to_value(stored).expect("JSON");
        let subject = FigureSubject::evaluated(&scenario, &evaluation);
        for (figure, place) in PLACES {
            let mut differs = |what: String| apart.push(format!("seed {seed}: {place} {what}"));
            let Some(number) = json.pointer(place).and_then(Value::as_f64) else {
                differs("is not in JSON".to_owned());
                continue;
            };
            told += 1;
            let amount = Amount::from_file(number, figure.unit());
            // JSON has whole bytes, whose parts sum to the peak; the simulator's clock has whole picoseconds, and rounds each of
            // some hundred waits by half of one.
            let near = |value: f64| {
                let slack = if place.starts_with("/memory") { 8.0 } else { 1e-10 };
                (value - amount.value).abs() <= 1e-9 * amount.value.abs() + slack
            };
            let Some(explanation) = explain(figure, &scenario, &evaluation) else {
                differs("has no explanation".to_owned());
                continue;
            };
            let (stated, formula) = (explanation.formula.value(), explanation.formula.to_string());
            if !near(stated) {
                differs(format!("is {}, explained as {stated}", amount.value));
            }
            if formula.ends_with(", counted") && !is_only_counted(figure) {
                *unexplained.entry(place).or_default() += 1;
            }
            let name = beside(figure).map_or_else(|| figure.name(&subject).expect("a name"), str::to_owned);
            let shown = figure.amount(&subject).expect("a figure");
            if !near(shown.value) {
                differs(format!("is {}, shown as {shown}", amount.value));
            }
            // Without a measured run like it a step time, and what follows from it, has two digits there.
            let rough = evaluation.error_band.is_none().then(|| shown.in_rough_words());
            let words: Vec<String> = [shown.in_words(), shown.to_string()].into_iter().chain(rough).collect();
            let printed = |line: &str| line.contains(&name) && words.iter().any(|words| line.contains(words));
            if shown.value > 0.0 && !text.lines().any(printed) {
                differs(format!("{} is not in the text", words[0]));
            }
            if stored.pointer(place).and_then(Value::as_f64) != Some(number) {
                differs("is another number in the snapshot".to_owned());
            }
        }
    }
    assert!(apart.is_empty(), "{} of {told}:\n{}", apart.len(), apart[..apart.len().min(40)].join("\n"));
    assert!(told > 4000, "{told}");
    // Formulas that would not come to their figure, in whose place stands what the simulation counted.
    let count: usize = unexplained.values().sum();
    assert!(count * 100 < told, "{count} of {told} are repeated instead of explained: {unexplained:?}");
}
