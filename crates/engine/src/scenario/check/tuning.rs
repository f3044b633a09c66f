//! What can be wrong with adapters and frozen parts, and with a length of training in examples.

use crate::plan::{Accumulation, Format, FrozenEnds, FrozenFormat, LoraTarget, Optimizer};

use super::super::Scenario;
use super::super::field::Field;
use super::Checks;

/// The length of the training: said once, and examples that fit their sequences.
pub(super) fn examples(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    checks.refuse(
        plan.tokens.is_some() && plan.examples.is_some(),
        Field::Examples.path(),
        || "tokens say the length of the training too".to_owned(),
        || "leave one of them out".to_owned(),
    );
    let long = plan.packing.filter(|length| *length > plan.sequence);
    checks.refuse(
        long.is_some(),
        Field::Packing.path(),
        || format!("a mean of {} tokens is longer than a sequence of {}", long.unwrap_or_default(), plan.sequence),
        || "choose a longer sequence, or a smaller mean".to_owned(),
    );
}

/// Examples of a sequence that are kept apart: by kernels that leave pairs of tokens out, and of which all of a layer's work is
/// known.
pub(super) fn examples_apart(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    let (field, off) = (Field::ExamplesApart.path(), || "choose off".to_owned());
    checks.refuse(
        plan.examples_apart && !scenario.attention().flash(),
        field,
        || "plain attention computes the scores of all examples together".to_owned(),
        || "choose off, or --attention-kernel flash2".to_owned(),
    );
    checks.refuse(
        plan.examples_apart && model.indexer.is_some(),
        field,
        || format!("the indexer of {} scores all keys of a sequence", model.name),
        off,
    );
}

/// Pages of an optimizer's state: of one that any tool keeps in pages, in a step without stages, whose ranks fill alike.
pub(super) fn pages(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let field = Field::PagedOptimizer.path();
    checks.refuse(
        plan.paged_optimizer && plan.optimizer == Optimizer::Muon,
        field,
        || "no tool keeps Muon's state in pages".to_owned(),
        || "choose off, or another optimizer".to_owned(),
    );
    checks.refuse(
        plan.paged_optimizer && plan.staged(),
        field,
        || "what pages cost where stages pass, whose ranks fill unlike, is not known".to_owned(),
        || "choose off, or pp 1 and standard accumulation".to_owned(),
    );
}

/// Adapters: beside matrices that the model has, each once, and without what is known of full training alone.
pub(super) fn adapters(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    if !plan.tuning.freezes() {
        return;
    }
    let narrow = model.experts.is_some_and(|experts| experts.latent.is_some());
    checks.refuse(
        model.recurrent().is_some() || model.output_gate || narrow,
        Field::Train.path(),
        || format!("what adapters beside the gates of {} cost is not known", model.name),
        || "choose full".to_owned(),
    );
    checks.refuse(
        model.indexer.is_some(),
        Field::Train.path(),
        || format!("what adapters beside the indexer of {} cost is not known", model.name),
        || "choose full".to_owned(),
    );
    let cast = plan.tuning.frozen_format() == FrozenFormat::Fp32 && plan.precision.storage() != Format::Fp32;
    checks.refuse(
        cast && scenario.shares_weights(),
        Field::FrozenFormat.path(),
        || "ranks gather weights that they share in 16 bits: what they keep in 32 is not known".to_owned(),
        || "choose bf16, or a strategy that leaves weights whole, like zero1".to_owned(),
    );
    let targets = plan.tuning.targets;
    let has = |list: &[LoraTarget]| list.iter().any(|target| targets.has(*target));
    let fused = [
        (LoraTarget::QueryKeyValue, &[LoraTarget::Query, LoraTarget::Key, LoraTarget::Value][..]),
        (LoraTarget::GateUp, &[LoraTarget::Gate, LoraTarget::Up][..]),
    ];
    let twice = fused.iter().any(|(whole, parts)| targets.has(*whole) && has(parts));
    checks.refuse(
        twice,
        Field::LoraTargets.path(),
        || format!("{targets} names a matrix both alone and fused with others"),
        || "name each matrix once".to_owned(),
    );
    let only_gate = has(&[LoraTarget::Gate]) && (targets.to_string() == "gate") && !model.gated;
    checks.refuse(
        only_gate,
        Field::LoraTargets.path(),
        || format!("the MLP of {} has no gate", model.name),
        || "choose up, down, or all".to_owned(),
    );
    let inputs = [LoraTarget::Query, LoraTarget::Key, LoraTarget::Value].map(|target| targets.has(target));
    let apart = model.latent.is_some()
        && (targets.has(LoraTarget::QueryKeyValue) || inputs.contains(&true) && inputs.contains(&false));
    checks.refuse(
        apart,
        Field::LoraTargets.path(),
        || format!("the queries, keys and values of {} come out of compressed ones together", model.name),
        || "choose all, attention, or none of q, k and v".to_owned(),
    );
    checks.refuse(
        plan.optimizer == Optimizer::Muon,
        Field::Optimizer.path(),
        || "Muon on adapters is not modelled".to_owned(),
        || "choose adam or adam8bit".to_owned(),
    );
    checks.refuse(
        !plan.operators.is_empty(),
        Field::Train.path(),
        || "operators that are placed one by one are counted with all their parameters trained".to_owned(),
        || "choose full, or leave the placements of operators out".to_owned(),
    );
    checks.refuse(
        plan.sharding.wire.weights.quantised(),
        Field::Qwz.path(),
        || "frozen weights are gathered in their own format".to_owned(),
        || "choose off, and a frozen format".to_owned(),
    );
}

/// Frozen layers and ends: some parameter is trained, and what is known of them is the whole model on each device's ranks.
pub(super) fn frozen(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    let layers = model.frozen_layers;
    checks.refuse(
        layers > model.layers,
        Field::FrozenLayers.path(),
        || format!("{} has {} layers, of which {layers} cannot be frozen", model.name, model.layers),
        || format!("choose at most {}", model.layers),
    );
    let said = plan.tuning.ends.is_some_and(|ends| ends != FrozenEnds::None);
    let field = if layers > 0 { Field::FrozenLayers } else { Field::FrozenEnds };
    checks.refuse(
        plan.tuning.freezes() && (layers > 0 || said),
        field.path(),
        || "adapters lie in every layer, and leave all else as it is".to_owned(),
        || "leave it out, or choose train full".to_owned(),
    );
    if plan.tuning.freezes() {
        return;
    }
    checks.refuse(
        scenario.trains_part() && layers <= model.layers && scenario.trained_in_full() == 0,
        field.path(),
        || format!("nothing of {} is trained", model.name),
        || "leave some layers, the embedding or the head free".to_owned(),
    );
    checks.refuse(
        layers > 0 && (plan.pipeline > 1 || plan.accumulation == Accumulation::Layered),
        Field::FrozenLayers.path(),
        || "no program is known whose stages below the first trained layer have no backward".to_owned(),
        || "choose pp 1 and accumulation standard, or 0".to_owned(),
    );
    checks.refuse(
        scenario.trains_part() && !plan.operators.is_empty(),
        field.path(),
        || "operators that are placed one by one are counted with all their parameters trained".to_owned(),
        || "train all of them, or leave the placements of operators out".to_owned(),
    );
}
