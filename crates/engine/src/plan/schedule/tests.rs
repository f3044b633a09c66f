//! Orders of passes: each pass once, forward first.

use super::*;
use crate::plan::pass::{Pass, StagePass};

/// The rules that plans run.
fn chosen() -> impl Iterator<Item = &'static ScheduleRules> {
    let all = Schedule::ALL.iter().map(|schedule| schedule.rules());
    all.clone().chain(all.filter_map(|rules| rules.combined))
}

#[test]
fn every_pass_runs_once_and_forward_first() {
    for rules in chosen().chain([&zero_bubble::RULES]) {
        for (ranks, stages_per_rank, micro_batches) in [(1, 1, 1), (4, 1, 6), (4, 3, 8), (2, 4, 2), (3, 2, 33)] {
            let stages = if rules.virtual_stages { stages_per_rank } else { 1 };
            if rules.grouped && micro_batches % ranks > 0 {
                continue;
            }
            let counts = PipelineCounts { ranks, stages, micro_batches };
            for buffered in [false, true] {
                for rank in 0..ranks {
                    let mut seen = std::collections::HashSet::new();
                    let order = (rules.order)(counts, rank, buffered).unrolled(ranks);
                    for StagePass { stage, pass, micro_batch } in &order {
                        assert!(seen.insert((*stage, *micro_batch, *pass)), "twice");
                        let before = match pass {
                            Pass::Forward => continue,
                            Pass::Backward | Pass::BackwardInputs => Pass::Forward,
                            Pass::BackwardWeights => Pass::BackwardInputs,
                        };
                        assert!(seen.contains(&(*stage, *micro_batch, before)), "too early");
                    }
                    let count = |is: fn(Pass) -> bool| order.iter().filter(|pass| is(pass.pass)).count() as u32;
                    let backward = |pass: Pass| pass.is_backward() && pass.propagates();
                    let counted =
                        [count(|pass| pass == Pass::Forward), count(backward), count(Pass::completes_gradients)];
                    assert_eq!(counted, [stages * micro_batches; 3]);
                }
            }
        }
    }
}

/// Micro-batches of any stage that a rank has run forward and not yet backward: the most, and when backward begins.
#[test]
fn the_order_holds_as_many_checkpoints_as_the_closed_form_says() {
    for rules in chosen() {
        for (ranks, stages_per_rank, groups) in [(1, 1, 1), (4, 1, 2), (4, 3, 2), (2, 4, 1), (3, 2, 11)] {
            let stages = if rules.virtual_stages { stages_per_rank } else { 1 };
            let counts = PipelineCounts { ranks, stages, micro_batches: ranks * groups };
            for rank in 0..ranks {
                let order = (rules.order)(counts, rank, false).unrolled(ranks);
                let opening = order.iter().take_while(|pass| pass.pass == Pass::Forward).count();
                let (mut held, mut most) = (0, 0);
                for StagePass { pass, .. } in order {
                    held = if pass == Pass::Forward { held + 1 } else { held - 1 };
                    most = most.max(held);
                }
                let found = (rules.checkpoints)(counts, rank);
                let of = format!("`checkpoints` of {rules:?} with {counts:?} on rank {rank}");
                assert_eq!((most, opening as u32), (found, found), "{of}");
            }
        }
    }
}

/// Groups that repeat stand for what would be listed without them: index by index, `warm_up` forwards first, one more where
/// forward and backward are one pass.
#[test]
fn a_repeated_group_stands_for_all() {
    let rules = Schedule::Interleaved.rules();
    let sizes = [(2, 2, 6), (3, 2, 11), (4, 3, 9), (2, 7, 8)];
    let both = [(rules, 0), (rules.combined.expect("rules of combined passes"), 1)];
    for ((ranks, stages, groups), (rules, more)) in sizes.into_iter().flat_map(|sizes| both.map(|one| (sizes, one))) {
        let counts = PipelineCounts { ranks, stages, micro_batches: ranks * groups };
        for buffered in [false, true] {
            for rank in 0..ranks {
                let order = (rules.order)(counts, rank, buffered);
                let listed = if stages < 5 { 4 } else { 3 };
                assert_eq!(order.groups, groups - listed + 1);
                let total = counts.micro_batches * stages;
                let warm_up = 2 * (ranks - 1 - rank) + (stages - 1) * ranks + more;
                let place = |index: u32| (index / ranks % stages, index / (ranks * stages) * ranks + index % ranks);
                let mut expected = Vec::new();
                for index in 0..total + warm_up {
                    if index < total {
                        expected.push(StagePass::forward(place(index).0, place(index).1));
                    }
                    if let Some(behind) = index.checked_sub(warm_up) {
                        expected.push(StagePass::backward(stages - 1 - place(behind).0, place(behind).1));
                    }
                }
                assert_eq!(order.unrolled(ranks), expected);
            }
        }
    }
}
