//! Megatron-LM's arguments, from a script or from the head of a log: both say the same names.
//!
//! What is absent from a script has the parser's default; a log has every argument.

mod parts;
mod shape;
mod write;

use crate::megatron::{DTYPE, FORMATS, RECIPE, modules_joined, recipe, sharded, sharded_by_deepspeed, storage};
use crate::runs::{Arguments, LogLine, padded_vocabulary, plain};
use shardscope_engine::plan::{
    CudaGraphs, DispatchFormats, Dispatcher, Extent, Format, GlobalBatch, GradientFormat, Moments, Optimizer,
    Precision, Recompute, Schedule, Sharded, TrainMethod,
};
use shardscope_engine::scenario::{Field, Value};

use super::adapters;
use super::draft::PlanDraft;
use super::harmless;
use super::programs;
use super::settings::{Setting, ToolSettings};
use super::stages::{self, UnevenStages};
use super::table::{self, OFF, OPTIMIZER_OFFLOADED, SWITCH, ToolKey, clips, nothing, number, only, words};
use super::words::KnownFlags;

pub(crate) use write::{TABLE, VERSIONS};

pub use write::{script as write, text};

/// The stack that knows what Megatron-LM runs.
pub(super) const OWN_STACK: (&str, &str) = ("megatron-2024", "Megatron-LM");

/// That of adapters, which Megatron-LM has none of.
const WITH_ADAPTERS: (&str, &str) = ("megatron-bridge-2025", "adapters under Megatron Bridge");

/// What single arguments say.
const KEYS: &[ToolKey] = &[
    number("seq_length", Field::Sequence),
    number("mtp_num_layers", Field::MtpLayers),
    number("micro_batch_size", Field::MicroBatch),
    number("tensor_model_parallel_size", Field::Tensor),
    number("context_parallel_size", Field::Context),
    number("pipeline_model_parallel_size", Field::Pipeline),
    number("expert_model_parallel_size", Field::Experts),
    number("expert_tensor_parallel_size", Field::ExpertTensor),
    words("overlap_moe_expert_parallel_comm", Field::ExpertOverlap, SWITCH),
    words("moe_shared_expert_overlap", Field::SharedOverlap, SWITCH),
    words(ON_HOST, Field::Offload, OPTIMIZER_OFFLOADED),
    words("cpu_optimizer", Field::Offload, OPTIMIZER_OFFLOADED),
    number(ON_HOST_SHARE, Field::OffloadRatio),
    words("overlap_cpu_optimizer_d2h_h2d", Field::OffloadOverlap, SWITCH),
    clips("clip_grad"),
    words(
        "optimizer",
        Field::Optimizer,
        &[
            ("adam", Value::Word(Optimizer::Adam.to_word())),
            ("sgd", Value::Word(Optimizer::SgdMomentum.to_word())),
            ("muon", Value::Word(Optimizer::Muon.to_word())),
        ],
    ),
    only("ds_sequence_parallel_size", &["1"], "a plan splits sequences by ring attention, --cp"),
    only("checkpoint_in_cpu", OFF, "a plan offloads checkpoints by --offload checkpoints"),
    only("partition_activations", OFF, WHOLE),
    only("distribute_saved_activations", OFF, WHOLE),
    only("distribute_checkpointed_activations", OFF, WHOLE),
    words("exp_avg_dtype", Field::Moments, MOMENTS),
    words("exp_avg_sq_dtype", Field::Moments, MOMENTS),
    only("main_params_dtype", FP32, "a plan keeps master weights in fp32"),
    only("vision_model_type", OFF, PICTURES),
    only("recompute_vision", OFF, PICTURES),
    only(
        "moe_layer_recompute",
        OFF,
        "say it by --recompute modules with --recompute-modules experts, and leave it out",
    ),
    only("moe_use_upcycling", OFF, "give the run that trains the experts"),
    only("fp8_param_gather", OFF, GATHERED_IN_FP8),
    only("fp4_param_gather", OFF, GATHERED_IN_FP8),
    only("tensor_parallel_num_weight_shards", &["1", "None"], WHOLE),
    only("expert_tensor_parallel_num_weight_shards", &["1", "None"], WHOLE),
    only("use_torch_optimizer_for_cpu_offload", OFF, "the stack says how fast the host updates"),
    nothing("use_precision_aware_optimizer", "its formats are fp32 unless others are named"),
    nothing("sequence_parallel", STACK),
    nothing("overlap_grad_reduce", STACK),
    nothing("overlap_param_gather", STACK),
    nothing("use_flash_attn", STACK),
    words("tp_comm_overlap", Field::TensorOverlap, SWITCH),
    nothing("data_parallel_size", "it follows from the devices"),
    nothing("rampup_batch_size", "the plan is that of the whole batch, behind the ramp"),
];

/// The scope of a graph that holds forward and backward of all micro-batches.
const WHOLE_GRAPH: &str = "full_iteration";
const FP32: &[&str] = &["fp32", "torch.float32"];
const MOMENTS: &[(&str, Value)] = &[
    ("fp32", Value::Word(Moments::Fp32.to_word())),
    ("bf16", Value::Word(Moments::Bf16.to_word())),
    ("torch.float32", Value::Word(Moments::Fp32.to_word())),
    ("torch.bfloat16", Value::Word(Moments::Bf16.to_word())),
];
const GRADIENTS_FP32: &str = "accumulate_allreduce_grads_in_fp32";
const GRADIENTS_BF16: &str = "grad_reduce_in_bf16";
const DISPATCHER: &str = "moe_token_dispatcher_type";
const DISPATCHER_BACKEND: &str = "moe_flex_dispatcher_backend";
/// The dispatcher that has a backend.
const FLEXIBLE: &str = "flex";
/// Formats of tokens to experts, and of the gradients of their outputs to them; the other two ways are in bf16.
const DISPATCHED: &str = "moe_dispatch_fwd_dtype";
const COMBINED_BACK: &str = "moe_combine_bwd_dtype";
const NARROW: &str = "mxfp8";
const CAPACITY: &str = "moe_expert_capacity_factor";
const CAPACITY_FILLED: &str = "moe_pad_expert_input_to_capacity";
const ON_HOST: &str = "optimizer_cpu_offload";
const LAYERS_ON_HOST: &str = "cpu_offloading_num_layers";
const ON_HOST_SHARE: &str = "optimizer_offload_fraction";
const STACK: &str = "the stack says it, --stack";
const WHOLE: &str = "a plan keeps checkpoints whole on each rank";
const LAYOUT: &str = "pipeline_model_parallel_layout";
const GATHERED_IN_FP8: &str = "choose a --stack whose weights are gathered in fp8, and leave it out";
const PICTURES: &str =
    "name the language model with --model, and give its own training: a plan has no model that reads pictures";

const GLOBAL: &str = "global_batch_size";
const MODULES: &str = "recompute_modules";
const COPIES: &str = "num_distributed_optimizer_instances";

/// Flags by which a script of Megatron-LM is known.
pub(crate) const FLAGS: KnownFlags = KnownFlags {
    own: &[],
    shared: &[
        "num_layers",
        "hidden_size",
        "micro_batch_size",
        "tensor_model_parallel_size",
        "seq_length",
        "global_batch_size",
    ],
};

/// The arguments at the head of a log.
pub(crate) fn from_log(file: &str, text: &str) -> ToolSettings {
    let text = plain(text);
    let lines = LogLine::all(&text);
    let mut settings = ToolSettings::new(file);
    for (name, value, line) in Arguments::of_megatron(&lines).all().filter(|(_, value, _)| *value != "None") {
        settings.put(name, value, &format!("line {line}, {name}"));
    }
    if let Some((size, line)) = padded_vocabulary(&lines) {
        settings.put("padded_vocab_size", &size.to_string(), &format!("line {line}, padded vocab"));
    }
    settings
}

/// Reads them.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    let program = programs::take_defaults(settings, &programs::MEGATRON, draft);
    draft.stack = Some(program.stack.unwrap_or(OWN_STACK));
    if let Some(size) = settings.take("world_size") {
        draft.read(Field::Devices, &size.text, &size.place);
    }
    read_pictures(settings, draft);
    table::read(KEYS, settings, draft);
    read_precision(settings, draft);
    read_gradients(settings, draft);
    read_graphs(settings, draft);
    read_capacity(settings, draft);
    read_activations(settings, draft);
    read_pinning(settings, draft);
    read_dispatch(settings, draft);
    read_sharding(settings, draft);
    read_stages(settings, draft);
    read_recompute(settings, draft);
    read_batch(settings, draft);
    read_length(settings, draft);
    if program.names_model {
        read_name(settings, draft);
    } else {
        shape::read(settings, draft);
    }
    // LLaMA-Factory's, of the Trainer's settings.
    if let Some(steps) = settings.take("gradient_accumulation_steps") {
        draft.read(Field::Accumulate, &steps.text, &steps.place);
    }
    adapters::read(settings, program, draft);
    if draft.value(Field::Train).is_some_and(|train| *train != TrainMethod::Full.into()) {
        draft.stack = Some(WITH_ADAPTERS);
    }
    draft.assume(Field::MicroBatch, 1_u32, "no argument says it");
    let mut settings = std::mem::take(settings);
    for tool in [harmless::MEGATRON, harmless::LAUNCHER].iter().chain(program.harmless) {
        settings = table::left(tool, settings, draft);
    }
    // A log has every argument, and most of those that nobody set are off.
    for off in settings.take_off(if draft.logged { OFF } else { &[] }) {
        draft.report.ignore(&off.place, "it is off");
    }
    table::leave("", settings, draft);
}

/// Of a model that reads pictures too `seq_length` counts those, and `decoder_seq_length` the tokens of the language model
/// (examples/multimodal/train.py).
fn read_pictures(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if let Some(tokens) = on(settings, "decoder_seq_length") {
        draft.read(Field::Sequence, &tokens.text, &tokens.place);
        if let Some(pictures) = settings.take("seq_length") {
            draft.report.ignore(&pictures.place, "decoder_seq_length says how many tokens the language model reads");
        }
    }
}

/// A model that is named, and whose shape is elsewhere.
fn read_name(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    for model in ["model", "load", "mcore_model", "model_name_or_path"]
        .iter()
        .filter_map(|name| settings.take(name))
        .collect::<Vec<_>>()
    {
        draft.ask(
            Field::Model,
            &model.place,
            format!("'{}' is a model's name, and its shape is in no file", model.text),
        );
    }
}

/// Takes an argument that is on away, and one that is off with it.
fn on(settings: &mut ToolSettings, name: &str) -> Option<Setting> {
    settings.take(name).filter(|setting| !OFF.contains(&setting.text.as_str()))
}

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let set: Vec<(Precision, Setting)> =
        FORMATS.into_iter().filter_map(|(name, format)| Some((format, on(settings, name)?))).collect();
    let dtype = settings.take(DTYPE);
    let stored = dtype.as_ref().and_then(|dtype| Some((storage(&dtype.text)?, dtype)));
    let first = set.first().map(|(format, setting)| (*format, setting));
    let scaled = settings.take(RECIPE).map(|setting| (recipe(&setting.text), setting));
    let scaled = match &scaled {
        // A log names the recipe whether or not products are in fp8.
        Some((_, setting)) if first.is_none_or(|(format, _)| format != Precision::Fp8) => {
            draft.report.ignore(&setting.place, "nothing is in fp8");
            None
        }
        Some((None, setting)) => {
            let why = format!("how '{}' scales fp8 is not known", setting.text);
            return draft.refuse(&setting.place, why, Field::Precision);
        }
        Some((Some(precision), setting)) => Some((*precision, setting)),
        None => None,
    };
    match scaled.or(first).or(stored) {
        Some((format, setting)) => draft.take(Field::Precision, format, &setting.place),
        None => draft.assume(
            Field::Precision,
            Precision::Fp32,
            "neither --bf16 nor --fp16 is there, and the default is fp32",
        ),
    }
}

/// The format of gradients: bf16 where that is asked for, whatever the optimizer copies them into; fp32 is the default
/// beside bf16 weights, and taken where a switch says it.
fn read_gradients(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (coarse, fine) = (on(settings, GRADIENTS_BF16), on(settings, GRADIENTS_FP32));
    let copied = settings.take("main_grads_dtype").filter(|copied| !FP32.contains(&copied.text.as_str()));
    if let Some(setting) = coarse.or(copied) {
        draft.take(Field::GradientFormat, GradientFormat::Bf16, &setting.place);
    } else if let Some(setting) = fine {
        draft.take(Field::GradientFormat, GradientFormat::Fp32, &setting.place);
    }
}

/// CUDA graphs of a whole iteration, or of parts of layers: an older switch, or the implementation with its scopes.
fn read_graphs(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let scope = settings.take("cuda_graph_scope");
    let whole = scope.is_some_and(|scope| scope.text.contains(WHOLE_GRAPH));
    let switch = on(settings, "enable_cuda_graph").or_else(|| on(settings, "external_cuda_graph"));
    let own = settings.take("cuda_graph_impl").filter(|own| own.text != "none");
    if let Some(setting) = own.or(switch) {
        let graphs = if whole { CudaGraphs::Full } else { CudaGraphs::Layer };
        draft.take(Field::CudaGraphs, graphs, &setting.place);
    }
}

/// Activations on the host, of so many layers.
fn read_activations(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let switch = on(settings, "cpu_offloading");
    let Some(layers) = on(settings, LAYERS_ON_HOST).or(switch) else { return };
    // The switch alone takes none there.
    draft.offloaded_layers = Some((layers.text.parse().unwrap_or(0), layers.place));
}

/// Whether gradients and weights of an optimizer on the host are page-locked there, as they are by default.
fn read_pinning(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let mut off = |copies: &str| {
        let said = settings.take(&format!("pin_cpu_{copies}")).filter(|said| OFF.contains(&said.text.as_str()));
        on(settings, &format!("no_pin_cpu_{copies}")).or(said)
    };
    match (off("grads"), off("params")) {
        (None, None) => {}
        (Some(off), Some(_)) => draft.take(Field::HostPinned, false, &off.place),
        (Some(one), None) | (None, Some(one)) => {
            let what = "a plan page-locks gradients and weights on the host, or neither of them";
            draft.refuse(&one.place, what, Field::HostPinned);
        }
    }
}

/// What each expert takes: filled up to its capacity, or cut to it at least.
fn read_capacity(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let filled = on(settings, CAPACITY_FILLED).is_some();
    let Some(factor) = on(settings, CAPACITY).filter(|factor| !factor.text.starts_with('-')) else { return };
    if !filled {
        draft.report.ignore(&factor.place, "experts are not filled up: what they drop is not predicted");
        return;
    }
    draft.read(Field::Capacity, &factor.text, &factor.place);
}

/// The library that carries tokens to experts, and the formats in which they travel.
fn read_dispatch(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (own, backend) = (settings.take(DISPATCHER), settings.take(DISPATCHER_BACKEND));
    match (own, backend) {
        (Some(own), backend) if own.text == FLEXIBLE => {
            // DeepEP is the default behind it.
            let named = backend.as_ref().map_or(Dispatcher::DeepEp.word(), |backend| backend.text.as_str());
            match named.parse::<Dispatcher>() {
                Ok(library) => draft.take(Field::Dispatcher, library, &own.place),
                Err(_) => draft.refuse(&own.place, format!("exchanges by '{named}' are not known"), Field::Dispatcher),
            }
        }
        (Some(own), _) if own.text == Dispatcher::AllToAll.word() => {
            draft.take(Field::Dispatcher, Dispatcher::AllToAll, &own.place);
        }
        (Some(own), _) => draft.report.ignore(&own.place, "exchanges are counted as all-to-alls"),
        (None, Some(backend)) => draft.report.ignore(&backend.place, "the dispatcher is not the one that has it"),
        (None, None) => {}
    }
    let [dispatch, combine] = [settings.take(DISPATCHED), settings.take(COMBINED_BACK)];
    let Some(setting) = dispatch.as_ref().or(combine.as_ref()) else { return };
    let format = |set: Option<&Setting>| match set {
        Some(set) if set.text == NARROW => Format::Fp8,
        _ => Format::Bf16,
    };
    let mut formats = DispatchFormats::all(Format::Bf16);
    (formats.dispatch.forward, formats.combine.backward) = (format(dispatch.as_ref()), format(combine.as_ref()));
    draft.take(Field::DispatchFormat, formats, &setting.place);
}

fn read_sharding(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let torch = on(settings, "use_torch_fsdp2");
    let own = on(settings, "use_megatron_fsdp").or_else(|| on(settings, "use_custom_fsdp"));
    let strategy = settings.take("data_parallel_sharding_strategy");
    let deepspeed = on(settings, "deepspeed");
    let stage = settings.take("zero_stage");
    let unpipelined = on(settings, "no_pipeline_parallel").is_some();
    let distributed = on(settings, "use_distributed_optimizer");
    let (first, place) = match (torch, own, deepspeed.and(stage)) {
        (Some(torch), ..) => (Some(Some(Sharded::Weights)), torch.place),
        (_, Some(own), _) => match strategy {
            Some(strategy) => (sharded(&strategy.text).ok(), strategy.place),
            None => (Some(None), own.place),
        },
        (.., Some(stage)) => {
            let bf16 = draft.value(Field::Precision) == Some(&Precision::Bf16.into());
            (sharded_by_deepspeed(&stage.text, bf16 && !unpipelined).ok(), stage.place)
        }
        _ => match distributed {
            Some(distributed) => (Some(Some(Sharded::Optimizer)), distributed.place),
            None => (Some(None), format!("{}: no use_distributed_optimizer", settings.file)),
        },
    };
    let Some(first) = first else {
        return draft.refuse(&place, "what it shards is not known", Field::Strategy);
    };
    let copies = settings.take(COPIES).filter(|copies| copies.text != "1");
    let Some(copies) = copies.filter(|_| first.is_some()) else { return draft.shard(first, None, &place) };
    // 64 ranks in 4 instances of the optimizer: each instance lies over 16.
    let group = draft.data_ranks().map(|ranks| ranks * draft.ranks(Field::Context));
    match (copies.text.parse::<u32>().ok().filter(|copies| *copies > 0), group) {
        (Some(count), Some(group)) if group.is_multiple_of(count) => {
            // Each instance reduces its shards before they are summed over instances, once a step.
            draft.shard_with_copies(first, Some(Extent::Ranks(group / count)), "mics", &copies.place);
        }
        (_, None) => draft.ask(Field::Devices, &copies.place, "how many ranks each copy has follows from the devices"),
        _ => draft.refuse(&copies.place, format!("'{}' copies do not divide the ranks", copies.text), Field::Strategy),
    }
}

/// Stages that have not as many layers as the others.
fn read_uneven(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let mut taken = |name: &str| on(settings, name);
    let [first, last] = ["decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"].map(&mut taken);
    let [embedding, loss] =
        ["account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"].map(&mut taken);
    let layout = taken(LAYOUT);
    let said = [&layout, &first, &last, &embedding, &loss].into_iter().flatten().next();
    let Some(place) = said.map(|setting| setting.place.clone()) else { return };
    let count = |setting: &Option<Setting>| setting.as_ref().and_then(|setting| setting.text.parse::<u32>().ok());
    let ranks = draft.ranks(Field::Pipeline);
    let uneven = match layout {
        Some(layout) => {
            let Some(layers) = stages::read_layout(&layout.text) else {
                return draft.refuse(
                    &place,
                    format!("'{}' is no layout of stages that is known", layout.text),
                    Field::StageLayers,
                );
            };
            let each = layers.len() as u32 / ranks;
            if each > 1 {
                draft.take(Field::StagesPerRank, each, &place);
                draft.take(Field::Schedule, Schedule::INTERLEAVING, &place);
            }
            UnevenStages::Listed(layers)
        }
        None if first.is_some() || last.is_some() => UnevenStages::Ends { first: count(&first), last: count(&last) },
        None => UnevenStages::Counted { embedding: embedding.is_some(), loss: loss.is_some() },
    };
    draft.uneven_stages = Some((uneven, place)).filter(|_| ranks > 1);
}

fn read_stages(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    read_uneven(settings, draft);
    let pipeline = draft.ranks(Field::Pipeline);
    let named = ["virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"];
    let stages = named.into_iter().find_map(|name| on(settings, name));
    let layers = on(settings, "num_layers_per_virtual_pipeline_stage");
    if pipeline == 1 {
        return;
    }
    if let Some(stages) = stages {
        if stages.text != "1" {
            draft.read(Field::StagesPerRank, &stages.text, &stages.place);
            draft.take(Field::Schedule, Schedule::INTERLEAVING, &stages.place);
        }
    } else if let Some((count, layers)) = layers.and_then(|layers| Some((layers.text.parse().ok()?, layers))) {
        draft.layers_per_stage = Some((count, layers.place)).filter(|(count, _)| *count > 0);
    }
}

fn read_recompute(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let granularity = on(settings, "recompute_granularity");
    let method = on(settings, "recompute_method").or_else(|| on(settings, "activations_checkpoint_method"));
    let named = ["recompute_num_layers", "checkpoint_num_layers"];
    let each = named.into_iter().find_map(|name| settings.take(name));
    let old = on(settings, "checkpoint_activations");
    let selective = on(settings, "recompute_activations");
    let full = granularity.as_ref().filter(|it| it.text == "full").or(old.as_ref());
    let Some(full) = full else {
        return match granularity.as_ref().or(selective.as_ref()) {
            Some(setting) => {
                draft.take(Field::Recompute, Recompute::Selective, &setting.place);
                if let Some(modules) = on(settings, MODULES) {
                    draft.read(Field::RecomputeModules, &modules_joined(&modules.text), &modules.place);
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

fn read_batch(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    match settings.take(GLOBAL) {
        Some(all) => draft.read(Field::GlobalBatch, &all.text, &all.place),
        None => draft.assume(Field::Accumulate, 1_u32, "without --global-batch-size each rank takes one micro-batch"),
    }
}

/// How long the run is, where it says so.
fn read_length(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let sequence = draft.count(Field::Sequence).map(f64::from);
    let batch = match draft.value(Field::GlobalBatch) {
        Some(Value::Batch(GlobalBatch::Sequences(count))) => Some(f64::from(*count)),
        _ => None,
    };
    for (name, each) in [("train_samples", Some(1.0)), ("train_iters", batch)] {
        let Some(count) = on(settings, name) else { continue };
        match (count.text.parse::<f64>().ok().filter(|count| count.is_finite() && *count > 0.0), each, sequence) {
            (Some(number), Some(each), Some(sequence)) if draft.value(Field::Tokens).is_none() => {
                draft.take(Field::Tokens, number * each * sequence, &count.place);
            }
            _ => draft.report.ignore(&count.place, "how long the run is changes no step"),
        }
    }
}
