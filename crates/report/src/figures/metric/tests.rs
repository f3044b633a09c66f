use std::sync::Arc;

use super::*;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::testing;

#[test]
fn cost_and_energy_follow_the_device_hours() {
    let mut scenario = testing::scenario();
    let summary = shardscope_engine::evaluate::summary(&scenario, &mut Workspace::default()).expect("a summary");
    let lacks = |metric: Figure, scenario: &Scenario| metric.lacks(scenario).map(|problem| problem.field);
    assert_eq!(lacks(Figure::Cost, &scenario).as_deref(), Some("cluster.price_per_device_hour"));
    assert_eq!(lacks(Figure::Energy, &scenario).as_deref(), Some("cluster.watts_per_device"));
    assert!(Figure::Cost.plotted(&summary, &scenario).is_nan());
    let cluster = Arc::make_mut(&mut scenario.cluster);
    cluster.price_per_device_hour = "3 EUR".parse().ok();
    cluster.watts_per_device = "500 W".parse().ok();
    let hours = Figure::DeviceHours.plotted(&summary, &scenario);
    // Three euros and half a kilowatt-hour for each device-hour.
    assert!((Figure::Cost.plotted(&summary, &scenario) / hours - 3.0).abs() < 1e-12);
    assert!((Figure::Energy.plotted(&summary, &scenario) / hours - 0.5).abs() < 1e-12);
    assert_eq!((lacks(Figure::Cost, &scenario), lacks(Figure::Energy, &scenario)), (None, None));
    let map = |x: &str| Sweep {
        base: scenario.clone(),
        x: x.parse().expect("an axis"),
        y: "nodes=1".parse().expect("an axis"),
        tune: false,
    };
    assert_eq!(Figure::Cost.title(&map("shard=node")), "Cost of 1e9 tokens, EUR");
    // A map along the length of the training: each cell has its own, and twice the tokens take twice the time.
    let lengths = map("tokens=300B,600B");
    assert_eq!(Figure::Days.title(&lengths), "Days of the training");
    let days = |index| Figure::Days.mapped(&summary, &lengths, index).expect("days");
    let per_second = summary.tokens_per_s_per_device * f64::from(summary.devices);
    assert!((days(0) / (300e9 / per_second / 86_400.0) - 1.0).abs() < 1e-12);
    assert!((days(1) / days(0) - 2.0).abs() < 1e-12);
}
