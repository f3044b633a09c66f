//! Costs that passes over units share. Not for the passes of a kind of unit ([`super::layer_units`],
//! [`super::end_units`]), nor for the transfers of sharded parameters ([`super::unit_transfers`]).

use std::sync::Arc;

use crate::cost::{ContextTransfers, Parameters, Payload, Rates, TensorTransfers, Transfer};
use crate::model::LayerKind;
use crate::plan::Format;
use crate::plan::pass::Pass;
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Seconds, Share};

use super::build::LaunchedWork;
use super::label::{ModelPart, Phase, TaskKind};
use super::network_transfer::{ExchangeId, NetworkTransfer, TransferSource};
use super::stream::Stream;
use super::task::TaskEvent;
use super::unit_pass::{ComputeStep, Exchange, Gradients, PerGradients, Traversal, UnitParameters, UnitPass};
use super::unit_work::{LayerCosts, UnitExchanges, UnitWork};

/// The costs of unit passes under one layout.
#[derive(Clone)]
pub(super) struct UnitCosts<'a> {
    pub rates: &'a Rates<'a>,
    pub layout: &'a Layout,
    /// The place of that layout among those of operators.
    pub place: usize,
    /// Shared by all layouts.
    pub work: Arc<UnitWork>,
    /// Collectives that gather or reduce one unit.
    pub collectives: Count,
    /// Whether weights are gathered and gradients reduced by stages of several units, not by units.
    pub staged: bool,
}

impl<'a> UnitCosts<'a> {
    pub fn new(rates: &'a Rates<'a>, layout: &'a Layout, staged: bool) -> Self {
        Self::with_work(rates, layout, staged, Arc::new(UnitWork::new(rates, layout)))
    }

    /// The costs of units whose work is known.
    pub(crate) fn with_work(rates: &'a Rates<'a>, layout: &'a Layout, staged: bool, work: Arc<UnitWork>) -> Self {
        let collectives = rates.scenario.stack.collectives.per_layer.into();
        Self { rates, layout, place: 0, work, collectives, staged }
    }

    /// The source of a transfer under this layout, from which it is costed again on another network.
    pub(super) fn source(&self, of: NetworkTransfer) -> TransferSource {
        TransferSource { layout: self.place, of }
    }

    /// The phase of the step that needs a pass.
    pub(crate) fn phase(&self, pass: Pass) -> Phase {
        if self.rates.scenario.plan.stands_beside { Phase::Beside } else { Phase::from(pass) }
    }

    /// The share of the device that a transfer takes from compute while it runs.
    pub(crate) fn contention(&self) -> Share {
        Share::new(self.rates.calibrated.runtime.contention)
    }

    /// The share that a copy to or from the host takes: all of the device where the host's memory is not page-locked, since the
    /// call returns to the thread that launches kernels when it is through ("API synchronization behavior" in NVIDIA's
    /// documentation of the CUDA runtime).
    pub(crate) fn copy_contention(&self) -> Share {
        if self.rates.scenario.pins_host() { self.contention() } else { Share::new(1.0) }
    }

    /// Whether the host keeps all that forward of a layer leaves for backward.
    pub(crate) fn offloads(&self, recomputed: bool) -> bool {
        let offload = self.rates.scenario.plan.offload;
        offload.activations() || recomputed && offload.checkpoints()
    }

    /// Whether copies of activations stop compute. Where the state comes from the host too, one queue brings both, ahead of
    /// compute.
    pub(crate) fn copies_in_line(&self) -> bool {
        let Scenario { plan, stack, .. } = self.rates.scenario;
        stack.copies_in_line && plan.moves_activations() && !plan.offload.state()
    }

    /// Compute and memory of a layer of a kind.
    pub fn layer(&self, kind: LayerKind) -> &LayerCosts {
        self.work.layers.get(kind)
    }

    pub fn local(&self, parameters: Parameters) -> Parameters {
        parameters / f64::from(self.layout.parts())
    }

    /// The level between a pipeline rank and its neighbour in the direction of a pass; the last and the first rank are
    /// neighbours too.
    pub fn hop(&self, rank: u32, pass: Pass) -> usize {
        let (group, ranks) = (self.layout.pipeline_group(), self.layout.pipeline);
        self.rates.network.joining(group, rank, (rank + if pass.is_backward() { ranks - 1 } else { 1 }) % ranks)
    }

    /// The send of a micro-batch's activations to a neighbouring pipeline rank; each tensor rank sends its share.
    pub fn send(&self, level: usize) -> Transfer {
        let hidden = f64::from(self.rates.scenario.model.hidden) / f64::from(self.layout.tensor);
        self.rates.send(self.rates.tokens() * hidden * self.rates.storage(), self.layout.pipeline_group(), level)
    }

    /// Seconds of a pass: its pieces and the exchanges after them run one after the other.
    pub(crate) fn serial(&self, unit_pass: &UnitPass) -> Seconds {
        unit_pass.steps.iter().map(|step| step.piece.time() + self.before(step) + self.after(step)).sum()
    }

    /// A lower bound on the time from a pass to the rank's next: an exchange beside a piece takes `contention` of the
    /// device, and the next piece waits for it. A piece of 10 ms beside 20 ms of an exchange that takes a fifth of the
    /// device is over after 20, beside 5 ms of one after 11. The exchange after a piece waits for the piece alone:
    /// exchanges beside the piece may be hidden there too, without slowing it.
    pub(crate) fn lower_bound(&self, unit_pass: &UnitPass, contention: Share) -> Seconds {
        let of_step = |step: &ComputeStep| {
            let (piece, after) = (step.piece.time(), self.after(step));
            let (longest, all) = self.beside(step).fold((Seconds::ZERO, Seconds::ZERO), |(longest, all), exchange| {
                (exchange.transfer.time.max(longest), all + exchange.transfer.time)
            });
            self.before(step) + (piece + (all - after * 2.0).max(Seconds::ZERO) * contention.get() + after).max(longest)
        };
        unit_pass.steps.iter().map(of_step).sum()
    }

    /// Seconds of the exchange before a piece.
    fn before(&self, step: &ComputeStep) -> Seconds {
        self.exchange(step.exchanges.before).map_or(Seconds::ZERO, |exchange| exchange.transfer.time)
    }

    /// Seconds of the exchange after a piece.
    fn after(&self, step: &ComputeStep) -> Seconds {
        self.exchange(step.exchanges.after).map_or(Seconds::ZERO, |exchange| exchange.transfer.time)
    }

    /// The exchanges beside a piece; none where nothing computes.
    pub fn beside(&self, step: &ComputeStep) -> impl Iterator<Item = Exchange> {
        let ids = if step.piece.time() > Seconds::ZERO { step.exchanges.beside } else { [None; 3] };
        ids.into_iter().filter_map(|id| self.exchange(id))
    }

    /// An exchange with its transfer; `None` where ranks have nothing to exchange.
    pub(crate) fn exchange(&self, id: Option<ExchangeId>) -> Option<Exchange> {
        let id = id?;
        let source = self.source(NetworkTransfer::Exchange(id));
        let exchanges = self.work.exchanges.as_deref()?;
        let UnitExchanges { tensor, experts, .. } = exchanges;
        let TensorTransfers { forward, overlapped_forward, backward, overlapped_backward, ends } = tensor;
        let tensor = |transfer: Transfer| Exchange {
            source,
            stream: Stream::Tensor,
            kind: TaskKind::AllReduce,
            event: TaskEvent::Tensor,
            transfer,
            contention: self.contention(),
        };
        let context = |transfer: Transfer| Exchange {
            source,
            stream: Stream::Context,
            kind: TaskKind::PointToPoint,
            event: TaskEvent::Context,
            transfer,
            contention: self.contention(),
        };
        let tokens = |transfer: Transfer| Exchange {
            source,
            stream: Stream::Experts,
            kind: TaskKind::AllToAll,
            event: TaskEvent::Experts,
            transfer,
            contention: Share::new(self.contention().get().max(self.rates.dispatch_slowing().get())),
        };
        let exchange = match id {
            ExchangeId::ContextAround(mixer, direction) => {
                let ContextTransfers { around, gathers, .. } = exchanges.of_context(mixer)?;
                let kind = if *gathers { TaskKind::AllGather } else { TaskKind::AllToAll };
                Exchange { kind, ..context(*around.get(direction)) }
            }
            ExchangeId::ContextBeside(mixer, direction) => context(*exchanges.of_context(mixer)?.beside.get(direction)),
            ExchangeId::Forward => tensor(*forward),
            ExchangeId::ForwardBeside => tensor(*overlapped_forward),
            ExchangeId::LayerForward => tensor(*forward + *forward),
            ExchangeId::LayerForwardBeside => tensor(*overlapped_forward + *overlapped_forward),
            ExchangeId::Backward => tensor(*backward),
            ExchangeId::BackwardBeside => tensor(*overlapped_backward),
            ExchangeId::Embedding(pass) => tensor(*ends.embedding.get(pass)),
            ExchangeId::Head(pass) => tensor(*ends.head.get(pass)),
            ExchangeId::HeadBeside => tensor(ends.overlapped_head),
            ExchangeId::Dispatch(direction) => tokens(*experts.dispatch.get(direction)),
            ExchangeId::Combine(direction) => tokens(*experts.combine.get(direction)),
        };
        Some(exchange).filter(|exchange| exchange.transfer.time > Seconds::ZERO)
    }

    /// The unit of the embedding or the head. The two are one unit where they share their weights: gathered for the
    /// first of the two passes, kept until the second, reduced after backward has passed both.
    pub(crate) fn end_unit(&self, part: ModelPart, pass: Pass) -> UnitParameters {
        let scenario = self.rates.scenario;
        let model = &scenario.model;
        let (embedding, logits) = (self.local(Parameters::embedding(scenario)), self.local(Parameters::head(scenario)));
        let head = part == ModelPart::Head;
        let own = if head { logits } else { embedding };
        // Forward passes the embedding first and the head last; backward the other way round. So the tied matrix is
        // gathered with the first of the two in either direction, and reduced with the embedding, which backward passes
        // last.
        if !model.has_tied_logits() {
            // Further tokens are looked up behind the layers.
            let looked_up = if head && model.mtp_layers > 0 { embedding.weights } else { Count::ZERO };
            return UnitParameters { part, gathered: own.weights + looked_up, reduced: own };
        }
        let (first, second) = (head == pass.is_backward(), head != pass.is_backward());
        UnitParameters {
            part,
            gathered: if first { embedding.weights + logits.weights } else { Count::ZERO },
            reduced: if second { embedding + logits } else { Parameters::NONE },
        }
    }

    /// A unit whose backward computes nothing: it gathers none of what forward dropped.
    pub(crate) fn unpassed(&self, unit: UnitParameters) -> UnitParameters {
        let dropped = self.regathers(unit.part) || self.layout.weights == 1;
        UnitParameters { gathered: if dropped { Count::ZERO } else { unit.gathered }, ..unit }
    }

    /// A pass of a unit: its transfers, and the memory of its weights and gradients.
    pub(crate) fn unit_pass(&self, unit: UnitParameters, traversal: Traversal, steps: [ComputeStep; 3]) -> UnitPass {
        let pass = traversal.pass();
        let last = traversal.completes_gradients();
        let plan = &self.rates.scenario.plan;
        let steps = if self.work.exchanges.is_some() { steps } else { merged(steps) };
        // A stage gathers, reduces and offloads as a whole; its units only compute and hold activations.
        if self.staged {
            return UnitPass { part: unit.part, pass, alone: plan.stands_beside, steps, ..UnitPass::default() };
        }
        let kept_gathered = pass.is_backward() && !self.regathers(unit.part) && self.layout.weights > 1;
        let fetched = if self.fetches_weights() && unit.gathered > Count::ZERO && !kept_gathered {
            unit.gathered
        } else {
            Count::ZERO
        };
        // In backward what a gather leaves goes as soon as it is copied out of.
        let copies_out = self.rates.scenario.stack.copies_out && !pass.is_backward() && self.layout.weights > 1;
        // What backward does not gather again, forward must not drop (`reshard_after_forward=False` of `fully_shard`).
        // Where only the host has the weights, they go after each pass, and come back by a copy.
        let drops = self.fetches_weights() && (last || self.regathers(unit.part) || self.layout.weights == 1);
        // A shared unit is dropped by its second pass: the one that gathers nothing.
        let other = match unit.part {
            ModelPart::Embedding => Some(ModelPart::Head),
            ModelPart::Head => Some(ModelPart::Embedding),
            _ => None,
        };
        let other = other.filter(|_| self.rates.scenario.model.has_tied_logits());
        let dropped = other.map_or(unit, |other| self.end_unit(other, pass)).gathered;
        let Parameters { weights, trained, .. } = unit.reduced;
        let secondary = self.secondary(weights);
        UnitPass {
            part: unit.part,
            pass,
            alone: plan.stands_beside,
            from_host: self.loaded(fetched, pass),
            checkpoint: Bytes::ZERO,
            gather: self.unit_gather(unit, pass),
            gathered: self.live(unit.part, fetched) * self.rates.storage(),
            gather_left: if copies_out { fetched * self.rates.storage() } else { Bytes::ZERO },
            freed: if drops { self.live(unit.part, dropped) * self.rates.storage() } else { Bytes::ZERO },
            steps,
            working: Bytes::ZERO,
            kept: Bytes::ZERO,
            secondary: match traversal {
                Traversal::Pass(Pass::Forward) => secondary,
                Traversal::Recompute => Bytes::ZERO,
                Traversal::Pass(_) => -secondary,
            },
            gradients: if last { self.gradient_buffer(trained) } else { Bytes::ZERO },
            left_gradients: if last { self.left_gradients(trained) } else { Bytes::ZERO },
            to_host: Bytes::ZERO,
            reduce: if last { self.reductions(trained) } else { PerGradients::default() },
            store: if last {
                PerGradients::from_fn(|gradients| self.stored(trained, gradients))
            } else {
                PerGradients::default()
            },
            early: if last { self.early(trained) } else { Bytes::ZERO },
            sums: if last { self.host_sums(trained) } else { Bytes::ZERO },
        }
    }

    /// Weights of a unit that are in memory at once while it is passed: all, or of a layer that is gathered matrix by matrix
    /// what the program keeps.
    fn live(&self, part: ModelPart, gathered: Count) -> Count {
        let Scenario { model, stack, plan, .. } = self.rates.scenario;
        let largest = Count::new(f64::from(model.hidden) * f64::from(model.ffn_hidden) / f64::from(plan.tensor));
        let most = stack.live_parameters.filter(|_| part == ModelPart::Layer && self.regathers(part));
        most.map_or(gathered, |most| gathered.min(largest.max(Count::new(most))))
    }

    /// Whether backward gathers a unit's weights again.
    pub(crate) fn regathers(&self, part: ModelPart) -> bool {
        let Scenario { model, stack, plan, .. } = self.rates.scenario;
        let head_stays = stack.keeps_head
            && !plan.stands_beside
            && part == ModelPart::Head
            && plan.pipeline == 1
            && !model.has_tied_logits();
        plan.sharding.reshard_after_forward && !head_stays
    }

    /// Whether weights come into memory for each pass: from other ranks, from the host, or both.
    pub(crate) fn fetches_weights(&self) -> bool {
        self.layout.weights > 1 || self.rates.scenario.plan.offload.state()
    }

    /// Bytes of gathered weights in memory during a pass.
    pub fn buffer(&self, elements: Count) -> Bytes {
        if self.fetches_weights() { elements * self.rates.storage() } else { Bytes::ZERO }
    }

    /// Bytes that come from the host for `elements` weights: this rank's shard, where it lives there and no second copy
    /// on the device serves backward.
    pub(crate) fn loaded(&self, elements: Count, pass: Pass) -> Bytes {
        let there =
            self.rates.scenario.plan.offload.state() && !(pass.is_backward() && self.secondary_copy().is_some());
        if there { elements * self.rates.storage() / f64::from(self.layout.weights) } else { Bytes::ZERO }
    }

    /// Whether gradients are reduced only at the end of the step.
    pub(crate) fn keeps_whole_gradients(&self) -> bool {
        self.rates.keeps_whole_gradients(self.layout)
    }

    /// Bytes of the gradients that a unit's backward leaves, where they are not there before.
    pub(crate) fn left_gradients(&self, elements: Count) -> Bytes {
        let leaves = !self.staged && self.rates.frees_gradients(self.layout);
        if leaves { elements * self.rates.gradient_bytes(true, self.layout) } else { Bytes::ZERO }
    }

    /// Bytes of the buffer in which backward adds up gradients; none where they are kept all the time.
    pub(crate) fn gradient_buffer(&self, elements: Count) -> Bytes {
        let buffered = self.rates.scenario.plan.offload.state() || !self.keeps_whole_gradients();
        // A stage's backward adds up all its micro-batches before it is reduced; a unit's is reduced at each.
        let each = if self.staged { self.rates.unreduced_gradient() } else { self.rates.gradient() };
        if buffered { elements * each } else { Bytes::ZERO }
    }

    /// Bytes of gradients that go to the host after backward: the reduced shard, or all.
    pub fn stored(&self, elements: Count, gradients: Gradients) -> Bytes {
        let reduced = gradients == Gradients::Complete || !self.keeps_whole_gradients();
        let ranks = if reduced { self.layout.gradients } else { 1 };
        elements * self.rates.gradient() / f64::from(ranks) * self.rates.gradients_on_host(self.layout).get()
    }

    /// Whether gradients of an optimizer on the host go there unit by unit, while backward runs.
    pub(crate) fn offloads_early(&self) -> bool {
        let Scenario { plan, stack, .. } = self.rates.scenario;
        let optimizer_alone = plan.offload.optimizer() && !plan.offload.state();
        stack.offloads_during_backward && optimizer_alone && !self.staged && !self.reduces_after_backward()
    }

    /// Bytes of gradients that a rank's optimizer on the host takes of so many parameters while the last backward runs, where
    /// they were on the device until then.
    fn early(&self, parameters: Count) -> Bytes {
        if !self.offloads_early() || self.rates.gradients_on_host(self.layout).get() > 0.0 {
            return Bytes::ZERO;
        }
        let owned = parameters * self.rates.scenario.plan.optimizer_on_host() / f64::from(self.layout.optimizer);
        owned * self.rates.gradient()
    }

    /// Whether gradients of earlier micro-batches are on the host.
    pub(crate) fn sums_on_host(&self) -> bool {
        self.rates.gradients_on_host(self.layout).get() > 0.0
    }

    /// Bytes of sums on the host that are reduced over other ranks after the last backward.
    pub(crate) fn unreduced(&self, elements: Count) -> Bytes {
        let ranks = if self.keeps_whole_gradients() { 1 } else { self.layout.gradients };
        if self.layout.group() > ranks { self.stored(elements, Gradients::Partial) } else { Bytes::ZERO }
    }

    /// The ranks that share the second copy of the weights, and its format; `None` without a second copy.
    pub(crate) fn secondary_copy(&self) -> Option<(u32, Format)> {
        let plan = &self.rates.scenario.plan;
        let ranks = self.layout.secondary.filter(|_| self.layout.weights > 1)?;
        Some((ranks, plan.precision.wire(plan.sharding.secondary.as_ref()?.format)))
    }

    /// Bytes of this rank's shard of the second copy of `elements` weights.
    pub fn secondary(&self, elements: Count) -> Bytes {
        self.secondary_copy()
            .map_or(Bytes::ZERO, |(ranks, format)| elements * Bytes::new(format.bytes()) / f64::from(ranks))
    }

    pub fn payload(&self, elements: Count, format: Format) -> Payload {
        let parts = self.parts(elements, self.collectives);
        Payload { elements, format, block: self.rates.scenario.plan.sharding.wire.block.into(), parts }
    }

    /// Time of one micro-batch's forward through a pipeline rank's layers, without overlap.
    pub(crate) fn forward_time(&self) -> Seconds {
        let ranks = f64::from(self.layout.pipeline);
        let passed = |kind| self.layer_passes(kind, false, Pass::Forward).iter().map(|pass| self.serial(pass)).sum();
        let of_kind = |(kind, count): (LayerKind, u32)| {
            let layer: Seconds = passed(kind);
            layer * (f64::from(count) / ranks)
        };
        self.rates.scenario.model.kinds().map(of_kind).sum()
    }

    /// Collectives that carry `elements` parameters: `usual`, or the share of a bucket that they fill.
    pub fn parts(&self, elements: Count, usual: Count) -> Count {
        let buckets = self.rates.scenario.stack.collectives.buckets;
        buckets.map_or(usual, |buckets| elements / buckets.size(self.layout.group()))
    }
}

/// One piece for all compute, where ranks exchange nothing in between.
fn merged(steps: [ComputeStep; 3]) -> [ComputeStep; 3] {
    let piece = steps.iter().fold(LaunchedWork::default(), |sum, step| LaunchedWork {
        work: sum.work + step.piece.work,
        host: sum.host + step.piece.host,
    });
    [ComputeStep { piece, ..ComputeStep::default() }, ComputeStep::default(), ComputeStep::default()]
}
