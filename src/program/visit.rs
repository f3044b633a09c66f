//! What one visit of one unit is: the transfers that bring its weights, the compute, the memory it
//! takes, and the transfers that reduce its gradients.

use crate::cost::{Activations, DeviceTime, LayerWork, Passes, Payload, Rates, Transfer};
use crate::hardware::Group;
use crate::plan::{Format, Recompute, Reduction};
use crate::scenario::Layout;
use crate::units::{Bytes, Count, Seconds};

use super::build::LaunchedWork;
use super::label::{ModelPart, TaskKind};
use super::state::{gradient_size, whole_gradients};

/// A unit: what is gathered and reduced together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitParameters {
    pub part: ModelPart,
    /// Parameters on one tensor rank that this visit gathers.
    pub gathered: Count,
    /// Parameters whose gradients are complete after this unit's backward.
    pub reduced: Count,
}

/// Where in a micro-batch a visit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traversal {
    Forward,
    /// Forward once more, just before backward.
    Recompute,
    Backward,
}

/// A visit's compute in order; tensor parallelism meets after each piece that says so.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ComputeStep {
    pub piece: LaunchedWork,
    /// Collectives of the tensor ranks after it.
    pub tensor: u32,
    /// Times that keys and values travel around the context ranks beside it.
    pub exchange: u32,
}

/// A visit, ready to be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct UnitPass {
    pub part: ModelPart,
    pub backward: bool,
    /// Bytes from the host: this rank's shard of the weights, and a checkpoint.
    pub from_host: Bytes,
    /// Bytes of that checkpoint.
    pub checkpoint: Bytes,
    /// Gather of the weights, if any.
    pub gather: Option<UnitCollective>,
    /// Bytes of the gathered weights, taken with the gather.
    pub gathered: Bytes,
    /// Bytes of gathered weights that this visit's end frees.
    pub freed: Bytes,
    pub steps: [ComputeStep; 3],
    /// Activations taken while it runs, left behind by forward, and freed by backward.
    pub working: Bytes,
    pub kept: Bytes,
    /// Secondary weights left behind by forward (positive) or freed by backward (negative).
    pub secondary: Bytes,
    /// Gradients of the unit while they are not reduced.
    pub gradients: Bytes,
    /// To the host when it is done: a checkpoint.
    pub to_host: Bytes,
    /// Reduction at each micro-batch, and at the last one.
    pub reduce: [Option<UnitCollective>; 2],
    /// Gradients that go to the host at each micro-batch, and at the last one.
    pub store: [Bytes; 2],
    /// Sums of those before that come back from there to be reduced with the last ones.
    pub sums: Bytes,
}

/// A transfer with what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitCollective {
    pub transfer: Transfer,
    pub kind: TaskKind,
    /// Bytes of buffers while it runs.
    pub buffer: Bytes,
}

/// Everything that costs are made from.
#[derive(Clone, Copy)]
pub(super) struct UnitCosts<'a> {
    pub rates: &'a Rates<'a>,
    pub layout: &'a Layout,
    pub layer: LayerWork,
    pub activations: Activations,
    pub tensor: Transfer,
    pub exchange: Transfer,
    /// Collectives that gather or reduce one unit.
    pub collectives: Count,
    /// Whether weights are gathered and gradients reduced by stages of several units, not by units.
    pub staged: bool,
}

impl<'a> UnitCosts<'a> {
    pub fn new(rates: &'a Rates<'a>, layout: &'a Layout, staged: bool) -> Self {
        let model = &rates.scenario.model;
        let storage = rates.scenario.plan.precision.storage();
        // Keys and values of each rank pass all others: an all-gather in a ring, hidden step by step.
        let kv = 2.0 * rates.tokens() * model.kv_width() as f64 * f64::from(layout.context) / f64::from(layout.tensor);
        Self {
            rates,
            layout,
            layer: rates.layer(),
            activations: rates.activations(),
            tensor: rates.tensor_collective(rates.tokens() * f64::from(model.hidden), layout.tensor_group()),
            exchange: rates.gather(Payload::plain(kv, storage), layout.context_group()),
            collectives: rates.scenario.stack.collectives.per_layer.into(),
            staged,
        }
    }

    pub fn local(&self, parameters: u64) -> Count {
        Count::from(parameters) / f64::from(self.layout.tensor)
    }

    /// The level on which a pipeline rank reaches the one after it, or the one before; the last and the first are
    /// neighbours too.
    pub fn hop(&self, rank: u32, backward: bool) -> usize {
        let (group, ranks) = (self.layout.pipeline_group(), self.layout.pipeline);
        self.rates.network.joining(group, rank, (rank + if backward { ranks - 1 } else { 1 }) % ranks)
    }

    /// Activations of a micro-batch to a neighbouring pipeline rank, over a level; each tensor rank sends its share.
    pub fn send(&self, level: usize) -> Transfer {
        let hidden = f64::from(self.rates.scenario.model.hidden) / f64::from(self.layout.tensor);
        self.rates.send(self.rates.tokens() * hidden * self.rates.storage(), self.layout.pipeline_group(), level)
    }

    /// Time of a visit, whose pieces and tensor collectives run one after the other.
    pub fn serial(&self, visit: &UnitPass) -> Seconds {
        let meet = if self.layout.tensor > 1 { self.tensor.time } else { Seconds::ZERO };
        visit.steps.iter().map(|step| step.piece.work.time + step.piece.host + f64::from(step.tensor) * meet).sum()
    }

    /// Embedding and head are one unit where they share their weights: gathered for the first of the
    /// two that is visited, kept until the second, reduced after backward has passed both.
    pub fn ends(&self, head: bool, backward: bool) -> UnitParameters {
        let model = &self.rates.scenario.model;
        let (embedding, logits) = (self.local(model.embedding_parameters()), self.local(model.head_parameters()));
        let part = if head { ModelPart::Head } else { ModelPart::Embedding };
        let own = if head { logits } else { embedding };
        if !model.tied {
            return UnitParameters { part, gathered: own, reduced: own };
        }
        let (first, second) = (head == backward, head != backward);
        UnitParameters {
            part,
            gathered: if first { embedding + logits } else { Count::ZERO },
            reduced: if second { embedding + logits } else { Count::ZERO },
        }
    }

    fn layer_unit(&self) -> UnitParameters {
        let own = self.local(self.rates.scenario.model.layer_parameters());
        UnitParameters { part: ModelPart::Layer, gathered: own, reduced: own }
    }

    /// Forward and backward of layers that are computed again from their input, or not.
    pub fn layers(&self, recomputed: bool) -> [UnitPass; 2] {
        let host = self.rates.host_layer();
        let forward = self.layer.forward;
        let all = forward[0] + forward[1];
        let launched = |work: DeviceTime, host: Seconds| self.rates.launched(work.time, host) - work.time;
        let late = launched(all, host);
        let half = |work: DeviceTime, whole: DeviceTime, late: Seconds, tensor: u32, exchange: u32| ComputeStep {
            piece: LaunchedWork { work, host: late * share(work, whole) },
            tensor,
            exchange,
        };
        let ahead = [half(forward[0], all, late, 1, 1), half(forward[1], all, late, 1, 0), ComputeStep::default()];
        let selective = self.rates.scenario.plan.recompute == Recompute::Selective;
        let again = match (recomputed, selective) {
            (true, _) => ComputeStep { piece: LaunchedWork { work: all, host: late }, tensor: 2, exchange: 1 },
            (false, true) => {
                let work = self.layer.selective[0] + self.layer.selective[1];
                ComputeStep { piece: LaunchedWork { work, host: Seconds::ZERO }, tensor: 0, exchange: 1 }
            }
            (false, false) => ComputeStep::default(),
        };
        let back = self.layer.backward;
        let (all_back, two) = (back[0] + back[1], launched(back[0] + back[1], 1.5 * host));
        // Backward passes keys and values around once more, and their gradients with them (arXiv 2310.01889).
        let behind = [again, half(back[1], all_back, two, 1, 0), half(back[0], all_back, two, 1, 2)];
        let activations = &self.activations;
        let kept = if recomputed { activations.checkpoint } else { activations.layer };
        let unit = self.layer_unit();
        let checkpoints = recomputed && self.rates.scenario.plan.offload.checkpoints();
        let moved = if checkpoints { kept } else { Bytes::ZERO };
        let back = self.visit(unit, Traversal::Backward, behind);
        [
            UnitPass {
                working: activations.whole - kept,
                kept,
                to_host: moved,
                ..self.visit(unit, Traversal::Forward, ahead)
            },
            UnitPass {
                working: activations.whole - kept + activations.working,
                kept: -kept,
                from_host: back.from_host + moved,
                checkpoint: moved,
                ..back
            },
        ]
    }

    /// Forward and backward of the embedding.
    pub fn embedding(&self) -> [UnitPass; 2] {
        let Passes { forward, backward, .. } = self.rates.embedding();
        let kept = self.activations.embedding;
        [
            UnitPass { kept, ..self.visit(self.ends(false, false), Traversal::Forward, alone(forward)) },
            UnitPass { kept: -kept, ..self.visit(self.ends(false, true), Traversal::Backward, alone(backward)) },
        ]
    }

    /// Forward and backward of last norm, logits and loss.
    pub fn head(&self) -> [UnitPass; 2] {
        let Passes { forward, backward, .. } = self.rates.head();
        let kept = self.activations.logits;
        [
            UnitPass { kept, ..self.visit(self.ends(true, false), Traversal::Forward, alone(forward)) },
            UnitPass { kept: -kept, ..self.visit(self.ends(true, true), Traversal::Backward, alone(backward)) },
        ]
    }

    /// A visit of a unit: its transfers, and the memory of its weights and gradients.
    pub fn visit(&self, unit: UnitParameters, pass: Traversal, steps: [ComputeStep; 3]) -> UnitPass {
        let backward = pass != Traversal::Forward;
        let last = pass == Traversal::Backward;
        let steps = if self.layout.tensor == 1 && self.layout.context == 1 { in_one(steps) } else { steps };
        if self.staged {
            return UnitPass { part: unit.part, backward, steps, ..UnitPass::default() };
        }
        let kept_gathered = backward && !self.regathers() && self.layout.weights > 1;
        let fetched =
            if self.fetched() && unit.gathered > Count::ZERO && !kept_gathered { unit.gathered } else { Count::ZERO };
        let drops = self.fetched() && (last || self.regathers() || self.layout.weights == 1);
        // A shared unit is dropped by its second visit: the one that gathers nothing.
        let shared = matches!(unit.part, ModelPart::Embedding | ModelPart::Head) && self.rates.scenario.model.tied;
        let dropped = if shared { self.ends(unit.part != ModelPart::Head, backward).gathered } else { unit.gathered };
        let secondary = self.secondary(unit.reduced);
        UnitPass {
            part: unit.part,
            backward,
            from_host: self.loaded(fetched, backward),
            checkpoint: Bytes::ZERO,
            gather: self.weights(unit.gathered, backward),
            gathered: fetched * self.rates.storage(),
            freed: if drops { dropped * self.rates.storage() } else { Bytes::ZERO },
            steps,
            working: Bytes::ZERO,
            kept: Bytes::ZERO,
            secondary: match pass {
                Traversal::Forward => secondary,
                Traversal::Recompute => Bytes::ZERO,
                Traversal::Backward => -secondary,
            },
            gradients: if last { self.waiting(unit.reduced) } else { Bytes::ZERO },
            to_host: Bytes::ZERO,
            reduce: [false, true].map(|end| self.reduce(unit.reduced, end).filter(|_| last)),
            store: [false, true].map(|end| if last { self.stored(unit.reduced, end) } else { Bytes::ZERO }),
            sums: if last { self.resumed(unit.reduced) } else { Bytes::ZERO },
        }
    }

    /// Whether backward gathers the weights that forward had.
    fn regathers(&self) -> bool {
        self.rates.scenario.plan.sharding.reshard_after_forward
    }

    /// Whether weights come into memory for each visit: from other ranks, from the host, or both.
    pub fn fetched(&self) -> bool {
        self.layout.weights > 1 || self.rates.scenario.plan.offload.state()
    }

    /// Bytes of gathered weights while they are in memory for a visit.
    pub fn buffer(&self, elements: Count) -> Bytes {
        if self.fetched() { elements * self.rates.storage() } else { Bytes::ZERO }
    }

    /// Bytes from the host for so many weights: this rank's shard, where it lives there and no second copy on the
    /// device serves backward.
    pub fn loaded(&self, elements: Count, backward: bool) -> Bytes {
        let there = self.rates.scenario.plan.offload.state() && !(backward && self.second().is_some());
        if there { elements * self.rates.storage() / f64::from(self.layout.weights) } else { Bytes::ZERO }
    }

    /// Whether gradients are reduced at the end of the step only.
    pub fn whole(&self) -> bool {
        whole_gradients(self.rates, self.layout)
    }

    /// Bytes of gradients while backward adds to them, beyond those that are kept all the time.
    pub fn waiting(&self, elements: Count) -> Bytes {
        let buffered = self.rates.scenario.plan.offload.state() || !self.whole();
        if buffered { elements * gradient_size(self.rates) } else { Bytes::ZERO }
    }

    /// Bytes of that which go to the host when backward is over, or over for good: what is reduced then, or all.
    pub fn stored(&self, elements: Count, last: bool) -> Bytes {
        let ranks = if last || !self.whole() { self.layout.gradients } else { 1 };
        let offloaded = self.rates.scenario.plan.offload.state();
        if offloaded { elements * gradient_size(self.rates) / f64::from(ranks) } else { Bytes::ZERO }
    }

    /// Bytes of sums on the host that other ranks' are to be added to after the last backward.
    pub fn unreduced(&self, elements: Count) -> Bytes {
        let ranks = if self.whole() { 1 } else { self.layout.gradients };
        if self.layout.group() > ranks { self.stored(elements, false) } else { Bytes::ZERO }
    }

    /// Ranks that share the second copy of the weights, and its format; `None` where there is none, as where no
    /// weights are sharded.
    pub fn second(&self) -> Option<(u32, Format)> {
        let plan = &self.rates.scenario.plan;
        let ranks = self.layout.secondary.filter(|_| self.layout.weights > 1)?;
        Some((ranks, plan.precision.wire(plan.sharding.secondary.as_ref()?.format)))
    }

    /// Bytes of this rank's shard of the second copy of so many weights.
    pub fn secondary(&self, elements: Count) -> Bytes {
        self.second().map_or(Bytes::ZERO, |(ranks, format)| elements * Bytes::new(format.bytes()) / f64::from(ranks))
    }

    fn payload(&self, elements: Count, format: Format) -> Payload {
        let parts = self.parts();
        Payload { elements, format, block: self.rates.scenario.plan.sharding.wire.block.into(), parts }
    }

    /// Time of one micro-batch's forward through a pipeline rank's layers, everything alone.
    pub fn forward(&self) -> Seconds {
        let [ahead, _] = self.layers(false);
        let layers = f64::from(self.rates.scenario.model.layers) / f64::from(self.layout.pipeline);
        let step =
            |step: &ComputeStep| step.piece.work.time + step.piece.host + f64::from(step.tensor) * self.tensor.time;
        layers * ahead.steps.iter().map(step).sum::<Seconds>()
    }

    /// Collectives per unit.
    pub fn parts(&self) -> Count {
        self.collectives
    }

    /// The gather of a unit's weights: from the second copy in backward, where there is one.
    fn weights(&self, elements: Count, backward: bool) -> Option<UnitCollective> {
        let there = elements == Count::ZERO || (backward && !self.regathers());
        if there { None } else { self.gather(elements, self.parts(), backward) }
    }

    /// The gather of weights in so many collectives, for forward or backward; `None` where they are not sharded.
    pub fn gather(&self, elements: Count, parts: Count, backward: bool) -> Option<UnitCollective> {
        let plan = &self.rates.scenario.plan;
        let own = (self.layout.weights, plan.precision.wire(plan.sharding.wire.weights));
        let (ranks, format) = self.second().filter(|_| backward).unwrap_or(own);
        let payload = Payload { parts, ..self.payload(elements, format) };
        (self.layout.weights > 1).then(|| self.gathered(payload, self.layout.shard_group(ranks)))
    }

    /// An all-gather of weights, with the passes that quantise and dequantise them.
    pub fn gathered(&self, payload: Payload, group: Group) -> UnitCollective {
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
        let transfer = transfer.with_passes(self.rates.pass(passes));
        UnitCollective { transfer, kind: TaskKind::AllGather, buffer }
    }

    /// Format in which gradients travel.
    fn gradient_wire(&self, format: Format) -> Format {
        let (stack, precision) = (&self.rates.scenario.stack, self.rates.scenario.plan.precision);
        precision.wire(if format.quantised() { format } else { stack.reduce_format.unwrap_or(format) })
    }

    /// [`Self::unreduced`] where micro-batches are visited one by one: nothing is left of those before where there
    /// are none, or where each was reduced over all ranks.
    fn resumed(&self, elements: Count) -> Bytes {
        let plan = &self.rates.scenario.plan;
        let later = plan.accumulate > 1 && plan.reduction != Reduction::MicroBatch;
        if later { self.unreduced(elements) } else { Bytes::ZERO }
    }

    /// Whether all is reduced after backward; what lives on the host is reduced before it goes there.
    pub fn late(&self) -> bool {
        !self.rates.scenario.stack.reduce_during_backward && !self.rates.scenario.plan.offload.state()
    }

    /// The reduction of `elements` gradients at a micro-batch, or at the last one; `None` where nothing
    /// is reduced then or everything is reduced after backward.
    fn reduce(&self, elements: Count, last: bool) -> Option<UnitCollective> {
        let plan = &self.rates.scenario.plan;
        let shard = self.layout.gradients > 1 && (last || plan.reduction != Reduction::Step);
        let rest = last || plan.reduction == Reduction::MicroBatch;
        let shard = shard && !(self.late() && plan.reduction == Reduction::Step);
        let rest = rest && !self.late();
        if elements == Count::ZERO { None } else { self.reduction(elements, shard, rest, self.parts()) }
    }

    /// Sums gradients: into shards over the gradients' extent (`shard`), then what is left up to the
    /// optimizer's extent and over its replicas (`rest`).
    pub fn reduction(&self, elements: Count, shard: bool, rest: bool, parts: Count) -> Option<UnitCollective> {
        let (layout, wire) = (self.layout, self.rates.scenario.plan.sharding.wire);
        let payload = |elements: Count, format: Format| Payload { parts, ..self.payload(elements, format) };
        let mut found: Option<(Transfer, TaskKind)> = None;
        let mut add = |transfer: Transfer, kind: TaskKind| {
            found = Some(found.map_or((transfer, kind), |(before, first)| (before + transfer, first)));
        };
        let format = self.gradient_wire(wire.gradients);
        if shard && layout.gradients > 1 {
            let two_hop = self.rates.scenario.plan.sharding.two_hop_gradients;
            let (transfer, kind) =
                self.scattered(payload(elements, format), layout.shard_group(layout.gradients), two_hop);
            add(transfer, kind);
        }
        let boundary = self.gradient_wire(wire.boundary);
        if rest && layout.optimizer > layout.gradients {
            let left = elements / f64::from(layout.gradients);
            let group = layout.replica_group(layout.gradients, layout.optimizer);
            let (transfer, kind) = self.scattered(payload(left, boundary), group, false);
            add(transfer, kind);
        }
        if rest && layout.group() > layout.optimizer {
            let left = elements / f64::from(layout.optimizer);
            let group = layout.replica_group(layout.optimizer, layout.group());
            add(self.rates.all_reduce(payload(left, boundary), group), TaskKind::AllReduce);
        }
        let same = format == self.rates.scenario.plan.precision.storage();
        let buffer = if same { Bytes::ZERO } else { payload(elements, format).bytes() };
        found.map(|(transfer, kind)| UnitCollective { transfer, kind, buffer })
    }

    /// The sum of what two pipeline ranks have found as gradients of weights that logits share with the embedding,
    /// each rank with its shard; `None` where one rank has both.
    pub fn tied(&self) -> Option<Transfer> {
        let (model, layout) = (&self.rates.scenario.model, self.layout);
        let shared = u64::from(model.vocab) * u64::from(model.hidden);
        let apart = model.tied && shared > 0 && layout.pipeline > 1;
        let ranks = if self.whole() { 1 } else { layout.gradients };
        let elements = self.local(shared) / f64::from(ranks);
        let format = self.gradient_wire(self.rates.scenario.plan.sharding.wire.boundary);
        let payload = Payload { parts: Count::new(1.0), ..self.payload(elements, format) };
        apart.then(|| self.rates.all_reduce(payload, layout.pipeline_ends()))
    }

    /// A sum that leaves each rank its shard: a ring, or an all-to-all where gradients are quantised, since only
    /// what has been dequantised can be added [frontier D4].
    fn scattered(&self, payload: Payload, group: Group, two_hop: bool) -> (Transfer, TaskKind) {
        if !payload.format.quantised() {
            return (self.rates.gather(payload, group), TaskKind::ReduceScatter);
        }
        // Quantise, then dequantise and add, once per hop; the second hop has what the first left.
        let one = payload.elements * (self.rates.storage() + 2.0 * Bytes::new(payload.format.bytes()));
        let inside = self.rates.scenario.cluster.devices_per_node() / self.layout.tensor;
        let hops = if two_hop { 1.0 + 1.0 / f64::from(inside.clamp(1, group.size)) } else { 1.0 };
        let transfer = self.rates.all_to_all(payload, group, two_hop);
        (transfer.with_passes(self.rates.pass(one * hops)), TaskKind::AllToAll)
    }
}

fn alone(work: DeviceTime) -> [ComputeStep; 3] {
    let step = ComputeStep { piece: LaunchedWork { work, host: Seconds::ZERO }, tensor: 0, exchange: 0 };
    [step, ComputeStep::default(), ComputeStep::default()]
}

/// The same compute in one piece: nothing meets between.
fn in_one(steps: [ComputeStep; 3]) -> [ComputeStep; 3] {
    let piece = steps.iter().fold(LaunchedWork::default(), |sum, step| LaunchedWork {
        work: sum.work + step.piece.work,
        host: sum.host + step.piece.host,
    });
    [ComputeStep { piece, ..ComputeStep::default() }, ComputeStep::default(), ComputeStep::default()]
}

fn share(part: DeviceTime, whole: DeviceTime) -> f64 {
    if whole.time > Seconds::ZERO { part.time / whole.time } else { 0.5 }
}
