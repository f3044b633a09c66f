//! Efficiency of software on each device and each network, and its costs beside them: fitted,
//! measured or published figures. Stacks choose among them by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Dispatcher;
use crate::problem::Problem;
use crate::units::{Bytes, BytesPerSecond, Seconds};

use super::{Band, Posterior, Stack};

/// Figures of devices, and of the programs that run on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Version of the file format.
    pub format: u32,
    /// The id by which stacks name it.
    #[serde(default)]
    pub id: String,
    /// Where the figures come from.
    pub source: String,
    /// Figures of all programs.
    pub software: Software,
    /// Traffic of element-wise operators and norms by the name that a stack gives: in multiples of
    /// reading or writing each intermediate of the layer once.
    pub element_wise: BTreeMap<String, f64>,
    /// Speed-up of the matrix products of 16 bits by a later generation of kernel libraries: a factor on their rate, by
    /// the name that a stack gives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernels: BTreeMap<String, f64>,
    /// Bytes moved per logit by the loss, forward and backward, beside the matrix products: by the name that a
    /// stack gives.
    pub loss: BTreeMap<String, f64>,
    /// Bytes held per logit at the worst moment of the loss, by the same names.
    pub logits_held: BTreeMap<String, f64>,
    /// Compute units that exchanges of tokens with their experts take while they run, by the library that carries them; those
    /// that are not there take none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dispatchers: BTreeMap<Dispatcher, DispatcherKernels>,
    /// Factors on the rates of single stacks' kernels beside what all programs share, by the stack's id: a stack that few
    /// runs tell of is near 1, and one without any is at 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stacks: BTreeMap<String, f64>,
    /// Memory lost to the program around the tensors.
    pub allocator: Allocator,
    /// Costs of the program around the kernels, by the name that a stack gives.
    pub runtimes: BTreeMap<String, Runtime>,
    /// Efficiency by architecture; `default` serves an architecture without an entry.
    pub architectures: BTreeMap<String, Efficiency>,
    /// How far off predictions are, the nearest evidence first: the first one that covers a run is its band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// The band of peaks of memory, whoever runs them: half width of the 80 % interval, the largest
    /// `|ln(measured / predicted)|` of an allocator's peak in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_half_width: Option<f64>,
    /// Tokens of the longest sequence among the runs behind the bands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_sequence: Option<u32>,
    /// The largest share of a token's products that is the logits', among the dense models of those runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_head: Option<f64>,
    /// How sure its constants are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posterior: Option<Posterior>,
}

/// Figures that no device and no stack changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// Exponent of the soft maximum of host and device time: large is a hard maximum.
    pub host_exponent: f64,
    /// Fixed time per micro-batch.
    pub micro_batch: Seconds,
    /// Optimizer traffic, in multiples of reading and writing each byte of its state once.
    pub optimizer_traffic: f64,
    /// Relative growth of compute time per doubling of the nodes: the slowest of more devices sets the pace.
    pub stragglers: f64,
    /// Factor on the rates of the kernels, 1 unless rows of one's own say otherwise.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub compute: f64,
    /// Factor on the bandwidths of the network, in the node and beyond it, likewise.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub network: f64,
    /// Factor on the pace of the host that launches kernels, likewise.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub host: f64,
    /// Bytes of state, gradients and weights that one thread of the host reads and writes per second as it updates them;
    /// absent: an update on the host takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_update: Option<BytesPerSecond>,
    /// Share of the rate of its link that a copy reaches between a device and page-locked memory of the host.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub host_link: f64,
    /// Share of the rate of memory that kernels reach that bring weights of four bits into the storage format.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub dequantisation: f64,
}

/// A factor that changes nothing.
fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, clippy::float_cmp, reason = "serde's signature; exactly the default")]
fn is_one(factor: &f64) -> bool {
    *factor == 1.0
}

/// The kernels of a library that carries tokens to their experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatcherKernels {
    /// Compute units that they take.
    pub compute_units: u32,
    /// Where the figure comes from.
    pub source: String,
}

impl DispatcherKernels {
    /// How much longer compute beside them takes on a device with so many compute units, as a share: of 132 units 20 leave 112,
    /// which take 20 / 112 = 18 % longer. The kernels never take more than half.
    pub fn slowing(&self, units: u32) -> f64 {
        let taken = f64::from(self.compute_units).min(f64::from(units) / 2.0);
        taken / (f64::from(units) - taken)
    }
}

/// Memory that belongs to no tensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocator {
    /// Memory of the runtime: context, libraries, workspaces.
    pub reserve: Bytes,
    /// Share of the allocated memory that is lost to fragments.
    pub fragmentation: f64,
}

/// Costs of the program that drives the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Time of the host to launch one layer's forward; backward takes half as much again.
    pub layer: Seconds,
    /// Time of the host to launch forward of a layer's experts and of what brings tokens to them, beside that of the layer.
    #[serde(default)]
    pub experts: Seconds,
    /// Part of it for each expert of the rank in formats of 8 bits and fewer, whose casts are launched one by one.
    #[serde(default)]
    pub each_expert: Seconds,
    /// Share of the shorter of two overlapping phases that is not hidden: both slow each other down.
    #[serde(default)]
    pub contention: f64,
    /// Time that each collective of tensor parallelism takes beside the wire's: ranks out of step.
    #[serde(default)]
    pub tensor_collective: Seconds,
    /// Fixed time per step.
    #[serde(default)]
    pub step: Seconds,
    /// Time per step for each rank that shares the optimizer's state: one broadcast each.
    #[serde(default)]
    pub step_per_shard: Seconds,
    /// How much the inverse of the wire's share between nodes grows per doubling of the nodes, beside the
    /// architecture's own.
    #[serde(default)]
    pub wire_loss: f64,
    /// The most that a device can receive from other nodes, where the copies at either end of the wire are slower than
    /// the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_received: Option<BytesPerSecond>,
}

/// Efficiency of kernels and collectives on one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// Share of the peak that a large matrix product reaches.
    pub matmul: f64,
    /// Share of the peak for fp8 factors, casts included.
    pub matmul_fp8: f64,
    /// Share of the peak for fp4 factors, casts included; absent: as in fp8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matmul_fp4: Option<f64>,
    /// Depth at which a matrix product's fixed cost per tile equals its work: `k / (k + depth)`.
    pub matmul_depth: f64,
    /// Share of the tile and wave quantisation that shows, 0 to 1.
    pub wave: f64,
    /// Relative growth of a matrix product's time per power of two that its width or depth lacks to 64.
    pub misalignment: f64,
    /// Share of the memory bandwidth that streaming kernels reach.
    pub memory: f64,
    /// Share of that rate that the chunked scans of state spaces reach; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<f64>,
    /// Share of that rate that the chunked rule of gated delta nets reaches; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_rule: Option<f64>,
    /// Share of the peak that the score and value products of plain attention reach.
    pub attention_plain: f64,
    /// Factor on the time of those products where the head's size is no multiple of 8.
    pub attention_misaligned: f64,
    /// Bytes moved per score by plain attention, forward, and again backward.
    pub attention_score_bytes: f64,
    /// Share of the peak that flash attention reaches in forward at a long sequence, by version.
    pub attention_flash: [f64; 3],
    /// Rate of flash attention in backward, relative to forward.
    pub attention_backward: f64,
    /// Sequence length at which flash attention reaches half of that.
    pub attention_half_sequence: f64,
    /// Share of the wire that all-gathers and reduce-scatters reach inside a node.
    pub wire_in_node: f64,
    /// Share of the wire of all-reduces where switches compute their sums; absent: as other collectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_all_reduce: Option<f64>,
    /// Share of the rings' rate that trees reach; absent: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_trees: Option<f64>,
    /// Share of the wire that all collectives reach between nodes.
    pub wire_between: f64,
    /// How much that share's inverse grows per doubling of the nodes.
    pub wire_loss: f64,
    /// Time to start one collective.
    pub collective_launch: Seconds,
    /// Factor on the latency of the hardware's hops inside a node: 1, or 0 for `ideal`.
    pub latency: f64,
    /// Factor on the latency of the hardware's hops between nodes.
    pub latency_between: f64,
}

impl Software {
    /// Nothing costs anything.
    pub const IDEAL: Self = Self {
        host_exponent: 64.0,
        micro_batch: Seconds::ZERO,
        optimizer_traffic: 0.0,
        stragglers: 0.0,
        compute: 1.0,
        network: 1.0,
        host: 1.0,
        host_update: None,
        host_link: 1.0,
        dequantisation: 1.0,
    };
}

impl Allocator {
    /// Nothing is lost.
    pub const IDEAL: Self = Self { reserve: Bytes::ZERO, fragmentation: 0.0 };

    /// The part that the allocator holds of a peak that counts everything.
    pub fn held(&self, peak: Bytes) -> Bytes {
        peak - self.reserve
    }

    /// The part that the program asked for of a peak that counts everything.
    pub fn asked(&self, peak: Bytes) -> Bytes {
        self.held(peak) / (1.0 + self.fragmentation)
    }

    /// The peak that counts everything, when the program has asked for this much.
    pub fn peak(&self, asked: Bytes) -> Bytes {
        asked * (1.0 + self.fragmentation) + self.reserve
    }
}

impl Runtime {
    /// Nothing costs anything.
    pub const IDEAL: Self = Self {
        layer: Seconds::ZERO,
        experts: Seconds::ZERO,
        each_expert: Seconds::ZERO,
        contention: 0.0,
        tensor_collective: Seconds::ZERO,
        step: Seconds::ZERO,
        step_per_shard: Seconds::ZERO,
        wire_loss: 0.0,
        most_received: None,
    };
}

impl Efficiency {
    /// Every peak reached, at no latency.
    pub const IDEAL: Self = Self {
        matmul: 1.0,
        matmul_fp8: 1.0,
        matmul_fp4: None,
        matmul_depth: 0.0,
        wave: 0.0,
        misalignment: 0.0,
        memory: 1.0,
        attention_plain: 1.0,
        attention_misaligned: 1.0,
        attention_score_bytes: 0.0,
        attention_flash: [1.0; 3],
        attention_backward: 1.0,
        attention_half_sequence: 0.0,
        wire_in_node: 1.0,
        wire_all_reduce: None,
        wire_trees: None,
        scan: None,
        delta_rule: None,
        wire_between: 1.0,
        wire_loss: 0.0,
        collective_launch: Seconds::ZERO,
        latency: 0.0,
        latency_between: 0.0,
    };

    /// Everything that is a share of a peak.
    fn shares(&self) -> [(&'static str, f64); 15] {
        let [flash1, flash2, flash3] = self.attention_flash;
        [
            ("matmul", self.matmul),
            ("matmul_fp8", self.matmul_fp8),
            ("matmul_fp4", self.matmul_fp4.unwrap_or(1.0)),
            ("memory", self.memory),
            ("attention_plain", self.attention_plain),
            ("attention_flash", flash1),
            ("attention_flash", flash2),
            ("attention_flash", flash3),
            ("attention_backward", self.attention_backward),
            ("wire_in_node", self.wire_in_node),
            ("wire_all_reduce", self.wire_all_reduce.unwrap_or(1.0)),
            ("wire_trees", self.wire_trees.unwrap_or(1.0)),
            ("scan", self.scan.unwrap_or(1.0)),
            ("delta_rule", self.delta_rule.unwrap_or(1.0)),
            ("wire_between", self.wire_between),
        ]
    }
}

impl Calibration {
    /// The efficiency of an architecture, or of `default`.
    pub fn efficiency(&self, architecture: &str) -> Option<&Efficiency> {
        self.architectures.get(architecture).or_else(|| self.architectures.get("default"))
    }

    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if !self.architectures.contains_key("default") {
            found.push(Problem::must("architectures.default", "is missing: it serves devices without an entry"));
        }
        let shares = self.architectures.iter().flat_map(|(name, efficiency)| {
            efficiency.shares().map(|(field, share)| (format!("architectures.{name}.{field}"), share))
        });
        for (path, share) in shares {
            if !(share > 0.0 && share <= 1.25) {
                found.push(Problem::must(path, "must be above 0 and at most 1.25"));
            }
        }
        let mut check = |path: String, value: f64, least: f64, most: f64| {
            if !(least..=most).contains(&value) {
                found.push(Problem::must(path, format!("must be between {least} and {most}")));
            }
        };
        for (name, traffic) in &self.element_wise {
            check(format!("element_wise.{name}"), *traffic, 0.0, 100.0);
        }
        for (name, factor) in &self.kernels {
            check(format!("kernels.{name}"), *factor, 0.1, 10.0);
        }
        for (name, factor) in &self.stacks {
            check(format!("stacks.{name}"), *factor, 0.1, 10.0);
        }
        for (name, traffic) in &self.loss {
            check(format!("loss.{name}"), *traffic, 0.0, 1000.0);
        }
        for (name, held) in &self.logits_held {
            check(format!("logits_held.{name}"), *held, 0.0, 100.0);
        }
        check("allocator.fragmentation".to_owned(), self.allocator.fragmentation, 0.0, 0.9);
        for (name, runtime) in &self.runtimes {
            check(format!("runtimes.{name}.contention"), runtime.contention, 0.0, 1.0);
            check(format!("runtimes.{name}.wire_loss"), runtime.wire_loss, 0.0, 10.0);
            let most = runtime.most_received.map_or(f64::MAX, BytesPerSecond::get);
            check(format!("runtimes.{name}.most_received"), most, 1.0, f64::MAX);
        }
        for (index, band) in self.bands.iter().enumerate() {
            check(format!("bands.{index}.half_width"), band.half_width, 0.0, 10.0);
        }
        check("peak_half_width".to_owned(), self.peak_half_width.unwrap_or(0.0), 0.0, 10.0);
        check("software.host_exponent".to_owned(), self.software.host_exponent, 1.0, 64.0);
        check("software.optimizer_traffic".to_owned(), self.software.optimizer_traffic, 0.0, 100.0);
        let host_update = self.software.host_update.map_or(1.0, BytesPerSecond::get);
        check("software.host_update".to_owned(), host_update, 1.0, 1e15);
        check("software.stragglers".to_owned(), self.software.stragglers, 0.0, 1.0);
        let Software { compute, network, host, .. } = self.software;
        for (name, factor) in [("compute", compute), ("network", network), ("host", host)] {
            check(format!("software.{name}"), factor, 0.1, 10.0);
        }
        found.extend(self.posterior.iter().flat_map(Posterior::problems));
        found
    }

    /// Names that a stack uses and it lacks.
    pub fn lacks(&self, stack: &Stack) -> Vec<Problem> {
        let known = |names: &mut dyn Iterator<Item = &String>| names.map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut found = Vec::new();
        let mut miss = |field: &str, name: &str, has: bool, names: String| {
            if !has {
                let what = format!("'{name}' is not in calibration '{}': {names}", self.id);
                found.push(Problem::must(field, what));
            }
        };
        for name in stack.element_wise_names() {
            let has = self.element_wise.contains_key(name);
            miss("element_wise", name, has, known(&mut self.element_wise.keys()));
        }
        if let Some(name) = &stack.kernels {
            miss("kernels", name, self.kernels.contains_key(name), known(&mut self.kernels.keys()));
        }
        for name in Some(&stack.loss).into_iter().chain(&stack.loss_compiled).chain(&stack.loss_divided) {
            // A loss has a time and what its logits hold.
            let whole = |name: &&String| self.loss.contains_key(*name) && self.logits_held.contains_key(*name);
            miss("loss", name, whole(&name), known(&mut self.loss.keys().filter(whole)));
        }
        for name in std::iter::once(&stack.runtime).chain(&stack.runtime_unsharded) {
            miss("runtime", name, self.runtimes.contains_key(name), known(&mut self.runtimes.keys()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::Library;
    use crate::problem::Problem;

    #[test]
    fn a_loss_needs_its_time_and_what_its_logits_hold() {
        let library = Library::embedded();
        let stack = library.stack("default").expect("a preset");
        let mut calibration = (*library.calibration(&stack.calibration).expect("a preset")).clone();
        assert_eq!(calibration.lacks(&stack), []);
        calibration.logits_held.remove(&stack.loss);
        let lacks = calibration.lacks(&stack);
        let [Problem { field, what, .. }] = &lacks[..] else { panic!("{lacks:?}") };
        assert_eq!(field, "loss");
        let (wrong, names) = what.split_once(": ").expect("names follow");
        assert!(wrong.contains(&stack.loss) && !names.split(", ").any(|name| name == stack.loss), "{what}");
    }
}
