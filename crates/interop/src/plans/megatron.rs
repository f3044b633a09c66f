//! Megatron-LM's arguments, from a script or the head of a log: both use the same names.
//!
//! An argument absent from a script has the parser's default; a log has every argument.

mod attention;
mod formats;
mod memory;
mod parts;
mod ranks;
mod shape;

use shardscope_engine::model::Positions;
use shardscope_engine::plan::{AttentionKernel, GlobalBatch, Moments, Offload, Optimizer, TrainMethod};
use shardscope_engine::scenario::{Field, Value};
use shardscope_library::text::shell::ShellCode;

use super::adapters;
use super::asked::PlanQuery;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT};
use super::draft::PlanDraft;
use super::harmless;
use super::lacks::ToolTable;
use super::loss;
use super::programs;
use super::settings::{Setting, ToolSettings};
use super::table::{self, Codec, OFF, SWITCH, ToolKey, clips, codec, nothing, number, only, words};
use super::words::KnownFlags;
use super::writer::{Line, PlanWriter};
use super::written::{Head, Ranks, options};
use crate::FileText;
use crate::runs::{Arguments, LogLine, padded_vocabulary, plain};

/// The stack for runs of Megatron-LM.
pub(super) const OWN_STACK: (&str, &str) = ("megatron-2024", "Megatron-LM");

/// The stack for adapters, which Megatron-LM itself lacks.
const WITH_ADAPTERS: (&str, &str) = ("megatron-bridge-2025", "adapters under Megatron Bridge");

/// Arguments that state fields of a plan.
const KEYS: &[ToolKey] = &[
    codec(&loss::MEGATRON),
    codec(&DEVICES),
    codec(&SEQUENCE),
    number("mtp_num_layers", Field::MtpLayers),
    number("micro_batch_size", Field::MicroBatch),
    number("tensor_model_parallel_size", Field::Tensor),
    number("context_parallel_size", Field::Context),
    codec(&ranks::CONTEXT),
    codec(&ATTENTION),
    number("pipeline_model_parallel_size", Field::Pipeline),
    number("expert_model_parallel_size", Field::Experts),
    codec(&ranks::EXPERT_TENSOR),
    words("overlap_moe_expert_parallel_comm", Field::ExpertOverlap, SWITCH),
    words("moe_shared_expert_overlap", Field::SharedOverlap, SWITCH),
    codec(&memory::OFFLOAD),
    codec(&memory::HOST_MODULES),
    codec(&memory::PINNED),
    number("optimizer_offload_fraction", Field::OffloadRatio),
    words("overlap_cpu_optimizer_d2h_h2d", Field::OffloadOverlap, SWITCH),
    clips("clip_grad"),
    words(
        "optimizer",
        Field::Optimizer,
        &[
            ("adam", Value::Word(Optimizer::Adam.to_word())),
            ("sgd", Value::Word(Optimizer::SgdMomentum.to_word())),
            ("muon", Value::Word(Optimizer::Muon.to_word())),
            ("dist_muon", Value::Word(Optimizer::Muon.to_word())),
        ],
    ),
    words("exp_avg_dtype", Field::Moments, MOMENTS),
    words("exp_avg_sq_dtype", Field::Moments, MOMENTS),
    codec(&PRECISION_AWARE),
    words("tp_comm_overlap", Field::TensorOverlap, SWITCH),
    codec(&BATCH),
    codec(&SEQUENCES_SPLIT),
    codec(&formats::PRECISION),
    codec(&formats::GRADIENTS),
    codec(&formats::GRAPHS),
    codec(&formats::CAPACITY),
    codec(&formats::DISPATCHER),
    codec(&formats::DISPATCHED),
    codec(&ranks::STAGES),
    codec(&memory::RECOMPUTE),
    codec(&LENGTH),
    codec(&ranks::SHARDING),
];

/// Arguments that no plan can express, and arguments without effect.
const OTHERS: &[ToolKey] = &[
    only("checkpoint_in_cpu", OFF, "a plan offloads checkpoints by --offload checkpoints"),
    only("partition_activations", OFF, WHOLE),
    only("distribute_saved_activations", OFF, WHOLE),
    only("distribute_checkpointed_activations", OFF, WHOLE),
    only("main_params_dtype", FP32, "a plan keeps master weights in fp32"),
    // Megatron Bridge's argument, given beside `bf16`.
    only("mixed_precision", &["bf16_mixed"], "say the recipe by --precision, and leave it out"),
    only("vision_model_type", OFF, PICTURES),
    only("recompute_vision", OFF, PICTURES),
    only("moe_use_upcycling", OFF, "give the run that trains the experts"),
    only("fp8_param_gather", OFF, GATHERED_IN_FP8),
    only("fp4_param_gather", OFF, GATHERED_IN_FP8),
    only("tensor_parallel_num_weight_shards", &["1", "None"], WHOLE),
    only("expert_tensor_parallel_num_weight_shards", &["1", "None"], WHOLE),
    only("use_torch_optimizer_for_cpu_offload", OFF, "the stack says how fast the host updates"),
];

/// Arguments of related programs that train something else, nothing, or a recipe; in other tools' files they mean other
/// things.
const OTHER_PROGRAMS: &[ToolKey] = &[
    only("model_provider", &["gpt", "hybrid", "mamba"], PICTURES),
    only("audio_encoder_model", OFF, PICTURES),
    only("task", OFF, "give the training of the language model itself"),
    only("decode_only_cuda_graphs", OFF, "give the script that trains"),
    // Megatron Bridge's launchers name a recipe, which sets the rest.
    only("recipe", OFF, RECIPE_OF_BRIDGE),
    only("model_recipe_name", OFF, RECIPE_OF_BRIDGE),
    only("compute_dtype", OFF, RECIPE_OF_BRIDGE),
];

/// Megatron-LM's arguments, and where it deviates from plans.
pub(crate) const TABLE: ToolTable =
    ToolTable { keys: &[KEYS], others: OTHERS, deviations: &[ONE_EXTENT, ALIKE, shape::LOST[0], shape::LOST[1]] };

/// The version that [`text`] is for.
pub(crate) const VERSIONS: &[&str] = &["0.20"];

/// Transformer Engine's attention kernel (`AttnBackend`). For flash attention it takes the newest installed, which the
/// stack tells.
const ATTENTION: Codec = Codec::new(
    &[Field::AttentionKernel],
    |settings, draft| {
        let Some(setting) = settings.take(BACKEND) else { return };
        let word = setting.text.rsplit('.').next().unwrap_or_default();
        match BACKENDS.iter().find(|(theirs, _)| *theirs == word) {
            Some((_, kernel)) => draft.take(Field::AttentionKernel, *kernel, &setting.place),
            None => draft.report.ignore(&setting.place, STACK),
        }
    },
    |writer| {
        let own = BACKENDS.iter().find(|(_, kernel)| *kernel == writer.plan().attention_kernel);
        own.map(|(theirs, _)| Line::new(BACKEND, *theirs)).into_iter().collect()
    },
)
.losing(&[Deviation::unsaid(Field::AttentionKernel, |asked, _| {
    let kernel = asked.plan().attention_kernel;
    kernel != AttentionKernel::Stack && !BACKENDS.iter().any(|(_, known)| *known == kernel)
})
.alone()]);

const BACKEND: &str = "attention_backend";
const BACKENDS: [(&str, AttentionKernel); 2] = [("fused", AttentionKernel::Cudnn), ("unfused", AttentionKernel::Plain)];

/// Devices of the job; an export leaves them to the environment.
const DEVICES: Codec = Codec::new(
    &[Field::Devices],
    |settings, draft| table::read(&[number("world_size", Field::Devices)], settings, draft),
    |_| Vec::new(),
);

/// Tokens per sequence. For vision-language models `seq_length` counts image tokens, and `decoder_seq_length` the
/// language model's (examples/multimodal/train.py).
const SEQUENCE: Codec = Codec::new(
    &[Field::Sequence],
    |settings, draft| {
        let tokens = on(settings, "decoder_seq_length");
        if let Some(tokens) = &tokens {
            draft.read(Field::Sequence, &tokens.text, &tokens.place);
        }
        match (settings.take(TOKENS), tokens) {
            (Some(pictures), Some(_)) => {
                let why = "decoder_seq_length says how many tokens the language model reads";
                draft.report.ignore(&pictures.place, why);
            }
            (Some(tokens), None) => draft.read(Field::Sequence, &tokens.text, &tokens.place),
            (None, _) => {}
        }
    },
    |writer| {
        let most = positions(writer.asked).max(writer.plan().sequence);
        let tokens = writer.line(TOKENS, Field::Sequence);
        tokens.into_iter().chain([Line::new("max_position_embeddings", most)]).collect()
    },
)
.losing(&[Deviation::sentence(
    Field::Sequence,
    |asked, _| positions(asked) < asked.plan().sequence,
    |asked, _| {
        let rows = positions(asked);
        format!("sequence {}: the model's table has {rows} positions, and gets more", asked.plan().sequence)
    },
)
.alone()])
.named(&[TOKENS]);

const TOKENS: &str = "seq_length";

/// The precision-aware optimizer, which formats of the state and its offload need.
const PRECISION_AWARE: Codec = Codec::new(
    &[],
    |settings, draft| table::read(&[nothing(AWARE, "its formats are fp32 unless others are named")], settings, draft),
    |writer| {
        let is_on = writer.plan().offload == Offload::Optimizer || writer.value(Field::Moments).is_some();
        is_on.then(|| Line::new(AWARE, true)).into_iter().collect()
    },
);

const AWARE: &str = "use_precision_aware_optimizer";

/// Sequence parallelism over tensor ranks, as the plan's stack has it.
const SEQUENCES_SPLIT: Codec = Codec::new(
    &[],
    |settings, draft| table::read(&[nothing(SPLIT, STACK)], settings, draft),
    |writer| {
        let is_on = writer.layout.tensor > 1 && writer.scenario.stack.sequence_parallel;
        is_on.then(|| Line::new(SPLIT, true)).into_iter().collect()
    },
)
.losing(&[Deviation::instead(
    Field::TensorOverlap,
    |asked, _| asked.plan().tensor_overlap && !asked.job.stack.sequence_parallel,
    "its collectives overlap where sequences are split over tensor ranks",
)]);

const SPLIT: &str = "sequence_parallel";

/// The global batch of all ranks.
const BATCH: Codec = Codec::new(
    &[Field::GlobalBatch, Field::Accumulate],
    |settings, draft| match settings.take(GLOBAL) {
        Some(all) => draft.read(Field::GlobalBatch, &all.text, &all.place),
        None => draft.assume(Field::Accumulate, 1_u32, "without --global-batch-size each rank takes one micro-batch"),
    },
    |writer| writer.line(GLOBAL, Field::GlobalBatch).into_iter().collect(),
);

const GLOBAL: &str = "global_batch_size";

/// Length of the run, if given.
const LENGTH: Codec = Codec::new(&[], read_length, |writer| {
    let samples = |tokens: f64| (tokens / f64::from(writer.plan().sequence)).ceil() as u64;
    writer.plan().length().map(|tokens| Line::new(SAMPLES, samples(tokens))).into_iter().collect()
});

const SAMPLES: &str = "train_samples";

const FP32: &[&str] = &["fp32", "torch.float32"];
const MOMENTS: &[(&str, Value)] = &[
    ("fp32", Value::Word(Moments::Fp32.to_word())),
    ("bf16", Value::Word(Moments::Bf16.to_word())),
    ("torch.float32", Value::Word(Moments::Fp32.to_word())),
    ("torch.bfloat16", Value::Word(Moments::Bf16.to_word())),
];
const STACK: &str = "the stack says it, --stack";
const WHOLE: &str = "a plan keeps checkpoints whole on each rank";
const RECIPE_OF_BRIDGE: &str = "give the log of the run: a recipe of Megatron Bridge says the rest of its plan";
const GATHERED_IN_FP8: &str = "choose a --stack whose weights are gathered in fp8, and leave it out";
const PICTURES: &str =
    "name the language model with --model, and give its own training: a plan has no model that reads pictures";

/// Flags by which a script of Megatron-LM is recognised.
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

/// Reads Megatron-LM's arguments.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    let program = programs::take_defaults(settings, &programs::MEGATRON, draft);
    programs::refuse_file(settings, "give that file too", draft);
    draft.stack = Some(program.stack.unwrap_or(OWN_STACK));
    table::read(KEYS, settings, draft);
    table::read(OTHERS, settings, draft);
    table::read(OTHER_PROGRAMS, settings, draft);
    if program.names_model {
        read_name(settings, draft);
    }
    if !program.names_model || draft.is_given(Field::Model) {
        shape::read(settings, draft);
    }
    // A Trainer's setting, for LLaMA-Factory on Megatron.
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
        settings = table::without_effect(tool, settings, draft);
    }
    // A log has every argument; most of those left at defaults are off.
    for off in settings.take_off(if draft.logged { OFF } else { &[] }) {
        draft.report.ignore(&off.place, "it is off");
    }
    table::leave("", settings, draft);
}

/// Fields for how a model's layers are placed on ranks, run, and kept in memory.
const OF_LAYERS: &[Field] = &[
    Field::Tensor,
    Field::Context,
    Field::ContextKind,
    Field::ContextHeads,
    Field::Pipeline,
    Field::Experts,
    Field::ExpertTensor,
    Field::ExpertOverlap,
    Field::SharedOverlap,
    Field::Capacity,
    Field::Dispatcher,
    Field::DispatchFormat,
    Field::StagesPerRank,
    Field::StageLayers,
    Field::Schedule,
    Field::Recompute,
    Field::RecomputeModules,
    Field::OffloadModules,
    Field::AttentionKernel,
    Field::TensorOverlap,
    Field::CudaGraphs,
];

/// Reads `OF_LAYERS` for a program that runs Megatron Core and has its own names for all else.
pub(super) fn read_layers(mut settings: ToolSettings, draft: &mut PlanDraft) {
    for key in KEYS.iter().filter(|key| key.means.is_of(OF_LAYERS)) {
        table::read(std::slice::from_ref(key), &mut settings, draft);
    }
    table::read(OTHERS, &mut settings, draft);
    table::leave(harmless::MEGATRON, settings, draft);
}

/// Asks for the shape of a model that is only named.
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

/// Takes an argument; `None` if it is off.
fn on(settings: &mut ToolSettings, name: &str) -> Option<Setting> {
    settings.take(name).filter(|setting| !OFF.contains(&setting.text.as_str()))
}

/// Reads the length of the run, if given.
fn read_length(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let sequence = draft.count(Field::Sequence).map(f64::from);
    let batch = match draft.value(Field::GlobalBatch) {
        Some(Value::Batch(GlobalBatch::Sequences(count))) => Some(f64::from(*count)),
        _ => None,
    };
    for (name, each) in [(SAMPLES, Some(1.0)), ("train_iters", batch)] {
        let Some(count) = on(settings, name) else { continue };
        match (count.text.parse::<f64>().ok().filter(|count| count.is_finite() && *count > 0.0), each, sequence) {
            (Some(number), Some(each), Some(sequence)) if draft.value(Field::Tokens).is_none() => {
                draft.take(Field::Tokens, number * each * sequence, &count.place);
            }
            _ => draft.report.ignore(&count.place, "how long the run is changes no step"),
        }
    }
}

/// The sequence length, or the rows of the learned position table.
fn positions(asked: &PlanQuery<'_>) -> u32 {
    let model = &asked.job.model;
    match model.positions {
        Positions::Learned => model.position_rows.unwrap_or(model.sequence),
        Positions::Computed => asked.plan().sequence,
    }
}

/// The lines of Megatron-LM's arguments.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    let mut lines = shape::lines(&writer.scenario.model);
    lines.extend(table::write(KEYS, writer));
    if writer.scenario.model.experts.is_some() {
        writer.elsewhere.push(ROUTER.to_owned());
    }
    if writer.scenario.model.biases().sinks {
        writer.elsewhere.push(ACTIVATION.to_owned());
    }
    lines
}

/// The script: an array of arguments for the user's command.
pub fn text(head: &Head, lines: &[Line], job: &Ranks) -> Result<FileText, String> {
    let has = |names: &[&str]| lines.iter().any(|line| names.contains(&line.name.as_str()));
    let environment = match (has(&[ranks::FSDP]), has(&["tensor_model_parallel_size", "context_parallel_size"])) {
        (true, _) => "unset CUDA_DEVICE_MAX_CONNECTIONS  # FSDP overlaps on several connections\n",
        (false, true) => "export CUDA_DEVICE_MAX_CONNECTIONS=1  # tensor and context parallelism need it\n",
        (false, false) => "",
    };
    let dashed = |line: &Line| Line { name: line.name.replace('_', "-"), ..line.clone() };
    let program = if has(&[shape::PATTERN]) { "pretrain_hybrid.py" } else { "pretrain_gpt.py" };
    let lines: Vec<Line> = lines.iter().map(dashed).collect();
    let script = ShellCode::default().comments(head.lines()).code(environment);
    let script = script.code("WORLD_SIZE=").word(job.devices).code("  # nodes x devices of each\nMEGATRON_ARGS=(");
    FileText::shell(
        options(script, "\n   ", &lines).code("\n)\n").code(RUN).code(program).code(" \"${MEGATRON_ARGS[@]}\" ...\n"),
    )
}

/// Settings of a router that no plan has, since they change neither size nor time.
const ROUTER: &str = "how the router scores and balances: --moe-router-score-function, --moe-router-load-balancing-type, \
                      --moe-router-enable-expert-bias, --moe-router-bias-update-rate";

/// Settings of models with learned attention sinks that no plan has, likewise.
const ACTIVATION: &str = "GPT-OSS's activation function: --quick-geglu --glu-linear-offset 1.0 \
                          in place of --swiglu";

const RUN: &str = "# torchrun --nnodes NODES --nproc-per-node DEVICES ";
