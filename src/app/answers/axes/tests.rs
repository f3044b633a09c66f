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
