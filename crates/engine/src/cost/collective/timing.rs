//! How long each algorithm of a collective takes, and what it sends. Not for which is taken.

use crate::hardware::{Group, MAX_LEVELS, RingSpan};
use crate::stack::{Efficiency, Protocol};
use crate::units::{Bytes, Count, Seconds, Share};

use super::super::rates::Rates;
use super::algorithm::CollectiveAlgorithm;
use super::cheaper;
use super::transfer::{Payload, Transfer};

impl Rates<'_> {
    /// The share of a level's wire that the collectives of a group reach.
    fn wire_share(&self, level: usize, group: Group) -> Share {
        self.share_inside(level, self.beyond_node, group)
    }

    /// As above, where the levels below `beyond` count as one node.
    fn share_inside(&self, level: usize, beyond: usize, group: Group) -> Share {
        if self.network.measured(level).is_some() {
            return Share::new(1.0);
        }
        if level < beyond { Share::new(self.calibrated.efficiency.wire_in_node) } else { self.wire_between(group) }
    }

    /// How a ring over a group crosses each level, at the rates that it reaches; each rank's own are still those of the wire.
    pub(in crate::cost) fn reached_ring(&self, group: Group) -> [RingSpan; MAX_LEVELS] {
        if let Some((_, spans)) = self.known_ring.filter(|(known, _)| *known == group) {
            return spans;
        }
        let mut spans = self.network.ring(group);
        for (level, span) in spans.iter_mut().enumerate().filter(|(_, span)| span.edges > 0) {
            let wire = span.rate * self.wire_share(level, group).get();
            span.rate = match self.calibrated.runtime.most_received {
                Some(most) if level >= self.beyond_node => wire.min(most),
                _ => wire,
            };
        }
        spans
    }

    /// Time of a collective beyond hops and bytes, where the levels that it crosses were measured.
    fn ramp(&self, pass: &Transfer, launches: Count) -> Seconds {
        let crossed = (0..MAX_LEVELS).filter(|level| pass.busy[*level] > Seconds::ZERO);
        let ramps = crossed.filter_map(|level| self.network.measured(level)?.ramp);
        ramps.map(|ramp| ramp.of(pass.received / launches.get())).fold(Seconds::ZERO, Seconds::max)
    }

    /// One rank of a group to another, over the level that joins them, while all other groups do the same.
    pub fn send(&self, bytes: Bytes, group: Group, level: usize) -> Transfer {
        let span = self.network.ring(group)[level];
        let pair = Group { size: 2, ..group };
        let seconds = bytes / (span.per_rank * self.wire_share(level, pair).get());
        let mut transfer = Transfer { received: bytes, ..Transfer::default() };
        transfer.steps = self.calibrated.efficiency.collective_launch + span.latency;
        transfer.time = transfer.steps + seconds;
        (transfer.busy[level], transfer.bytes[level]) = (seconds, bytes);
        transfer
    }

    /// The parts of all ranks around a ring, each step a send that is launched by itself, as ring attention has one beside each
    /// block of its scores (`RingComm.commit` of zhuzilin/ring-flash-attention, `flash_attn_p2p_communicate` of
    /// `TransformerEngine`).
    pub fn pass_around(&self, payload: Payload, group: Group) -> Transfer {
        let (mut transfer, _) = self.simple_ring(payload.bytes(), group, payload.parts);
        let more = f64::from(group.size.saturating_sub(2)) * self.calibrated.efficiency.collective_launch;
        transfer.steps += more;
        transfer.time += more;
        transfer
    }

    /// Around a ring in Simple, and what the hops take of it.
    pub(super) fn simple_ring(&self, bytes: Bytes, group: Group, launches: Count) -> (Transfer, Seconds) {
        let mut transfer = Transfer::default();
        if group.size < 2 {
            return (transfer, Seconds::ZERO);
        }
        transfer.algorithm = CollectiveAlgorithm::Ring;
        let ranks = f64::from(group.size);
        transfer.received = bytes * (ranks - 1.0) / ranks;
        // Every hop adds its latency once for each collective; bytes are the same however many collectives carry them.
        let (mut hops, mut slowest) = (Seconds::ZERO, Seconds::ZERO);
        // Pieces pass all levels at once, so the slowest sets the pace; hops come one after the other.
        for (level, span) in self.reached_ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            hops += f64::from(span.hops) * span.latency;
            transfer.busy[level] = transfer.received / span.rate;
            transfer.bytes[level] = transfer.received * f64::from(span.edges) / ranks;
            slowest = slowest.max(transfer.busy[level]);
        }
        let launch = self.calibrated.efficiency.collective_launch;
        transfer.steps = (launch + hops + self.ramp(&transfer, launches)) * launches.get();
        transfer.time = transfer.steps + slowest;
        (transfer, hops * launches.get())
    }

    /// Around a ring in Simple and back; inside a node at the rate of all-reduces.
    pub(super) fn ring_all_reduce(&self, &(simple, hops): &(Transfer, Seconds)) -> Transfer {
        let pass = self.in_fastest_protocol(simple, hops);
        // Inside a node switches may add up (NVLS, in Simple), which a pass between nodes cannot use: then each of the two
        // passes is as slow as its gather.
        let crosses = pass.busy[self.beyond_node..].iter().any(|busy| *busy > Seconds::ZERO);
        let faster = 1.0 / self.slower_gather();
        if crosses || faster <= 1.0 {
            return pass + pass;
        }
        let summed = Transfer { algorithm: CollectiveAlgorithm::NodeSwitches, ..faster_wire(simple + simple, faster) };
        cheaper(summed, pass + pass)
    }

    /// Rate of all-gathers and reduce-scatters inside a node over that of all-reduces.
    fn slower_gather(&self) -> f64 {
        let Efficiency { wire_in_node, wire_all_reduce, .. } = self.calibrated.efficiency;
        wire_all_reduce.map_or(1.0, |all_reduce| wire_in_node / all_reduce)
    }

    /// As many bytes as around a ring, in as many steps as the ranks can be halved (NCCL's PAT, since 2.23).
    pub(super) fn pat_gather(&self, bytes: Bytes, group: Group, launches: Count) -> Transfer {
        let (ring, _) = self.simple_ring(bytes, group, launches);
        let (mut latency, mut inside) = (self.calibrated.efficiency.collective_launch, 1);
        for span in self.network.ring(group).iter().filter(|span| span.edges > 0) {
            latency += libm::ceil(libm::log2(f64::from(span.members.div_ceil(inside)))) * span.latency;
            inside = span.members;
        }
        latency += self.ramp(&ring, launches);
        let steps = latency * launches.get();
        Transfer { time: steps + ring.slowest(), steps, algorithm: CollectiveAlgorithm::Pat, ..ring }
    }

    /// Up and down two trees that share the payload, each member inside one and leaf of the other (Sanders et al.,
    /// Two-tree algorithms, 2009): twice the payload past a device, and out of a node half of it up in each tree
    /// and half down to each child: once the payload between two nodes, 1.5 times among three, twice from four on.
    /// Inside a node they are chains, so that the latency grows with the logarithm of the nodes (NCCL's
    /// `src/graph/tuning.cc`).
    pub(super) fn tree_all_reduce(
        &self,
        bytes: Bytes,
        group: Group,
        launches: Count,
        (ring, _): &(Transfer, Seconds),
    ) -> Transfer {
        if group.size < 2 {
            return *ring;
        }
        let mut hops = Seconds::ZERO;
        let (mut busy, mut sent) = (ring.busy, ring.bytes);
        let mut inside = 1;
        let ranks = f64::from(group.size);
        let reached = self.calibrated.efficiency.wire_trees.unwrap_or(1.0);
        for (level, span) in self.network.ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            // A tree over 8 nodes is three hops deep, where a ring over them takes seven.
            let joined = f64::from(span.members.div_ceil(inside));
            hops += if level < self.beyond_node { joined - 1.0 } else { libm::ceil(libm::log2(joined)) } * span.latency;
            inside = span.members;
            // From the ring's `(n - 1) / n` of the payload to what the busiest of the tree's members sends.
            let inside_node = 2.0 * self.slower_gather();
            let most = if level < self.beyond_node { inside_node } else { joined.min(4.0) / 2.0 };
            let factor = most * ranks / (ranks - 1.0);
            (busy[level], sent[level]) = (busy[level] * factor / reached, sent[level] * factor);
        }
        let launch = self.calibrated.efficiency.collective_launch;
        let slowest = busy.into_iter().fold(Seconds::ZERO, Seconds::max);
        let both = 2.0 * launches.get();
        let steps = (launch + hops + self.ramp(ring, launches)) * both;
        let trees = Transfer {
            time: steps + slowest,
            steps,
            passes: Seconds::ZERO,
            busy,
            bytes: sent,
            received: 2.0 * bytes,
            algorithm: CollectiveAlgorithm::Tree,
            protocol: Protocol::Simple,
        };
        self.in_fastest_protocol(trees, hops * both)
    }

    /// A ring on each level in turn: the outer ones carry only what each rank owns of the inner ones.
    pub(super) fn hierarchical_gather(&self, bytes: Bytes, group: Group, launches: Count) -> Transfer {
        let mut total =
            self.sum_over_levels(group, |inside, stage| self.ring_gather(bytes / f64::from(inside), stage, launches));
        total.algorithm = CollectiveAlgorithm::Hierarchical;
        total
    }

    /// Reduced by a ring inside the nodes, added up by the switches between them, gathered by a ring inside. Each rank sends
    /// its part up once and receives the sum once, at the same time, where a ring would pass `2 (n - 1) / n` of it; up and
    /// down are two hops, whatever the number of nodes (Graham et al., Scalable Hierarchical Aggregation Protocol,
    /// COMHPC 2016; Streaming-Aggregation, ISC 2020).
    pub(super) fn switch_all_reduce(&self, bytes: Bytes, group: Group, launches: Count) -> Transfer {
        let mut total = self.sum_over_levels(group, |inside, stage| {
            let (pass, _) = self.simple_ring(bytes / f64::from(inside), stage, launches);
            let Some(level) = pass.level().filter(|level| self.network.sums(*level)) else { return pass + pass };
            // A ring's (n - 1) / n of the part, and the rest of it.
            let whole = f64::from(stage.size) / f64::from(stage.size - 1);
            let busy = pass.busy[level] * whole;
            let hops = self.network.ring(stage)[level].latency * 2.0;
            let steps = (self.calibrated.efficiency.collective_launch + hops) * launches.get();
            Transfer {
                time: steps + busy,
                steps,
                busy: pass.busy.map(|busy| busy * whole),
                bytes: pass.bytes.map(|sent| sent * whole),
                ..pass
            }
        });
        total.algorithm = CollectiveAlgorithm::Sharp;
        total
    }

    /// Sums a collective over the levels that a group crosses: `stage(ranks inside, group across)`.
    fn sum_over_levels(&self, group: Group, stage: impl Fn(u32, Group) -> Transfer) -> Transfer {
        let mut total = Transfer::default();
        let mut inside = 1;
        // A gather of 64 MB over 8 nodes of 8: inside a node all 64 MB arrive, in 8 pieces; across nodes each of the 8
        // columns carries the 8 MB that its members own.
        for (level, span) in self.network.ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            // Each rank inside has a column of its own across: the first of every inner group, the second, and so on.
            let across = self.network.across(level, group, inside, span.members.div_ceil(inside));
            total = total + stage(inside, across);
            inside = span.members;
        }
        total
    }

    pub(super) fn pairwise_all_to_all(&self, bytes: Bytes, group: Group, launches: Count) -> Transfer {
        let mut transfer = Transfer { algorithm: CollectiveAlgorithm::Pairwise, ..Transfer::default() };
        if group.size < 2 {
            return transfer;
        }
        let each = bytes / f64::from(group.size);
        let mut latency = self.calibrated.efficiency.collective_launch;
        let mut inside = 1;
        let mut slowest = Seconds::ZERO;
        // Of 16 ranks on two nodes each has 7 peers inside and 8 across: nothing that goes across passes the links
        // inside.
        for (level, span) in self.network.ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            // Those whom this level is the first to join.
            let peers = f64::from(span.members - inside);
            latency += peers * span.latency;
            transfer.bytes[level] = each * peers;
            transfer.received += each * peers;
            // What passes a rack's switches from rank to rank is as fast as inside a tray.
            let share = self.share_inside(level, self.beyond_links, group);
            transfer.busy[level] = each * peers / (span.per_rank * share.get());
            slowest = slowest.max(transfer.busy[level]);
            inside = span.members;
        }
        transfer.steps = latency * launches.get();
        transfer.time = transfer.steps + slowest;
        transfer
    }
}

/// Moves the bytes at `factor` times the rate.
fn faster_wire(mut transfer: Transfer, factor: f64) -> Transfer {
    // Only what is on the wire gets faster; latency and launches stay.
    let slowest = transfer.slowest();
    transfer.time += slowest / factor - slowest;
    transfer.busy = transfer.busy.map(|busy| busy / factor);
    transfer
}
