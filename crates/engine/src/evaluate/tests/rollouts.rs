//! Steps whose answers the model writes: memory of each phase, and of the engine.

use super::*;
use crate::cost::EngineMemory;
use crate::plan::{BesideModel, PostMethod, RolloutLayout, TrainerOffload};
use crate::scenario::BesideRole;

/// Rows of the toy's embedding and of its logits, and weights of both and of its layers.
const VOCAB: u32 = 32_000;
const ENDS: f64 = 2.0 * 32_000.0 * 1024.0;
const LAYERS: f64 = 8.0 * 12.0 * 1024.0 * 1024.0;
const PARAMETERS: f64 = LAYERS + ENDS;

/// Memory of an engine of one device while it sleeps.
const ASLEEP: f64 = 774.0 * 1_048_576.0;

/// The toy with a vocabulary on one device.
fn toy(method: PostMethod) -> Scenario {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.model).vocab = VOCAB;
    (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(1), testing::ddp());
    scenario.plan.post_training.method = method;
    scenario
}

fn phases(scenario: &Scenario) -> Vec<StepPhase> {
    crate::search::once(scenario, &mut Workspace::default()).expect("a valid scenario").step_phases(scenario)
}

/// Peak and host of a phase.
fn phase(scenario: &Scenario, kind: PhaseKind) -> [f64; 2] {
    let all = phases(scenario);
    let one = all.iter().find(|phase| phase.kind == kind).expect("the phase");
    [one.peak.get(), one.host.get()]
}

/// Keys and values of a token take 2 x 1,024 numbers of 2 bytes in each of 8 layers, 32,768 bytes, and half of that on each of two
/// devices. A prefill of 8,192 tokens works in 2 x 1,024 + 2 x 4,096 numbers of 2 bytes each, 256 sequences in 8 bytes a logit.
#[test]
fn an_engine_has_weights_a_workspace_and_a_cache() {
    let mut scenario = toy(PostMethod::Grpo);
    let engine = EngineMemory::new(&scenario);
    close(engine.share.get(), 0.5 * scenario.capacity().get());
    close(engine.weights.get(), 2.0 * PARAMETERS);
    let workspace = ASLEEP + 8192.0 * (2.0 * 1024.0 + 2.0 * 4096.0) * 2.0 + 256.0 * 32_000.0 * 8.0;
    close(engine.workspace.get(), workspace);
    close(engine.token.get(), 32_768.0);
    close(engine.sequence.get(), 1024.0 * 32_768.0);
    let cache = 0.5 * scenario.capacity().get() - 2.0 * PARAMETERS - workspace;
    close(engine.cache.get(), cache);
    assert_eq!(engine.sequences(), (cache / 1024.0 / 32_768.0) as u32);
    scenario.plan.post_training.rollouts.tensor = 2;
    let shared = EngineMemory::new(&scenario);
    close(shared.token.get(), 16_384.0);
    close(shared.weights.get(), PARAMETERS);
    // In 8 bits the matrices of the layers take half; embedding and logits stay. So does the cache.
    scenario.plan.post_training.rollouts.format = Some(Format::Fp8);
    scenario.plan.post_training.rollouts.cache = Some(Format::Fp8);
    let coarse = EngineMemory::new(&scenario);
    close(coarse.weights.get(), f64::midpoint(LAYERS, 2.0 * ENDS));
    close(coarse.token.get(), 8192.0);
}

/// Beside 16 bytes a parameter of the trainer and 2 of its reference stand half of the device while the engine writes, and what it
/// keeps asleep in an update, which has nothing more than that of given answers.
#[test]
fn phases_have_the_trainer_and_the_engine_in_turn() {
    let scenario = toy(PostMethod::Grpo);
    let (resident, share) = (18.0 * PARAMETERS, 0.5 * scenario.capacity().get());
    close(phase(&scenario, PhaseKind::Rollout)[0], resident + share);
    let given = evaluate(&toy(PostMethod::Sft)).memory.peak.get();
    close(phase(&scenario, PhaseKind::Update)[0], given + 2.0 * PARAMETERS + ASLEEP);
    // At level 1 the host has the engine's weights meanwhile.
    close(phase(&scenario, PhaseKind::Update)[1], 2.0 * PARAMETERS);
    assert_eq!(phase(&scenario, PhaseKind::Rollout)[1].to_bits(), 0.0_f64.to_bits());
    // All weights of so small a model are in transfer at once.
    close(phase(&scenario, PhaseKind::Transfer)[0], resident + 2.0 * PARAMETERS + 2.0 * PARAMETERS + ASLEEP);
    let summary = evaluate(&scenario);
    close(summary.memory.peak.get(), resident + share);
    close(summary.memory.parts.engine.get(), share);
    assert_eq!(summary.memory.during.kind, TaskKind::Rollout);
    close(summary.host_memory.waiting.get(), 2.0 * PARAMETERS);
}

/// Awake at level 0 the engine stays as it is; at level 2 nothing of it goes to the host. One with devices of its own leaves the
/// trainer alone.
#[test]
fn an_engine_sleeps_as_deep_as_is_said() {
    let mut scenario = toy(PostMethod::Grpo);
    let given = evaluate(&toy(PostMethod::Sft)).memory.peak.get() + 2.0 * PARAMETERS;
    let share = 0.5 * scenario.capacity().get();
    for (level, engine) in [(0, share), (2, ASLEEP)] {
        scenario.plan.post_training.rollouts.sleep = level;
        let [peak, host] = phase(&scenario, PhaseKind::Update);
        close(peak, given + engine);
        assert!(host.abs() < 1.0, "{host}");
    }
    scenario.plan.post_training.rollouts.layout = RolloutLayout::Split;
    close(phase(&scenario, PhaseKind::Update)[0], given);
    close(phase(&scenario, PhaseKind::Rollout)[0], 0.9 * scenario.capacity().get());
    // The trainer is at its fullest where its weights go out, 2 bytes a parameter beside 18 of its state.
    close(evaluate(&scenario).memory.peak.get(), 20.0 * PARAMETERS);
}

/// An optimizer that waits on the host leaves 4 + 2 bytes a parameter while answers are written; all of a trainer that waits leaves
/// nothing, and a phase has what it passes alone.
#[test]
fn a_trainer_waits_on_the_host() {
    let mut scenario = toy(PostMethod::Grpo);
    let share = 0.5 * scenario.capacity().get();
    scenario.plan.post_training.rollouts.sleep = 2;
    let given = evaluate(&toy(PostMethod::Sft)).memory.peak.get();
    scenario.plan.post_training.rollouts.offload = TrainerOffload::Optimizer;
    let [peak, host] = phase(&scenario, PhaseKind::Rollout);
    close(peak, 6.0 * PARAMETERS + share);
    close(host, 12.0 * PARAMETERS);
    close(phase(&scenario, PhaseKind::Update)[0], given + 2.0 * PARAMETERS + ASLEEP);
    scenario.plan.post_training.rollouts.offload = TrainerOffload::All;
    let [peak, host] = phase(&scenario, PhaseKind::Rollout);
    close(peak, share);
    close(host, 18.0 * PARAMETERS);
    let [peak, host] = phase(&scenario, PhaseKind::Update);
    close(peak, given + ASLEEP);
    close(host, 2.0 * PARAMETERS);
    // Of both the policy and the reference a forward needs 2 bytes a parameter, and as much beside.
    let passed = |role| phase(&scenario, PhaseKind::Alone(role));
    let [itself, reference] = [passed(BesideRole::Itself), passed(BesideRole::Reference)];
    close(itself[0], reference[0]);
    close(itself[1], 16.0 * PARAMETERS);
    close(evaluate(&scenario).host_memory.waiting.get(), 18.0 * PARAMETERS);
}

/// A critic is a model with a score of 1,024 weights in place of logits, of which 16 bytes a parameter are there in all phases; in
/// its own phase it has what training a model that scores one answer has.
#[test]
fn a_critic_is_trained_beside() {
    let scenario = toy(PostMethod::Ppo);
    let critic = 16.0 * (PARAMETERS - ENDS / 2.0 + 1024.0);
    let share = 0.5 * scenario.capacity().get();
    close(phase(&scenario, PhaseKind::Rollout)[0], 18.0 * PARAMETERS + critic + share);
    let mut alone = toy(PostMethod::Sft);
    Arc::make_mut(&mut alone.model).scores = true;
    let trained = evaluate(&alone).memory.peak.get();
    close(phase(&scenario, PhaseKind::Critic)[0], 18.0 * PARAMETERS + trained + ASLEEP);
}

/// A forward of all answers takes a third of their forward and backward, and a quarter where layers are computed again: three
/// micro-batches of each of four updates, which pass twice. Attention takes its 1 of 3.5, as 1 of 13 of a forward.
#[test]
fn a_forward_is_a_third_of_an_update_or_a_quarter() {
    for (recompute, share) in [(Recompute::None, 3.0), (Recompute::Full, 4.0)] {
        let mut scenario = toy(PostMethod::Grpo);
        Arc::make_mut(&mut scenario.model).vocab = 16;
        (scenario.plan.recompute, scenario.plan.accumulate) = (recompute, 3);
        let rollouts = &mut scenario.plan.post_training.rollouts;
        (rollouts.updates, rollouts.epochs) = (4, 2);
        let (all, summary) = (phases(&scenario), evaluate(&scenario));
        let time = |kind: PhaseKind| {
            all.iter().find(|phase| phase.kind == kind).and_then(|phase| phase.time).expect("a phase with a time")
        };
        close(time(PhaseKind::Update).get(), 8.0 * summary.step_time.get());
        let update = (summary.phases.forward + summary.phases.backward) * 4.0;
        let ratio = update / time(PhaseKind::Alone(BesideRole::Itself));
        assert!((ratio / (share + 0.5 / 13.0) - 1.0).abs() < 1e-3, "{ratio}");
        assert_eq!(all.iter().find(|phase| phase.kind == PhaseKind::Rollout).and_then(|phase| phase.time), None);
    }
}

/// An engine that has no room for a sequence is refused, with what it needs; so is a critic that nothing can train.
#[test]
fn an_engine_without_a_cache_is_refused() {
    let mut scenario = toy(PostMethod::Grpo);
    scenario.plan.post_training.rollouts.share = Some(Share::new(0.001));
    let problems = summary(&scenario, &mut Workspace::default()).expect_err("no room");
    assert_eq!(problems[0].field, "post_training.rollout_share");
    let mut scenario = toy(PostMethod::Ppo);
    scenario.plan.post_training.critic = Some(BesideModel::Host);
    let problems = scenario.layout().expect_err("nothing trains it");
    assert_eq!(problems[0].field, "post_training.critic");
}

/// An update over a pipeline takes as long as one of answers that are given. The logits' 32,000 x 1,024 weights are 2.6 of a
/// layer's 12 x 1,024^2: of 10.6 layers the first stage has 5 with the embedding, the second 3 with the logits, of the reference
/// as of the model. The first is the fuller one, by 2 bytes of each weight of the reference.
#[test]
fn a_pipeline_has_phases_too() {
    let mut scenario = toy(PostMethod::Grpo);
    (scenario.plan.size, scenario.plan.pipeline, scenario.plan.accumulate) = (Size::Devices(2), 2, 4);
    let summary = evaluate(&scenario);
    let mut given = scenario.clone();
    given.plan.post_training.method = PostMethod::Sft;
    assert_eq!(summary.step_time, evaluate(&given).step_time);
    scenario.plan.post_training.reference = Some(BesideModel::None);
    let [rollout, update] = [PhaseKind::Rollout, PhaseKind::Update].map(|kind| phase(&scenario, kind)[0]);
    scenario.plan.post_training.reference = None;
    let weights = 2.0 * (LAYERS * 5.0 / 8.0 + ENDS / 2.0);
    close(phase(&scenario, PhaseKind::Rollout)[0] - rollout, weights);
    close(phase(&scenario, PhaseKind::Update)[0] - update, weights);
}

/// Two programs beside one another, where a logit of the loss moves 30 bytes, a third of them in forward, and memory 1 TB/s.
/// `OpenRLHF` takes log-probabilities alone. verl on Megatron Core copies the logits in 32 bits, finds the largest, subtracts it, takes
/// the exponential, sums, divides, and multiplies with the logits: 12 passes of 4 bytes, in two tensors of the logits' size. An
/// update is three forwards and four with full recompute, which logits have no part in; attention's backward takes 2.5 of its
/// forward.
#[test]
fn logits_and_entropy_add_to_a_forward() {
    let tokens = 1024.0;
    let logits = tokens * f64::from(VOCAB);
    let layers = 2.0 * tokens * LAYERS / 100e12;
    let attention = 8.0 * 2.0 * tokens * 1024.0 * 1024.0 / 100e12;
    let head = 2.0 * tokens * ENDS / 2.0 / 100e12;
    let [read, written] = [2.0, 3.0].map(|times| times * tokens * 1024.0 * 2.0 / 1e12);
    for recompute in [Recompute::None, Recompute::Full] {
        let again = if recompute == Recompute::Full { layers + attention } else { 0.0 };
        let mut peaks = Vec::new();
        for (entropy, moved) in [(false, 0.0), (true, 12.0 * 4.0)] {
            let mut scenario = toy(PostMethod::Grpo);
            let calibration = Arc::make_mut(&mut scenario.calibration);
            calibration.loss.insert("none".to_owned(), 30.0);
            calibration.logits_held.insert("none".to_owned(), 10.0);
            scenario.plan.recompute = recompute;
            scenario.plan.post_training.rollouts.entropy = entropy;
            let alone = |role: BesideRole| {
                let phase = phases(&scenario).into_iter().find(|phase| phase.kind == PhaseKind::Alone(role));
                phase.and_then(|phase| phase.time).expect("a phase with a time").get()
            };
            let forward = layers + attention + head + read + logits * 10.0 / 1e12;
            close(alone(BesideRole::Itself), forward + logits * moved / 1e12);
            // The reference computes none.
            close(alone(BesideRole::Reference), forward);
            let summary = evaluate(&scenario);
            let update = 3.0 * (layers + head) + 3.5 * attention + read + written + logits * 30.0 / 1e12 + again;
            close((summary.phases.forward + summary.phases.backward).get(), update);
            peaks.push(phase(&scenario, PhaseKind::Alone(BesideRole::Itself))[0]);
        }
        close(peaks[1] - peaks[0], 2.0 * 4.0 * logits);
    }
}
