//! A choice that a plan is said not to follow changes none of its figures.

use super::*;
use crate::plan::{HostModule, HostModules, MasterWeights, Moments, Plan, RecomputeModules, Tuning};
use crate::scenario::{Field, Idle};
use crate::units::Share;

/// The same plan without its idle choices.
fn plain(plan: &Plan) -> Plan {
    let mut plain = plan.clone();
    for idle in Idle::all(plan) {
        match idle.field {
            Field::Schedule => plain.schedule = plan.effective_schedule(),
            Field::StagesPerRank => plain.stages_per_rank = 1,
            Field::LoraRank | Field::LoraTargets | Field::LoraDropout | Field::FrozenFormat => {
                plain.tuning = Tuning::default();
            }
            Field::RecomputeModules => plain.recompute_modules = RecomputeModules::OF_STACK,
            Field::OffloadModules => plain.offload_modules = HostModules::NONE,
            Field::Offload => {
                plain.offload = match plan.offload {
                    Offload::AllNvme => Offload::StateNvme,
                    offload if offload.state() => Offload::State,
                    _ => Offload::None,
                }
            }
            Field::Moments => plain.moments = Moments::Fp32,
            Field::MasterWeights => plain.master_weights = MasterWeights::Fp32,
            Field::OffloadRatio => plain.offload_ratio = Share::new(1.0),
            Field::OffloadOverlap => plain.offload_overlap = false,
            Field::HostPinned => plain.host_pinned = true,
            Field::PagedOptimizer => plain.paged_optimizer = false,
            Field::ClipNorm => plain.clip_norm = true,
            Field::Qwz => plain.sharding.wire.weights = Format::Bf16,
            Field::Hpz => plain.sharding.secondary = None,
            Field::Qgz => {
                (plain.sharding.wire.gradients, plain.sharding.two_hop_gradients) = (Format::Bf16, false);
            }
            field => panic!("{field} is idle, and its plain value is not known here"),
        }
    }
    plain
}

/// Everything that `ZeRO++` has, over state that is sharded in different parts.
fn quantised() -> impl Iterator<Item = Plan> {
    let parts = [
        [Extent::Device, Extent::Device, Extent::Device],
        [Extent::Device, Extent::Device, Extent::System],
        [Extent::Device, Extent::System, Extent::System],
    ];
    parts.into_iter().map(|[weights, gradients, optimizer]| {
        let mut sharding = testing::sharding(weights, gradients, optimizer);
        sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Bf16 });
        (sharding.wire.weights, sharding.wire.gradients, sharding.two_hop_gradients) =
            (Format::Int8, Format::Int4, true);
        Plan { sharding, accumulate: 2, ..testing::scenario().plan }
    })
}

fn plans() -> impl Iterator<Item = Plan> {
    let base = testing::scenario().plan;
    let mut plans = vec![base];
    let mut vary = |change: &dyn Fn(&Plan) -> Vec<Plan>| plans = plans.iter().flat_map(change).collect();
    vary(&|plan| [1, 2].map(|pipeline| Plan { pipeline, accumulate: 2, ..plan.clone() }).into());
    vary(&|plan| [1, 2].map(|stages_per_rank| Plan { stages_per_rank, ..plan.clone() }).into());
    vary(&|plan| Schedule::ALL.iter().map(|schedule| Plan { schedule: *schedule, ..plan.clone() }).collect());
    vary(&|plan| Accumulation::ALL.iter().map(|order| Plan { accumulation: *order, ..plan.clone() }).collect());
    // Activations go without stages alone, and are never idle.
    let offloads = || Offload::ALL.iter().filter(|offload| !offload.activations());
    vary(&|plan| offloads().map(|offload| Plan { offload: *offload, ..plan.clone() }).collect());
    let modes = [Recompute::None, Recompute::Selective, Recompute::Share(0.0), Recompute::Share(0.5)];
    vary(&|plan| modes.map(|recompute| Plan { recompute, ..plan.clone() }).into());
    vary(&|plan| {
        let of_modules = Plan {
            recompute: Recompute::Full,
            offload_modules: [HostModule::Mlp].into_iter().collect(),
            ..plan.clone()
        };
        [Some(plan.clone()), (plan.recompute == Recompute::None).then_some(of_modules)].into_iter().flatten().collect()
    });
    vary(&|plan| {
        [false, true].map(|on| Plan { offload_overlap: on, clip_norm: !on, host_pinned: !on, ..plan.clone() }).into()
    });
    plans.into_iter().chain(quantised())
}

#[test]
fn an_idle_choice_changes_nothing() {
    let (mut idle, mut workspace) = (0, Workspace::default());
    for plan in plans() {
        let plain = plain(&plan);
        idle += usize::from(plain != plan);
        let [with, without] = [plan, plain].map(|plan| {
            let scenario = Scenario { plan, ..testing::scenario() };
            summary(&scenario, &mut workspace).expect("a valid scenario")
        });
        assert_eq!(with, without);
    }
    assert!(idle > 100, "{idle} plans with idle choices");
}

/// What is left counts: each schedule of more than one stage, and checkpoints where there are some.
#[test]
fn a_choice_that_counts_is_not_idle() {
    let base = testing::scenario().plan;
    for schedule in Schedule::ALL {
        let stages_per_rank = if schedule.rules().virtual_stages { 2 } else { 1 };
        let plan = Plan { pipeline: 2, schedule: *schedule, stages_per_rank, ..base.clone() };
        assert_eq!(Idle::all(&plan), [], "{schedule}");
    }
    let layered = Plan { pipeline: 2, stages_per_rank: 2, accumulation: Accumulation::Layered, ..base.clone() };
    assert_eq!(Idle::all(&Plan { schedule: Schedule::BreadthFirst, ..layered }), []);
    let kept = Plan { pipeline: 2, offload: Offload::Checkpoints, recompute: Recompute::Full, ..base };
    assert_eq!(Idle::all(&kept), []);
}
