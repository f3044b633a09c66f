//! Layers whose attention and MLP are units of their own, each cut into slices if the plan says so; and layers whose
//! experts have a mesh of their own: those are a unit, and all else of the layer is the other.
//!
//! A layer that is computed again from its input runs both sublayers forward before either goes backward:
//! weights are gathered a third time for that, as FSDP does with units inside a recomputed block. Only an
//! MLP in one piece goes backward at once, on the weights that it has [osdp C3].

use crate::cost::{DeviceTime, LayerWork, Parameters, PerSublayer, Sublayer, SublayerActivations};
use crate::model::LayerKind;
use crate::plan::Recompute;
use crate::plan::pass::{Direction, Pass};
use crate::scenario::Differentiated;
use crate::units::{Bytes, Count, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::network_transfer::ExchangeId;
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, Exchanges, Traversal, UnitParameters, UnitPass, deferred_bytes};

/// The inputs of passes over a sublayer.
struct SublayerUnits<'a> {
    costs: UnitCosts<'a>,
    kind: LayerKind,
    sublayer: Sublayer,
    unit: UnitParameters,
    work: &'a LayerWork,
    /// Whether the layer is computed again from its input.
    recomputed: bool,
    /// Slices of this sublayer.
    slices: u32,
    /// Time of the host to launch one unit of this size.
    host: Seconds,
}

/// A sublayer's compute, before it is cut into slices.
#[derive(Clone, Copy)]
struct SliceCompute {
    /// Device time of all slices together.
    work: DeviceTime,
    /// Launch time of the host over that of forward.
    launch: f64,
    /// Exchanges of all slices: tensor ranks exchange around the last one, context ranks beside the first.
    exchanges: Exchanges,
}

const NO_COMPUTE: SliceCompute =
    SliceCompute { work: DeviceTime::arithmetic(Seconds::ZERO), launch: 0.0, exchanges: Exchanges::NONE };

/// Time of the host to launch backward over that of forward.
pub(super) const BACKWARD_LAUNCHES: f64 = 1.5;

/// A pass over one layer of a kind, whose attention and MLP are sharded as `costs`.
pub(super) fn layer(
    kind: LayerKind,
    costs: PerSublayer<&UnitCosts<'_>>,
    slices: PerSublayer<u32>,
    recomputed: bool,
    pass: Pass,
) -> Vec<UnitPass> {
    let rates = costs.attention.rates;
    let work = &rates.sliced_layer(kind, slices);
    let apart = rates.experts_apart(kind);
    let units = |sublayer: Sublayer| {
        SublayerUnits::new(costs.get(sublayer), kind, sublayer, work, *slices.get(sublayer), recomputed)
    };
    let first = (kind.has_mixer() || apart).then(|| units(Sublayer::Attention));
    let second = kind.has_mlp().then(|| units(if apart { Sublayer::Experts } else { Sublayer::Mlp }));
    let (both, backwards) = ([&first, &second].into_iter().flatten(), [&second, &first].into_iter().flatten());
    let unpassed = rates.scenario.differentiated(kind) == Differentiated::Nothing;
    match pass {
        Pass::Forward => both.flat_map(SublayerUnits::forward).collect(),
        _ if unpassed => backwards.flat_map(|unit| unit.unpassed(pass)).collect(),
        Pass::Backward | Pass::BackwardInputs => {
            both.flat_map(SublayerUnits::recompute).chain(backwards.flat_map(|unit| unit.backward(pass))).collect()
        }
        Pass::BackwardWeights => backwards.flat_map(SublayerUnits::weights).collect(),
    }
}

/// Collectives for a slice of one sublayer, where the layer takes `whole`: half of them, at least one.
pub(super) fn collectives(whole: Count) -> Count {
    (whole / 2.0).max(Count::new(1.0))
}

impl<'a> SublayerUnits<'a> {
    fn new(
        costs: &UnitCosts<'a>,
        kind: LayerKind,
        sublayer: Sublayer,
        work: &'a LayerWork,
        slices: u32,
        recomputed: bool,
    ) -> Self {
        let scenario = costs.rates.scenario;
        let routed =
            if costs.rates.experts_apart(kind) { Parameters::routed(scenario, kind) } else { Parameters::NONE };
        let (part, parameters) = match sublayer {
            Sublayer::Attention if routed.weights > Count::ZERO => {
                let part = if kind.has_mixer() { ModelPart::Attention } else { ModelPart::Mlp };
                (part, Parameters::layer(scenario, kind) - routed)
            }
            Sublayer::Attention => (ModelPart::Attention, Parameters::attention(scenario, kind)),
            Sublayer::Mlp => (ModelPart::Mlp, Parameters::mlp(scenario, kind)),
            Sublayer::Experts => (ModelPart::Experts, routed),
        };
        let own = costs.local(parameters) / f64::from(slices);
        Self {
            costs: UnitCosts { collectives: collectives(costs.collectives), ..costs.clone() },
            kind,
            sublayer,
            unit: UnitParameters { part, gathered: own.weights, reduced: own },
            work,
            recomputed,
            slices,
            host: costs.rates.host_sublayer(sublayer, kind),
        }
    }

    /// Whether the layer begins with the unit.
    fn is_first(&self) -> bool {
        self.sublayer == Sublayer::Attention || self.sublayer == Sublayer::Mlp && !self.kind.has_mixer()
    }

    /// Whether the unit is all of a layer but its experts.
    fn has_router(&self) -> bool {
        self.sublayer == Sublayer::Attention && self.costs.rates.experts_apart(self.kind)
    }

    /// The exchanges around a pass over the unit's own sublayer.
    fn around(&self, pass: Pass) -> Exchanges {
        Exchanges::around(self.kind, self.sublayer, pass)
    }

    /// The exchanges of attention and router, with that of tokens beside attention where it is hidden; in a layer that
    /// has none, beside the router.
    fn with_dispatch(&self, pass: Pass, [attention, router]: [Exchanges; 2]) -> [Exchanges; 2] {
        let hidden = self.costs.rates.scenario.plan.experts.overlap;
        let dispatch = |around: Exchanges| around.with_experts_beside(ExchangeId::Dispatch(pass.into()));
        match hidden {
            false => [attention, router],
            true if self.kind.has_mixer() => [dispatch(attention), router],
            true => [attention, dispatch(router)],
        }
    }

    fn activations(&self) -> SublayerActivations {
        let PerSublayer { attention, mlp, .. } = self.costs.layer(self.kind).activations.sublayers;
        if self.has_router() {
            return attention + mlp;
        }
        *self.costs.layer(self.kind).activations.sublayers.get(self.sublayer)
    }

    /// The layer's input, which recomputed layers keep. It belongs to the first unit.
    fn input(&self) -> Bytes {
        let input = self.costs.layer(self.kind).activations.checkpoint;
        if self.is_first() { self.share(input) } else { Bytes::ZERO }
    }

    /// Whether the host keeps what the unit leaves for backward: of a recomputed layer that input.
    fn offloaded(&self) -> bool {
        (self.is_first() || !self.recomputed) && self.costs.offloads(self.recomputed)
    }

    /// The compute of forward, or of its repeat: one piece, or two where a router follows attention.
    fn forward_compute(&self) -> [SliceCompute; 2] {
        let hidden = self.costs.rates.scenario.plan.experts.overlap;
        let piece = |sublayer: Sublayer, launch: f64, exchanges: Exchanges| SliceCompute {
            work: *self.work.forward.get(sublayer),
            launch,
            exchanges,
        };
        match self.sublayer {
            Sublayer::Experts => {
                [piece(self.sublayer, 1.0, Exchanges::around_experts(Pass::Forward, hidden)), NO_COMPUTE]
            }
            Sublayer::Attention if self.has_router() => {
                let attention = self.around(Pass::Forward);
                let [attention, router] = self.with_dispatch(Pass::Forward, [attention, Exchanges::NONE]);
                let dispatch = ExchangeId::Dispatch(Direction::Forward);
                let router = match self.costs.rates.scenario.plan.experts.shared_overlap {
                    _ if hidden => router,
                    true => Exchanges::NONE.with_experts_beside(dispatch),
                    false => Exchanges { after: Some(dispatch), ..Exchanges::NONE },
                };
                [piece(self.sublayer, 0.5, attention), piece(Sublayer::Mlp, 0.5, router)]
            }
            sublayer => [piece(sublayer, 1.0, self.around(Pass::Forward)), NO_COMPUTE],
        }
    }

    fn forward(&self) -> Vec<UnitPass> {
        let own = self.activations();
        let (working, kept) = if self.recomputed {
            (own.whole - self.input() * f64::from(self.slices), self.input())
        } else {
            (own.whole - own.kept, self.share(own.kept))
        };
        let mut forward =
            self.sliced(Traversal::Pass(Pass::Forward), followed(self.forward_compute(), NO_COMPUTE), [working, kept]);
        for unit_pass in forward.iter_mut().filter(|_| self.offloaded()) {
            unit_pass.to_host = kept;
        }
        forward
    }

    /// Whether recompute and backward are one pass on one gather, as for an MLP in one piece behind attention.
    fn recomputes_at_once(&self) -> bool {
        !self.is_first() && self.slices == 1
    }

    /// The passes of recompute; none where nothing is recomputed or backward does it. They bring back all activations
    /// that backward reads, except for the layer's input, which was kept.
    fn recompute(&self) -> Vec<UnitPass> {
        if !self.recomputed || self.recomputes_at_once() {
            return Vec::new();
        }
        let left = self.share(self.activations().whole) - self.input();
        let compute = followed(self.forward_compute(), NO_COMPUTE);
        let mut again = self.sliced(Traversal::Recompute, compute, [Bytes::ZERO, left]);
        if self.offloaded() {
            let inputs = self.input() * f64::from(self.slices);
            again[0].from_host += inputs;
            again[0].checkpoint = inputs;
        }
        again
    }

    /// The compute of backward, whole or for inputs: one piece, or two where a router precedes attention.
    fn backward_compute(&self, pass: Pass) -> [SliceCompute; 2] {
        let hidden = self.costs.rates.scenario.plan.experts.overlap;
        let launch = if pass.completes_gradients() { BACKWARD_LAUNCHES } else { BACKWARD_LAUNCHES / 2.0 };
        let piece = |sublayer: Sublayer, share: f64, exchanges: Exchanges| SliceCompute {
            work: self.work.work(sublayer, pass),
            launch: launch * share,
            exchanges,
        };
        match self.sublayer {
            Sublayer::Experts => [piece(self.sublayer, 1.0, Exchanges::around_experts(pass, hidden)), NO_COMPUTE],
            Sublayer::Attention if self.has_router() => {
                let [attention, router] = self.with_dispatch(pass, [self.around(pass), Exchanges::NONE]);
                [piece(Sublayer::Mlp, 0.5, router), piece(self.sublayer, 0.5, attention)]
            }
            sublayer => [piece(sublayer, 1.0, self.around(pass)), NO_COMPUTE],
        }
    }

    /// Backward, whole or for inputs.
    fn backward(&self, pass: Pass) -> Vec<UnitPass> {
        let (own, rates) = (self.activations(), self.costs.rates);
        let back = self.backward_compute(pass);
        let (compute, working, kept) = if !self.recomputed {
            let selective = rates.scenario.plan.recompute == Recompute::Selective;
            // Experts that run again fetch their tokens again, those of the shared one among them.
            let shared = self.has_router() && !rates.repeats(self.kind).experts.whole;
            let sublayers: &[Sublayer] = if shared { &[self.sublayer, Sublayer::Mlp] } else { &[self.sublayer] };
            let exchanges = self.costs.repeated_exchanges(self.kind, sublayers);
            let PerSublayer { mlp, .. } = self.work.selective;
            let router = if self.has_router() { mlp } else { DeviceTime::default() };
            let work = *self.work.selective.get(self.sublayer) + router;
            let again = SliceCompute { work, exchanges, ..NO_COMPUTE };
            let [first, second] = back;
            let compute = [if selective { again } else { NO_COMPUTE }, first, second];
            (compute, own.whole - own.kept + own.working, self.share(own.kept))
        } else if self.recomputes_at_once() {
            // A unit behind attention has one piece either way.
            let ([again, _], [back, _]) = (self.forward_compute(), back);
            ([again, back, NO_COMPUTE], own.whole + own.working, Bytes::ZERO)
        } else {
            (followed(back, NO_COMPUTE), own.working, self.share(own.whole))
        };
        let mut backward = self.sliced(Traversal::Pass(pass), compute, [working, self.deferred_bytes(pass) - kept]);
        for unit_pass in backward.iter_mut().filter(|_| self.offloaded() && !self.recomputed) {
            unit_pass.from_host += kept;
            unit_pass.checkpoint = kept;
        }
        backward
    }

    /// Backward of a layer that it does not reach: the units give back what they hold.
    fn unpassed(&self, pass: Pass) -> Vec<UnitPass> {
        let unit = self.costs.unpassed(self.unit);
        let idle = |_| self.costs.unit_pass(unit, Traversal::Pass(pass), [ComputeStep::default(); 3]);
        (0..self.slices).map(idle).collect()
    }

    /// Backward for weights.
    fn weights(&self) -> Vec<UnitPass> {
        let pass = Pass::BackwardWeights;
        let compute = followed(self.backward_compute(pass), NO_COMPUTE);
        self.sliced(Traversal::Pass(pass), compute, [Bytes::ZERO, self.deferred_bytes(pass)])
    }

    /// Bytes that a slice's pass keeps for the gradients of weights, or gives back.
    fn deferred_bytes(&self, pass: Pass) -> Bytes {
        deferred_bytes(pass, || {
            let inputs = self.costs.rates.weight_gradient_inputs(self.kind);
            let router = if self.has_router() { inputs.mlp } else { Bytes::ZERO };
            self.share(*inputs.get(self.sublayer) + router)
        })
    }

    /// One slice's share of some memory, in whole bytes, so that backward frees exactly what forward kept.
    fn share(&self, bytes: Bytes) -> Bytes {
        Bytes::new(libm::round((bytes / f64::from(self.slices)).get()))
    }

    /// The slices of one pass. `memory` is the working memory of each, and the bytes that it keeps.
    fn sliced(&self, pass: Traversal, compute: [SliceCompute; 3], memory: [Bytes; 2]) -> Vec<UnitPass> {
        let [working, kept] = memory;
        let slice = |slice: u32| {
            let steps = compute.map(|compute| self.step(compute, slice));
            UnitPass { working, kept, ..self.costs.unit_pass(self.unit, pass, steps) }
        };
        (0..self.slices).map(slice).collect()
    }

    fn step(&self, compute: SliceCompute, slice: u32) -> ComputeStep {
        let work = compute.work * (1.0 / f64::from(self.slices));
        let host = self.costs.rates.launch_bound(work.time, compute.launch * self.host) - work.time;
        // Slices add up to one output, which the tensor ranks sum once; keys and values travel once as well.
        let (first, last) = (slice == 0, slice + 1 == self.slices);
        let Exchanges { before, after, beside: [context, tensor, experts] } = compute.exchanges;
        let beside = [context.filter(|_| first), tensor.filter(|_| last), experts.filter(|_| first)];
        let exchanges = Exchanges { before: before.filter(|_| first), after: after.filter(|_| last), beside };
        ComputeStep { piece: LaunchedWork { work, host }, exchanges }
    }
}

/// Two pieces and a third.
const fn followed([first, second]: [SliceCompute; 2], third: SliceCompute) -> [SliceCompute; 3] {
    [first, second, third]
}
