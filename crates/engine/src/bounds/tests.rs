//! Closed forms against published figures.

use crate::model::Model;
use crate::plan::{Extent, Format, Precision, Secondary, Size};
use crate::presets::Library;
use crate::program::Program;
use crate::scenario::Scenario;
use crate::units::Flop;
use crate::{cost, testing};

use super::*;

/// Parameters of the largest model whose state alone fits on each device.
fn largest_model(memory: Bytes, state_per_parameter: Bytes) -> f64 {
    memory / state_per_parameter
}

/// Hardware flop of one step with full recompute as Megatron-LM counts them:
/// `96 B s l h^2 (1 + s / (6 h) + V / (16 l h))` for a batch of `B` sequences (Narayanan et al.,
/// arXiv 2104.04473, section 5.1). Half of the published rows state TFLOP/s by this count.
fn megatron_flop(model: &Model, sequences: f64, sequence: u32) -> Flop {
    let (layers, hidden) = (f64::from(model.layers), f64::from(model.hidden));
    let (sequence, vocab) = (f64::from(sequence), f64::from(model.vocab));
    let share = 1.0 + sequence / (6.0 * hidden) + vocab / (16.0 * layers * hidden);
    Flop::new(96.0 * sequences * sequence * layers * hidden * hidden * share)
}

/// `strategy` on `nodes` nodes of Frontier, state only.
fn frontier(strategy: &str, nodes: u32) -> Scenario {
    let library = Library::embedded();
    let mut scenario = testing::scenario();
    scenario.cluster = library.cluster("mi250x-frontier").expect("a preset");
    scenario.model = library.model("gpt-neox-20b").expect("a preset");
    scenario.plan.sharding = library.strategy(strategy).expect("a preset").sharding.clone();
    scenario.plan.size = Size::Nodes(nodes);
    scenario
}

fn billions(scenario: &Scenario) -> f64 {
    let layout = scenario.layout().expect("a valid scenario");
    largest_model(scenario.cluster.device.memory, state_per_parameter(scenario, &layout)) / 1e9
}

fn assert_billions(scenario: &Scenario, published: f64) {
    let found = billions(scenario);
    assert!((found - published).abs() < 0.05 + 1e-9, "{found} is not {published} billion parameters");
}

/// [frontier D3]: two nodes, 64 GiB per GCD, states only. The figure of ZeRO-3 is the paper's, the
/// others follow from its formula.
#[test]
fn the_largest_models_on_two_frontier_nodes() {
    assert_billions(&frontier("zero3", 2), 68.7);
    assert_billions(&frontier("zeropp", 2), 55.0);
    assert_billions(&frontier("zero2", 2), 23.9);
    assert_billions(&frontier("zero1", 2), 14.5);
    assert_billions(&frontier("ddp", 2), 4.3);
    assert_billions(&frontier("zero-topo", 2), 34.4);
    for (strategy, extent, format, published) in [
        ("zeropp", Extent::Node, Format::Int8, 61.1),
        ("zero-topo", Extent::Node, Format::Int8, 32.3),
        ("zero-topo", Extent::Innermost, Format::Int8, 27.5),
        ("zero-topo", Extent::Node, Format::Bf16, 30.5),
    ] {
        let mut scenario = frontier(strategy, 2);
        scenario.plan.sharding.secondary = Some(Secondary { extent, format });
        assert_billions(&scenario, published);
    }
}

/// [frontier D3]: 20.55 B parameters on 384 GCDs hold 1.281 bytes per parameter, 26.3 GB (24.5 GiB),
/// on three levels, 28.9 GB with a second copy in int8 over the node, and 0.86 GB with ZeRO-3.
#[test]
fn the_state_of_the_20b_model_on_384_gcds() {
    let with = |strategy: &str, secondary: Option<Secondary>| {
        let mut scenario = frontier(strategy, 48);
        scenario.plan.sharding.secondary = secondary;
        let layout = scenario.layout().expect("a valid scenario");
        let per_parameter = state_per_parameter(&scenario, &layout).get();
        (per_parameter, per_parameter * scenario.model.parameters() as f64 / 1e9)
    };
    let (per_parameter, total) = with("zero-topo", None);
    assert!((per_parameter - 1.281).abs() < 5e-4, "{per_parameter}");
    assert!((total - 26.3).abs() < 0.05, "{total}");
    let copied = with("zero-topo", Some(Secondary { extent: Extent::Node, format: Format::Int8 })).1;
    assert!((copied - 28.9).abs() < 0.05, "{copied}");
    assert!((with("zero3", None).1 - 0.86).abs() < 5e-3);
}

/// [frontier D6]: on 1024 GPUs with a second copy over 16, (16/1024 + 2/16) / (16/1024) = 9.0 times ZeRO-3's state
/// (the paper: 8.9).
#[test]
fn what_the_second_copy_costs_on_1024_gpus() {
    let state = |strategy: &str| {
        let mut scenario = frontier(strategy, 64);
        scenario.cluster = Library::embedded().cluster("v100-32gb-dgx2").expect("a preset");
        scenario.plan.precision = Precision::Fp16;
        let layout = scenario.layout().expect("a valid scenario");
        state_per_parameter(&scenario, &layout).get()
    };
    assert!((state("zeropp") / state("zero3") - 9.0).abs() < 1e-9);
}

/// The program's memory and the closed form are two ways to the same number.
#[test]
fn the_program_holds_what_the_closed_form_says() {
    for strategy in ["ddp", "zero1", "zero1-hier", "zero2", "zero3", "hsdp", "zero-topo"] {
        let scenario = frontier(strategy, 4);
        let layout = scenario.layout().expect("a valid scenario");
        let mut program = Program::default();
        program.build(&scenario, &layout, &cost::Factors::default());
        let expected = state_per_parameter(&scenario, &layout) * scenario.model.parameters() as f64;
        assert!((program.states[0].device.total() / expected - 1.0).abs() < 1e-12, "{strategy}");
    }
}

/// [frontier D6]: the tutorial's run on 64 V100: 40 layers of 6144, sequence 512, batch 64, vocabulary
/// 50304; 9955.9 ms make 7.653 TFLOP/s per device and 3680.6 ms make 20.702.
#[test]
fn the_flop_formula_of_the_zeropp_log() {
    let model = Library::embedded().model("gpt-18b-zeropp").expect("a preset");
    let rate = |seconds: f64| megatron_flop(&model, 64.0, 512).get() / seconds / 64.0 / 1e12;
    assert!((rate(9.9559) - 7.653).abs() < 5e-4, "{}", rate(9.9559));
    assert!((rate(3.6806) - 20.702).abs() < 5e-4, "{}", rate(3.6806));
}

/// Counting matrix products only and adding the recompute is the same formula.
#[test]
fn the_matrices_count_is_megatrons() {
    let model = Library::embedded().model("gpt-18b-zeropp").expect("a preset");
    let logits = u64::from(model.vocab) * u64::from(model.hidden);
    let again = 2.0 * (model.matrix_parameters() - logits) as f64 + model.attention_flop(512).get();
    let per_token = model.flop_per_token(Flop::new(6.0), model.matrix_parameters(), 512, 1.0).get() + again;
    let expected = megatron_flop(&model, 64.0, 512).get();
    assert!((per_token * 64.0 * 512.0 / expected - 1.0).abs() < 1e-12);
}

/// [frontier D6]: ZeRO-3 over 64 ranks holds 16 x 18.436e9 / 64 bytes: 4395.4 MiB (the log says 4421).
#[test]
fn the_zero3_state_of_the_zeropp_log() {
    let model = Library::embedded().model("gpt-18b-zeropp").expect("a preset");
    let mebibytes = 16.0 * model.parameters() as f64 / 64.0 / 1024.0 / 1024.0;
    assert!((mebibytes / 4395.4 - 1.0).abs() < 1e-3, "{mebibytes}");
}
