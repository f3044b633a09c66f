//! What holds of any step: parts sum, the trace is what the summary counts, folded is unfolded.

use super::*;
use crate::sim::{Outcome, TimeTotals};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_sum_and_bounds_hold(scenario in any_scenario()) {
        let mut workspace = Workspace::default();
        let Ok((summary, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut workspace)) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let TimeParts { compute, communication, exposed, bubble, optimizer, other, .. } = summary.time;
        let step = summary.step_time.get();
        let parts = compute + exposed + bubble + optimizer + other;
        prop_assert!((parts.get() - step).abs() <= 1e-9 * step, "{parts} is not {step}");
        prop_assert!(exposed <= communication);
        let Phases { forward, backward, update, beside } = summary.phases;
        let phases = forward + backward + update + beside;
        prop_assert!((phases.get() - step).abs() <= 1e-9 * step, "{phases} is not {step}");
        let stages = stages(&scenario, &workspace);
        for memory in stages.iter().chain([&summary.memory]) {
            prop_assert!((memory.parts.total() - memory.peak).get().abs() < 1.0);
            for (name, part) in memory.parts.named() {
                prop_assert!(part.get() >= 0.0, "{name} is {part}");
            }
        }
        let fullest = stages.iter().map(|memory| memory.peak.get()).fold(0.0, f64::max);
        prop_assert!((fullest - summary.memory.peak.get()).abs() < 1.0, "{fullest} is not {}", summary.memory.peak);
        // Every rank's time has its uses.
        for rank in 0..stages.len() {
            let Outcome { end, totals, .. } = workspace.simulator.outcome(rank);
            let TimeTotals { compute, exposed, bubble, optimizer, host, waiting, phases, .. } = totals;
            let uses = compute + exposed.iter().sum::<u64>() + bubble + optimizer + host + waiting;
            prop_assert_eq!([uses, phases.iter().sum()], [end, end], "rank {} of {}", rank, stages.len());
        }
        // What the trace shows is what the summary counts.
        for (rank, lane) in (0..trace.ranks()).flat_map(|rank| Stream::ALL.map(|lane| (rank, lane))) {
            let busy: f64 = trace.spans_on(rank, lane).iter().map(|span| span.alone.get()).sum();
            prop_assert!(busy <= step * (1.0 + 1e-9));
        }
        // Waits are explained by what transfers take alone: the parts that are counted are those of the spans.
        if trace.folded.is_empty() {
            let last = workspace.simulator.last_rank();
            let between = |span: &&Span| {
                span.rank as usize == last && ![Stream::Compute, Stream::HostOut, Stream::HostIn].contains(&span.lane)
            };
            let alone: f64 = trace.spans.iter().filter(between).map(|span| span.alone.get()).sum();
            let parts = workspace.program.volume(last).parts.total().get();
            // Spans are in whole picoseconds.
            let rounded = 1e-12 * trace.spans.len() as f64;
            prop_assert!((parts - alone).abs() <= 1e-9 * step + rounded, "{parts} is not {alone}");
        }
        let end = trace.spans.iter().map(|span| span.end).fold(Seconds::ZERO, Seconds::max);
        prop_assert!((end - summary.step_time).get().abs() < 1e-11);
        let most = trace.memory.iter().map(|point| point.in_use.get()).fold(0.0, f64::max);
        if !trace.memory.is_empty() {
            prop_assert!((most - summary.memory.peak.get()).abs() < 64.0, "the trace's peak is the summary's");
        }
    }

    #[test]
    fn folded_equals_unfolded(scenario in any_scenario()) {
        let mut workspace = Workspace::default();
        if let Ok(folded) = super::summary(&scenario, &mut workspace) {
            let memory = stages(&scenario, &workspace);
            let unfolded =
            scenario.checked().and_then(|checked| summary::run(&checked, &Factors::default(), &mut workspace, false));
            prop_assert_eq!(Ok(folded), unfolded);
            prop_assert_eq!(memory, stages(&scenario, &workspace));
        }
    }

    #[test]
    fn the_step_ends_with_the_memory_it_began_with(scenario in any_scenario()) {
        let mut workspace = Workspace::default();
        if let Ok((_, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut workspace)) {
            // All that was taken during the step was given back by its end.
            for (rank, first) in workspace.state_bytes().enumerate() {
                let last = trace.memory.iter().rfind(|point| point.rank as usize == rank);
                let last = last.map_or(first, |point| point.in_use.get());
                prop_assert!((last - first).abs() < 64.0, "rank {rank}: {first} at the start, {last} at the end");
            }
        }
    }
}
