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
    limits.update(Action::Last);
    limits.update(Action::Left);
    assert_eq!(limits.of(&scenario).stage, Stage::Two);
}

#[test]
fn a_plan_with_more_than_data_parallelism_is_refused() {
    assert_eq!(Limits::refusal(&explorer().scenario), None);
    assert_eq!(Limits::refusal(&explorer_on(PIPELINE).scenario).unwrap(), "the plan has tp 8 and pp 8");
}
