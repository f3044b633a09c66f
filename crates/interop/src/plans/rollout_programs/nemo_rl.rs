//! NeMo RL's YAML. Defaults as in `examples/configs` of NVIDIA-NeMo/RL at 7ea279abf, `grpo_math_1B.yaml` and `dpo.yaml`.

use shardscope_engine::plan::{Format, Offload, Padding, PostMethod, RolloutLayout, TrainerOffload};
use shardscope_engine::scenario::{Field, Value};

use super::super::harmless;
use super::super::rollouts::RolloutSettings;
use super::super::table;
use super::RolloutProgram;

pub(super) const PROGRAM: RolloutProgram = RolloutProgram {
    name: "NeMo RL",
    started: &["run_grpo_math", "examples/run_grpo", "run_dpo", "run_rm"],
    keys: &[&["grpo", "policy"], &["dpo", "policy"], &["rm", "policy"]],
    assigns: true,
    read,
    tool: harmless::NEMO_RL,
};

/// Methods on given answers, by their sections.
const GIVEN: [(&str, PostMethod); 2] = [("dpo", PostMethod::Dpo), ("rm", PostMethod::Reward)];

fn read(said: &mut RolloutSettings<'_>) {
    if let Some((section, method)) = GIVEN.into_iter().find(|(section, _)| said.settings.has(section)) {
        return read_given(section, method, said);
    }
    said.off("grpo.async_grpo.enabled", "switch it off: a plan knows no answers of older weights");
    said.method(PostMethod::Grpo, "grpo");
    said.number("grpo.num_generations_per_prompt", Field::Group, 16_u32);
    let rollout = said.count("grpo.num_prompts_per_step", 32);
    let update = said.count("policy.train_global_batch_size", 512);
    said.batches(&rollout, &update, [true, false]);
    said.number("policy.train_micro_batch_size", Field::MicroBatch, 4_u32);
    said.number("policy.max_total_sequence_length", Field::Sequence, 512_u32);
    mesh(said);
    // The reference runs unless it is skipped, and lies on the host (`megatron_policy_worker.py`).
    let skipped = said.is_on("grpo.skip_reference_policy_logprobs_calculation", false);
    said.reference(!skipped, true, "grpo.skip_reference_policy_logprobs_calculation");
    said.ask_model("policy.model_name", Field::Model);
    said.settings.take("policy.precision");
    engine(said);
}

/// A method on given answers; batches count pairs, since `nemo_rl/algorithms/dpo.py` doubles both sizes.
fn read_given(section: &str, method: PostMethod, said: &mut RolloutSettings<'_>) {
    said.method(method, section);
    let pairs = said.count("policy.train_global_batch_size", 128);
    said.draft.read(Field::GlobalBatch, &pairs.value.to_string(), &format!("{} (pairs)", pairs.place));
    said.number("policy.train_micro_batch_size", Field::MicroBatch, 2_u32);
    said.number("policy.max_total_sequence_length", Field::Sequence, 1024_u32);
    let packs = said.is_on("policy.sequence_packing.enabled", false);
    let padding = if packs { Padding::Packed } else { Padding::Longest };
    said.draft.take(Field::Padding, padding, "policy.sequence_packing");
    said.only(
        "policy.offload_optimizer_for_logprob",
        &["false"],
        "switch it off: a plan leaves the optimizer's state in its place",
    );
    mesh(said);
    if method.of_reference() > 0 {
        said.reference(true, true, section);
    }
    said.ask_model("policy.model_name", Field::Model);
    said.settings.take("policy.precision");
    said.devices(["cluster.num_nodes", "cluster.gpus_per_node"], Field::Devices, [1, 1]);
}

fn mesh(said: &mut RolloutSettings<'_>) {
    if said.is_on("policy.megatron_cfg.enabled", false) {
        let own = |name: &str| format!("policy.megatron_cfg.{name}");
        said.number(&own("tensor_model_parallel_size"), Field::Tensor, 1_u32);
        said.number(&own("pipeline_model_parallel_size"), Field::Pipeline, 1_u32);
        said.number(&own("context_parallel_size"), Field::Context, 1_u32);
        said.number(&own("expert_model_parallel_size"), Field::Experts, 1_u32);
        said.recompute(&own("activation_checkpointing"), false);
        said.draft.take(Field::Strategy, Value::id("zero1"), "policy.megatron_cfg");
        said.draft.stack = Some(("megatron-bridge-2025", "Megatron Bridge, which NeMo RL starts"));
        said.settings.take_all("policy.dtensor_cfg.*");
    } else {
        let own = |name: &str| format!("policy.dtensor_cfg.{name}");
        said.number(&own("tensor_parallel_size"), Field::Tensor, 1_u32);
        said.number(&own("context_parallel_size"), Field::Context, 1_u32);
        said.recompute(&own("activation_checkpointing"), false);
        if said.is_on(&own("cpu_offload"), false) {
            said.draft.take(Field::Offload, Offload::State, &own("cpu_offload"));
        }
        let adapts = said.is_on(&own("lora_cfg.enabled"), false);
        if adapts {
            said.adapters(&own("lora_cfg.dim"));
        }
        said.settings.take_all(&own("lora_cfg.*"));
        said.draft.take(Field::Strategy, Value::id("fsdp"), "policy.dtensor_cfg");
        said.draft.stack = Some(("automodel-2026", "NeMo Automodel, which NeMo RL starts"));
        said.settings.take("policy.dtensor_cfg.enabled");
        said.settings.take_all("policy.megatron_cfg.*");
    }
}

/// Rollout engines; a colocated trainer waits on the host (`nemo_rl/algorithms/grpo.py`, `refit_policy_generation`).
fn engine(said: &mut RolloutSettings<'_>) {
    let own = |name: &str| format!("policy.generation.{name}");
    said.only(&own("backend"), &["vllm"], "choose vllm: a plan's answers are an engine's");
    said.number(&own("vllm_cfg.tensor_parallel_size"), Field::RolloutTensor, 1_u32);
    said.number(&own("vllm_cfg.gpu_memory_utilization"), Field::RolloutShare, 0.6);
    said.only(&own("vllm_cfg.pipeline_parallel_size"), &["1"], "say --rollout-tp for the devices of an engine");
    said.only(&own("vllm_cfg.expert_parallel_size"), &["1"], "say --rollout-tp for the devices of an engine");
    said.only(&own("vllm_cfg.async_engine"), &["false", "true"], "");
    if said.take(&own("vllm_cfg.precision")).is_some_and(|format| format.text.contains("fp8")) {
        said.draft.take(Field::RolloutFormat, Format::Fp8, &own("vllm_cfg.precision"));
    }
    for name in ["max_new_tokens", "vllm_cfg.max_model_len", "vllm_cfg.skip_tokenizer_init"] {
        said.settings.take(&own(name));
    }
    let (nodes, each) = (said.count("cluster.num_nodes", 1), said.count("cluster.gpus_per_node", 1));
    let all = nodes.value.saturating_mul(each.value);
    let place = format!("{} x {}", nodes.place, each.place);
    let colocated = said.take(&own("colocated.enabled")).is_none_or(|on| table::switched(&on.text) == "true");
    let [of_nodes, of_each] = ["num_nodes", "gpus_per_node"].map(|name| own(&format!("colocated.resources.{name}")));
    if colocated {
        said.draft.take(Field::RolloutLayout, RolloutLayout::Colocated, "policy.generation.colocated");
        said.draft.take(Field::TrainerOffload, TrainerOffload::All, "policy.generation.colocated");
        said.draft.take(Field::Devices, all, &place);
    } else {
        // On several nodes engines take whole nodes, on one node a part of its devices.
        let (own_nodes, own_each) = (said.count(&of_nodes, 1), said.count(&of_each, each.value));
        let engines = own_nodes.value.saturating_mul(own_each.value);
        said.draft.take(Field::RolloutLayout, RolloutLayout::Split, "policy.generation.colocated");
        said.draft.take(Field::RolloutDevices, engines, &format!("{} x {}", own_nodes.place, own_each.place));
        said.draft.take(Field::Devices, all.saturating_sub(engines).max(1), &format!("{place}, less those of engines"));
    }
    said.settings.take_all(&own("colocated.*"));
}
