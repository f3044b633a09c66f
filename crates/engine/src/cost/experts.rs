//! The tokens that come to a rank's experts, and the exchanges that bring them there and back. Not for the experts'
//! arithmetic ([`super::layer`]).
//!
//! Of `T` tokens on each of `n` ranks, each of which visits `k` of `E` experts, an all-to-all sends `T k (n - 1) / n` copies
//! (Megatron-LM, `megatron/core/transformer/moe/token_dispatcher.py`, `MoEAlltoAllTokenDispatcher`). Libraries that forward
//! inside a node send one copy to each node and, from there, one to each other rank: of `N` nodes with `e` experts each, a token
//! reaches `N (1 - C(E - e, k) / C(E, k))` of them (`DeepEP`, `tests/test_internode.py`, which counts distinct nodes). Either way
//! a rank sends to all others at once. A node is what links of one rate join: a rack of 72 to `HybridEP`, which has a domain of
//! such links for its node (`num_of_hybrid_ep_ranks_per_nvlink_domain`).

use std::ops::Range;

use crate::hardware::MAX_LEVELS;
use crate::model::{Experts, LayerKind};
use crate::plan::pass::PerDirection;
use crate::plan::{DispatchFormats, Format};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Seconds, Share};

use super::collective::{Payload, Transfer};
use super::device_time::DeviceTime;
use super::rates::Rates;

/// The exchanges of one layer's tokens with its experts, for each micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExpertTransfers {
    /// Tokens to their experts; in backward the gradients of experts' inputs back.
    pub dispatch: PerDirection<Transfer>,
    /// Experts' outputs back to their tokens; in backward the gradients of outputs to the experts.
    pub combine: PerDirection<Transfer>,
}

/// Time of the casts around these exchanges, where tokens travel in fewer bits than are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ExchangeCasts {
    /// On the ranks that have the tokens.
    pub tokens: PerDirection<DeviceTime>,
    /// On the ranks that have their experts.
    pub experts: PerDirection<DeviceTime>,
}

impl Rates<'_> {
    /// Whether a layer's experts have a mesh of their own: are divided over other ranks than the rest of it.
    pub(crate) fn has_expert_mesh(&self, kind: LayerKind) -> bool {
        kind.has_experts() && self.experts.own_mesh
    }

    /// How much longer compute takes beside the exchanges of tokens with their experts, as a share.
    pub(crate) fn dispatch_slowing(&self) -> Share {
        let Scenario { calibration, plan, cluster, .. } = self.scenario;
        let kernels = calibration.dispatchers.get(&plan.experts.dispatcher);
        Share::new(kernels.map_or(0.0, |kernels| kernels.slowing(cluster.device.compute_units)))
    }

    /// Copies of tokens that a rank's experts take in, if tokens are spread evenly: one for each of the `active` experts
    /// that a token visits. Tensor ranks that share an expert take in one another's.
    pub(super) fn routed(&self, active: u64) -> Count {
        self.tokens() * (active as f64 * self.experts.tensor / f64::from(self.scenario.plan.tensor))
    }

    /// Copies of tokens for the experts of a layer of a kind; none where it has no experts.
    pub(super) fn dispatched(&self, kind: LayerKind) -> Count {
        let experts = self.scenario.model.experts_in(kind);
        experts.map_or(Count::ZERO, |experts| self.routed(experts.active.into()))
    }

    /// The exchanges of a layer's tokens with its experts.
    pub fn expert_transfers(&self, layout: &Layout) -> ExpertTransfers {
        let Some(experts) = self.scenario.model.experts.filter(|_| self.experts.own_mesh) else {
            return ExpertTransfers::default();
        };
        // Tensor ranks that share experts gather what each of them received, and sum what they put out: as many bytes.
        let received =
            self.routed(experts.active.into()) * self.experts.load * f64::from(self.scenario.model.routed_hidden());
        let way = |format: Format| {
            let shared = self.gather(exchanged(received, format), layout.expert_tensor_group());
            self.dispatch(layout, &experts, format) + shared
        };
        let DispatchFormats { dispatch, combine } = self.scenario.dispatch_formats();
        ExpertTransfers { dispatch: dispatch.map(way), combine: combine.map(way) }
    }

    /// The casts around the exchanges of a layer's tokens. A token is cast once before it is copied for its experts, and each
    /// copy where it is received; what experts put out, each copy on both sides. A cast reads the wider format and writes the
    /// narrower one, or the other way round. Products in 8 bits and fewer take what comes in 8 bits as it is: their own casts,
    /// which are in their efficiency, are then those of the sender.
    pub(super) fn exchange_casts(&self, kind: LayerKind) -> ExchangeCasts {
        let Scenario { model, plan, .. } = self.scenario;
        let Some(experts) = model.experts.filter(|_| self.has_expert_mesh(kind) && plan.experts.ranks > 1) else {
            return ExchangeCasts::default();
        };
        let (hidden, own) = (f64::from(model.routed_hidden()), self.tokens() / f64::from(plan.tensor));
        let routed = self.routed(experts.active.into()) * self.experts.load;
        let cast = |rows: Count, format: Format| {
            let bytes = exchanged(rows * hidden, format).bytes() + rows * hidden * self.storage();
            let narrow = Bytes::new(format.bytes()) < self.storage();
            DeviceTime::traffic(if narrow { self.memory_pass(bytes) } else { Seconds::ZERO })
        };
        let taken = |format: Format| plan.precision.is_low() && format == Format::Fp8;
        let to = |format: Format| {
            if taken(format) { [DeviceTime::default(); 2] } else { [own, routed].map(|rows| cast(rows, format)) }
        };
        let back = |format: Format| [own * f64::from(experts.active), routed].map(|rows| cast(rows, format));
        let DispatchFormats { dispatch, combine } = self.scenario.dispatch_formats();
        let forward = [to(dispatch.forward), back(combine.forward)];
        let backward = [to(combine.backward), back(dispatch.backward)];
        let [tokens, experts] = [0, 1].map(|side| {
            let all = |[to, back]: [[DeviceTime; 2]; 2]| to[side] + back[side];
            PerDirection { forward: all(forward), backward: all(backward) }
        });
        ExchangeCasts { tokens, experts }
    }

    /// Tokens to their experts in a format, or back.
    pub(crate) fn dispatch(&self, layout: &Layout, experts: &Experts, format: Format) -> Transfer {
        let (group, hidden) = (layout.expert_group(), f64::from(self.scenario.model.routed_hidden()));
        // Tensor ranks that share experts send their own tokens each.
        let tokens = self.tokens() * (self.experts.load / f64::from(self.scenario.plan.tensor));
        let copies = |each: f64| exchanged(tokens * (each * hidden), format);
        let whole = self.all_to_all(copies(experts.active.into()), group, false);
        if group.size < 2 {
            return whole;
        }
        // Where the links of nodes reach further, as in a rack, what they join is one node to the libraries.
        let (ring, linked) = (self.network.ring(group), self.beyond_links);
        let inside = ring[..linked].last().map_or(1, |span| span.members.max(1));
        let nodes = group.size.div_ceil(inside);
        // The network brings one copy to each other node, to the rank there that has the sender's place, and links carry it on
        // to the others: of as many as a node has, one rank needs no more.
        let away = |places: u32, of: u32| distinct(experts, places, nodes) * f64::from(of - 1) / f64::from(of);
        let [between, within] =
            [(nodes, nodes), (group.size, inside)].map(|(places, of)| copies(away(places, of)).bytes());
        let forwards = self.scenario.plan.experts.dispatcher.forwards_in_node();
        // Ranks send to all others at once: a hop of each level, and no launch for each peer.
        let mut sent = Transfer { steps: self.calibrated.efficiency.collective_launch, ..whole };
        let crossed = |levels: Range<usize>| levels.filter(|level| whole.busy[*level] > Seconds::ZERO);
        for (levels, bytes) in [(0..linked, within), (linked..MAX_LEVELS, between)] {
            // Levels inside a node, or between nodes, share its copies as they share those of every expert.
            let all: Bytes = crossed(levels.clone()).map(|level| whole.bytes[level]).sum();
            let share = if forwards { bytes / all } else { 1.0 };
            for level in crossed(levels) {
                sent.steps += ring[level].latency;
                sent.busy[level] = whole.busy[level] * share;
                sent.bytes[level] = whole.bytes[level] * share;
            }
        }
        // Of the links that join nodes each device has one port: what passes them adds up.
        let node = self.beyond_node.saturating_sub(1);
        let port: Seconds = sent.busy[node..linked].iter().copied().sum();
        Transfer { time: sent.steps + sent.slowest().max(port), received: sent.bytes.into_iter().sum(), ..sent }
    }
}

/// Elements in a format of exchanges. Those of 8 bits have scales beside them: in fp32 for each 128 (`DeepEP`, `README.md`), or
/// in 8 bits for each 32 (`mxfp8`), which is a 32nd of a byte either way.
fn exchanged(elements: Count, format: Format) -> Payload {
    let scales = if format == Format::Fp8 { 1.0 / 32.0 } else { 0.0 };
    Payload::plain(elements * (1.0 + scales), format)
}

/// Places, of equal ones over which experts lie in their order, that hold at least one of those that a token visits. They are
/// drawn without repeats from the groups that the router has chosen for it; without such a limit, from all.
///
/// Of 8 groups 4 are chosen, on 2 nodes that hold 4 each: of `C(8, 4) = 70` choices 1 leaves a node none of its groups, 16 one,
/// 36 two, 16 three and 1 all four. With `j` of them 8 of the 128 experts miss the node with `C(128 - 32 j, 8) / C(128, 8)`: 1,
/// 0.0942, 0.0031, 1e-5, 0. So 1 - 0.0143 - 0.0215 - 0.0016 = 0.963 of the tokens reach it, and 1.926 nodes are reached.
fn distinct(experts: &Experts, places: u32, nodes: u32) -> f64 {
    let groups = experts.active_groups.map_or(1, |_| experts.groups.unwrap_or(nodes).max(1));
    let chosen = experts.active_groups.map_or(1, |active| active.min(groups));
    // A place holds whole groups, or a part of one.
    let held = (groups / places).max(1);
    let of_group = f64::from(experts.count) / f64::from(places) / f64::from(held);
    let pool = f64::from(experts.count) * f64::from(chosen) / f64::from(groups);
    let missed = |open: u32| {
        let here = of_group * f64::from(open);
        // C(E - e, k) / C(E, k), factor by factor.
        let each = |drawn: f64| ((pool - here - drawn) / (pool - drawn)).clamp(0.0, 1.0);
        (0..experts.active).map(f64::from).take_while(|drawn| *drawn < pool).map(each).product::<f64>()
    };
    let ways = |open: u32| {
        let others = choices(groups - held, chosen - open) - choices(groups, chosen);
        libm::exp(choices(held, open) + others)
    };
    let possible = (chosen + held).saturating_sub(groups)..=held.min(chosen);
    f64::from(places) * (1.0 - possible.map(|open| ways(open) * missed(open)).sum::<f64>())
}

/// The logarithm of the number of ways to choose some of a count.
fn choices(count: u32, some: u32) -> f64 {
    let factorial = |count: u32| libm::lgamma(f64::from(count) + 1.0);
    factorial(count) - factorial(some) - factorial(count - some)
}
