//! Where each figure comes from: its formula, what goes into it in this scenario, and who says so.
//!
//! A [`Formula`] prints itself and works itself out, and a test holds every one against the figure that it explains.
//! Where no formula short enough to read gives the figure, because the order of a schedule decides it, the
//! explanation names what the simulation counted. Pure functions of a scenario and its evaluation; not for computing
//! figures.

pub mod difference;
mod facts;
mod formula;
mod intensity;
pub mod limits;
mod memory;
pub mod run;
mod speed;
mod time;
mod traffic;

use std::borrow::Cow;
use std::fmt;

use crate::bounds::intensity::of as transfers;
use crate::evaluate::{Evaluation, HostDirection, MemoryParts};
use crate::hardware::MAX_LEVELS;
use crate::scenario::Scenario;

use facts::Facts;

pub use formula::{Amount, Formula, Input, Unit};

/// A figure that can be explained. Levels are indices into the cluster's, elasticities into the evaluation's, parts of
/// memory into [`MemoryParts::named`], transfers into [`transfers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    /// Time of one optimizer step.
    StepTime,
    /// Compute of forward, recompute and backward.
    Compute,
    /// Time during which compute stands still for a transfer.
    Exposed,
    /// Time during which compute waits for another pipeline rank.
    Bubble,
    /// Idle over busy time of a pipeline by its law.
    BubbleLaw,
    /// The optimizer's update.
    Optimizer,
    /// Launch, host and waits.
    Other,
    /// Time during which any communication runs.
    Communication,
    /// Tokens of one optimizer step, all devices together.
    TokensPerStep,
    /// Tokens per second and device.
    TokensPerSecond,
    /// Model flop of one token.
    FlopPerToken,
    /// Flop of one token that backward spends on computing forward again.
    Recomputed,
    /// Model flop per second and device.
    ModelFlops,
    /// Hardware flop per second and device.
    HardwareFlops,
    /// Model flop utilisation.
    Mfu,
    /// Hardware flop utilisation.
    Hfu,
    /// Model flop per second and device that no schedule of the plan beats.
    Limit,
    /// Throughput over its limit.
    ShareOfLimit,
    /// Days of the whole training.
    Days,
    /// Device-hours of the whole training.
    DeviceHours,
    /// Money for the whole training.
    Cost,
    /// Energy for the whole training.
    Energy,
    /// Memory of the fullest device at its fullest moment.
    Peak,
    /// A part of it.
    Part(usize),
    /// Memory of a device.
    Capacity,
    /// Memory left.
    Headroom,
    /// Bytes that one device sends into a level.
    Traffic(usize),
    /// Time during which a level would be busy.
    Busy(usize),
    /// Bytes that one device copies to the host's memory, or from it.
    Copied(HostDirection),
    /// Time during which that way of the link would be busy.
    Copying(HostDirection),
    /// What a kind of transfer makes of the time of its arithmetic.
    Slowdown(usize),
    /// Flop per byte of a kind of transfer.
    Intensity(usize),
    /// Flop per byte from which its link is fast enough.
    Threshold(usize),
    /// What more of a resource would give.
    Elasticity(usize),
    /// A limit of fully sharded data parallelism, whatever the plan; [`limits::explain`] has it.
    Limits(limits::Which),
    /// Of the whole training by a plan that a search found; [`run::explain`] has it.
    Run(run::Which),
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What kind of authority that is.
    pub kind: Authority,
    /// Where it stands.
    pub text: String,
}

/// What stands behind a number or a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// A publication.
    Paper,
    /// What a vendor or a site states.
    Sheet,
    /// Fitted or measured.
    Measurement,
    /// A way of counting.
    Convention,
    /// What the scenario chooses.
    Scenario,
    /// What the simulated step comes to.
    Simulation,
    /// Follows from the rest.
    Derived,
}

impl Authority {
    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Sheet => "data sheet",
            Self::Measurement => "measurement",
            Self::Convention => "convention",
            Self::Scenario => "this scenario",
            Self::Simulation => "simulation",
            Self::Derived => "derived",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => f.write_str(self.kind.word()),
            text => write!(f, "{}: {text}", self.kind.word()),
        }
    }
}

/// A figure with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Which figure.
    pub figure: Figure,
    /// Its name.
    pub name: String,
    /// The figure as the evaluation has it.
    pub amount: Amount,
    /// How it follows from its inputs.
    pub formula: Formula,
    /// What it is, in a sentence or two.
    pub about: Cow<'static, str>,
    /// Who says that it is counted like this.
    pub source: Source,
}

/// Where the laws of pipelines, of arithmetic intensities and of the batch stand.
const LAYERED: &str = "Layered gradient accumulation and modular pipeline parallelism, arXiv 2106.02679";

/// How far a formula may be from its figure: the simulator counts whole picoseconds and whole bytes, the formula
/// does not.
const TOLERANCE: f64 = 1e-6;

impl Explanation {
    /// Whether the formula gives the figure.
    pub fn holds(&self) -> bool {
        let (stated, shown) = (self.formula.value(), self.amount.value);
        (stated - shown).abs() <= TOLERANCE * shown.abs()
    }
}

/// Every figure of an evaluation that can be explained, in the order in which reports print them.
pub fn figures(scenario: &Scenario, evaluation: &Evaluation) -> Vec<Figure> {
    let time = [Figure::Compute, Figure::Exposed, Figure::Bubble, Figure::Optimizer, Figure::Other];
    let speed = [
        Figure::TokensPerStep,
        Figure::TokensPerSecond,
        Figure::FlopPerToken,
        Figure::Recomputed,
        Figure::ModelFlops,
        Figure::HardwareFlops,
        Figure::Mfu,
        Figure::Hfu,
        Figure::Limit,
        Figure::ShareOfLimit,
    ];
    let parts = (0..MemoryParts::default().named().len()).map(Figure::Part);
    let levels =
        (0..scenario.cluster.levels.len().min(MAX_LEVELS)).flat_map(|at| [Figure::Traffic(at), Figure::Busy(at)]);
    let ways = HostDirection::ALL.into_iter().filter(|_| evaluation.summary.host.any());
    let host = ways.flat_map(|way| [Figure::Copied(way), Figure::Copying(way)]);
    let sent = (0..transfers(scenario).len())
        .flat_map(|at| [Figure::Slowdown(at), Figure::Intensity(at), Figure::Threshold(at)]);
    std::iter::once(Figure::StepTime)
        .chain(time)
        .chain((scenario.plan.pipeline > 1).then_some(Figure::BubbleLaw))
        .chain([Figure::Communication])
        .chain(speed)
        .chain(training(scenario))
        .chain([Figure::Peak])
        .chain(parts)
        .chain([Figure::Capacity, Figure::Headroom])
        .chain(levels)
        .chain(host)
        .chain(sent)
        .chain((0..evaluation.elasticity.len()).map(Figure::Elasticity))
        .collect()
}

/// The figures of the whole training, where its length is given.
pub fn training(scenario: &Scenario) -> impl Iterator<Item = Figure> {
    let cluster = &scenario.cluster;
    let cost = cluster.price_per_device_hour.map(|_| Figure::Cost);
    let energy = cluster.watts_per_device.map(|_| Figure::Energy);
    let all = [Some(Figure::Days), Some(Figure::DeviceHours), cost, energy];
    all.into_iter().flatten().filter(|_| scenario.plan.tokens.is_some())
}

/// Why a figure is what it is; `None` for a figure that this evaluation does not have.
pub fn explain(figure: Figure, scenario: &Scenario, evaluation: &Evaluation) -> Option<Explanation> {
    let facts = Facts::new(scenario, evaluation)?;
    let (name, amount) = facts.shown(figure)?;
    let why = match figure {
        Figure::StepTime
        | Figure::Compute
        | Figure::Exposed
        | Figure::Bubble
        | Figure::BubbleLaw
        | Figure::Optimizer
        | Figure::Other
        | Figure::Communication => facts.time(figure),
        Figure::Peak | Figure::Part(_) | Figure::Capacity | Figure::Headroom => facts.memory(figure),
        Figure::Traffic(_) | Figure::Busy(_) | Figure::Copied(_) | Figure::Copying(_) | Figure::Elasticity(_) => {
            facts.traffic(figure)
        }
        Figure::Slowdown(_) | Figure::Intensity(_) | Figure::Threshold(_) => facts.transfer(figure),
        _ => facts.speed(figure),
    }?;
    let Why { formula, about, source } = why;
    let mut explanation = Explanation { figure, name, amount, formula, about, source };
    if !explanation.holds() {
        explanation.formula = facts::counted(&explanation.name, amount);
    }
    Some(explanation)
}

/// A formula for a figure, and what to say with it.
#[derive(Debug, Clone)]
struct Why {
    formula: Formula,
    about: Cow<'static, str>,
    source: Source,
}

#[cfg(test)]
mod tests;
