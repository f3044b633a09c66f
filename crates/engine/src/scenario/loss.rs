//! How a job computes its loss, by its plan or else by its stack. Not for what that costs ([`crate::cost`]).

use crate::plan::{Compile, KeptOfChunk, LossChunk, LossFormat, LossKind};

use super::Scenario;

/// Parts of a micro-batch whose logits are there at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossChunks {
    /// Tokens of each.
    pub tokens: f64,
    /// How many there are; a last one that is not full counts as the part that it is.
    pub count: f64,
    /// What forward leaves of each.
    pub kept: KeptOfChunk,
}

impl Scenario {
    /// The kind of its loss: the plan's, or else that of its stack.
    pub fn loss(&self) -> LossKind {
        match self.plan.loss {
            LossKind::Stack => self.stack_loss(),
            own => own,
        }
    }

    /// The kind that the stack computes where it is not told. Tensor ranks each have a part of the vocabulary.
    pub(crate) fn stack_loss(&self) -> LossKind {
        let is_compiled = self.plan.compile == Compile::On && self.stack.loss_compiled.is_some();
        match self.stack.loss_kind {
            Some(LossKind::Chunked) => LossKind::Chunked,
            _ if is_compiled => LossKind::Fused,
            None | Some(LossKind::Stack | LossKind::Whole) if self.plan.tensor > 1 => LossKind::VocabParallel,
            None | Some(LossKind::Stack) => LossKind::Whole,
            Some(own) => own,
        }
    }

    /// Tensor ranks that divide the logits: all, unless each has the whole vocabulary.
    pub(crate) fn loss_ranks(&self) -> u32 {
        if self.loss() == LossKind::Whole { 1 } else { self.plan.tensor }
    }

    /// Weights of the logits that a token of a sequence lacks in the mean: all of them where it has none.
    pub fn unmet_logits(&self) -> f64 {
        let share = f64::from(self.plan.tokens_with_logits()) / f64::from(self.plan.sequence);
        self.model.logits_weights() as f64 * (1.0 - share)
    }

    /// The chunks of `tokens` with logits on a rank; `None` where their logits are there all at once.
    pub fn loss_chunks(&self, tokens: f64) -> Option<LossChunks> {
        if self.loss() != LossKind::Chunked {
            return None;
        }
        let own = self.stack.loss_chunk.unwrap_or(LossChunk::AsInputs);
        let rule = self.plan.loss_chunk.map_or(own, LossChunk::Tokens);
        let of_chunk = rule.tokens(tokens, self.model.vocab, self.model.hidden);
        Some(LossChunks { tokens: of_chunk, count: tokens / of_chunk, kept: self.stack.kept_chunks })
    }

    /// Whether the head multiplies in fp32 beside weights of fewer bits, on a copy of its own.
    pub(crate) fn copies_head(&self) -> bool {
        self.plan.loss_format == Some(LossFormat::Fp32) && self.plan.precision.storage().bytes() < 4.0
    }

    /// Whether backward computes the logits again.
    pub fn repeats_logits(&self) -> bool {
        !self.model.scores
            && self.model.vocab > 0
            && self.loss() == LossKind::Chunked
            && self.stack.kept_chunks == KeptOfChunk::Nothing
    }
}
