//! `GPipe` (Huang et al., arXiv 1811.06965): all forwards, then all backwards.

use super::super::pass::{PassOrder, PipelineCounts, StagePass};
use super::ScheduleRules;

pub(super) const RULES: ScheduleRules = ScheduleRules {
    virtual_stages: false,
    grouped: false,
    alternates: false,
    order,
    bubble: PipelineCounts::bubble,
    checkpoints: PipelineCounts::all_checkpoints,
    collectives: PipelineCounts::collectives_once,
    together: |counts| counts.micro_batches,
};

fn order(counts: PipelineCounts, _rank: u32, _buffered: bool) -> PassOrder {
    let mut order = PassOrder::new();
    order.add(counts.micro_batches, StagePass::forward(0, 0), None);
    order.add(counts.micro_batches, StagePass::backward(0, 0), None);
    order
}
