//! Steps of the toy scenario: 8 layers, two nodes of four devices.

use crate::evaluate::{Workspace, traced};
use crate::plan::{Offload, Recompute, Sharding, Size};
use crate::testing;

use super::*;

/// 4 micro-batches on a sharding.
fn accumulated(sharding: Sharding, accumulation: Accumulation) -> Scenario {
    let mut scenario = testing::scenario();
    let plan = &mut scenario.plan;
    (plan.sharding, plan.accumulate, plan.accumulation) = (sharding, 4, accumulation);
    scenario
}

/// What is said of the spans of a lane, each once.
fn said(scenario: &Scenario, lane: Lane) -> Vec<Turn> {
    let (_, trace) = traced(scenario, &mut Workspace::default()).expect("a valid scenario");
    let mut turns: Vec<Turn> = trace.spans_on(0, lane).iter().map(|span| Turn::of(span, scenario)).collect();
    turns.dedup();
    turns
}

fn each(count: u32) -> Vec<Turn> {
    (0..count).map(Turn::One).collect()
}

/// ZeRO-3 gathers and reduces for each micro-batch; replicated gradients are summed over all before they are reduced.
#[test]
fn a_reduction_at_the_end_is_of_all_micro_batches() {
    let zero3 = accumulated(testing::zero3(), Accumulation::Standard);
    assert_eq!((said(&zero3, Lane::Gather), said(&zero3, Lane::Reduce)), (each(4), each(4)));
    let ddp = accumulated(testing::ddp(), Accumulation::Standard);
    assert_eq!(said(&ddp, Lane::Reduce), [Turn::All]);
    let mut step = zero3;
    step.plan.reduction = Reduction::Step;
    assert_eq!(said(&step, Lane::Reduce), [Turn::All]);
}

/// Layer by layer every micro-batch meets the layer while it is there [layered C5].
#[test]
fn layer_by_layer_transfers_are_of_no_one_micro_batch() {
    for sharding in [testing::zero3(), testing::ddp()] {
        let layered = accumulated(sharding, Accumulation::Layered);
        assert_eq!(said(&layered, Lane::Reduce), [Turn::All]);
        assert!(said(&layered, Lane::Compute).contains(&Turn::One(3)));
    }
    let zero3 = accumulated(testing::zero3(), Accumulation::Layered);
    assert_eq!(said(&zero3, Lane::Gather), [Turn::Unsaid]);
}

/// Depth first a stage is left after each group of as many micro-batches as ranks, breadth first once.
#[test]
fn a_stage_is_left_by_a_group_or_by_all() {
    let pipeline = |schedule| {
        let mut scenario = accumulated(testing::zero3(), Accumulation::Standard);
        let plan = &mut scenario.plan;
        (plan.pipeline, plan.stages_per_rank, plan.schedule, plan.size) = (2, 4, schedule, Size::Nodes(2));
        scenario
    };
    assert_eq!(said(&pipeline(Schedule::Interleaved), Lane::Reduce), [Turn::Unsaid]);
    assert_eq!(said(&pipeline(Schedule::BreadthFirst), Lane::Reduce), [Turn::All]);
}

/// A checkpoint is of one micro-batch, a stage's weights are not.
#[test]
fn copies_are_of_a_micro_batch_if_they_are_checkpoints() {
    let offloaded = |offload, accumulation| {
        let mut scenario = accumulated(testing::zero3(), accumulation);
        (scenario.plan.offload, scenario.plan.recompute) = (offload, Recompute::Full);
        said(&scenario, Lane::HostOut)
    };
    assert!(offloaded(Offload::Checkpoints, Accumulation::Layered).contains(&Turn::One(3)));
    assert_eq!(offloaded(Offload::State, Accumulation::Layered), [Turn::Unsaid]);
    assert_eq!(offloaded(Offload::State, Accumulation::Standard), each(4));
}
