//! verl's Hydra settings, as words after `verl.trainer.main_ppo` or as YAML. Defaults as in `verl/trainer/config` of
//! verl-project/verl at 1dda039b9.

use shardscope_engine::plan::{ContextKind, Format, LossKind, Offload, PostMethod, RolloutLayout, TrainerOffload};
use shardscope_engine::scenario::{Field, Value};

use super::super::accelerate;
use super::super::harmless;
use super::super::megatron;
use super::super::rollouts::RolloutSettings;
use super::super::settings::Setting;
use super::super::table::{self, OFF, ToolKey, nothing, only};
use super::RolloutProgram;

pub(super) const PROGRAM: RolloutProgram = RolloutProgram {
    name: "verl",
    started: &["verl.trainer.main_ppo", "main_ppo.py"],
    keys: &[&["actor_rollout_ref"]],
    assigns: true,
    read,
    tool: harmless::VERL,
};

const RUN: &str = "it is of the run, and no part of a step";

const ACTOR: &str = "actor_rollout_ref.actor";

fn read(said: &mut RolloutSettings<'_>) {
    let own = |name: &str| format!("{ACTOR}.{name}");
    said.off("async_training.staleness_threshold", "give the run without it: a plan knows no answers of older weights");
    said.only("actor_rollout_ref.hybrid_engine", &["true"], "give the run with it");
    method(said);
    said.adapters("actor_rollout_ref.model.lora_rank");
    let engine_of_state = state_engine(said);
    if engine_of_state == StateEngine::Fsdp {
        said.recompute("actor_rollout_ref.model.enable_gradient_checkpointing", true);
    } else if let Some(unread) = said.take("actor_rollout_ref.model.enable_gradient_checkpointing") {
        said.draft.report.ignore(&unread.place, "on Megatron Core recompute_granularity says it");
    }
    said.number("actor_rollout_ref.rollout.n", Field::Group, 1_u32);
    let (rollout, update) = (said.count("data.train_batch_size", 1024), said.count(&own("ppo_mini_batch_size"), 256));
    said.batches(&rollout, &update, [true, true]);
    said.number(&own("ppo_epochs"), Field::UpdateEpochs, 1_u32);
    let (prompt, answer) = (said.count("data.max_prompt_length", 512), said.count("data.max_response_length", 512));
    said.sequence(&prompt, &answer);
    let compares = said.is_on(&own("use_kl_loss"), false) || said.is_on("algorithm.use_kl_in_reward", false);
    let host = said.is_on(&format!("actor_rollout_ref.ref.{}.param_offload", engine_of_state.part()), false);
    same_as_actor(said);
    said.reference(compares, host, "use_kl_loss and algorithm.use_kl_in_reward");
    engine(said);
    said.devices(["trainer.nnodes", "trainer.n_gpus_per_node"], Field::Devices, [1, 8]);
    micro_batch(said, prompt.value.saturating_add(answer.value));
    entropy(said, engine_of_state);
    mesh(said, engine_of_state);
    if said.is_on("actor_rollout_ref.model.tiled_mlp.enabled", false) {
        said.number("actor_rollout_ref.model.tiled_mlp.num_shards", Field::MlpTiles, 4_u32);
    }
    said.ask_model("actor_rollout_ref.model.path", Field::Model);
}

/// The engine that holds the models' state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateEngine {
    Fsdp,
    Megatron,
}

impl StateEngine {
    /// The engine's section in a model's settings.
    const fn part(self) -> &'static str {
        match self {
            Self::Fsdp => "fsdp_config",
            Self::Megatron => "megatron",
        }
    }
}

/// The engine by its name, or by the strategy in older releases.
fn state_engine(said: &mut RolloutSettings<'_>) -> StateEngine {
    let named = said.settings.text("model_engine").map(str::to_owned);
    said.only("model_engine", &["dp", "megatron"], "choose dp or megatron: other engines are not known");
    let strategy = said.settings.text(&format!("{ACTOR}.strategy")) == Some("megatron");
    let strategy = strategy || default_files(said).contains(&"ppo_megatron_trainer");
    if strategy || named.as_deref() == Some("megatron") { StateEngine::Megatron } else { StateEngine::Fsdp }
}

/// verl's own default files.
const DEFAULT_FILES: [&str; 2] = ["ppo_trainer", "ppo_megatron_trainer"];

/// The default files that a command or a file starts from; any other file stays unknown.
fn default_files(said: &mut RolloutSettings<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for name in ["config_name", "defaults"] {
        let Some(setting) = said.take(name) else { continue };
        let text = setting.text.trim_end_matches(".yaml").to_owned();
        let files = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let files: Vec<&str> = files.filter(|file| !file.is_empty() && *file != "_self_").collect();
        let known = |file: &&str| DEFAULT_FILES.into_iter().find(|own| own == file);
        if files.iter().all(|file| known(file).is_some()) {
            said.draft.report.ignore(&setting.place, "verl's own file of defaults");
        } else {
            said.draft.doubt(name, setting);
        }
        found.extend(files.iter().filter_map(known));
    }
    found
}

/// Drops settings of the reference that equal the trained model's.
fn same_as_actor(said: &mut RolloutSettings<'_>) {
    let alike = |(name, setting): (&str, &Setting)| {
        let own = name.strip_prefix("actor_rollout_ref.ref.")?;
        let actor = said.settings.text(&format!("{ACTOR}.{own}"));
        (actor == Some(&setting.text) || own == "strategy").then(|| name.to_owned())
    };
    for name in said.settings.rest().filter_map(alike).collect::<Vec<_>>() {
        if let Some(setting) = said.take(&name) {
            said.draft.report.ignore(&setting.place, "the reference lies as the trained model does");
        }
    }
}

/// Reads the method: PPO if a critic gives the advantage.
fn method(said: &mut RolloutSettings<'_>) {
    let estimator = said.take("algorithm.adv_estimator");
    let judged = estimator.as_ref().is_none_or(|estimator| estimator.text == "gae");
    let place = estimator.map_or_else(|| "algorithm.adv_estimator gae, verl's default".to_owned(), |said| said.place);
    said.method(if judged { PostMethod::Ppo } else { PostMethod::Grpo }, &place);
    let (critic, model) = (said.settings.text("critic.model.path"), said.settings.text("actor_rollout_ref.model.path"));
    if judged && critic.is_some() && critic != model {
        said.ask_model("critic.model.path", Field::Critic);
    }
    if said.is_on("reward_model.enable", false) {
        said.ask_model("reward_model.model.path", Field::RewardModel);
    }
    said.settings.take_all("reward_model.*");
}

/// Answers in a micro-batch: their number, or as many as fit into a number of tokens.
fn micro_batch(said: &mut RolloutSettings<'_>, sequence: u32) {
    of_all_devices(said);
    let tokens = said.count(&format!("{ACTOR}.ppo_max_token_len_per_gpu"), 16_384);
    if said.is_on(&format!("{ACTOR}.use_dynamic_bsz"), false) {
        said.settings.take(&format!("{ACTOR}.ppo_micro_batch_size_per_gpu"));
        let place = format!("{}, of answers as long as they may be", tokens.place);
        said.draft.take(Field::MicroBatch, (tokens.value / sequence.max(1)).max(1), &place);
    } else {
        said.number(&format!("{ACTOR}.ppo_micro_batch_size_per_gpu"), Field::MicroBatch, 1_u32);
    }
}

/// Converts the older key, which counts the answers of all devices together (`verl/workers/fsdp_workers.py`).
fn of_all_devices(said: &mut RolloutSettings<'_>) {
    let each = format!("{ACTOR}.ppo_micro_batch_size_per_gpu");
    let Some(all) = said.take(&format!("{ACTOR}.ppo_micro_batch_size")).filter(|_| !said.settings.has(&each)) else {
        return;
    };
    let ranks = said.settings.count(&format!("{ACTOR}.ulysses_sequence_parallel_size")).unwrap_or(1).max(1);
    let shares = (said.draft.devices().unwrap_or(1) / ranks).max(1);
    match all.text.parse::<u32>() {
        Ok(answers) => said.settings.put(&each, &(answers / shares).max(1).to_string(), "ppo_micro_batch_size"),
        // Null is the key's default.
        Err(_) if OFF.contains(&&*all.text) => {}
        Err(_) => said.draft.cannot(&all, "is no count", "write a number of 1 or more"),
    }
}

fn engine(said: &mut RolloutSettings<'_>) {
    let own = |name: &str| format!("actor_rollout_ref.rollout.{name}");
    said.only(&own("name"), &["vllm", "sglang"], "choose vllm: a plan's answers are an engine's");
    said.number(&own("tensor_model_parallel_size"), Field::RolloutTensor, 2_u32);
    said.number(&own("gpu_memory_utilization"), Field::RolloutShare, 0.5);
    said.number(&own("max_num_seqs"), Field::RolloutSlots, 256_u32);
    said.only(
        &own("dtype"),
        &["bfloat16", "auto"],
        "leave it out: weights of an engine have 16 bits, or 8 by --rollout-format",
    );
    said.only(&own("data_parallel_size"), &["1"], "give the run without it: engines are whole on their devices");
    said.only(&own("expert_parallel_size"), &["1"], "say --rollout-tp: experts are divided among an engine's devices");
    said.only(&own("pipeline_model_parallel_size"), &["1"], "say --rollout-tp for the devices of an engine");
    if said.take(&own("quantization")).is_some_and(|format| format.text.contains("fp8")) {
        said.draft.take(Field::RolloutFormat, Format::Fp8, &own("quantization"));
    }
    // Weights and cache are dropped, but with adapters weights stay, since they would be lost (`vllm_async_server.py`).
    let adapters = said.draft.value(Field::Train).is_some();
    said.sleeps(&own("free_cache_engine"), true, if adapters { 1 } else { 2 });
    if said.settings.text(&own("nnodes")).is_some_and(|nodes| nodes != "0") {
        said.draft.take(Field::RolloutLayout, RolloutLayout::Split, &own("nnodes"));
        said.devices([&own("nnodes"), &own("n_gpus_per_node")], Field::RolloutDevices, [1, 8]);
    }
    said.settings.take(&own("nnodes"));
}

/// The entropy, which verl always computes with the log-probabilities (`calculate_entropy=True`,
/// `verl/trainer/ppo/ray_trainer.py`). It takes tensors of the logits' size on Megatron Core, and on FSDP unless
/// compiled into one kernel; in chunks or with fused kernels it takes next to nothing (`verl/workers/engine` of both).
fn entropy(said: &mut RolloutSettings<'_>, engine: StateEngine) {
    let fused = said.is_on("actor_rollout_ref.model.use_fused_kernels", false);
    if fused {
        said.draft.take(Field::Loss, LossKind::Fused, "actor_rollout_ref.model.use_fused_kernels");
    }
    let megatron = engine == StateEngine::Megatron;
    let [of_actor, of_part] = [ACTOR.to_owned(), format!("{ACTOR}.{}", engine.part())];
    let mut either = |name: &str, usual: bool, wanted: bool| {
        let found = [&of_actor, &of_part].map(|place| said.is_on(&format!("{place}.{name}"), usual));
        found.contains(&wanted)
    };
    let chunked = either("entropy_from_logits_with_chunking", false, true);
    let plain = either("use_torch_compile", true, false);
    let whole = (megatron || plain) && !chunked && !fused;
    let what =
        if whole { "computes it in tensors of the logits' size" } else { "computes it without tensors of their own" };
    said.draft.assume(Field::Entropy, whole, format!("verl {what}"));
}

/// Reads how `PyTorch`'s FSDP or Megatron-LM shards the trainer's state.
fn mesh(said: &mut RolloutSettings<'_>, engine: StateEngine) {
    let strategy = said.take(&format!("{ACTOR}.strategy")).map_or_else(|| "fsdp".to_owned(), |strategy| strategy.text);
    let part = engine.part();
    let own = |name: &str| format!("{ACTOR}.{part}.{name}");
    let place = format!("{}: {}", said.settings.file, own("param_offload"));
    let weights = said.is_on(&own("param_offload"), false);
    let optimizer = said.is_on(&own("optimizer_offload"), false);
    if weights && !optimizer {
        // The optimizer's state stays: no plan can say that only weights wait on the host.
        said.draft.doubt(&own("param_offload"), Setting { text: "true".to_owned(), place });
    }
    said.settings.take(&own("grad_offload"));
    let waits = match (weights, optimizer) {
        (true, true) => TrainerOffload::All,
        (false, true) => TrainerOffload::Optimizer,
        (_, false) => TrainerOffload::None,
    };
    said.draft.take(Field::TrainerOffload, waits, &format!("{ACTOR}.{part}"));
    if engine == StateEngine::Megatron {
        said.draft.take(Field::Strategy, Value::id("zero1"), "megatron, whose optimizer is distributed");
        said.draft.stack = Some(("megatron-core-2026", "Megatron Core, which verl starts"));
        return layers(said);
    }
    let degree = [ACTOR.to_owned(), format!("{ACTOR}.{part}")]
        .map(|place| said.count(&format!("{place}.ulysses_sequence_parallel_size"), 1));
    if let Some(degree) = degree.into_iter().find(|degree| degree.value > 1) {
        said.draft.take(Field::Context, degree.value, &degree.place);
        said.draft.take(Field::ContextKind, ContextKind::Ulysses, &degree.place);
    }
    said.settings.take_all(&own("wrap_policy*"));
    if let Some(format) = said.take(&own("model_dtype")).filter(|format| !["fp32", "float32"].contains(&&*format.text))
    {
        let narrow = ["bf16", "bfloat16"].contains(&&*format.text);
        if narrow {
            said.draft.keep_16_bits(&format.place);
        } else {
            said.draft.cannot(&format, "changes size, time or memory as no plan can say", "choose fp32 or bf16");
        }
    }
    said.only(
        &own("mixed_precision.param_dtype"),
        &["bf16", "bfloat16"],
        "say the format by --precision, and leave it out",
    );
    if let Some(sums) = said.take(&own("mixed_precision.reduce_dtype")) {
        if ["fp32", "float32"].contains(&&*sums.text) {
            said.draft.report.ignore(&sums.place, "a plan sums gradients so");
        } else {
            said.draft.doubt(&own("mixed_precision.reduce_dtype"), sums);
        }
    }
    if !said.is_on(&own("reshard_after_forward"), true) {
        said.draft.take(Field::Reshard, false, &own("reshard_after_forward"));
    }
    match said.take(&own("fsdp_size")).filter(|size| size.text != "-1") {
        Some(size) if size.text == said.draft.ranks(Field::Devices).to_string() => fsdp(said, &size.place),
        Some(size) => {
            said.draft.take(Field::Strategy, Value::id("hsdp"), &size.place);
            said.draft.read(Field::Shard, &size.text, &size.place);
        }
        None => fsdp(said, &format!("{ACTOR}.strategy {strategy}")),
    }
    if said.is_on(&own("offload_policy"), false) {
        said.draft.take(Field::Offload, Offload::State, &own("offload_policy"));
    }
    for name in ["forward_prefetch", "entropy_checkpointing"] {
        if let Some(setting) = said.take(&own(name)).filter(|setting| !OFF.contains(&&*setting.text)) {
            said.draft.doubt(&own(name), setting);
        }
    }
    said.draft.stack = Some(accelerate::STACK);
}

fn fsdp(said: &mut RolloutSettings<'_>, place: &str) {
    said.draft.take(Field::Strategy, Value::id("fsdp"), place);
}

/// Reads how Megatron Core lays out the layers: its own arguments, some under verl's names.
fn layers(said: &mut RolloutSettings<'_>) {
    let mut own = said.settings.take_inside(&format!("{ACTOR}.megatron")).renamed(|name| {
        let name = name.strip_prefix("override_transformer_config.").unwrap_or(name);
        match name {
            "num_layers_in_first_pipeline_stage" => "decoder_first_pipeline_num_layers",
            "num_layers_in_last_pipeline_stage" => "decoder_last_pipeline_num_layers",
            _ => name,
        }
        .to_owned()
    });
    table::read(OF_MEGATRON, &mut own, said.draft);
    megatron::read_layers(own, said.draft);
}

/// verl's own keys in that section.
const OF_MEGATRON: &[ToolKey] = &[
    only("dtype", &["bfloat16", "bf16"], "say the format by --precision, and leave it out"),
    only("sequence_parallel", &["true"], "leave it on: the stack splits sequences over tensor ranks"),
    only("use_distributed_optimizer", &["true"], "say --strategy ddp, and leave it out"),
    only("use_megatron_fsdp", OFF, "say the plan by flags: its sharding is another"),
    only("dynamic_context_parallel", OFF, "give the run without it: all ranks share sequences alike"),
    nothing("use_mbridge", RUN),
    nothing("vanilla_mbridge", RUN),
    nothing("use_dist_checkpointing", RUN),
    nothing("dist_*", RUN),
    nothing("load_weight", RUN),
    nothing("seed", RUN),
    nothing("use_remove_padding", "every answer is taken to be as long as the longest"),
];
