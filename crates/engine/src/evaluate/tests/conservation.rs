//! What holds of any step: parts sum, the trace is what the summary counts, folded is unfolded.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_sum_and_bounds_hold(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        let Ok((summary, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut workspace)) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let TimeParts { compute, communication, exposed, bubble, optimizer, other, .. } = summary.time;
        let step = summary.step_time.get();
        let parts = compute + exposed + bubble + optimizer + other;
        prop_assert!((parts.get() - step).abs() <= 1e-9 * step, "{parts} is not {step}");
        prop_assert!(exposed <= communication);
        prop_assert!((summary.memory.parts.total() - summary.memory.peak).get().abs() < 1.0);
        for (name, part) in summary.memory.parts.named() {
            prop_assert!(part.get() >= 0.0, "{name} is {part}");
        }
        // What the trace shows is what the summary counts.
        for lane in Stream::ALL {
            let busy: f64 = trace.spans.iter().filter(|span| span.lane == lane).map(|span| span.alone.get()).sum();
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
        let left = trace.memory.last().map_or(0.0, |point| point.in_use.get());
        let most = trace.memory.iter().map(|point| point.in_use.get()).fold(0.0, f64::max);
        prop_assert!(left <= most);
        if !trace.memory.is_empty() {
            prop_assert!((most - summary.memory.peak.get()).abs() < 16.0, "the trace's peak is the summary's");
        }
        // All that was taken during the step was given back by its end.
        let kept = scenario.calibration.allocator.reserve + summary.memory.parts.weights + summary.memory.parts.optimizer;
        prop_assert!(left >= kept.get() - 16.0);
    }

    #[test]
    fn folded_equals_unfolded(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok(folded) = super::summary(&scenario, &mut workspace) {
            let unfolded =
            scenario.checked().and_then(|checked| summary::run(&checked, &Factors::default(), &mut workspace, false));
            prop_assert_eq!(Ok(folded), unfolded);
        }
    }

    #[test]
    fn the_step_ends_with_the_memory_it_began_with(scenario in scenarios()) {
        let mut workspace = Workspace::default();
        if let Ok((_, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut workspace)) {
            let first = workspace.state_bytes().sum::<f64>();
            let last = trace.memory.last().map_or(first, |point| point.in_use.get());
            prop_assert!((last - first).abs() < 1.0, "{first} at the start, {last} at the end");
        }
    }
}
