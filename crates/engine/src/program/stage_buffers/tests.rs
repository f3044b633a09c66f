//! Which stages are gathered, and when: the tables of [layered C5].

use super::*;
use crate::plan::Schedule;
use crate::plan::pass::PipelineCounts;

fn collectives(schedule: Schedule, (ranks, stages, micro_batches): (u32, u32, u32)) -> (usize, usize) {
    let order = (schedule.rules().order)(PipelineCounts { ranks, stages, micro_batches }, 0, true);
    let repeated = |turn: usize| order.loops.iter().find(|repeated| repeated.runs.contains(&turn));
    let times = |gather: &StageGather| repeated(gather.run).map_or(1, |repeated| repeated.repeat as usize);
    (stage_gathers(&order.runs).iter().map(times).sum(), backward_stretches(&order.runs).len())
}

/// [layered C5], the table: (all-gathers, reduce-scatters) per rank and batch with two buffers.
#[test]
fn collectives_per_batch() {
    let (breadth, depth) = (Schedule::BreadthFirst, Schedule::Interleaved);
    assert_eq!(collectives(breadth, (4, 4, 8)), (6, 4));
    assert_eq!(collectives(depth, (4, 4, 8)), (20, 8));
    assert_eq!(collectives(breadth, (8, 4, 16)), (6, 4));
    assert_eq!(collectives(depth, (8, 4, 16)), (36, 8));
    assert_eq!(collectives(breadth, (8, 8, 8)), (14, 8));
    assert_eq!(collectives(depth, (8, 8, 8)), (14, 8));
}

/// What repeats takes the buffers from the same stages each time.
#[test]
fn groups_gather_as_all_groups_do() {
    let taken = |gather: &StageGather| (gather.stage, gather.evicts, gather.pass);
    for (ranks, stages, groups) in [(2, 2, 6), (3, 3, 7), (5, 4, 6), (4, 5, 5), (8, 6, 5), (3, 7, 6), (8, 8, 4)] {
        let counts = PipelineCounts { ranks, stages, micro_batches: ranks * groups };
        for rank in 0..ranks {
            let order = (Schedule::Interleaved.rules().order)(counts, rank, true);
            assert!(order.groups > 1);
            let listed = stage_gathers(&order.runs);
            let of_run = |(run, _)| listed.iter().filter(move |gather| gather.run == run).map(taken);
            let repeated: Vec<_> = order.unrolled_runs(ranks).into_iter().flat_map(of_run).collect();
            let each = |pass: StagePass| PassRun { repeat: 1, first: pass, second: None };
            let runs: Vec<PassRun> = order.unrolled(ranks).into_iter().map(each).collect();
            assert_eq!(repeated, stage_gathers(&runs).iter().map(taken).collect::<Vec<_>>());
        }
    }
}

/// Without sharding, a stage's gradients leave once a step, whatever the order: also where the last micro-batch runs
/// backward first, as a stack of activations asks for.
#[test]
fn each_stage_reduces_last_once() {
    let counts = PipelineCounts { ranks: 4, stages: 1, micro_batches: 8 };
    let descending = (0..8).rev().map(|m| PassRun { repeat: 1, first: StagePass::backward(0, m), second: None });
    let [reversed] = backward_stretches(&descending.collect::<Vec<_>>())[..] else { panic!("one stretch") };
    assert_eq!((reversed.begins, reversed.ends, reversed.first, reversed.last), (0, 7, true, true));
    for schedule in Schedule::ALL {
        let stages = if schedule.rules().virtual_stages { 3 } else { 1 };
        for rank in 0..counts.ranks {
            let order = (schedule.rules().order)(PipelineCounts { stages, ..counts }, rank, true);
            let stretches = backward_stretches(&order.runs);
            for stage in 0..stages {
                let of_stage = || stretches.iter().filter(|stretch| stretch.stage == stage);
                assert_eq!(of_stage().filter(|stretch| stretch.first).count(), 1, "{schedule} rank {rank}");
                assert_eq!(of_stage().filter(|stretch| stretch.last).count(), 1, "{schedule} rank {rank}");
                assert!(of_stage().next().is_some_and(|stretch| stretch.first), "{schedule} rank {rank}");
                assert!(of_stage().next_back().is_some_and(|stretch| stretch.last), "{schedule} rank {rank}");
            }
        }
    }
}
