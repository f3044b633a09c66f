//! Settles what a tool's file says of layers, once model and machine are both known.
//!
//! Knows no tool's names.

use shardscope_engine::plan::{Offload, Recompute, Schedule, StageSizes};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Field, Problem, Scenario};

use super::draft::PlanDraft;

/// Fields that are settled here.
const SETTLED: [Field; 9] = [
    Field::Prefetch,
    Field::StagesPerRank,
    Field::StageLayers,
    Field::Schedule,
    Field::Recompute,
    Field::Offload,
    Field::Reduction,
    Field::FrozenLayers,
    Field::MlpTiles,
];

/// Puts fields that need both model and machine into the file; returns true if any changed.
pub(super) fn settle(
    scenario: &Scenario,
    file: &mut ScenarioFile,
    draft: &mut PlanDraft,
) -> Result<bool, Vec<Problem>> {
    settle_layers(scenario, draft);
    if !draft.errors.is_empty() {
        return Err(std::mem::take(&mut draft.errors));
    }
    if let Some((reduction, why)) = draft.reduced.take()
        && scenario.plan.accumulate > 1
    {
        draft.assume(Field::Reduction, reduction, why);
    }
    let before = file.clone();
    for field in SETTLED {
        if let Some(value) = draft.value(field) {
            file.put(field, Some(value.clone()));
        }
    }
    Ok(*file != before)
}

fn settle_layers(scenario: &Scenario, draft: &mut PlanDraft) {
    let all = scenario.model.layers;
    if let Some((elements, place)) = draft.prefetched.take() {
        let units = (elements / (scenario.model.largest_layer_parameters() as f64).max(1.0)).round().clamp(0.0, 16.0);
        draft.take(Field::Prefetch, units as u32, &format!("{place}, in layers of the model"));
    }
    if let Some((layers, place)) = draft.layers_per_stage.take() {
        let stages = (all.div_ceil(layers) / scenario.plan.pipeline.max(1)).max(1);
        draft.take(Field::StagesPerRank, stages, &place);
        if stages > 1 && draft.value(Field::Schedule).is_none() {
            draft.take(Field::Schedule, Schedule::INTERLEAVING, &place);
        }
    }
    if let Some((uneven, place)) = draft.uneven_stages.take() {
        let [ranks, each] = [Field::Pipeline, Field::StagesPerRank].map(|field| draft.ranks(field));
        match uneven.layers(all, ranks, each) {
            Some(layers) => draft.take(Field::StageLayers, StageSizes::Layers(layers), &place),
            None => {
                draft.refuse(&place, format!("{all} layers do not divide so over {ranks} ranks"), Field::StageLayers);
            }
        }
    }
    if let Some((layers, place)) = draft.repeated_layers.take() {
        // This many layers of each stage.
        let stages = u64::from(draft.ranks(Field::Pipeline)) * u64::from(draft.ranks(Field::StagesPerRank));
        let again = u64::from(layers).saturating_mul(stages);
        let share = again as f64 / f64::from(all);
        let what = if again < u64::from(all) { Recompute::Share(share) } else { Recompute::Full };
        draft.take(Field::Recompute, what, &place);
    }
    if let Some((layers, place)) = draft.offloaded_layers.take() {
        // Megatron-LM offloads at most this many layers (`transformer_config.py`).
        if layers > 0 && layers == all.saturating_sub(1) {
            draft.take(Field::Offload, Offload::Activations, &place);
        } else {
            let what = "a plan offloads the activations of every layer but the last, or of none";
            draft.refuse(&place, what, Field::Offload);
        }
    }
    if let Some(place) = draft.tiled.take() {
        let tokens = scenario.plan.sequence.div_ceil(scenario.plan.context.max(1));
        draft.take(Field::MlpTiles, tokens.div_ceil(scenario.model.hidden.max(1)), &place);
    }
    if let Some((free, place)) = draft.free_layers.take() {
        if let Some(frozen) = free.frozen(all) {
            draft.take(Field::FrozenLayers, frozen, &place);
        } else {
            let what = format!("not the last layers of {} alone are trained", scenario.model.name);
            draft.errors.push(Problem::new(place, what, "train the last layers: a plan freezes the first ones"));
        }
    }
}
