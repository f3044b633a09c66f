//! Time and traffic of collectives on any span of levels, in the forms that the stack's library has.
//!
//! Bytes are of the whole payload: what a gather leaves on each rank, what a reduction starts from.
//!
//! Channels have no law of their own. NCCL opens as many as its search finds bandwidth for, then twice as many, two for each
//! port at least (`src/graph/search.cc`; `src/graph/connect.cc`, `ncclTopoPostset`), so that ports and not channels bound
//! what leaves a node; what is lost in between is part of the share of the wire that was measured. Switches that compute
//! (NVLS) make sums faster and not gathers: a rank receives as many bytes of a gather whoever sends them.
//!
//! Inside a node small messages take the library's protocols of low latency (LL, LL128). Between nodes all take Simple:
//! measured steps ask there for its latency or more at every size that they send (the constant `latency-between` is at
//! its upper bound), where NCCL's own model would have LL128's 4 us of 14.

mod form;

use std::ops::Add;

use crate::hardware::{Group, MAX_LEVELS};
use crate::plan::pass::PerDirection;
use crate::plan::{Format, Plan};
use crate::stack::{AllReduceForm, Efficiency, GatherForm, Protocol};
use crate::units::{Bytes, BytesPerSecond, Count, Seconds};

use super::rates::Rates;

pub use form::{CollectiveForm, CollectiveForms};

/// Time and traffic of one collective, alone on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Transfer {
    /// From its launch until the last rank is done.
    pub time: Seconds,
    /// What of that hops and launches take.
    pub steps: Seconds,
    /// What of that passes over memory take, which quantise and dequantise.
    pub passes: Seconds,
    /// How long each level's wire is busy.
    pub busy: [Seconds; MAX_LEVELS],
    /// What one device sends into each level, on average over the group.
    pub bytes: [Bytes; MAX_LEVELS],
    /// What one device receives.
    pub received: Bytes,
    /// The form taken.
    pub form: CollectiveForm,
    /// The protocol taken.
    pub protocol: Protocol,
}

/// Where the time of transfers goes, each alone; the parts sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TransferParts {
    /// Bytes on the wire of the slowest level crossed.
    pub wire: Seconds,
    /// Hops and launches.
    pub steps: Seconds,
    /// Passes over memory that quantise and dequantise.
    pub passes: Seconds,
}

impl TransferParts {
    /// Adds others, so many times over.
    pub fn add(&mut self, other: Self, times: f64) {
        self.wire += other.wire * times;
        self.steps += other.steps * times;
        self.passes += other.passes * times;
    }

    /// All of it.
    pub fn total(self) -> Seconds {
        self.wire + self.steps + self.passes
    }
}

/// What travels: elements in a format, with a scale per block where the format is quantised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Payload {
    /// How many of them.
    pub elements: Count,
    /// Format on the wire.
    pub format: Format,
    /// Elements per scale.
    pub block: Count,
    /// Collectives that carry it: one per matrix where they are not flattened together, a part of one where it shares a
    /// bucket.
    pub parts: Count,
}

/// Bytes of one scale of a quantised block: `DeepSpeed` keeps them in fp32 [frontier D4].
const SCALE: Bytes = Bytes::new(4.0);

impl Payload {
    /// Elements that one collective carries, without scales.
    pub const fn plain(elements: Count, format: Format) -> Self {
        Self { elements, format, block: Count::new(f64::INFINITY), parts: Count::new(1.0) }
    }

    /// Bytes on the wire, scales included.
    pub fn bytes(self) -> Bytes {
        let scales = if self.format.quantised() { self.elements / self.block * SCALE } else { Bytes::ZERO };
        self.elements * Bytes::new(self.format.bytes()) + scales
    }
}

impl Transfer {
    /// Where its time goes.
    pub fn parts(&self) -> TransferParts {
        let Self { time, steps, passes, .. } = *self;
        TransferParts { wire: time - steps - passes, steps, passes }
    }

    /// The level that is busiest: where the transfer would gain most from bandwidth.
    pub fn level(&self) -> Option<usize> {
        let busiest = |a: &usize, b: &usize| self.busy[*a].get().total_cmp(&self.busy[*b].get());
        (0..MAX_LEVELS).filter(|level| self.busy[*level] > Seconds::ZERO).max_by(busiest)
    }

    /// How long the busiest level's wire is busy.
    pub fn slowest(&self) -> Seconds {
        self.busy.into_iter().fold(Seconds::ZERO, Seconds::max)
    }

    /// The same bytes at `factor` times the rate.
    #[must_use]
    fn faster(mut self, factor: f64) -> Self {
        // Only what is on the wire gets faster; latency and launches stay.
        let slowest = self.slowest();
        self.time += slowest / factor - slowest;
        self.busy = self.busy.map(|busy| busy / factor);
        self
    }

    /// A share of it.
    #[must_use]
    fn part(mut self, share: f64) -> Self {
        self.time = self.time * share;
        self.steps = self.steps * share;
        self.passes = self.passes * share;
        self.received = self.received * share;
        self.busy = self.busy.map(|busy| busy * share);
        self.bytes = self.bytes.map(|bytes| bytes * share);
        self
    }

    /// Adds time that is not on the wire: passes over memory that quantise or dequantise.
    #[must_use]
    pub fn with_passes(mut self, passes: Seconds) -> Self {
        self.time += passes;
        self.passes += passes;
        self
    }

    /// Begins so much later.
    #[must_use]
    fn after(mut self, start: Seconds) -> Self {
        self.time += start;
        self.steps += start;
        self
    }
}

impl Add for Transfer {
    type Output = Self;

    /// One after the other, in the form and protocol of the first that is not nothing.
    fn add(mut self, other: Self) -> Self {
        if self.time == Seconds::ZERO {
            (self.form, self.protocol) = (other.form, other.protocol);
        }
        self.time += other.time;
        self.steps += other.steps;
        self.passes += other.passes;
        self.received += other.received;
        for level in 0..MAX_LEVELS {
            self.busy[level] += other.busy[level];
            self.bytes[level] += other.bytes[level];
        }
        self
    }
}

/// Share of what could run beside a product cut into pieces that does: pieces are less efficient products, and each is
/// handed over. Set to five published pairs of PyTorch's async tensor parallelism (torchtitan, benchmarks of December 2024
/// and June 2025; tp 8 on H100), by which it gains 1.09, 1.16 and 1.06 on 70B in bf16, fp8 and fp8, and 1.10 and 1.10 on 8B;
/// alone they would want 0.72, 0.86, 0.34, 0.75 and 0.60.
const HIDDEN_BESIDE_PRODUCT: f64 = 0.66;

/// What tensor ranks exchange in a layer, each for half of one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TensorTransfers {
    /// After forward.
    pub forward: Transfer,
    /// While forward computes.
    pub beside_forward: Transfer,
    /// After backward, while nothing computes.
    pub backward: Transfer,
    /// While backward computes.
    pub beside_backward: Transfer,
    /// Around the embedding and the head.
    pub ends: EndTransfers,
}

/// What tensor ranks, which have a part of the vocabulary each, exchange around the embedding and the head with its loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EndTransfers {
    /// After the embedding.
    pub embedding: PerDirection<Transfer>,
    /// After the head.
    pub head: PerDirection<Transfer>,
    /// While backward of the head computes.
    pub beside_head: Transfer,
}

/// The share of tensor parallelism's collectives that runs beside the products that they feed or follow. Of `n` pieces
/// the first has nothing to run beside, so that `(n - 1) / n` could at most.
pub fn beside_products(plan: &Plan) -> f64 {
    if plan.tensor_overlap && plan.tensor > 1 {
        HIDDEN_BESIDE_PRODUCT * f64::from(plan.tensor - 1) / f64::from(plan.tensor)
    } else {
        0.0
    }
}

impl Rates<'_> {
    /// All-gather, or reduce-scatter, which moves the same: `n - 1` steps of a flat ring, aggregated trees, or level by
    /// level.
    ///
    /// Flat: `launch + sum over levels of hops x latency + S (n - 1) / n / slowest crossed level`.
    pub fn gather(&self, payload: Payload, group: Group) -> Transfer {
        let (launches, stack) = (self.launches(payload), &self.scenario.stack.collectives);
        let mut best = self.ring_pass(payload.bytes(), group, launches);
        // What the library offers is tried, and the fastest taken, as its tuner would. Form and time are kept together,
        // so that a report can name what was taken.
        if stack.gather.contains(&GatherForm::Pat) && self.one_per_node(group) {
            best = cheaper(best, self.aggregated_trees(payload.bytes(), group, launches));
        }
        if stack.hierarchical {
            best = cheaper(best, self.by_level(payload.bytes(), group, launches));
        }
        best
    }

    /// Whether no two ranks of a group are in one node.
    fn one_per_node(&self, group: Group) -> bool {
        self.network.ring(group)[..self.beyond_node].iter().all(|span| span.edges == 0)
    }

    /// As many bytes as around a ring, in as many steps as the ranks can be halved (NCCL's PAT, since 2.23).
    fn aggregated_trees(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let (ring, _) = self.simple_ring(bytes, group, launches);
        let (mut latency, mut inside) = (self.calibrated.efficiency.collective_launch, 1);
        for span in self.network.ring(group).iter().filter(|span| span.edges > 0) {
            latency += libm::ceil(libm::log2(f64::from(span.members.div_ceil(inside)))) * span.latency;
            inside = span.members;
        }
        latency += self.ramp(&ring, launches);
        let steps = launches * latency;
        Transfer { time: steps + ring.slowest(), steps, form: CollectiveForm::Pat, ..ring }
    }

    /// All-reduce in the cheapest form that the library has.
    pub fn all_reduce(&self, payload: Payload, group: Group) -> Transfer {
        let launches = self.launches(payload);
        let form = |form: &AllReduceForm| match form {
            AllReduceForm::Ring => self.rings(payload.bytes(), group, launches),
            AllReduceForm::Tree => self.trees(payload.bytes(), group, launches),
        };
        let stack = &self.scenario.stack.collectives;
        let mut best = stack.all_reduce.iter().map(form).reduce(cheaper).unwrap_or_default();
        if stack.hierarchical {
            let pass = self.by_level(payload.bytes(), group, launches);
            best = cheaper(best, Transfer { form: CollectiveForm::Hierarchical, ..pass + pass });
        }
        if (self.beyond_node..MAX_LEVELS).any(|level| self.network.sums(level)) {
            best = cheaper(best, self.summed_by_switches(payload.bytes(), group, launches));
        }
        best
    }

    /// What tensor ranks exchange around half a layer, so many elements each: an all-reduce, or with sequence
    /// parallelism a reduce-scatter and an all-gather, which move the same.
    pub fn tensor_transfers(&self, elements: Count, group: Group) -> TensorTransfers {
        if group.size < 2 {
            return TensorTransfers::default();
        }
        // Sequence parallelism replaces an all-reduce by a gather before the products and a reduce-scatter after them:
        // the same bytes, in two halves [Korthikanti et al., arXiv 2205.05198].
        let stack = &self.scenario.stack;
        let payload = Payload::plain(elements, self.scenario.plan.precision.storage());
        let apart = self.calibrated.runtime.tensor_collective;
        let gather = self.gather(payload, group).after(apart / 2.0);
        let forward =
            if stack.sequence_parallel { gather + gather } else { self.all_reduce(payload, group).after(apart) };
        let (beside_forward, forward) = self.cut(forward);
        let (beside_gather, gather_after) = self.cut(gather);
        // Backward gathers the gradients of outputs before it can begin. The inputs it gathers once more beside the
        // gradient of inputs, unless they were kept, and it reduces that beside the gradient of weights.
        let again = if stack.keeps_gathered { Transfer::default() } else { gather };
        let (backward, beside_backward) = match (stack.tensor_overlap, stack.sequence_parallel) {
            (false, _) => (forward, beside_forward),
            (true, true) => (gather_after, beside_gather + again + gather),
            (true, false) => (Transfer::default(), beside_forward + forward),
        };
        let ends = self.end_transfers(gather, forward + beside_forward, group);
        TensorTransfers { forward, beside_forward, backward, beside_backward, ends }
    }

    /// The embedding's outputs are sums over the ranks, and the head's inputs are needed whole; backward is the other way
    /// round. `gather` is of a micro-batch's activations, and so is `sum`, an all-reduce or what takes its place.
    fn end_transfers(&self, gather: Transfer, sum: Transfer, group: Group) -> EndTransfers {
        let stack = &self.scenario.stack;
        // The loss sums a number per token three times: the largest logit, the exponentials, the next token's logit
        // (Megatron-LM's `tensor_parallel/cross_entropy.py`, PyTorch's `distributed/tensor/parallel/loss.py`).
        let once = self.all_reduce(Payload::plain(self.tokens(), Format::Fp32), group);
        let loss = once + once + once;
        // With sequence parallelism an end needs half of what a half of a layer does; backward of the head reduces its
        // input's gradients, and where that was not kept gathers its input again.
        let (embedding, head, back) = match (stack.sequence_parallel, stack.keeps_gathered) {
            (false, _) => (PerDirection { forward: sum, backward: Transfer::default() }, loss, sum),
            (true, true) => (PerDirection { forward: gather, backward: gather }, gather + loss, gather),
            (true, false) => (PerDirection { forward: gather, backward: gather }, gather + loss, gather + gather),
        };
        let (back, beside_head) =
            if stack.tensor_overlap { (Transfer::default(), back) } else { (back, Transfer::default()) };
        EndTransfers { embedding, head: PerDirection { forward: head, backward: back }, beside_head }
    }

    /// What of a collective runs beside the matrix product that it feeds or follows, and what does not.
    fn cut(&self, whole: Transfer) -> (Transfer, Transfer) {
        let beside = beside_products(&self.scenario.plan);
        if beside > 0.0 { (whole.part(beside), whole.part(1.0 - beside)) } else { (Transfer::default(), whole) }
    }

    /// Each of `n` ranks sends another part of the payload to each other rank; `two_hop` sends it
    /// inside the node first and then, reduced there, across nodes [frontier D6: `qgZ`].
    pub fn all_to_all(&self, payload: Payload, group: Group, two_hop: bool) -> Transfer {
        let launches = self.launches(payload);
        // After the hop inside a node of 8, eight gradients have become one sum: an eighth of the bytes goes across.
        if !two_hop {
            return self.pairwise(payload.bytes(), group, launches);
        }
        let node = self.network.ring(group)[..self.beyond_node].last().map_or(1, |span| span.members);
        let inside = Group { size: node, ..group };
        let across = Group { stride: group.stride * node, size: group.size / node };
        self.pairwise(payload.bytes(), inside, launches)
            + self.pairwise(payload.bytes() / f64::from(node), across, launches)
    }

    /// One rank's payload to all others, piece by piece along a chain.
    pub fn broadcast(&self, payload: Payload, group: Group) -> Transfer {
        let launches = self.launches(payload);
        let ring = self.ring_pass(payload.bytes(), group, launches);
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

    /// One rank of a group to another, over the level that joins them, while all other groups do the same.
    pub fn send(&self, bytes: Bytes, group: Group, level: usize) -> Transfer {
        let span = self.network.ring(group)[level];
        let seconds = bytes / (span.per_rank * self.wire(level));
        let mut transfer = Transfer { received: bytes, ..Transfer::default() };
        transfer.steps = self.calibrated.efficiency.collective_launch + span.latency;
        transfer.time = transfer.steps + seconds;
        (transfer.busy[level], transfer.bytes[level]) = (seconds, bytes);
        transfer
    }

    /// Collectives to start for a payload: its parts, and their scales' where those travel apart.
    fn launches(&self, payload: Payload) -> f64 {
        let scales = payload.format.quantised() && self.scenario.stack.collectives.separate_scales;
        payload.parts.get() * if scales { 2.0 } else { 1.0 }
    }

    /// The share of a level's wire that collectives reach.
    fn wire(&self, level: usize) -> f64 {
        if self.network.measured(level).is_some() {
            return 1.0;
        }
        if level < self.beyond_node { self.calibrated.efficiency.wire_in_node } else { self.wire_between }
    }

    /// What a ring reaches of a level's rate.
    fn reached(&self, level: usize, rate: BytesPerSecond) -> BytesPerSecond {
        let wire = rate * self.wire(level);
        match self.calibrated.runtime.most_received {
            Some(most) if level >= self.beyond_node => wire.min(most),
            _ => wire,
        }
    }

    /// What one collective takes beyond hops and bytes, where the levels that it crosses were measured.
    fn ramp(&self, pass: &Transfer, launches: f64) -> Seconds {
        let crossed = (0..MAX_LEVELS).filter(|level| pass.busy[*level] > Seconds::ZERO);
        let ramps = crossed.filter_map(|level| self.network.measured(level)?.ramp);
        ramps.map(|ramp| ramp.of(pass.received / launches)).fold(Seconds::ZERO, Seconds::max)
    }

    /// Around a ring, in the fastest protocol.
    fn ring_pass(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
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
        let taken = |protocol: &Protocol| Transfer {
            time: simple.time + hops * (protocol.hop() - 1.0) + wire * (protocol.bytes() - 1.0),
            steps: simple.steps + hops * (protocol.hop() - 1.0),
            busy: simple.busy.map(|busy| busy * protocol.bytes()),
            bytes: simple.bytes.map(|bytes| bytes * protocol.bytes()),
            protocol: *protocol,
            ..simple
        };
        self.scenario.stack.collectives.protocols.iter().map(taken).fold(simple, cheaper)
    }

    /// Around a ring in Simple, and what the hops take of it.
    fn simple_ring(&self, bytes: Bytes, group: Group, launches: f64) -> (Transfer, Seconds) {
        let mut transfer = Transfer::default();
        if group.size < 2 {
            return (transfer, Seconds::ZERO);
        }
        transfer.form = CollectiveForm::Ring;
        let ranks = f64::from(group.size);
        transfer.received = bytes * (ranks - 1.0) / ranks;
        // Every hop adds its latency once for each collective; bytes are the same however many collectives carry them.
        let (mut hops, mut slowest) = (Seconds::ZERO, Seconds::ZERO);
        // Pieces pass all levels at once, so the slowest sets the pace; hops come one after the other.
        for (level, span) in self.network.ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            hops += f64::from(span.hops) * span.latency;
            transfer.busy[level] = transfer.received / self.reached(level, span.rate);
            transfer.bytes[level] = transfer.received * f64::from(span.edges) / ranks;
            slowest = slowest.max(transfer.busy[level]);
        }
        let launch = self.calibrated.efficiency.collective_launch;
        transfer.steps = launches * (launch + hops + self.ramp(&transfer, launches));
        transfer.time = transfer.steps + slowest;
        (transfer, launches * hops)
    }

    /// Around a ring and back; inside a node at the rate of all-reduces.
    fn rings(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let (simple, hops) = self.simple_ring(bytes, group, launches);
        let pass = self.in_fastest_protocol(simple, hops);
        // Inside a node switches may add up (NVLS, in Simple), which a pass between nodes cannot use: then each of the two
        // passes is as slow as its gather.
        let crosses = pass.busy[self.beyond_node..].iter().any(|busy| *busy > Seconds::ZERO);
        let faster = 1.0 / self.slower_gather();
        if crosses || faster <= 1.0 {
            return pass + pass;
        }
        let summed = Transfer { form: CollectiveForm::NodeSwitches, ..(simple + simple).faster(faster) };
        cheaper(summed, pass + pass)
    }

    /// What all-gathers and reduce-scatters reach inside a node over what all-reduces do.
    fn slower_gather(&self) -> f64 {
        let Efficiency { wire_in_node, wire_all_reduce, .. } = self.calibrated.efficiency;
        wire_all_reduce.map_or(1.0, |all_reduce| wire_in_node / all_reduce)
    }

    /// Up and down two trees that share the payload, each member inside one and leaf of the other (Sanders et al.,
    /// Two-tree algorithms, 2009): twice the payload past a device, and out of a node half of it up in each tree
    /// and half down to each child: once the payload between two nodes, 1.5 times among three, twice from four on.
    /// Inside a node they are chains, so that the latency grows with the logarithm of the nodes (NCCL's
    /// `src/graph/tuning.cc`).
    fn trees(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let (ring, _) = self.simple_ring(bytes, group, launches);
        if group.size < 2 {
            return ring;
        }
        let mut hops = Seconds::ZERO;
        let (mut busy, mut sent) = (ring.busy, ring.bytes);
        let mut inside = 1;
        let ranks = f64::from(group.size);
        for (level, span) in self.network.ring(group).iter().enumerate().filter(|(_, span)| span.edges > 0) {
            // A tree over 8 nodes is three hops deep, where a ring over them takes seven.
            let joined = f64::from(span.members / inside);
            hops += if level < self.beyond_node { joined - 1.0 } else { libm::ceil(libm::log2(joined)) } * span.latency;
            inside = span.members;
            // From the ring's `(n - 1) / n` of the payload to what the busiest of the tree's members sends.
            let inside_node = 2.0 * self.slower_gather();
            let most = if level < self.beyond_node { inside_node } else { joined.min(4.0) / 2.0 };
            let factor = most * ranks / (ranks - 1.0);
            (busy[level], sent[level]) = (busy[level] * factor, sent[level] * factor);
        }
        let launch = self.calibrated.efficiency.collective_launch;
        let slowest = busy.into_iter().fold(Seconds::ZERO, Seconds::max);
        let steps = 2.0 * launches * (launch + hops + self.ramp(&ring, launches));
        let trees = Transfer {
            time: steps + slowest,
            steps,
            passes: Seconds::ZERO,
            busy,
            bytes: sent,
            received: 2.0 * bytes,
            form: CollectiveForm::Tree,
            protocol: Protocol::Simple,
        };
        self.in_fastest_protocol(trees, 2.0 * launches * hops)
    }

    /// A ring on each level in turn: the outer ones carry only what each rank owns of the inner ones.
    fn by_level(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let mut total = self.stages(group, |inside, stage| self.ring_pass(bytes / f64::from(inside), stage, launches));
        total.form = CollectiveForm::Hierarchical;
        total
    }

    /// Reduced by a ring inside the nodes, added up by the switches between them, gathered by a ring inside. Each rank sends
    /// its part up once and receives the sum once, at the same time, where a ring would pass `2 (n - 1) / n` of it; up and
    /// down are two hops, whatever the number of nodes (Graham et al., Scalable Hierarchical Aggregation Protocol,
    /// COMHPC 2016; Streaming-Aggregation, ISC 2020).
    fn summed_by_switches(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let mut total = self.stages(group, |inside, stage| {
            let (pass, _) = self.simple_ring(bytes / f64::from(inside), stage, launches);
            let Some(level) = pass.level().filter(|level| self.network.sums(*level)) else { return pass + pass };
            // A ring's (n - 1) / n of the part, and the rest of it.
            let whole = f64::from(stage.size) / f64::from(stage.size - 1);
            let busy = pass.busy[level] * whole;
            let hops = self.network.ring(stage)[level].latency * 2.0;
            let steps = launches * (self.calibrated.efficiency.collective_launch + hops);
            Transfer {
                time: steps + busy,
                steps,
                busy: pass.busy.map(|busy| busy * whole),
                bytes: pass.bytes.map(|sent| sent * whole),
                ..pass
            }
        });
        total.form = CollectiveForm::Sharp;
        total
    }

    /// Sums a collective over the levels that a group crosses: `stage(ranks inside, group across)`.
    fn stages(&self, group: Group, stage: impl Fn(u32, Group) -> Transfer) -> Transfer {
        let mut total = Transfer::default();
        let mut inside = 1;
        // A gather of 64 MB over 8 nodes of 8: inside a node all 64 MB arrive, in 8 pieces; across nodes each of the 8
        // columns carries the 8 MB that its members own.
        for span in self.network.ring(group).iter().filter(|span| span.edges > 0) {
            // Each rank inside has a column of its own across: the first of every inner group, the second, and so on.
            let across = Group { stride: group.stride * inside, size: span.members / inside };
            total = total + stage(inside, across);
            inside = span.members;
        }
        total
    }

    fn pairwise(&self, bytes: Bytes, group: Group, launches: f64) -> Transfer {
        let mut transfer = Transfer { form: CollectiveForm::Pairwise, ..Transfer::default() };
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
            transfer.busy[level] = each * peers / (span.per_rank * self.wire(level));
            slowest = slowest.max(transfer.busy[level]);
            inside = span.members;
        }
        transfer.steps = launches * latency;
        transfer.time = transfer.steps + slowest;
        transfer
    }

    /// To or from the host.
    pub fn host_copy(&self, bytes: Bytes) -> Seconds {
        bytes / self.host
    }
}

fn cheaper(a: Transfer, b: Transfer) -> Transfer {
    if b.time < a.time { b } else { a }
}
