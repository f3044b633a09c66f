//! The laws of [layered B8] and the table of [layered C4].

use super::*;

fn pipeline(ranks: u32, stages: u32, micro_batches: u32, schedule: Schedule) -> Pipeline {
    Pipeline { counts: PipelineCounts { ranks, stages, micro_batches }, rules: schedule.rules() }
}

/// [layered B8], golden values: ranks, layers, micro-batches, overhead contiguous and with a layer per stage.
#[test]
fn bubbles_of_contiguous_and_modular_stages() {
    for (ranks, layers, micro_batches, contiguous, modular) in
        [(5, 160, 5, 0.8, 0.025), (8, 64, 8, 0.875, 0.109_375), (4, 16, 8, 0.375, 0.09375)]
    {
        let bubble = |stages: u32| pipeline(ranks, stages, micro_batches, Schedule::BreadthFirst).bubble();
        assert!((bubble(1) - contiguous).abs() < 1e-12, "{}", bubble(1));
        assert!((bubble(layers / ranks) - modular).abs() < 1e-12, "{}", bubble(layers / ranks));
    }
}

/// [layered B8], fewer micro-batches than ranks: 4 ranks, 3 stages, 2 micro-batches: a group of slots lasts
/// as long as there are ranks, 2 x 4 + 2 + 3 = 13 for 6 of work.
#[test]
fn too_few_micro_batches_idle_between_stages() {
    assert!((pipeline(4, 3, 2, Schedule::BreadthFirst).bubble() - (13.0 / 6.0 - 1.0)).abs() < 1e-12);
    assert!(pipeline(1, 1, 7, Schedule::OneForwardOneBackward).bubble().abs() < 1e-12);
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
        let contiguous = pipeline(ranks, 1, micro_batches, Schedule::GPipe);
        assert!((1.0 + contiguous.bubble() - plain).abs() < 5e-7);
        // The table counts what a looped stage keeps: a contiguous one keeps as much as all of them.
        let of = |schedule: Schedule| Pipeline { rules: schedule.rules(), ..contiguous }.checkpoints() * stages;
        let (gpipe, one_one) = (of(Schedule::GPipe), of(Schedule::OneForwardOneBackward));
        let depth = pipeline(ranks, stages, micro_batches, Schedule::Interleaved);
        let breadth = Pipeline { rules: Schedule::BreadthFirst.rules(), ..depth };
        assert!((1.0 + depth.bubble() - looped).abs() < 5e-7);
        let (depth, breadth) = (depth.checkpoints(), breadth.checkpoints());
        assert_eq!([gpipe, one_one, depth, breadth], checkpoints);
    }
}

/// Gathers and reductions of one rank with two buffers, pass by pass: a stage takes the buffer of its parity.
fn listed(ranks: u32, stages: u32, groups: u32, rank: u32) -> [u32; 2] {
    let total = stages * ranks * groups;
    let ahead = (2 * (ranks - 1 - rank) + (stages - 1) * ranks).min(total);
    let (mut buffers, mut reduced, mut counts) = ([None; 2], None, [0; 2]);
    for index in 0..total + ahead {
        let forward = (index < total).then(|| index / ranks % stages);
        let backward = index.checked_sub(ahead).map(|index| stages - 1 - index / ranks % stages);
        for stage in [forward, backward].into_iter().flatten() {
            counts[0] += u32::from(buffers[stage as usize % 2].replace(stage) != Some(stage));
        }
        counts[1] += u32::from(backward.is_some_and(|stage| reduced.replace(stage) != Some(stage)));
    }
    counts
}

/// [layered C5], the table: 4 ranks of 4 stages and 8 micro-batches, 8 of 4 and 16, 8 of 8 and 8; depth first of the
/// first rank, (20, 8), (36, 8) and (14, 8), where others gather more.
#[test]
fn collectives_of_a_step() {
    for (ranks, stages, micro_batches, breadth, depth) in
        [(4, 4, 8, [6, 4], [20, 8]), (8, 4, 16, [6, 4], [36, 8]), (8, 8, 8, [14, 8], [14, 8])]
    {
        let StageCollectives { gathers, reductions } =
            pipeline(ranks, stages, micro_batches, Schedule::BreadthFirst).collectives();
        assert_eq!([gathers, reductions], breadth);
        assert_eq!(listed(ranks, stages, micro_batches / ranks, 0), depth);
    }
    let once = StageCollectives { gathers: 1, reductions: 1 };
    assert_eq!(pipeline(8, 1, 64, Schedule::OneForwardOneBackward).collectives(), once);
    for (ranks, stages, groups) in
        (2..9).flat_map(|ranks| (2..9).flat_map(move |k| [1, 2, 3, 7].map(|g| (ranks, k, g))))
    {
        let StageCollectives { gathers, reductions } =
            pipeline(ranks, stages, ranks * groups, Schedule::Interleaved).collectives();
        let of_all = (0..ranks).map(|rank| listed(ranks, stages, groups, rank)).max().expect("a rank");
        assert!(gathers.abs_diff(of_all[0]) <= 2, "{gathers} of {of_all:?}: {ranks} x {stages}, {groups} groups");
        assert_eq!(reductions, of_all[1]);
    }
}
