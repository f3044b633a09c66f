//! What can be wrong with operators that a plan places apart.

use crate::plan::{Operator, Placement};
use crate::scenario::Scenario;

use super::Checks;

/// The most slices of an operator.
const MOST_SLICES: u32 = 64;

/// Entries that name operators which the model has not, or cut them into slices that are not whole.
pub(super) fn named(scenario: &Scenario, checks: &mut Checks) {
    for (index, placement) in scenario.plan.operators.iter().enumerate() {
        let at = |field: &str| format!("plan.operators[{index}].{field}");
        layers(scenario, placement, &at("layers"), checks);
        ends(scenario, placement, &at("operator"), checks);
        slices(scenario, placement, &at("split"), checks);
    }
}

/// Extents that the cluster or the job has not.
pub(super) fn extents(scenario: &Scenario, group: u32, checks: &mut Checks) {
    for (index, placement) in scenario.plan.operators.iter().enumerate() {
        for (name, extent) in placement.extents.named() {
            let Some(extent) = extent else { continue };
            super::extent(scenario, group, &format!("plan.operators[{index}].extents.{name}"), extent, checks);
        }
    }
}

fn layers(scenario: &Scenario, placement: &Placement, field: &str, checks: &mut Checks) {
    let Some(layers) = placement.layers else { return };
    let model = &scenario.model;
    checks.refuse(
        layers.last >= model.layers,
        field,
        || format!("{} has the layers 0-{}, not {layers}", model.name, model.layers - 1),
        || format!("choose layers up to {}", model.layers - 1),
    );
    checks.refuse(
        matches!(placement.operator, Operator::Embedding | Operator::Head),
        field,
        || format!("the {} is in no layer", placement.operator),
        || "leave 'layers' out".to_owned(),
    );
}

fn ends(scenario: &Scenario, placement: &Placement, field: &str, checks: &mut Checks) {
    let model = &scenario.model;
    let end = matches!(placement.operator, Operator::Embedding | Operator::Head);
    checks.refuse(
        end && model.vocab == 0,
        field,
        || format!("{} is blocks only: it has no {}", model.name, placement.operator),
        || "choose attention, mlp, layer or all".to_owned(),
    );
    checks.refuse(
        placement.operator == Operator::Head && model.vocab > 0 && model.has_tied_logits(),
        field,
        || format!("the logits of {} reuse its embedding: they are placed together", model.name),
        || "write 'embedding'".to_owned(),
    );
}

fn slices(scenario: &Scenario, placement: &Placement, field: &str, checks: &mut Checks) {
    let (model, split) = (&scenario.model, placement.split);
    checks.refuse(
        split == 0 || split > MOST_SLICES,
        field,
        || format!("{split} is out of range"),
        || format!("choose 1 to {MOST_SLICES}"),
    );
    checks.refuse(
        split > 1 && matches!(placement.operator, Operator::Embedding | Operator::Head),
        field,
        || format!("the {} is not cut into slices", placement.operator),
        || "choose 1".to_owned(),
    );
    let cut = (2..=MOST_SLICES).contains(&split);
    let mlp = model.undivided_mlp(split).unwrap_or(model.ffn_hidden.into());
    let uneven = cut && !(u64::from(model.hidden).is_multiple_of(split.into()) && mlp.is_multiple_of(split.into()));
    checks.refuse(
        uneven,
        field,
        || format!("{split} does not divide the widths {} and {}", model.hidden, mlp),
        || "choose a power of two that divides both".to_owned(),
    );
}
