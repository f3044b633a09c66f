//! The smallest changes that let a scenario fit. Not for the fastest one ([`super::tuned`]), nor for another strategy.

use std::fmt;

use crate::evaluate::{Workspace, summary};
use crate::plan::{Extent, Recompute, Size};
use crate::scenario::Scenario;

/// Doublings of the job that are tried.
const DOUBLINGS: u32 = 6;

/// The most changes that are named.
const MOST: usize = 3;

/// Single changes with each of which a scenario fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixes(pub Vec<Change>);

impl fmt::Display for Fixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, change) in self.0.iter().enumerate() {
            let last = index + 1 == self.0.len();
            f.write_str(if index == 0 {
                ""
            } else if last {
                " or "
            } else {
                ", "
            })?;
            change.fmt(f)?;
        }
        Ok(())
    }
}

/// One field's other value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The field, as the command line calls it.
    pub flag: &'static str,
    /// The value with which it fits.
    pub value: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flag, self.value)
    }
}

/// The single changes with which the scenario fits: more recompute, a smaller micro-batch, a wider shard, more nodes; of
/// each the least, and of these the first three. `None` if there is none.
pub fn fix(scenario: &Scenario, workspace: &mut Workspace) -> Option<Fixes> {
    let kinds: [Box<dyn Iterator<Item = Trial>>; 4] = [
        Box::new(recompute(scenario)),
        Box::new(micro_batch(scenario)),
        Box::new(shard(scenario)),
        Box::new(nodes(scenario)),
    ];
    let mut fits = |scenario: &Scenario| summary(scenario, workspace).is_ok_and(|summary| summary.fits);
    let least = kinds.into_iter().filter_map(|mut kind| kind.find(|(_, changed)| fits(changed)));
    let changes: Vec<Change> = least.take(MOST).map(|(change, _)| change).collect();
    (!changes.is_empty()).then_some(Fixes(changes))
}

type Trial = (Change, Scenario);

fn change(scenario: &Scenario, flag: &'static str, value: &impl ToString, touch: impl FnOnce(&mut Scenario)) -> Trial {
    let mut changed = scenario.clone();
    touch(&mut changed);
    (Change { flag, value: value.to_string() }, changed)
}

fn recompute(scenario: &Scenario) -> impl Iterator<Item = Trial> {
    let more: &[Recompute] = match scenario.plan.recompute {
        Recompute::None => &[Recompute::Selective, Recompute::Full],
        Recompute::Full => &[],
        Recompute::Selective | Recompute::Share(_) => &[Recompute::Full],
    };
    more.iter().map(|mode| change(scenario, "recompute", mode, |changed| changed.plan.recompute = *mode))
}

/// Halves, as long as they are whole.
fn micro_batch(scenario: &Scenario) -> impl Iterator<Item = Trial> {
    let half = |size: &u32| size.is_multiple_of(2).then_some(size / 2);
    let sizes = std::iter::successors(half(&scenario.plan.micro_batch), half);
    sizes.map(|size| change(scenario, "micro-batch", &size, |changed| changed.plan.micro_batch = size))
}

/// The levels beyond the extent of what is sharded first, then the whole job.
fn shard(scenario: &Scenario) -> impl Iterator<Item = Trial> {
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
    let now = sharding.first_sharded().and_then(|part| devices(sharding.extent(part)));
    let levels = cluster.levels.iter().map(|level| match level.name.as_str() {
        "node" => Extent::Node,
        name => Extent::Level(name.into()),
    });
    let wider = levels.filter(move |extent| now.is_some_and(|now| devices(extent).is_some_and(|more| more > now)));
    let wider = wider.chain(now.map(|_| Extent::System)).collect::<Vec<_>>();
    wider.into_iter().filter_map(|extent| {
        let sharding = sharding.with_shard(&extent)?;
        Some(change(scenario, "shard", &extent, |changed| changed.plan.sharding = sharding))
    })
}

fn nodes(scenario: &Scenario) -> impl Iterator<Item = Trial> {
    let now = match scenario.plan.size {
        Size::Nodes(nodes) => nodes,
        Size::Devices(devices) => devices.div_ceil(scenario.cluster.devices_per_node().max(1)),
    };
    let counts = (1..=DOUBLINGS).filter_map(move |power| now.checked_mul(1 << power));
    counts.map(|count| change(scenario, "nodes", &count, |changed| changed.plan.size = Size::Nodes(count)))
}

#[cfg(test)]
mod tests;
