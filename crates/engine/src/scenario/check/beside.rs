//! What can be wrong with the method of post-training and with the models beside the trained one.

use crate::plan::{BesideModel, OtherModel, PostMethod, RolloutLayout};

use super::super::beside::{BesideRole, ModelBeside};
use super::super::field::Field;
use super::super::{Problem, Scenario};
use super::Checks;

/// What a method needs: a teacher to learn from, adapters to switch off, logits to learn by.
pub(super) fn method(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    let post = &plan.post_training;
    let (method, distils) = (post.method, post.method.of_teacher() > 0);
    checks.refuse(
        distils && post.teacher == BesideModel::None,
        Field::Teacher.path(),
        || format!("{method} needs a teacher"),
        || "name a model, or choose resident for a copy of the trained one".to_owned(),
    );
    checks.refuse(
        distils && post.teacher == BesideModel::Precomputed && post.top_k.is_none(),
        Field::Teacher.path(),
        || "no program keeps all logits of a pass ahead of the training".to_owned(),
        || "choose --top-k, of which they keep so many, or a teacher in the step".to_owned(),
    );
    checks.refuse(
        method != PostMethod::Sft && model.vocab == 0,
        Field::Method.path(),
        || format!("{} is blocks only: it has no logits", model.name),
        || "choose sft, or a model with a vocabulary".to_owned(),
    );
    checks.refuse(
        method == PostMethod::Reward && model.mtp_layers > 0,
        Field::Method.path(),
        || "a model that scores answers predicts no further tokens".to_owned(),
        || "choose --mtp-layers 0".to_owned(),
    );
    for (role, beside, is_passed) in [
        (BesideRole::Reference, plan.reference(), method.of_reference() > 0),
        (BesideRole::Teacher, post.teacher.clone(), distils),
        (BesideRole::Critic, post.critic(), method.has_critic()),
        (BesideRole::RewardModel, post.reward_model.clone(), method.writes()),
    ] {
        named(scenario, role, &beside, is_passed, checks);
    }
    if method.writes() {
        rollouts(scenario, checks);
    }
}

/// What answers that the model writes need: an engine on whole devices, and models that judge them.
fn rollouts(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    let post = &plan.post_training;
    let (method, engine) = (post.method, &post.rollouts);
    let critic = post.critic();
    checks.refuse(
        method.has_critic() && !matches!(critic, BesideModel::Resident | BesideModel::Other(_)),
        Field::Critic.path(),
        || format!("{method} trains its critic, which no {critic} is"),
        || "choose resident, for one of the trained model's shape, or a model".to_owned(),
    );
    checks.refuse(
        matches!(post.reward_model, BesideModel::AdaptersOff | BesideModel::Precomputed),
        Field::RewardModel.path(),
        || format!("a reward model scores answers as they come, which {} cannot", post.reward_model),
        || "choose none, resident, host or a model".to_owned(),
    );
    checks.refuse(
        plan.reference() == BesideModel::Precomputed,
        Field::Reference.path(),
        || "no answer is known ahead of the training, so that nothing can be precomputed of it".to_owned(),
        || "choose resident, host or none".to_owned(),
    );
    checks.refuse(
        plan.paged_optimizer,
        Field::PagedOptimizer.path(),
        || "what pages of the optimizer do beside an engine is not known".to_owned(),
        || "choose --trainer-offload optimizer".to_owned(),
    );
    let (devices, field) = match engine.layout {
        RolloutLayout::Colocated => (scenario.devices(), Field::RolloutTensor),
        RolloutLayout::Split => (engine.devices, Field::RolloutDevices),
    };
    checks.refuse(
        devices > 0 && !devices.is_multiple_of(engine.tensor),
        field.path(),
        || format!("engines of {} devices do not fill the {devices}", engine.tensor),
        || format!("choose --rollout-tp {}", nearest_divisor(devices, engine.tensor)),
    );
    checks.refuse(
        model.kinds().any(|(kind, _)| kind.mixer.attends() && model.heads(kind.mixer).queries % engine.tensor != 0),
        Field::RolloutTensor.path(),
        || format!("{} heads do not divide among the {} devices of an engine", model.heads, engine.tensor),
        || format!("choose {}", nearest_divisor(model.heads, engine.tensor)),
    );
}

/// The largest divisor of a count that is at most so much.
fn nearest_divisor(count: u32, most: u32) -> u32 {
    (1..=most.min(count)).rev().find(|one| count.is_multiple_of(*one)).unwrap_or(1)
}

fn named(scenario: &Scenario, role: BesideRole, beside: &BesideModel, is_passed: bool, checks: &mut Checks) {
    checks.refuse(
        is_passed && *beside == BesideModel::AdaptersOff && !scenario.plan.tuning.freezes(),
        role.field().path(),
        || "there are no adapters to switch off".to_owned(),
        || "choose resident, or train lora or qlora".to_owned(),
    );
    if let BesideModel::Other(OtherModel { id, model: None }) = beside {
        let unknown = || format!("model '{id}' is not looked up where only a value changes");
        checks.refuse(is_passed, role.field().path(), unknown, || "name it in the scenario".to_owned());
    }
}

/// What is wrong with the models beside the trained one on the same devices, by the field that says which they are.
pub(super) fn models(scenario: &Scenario, checks: &mut Checks) {
    let critic = scenario.critic().map(|critic| (BesideRole::Critic, critic));
    let passed = scenario.beside().into_iter().map(|ModelBeside { role, scenario, .. }| (role, scenario));
    for (role, beside) in passed.chain(critic) {
        let wrong = super::problems(&beside).into_iter().map(|Problem { field, what, fix }| {
            let is_extent = Field::WeightsOver.path_in_full() == field;
            let field = if is_extent { role.extent() } else { role.field() };
            Problem { field: field.path().to_owned(), what: format!("{role}: {what}"), fix }
        });
        checks.0.extend(wrong);
    }
}
