//! Layers whose attention and MLP are units of their own, each cut into slices if the plan says so.
//!
//! A layer that is computed again from its input runs both sublayers forward before either goes backward:
//! weights are gathered a third time for that, as FSDP does with units inside a recomputed block. Only an
//! MLP in one piece goes backward at once, on the weights that it has [osdp C3].

use crate::cost::{DeviceTime, LayerWork, PerSublayer, Sublayer, SublayerActivations};
use crate::model::LayerKind;
use crate::plan::Recompute;
use crate::plan::pass::Pass;
use crate::units::{Bytes, Count, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
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
    let work = &costs.attention.rates.sliced_layer(kind, slices);
    let units = |sublayer: Sublayer| {
        SublayerUnits::new(costs.get(sublayer), kind, sublayer, work, *slices.get(sublayer), recomputed)
    };
    let (attention, mlp) = (units(Sublayer::Attention), units(Sublayer::Mlp));
    match pass {
        Pass::Forward => [attention.forward(), mlp.forward()].concat(),
        Pass::Backward | Pass::BackwardInputs => {
            [attention.recompute(), mlp.recompute(), mlp.backward(pass), attention.backward(pass)].concat()
        }
        Pass::BackwardWeights => [mlp.weights(), attention.weights()].concat(),
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
        let model = &costs.rates.scenario.model;
        let (part, parameters) = match sublayer {
            Sublayer::Attention => (ModelPart::Attention, model.attention_parameters()),
            Sublayer::Mlp => (ModelPart::Mlp, model.mlp_parameters(kind)),
        };
        let own = costs.local(parameters) / f64::from(slices);
        Self {
            costs: UnitCosts { collectives: collectives(costs.collectives), ..*costs },
            kind,
            sublayer,
            unit: UnitParameters { part, gathered: own, reduced: own },
            work,
            recomputed,
            slices,
            host: costs.rates.host_layer() / 2.0,
        }
    }

    fn activations(&self) -> SublayerActivations {
        *self.costs.layer(self.kind).activations.sublayers.get(self.sublayer)
    }

    /// The layer's input, which recomputed layers keep. It belongs to attention.
    fn input(&self) -> Bytes {
        match self.sublayer {
            Sublayer::Attention => self.share(self.costs.layer(self.kind).activations.checkpoint),
            Sublayer::Mlp => Bytes::ZERO,
        }
    }

    /// Whether the host keeps that input.
    fn offloaded(&self) -> bool {
        self.sublayer == Sublayer::Attention && self.recomputed && self.costs.rates.scenario.plan.offload.checkpoints()
    }

    /// The compute of forward, or of its repeat.
    fn forward_compute(&self) -> SliceCompute {
        let exchanges = Exchanges::around(self.sublayer, Pass::Forward);
        SliceCompute { work: *self.work.forward.get(self.sublayer), launch: 1.0, exchanges }
    }

    fn forward(&self) -> Vec<UnitPass> {
        let own = self.activations();
        let (working, kept) = if self.recomputed {
            (own.whole - self.input() * f64::from(self.slices), self.input())
        } else {
            (own.whole - own.kept, self.share(own.kept))
        };
        let mut forward =
            self.sliced(Traversal::Pass(Pass::Forward), [self.forward_compute(), NO_COMPUTE], [working, kept]);
        for unit_pass in forward.iter_mut().filter(|_| self.offloaded()) {
            unit_pass.to_host = kept;
        }
        forward
    }

    /// Whether recompute and backward are one pass on one gather, as for an MLP in one piece.
    fn recomputes_at_once(&self) -> bool {
        self.sublayer == Sublayer::Mlp && self.slices == 1
    }

    /// The passes of recompute; none where nothing is recomputed or backward does it. They bring back all activations
    /// that backward reads, except for the layer's input, which was kept.
    fn recompute(&self) -> Vec<UnitPass> {
        if !self.recomputed || self.recomputes_at_once() {
            return Vec::new();
        }
        let left = self.share(self.activations().whole) - self.input();
        let mut again = self.sliced(Traversal::Recompute, [self.forward_compute(), NO_COMPUTE], [Bytes::ZERO, left]);
        if self.offloaded() {
            let inputs = self.input() * f64::from(self.slices);
            again[0].from_host += inputs;
            again[0].checkpoint = inputs;
        }
        again
    }

    /// Backward, whole or for inputs.
    fn backward(&self, pass: Pass) -> Vec<UnitPass> {
        let (own, rates) = (self.activations(), self.costs.rates);
        let back = SliceCompute {
            work: self.work.work(self.sublayer, pass),
            launch: if pass.completes_gradients() { BACKWARD_LAUNCHES } else { BACKWARD_LAUNCHES / 2.0 },
            exchanges: Exchanges::around(self.sublayer, pass),
        };
        let (compute, working, kept) = if !self.recomputed {
            let selective = rates.scenario.plan.recompute == Recompute::Selective;
            let exchanges = match self.sublayer {
                Sublayer::Attention => self.costs.repeated_exchanges(),
                Sublayer::Mlp => Exchanges::NONE,
            };
            let again = SliceCompute { work: *self.work.selective.get(self.sublayer), exchanges, ..NO_COMPUTE };
            let compute = [if selective { again } else { NO_COMPUTE }, back];
            (compute, own.whole - own.kept + own.working, self.share(own.kept))
        } else if self.recomputes_at_once() {
            ([self.forward_compute(), back], own.whole + own.working, Bytes::ZERO)
        } else {
            ([back, NO_COMPUTE], own.working, self.share(own.whole))
        };
        self.sliced(Traversal::Pass(pass), compute, [working, self.deferred_bytes(pass) - kept])
    }

    /// Backward for weights.
    fn weights(&self) -> Vec<UnitPass> {
        let pass = Pass::BackwardWeights;
        let launch = BACKWARD_LAUNCHES / 2.0;
        let compute = SliceCompute { work: self.work.work(self.sublayer, pass), launch, ..NO_COMPUTE };
        self.sliced(Traversal::Pass(pass), [compute, NO_COMPUTE], [Bytes::ZERO, self.deferred_bytes(pass)])
    }

    /// Bytes that a slice's pass keeps for the gradients of weights, or gives back.
    fn deferred_bytes(&self, pass: Pass) -> Bytes {
        deferred_bytes(pass, || self.share(*self.costs.rates.weight_gradient_inputs(self.kind).get(self.sublayer)))
    }

    /// One slice's share of some memory, in whole bytes, so that backward frees exactly what forward kept.
    fn share(&self, bytes: Bytes) -> Bytes {
        Bytes::new(libm::round((bytes / f64::from(self.slices)).get()))
    }

    /// The slices of one pass. `memory` is the working memory of each, and the bytes that it keeps.
    fn sliced(&self, pass: Traversal, compute: [SliceCompute; 2], memory: [Bytes; 2]) -> Vec<UnitPass> {
        let [working, kept] = memory;
        let slice = |slice: u32| {
            let [first, second] = compute.map(|compute| self.step(compute, slice));
            UnitPass { working, kept, ..self.costs.unit_pass(self.unit, pass, [first, second, ComputeStep::default()]) }
        };
        (0..self.slices).map(slice).collect()
    }

    fn step(&self, compute: SliceCompute, slice: u32) -> ComputeStep {
        let work = compute.work * (1.0 / f64::from(self.slices));
        let host = self.costs.rates.launch_bound(work.time, compute.launch * self.host) - work.time;
        // Slices add up to one output, which the tensor ranks sum once; keys and values travel once as well.
        let (first, last) = (slice == 0, slice + 1 == self.slices);
        let Exchanges { after, beside: [context, tensor] } = compute.exchanges;
        let beside = [context.filter(|_| first), tensor.filter(|_| last)];
        ComputeStep {
            piece: LaunchedWork { work, host },
            exchanges: Exchanges { after: after.filter(|_| last), beside },
        }
    }
}
