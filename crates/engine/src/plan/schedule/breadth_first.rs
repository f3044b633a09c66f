//! Breadth first (Lamy-Poirier, arXiv 2211.05953): all micro-batches of a stage before the next stage.

use super::super::pass::{PassOrder, PipelineCounts, StagePass};
use super::ScheduleRules;

pub(super) const RULES: ScheduleRules = ScheduleRules {
    virtual_stages: true,
    with_one_stage: None,
    combined: None,
    grouped: false,
    alternates: false,
    order,
    bubble: PipelineCounts::bubble,
    checkpoints: |counts, _| counts.all_checkpoints(),
    collectives: PipelineCounts::collectives_once,
    together: |counts| counts.micro_batches,
};

/// `GPipe` (Huang et al., arXiv 1811.06965): all forwards, then all backwards, of a single stage on each rank.
pub(super) const GPIPE: ScheduleRules = ScheduleRules { virtual_stages: false, ..RULES };

fn order(counts: PipelineCounts, _rank: u32, _buffered: bool) -> PassOrder {
    let mut order = PassOrder::new();
    (0..counts.stages).for_each(|stage| order.add(counts.micro_batches, StagePass::forward(stage, 0), None));
    (0..counts.stages).rev().for_each(|stage| order.add(counts.micro_batches, StagePass::backward(stage, 0), None));
    order
}
