//! Plans that choose for each operator how its state is placed, after OSDP (IJCAI 2023, arXiv 2209.13258), and
//! with it micro-batch, accumulation and recompute.
//!
//! Two cost models: the paper's, additive and searched exactly by [`classes`], and the simulator, searched step
//! by step from where the paper's model leads. Whatever was searched, the simulator evaluates the plan that
//! is chosen. [`profile`] plans from measured rows. Not for batch and recompute of a plan whose sharding is
//! settled ([`super::tuned`]).

mod candidate;
pub mod classes;
mod climb;
mod judge;
mod ladder;
mod paper;
pub mod profile;
mod space;
mod why;

use crate::evaluate::Summary;
use crate::plan::{Extents, Layers, Operator, Placement, Size};
use crate::scenario::{Problem, Scenario};

use super::Cancel;

use judge::{Judge, Known};
use space::{Space, Way};

pub use ladder::Ladder;
pub use why::Why;

/// What a plan is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Tokens per second and device, at any micro-batch.
    Throughput,
    /// Time of a step with the scenario's sequences.
    StepTime,
    /// Memory of the fullest device, with the scenario's sequences.
    Memory,
    /// Fewest devices, then throughput.
    Devices,
}

impl Objective {
    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::StepTime => "step-time",
            Self::Memory => "memory",
            Self::Devices => "devices",
        }
    }
}

/// What the search takes a plan to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostModel {
    /// Each candidate is simulated.
    Simulator,
    /// Alpha, beta and gamma, added up: nothing overlaps [osdp C3].
    Paper,
}

/// What to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The job; the memory of its devices is the limit.
    pub scenario: Scenario,
    /// What is best.
    pub objective: Objective,
    /// What the search goes by.
    pub cost_model: CostModel,
    /// Plans to give.
    pub top: usize,
}

/// A plan that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The job as planned.
    pub scenario: Scenario,
    /// What the simulator says of it.
    pub summary: Summary,
    /// Time of a step by the paper's model, where that was asked.
    pub paper_s: Option<f64>,
    /// Where every operator's state lies: no operator is left to the plan's own sharding.
    pub operators: Vec<Placement>,
    /// What each of them saves and spends.
    pub why: Vec<Why>,
}

impl Found {
    /// What an entry of its operators is called: `attention 44-47`, `embedding`.
    pub fn name(&self, placement: &Placement) -> String {
        match (self.layers(placement), placement.operator) {
            (_, Operator::All) => "all".to_owned(),
            (Some(layers), operator) => format!("{operator} {layers}"),
            (None, operator) => operator.to_string(),
        }
    }

    /// The layers of an entry of its operators; all of them where it says none but means layers.
    pub fn layers(&self, placement: &Placement) -> Option<Layers> {
        let all = Layers { first: 0, last: self.scenario.model.layers - 1 };
        let ends = matches!(placement.operator, Operator::Embedding | Operator::Head);
        placement.layers.or((!ends).then_some(all))
    }
}

/// What a request came to. What does not fit is not there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Planned {
    /// The best plans, best first.
    pub plans: Vec<Found>,
    /// The best one with everything sharded over all ranks.
    pub fsdp: Option<Summary>,
    /// The best one with everything on each device.
    pub ddp: Option<Summary>,
    /// Every way to place all operators alike, the best first.
    pub uniform: Vec<Uniform>,
    /// The best one that leaves each operator on each device or shards it over all ranks: the paper's choice.
    pub two_way: Option<Summary>,
    /// Plans that were compared, each as often as it was looked at: not all of them were simulated anew.
    pub searched: u64,
}

/// All operators placed alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Uniform {
    /// Where.
    pub extents: Extents,
    /// The best batch and recompute; `None` where none fits.
    pub best: Option<Summary>,
}

impl Planned {
    /// The best plan that places all operators alike.
    pub fn best_uniform(&self) -> Option<&Summary> {
        self.uniform.first()?.best.as_ref()
    }
}

/// Searches plans for a scenario that can be laid out; where it is cancelled, what it found so far.
pub fn plan(request: &Request, cancel: &Cancel) -> Result<Planned, Vec<Problem>> {
    planned(request, &Known::default(), cancel)
}

/// The same with what another search of the same job knows already.
fn planned(request: &Request, known: &Known, cancel: &Cancel) -> Result<Planned, Vec<Problem>> {
    request.scenario.layout()?;
    let mut judge = Judge::new(request.objective, known, cancel);
    let mut found = Planned::default();
    for size in sizes(request) {
        let mut scenario = request.scenario.clone();
        scenario.plan.size = size;
        let Ok(space) = Space::of(&scenario, request.objective) else { continue };
        if request.objective != Objective::Devices || judge.can_fit(&space) {
            found = search(request, &space, &mut judge);
        }
        if !found.plans.is_empty() {
            break;
        }
    }
    Ok(Planned { searched: judge.searched, ..found })
}

/// The sizes that a job may have, the smallest first: its own, or, where devices are to be few, parts of a node that
/// are powers of two and whole nodes up to it.
fn sizes(request: &Request) -> Vec<Size> {
    let Scenario { plan, cluster, .. } = &request.scenario;
    if request.objective != Objective::Devices {
        return vec![plan.size];
    }
    let (most, node) = (request.scenario.devices(), cluster.devices_per_node().max(1));
    let parts = (0..31).map(|power| 1 << power).take_while(|part| *part < node.min(most)).map(Size::Devices);
    parts.chain((1..=most / node).map(Size::Nodes)).chain((most < node).then_some(plan.size)).collect()
}

fn search(request: &Request, space: &Space<'_>, judge: &mut Judge<'_>) -> Planned {
    let uniform = judge.uniform(space);
    let best_of = |way: usize, judge: &Judge<'_>| {
        let kept = uniform.iter().filter(|one| one.summary.fits && one.candidate.uniform_way() == Some(way));
        kept.map(|one| one.summary).reduce(|best, one| if judge.better(&one, &best) { one } else { best })
    };
    let (device, widest) = (0, space.ways.len() - 1);
    let mut choose = |ways: &[usize]| match request.cost_model {
        CostModel::Paper => paper::search(space, ways, judge),
        CostModel::Simulator => climb::search(space, ways, &uniform, judge),
    };
    let two_way = choose(&[device, widest]);
    let all: Vec<usize> = (0..space.ways.len()).collect();
    let mut plans = choose(&all);
    if request.cost_model == CostModel::Simulator {
        // A climb may end below one that had less to choose from.
        plans.extend(two_way.iter().cloned());
        plans.sort_by(|a, b| judge.order(&a.summary, &b.summary));
        plans.dedup_by(|a, b| a.summary == b.summary);
    }
    let of_way = |(way, of): (usize, &Way)| Uniform { extents: of.extents.clone(), best: best_of(way, judge) };
    let mut ways: Vec<Uniform> = space.ways.iter().enumerate().map(of_way).collect();
    let order = |a: &Uniform, b: &Uniform| match (&a.best, &b.best) {
        (Some(a), Some(b)) => judge.order(a, b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    ways.sort_by(order);
    Planned {
        fsdp: best_of(widest, judge),
        ddp: best_of(device, judge),
        uniform: ways,
        two_way: two_way.first().map(|best| best.summary),
        plans: plans.iter().take(request.top).map(|one| judge.explained(space, one)).collect(),
        searched: judge.searched,
    }
}

#[cfg(test)]
mod tests;
