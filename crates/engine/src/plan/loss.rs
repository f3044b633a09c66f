//! How the head and its loss are computed. No costs.

use serde::{Deserialize, Serialize};

use super::choice::choice;

choice!(
    /// How the head's product and the loss behind it are computed.
    LossKind, "a loss" {
        /// As the stack computes it.
        Stack = "stack",
        /// Operator by operator on the logits of all tokens and of the whole vocabulary.
        Whole = "whole",
        /// The same where each tensor rank has a part of the vocabulary.
        VocabParallel = "vocab-parallel",
        /// One kernel each way on the logits of all tokens.
        Fused = "fused",
        /// Product and loss of some tokens at a time, so that there are never the logits of all.
        Chunked = "chunked",
    }
);

choice!(
    /// The format of the head's product and of the loss.
    LossFormat, "a format of the loss" {
        /// Both in fp32, on a copy of the head's weights.
        Fp32 = "fp32",
        /// Both in 16 bits.
        Bf16 = "bf16",
    }
);

/// Tokens whose head and loss a program computes at a time where it is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossChunk {
    /// So many.
    Tokens(u32),
    /// Those of a micro-batch in so many parts.
    Parts(u32),
    /// As many as have no more logits than all tokens have channels, in powers of two.
    AsInputs,
}

impl LossChunk {
    /// Tokens of a chunk of `tokens` of `hidden` channels before a head of `vocab` rows.
    ///
    /// Of 8,192 tokens of 2,304 channels before 256,000 rows, 112 times as many, [`Self::AsInputs`] takes the power of two from
    /// 8,192 / 112 = 73.1 on, 128 (Liger-Kernel, `ops/fused_linear_cross_entropy.py`, `inc_factor` and `chunk_size`).
    pub fn tokens(self, tokens: f64, vocab: u32, hidden: u32) -> f64 {
        match self {
            Self::Tokens(own) => f64::from(own).min(tokens),
            Self::Parts(parts) => tokens / f64::from(parts.max(1)),
            Self::AsInputs => {
                let times = f64::from(vocab.div_ceil(hidden.max(1)).max(1));
                let doublings = libm::ceil(libm::log2((tokens / times).max(1.0)));
                libm::exp2(doublings).min(tokens)
            }
        }
    }
}

/// What forward of a loss in chunks leaves of each for backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeptOfChunk {
    /// Its logits, whose gradients take as much room.
    Logits,
    /// The gradient of its input, which is computed at once with that of the weights.
    Gradients,
    /// Nothing: backward computes its logits again.
    #[default]
    Nothing,
}
