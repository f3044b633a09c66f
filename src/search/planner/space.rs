//! What a plan can choose from: ways to place an operator's state, slices, batches and recompute.

use crate::plan::{Extent, Extents};
use crate::scenario::{Layout, Problem, Scenario};
use crate::search::tune::{MOST_SEQUENCES, RECOMPUTE, Tuned};

use super::request::Objective;

/// Slices into which a layer's operators may be cut [osdp C5].
const SLICES: [u32; 5] = [1, 2, 4, 8, 16];

/// One way to place an operator's state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatePlacement {
    /// All three of them.
    pub extents: Extents,
    pub layout: Layout,
}

/// Everything that can be chosen for a job.
pub(super) struct Space<'a> {
    pub scenario: &'a Scenario,
    /// From everything on each device to everything sharded over all ranks.
    pub ways: Vec<StatePlacement>,
    /// The smaller batch of two with the same recompute first.
    pub batches: Vec<Tuned>,
    pub slices: Vec<u32>,
}

impl<'a> Space<'a> {
    /// The choices for a scenario that can be laid out.
    pub fn new(scenario: &'a Scenario, objective: Objective) -> Result<Self, Vec<Problem>> {
        let layout = scenario.layout()?;
        let model = &scenario.model;
        let even = |slices: &u32| model.hidden.is_multiple_of(*slices) && model.undivided_mlp(*slices).is_none();
        Ok(Self {
            scenario,
            ways: ways(scenario, &layout),
            batches: batches(scenario, objective),
            slices: SLICES.into_iter().filter(even).collect(),
        })
    }
}

/// Every choice of levels for weights, gradients and optimizer state, each at least as wide as the one before.
fn ways(scenario: &Scenario, layout: &Layout) -> Vec<StatePlacement> {
    let levels = levels(scenario, layout);
    let mut ways = Vec::new();
    // As in the stages of ZeRO, the optimizer is sharded at least as far as gradients, and these as far as weights.
    // With device, node and system there are 10 ways: 3 with all alike, 6 with two alike, 1 with none.
    for (index, weights) in levels.iter().enumerate() {
        for (wider, gradients) in levels.iter().enumerate().skip(index) {
            for optimizer in &levels[wider..] {
                let extents = all_of([weights, gradients, optimizer]);
                ways.push(StatePlacement { layout: layout.placed(scenario, &extents), extents });
            }
        }
    }
    ways
}

fn all_of([weights, gradients, optimizer]: [&Extent; 3]) -> Extents {
    Extents { weights: Some(weights.clone()), gradients: Some(gradients.clone()), optimizer: Some(optimizer.clone()) }
}

/// The levels that differ in their ranks on this job, innermost first; of two that do not, the wider one.
pub(in crate::search) fn levels(scenario: &Scenario, layout: &Layout) -> Vec<Extent> {
    let named = scenario.cluster.levels.iter().map(|level| match level.name.as_str() {
        "node" => Extent::Node,
        "system" => Extent::System,
        name => Extent::Level(name.into()),
    });
    let ranks = |extent: &Extent| layout.placed(scenario, &all_of([extent; 3])).weights;
    let mut levels: Vec<(u32, Extent)> = vec![(1, Extent::Device)];
    for extent in named {
        let here = ranks(&extent);
        // A level inside which tensor parallelism leaves one rank shards nothing; one that does not divide the ranks
        // leaves some without a group.
        if here == 1 || !layout.group().is_multiple_of(here) {
            continue;
        }
        if levels.last().is_some_and(|(last, _)| *last == here) {
            levels.pop();
        }
        levels.push((here, extent));
    }
    levels.into_iter().map(|(_, extent)| extent).collect()
}

/// Micro-batches with every recompute: as many sequences a step as the scenario has, or, where throughput is
/// what counts, more.
fn batches(scenario: &Scenario, objective: Objective) -> Vec<Tuned> {
    let sequences = scenario.plan.micro_batch.saturating_mul(scenario.plan.accumulate);
    let sizes: Vec<u32> = match objective {
        Objective::Throughput | Objective::Devices => (0..=MOST_SEQUENCES.ilog2()).map(|power| 1 << power).collect(),
        Objective::StepTime | Objective::Memory => {
            (1..=sequences.min(MOST_SEQUENCES)).filter(|size| sequences.is_multiple_of(*size)).collect()
        }
    };
    let tuned = |recompute, micro_batch| {
        scenario.accumulate_for(micro_batch).map(|accumulate| Tuned { micro_batch, recompute, accumulate })
    };
    let all = RECOMPUTE.into_iter().flat_map(|recompute| sizes.iter().map(move |size| (recompute, *size)));
    all.filter_map(|(recompute, size)| tuned(recompute, size)).collect()
}
