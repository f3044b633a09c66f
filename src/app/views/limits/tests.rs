//! What keys do to the assumptions.

use super::*;
use crate::app::tests::{PIPELINE, explorer, explorer_on};
use shardscope_engine::bounds::fsdp::{self, ZeroStage};

#[test]
fn keys_change_the_assumption_under_the_cursor_within_its_range() {
    let app = explorer();
    let mut limits = LimitsView::default();
    let now = |limits: &LimitsView| limits.assumed.limits(&app.scenario);
    let mut press = |action, times| {
        for _ in 0..times {
            limits.answer(action, &app.context());
        }
        limits.clone()
    };
    assert_eq!(now(&press(Action::Up, 0)), fsdp::FsdpLimits::new(&app.scenario), "the defaults of the command line");
    assert!((now(&press(Action::Right, 3)).gamma - 0.3).abs() < 1e-12);
    assert!(now(&press(Action::Left, 5)).gamma.abs() < 1e-12);
    press(Action::Down, 1);
    assert!((now(&press(Action::Right, 5)).n_bwd - 2.0).abs() < 1e-12);
    press(Action::Down, 1);
    let before = press(Action::Left, 1);
    assert_eq!(now(&before).stage, ZeroStage::Two);
    press(Action::Last, 1);
    let after = press(Action::Left, 1);
    assert_eq!((after.row(), after.assumed), (ROWS - 1, before.assumed), "numbers follow, keys do not change them");
}

#[test]
fn what_else_a_plan_has_is_named() {
    assert_eq!(LimitsView::beside(&explorer().scenario), None);
    assert_eq!(LimitsView::beside(&explorer_on(PIPELINE).scenario).unwrap(), "tp 8, pp 8");
}

#[test]
fn the_limits_of_a_pipeline_are_those_of_data_parallelism_on_its_devices() {
    let pipeline = explorer_on(PIPELINE).scenario;
    let mut alone = pipeline.clone();
    (alone.plan.tensor, alone.plan.pipeline) = (1, 1);
    assert_eq!(LimitAssumptions::default().limits(&pipeline), LimitAssumptions::default().limits(&alone));
}
