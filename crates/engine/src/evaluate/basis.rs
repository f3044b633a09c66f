//! What the program in a workspace was built for, by which a sweep over the network builds nothing.

use std::sync::Arc;

use crate::cost::{Factors, TokenFlop};
use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::Plan;
use crate::scenario::{Checked, Layout, Scenario};
use crate::stack::{Calibration, Stack};

/// What a program follows from but its network, and what is known of the scenario on any network.
#[derive(Debug)]
pub(super) struct ProgramBasis {
    cluster: Arc<Cluster>,
    stack: Arc<Stack>,
    calibration: Arc<Calibration>,
    model: Arc<Model>,
    /// The plan and the factors, whose network says nothing.
    plan: Plan,
    factors: Factors,
    pub layout: Layout,
    /// The scenario's flop for each token.
    pub flop: TokenFlop,
}

impl ProgramBasis {
    pub fn new(scenario: &Checked<'_>, factors: &Factors) -> Self {
        let Scenario { cluster, stack, calibration, model, plan, .. } = &**scenario;
        Self {
            cluster: Arc::clone(cluster),
            stack: Arc::clone(stack),
            calibration: Arc::clone(calibration),
            model: Arc::clone(model),
            plan: plan.clone(),
            factors: *factors,
            layout: *scenario.layout(),
            flop: TokenFlop::new(scenario),
        }
    }

    /// Whether it is that of another scenario too. Facts are the same where they are shared: to compare them would take
    /// longer than to build.
    pub fn is_of(&mut self, scenario: &Scenario) -> bool {
        let Self { cluster, stack, calibration, model, plan, .. } = self;
        plan.bandwidth_factor = scenario.plan.bandwidth_factor;
        Arc::ptr_eq(cluster, &scenario.cluster)
            && Arc::ptr_eq(stack, &scenario.stack)
            && Arc::ptr_eq(calibration, &scenario.calibration)
            && Arc::ptr_eq(model, &scenario.model)
            && *plan == scenario.plan
    }

    /// Whether it is that of other factors too.
    pub fn has(&mut self, factors: &Factors) -> bool {
        (self.factors.bandwidth, self.factors.latency) = (factors.bandwidth, factors.latency);
        self.factors == *factors
    }
}
