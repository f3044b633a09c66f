//! `OpenRLHF`'s options, with dots since 2026 and with underscores before (`openrlhf/cli/train_ppo_ray.py` of OpenRLHF/OpenRLHF at
//! 3c3be623; `train_dpo.py` beside it, of 0.11.2 and 0.9.0).

use shardscope_engine::plan::{
    BesideModel, FrozenFormat, Offload, Optimizer, Padding, PostMethod, RolloutLayout, TrainerOffload,
};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Value};

use super::super::harmless;
use super::super::launcher::DEVICES;
use super::super::rollouts::RolloutSettings;
use super::super::table::{self, OFF, ToolKey, clips, nothing, only, optimizers};
use super::RolloutProgram;

pub(super) const PROGRAM: RolloutProgram = RolloutProgram {
    name: "OpenRLHF",
    started: &["openrlhf.cli.train_ppo_ray", "train_ppo_ray.py"],
    keys: &[&["vllm_num_engines"], &["vllm.num_engines"]],
    assigns: false,
    read,
    tool: harmless::OPENRLHF,
};

/// DPO, on pairs of given answers.
pub(super) const PAIRS: RolloutProgram = RolloutProgram {
    started: &["openrlhf.cli.train_dpo", "openrlhf/cli/train_dpo.py"],
    keys: &[],
    read: read_pairs,
    ..PROGRAM
};

const RUN: &str = "it is of the run, and no part of a step";

/// Names since 2026, and before.
const NAMES: &[(&str, &str)] = &[
    ("vllm.num_engines", "vllm_num_engines"),
    ("vllm.tensor_parallel_size", "vllm_tensor_parallel_size"),
    ("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"),
    ("vllm.enable_sleep", "vllm_enable_sleep"),
    ("train.colocate_all", "colocate_all_models"),
    ("train.async_enable", "async_train"),
    ("train.partial_rollout_enable", "partial_rollout"),
    ("train.batch_size", "train_batch_size"),
    ("train.micro_batch_size", "micro_train_batch_size"),
    ("train.max_epochs", "max_epochs"),
    ("rollout.batch_size", "rollout_batch_size"),
    ("rollout.n_samples_per_prompt", "n_samples_per_prompt"),
    ("data.max_len", "max_len"),
    ("ds.zero_stage", "zero_stage"),
    ("ds.adam_offload", "adam_offload"),
    ("ds.enable_sleep", "deepspeed_enable_sleep"),
    ("ds.ring_attn_size", "ring_attn_size"),
    ("ds.tensor_parallel_size", "ds_tensor_parallel_size"),
    ("ds.lora.rank", "lora_rank"),
    ("ds.lora.dropout", "lora_dropout"),
    ("actor.gradient_checkpointing_enable", "gradient_checkpointing"),
    ("actor.num_nodes", "actor_num_nodes"),
    ("actor.num_gpus_per_node", "actor_num_gpus_per_node"),
    ("actor.model_name_or_path", "pretrain"),
    ("critic.model_name_or_path", "critic_pretrain"),
    ("reward.model_name_or_path", "reward_pretrain"),
    ("algo.kl.init_coef", "init_kl_coef"),
    ("ref.offload", "ref_reward_offload"),
    ("ref_offload", "ref_reward_offload"),
    ("ref.model_name_or_path", "ref_pretrain"),
    ("model.model_name_or_path", "pretrain"),
    ("model.gradient_checkpointing_enable", "gradient_checkpointing"),
    ("ds.param_dtype", "param_dtype"),
    ("ds.zpg", "zpg"),
    ("ds.grad_accum_dtype", "grad_accum_dtype"),
    ("ds.deepcompile", "deepcompile"),
    ("ds.use_liger_kernel", "use_liger_kernel"),
    ("ds.load_in_4bit", "load_in_4bit"),
    ("ds.lora.target_modules", "target_modules"),
    ("train.full_determinism_enable", "full_determinism"),
];

const ROLES: &str = "colocate all models: a plan's critic, reference and reward model have the trainer's devices";

fn read(said: &mut RolloutSettings<'_>) {
    for (now, before) in NAMES {
        said.settings.call(now, before);
    }
    said.off("async_train", "give the run without it: a plan knows no answers of older weights");
    said.off("partial_rollout", "give the run without it: a plan knows no answers of older weights");
    said.adapters("lora_rank");
    said.recompute("gradient_checkpointing", false);
    let critic = said.settings.text("critic_pretrain").map(str::to_owned);
    said.method(if critic.is_some() { PostMethod::Ppo } else { PostMethod::Grpo }, "critic_pretrain");
    if critic.as_deref() != said.settings.text("pretrain") {
        said.ask_model("critic_pretrain", Field::Critic);
    }
    said.settings.take("critic_pretrain");
    said.ask_model("reward_pretrain", Field::RewardModel);
    said.ask_model("pretrain", Field::Model);
    said.number("n_samples_per_prompt", Field::Group, 1_u32);
    let (rollout, update) = (said.count("rollout_batch_size", 1024), said.count("train_batch_size", 128));
    said.batches(&rollout, &update, [true, false]);
    said.number("max_epochs", Field::UpdateEpochs, 1_u32);
    said.number("micro_train_batch_size", Field::MicroBatch, 1_u32);
    if said.settings.has("prompt_max_len") || said.settings.has("generate_max_len") {
        let (prompt, answer) = (said.count("prompt_max_len", 1024), said.count("generate_max_len", 1024));
        said.sequence(&prompt, &answer);
        said.settings.take("max_len");
    } else {
        said.number("max_len", Field::Sequence, 2048_u32);
    }
    let compares =
        said.take("init_kl_coef").is_none_or(|weight| weight.text.parse::<f64>().is_ok_and(|weight| weight > 0.0));
    let host = said.is_on("ref_reward_offload", false);
    said.reference(compares, host, "init_kl_coef");
    state(said);
    let waits = if said.is_on("deepspeed_enable_sleep", false) { TrainerOffload::All } else { TrainerOffload::None };
    said.draft.take(Field::TrainerOffload, waits, "deepspeed_enable_sleep");
    engine(said, critic.is_some());
}

/// Pairs of given answers, which both batch sizes count. A copy of the model, even with adapters, computes its
/// log-probabilities between forward and backward (`openrlhf/trainer/dpo_trainer.py`).
fn read_pairs(said: &mut RolloutSettings<'_>) {
    for (now, before) in NAMES {
        said.settings.call(now, before);
    }
    said.method(PostMethod::Dpo, "train_dpo");
    said.adapters("lora_rank");
    let adapts = said.draft.value(Field::Train).is_some();
    if let Some(bits) = said.take("load_in_4bit").filter(|bits| !OFF.contains(&bits.text.as_str())) {
        if adapts {
            said.draft.take(Field::FrozenFormat, FrozenFormat::Nf4, &bits.place);
        } else {
            said.draft.cannot(&bits, "trains no adapters beside it", "say ds.lora.rank, or leave it out");
        }
    }
    said.only("target_modules", &["all-linear"], "say --lora-targets, and leave it out");
    said.recompute("gradient_checkpointing", false);
    let [trained, compared] = ["pretrain", "ref_pretrain"].map(|name| said.settings.text(name).map(str::to_owned));
    if compared.is_some_and(|compared| Some(compared) != trained) {
        said.ask_model("ref_pretrain", Field::Reference);
    }
    said.settings.take("ref_pretrain");
    said.ask_model("pretrain", Field::Model);
    let host = said.is_on("ref_reward_offload", false);
    let reference = if host { BesideModel::Host } else { BesideModel::Resident };
    said.draft.take(Field::Reference, reference, "ref.offload");
    let pairs = said.count("train_batch_size", 128);
    said.draft.read(Field::GlobalBatch, &pairs.value.to_string(), &format!("{} (pairs)", pairs.place));
    said.number("micro_train_batch_size", Field::MicroBatch, 8_u32);
    said.number("max_len", Field::Sequence, 512_u32);
    let why = "OpenRLHF fills the answers of a batch up to the longest, or leaves out what fills them";
    said.draft.assume(Field::Padding, Padding::Longest, why);
    if let Some(format) = said.take("param_dtype") {
        said.draft.read(Field::Precision, &format.text, &format.place);
    }
    if let Some(devices) = said.take(DEVICES) {
        said.draft.read(Field::Devices, &devices.text, &devices.place);
    }
    state(said);
    if let Some(ranks) = said.take("zpg").filter(|ranks| ranks.text != "1") {
        said.draft.read(Field::Hpz, &ranks.text, &ranks.place);
    }
    table::read(OF_PAIRS, said.settings, said.draft);
}

/// Settings of `train_dpo` that change its step; a plan has some of them.
const OF_PAIRS: &[ToolKey] = &[
    nothing("max_epochs", RUN),
    clips("max_norm"),
    optimizers("optim", &[("adam", Optimizer::Adam, false), ("muon", Optimizer::Muon, false)]),
    only("grad_accum_dtype", &["bf16", "fp16"], "leave it out: a plan sums gradients in the format of its weights"),
    only("deepcompile", OFF, "give the run without it: what DeepSpeed's compiler moves is not known"),
    only("use_liger_kernel", OFF, "give the run without it: which kernels it has instead depends on the model"),
    only("full_determinism", OFF, "a plan's kernels are the fast ones"),
];

/// Reads DeepSpeed's sharding and offload of the trainer's state.
fn state(said: &mut RolloutSettings<'_>) {
    let stage = said.count("zero_stage", 2);
    said.draft.take(Field::Strategy, Value::id(&format!("zero{}", stage.value.clamp(1, 3))), &stage.place);
    if said.is_on("adam_offload", false) {
        said.draft.take(Field::Offload, Offload::Optimizer, "adam_offload");
    }
    said.number("ring_attn_size", Field::Context, 1_u32);
    said.number("ds_tensor_parallel_size", Field::Tensor, 1_u32);
    said.draft.stack = Some(("hf-deepspeed-2024", "DeepSpeed, which OpenRLHF starts"));
}

fn engine(said: &mut RolloutSettings<'_>, critic: bool) {
    said.number("vllm_tensor_parallel_size", Field::RolloutTensor, 1_u32);
    said.number("vllm_gpu_memory_utilization", Field::RolloutShare, 0.95);
    said.sleeps("vllm_enable_sleep", false, 1);
    said.devices(["actor_num_nodes", "actor_num_gpus_per_node"], Field::Devices, [1, 8]);
    let engines = said.count("vllm_num_engines", 1);
    let together = said.is_on("colocate_actor_ref", false);
    if said.is_on("colocate_all_models", false) {
        said.draft.take(Field::RolloutLayout, RolloutLayout::Colocated, "colocate_all_models");
    } else {
        said.draft.take(Field::RolloutLayout, RolloutLayout::Split, "without colocate_all_models");
        let devices = engines.value.saturating_mul(said.draft.ranks(Field::RolloutTensor));
        said.draft.take(Field::RolloutDevices, devices, &engines.place);
        let compares = said.draft.value(Field::Reference).is_some_and(|one| one.to_string() != "none");
        for (role, apart) in [("ref_num_nodes", compares && !together), ("critic_num_nodes", critic)] {
            if apart {
                let what = "a model of the step has devices of its own";
                said.draft.errors.push(Problem::new(role, what, ROLES));
            }
        }
    }
    for role in ["ref", "critic", "reward"] {
        for pattern in [format!("{role}_num_*"), format!("{role}.num_*")] {
            said.settings.take_all(&pattern);
        }
    }
    said.settings.take_all("colocate_*");
    said.settings.take_all("train.colocate_*");
}
