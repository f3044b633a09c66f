//! Where the time of a simulated step goes, on the rank that ends last. Not for bounds on it (`search::step_bound`).

use crate::bounds::intensity::{self, Intensity};
use crate::bounds::layered::LayeredStep;
use crate::cost::{Factors, Rates};
use crate::evaluate::{Memory, Stream, Trace, Workspace, stages, traced};
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::units::Seconds;

/// Parts of a simulated step, none of which counts another's time; they sum to it. The closed form [layered B8] knows
/// the first three. Other shares of the same step stand beside them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepBreakdown {
    /// Arithmetic at the peak: what a rank has of the model's.
    pub ideal: Seconds,
    /// Tensor collectives, beside which nothing computes.
    pub tensor: Seconds,
    /// Waits for another pipeline rank.
    pub bubble: Seconds,
    /// Attention cores.
    pub attention: Seconds,
    /// Element-wise operators, embedding and logits, and what kernels miss of the peak.
    pub kernels: Seconds,
    /// Waits for transfers before the first forward: its gather.
    pub opening: Seconds,
    /// Waits for transfers after the last backward: the last reductions and what they give back.
    pub closing: Seconds,
    /// Waits for all other transfers.
    pub transfers: Seconds,
    /// The optimizer, after the last reduction.
    pub update: Seconds,
    /// Launch overhead, and stalls for any other cause.
    pub other: Seconds,
    /// The model's arithmetic at the peak over the step.
    pub efficiency: f64,
    /// Each kind of transfer against the link that carries it.
    pub intensities: Vec<Intensity>,
    /// The memory of each pipeline rank.
    pub stages: Vec<Memory>,
}

impl StepBreakdown {
    /// The account of a scenario; `None` if it cannot be laid out.
    pub fn from_scenario(scenario: &Scenario, workspace: &mut Workspace) -> Option<Self> {
        let scenario = &scenario.checked().ok()?;
        let (summary, trace) = traced(scenario, workspace).ok()?;
        let (time, waits) = (summary.time, Waits::from_trace(&trace));
        let share = LayeredStep::new(scenario).ideal;
        // Where layers divide unevenly, this rank may compute less than its share.
        let ideal = share.min(time.compute);
        // Both are taken out of the compute that was simulated: what is left of it is never negative.
        let attention = attention(scenario).min(time.compute - ideal);
        Some(Self {
            ideal,
            tensor: waits.tensor,
            bubble: time.bubble,
            attention,
            kernels: time.compute - ideal - attention,
            opening: waits.opening,
            closing: waits.closing,
            transfers: time.exposed - waits.tensor - waits.opening - waits.closing,
            update: time.optimizer,
            other: time.other,
            efficiency: share / summary.step_time,
            intensities: intensity::transfers(scenario),
            stages: stages(scenario, workspace),
        })
    }

    /// The parts with their names.
    pub fn named(&self) -> [(&'static str, Seconds); 10] {
        [
            ("arithmetic at the peak", self.ideal),
            ("tensor collectives", self.tensor),
            ("bubble", self.bubble),
            ("attention", self.attention),
            ("element-wise and kernels", self.kernels),
            ("first gather", self.opening),
            ("last reduction", self.closing),
            ("other transfers", self.transfers),
            ("update", self.update),
            ("launches and waits", self.other),
        ]
    }

    /// Their sum: the time of the step.
    pub fn total(&self) -> Seconds {
        self.named().into_iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Stalls for transfers on the rank that ends last.
#[derive(Debug, Default)]
struct Waits {
    /// Before its first forward.
    opening: Seconds,
    /// While tensor collectives run.
    tensor: Seconds,
    /// After its last backward, without tensor collectives.
    closing: Seconds,
}

impl Waits {
    fn from_trace(trace: &Trace) -> Self {
        let rank = trace.last_rank();
        let passes = || {
            let computes = trace.spans_on(rank, Stream::Compute).iter();
            computes.filter(|span| span.activity.kind.computes_layers())
        };
        let (start, end) = (Seconds::ZERO, Seconds::new(f64::INFINITY));
        let first = passes().next().map_or(start, |span| span.start);
        let last = passes().next_back().map_or(end, |span| span.end);
        let tensor = |from: Seconds| trace.exposed_beside(rank, Stream::Tensor, from, end);
        Self {
            opening: trace.totals(rank, start, first).exposed,
            tensor: tensor(start),
            // Tensor collectives after the last backward are counted with the others of their kind, so they go here.
            closing: trace.totals(rank, last, end).exposed - tensor(last),
        }
    }
}

/// Attention cores of a rank's layers, both ways and again where they are computed again.
fn attention(scenario: &Scenario) -> Seconds {
    let plan = &scenario.plan;
    let rates = Rates::new(scenario, &Factors::default());
    let again = match plan.recompute {
        Recompute::Selective => 1.0,
        other => other.layers(),
    };
    // Selective recompute repeats attention in every layer, full recompute in the layers that it repeats.
    let of_kind = |(kind, layers)| {
        let core = rates.attention(kind, plan.sequences_at_once());
        let layers = f64::from(layers) / f64::from(plan.pipeline);
        (core.forward.time * (1.0 + again) + core.backward.time) * layers * f64::from(plan.accumulate)
    };
    scenario.model.kinds().map(of_kind).sum()
}
