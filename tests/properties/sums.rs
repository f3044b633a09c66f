//! Parts sum to the whole, and a step that is folded is the step that is not.

use proptest::prelude::*;
use shardscope_engine::evaluate::{Phases, TimeParts, Workspace, stages, summary, traced_whole};
use shardscope_engine::units::Seconds;

use super::any_scenario;

/// Tasks of the longest step that is run in full.
const MOST: u64 = 200_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The parts and the phases of a step are its time, and the parts of memory its peak, on each stage.
    #[test]
    fn parts_sum_to_the_whole(scenario in any_scenario()) {
        let mut workspace = Workspace::default();
        let Ok(summary) = summary(&scenario, &mut workspace) else { return Ok(()) };
        let step = summary.step_time.get();
        let TimeParts { compute, communication, exposed, bubble, optimizer, other, .. } = summary.time;
        let Phases { forward, backward, update, beside } = summary.phases;
        for sum in [compute + exposed + bubble + optimizer + other, forward + backward + update + beside] {
            prop_assert!((sum.get() - step).abs() <= 1e-9 * step, "{sum} is not {step} s");
        }
        prop_assert!(exposed <= communication);
        let stages = stages(&scenario, &workspace);
        prop_assert_eq!(stages.len(), scenario.plan.pipeline as usize);
        for memory in stages.iter().chain([&summary.memory]) {
            prop_assert!((memory.parts.total() - memory.peak).get().abs() < 1.0);
            for (name, part) in memory.parts.named() {
                prop_assert!(part.get() >= 0.0, "{name} is {part}");
            }
        }
        let fullest = stages.iter().map(|memory| memory.peak.get()).fold(0.0, f64::max);
        prop_assert!((fullest - summary.memory.peak.get()).abs() < 1.0, "{fullest} is not {}", summary.memory.peak);
    }

    /// A step whose repeats are skipped ends with the step of every task, and is as full.
    #[test]
    fn folded_equals_unfolded(scenario in any_scenario()) {
        let Ok(folded) = summary(&scenario, &mut Workspace::default()) else { return Ok(()) };
        let checked = scenario.checked().expect("it was evaluated");
        let whole = traced_whole(&checked, MOST, &mut Workspace::default()).expect("it was evaluated");
        let Some(trace) = whole else { return Ok(()) };
        let end = trace.spans.iter().map(|span| span.end).fold(Seconds::ZERO, Seconds::max);
        prop_assert!((end - folded.step_time).get().abs() < 1e-11, "{end} is not {}", folded.step_time);
        let peak = trace.memory.iter().map(|point| point.in_use.get()).fold(0.0, f64::max);
        let full = folded.memory.peak.get();
        prop_assert!(trace.memory.is_empty() || (peak - full).abs() < 64.0, "{peak} is not {full}");
    }
}
