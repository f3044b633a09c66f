//! What cannot be computed of a loss: chunks of one that has none, formats that its kernels do not have, and logits of answers where
//! nobody knows which tokens these are.

use crate::plan::{Logits, LossKind, Padding, PostMethod};

use super::{Checks, Field, Scenario};

pub(super) fn all(scenario: &Scenario, checks: &mut Checks) {
    let (plan, kind) = (&scenario.plan, scenario.loss());
    checks.refuse(
        plan.loss_chunk.is_some() && kind != LossKind::Chunked,
        Field::LossChunk.path(),
        || format!("a loss that is {kind} takes all tokens at once"),
        || "choose loss chunked, or leave it out".to_owned(),
    );
    let one_format = matches!(kind, LossKind::Fused | LossKind::VocabParallel);
    checks.refuse(
        plan.loss_format.is_some() && one_format,
        Field::LossFormat.path(),
        || format!("kernels of a loss that is {kind} read logits in 16 bits and compute in fp32"),
        || "choose loss chunked or whole, or leave it out".to_owned(),
    );
    answers(scenario, checks);
}

/// Logits of answers alone: a rank must know how many tokens have them.
fn answers(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let post = &plan.post_training;
    let longer = post.response_max.filter(|answer| *answer > plan.sequence);
    checks.refuse(
        longer.is_some(),
        Field::ResponseMax.path(),
        || format!("an answer of {} tokens is longer than its sequence of {}", longer.unwrap_or(0), plan.sequence),
        || format!("choose {} or less, or a longer --seq, which counts the prompt too", plan.sequence),
    );
    let mut refuse = |wrong: bool, what: &str, fix: &str| {
        let wrong = wrong && post.logits == Logits::Completions;
        checks.refuse(wrong, Field::Logits.path(), || what.to_owned(), || fix.to_owned());
    };
    refuse(
        post.method == PostMethod::Reward,
        "a reward model has a score in place of logits",
        "choose all, or another method",
    );
    refuse(
        plan.padding() == Padding::Packed,
        "how much of a packed sequence answers are is not known",
        "choose all, or padding fixed or longest",
    );
    refuse(
        plan.context > 1,
        "answers stand at the end of a sequence, of which context ranks have unlike parts of them",
        "choose all, or one context rank",
    );
    refuse(
        scenario.model.mtp_layers > 0,
        "no program has logits of answers alone beside layers that predict further tokens",
        "choose all, or --mtp-layers 0",
    );
}
