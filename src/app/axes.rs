//! The map's axes: which counts of nodes and which extents are worth a column and a row.

use crate::hardware::Cluster;
use crate::plan::{Extent, Sharding, Size};
use crate::scenario::Scenario;
use crate::search::{Axis, AxisKind, AxisValue};

/// The widest job of a map over a machine whose size is not known.
const MOST_NODES: u32 = 512;

/// The most rows of shard extents.
const MOST_ROWS: usize = 8;

/// Nodes across: powers of two up to the machine's size, and the scenario's own count.
pub fn across(scenario: &Scenario) -> Axis {
    let most = scenario.cluster.nodes.map_or(MOST_NODES, |nodes| nodes.min(MOST_NODES));
    let mut counts: Vec<u32> = std::iter::successors(Some(1_u32), |count| count.checked_mul(2))
        .take_while(|count| *count <= most)
        .chain(nodes(scenario))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    Axis { kind: AxisKind::Nodes, values: counts.into_iter().map(AxisValue::Count).collect() }
}

/// Shard extents down, narrow to wide, the scenario's own among them; micro-batches where nothing is sharded.
pub fn down(scenario: &Scenario) -> Axis {
    let Some(own) = own_extent(&scenario.plan.sharding) else {
        return micro_batches(scenario);
    };
    let cluster = &scenario.cluster;
    let mut rows: Vec<Extent> = std::iter::once(Extent::Device)
        .chain(levels_up_to_node(cluster))
        .chain([2, 4, 8].map(|nodes| Extent::Ranks(nodes_in_ranks(nodes, scenario))))
        .chain([Extent::System])
        .collect();
    if !rows.iter().any(|row| same_group(row, own, cluster)) {
        let before = rows.iter().position(|row| width(row, cluster) > width(own, cluster));
        rows.insert(before.unwrap_or(rows.len()), own.clone());
    }
    while rows.len() > MOST_ROWS {
        let spare = rows.iter().rposition(|row| matches!(row, Extent::Ranks(_)) && row != own);
        rows.remove(spare.unwrap_or(0));
    }
    Axis { kind: AxisKind::Shard, values: rows.into_iter().map(AxisValue::Shard).collect() }
}

/// Where the scenario itself lies on an axis.
pub fn position(axis: &Axis, scenario: &Scenario) -> Option<usize> {
    axis.values.iter().position(|value| match (axis.kind, value) {
        (AxisKind::Nodes, AxisValue::Count(count)) => nodes(scenario) == Some(*count),
        (AxisKind::MicroBatch, AxisValue::Count(count)) => scenario.plan.micro_batch == *count,
        (AxisKind::Shard, AxisValue::Shard(extent)) => {
            own_extent(&scenario.plan.sharding).is_some_and(|own| same_group(own, extent, &scenario.cluster))
        }
        _ => false,
    })
}

/// How an axis's value is called: a count of ranks that fills nodes is so many nodes.
pub fn label(value: &AxisValue, scenario: &Scenario) -> String {
    match value {
        AxisValue::Shard(Extent::Ranks(ranks)) => {
            let per_node = nodes_in_ranks(1, scenario);
            match ranks / per_node {
                nodes if ranks % per_node == 0 && nodes > 1 => format!("{nodes} nodes"),
                _ => format!("{ranks} ranks"),
            }
        }
        other => other.to_string(),
    }
}

/// The scenario's whole nodes; `None` for a part of a node.
fn nodes(scenario: &Scenario) -> Option<u32> {
    match scenario.plan.size {
        Size::Nodes(nodes) => Some(nodes),
        Size::Devices(devices) => {
            let per_node = scenario.cluster.devices_per_node();
            devices.is_multiple_of(per_node).then_some(devices / per_node)
        }
    }
}

fn micro_batches(scenario: &Scenario) -> Axis {
    let mut counts: Vec<u32> = (0..MOST_ROWS as u32).map(|power| 1 << power).collect();
    counts.push(scenario.plan.micro_batch);
    counts.sort_unstable();
    counts.dedup();
    Axis { kind: AxisKind::MicroBatch, values: counts.into_iter().map(AxisValue::Count).collect() }
}

fn own_extent(sharding: &Sharding) -> Option<&Extent> {
    sharding.first_sharded().map(|part| sharding.extent(part))
}

fn levels_up_to_node(cluster: &Cluster) -> impl Iterator<Item = Extent> {
    let node = cluster.level("node").unwrap_or(0);
    cluster.levels.iter().take(node + 1).map(|level| match level.name.as_str() {
        "node" => Extent::Node,
        name => Extent::Level(name.into()),
    })
}

/// The data x context ranks inside so many nodes.
fn nodes_in_ranks(nodes: u32, scenario: &Scenario) -> u32 {
    (nodes * scenario.cluster.devices_per_node() / scenario.plan.tensor.max(1)).max(1)
}

/// A level or a count, however it is called: `innermost` and `node` are the same group on most machines.
fn same_group(a: &Extent, b: &Extent, cluster: &Cluster) -> bool {
    a == b || width(a, cluster) == width(b, cluster) && !matches!((a, b), (Extent::Ranks(_), _) | (_, Extent::Ranks(_)))
}

/// The devices that an extent spans, to put rows in order; the whole machine is the widest.
fn width(extent: &Extent, cluster: &Cluster) -> u32 {
    let level = |index: usize| cluster.devices_in(index).unwrap_or(u32::MAX);
    match extent {
        Extent::Device => 1,
        Extent::Innermost => level(0),
        Extent::Node => cluster.devices_per_node(),
        Extent::System => u32::MAX,
        Extent::Level(name) => cluster.level(name).map_or(u32::MAX, level),
        Extent::Ranks(ranks) => *ranks,
    }
}

#[cfg(test)]
mod tests;
