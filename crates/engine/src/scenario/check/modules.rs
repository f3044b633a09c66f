//! Parts of layers that are computed again, in tiles, or with their inputs on the host.

use crate::model::LayerKind;
use crate::plan::{HostModule, HostModules, Module};

use super::super::Scenario;
use super::super::field::Field;
use super::Checks;

/// All that can be wrong with them.
pub(super) fn all(scenario: &Scenario, checks: &mut Checks) {
    repeated(scenario, checks);
    tiles(scenario, checks);
    on_host(scenario, checks);
}

/// Modules that are computed again: each is part of some layer, and none runs beside what it would repeat (Megatron-LM,
/// `transformer_config.py`, `__post_init__`).
fn repeated(scenario: &Scenario, checks: &mut Checks) {
    let Scenario { model, plan, .. } = scenario;
    for module in plan.repeated_modules().iter() {
        let (wrong, why) = match module {
            Module::LatentExpansion => (model.latent.is_none(), format!("{} has no latent attention", model.name)),
            Module::Experts => (plan.experts.overlap, "--ep-overlap runs experts beside other layers".to_owned()),
            Module::SharedExperts => {
                (plan.experts.shared_overlap, "--shared-expert-overlap runs them beside the dispatch".to_owned())
            }
            _ => (!module.is_counted(), format!("{} has no such part", model.name)),
        };
        checks.refuse(
            wrong,
            Field::RecomputeModules.path(),
            || format!("module {module} cannot be computed again: {why}"),
            || "leave it out".to_owned(),
        );
    }
}

/// Tiles of a model all of whose MLPs are experts.
fn tiles(scenario: &Scenario, checks: &mut Checks) {
    let Scenario { model, plan, .. } = scenario;
    checks.refuse(
        plan.mlp_tiles > 1 && model.kinds().all(|(kind, _)| plan.mlp_tiles_in(kind) == 1),
        Field::MlpTiles.path(),
        || format!("{} has no MLP without experts, which take all tokens at once", model.name),
        || "choose 1".to_owned(),
    );
}

/// Modules whose inputs the host keeps: each is part of some layer, and leaves an input that nothing else keeps on the device
/// (Megatron-LM, `transformer_config.py`, `__post_init__`).
fn on_host(scenario: &Scenario, checks: &mut Checks) {
    let Scenario { model, plan, .. } = scenario;
    let modules = plan.host_modules();
    let has = |part: fn(LayerKind) -> bool| model.kinds().any(|(kind, _)| part(kind));
    let of_experts =
        |module| matches!(module, HostModule::ExpertInputs | HostModule::ExpertActivation | HostModule::ExpertOutputs);
    let without = |refused: &dyn Fn(HostModule) -> bool| -> HostModules {
        modules.iter().filter(|module| !refused(*module)).collect()
    };
    for module in modules.iter() {
        let (has_it, part) = match module {
            HostModule::LatentExpansion => (model.latent.is_some(), "latent attention"),
            HostModule::AttentionNorm
            | HostModule::AttentionInputs
            | HostModule::CoreAttention
            | HostModule::AttentionOutput => (has(|kind| kind.mixer.attends()), "attention"),
            HostModule::MlpNorm => (has(LayerKind::has_mlp), "MLP"),
            HostModule::Mlp => (has(|kind| kind.has_mlp() && !kind.has_experts()), "MLP without experts"),
            HostModule::SharedExperts => {
                (model.experts.is_some_and(|experts| experts.shared_ffn.is_some()), "shared expert")
            }
            HostModule::ExpertInputs | HostModule::ExpertActivation | HostModule::ExpertOutputs => {
                (model.experts.is_some(), "experts")
            }
        };
        checks.refuse(
            !has_it,
            Field::OffloadModules.path(),
            || format!("{module} keeps no input: {} has no {part}", model.name),
            || format!("choose {}", without(&|other| other == module)),
        );
    }
    checks.refuse(
        modules.has(HostModule::AttentionOutput) && !modules.has(HostModule::CoreAttention),
        Field::OffloadModules.path(),
        || "the input of attn_proj stays on the device, since core_attn reads it in backward".to_owned(),
        || format!("choose {}", modules.iter().chain([HostModule::CoreAttention]).collect::<HostModules>()),
    );
    checks.refuse(
        modules.iter().any(of_experts) && plan.repeated_modules().has(Module::Experts),
        Field::OffloadModules.path(),
        || "experts run again from the input of their layer, and keep none of their own".to_owned(),
        || format!("choose {}, or leave moe out of the modules that are computed again", without(&of_experts)),
    );
}
