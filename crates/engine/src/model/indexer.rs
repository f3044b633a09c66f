//! Indexers, which choose the tokens that attention looks at.

use super::{AttentionWindow, Matrix};

use serde::{Deserialize, Serialize};

/// The indexer of sparse attention (DeepSeek-V3.2-Exp, `Indexer` in `inference/model.py`): narrow queries out of the
/// compressed ones, and out of the residual stream one key for all of them and a weight for each head, score all tokens
/// before. Attention looks at the best alone, with queries that are as wide as the compressed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indexer {
    /// Heads of its queries.
    pub heads: u32,
    /// Channels of a head, and of the key.
    pub head: u32,
    /// The most tokens that attention looks at.
    pub top_k: u32,
}

impl Indexer {
    /// Width of all heads together.
    pub(crate) fn width(self) -> u64 {
        u64::from(self.heads) * u64::from(self.head)
    }

    /// Share of a whole causal sequence's scores that attention computes: as of a window of as many tokens.
    pub(super) fn attended(self, sequence: u32) -> f64 {
        AttentionWindow { size: self.top_k, ..AttentionWindow::default() }.attended(sequence)
    }

    /// Its products: queries, key, and weights of heads.
    pub(super) fn matrices(self, hidden: u32, queries: u32) -> [Matrix; 3] {
        let of = |input: u32, output: u64| Matrix { input: input.into(), output };
        [of(queries, self.width()), of(hidden, self.head.into()), of(hidden, self.heads.into())]
    }
}
