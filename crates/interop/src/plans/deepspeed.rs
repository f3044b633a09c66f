//! DeepSpeed's JSON, by itself or in Accelerate's and the Trainer's hands.

use serde_json::Value as Json;

use shardscope_engine::model::Positions;
use shardscope_engine::plan::{MasterWeights, Moments, Offload, Optimizer, Plan, Precision, Recompute, Sharded};
use shardscope_engine::scenario::{Field, Value};

use super::adapters;
use super::draft::PlanDraft;
use super::frozen;
use super::harmless;
use super::lacks::{ALIKE, AskedPlan, Deviation, ONE_EXTENT, ToolTable};
use super::settings::{Setting, ToolSettings};
use super::table::{self, FILLED_IN, OFF, SWITCH, ToolKey, clips, compiled, nothing, number, only, words};
use super::writer::{Line, PlanWriter};

/// What its configuration says.
const KEYS: &[ToolKey] = &[
    number("train_micro_batch_size_per_gpu", Field::MicroBatch),
    number("gradient_accumulation_steps", Field::Accumulate),
    clips("gradient_clipping"),
    words("zero_optimization.zero_quantized_weights", Field::Qwz, SWITCH),
    words(QUANTISED, Field::Qgz, SWITCH),
    number("zero_optimization.zero_hpz_partition_size", Field::Hpz),
    only("data_types.grad_accum_dtype", HALVES, "leave it out: a plan sums gradients in the format of its weights"),
    only("communication_data_type", HALVES, "leave it out: a plan reduces gradients in the format of its weights"),
    only("torch_autocast.enabled", OFF, "write bf16 or fp16"),
    only("sequence_parallel_size", &["1"], "a plan splits sequences by ring attention, --cp"),
    only("activation_checkpointing.partition_activations", OFF, "a plan keeps checkpoints whole on each rank"),
    only("elasticity.enabled", OFF, "say the batch by --global-batch, and switch elasticity off"),
    only("progressive_layer_drop.enabled", OFF, "a plan runs every layer"),
    only("amp.enabled", OFF, "write bf16 or fp16"),
    only("compile.deepcompile", OFF, "leave it out: no plan gathers as compiled code decides"),
    compiled("compile.enabled", OFF),
    only("sparse_attention*", OFF, "a plan's attention is dense"),
    only("compression_training*", OFF, "a plan trains all weights in full"),
    only("quantize_training*", OFF, "a plan trains all weights in full"),
    only("hybrid_engine.enabled", OFF, "a plan generates no text between its steps"),
    only("eigenvalue.enabled", OFF, "a plan computes gradients alone"),
    only("data_efficiency.enabled", OFF, "every sequence is taken to be as long as the longest"),
    only("curriculum_learning.enabled", OFF, "every sequence is taken to be as long as the longest"),
    only("zero_optimization.zenflow*", OFF, "a plan updates all weights at the end of the step"),
    only("zero_optimization.zero_quantized_nontrainable_weights", OFF, "a plan trains all weights in full"),
    nothing("seq_parallel_communication_data_type", "sequences are not split that way"),
    nothing("torch_autocast.*", "it is off"),
    nothing("amp.*", "it is off"),
    nothing("elasticity.*", "it is off"),
    nothing("progressive_layer_drop.*", "it is off"),
    nothing("hybrid_engine.*", "it is off"),
    nothing("eigenvalue.*", "it is off"),
    nothing("data_efficiency.*", "it is off"),
    nothing("curriculum_learning.*", "it is off"),
    nothing("compile.*", "how code is compiled is not predicted"),
    nothing("zero_optimization.memory_efficient_linear", "the stack says what linear layers keep"),
    nothing("zero_optimization.round_robin_gradients", "each rank copies as many gradients either way"),
    nothing("zero_optimization.use_multi_rank_bucket_allreduce", "as many bytes are reduced either way"),
    nothing("activation_checkpointing.number_checkpoints", RECOMPUTED),
    nothing("activation_checkpointing.contiguous_memory_optimization", RECOMPUTED),
    nothing("activation_checkpointing.synchronize_checkpoint_boundary", RECOMPUTED),
    nothing("zero_optimization.overlap_comm", "the stack says what overlaps"),
    nothing("zero_optimization.contiguous_gradients", "the stack says where gradients lie"),
    nothing("zero_optimization.reduce_scatter", "the stack says how gradients are reduced"),
    nothing("zero_optimization.reduce_bucket_size", "gradients are reduced layer by layer"),
    nothing("zero_optimization.allgather_bucket_size", "weights are gathered layer by layer"),
    nothing("zero_optimization.allgather_partitions", "weights are gathered layer by layer"),
    nothing("zero_optimization.sub_group_size", "the update's share of a step is the same"),
    nothing("zero_optimization.stage3_max_live_parameters", "gathered layers are freed as soon as they are used"),
    nothing("zero_optimization.stage3_max_reuse_distance", "gathered layers are freed as soon as they are used"),
    nothing("zero_optimization.stage3_param_persistence_threshold", "small parameters are a small part of the whole"),
];

/// What a file may say and a plan leaves to the script that trains.
const SCRIPT_TOO: &[ToolKey] =
    &[words("optimizer.type", Field::Optimizer, OPTIMIZERS), number("tensor_parallel.autotp_size", Field::Tensor)];

/// Accelerate's own names for some of it.
const WITH_ACCELERATE: &[ToolKey] = &[
    number("gradient_accumulation_steps", Field::Accumulate),
    nothing("zero3_init_flag", "loading is no part of a step"),
    nothing("zero3_save_16bit_model", "checkpoints are no part of a step"),
    clips("gradient_clipping"),
    nothing("offload_optimizer_nvme_path", DRIVES),
    nothing("offload_param_nvme_path", DRIVES),
    nothing("seq_parallel_communication_data_type", "sequences are not split that way"),
    nothing("deepspeed_moe_layer_cls_names", "a plan shards experts like other parameters"),
    nothing("deepspeed_multinode_launcher", "how processes start is no part of a step"),
];

/// What each is by default, and what the weights are in.
const HALVES: &[&str] = &["bf16", "bfloat16", "fp16", "auto"];

const DRIVES: &str = "the cluster says how fast its drives are";

/// Whether what is offloaded is page-locked; by an older name for all of it.
const PINNED: &str = "pin_memory";
const ALL_PINNED: &str = "zero_optimization.cpu_offload_use_pin_memory";

const RECOMPUTED: &str = "it says how checkpoints are kept, and the model's code whether there are any";

/// Optimizers by the state that each keeps.
const OPTIMIZERS: &[(&str, Value)] = &[
    ("AdamW", Value::Word(Optimizer::Adam.to_word())),
    ("Adam", Value::Word(Optimizer::Adam.to_word())),
    ("FusedAdam", Value::Word(Optimizer::Adam.to_word())),
    ("DeepSpeedCPUAdam", Value::Word(Optimizer::Adam.to_word())),
    ("Lamb", Value::Word(Optimizer::Adam.to_word())),
    ("SGD", Value::Word(Optimizer::SgdMomentum.to_word())),
    ("Muon", Value::Word(Optimizer::Muon.to_word())),
];

/// The first part of the state that each stage shards.
const STAGES: [Option<Sharded>; 4] = [None, Some(Sharded::Optimizer), Some(Sharded::Gradients), Some(Sharded::Weights)];

/// The newest stack of DeepSpeed that is known.
const STACK: (&str, &str) = ("deepspeed-zeropp-2023", "DeepSpeed");

/// That of models of transformers under it.
const WITH_TRANSFORMERS: (&str, &str) = ("hf-deepspeed-2024", "Hugging Face models on DeepSpeed");

/// The stack of a model whose class of transformers attends plainly unless it is told otherwise, as those with learned positions
/// did until late 2024: DeepSpeed's own, whose attention keeps its scores.
pub(super) fn stack_of(stack: (&'static str, &'static str), positions: Positions) -> (&'static str, &'static str) {
    if stack == WITH_TRANSFORMERS && positions == Positions::Learned { STACK } else { stack }
}

const STAGE: &str = "zero_optimization.stage";
const QUANTISED: &str = "zero_optimization.zero_quantized_gradients";
const MICS: &str = "zero_optimization.mics_shard_size";
const AHEAD: &str = "zero_optimization.stage3_prefetch_bucket_size";
const ALL: &str = "train_batch_size";

/// Whether it is DeepSpeed's.
pub fn is_of(settings: &ToolSettings) -> bool {
    ["zero_optimization", "train_micro_batch_size_per_gpu", ALL].iter().any(|name| settings.has(name))
}

/// Reads it.
pub fn read(mut settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = &mut settings;
    draft.stack.get_or_insert(STACK);
    // Before the table takes away the two counts that this one has to agree with.
    let all = settings.take(ALL);
    if let Some(all) = all.as_ref().filter(|all| all.text != FILLED_IN) {
        read_batch(all, settings, draft);
    }
    read_precision(settings, draft);
    read_stage(settings, draft);
    read_offload(settings, draft);
    if let Some(ahead) = settings.take(AHEAD) {
        match ahead.text.parse::<f64>() {
            Ok(elements) if elements.is_finite() => draft.prefetched = Some((elements, ahead.place)),
            _ => draft.report.ignore(&ahead.place, "it is filled in when the tool starts"),
        }
    }
    table::read(KEYS, settings, draft);
    table::read(SCRIPT_TOO, settings, draft);
    table::leave(harmless::DEEPSPEED, std::mem::take(settings), draft);
    draft.assume(Field::Recompute, Recompute::None, "the configuration says how checkpoints are kept, not whether");
}

/// The batch of all ranks: with a micro-batch it says how many of them are accumulated.
fn read_batch(all: &Setting, settings: &ToolSettings, draft: &mut PlanDraft) {
    let counts = ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps"].map(|name| settings.count(name));
    match counts {
        [Some(micro), Some(steps)] => {
            let wanted = all.text.parse::<u64>().ok();
            let each = u64::from(micro) * u64::from(steps);
            match draft.data_ranks().map(|ranks| each.saturating_mul(ranks.into())) {
                Some(product) if Some(product) != wanted => draft.contradict(
                    &all.place,
                    format!("'{}' is not micro-batch x accumulation x data-parallel ranks, {product}", all.text),
                ),
                _ => draft.report.ignore(&all.place, "micro-batch and accumulation say it"),
            }
        }
        _ => draft.read(Field::GlobalBatch, &all.text, &all.place),
    }
}

/// Names under which a format is switched on.
const FORMATS: [(&str, Precision); 3] =
    [("bf16", Precision::Bf16), ("bfloat16", Precision::Bf16), ("fp16", Precision::Fp16)];

/// What stands beside a format's switch.
const FORMAT: &[ToolKey] = &[
    words("fp16_master_weights_and_grads", Field::MasterWeights, NO_MASTERS),
    words("bf16_master_weights_and_grads", Field::MasterWeights, NO_MASTERS),
    words("bf16_optimizer_states", Field::Moments, BF16_MOMENTS),
    only("immediate_grad_update", OFF, "a plan keeps gradients until the step's end"),
    nothing("*", "how losses are scaled is no part of a step"),
];

const NO_MASTERS: &[(&str, Value)] =
    &[("true", Value::Word(MasterWeights::None.to_word())), ("false", Value::Word(MasterWeights::Fp32.to_word()))];

const BF16_MOMENTS: &[(&str, Value)] =
    &[("true", Value::Word(Moments::Bf16.to_word())), ("false", Value::Word(Moments::Fp32.to_word()))];

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (mut on, mut filled_in): (Option<(Precision, Setting)>, Option<Setting>) = (None, None);
    for (name, format) in FORMATS {
        let mut inside = settings.take_inside(name);
        match inside.take("enabled").filter(|enabled| enabled.text != "false") {
            Some(enabled) if enabled.text == FILLED_IN => filled_in = Some(enabled),
            Some(enabled) if on.is_some() => draft.cannot(&enabled, "is a second format", "switch one of them off"),
            Some(enabled) => on = Some((format, enabled)),
            None => {}
        }
        table::read(FORMAT, &mut inside, draft);
    }
    match (on, filled_in) {
        (Some((format, enabled)), _) => draft.take(Field::Precision, format, &enabled.place),
        (None, Some(auto)) => table::filled_in(Field::Precision, &auto.place, draft),
        (None, None) => {
            draft.assume(
                Field::Precision,
                Precision::Fp32,
                "neither bf16 nor fp16 is enabled, and DeepSpeed's default is fp32",
            );
        }
    }
}

fn read_stage(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let stage = settings.take(STAGE);
    let mics = settings.take(MICS).filter(|mics| mics.text.parse::<u32>().is_ok_and(|ranks| ranks > 0));
    let Some(stage) = stage else {
        let place = settings.file.clone();
        return draft.shard(None, None, &format!("{place}: no {STAGE}"));
    };
    match (stage.text.parse().ok().and_then(|stage: usize| STAGES.get(stage)), mics) {
        (Some(Some(Sharded::Weights)), Some(mics)) => {
            draft.take(Field::Strategy, Value::id("mics"), &mics.place);
            draft.read(Field::Shard, &mics.text, &mics.place);
        }
        // DeepSpeed's own word for what `fsdp` is too.
        (Some(Some(Sharded::Weights)), None) => draft.take(Field::Strategy, Value::id("zero3"), &stage.place),
        (Some(first), _) => draft.shard(*first, None, &stage.place),
        (None, _) => draft.refuse(&stage.place, format!("'{}' is no stage from 0 to 3", stage.text), Field::Strategy),
    }
}

/// What stands beside the device to which the optimizer is offloaded.
const OPTIMIZER_OFFLOAD: &[ToolKey] = &[
    number("ratio", Field::OffloadRatio),
    only("super_offload", OFF, "a plan updates on the host after the backward pass"),
    only("pipeline_read", OFF, "a plan reads a part of the state, updates it and writes it before the next"),
    only("pipeline_write", OFF, "a plan reads a part of the state, updates it and writes it before the next"),
    nothing("nvme_path", DRIVES),
    nothing("*", "the stack says how host copies run"),
];

/// What stands beside the device to which weights are offloaded.
const WEIGHTS_OFFLOAD: &[ToolKey] = &[
    nothing("ratio", "it divides the optimizer alone"),
    nothing("nvme_path", DRIVES),
    nothing("*", "the stack says how host copies run"),
];

/// The place to which a part of the state is offloaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OffloadPlace {
    Device,
    Host,
    Drives,
}

fn read_offload(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let (mut places, mut pinned) = (Vec::new(), Vec::from_iter(settings.take(ALL_PINNED)));
    let mut to = |settings: &mut ToolSettings, [object, old]: [&str; 2], keys, draft: &mut PlanDraft| {
        let mut inside = settings.take_inside(object);
        let old = settings.take(old).filter(|old| old.text == "true");
        pinned.extend(inside.take(PINNED));
        let Some(device) = inside.take("device").or(old) else {
            table::read(keys, &mut inside, draft);
            return OffloadPlace::Device;
        };
        table::read(keys, &mut inside, draft);
        let place = match device.text.as_str() {
            "none" => return OffloadPlace::Device,
            "cpu" | "true" => OffloadPlace::Host,
            "nvme" => OffloadPlace::Drives,
            _ => {
                draft.cannot(&device, "is no place that a plan can offload to", "write cpu, nvme or none");
                return OffloadPlace::Device;
            }
        };
        places.push(device.place);
        place
    };
    let optimizer = ["zero_optimization.offload_optimizer", "zero_optimization.cpu_offload"];
    let optimizer = to(settings, optimizer, OPTIMIZER_OFFLOAD, draft);
    let weights = ["zero_optimization.offload_param", "zero_optimization.cpu_offload_params"];
    let weights = to(settings, weights, WEIGHTS_OFFLOAD, draft);
    let checkpoints = settings.take("activation_checkpointing.cpu_checkpointing").filter(|it| it.text == "true");
    let offload = Offload::ALL.iter().copied().find(|offload| {
        let place = if offload.on_drives() { OffloadPlace::Drives } else { OffloadPlace::Host };
        let held = |there: bool| if there { place } else { OffloadPlace::Device };
        [held(offload.optimizer()), held(offload.state())] == [optimizer, weights]
            && offload.checkpoints() == checkpoints.is_some()
    });
    for Setting { text, place } in pinned {
        if places.is_empty() {
            draft.report.ignore(&place, "nothing of the state is offloaded");
        } else {
            draft.take(Field::HostPinned, text != "false", &place);
        }
    }
    if !places.is_empty() {
        draft.assume(
            Field::HostPinned,
            false,
            "no pin_memory is there, and it was off by default before DeepSpeed 0.19.6",
        );
    }
    let place = places.first().cloned().or(checkpoints.map(|it| it.place));
    let Some(offload) = offload else {
        let what = "a plan offloads the optimizer, or the whole state, to one place, or checkpoints, or all of them";
        return draft.refuse(&place.unwrap_or_default(), what, Field::Offload);
    };
    draft.take(Field::Offload, offload, &place.unwrap_or_else(|| format!("{}: no offload_optimizer", settings.file)));
}

/// Reads it as the Trainer has it.
pub(crate) fn read_with_transformers(settings: ToolSettings, draft: &mut PlanDraft) {
    draft.stack = Some(WITH_TRANSFORMERS);
    read(settings, draft);
}

/// Reads it as Accelerate has it: what stands in its own file, or the configuration that this names.
pub(crate) fn read_with_accelerate(mut inside: ToolSettings, named: Option<ToolSettings>, draft: &mut PlanDraft) {
    draft.stack = Some(WITH_TRANSFORMERS);
    if let Some(file) = inside.take("deepspeed_config_file") {
        if let Some(named) = named {
            read(named, draft);
        } else {
            let fix = "give that file too: shardscope import plan CONFIG.yaml DEEPSPEED.json";
            draft.cannot(&file, "says the rest, and was not found", fix);
        }
        table::read(WITH_ACCELERATE, &mut inside, draft);
        return table::leave(harmless::ACCELERATE, inside, draft);
    }
    let mut own = ToolSettings::new(&inside.file);
    for (theirs, name) in [
        ("zero_stage", STAGE),
        ("offload_optimizer_device", "zero_optimization.offload_optimizer.device"),
        ("offload_param_device", "zero_optimization.offload_param.device"),
    ] {
        if let Some(setting) = inside.take(theirs) {
            own.put(name, &setting.text, &format!("deepspeed_config.{theirs}"));
        }
    }
    if !own.has(STAGE) {
        // Accelerate's default, in `DeepSpeedPlugin` (`src/accelerate/utils/dataclasses.py`).
        own.put(STAGE, "2", "no zero_stage, which is 2 then");
    }
    read_stage(&mut own, draft);
    read_offload(&mut own, draft);
    table::read(WITH_ACCELERATE, &mut inside, draft);
    table::leave(harmless::ACCELERATE, inside, draft);
}

/// Versions that [`write()`] is for, the newest first.
pub(crate) const VERSIONS: &[&str] = &["0.19.8", "0.18"];

/// What its file says, and what DeepSpeed does otherwise.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS],
    also: Some(&[
        &[Field::GlobalBatch, Field::Precision, Field::MasterWeights, Field::Prefetch],
        &[Field::Offload, Field::OffloadRatio, Field::HostPinned],
        &LEFT,
        &[Field::Devices],
        &frozen::FIELDS,
        &adapters::FIELDS,
    ]),
    deviations: &[
        ONE_EXTENT,
        ALIKE,
        Deviation::instead(
            Field::Precision,
            |asked, _| asked.plan().precision.is_low(),
            "DeepSpeed computes in bf16; fp8 is the model's code",
        )
        .alone(),
        Deviation::instead(
            Field::Qgz,
            |asked, _| stage(asked) != 3 && asked.value(Field::Qgz).is_some(),
            "gradients are quantised in stage 3 alone",
        ),
        Deviation::sentence(
            Field::Strategy,
            |asked, version| {
                let shards = asked.shards();
                shards.copies > 1 && shards.first.is_some() && !has_mics(asked, version)
            },
            |asked, version| {
                let (over, all) = (asked.shards().over, asked.layout().group());
                format!("shards over {over} ranks: DeepSpeed {version} shards over all {all}")
            },
        ),
        Deviation::unsaid(Field::Prefetch, |asked, _| {
            stage(asked) != 3 && asked.plan().prefetch != Plan::USUAL_PREFETCH
        }),
        Deviation::instead_of(
            Field::Offload,
            |asked, _| offloaded(asked) != asked.plan().offload,
            |asked, _| format!("stage {} offloads {} at most", stage(asked), offloaded(asked)),
        ),
        Deviation::instead(
            Field::OffloadRatio,
            |asked, _| {
                let divides = offloaded(asked).optimizer() && stage(asked) == 3;
                !divides && asked.value(Field::OffloadRatio).is_some()
            },
            "stage 3 alone divides the update between device and host",
        ),
        Deviation::unsaid(Field::HostPinned, |asked, _| {
            !offloaded(asked).optimizer() && asked.value(Field::HostPinned).is_some()
        }),
    ],
};

/// What is left to the model's code and the training script.
const LEFT: [Field; 3] = [Field::Recompute, Field::Optimizer, Field::Sequence];

/// The stage that shards what a plan does.
fn stage(asked: &AskedPlan<'_>) -> usize {
    STAGES.iter().position(|first| *first == asked.shards().first).unwrap_or_default()
}

/// Whether it shards weights over a part of the ranks: `MiCS` went with 0.19, which refuses its key.
fn has_mics(asked: &AskedPlan<'_>, version: &str) -> bool {
    stage(asked) == 3 && version == "0.18"
}

/// What its stage can have on the host of what a plan has there.
fn offloaded(asked: &AskedPlan<'_>) -> Offload {
    let wanted = asked.plan().offload;
    match stage(asked) {
        0 if wanted.checkpoints() => Offload::Checkpoints,
        0 => Offload::None,
        1 | 2 if wanted.state() || wanted.on_drives() => Offload::Optimizer,
        _ => wanted,
    }
}

/// The lines of its file.
pub fn write(version: &str, writer: &mut PlanWriter) -> Vec<Line> {
    let shards = writer.asked.shards();
    let mut lines = writer.lines(KEYS);
    let layout = writer.layout;
    if layout.tensor * layout.context * layout.pipeline == 1 {
        lines.extend(writer.line(ALL, Field::GlobalBatch));
    } else {
        // DeepSpeed would count those ranks among the data-parallel ones, and refuse the product.
        writer.leave(&[Field::GlobalBatch], "micro-batch, accumulation and devices say it");
    }
    let format = writer.plan().precision.storage();
    for own in [Precision::Bf16, Precision::Fp16] {
        lines.push(Line::new(&format!("{own}.enabled"), own.storage() == format));
        if own.storage() == format && !writer.plan().copies_weights() {
            lines.push(Line::new(&format!("{own}.{own}_master_weights_and_grads"), true));
            writer.say(Field::MasterWeights);
        }
    }
    writer.say(Field::Precision);
    let stage = stage(writer.asked);
    lines.push(Line::new(STAGE, stage));
    if stage != 3 {
        lines.retain(|line| line.name != QUANTISED);
    }
    if shards.copies > 1 && has_mics(writer.asked, version) {
        lines.push(Line::new(MICS, shards.over));
    }
    if shards.first == Some(Sharded::Weights)
        && let Some(units) = writer.say(Field::Prefetch).and_then(Value::get::<u32>)
    {
        lines.push(Line::new(AHEAD, u64::from(units).saturating_mul(writer.scenario.model.largest_layer_parameters())));
    }
    write_offload(stage, &mut lines, writer);
    writer.leave(&LEFT, "the model's code and the training script");
    writer.leave(&[Field::Devices], "the launcher's");
    writer.leave(&frozen::FIELDS, frozen::SCRIPT);
    if writer.plan().tuning.freezes() {
        writer.leave(&adapters::FIELDS, adapters::SCRIPT);
    }
    lines
}

/// Weights can be offloaded by stage 3 alone, as can state to the drives, and the optimizer's state to the host by any
/// stage that shards it.
fn write_offload(stage: usize, lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let possible = offloaded(writer.asked);
    writer.say(Field::Offload);
    if possible.optimizer() && stage == 3 {
        lines.extend(writer.line("zero_optimization.offload_optimizer.ratio", Field::OffloadRatio));
    }
    let device = if possible.on_drives() { "nvme" } else { "cpu" };
    for (on, object) in [(possible.optimizer(), "offload_optimizer"), (possible.state(), "offload_param")] {
        let line = |key: &str, value: &str| Line::new(&format!("zero_optimization.{object}.{key}"), value);
        lines.extend(on.then(|| line("device", device)));
        let pinned = || Line::new(&format!("zero_optimization.{object}.{PINNED}"), writer.plan().host_pinned);
        lines.extend(on.then(pinned));
        lines.extend((on && possible.on_drives()).then(|| line("nvme_path", NVME_PATH)));
    }
    if possible.optimizer() {
        writer.say(Field::HostPinned);
    }
    if possible.on_drives() {
        writer.elsewhere.push(format!("nvme_path {NVME_PATH}: where the nodes' drives are mounted"));
    }
    let checkpoints = || Line::new("activation_checkpointing.cpu_checkpointing", Json::Bool(true));
    lines.extend(possible.checkpoints().then(checkpoints));
}

/// The place of the drives in DeepSpeed's own examples (docs/_pages/config-json.md).
const NVME_PATH: &str = "/local_nvme";
