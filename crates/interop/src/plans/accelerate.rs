//! Accelerate's YAML: FSDP1 and FSDP2, the device mesh, and DeepSpeed inside it or in a file beside it.

use shardscope_engine::plan::{Extent, Offload, Plan, Precision, Recompute, Reduction, Sharded};
use shardscope_engine::scenario::{Field, Value};

use super::adapters;
use super::asked::PlanQuery;
use super::context;
use super::deepspeed;
use super::deviation::{ALIKE, Deviation, ONE_EXTENT, SUMS_EACH, WEIGHTS_TOO, WHOLE_CONTEXT};
use super::draft::PlanDraft;
use super::frozen;
use super::harmless;
use super::lacks::ToolTable;
use super::loss;
use super::megatron;
use super::post_training;
use super::settings::{Setting, ToolSettings};
use super::table::{
    self, CHECKPOINTING, Codec, OFF, OPTIMIZER_OFFLOADED, SWITCH, ToolKey, clips, codec, compiled, compiles, left_to,
    nothing, number, only, words,
};
use super::writer::{Line, PlanWriter};

/// Keys of the launch and of the device mesh.
const KEYS: &[ToolKey] = &[
    number("num_processes", Field::Devices),
    number(TENSOR, Field::Tensor),
    number(CONTEXT, Field::Context),
    words(
        "mixed_precision",
        Field::Precision,
        &[
            ("no", Value::Word(Precision::Fp32.to_word())),
            ("bf16", Value::Word(Precision::Bf16.to_word())),
            ("fp16", Value::Word(Precision::Fp16.to_word())),
            ("fp8", Value::Word(Precision::Fp8.to_word())),
            ("false", Value::Word(Precision::Fp32.to_word())),
        ],
    ),
    codec(&HEADS),
    only("parallelism_config.parallelism_config_cp_backend", &["torch"], "a plan exchanges keys and values in a ring"),
    words("parallelism_config.parallelism_config_cp_comm_strategy", Field::ContextKind, context::ROTATED),
    nothing("parallelism_config.parallelism_config_sp_*", "sequences are not split that way"),
    only("use_cpu", OFF, "shardscope knows training on devices alone"),
    compiles("dynamo_config.dynamo_backend", NOT_COMPILED, "INDUCTOR"),
    compiled("dynamo_backend", NOT_COMPILED),
    nothing("dynamo_config.*", "how code is compiled is not predicted"),
    only("fp8_config.opt_level", &["O1"], "a plan keeps its state in the formats of O1"),
    only("fp8_config.enable_fsdp_float8_all_gather", OFF, "a plan gathers weights in bf16"),
    nothing("fp8_config.*", "how fp8 is scaled changes no size"),
    only("cpu", OFF, "shardscope knows training on devices alone"),
    only("fp16", OFF, "say it by mixed_precision, the name since version 0.3"),
    only("tpu", OFF, "shardscope knows training on GPUs alone"),
    nothing("num_machines", "num_processes counts the devices of all machines"),
    nothing("compute_environment", "where it runs is said by --hardware"),
];

/// Backends that compile nothing.
const NOT_COMPILED: &[&str] = &["no", "eager", "false", ""];

/// Keys of both versions of FSDP.
const FSDP: &[ToolKey] = &[
    words("fsdp_activation_checkpointing", Field::Recompute, CHECKPOINTING),
    only(
        "fsdp_auto_wrap_policy",
        &["TRANSFORMER_BASED_WRAP"],
        "wrap by TRANSFORMER_BASED_WRAP: a plan gathers layer by layer",
    ),
    nothing("fsdp_min_num_params", "layers are wrapped by their class"),
    nothing("fsdp_transformer_layer_cls_to_wrap", "a plan gathers layer by layer"),
    nothing("fsdp_cpu_ram_efficient_loading", "loading is no part of a step"),
    nothing("fsdp_sync_module_states", "loading is no part of a step"),
    nothing("fsdp_state_dict_type", "checkpoints are no part of a step"),
    nothing("fsdp_use_orig_params", "the same weights are sharded either way"),
    nothing("fsdp_forward_prefetch", "the device runs ahead of the program either way"),
    nothing("fsdp_limit_all_gathers", "a plan limits them by --prefetch"),
    nothing("fsdp_transformer_cls_names_to_wrap", "a plan gathers layer by layer"),
    codec(&OFFLOAD),
];

/// Keys that FSDP1 alone reads.
const FIRST: &[ToolKey] = &[words(
    "fsdp_backward_prefetch",
    Field::Prefetch,
    &[("BACKWARD_PRE", Value::Count(1)), ("NO_PREFETCH", Value::Count(0))],
)];

/// The stack for runs under Accelerate.
pub(super) const STACK: (&str, &str) = ("accelerate", "Hugging Face models on Accelerate");

/// Keys of Megatron-LM under Accelerate.
const MEGATRON: &[ToolKey] = &[
    number("megatron_lm_tp_degree", Field::Tensor),
    number("megatron_lm_pp_degree", Field::Pipeline),
    number("megatron_lm_num_micro_batches", Field::Accumulate),
    words(
        "megatron_lm_recompute_activations",
        Field::Recompute,
        &[("false", Value::Recompute(Recompute::None)), ("true", Value::Recompute(Recompute::Selective))],
    ),
    number("megatron_lm_context_parallel_size", Field::Context),
    words("megatron_lm_optimizer_cpu_offload", Field::Offload, OPTIMIZER_OFFLOADED),
    only("megatron_lm_num_layers_per_virtual_pipeline_stage", OFF, OWN_ARGUMENTS),
    only("megatron_lm_decoder_last_pipeline_num_layers", OFF, OWN_ARGUMENTS),
    only("megatron_lm_recompute_granularity", OFF, OWN_ARGUMENTS),
    only("megatron_lm_use_custom_fsdp", OFF, OWN_ARGUMENTS),
    only("megatron_lm_use_precision_aware_optimizer", OFF, OWN_ARGUMENTS),
    number("megatron_lm_expert_model_parallel_size", Field::Experts),
    number("megatron_lm_expert_tensor_parallel_size", Field::ExpertTensor),
    nothing("megatron_lm_sequence_parallelism", "the stack says it, --stack"),
    clips("megatron_lm_gradient_clipping"),
];

const OWN_ARGUMENTS: &str = "give Megatron-LM's own arguments";

/// Context ranks that exchange heads, which Accelerate has only with DeepSpeed (`sp_backend` of `ParallelismConfig`).
const HEADS: Codec = Codec::new(
    &[],
    |settings, draft| context::read_heads("parallelism_config.parallelism_config_sp_size", settings, draft),
    |_| Vec::new(),
);

/// Offload of the state and of checkpoints, a key each.
const OFFLOAD: Codec = Codec::new(
    &[Field::Offload],
    |fsdp, draft| read_offload(&[STATE], CHECKPOINTS, fsdp, draft),
    |writer| {
        let moved = moves_checkpoints(writer.plan()).then(|| Line::new(CHECKPOINTS, true));
        [Line::new(STATE, writer.plan().offload.state())].into_iter().chain(moved).collect()
    },
)
.losing(&[
    Deviation::instead(
        Field::Offload,
        |asked, _| asked.plan().offload.on_drives() || is_optimizer_alone(asked.plan().offload),
        "FSDP offloads the whole state to the host's memory, or nothing of it",
    )
    .alone(),
    NO_CHECKPOINTS,
    Deviation::unsaid(Field::Offload, |asked, _| !is_sharded(asked) && asked.plan().offload != Offload::None),
]);

/// Reads FSDP's offload: of the state, if any of some keys is on, and of checkpoints.
pub(super) fn read_offload(state: &[&str], checkpoints: &str, settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let is_on = |setting: &Setting| setting.text.eq_ignore_ascii_case("true");
    let on = |setting: &Option<Setting>| setting.as_ref().is_some_and(is_on);
    let named: Vec<Setting> = state.iter().filter_map(|name| settings.take(name)).collect();
    let (state, checkpoints) = (named.into_iter().max_by_key(is_on), settings.take(checkpoints));
    let offload = match (on(&state), on(&checkpoints)) {
        (false, false) => Offload::None,
        (true, false) => Offload::State,
        (false, true) => Offload::Checkpoints,
        (true, true) => Offload::All,
    };
    let said = if offload == Offload::Checkpoints { checkpoints } else { state.or(checkpoints) };
    if let Some(Setting { place, .. }) = said {
        draft.take(Field::Offload, offload, &place);
    }
}

/// True if checkpoints go to the host; without recomputation there are none.
pub(super) fn moves_checkpoints(plan: &Plan) -> bool {
    plan.offload.checkpoints() && plan.recompute != Recompute::None
}

const STATE: &str = "fsdp_offload_params";
const CHECKPOINTS: &str = "fsdp_activation_checkpointing_offload";

/// True if FSDP2 gathers weights again for backward; only sharded weights can be.
const RESHARD: Codec = Codec::new(
    &[Field::Reshard],
    |fsdp, draft| table::read(RESHARDED, fsdp, draft),
    |writer| match writer.asked.fsdp2_shards().first {
        Some(Sharded::Weights) => table::write(RESHARDED, writer),
        _ => vec![Line::new("fsdp_reshard_after_forward", false)],
    },
)
.named(&["fsdp_reshard_after_forward"]);

const RESHARDED: &[ToolKey] = &[words("fsdp_reshard_after_forward", Field::Reshard, SWITCH)];

const TENSOR: &str = "parallelism_config.parallelism_config_tp_size";
const CONTEXT: &str = "parallelism_config.parallelism_config_cp_size";
const REPLICATE: &str = "parallelism_config.parallelism_config_dp_replicate_size";
const SHARD: &str = "parallelism_config.parallelism_config_dp_shard_size";

/// FSDP1's strategies: names, numbers, the first sharded part of the state, and over which ranks.
const STRATEGIES: [(&str, &str, Option<Sharded>, Option<Extent>); 5] = [
    ("FULL_SHARD", "1", Some(Sharded::Weights), None),
    ("SHARD_GRAD_OP", "2", Some(Sharded::Gradients), None),
    ("NO_SHARD", "3", None, None),
    ("HYBRID_SHARD", "4", Some(Sharded::Weights), Some(Extent::Node)),
    ("HYBRID_SHARD_ZERO2", "5", Some(Sharded::Gradients), Some(Extent::Node)),
];

/// True if the settings are Accelerate's.
pub fn is_of(settings: &ToolSettings) -> bool {
    ["distributed_type", "compute_environment", "num_processes", "fsdp_config.fsdp_version"]
        .iter()
        .any(|name| settings.has(name))
}

/// Switches of `accelerate launch` that choose the backend, and its word in Accelerate's file.
const LAUNCHED: [(&str, &str); 3] =
    [("use_fsdp", "FSDP"), ("use_deepspeed", "DEEPSPEED"), ("use_megatron_lm", "MEGATRON_LM")];

/// Sections of Accelerate's file, and prefixes of the options in each.
const SECTIONS: [(&str, &[&str]); 5] = [
    ("fsdp_config", &["fsdp_"]),
    ("deepspeed_config", &["deepspeed_", "zero", "offload_", "gradient_"]),
    ("megatron_lm_config", &["megatron_lm_"]),
    ("parallelism_config", &["parallelism_config_"]),
    ("dynamo_config", &["dynamo_"]),
];

/// Options of `accelerate launch` under the keys of its file (`src/accelerate/commands/launch.py`,
/// `launch_command_parser`); `None` if they leave the backend to a file.
pub fn from_options(mut options: ToolSettings) -> Option<ToolSettings> {
    let (switch, kind) = LAUNCHED.into_iter().find(|(switch, _)| options.take(switch).is_some())?;
    options.take("use_parallelism_config");
    let named = |name: &str| match SECTIONS.iter().find(|(_, heads)| heads.iter().any(|head| name.starts_with(head))) {
        Some((section, _)) => format!("{section}.{name}"),
        None => match name.strip_prefix("fp8_") {
            Some(short) => format!("fp8_config.{short}"),
            None if name == "world_size" => "num_processes".to_owned(),
            None => name.to_owned(),
        },
    };
    let mut settings = options.renamed(named);
    settings.put("distributed_type", kind, &format!("--{switch}"));
    Some(settings)
}

/// Reads Accelerate's settings; `deepspeed` is the configuration that they refer to, if given.
pub fn read(mut settings: ToolSettings, deepspeed: Option<ToolSettings>, draft: &mut PlanDraft) {
    // Without its own format, Accelerate keeps the Trainer's.
    if draft.value(Field::Precision).is_some() && settings.text("mixed_precision") == Some("no") {
        settings.take("mixed_precision");
    }
    // On one machine `accelerate launch` starts processes by torchrun, with DeepSpeed too.
    if settings.text("num_machines").is_none_or(|machines| machines == "1") {
        draft.one_thread = Some(format!("{}: torchrun", settings.file));
    }
    let kind = settings.take("distributed_type");
    let mut inside = settings.take_inside("deepspeed_config");
    let mut fsdp = settings.take_inside("fsdp_config");
    let mesh = [REPLICATE, SHARD].map(|name| settings.take(name));
    // `NO` starts one process, whatever `num_processes` is (`launch_command` of `commands/launch.py`).
    if kind.as_ref().is_some_and(|kind| kind.text == "NO")
        && let Some(processes) = settings.take("num_processes")
    {
        draft.report.ignore(&processes.place, "without a distributed type one process is started");
    }
    table::read(KEYS, &mut settings, draft);
    let place = kind.as_ref().map_or_else(|| settings.file.clone(), |kind| kind.place.clone());
    draft.stack.get_or_insert(STACK);
    match kind.as_ref().map(|kind| kind.text.as_str()) {
        Some("FSDP") => read_fsdp(&mut fsdp, &mesh, &place, draft),
        Some("DEEPSPEED") => deepspeed::read_with_accelerate(std::mem::take(&mut inside), deepspeed, draft),
        Some("MEGATRON_LM") => read_megatron(settings.take_inside("megatron_lm_config"), &place, draft),
        Some("NO") => {
            draft.take(Field::Devices, 1_u32, &place);
            draft.shard(None, None, &place);
        }
        None | Some("MULTI_GPU") if !fsdp.is_empty() => read_fsdp(&mut fsdp, &mesh, &place, draft),
        None | Some("MULTI_GPU") => read_mesh(None, &mesh, &place, draft),
        Some(other) => draft.refuse(
            &place,
            format!("'{other}' is none of FSDP, DEEPSPEED, MEGATRON_LM, MULTI_GPU and NO; give the file of the tool behind it"),
            Field::Strategy,
        ),
    }
    table::leave(harmless::ACCELERATE, fsdp, draft);
    if let Some(file) = settings.take("config_file") {
        draft.cannot(&file, "is a file that says more of the plan", "give that file too");
    }
    table::leave(harmless::ACCELERATE, table::without_effect(harmless::LAUNCHER, settings, draft), draft);
    let missing = "Accelerate leaves it to the training script, so one is taken";
    draft.assume(Field::MicroBatch, 1_u32, missing);
    draft.assume(Field::Accumulate, 1_u32, missing);
}

/// Reads Megatron-LM's parallel degrees under Accelerate's names.
fn read_megatron(mut inside: ToolSettings, place: &str, draft: &mut PlanDraft) {
    draft.stack = Some(megatron::OWN_STACK);
    table::read(MEGATRON, &mut inside, draft);
    match inside.take("megatron_lm_use_distributed_optimizer") {
        Some(distributed) if distributed.text.eq_ignore_ascii_case("true") => {
            draft.shard(Some(Sharded::Optimizer), None, &distributed.place);
        }
        _ => draft.shard(None, None, place),
    }
    table::leave(harmless::ACCELERATE_MEGATRON, inside, draft);
}

fn read_fsdp(fsdp: &mut ToolSettings, mesh: &[Option<Setting>; 2], place: &str, draft: &mut PlanDraft) {
    let version = fsdp.take("fsdp_version");
    let second = version.as_ref().is_some_and(|version| version.text == "2");
    draft.reduced = Some(reduced(second, place));
    let named = ["fsdp_sharding_strategy", "fsdp_reshard_after_forward"].into_iter().find_map(|name| {
        let text = fsdp.text(name)?;
        let strategy = STRATEGIES.iter().find(|(name, number, ..)| [*name, *number].contains(&text))?;
        Some((strategy, fsdp.take(name)?))
    });
    table::read(FSDP, fsdp, draft);
    if !second {
        table::read(FIRST, fsdp, draft);
    }
    match named {
        // FSDP2 has no strategies, and ignores them.
        Some((_, setting)) if second => {
            draft.report.ignore(&setting.place, "FSDP2 shards by its mesh");
            read_mesh(Some(Sharded::Weights), mesh, place, draft);
        }
        Some(((_, _, first, over), setting)) => draft.shard(*first, over.clone(), &setting.place),
        None => {
            if let Some(setting) = fsdp.take("fsdp_sharding_strategy") {
                let known: Vec<&str> = STRATEGIES.iter().map(|(name, ..)| *name).collect();
                let what = format!("'{}' is no strategy of FSDP; known: {}", setting.text, known.join(", "));
                return draft.refuse(&setting.place, what, Field::Strategy);
            }
            (RESHARD.read)(fsdp, draft);
            read_mesh(Some(Sharded::Weights), mesh, place, draft);
        }
    }
}

/// When gradients of several micro-batches are reduced. `no_sync` keeps FSDP1's whole until the last one; FSDP2's
/// modules have no such method, and Accelerate calls theirs only since 1.11 (pull request 3762).
pub(super) fn reduced(second: bool, place: &str) -> (Reduction, String) {
    if second {
        let why =
            "Accelerate before 1.11 has FSDP2 reduce gradients at each micro-batch; since then it keeps them whole";
        return (Reduction::MicroBatch, format!("{place}: {why}, as --reduction step does"));
    }
    let why = "FSDP keeps gradients whole until the last micro-batch, without sync_each_batch";
    (Reduction::Step, format!("{place}: {why}"))
}

/// Reads the mesh: shards span the `dp_shard` and context-parallel ranks, and are replicated over the rest.
pub fn read_mesh(first: Option<Sharded>, mesh: &[Option<Setting>; 2], place: &str, draft: &mut PlanDraft) {
    // With 8 processes, 2 tensor ranks, replicate 2 and shard 2, each of two copies spans two ranks.
    let [replicate, shard] = mesh;
    let count = |setting: &Option<Setting>| setting.as_ref().and_then(|setting| setting.text.parse::<u32>().ok());
    let replicas = count(replicate).unwrap_or(1).max(1);
    let place = replicate.as_ref().or(shard.as_ref()).map_or(place, |setting| setting.place.as_str());
    let context = draft.ranks(Field::Context);
    let over = count(shard).unwrap_or(1).max(1).saturating_mul(context);
    match (first, shard) {
        (None, None) => draft.shard(None, None, place),
        (None, Some(_)) if over == 1 => draft.shard(None, None, place),
        (_, Some(_)) if replicas > 1 => draft.shard(Some(Sharded::Weights), Some(Extent::Ranks(over)), place),
        _ if replicas > 1 => draft.shard(None, None, place),
        _ => draft.shard(Some(Sharded::Weights), None, place),
    }
    let mesh_size = over.checked_mul(replicas).and_then(|product| product.checked_mul(draft.ranks(Field::Tensor)));
    let devices = draft.devices();
    if let (Some(_), Some(devices), Some(product)) = (shard, devices, mesh_size)
        && devices != product
    {
        let what =
            format!("replicate {replicas} x shard and context {over} x tensor are {product} devices, not {devices}");
        draft.contradict(place, what);
    }
}

/// The version that [`write()`] is for.
pub(crate) const VERSIONS: &[&str] = &["1.15.0"];

/// Keys of Accelerate's file, and where Accelerate deviates from plans.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS, FSDP, &[codec(&RESHARD)], LEFT],
    others: &[],
    deviations: &[
        ONE_EXTENT,
        WEIGHTS_TOO,
        WHOLE_CONTEXT,
        SUMS_EACH,
        ALIKE,
        Deviation::unsaid(Field::Recompute, |asked, _| !is_sharded(asked) && asked.plan().recompute != Recompute::None),
        UNSHARDED_REDUCTION,
    ],
};

/// Without recomputation there are no checkpoints to move.
pub(super) const NO_CHECKPOINTS: Deviation = Deviation::instead(
    Field::Offload,
    |asked, _| asked.plan().offload.checkpoints() && asked.plan().recompute == Recompute::None,
    "without recompute there are no checkpoints to move",
);

/// Only FSDP can defer reductions.
pub(super) const UNSHARDED_REDUCTION: Deviation = Deviation::unsaid(Field::Reduction, |asked, _| {
    let Plan { reduction, accumulate, .. } = *asked.plan();
    !is_sharded(asked) && reduction != Reduction::Default && accumulate > 1
});

/// True if FSDP shards anything.
pub(super) fn is_sharded(asked: &PlanQuery<'_>) -> bool {
    asked.fsdp2_shards().first.is_some()
}

/// True if the optimizer's state is offloaded and weights are not.
pub(super) fn is_optimizer_alone(offload: Offload) -> bool {
    offload.optimizer() && !offload.state()
}

/// Fields that are left to the training script.
const LEFT: &[ToolKey] = &[
    codec(&REDUCTION),
    left_to(frozen::SCRIPT, &frozen::FIELDS),
    left_to(adapters::SCRIPT, &adapters::FIELDS),
    left_to(loss::SCRIPT, &loss::FIELDS),
    left_to(post_training::SCRIPT, &post_training::FIELDS),
    left_to(
        "the training script's own",
        &[Field::MicroBatch, Field::Accumulate, Field::GlobalBatch, Field::Sequence, Field::Optimizer],
    ),
];

/// When gradients of several micro-batches are reduced; the script sets it.
const REDUCTION: Codec = Codec::new(
    &[Field::Reduction],
    |_, _| {},
    |writer| {
        if is_sharded(writer.asked) {
            leave_reduction(writer, "sync_each_batch of the script's GradientAccumulationPlugin");
        }
        Vec::new()
    },
);

/// The lines of Accelerate's file.
pub fn write(writer: &mut PlanWriter) -> Vec<Line> {
    let nodes = writer.scenario.devices().div_ceil(writer.scenario.cluster.devices_per_node());
    let shards = writer.asked.fsdp2_shards();
    let context = writer.layout.context;
    // Accelerate's mesh has no pipeline: pipeline ranks become copies.
    let copies = shards.copies * writer.layout.pipeline;
    let kind = if shards.first.is_some() { "FSDP" } else { "MULTI_GPU" };
    let mut lines = vec![
        Line::new("compute_environment", "LOCAL_MACHINE"),
        Line::new("debug", false),
        Line::new("distributed_type", kind),
        Line::new("machine_rank", 0),
        Line::new("main_training_function", "main"),
        Line::new("num_machines", nodes),
        Line::new("rdzv_backend", if nodes > 1 { "c10d" } else { "static" }),
        Line::new("same_network", true),
        Line::new("use_cpu", false),
    ];
    lines.extend(table::write(KEYS, writer));
    if copies > 1 && shards.first.is_some() || writer.layout.tensor * context > 1 {
        lines.push(Line::new(REPLICATE, copies));
        lines.push(Line::new(SHARD, shards.over / context.min(shards.over)));
    }
    if shards.first.is_some() {
        let inside = |line: Line| Line { name: format!("fsdp_config.{}", line.name), ..line };
        let fixed = [
            Line::new("fsdp_version", 2),
            Line::new("fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"),
            Line::new("fsdp_state_dict_type", "SHARDED_STATE_DICT"),
        ];
        let own = [&[codec(&RESHARD)], FSDP].map(|keys| table::write(keys, writer));
        lines.extend(fixed.into_iter().chain(own.into_iter().flatten()).map(inside));
    }
    lines.extend(table::write(LEFT, writer));
    lines
}

/// Notes when gradients are reduced: by default, FSDP keeps them whole until the last micro-batch of a step.
pub(super) fn leave_reduction(writer: &mut PlanWriter, to: &str) {
    match (writer.plan().accumulate, writer.plan().reduction) {
        (1, _) => {}
        (_, Reduction::Step) => {
            writer.leave(&[Field::Reduction], "Accelerate's own since 1.11, which no file says: an import is told");
        }
        _ => writer.leave(&[Field::Reduction], &format!("{to}, without which FSDP reduces them once a step")),
    }
}
