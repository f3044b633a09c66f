//! The figures of an evaluation as plain data, in the names and units that scripts rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evaluate::{self, ErrorBand, Evaluation, HostDirection, Memory, MemoryParts, Resource, Stream, Summary};
use crate::figures::amount::Amount;
use crate::figures::figure::Figure;
use crate::figures::why::facts::FigureSubject;
use crate::figures::why::traffic::carried;
use crate::hardware::Level;
use crate::scenario::Scenario;
use crate::units::{Bytes, Seconds};

/// The figures of one evaluation; what is not finite is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Whether the peak of the memory is within its capacity.
    pub fits: bool,
    /// Time of one optimizer step, in seconds.
    pub step_time_s: Option<f64>,
    /// Tokens per second and device.
    pub tokens_per_s_per_device: Option<f64>,
    /// Tokens per second of all devices together; empty in what an older version wrote, as is what follows with a default.
    #[serde(default)]
    pub tokens_per_s: Option<f64>,
    /// How large the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<ParametersRecord>,
    /// What a step takes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchRecord>,
    /// Model flop per second and device, in 1e12.
    pub model_tflops_per_device: Option<f64>,
    /// Hardware flop per second and device, in 1e12.
    pub hardware_tflops_per_device: Option<f64>,
    /// Model flop utilisation.
    pub mfu: Option<f64>,
    /// Hardware flop utilisation.
    pub hfu: Option<f64>,
    /// 80 % band of the step time.
    pub error_band: BandRecord,
    /// Where the time goes.
    pub time: TimeRecord,
    /// The same step by its phases; empty in what an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhasesRecord>,
    /// Where the memory goes.
    pub memory: MemoryRecord,
    /// What each level of the cluster carries, innermost first.
    pub traffic: Vec<TrafficRecord>,
    /// The forms and protocols that its collectives take; empty in what an older version wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveRecord>,
    /// What crosses the link to the host's memory, where anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_link: Option<HostLink>,
    /// What limits the step.
    pub bottleneck: BottleneckRecord,
    /// The whole training, where its length is given.
    #[serde(default)]
    pub training: Option<TrainingRecord>,
}

/// What the collectives of one kind are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveRecord {
    /// What they carry.
    pub carries: String,
    /// The forms and protocols that they take.
    pub forms: Vec<String>,
}

impl CollectiveRecord {
    fn new((lane, forms): (Stream, Vec<&str>)) -> Self {
        Self { carries: carried(lane).to_owned(), forms: forms.into_iter().map(str::to_owned).collect() }
    }
}

/// Trained parameters of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParametersRecord {
    /// All of them.
    pub total: u64,
    /// Those that work on a token.
    pub active: u64,
}

/// What all devices together take in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRecord {
    pub sequences: u64,
    pub tokens: u64,
    /// Sequences of a data rank's micro-batch.
    pub micro_batch: u32,
    /// Micro-batches of a step.
    pub accumulate: u32,
    pub data_ranks: u32,
}

/// 80 % band of the step time, in seconds; empty with 0 rows where nothing was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandRecord {
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Measured rows behind it.
    pub rows: u32,
}

/// Parts of the step, in seconds; see [`crate::evaluate::TimeParts`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "keys of JSON end in their unit")]
pub struct TimeRecord {
    pub compute_s: Option<f64>,
    pub communication_s: Option<f64>,
    pub exposed_communication_s: Option<f64>,
    pub bubble_s: Option<f64>,
    pub optimizer_s: Option<f64>,
    pub other_s: Option<f64>,
    /// Of compute, what transfers beside it cost; empty in what an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed_s: Option<f64>,
}

/// Phases of the step, in seconds; see [`crate::evaluate::Phases`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "keys of JSON end in their unit")]
pub struct PhasesRecord {
    pub forward_s: Option<f64>,
    pub backward_s: Option<f64>,
    pub update_s: Option<f64>,
}

/// Memory of the fullest device, in whole bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryRecord {
    /// What the device has.
    pub capacity_bytes: u64,
    /// The peak: the sum of the parts.
    pub peak_bytes: u64,
    /// What is left of the capacity; below zero where the peak does not fit.
    #[serde(default)]
    pub spare_bytes: i64,
    /// What it is made of.
    pub parts: PartsRecord,
    /// Each pipeline rank.
    pub stages: Vec<StageRecord>,
}

/// Memory of one pipeline rank, in whole bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageRecord {
    /// The rank, from 0.
    pub stage: u32,
    /// The peak: the sum of the parts.
    pub peak_bytes: u64,
    /// What it is made of.
    pub parts: PartsRecord,
}

/// Memory by what it holds, in whole bytes; see [`crate::evaluate::MemoryParts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartsRecord {
    pub weights: u64,
    pub gradients: u64,
    pub optimizer: u64,
    pub secondary_weights: u64,
    pub activations: u64,
    pub gathered: u64,
    pub communication: u64,
    pub reserved: u64,
}

/// What one level of the cluster carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficRecord {
    /// The level's name.
    pub level: String,
    /// Bytes that one device sends into it.
    pub bytes_per_device: u64,
    /// Seconds during which it is busy.
    pub busy_s: Option<f64>,
}

/// What crosses the link to the host's memory, each way with its whole bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLink {
    /// What goes there.
    pub to_host: CopiesRecord,
    /// What comes from there.
    pub from_host: CopiesRecord,
}

/// What one device copies one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopiesRecord {
    /// Bytes.
    pub bytes_per_device: u64,
    /// Seconds during which that way is busy.
    pub busy_s: Option<f64>,
}

/// What limits the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BottleneckRecord {
    /// `compute`, `memory`, a level's name, `bubble` or `host`.
    pub resource: String,
    /// What of the host: its `link`, or the `launches` of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The elasticity of throughput to each resource.
    pub elasticity: BTreeMap<String, Option<f64>>,
}

/// A training of given length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingRecord {
    /// Its length in tokens.
    pub tokens: f64,
    /// Days on all devices.
    pub days: Option<f64>,
    /// Hours of all devices together.
    pub device_hours: Option<f64>,
    /// Money, where the cluster has a price.
    #[serde(default)]
    pub cost: Option<f64>,
    /// Of which currency, where the price names one.
    #[serde(default)]
    pub currency: Option<String>,
    /// Energy, where the cluster states its power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_kwh: Option<f64>,
    /// The same in joules.
    #[serde(default)]
    pub energy_j: Option<f64>,
    /// Share of the time that is made use of, where the cluster says what goes wrong.
    #[serde(default)]
    pub goodput: Option<f64>,
    /// Days with failures.
    #[serde(default)]
    pub days_with_failures: Option<f64>,
    /// Money with failures.
    #[serde(default)]
    pub cost_with_failures: Option<f64>,
    /// Energy with failures, in joules.
    #[serde(default)]
    pub energy_with_failures_j: Option<f64>,
    /// What is saved to go on from.
    #[serde(default)]
    pub checkpoint: Option<CheckpointRecord>,
}

/// A checkpoint of the training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRecord {
    pub bytes: u64,
    /// For how long it holds the job up.
    pub write_s: Option<f64>,
    /// Work between two of them.
    pub interval_s: Option<f64>,
}

impl Figures {
    /// Those of an evaluation, in the keys' units.
    pub fn new(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        let Evaluation { summary, error_band: band, .. } = evaluation;
        let subject = FigureSubject::evaluated(scenario, evaluation);
        let number = |figure: Figure| figure.amount(&subject).and_then(Amount::in_files);
        let end = |end: fn(&ErrorBand) -> Seconds| band.as_ref().and_then(|band| finite(end(band).get()));
        let [forward_s, backward_s, update_s] =
            [summary.phases.forward, summary.phases.backward, summary.phases.update].map(|time| finite(time.get()));
        let copies = |way| CopiesRecord {
            bytes_per_device: whole(summary.host.way(way).bytes),
            busy_s: number(Figure::Copying(way)),
        };
        let host_link = || HostLink { to_host: copies(HostDirection::Out), from_host: copies(HostDirection::In) };
        let traffic = |(index, level): (usize, &Level)| TrafficRecord {
            level: level.name.clone(),
            bytes_per_device: whole(summary.traffic[index].bytes_per_device),
            busy_s: number(Figure::Busy(index)),
        };
        let joules = |figure: Figure| figure.amount(&subject).and_then(|energy| finite(energy.value));
        let training = |tokens| TrainingRecord {
            tokens,
            days: number(Figure::Days),
            device_hours: number(Figure::DeviceHours),
            cost: number(Figure::Cost),
            currency: scenario.cluster.price_per_device_hour.and_then(|price| Some(price.currency?.to_string())),
            energy_kwh: number(Figure::Energy),
            energy_j: joules(Figure::Energy),
            goodput: number(Figure::Goodput),
            days_with_failures: number(Figure::DaysWithFailures),
            cost_with_failures: number(Figure::CostWithFailures),
            energy_with_failures_j: joules(Figure::EnergyWithFailures),
            checkpoint: Some(CheckpointRecord {
                bytes: whole(evaluate::checkpoint(scenario)),
                write_s: number(Figure::CheckpointWrite),
                interval_s: number(Figure::CheckpointInterval),
            }),
        };
        Self {
            fits: summary.fits,
            step_time_s: number(Figure::StepTime),
            tokens_per_s_per_device: number(Figure::TokensPerSecond),
            tokens_per_s: number(Figure::TotalTokens),
            parameters: Some(ParametersRecord {
                total: scenario.model.parameters(),
                active: scenario.model.active_parameters(),
            }),
            batch: Some(BatchRecord::new(scenario, summary)),
            model_tflops_per_device: number(Figure::ModelFlops),
            hardware_tflops_per_device: number(Figure::HardwareFlops),
            mfu: number(Figure::Mfu),
            hfu: number(Figure::Hfu),
            error_band: BandRecord {
                low: end(|band| band.low),
                high: end(|band| band.high),
                rows: band.as_ref().map_or(0, |band| band.rows),
            },
            time: TimeRecord {
                compute_s: number(Figure::Compute),
                communication_s: number(Figure::Communication),
                exposed_communication_s: number(Figure::Exposed),
                bubble_s: number(Figure::Bubble),
                optimizer_s: number(Figure::Optimizer),
                other_s: number(Figure::Other),
                slowed_s: number(Figure::Slowed),
            },
            phases: Some(PhasesRecord { forward_s, backward_s, update_s }),
            memory: MemoryRecord::new(&summary.memory, &evaluation.stages),
            traffic: scenario.cluster.levels.iter().enumerate().map(traffic).collect(),
            collectives: evaluation.details.collectives().map(CollectiveRecord::new).collect(),
            host_link: summary.host.any().then(host_link),
            bottleneck: BottleneckRecord::new(scenario, evaluation),
            training: scenario.plan.tokens.map(training),
        }
    }
}

impl BatchRecord {
    pub(super) fn new(scenario: &Scenario, summary: &Summary) -> Self {
        let plan = &scenario.plan;
        Self {
            sequences: scenario.sequences() as u64,
            tokens: summary.tokens_per_step as u64,
            micro_batch: plan.micro_batch,
            accumulate: plan.accumulate,
            data_ranks: summary.devices / (plan.tensor * plan.context * plan.pipeline),
        }
    }
}

impl BottleneckRecord {
    fn new(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        let resource = evaluation.bottleneck();
        let host = match resource {
            Resource::HostLink => Some("link"),
            Resource::Host => Some("launches"),
            _ => None,
        };
        let elasticity = evaluation.elasticity.iter().map(|one| (one.property.key(scenario), finite(one.value)));
        Self {
            resource: resource.name(scenario).to_owned(),
            host: host.map(str::to_owned),
            elasticity: elasticity.collect(),
        }
    }
}

impl MemoryRecord {
    pub(super) fn new(memory: &Memory, stages: &[Memory]) -> Self {
        let rounded = |memory: &Memory| {
            let peak_bytes = whole(memory.peak);
            (peak_bytes, PartsRecord::rounded(&memory.parts, peak_bytes))
        };
        let stage = |(stage, memory): (u32, &Memory)| {
            let (peak_bytes, parts) = rounded(memory);
            StageRecord { stage, peak_bytes, parts }
        };
        let (peak_bytes, parts) = rounded(memory);
        let stages = (0..).zip(stages).map(stage).collect();
        let capacity_bytes = whole(memory.capacity);
        let spare_bytes = capacity_bytes.cast_signed() - peak_bytes.cast_signed();
        Self { capacity_bytes, peak_bytes, spare_bytes, parts, stages }
    }
}

impl PartsRecord {
    /// Each part rounded; what rounding leaves of the peak goes to the largest part.
    fn rounded(parts: &MemoryParts, peak: u64) -> Self {
        // Scripts add the parts up: they have to sum to the peak to the byte, as the parts before rounding do.
        let mut bytes = parts.named().map(|(_, part)| whole(part));
        let left = peak.cast_signed() - bytes.iter().sum::<u64>().cast_signed();
        if let Some(largest) = bytes.iter_mut().max() {
            *largest = largest.saturating_add_signed(left);
        }
        let [weights, gradients, optimizer, secondary_weights, activations, gathered, communication, reserved] = bytes;
        Self { weights, gradients, optimizer, secondary_weights, activations, gathered, communication, reserved }
    }
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A size in whole bytes, up to 2^53: the largest integer up to which numbers are exact.
fn whole(bytes: Bytes) -> u64 {
    bytes.get().clamp(0.0, (1_u64 << 53) as f64).round() as u64
}
