//! Methods of post-training, and models beside the one that is trained.

use super::*;
use crate::plan::{BesideModel, Logits, LoraTargets, OtherModel, Padding, Plan, PostMethod, TrainMethod, Tuning};
use crate::program::TaskKind;

/// Rows of the toy's embedding and of its logits, which are not tied.
const VOCAB: u32 = 32_000;

/// Weights of the toy's layers, and of its logits.
const LAYERS: f64 = 8.0 * 12.0 * 1024.0 * 1024.0;
const LOGITS: f64 = 32_000.0 * 1024.0;

/// Bytes of a policy's logit while it is kept in these tests, and of one of a reference: 2 in bf16 and 4 of its cast.
const HELD: f64 = 10.0;
const PASSED: f64 = 6.0;

/// The toy with a vocabulary on one device, a sequence of 1,024 tokens for each one of a micro-batch.
fn toy(method: PostMethod) -> Scenario {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.model).vocab = VOCAB;
    Arc::make_mut(&mut scenario.calibration).logits_held.insert("none".to_owned(), HELD);
    (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(1), testing::ddp());
    scenario.plan.post_training.method = method;
    scenario
}

fn with_reference(reference: BesideModel) -> Scenario {
    let mut scenario = toy(PostMethod::Dpo);
    scenario.plan.post_training.reference = Some(reference);
    scenario
}

fn with_adapters(scenario: &mut Scenario) {
    let tuning = Tuning { method: TrainMethod::Lora, rank: 16, targets: LoraTargets::ATTENTION, ..Tuning::default() };
    scenario.plan.tuning = tuning;
}

/// Seconds of one forward of so many sequences: 2 flop for each weight and token, causal attention of 2 x 1024^3 a layer, and
/// rows of the embedding that are read and written, at 100 TFLOP/s and 1 TB/s.
fn forward(sequences: f64) -> f64 {
    let products = 2.0 * 1024.0 * (LAYERS + LOGITS) / 100e12;
    let attention = 8.0 * 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;
    let embedding = 2.0 * 1024.0 * 1024.0 * 2.0 / 1e12;
    sequences * (products + attention + embedding)
}

/// Tokens of both answers of a pair.
const PAIR: f64 = 2.0 * 1024.0;

/// Model flop of a token: 6 for each parameter and 12 x 8 x 1024 x 1024 of attention. The embedding is a parameter too.
fn model_flop() -> f64 {
    6.0 * (LAYERS + 2.0 * LOGITS) + 12.0 * 8.0 * 1024.0 * 1024.0
}

/// DPO in full: two sequences forward and backward, and two forward through a copy, 2 x (6 + 2) flop for each parameter and
/// token and 2 x (8 + 2) with full recompute, which logits have no part in. The copy takes 2 bytes a parameter, beside 2 + 2 +
/// 12 of the trained one.
#[test]
fn dpo_in_full_passes_a_copy_forward() {
    for (recompute, again) in [(Recompute::None, 0.0), (Recompute::Full, 1.0)] {
        let mut scenario = with_reference(BesideModel::Resident);
        scenario.plan.recompute = recompute;
        let summary = evaluate(&scenario);
        close(summary.phases.beside.get(), forward(2.0));
        // Recompute of the layers is a third of their forward and backward.
        let repeated = 2.0 * LAYERS + 4.0 * 8.0 * 1024.0 * 1024.0;
        let beside = model_flop() / 3.0;
        let flop = PAIR * (model_flop() + again * repeated + beside);
        close(summary.hardware_flops.get() * summary.step_time.get(), flop);
        close(summary.model_flops.get() * summary.step_time.get(), PAIR * model_flop());
        close(summary.tokens_per_step, PAIR);
        let parts = summary.memory.parts;
        let parameters = LAYERS + 2.0 * LOGITS;
        close(parts.beside.get(), 2.0 * parameters);
        close((parts.weights + parts.gradients + parts.optimizer).get(), 16.0 * parameters);
    }
}

/// Beside adapters the reference is the frozen model: it is passed, by products without adapters, and nothing of it is kept.
#[test]
fn dpo_with_adapters_passes_the_frozen_weights() {
    let mut scenario = toy(PostMethod::Dpo);
    with_adapters(&mut scenario);
    let summary = evaluate(&scenario);
    close(summary.phases.beside.get(), forward(2.0));
    assert_eq!(summary.memory.parts.beside, Bytes::ZERO);
    // Adapters of rank 16 beside four matrices of 1024 x 1024 a layer; frozen weights have 2 bytes.
    let adapters = 8.0 * 4.0 * 2.0 * 16.0 * 1024.0;
    close(summary.memory.parts.weights.get(), 2.0 * (LAYERS + 2.0 * LOGITS + adapters));
    // A pass ahead spares the forward through the frozen weights, a third of 6 flop for each, and its logits.
    scenario.plan.post_training.reference = Some(BesideModel::Precomputed);
    let ahead = evaluate(&scenario);
    let flop = |summary: &Summary| summary.hardware_flops.get() * summary.step_time.get();
    close(flop(&summary) - flop(&ahead), PAIR * model_flop() / 3.0);
    let logits = (summary.memory.parts.activations - ahead.memory.parts.activations).get();
    close(logits, PAIR * 32_000.0 * PASSED);
    // A copy, where one is asked for, is of the frozen weights.
    scenario.plan.post_training.reference = Some(BesideModel::Resident);
    close(evaluate(&scenario).memory.parts.beside.get(), 2.0 * (LAYERS + 2.0 * LOGITS));
}

/// What was computed ahead is no forward of a step and no copy. ORPO has no reference either.
#[test]
fn dpo_with_precomputed_log_probabilities_is_two_sequences() {
    let precomputed = evaluate(&with_reference(BesideModel::Precomputed));
    let mut two = toy(PostMethod::Sft);
    two.plan.micro_batch = 2;
    for summary in [precomputed, evaluate(&toy(PostMethod::Orpo))] {
        let plain = evaluate(&two);
        assert_eq!((summary.step_time, summary.memory), (plain.step_time, plain.memory));
        assert_eq!(summary.phases.beside, Seconds::ZERO);
        close(summary.hardware_flops.get() * summary.step_time.get(), PAIR * model_flop());
    }
}

/// Packed answers fill the sequences that there are: half the tokens of pairs that have two each.
#[test]
fn packed_pairs_fill_one_sequence() {
    let mut scenario = with_reference(BesideModel::Resident);
    scenario.plan.post_training.padding = Some(Padding::Packed);
    let summary = evaluate(&scenario);
    close(summary.tokens_per_step, 1024.0);
    close(summary.phases.beside.get(), forward(1.0));
    close(summary.hardware_flops.get() * summary.step_time.get(), 1024.0 * model_flop() * 4.0 / 3.0);
    scenario.plan.post_training.reference = Some(BesideModel::Precomputed);
    let ahead = evaluate(&scenario).memory.parts;
    close((summary.memory.parts.activations - ahead.activations).get(), 1024.0 * 32_000.0 * PASSED);
}

/// Batches that are padded to their longest answer may have the plan's length: memory and time are those of answers that all do.
/// The mean length of what fills a sequence is of packed ones alone.
#[test]
fn the_longest_answer_of_a_batch_may_be_the_longest_of_all() {
    let mut scenario = with_reference(BesideModel::Resident);
    (scenario.plan.examples, scenario.plan.packing) = (Some(1000), Some(100));
    scenario.plan.post_training.padding = Some(Padding::Fixed);
    let fixed = evaluate(&scenario);
    scenario.plan.post_training.padding = Some(Padding::Longest);
    let longest = evaluate(&scenario);
    assert_eq!((longest.step_time, longest.memory), (fixed.step_time, fixed.memory));
    assert_eq!(scenario.examples_of_step(), Some(1.0));
    assert_eq!(scenario.plan.length(), Some(1000.0 * PAIR));
    scenario.plan.post_training.padding = Some(Padding::Packed);
    assert_eq!(scenario.plan.length(), Some(1000.0 * 2.0 * 100.0));
}

/// Forward over forward and backward of the same sequences, where attention has its 1 of 3.5 and the embedding nothing: a third
/// of the products, a quarter where layers are computed again and logits have no part.
#[test]
fn a_forward_is_a_third_of_an_update_and_a_quarter_with_full_recompute() {
    for (recompute, share) in [(Recompute::None, 3.0), (Recompute::Full, 4.0)] {
        let mut scenario = with_reference(BesideModel::Resident);
        Arc::make_mut(&mut scenario.model).vocab = 16;
        scenario.plan.recompute = recompute;
        let phases = evaluate(&scenario).phases;
        let update = (phases.forward + phases.backward) / phases.beside;
        // 12 x 1024^2 weights of 2 flop and token stand beside 2 x 1024 x 1024 of attention, which takes half a pass more.
        let attention = 1.0 / 13.0;
        // Rows of the embedding are read and written in less than a thousandth of that.
        assert!((update / (share + 0.5 * attention) - 1.0).abs() < 1e-3, "{update}");
    }
}

/// While the reference is passed, both its logits and the policy's are there: 6 bytes of each beside 10.
#[test]
fn a_reference_has_logits_beside_the_policys() {
    let [copied, ahead] = [BesideModel::Resident, BesideModel::Precomputed].map(|reference| {
        let memory = evaluate(&with_reference(reference)).memory;
        (memory.parts.activations.get(), memory.during.kind)
    });
    close(copied.0 - ahead.0, PAIR * 32_000.0 * PASSED);
    assert_eq!((copied.1, ahead.1), (TaskKind::ForwardAlone, TaskKind::Backward));
}

/// KTO passes one sequence forward and backward, and three alone: its own mismatched answers, and both through a reference.
#[test]
fn kto_passes_three_sequences_alone() {
    let summary = evaluate(&toy(PostMethod::Kto));
    close(summary.phases.beside.get(), forward(3.0));
    close(summary.tokens_per_step, 1024.0);
    close(summary.memory.parts.beside.get(), 2.0 * (LAYERS + 2.0 * LOGITS));
}

/// A reward model has a score of 1,024 weights in place of logits, which it has none of, and two sequences.
#[test]
fn a_reward_model_has_no_logits() {
    let mut scenario = toy(PostMethod::Reward);
    Arc::make_mut(&mut scenario.model).scores = true;
    let summary = evaluate(&scenario);
    close(summary.memory.parts.weights.get(), 2.0 * (LAYERS + LOGITS + 1024.0));
    let mut pair = toy(PostMethod::Orpo);
    let kept = |scenario: &Scenario| evaluate(scenario).memory.parts.activations.get();
    // In place of 10 bytes for each of 32,000 logits the peak has what the first layer's backward works in once the head is
    // through: gradients of 4 x 1024 + 1024 numbers of two bytes for a token.
    close(kept(&pair) - kept(&scenario), PAIR * (32_000.0 * HELD - 5.0 * 1024.0 * 2.0));
    pair.plan.post_training.method = PostMethod::Sft;
    close(summary.tokens_per_step, 2.0 * evaluate(&pair).tokens_per_step);
}

/// A teacher of 16 layers beside a student of 8 is passed forward, and has 2 bytes for each of its parameters. The loss works in
/// four copies of the logits, or in 8 bytes for each of 64 that the teacher hands on.
#[test]
fn a_teacher_is_a_model_of_its_own() {
    let mut scenario = toy(PostMethod::Distill);
    let teacher = Model { vocab: VOCAB, ..testing::model(16, 1024) };
    let other = OtherModel { id: "teacher".into(), model: Some(Arc::new(teacher)) };
    scenario.plan.post_training.teacher = BesideModel::Other(other);
    let summary = evaluate(&scenario);
    close(summary.memory.parts.beside.get(), 2.0 * (2.0 * LAYERS + 2.0 * LOGITS));
    let more = 1024.0 * 2.0 * LAYERS / 100e12 + 8.0 * 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;
    close(summary.phases.beside.get(), forward(1.0) + more);
    let whole = summary.memory.parts.activations.get();
    scenario.plan.post_training.top_k = Some(64);
    scenario.plan.post_training.teacher = BesideModel::Precomputed;
    let chosen = evaluate(&scenario).memory.parts.activations.get();
    close(whole - chosen, 1024.0 * (32_000.0 * 4.0 * 2.0 - 64.0 * 8.0));
}

/// On four devices of a node a copy is sharded as the trained weights are, or as is said, and gathered once more: 3/4 of its
/// bytes come for each micro-batch, beside three times as much of the trained model.
#[test]
fn a_reference_is_sharded_over_an_extent_of_its_own() {
    let mut scenario = with_reference(BesideModel::Resident);
    (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(4), testing::zero3());
    let bytes = 2.0 * (LAYERS + 2.0 * LOGITS);
    let summary = evaluate(&scenario);
    close(summary.memory.parts.beside.get(), bytes / 4.0);
    close(summary.traffic[0].bytes_per_device.get(), 0.75 * 4.0 * bytes);
    scenario.plan.post_training.reference_over = Some(Extent::Device);
    let whole = evaluate(&scenario);
    close(whole.memory.parts.beside.get(), bytes);
    close(whole.traffic[0].bytes_per_device.get(), 0.75 * 3.0 * bytes);
}

/// A copy on the host crosses the link once for each micro-batch, 10 GB/s, and lies there.
#[test]
fn a_reference_on_the_host_is_fetched_in_each_pass() {
    let mut scenario = with_reference(BesideModel::Host);
    scenario.plan.accumulate = 3;
    let (bytes, summary) = (2.0 * (LAYERS + 2.0 * LOGITS), evaluate(&scenario));
    assert_eq!(summary.memory.parts.beside, Bytes::ZERO);
    close(summary.host_memory.state.beside.get(), bytes);
    close(summary.host.from.bytes.get(), 3.0 * bytes);
}

/// All micro-batches pass a pipeline's reference ahead of the step: 4 of 2 sequences over 2 ranks of 4 layers, and the last one
/// leaves the first rank's copy of a forward. Every device has its stage of it.
#[test]
fn a_pipeline_passes_its_reference_ahead() {
    let mut scenario = with_reference(BesideModel::Resident);
    Arc::make_mut(&mut scenario.model).vocab = 0;
    (scenario.plan.size, scenario.plan.pipeline, scenario.plan.accumulate) = (Size::Devices(2), 2, 4);
    scenario.plan.post_training.method = PostMethod::Sft;
    let alone = evaluate(&scenario);
    // Blocks alone have no method of their own: the same with two rows.
    Arc::make_mut(&mut scenario.model).vocab = 2;
    scenario.plan.post_training.method = PostMethod::Dpo;
    let summary = evaluate(&scenario);
    let half = 2.0 * (1024.0 * 2.0 * LAYERS / 2.0 + 4.0 * 2.0 * 1024.0 * 1024.0 * 1024.0) / 100e12;
    // Five forwards of half a model until the last rank ends the fourth, less what activations take between the ranks.
    let ahead = summary.step_time.get() - 2.0 * alone.step_time.get();
    assert!((ahead / (4.0 * half) - 1.0).abs() < 0.3, "{ahead} is not {}", 4.0 * half);
    close(summary.memory.parts.beside.get(), 2.0 * (LAYERS / 2.0 + 2.0 * 1024.0));
}

/// What cannot be is refused by its field.
#[test]
fn what_a_method_lacks_is_named() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = toy(PostMethod::Dpo);
        change(&mut scenario);
        let problems = scenario.checked().map(drop).expect_err("it is refused");
        problems[0].field.clone()
    };
    let post = |scenario: &mut Scenario, method: PostMethod, teacher: BesideModel| {
        (scenario.plan.post_training.method, scenario.plan.post_training.teacher) = (method, teacher);
    };
    assert_eq!(
        refused(&|scenario| scenario.plan.post_training.reference = Some(BesideModel::AdaptersOff)),
        "post_training.reference"
    );
    assert_eq!(
        refused(&|scenario| scenario.plan.post_training.reference_over = Some(Extent::Ranks(3))),
        "post_training.reference_over"
    );
    for teacher in [BesideModel::None, BesideModel::Precomputed] {
        let field = refused(&|scenario| post(scenario, PostMethod::Distill, teacher.clone()));
        assert_eq!(field, "post_training.teacher");
    }
    assert_eq!(refused(&|scenario| Arc::make_mut(&mut scenario.model).vocab = 0), "post_training.method");
}

/// A stack whose micro-batches all pass the reference ahead of the step takes as long, and has nothing of it beside what the model
/// keeps for backward: what a step without one has, and the copy.
#[test]
fn a_reference_may_be_passed_ahead_of_the_step() {
    let [between, alone] = [BesideModel::Resident, BesideModel::Precomputed].map(|reference| {
        let mut scenario = with_reference(reference);
        scenario.plan.accumulate = 3;
        scenario
    });
    let mut ahead = between.clone();
    Arc::make_mut(&mut ahead.stack).passes_beside_ahead = true;
    let [between, ahead, alone] = [between, ahead, alone].map(|scenario| evaluate(&scenario));
    close(ahead.phases.beside.get(), 3.0 * forward(2.0));
    close(ahead.step_time.get(), between.step_time.get());
    close(ahead.hardware_flops.get(), between.hardware_flops.get());
    close(ahead.memory.peak.get(), (alone.memory.peak + ahead.memory.parts.beside).get());
    assert!(ahead.memory.peak < between.memory.peak);
}

/// A prompt of 1,024 tokens and an answer of 1,024, twice a pair, whose prompts have no logits: 2 x 1,024 x 32,000 logits of 10 bytes
/// of the policy and of 6 of the reference are spared, 655.36 and 393.216 MB, and for each weight of the logits and each of 2,048
/// tokens 6 flop of the policy and 2 of the reference, at 100 TFLOP/s. The model needs no more than those of the answers.
#[test]
fn prompts_need_no_logits() {
    let [all, answers] = [Logits::All, Logits::Completions].map(|logits| {
        let mut scenario = with_reference(BesideModel::Resident);
        scenario.plan.sequence = 2048;
        (scenario.plan.post_training.logits, scenario.plan.post_training.response_max) = (logits, Some(1024));
        evaluate(&scenario)
    });
    let bytes = (all.memory.parts.activations - answers.memory.parts.activations).get();
    close(bytes, 655.36e6 + 393.216e6);
    let prompts = 2.0 * 1024.0;
    let flop = |summary: &Summary| summary.hardware_flops.get() * summary.step_time.get();
    close(flop(&all) - flop(&answers), prompts * (6.0 + 2.0) * LOGITS);
    let needed = |summary: &Summary| summary.model_flops.get() * summary.step_time.get();
    close(needed(&all) - needed(&answers), prompts * 6.0 * LOGITS);
    close((all.step_time - answers.step_time).get(), prompts * (6.0 + 2.0) * LOGITS / 100e12);
    close(all.tokens_per_step, answers.tokens_per_step);
}

/// An answer that may be as long as its sequence leaves no token without logits; what nobody can count is refused by its field.
#[test]
fn answers_must_be_known_to_have_logits_alone() {
    let mut scenario = with_reference(BesideModel::Resident);
    let all = evaluate(&scenario);
    scenario.plan.post_training.logits = Logits::Completions;
    let unknown = evaluate(&scenario);
    assert_eq!((unknown.step_time, unknown.memory), (all.step_time, all.memory));
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut scenario = scenario.clone();
        change(&mut scenario.plan);
        scenario
            .checked()
            .map(drop)
            .expect_err("it is refused")
            .into_iter()
            .map(|problem| problem.field)
            .collect::<Vec<_>>()
    };
    for change in [
        (|plan| plan.post_training.padding = Some(Padding::Packed)) as fn(&mut Plan),
        |plan| plan.post_training.method = PostMethod::Reward,
        |plan| (plan.size, plan.context) = (Size::Devices(2), 2),
    ] {
        assert_eq!(refused(&change), ["post_training.logits"]);
    }
    assert_eq!(refused(&|plan| plan.post_training.response_max = Some(4096)), ["post_training.response_max"]);
}
