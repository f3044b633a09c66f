//! The figures of an evaluation as plain data, in the names and units that scripts rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::figures::figure::Figure;
use crate::figures::table::{joined, known, whole};
use crate::figures::why::facts::FigureSubject;
use crate::figures::why::traffic::carried;
use shardscope_engine::cost;
use shardscope_engine::evaluate::{
    ErrorBand, Evaluation, HostDirection, Memory, MemoryParts, NearestLack, Resource, Summary, chance_of_fitting, lacks,
};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Amount, Bytes};

use super::caveats::caveats;
use super::layers;
use super::post_training;
use super::setbacks::setbacks;

/// The part of a memory that models beside the trained one take, and the engine's: absent where there are none.
const BESIDE: &str = "beside";
const ENGINE: &str = "engine";

/// The figures of one evaluation as files keep them: what is not finite is left out. Files of other versions have other
/// keys too; only those of `KEPT` are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures(Value);

/// The shown figures of a file, and where every version has them.
pub(super) const KEPT: [(Figure, &str); 3] = [
    (Figure::StepTime, "/step_time_s"),
    (Figure::ModelFlops, "/model_tflops_per_device"),
    (Figure::Peak, "/memory/peak_bytes"),
];

impl Figures {
    pub fn new(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        Self(known(record(scenario, evaluation)))
    }

    /// Whether the peak of the memory is within its capacity.
    pub fn fits(&self) -> Option<bool> {
        self.0.get("fits")?.as_bool()
    }

    /// One of those that are shown of a file.
    pub fn amount(&self, figure: Figure) -> Option<Amount> {
        let (_, place) = KEPT.iter().find(|(kept, _)| *kept == figure)?;
        Some(Amount::from_file(self.0.pointer(place)?.as_f64()?, figure.unit()))
    }
}

/// The figures of an evaluation, in the keys' units; what is not finite is `null`.
pub(super) fn record(scenario: &Scenario, evaluation: &Evaluation) -> Value {
    let Evaluation { summary, error_band: band, .. } = evaluation;
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let number = |figure: Figure| figure.amount(&subject).and_then(Amount::in_files);
    let copies =
        |way| json!({"bytes_per_device": bytes(Figure::Copied(way), &subject), "busy_s": number(Figure::Copying(way))});
    let traffic = scenario.cluster.levels.iter().enumerate().map(|(index, level)| {
        let bytes = bytes(Figure::Traffic(index), &subject);
        json!({"level": level.name, "bytes_per_device": bytes, "busy_s": number(Figure::Busy(index))})
    });
    let collectives = evaluation.details.collectives();
    let collectives = collectives.map(|(lane, forms)| json!({"carries": carried(lane), "forms": forms}));
    let (collectives, plan) = (collectives.collect::<Vec<_>>(), &scenario.plan);
    let figures = json!({
        "fits": summary.fits,
        "step_time_s": number(Figure::StepTime),
        "tokens_per_s_per_device": number(Figure::TokensPerSecond),
        "tokens_per_s": number(Figure::TotalTokens),
        "parameters": {"total": scenario.model.parameters(), "active": scenario.model.active_parameters(), "trained": cost::trained_parameters(scenario)},
        "batch": {
            "sequences": (scenario.sequences() * f64::from(plan.sequences_each())) as u64,
            "tokens": summary.tokens_per_step as u64,
            "micro_batch": plan.micro_batch,
            "accumulate": plan.accumulate,
            "data_ranks": summary.devices / (plan.tensor * plan.context * plan.pipeline),
        },
        "model_tflops_per_device": number(Figure::ModelFlops),
        "hardware_tflops_per_device": number(Figure::HardwareFlops),
        "mfu": number(Figure::Mfu),
        "hfu": number(Figure::Hfu),
        "error_band": band.map(|band| error_band(band, scenario)),
        "time": {
            "compute_s": number(Figure::Compute),
            "communication_s": number(Figure::Communication),
            "exposed_communication_s": number(Figure::Exposed),
            "bubble_s": number(Figure::Bubble),
            "optimizer_s": number(Figure::Optimizer),
            "other_s": number(Figure::Other),
            "slowed_s": number(Figure::Slowed),
            "dispatch_exposed_s": summary.time.dispatch.get(),
        },
        "phases": phases(&subject),
        "memory": memory(scenario, summary, &evaluation.stages),
        "traffic": traffic.collect::<Vec<_>>(),
        "bottleneck": bottleneck(scenario, evaluation),
        "training": scenario.plan.length().map(|tokens| training(tokens, &subject)),
        "caveats": caveats(scenario, summary),
        "unknown": &*scenario.unknown,
    });
    // Absent rather than empty where nothing is sent or copied.
    let forms = if collectives.is_empty() { json!({}) } else { json!({"collectives": collectives}) };
    let host_link = if summary.host.any() {
        json!({"host_link": {"to_host": copies(HostDirection::Out), "from_host": copies(HostDirection::In)}})
    } else {
        json!({})
    };
    let setbacks = setbacks(scenario, evaluation);
    let setbacks = if setbacks.is_empty() { json!({}) } else { json!({"setbacks": setbacks}) };
    let kinds = layers::json(scenario).map_or(json!({}), |kinds| json!({"layers": kinds}));
    let post = post_training::json(scenario, evaluation).map_or(json!({}), |post| json!({"post_training": post}));
    joined(joined(joined(joined(joined(figures, forms), host_link), setbacks), kinds), post)
}

/// The phases of a step; forwards of models beside are absent where there are none.
fn phases(subject: &FigureSubject) -> Value {
    let number = |figure: Figure| figure.amount(subject).and_then(Amount::in_files);
    let own = json!({
        "forward_s": number(Figure::Forward),
        "backward_s": number(Figure::Backward),
        "update_s": number(Figure::Update),
    });
    let beside = number(Figure::Beside).filter(|_| subject.scenario.plan.passes_beside());
    joined(own, beside.map_or(json!({}), |beside| json!({"beside_s": beside})))
}

/// The 80 % interval of the step time, and what the runs lack that it rests on.
fn error_band(band: ErrorBand, scenario: &Scenario) -> Value {
    let lacks: Vec<String> = lacks(scenario).iter().map(NearestLack::to_string).collect();
    json!({"low": band.low.get(), "high": band.high.get(), "rows": band.rows, "own": band.own, "lacks": lacks})
}

fn training(tokens: f64, subject: &FigureSubject) -> Value {
    let scenario = subject.scenario;
    let number = |figure: Figure| figure.amount(subject).and_then(Amount::in_files);
    let joules = |figure: Figure| figure.amount(subject).map(|energy| energy.value);
    // Absent rather than empty where the cluster states no power, as it has always been.
    let energy = number(Figure::Energy).map_or(json!({}), |energy| json!({"energy_kwh": energy}));
    let training = json!({
        "tokens": tokens,
        "days": number(Figure::Days),
        "device_hours": number(Figure::DeviceHours),
        "cost": number(Figure::Cost),
        "currency": scenario.price().and_then(|price| Some(price.currency?.to_string())),
        "energy_j": joules(Figure::Energy),
        "goodput": number(Figure::Goodput),
        "days_with_failures": number(Figure::DaysWithFailures),
        "cost_with_failures": number(Figure::CostWithFailures),
        "energy_with_failures_j": joules(Figure::EnergyWithFailures),
        "checkpoint": {
            "bytes": bytes(Figure::CheckpointBytes, subject),
            "write_s": number(Figure::CheckpointWrite),
            "interval_s": number(Figure::CheckpointInterval),
        },
    });
    joined(training, energy)
}

fn bottleneck(scenario: &Scenario, evaluation: &Evaluation) -> Value {
    let resource = evaluation.bottleneck();
    let elasticity = evaluation.elasticity.iter().map(|one| (one.property.key(scenario), one.value));
    let elasticity: BTreeMap<String, f64> = elasticity.collect();
    let name = resource.name(scenario);
    match resource {
        Resource::HostLink => json!({"resource": name, "host": "link", "elasticity": elasticity}),
        Resource::Host => json!({"resource": name, "host": "launches", "elasticity": elasticity}),
        _ => json!({"resource": name, "elasticity": elasticity}),
    }
}

/// Memory of the fullest device, in whole bytes, and of each pipeline rank.
pub(super) fn memory(scenario: &Scenario, summary: &Summary, stages: &[Memory]) -> Value {
    let fullest = &summary.memory;
    let stage = |(stage, memory): (usize, &Memory)| json!({"stage": stage, "peak_bytes": whole(memory.peak), "parts": parts(memory)});
    let (capacity, peak) = (whole(fullest.capacity), whole(fullest.peak));
    let mut memory = json!({
        "capacity_bytes": capacity,
        "peak_bytes": peak,
        "spare_bytes": capacity.cast_signed() - peak.cast_signed(),
        "p_fits": chance_of_fitting(scenario, fullest),
        "parts": parts(fullest),
        "stages": stages.iter().enumerate().map(stage).collect::<Vec<_>>(),
    });
    let host = &summary.host_memory;
    let in_files = |parts: &[(&str, Bytes)]| -> Map<String, Value> {
        let kept = parts.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
        kept.map(|(name, bytes)| ((*name).to_owned(), whole(*bytes).into())).collect()
    };
    if host.total() > Bytes::ZERO {
        let capacity = scenario.cluster.host.as_ref().map(|host| whole(host.memory));
        let parts = in_files(&host.named());
        memory["host"] = json!({"node_bytes": whole(host.total()), "capacity_bytes": capacity, "parts": parts});
    }
    if let Some(drives) = scenario.cluster.drives().filter(|_| scenario.plan.offload.on_drives()) {
        let (held, capacity) = (whole(host.drives.total()), whole(drives.capacity));
        let parts = in_files(&host.drives.named());
        memory["drives"] = json!({"node_bytes": held, "capacity_bytes": capacity, "parts": parts});
    }
    if scenario.plan.paged_optimizer {
        let [moved, left] = [fullest.moved_pages, fullest.pages].map(whole);
        memory["pages"] = json!({"moved_bytes": moved, "left_bytes": left});
    }
    if fullest.experts.total() > Bytes::ZERO {
        let experts = fullest.experts.named().into_iter().filter(|(name, _)| *name != BESIDE);
        memory["experts"] =
            Value::Object(experts.map(|(name, bytes)| (name.to_owned(), whole(bytes).into())).collect());
    }
    memory
}

/// Each part of the peak rounded; what rounding leaves of it goes to the largest part.
fn parts(memory: &Memory) -> Map<String, Value> {
    // Scripts add the parts up: they have to sum to the peak to the byte, as the parts before rounding do.
    let mut parts = MemoryParts::named(&memory.parts).map(|(name, part)| (name.to_owned(), whole(part)));
    let left = whole(memory.peak).cast_signed() - parts.iter().map(|(_, part)| part).sum::<u64>().cast_signed();
    if let Some((_, largest)) = parts.iter_mut().max_by_key(|(_, part)| *part) {
        *largest = largest.saturating_add_signed(left);
    }
    let shown = parts.into_iter().filter(|(name, part)| ![BESIDE, ENGINE].contains(&name.as_str()) || *part > 0);
    shown.map(|(name, part)| (name, json!(part))).collect()
}

fn bytes(figure: Figure, subject: &FigureSubject) -> Option<u64> {
    figure.amount(subject).map(|amount| whole(Bytes::new(amount.value)))
}
