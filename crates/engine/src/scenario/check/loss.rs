//! What cannot be computed of a loss: chunks of one that has none, and formats that its kernels do not have.

use crate::plan::LossKind;

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
}
