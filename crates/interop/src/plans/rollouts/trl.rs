//! Settings of generated answers in TRL's `GRPOConfig` and in ms-swift, beside the Trainer's (`trl/trainer/grpo_config.py`
//! of huggingface/trl at f2cd57710; `swift/rlhf_trainers/args_mixin.py` and `swift/arguments/rlhf_args.py` of
//! modelscope/ms-swift at 3602360a5). The Trainer's own settings give the micro-batch.

use shardscope_engine::plan::{Logits, PostMethod, RolloutLayout, TrainerOffload};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::Field;

use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::table::{self, OFF, ToolKey, nothing, only};
use super::{RolloutSettings, SourcedCount};

const ENGINE: &str = "set use_vllm: a plan's answers are an engine's, not the trainer's own";
const OLDER: &str = "give the run without it: a plan knows no answers of older weights";

/// Settings that change nothing as long as rollouts are not timed.
const HARMLESS: &[ToolKey] = &[
    nothing("reward_func*", "code that scores answers is no part of the devices' memory"),
    nothing("reward_weights", "numbers of a loss change neither size nor time"),
    nothing("temperature", "how a token is chosen changes no size"),
    nothing("top_*", "how a token is chosen changes no size"),
    nothing("epsilon*", "numbers of a loss change neither size nor time"),
    nothing("scale_rewards", "numbers of a loss change neither size nor time"),
    nothing("mask_truncated_completions", "numbers of a loss change neither size nor time"),
    nothing("num_completions_to_print", "it is of the run, and no part of a step"),
    nothing("min_p", "how a token is chosen changes no size"),
    nothing("repetition_penalty", "how a token is chosen changes no size"),
    nothing("importance_sampling_level", "numbers of a loss change neither size nor time"),
    nothing("log_completions", "it is of the run, and no part of a step"),
    nothing("overlong_filter", "numbers of a loss change neither size nor time"),
    nothing("tau_*", "numbers of a loss change neither size nor time"),
    nothing("kl_in_reward", "the reference is passed as often, wherever its distance counts"),
    only("dynamic_sample", OFF, "give the run without it: a plan's rollouts are all of one size"),
    only("offload_bridge", OFF, "leave it off: a plan has no such copy"),
    nothing("vllm_importance_sampling*", "numbers of a loss change neither size nor time"),
    nothing("vllm_*", "rollouts are not timed"),
];

/// axolotl's own settings (`src/axolotl/core/trainers/grpo` and `src/axolotl/utils/schemas` of axolotl-ai-cloud/axolotl
/// 0.19).
const OF_AXOLOTL: &[ToolKey] = &[
    only("async_prefetch", OFF, OLDER),
    only("use_data_producer", OFF, OLDER),
    only("use_liger_loss", OFF, "say --loss chunked, and switch it off"),
    only("vllm_data_parallel_size", &["1"], "give the run without it: engines are whole on their devices"),
    nothing("rollout_func", "rollouts are not timed"),
    nothing("max_length", "axolotl hands its length to no part of a rollout"),
];

/// Moves axolotl's sections to TRL's arguments, under whose names it passes them on; those of its engine only if
/// `trl.vllm_mode` tells whose devices that has.
pub(in super::super) fn of_axolotl(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let engine = settings.take_inside("vllm").renamed(|name| format!("vllm_{name}"));
    let said = settings.take_inside("trl");
    settings.fall_back(said);
    settings.call("rl_beta", "beta");
    if settings.has("vllm_mode") {
        settings.fall_back(engine);
        if !settings.has("vllm_gpu_memory_utilization") {
            settings.put("vllm_gpu_memory_utilization", "0.9", "axolotl's default");
        }
    } else {
        let why = "axolotl hands it on where trl.vllm_mode says whose devices the engine has";
        engine.rest().for_each(|(_, setting)| draft.report.ignore(&setting.place, why));
    }
    table::read(OF_AXOLOTL, settings, draft);
}

/// Reads these settings, with the defaults of TRL or of ms-swift.
pub(in super::super) fn read(
    program: &str,
    (method, place): (PostMethod, &str),
    settings: &mut ToolSettings,
    draft: &mut PlanDraft,
) {
    let swift = program.ends_with("swift") || program.ends_with("SWIFT");
    let program = if swift { "ms-swift" } else { "TRL" };
    let mut said = RolloutSettings { settings, draft, program };
    said.off("async_generate", OLDER);
    if !said.is_on("use_vllm", false) {
        let what = format!("'{method}' writes its answers itself without use_vllm, and no plan can say that memory");
        said.draft.errors.push(Problem::new(place, what, ENGINE));
    }
    engine(&mut said, swift);
    said.number("num_generations", Field::Group, 8_u32);
    said.number("num_iterations", Field::UpdateEpochs, 1_u32);
    lengths(&mut said, swift);
    updates(&mut said);
    let usual = if swift { 0.04 } else { 0.0 };
    let weight = said.take("beta").map_or(Some(usual), |beta| beta.text.parse().ok()).unwrap_or(usual);
    if weight <= 0.0 {
        said.reference(false, false, "beta 0");
    }
    said.ask_model("reward_model", Field::RewardModel);
    said.ask_model("reward_model_name_or_path", Field::RewardModel);
    table::read(HARMLESS, settings, draft);
}

fn engine(said: &mut RolloutSettings<'_>, swift: bool) {
    said.number("vllm_gpu_memory_utilization", Field::RolloutShare, if swift { 0.9 } else { 0.3 });
    said.number("vllm_tensor_parallel_size", Field::RolloutTensor, 1_u32);
    match said.take("vllm_mode") {
        Some(mode) if mode.text == "server" => {
            said.draft.take(Field::RolloutLayout, RolloutLayout::Split, &mode.place);
            said.draft.ask(Field::RolloutDevices, &mode.place, "how many devices the server has is in no file");
        }
        Some(mode) => said.draft.take(Field::RolloutLayout, RolloutLayout::Colocated, &mode.place),
        None => said.draft.assume(Field::RolloutLayout, RolloutLayout::Colocated, said.default()),
    }
    if swift {
        said.number("sleep_level", Field::Sleep, 0_u32);
        let [model, optimizer] = ["offload_model", "offload_optimizer"].map(|name| said.is_on(name, false));
        let waits = match (model, optimizer) {
            (true, _) => TrainerOffload::All,
            (false, true) => TrainerOffload::Optimizer,
            (false, false) => TrainerOffload::None,
        };
        said.draft.take(Field::TrainerOffload, waits, "offload_model and offload_optimizer");
        said.settings.take("move_model_batches");
    } else {
        said.sleeps("vllm_enable_sleep_mode", false, 2);
    }
}

/// Longest prompt and answer; ms-swift's `max_length` is that of the prompt.
fn lengths(said: &mut RolloutSettings<'_>, swift: bool) {
    let answer = said.count("max_completion_length", 512);
    let prompt = match () {
        () if !swift => "max_prompt_length",
        () if said.settings.has("seq_length") => "seq_length",
        () => "max_length",
    };
    let whole = said.take("vllm_max_model_length").or_else(|| said.take("vllm_max_model_len"));
    // The engine's limit counts if prompt and answer together may exceed it.
    let both = said.settings.count(prompt).filter(|_| swift).map(|most| most.saturating_add(answer.value));
    let whole = whole.filter(|whole| both.is_none_or(|both| whole.text.parse::<u32>().is_ok_and(|most| most <= both)));
    if let Some(whole) = whole {
        said.settings.take(prompt);
        said.draft.read(Field::Sequence, &whole.text, &whole.place);
    } else if said.settings.has(prompt) {
        let prompt = said.count(prompt, 512);
        said.sequence(&prompt, &answer);
    } else {
        said.draft.ask(Field::Sequence, &answer.place, "how long prompts are is in no file: the answer is cut there");
    }
    // If only answers have logits, their length matters.
    if said.draft.value(Field::Logits) == Some(&Logits::Completions.into()) {
        let most = answer.value.min(said.draft.count(Field::Sequence).unwrap_or(answer.value));
        said.draft.take(Field::ResponseMax, most, &answer.place);
    }
}

/// Updates per rollout: its micro-batches, which count answers, over those of an update.
fn updates(said: &mut RolloutSettings<'_>) {
    let accumulated = said.settings.count("gradient_accumulation_steps").unwrap_or(1);
    let rollout = match said.take("generation_batch_size") {
        Some(all) => {
            let each = said.settings.count("per_device_train_batch_size").unwrap_or(8);
            let at_once = said.draft.devices().unwrap_or(1).saturating_mul(each).max(1);
            let value = all.text.parse().map_or(accumulated, |all: u32| all / at_once);
            SourcedCount { value, place: format!("{} (answers)", all.place) }
        }
        None => said.count("steps_per_generation", accumulated),
    };
    if rollout.value >= accumulated && rollout.value.is_multiple_of(accumulated) {
        let place = format!("{}, by gradient_accumulation_steps, in batches of answers", rollout.place);
        said.draft.take(Field::Updates, rollout.value / accumulated, &place);
    } else {
        let what =
            format!("{} micro-batches of a rollout are no multiple of the {accumulated} of an update", rollout.value);
        said.draft.refuse(&rollout.place, what, Field::Updates);
    }
}
