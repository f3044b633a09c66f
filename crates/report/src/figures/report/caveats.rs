//! What people must know of a scenario's figures to read them aright. Not for what limits a step.

use shardscope_engine::cost;
use shardscope_engine::evaluate::Summary;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::units::FlopPerSecond;

/// What people must know of a scenario's figures to read them aright.
pub fn caveats(scenario: &Scenario, summary: &Summary) -> Vec<String> {
    let peak = cost::peak(scenario, scenario.plan.precision);
    let above = (summary.mfu > 1.0).then(|| above_peak(peak));
    let unsaid = scenario.stack.runs.is_none().then(|| {
        let stack = printable(&scenario.stack.name);
        format!("{stack} does not say what it can run ([runs] in its file): any plan is taken for one of its own")
    });
    above.into_iter().chain(unsaid).chain(lacking(scenario)).collect()
}

/// Sentences on what the stack lacks of a plan.
pub fn lacking(scenario: &Scenario) -> impl Iterator<Item = String> {
    scenario.lacks().into_iter().map(|lack| lack.what)
}

/// Why more flop are counted than the hardware can do.
pub(super) fn above_peak(peak: FlopPerSecond) -> String {
    format!("above the peak, {peak}: causal kernels skip half of the scores, all of which count")
}
