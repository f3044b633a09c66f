//! 1F1B (`PipeDream-Flush`, Narayanan et al., arXiv 2006.09503): a warm-up of as many forwards as ranks follow, then a
//! backward after each forward.

use super::super::pass::{PassOrder, PipelineCounts, StagePass};
use super::ScheduleRules;

pub(super) const RULES: ScheduleRules = ScheduleRules {
    virtual_stages: false,
    with_one_stage: None,
    combined: None,
    grouped: false,
    alternates: true,
    order,
    bubble: PipelineCounts::bubble,
    // Those of the warm-up, and one: the first rank, which warms up with `P - 1`, holds the most.
    checkpoints: |counts, rank| counts.all_checkpoints().min(counts.ranks - rank),
    collectives: PipelineCounts::collectives_once,
    together: |_| 1,
};

fn order(counts: PipelineCounts, rank: u32, _buffered: bool) -> PassOrder {
    let micro_batches = counts.micro_batches;
    // Rank 1 of 4 with 8 micro-batches: F0 F1, then F2 B0 to F7 B5, then B6 B7. The warm-up is Megatron-LM's
    // (`forward_backward_pipelining_without_interleaving`): a forward for each rank that follows.
    let warm_up = (counts.ranks - 1 - rank).min(micro_batches);
    let mut order = PassOrder::new();
    order.add(warm_up, StagePass::forward(0, 0), None);
    order.add(micro_batches - warm_up, StagePass::forward(0, warm_up), Some(StagePass::backward(0, 0)));
    order.add(warm_up, StagePass::backward(0, micro_batches - warm_up), None);
    order
}
