//! Programs that are timed anew where only the network differs.

use super::*;
use crate::cost::Factors;
use crate::plan::TrainMethod;

/// Switches of the stack and of the plan that change which transfers there are, or how they are costed.
fn switched(mut scenario: Scenario, kinds: usize, switches: [bool; 12]) -> Scenario {
    let [trees, levels, sequence, beside, replicas, ahead, last, quantised, hops, muon, adapters, ends] = switches;
    scenario.model = Arc::new(testing::of_kinds((*scenario.model).clone(), kinds));
    let stack = Arc::make_mut(&mut scenario.stack);
    (stack.sequence_parallel, stack.tensor_overlap) = (sequence, beside);
    (stack.replica_stream, stack.gather_during_forward) = (replicas, ahead);
    stack.reduce_during_backward &= !last;
    stack.collectives.hierarchical = levels;
    if trees {
        stack.collectives.all_reduce.push(AllReduceAlgorithm::Tree);
        stack.collectives.protocols.extend([Protocol::Ll, Protocol::Ll128]);
    }
    let efficiency = Arc::make_mut(&mut scenario.calibration).architectures.get_mut("default").expect("one");
    (efficiency.latency, efficiency.latency_between) = (1.0, 1.0);
    let plan = &mut scenario.plan;
    if quantised {
        (plan.sharding.wire.weights, plan.sharding.wire.gradients) = (Format::Int8, Format::Int4);
    }
    plan.sharding.two_hop_gradients = hops;
    if muon {
        plan.optimizer = Optimizer::Muon;
    }
    if adapters {
        plan.tuning.method = TrainMethod::Lora;
    }
    if ends && scenario.model.experts.is_some() {
        plan.experts.ranks = 2;
    }
    scenario
}

proptest! {
    /// Tasks, totals and figures are those of a program that is built, whatever the job and the networks before and after.
    #[test]
    fn a_program_timed_anew_is_one_built_anew(
        (scenario, kinds, switches) in (prop_oneof![scenarios(), staged()], 0..testing::KINDS, any::<[bool; 12]>()),
        [before, after] in proptest::array::uniform2((0.01..100.0, proptest::array::uniform4(0.01..100.0))),
    ) {
        let mut scenario = switched(scenario, kinds, switches);
        let mut workspace = Workspace::default();
        let mut run = |(plan, [near, far, soon, late]): (f64, [f64; 4]), workspace: &mut Workspace| {
            scenario.plan.bandwidth_factor = plan;
            let mut factors = Factors::default();
            factors.bandwidth[..2].copy_from_slice(&[near, far]);
            factors.latency[..2].copy_from_slice(&[soon, late]);
            scenario.checked().and_then(|checked| summary_with(&checked, &factors, workspace))
        };
        if run(before, &mut workspace).is_err() {
            return Ok(());
        }
        let retimed = run(after, &mut workspace);
        prop_assert_eq!(workspace.builds, 1);
        let mut other = Workspace::default();
        prop_assert_eq!(retimed, run(after, &mut other));
        let [ours, theirs] = [&workspace.program, &other.program];
        prop_assert_eq!(&ours.code, &theirs.code);
        prop_assert_eq!((&ours.ranks, &ours.states), (&theirs.ranks, &theirs.states));
    }
}

/// A link so fast that an exchange takes no time leaves it out: another program, which is built.
#[test]
fn an_exchange_that_takes_no_time_is_no_task() {
    let mut scenario = testing::scenario();
    scenario.plan.tensor = 2;
    let mut workspace = Workspace::default();
    let tasks = [1.0, f64::INFINITY].map(|factor| {
        let factors = Factors { bandwidth: [factor; MAX_LEVELS], ..Factors::default() };
        summary_with(&scenario.checked().expect("valid"), &factors, &mut workspace).expect("a step");
        workspace.program.code.tasks.len()
    });
    assert!(tasks[1] < tasks[0], "{tasks:?}");
    assert_eq!(workspace.builds, 2);
}

/// What is faster than before is built anew where it is no link between devices; and so is a job with other facts.
#[test]
fn only_the_network_is_timed_anew() {
    let mut scenario = testing::scenario();
    let mut workspace = Workspace::default();
    let mut builds = |scenario: &Scenario, factors: Factors| {
        summary_with(&scenario.checked().expect("valid"), &factors, &mut workspace).expect("a step");
        workspace.builds
    };
    let usual = Factors::default();
    assert_eq!(builds(&scenario, usual), 1);
    assert_eq!(builds(&scenario, usual), 1);
    assert_eq!(builds(&scenario, Factors { latency: [2.0; MAX_LEVELS], ..usual }), 1);
    for (factors, count) in [
        (Factors { peak: 2.0, ..usual }, 2),
        (Factors { memory: 2.0, ..usual }, 3),
        (Factors { host: 2.0, ..usual }, 4),
    ] {
        assert_eq!(builds(&scenario, factors), count);
    }
    scenario.plan.prefetch = 2;
    assert_eq!(builds(&scenario, usual), 5);
    Arc::make_mut(&mut scenario.model).layers = 9;
    assert_eq!(builds(&scenario, usual), 6);
    scenario.plan.bandwidth_factor = 3.0;
    assert_eq!(builds(&scenario, usual), 6);
}

/// What is checked of another network is refused as it is where the whole scenario is checked.
#[test]
fn a_network_that_cannot_be_is_refused() {
    let mut scenario = testing::scenario();
    let mut workspace = Workspace::default();
    summary(&scenario, &mut workspace).expect("a valid scenario");
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        scenario.plan.bandwidth_factor = factor;
        let refused = summary(&scenario, &mut workspace).expect_err("no network");
        assert_eq!(Some(refused), scenario.layout().err(), "{factor}");
    }
    scenario.plan.bandwidth_factor = 2.0;
    summary(&scenario, &mut workspace).expect("a valid scenario");
    assert_eq!(workspace.builds, 1);
}
