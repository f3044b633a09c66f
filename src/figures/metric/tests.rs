use std::sync::Arc;

use super::*;
use crate::evaluate::Workspace;
use crate::testing;

#[test]
fn cost_and_energy_follow_the_device_hours() {
    let mut scenario = testing::scenario();
    let summary = crate::evaluate::summary(&scenario, &mut Workspace::default()).expect("a summary");
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
    assert_eq!(Figure::Cost.title(&scenario), "Cost of 1e9 tokens, EUR");
    assert_eq!((lacks(Figure::Cost, &scenario), lacks(Figure::Energy, &scenario)), (None, None));
}
