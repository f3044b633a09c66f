//! The map's axes: which values of each are worth a column or a row.

use crate::hardware::Cluster;
use crate::plan::{Extent, Sharding, Size};
use crate::scenario::Scenario;
use crate::search::{Axis, AxisKind, AxisValue};

/// The widest job of a map over a machine whose size is not known.
const MOST_NODES: u32 = 512;

/// The most rows of shard extents.
const MOST_ROWS: usize = 8;

/// The most of what is counted in powers of two, and of the lengths of sequences.
const MOST_COUNT: u32 = 128;
const SEQUENCES: (u32, u32) = (512, 131_072);

/// Factors on what the hardware has.
const FACTORS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// What usually runs across and down: nodes, and extents, or micro-batches where nothing is sharded.
pub fn usual(scenario: &Scenario) -> [AxisKind; 2] {
    let down = own_extent(&scenario.plan.sharding).map_or(AxisKind::MicroBatch, |_| AxisKind::Shard);
    [AxisKind::Nodes, down]
}

/// The values of an axis that are worth a look, the scenario's own among them.
pub fn axis(kind: AxisKind, scenario: &Scenario) -> Axis {
    let plan = &scenario.plan;
    match kind {
        AxisKind::Nodes => across(scenario),
        AxisKind::Shard => down(scenario),
        AxisKind::MicroBatch => powers(kind, (1, MOST_COUNT), plan.micro_batch),
        AxisKind::Seq => powers(kind, SEQUENCES, plan.sequence),
        AxisKind::Accumulate => powers(kind, (1, MOST_COUNT), plan.accumulate),
        AxisKind::Tp => powers(kind, (1, MOST_COUNT / 2), plan.tensor),
        AxisKind::Pp => powers(kind, (1, MOST_COUNT / 2), plan.pipeline),
        AxisKind::Bandwidth => factors(kind, plan.bandwidth_factor),
        AxisKind::Memory => factors(kind, plan.memory_factor),
    }
}

/// What cells of a map over these axes have in common: the scenario without what they set, so that moving along them
/// changes no cell. The extents of the state are the caller's.
pub fn common(kinds: [AxisKind; 2], scenario: Scenario) -> Scenario {
    let mut common = scenario;
    let plan = &mut common.plan;
    for kind in kinds {
        match kind {
            AxisKind::Nodes => plan.size = Size::Nodes(1),
            AxisKind::Shard => {}
            AxisKind::MicroBatch => plan.micro_batch = 1,
            AxisKind::Seq => plan.sequence = common.model.sequence,
            AxisKind::Accumulate => plan.accumulate = 1,
            AxisKind::Tp => plan.tensor = 1,
            AxisKind::Pp => plan.pipeline = 1,
            AxisKind::Bandwidth => plan.bandwidth_factor = 1.0,
            AxisKind::Memory => plan.memory_factor = 1.0,
        }
    }
    common
}

/// Nodes: powers of two up to the machine's size, and the scenario's own count.
fn across(scenario: &Scenario) -> Axis {
    let most = scenario.cluster.nodes.map_or(MOST_NODES, |nodes| nodes.min(MOST_NODES));
    let mut counts: Vec<u32> = std::iter::successors(Some(1_u32), |count| count.checked_mul(2))
        .take_while(|count| *count <= most)
        .chain(nodes(scenario))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    Axis { kind: AxisKind::Nodes, values: counts.into_iter().map(AxisValue::Count).collect() }
}

/// Shard extents, narrow to wide, the scenario's own among them.
fn down(scenario: &Scenario) -> Axis {
    let own = own_extent(&scenario.plan.sharding).unwrap_or(&Extent::Device);
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
        (AxisKind::Seq, AxisValue::Count(count)) => scenario.plan.sequence == *count,
        (AxisKind::Accumulate, AxisValue::Count(count)) => scenario.plan.accumulate == *count,
        (AxisKind::Tp, AxisValue::Count(count)) => scenario.plan.tensor == *count,
        (AxisKind::Pp, AxisValue::Count(count)) => scenario.plan.pipeline == *count,
        (AxisKind::Bandwidth, AxisValue::Factor(factor)) => same(scenario.plan.bandwidth_factor, *factor),
        (AxisKind::Memory, AxisValue::Factor(factor)) => same(scenario.plan.memory_factor, *factor),
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

fn powers(kind: AxisKind, (first, last): (u32, u32), own: u32) -> Axis {
    let doubled = std::iter::successors(Some(first), |count| count.checked_mul(2));
    let mut counts: Vec<u32> = doubled.take_while(|count| *count <= last).chain([own]).collect();
    counts.sort_unstable();
    counts.dedup();
    Axis { kind, values: counts.into_iter().map(AxisValue::Count).collect() }
}

fn factors(kind: AxisKind, own: f64) -> Axis {
    let mut factors: Vec<f64> = FACTORS.into_iter().filter(|factor| !same(*factor, own)).chain([own]).collect();
    factors.sort_by(f64::total_cmp);
    Axis { kind, values: factors.into_iter().map(AxisValue::Factor).collect() }
}

fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
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
