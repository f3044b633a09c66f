//! Checks a scenario's plan against the plans that its stack can run. Not for plans that no program can run
//! ([`Scenario::checked`]).

use crate::plan::{Accumulation, Compile, Extent, Extents, Plan};
use crate::stack::{Feature, LevelRanks, Runs, listed};

use super::check::combined;
use super::{Field, Layout, Problem, Scenario};

/// The fix where the stack lists no values to choose from.
const FIX: &str = "choose another, or a stack that has it";

impl Scenario {
    /// Each part of the plan that the stack lacks; none where the stack does not say what it can run, or where the plan
    /// cannot be laid out at all.
    pub fn lacks(&self) -> Vec<Problem> {
        let runs = self.stack.runs.as_ref().map(|runs| self.lacks_of(&self.stack.name, runs)).unwrap_or_default();
        let eager = (self.plan.compile != Compile::Off && !self.is_compiled()).then(|| {
            let what =
                format!("{} has no kernels of torch.compile that are known, and is timed without", self.stack.name);
            Problem::new(Field::Compile.path(), what, "choose off, or a stack with `element_wise_compiled`")
        });
        runs.into_iter().chain(eager).collect()
    }

    /// Each part of the plan that a program of this name lacks.
    pub fn lacks_of(&self, name: &str, runs: &Runs) -> Vec<Problem> {
        let Ok(layout) = self.layout() else { return Vec::new() };
        let plan = &self.plan;
        let mut found = Vec::new();
        let mut lack = |lacks: bool, field: Field, what: &dyn Fn() -> String| {
            if lacks {
                let what = format!("{name} has no {}", what());
                let fix = match known(runs, field, layout.pipeline > 1) {
                    known if known.is_empty() => FIX.to_owned(),
                    known => format!("it has {known}"),
                };
                found.push(Problem::new(field.path(), what, fix));
            }
        };
        let ranks = [
            (Feature::Tensor, Field::Tensor, plan.tensor),
            (Feature::Context, Field::Context, plan.context),
            (Feature::Pipeline, Field::Pipeline, plan.pipeline),
            (Feature::Expert, Field::Experts, plan.experts.ranks),
        ];
        for (feature, field, ranks) in ranks {
            lack(ranks > 1 && !runs.has(feature), field, &|| format!("{feature} parallelism"));
        }
        let layered = plan.accumulation == Accumulation::Layered;
        lack(layered && !runs.has(Feature::Layered), Field::Accumulation, &|| "layered accumulation".to_owned());
        let adapters = plan.tuning.freezes();
        lack(adapters && !runs.has(Feature::Adapters), Field::Train, &|| "training of adapters".to_owned());
        let part = !adapters && self.trains_part();
        lack(part && !runs.has(Feature::Adapters), Field::FrozenLayers, &|| "training of a part of a model".to_owned());
        let schedule = plan.effective_schedule();
        let unknown = plan.pipeline > 1 && !layered && !runs.schedules(schedule);
        lack(unknown, Field::Schedule, &|| format!("schedule {schedule}"));
        let recompute = plan.recompute;
        lack(!runs.recomputes(recompute), Field::Recompute, &|| format!("recompute {recompute}"));
        let modules = plan.repeated_modules();
        let named = !modules.is_of_stack() && !runs.repeats_modules();
        lack(named, Field::RecomputeModules, &|| format!("recompute of {modules}"));
        let precision = plan.precision;
        lack(!runs.trains_in(precision), Field::Precision, &|| format!("training in {precision}"));
        let offload = plan.offload;
        lack(!runs.offloads(offload), Field::Offload, &|| format!("offload of {offload}"));
        let paged = plan.paged_optimizer && !runs.has(Feature::PagedOptimizer);
        lack(paged, Field::PagedOptimizer, &|| "optimizer whose state is in pages".to_owned());
        // Lower stages take the drives for the memory of the host (deepspeed/runtime/zero/stage_1_and_2.py, `cpu_offload`).
        let whole = offload.on_drives() && layout.weights == 1;
        lack(whole, Field::Offload, &|| format!("offload of {offload} below ZeRO's stage 3"));
        let wire = plan.sharding.wire;
        for (field, format, over) in
            [(Field::Qwz, wire.weights, layout.weights), (Field::Qgz, wire.gradients, layout.gradients)]
        {
            let coarse = format.quantised() && over > 1 && !runs.has(Feature::Quantised);
            lack(coarse, field, &|| format!("transfers in {format}"));
        }
        let second = layout.secondary.is_some_and(|ranks| ranks > 1);
        lack(second && !runs.has(Feature::Hpz), Field::Hpz, &|| "second copy of the weights (hpZ)".to_owned());
        let cut = plan.tensor_overlap && plan.tensor > 1 && !runs.has(Feature::TensorOverlap);
        lack(cut, Field::TensorOverlap, &|| "overlap of tensor parallelism's collectives with the products".to_owned());
        let gathers = layout.weights > 1 && !plan.staged();
        let ahead = gathers && plan.prefetch != Plan::USUAL_PREFETCH && !runs.has(Feature::Prefetch);
        lack(ahead, Field::Prefetch, &|| format!("prefetch of {} units", plan.prefetch));
        let stays = gathers && !plan.sharding.reshard_after_forward && !runs.has(Feature::KeptGathered);
        lack(stays, Field::Reshard, &|| "way to keep gathered weights for backward".to_owned());
        let reduction = plan.reduction;
        lack(!runs.reduces(reduction), Field::Reduction, &|| format!("reduction by {reduction}"));
        let own = plan.operators.iter().any(|placement| placement.extents != Extents::default());
        lack(own && !runs.has(Feature::Operators), Field::Strategy, &|| "shards for each operator".to_owned());
        let sliced = plan.operators.iter().any(|placement| placement.split > 1);
        lack(sliced && !runs.has(Feature::Slices), Field::Strategy, &|| "slices of an operator".to_owned());
        let placed = plan.operators.iter().map(|placement| layout.placed(self, &placement.extents));
        if let Some(other) = std::iter::once(layout).chain(placed).find(|layout| !self.runs_shards(runs, layout)) {
            lack(true, Field::Strategy, &|| shards(runs, &other));
        }
        found.extend(combined::refused(plan, name, runs));
        found
    }

    /// Whether the stack lacks a field of this plan that the other scenario does not lack. A field that the other one
    /// lacks already is its owner's choice.
    pub(crate) fn lacks_more_than(&self, other: &Self) -> bool {
        let lacks = self.lacks();
        let known = if lacks.is_empty() { Vec::new() } else { other.lacks() };
        lacks.iter().any(|lack| known.iter().all(|known| known.field != lack.field))
    }

    /// Whether a program can shard the state as a layout does.
    pub(crate) fn runs_shards(&self, runs: &Runs, layout: &Layout) -> bool {
        let Layout { weights, gradients, optimizer, context, .. } = *layout;
        let counts = [weights, gradients, optimizer];
        let group = layout.group();
        let level = |extent: &Extent| super::layout::ranks(self, extent, group).unwrap_or(1);
        let levels = LevelRanks { innermost: level(&Extent::Innermost), node: level(&Extent::Node), system: group };
        let known = runs.shard_patterns(layout.pipeline > 1);
        let held = runs.shards_hold_context != Some(true) || optimizer.is_multiple_of(context);
        held && known.is_none_or(|known| known.iter().any(|pattern| pattern.takes(counts, levels)))
    }
}

/// The values of a field that a program has; empty where no list says so.
fn known(runs: &Runs, field: Field, pipelined: bool) -> String {
    let patterns = || runs.shard_patterns(pipelined).unwrap_or_default().iter().map(ToString::to_string);
    match field {
        Field::Schedule => listed(runs.schedules.as_ref()),
        Field::Recompute | Field::RecomputeModules => listed(runs.recompute.as_ref()),
        Field::Precision => listed(runs.precisions.as_ref()),
        Field::Offload => listed(runs.offload.as_ref()),
        Field::Reduction => listed(runs.reductions.as_ref()),
        Field::Strategy => patterns().collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}

/// `shards of weights/gradients/optimizer over 1/1/24 ranks`.
fn shards(runs: &Runs, layout: &Layout) -> String {
    let Layout { weights, gradients, optimizer, context, pipeline, .. } = *layout;
    let over = format!("shards of weights/gradients/optimizer over {weights}/{gradients}/{optimizer} ranks");
    if runs.shards_hold_context == Some(true) && !optimizer.is_multiple_of(context) {
        return format!("{over}, less than its {context} context ranks");
    }
    let beside = if pipeline > 1 && runs.pipeline_shards.is_some() { " in a pipeline" } else { "" };
    format!("{over}{beside}")
}
