//! What people must know of a scenario's figures to read them aright. Not for what limits a step.

use shardscope_engine::cost;
use shardscope_engine::evaluate::Summary;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::FlopPerSecond;

/// What people must know of a scenario's figures to read them aright.
pub fn caveats(scenario: &Scenario, summary: &Summary) -> Vec<String> {
    let peak = cost::peak(scenario, scenario.plan.precision);
    (summary.mfu > 1.0).then(|| above_peak(peak)).into_iter().collect()
}

/// Why more flop are counted than the hardware can do.
pub(super) fn above_peak(peak: FlopPerSecond) -> String {
    format!("above the peak, {peak}: causal kernels skip half of the scores, all of which count")
}
