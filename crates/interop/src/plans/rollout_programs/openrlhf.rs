//! `OpenRLHF`'s options, with dots since 2026 and with underscores before (`openrlhf/cli/train_ppo_ray.py` of OpenRLHF/OpenRLHF at
//! 3c3be623).

use shardscope_engine::plan::{Offload, PostMethod, RolloutLayout, TrainerOffload};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Value};

use super::super::rollouts::RolloutSettings;
use super::super::table::nothing;
use super::RolloutProgram;

pub(super) const PROGRAM: RolloutProgram = RolloutProgram {
    name: "OpenRLHF",
    started: &["openrlhf.cli.train_ppo_ray", "train_ppo_ray.py"],
    keys: &[&["vllm_num_engines"], &["vllm.num_engines"]],
    assigns: false,
    read,
    harmless: &[
        nothing("data.*", RUN),
        nothing("prompt_data*", RUN),
        nothing("input_key", RUN),
        nothing("label_key", RUN),
        nothing("apply_chat_template", RUN),
        nothing("save_*", RUN),
        nothing("ckpt_*", RUN),
        nothing("logger.*", RUN),
        nothing("load_checkpoint", RUN),
        nothing("use_wandb", RUN),
        nothing("use_tensorboard", RUN),
        nothing("num_episodes", RUN),
        nothing("max_samples", RUN),
        nothing("remote_rm_url", "code that scores answers is no part of the devices' memory"),
        nothing("reward.remote_url", "code that scores answers is no part of the devices' memory"),
        nothing("actor_learning_rate", LOSS),
        nothing("critic_learning_rate", LOSS),
        nothing("gamma", LOSS),
        nothing("lambd", LOSS),
        nothing("l2", LOSS),
        nothing("normalize_reward", LOSS),
        nothing("eps_clip*", LOSS),
        nothing("algo.*", LOSS),
        nothing("use_kl_loss", LOSS),
        nothing("kl_estimator", LOSS),
        nothing("packing_samples", "every answer is taken to be as long as the longest"),
        nothing("ds.packing_samples", "every answer is taken to be as long as the longest"),
        nothing("micro_rollout_batch_size", "a forward alone takes as many answers at once as an update"),
        nothing("rollout.micro_batch_size", "a forward alone takes as many answers at once as an update"),
        nothing("enable_prefix_caching", UNTIMED),
        nothing("enforce_eager", UNTIMED),
        nothing("vllm_sync_*", UNTIMED),
        nothing("vllm.sync_backend", UNTIMED),
        nothing("flash_attn", "the stack says which attention runs"),
        nothing("bf16", "products are in bf16"),
    ],
};

const RUN: &str = "it is of the run, and no part of a step";
const LOSS: &str = "numbers of a loss change neither size nor time";
const UNTIMED: &str = "rollouts are not timed";

/// Names since 2026, with those before.
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
    ("actor.gradient_checkpointing_enable", "gradient_checkpointing"),
    ("actor.num_nodes", "actor_num_nodes"),
    ("actor.num_gpus_per_node", "actor_num_gpus_per_node"),
    ("actor.model_name_or_path", "pretrain"),
    ("critic.model_name_or_path", "critic_pretrain"),
    ("reward.model_name_or_path", "reward_pretrain"),
    ("algo.kl.init_coef", "init_kl_coef"),
    ("ref.offload", "ref_reward_offload"),
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
    engine(said, critic.is_some());
}

/// How `DeepSpeed` keeps the trainer's state.
fn state(said: &mut RolloutSettings<'_>) {
    let stage = said.count("zero_stage", 2);
    said.draft.take(Field::Strategy, Value::id(&format!("zero{}", stage.value.clamp(1, 3))), &stage.place);
    if said.is_on("adam_offload", false) {
        said.draft.take(Field::Offload, Offload::Optimizer, "adam_offload");
    }
    let waits = if said.is_on("deepspeed_enable_sleep", false) { TrainerOffload::All } else { TrainerOffload::None };
    said.draft.take(Field::TrainerOffload, waits, "deepspeed_enable_sleep");
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
