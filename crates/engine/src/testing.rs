//! Small hand-made scenarios for the engine's tests: round numbers, so that arithmetic can be shown. And the largest one
//! of a paper.

#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a toy that cannot be made ends the test")]

pub mod random;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hardware::{Cluster, Device, Drives, Host, Level, Peaks, Reliability, Rings};
use crate::model::{AttentionWindow, Experts, GatedDeltaNet, Indexer, LatentAttention, LayerPattern, Mamba, Model};
use crate::plan::{ContextKind, Extent, Format, KeptOfChunk, Plan, Sharding, Size, Wire};
use crate::presets::Library;
use crate::scenario::{Scenario, file};
use crate::stack::{
    AllReduceAlgorithm, Allocator, Attention, Balance, Calibration, Collectives, Efficiency, GatherAlgorithm,
    GradientCopies, Overlap, Protocol, Runtime, Selective, Software, Stack,
};
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds};

#[cfg(test)]
#[path = "../../../presets/texts.rs"]
mod texts;

#[cfg(test)]
impl Library {
    /// The presets that shardscope carries.
    pub fn embedded() -> Self {
        Self::of(texts::TEXTS)
    }
}

/// Nodes of four devices: 100 TFLOP/s, 1 TB/s, 10 GB; 100 GB/s in the node, 10 GB/s per device out of it.
pub fn cluster() -> Cluster {
    let rate = BytesPerSecond::new;
    let level = |name: &str, members: Option<u32>, bandwidth: f64, injection: Option<f64>| Level {
        name: name.to_owned(),
        members,
        bandwidth: rate(bandwidth),
        injection: injection.map(rate),
        sharp: false,
        latency: Seconds::new(1e-6),
        mesh: false,
        links: Vec::new(),
        measured: None,
        source: "made up".to_owned(),
    };
    Cluster {
        format: 1,
        id: "toy".to_owned(),
        name: "Toy".to_owned(),
        source: "made up".to_owned(),
        device: Device {
            name: "toy".to_owned(),
            architecture: "toy".to_owned(),
            memory: Bytes::new(10e9),
            memory_bandwidth: rate(1e12),
            compute_units: 100,
            peak: Peaks {
                fp32: FlopPerSecond::new(50e12),
                fp16: Some(FlopPerSecond::new(100e12)),
                bf16: Some(FlopPerSecond::new(100e12)),
                fp8: None,
                fp4: None,
            },
            host_bandwidth: rate(10e9),
            usable: None,
            flop_per_exponential: None,
            power_share: 1.0,
            clock_share: None,
            source: "made up".to_owned(),
        },
        levels: vec![level("node", Some(4), 100e9, None), level("system", None, 10e9, Some(40e9))],
        nodes: None,
        host: Some(host(1e15, 204.8e9)),
        note: None,
        highest_mfu: None,
        begins_with: None,
        price_per_device_hour: None,
        watts_per_device: None,
        queue: None,
        reliability: Reliability::default(),
        rings: Rings::default(),
    }
}

/// A host of this memory and bandwidth, with drives of 10 TB that read 8 GB/s and write 4.
pub fn host(memory: f64, bandwidth: f64) -> Host {
    let source = "made up".to_owned();
    let (capacity, read, write) = (Bytes::new(1e13), BytesPerSecond::new(8e9), BytesPerSecond::new(4e9));
    Host {
        cores: 64,
        memory: Bytes::new(memory),
        memory_bandwidth: BytesPerSecond::new(bandwidth),
        thread_rate: None,
        pinned: true,
        nvme: Some(Drives { capacity, read, write, source: source.clone() }),
        source,
    }
}

/// Everything free but arithmetic, memory and wire.
pub fn ideal() -> Stack {
    Stack {
        format: 1,
        id: "ideal".to_owned(),
        name: "Ideal".to_owned(),
        about: "no cost of its own".to_owned(),
        source: "made up".to_owned(),
        calibration: "ideal".to_owned(),
        attention: Attention::Flash2,
        attention_on: BTreeMap::new(),
        element_wise: "none".to_owned(),
        element_wise_compiled: None,
        element_wise_fp8: None,
        element_wise_gated: None,
        kernels: None,
        loss: "none".to_owned(),
        loss_compiled: None,
        loss_compiled_since: None,
        loss_divided: None,
        loss_kind: None,
        loss_chunk: None,
        kept_chunks: KeptOfChunk::Nothing,
        keeps_frozen_inputs: false,
        started_by: None,
        runtime: "none".to_owned(),
        runtime_unsharded: None,
        frees_gradients: false,
        passes_beside_ahead: false,
        sequence_parallel: true,
        selective: Selective::default(),
        balance: Balance::Time,
        dropout: false,
        overlap: Overlap::Independent,
        collectives: Collectives {
            all_reduce: vec![AllReduceAlgorithm::Ring],
            gather: vec![GatherAlgorithm::Ring],
            protocols: vec![Protocol::Simple],
            hierarchical: false,
            per_layer: 1,
            separate_scales: false,
            bucket: Bytes::new(1e9),
            buckets: None,
        },
        reduce_format: None,
        reduce_format_of_bf16: None,
        gradient_format: None,
        unreduced_format: None,
        gradient_copies: GradientCopies::default(),
        replicated_gradient: None,
        division: None,
        pipeline_buffers: false,
        update_copies: 0.0,
        keeps_gate: false,
        unfused_expert_biases: false,
        norms_in_fp32: false,
        scales_norms_in_fp32: false,
        repeats_keys: false,
        copies_keys: false,
        fp8_activation_input: false,
        adapter_format: None,
        keeps_casts: false,
        casts_replace_weights: false,
        fp8: None,
        tensor_overlap: false,
        keeps_gathered: false,
        cached_exchanges: 0.0,
        live_parameters: None,
        whole_experts: false,
        loops_experts: false,
        dispatch_format: None,
        router_format: None,
        context_kind: ContextKind::Ring,
        replica_stream: false,
        keeps_head: false,
        copies_out: false,
        copies_in_line: false,
        offloads_during_backward: false,
        reduce_during_backward: true,
        gather_during_forward: false,
        launcher: None,
        host_adam: None,
        runs: None,
        caveats: Vec::new(),
    }
}

/// Blocks only: `12 layers hidden^2` parameters.
pub fn model(layers: u32, hidden: u32) -> Model {
    let (id, name, source) = ("blocks".to_owned(), "Blocks".to_owned(), "made up".to_owned());
    Model { id, name, source, ..Model::dense(layers, hidden, hidden / 64) }
}

/// How many ways [`of_kinds`] has.
pub const KINDS: usize = 11;

/// The same blocks with layers of one kind or of several: dense ones; with experts; with experts behind the first; in
/// turns with and without experts; two with a window before one without; all of these together; two
/// with a gated delta net before one with attention; layers that are a state space, an MLP, attention or experts
/// alone, in turns; latent attention to the tokens that an indexer chooses; two with Kimi delta attention before one with
/// latent attention, as which the last one is; and two with a window and heads of their own before one whose keys are its
/// values, as which the first one is.
#[must_use]
pub fn of_kinds(model: Model, kinds: usize) -> Model {
    let experts = |dense_layers: u32, every: u32| Experts {
        count: 4,
        active: 2,
        ffn_hidden: Some(model.hidden),
        shared_ffn: None,
        shared_gate: false,
        dense_layers: Some(dense_layers).filter(|count| *count > 0),
        groups: None,
        active_groups: None,
        latent: None,
        every: Some(every).filter(|every| *every > 1),
    };
    let experts = match kinds {
        1 | 7 => Some(experts(0, 1)),
        2 => Some(experts(1, 1)),
        3 => Some(experts(0, 2)),
        5 => Some(experts(1, 2)),
        _ => None,
    };
    let own = kinds == 10;
    let window = AttentionWindow {
        size: 128,
        full_every: Some(3),
        full_first: own,
        kv_heads: Some((model.heads / 2).max(1)).filter(|_| own),
        head_size: Some(2 * model.head_size).filter(|_| own),
        ..AttentionWindow::default()
    };
    let delta_net = GatedDeltaNet {
        key_heads: model.heads,
        value_heads: 2 * model.heads,
        key_head: 32,
        value_head: 64,
        conv: 4,
        full_every: 3,
        full_last: kinds == 9,
        gate_rank: Some(64).filter(|_| kinds == 9),
    };
    let mamba = Mamba { heads: model.heads, head: 128, state: 32, groups: model.heads, conv: 4, chunk: 64 };
    let latent =
        LatentAttention { query: None, key_value: 64, rotary: model.head_size / 2, value_head: model.head_size };
    let indexer = Indexer { heads: 2, head: 32, top_k: 128 };
    let pattern = LayerPattern::try_from("M-*E".to_owned()).expect("a pattern");
    Model {
        experts,
        pattern: Some(pattern).filter(|_| kinds == 7),
        mamba: Some(mamba).filter(|_| kinds == 7),
        values_are_keys: own,
        window: Some(window).filter(|_| matches!(kinds, 4 | 5 | 10)),
        delta_net: Some(delta_net).filter(|_| matches!(kinds, 6 | 9)),
        latent: if matches!(kinds, 8 | 9) { Some(latent) } else { model.latent },
        indexer: Some(indexer).filter(|_| kinds == 8),
        ..model
    }
}

/// Weights, gradients and optimizer state over these extents, bf16 on the wire.
pub fn sharding(weights: Extent, gradients: Extent, optimizer: Extent) -> Sharding {
    Sharding {
        weights,
        gradients,
        optimizer,
        secondary: None,
        wire: Wire { weights: Format::Bf16, gradients: Format::Bf16, boundary: Format::Bf16, block: 8000 },
        reshard_after_forward: true,
        two_hop_gradients: false,
        sums_each_micro_batch: false,
    }
}

/// ZeRO-3: everything over all ranks.
pub fn zero3() -> Sharding {
    sharding(Extent::System, Extent::System, Extent::System)
}

/// Everything on every device.
pub fn ddp() -> Sharding {
    sharding(Extent::Device, Extent::Device, Extent::Device)
}

/// Two nodes, ZeRO-3, one sequence of 1024 tokens, 8 layers of 1024.
pub fn scenario() -> Scenario {
    let calibration = Calibration {
        format: 1,
        id: "ideal".to_owned(),
        source: "made up".to_owned(),
        software: Software::IDEAL,
        element_wise: BTreeMap::from([("none".to_owned(), 0.0)]),
        kernels: BTreeMap::new(),
        loss: BTreeMap::from([("none".to_owned(), 0.0)]),
        logits_held: BTreeMap::from([("none".to_owned(), 0.0)]),
        dispatchers: BTreeMap::new(),
        stacks: BTreeMap::new(),
        allocator: Allocator::IDEAL,
        runtimes: BTreeMap::from([("none".to_owned(), Runtime::IDEAL)]),
        architectures: BTreeMap::from([("default".to_owned(), Efficiency::IDEAL)]),
        bands: Vec::new(),
        peak_half_width: None,
        longest_sequence: None,
        largest_head: None,
        posterior: None,
    };
    let mut plan = Plan::new(zero3(), 1024);
    plan.size = Size::Nodes(2);
    Scenario {
        name: "toy".to_owned(),
        cluster: Arc::new(cluster()),
        stack: Arc::new(ideal()),
        calibration: Arc::new(calibration),
        model: Arc::new(model(8, 1024)),
        strategy: "zero3".into(),
        plan,
        caveats: [].into(),
        unknown: [].into(),
    }
}

/// [`x_160_in`] the presets that shardscope carries.
#[cfg(test)]
pub fn x_160(flags: &[(&str, &str)]) -> Scenario {
    x_160_in(&Library::embedded(), flags)
}

/// [layered B8]: `X_160` on 483 x 5 x 16 A100, 5 micro-batches of one sequence, layer by layer, a layer per
/// stage, everything computed again and every state partitioned; flags change it.
pub fn x_160_in(library: &Library, flags: &[(&str, &str)]) -> Scenario {
    let mut file = file::parse(&library.scenario_text("default").expect("a preset").text).expect("valid");
    let paper = [
        ("hardware", "a100-80gb-nvlink16"),
        ("stack", "ideal"),
        ("model", "x-160"),
        ("strategy", "zero3"),
        ("nodes", "2415"),
        ("tp", "16"),
        ("pp", "5"),
        ("stages-per-rank", "32"),
        ("accumulate", "5"),
        ("accumulation", "layered"),
        ("recompute", "full"),
    ];
    for (flag, value) in paper.iter().chain(flags) {
        file.set(flag, value).expect("a flag");
    }
    let scenario = library.resolve(&file).expect("a scenario");
    assert_eq!(scenario.layout().expect("a valid scenario").devices % 16, 0);
    scenario
}
