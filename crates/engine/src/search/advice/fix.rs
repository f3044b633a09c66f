//! The smallest changes that let a scenario fit. Not for the fastest one ([`crate::search::tuned`]), nor for another strategy.

use std::fmt;

use crate::evaluate::{Workspace, fits_safely, summary};
use crate::plan::{Extent, Recompute, Size};
use crate::scenario::{Edit, Field, Scenario};

use crate::search::candidate::Candidate;

/// Doublings of the job that are tried.
const DOUBLINGS: u32 = 6;

/// The most changes that are named.
const MOST: usize = 3;

/// Single edits with each of which a scenario fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixes(pub Vec<Edit>);

impl fmt::Display for Fixes {
    /// `recompute full, micro-batch 2 or nodes 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, edit) in self.0.iter().enumerate() {
            f.write_str(match index {
                0 => "",
                _ if index + 1 == self.0.len() => " or ",
                _ => ", ",
            })?;
            edit.fmt(f)?;
        }
        Ok(())
    }
}

/// The single edits with which the scenario fits safely: more recompute, a smaller micro-batch, a wider shard, more nodes; of
/// each the least, and of these the first three. `None` if there is none.
///
/// ```
/// use shardscope_engine::evaluate::Workspace;
/// use shardscope_engine::search;
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let mut file = file::parse(&library.scenario_text("default")?.text)?;
/// # file.set("micro-batch", "4")?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let fixes = search::fix(&scenario, &mut Workspace::default()).expect("an edit lets it fit");
/// println!("{fixes}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fix(scenario: &Scenario, workspace: &mut Workspace) -> Option<Fixes> {
    // In each kind the mildest change comes first, so that the first one that fits is the smallest. Nothing after it is
    // evaluated.
    let kinds: [Box<dyn Iterator<Item = Edit>>; 4] = [
        Box::new(recompute(scenario)),
        Box::new(micro_batch(scenario)),
        Box::new(shard(scenario)),
        Box::new(nodes(scenario)),
    ];
    let mut fits = |edit: &Edit| {
        let candidate = Candidate::new(scenario, [edit.clone()]);
        candidate.is_ok_and(|one| {
            let fits = summary(&one.scenario, workspace).is_ok_and(|summary| fits_safely(&one.scenario, &summary));
            fits && !one.scenario.lacks_more_than(scenario)
        })
    };
    let edits: Vec<Edit> = kinds.into_iter().filter_map(|mut kind| kind.find(&mut fits)).take(MOST).collect();
    (!edits.is_empty()).then_some(Fixes(edits))
}

fn recompute(scenario: &Scenario) -> impl Iterator<Item = Edit> {
    let more: &[Recompute] = match scenario.plan.recompute {
        Recompute::None => &[Recompute::Selective, Recompute::Full],
        Recompute::Full => &[],
        Recompute::Selective | Recompute::Share(_) => &[Recompute::Full],
    };
    more.iter().map(|mode| Edit::new(Field::Recompute, *mode))
}

/// Halves, as long as they are whole.
fn micro_batch(scenario: &Scenario) -> impl Iterator<Item = Edit> {
    let half = |size: &u32| size.is_multiple_of(2).then_some(size / 2);
    let sizes = std::iter::successors(half(&scenario.plan.micro_batch), half);
    sizes.map(|size| Edit::new(Field::MicroBatch, size))
}

/// The levels beyond the extent of what is sharded first, then the whole job.
fn shard(scenario: &Scenario) -> impl Iterator<Item = Edit> {
    let cluster = &scenario.cluster;
    let sharding = &scenario.plan.sharding;
    let devices = |extent: &Extent| match extent {
        Extent::Device => Some(1),
        Extent::Innermost => cluster.devices_in(0),
        Extent::Node => Some(cluster.devices_per_node()),
        Extent::System => None,
        Extent::Level(name) => cluster.level(name).and_then(|level| cluster.devices_in(level)),
        Extent::Ranks(ranks) => Some(ranks * scenario.plan.tensor),
    };
    let now = sharding.first_extent().and_then(devices);
    let levels = cluster.levels.iter().map(Extent::from);
    let wider = levels.filter(move |extent| now.is_some_and(|now| devices(extent).is_some_and(|more| more > now)));
    let wider = wider.chain(now.map(|_| Extent::System)).collect::<Vec<_>>();
    wider.into_iter().map(|extent| Edit::new(Field::Shard, extent))
}

fn nodes(scenario: &Scenario) -> impl Iterator<Item = Edit> {
    let now = match scenario.plan.size {
        Size::Nodes(nodes) => nodes,
        Size::Devices(devices) => devices.div_ceil(scenario.cluster.devices_per_node().max(1)),
    };
    let counts = (1..=DOUBLINGS).filter_map(move |power| now.checked_mul(1 << power));
    counts.map(|count| Edit::new(Field::Nodes, count))
}

#[cfg(test)]
mod tests;
