//! Choices of a plan that make its step slower, though they are meant to make it faster. Not for which plan is the fastest
//! ([`super::advice`] and the planners).

use crate::evaluate::{More, Setback, Summary, Workspace, summary};
use crate::plan::{Compile, CudaGraphs, DispatchFormats, Format, Plan, Tuning};
use crate::scenario::{Field, Scenario};

/// A choice of a plan, and how the plan does without.
type Choice = (Field, fn(&mut Plan));

/// Each choice that is meant to spare time, or memory where adapters are trained.
const CHOICES: [Choice; 9] = [
    (Field::CudaGraphs, |plan| plan.cuda_graphs = CudaGraphs::None),
    (Field::Compile, |plan| plan.compile = Compile::Off),
    (Field::Prefetch, |plan| {
        plan.prefetch = plan.prefetch.min(plan.prefetch.saturating_sub(1).max(Plan::USUAL_PREFETCH));
    }),
    (Field::Reshard, |plan| plan.sharding.reshard_after_forward = true),
    (Field::TensorOverlap, |plan| plan.tensor_overlap = false),
    (Field::ExpertOverlap, |plan| plan.experts.overlap = false),
    (Field::SharedOverlap, |plan| plan.experts.shared_overlap = false),
    (Field::DispatchFormat, |plan| {
        plan.experts.formats = plan.experts.formats.map(|_| DispatchFormats::all(Format::Bf16));
    }),
    (Field::Train, |plan| plan.tuning = Tuning::default()),
];

/// Those of a scenario's choices without which its step, as it is `now`, would be faster.
pub(super) fn of_choices(scenario: &Scenario, now: &Summary, workspace: &mut Workspace) -> Vec<Setback> {
    let mut without = |(field, change): Choice| {
        let mut other = scenario.clone();
        change(&mut other.plan);
        if other.plan == scenario.plan {
            return None;
        }
        let more = More::Choice { field, value: field.value(scenario)?, instead: field.value(&other)? };
        Setback::new(more, summary(&other, workspace).ok()?, *now)
    };
    CHOICES.into_iter().filter_map(&mut without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Library;
    use crate::scenario::file::parse;

    fn setbacks(text: &str) -> Vec<Setback> {
        let scenario = Library::embedded().resolve(&parse(text).expect("a file")).expect("a scenario");
        let mut workspace = Workspace::default();
        let now = summary(&scenario, &mut workspace).expect("it is possible");
        of_choices(&scenario, &now, &mut workspace)
    }

    /// On a B300 with eight tensor ranks the host launches more slowly than the device computes: an adapter beside each of
    /// the seven products of a layer adds a tenth of its launches each. The same job has no setback where all is trained.
    #[test]
    fn adapters_that_wait_for_the_host_are_slower_than_training_all() {
        let job = "format = 1\ncluster = \"b300-dgx\"\nstack = \"llm-foundry-2024\"\nmodel = \"mpt-7b\"\nstrategy = \"zero1\"\n\
                   [plan]\nnodes = 1\ntensor = 8\nmicro_batch = 2\naccumulate = 8\n";
        let found = setbacks(&format!("{job}train = \"lora\"\n"));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert!(matches!(&one.more, More::Choice { field: Field::Train, .. }), "{one:?}");
        let longer = one.with.time.other - one.without.time.other;
        assert!(one.longer() > 0.1 && longer > 0.9 * (one.with.step_time - one.without.step_time), "{one:?}");
        assert_eq!(setbacks(job), []);
    }
}
