//! The work of an indexer: what it takes to choose the tokens that attention looks at, and to learn to (DeepSeek-V3.2-Exp;
//! Megatron-LM, `megatron/core/transformer/experimental_attention_variant/dsa.py`).

use crate::model::{Indexer, LayerKind, Model};
use crate::plan::pass::PerDirection;
use crate::units::{Bytes, Count, Flop};

use super::attention::KernelWork;
use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// Share of all pairs of tokens that are causal.
const CAUSAL: f64 = 0.5;

/// Bytes of a score, in fp32.
const SCORE: Bytes = Bytes::new(4.0);

/// Accesses to a score: the indexer writes it, and the choice of the best reads it.
const SCORE_ACCESSES: f64 = 2.0;

/// Elements of bf16 that the number of a chosen token takes.
const CHOSEN: f64 = 2.0;

impl Indexer {
    /// Flop of one of its products for a pair of tokens: a query of each head by a key.
    fn pair(self) -> f64 {
        2.0 * self.width() as f64
    }

    /// Elements that a token keeps for backward: queries, the key before its norm and behind it, weights of heads, and the
    /// chosen tokens.
    pub(super) fn kept(self, sequence: u32) -> Count {
        let numbers = self.width() as f64 + 2.0 * f64::from(self.head) + f64::from(self.heads);
        Count::new(numbers + CHOSEN * f64::from(self.top_k.min(sequence)))
    }
}

/// Flop of a token in all indexers, forward and backward, that no schedule saves: a weight has one product forward and one
/// for its gradient, since what they read is detached, and each token before has a score. A frozen layer has no gradient.
pub(super) fn indexer_flop(model: &Model, sequence: u32) -> Flop {
    if model.indexer.is_none() {
        return Flop::ZERO;
    }
    Flop::new(model.over_layers(|kind| {
        let Some(attention) = model.attention(kind.mixer) else { return 0.0 };
        let scores = attention.indexer.map_or(0.0, |(own, _)| own.pair() * f64::from(sequence) * CAUSAL);
        let products = if kind.frozen { 2.0 } else { 4.0 };
        products * attention.indexer_weights() as f64 + scores
    }))
}

impl Rates<'_> {
    /// Flop and bytes of the indexer of a layer of a kind, where it has one. Tensor ranks each have the whole of it (its
    /// products are `duplicated`), and a context rank has its share of the queries. Forward computes the scores of all
    /// tokens before and, of those chosen, what attention's heads make of them, which it learns to match. Backward scores
    /// these again and has two gradients of each.
    pub(super) fn indexer_work(&self, kind: LayerKind, sequences: u32) -> Option<PerDirection<KernelWork>> {
        let (attention, plan) = (self.scenario.model.attention(kind.mixer)?, &self.scenario.plan);
        let (indexer, latent) = attention.indexer?;
        let sequence = f64::from(plan.sequence);
        let rows = f64::from(sequences) * sequence / f64::from(plan.context);
        let weights = rows * 2.0 * attention.indexer_weights() as f64;
        let scored = self.slowest_rows(sequences).get() * sequence * CAUSAL;
        let chosen = scored * attention.attended(plan.sequence);
        let heads = f64::from(attention.heads.queries) / f64::from(plan.tensor);
        let target = 2.0 * heads * (f64::from(latent.key_value) + f64::from(latent.rotary));
        Some(PerDirection {
            forward: KernelWork {
                flop: Flop::new(weights + scored * indexer.pair() + chosen * target),
                bytes: SCORE * (SCORE_ACCESSES * scored),
            },
            backward: KernelWork {
                flop: Flop::new(weights + chosen * 3.0 * indexer.pair()),
                bytes: SCORE * (SCORE_ACCESSES * chosen),
            },
        })
    }

    /// Time of that work: the slower of the arithmetic, at the rate of large products in the format of linear layers, as its
    /// source has it, and of memory.
    pub(super) fn indexer(&self, kind: LayerKind, sequences: u32) -> PassTimes {
        let time =
            |KernelWork { flop, bytes }: KernelWork| DeviceTime::roofline(flop / self.matmul, bytes / self.memory);
        self.indexer_work(kind, sequences).map_or_else(PassTimes::default, |PerDirection { forward, backward }| {
            PassTimes::of_inputs(time(forward), time(backward))
        })
    }
}
