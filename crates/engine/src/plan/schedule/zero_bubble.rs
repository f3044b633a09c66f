//! ZB-H1 (Qi et al., arXiv 2401.10241, section 2.1): 1F1B whose backward is two passes. That for weights stays as many
//! micro-batches behind that for inputs as ranks come before, so that it fills what is left of the bubble at the end, and
//! all ranks have as many micro-batches in flight.
//!
//! Users do not choose it: bounds of the search assume that backward is one pass. Tests run it.

use super::super::pass::{PassOrder, PipelineCounts, StagePass};
use super::{ScheduleRules, one_forward_one_backward};

pub(crate) const RULES: ScheduleRules = ScheduleRules {
    order,
    // `(P - 1) (F + B - W)`, where all three take as long: a third of 1F1B's.
    bubble: |counts| PipelineCounts::bubble(counts) / 3.0,
    ..one_forward_one_backward::RULES
};

fn order(counts: PipelineCounts, rank: u32, _buffered: bool) -> PassOrder {
    let micro_batches = counts.micro_batches;
    // Rank 1 of 3 with 4 micro-batches: F0, then F1 B0, F2 B1 W0, F3 B2 W1, then B3 W2, W3.
    let (warm_up, behind) = ((counts.ranks - 1 - rank).min(micro_batches), rank);
    let forwards = micro_batches - warm_up;
    let mut order = PassOrder::new();
    order.add(warm_up, StagePass::forward(0, 0), None);
    let mut ends = [0, behind, forwards, micro_batches, micro_batches + behind];
    ends.sort_unstable();
    for (start, end) in ends.iter().zip(&ends[1..]) {
        let repeat = end - start;
        let forward = (*start < forwards).then(|| StagePass::forward(0, warm_up + start));
        let inputs = (*start < micro_batches).then(|| StagePass::inputs(0, *start));
        let weights = start.checked_sub(behind).map(|micro_batch| StagePass::weights(0, micro_batch));
        match (forward, inputs, weights) {
            (Some(forward), Some(inputs), Some(weights)) => order.add_turns(repeat, [forward, inputs, weights]),
            (Some(first), second, None) | (None, Some(first), second) => order.add(repeat, first, second),
            (None, None, Some(weights)) => order.add(repeat, weights, None),
            _ => {}
        }
    }
    order
}
