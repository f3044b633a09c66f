//! Where a step goes: the terms of the closed form, and what the simulation adds to them.

use crate::bounds::layered::Step;
use crate::cost::{Factors, Rates};
use crate::evaluate::{Lane, Trace, Workspace, traced};
use crate::program::Kind;
use crate::scenario::Scenario;
use crate::units::Seconds;

/// Parts of a simulated step; they sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Account {
    /// Of the closed form [layered B8]: arithmetic at the peak.
    pub ideal: Seconds,
    /// Of the closed form: tensor collectives, beside which nothing computes.
    pub tensor: Seconds,
    /// Of the closed form: the bubble.
    pub bubble: Seconds,
    /// Attention cores.
    pub attention: Seconds,
    /// Element-wise operators, embedding and logits, and what kernels miss of the peak.
    pub kernels: Seconds,
    /// Until the first forward begins: its gather.
    pub opening: Seconds,
    /// From the end of the last backward on, without the update: the last reductions and what they give back.
    pub closing: Seconds,
    /// The update.
    pub update: Seconds,
    /// All other transfers and waits that nothing hides.
    pub transfers: Seconds,
}

impl Account {
    /// Of a scenario; `None` if it cannot be laid out.
    pub fn of(scenario: &Scenario, workspace: &mut Workspace) -> Option<Self> {
        let (summary, trace) = traced(scenario, workspace).ok()?;
        let closed = Step::of(scenario)?;
        let (opening, closing) = ends(&trace, summary.step_time);
        let mut account = Self {
            ideal: closed.ideal,
            tensor: closed.ideal * (closed.tensor - 1.0),
            bubble: closed.ideal * (closed.tensor * closed.bubble),
            attention: attention(scenario),
            opening,
            closing: closing - summary.time.optimizer,
            update: summary.time.optimizer,
            ..Self::default()
        };
        account.kernels = summary.time.compute - account.ideal - account.attention;
        account.transfers = summary.step_time - account.total();
        Some(account)
    }

    /// The parts with their names: first the closed form's, then what comes on top.
    pub fn named(&self) -> [(&'static str, Seconds); 9] {
        [
            ("arithmetic at the peak", self.ideal),
            ("tensor collectives", self.tensor),
            ("bubble", self.bubble),
            ("attention", self.attention),
            ("element-wise and kernels", self.kernels),
            ("first gather", self.opening),
            ("last reduction", self.closing),
            ("update", self.update),
            ("other transfers and waits", self.transfers),
        ]
    }

    /// Their sum.
    pub fn total(&self) -> Seconds {
        self.named().into_iter().map(|(_, seconds)| seconds).sum()
    }
}

/// What passes before the first forward and after the last backward of any rank.
fn ends(trace: &Trace, step: Seconds) -> (Seconds, Seconds) {
    let computes = || trace.spans.iter().filter(|span| span.lane == Lane::Compute);
    let of = |kind: Kind| computes().filter(move |span| span.activity.kind == kind);
    let first = of(Kind::Forward).map(|span| span.start).reduce(Seconds::min);
    let last = of(Kind::Backward).map(|span| span.end).reduce(Seconds::max);
    (first.unwrap_or(Seconds::ZERO), step - last.unwrap_or(step))
}

/// Attention cores of a rank's layers, both ways and again where they are computed again.
fn attention(scenario: &Scenario) -> Seconds {
    let plan = &scenario.plan;
    let (forward, backward) = Rates::of(scenario, &Factors::default()).attention(f64::from(plan.micro_batch));
    let again = match plan.recompute {
        crate::plan::Recompute::Selective => 1.0,
        other => other.layers(),
    };
    let layers = f64::from(scenario.model.layers) / f64::from(plan.pipeline);
    Seconds::new((forward.time * (1.0 + again) + backward.time) * layers * f64::from(plan.accumulate))
}
