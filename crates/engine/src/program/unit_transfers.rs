//! The transfers of sharded parameters: gathers of weights and reductions of gradients, with their formats and the cost
//! of quantising.

use crate::cost::{Payload, Transfer};
use crate::hardware::Group;
use crate::plan::pass::Pass;
use crate::plan::{Format, Reduction};
use crate::scenario::Scenario;
use crate::units::{Bytes, Count};

use super::label::TaskKind;
use super::network_transfer::{NetworkTransfer, ReductionPart, ReductionScope};
use super::unit_costs::UnitCosts;
use super::unit_pass::{GradientReduction, PerGradients, UnitCollective, UnitParameters};

impl UnitCosts<'_> {
    /// The gather of a unit's weights; backward gathers the second copy, where there is one.
    pub(crate) fn unit_gather(&self, unit: UnitParameters, pass: Pass) -> Option<UnitCollective> {
        let elements = unit.gathered;
        let present = elements == Count::ZERO || (pass.is_backward() && !self.regathers(unit.part));
        if present { None } else { self.gather(elements, self.parts(elements, self.collectives), pass) }
    }

    /// The gather of weights in `parts` collectives; `None` where weights are not sharded.
    pub fn gather(&self, elements: Count, parts: Count, pass: Pass) -> Option<UnitCollective> {
        let plan = &self.rates.scenario.plan;
        let own = (self.layout.weights, plan.precision.wire(plan.sharding.wire.weights));
        let second = self.secondary_copy().filter(|_| pass.is_backward());
        let (ranks, format) = second.unwrap_or(own);
        let payload = Payload { parts, ..self.payload(elements, format) };
        // Backward gathers as forward does, unless it is from a second copy.
        let of = NetworkTransfer::Gather { elements, parts, pass: second.map_or(Pass::Forward, |_| pass) };
        (self.layout.weights > 1).then(|| self.all_gather(of, payload, self.layout.shard_group(ranks)))
    }

    /// An all-gather of weights, with the passes that quantise and dequantise them.
    pub fn all_gather(&self, of: NetworkTransfer, payload: Payload, group: Group) -> UnitCollective {
        let (elements, format) = (payload.elements, payload.format);
        let transfer = self.rates.gather(payload, group);
        let storage = self.rates.storage();
        let passes = if format.quantised() {
            // Quantise this rank's shard, dequantise the whole.
            elements * (storage + Bytes::new(format.bytes())) * (1.0 + 1.0 / f64::from(group.size))
        } else {
            Bytes::ZERO
        };
        let buffer = if format.quantised() { payload.bytes() } else { Bytes::ZERO };
        let transfer = transfer.with_passes(self.rates.memory_pass(passes));
        UnitCollective { source: self.source(of), transfer, kind: TaskKind::AllGather, buffer }
    }

    /// [`Self::unreduced`] where micro-batches are passed one by one: none with a single micro-batch, or where each
    /// micro-batch is reduced over all ranks.
    pub(crate) fn host_sums(&self, elements: Count) -> Bytes {
        let plan = &self.rates.scenario.plan;
        let later = plan.accumulate > 1 && !self.rates.scenario.sums_each_micro_batch();
        if later { self.unreduced(elements) } else { Bytes::ZERO }
    }

    /// Whether gradients are reduced after backward; those that live on the host are reduced before they go there.
    pub(crate) fn reduces_after_backward(&self) -> bool {
        !self.rates.scenario.stack.reduce_during_backward && !self.rates.scenario.plan.offload.state()
    }

    /// The reductions of `elements` gradients when backward leaves them; none where gradients are reduced later.
    pub fn reductions(&self, elements: Count) -> PerGradients<GradientReduction> {
        let plan = &self.rates.scenario.plan;
        let (once, later) = (plan.reduction == Reduction::Step, self.reduces_after_backward());
        if elements == Count::ZERO {
            return PerGradients::default();
        }
        let parts = self.parts(elements, self.collectives);
        let last = ReductionScope { shards: self.layout.gradients > 1 && !(later && once), replicas: !later };
        let each = ReductionScope {
            shards: last.shards && !once,
            replicas: self.rates.scenario.sums_each_micro_batch() && !later,
        };
        // Micro-batches are summed into shards like the last one, if they are.
        let sharded = self.shard_sum(elements, last.shards, parts);
        let complete = self.with_replicas(sharded, elements, last.replicas, parts);
        let before = || self.with_replicas(sharded.filter(|_| each.shards), elements, each.replicas, parts);
        PerGradients { partial: if each == last { complete } else { before() }, complete }
    }

    /// Sums gradients over the ranks of a scope: into shards, then over replicas.
    pub fn reduction(&self, elements: Count, scope: ReductionScope, parts: Count) -> GradientReduction {
        self.with_replicas(self.shard_sum(elements, scope.shards, parts), elements, scope.replicas, parts)
    }

    /// Sums gradients into their shards, where they have any.
    pub(crate) fn shard_sum(&self, elements: Count, shards: bool, parts: Count) -> Option<UnitCollective> {
        let (layout, wire) = (self.layout, self.rates.scenario.plan.sharding.wire);
        // Frozen weights have no gradients.
        if !shards || layout.gradients == 1 || elements == Count::ZERO {
            return None;
        }
        let payload = Payload { parts, ..self.payload(elements, self.rates.scenario.reduction_format(wire.gradients)) };
        let two_hop = self.rates.scenario.plan.sharding.two_hop_gradients;
        let (transfer, kind) = self.reduce_scatter(payload, layout.shard_group(layout.gradients), two_hop);
        let scope = ReductionScope { shards, replicas: false };
        let of = NetworkTransfer::Reduction { elements, scope, parts, part: ReductionPart::Reduce };
        Some(UnitCollective { source: self.source(of), transfer, kind, buffer: self.packed(payload) })
    }

    /// The reduction of gradients that are summed into shards, over their replicas or not.
    pub(crate) fn with_replicas(
        &self,
        sharded: Option<UnitCollective>,
        elements: Count,
        replicas: bool,
        parts: Count,
    ) -> GradientReduction {
        if !replicas || elements == Count::ZERO {
            return GradientReduction { reduce: sharded, replicas: None };
        }
        // With 64 ranks, gradients over 8 and optimizer state over 32: a reduce-scatter over 8 leaves 1/8, one over the
        // 4 groups up to 32 leaves 1/32, and an all-reduce of that over the 2 replicas is the end. With both over 8 it
        // is the reduce-scatter and the all-reduce of FSDP's `HYBRID_SHARD`.
        let format = self.rates.scenario.reduction_format(self.rates.scenario.plan.sharding.wire.gradients);
        let payload = Payload { parts, ..self.payload(elements, format) };
        let sums = self.replica_sums(elements, parts);
        // What lives on the host goes there when a single transfer is over.
        let Scenario { stack, plan, .. } = self.rates.scenario;
        let separate = sharded.is_some() && stack.replica_stream && !plan.offload.state();
        let part = if separate { ReductionPart::Replicas } else { ReductionPart::Reduce };
        let scope = ReductionScope { shards: sharded.is_some(), replicas };
        let source = self.source(NetworkTransfer::Reduction { elements, scope, parts, part });
        let add = |found: Option<UnitCollective>, (transfer, kind): (Transfer, TaskKind)| match found {
            Some(before) => Some(UnitCollective { source, transfer: before.transfer + transfer, ..before }),
            None => Some(UnitCollective { source, transfer, kind, buffer: self.packed(payload) }),
        };
        let first = sharded.filter(|_| !separate);
        let sum = sums.into_iter().flatten().fold(first, add);
        if separate {
            GradientReduction { reduce: sharded, replicas: sum }
        } else {
            GradientReduction { reduce: sum, replicas: None }
        }
    }

    /// Sums over replicas of the gradients' shards: up to the optimizer's extent into its shards, beyond it whole.
    fn replica_sums(&self, elements: Count, parts: Count) -> [Option<(Transfer, TaskKind)>; 2] {
        let layout = self.layout;
        let boundary = self.rates.scenario.reduction_format(self.rates.scenario.plan.sharding.wire.boundary);
        let payload = |ranks: u32| {
            let left = elements / f64::from(ranks);
            Payload { parts, ..self.payload(left, boundary) }
        };
        let scattered = (layout.optimizer > layout.gradients).then(|| {
            let group = layout.replica_group(layout.gradients, layout.optimizer);
            self.reduce_scatter(payload(layout.gradients), group, false)
        });
        let summed = (layout.group() > layout.optimizer).then(|| {
            let group = layout.replica_group(layout.optimizer, layout.group());
            (self.rates.all_reduce(payload(layout.optimizer), group), TaskKind::AllReduce)
        });
        [scattered, summed]
    }

    /// Transfers for Muon, which updates whole matrices, where weights are cut over ranks: one all-to-all brings each
    /// rank its share of the matrices whole, another takes their updates back. Both carry a rank's part in 16 bits, as
    /// Muon orthogonalises it, with one collective for all matrices of a shape (microsoft/dion,
    /// `megabatch_orthogonalize_async`). State that is shared without cutting weights lies by whole matrices and moves
    /// nothing.
    pub(crate) fn whole_matrices(&self, muon: Count) -> Option<UnitCollective> {
        let Scenario { model, plan, .. } = self.rates.scenario;
        let on_device = 1.0 - plan.optimizer_on_host();
        if muon == Count::ZERO || self.layout.weights == 1 || on_device <= 0.0 {
            return None;
        }
        let (matrices, _) = model.layer_matrices();
        let part = muon * on_device / f64::from(self.layout.optimizer);
        let payload = Payload {
            parts: Count::new(matrices / f64::from(model.all_layers())),
            ..Payload::plain(part, Format::Bf16)
        };
        let there = self.rates.all_to_all(payload, self.layout.shard_group(self.layout.optimizer), false);
        Some(UnitCollective {
            source: self.source(NetworkTransfer::WholeMatrices(muon)),
            transfer: there + there,
            kind: TaskKind::AllToAll,
            buffer: Bytes::ZERO,
        })
    }

    /// Bytes of a packed copy of gradients, where the format on the wire differs from the format in memory.
    fn packed(&self, payload: Payload) -> Bytes {
        let same = payload.format == self.rates.scenario.gradient_format();
        if same { Bytes::ZERO } else { payload.bytes() }
    }

    /// The sum, over the first and the last pipeline rank, of gradients of the embedding that both have, each rank with its
    /// shard; `None` where one rank has both ends.
    pub(crate) fn tied_gradient_sum(&self) -> Option<Transfer> {
        let (model, layout) = (&self.rates.scenario.model, self.layout);
        let shared = u64::from(model.vocab) * u64::from(model.hidden);
        let two_copies =
            model.shares_embedding() && shared > 0 && layout.pipeline > 1 && self.rates.scenario.trains_embedding();
        let ranks = if self.keeps_whole_gradients() { 1 } else { layout.gradients };
        let elements = Count::from(shared) / f64::from(layout.parts()) / f64::from(ranks);
        let format = self.rates.scenario.reduction_format(self.rates.scenario.plan.sharding.wire.boundary);
        let payload = Payload { parts: Count::new(1.0), ..self.payload(elements, format) };
        two_copies.then(|| self.rates.all_reduce(payload, layout.pipeline_ends()))
    }

    /// A sum that leaves each rank its shard: a ring, or an all-to-all where gradients are quantised, since they must
    /// be dequantised before they are added [frontier D4].
    fn reduce_scatter(&self, payload: Payload, group: Group, two_hop: bool) -> (Transfer, TaskKind) {
        if !payload.format.quantised() {
            return (self.rates.gather(payload, group), TaskKind::ReduceScatter);
        }
        // Quantise, then dequantise and add, once per hop; the second hop has what the first left.
        let one = payload.elements * (self.rates.storage() + 2.0 * Bytes::new(payload.format.bytes()));
        let inside = self.rates.scenario.cluster.devices_per_node() / self.layout.parts();
        let hops = if two_hop { 1.0 + 1.0 / f64::from(inside.clamp(1, group.size)) } else { 1.0 };
        let transfer = self.rates.all_to_all(payload, group, two_hop);
        (transfer.with_passes(self.rates.memory_pass(one * hops)), TaskKind::AllToAll)
    }
}
