//! The figures of an evaluation as plain data, in the names and units that scripts rely on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evaluate::{self, Evaluation, Expense, HostTraffic, MemoryParts, Resource, Summary, TimeParts};
use crate::scenario::Scenario;
use crate::units;

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
    /// Model flop per second and device, in 1e12.
    pub model_tflops_per_device: Option<f64>,
    /// Hardware flop per second and device, in 1e12.
    pub hardware_tflops_per_device: Option<f64>,
    /// Model flop utilisation.
    pub mfu: Option<f64>,
    /// Hardware flop utilisation.
    pub hfu: Option<f64>,
    /// 80 % band of the step time.
    pub error_band: Band,
    /// Where the time goes.
    pub time: Time,
    /// The same step by its phases; empty in what an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Where the memory goes.
    pub memory: Memory,
    /// What each level of the cluster carries, innermost first.
    pub traffic: Vec<Traffic>,
    /// What crosses the link to the host's memory, where anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_link: Option<HostLink>,
    /// What limits the step.
    pub bottleneck: Bottleneck,
    /// The whole training, where its length is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
}

/// 80 % band of the step time, in seconds; empty with 0 rows where nothing was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Measured rows behind it.
    pub rows: u32,
}

/// Parts of the step, in seconds; see [`TimeParts`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of TimeParts")]
pub struct Time {
    pub compute_s: Option<f64>,
    pub communication_s: Option<f64>,
    pub exposed_communication_s: Option<f64>,
    pub bubble_s: Option<f64>,
    pub optimizer_s: Option<f64>,
    pub other_s: Option<f64>,
}

/// Phases of the step, in seconds; see [`evaluate::Phases`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of evaluate::Phases")]
pub struct Phases {
    pub forward_s: Option<f64>,
    pub backward_s: Option<f64>,
    pub update_s: Option<f64>,
}

/// Memory of the fullest device, in whole bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What the device has.
    pub capacity_bytes: u64,
    /// The peak: the sum of the parts.
    pub peak_bytes: u64,
    /// What it is made of.
    pub parts: Bytes,
    /// Each pipeline rank.
    pub stages: Vec<Stage>,
}

/// Memory of one pipeline rank, in whole bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The rank, from 0.
    pub stage: u32,
    /// The peak: the sum of the parts.
    pub peak_bytes: u64,
    /// What it is made of.
    pub parts: Bytes,
}

/// Memory by what it holds, in whole bytes; see [`MemoryParts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of MemoryParts")]
pub struct Bytes {
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
pub struct Traffic {
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
    pub to_host: Copies,
    /// What comes from there.
    pub from_host: Copies,
}

/// What one device copies one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Bytes.
    pub bytes_per_device: u64,
    /// Seconds during which that way is busy.
    pub busy_s: Option<f64>,
}

/// What limits the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// `compute`, `memory`, a level's name, `bubble` or `host`.
    pub resource: String,
    /// What of the host: its `link`, or the `launches` of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How much throughput follows each resource.
    pub elasticity: BTreeMap<String, Option<f64>>,
}

/// A training of given length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Its length in tokens.
    pub tokens: f64,
    /// Days on all devices.
    pub days: Option<f64>,
    /// Hours of all devices together.
    pub device_hours: Option<f64>,
    /// Money, where the cluster has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Of which currency, where the price names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Energy, where the cluster states its power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_kwh: Option<f64>,
}

impl Figures {
    /// Of an evaluation.
    pub fn of(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        let summary = &evaluation.summary;
        let band = evaluation.error_band;
        Self {
            fits: summary.fits,
            step_time_s: finite(summary.step_time.get()),
            tokens_per_s_per_device: finite(summary.tokens_per_s_per_device),
            model_tflops_per_device: finite(summary.model_flops.get() / 1e12),
            hardware_tflops_per_device: finite(summary.hardware_flops.get() / 1e12),
            mfu: finite(summary.mfu),
            hfu: finite(summary.hfu),
            error_band: Band {
                low: band.and_then(|band| finite(band.low.get())),
                high: band.and_then(|band| finite(band.high.get())),
                rows: band.map_or(0, |band| band.rows),
            },
            time: Time::of(&summary.time),
            phases: Some(Phases::of(&summary.phases)),
            memory: Memory::of(&summary.memory, &evaluation.stages),
            traffic: traffic(scenario, summary),
            host_link: HostLink::of(&summary.host),
            bottleneck: Bottleneck::of(scenario, evaluation),
            training: scenario.plan.tokens.map(|tokens| Training::of(tokens, scenario, summary)),
        }
    }
}

impl Bottleneck {
    fn of(scenario: &Scenario, evaluation: &Evaluation) -> Self {
        let resource = evaluation.bottleneck();
        let host = match resource {
            Resource::HostLink => Some("link"),
            Resource::Host => Some("launches"),
            _ => None,
        };
        Self {
            resource: resource.name(scenario).to_owned(),
            host: host.map(str::to_owned),
            elasticity: evaluation
                .elasticity
                .iter()
                .map(|one| (one.property.key(scenario), finite(one.value)))
                .collect(),
        }
    }
}

impl Time {
    fn of(parts: &TimeParts) -> Self {
        Self {
            compute_s: finite(parts.compute.get()),
            communication_s: finite(parts.communication.get()),
            exposed_communication_s: finite(parts.exposed.get()),
            bubble_s: finite(parts.bubble.get()),
            optimizer_s: finite(parts.optimizer.get()),
            other_s: finite(parts.other.get()),
        }
    }
}

impl Phases {
    fn of(phases: &evaluate::Phases) -> Self {
        Self {
            forward_s: finite(phases.forward.get()),
            backward_s: finite(phases.backward.get()),
            update_s: finite(phases.update.get()),
        }
    }
}

impl Memory {
    pub(super) fn of(memory: &evaluate::Memory, stages: &[evaluate::Memory]) -> Self {
        let rounded = |memory: &evaluate::Memory| {
            let peak_bytes = whole(memory.peak);
            (peak_bytes, Bytes::of(&memory.parts, peak_bytes))
        };
        let stage = |(stage, memory): (u32, &evaluate::Memory)| {
            let (peak_bytes, parts) = rounded(memory);
            Stage { stage, peak_bytes, parts }
        };
        let (peak_bytes, parts) = rounded(memory);
        let stages = (0..).zip(stages).map(stage).collect();
        Self { capacity_bytes: whole(memory.capacity), peak_bytes, parts, stages }
    }
}

impl Bytes {
    /// Each part rounded; what rounding leaves of the peak goes to the largest part.
    fn of(parts: &MemoryParts, peak: u64) -> Self {
        let mut bytes = parts.named().map(|(_, part)| whole(part));
        let left = peak.cast_signed() - bytes.iter().sum::<u64>().cast_signed();
        if let Some(largest) = bytes.iter_mut().max() {
            *largest = largest.saturating_add_signed(left);
        }
        let [weights, gradients, optimizer, secondary_weights, activations, gathered, communication, reserved] = bytes;
        Self { weights, gradients, optimizer, secondary_weights, activations, gathered, communication, reserved }
    }
}

impl Training {
    fn of(tokens: f64, scenario: &Scenario, summary: &Summary) -> Self {
        let Expense { time, device_time, cost, energy } = Expense::new(tokens, summary, &scenario.cluster);
        Self {
            tokens,
            days: finite(time.days()),
            device_hours: finite(device_time.hours()),
            cost: cost.and_then(|cost| finite(cost.amount)),
            currency: cost.and_then(|cost| cost.currency).map(|currency| currency.to_string()),
            energy_kwh: energy.and_then(|energy| finite(energy.kwh())),
        }
    }
}

impl HostLink {
    /// `None` where nothing crosses it.
    fn of(host: &HostTraffic) -> Option<Self> {
        let copies = |copies: evaluate::Copies| Copies {
            bytes_per_device: whole(copies.bytes),
            busy_s: finite(copies.busy.get()),
        };
        host.any().then(|| Self { to_host: copies(host.to), from_host: copies(host.from) })
    }
}

fn traffic(scenario: &Scenario, summary: &Summary) -> Vec<Traffic> {
    let levels = scenario.cluster.levels.iter().zip(&summary.traffic);
    levels
        .map(|(level, traffic)| Traffic {
            level: level.name.clone(),
            bytes_per_device: whole(traffic.bytes_per_device),
            busy_s: finite(traffic.busy.get()),
        })
        .collect()
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A size in whole bytes, up to 2^53: the largest integer up to which numbers are exact.
fn whole(bytes: units::Bytes) -> u64 {
    bytes.get().clamp(0.0, (1_u64 << 53) as f64).round() as u64
}
