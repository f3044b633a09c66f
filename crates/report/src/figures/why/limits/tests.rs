//! Every limit has its row, and a formula that gives it.

use super::*;
use shardscope_engine::bounds::fsdp::{TokenArithmetic, ZeroStage};
use shardscope_engine::units::{BytesPerSecond, FlopPerSecond};

/// The 13 B model of [fsdp A6] on 512 devices of 80 GB at 25 GB/s, 312 TFLOP/s.
pub(in crate::figures::why) fn limits(stage: ZeroStage, gamma: f64, n_bwd: f64) -> FsdpLimits {
    FsdpLimits {
        parameters: 12.0 * 40.0 * 5120.0 * 5120.0,
        arithmetic: TokenArithmetic::family(12.0 * 40.0 * 5120.0 * 5120.0, 5120.0),
        layers: 40.0,
        hidden: 5120.0,
        element: Bytes::new(2.0),
        optimizer: Bytes::new(12.0),
        devices: 512,
        stage,
        memory: Bytes::new(80e9),
        reserve: Bytes::ZERO,
        link: BytesPerSecond::new(25e9),
        latency: Seconds::ZERO,
        ring: false,
        peak: FlopPerSecond::new(312e12),
        sequence: 2048.0,
        gamma,
        n_bwd,
    }
}

#[test]
fn the_table_stands_in_the_order_of_the_names() {
    assert!(TABLE.iter().all(|entry| std::ptr::eq(entry.limit.entry(), entry)));
}

#[test]
fn every_limit_has_a_formula_that_gives_it() {
    for stage in [ZeroStage::One, ZeroStage::Two, ZeroStage::Three] {
        for (gamma, n_bwd) in [(0.0, 1.0), (0.3, 2.0), (1.0, 2.0)] {
            let plain = limits(stage, gamma, n_bwd);
            let own = TokenArithmetic {
                counted: 11e9,
                computed: 10e9,
                once: 1e9,
                width: 4096.0,
                attended: 1.0,
                square: 0.5,
                family: false,
            };
            let odd = FsdpLimits {
                ring: true,
                latency: Seconds::new(1e-6),
                reserve: Bytes::new(1e9),
                arithmetic: own,
                ..plain
            };
            let experts = FsdpLimits { arithmetic: TokenArithmetic::family(11e9, 5120.0), ..plain };
            for (limits, (which, form)) in
                [plain, odd, experts].iter().flat_map(|limits| all().map(move |one| (limits, one)))
            {
                let found = explain(which, form, limits).unwrap_or_else(|| panic!("{which:?} of {limits:?}"));
                let Explanation { formula, amount, .. } = &found;
                assert!(found.holds(), "{which:?}: {formula} = {} is not {amount}", formula.in_numbers());
            }
        }
    }
}

#[test]
fn where_the_state_does_not_fit_only_what_means_something_is_explained() {
    let limits = FsdpLimits { memory: Bytes::new(1e9), ..limits(ZeroStage::One, 0.0, 1.0) };
    assert!(explain(Limit::Forward, BoundForm::Floor, &limits).is_none(), "a share of no tokens");
    let free = explain(Limit::Free, BoundForm::Floor, &limits).unwrap();
    assert!(free.amount.value < 0.0 && free.holds());
    assert!(explain(Limit::Tokens, BoundForm::Floor, &limits).unwrap().holds());
}

/// `tokens/s <= E S / ((1 + n_bwd) phi Q)` [fsdp A4 (b)].
#[test]
fn the_floor_names_what_it_counts() {
    let limits = limits(ZeroStage::Three, 0.0, 2.0);
    assert_eq!(Limit::Shortest.formula(BoundForm::Floor, &limits).to_string(), "(n_fwd + n_bwd) x transfer");
    assert_eq!(Limit::Uncapped.formula(BoundForm::Floor, &limits).to_string(), "(4 - gamma) x forward / shortest step");
}
