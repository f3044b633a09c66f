//! The map's axes: which values of each are worth a column or a row.

use crate::hardware::Cluster;
use crate::plan::{Extent, Plan, Precision, Recompute, Sharding, Size};
use crate::scenario::Scenario;
use crate::scenario::field::{Field, Type, Value};
use crate::search::Axis;

/// The most rows of shard extents.
const MOST_ROWS: usize = 8;

/// Factors on what the hardware has.
const FACTORS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// The presets that a field can have, looked up for the scenario at hand.
pub type Presets<'a> = dyn Fn(Field) -> Vec<Value> + 'a;

/// What usually runs across and down: nodes, and extents, or micro-batches where nothing is sharded.
pub fn usual(scenario: &Scenario) -> [Field; 2] {
    let down = own_extent(&scenario.plan.sharding).map_or(Field::MicroBatch, |_| Field::Shard);
    [Field::Nodes, down]
}

/// The values of an axis that are worth a look, the scenario's own among them.
pub fn axis(field: Field, scenario: &Scenario, presets: &Presets<'_>) -> Axis {
    let own = own(field, scenario);
    let values = match (field.spec().takes, field) {
        (Type::Id, _) => presets(field),
        (Type::Count(..), _) => counts(field, scenario, own.and_then(|own| own.get())),
        (Type::Factor | Type::Tokens, _) => factors(own.and_then(|own| own.get())),
        (Type::Switch, _) => [false, true].map(Value::Switch).to_vec(),
        (Type::Extent, Field::Hpz) => with_own(levels(scenario).map(Value::Extent).collect(), own),
        (Type::Extent, _) => down(scenario, own.and_then(|own| own.get())),
        (Type::Recompute, _) => with_own(RECOMPUTE.map(Value::Recompute).to_vec(), own),
        (Type::OneOf(words), _) => words.iter().map(Value::Word).collect(),
    };
    Axis { field, values }
}

/// The same for a field of the plan, which has no presets.
pub fn plan_axis(field: Field, scenario: &Scenario) -> Axis {
    axis(field, scenario, &|_| Vec::new())
}

/// What backward may compute again.
const RECOMPUTE: [Recompute; 6] = [
    Recompute::None,
    Recompute::Selective,
    Recompute::Share(0.25),
    Recompute::Share(0.5),
    Recompute::Share(0.75),
    Recompute::Full,
];

/// A scenario's own value of a field, as axes have it: whole nodes however the size was given, and nothing for an extent
/// to move where nothing is sharded.
fn own(field: Field, scenario: &Scenario) -> Option<Value> {
    match field {
        Field::Nodes => nodes(scenario).map(Value::Count),
        Field::Devices => Some(Value::Count(scenario.devices())),
        Field::Shard => own_extent(&scenario.plan.sharding).cloned().map(Value::Extent),
        _ => field.value(scenario),
    }
}

/// The values, and behind them the scenario's own where it is not among them.
fn with_own(mut values: Vec<Value>, own: Option<Value>) -> Vec<Value> {
    values.extend(own.filter(|own| !values.contains(own)).into_iter().collect::<Vec<_>>());
    values
}

/// What cells of a map over these axes have in common: the scenario without what they set, so that moving along them
/// changes no cell. Presets and the extents of the state are the caller's.
pub fn common(fields: [Field; 2], scenario: Scenario) -> Scenario {
    let mut common = scenario;
    let usual = Plan::new(common.plan.sharding.clone(), common.model.sequence);
    let precision = Value::from(Precision::usual(&common.cluster.device.peak));
    for field in fields {
        let value = match field {
            Field::Precision => Some(precision.clone()),
            // Both of them are the size of the job.
            Field::Devices => Field::Nodes.in_plan(&usual),
            _ => field.in_plan(&usual),
        };
        let place = if field == Field::Devices { Field::Nodes } else { field };
        if let Some(value) = value.filter(|_| !field.is_in_sharding()) {
            // A default is of its field's type, so that nothing can refuse it.
            let _ = place.put(&value, &mut common);
        }
    }
    common
}

/// Powers of two in the range of the field's axis, nodes up to the machine's size, and the scenario's own count.
fn counts(field: Field, scenario: &Scenario, own: Option<u32>) -> Vec<Value> {
    let (first, last) = field.spec().axis.map_or((1, 1), |axis| axis.range);
    let last = if field == Field::Nodes { scenario.cluster.nodes.map_or(last, |most| most.min(last)) } else { last };
    let doubled = std::iter::successors(Some(first.max(1)), |count| count.checked_mul(2));
    let mut counts: Vec<u32> = doubled.take_while(|count| *count <= last).chain(own).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().map(Value::Count).collect()
}

/// Shard extents, narrow to wide, the scenario's own among them.
fn down(scenario: &Scenario, own: Option<Extent>) -> Vec<Value> {
    let own = &own.unwrap_or(Extent::Device);
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
    rows.into_iter().map(Value::Extent).collect()
}

/// Where the scenario itself lies on an axis.
pub fn position(axis: &Axis, scenario: &Scenario) -> Option<usize> {
    let own = own(axis.field, scenario)?;
    axis.values.iter().position(|value| match (value, &own) {
        (Value::Preset(preset), Value::Id(id)) => preset.id() == &**id,
        (Value::Extent(extent), Value::Extent(own)) => same_group(own, extent, &scenario.cluster),
        (value, own) => value == own,
    })
}

/// How an axis's value is called: a count of ranks that fills nodes is so many nodes.
pub fn label(value: &Value, scenario: &Scenario) -> String {
    match value {
        Value::Extent(Extent::Ranks(ranks)) => {
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

fn factors(own: Option<f64>) -> Vec<Value> {
    let other = |factor: &f64| own.is_none_or(|own| factor.total_cmp(&own).is_ne());
    let mut factors: Vec<f64> = FACTORS.into_iter().filter(other).chain(own).collect();
    factors.sort_by(f64::total_cmp);
    factors.into_iter().map(Value::Number).collect()
}

/// One device, and the levels of the cluster.
fn levels(scenario: &Scenario) -> impl Iterator<Item = Extent> {
    let levels = scenario.cluster.levels.iter().map(|level| level.name.parse().unwrap_or(Extent::System));
    std::iter::once(Extent::Device).chain(levels)
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
