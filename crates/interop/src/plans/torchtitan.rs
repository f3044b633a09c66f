//! torchtitan's TOML from 0.1 to 0.2.2, with names of 2024 too, and its command.

mod command;
mod ranks;

use shardscope_engine::model::Model;
use shardscope_engine::plan::{Compile, GradientFormat, MasterWeights, Optimizer, Precision, Recompute, Schedule};
use shardscope_engine::scenario::{Field, Value};

use super::context;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT, SUMS_EACH, WEIGHTS_TOO, WHOLE_CONTEXT};
use super::draft::PlanDraft;
use super::lacks::ToolTable;
use super::settings::ToolSettings;
use super::table::{
    self, Codec, OFF, OFFLOADED, SWITCH, ToolKey, codec, compiled, left_to, nothing, number, only, words,
};
use super::writer::{Line, PlanWriter};
use super::{harmless, launcher, loss, programs};
use crate::torchtitan::{MODELS, TitanModel};

use command::configured;

pub use command::{SCRIPT, command, is_started, of_command};

/// Keys of the sections of 2025.
const KEYS: &[ToolKey] = &[
    codec(&MODEL),
    number("training.seq_len", Field::Sequence),
    number(TENSOR, Field::Tensor),
    number(CONTEXT, Field::Context),
    words("parallelism.context_parallel_rotate_method", Field::ContextKind, context::ROTATED),
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
    words(
        "training.dtype",
        Field::MasterWeights,
        &[
            ("float32", Value::Word(MasterWeights::Fp32.to_word())),
            ("bfloat16", Value::Word(MasterWeights::None.to_word())),
        ],
    ),
    words(
        "training.mixed_precision_reduce",
        Field::GradientFormat,
        // The only value that `Training.mixed_precision_reduce` takes.
        &[("float32", Value::Word(GradientFormat::Fp32.to_word()))],
    ),
    words("parallelism.enable_async_tensor_parallel", Field::TensorOverlap, SWITCH),
    codec(&PRECISION),
    codec(&COMPILED),
    codec(&ranks::MESH),
    codec(&ranks::BATCH),
    codec(&ranks::STAGES),
    codec(&RECOMPUTE),
    left_to("the launcher's", &[Field::Devices]),
];

/// Keys that no plan can express, and keys without effect.
const OTHERS: &[ToolKey] = &[
    only("parallelism.module_fqns_per_model_part", OFF, "a plan cuts stages evenly"),
    only("parallelism.pipeline_parallel_split_points", OFF, "a plan cuts stages evenly"),
    only("optimizer.early_step_in_backward", OFF, "a plan updates at the end of the step"),
    only("fault_tolerance.enable", OFF, "give the plan of one replica"),
    only("parallelism.pipeline_parallel_schedule_csv", OFF, "name one of torchtitan's schedules"),
    only(
        "parallelism.pipeline_parallel_expert_parallel_overlap",
        OFF,
        "a plan hides experts' exchanges by --ep-overlap",
    ),
    only("experimental.enable_compiled_autograd", OFF, "a plan gathers as FSDP2 does"),
    only("activation_checkpoint.memory_budget", OFF, "say what is computed again by --recompute"),
    only("float8.enable_fsdp_float8_all_gather", OFF, GATHERED),
    only("quantize.linear.float8.enable_fsdp_float8_all_gather", OFF, GATHERED),
    only("quantize.grouped_mm.*", OFF, "a plan's precision is one for all products"),
    only("float8.emulate", OFF, "a plan's fp8 is the device's"),
    only("debug.deterministic", OFF, "a plan's kernels are the fast ones"),
    nothing(EAGER, "a plan says by --cuda-graphs what they replay"),
    words(
        "parallelism.disable_loss_parallel",
        Field::Loss,
        &[("true", loss::OF_WHOLE_LOGITS), ("false", loss::OF_STACK)],
    ),
];

/// Keys of torchtitan's file, and where torchtitan deviates from plans.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS],
    others: OTHERS,
    deviations: &[ONE_EXTENT, WEIGHTS_TOO, WHOLE_CONTEXT, SUMS_EACH, ALIKE],
};

/// Versions that [`write()`] is for, newest first.
pub(crate) const VERSIONS: &[&str] = &["0.3.0", "0.2.2"];

const COMPILE: &str = "compile.enable";
const EAGER: &str = "training.disable_cuda_graphs";
const COMPONENTS: &str = "compile.components";
const GATHERED: &str = "leave it out: a plan gathers weights in bf16";
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

/// Names of 2024, and their current names.
const RENAMED: [(&str, &str); 11] = [
    ("experimental.context_parallel_rotate_method", "parallelism.context_parallel_rotate_method"),
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

/// True if the settings are torchtitan's.
pub fn is_of(settings: &ToolSettings) -> bool {
    let sections = ["training", "parallelism", "activation_checkpoint", "job", "model.flavor"];
    sections.iter().filter(|name| settings.has(name)).count() >= 2
}

/// Reads torchtitan's settings.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    draft.stack = Some(("torchtitan", "torchtitan"));
    programs::refuse_file(settings, "give that file too", draft);
    if let Some(devices) = settings.take(launcher::DEVICES) {
        draft.read(Field::Devices, &devices.text, &devices.place);
    }
    rename(settings, draft);
    table::read(KEYS, settings, draft);
    table::read(OTHERS, settings, draft);
    let own = table::without_effect(harmless::TORCHTITAN, std::mem::take(settings), draft);
    table::leave(harmless::LAUNCHER, table::without_effect(harmless::PRIMUS, own, draft), draft);
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

/// The model by name and flavour; in 0.3 by a configuration, with the plan's differences.
const MODEL: Codec = Codec::new(&[], read_model, write_model).losing(&[Deviation::sentence(
    Field::Model,
    |asked, _| flavor(&asked.job.model).is_none(),
    |asked, version| format!("torchtitan {version} has no model of the shape of '{}'", asked.job.model.id),
)
.alone()
.refused(|| {
    let known: Vec<&str> = MODELS.iter().filter(|model| model.exported).map(|model| model.preset).collect();
    format!("choose one of {}", known.join(", "))
})]);

fn read_model(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [name, flavor] = ["model.name", "model.flavor"].map(|name| settings.take(name));
    let (Some(name), Some(flavor)) = (name, flavor) else { return };
    let said = (name.text.as_str(), flavor.text.as_str());
    match MODELS.iter().find(|model| (model.name, model.flavor) == said) {
        Some(model) => draft.take(Field::Model, Value::id(model.preset), &flavor.place),
        None => draft.ask(Field::Model, &flavor.place, format!("'{} {}' is no preset", name.text, flavor.text)),
    }
}

fn write_model(writer: &mut PlanWriter) -> Vec<Line> {
    let Some(model) = flavor(&writer.scenario.model) else { return Vec::new() };
    if writer.version != "0.3.0" {
        return vec![Line::new("model.name", model.name), Line::new("model.flavor", model.flavor)];
    }
    let config = config(model);
    let other = [
        (TENSOR, writer.layout.tensor == 1, Line::new(TENSOR, 1)),
        (COMPILE, writer.plan().compile == Compile::Off, Line::new("compile.no-enable", true)),
    ];
    let other = other.into_iter().filter(|(name, differs, _)| *differs && configured(&config, name).is_some());
    let named = [Line::new("module", model.name), Line::new("config", config.as_str())];
    named.into_iter().chain(other.map(|(.., line)| line)).collect()
}

/// torchtitan's entry for a model.
fn flavor(model: &Model) -> Option<&'static TitanModel> {
    MODELS.iter().find(|known| known.exported && known.preset == model.id)
}

/// The name of a model's configuration in 0.3.
fn config(model: &TitanModel) -> String {
    format!("{}_{}", model.name, model.flavor.to_lowercase())
}

/// The same name, if that configuration computes in fp8.
fn config_in_fp8(model: &Model, version: &str) -> Option<String> {
    let config = flavor(model).filter(|_| version == "0.3.0").map(config)?;
    configured(&config, CONVERTERS).map(|_| config)
}

/// The setting for fp8's scaling, and its word for per-tensor current scaling.
const FP8_RECIPE: &str = "quantize.linear.float8.recipe_name";
const TENSORWISE: &str = "tensorwise";

/// The format of products; in 0.3 the configuration's function sets fp8.
const PRECISION: Codec = Codec::new(&[Field::Precision], read_precision, |writer| {
    let precision = writer.plan().precision;
    let format = if precision == Precision::Fp32 { "float32" } else { "bfloat16" };
    let converter = match precision {
        _ if writer.version == "0.3.0" => None,
        Precision::Fp8 | Precision::Fp8Current => Some("quantize.linear.float8"),
        Precision::Mxfp8 => Some("quantize.linear.mx"),
        _ => None,
    };
    let mut lines = vec![Line::new(FLOAT, format)];
    lines.extend(converter.map(|converter| Line::new(CONVERTERS, vec![converter])));
    let scaled = converter.filter(|_| precision == Precision::Fp8Current);
    lines.extend(scaled.map(|_| Line::new(FP8_RECIPE, TENSORWISE)));
    lines
})
.losing(&[
    Deviation::instead_of(
        Field::Precision,
        |asked, version| asked.plan().precision != Precision::Fp8 && config_in_fp8(&asked.job.model, version).is_some(),
        |asked, version| format!("{} computes in fp8", config_in_fp8(&asked.job.model, version).unwrap_or_default()),
    )
    .alone(),
    Deviation::instead(
        Field::Precision,
        |asked, version| {
            let in_bf16 = version == "0.3.0" && config_in_fp8(&asked.job.model, version).is_none();
            in_bf16 && asked.plan().precision.is_low()
        },
        "another config function switches fp8 on",
    )
    .alone(),
    Deviation::instead(
        Field::Precision,
        |asked, version| {
            let has = matches!(asked.plan().precision, Precision::Fp8 | Precision::Fp8Current | Precision::Mxfp8);
            version != "0.3.0" && asked.plan().precision.is_low() && !has
        },
        "torchtitan scales fp8 by the tensor at hand, or in blocks as mxfp8",
    )
    .alone(),
]);

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

/// Compiled components; a plan cannot compile the loss alone.
const COMPILED: Codec = Codec::new(
    &[Field::Compile],
    |settings, draft| {
        read_components(settings, draft);
        table::read(&[compiled("training.compile", OFF), compiled(COMPILE, OFF)], settings, draft);
    },
    |writer| {
        let components = match writer.plan().compile {
            Compile::Off => return Vec::new(),
            Compile::Layer => vec!["model"],
            Compile::On => vec!["model", "loss"],
        };
        vec![Line::new(COMPILE, true), Line::new(COMPONENTS, components)]
    },
)
.losing(&[Deviation::instead(
    Field::TensorOverlap,
    |asked, _| asked.plan().tensor_overlap && asked.plan().compile == Compile::Off,
    "it is compiled code whose collectives run beside the products",
)])
.named(&["training.compile", COMPILE]);

fn read_components(settings: &mut ToolSettings, draft: &mut PlanDraft) {
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

/// Recomputation: per operator by default, or of every n-th layer.
const RECOMPUTE: Codec = Codec::new(&[Field::Recompute], read_recompute, |writer| {
    let by_operators = writer.version != "0.3.0" && writer.plan().recompute == Recompute::Selective;
    let mode = writer.line(MODE, Field::Recompute);
    mode.into_iter().chain(by_operators.then(|| Line::new(OPTION, "op"))).collect()
});

fn read_recompute(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let option = settings.take(OPTION);
    let Some(mode) = settings.take(MODE) else {
        return draft.assume(Field::Recompute, Recompute::Selective, DEFAULT);
    };
    match (mode.text.as_str(), option) {
        ("selective", Some(option)) if option.text != "op" => match option.text.parse::<u32>() {
            // Every n-th layer is recomputed.
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

/// Lines of torchtitan's file or command; none if it lacks the model.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    if flavor(&writer.scenario.model).is_none() {
        return Vec::new();
    }
    let mut lines = table::write(KEYS, writer);
    // In 0.3 the configuration's function sets the optimizer.
    lines.retain(|line| writer.version != "0.3.0" || !line.name.starts_with("optimizer."));
    lines
}
