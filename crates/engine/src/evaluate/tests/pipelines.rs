//! Pipelines: the laws of their bubble, the tables of schedules, folding.

use std::collections::BTreeSet;

use super::*;
use crate::program::ModelPart;

/// Step over the time that the busiest rank computes, and the most stages' checkpoints on rank 0.
fn makespan(scenario: &Scenario) -> (f64, f64) {
    let mut workspace = Workspace::default();
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let summary =
        scenario.checked().and_then(|checked| summary_with(&checked, &free, &mut workspace)).expect("a valid scenario");
    let layers = f64::from(scenario.plan.stages_per_rank);
    let ideal = f64::from(scenario.plan.accumulate) * layers * layer_time();
    let memory = stages(scenario, &workspace)[0];
    // Less what backward works in: 30 h + 10 h bytes per token beside the checkpoints of 2 h bytes.
    let token = 1024.0 * 512.0;
    (summary.step_time.get() / ideal, (memory.parts.activations.get() - 40.0 * token) / (2.0 * token))
}

/// [layered B8]: `T = (M + P - 1) K (tf + tb)` contiguous, `((K-1) max(M, P) + M + P - 1)(tf + tb)`
/// breadth first, exact to the rounding of a layer to picoseconds.
#[test]
fn the_bubble_laws() {
    let mut workspace = Workspace::default();
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let layer = layer_time();
    for (ranks, stages) in (2..=8).flat_map(|ranks| (1..=32).map(move |stages| (ranks, stages))) {
        let mut scenario = pipeline(Schedule::GPipe, ranks, stages, 1);
        scenario.plan.size = Size::Nodes(ranks);
        let (p, k) = (f64::from(ranks), f64::from(stages));
        for micro_batches in 1..=16 {
            let m = f64::from(micro_batches);
            scenario.plan.accumulate = micro_batches;
            let mut holds = |schedule: Schedule, slots: f64| {
                scenario.plan.schedule = schedule;
                let summary = scenario
                    .checked()
                    .and_then(|checked| summary_with(&checked, &free, &mut workspace))
                    .expect("a valid scenario");
                close(summary.step_time.get() / layer, slots);
            };
            holds(Schedule::GPipe, (m + p - 1.0) * k);
            holds(Schedule::OneForwardOneBackward, (m + p - 1.0) * k);
            holds(Schedule::BreadthFirst, (k - 1.0) * m.max(p) + m + p - 1.0);
            // Depth first takes as many micro-batches at once as there are ranks [layered C3].
            if micro_batches % ranks == 0 {
                holds(Schedule::Interleaved, m * k + p - 1.0);
            }
        }
    }
}

/// Six layers with their ends on four ranks of two stages: the first stage has the embedding alone, the last the head. A
/// ninth stage would have nothing; without ends the seventh has not.
#[test]
fn ends_have_stages_of_their_own() {
    let of = |ranks: u32, stages: u32, vocab: u32| {
        let mut scenario = pipeline(Schedule::Interleaved, ranks, stages, 8);
        scenario.model = Arc::new(Model { vocab, ..testing::model(6, 1024) });
        scenario.plan.size = Size::Nodes(ranks);
        scenario
    };
    let scenario = of(4, 2, 32_000);
    let mut workspace = Workspace::default();
    let checked = scenario.checked().expect("eight stages");
    let (summary, trace) = traced(&checked, &mut workspace).expect("it runs");
    let layers = |rank: u32| {
        let parts = trace.spans_on(rank, Stream::Compute).iter().map(|span| span.activity);
        let layers = parts.filter(|activity| activity.part == ModelPart::Layer).map(|activity| activity.layer);
        layers.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
    };
    // Stages 0 and 4 are rank 0's, of which the fifth has layer 3.
    assert_eq!([0, 1, 2, 3].map(layers), [vec![3], vec![0, 4], vec![1, 5], vec![2]]);
    assert!(summary.step_time > Seconds::ZERO);
    for (scenario, most) in [(of(3, 3, 32_000), 8), (of(4, 2, 0), 6)] {
        let problems = scenario.checked().expect_err("too many stages");
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.concat().contains(&format!("choose at most {most} stages in all")), "{told:?}");
    }
}

/// A trace too long to be listed: 4 ranks, one layer each, 20,000 micro-batches, more than 160,000 tasks.
#[test]
fn a_folded_trace_keeps_time_and_order() {
    let scenario = pipeline(Schedule::GPipe, 4, 1, 20_000);
    let (summary, trace) =
        scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())).expect("a valid scenario");
    assert!(!trace.folded.is_empty() && trace.spans.len() < 20_000, "{} spans", trace.spans.len());
    let last = (0..trace.ranks()).max_by(|a, b| {
        let end = |rank: u32| trace.spans_on(rank, Stream::Compute).last().map_or(Seconds::ZERO, |span| span.end);
        end(*a).get().total_cmp(&end(*b).get())
    });
    let bubble = trace.stall_time(last.expect("a rank"), IdleCause::Bubble);
    assert!((bubble - summary.time.bubble).get().abs() < 1e-6, "{bubble} is not {}", summary.time.bubble);
    for rank in 0..trace.ranks() {
        for lane in Stream::ALL {
            for pair in trace.spans_on(rank, lane).windows(2) {
                assert!(pair[0].start <= pair[0].end && pair[0].end <= pair[1].start, "{:?} {:?}", pair[0], pair[1]);
            }
        }
    }
}

/// [layered C4], the table: makespan over ideal and the most checkpoints on rank 0, for P, K, M.
#[test]
fn the_table_of_schedules() {
    let rows = [
        ((4, 4, 8), (1.3750, 32.0), (1.3750, 16.0), (1.09375, 19.0), (1.09375, 32.0)),
        ((4, 2, 8), (1.3750, 16.0), (1.3750, 8.0), (1.1875, 11.0), (1.1875, 16.0)),
        ((8, 4, 16), (1.4375, 64.0), (1.4375, 32.0), (1.109_375, 39.0), (1.109_375, 64.0)),
        ((8, 8, 8), (1.8750, 64.0), (1.8750, 64.0), (1.109_375, 64.0), (1.109_375, 64.0)),
        ((8, 8, 64), (1.109_375, 512.0), (1.109_375, 64.0), (1.013_672, 71.0), (1.013_672, 512.0)),
    ];
    for ((ranks, stages, micro_batches), gpipe, one, depth, breadth) in rows {
        for (schedule, (time, peak)) in [
            (Schedule::GPipe, gpipe),
            (Schedule::OneForwardOneBackward, one),
            (Schedule::Interleaved, depth),
            (Schedule::BreadthFirst, breadth),
        ] {
            let (found_time, found_peak) = makespan(&pipeline(schedule, ranks, stages, micro_batches));
            assert!((found_time - time).abs() < 5e-6, "{schedule} {ranks},{stages},{micro_batches}: {found_time}");
            assert!((found_peak - peak).abs() < 0.01, "{schedule} {ranks},{stages},{micro_batches}: {found_peak}");
        }
    }
}

/// [layered B8]: five ranks, 160 layers, five micro-batches: overhead 0.8 contiguous, 0.025 modular.
#[test]
fn the_bubble_of_a_hundred_and_sixty_layers() {
    let mut contiguous = pipeline(Schedule::OneForwardOneBackward, 5, 32, 5);
    contiguous.plan.size = Size::Devices(5);
    Arc::make_mut(&mut contiguous.cluster).levels[0].members = Some(5);
    let mut modular = contiguous.clone();
    modular.plan.schedule = Schedule::BreadthFirst;
    close(makespan(&contiguous).0, 1.8);
    close(makespan(&modular).0, 1.025);
}

/// 5000 x 512 gradients of two bytes in a ring of two at 100 GB/s: 2 x 1/2 x 5.12 MB / 100 GB/s = 51.2 us, once the
/// backward of the first rank, the last of all, is over. Of two stages or four, both ends are in one node of four.
#[test]
fn copies_of_tied_weights_are_summed() {
    for ranks in [2, 4] {
        let [apart, tied] = [false, true].map(|tied| {
            let mut scenario = pipeline(Schedule::OneForwardOneBackward, ranks, 1, 3);
            let model = Arc::make_mut(&mut scenario.model);
            (model.vocab, model.tied) = (5000, tied);
            evaluate(&scenario)
        });
        close((tied.step_time - apart.step_time).get(), 51.2e-6);
        close((tied.traffic[0].bytes_per_device - apart.traffic[0].bytes_per_device).get(), 5.12e6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn stages_keep_the_books(scenario in staged()) {
        let mut workspace = Workspace::default();
        let Ok((summary, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut workspace)) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let TimeParts { compute, communication, exposed, bubble, optimizer, other, .. } = summary.time;
        let parts = compute + exposed + bubble + optimizer + other;
        prop_assert!((parts - summary.step_time).get().abs() <= 1e-9 * summary.step_time.get());
        prop_assert!(exposed <= communication);
        let ends = |rank: u32| trace.spans.iter().filter(move |span| span.rank == rank).map(|span| span.end);
        let ended = ends(summary.last_rank).fold(Seconds::ZERO, Seconds::max);
        prop_assert!((ended - summary.step_time).get().abs() <= 1e-9 * ended.get(), "the last rank ends with the step");
        let kept: Vec<f64> = workspace.state_bytes().collect();
        for (rank, kept) in kept.iter().enumerate() {
            let last = trace.memory.iter().rfind(|point| point.rank as usize == rank);
            let last = last.map_or(*kept, |point| point.in_use.get());
            prop_assert!((last - kept).abs() < 64.0, "rank {rank}: {kept} at the start, {last} at the end");
        }
        let fullest = stages(&scenario, &workspace).iter().map(|memory| memory.peak.get()).fold(0.0, f64::max);
        prop_assert!((fullest - summary.memory.peak.get()).abs() < 1.0);
        let folded = super::summary(&scenario, &mut workspace);
        prop_assert_eq!(folded, Ok(summary), "folded is unfolded");
    }

    /// With transfers a step is never shorter than the law of its schedule without them.
    #[test]
    fn transfers_only_add_to_the_law(
        (ranks, stages, groups) in (2..9_u32, 1..6_u32, 1..9_u32),
        schedule in proptest::sample::select(Schedule::ALL.to_vec()),
        bandwidth in 0.01..100.0_f64,
    ) {
        let micro_batches = if schedule.rules().grouped { ranks * groups } else { groups };
        let mut scenario = pipeline(schedule, ranks, stages, micro_batches);
        (scenario.plan.size, scenario.plan.bandwidth_factor) = (Size::Nodes(ranks), bandwidth);
        let step = evaluate(&scenario).step_time.get();
        // [layered B8, C3], less the rounding of each slot.
        let (p, k, m) = (f64::from(ranks), f64::from(stages), f64::from(micro_batches));
        let slots = if schedule.rules().virtual_stages {
            (k - 1.0) * m.max(p) + m + p - 1.0
        } else {
            (m + p - 1.0) * k
        };
        prop_assert!(step >= slots * layer_time() * (1.0 - 1e-6), "{step} is less than {slots} layers");
    }
}

/// Any pipeline of many micro-batches: embedding and head, uneven stages, tensor ranks, transfers that are
/// hidden, half hidden or slower than what hides them.
fn long_pipelines() -> impl Strategy<Value = Scenario> {
    let shape = (prop_oneof![Just(2_u32), Just(4), Just(8)], 1..5_u32, 1..40_u32, 0..30_u32);
    let schedule = proptest::sample::select(Schedule::ALL.to_vec());
    (scenarios(), shape, schedule, -2.0..2.0_f64).prop_map(
        |(mut scenario, (ranks, stages, groups, layers), schedule, speed)| {
            Arc::make_mut(&mut scenario.model).layers = ranks * stages + layers;
            let plan = &mut scenario.plan;
            plan.size = Size::Nodes(8);
            plan.bandwidth_factor = libm::pow(10.0, speed);
            (plan.pipeline, plan.stages_per_rank, plan.schedule) = (ranks, stages, schedule);
            plan.accumulate = if schedule.rules().grouped { (ranks * groups).min(96) } else { 3 * groups };
            scenario
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn long_pipelines_fold_to_the_picosecond(scenario in long_pipelines()) {
        let mut workspace = Workspace::default();
        let Ok(folded) = super::summary(&scenario, &mut workspace) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let memory = stages(&scenario, &workspace);
        let unfolded =
            scenario.checked().and_then(|checked| summary::run(&checked, &Factors::default(), &mut workspace, false));
        prop_assert_eq!(Ok(folded), unfolded);
        prop_assert_eq!(memory, stages(&scenario, &workspace));
    }
}
