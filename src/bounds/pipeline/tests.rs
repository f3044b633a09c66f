//! The laws of [layered B8] and the table of [layered C4].

use super::*;

fn pipeline(ranks: u32, stages: u32, micro_batches: u32, breadth_first: bool) -> Pipeline {
    Pipeline { ranks, stages, micro_batches, breadth_first }
}

/// [layered B8], golden values: ranks, layers, micro-batches, overhead contiguous and with a layer per stage.
#[test]
fn bubbles_of_contiguous_and_modular_stages() {
    for (ranks, layers, micro_batches, contiguous, modular) in
        [(5, 160, 5, 0.8, 0.025), (8, 64, 8, 0.875, 0.109_375), (4, 16, 8, 0.375, 0.09375)]
    {
        let bubble = |stages: u32| pipeline(ranks, stages, micro_batches, true).bubble();
        assert!((bubble(1) - contiguous).abs() < 1e-12, "{}", bubble(1));
        assert!((bubble(layers / ranks) - modular).abs() < 1e-12, "{}", bubble(layers / ranks));
    }
}

/// [layered B8], fewer micro-batches than ranks: 4 ranks, 3 stages, 2 micro-batches: a group of slots lasts
/// as long as there are ranks, 2 x 4 + 2 + 3 = 13 for 6 of work.
#[test]
fn too_few_micro_batches_idle_between_stages() {
    assert!((pipeline(4, 3, 2, true).bubble() - (13.0 / 6.0 - 1.0)).abs() < 1e-12);
    assert!(pipeline(1, 1, 7, false).bubble().abs() < 1e-12);
}

/// [layered C4]: time over ideal, and peak of checkpoints in `GPipe`, 1F1B, depth first and breadth first.
#[test]
fn the_table_of_schedules() {
    for (ranks, stages, micro_batches, [plain, looped], checkpoints) in [
        (4, 4, 8, [1.3750, 1.09375], [32, 16, 19, 32]),
        (4, 2, 8, [1.3750, 1.1875], [16, 8, 11, 16]),
        (8, 4, 16, [1.4375, 1.109_375], [64, 32, 39, 64]),
        (8, 8, 8, [1.8750, 1.109_375], [64, 64, 64, 64]),
        (8, 8, 64, [1.109_375, 1.013_672], [512, 64, 71, 512]),
    ] {
        let contiguous = pipeline(ranks, 1, micro_batches, false);
        assert!((1.0 + contiguous.bubble() - plain).abs() < 5e-7);
        // The table counts what a looped stage keeps: a contiguous one keeps as much as all of them.
        let of = |schedule: Schedule| contiguous.checkpoints(schedule) * stages;
        let (gpipe, one_one) = (of(Schedule::GPipe), of(Schedule::OneForwardOneBackward));
        let depth = pipeline(ranks, stages, micro_batches, false);
        let breadth = Pipeline { breadth_first: true, ..depth };
        assert!((1.0 + depth.bubble() - looped).abs() < 5e-7);
        let (depth, breadth) = (depth.checkpoints(Schedule::Interleaved), breadth.checkpoints(Schedule::BreadthFirst));
        assert_eq!([gpipe, one_one, depth, breadth], checkpoints);
    }
}
