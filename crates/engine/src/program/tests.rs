//! Programs: what they move, what they hold.

mod drawing;
pub(crate) mod split_backward;

use std::sync::Arc;

use super::*;
use crate::model::{AttentionWindow, LayerPattern, Model};
use crate::plan::{
    Extent, Extents, Format, Operator, Optimizer, Placement, Precision, Recompute, Reduction, Schedule, Secondary,
    Sharding, Size,
};
use crate::presets::Library;
use crate::testing;
use crate::units::{Bytes, BytesPerSecond};

fn built(scenario: &Scenario) -> Program {
    let mut program = Program::default();
    let layout = scenario.layout().expect("a valid scenario");
    program.build(scenario, &layout, &Factors::default());
    program
}

/// Bytes that the first rank sends into all levels.
fn sent(scenario: &Scenario) -> f64 {
    built(scenario).volume(0).bytes.into_iter().sum::<Bytes>().get()
}

fn traffic(sharding: Sharding) -> f64 {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = sharding;
    sent(&scenario)
}

fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
}

#[test]
fn zero3_moves_half_as_much_again_as_ddp() {
    // Three ring passes over the weights instead of two.
    close(traffic(testing::zero3()) / traffic(testing::ddp()), 1.5);
    let zero1 = testing::sharding(Extent::Device, Extent::Device, Extent::System);
    let zero2 = testing::sharding(Extent::Device, Extent::System, Extent::System);
    close(traffic(zero1), traffic(testing::ddp()));
    close(traffic(zero2), traffic(testing::ddp()));
}

/// Four layers have eight gathers in a micro-batch: none is left out, however far ahead they run.
#[test]
fn a_gather_far_ahead_is_a_gather() {
    let with = |prefetch: u32| {
        let mut scenario = testing::scenario();
        Arc::make_mut(&mut scenario.model).layers = 4;
        (scenario.plan.sharding, scenario.plan.accumulate, scenario.plan.prefetch) = (testing::zero3(), 3, prefetch);
        sent(&scenario)
    };
    for prefetch in [7, 8, 9, 16] {
        close(with(prefetch), with(1));
    }
}

#[test]
fn tied_ends_are_gathered_twice_too() {
    let with = |tied: bool, sharding: Sharding| {
        let mut scenario = testing::scenario();
        let model = Arc::make_mut(&mut scenario.model);
        (model.vocab, model.tied) = (32_000, tied);
        scenario.plan.sharding = sharding;
        sent(&scenario)
    };
    for tied in [false, true] {
        close(with(tied, testing::zero3()) / with(tied, testing::ddp()), 1.5);
    }
}

#[test]
fn weights_that_stay_gathered_are_gathered_once() {
    let mut sharding = testing::zero3();
    sharding.reshard_after_forward = false;
    close(traffic(sharding) / traffic(testing::ddp()), 1.0);
}

/// Of eight ranks each holds an eighth of 8 layers of 12 x 1024^2 weights. Seven eighths of that go to the ranks that make
/// those matrices orthogonal, in bf16, and come back: 2 x 2 x 12.6e6 x 7/8 bytes. SGD sends none of it, nor does Muon where
/// every rank has its matrices whole.
#[test]
fn muon_brings_matrices_together_that_are_cut() {
    let sent = |optimizer: Optimizer, sharding: Sharding| {
        let mut scenario = testing::scenario();
        (scenario.plan.sharding, scenario.plan.optimizer) = (sharding, optimizer);
        self::sent(&scenario)
    };
    let more = |sharding: Sharding| sent(Optimizer::Muon, sharding.clone()) - sent(Optimizer::SgdMomentum, sharding);
    close(more(testing::zero3()), 2.0 * 2.0 * (8.0 * 12.0 * 1024.0 * 1024.0 / 8.0) * 7.0 / 8.0);
    assert!(more(testing::sharding(Extent::Device, Extent::Device, Extent::System)).abs() < 1.0);
}

/// 8 micro-batches of 1,024 tokens of 1,024 channels in bf16, 2 MiB each, over 4 ranks: the middle ones have a buffer for the
/// inputs of each and one for the gradients of its outputs, 32 MiB; the first has 4 outputs on their way instead of inputs,
/// the last no gradients to receive.
#[test]
fn stages_may_have_a_buffer_for_every_micro_batch() {
    let mut scenario = testing::scenario();
    (scenario.plan.pipeline, scenario.plan.accumulate) = (4, 8);
    let buffers =
        |scenario: &Scenario| built(scenario).states.iter().map(|state| state.buffers.get()).collect::<Vec<_>>();
    assert_eq!(buffers(&scenario), [0.0; 4]);
    Arc::make_mut(&mut scenario.stack).pipeline_buffers = true;
    let each = 1024.0 * 1024.0 * 2.0;
    assert_eq!(buffers(&scenario), [12.0 * each, 16.0 * each, 16.0 * each, 8.0 * each]);
    // A second virtual stage on each rank has 16 more.
    (scenario.plan.schedule, scenario.plan.stages_per_rank) = (Schedule::Interleaved, 2);
    assert_eq!(buffers(&scenario), [28.0 * each, 32.0 * each, 32.0 * each, 24.0 * each]);
}

#[test]
fn fp32_training_sends_twice_the_bytes_of_bf16() {
    let with = |precision: Precision| {
        let mut scenario = testing::scenario();
        scenario.plan.precision = precision;
        sent(&scenario)
    };
    close(with(Precision::Fp32) / with(Precision::Bf16), 2.0);
}

#[test]
fn backward_passes_keys_values_and_their_gradients_around() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = testing::ddp();
    let alone = built(&scenario).volume(0).bytes[0].get();
    scenario.plan.context = 2;
    // Per layer 512 tokens of each of 2 ranks, keys and values 2 x 1024 wide in bf16: of 4 MiB one rank
    // receives 2 MiB, once in forward and twice in backward, in 8 layers.
    close(built(&scenario).volume(0).bytes[0].get() - alone, 8.0 * 3.0 * 2.0 * 1024.0 * 1024.0);
}

/// Of 8 layers 5 have a window, with 4 heads of keys and of values of 128 channels each, and 3 have 16 heads of 64: 1024 and 2048
/// numbers of each token.
#[test]
fn context_ranks_pass_the_keys_and_values_that_a_layer_has() {
    let mut scenario = testing::scenario();
    let mut model = testing::of_kinds(testing::model(8, 1024), 10);
    model.window = model.window.map(|window| AttentionWindow { kv_heads: Some(4), ..window });
    scenario.model = Arc::new(model);
    scenario.plan.sharding = testing::ddp();
    let alone = built(&scenario).volume(0).bytes[0].get();
    scenario.plan.context = 2;
    let passed = 3.0 * 512.0 * 2.0 * (5.0 * 1024.0 + 3.0 * 2048.0);
    close(built(&scenario).volume(0).bytes[0].get() - alone, passed);
}

/// Of each token gates, inputs, `B`, `C` and steps go out and outputs come back, 2 x 2048 + 2 x 512 + 16 + 2048 numbers in bf16,
/// half of them to the other of two ranks with 512 tokens each; backward as much, in 8 layers.
#[test]
fn context_ranks_exchange_the_heads_of_a_state_space() {
    let mut scenario = testing::scenario();
    let kinds = testing::of_kinds(testing::model(8, 1024), 7);
    let pattern = LayerPattern::try_from("M".to_owned()).ok();
    scenario.model = Arc::new(Model { pattern, experts: None, ..kinds });
    scenario.plan.sharding = testing::ddp();
    let alone = built(&scenario).volume(0).bytes[0].get();
    scenario.plan.context = 2;
    close(built(&scenario).volume(0).bytes[0].get() - alone, 8.0 * 2.0 * 7184.0 * 512.0);
    scenario.plan.context = 32;
    let problems = scenario.layout().expect_err("there are 16 groups");
    assert!(problems.iter().any(|problem| problem.what.contains("16 groups of its state space")), "{problems:?}");
}

/// ZeRO++ with scales too few to count.
fn zeropp() -> Sharding {
    let mut sharding = testing::zero3();
    sharding.wire.weights = Format::Int8;
    sharding.wire.gradients = Format::Int4;
    sharding.wire.block = u32::MAX;
    sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Bf16 });
    sharding.two_hop_gradients = true;
    sharding
}

/// [frontier D4, D6]: ZeRO++ sends 0.5 M (N-1)/N + 0.25 M (n-1)/n through a node's ports where ZeRO-3
/// sends 3 M (N-1)/N, M the bf16 weights, scales apart.
#[test]
fn zeropp_sends_a_quarter_of_zero3_out_of_the_node() {
    let node_bytes = |sharding: Sharding| {
        let mut scenario = testing::scenario();
        scenario.plan.sharding = sharding;
        scenario.plan.size = Size::Nodes(4);
        (built(&scenario).volume(0).bytes[1].get() * 4.0, scenario.model.parameters() as f64 * 2.0)
    };
    let (zero3, weights) = node_bytes(testing::zero3());
    let (ranks, nodes) = (16.0, 4.0);
    close(zero3, 3.0 * weights * (ranks - 1.0) / ranks);
    let (sent, _) = node_bytes(zeropp());
    let expected = weights * (0.5 * (ranks - 1.0) / ranks + 0.25 * (nodes - 1.0) / nodes);
    assert!((sent / expected - 1.0).abs() < 1e-6, "{sent} is not {expected}");
}

/// [frontier D4, D6]: counted as what a node must receive, (n-1)/n of each payload: 3 M and 0.75 M. That
/// is what gathers send that go level by level, so that each byte enters a node once.
#[test]
fn a_node_must_receive_a_quarter_under_zeropp() {
    let node_bytes = |sharding: Sharding| {
        let mut scenario = testing::scenario();
        Arc::make_mut(&mut scenario.stack).collectives.hierarchical = true;
        scenario.plan.sharding = sharding;
        (built(&scenario).volume(0).bytes[1].get() * 4.0, scenario.model.parameters() as f64 * 2.0)
    };
    let (zero3, weights) = node_bytes(testing::zero3());
    close(zero3, 3.0 * weights * 0.5);
    let (zeropp, _) = node_bytes(zeropp());
    assert!((zeropp / zero3 - 0.25).abs() < 1e-6, "{zeropp} of {zero3}");
}

#[test]
fn three_levels_leave_the_node_only_at_the_boundary() {
    // Weights over pairs, gradients over the node, optimizer over all: [frontier D4], topo: per step a
    // reduce-scatter and an all-gather of 2 Psi (n-1)/n through the ports of a node, whatever the accumulation.
    let mut sharding = testing::sharding(Extent::Ranks(2), Extent::Node, Extent::System);
    sharding.wire.weights = Format::Int8;
    sharding.wire.gradients = Format::Int4;
    for accumulate in [1, 8] {
        let mut scenario = testing::scenario();
        scenario.plan.sharding = sharding.clone();
        scenario.plan.accumulate = accumulate;
        let weights = scenario.model.parameters() as f64 * 2.0;
        close(built(&scenario).volume(0).bytes[1].get() * 4.0, 2.0 * weights * 0.5);
    }
}

/// [frontier D4]: with int8 at the boundary the same elements leave the node in half the bytes; what is quantised
/// cannot be added on the way around a ring, so it goes all to all.
#[test]
fn a_quantised_boundary_sends_half() {
    let sent = |boundary: Format| {
        let mut sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
        (sharding.wire.boundary, sharding.wire.block) = (boundary, u32::MAX);
        let mut scenario = testing::scenario();
        scenario.plan.sharding = sharding;
        let program = built(&scenario);
        let kinds = program.code.tasks.iter().map(|task| task.label.first.kind);
        (
            program.code.tasks.iter().map(|task| task.label.bytes).sum::<u64>() as f64,
            kinds.filter(|kind| *kind == TaskKind::AllToAll).count(),
        )
    };
    let ((whole, rings), (half, all_to_all)) = (sent(Format::Bf16), sent(Format::Int8));
    assert!((half / whole - 0.5).abs() < 1e-6, "{half} of {whole}");
    assert!(rings == 0 && all_to_all > 0);
}

/// [frontier D4]: before an int8 gather a rank reads its shard in 16 bits and writes it in 8, behind it the whole the
/// other way round. Gradients in int4 are quantised, then read again and added, once in the node and once across.
#[test]
fn quantising_reads_and_writes_memory() {
    let durations = |rate: f64| {
        let mut scenario = testing::scenario();
        Arc::make_mut(&mut scenario.cluster).device.memory_bandwidth = BytesPerSecond::new(rate);
        scenario.plan.sharding = zeropp();
        let program = built(&scenario);
        [TaskKind::AllGather, TaskKind::AllToAll].map(|kind| {
            program.code.tasks.iter().find(|task| task.label.first.kind == kind).expect("one").duration as f64 / PICOS
        })
    };
    let ([gather, reduction], [free_gather, free_reduction]) = (durations(1e12), durations(1e30));
    // 12 x 1024^2 parameters, on 2 nodes of 4.
    let parameters = 12.0 * 1024.0 * 1024.0;
    let near = |seconds: f64, bytes: f64| assert!((seconds / (bytes / 1e12) - 1.0).abs() < 1e-6, "{seconds}");
    near(gather - free_gather, 3.0 * parameters * (1.0 + 1.0 / 8.0));
    near(reduction - free_reduction, (2.0 + 0.5 + 0.5) * parameters * (1.0 + 1.0 / 4.0));
}

/// The second copy is made from the gathered unit, so both are in memory while forward computes [frontier D6].
#[test]
fn the_second_copy_is_there_as_soon_as_the_unit_is() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = zeropp();
    // 12 x 1024^2 parameters of two bytes over four ranks.
    let share = 12 * 1024 * 1024 * 2 / 4;
    let program = built(&scenario);
    let of = |kind: TaskKind| program.code.tasks.iter().find(move |task| task.label.first.kind == kind).expect("one");
    assert_eq!(of(TaskKind::Forward).allocates[MemoryKind::Secondary], share);
    assert_eq!(of(TaskKind::Backward).frees[MemoryKind::Secondary], share);
}

/// FSDP2 keeps in forward what a gather left until the next unit is copied out of its own: beside the unit that computes
/// and the one that is under way, a third. In backward it goes at once.
#[test]
fn what_a_gather_leaves_stays_in_forward() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = testing::zero3();
    let unit = 12 * 1024 * 1024 * 2;
    let held_by = |scenario: &Scenario| {
        let program = built(scenario);
        let of = |kind: TaskKind| program.code.tasks.iter().find(|task| task.label.first.kind == kind).expect("one");
        [TaskKind::AllGather, TaskKind::Forward, TaskKind::Backward].map(|kind| {
            let task = of(kind);
            [task.allocates[MemoryKind::Gathered], task.frees[MemoryKind::Gathered]]
        })
    };
    assert_eq!(held_by(&scenario), [[unit, 0], [0, unit], [0, unit]]);
    Arc::make_mut(&mut scenario.stack).copies_out = true;
    assert_eq!(held_by(&scenario), [[unit, 0], [unit, 2 * unit], [0, unit]]);
}

#[test]
fn accumulation_repeats_what_is_sharded_and_nothing_else() {
    let moved = |sharding: Sharding, reduction: Reduction, accumulate: u32| {
        let mut scenario = testing::scenario();
        (scenario.plan.sharding, scenario.plan.reduction) = (sharding, reduction);
        scenario.plan.accumulate = accumulate;
        sent(&scenario)
    };
    // ZeRO-3: everything, four times over.
    let once = moved(testing::zero3(), Reduction::Default, 1);
    close(moved(testing::zero3(), Reduction::Default, 4), 4.0 * once);
    // DDP: one all-reduce, at the end, or one at each micro-batch.
    let once = moved(testing::ddp(), Reduction::Default, 1);
    close(moved(testing::ddp(), Reduction::Default, 4), once);
    close(moved(testing::ddp(), Reduction::MicroBatch, 4), 4.0 * once);
    // ZeRO-3 that reduces once: 4 x 2 gathers and one reduction of 3 passes.
    let pass = moved(testing::zero3(), Reduction::Default, 1) / 3.0;
    close(moved(testing::zero3(), Reduction::Step, 4), 9.0 * pass);
}

#[test]
fn sharding_further_never_needs_more_state() {
    let state = |sharding: Sharding| {
        let mut scenario = testing::scenario();
        scenario.plan.sharding = sharding;
        built(&scenario).states[0].device.total().get()
    };
    let extents = || [Extent::Device, Extent::Ranks(2), Extent::Node, Extent::System];
    for (weights, gradients, optimizer) in triples_of(extents) {
        let here = state(testing::sharding(weights.clone(), gradients.clone(), optimizer.clone()));
        let wider = |extent: &Extent| extents().into_iter().skip_while(move |other| other != extent).nth(1);
        for further in [
            wider(&optimizer).map(|optimizer| testing::sharding(weights.clone(), gradients.clone(), optimizer)),
            wider(&gradients).map(|gradients| testing::sharding(weights.clone(), gradients, optimizer.clone())),
            wider(&weights).map(|weights| testing::sharding(weights, gradients.clone(), optimizer.clone())),
        ]
        .into_iter()
        .flatten()
        {
            assert!(state(further) <= here);
        }
    }
    // 16 bytes per parameter unsharded; 16 / 8 over all [frontier D3].
    close(state(testing::ddp()), 16.0 * 12.0 * 8.0 * 1024.0 * 1024.0);
    close(state(testing::zero3()), 2.0 * 12.0 * 8.0 * 1024.0 * 1024.0);
}

/// All triples of extents.
fn triples_of(extents: impl Fn() -> [Extent; 4]) -> Vec<(Extent, Extent, Extent)> {
    let mut triples = Vec::new();
    for weights in extents() {
        for gradients in extents() {
            for optimizer in extents() {
                triples.push((weights.clone(), gradients.clone(), optimizer));
            }
        }
    }
    triples
}

#[test]
fn selective_recompute_that_keeps_attention_sends_nothing_again() {
    let with = |recompute: Recompute, core: f64| {
        let mut scenario = testing::scenario();
        Arc::make_mut(&mut scenario.stack).selective.core = core;
        scenario.plan.context = 2;
        scenario.plan.recompute = recompute;
        // In layers of one unit, and in layers whose attention is a unit of its own.
        let mut apart = scenario.clone();
        let placement =
            Placement { layers: None, operator: Operator::Attention, extents: Extents::default(), split: 1 };
        apart.plan.operators = vec![placement];
        [sent(&scenario), sent(&apart)]
    };
    let [none, kept, repeated] =
        [with(Recompute::None, 0.0), with(Recompute::Selective, 0.0), with(Recompute::Selective, 1.0)];
    for way in 0..2 {
        close(kept[way], none[way]);
    }
    assert!(repeated[0] > kept[0] && repeated[1] > kept[1], "{repeated:?} sends no more than {kept:?}");
}

#[test]
fn gradients_that_micro_batches_add_up_are_kept_in_a_format_of_their_own() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.stack).unreduced_format = Some(Format::Fp32);
    scenario.plan.sharding = testing::zero3();
    scenario.plan.reduction = Reduction::Step;
    let parameters = 8.0 * 12.0 * 1_048_576.0;
    let held = |scenario: &Scenario| built(scenario).states[0].device.gradients.get();
    // A single micro-batch adds nothing up.
    scenario.plan.accumulate = 1;
    close(held(&scenario), 2.0 * parameters);
    scenario.plan.accumulate = 2;
    close(held(&scenario), 4.0 * parameters);
    // Without sharded gradients nothing is cast: DDP keeps them as it trains.
    scenario.plan.sharding = testing::ddp();
    close(held(&scenario), 2.0 * parameters);
}

/// gpt-neox-20b on 16 nodes of 8, tp 8, ZeRO-1: Megatron-LM sums gradients in the fp32 that it accumulates them in and
/// gathers weights in bf16, (4 + 2) bytes x P / 8 x 15/16 out of each device; in fp16 it sums what it trains in, and
/// Recipes of `NeMo` sum in bf16: (2 + 2).
#[test]
fn megatron_sums_gradients_in_fp32_where_it_trains_in_bf16() {
    let out_of_the_node = |stack: &str, precision: &str| {
        let ids =
            format!("cluster = \"a100-40gb-dgx\"\nstack = \"{stack}\"\nmodel = \"gpt-neox-20b\"\nstrategy = \"zero1\"");
        let plan = format!("nodes = 16\nmicro_batch = 1\ntensor = 8\nprecision = \"{precision}\"");
        let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
        let scenario = Library::embedded().resolve(&file).expect("presets");
        let each = scenario.model.parameters() as f64 / 8.0 * 15.0 / 16.0;
        built(&scenario).volume(0).bytes[scenario.cluster.levels.len() - 1].get() / each
    };
    for (stack, precision, bytes) in [
        ("megatron-2022", "bf16", 6.0),
        ("megatron-2024", "bf16", 6.0),
        ("megatron-2022", "fp16", 4.0),
        ("nemo-2024", "bf16", 4.0),
    ] {
        let found = out_of_the_node(stack, precision);
        assert!((found / bytes - 1.0).abs() < 1e-3, "{stack} in {precision}: {found} bytes, not {bytes}");
    }
}

/// GPT-3 175B on 8 tensor ranks, in all-gathers and reduce-scatters of the residual stream per layer: Megatron-LM gathers
/// the inputs of backward again, 4 forward and 6 backward, and 4 more with full recompute; PyTorch keeps what it has
/// gathered, 4 and 4. The embedding takes one each way; the head one, and in backward one or both.
#[test]
fn sequence_parallelism_gathers_inputs_again_or_keeps_them() {
    // The loss sums 4 bytes of each token three times, around a ring and back, in LL, which sends twice the bytes.
    let (gather, loss) = (2048.0 * 12288.0 * 2.0 * 7.0 / 8.0, 3.0 * 2.0 * 2.0 * 2048.0 * 4.0 * 7.0 / 8.0);
    let per_layer = |stack: &str, recompute: &str, ends: f64| {
        let ids =
            format!("cluster = \"a100-80gb-dgx\"\nstack = \"{stack}\"\nmodel = \"gpt3-175b\"\nstrategy = \"ddp\"");
        let plan = format!("nodes = 1\nmicro_batch = 1\ntensor = 8\nrecompute = \"{recompute}\"");
        let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
        let scenario = Library::embedded().resolve(&file).expect("presets");
        ((sent(&scenario) - loss) / gather - ends) / 96.0
    };
    for (stack, recompute, transfers, ends) in [
        ("megatron-2022", "none", 10.0, 5.0),
        ("megatron-2022", "full", 14.0, 5.0),
        ("torchtitan", "none", 8.0, 4.0),
        ("torchtitan", "full", 12.0, 4.0),
    ] {
        close(per_layer(stack, recompute, ends), transfers);
    }
}
