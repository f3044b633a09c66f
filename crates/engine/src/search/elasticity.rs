//! Elasticities: the gain from a little more of each resource.

use crate::cost::Factors;
use crate::evaluate::{Elasticity, More, Property, Setback, Summary, Workspace, summary_with};
use crate::scenario::{Checked, Scenario};

use super::tune;

/// Half of the central difference: 0.5 % up, 0.5 % down.
const STEP: f64 = 1.005;

/// Memory added when asking what more of it would give.
const MORE_MEMORY: f64 = 1.1;

/// `d ln throughput / d ln x` by a central difference of 1 %, for the peak, the memory's bandwidth, that of the
/// host's link where something is offloaded, and each level's bandwidth and latency, each with what a whole 10 % gives
/// beside the step as it is `now`; and the gain of 10 % more memory with the batch re-tuned. Beside them, where a whole 10 %
/// makes the step longer.
pub(super) fn all(scenario: &Checked, now: &Summary, workspace: &mut Workspace) -> (Vec<Elasticity>, Vec<Setback>) {
    let (mut found, mut setbacks) = (Vec::new(), Vec::new());
    let mut ask = |property: Property, touch: &dyn Fn(&mut Factors, f64)| {
        let mut time = |factor: f64| {
            let mut factors = Factors::default();
            touch(&mut factors, factor);
            summary_with(scenario, &factors, workspace)
        };
        let Some(change) = property.change() else { return };
        if let (Ok(faster), Ok(slower), Ok(changed)) = (time(STEP), time(1.0 / STEP), time(change)) {
            let value = libm::log(slower.step_time / faster.step_time) / (2.0 * libm::log(STEP));
            found.push(Elasticity { property, value, gain: now.step_time / changed.step_time - 1.0 });
            setbacks.extend(Setback::new(More::Property(property), *now, changed));
        }
    };
    ask(Property::PeakFlop, &|factors, factor| factors.peak = factor);
    ask(Property::MemoryBandwidth, &|factors, factor| factors.memory = factor);
    if scenario.plan.offloads() || scenario.plan.paged_optimizer {
        ask(Property::HostBandwidth, &|factors, factor| factors.host = factor);
    }
    for index in 0..scenario.cluster.levels.len() {
        ask(Property::LevelBandwidth(index), &|factors, factor| factors.bandwidth[index] = factor);
        ask(Property::LevelLatency(index), &|factors, factor| factors.latency[index] = factor);
    }
    if let Some(value) = memory_capacity(scenario, workspace) {
        found.push(Elasticity { property: Property::MemoryCapacity, value, gain: value });
    }
    (found, setbacks)
}

/// The relative gain in throughput of 10 % more memory, batch and recompute re-tuned before and after; none where pages move,
/// whose step is timed within the memory that there is.
fn memory_capacity(scenario: &Scenario, workspace: &mut Workspace) -> Option<f64> {
    if scenario.plan.paged_optimizer {
        return None;
    }
    let [now, more] = tune::best_within(scenario, [1.0, MORE_MEMORY], workspace);
    Some(more?.tokens_per_s_per_device / now?.tokens_per_s_per_device - 1.0)
}
