//! The map's axes: which values of each are worth a column or a row.

use shardscope_engine::plan::{Extent, Plan, Precision};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::field::{Field, Steps, Type, Value};
use shardscope_engine::search::Axis;
use shardscope_engine::search::options::{nodes_in_ranks, plan_options, same};

/// Factors on what the hardware has.
const FACTORS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

/// The presets that a field can have, looked up for the scenario at hand.
pub type LookedUp<'a> = dyn Fn(Field) -> Vec<Value> + 'a;

/// The usual fields across and down: nodes, and extents, or micro-batches where nothing is sharded, or where ranks that
/// share a model leave extents little to divide.
pub fn usual(scenario: &Scenario) -> [Field; 2] {
    let extents = scenario.plan.sharding.first_extent().filter(|_| model_ranks(scenario) == 1);
    [Field::Nodes, extents.map_or(Field::MicroBatch, |_| Field::Shard)]
}

/// Ranks that compute one replica of the model together.
fn model_ranks(scenario: &Scenario) -> u32 {
    let plan = &scenario.plan;
    [plan.tensor, plan.context, plan.pipeline].into_iter().fold(1, u32::saturating_mul)
}

/// The fewest nodes that whole replicas of the model fill.
fn replica_nodes(scenario: &Scenario) -> u32 {
    let (ranks, node) = (model_ranks(scenario).max(1), scenario.cluster.devices_per_node().max(1));
    (1..=ranks).find(|nodes| nodes.saturating_mul(node).is_multiple_of(ranks)).unwrap_or(1)
}

/// The values of an axis that are worth a look, the scenario's own among them.
pub fn axis(field: Field, scenario: &Scenario, presets: &LookedUp<'_>) -> Axis {
    let own = own(field, scenario);
    let values = match field.spec().takes {
        Type::Id => presets(field),
        Type::Count(..) => counts(field, scenario, own.and_then(|own| own.get())),
        Type::Factor => factors(&FACTORS, own.and_then(|own| own.get())),
        Type::Share => factors(&SHARES, own.and_then(|own| own.get())),
        Type::Batch
        | Type::Tokens
        | Type::Money
        | Type::Switch
        | Type::Extent
        | Type::Recompute
        | Type::RecomputeModules
        | Type::HostModules
        | Type::StageSizes
        | Type::Imbalance
        | Type::Capacity
        | Type::DispatchFormats
        | Type::LoraTargets
        | Type::Beside
        | Type::OneOf(_) => {
            let mut values = plan_options(field, scenario);
            let lacking = own.filter(|own| !values.iter().any(|value| same(value, own, &scenario.cluster)));
            values.extend(lacking);
            values
        }
    };
    Axis { field, values }
}

/// An axis over a field of the plan, which has no presets.
pub fn plan_axis(field: Field, scenario: &Scenario) -> Axis {
    axis(field, scenario, &|_| Vec::new())
}

/// A scenario's own value of a field, as axes have it: nothing for an extent to move where nothing is sharded.
fn own(field: Field, scenario: &Scenario) -> Option<Value> {
    match field {
        Field::Shard => scenario.plan.sharding.first_extent().cloned().map(Value::Extent),
        _ => field.meant(scenario),
    }
}

/// The common base of a map's cells: the scenario without the fields of its axes, so that moving along them changes no
/// cell. Presets and the extents of the state are the caller's.
pub fn common(fields: [Field; 2], scenario: Scenario) -> Scenario {
    let mut common = scenario;
    let usual = Plan::new(common.plan.sharding.clone(), common.model.sequence);
    let precision = Value::from(Precision::usual(&common.cluster.device.peak));
    for field in fields {
        let value = match field {
            Field::Precision => Some(precision.clone()),
            // Both of them are the size of the job.
            Field::Devices => Field::Nodes.in_plan(&usual),
            Field::MtpLayers | Field::FrozenLayers => Some(Value::Count(0)),
            _ => field.in_plan(&usual),
        };
        let place = if field == Field::Devices { Field::Nodes } else { field };
        if let Some(value) = value.filter(|_| !field.is_in_sharding()) {
            // A default is of its field's type, so that nothing can refuse it.
            let _ = place.put(&value, &mut common);
        }
    }
    if fields.contains(&Field::GlobalBatch) {
        common.plan.accumulate = 1;
    }
    if fields.contains(&Field::Tokens) {
        // The default is no length at all, which is no value that could be put.
        common.plan.tokens = None;
    }
    common.settle_batch();
    common
}

/// Powers of two in the range of the field's axis, and the scenario's own count; of nodes those that whole replicas fill,
/// up to the machine's size, and that size.
fn counts(field: Field, scenario: &Scenario, own: Option<u32>) -> Vec<Value> {
    let (first, last) = field.spec().axis.range;
    let machine = scenario.cluster.nodes.filter(|_| field == Field::Nodes);
    let last = machine.map_or(last, |most| most.min(last));
    let step = if field == Field::Nodes { replica_nodes(scenario) } else { 1 };
    let mut counts = Steps::Powers(first.max(1), last).counts(last / step);
    for count in &mut counts {
        *count *= step;
    }
    counts.extend(own.into_iter().chain(machine.filter(|machine| *machine <= last)));
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().map(Value::Count).collect()
}

/// Where the scenario itself lies on an axis.
pub fn position(axis: &Axis, scenario: &Scenario) -> Option<usize> {
    let own = own(axis.field, scenario)?;
    axis.values.iter().position(|value| same(value, &own, &scenario.cluster))
}

/// How an axis's value is called: a count of ranks that fills nodes is so many nodes.
pub fn label(field: Field, value: &Value, scenario: &Scenario) -> String {
    match value {
        Value::Extent(Extent::Ranks(ranks)) => {
            let per_node = nodes_in_ranks(1, scenario);
            match ranks / per_node {
                nodes if ranks % per_node == 0 && nodes > 1 => format!("{nodes} nodes"),
                _ => format!("{ranks} ranks"),
            }
        }
        Value::Extent(Extent::System) => "all GPUs".to_owned(),
        other => field.spec().takes.show(other),
    }
}

fn factors(usual: &[f64], own: Option<f64>) -> Vec<Value> {
    let other = |factor: &f64| own.is_none_or(|own| factor.total_cmp(&own).is_ne());
    let mut factors: Vec<f64> = usual.iter().copied().filter(other).chain(own).collect();
    factors.sort_by(f64::total_cmp);
    factors.into_iter().map(Value::Number).collect()
}

#[cfg(test)]
mod tests {
    //! Which columns and rows a map has.

    use super::*;
    use crate::app::tests::{FRONTIER, explorer, explorer_on};

    fn words(axis: &Axis) -> Vec<String> {
        axis.values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nodes_are_powers_of_two_and_the_scenarios_own() {
        let axis = plan_axis(Field::Nodes, &explorer_on(FRONTIER).scenario);
        assert_eq!(words(&axis), ["1", "2", "4", "8", "16", "32", "48", "64", "128", "256", "512"]);
    }

    #[test]
    fn extents_are_the_levels_and_a_few_counts_of_nodes() {
        let app = explorer_on(FRONTIER);
        let axis = plan_axis(usual(&app.scenario)[1], &app.scenario);
        // A node of Frontier has 8 devices: 2, 4 and 8 nodes are 16, 32 and 64 ranks.
        assert_eq!(words(&axis), ["device", "package", "node", "16", "32", "64", "system"]);
        let labels: Vec<String> = axis.values.iter().map(|value| label(axis.field, value, &app.scenario)).collect();
        assert_eq!(labels, ["device", "package", "node", "2 nodes", "4 nodes", "8 nodes", "all GPUs"]);
    }

    #[test]
    fn the_innermost_level_is_the_package_or_the_node() {
        // zero-topo shards weights over `innermost`.
        let app = explorer_on(FRONTIER);
        assert_eq!(position(&plan_axis(usual(&app.scenario)[1], &app.scenario), &app.scenario), Some(1));
        let app = explorer_on(&FRONTIER.replace("mi250x-frontier", "a100-40gb-dgx"));
        let axis = plan_axis(usual(&app.scenario)[1], &app.scenario);
        assert_eq!(words(&axis)[..2], ["device", "node"]);
        assert_eq!(position(&axis, &app.scenario), Some(1));
    }

    #[test]
    fn a_count_of_ranks_of_its_own_gets_a_row_in_its_place() {
        let app = explorer_on(&FRONTIER.replace("nodes = 48", "nodes = 48\nshard = 24"));
        let axis = plan_axis(usual(&app.scenario)[1], &app.scenario);
        assert_eq!(words(&axis), ["device", "package", "node", "16", "24", "32", "64", "system"]);
        assert_eq!(position(&axis, &app.scenario), Some(4));
        assert_eq!(label(axis.field, &axis.values[4], &app.scenario), "3 nodes");
    }

    #[test]
    fn without_sharding_the_rows_are_micro_batches() {
        let mut app = explorer();
        app.scenario.plan.sharding.weights = Extent::Device;
        app.scenario.plan.sharding.gradients = Extent::Device;
        app.scenario.plan.sharding.optimizer = Extent::Device;
        let axis = plan_axis(usual(&app.scenario)[1], &app.scenario);
        assert_eq!(axis.field, Field::MicroBatch);
        assert_eq!(words(&axis), ["1", "2", "4", "8", "16", "32", "64", "128"]);
        assert_eq!(position(&axis, &app.scenario), Some(1));
    }
}
