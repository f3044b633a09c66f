//! Specifications read back to the plan that they were made of, and say what FSDP2 makes of it.

use std::sync::Arc;

use super::*;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::plan::{Extent, Extents, Layers, Operator, Placement, Recompute, Size};
use shardscope_engine::testing;

fn placement(layers: Option<(u32, u32)>, operator: Operator, extent: Extent, split: u32) -> Placement {
    Placement {
        layers: layers.map(|(first, last)| Layers { first, last }),
        operator,
        extents: Extents { weights: Some(extent.clone()), gradients: Some(extent.clone()), optimizer: Some(extent) },
        split,
    }
}

/// Two nodes of four; the first layers replicated, the MLPs of the last ones in slices, the rest as the plan says.
fn scenario() -> Scenario {
    let mut scenario = testing::scenario();
    (Arc::make_mut(&mut scenario.model).vocab, scenario.plan.accumulate) = (4096, 3);
    scenario.plan.recompute = Recompute::Share(0.5);
    scenario.plan.operators = vec![
        placement(Some((0, 1)), Operator::Layer, Extent::Device, 1),
        placement(Some((5, 7)), Operator::Mlp, Extent::System, 4),
        placement(None, Operator::Embedding, Extent::Node, 1),
    ];
    scenario
}

fn spec(scenario: &Scenario) -> Fsdp2Spec {
    specify(scenario, Names::Torchtitan).expect("for FSDP2")
}

/// The plan that a specification reads back to is the same: its step and its memory are, and each operator lies
/// where it lay.
#[test]
fn a_specification_reads_back_to_the_same_plan() {
    let mut workspace = Workspace::default();
    for recompute in [Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Share(0.5)] {
        let mut scenario = scenario();
        scenario.plan.recompute = recompute;
        let text = spec(&scenario).to_json().expect("JSON");
        let back = Fsdp2Spec::parse(&text).expect("what was written");
        assert_eq!(back, spec(&scenario));
        let mut other = scenario.clone();
        // Nothing is left to the plan's own sharding, nor to its batch.
        (other.plan.sharding, other.plan.accumulate) = (testing::ddp(), 1);
        other.plan = back.over(&other.plan);
        assert_eq!(other.plan.recompute, recompute);
        assert_eq!(summary(&other, &mut workspace), summary(&scenario, &mut workspace));
    }
}

#[test]
fn modules_say_what_fsdp2_needs() {
    let found = spec(&scenario()).modules;
    let brief: Vec<(String, Option<String>, u32, u32, u32, Recompute)> = found
        .iter()
        .map(|one| {
            let layers = one.layers.map(|layers| layers.to_string());
            (one.path.clone(), layers, one.shard, one.replicate, one.split, one.recompute)
        })
        .collect();
    let layers = |text: &str| Some(text.to_owned());
    // Half of the eight layers are computed again: 0 to 3.
    let (block, full, none) = ("layers.{layer}".to_owned(), Recompute::Full, Recompute::None);
    let expected = [
        (block.clone(), layers("0-1"), 1, 8, 1, full),
        (block.clone(), layers("2-3"), 8, 1, 1, full),
        (block.clone(), layers("4"), 8, 1, 1, none),
        (format!("{block}.attention"), layers("5-7"), 8, 1, 1, none),
        (format!("{block}.feed_forward"), layers("5-7"), 8, 1, 4, none),
        ("tok_embeddings".to_owned(), None, 4, 2, 1, none),
        ("output".to_owned(), None, 8, 1, 1, none),
    ];
    assert_eq!(brief, expected);
    assert!(found.iter().all(|one| one.exact));
    // What is replicated is summed once, at the end of the step; what is sharded at each micro-batch.
    assert_eq!((found[0].reduce, found[1].reduce), (Reduce::Step, Reduce::MicroBatch));
    assert_eq!(
        (found[0].reshard_after_forward, found[1].reshard_after_forward),
        (Reshard::Drop(false), Reshard::Drop(true))
    );
}

/// ZeRO-2 keeps what it has gathered until the step ends; weights on a narrower level only come close.
#[test]
fn what_fsdp2_does_otherwise_is_said() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = testing::sharding(Extent::Device, Extent::System, Extent::System);
    let zero2 = &spec(&scenario).modules[0];
    assert!(zero2.exact && !zero2.reshard_after_backward && zero2.shard == 8);
    assert_eq!(zero2.reshard_after_forward, Reshard::Drop(false));
    scenario.plan.sharding = testing::sharding(Extent::Node, Extent::System, Extent::System);
    let narrow = spec(&scenario);
    assert_eq!((narrow.modules[0].exact, narrow.modules[0].reshard_after_forward), (false, Reshard::Over(4)));
    assert!(narrow.notes[0].contains("layers.{layer}: weights are sharded over the optimizer's ranks too"));
    scenario.plan.sharding = testing::zero3();
    scenario.plan.sharding.wire.weights = Format::Int8;
    assert!(spec(&scenario).notes[0].contains("does not quantise"));
    let mut layered = self::scenario();
    layered.plan.accumulation = Accumulation::Layered;
    assert!(spec(&layered).notes.iter().any(|note| note.contains("not layer by layer")));
    layered.plan.accumulate = 1;
    assert!(!spec(&layered).notes.iter().any(|note| note.contains("not layer by layer")));
}

#[test]
fn other_parallelism_is_refused() {
    let mut scenario = testing::scenario();
    scenario.plan.size = Size::Nodes(2);
    (scenario.plan.tensor, scenario.plan.pipeline) = (2, 2);
    let problems = specify(&scenario, Names::Torchtitan).expect_err("not for FSDP2");
    assert_eq!(
        problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(),
        ["plan.tensor", "plan.pipeline"]
    );
}
