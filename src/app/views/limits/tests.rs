//! What keys do to the assumptions.

use super::*;
use crate::app::tests::{PIPELINE, explorer, explorer_on};

#[test]
fn keys_change_the_assumption_under_the_cursor_within_its_range() {
    let scenario = explorer().scenario;
    let mut limits = Limits::default();
    assert_eq!(limits.of(&scenario), fsdp::Limits::of(&scenario), "the defaults of the command line");
    (0..3).for_each(|_| limits.update(Action::Right));
    assert!((limits.of(&scenario).gamma - 0.3).abs() < 1e-12);
    (0..5).for_each(|_| limits.update(Action::Left));
    assert!(limits.of(&scenario).gamma.abs() < 1e-12);
    limits.update(Action::Down);
    (0..5).for_each(|_| limits.update(Action::Right));
    assert!((limits.of(&scenario).n_bwd - 2.0).abs() < 1e-12);
    limits.update(Action::Down);
    limits.update(Action::Left);
    assert_eq!(limits.of(&scenario).stage, Stage::Two);
    let before = limits.of(&scenario);
    limits.update(Action::Last);
    limits.update(Action::Left);
    assert_eq!((limits.cursor, limits.of(&scenario)), (LAST, before), "numbers follow, keys do not change them");
}

#[test]
fn what_else_a_plan_has_is_named() {
    assert_eq!(Limits::beside(&explorer().scenario), None);
    assert_eq!(Limits::beside(&explorer_on(PIPELINE).scenario).unwrap(), "tp 8, pp 8");
}

#[test]
fn the_limits_of_a_pipeline_are_those_of_data_parallelism_on_its_devices() {
    let pipeline = explorer_on(PIPELINE).scenario;
    let mut alone = pipeline.clone();
    (alone.plan.tensor, alone.plan.pipeline) = (1, 1);
    assert_eq!(Limits::default().of(&pipeline), Limits::default().of(&alone));
}
