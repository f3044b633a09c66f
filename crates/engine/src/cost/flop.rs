//! Arithmetic of a token, by convention.

use crate::model::{LayerKind, LayerPart, Recurrence};
use crate::plan::{FlopCount, Recompute};
use crate::scenario::{Differentiated, Scenario};
use crate::units::Flop;

use super::adapters::active_adapters;
use super::indexer::indexer_flop;
use super::recurrence::chunked_flop;
use super::repeats::Repeats;

/// Flop of one token of a plan, forward and backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenFlop {
    /// Model flop, as the plan counts them: the numerator of MFU.
    pub model: Flop,
    /// Recompute of backward, which HFU counts too.
    pub recomputed: Flop,
    /// Forwards of models beside the one that is trained, which HFU counts too.
    pub beside: Flop,
    /// Flop that no schedule saves: matrix products, attention (the causal half, where the kernel skips the other),
    /// recompute and models beside.
    pub executed: Flop,
}

impl TokenFlop {
    /// The flop of a scenario's model and plan.
    pub fn new(scenario: &Scenario) -> Self {
        let Scenario { model, plan, .. } = scenario;
        let (counted, attended) = (scenario.counted_parameters(), scenario.counted_attention());
        let square = if model.causal && scenario.attention().flash() { 0.5 } else { 1.0 };
        let matrices = flop_per_weight(scenario) * model.matrix_parameters() as f64 + adapters_flop(scenario);
        let attention = (model.attention_flop(plan.attended_sequence()) * square + chunked_flop(model)) * 3.0;
        let (saved, executed) =
            (frozen_flop(scenario), Unpassed::new(scenario, square, |recurrence| recurrence.chunked_flop()));
        let again = Unpassed::new(scenario, attended, |recurrence| recurrence.flop()).recomputed;
        let weights = if freezes(scenario) { scenario.frozen_flop(true) } else { 0.0 };
        let logits = logits_again(scenario) + tiled_again(scenario);
        let unneeded = executed.mixers + executed.recomputed + Flop::new(weights);
        let [beside, executed_beside] = passed_beside(scenario);
        let unmet = unmet_logits_flop(scenario);
        Self {
            model: model.flop_per_token(flop_per_weight(scenario), counted, plan.attended_sequence(), attended)
                + adapters_flop(scenario)
                - saved
                - unmet,
            recomputed: recomputed(scenario, attended, model.recurrence_flop()) - again + logits,
            beside,
            executed: executed_beside
                + matrices
                + attention
                + indexer_flop(model, plan.sequence)
                + recomputed(scenario, square, chunked_flop(model))
                + logits
                - unneeded
                - unmet,
        }
    }
}

/// Flop of logits that backward computes again, with those of further tokens.
fn logits_again(scenario: &Scenario) -> Flop {
    let model = &scenario.model;
    if !scenario.repeats_logits() {
        return Flop::ZERO;
    }
    let met = model.logits_weights() as f64 * f64::from(1 + model.mtp_layers) - scenario.unmet_logits();
    Flop::new(2.0 * met)
}

/// Flop of a token, forward and backward, in logits that tokens of prompts lack, in the mean.
pub fn unmet_logits_flop(scenario: &Scenario) -> Flop {
    Flop::new(scenario.differentiated_logits().flop_per_weight() * scenario.unmet_logits())
}

/// Flop of a token in MLPs that backward computes again tile by tile: 2 for each weight.
fn tiled_again(scenario: &Scenario) -> Flop {
    let Scenario { model, plan, .. } = scenario;
    let of_mlp = |kind: LayerKind| {
        let matrices = model.matrices(kind).filter(|one| one.part != LayerPart::Mixer);
        matrices.map(|one| one.active_weights() as f64).sum::<f64>()
    };
    let again = |kind: LayerKind| {
        let is_tiled = plan.mlp_tiles_in(kind) > 1 && scenario.differentiated(kind) != Differentiated::Nothing;
        if is_tiled { 2.0 * of_mlp(kind) } else { 0.0 }
    };
    Flop::new(model.over_layers(again))
}

/// Flop of a token in forwards of models beside the trained one: 2 for a weight that it meets, and attention once. As the plan
/// counts them, and as no schedule saves them.
fn passed_beside(scenario: &Scenario) -> [Flop; 2] {
    scenario.passed_in_step().iter().fold([Flop::ZERO; 2], |[counted, executed], model| {
        let (forwards, beside) = (f64::from(model.forwards), &model.scenario);
        let Scenario { model, plan, .. } = beside;
        let passed = |weights: u64, square: f64, recurrence: Flop| {
            (Flop::new(2.0 * (weights as f64 - beside.unmet_logits()))
                + model.attention_flop(plan.attended_sequence()) * square
                + recurrence)
                * forwards
        };
        let square = if model.causal && beside.attention().flash() { 0.5 } else { 1.0 };
        [
            counted + passed(beside.counted_parameters(), beside.counted_attention(), model.recurrence_flop()),
            executed + passed(model.matrix_parameters(), square, chunked_flop(model)),
        ]
    })
}

/// Model flop of a token that frozen parts save, adapters apart: 2 for each gradient that a counted parameter lacks, and
/// backward of attention, or of the mixer in its place, in layers that backward does not reach.
pub fn frozen_flop(scenario: &Scenario) -> Flop {
    if !freezes(scenario) {
        return Flop::ZERO;
    }
    let matrices = scenario.plan.flop_count != FlopCount::Parameters;
    let Unpassed { mixers, .. } = Unpassed::new(scenario, scenario.counted_attention(), |recurrence| recurrence.flop());
    Flop::new(scenario.frozen_flop(matrices)) + mixers
}

/// Whether parts of the model stay as they are, adapters apart.
fn freezes(scenario: &Scenario) -> bool {
    scenario.trains_part() && !scenario.plan.tuning.freezes()
}

/// Flop of a token that layers which backward does not reach would take there.
struct Unpassed {
    /// Attention and the mixers in its place.
    mixers: Flop,
    /// Recompute of such layers.
    recomputed: Flop,
}

impl Unpassed {
    /// Where a share of attention's square counts, and a mixer in its place takes some flop forward.
    fn new(scenario: &Scenario, square: f64, recurrence: fn(&dyn Recurrence) -> Flop) -> Self {
        let (model, plan) = (&scenario.model, &scenario.plan);
        let unreached = scenario.unreached_layers();
        if unreached == 0 {
            return Self { mixers: Flop::ZERO, recomputed: Flop::ZERO };
        }
        let only = |frozen: bool, of: &dyn Fn(LayerKind) -> f64| {
            Flop::new(model.over_layers(|kind| if kind.frozen == frozen { of(kind) } else { 0.0 }))
        };
        let over = |of: &dyn Fn(LayerKind) -> f64| only(true, of);
        let example = plan.attended_sequence();
        let core = |kind| 4.0 * model.attended_width(kind, example) * f64::from(example) * square;
        let once = |kind| core(kind) + model.recurrence(kind).map_or(0.0, |own| recurrence(own).get());
        let recomputed = if plan.recompute == Recompute::Selective {
            over(&|kind| {
                let repeats = Repeats::new(scenario, kind);
                core(kind) * repeats.core.get() + 2.0 * repeats.weights(model, kind)
            })
        } else {
            // The first layers are those that would be computed again: of those that backward reaches, what is left of the
            // share is. In a hybrid the first ones are not like the mean of all.
            let [all, unreached] = [model.all_layers(), unreached].map(f64::from);
            let left = (plan.recompute.layers() * all - unreached).max(0.0) / (all - unreached).max(1.0);
            let forward = |kind| 2.0 * model.active_weights(kind) as f64 + once(kind);
            let every = Flop::new(model.over_recurrences(|own| recurrence(own).get()));
            recomputed(scenario, square, every) - only(false, &forward) * left
        };
        Self { mixers: over(&|kind| 2.0 * once(kind)), recomputed }
    }
}

/// Flop of a token for each weight that it meets, forward and backward: 2 forward and 2 for each gradient, of which a
/// frozen weight has that of its input alone.
pub fn flop_per_weight(scenario: &Scenario) -> Flop {
    Flop::new(if scenario.plan.tuning.freezes() { 4.0 } else { 6.0 })
}

/// Flop of a token in adapters, forward and backward.
pub fn adapters_flop(scenario: &Scenario) -> Flop {
    if !scenario.plan.tuning.freezes() {
        return Flop::ZERO;
    }
    Flop::new(6.0 * active_adapters(scenario).get())
}

/// Flop of a token in the layers' matrices alone, forward and backward [layered B5]: `(6 + 2 r) p`, 8 where all layers
/// are computed again.
pub(crate) fn layers_flop(scenario: &Scenario) -> Flop {
    let again = scenario.plan.recompute.layers();
    Flop::new((6.0 + 2.0 * again) * scenario.model.layers_matrix_parameters() as f64)
}

/// Flop of a token that backward spends on computing forward again: a third of the layers' model flop where whole
/// layers are, its shares of it where recompute is selective. `square` is the share of the attention core that
/// counts, `recurrence` the flop of the mixers in its place.
fn recomputed(scenario: &Scenario, square: f64, recurrence: Flop) -> Flop {
    let (model, plan) = (&scenario.model, &scenario.plan);
    if plan.recompute == Recompute::None {
        return Flop::ZERO;
    }
    let core = model.attention_flop(plan.attended_sequence()) * square;
    if plan.recompute != Recompute::Selective {
        return (Flop::new(2.0 * model.layers_matrix_parameters() as f64) + core + recurrence)
            * plan.recompute.layers();
    }
    let repeats = |kind| Repeats::new(scenario, kind);
    // The core's share is that of every kind of layer.
    let share = model.kinds().map(|(kind, _)| repeats(kind).core.get()).fold(0.0, f64::max);
    core * share + Flop::new(2.0 * model.over_layers(|kind| repeats(kind).weights(model, kind)))
}
