//! Bytes of activations: what forward keeps for backward, what backward works in.

use crate::plan::Recompute;

use super::rates::Rates;

/// Activation bytes of one rank and one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Activations {
    /// Kept by a layer that is computed again from its input.
    pub checkpoint: f64,
    /// Kept by a layer that is not.
    pub layer: f64,
    /// Everything that a layer's backward reads, whatever was kept.
    pub whole: f64,
    /// What a layer's backward needs beside it: gradients of the widest intermediates.
    pub working: f64,
    /// Logits and loss at their worst moment.
    pub logits: f64,
    /// The embedding's output.
    pub embedding: f64,
    /// A layer's attention and its MLP by themselves.
    pub halves: [HalfActivations; 2],
}

/// Activation bytes of half a layer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HalfActivations {
    /// Kept by a half that is not computed again from the layer's input.
    pub kept: f64,
    /// Everything that its backward reads.
    pub whole: f64,
    /// What its backward needs beside it.
    pub working: f64,
}

impl Rates<'_> {
    /// Activations per layer: in units of the storage format, per token,
    /// norm inputs `2 h`, attention input `h`, query, key and value, attention output, MLP input `h`,
    /// MLP intermediates (`2 f`, with a gate `3 f`: both halves and their product), with dropout one
    /// byte each for two masks of width `h` ([fsdp A2]: 34 h bytes for `f = 4 h`, 16 h elements and
    /// 2 h mask bytes), and for plain attention the scores: two elements and a mask byte each, the
    /// `5 a s` of Korthikanti et al. (arXiv 2205.05198, eq. 1). Tensor parallelism with sequence
    /// parallelism divides all of it.
    pub fn activations(&self) -> Activations {
        let (model, plan, stack) = (&self.scenario.model, &self.scenario.plan, &self.scenario.stack);
        let (storage, tensor) = (self.storage(), f64::from(plan.tensor));
        let tokens = self.tokens();
        let hidden = f64::from(model.hidden);
        let ffn = f64::from(model.ffn_hidden) * model.active_experts() as f64;
        let qkv = (model.attention_width() + 2 * model.kv_width()) as f64;
        let elements = 4.0 * hidden + qkv + model.attention_width() as f64 + if model.gated { 3.0 } else { 2.0 } * ffn;
        let masks = if stack.dropout { 2.0 * hidden } else { 0.0 };
        let linear = tokens * (elements * storage + masks) / tensor;
        let scores = self.scores(tokens);
        let layer = match plan.recompute {
            Recompute::Selective => linear,
            _ => linear + scores,
        };
        let vocab = f64::from(model.vocab) / tensor;
        let half = |width: f64, scores: f64, working: f64| {
            let linear = tokens * ((2.0 * hidden + width) * storage + masks / 2.0) / tensor;
            let kept = if plan.recompute == Recompute::Selective { linear } else { linear + scores };
            HalfActivations { kept, whole: linear + scores, working: tokens * (hidden + working) * storage / tensor }
        };
        let up = model.up().output as f64 * model.active_experts() as f64;
        let mlp = if model.gated { 3.0 } else { 2.0 } * ffn;
        Activations {
            halves: [half(qkv + model.attention_width() as f64, scores, qkv), half(mlp, 0.0, up)],
            checkpoint: tokens * hidden * storage / tensor,
            layer,
            whole: linear + scores,
            working: tokens * (hidden + model.up().output as f64 * model.active_experts() as f64) * storage / tensor,
            logits: tokens * vocab * stack.loss.held,
            embedding: tokens * hidden * storage / tensor,
        }
    }

    fn scores(&self, tokens: f64) -> f64 {
        let (model, plan, stack) = (&self.scenario.model, &self.scenario.plan, &self.scenario.stack);
        if stack.attention.flash() {
            return 0.0;
        }
        let mask = if stack.dropout { 1.0 } else { 0.0 };
        let scores = tokens * f64::from(plan.sequence) * f64::from(model.heads) / f64::from(plan.tensor);
        scores * (2.0 * self.storage() + mask)
    }
}
