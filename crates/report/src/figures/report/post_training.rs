//! The section on post-training: its method, the phases of a step with their memory, and figures for each example. Absent where
//! a step does what pre-training does.

use serde_json::{Value, json};

use shardscope_engine::cost::EngineMemory;
use shardscope_engine::evaluate::{Evaluation, PhaseKind, PhaseLane, StepPhase};
use shardscope_engine::plan::{PostMethod, RolloutLayout};
use shardscope_engine::scenario::{BesideRole, Scenario};
use shardscope_engine::units::{Bytes, Seconds, counted, thousands};

use crate::figures::table::{joined, whole};

use super::lines::row;

pub(super) const TITLE: &str = "post-training";

const SECONDS_AN_HOUR: f64 = 3600.0;

/// What is known of the examples that a step takes.
struct ExampleFigures {
    of_step: f64,
    per_hour: f64,
    each: Seconds,
    /// Time of all examples once, and of the pass ahead over them.
    epoch: Option<Seconds>,
    ahead: Option<Seconds>,
}

impl ExampleFigures {
    fn new(scenario: &Scenario, evaluation: &Evaluation) -> Option<Self> {
        let (of_step, step_time) = (scenario.examples_of_step()?, evaluation.summary.step_time);
        let steps = scenario.plan.examples.map(|examples| f64::from(examples) / of_step);
        Some(Self {
            of_step,
            per_hour: of_step / step_time.get() * SECONDS_AN_HOUR,
            each: step_time / of_step,
            epoch: steps.map(|steps| step_time * steps),
            ahead: steps.zip(evaluation.ahead).map(|(steps, ahead)| ahead * steps),
        })
    }
}

/// The name of a phase: what it is for, or the models that it passes.
fn name(phase: &StepPhase) -> String {
    match phase.kind {
        PhaseKind::Rollout => "rollout".to_owned(),
        PhaseKind::Update => "update".to_owned(),
        PhaseKind::Critic => BesideRole::Critic.to_string(),
        PhaseKind::Transfer => "weights".to_owned(),
        PhaseKind::Alone(BesideRole::Itself) if phase.passes.is_empty() => "log-probabilities".to_owned(),
        PhaseKind::Alone(role) if phase.passes.is_empty() => role.to_string(),
        PhaseKind::Alone(_) => phase.passes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
    }
}

/// What is known of the answers that the model writes, and of the engine that does.
struct RolloutFigures {
    memory: EngineMemory,
    engines: u32,
    /// Answers and prompts of a rollout.
    answers: f64,
    prompts: f64,
    /// Sequences that an engine writes at once: as its slots and its cache allow, and as there are answers for it.
    at_once: u32,
}

impl RolloutFigures {
    fn new(scenario: &Scenario) -> Option<Self> {
        let plan = &scenario.plan;
        let rollouts = &plan.post_training.rollouts;
        let memory = EngineMemory::new(scenario);
        let devices = match rollouts.layout {
            RolloutLayout::Colocated => scenario.devices(),
            RolloutLayout::Split => rollouts.devices,
        };
        let engines = devices / rollouts.tensor;
        let answers = scenario.examples_of_step().unwrap_or_else(|| scenario.sequences()) * f64::from(rollouts.updates);
        let share = (answers / f64::from(engines.max(1))).ceil() as u32;
        let at_once = memory.sequences().min(rollouts.slots).min(share.max(1));
        let prompts = answers / f64::from(rollouts.group);
        plan.writes().then_some(Self { memory, engines, answers, prompts, at_once })
    }

    fn rows(&self, scenario: &Scenario) -> Vec<(String, String)> {
        let rollouts = &scenario.plan.post_training.rollouts;
        let Self { memory, engines, answers, prompts, at_once } = self;
        let EngineMemory { share, weights, workspace, cache, token, .. } = *memory;
        let several = |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let update = counted(answers / f64::from(rollouts.updates));
        let passed = match (rollouts.updates, rollouts.epochs) {
            (1, 1) => "one update".to_owned(),
            (updates, 1) => format!("{updates} updates of {update}"),
            (updates, epochs) => format!("{} of {update}, {epochs} times", several(updates, "update")),
        };
        let prompts = format!("{} prompts x {} answers", counted(*prompts), rollouts.group);
        let of = if rollouts.tensor == 1 { "a device".to_owned() } else { format!("{} devices", rollouts.tensor) };
        let parts = format!("{weights} of weights, {workspace} to work in, {cache} of cache");
        let tokens = if token > Bytes::ZERO { counted((cache / token).floor()) } else { "any".to_owned() };
        vec![
            row("a rollout", format!("{prompts} = {}; {passed}", counted(*answers))),
            row("engines", format!("{} of {of}, {share} of each device: {parts}", several(*engines, "engine"))),
            row(
                "cache",
                format!(
                    "holds {} sequences of {} tokens, or {tokens} tokens; {at_once} of {} slots in use",
                    thousands(f64::from(memory.sequences())),
                    thousands(f64::from(scenario.plan.sequence)),
                    rollouts.slots,
                ),
            ),
        ]
    }

    fn json(&self, scenario: &Scenario) -> Value {
        let Self { memory, engines, answers, prompts, at_once } = self;
        let rollouts = &scenario.plan.post_training.rollouts;
        let EngineMemory { share, weights, workspace, cache, sequence, asleep, .. } = *memory;
        json!({
            "prompts_per_step": prompts,
            "answers_per_step": answers,
            "updates_per_step": rollouts.updates * rollouts.epochs,
            "slots": at_once,
            "cache_bytes": whole(cache),
            "cache_sequences": memory.sequences(),
            "engine": {
                "count": engines,
                "devices": rollouts.tensor,
                "share_bytes": whole(share),
                "weights_bytes": whole(weights),
                "workspace_bytes": whole(workspace),
                "sequence_bytes": whole(sequence),
                "asleep_bytes": whole(asleep),
            },
        })
    }
}

/// What stands beside the trained model, in the words of its fields.
fn beside(scenario: &Scenario) -> [(&'static str, Option<String>); 4] {
    let (plan, method) = (&scenario.plan, scenario.plan.post_training.method);
    let reference = (method.of_reference() > 0).then(|| plan.reference().to_string());
    let teacher = (method.of_teacher() > 0).then(|| plan.post_training.teacher.to_string());
    let critic = method.has_critic().then(|| plan.post_training.critic().to_string());
    let reward = method.writes().then(|| plan.post_training.reward_model.to_string());
    [("reference", reference), ("teacher", teacher), ("critic", critic), ("reward model", reward)]
}

fn is_shown(scenario: &Scenario) -> bool {
    scenario.plan.post_training.method != PostMethod::Sft
}

/// A line for the method, for each phase, and for examples.
pub(super) fn rows(scenario: &Scenario, evaluation: &Evaluation) -> Vec<(String, String)> {
    if !is_shown(scenario) {
        return Vec::new();
    }
    let method = scenario.plan.post_training.method.to_string();
    let named = beside(scenario).into_iter().filter_map(|(role, model)| Some(format!("{role} {}", model?)));
    let mut rows = vec![row("method", [method].into_iter().chain(named).collect::<Vec<_>>().join(", "))];
    let phases = evaluation.step_phases(scenario);
    let most = phases.iter().map(|phase| phase.peak).fold(Bytes::ZERO, Bytes::max);
    rows.extend(phases.iter().map(|phase| {
        let decides = if phase.peak == most { ", which decides" } else { "" };
        let time = phase.time.map_or_else(|| "not timed".to_owned(), |time| time.to_string());
        let host = if phase.host > Bytes::ZERO { format!(", {} on a node's host", phase.host) } else { String::new() };
        row(&format!("phase: {}", name(phase)), format!("{time}, peak memory {}{decides}{host}", phase.peak))
    }));
    if let Some(figures) = RolloutFigures::new(scenario) {
        rows.extend(figures.rows(scenario));
        return rows;
    }
    rows.extend(evaluation.ahead.map(|ahead| row("ahead of it", format!("{ahead} for the examples of a step"))));
    let Some(examples) = ExampleFigures::new(scenario, evaluation) else {
        rows.push(row("examples", "with the mean length of what fills a sequence, like --packing 700".to_owned()));
        return rows;
    };
    let rate = format!("{} an hour, {} each", counted(examples.per_hour), examples.each);
    rows.push(row("examples", format!("{} a step, {rate}", counted(examples.of_step))));
    rows.extend(examples.epoch.map(|epoch| {
        let ahead = examples.ahead.map_or_else(String::new, |ahead| format!(", and {ahead} ahead of the first"));
        row("an epoch", format!("{epoch}{ahead}"))
    }));
    rows
}

/// The same for scripts; `None` where a step does what pre-training does.
pub(super) fn json(scenario: &Scenario, evaluation: &Evaluation) -> Option<Value> {
    if !is_shown(scenario) {
        return None;
    }
    let kept = evaluation.summary.host_memory;
    let throughout = kept.total() - kept.waiting;
    let phase = |phase: &StepPhase| {
        let lane = match phase.lane {
            PhaseLane::Trainer => "trainer",
            PhaseLane::Engine => "engine",
        };
        let (time, peak, host) = (phase.time.map(Seconds::get), whole(phase.peak), whole(throughout + phase.host));
        json!({"name": name(phase), "lane": lane, "seconds": time, "peak_bytes": peak, "host_bytes": host})
    };
    let examples = ExampleFigures::new(scenario, evaluation);
    let examples = examples.filter(|_| !scenario.plan.writes());
    let of_examples = |of: fn(&ExampleFigures) -> f64| examples.as_ref().map(of);
    let phases: Vec<Value> = evaluation.step_phases(scenario).iter().map(phase).collect();
    let [(_, reference), (_, teacher), (_, critic), (_, reward)] = beside(scenario);
    let written = RolloutFigures::new(scenario)
        .map(|figures| joined(json!({"critic": critic, "reward_model": reward}), figures.json(scenario)));
    let given = json!({
        "method": scenario.plan.post_training.method.word(),
        "reference": reference,
        "teacher": teacher,
        "phases": phases,
        "samples_per_step": of_examples(|examples| examples.of_step),
        "samples_per_h": of_examples(|examples| examples.per_hour),
        "seconds_per_sample": of_examples(|examples| examples.each.get()),
        "epoch_s": examples.as_ref().and_then(|examples| examples.epoch).map(Seconds::get),
        "ahead_s": evaluation.ahead.map(Seconds::get),
    });
    Some(match written {
        Some(written) => joined(given, written),
        None => given,
    })
}
