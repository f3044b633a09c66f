//! Which transfers a plan's arithmetic can hide: the arithmetic intensity of each kind against its
//! link's threshold, after "Layered gradient accumulation and modular pipeline parallelism" (arXiv
//! 2106.02679), section [layered B5] of the notes on it.
//!
//! Steady state only: what begins or ends a step has nothing to hide behind. Left out are attention's
//! flop (a share `d_s / (6 d_m)`), embedding and logits, latency, the scales of quantised formats, and
//! that a ring over `n` ranks of data parallelism moves `(n - 1) / n` of what is counted. Not for when
//! a transfer runs: that is [`crate::sim`]'s.

mod terms;

use std::fmt;

use crate::scenario::{Checked, Scenario};
use crate::units::{BytesPerSecond, thousands};

use terms::Terms;

/// A kind of transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// Sums of gradients over the ranks that hold the same weights.
    DataParallel,
    /// Gathers of sharded weights and reductions of their gradients.
    PartitionedState,
    /// Activations and their gradients between stages.
    Pipeline,
    /// Activations inside a layer.
    Tensor,
    /// Layers' inputs to the host and back.
    CheckpointOffload,
    /// Weights, gradients or both between host and device.
    StateOffload,
}

impl TransferKind {
    /// Its word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::DataParallel => "data-parallel",
            Self::PartitionedState => "partitioned-state",
            Self::Pipeline => "pipeline",
            Self::Tensor => "tensor",
            Self::CheckpointOffload => "checkpoint-offload",
            Self::StateOffload => "state-offload",
        }
    }
}

/// The link that carries a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferLink {
    /// A level of the cluster, by its index.
    Level(usize),
    /// The link to the host's memory.
    Host,
}

impl TransferLink {
    /// Its name in reports: a level's name, or `host`.
    pub fn name(self, scenario: &Scenario) -> &str {
        match self {
            Self::Level(index) => scenario.cluster.levels.get(index).map_or("network", |level| &level.name),
            Self::Host => "host",
        }
    }

    /// Its bandwidth per device, one way.
    pub fn bandwidth(self, scenario: &Scenario) -> BytesPerSecond {
        let (cluster, plan) = (&scenario.cluster, &scenario.plan);
        let Self::Level(index) = self else { return cluster.device.host_bandwidth };
        // The plan's what-if factor is on the outermost level alone.
        let factor = if index + 1 == cluster.levels.len() { plan.bandwidth_factor } else { 1.0 };
        cluster.levels.get(index).map_or(BytesPerSecond::ZERO, |level| level.bandwidth * factor)
    }
}

/// One kind of transfer of a plan, against the link that carries it. Bytes are those that a device
/// sends and those that it receives, added; so are the two directions of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intensity {
    /// The kind of transfer.
    pub kind: TransferKind,
    /// On which link: of the levels that its group crosses, the slowest.
    pub link: TransferLink,
    /// The intensity as a formula: of the arithmetic that runs beside the transfer, or of the whole step's where none
    /// does.
    pub formula: IntensityFormula,
    /// Its bandwidth on the link, one way. A ring has the bandwidth of the level times its ranks in each group below,
    /// since it passes through the ports of all of them.
    pub bandwidth: BytesPerSecond,
    /// Intensity from which the link is fast enough: `peak / (2 x bandwidth)` [layered B4], with the peak of the
    /// data sheet.
    pub threshold: f64,
    /// Whether it runs beside arithmetic.
    pub overlapped: bool,
    /// The fewest micro-batches that hide it when they are accumulated layer by layer; for the state only,
    /// and only where it can overlap.
    pub micro_batches: Option<f64>,
}

/// An intensity in numbers: `8 flop x 12,800 tokens / 12 B`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntensityFormula {
    /// Flop per parameter and token.
    pub flop: f64,
    /// The parameters, or the tokens.
    pub count: f64,
    /// `parameters`, of which each token meets all, or `tokens`, each of which meets every parameter.
    pub of: &'static str,
    /// Bytes in and out, per token or per parameter.
    pub bytes: f64,
}

impl IntensityFormula {
    /// Its value in flop per byte.
    pub fn value(&self) -> f64 {
        self.flop * self.count / self.bytes
    }
}

impl fmt::Display for IntensityFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: f64| libm::round(value * 1e3) / 1e3;
        let (flop, bytes) = (short(self.flop), thousands(self.bytes));
        let bytes = if self.bytes < 100.0 { short(self.bytes).to_string() } else { bytes };
        write!(f, "{flop} flop x {} {} / {bytes} B", thousands(self.count), self.of)
    }
}

impl Intensity {
    /// The arithmetic intensity.
    pub fn flop_per_byte(&self) -> f64 {
        self.formula.value()
    }

    /// The bandwidth with which arithmetic hides it, per device and one way; `None` where it runs beside none, however
    /// fast the link is.
    pub fn needed(&self, scenario: &Scenario) -> Option<BytesPerSecond> {
        let share = self.threshold / self.flop_per_byte();
        self.overlapped.then(|| self.link.bandwidth(scenario) * share)
    }

    /// Whether it takes no time of its own.
    pub fn hidden(&self) -> bool {
        self.overlapped && self.flop_per_byte() >= self.threshold
    }

    /// Factor on the time of the arithmetic that it belongs to [layered B5, rule]: `threshold / intensity`
    /// where it overlaps and is not hidden, `1 + threshold / intensity` where it does not overlap.
    pub fn slowdown(&self) -> f64 {
        // Beside arithmetic the slower of the two sets the pace; where nothing runs beside the transfer, its time is
        // added.
        let ratio = self.threshold / self.flop_per_byte();
        if self.overlapped { ratio.max(1.0) } else { 1.0 + ratio }
    }
}

/// The transfers that a scenario has, the state's first; none if its operators do not all have the same sharding.
pub fn transfers(scenario: &Checked) -> Vec<Intensity> {
    if !scenario.plan.operators.is_empty() {
        return Vec::new();
    }
    let terms = Terms::new(scenario, scenario.layout());
    let rows = [
        terms.data_parallel(),
        terms.partitioned_state(),
        terms.pipeline(),
        terms.tensor(),
        terms.checkpoint_offload(),
        terms.state_offload(),
    ];
    rows.into_iter().flatten().collect()
}

/// A factor that makes the outermost level the slowest of those that a transfer crosses, so that each transfer over it
/// states its need there; the need is the same at any factor.
const CRAWLING: f64 = 1e-6;

/// The need of a plan's transfers on one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkNeed {
    /// This bandwidth hides all that can be hidden.
    Rate(BytesPerSecond),
    /// A transfer never hides: its arithmetic takes so many times as long.
    NeverHidden(f64),
}

/// The needs of a plan's transfers on its links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkNeeds {
    /// Its transfers, and what each needs and has of its link; the tightest first, and before all else what runs beside
    /// no arithmetic.
    pub transfers: Vec<(Intensity, Option<BytesPerSecond>, BytesPerSecond)>,
    /// The need on the outermost level.
    pub outermost: LinkNeed,
}

impl LinkNeeds {
    /// Those of a scenario's plan.
    pub fn new(scenario: &Checked) -> Self {
        let present = transfers(scenario);
        let outermost = outermost(scenario, &present);
        let needs = |it: Intensity| (it, it.needed(scenario), it.link.bandwidth(scenario));
        let mut transfers: Vec<_> = present.into_iter().map(needs).collect();
        let share = |needed: Option<BytesPerSecond>, has| needed.map_or(f64::INFINITY, |needed| needed / has);
        transfers.sort_by(|a, b| share(b.1, b.2).total_cmp(&share(a.1, a.2)));
        Self { transfers, outermost }
    }
}

/// The present network decides what is exposed; a crawling one, which transfers cross the level at all.
fn outermost(scenario: &Checked, present: &[Intensity]) -> LinkNeed {
    let level = TransferLink::Level(scenario.cluster.levels.len().saturating_sub(1));
    let mut slow = Scenario::clone(scenario);
    slow.plan.bandwidth_factor = CRAWLING;
    // Checked as well: no rule asks how fast a network is.
    let crawling = slow.checked().map(|slow| transfers(&slow)).unwrap_or_default();
    let crossing = || crawling.iter().filter(|it| it.link == level);
    let never = present.iter().filter(|it| crossing().any(|slow| slow.kind == it.kind && !slow.overlapped));
    let most = crossing().filter_map(|it| it.needed(&slow)).reduce(BytesPerSecond::max);
    never
        .map(Intensity::slowdown)
        .reduce(f64::max)
        .map_or(LinkNeed::Rate(most.unwrap_or(BytesPerSecond::ZERO)), LinkNeed::NeverHidden)
}

#[cfg(test)]
mod tests;
