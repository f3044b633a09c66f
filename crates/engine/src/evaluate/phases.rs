//! The phases of a step of post-training: how long each takes, and how much memory. Not for forward, backward and update of the
//! trained model, which every step has ([`super::figures`]).

use crate::program::{Stream, TaskKind};
use crate::scenario::{BesideRole, Scenario};
use crate::units::{Bytes, Seconds};

use super::evaluation::Evaluation;
use super::step_phase::{PhaseKind, PhaseLane, StepPhase};
use super::trace::{Span, Trace};

impl Evaluation {
    /// The phases of a step: where the model writes its answers those of the whole, in their order; else its update and forwards of
    /// models beside it, none where there are none.
    pub fn step_phases(&self, scenario: &Scenario) -> Vec<StepPhase> {
        if scenario.plan.writes() {
            return self.details.phases.clone();
        }
        let passes: Vec<BesideRole> = scenario.passed_in_step().iter().map(|model| model.role).collect();
        let Some(first) = passes.first().copied() else { return Vec::new() };
        let [update, alone] = peaks(&self.trace);
        let time = self.summary.phases.beside;
        let phase = |kind: PhaseKind, passes: Vec<BesideRole>, time: Seconds, peak: Bytes| StepPhase {
            kind,
            passes,
            lane: PhaseLane::Trainer,
            time: Some(time),
            peak,
            host: Bytes::ZERO,
        };
        vec![
            phase(PhaseKind::Update, Vec::new(), self.summary.step_time - time, update),
            phase(PhaseKind::Alone(first), passes, time, alone),
        ]
    }
}

/// The most memory in use while the trained model is passed or updated, and while others are.
fn peaks(trace: &Trace) -> [Bytes; 2] {
    let mut peaks = [Bytes::ZERO; 2];
    for rank in 0..trace.ranks() {
        let is_alone = |span: &&Span| span.activity.kind == TaskKind::ForwardAlone;
        let mut alone = trace.spans_on(rank, Stream::Compute).iter().filter(is_alone).peekable();
        for point in trace.memory_of(rank) {
            while alone.next_if(|span| span.end <= point.at).is_some() {}
            // What a span takes is there from its start on, and goes at its end.
            let within = alone.peek().is_some_and(|span| span.start <= point.at);
            let peak = &mut peaks[usize::from(within)];
            *peak = peak.max(point.in_use);
        }
    }
    peaks
}
