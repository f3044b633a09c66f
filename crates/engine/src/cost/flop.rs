//! Arithmetic of a token, by convention.

use crate::model::Model;
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::units::Flop;

use super::repeats::Repeats;

/// Flop of one token of a plan, forward and backward.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenFlop {
    /// Model flop, as the plan counts them: the numerator of MFU.
    pub model: Flop,
    /// Recompute of backward, which HFU counts too.
    pub recomputed: Flop,
    /// Flop that no schedule saves: matrix products, attention (the causal half, where the kernel skips the other) and
    /// recompute.
    pub executed: Flop,
}

impl TokenFlop {
    /// The flop of a scenario's model and plan.
    pub fn new(scenario: &Scenario) -> Self {
        let Scenario { model, plan, .. } = scenario;
        let (counted, attended) = (scenario.counted_parameters(), scenario.counted_attention());
        let square = if model.causal && scenario.attention().flash() { 0.5 } else { 1.0 };
        let matrices = Flop::new(6.0 * model.matrix_parameters() as f64);
        let attention = model.attention_flop(plan.sequence) * (3.0 * square);
        Self {
            model: model.flop_per_token(counted, plan.sequence, attended),
            recomputed: recomputed(scenario, attended),
            executed: matrices + attention + recomputed(scenario, square),
        }
    }
}

/// Flop of a token in the layers' matrices alone, forward and backward [layered B5]: `(6 + 2 r) p`, 8 where all layers
/// are computed again.
pub(crate) fn layers_flop(scenario: &Scenario) -> Flop {
    let again = scenario.plan.recompute.layers();
    Flop::new((6.0 + 2.0 * again) * layer_matrices(&scenario.model))
}

/// Parameters of the layers' matrices that a token meets: all but those of the logits.
fn layer_matrices(model: &Model) -> f64 {
    let logits = u64::from(model.vocab) * u64::from(model.hidden);
    (model.matrix_parameters() - logits) as f64
}

/// Flop of a token that backward spends on computing forward again: a third of the layers' model flop where whole
/// layers are, its shares of it where recompute is selective. `square` is the share of the attention core that
/// counts.
fn recomputed(scenario: &Scenario, square: f64) -> Flop {
    let (model, plan) = (&scenario.model, &scenario.plan);
    let core = model.attention_flop(plan.sequence) * square;
    if plan.recompute != Recompute::Selective {
        return (Flop::new(2.0 * layer_matrices(model)) + core) * plan.recompute.layers();
    }
    let repeats = |kind| Repeats::new(scenario, kind);
    // The core's share is that of every kind of layer.
    let share = model.kinds().map(|(kind, _)| repeats(kind).core).fold(0.0, f64::max);
    core * share + Flop::new(2.0 * model.over_layers(|kind| repeats(kind).weights(model, kind)))
}
