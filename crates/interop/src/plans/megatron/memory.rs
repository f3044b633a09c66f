//! Recomputation and offload, in both directions.

use shardscope_engine::plan::{HostModule, HostModules, Module, Offload, Recompute};
use shardscope_engine::scenario::Field;

use super::super::asked::PlanQuery;
use super::super::deviation::Deviation;
use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::table::{self, Codec, OFF, OPTIMIZER_OFFLOADED, ToolKey, words};
use super::super::writer::{Line, PlanWriter};
use super::on;
use crate::megatron::modules_joined;

/// Offload of the optimizer, or of activations of all layers but the last: more are refused, as is recomputation beside it.
pub(super) const OFFLOAD: Codec = Codec::new(
    &[Field::Offload],
    |settings, draft| {
        table::read(OPTIMIZER, settings, draft);
        let switch = on(settings, "cpu_offloading");
        let Some(layers) = on(settings, LAYERS).or(switch) else { return };
        // The switch alone offloads no layer.
        draft.offloaded_layers = Some((layers.text.parse().unwrap_or(0), layers.place));
    },
    |writer| {
        let offload = writer.plan().offload;
        let optimizer = (offload == Offload::Optimizer).then(|| Line::new(ON_HOST, true));
        let layers = writer.scenario.model.layers.saturating_sub(1);
        optimizer.into_iter().chain(offload.activations().then(|| Line::new(LAYERS, layers))).collect()
    },
)
.losing(&[
    Deviation::unsaid(Field::Offload, |asked, _| {
        let offload = asked.plan().offload;
        !matches!(offload, Offload::None | Offload::Optimizer) && !offload.activations()
    })
    .alone(),
    Deviation::instead(
        Field::Offload,
        |asked, _| asked.plan().offload.activations() && asked.plan().recompute != Recompute::None,
        "activations go to the host where nothing is computed again",
    ),
])
.named(&[ON_HOST, "cpu_optimizer"]);

/// Switches that offload the optimizer; the second is Megatron-DeepSpeed's.
const OPTIMIZER: &[ToolKey] =
    &[words(ON_HOST, Field::Offload, OPTIMIZER_OFFLOADED), words("cpu_optimizer", Field::Offload, OPTIMIZER_OFFLOADED)];
const ON_HOST: &str = "optimizer_cpu_offload";
/// Number of layers whose activations are offloaded.
const LAYERS: &str = "cpu_offloading_num_layers";

/// Modules whose inputs are offloaded. With full recomputation, a layer keeps nothing but its input to offload.
pub(super) const HOST_MODULES: Codec = Codec::new(
    &[Field::OffloadModules],
    |settings, draft| {
        let (switch, modules) = (on(settings, BY_MODULE), on(settings, OF_MODULES));
        let (Some(_), Some(modules)) = (switch, modules) else { return };
        match modules_joined(&modules.text).replace("fused_group_mlp", "moe").as_str() {
            "layer_input" => draft.take(Field::Offload, Offload::Checkpoints, &modules.place),
            named => draft.read(Field::OffloadModules, named, &modules.place),
        }
    },
    |writer| {
        let words: Vec<&str> = offloaded(writer.asked, true).iter().map(HostModule::word).collect();
        if words.is_empty() { Vec::new() } else { vec![Line::new(BY_MODULE, true), Line::new(OF_MODULES, words)] }
    },
)
.losing(&[Deviation::instead_of(
    Field::OffloadModules,
    |asked, _| !offloaded(asked, false).is_empty(),
    |asked, _| format!("it has no word for inputs of {}, which stay on the device", offloaded(asked, false)),
)]);

const BY_MODULE: &str = "fine_grained_activation_offloading";
const OF_MODULES: &str = "offload_modules";

/// Modules whose inputs a plan offloads: those that Megatron-LM has a word for, or the others.
fn offloaded(asked: &PlanQuery<'_>, named: bool) -> HostModules {
    let unnamed = |module: &HostModule| {
        use HostModule::{ExpertOutputs, LatentExpansion, Mlp, SharedExperts};
        matches!(module, LatentExpansion | Mlp | SharedExperts | ExpertOutputs)
    };
    asked.plan().host_modules().iter().filter(|module| unnamed(module) != named).collect()
}

/// Pinned host memory for an offloaded optimizer's gradients and weights, on by default.
pub(super) const PINNED: Codec = Codec::new(
    &[Field::HostPinned],
    |settings, draft| {
        let mut off = |unpinned: &str| {
            let pinned = unpinned.trim_start_matches("no_");
            let said = settings.take(pinned).filter(|said| OFF.contains(&said.text.as_str()));
            on(settings, unpinned).or(said)
        };
        match UNPINNED.map(&mut off) {
            [None, None] => {}
            [Some(off), Some(_)] => draft.take(Field::HostPinned, false, &off.place),
            [Some(one), None] | [None, Some(one)] => {
                let what = "a plan page-locks gradients and weights on the host, or neither of them";
                draft.refuse(&one.place, what, Field::HostPinned);
            }
        }
    },
    |writer| {
        let is_off = writer.plan().offload.optimizer() && writer.value(Field::HostPinned).is_some();
        UNPINNED.into_iter().filter(|_| is_off).map(|off| Line::new(off, true)).collect()
    },
)
.losing(&[Deviation::unsaid(Field::HostPinned, |asked, _| {
    !asked.plan().offload.optimizer() && asked.value(Field::HostPinned).is_some()
})]);

const UNPINNED: [&str; 2] = ["no_pin_cpu_grads", "no_pin_cpu_params"];

/// Recomputation: of modules in each layer, of whole layers, or of the first layers of each stage.
pub(super) const RECOMPUTE: Codec =
    Codec::new(&[Field::Recompute, Field::RecomputeModules], read_recompute, write_recompute).losing(&[
        Deviation::instead_of(
            Field::Recompute,
            |asked, _| layers_again(asked).is_some_and(|layers| (layers - layers.round()).abs() > 1e-9),
            |asked, _| {
                let whole = layers_again(asked).unwrap_or_default().round();
                format!("{whole} whole layers of each stage are computed again")
            },
        ),
    ]);

const GRANULARITY: &str = "recompute_granularity";
const METHOD: &str = "recompute_method";
const COUNT: &str = "recompute_num_layers";
const MODULES: &str = "recompute_modules";

fn read_recompute(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let granularity = on(settings, GRANULARITY);
    let method = on(settings, METHOD).or_else(|| on(settings, "activations_checkpoint_method"));
    let named = [COUNT, "checkpoint_num_layers"];
    let each = named.into_iter().find_map(|name| settings.take(name));
    let old = on(settings, "checkpoint_activations");
    let selective = on(settings, "recompute_activations");
    let full = granularity.as_ref().filter(|it| it.text == "full").or(old.as_ref());
    // An older switch that adds experts to the modules (`transformer_config.py`).
    let experts = on(settings, "moe_layer_recompute");
    let Some(full) = full else {
        return match granularity.as_ref().or(selective.as_ref()).or(experts.as_ref()) {
            Some(setting) => {
                draft.take(Field::Recompute, Recompute::Selective, &setting.place);
                let named = on(settings, MODULES);
                let others = granularity.is_some() || selective.is_some();
                let usual = if others { "core_attn" } else { "" };
                let modules = named.as_ref().map_or(usual, |named| named.text.as_str());
                let modules = if experts.is_some() { format!("{modules} moe") } else { modules.to_owned() };
                if let Some(place) = named.as_ref().or(experts.as_ref()).map(|said| said.place.clone()) {
                    draft.read(Field::RecomputeModules, &modules_joined(&modules), &place);
                }
            }
            None => {
                draft.take(Field::Recompute, Recompute::None, &format!("{}: no recompute_granularity", settings.file));
            }
        };
    };
    let layers = each.as_ref().and_then(|each| each.text.parse::<u32>().ok()).unwrap_or(1);
    let block = method.is_some_and(|method| method.text == "block");
    match each {
        Some(each) if block => draft.repeated_layers = Some((layers, each.place)),
        Some(each) if layers > 1 => {
            let fix = "a plan keeps the input of each layer: write --recompute-num-layers 1";
            draft.cannot(&each, "layers are computed again together", fix);
        }
        _ => draft.take(Field::Recompute, Recompute::Full, &full.place),
    }
}

fn write_recompute(writer: &mut PlanWriter) -> Vec<Line> {
    let (granularity, method) = match writer.plan().recompute {
        Recompute::None => return Vec::new(),
        Recompute::Selective => ("selective", None),
        Recompute::Full => ("full", Some(("uniform", 1))),
        Recompute::Share(_) => {
            let whole = layers_again(writer.asked).unwrap_or_default().round();
            if whole < 1.0 {
                return Vec::new();
            }
            ("full", Some(("block", whole as u64)))
        }
    };
    let mut lines = vec![Line::new(GRANULARITY, granularity)];
    let modules = writer.plan().repeated_modules();
    if !modules.is_of_stack() {
        lines.push(Line::new(MODULES, modules.iter().map(Module::word).collect::<Vec<_>>()));
    }
    if let Some((method, layers)) = method {
        lines.extend([Line::new(METHOD, method), Line::new(COUNT, layers)]);
    }
    lines
}

/// Recomputed layers per stage for a share of all layers: half of 32 layers in 2 x 2 stages are the first 4 of each.
fn layers_again(asked: &PlanQuery<'_>) -> Option<f64> {
    let Recompute::Share(share) = asked.plan().recompute else { return None };
    Some(share * f64::from(asked.job.model.layers) / f64::from(asked.stages()))
}
