//! Time and traffic of collectives on any span of levels, with the algorithms that the stack's library has.
//!
//! Bytes are of the whole payload: what a gather leaves on each rank, what a reduction starts from.
//!
//! Channels have no law of their own. NCCL opens as many as its search finds bandwidth for, then twice as many, two for each
//! port at least (`src/graph/search.cc`; `src/graph/connect.cc`, `ncclTopoPostset`), so that ports and not channels bound
//! what leaves a node; what is lost in between is part of the share of the wire that was measured. Switches that compute
//! (NVLS) make sums faster and not gathers: a rank receives as many bytes of a gather whoever sends them.
//!
//! Inside a node small messages take the library's protocols of low latency (LL, LL128). Between nodes all take Simple:
//! measured steps ask there for its latency or more at every size that they send, where NCCL's own model would have LL128's
//! 4 us of 14.

mod algorithm;
mod tensor;
mod timing;
mod transfer;

use crate::hardware::{Group, MAX_LEVELS};
use crate::stack::{AllReduceAlgorithm, GatherAlgorithm, Protocol};
use crate::units::{Bytes, Count, Seconds};

use super::rates::Rates;

pub use algorithm::CollectiveAlgorithm;

pub use algorithm::CollectiveAlgorithms;
pub use tensor::EndTransfers;
pub(crate) use tensor::{TensorTransfers, overlapped_share};
pub use transfer::{Payload, Transfer, TransferParts};

impl Rates<'_> {
    /// All-gather, or reduce-scatter, which moves the same: `n - 1` steps of a flat ring, aggregated trees, or level by
    /// level.
    ///
    /// Flat: `launch + sum over levels of hops x latency + S (n - 1) / n / slowest crossed level`.
    pub fn gather(&self, payload: Payload, group: Group) -> Transfer {
        let (launches, stack) = (self.launches(payload), &self.scenario.stack.collectives);
        let mut best = self.ring_gather(payload.bytes(), group, launches);
        // What the library offers is tried, and the fastest taken, as its tuner would. Form and time are kept together,
        // so that a report can name what was taken.
        if stack.gather.contains(&GatherAlgorithm::Pat) && self.one_per_node(group) {
            best = cheaper(best, self.pat_gather(payload.bytes(), group, launches));
        }
        if stack.hierarchical {
            best = cheaper(best, self.hierarchical_gather(payload.bytes(), group, launches));
        }
        best
    }

    /// Whether no two ranks of a group are in one node.
    fn one_per_node(&self, group: Group) -> bool {
        self.beyond_node.checked_sub(1).is_none_or(|node| self.network.members(node, group) == 1)
    }

    /// All-reduce by the cheapest algorithm that the library has.
    pub fn all_reduce(&self, payload: Payload, group: Group) -> Transfer {
        let launches = self.launches(payload);
        let ring = self.simple_ring(payload.bytes(), group, launches);
        let algorithm = |algorithm: &AllReduceAlgorithm| match algorithm {
            AllReduceAlgorithm::Ring => self.ring_all_reduce(&ring),
            AllReduceAlgorithm::Tree => self.tree_all_reduce(payload.bytes(), group, launches, &ring),
        };
        let stack = &self.scenario.stack.collectives;
        let mut best = stack.all_reduce.iter().map(algorithm).reduce(cheaper).unwrap_or_default();
        if stack.hierarchical {
            let pass = self.hierarchical_gather(payload.bytes(), group, launches);
            best = cheaper(best, Transfer { algorithm: CollectiveAlgorithm::Hierarchical, ..pass + pass });
        }
        if (self.beyond_node..MAX_LEVELS).any(|level| self.network.sums(level)) {
            best = cheaper(best, self.switch_all_reduce(payload.bytes(), group, launches));
        }
        best
    }

    /// Each of `n` ranks sends another part of the payload to each other rank; `two_hop` sends it
    /// inside the node first and then, reduced there, across nodes [frontier D6: `qgZ`].
    pub fn all_to_all(&self, payload: Payload, group: Group, two_hop: bool) -> Transfer {
        let launches = self.launches(payload);
        // After the hop inside a node of 8, eight gradients have become one sum: an eighth of the bytes goes across.
        if !two_hop {
            return self.pairwise_all_to_all(payload.bytes(), group, launches);
        }
        let node = self.network.ring(group)[..self.beyond_node].last().map_or(1, |span| span.members);
        let inside = Group::new(group.stride, node);
        let across = self.network.across(self.beyond_node, group, node, group.size.div_ceil(node));
        self.pairwise_all_to_all(payload.bytes(), inside, launches)
            + self.pairwise_all_to_all(payload.bytes() / f64::from(node), across, launches)
    }

    /// One rank's payload to all others, piece by piece along a chain.
    pub fn broadcast(&self, payload: Payload, group: Group) -> Transfer {
        let launches = self.launches(payload);
        let ring = self.ring_gather(payload.bytes(), group, launches);
        // A gather's rank receives all but its own part; here it receives everything.
        let whole = payload.bytes() / ring.received.max(Bytes::new(f64::MIN_POSITIVE));
        if group.size < 2 {
            return ring;
        }
        let slowest = ring.slowest();
        Transfer {
            time: ring.time + slowest * (whole - 1.0),
            busy: ring.busy.map(|busy| busy * whole),
            bytes: ring.bytes.map(|bytes| bytes * whole),
            received: payload.bytes(),
            ..ring
        }
    }

    /// Collectives to start for a payload: its parts, and their scales' where those travel apart.
    fn launches(&self, payload: Payload) -> Count {
        let scales = payload.format.quantised() && self.scenario.stack.collectives.separate_scales;
        payload.parts * if scales { 2.0 } else { 1.0 }
    }

    /// Around a ring, in the fastest protocol.
    fn ring_gather(&self, bytes: Bytes, group: Group, launches: Count) -> Transfer {
        let (ring, hops) = self.simple_ring(bytes, group, launches);
        self.in_fastest_protocol(ring, hops)
    }

    /// In the fastest protocol, of which Simple's hops are known.
    fn in_fastest_protocol(&self, simple: Transfer, hops: Seconds) -> Transfer {
        let one_node = simple.busy[self.beyond_node..].iter().all(|busy| *busy == Seconds::ZERO);
        // What was measured of a level holds its protocols.
        if !one_node || (0..self.beyond_node).any(|level| self.network.measured(level).is_some()) {
            return simple;
        }
        let wire = simple.slowest();
        let time = |protocol: Protocol| simple.time + hops * (protocol.hop() - 1.0) + wire * (protocol.bytes() - 1.0);
        let faster = |best: Option<Protocol>, protocol: Protocol| {
            if time(protocol) < best.map_or(simple.time, time) { Some(protocol) } else { best }
        };
        let protocols = self.scenario.stack.collectives.protocols.iter().copied();
        let Some(protocol) = protocols.fold(None, faster) else { return simple };
        Transfer {
            time: time(protocol),
            steps: simple.steps + hops * (protocol.hop() - 1.0),
            busy: simple.busy.map(|busy| busy * protocol.bytes()),
            bytes: simple.bytes.map(|bytes| bytes * protocol.bytes()),
            protocol,
            ..simple
        }
    }
}

fn cheaper(a: Transfer, b: Transfer) -> Transfer {
    if b.time < a.time { b } else { a }
}
