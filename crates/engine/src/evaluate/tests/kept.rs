//! What is kept on the host of a node and on its drives.

use super::*;
use crate::plan::{Imbalance, LoraTargets, TrainMethod, Tuning};
use crate::program::HostMemory;

const SQUARE: f64 = 1024.0 * 1024.0;

/// Weights of the toy's 8 layers, of which it has nothing else.
const LAYERS: f64 = 8.0 * 12.0 * SQUARE;

fn offloaded(offload: Offload) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.plan.offload = offload;
    scenario
}

fn host(scenario: &Scenario) -> HostMemory {
    evaluate(scenario).host_memory
}

/// Four ranks of a node each have an eighth of 8 layers' frozen weights at 2 B, and of their adapters 2 B of weights, 12 of state
/// and 4 of gradients; whole, where DDP divides nothing. Adapters of rank 16 beside queries and values: 8 x 2 x 16 x 2048. A host
/// that has a byte less refuses.
#[test]
fn frozen_weights_and_adapters_lie_on_the_host() {
    let adapters = 8.0 * 2.0 * 16.0 * 2048.0;
    for (sharding, ranks) in [(testing::zero3(), 8.0), (testing::ddp(), 1.0)] {
        let mut scenario = offloaded(Offload::State);
        let targets: LoraTargets = "q,v".parse().expect("matrices");
        scenario.plan.tuning = Tuning { method: TrainMethod::Lora, rank: 16, targets, ..Tuning::default() };
        scenario.plan.sharding = sharding;
        let expected = 4.0 * (2.0 * (LAYERS + adapters) + (12.0 + 4.0) * adapters) / ranks;
        close(host(&scenario).total().get(), expected);
        for (memory, fits) in [(expected + 1.0, true), (expected - 1.0, false)] {
            Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(memory, 1e11));
            assert_eq!(summary(&scenario, &mut Workspace::default()).is_ok(), fits);
        }
        scenario.plan.offload = Offload::Optimizer;
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, 1e11));
        close(host(&scenario).total().get(), 4.0 * 16.0 * adapters / ranks);
    }
}

/// Six layers, each with 4 experts of 2 squares, a mixer of 4 and a router of 4 columns. With experts divided among the 4 ranks of
/// a node and everything else on each of them, a rank has one expert of each layer and all else: 2 B of weights; 12 of state and 4
/// of gradients lie over the ranks that hold the same, two for an expert and eight for the rest.
#[test]
fn experts_lie_on_the_host_as_their_mesh_divides_them() {
    let mut scenario = offloaded(Offload::State);
    scenario.model = Arc::new(testing::of_kinds(testing::model(6, 1024), 1));
    (scenario.plan.experts.ranks, scenario.plan.experts.imbalance) = (4, Imbalance::Factor(1.0));
    scenario.plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
    let (expert, rest) = (6.0 * 2.0 * SQUARE, 6.0 * (4.0 * SQUARE + 4.0 * 1024.0));
    let HostMemory { state, .. } = host(&scenario);
    close(state.weights.get(), 4.0 * 2.0 * (expert + rest));
    close(state.optimizer.get(), 4.0 * 12.0 * (expert / 2.0 + rest / 8.0));
    close(state.gradients.get(), 4.0 * 4.0 * (expert / 2.0 + rest / 8.0));
}

/// Muon keeps 4 B of a master weight and 4 of one moment of layers' matrices; of an embedding and logits of 1024 rows Adam keeps 4
/// and 8. Gradients are 4 B of either, and each of a node's four ranks has an eighth.
#[test]
fn muon_leaves_embedding_and_logits_to_adam_on_the_host_too() {
    let mut scenario = offloaded(Offload::Optimizer);
    let model = Arc::make_mut(&mut scenario.model);
    (model.vocab, model.tied) = (1024, false);
    let ends = model.parameters() as f64 - LAYERS;
    scenario.plan.optimizer = Optimizer::Muon;
    let HostMemory { state, .. } = host(&scenario);
    close(state.optimizer.get(), 4.0 * (8.0 * LAYERS + 12.0 * ends) / 8.0);
    close(state.gradients.get(), 4.0 * 4.0 * (LAYERS + ends) / 8.0);
}

/// A layer's input is 1024 tokens x 1024 x 2 B = 2 MiB. Of 8 layers backward does not reach the first five, so that three are kept;
/// nothing of the frozen ones. Each of a node's four ranks has its own.
#[test]
fn frozen_layers_leave_no_checkpoints() {
    let mut scenario = offloaded(Offload::Checkpoints);
    scenario.plan.recompute = Recompute::Full;
    close(host(&scenario).activations.get(), 4.0 * 8.0 * 2.0 * SQUARE);
    Arc::make_mut(&mut scenario.model).frozen_layers = 5;
    close(host(&scenario).activations.get(), 4.0 * 3.0 * 2.0 * SQUARE);
}

/// Four stages of two layers over eight devices: the first node has two devices of rank 0 and two of rank 1. With 1F1B these hold 4
/// and 3 micro-batches before their first backward, with `GPipe` all eight.
#[test]
fn a_schedule_says_how_many_checkpoints_a_host_has() {
    for (schedule, held) in [(Schedule::OneForwardOneBackward, 4.0 + 3.0), (Schedule::GPipe, 8.0 + 8.0)] {
        let mut scenario = offloaded(Offload::Checkpoints);
        let plan = &mut scenario.plan;
        (plan.pipeline, plan.accumulate, plan.schedule, plan.recompute) = (4, 8, schedule, Recompute::Full);
        plan.sharding = testing::ddp();
        close(host(&scenario).activations.get(), 2.0 * held * 2.0 * 2.0 * SQUARE);
    }
}

/// Interleaved on two ranks of two stages each, rank 0 has passed 5 forwards before its first backward: 2 (2 - 1) + (2 - 1) 2 in its
/// warm-up and one, of stages 0 0 1 1 0. Layers are two a stage.
#[test]
fn virtual_stages_share_the_host() {
    let mut scenario = offloaded(Offload::Checkpoints);
    let plan = &mut scenario.plan;
    (plan.pipeline, plan.stages_per_rank, plan.schedule) = (2, 2, Schedule::Interleaved);
    (plan.accumulate, plan.recompute, plan.sharding) = (8, Recompute::Full, testing::ddp());
    // Four devices of rank 0 fill the first node.
    close(host(&scenario).activations.get(), 4.0 * 5.0 * 2.0 * 2.0 * SQUARE);
}

/// With embedding and logits of 8192 rows on a pipeline of two, each node has a stage: the first 4 layers and the embedding, or the
/// last 4 and the logits. On four devices of one node both lie on it, two devices each.
#[test]
fn the_fullest_node_counts() {
    let mut scenario = offloaded(Offload::Optimizer);
    let model = Arc::make_mut(&mut scenario.model);
    (model.vocab, model.tied) = (8192, false);
    let ends = [model.embedding_parameters(), model.head_parameters()].map(|count| count as f64);
    (scenario.plan.pipeline, scenario.plan.sharding) = (2, testing::ddp());
    scenario.plan.accumulate = 2;
    let half = LAYERS / 2.0;
    close(host(&scenario).total().get(), 4.0 * 16.0 * (half + ends[0].max(ends[1])));
    scenario.plan.size = Size::Devices(4);
    close(host(&scenario).total().get(), 2.0 * 16.0 * (LAYERS + ends[0] + ends[1]));
}

/// Two stages of four layers, of which each second one has experts: each rank's host keeps all four inputs of both micro-batches, and
/// each comes back once. In turns only the first layer's came.
#[test]
fn checkpoints_of_layers_in_turns_come_back() {
    let mut scenario = offloaded(Offload::Checkpoints);
    scenario.model = Arc::new(testing::of_kinds(testing::model(8, 1024), 3));
    let plan = &mut scenario.plan;
    (plan.experts.ranks, plan.experts.imbalance) = (4, Imbalance::Factor(1.0));
    (plan.pipeline, plan.accumulate, plan.recompute, plan.sharding) = (2, 2, Recompute::Full, testing::ddp());
    let HostTraffic { to, from, .. } = evaluate(&scenario).host;
    let inputs = 2.0 * 4.0 * 2.0 * SQUARE;
    close(to.bytes.get(), inputs);
    close(from.bytes.get(), inputs);
}
