//! The sensitivity of a step time to the constants of its calibration. Not for their uncertainty
//! ([`crate::stack::Posterior`]).

use std::sync::Arc;

use crate::cost::{Calibrated, own_entries};
use crate::scenario::Scenario;
use crate::stack::{ConstantId, ConstantValues};

/// A scenario with one constant moved a little.
#[derive(Debug, Clone, PartialEq)]
pub struct Nudge {
    constant: ConstantId,
    /// The share of its range by which it moved.
    share: f64,
    /// The scenario with it moved.
    pub scenario: Scenario,
}

/// The scenario with each constant that its step time depends on moved; none where its calibration does not say how sure
/// they are.
pub fn nudges(scenario: &Scenario) -> Vec<Nudge> {
    let own = Calibrated::new(scenario, &scenario.calibration);
    // Copied for every constant: what this step time does not depend on, and is most of it, stays behind.
    let plain = own_entries(scenario, &scenario.calibration);
    let nudge = |id: ConstantId| {
        let (share, nudged) = plain.nudged(id.constant(), plain.get(id.constant())?);
        let depends = !own.same_time(&Calibrated::new(scenario, &nudged), scenario);
        depends.then(|| Nudge {
            constant: id,
            share,
            scenario: Scenario { calibration: Arc::new(nudged), ..scenario.clone() },
        })
    };
    let known = scenario.calibration.posterior().is_some();
    ConstantId::all().filter(|_| known).filter_map(nudge).collect()
}

/// How the logarithm of a step time changes with each constant, per share of its range, from what steps take with each of
/// them nudged. A step of 2.000 s that takes 2.002 s with a thousandth more of one: about 1.
pub fn slopes(step_time: f64, nudged: impl IntoIterator<Item = (Nudge, f64)>) -> ConstantValues {
    let mut slopes = ConstantValues::from_fn(|_| 0.0);
    for (nudge, moved) in nudged {
        slopes[nudge.constant] = libm::log(moved / step_time) / nudge.share;
    }
    slopes
}
