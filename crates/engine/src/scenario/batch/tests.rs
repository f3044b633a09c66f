use crate::plan::{GlobalBatch, Schedule, Size};
use crate::testing;

use super::*;

/// 2 nodes of 4 devices: 8 data ranks.
fn held(batch: GlobalBatch, micro_batch: u32) -> Scenario {
    let mut scenario = testing::scenario();
    let plan = &mut scenario.plan;
    (plan.size, plan.global_batch, plan.micro_batch) = (Size::Nodes(2), batch, micro_batch);
    scenario.settle_batch();
    scenario
}

#[test]
fn accumulation_follows_from_the_batch() {
    // 1,024 sequences / (8 ranks x 2) = 64.
    let scenario = held(GlobalBatch::Sequences(1024), 2);
    assert_eq!((scenario.plan.accumulate, scenario.sequences()), (64, 1024.0));
    assert!(scenario.divides_batch().is_ok() && scenario.keeps_batch().is_ok());
}

#[test]
fn the_nearest_batch_is_taken_and_the_fewer_micro_batches_of_two_as_near() {
    // 8 ranks x 3 = 24 at once: 1,024 / 24 = 42.67, so 43 x 24 = 1,032, 0.8 % away.
    let scenario = held(GlobalBatch::Sequences(1024), 3);
    assert_eq!((scenario.plan.accumulate, scenario.sequences()), (43, 1032.0));
    assert!(scenario.keeps_batch().is_ok());
    let refused = scenario.divides_batch().expect_err("does not divide");
    assert_eq!(refused.fix, "choose 1008 or 1032, another micro-batch, or free");
    // 12 is half-way between 8 and 16.
    assert_eq!(held(GlobalBatch::Sequences(12), 1).plan.accumulate, 1);
}

#[test]
fn a_batch_beyond_five_percent_is_not_kept() {
    // 8 ranks x 8 = 64 at once; 100 sequences are nearest to 128, 28 % away.
    let scenario = held(GlobalBatch::Sequences(100), 8);
    assert!((scenario.sequences() - 128.0).abs() < 1e-9);
    assert!(scenario.keeps_batch().is_err());
    assert_eq!(scenario.accumulate_for(8), None);
    // 2 x 8 = 16 at once: 96 sequences, 4 % away.
    assert_eq!(scenario.accumulate_for(2), Some(6));
}

#[test]
fn tokens_are_sequences_of_the_length_that_there_is() {
    let mut scenario = held(GlobalBatch::Tokens(4e6), 1);
    // 4e6 tokens are 1,953 sequences of 2,048, of which 8 ranks take 244 x 8 = 1,952.
    scenario.plan.sequence = 2048;
    scenario.settle_batch();
    assert_eq!((scenario.wanted_sequences(), scenario.sequences()), (Some(1953.0), 1952.0));
}

#[test]
fn an_interleaved_pipeline_takes_whole_groups_of_micro_batches() {
    let mut scenario = held(GlobalBatch::Sequences(100), 1);
    let plan = &mut scenario.plan;
    (plan.pipeline, plan.stages_per_rank, plan.schedule) = (4, 2, Schedule::Interleaved);
    scenario.settle_batch();
    // 2 data ranks x 4 micro-batches at once: 100 / 8 = 12.5, of which 12 groups are as near as 13.
    assert_eq!((scenario.plan.accumulate, scenario.sequences()), (48, 96.0));
}
