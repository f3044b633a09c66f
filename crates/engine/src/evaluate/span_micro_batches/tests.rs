//! Steps of the toy scenario: 8 layers, two nodes of four devices.

use crate::evaluate::{Workspace, traced};
use crate::plan::{Offload, Recompute, Sharding, Size};
use crate::testing;

use super::*;
use crate::plan::{Accumulation, Schedule};

/// 4 micro-batches on a sharding.
fn accumulated(sharding: Sharding, accumulation: Accumulation) -> Scenario {
    let mut scenario = testing::scenario();
    let plan = &mut scenario.plan;
    (plan.sharding, plan.accumulate, plan.accumulation) = (sharding, 4, accumulation);
    scenario
}

/// What is said of the spans of a lane, each once.
fn said(scenario: &Scenario, lane: Stream) -> Vec<SpanMicroBatches> {
    let checked = scenario.checked().expect("a valid scenario");
    let (_, trace) = traced(&checked, &mut Workspace::default()).expect("a step");
    let mut turns: Vec<SpanMicroBatches> =
        trace.spans_on(0, lane).iter().map(|span| span.micro_batches(scenario, checked.layout())).collect();
    turns.dedup();
    turns
}

fn each(count: u32) -> Vec<SpanMicroBatches> {
    (0..count).map(SpanMicroBatches::One).collect()
}

/// ZeRO-3 gathers and reduces for each micro-batch; replicated gradients are summed over all before they are reduced.
#[test]
fn a_reduction_at_the_end_is_of_all_micro_batches() {
    let zero3 = accumulated(testing::zero3(), Accumulation::Standard);
    assert_eq!((said(&zero3, Stream::Gather), said(&zero3, Stream::Reduce)), (each(4), each(4)));
    let ddp = accumulated(testing::ddp(), Accumulation::Standard);
    assert_eq!(said(&ddp, Stream::Reduce), [SpanMicroBatches::All]);
    let mut step = zero3;
    step.plan.reduction = Reduction::Step;
    assert_eq!(said(&step, Stream::Reduce), [SpanMicroBatches::All]);
}

/// Layer by layer every micro-batch meets the layer while it is there [layered C5].
#[test]
fn layer_by_layer_transfers_are_of_no_one_micro_batch() {
    for sharding in [testing::zero3(), testing::ddp()] {
        let layered = accumulated(sharding, Accumulation::Layered);
        assert_eq!(said(&layered, Stream::Reduce), [SpanMicroBatches::All]);
        assert!(said(&layered, Stream::Compute).contains(&SpanMicroBatches::One(3)));
    }
    let zero3 = accumulated(testing::zero3(), Accumulation::Layered);
    assert_eq!(said(&zero3, Stream::Gather), [SpanMicroBatches::Unsaid]);
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
    assert_eq!(said(&pipeline(Schedule::Interleaved), Stream::Reduce), [SpanMicroBatches::Unsaid]);
    assert_eq!(said(&pipeline(Schedule::BreadthFirst), Stream::Reduce), [SpanMicroBatches::All]);
}

/// A checkpoint is of one micro-batch, a stage's weights are not.
#[test]
fn copies_are_of_a_micro_batch_if_they_are_checkpoints() {
    let offloaded = |offload, accumulation| {
        let mut scenario = accumulated(testing::zero3(), accumulation);
        (scenario.plan.offload, scenario.plan.recompute) = (offload, Recompute::Full);
        said(&scenario, Stream::HostOut)
    };
    assert!(offloaded(Offload::Checkpoints, Accumulation::Layered).contains(&SpanMicroBatches::One(3)));
    assert_eq!(offloaded(Offload::State, Accumulation::Layered), [SpanMicroBatches::Unsaid]);
    assert_eq!(offloaded(Offload::State, Accumulation::Standard), each(4));
}
