//! Context ranks that no program has.

use crate::model::Mixer;
use crate::plan::{ContextKind, Plan};
use crate::units::greatest_common_divisor;

use super::super::Scenario;
use super::super::field::Field;
use super::Checks;

/// Mixers with a state, whose heads tensor and context ranks share for the whole sequence.
fn states(scenario: &Scenario, checks: &mut Checks) {
    let (Plan { tensor, context, .. }, model) = (&scenario.plan, &scenario.model);
    if *context == 1 {
        return;
    }
    let Some(recurrent) = model.recurrent() else { return };
    let kept_together = recurrent.exchanged().err();
    checks.refuse(
        kept_together.is_some(),
        Field::Context.path(),
        || format!("{}, which no program gives to context ranks by heads", kept_together.unwrap_or_default()),
        || "choose 1".to_owned(),
    );
    let (heads, of) = recurrent.groups();
    checks.refuse(
        !heads.is_multiple_of(tensor.saturating_mul(*context)),
        Field::Context.path(),
        || format!("tensor {tensor} x context {context} does not divide the {heads} {of}"),
        || format!("choose {}", greatest_common_divisor(heads / tensor, *context)),
    );
}

/// Context parallelism that no program has: ranks that do not divide the sequence or the heads, and states that would pass from
/// rank to rank.
pub(super) fn context(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    checks.refuse(
        !plan.sequence.is_multiple_of(plan.context),
        Field::Context.path(),
        || format!("{} ranks do not divide a sequence of {}", plan.context, plan.sequence),
        || "choose a size that divides the sequence".to_owned(),
    );
    states(scenario, checks);
    let kind = scenario.context_kind();
    let count = plan.context_heads.unwrap_or(1);
    let divides = count > 0 && plan.context.is_multiple_of(count);
    checks.refuse(
        kind == ContextKind::Usp && !divides,
        Field::ContextHeads.path(),
        || format!("{count} ranks that exchange heads do not divide the {} context ranks", plan.context),
        || format!("choose {}", greatest_common_divisor(plan.context, count.max(1))),
    );
    let heads = if divides { scenario.context_mesh().heads } else { 1 };
    if heads == 1 {
        return;
    }
    let field = if kind == ContextKind::Usp { Field::ContextHeads } else { Field::ContextKind };
    checks.refuse(
        model.indexer.is_some(),
        field.path(),
        || format!("{} has an indexer, which scores all tokens on each rank", model.name),
        || "choose ring, zigzag or all-gather".to_owned(),
    );
    let queries = |mixer: Mixer| model.heads(mixer).queries / plan.tensor.max(1);
    let shares = |mixer: &Mixer, ranks: u32| {
        let keys = scenario.keys(*mixer);
        let even = keys.is_multiple_of(ranks) || ranks.is_multiple_of(keys);
        queries(*mixer).is_multiple_of(ranks) && (even || scenario.stack.repeats_keys)
    };
    let wrong = scenario.attending().find(|mixer| !shares(mixer, heads));
    checks.refuse(
        wrong.is_some(),
        field.path(),
        || {
            let mixer = wrong.unwrap_or_default();
            let (queries, keys) = (queries(mixer), scenario.keys(mixer));
            format!("{heads} ranks do not share the {queries} heads and {keys} key heads of a tensor rank")
        },
        || {
            let right = |ranks: &u32| {
                plan.context.is_multiple_of(*ranks) && scenario.attending().all(|mixer| shares(&mixer, *ranks))
            };
            let most = (1..heads).rev().find(right).unwrap_or(1);
            let usp = if most > 1 { format!(", or kind usp with {most} that exchange heads") } else { String::new() };
            format!("choose zigzag or all-gather{usp}")
        },
    );
}
