//! The entries of a calibration that a scenario's stack and device name. Not for the costs that follow.

use std::collections::BTreeMap;

use crate::plan::{Compile, Format, LossFormat, LossKind};
use crate::scenario::Scenario;
use crate::stack::{Allocator, Calibration, Efficiency, Runtime, Software};
use crate::units::{Bytes, Seconds, Share};

/// The entries of a calibration that a scenario depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated<'a> {
    /// Efficiency of the software on this device.
    pub efficiency: &'a Efficiency,
    /// Costs of every program.
    pub software: &'a Software,
    /// Factor on the rates of its stack's kernels.
    pub stack: Share,
    /// Costs of this program.
    pub runtime: &'a Runtime,
    /// Traffic of element-wise operators, in multiples of passing each intermediate once.
    pub element_wise: f64,
    /// Factor of the kernel library on matrix products of 16 bits.
    pub kernels: f64,
    /// Bytes moved per logit by the loss, forward and backward.
    pub loss: Bytes,
    /// Bytes held per logit at the worst moment of the loss.
    pub logits_held: Bytes,
}

/// Used where a calibration has neither the architecture nor a default; checks refuse such a file.
const NO_EFFICIENCY: &Efficiency = &Efficiency::IDEAL;

/// An empty map for a name of a runtime.
const NO_RUNTIME: &Runtime = &Runtime::IDEAL;

/// Under which names a scenario's entries stand in a calibration; that of its device is the architecture's.
struct EntryNames<'a> {
    element_wise: &'a str,
    kernels: Option<&'a str>,
    loss: &'a str,
    runtime: &'a str,
}

/// The entry of a loss of a kind and a format, beside those that stacks name: PyTorch's operators, Megatron-LM's, and one
/// kernel.
fn loss_entry(kind: LossKind, format: Option<LossFormat>) -> &'static str {
    match (kind, format) {
        (LossKind::Whole | LossKind::Stack | LossKind::Chunked, Some(LossFormat::Fp32)) => "torch-fp32",
        (LossKind::Whole | LossKind::Stack | LossKind::Chunked, Some(LossFormat::Bf16)) => "torch-16bit",
        (LossKind::Whole | LossKind::Stack | LossKind::Chunked, None) => "torch",
        (LossKind::VocabParallel, _) => "vocab-parallel",
        (LossKind::Fused, _) => "fused",
    }
}

impl<'a> EntryNames<'a> {
    fn new(scenario: &'a Scenario, calibration: &Calibration) -> Self {
        let stack = &scenario.stack;
        let fp8 = stack.element_wise_fp8.as_ref().filter(|_| scenario.plan.precision.is_low());
        let gated = stack.element_wise_gated.as_ref().filter(|_| scenario.model.gated);
        let compiled = stack.element_wise_compiled.as_ref().filter(|_| scenario.is_compiled());
        let whole = stack.loss_compiled.as_ref().filter(|_| scenario.plan.compile == Compile::On);
        let divided = stack.loss_divided.as_ref().filter(|_| scenario.plan.tensor > 1);
        let (kind, format) = (scenario.loss(), scenario.plan.loss_format);
        // A calibration that knows no other loss than its stacks' has that of the stack.
        let is_known =
            |name: &&str| calibration.loss.contains_key(*name) && calibration.logits_held.contains_key(*name);
        let is_own = kind == scenario.stack_loss() && format.is_none();
        let other = Some(loss_entry(kind, format)).filter(|name| !is_own && is_known(name));
        let own = whole.or(divided).unwrap_or(&stack.loss);
        Self {
            element_wise: fp8.or(compiled).or(gated).unwrap_or(&stack.element_wise),
            kernels: stack.kernels.as_deref(),
            loss: other.unwrap_or(own),
            runtime: stack.runtime_unsharded.as_ref().filter(|_| !scenario.shares_weights()).unwrap_or(&stack.runtime),
        }
    }
}

impl<'a> Calibrated<'a> {
    /// The entries that a scenario names, of its own calibration or of another one.
    pub fn new(scenario: &Scenario, calibration: &'a Calibration) -> Self {
        let EntryNames { element_wise, kernels, loss, runtime } = EntryNames::new(scenario, calibration);
        let per_logit = |bytes: Option<&f64>| Bytes::new(bytes.copied().unwrap_or(0.0));
        Self {
            efficiency: calibration.efficiency(&scenario.cluster.device.architecture).unwrap_or(NO_EFFICIENCY),
            software: &calibration.software,
            stack: Share::new(calibration.stacks.get(&scenario.stack.id).copied().unwrap_or(1.0)),
            runtime: calibration.runtimes.get(runtime).unwrap_or(NO_RUNTIME),
            element_wise: calibration.element_wise.get(element_wise).copied().unwrap_or(0.0),
            kernels: kernels.and_then(|name| calibration.kernels.get(name)).copied().unwrap_or(1.0),
            loss: per_logit(calibration.loss.get(loss)),
            logits_held: per_logit(calibration.logits_held.get(loss)),
        }
    }

    /// Whether a scenario takes as long by both: entries of kernels and formats that it does not run do not matter.
    pub fn same_time(&self, other: &Self, scenario: &Scenario) -> bool {
        let timed = |one: &Self| {
            let (efficiency, mut runtime) = (used(one.efficiency, scenario), *one.runtime);
            if scenario.model.experts.is_none() {
                (runtime.experts, runtime.each_expert) = (Seconds::ZERO, Seconds::ZERO);
            }
            (efficiency, *one.software, one.stack, runtime, one.element_wise, one.kernels, one.loss)
        };
        timed(self) == timed(other)
    }
}

/// Whether a scenario holds as much memory by both calibrations.
pub fn same_memory(one: &Calibration, other: &Calibration, scenario: &Scenario) -> bool {
    let held = |calibration: &Calibration| -> (Bytes, Allocator) {
        (Calibrated::new(scenario, calibration).logits_held, calibration.allocator)
    };
    held(one) == held(other)
}

/// A calibration by which a scenario evaluates as by another one, with none of the entries that others name.
pub(crate) fn own_entries(scenario: &Scenario, calibration: &Calibration) -> Calibration {
    fn only<V: Clone>(entries: &BTreeMap<String, V>, name: &str) -> BTreeMap<String, V> {
        entries.get_key_value(name).map(|(name, entry)| (name.clone(), entry.clone())).into_iter().collect()
    }
    let EntryNames { element_wise, kernels, loss, runtime } = EntryNames::new(scenario, calibration);
    let own = only(&calibration.architectures, &scenario.cluster.device.architecture);
    Calibration {
        format: calibration.format,
        id: String::new(),
        source: String::new(),
        software: calibration.software,
        element_wise: only(&calibration.element_wise, element_wise),
        kernels: kernels.map(|name| only(&calibration.kernels, name)).unwrap_or_default(),
        loss: only(&calibration.loss, loss),
        logits_held: only(&calibration.logits_held, loss),
        dispatchers: if scenario.model.experts.is_some() { calibration.dispatchers.clone() } else { BTreeMap::new() },
        stacks: only(&calibration.stacks, &scenario.stack.id),
        allocator: calibration.allocator,
        runtimes: only(&calibration.runtimes, runtime),
        architectures: if own.is_empty() { only(&calibration.architectures, "default") } else { own },
        bands: Vec::new(),
        peak_half_width: None,
        longest_sequence: None,
        largest_head: None,
        posterior: None,
    }
}

/// An efficiency whose entries are 0 where a scenario has no use for them.
fn used(efficiency: &Efficiency, scenario: &Scenario) -> Efficiency {
    let mut used = *efficiency;
    // One kernel of attention runs: what others reach, in this calibration or another one, changes no time.
    let version = scenario.attention().flash_version();
    for (index, share) in used.attention_flash.iter_mut().enumerate() {
        *share = if version == Some(index) { *share } else { 0.0 };
    }
    let other_kernels = if version.is_some() {
        [&mut used.attention_score_bytes, &mut used.attention_misaligned]
    } else {
        [&mut used.attention_backward, &mut used.attention_half_sequence]
    };
    for value in other_kernels {
        *value = 0.0;
    }
    match scenario.plan.precision.linear().arithmetic {
        Format::Fp8 => used.matmul_fp4 = None,
        // Without a share of its own fp4 reaches fp8's.
        Format::Fp4 if used.matmul_fp4.is_none() => {}
        Format::Fp4 => used.matmul_fp8 = 0.0,
        _ => (used.matmul_fp8, used.matmul_fp4) = (0.0, None),
    }
    // Inside one node nothing crosses the network between nodes.
    if scenario.devices() <= scenario.cluster.devices_per_node() {
        used.latency_between = 0.0;
    }
    used
}
