//! Interleaved 1F1B, depth first (Narayanan et al., arXiv 2104.04473, section 2.2): groups of as many micro-batches as
//! ranks go through the rank's virtual stages in turn.

use super::super::pass::{PassOrder, PipelineCounts, StageCollectives, StagePass, stage_buffer};
use super::{Schedule, ScheduleRules};

pub(super) const RULES: ScheduleRules = ScheduleRules { combined: Some(&COMBINED), ..rules::<0>() };

/// Forward and backward as one pass of two micro-batches need one more forward before them, so that neither waits for the
/// other (Megatron-LM, `schedules.py`, `get_pp_rank_microbatches`).
const COMBINED: ScheduleRules = rules::<1>();

/// The rules with so many more forwards before the first backward.
const fn rules<const MORE: u32>() -> ScheduleRules {
    ScheduleRules {
        virtual_stages: true,
        with_one_stage: Some(Schedule::OneForwardOneBackward),
        combined: None,
        grouped: true,
        alternates: true,
        order: order::<MORE>,
        bubble: PipelineCounts::bubble,
        // Those of the warm-up, and one.
        checkpoints: |counts, rank| counts.all_checkpoints().min(warm_up::<MORE>(counts, rank) + 1),
        collectives,
        together: |counts| counts.ranks,
    }
}

/// Stages that forward and backward pass beside each other until both buffers hold what they brought: from then on,
/// until the last group, all periods are alike.
const STEADY: u32 = 3;

/// Forwards that a rank runs before its first backward.
fn warm_up<const MORE: u32>(counts: PipelineCounts, rank: u32) -> u32 {
    // As in Megatron-LM (`forward_backward_pipelining_with_interleaving`): two for each rank that follows, since a
    // forward and a backward are on their way to it and back, and a group for each further stage.
    2 * (counts.ranks - 1 - rank) + (counts.stages - 1) * counts.ranks + MORE
}

fn order<const MORE: u32>(counts: PipelineCounts, rank: u32, buffered: bool) -> PassOrder {
    let PipelineCounts { ranks, stages, micro_batches } = counts;
    let mut order = PassOrder::new();
    let groups = micro_batches / ranks;
    // The warm-up is less than `K + 1` stages; then come those until all is steady, a period that stands for many, and
    // one more before the last. With one stage per rank all runs join anyway.
    let steady = stages.min(STEADY);
    let listed = if stages == 1 { groups } else { groups.min((2 * stages + steady + 2).div_ceil(stages)) };
    let (period, left_out) = (stages * ranks, (groups - listed) * ranks);
    let repeated = steady * ranks..steady * ranks + period;
    let total = listed * period;
    let warm_up = warm_up::<MORE>(counts, rank).min(total);
    // Forward number `index` of a rank is of stage `index / P mod K`; so is a backward, from the last stage. On 2 ranks
    // with 2 stages each, forwards 0 to 7 are of stages 0 0 1 1 0 0 1 1 and of micro-batches 0 1 0 1 2 3 2 3.
    let in_a_row = |index: u32| ranks - index % ranks;
    let mut index = 0;
    while index < total + warm_up {
        let behind = index.checked_sub(warm_up);
        if left_out > 0 && behind == Some(repeated.start) {
            order.group.start = order.runs.len();
        }
        if left_out > 0 && behind == Some(repeated.end) {
            (order.group.end, order.groups) = (order.runs.len(), 1 + left_out / ranks);
        }
        let later = if behind.is_some_and(|behind| behind >= repeated.end) { left_out } else { 0 };
        let place = |index: u32| (index / ranks % stages, index / period * ranks + index % ranks + later);
        let forward =
            (index < total).then(|| place(index)).map(|(stage, micro_batch)| StagePass::forward(stage, micro_batch));
        let backward =
            behind.map(place).map(|(stage, micro_batch)| StagePass::backward(stages - 1 - stage, micro_batch));
        let count = in_a_row(index).min(behind.map_or_else(|| warm_up - index, in_a_row));
        match (forward, backward) {
            (Some(forward), Some(backward)) if buffered && contend(forward.stage, backward.stage) => {
                order.add_turns(count, [forward, backward]);
            }
            (Some(first), second) => order.add(count, first, second),
            (None, Some(backward)) => order.add(count, backward, None),
            (None, None) => {}
        }
        index += count;
    }
    order
}

/// Whether two stages cannot be in their buffers together.
const fn contend(one: u32, other: u32) -> bool {
    one != other && stage_buffer(one) == stage_buffer(other)
}

/// One group of micro-batches passes each stage once there and once back. In all others the stages of forward and
/// backward take one buffer from each other, for many micro-batches at every pass, on the rank that does so most
/// `2 (K - 2) P` times a group, and for odd `K` `2 (K - 1) P - 2` (counted for K 2..8, P 2..8; the last rank and one in
/// the middle, to within 2 a step).
fn collectives(counts: PipelineCounts) -> StageCollectives {
    let PipelineCounts { ranks, stages, micro_batches } = counts;
    let groups = (micro_batches / ranks).max(1);
    match (stages, groups) {
        (1, _) | (3.., 1) => counts.collectives_once(),
        (2, _) => StageCollectives { gathers: 2, reductions: 2 * groups },
        _ => {
            let odd = stages % 2;
            let taken = 2 * (stages - 2 + odd) * ranks - 2 * odd;
            StageCollectives { gathers: 2 * stages + (groups - 1) * taken, reductions: stages * groups }
        }
    }
}
