//! The levels of a cluster over which a job can be sharded. Not for counts of ranks between them.

use crate::plan::{Extent, Extents};
use crate::scenario::{Layout, Scenario};

/// The levels that differ in their ranks on this job, innermost first; of two that do not, the wider one.
pub(super) fn levels(scenario: &Scenario, layout: &Layout) -> Vec<Extent> {
    let named = scenario.cluster.levels.iter().map(Extent::from);
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

/// Three extents of the state: of weights, gradients and optimizer.
pub(super) fn all_of([weights, gradients, optimizer]: [&Extent; 3]) -> Extents {
    Extents { weights: Some(weights.clone()), gradients: Some(gradients.clone()), optimizer: Some(optimizer.clone()) }
}
