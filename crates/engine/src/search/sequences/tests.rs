//! The longest context against plain searches at the lengths around it, and the laws of the table.

use std::sync::OnceLock;

use super::*;
use crate::plan::{GlobalBatch, LossKind, Offload, Size};
use crate::search::plans::{Margin, Objective, PlanSearchAnswer, SearchLimits, SearchSpace};
use crate::search::{Axis, Evaluator, pool};
use crate::testing;
use crate::units::Seconds;

/// 2 nodes of 4 devices of 10 GB, 65,536 tokens a step.
fn search() -> SequenceSearch {
    let mut base = testing::scenario();
    let sequence = base.plan.sequence;
    (base.plan.size, base.plan.global_batch) = (Size::Nodes(2), GlobalBatch::Sequences(65_536 / sequence));
    base.settle_batch();
    let plans = PlanSearch::new(base, SearchSpace::of_stack(false), Objective::Throughput, SearchLimits::SAFE, 1);
    SequenceSearch { plans }
}

fn answer(search: &SequenceSearch, threads: usize) -> SequenceAnswer {
    search.run(&Evaluator::on(&pool(Some(threads)).expect("threads")), &mut |_| {})
}

fn found() -> &'static SequenceAnswer {
    static FOUND: OnceLock<SequenceAnswer> = OnceLock::new();
    FOUND.get_or_init(|| answer(&search(), 1))
}

/// A plain search of a length, with values of fields.
fn plain(sequence: u32, over: &[&str]) -> PlanSearchAnswer {
    let mut plans = search().plans;
    let means = RoomMeans::default();
    plans.base = search().job(sequence, &means).expect("a length");
    for axis in over {
        plans.space.vary(axis.parse::<Axis>().expect(axis));
    }
    plans.run(&Evaluator::on(&pool(Some(1)).expect("threads")), &mut |_| {})
}

/// All that may make room on the toy, whose stack runs anything.
const ALL_MEANS: [&str; 5] = [
    "cp-kind=stack,zigzag,all-gather,ulysses,usp",
    "loss=stack,fused,chunked",
    "offload=none,optimizer,state,checkpoints,all,activations",
    "recompute=none,full",
    "mlp-tiles=1,64",
];

#[test]
fn the_longest_fits_and_a_sixteenth_more_does_not_by_a_plain_search() {
    let answer = found();
    let (longest, too_long) = (answer.longest().expect("a length"), answer.too_long.expect("an end"));
    let doubled = 1 << longest.sequence.ilog2();
    assert_eq!(too_long - longest.sequence, doubled / PARTS, "{} {too_long}", longest.sequence);
    assert!(
        SearchLimits { margin: Margin::Likely, ..SearchLimits::NONE }.keeps(&longest.found.scenario, longest.summary())
    );
    assert!(plain(too_long, &ALL_MEANS).plans.is_empty());
    assert!(answer.exact);
}

/// A coarse grid chooses the mesh: what a plain search on the whole grid finds is hardly better.
#[test]
fn each_length_is_as_fast_as_a_plain_search_finds_it() {
    for length in found().lengths.iter().take(3) {
        let best = plain(length.sequence, &[]);
        let Some(best) = best.plans.first() else { continue };
        let share = length.summary().tokens_per_s() / best.summary.tokens_per_s();
        assert!(share > 0.96, "{}: {share}", length.sequence);
    }
}

#[test]
fn lengths_double_and_every_step_has_as_many_tokens() {
    let lengths: Vec<u32> = found().lengths.iter().map(|length| length.sequence).collect();
    let whole = &lengths[..lengths.len() - 1];
    assert!(lengths.len() > 3 && whole.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{lengths:?}");
    for length in &found().lengths {
        let sequences = (65_536.0 / f64::from(length.sequence)).round().max(1.0);
        let off = length.found.scenario.sequences() / sequences;
        assert!((0.95..=1.05).contains(&off), "{}: {off}", length.sequence);
    }
    assert_eq!(search().tokens_of_step(), Some(65_536.0));
}

#[test]
fn what_is_needed_is_what_nothing_fits_without() {
    let needed = found().lengths.iter().filter(|length| length.needs.contains(&Field::Recompute));
    let first = needed.map(|length| length.sequence).next().expect("recompute is needed somewhere");
    let over = [ALL_MEANS[0], ALL_MEANS[1], ALL_MEANS[4], "recompute=none"];
    assert!(plain(first, &over).plans.is_empty(), "{first}");
    for length in &found().lengths {
        let plan = &length.found.scenario.plan;
        for field in &length.needs {
            let changed = match field {
                Field::Offload => plan.offload != Offload::None,
                Field::Loss => plan.loss != LossKind::Stack,
                Field::Context => plan.context > 1,
                _ => field.value(&length.found.scenario).as_ref() != field.usual(),
            };
            assert!(changed, "{}: {field}", length.sequence);
        }
    }
}

#[test]
fn a_rate_ends_the_table_where_plans_get_slower() {
    let rates: Vec<f64> = found().lengths.iter().map(|length| length.summary().tokens_per_s()).collect();
    let mut search = search();
    search.plans.limits = search.plans.limits.within(Seconds::new(1.0), rates[2]);
    let limited = answer(&search, 1);
    assert!(limited.lengths.iter().all(|length| length.summary().tokens_per_s() >= rates[2]));
    let (last, all) = (limited.longest().expect("a length"), found().longest().expect("a length"));
    assert!(found().lengths[2].sequence <= last.sequence && last.sequence < all.sequence, "{}", last.sequence);
}

#[test]
fn the_answer_is_the_same_on_any_count_of_threads() {
    assert_eq!(&answer(&search(), 3), found());
}

#[test]
fn a_search_that_is_stopped_says_so() {
    let pool = pool(Some(1)).expect("threads");
    let evaluator = Evaluator::on(&pool);
    let answer = search().run(&evaluator, &mut |so_far| {
        if so_far.lengths.len() == 2 {
            evaluator.cancel().cancel();
        }
    });
    assert_eq!((answer.exact, answer.too_long), (false, None));
    assert_eq!(answer.lengths[..2], found().lengths[..2]);
}
