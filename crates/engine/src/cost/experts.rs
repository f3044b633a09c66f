//! The tokens that come to a rank's experts, and the exchanges that bring them there and back. Not for the experts'
//! arithmetic ([`super::layer`]).
//!
//! Of `T` tokens on each of `n` ranks, each of which visits `k` of `E` experts, an all-to-all sends `T k (n - 1) / n` copies
//! (Megatron-LM, `megatron/core/transformer/moe/token_dispatcher.py`, `MoEAlltoAllTokenDispatcher`). Libraries that forward
//! inside a node send one copy to each node and, from there, one to each rank: of `N` nodes with `e` experts each, a token
//! reaches `N (1 - C(E - e, k) / C(E, k))` of them (`DeepEP`, `tests/test_internode.py`, which counts distinct nodes). Either way
//! a rank sends to all others at once.

use std::ops::Range;

use crate::hardware::MAX_LEVELS;
use crate::model::{Experts, LayerKind};
use crate::plan::Format;
use crate::scenario::Layout;
use crate::units::{Bytes, Count, Seconds};

use super::collective::{Payload, Transfer};
use super::rates::Rates;

/// The exchanges of one layer's tokens with its experts, for each micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ExpertTransfers {
    /// Tokens to their experts; in backward the gradients of experts' inputs back.
    pub dispatch: Transfer,
    /// Experts' outputs back to their tokens; in backward the gradients of outputs to the experts.
    pub combine: Transfer,
}

impl Rates<'_> {
    /// Whether a layer's experts are divided over other ranks than the rest of it.
    pub(crate) fn experts_apart(&self, kind: LayerKind) -> bool {
        kind.has_experts() && self.experts.apart
    }

    /// Copies of tokens that a rank's experts take in, if tokens are spread evenly: one for each of the `active` experts
    /// that a token visits. Tensor ranks that share an expert take in one another's.
    pub(super) fn routed(&self, active: u64) -> Count {
        self.tokens() * (active as f64 * self.experts.tensor / f64::from(self.scenario.plan.tensor))
    }

    /// Copies of tokens for the experts of a layer of a kind; none where it has no experts.
    pub(super) fn dispatched(&self, kind: LayerKind) -> Count {
        let routed = self.scenario.model.mlps(kind).filter(|mlps| mlps.routed);
        routed.map(|mlps| self.routed(mlps.active)).sum()
    }

    /// The exchanges of a layer's tokens with its experts.
    pub(crate) fn expert_transfers(&self, layout: &Layout) -> ExpertTransfers {
        let Some(experts) = self.scenario.model.experts.filter(|_| self.experts.apart) else {
            return ExpertTransfers::default();
        };
        let format = self.scenario.plan.precision.storage();
        let way = self.dispatch(layout, &experts, format);
        // Tensor ranks that share experts gather what each of them received, and sum what they put out: as many bytes.
        let shared =
            self.routed(experts.active.into()) * self.experts.load * f64::from(self.scenario.model.routed_hidden());
        let shared = self.gather(Payload::plain(shared, format), layout.expert_tensor_group());
        ExpertTransfers { dispatch: way + shared, combine: way + shared }
    }

    /// Tokens to their experts in a format, or back.
    pub(crate) fn dispatch(&self, layout: &Layout, experts: &Experts, format: Format) -> Transfer {
        let (group, hidden) = (layout.expert_group(), f64::from(self.scenario.model.routed_hidden()));
        // Tensor ranks that share experts send their own tokens each.
        let tokens = self.tokens() * (self.experts.load / f64::from(self.scenario.plan.tensor));
        let copies = |each: f64| Payload::plain(tokens * (each * hidden), format);
        let whole = self.all_to_all(copies(experts.active.into()), group, false);
        if group.size < 2 {
            return whole;
        }
        let ring = self.network.ring(group);
        let inside = ring[..self.beyond_node].last().map_or(1, |span| span.members.max(1));
        let nodes = group.size / inside;
        let allowed = experts.active_groups.map_or(nodes, |groups| groups.min(nodes));
        // Of the copies for each node those for a rank's own stay; and so do those for the rank itself.
        let away = |places: u32| {
            let of_allowed = f64::from(allowed) / f64::from(nodes);
            let (open, count) = (f64::from(places) * of_allowed, f64::from(experts.count) * of_allowed);
            distinct(open, experts.active, count) * f64::from(places - 1) / f64::from(places)
        };
        let [between, within] = [nodes, group.size].map(|places| copies(away(places)).bytes());
        let forwards = self.scenario.plan.experts.dispatcher.forwards_in_node();
        // Ranks send to all others at once: a hop of each level, and no launch for each peer.
        let mut sent = Transfer { steps: self.calibrated.efficiency.collective_launch, ..whole };
        let crossed = |levels: Range<usize>| levels.filter(|level| whole.busy[*level] > Seconds::ZERO);
        for (levels, bytes) in [(0..self.beyond_node, within), (self.beyond_node..MAX_LEVELS, between)] {
            // Levels inside a node, or between nodes, share its copies as they share those of every expert.
            let all: Bytes = crossed(levels.clone()).map(|level| whole.bytes[level]).sum();
            let share = if forwards { bytes / all } else { 1.0 };
            for level in crossed(levels) {
                sent.steps += ring[level].latency;
                sent.busy[level] = whole.busy[level] * share;
                sent.bytes[level] = whole.bytes[level] * share;
            }
        }
        Transfer { time: sent.steps + sent.slowest(), received: sent.bytes.into_iter().sum(), ..sent }
    }
}

/// Places, of equal ones, that hold at least one of `active` experts drawn from `count` without repeats.
fn distinct(places: f64, active: u32, count: f64) -> f64 {
    let here = count / places;
    // C(E - e, k) / C(E, k), factor by factor.
    let missed = (0..active).map(f64::from).map(|drawn| ((count - here - drawn) / (count - drawn)).max(0.0));
    places * (1.0 - missed.product::<f64>())
}
