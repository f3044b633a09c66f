//! torchtitan's TOML of 0.1 to 0.2.2, that of 2024 by its old names, and its command.

mod command;
mod write;

use crate::torchtitan::MODELS;
use shardscope_engine::plan::{
    Compile, Extent, GradientFormat, MasterWeights, Optimizer, Precision, Recompute, Schedule, Sharded,
};
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::settings::ToolSettings;
use super::table::{self, OFF, OFFLOADED, SWITCH, ToolKey, compiled, nothing, number, only, words};
use super::{harmless, launcher, programs};

pub use command::{SCRIPT, command, is_started, of_command};

pub(crate) use write::{TABLE, VERSIONS};

pub use write::write;

/// What the sections of 2025 say.
const KEYS: &[ToolKey] = &[
    number("training.seq_len", Field::Sequence),
    number(TENSOR, Field::Tensor),
    number(CONTEXT, Field::Context),
    number(PIPELINE, Field::Pipeline),
    words(
        "parallelism.pipeline_parallel_schedule",
        Field::Schedule,
        &[
            ("1F1B", Value::Word(Schedule::OneForwardOneBackward.to_word())),
            ("GPipe", Value::Word(Schedule::GPipe.to_word())),
            ("Interleaved1F1B", Value::Word(Schedule::Interleaved.to_word())),
            ("LoopedBFS", Value::Word(Schedule::BreadthFirst.to_word())),
        ],
    ),
    words("training.enable_cpu_offload", Field::Offload, OFFLOADED),
    words(
        "optimizer.name",
        Field::Optimizer,
        &[("AdamW", Value::Word(Optimizer::Adam.to_word())), ("Adam", Value::Word(Optimizer::Adam.to_word()))],
    ),
    number("parallelism.expert_parallel_degree", Field::Experts),
    number("parallelism.expert_tensor_parallel_degree", Field::ExpertTensor),
    only("parallelism.module_fqns_per_model_part", OFF, "a plan cuts stages evenly"),
    only("parallelism.pipeline_parallel_split_points", OFF, "a plan cuts stages evenly"),
    words(
        "training.dtype",
        Field::MasterWeights,
        &[
            ("float32", Value::Word(MasterWeights::Fp32.to_word())),
            ("bfloat16", Value::Word(MasterWeights::None.to_word())),
        ],
    ),
    only("optimizer.early_step_in_backward", OFF, "a plan updates at the end of the step"),
    only("fault_tolerance.enable", OFF, "give the plan of one replica"),
    words(
        "training.mixed_precision_reduce",
        Field::GradientFormat,
        // The one that `Training.mixed_precision_reduce` takes.
        &[("float32", Value::Word(GradientFormat::Fp32.to_word()))],
    ),
    compiled("training.compile", OFF),
    compiled(COMPILE, OFF),
    nothing("compile.*", "by what it is compiled changes no size"),
    only("parallelism.pipeline_parallel_schedule_csv", OFF, "name one of torchtitan's schedules"),
    only(
        "parallelism.pipeline_parallel_expert_parallel_overlap",
        OFF,
        "a plan hides experts' exchanges by --ep-overlap",
    ),
    nothing("parallelism.expert_parallel_comm_backend", "experts are not split that way"),
    nothing("parallelism.context_parallel_rotate_method", "a plan's ring moves as many bytes"),
    nothing("parallelism.context_parallel_load_balancer", "a plan's ranks have equal shares"),
    nothing("experimental.context_parallel_rotate_method", "a plan's ring moves as many bytes"),
    words("parallelism.enable_async_tensor_parallel", Field::TensorOverlap, SWITCH),
    only("experimental.enable_compiled_autograd", OFF, "a plan gathers as FSDP2 does"),
    only("activation_checkpoint.memory_budget", OFF, "say what is computed again by --recompute"),
    only("float8.enable_fsdp_float8_all_gather", OFF, GATHERED),
    only("quantize.linear.float8.enable_fsdp_float8_all_gather", OFF, GATHERED),
    only("quantize.grouped_mm.*", OFF, "a plan's precision is one for all products"),
    nothing("quantize.linear.*", "the stack says how fp8 is scaled"),
    only("float8.emulate", OFF, "a plan's fp8 is the device's"),
    nothing("float8.recipe_name", "the stack says how fp8 is scaled"),
    nothing("mx.*", "the stack says how fp8 is scaled"),
    nothing("model.print_after_conversion", "logs are no part of a step"),
    nothing("fault_tolerance.*", "it is off"),
    only("debug.deterministic", OFF, "a plan's kernels are the fast ones"),
    nothing("debug.*", "it is off"),
    nothing(EAGER, "a plan says by --cuda-graphs what they replay"),
    only("parallelism.disable_loss_parallel", OFF, "the stack divides the loss over tensor ranks (`loss_divided`)"),
    nothing("parallelism.pipeline_parallel_first_stage_less_layers", EVENLY),
    nothing("parallelism.pipeline_parallel_last_stage_less_layers", EVENLY),
];

const COMPILE: &str = "compile.enable";
const EAGER: &str = "training.disable_cuda_graphs";
const COMPONENTS: &str = "compile.components";
const GATHERED: &str = "leave it out: a plan gathers weights in bf16";
const EVENLY: &str = "a plan cuts stages evenly";
const TENSOR: &str = "parallelism.tensor_parallel_degree";
const CONTEXT: &str = "parallelism.context_parallel_degree";
const PIPELINE: &str = "parallelism.pipeline_parallel_degree";
const SHARD: &str = "parallelism.data_parallel_shard_degree";
const REPLICATE: &str = "parallelism.data_parallel_replicate_degree";
const CONVERTERS: &str = "model.converters";
const RESHARD: &str = "parallelism.fsdp_reshard_after_forward";
const PER_STAGE: &str = "parallelism.pipeline_parallel_layers_per_stage";
const MICRO: &str = "parallelism.pipeline_parallel_microbatch_size";
const LOCAL: &str = "training.local_batch_size";
const GLOBAL: &str = "training.global_batch_size";
const MODE: &str = "activation_checkpoint.mode";
const OPTION: &str = "activation_checkpoint.selective_ac_option";
const FLOAT: &str = "training.mixed_precision_param";

/// What the names of 2024 became.
const RENAMED: [(&str, &str); 10] = [
    ("experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"),
    ("training.batch_size", LOCAL),
    ("training.data_parallel_degree", SHARD),
    ("training.data_parallel_shard_degree", SHARD),
    ("training.data_parallel_replicate_degree", REPLICATE),
    ("training.tensor_parallel_degree", TENSOR),
    ("experimental.context_parallel_degree", CONTEXT),
    ("experimental.pipeline_parallel_degree", PIPELINE),
    ("experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"),
    ("experimental.pipeline_parallel_split_points", "parallelism.pipeline_parallel_split_points"),
];

/// Whether it is torchtitan's.
pub fn is_of(settings: &ToolSettings) -> bool {
    let sections = ["training", "parallelism", "activation_checkpoint", "job", "model.flavor"];
    sections.iter().filter(|name| settings.has(name)).count() >= 2
}

/// Reads it.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    draft.stack = Some(("torchtitan", "torchtitan"));
    programs::refuse_file(settings, "give that file too", draft);
    if let Some(devices) = settings.take(launcher::DEVICES) {
        draft.read(Field::Devices, &devices.text, &devices.place);
    }
    rename(settings, draft);
    read_model(settings, draft);
    read_precision(settings, draft);
    read_recompute(settings, draft);
    read_compile(settings, draft);
    table::read(KEYS, settings, draft);
    read_mesh(settings, draft);
    read_stages(settings, draft);
    read_batch(settings, draft);
    let settings = table::left(harmless::TORCHTITAN, std::mem::take(settings), draft);
    table::leave(harmless::LAUNCHER, settings, draft);
    draft.assume(Field::Sequence, 2048_u32, DEFAULT);
}

const DEFAULT: &str = "torchtitan's default";

fn rename(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let mut old = Vec::new();
    for (name, new) in RENAMED {
        if let Some(setting) = settings.take(name) {
            settings.put(new, &setting.text, name);
            old.push(name);
        }
    }
    if !old.is_empty() {
        draft.report.ignore(
            &settings.file,
            format!("it has names of 2024, which are read as those of 2025: {}", old.join(", ")),
        );
    }
}

fn read_model(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [name, flavor] = ["model.name", "model.flavor"].map(|name| settings.take(name));
    let (Some(name), Some(flavor)) = (name, flavor) else { return };
    let said = (name.text.as_str(), flavor.text.as_str());
    match MODELS.iter().find(|model| (model.name, model.flavor) == said) {
        Some(model) => draft.take(Field::Model, Value::id(model.preset), &flavor.place),
        None => draft.ask(Field::Model, &flavor.place, format!("'{} {}' is no preset", name.text, flavor.text)),
    }
}

/// The setting that says how fp8 is scaled, and its word for one scale of the tensor at hand.
const FP8_RECIPE: &str = "quantize.linear.float8.recipe_name";
const TENSORWISE: &str = "tensorwise";

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let converters = settings.take(CONVERTERS).filter(|it| it.text.contains("float8") || it.text.contains("mx"));
    let old = settings.take("float8.enable_float8_linear").filter(|it| it.text == "true");
    let format = settings.take(FLOAT);
    if let Some(fp8) = converters.or(old) {
        let recipe = settings.take(FP8_RECIPE).filter(|recipe| recipe.text == TENSORWISE);
        let blocks = fp8.text.contains("mx") && !fp8.text.contains("float8");
        return match recipe {
            Some(recipe) => draft.take(Field::Precision, Precision::Fp8Current, &recipe.place),
            None if blocks => draft.take(Field::Precision, Precision::Mxfp8, &fp8.place),
            None => draft.take(Field::Precision, Precision::Fp8, &fp8.place),
        };
    }
    match format {
        Some(format) => match format.text.as_str() {
            "bfloat16" => draft.take(Field::Precision, Precision::Bf16, &format.place),
            "float32" => draft.take(Field::Precision, Precision::Fp32, &format.place),
            other => {
                draft.refuse(&format.place, format!("'{other}' is neither bfloat16 nor float32"), Field::Precision);
            }
        },
        None => draft.assume(Field::Precision, Precision::Bf16, DEFAULT),
    }
}

/// What is compiled: of the two components the loss alone is no plan's.
fn read_compile(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(components) = settings.take(COMPONENTS) else { return };
    let has = |name: &str| components.text.contains(name);
    match (has("model"), has("loss")) {
        _ if settings.text(COMPILE) != Some("true") => draft.report.ignore(&components.place, "nothing is compiled"),
        (true, true) => {}
        (true, false) => {
            settings.take(COMPILE);
            draft.take(Field::Compile, Compile::Layer, &components.place);
        }
        (false, _) => draft.cannot(&components, "leaves layers as they are", "compile the model too, or nothing"),
    }
}

fn read_recompute(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let option = settings.take(OPTION);
    let Some(mode) = settings.take(MODE) else {
        return draft.assume(Field::Recompute, Recompute::Selective, DEFAULT);
    };
    match (mode.text.as_str(), option) {
        ("selective", Some(option)) if option.text != "op" => match option.text.parse::<u32>() {
            // Every so many layers are computed again.
            Ok(every) if every > 0 => {
                draft.take(Field::Recompute, Recompute::Share(1.0 / f64::from(every)), &option.place);
            }
            _ => draft.refuse(&option.place, format!("'{}' is neither op nor a count", option.text), Field::Recompute),
        },
        ("none" | "selective" | "full", _) => draft.read(Field::Recompute, &mode.text, &mode.place),
        (other, _) => {
            draft.refuse(&mode.place, format!("'{other}' is none of none, selective and full"), Field::Recompute);
        }
    }
}

/// The mesh: shards lie over the ranks of the shard degree and of context parallelism.
fn read_mesh(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [replicate, shard] = [REPLICATE, SHARD].map(|name| settings.take(name));
    let place = [&shard, &replicate].into_iter().flatten().next().map(|setting| setting.place.clone());
    let place = place.unwrap_or_else(|| format!("{}: no {SHARD}", settings.file));
    let replicas = replicate.and_then(|setting| setting.text.parse().ok()).unwrap_or(1_u32).max(1);
    // -1 is what the other degrees leave.
    let own = shard.and_then(|setting| setting.text.parse::<i64>().ok()).and_then(|degree| u32::try_from(degree).ok());
    // 64 devices of 8 tensor ranks with replicate 2 leave a degree of 64 / 8 / 2 = 4.
    let all = draft.data_ranks();
    let rest = all.filter(|all| all.is_multiple_of(replicas)).map(|all| all / replicas);
    let inner = [Field::Tensor, Field::Context, Field::Pipeline].map(|field| draft.ranks(field));
    let Some(degree) = own.or(rest).filter(|degree| *degree > 0) else {
        return draft.ask(
            Field::Devices,
            &place,
            "the degree of sharding is what the devices leave, and no file counts them",
        );
    };
    let product =
        inner.iter().chain([&replicas, &degree]).try_fold(1_u32, |product, ranks| product.checked_mul(*ranks));
    match (draft.devices(), product) {
        (None, Some(product)) => {
            draft.take(Field::Devices, product, &format!("{place}, with the other degrees"));
        }
        (Some(devices), product) if product != Some(devices) => {
            let product = product.map_or("more than can be counted".to_owned(), |product| product.to_string());
            draft.contradict(&place, format!("the degrees come to {product} devices, not {devices}"));
        }
        (_, None) => draft.refuse(&place, "the degrees come to more than can be counted", Field::Devices),
        (Some(_), Some(_)) => {}
    }
    let over = degree.saturating_mul(inner[1]);
    match (over, replicas) {
        (1, _) => draft.shard(None, None, &place),
        (_, 1) => draft.shard(Some(Sharded::Weights), None, &place),
        _ => draft.shard(Some(Sharded::Weights), Some(Extent::Ranks(over)), &place),
    }
    let reshard = settings.take(RESHARD);
    let place = reshard.as_ref().map_or_else(|| place.clone(), |setting| setting.place.clone());
    match reshard.as_ref().map_or("default", |setting| setting.text.as_str()) {
        "always" => draft.take(Field::Reshard, true, &place),
        "never" => draft.take(Field::Reshard, false, &place),
        // With a pipeline the weights are kept, so that each micro-batch need not gather them again.
        "default" if inner[2] > 1 => draft.take(Field::Reshard, false, &format!("{place}, default with a pipeline")),
        "default" => {}
        other => draft.refuse(&place, format!("'{other}' is none of default, always and never"), Field::Reshard),
    }
}

/// Stages of each pipeline rank: as many as the layers of a stage leave, else two where the schedule loops.
fn read_stages(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if draft.ranks(Field::Pipeline) > 1 {
        draft.assume(Field::Schedule, Schedule::OneForwardOneBackward, DEFAULT);
    }
    let Some(per_stage) = settings.take(PER_STAGE) else {
        let schedule = draft.value(Field::Schedule).and_then(Value::get::<Schedule>);
        let loops = schedule.is_some_and(|schedule| schedule.rules().virtual_stages);
        if loops && draft.ranks(Field::Pipeline) > 1 {
            draft.assume(Field::StagesPerRank, 2_u32, DEFAULT);
        }
        return;
    };
    draft.layers_per_stage =
        per_stage.text.parse().ok().filter(|layers| *layers > 0).map(|layers| (layers, per_stage.place.clone()));
    if draft.layers_per_stage.is_none() {
        draft.refuse(&per_stage.place, format!("'{}' is no count of layers", per_stage.text), Field::StagesPerRank);
    }
}

/// A rank's batch is one micro-batch, or what a pipeline cuts into some.
fn read_batch(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [local, global, micro] = [LOCAL, GLOBAL, MICRO].map(|name| settings.take(name));
    let (batch, place) = match &local {
        Some(local) => (local.text.clone(), local.place.clone()),
        None => ("8".to_owned(), DEFAULT.to_owned()),
    };
    let all = global.filter(|global| global.text.parse::<u32>().is_ok_and(|count| count > 0));
    let Ok(count) = batch.parse::<u32>() else {
        return draft.refuse(&place, format!("'{batch}' is no count of sequences"), Field::MicroBatch);
    };
    if draft.ranks(Field::Pipeline) == 1 {
        if local.is_some() {
            draft.take(Field::MicroBatch, count, &place);
        } else {
            draft.assume(Field::MicroBatch, count, &place);
        }
        match all {
            Some(all) => draft.read(Field::GlobalBatch, &all.text, &all.place),
            None => draft.take(Field::Accumulate, 1_u32, &format!("{}: no {GLOBAL}", settings.file)),
        }
        return;
    }
    let size = micro.as_ref().and_then(|micro| micro.text.parse().ok()).unwrap_or(1_u32);
    if size == 0 || !count.is_multiple_of(size) {
        return draft.refuse(&place, format!("micro-batches of {size} do not divide '{count}'"), Field::MicroBatch);
    }
    draft.take(Field::MicroBatch, size, micro.as_ref().map_or(DEFAULT, |micro| &micro.place));
    draft.take(Field::Accumulate, count / size, &place);
    if let (Some(all), Some(ranks)) = (all, draft.data_ranks())
        && all.text.parse() != Ok(u64::from(count) * u64::from(ranks))
    {
        let fix = format!("write {LOCAL} into both, or leave it out: a plan runs one pipeline over the whole batch");
        draft.cannot(&all, "repeats the whole pipeline for one step, which a plan cannot say", &fix);
    }
}
