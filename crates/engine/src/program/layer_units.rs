//! Passes over the units of a layer. A unit is a run of the layer's pieces that are gathered and reduced together: the whole
//! layer, or its mixer and its MLP, each cut into slices if the plan says so; where experts have a mesh of their own they are a
//! unit, and all else of the layer is the other.
//!
//! A layer that is computed again from its input runs all units forward before any goes backward: weights are gathered a third
//! time for that, as FSDP does with units inside a recomputed block. Only a whole layer, or an MLP in one piece, goes backward
//! at once, on the weights that it has [osdp C3].

use crate::cost::{DeviceTime, LayerWork, Parameters, PerPiece, Piece, PieceActivations};
use crate::model::LayerKind;
use crate::plan::Recompute;
use crate::plan::pass::{Direction, Pass};
use crate::scenario::Differentiated;
use crate::units::{Bytes, Count, Seconds, Share};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::network_transfer::ExchangeId;
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, Exchanges, Traversal, UnitParameters, UnitPass, deferred_bytes};

/// The pieces of a unit, in the order of forward; a layer may lack some of them.
pub(super) type Run = &'static [Piece];

/// The whole layer.
const LAYER: Run = &[Piece::Mixer, Piece::Mlp];

/// The units of a layer of a kind: one or two, by where its experts lie and whether mixer and MLP are `split`.
pub(super) fn runs(kind: LayerKind, own_mesh: bool, split: bool) -> [Run; 2] {
    match (own_mesh, split) {
        (true, _) => [&[Piece::Mixer, Piece::Router], &[Piece::Experts]],
        (false, false) => [LAYER, &[]],
        (false, true) => {
            [if kind.has_mixer() { &[Piece::Mixer] } else { &[] }, if kind.has_mlp() { &[Piece::Mlp] } else { &[] }]
        }
    }
}

/// Parameters of a unit.
pub(super) fn parameters(pieces: Run, of: impl Fn(Piece) -> Parameters) -> Parameters {
    pieces.iter().map(|piece| of(*piece)).fold(Parameters::NONE, |all, own| all + own)
}

/// Collectives for a slice of a unit, where a whole layer takes some: half of them, at least one, where it is a part.
pub(super) fn collectives(pieces: Run, of_layer: Count) -> Count {
    if pieces == LAYER { of_layer } else { (of_layer / 2.0).max(Count::new(1.0)) }
}

/// The inputs of passes over a unit.
struct LayerUnit<'a> {
    costs: UnitCosts<'a>,
    kind: LayerKind,
    pieces: Run,
    unit: UnitParameters,
    work: &'a LayerWork,
    /// Whether the layer is computed again from its input.
    recomputed: bool,
    /// Slices of the unit.
    slices: u32,
}

/// The compute of a slice.
#[derive(Clone, Copy, Default)]
struct SliceCompute {
    piece: LaunchedWork,
    /// Exchanges of all slices: tensor ranks exchange around the last one, context ranks beside the first.
    exchanges: Exchanges,
}

/// Time of the host to launch backward over that of forward.
const BACKWARD_LAUNCHES: f64 = 1.5;

/// A pass over one layer of a kind, in units whose pieces are sharded as `costs`; each unit pass is handed to `add`.
pub(super) fn pass_over(
    kind: LayerKind,
    units: [Run; 2],
    costs: PerPiece<&UnitCosts<'_>>,
    slices: PerPiece<u32>,
    recomputed: bool,
    pass: Pass,
    mut add: impl FnMut(UnitPass),
) {
    let whole = costs[Piece::Mixer];
    let sliced = (slices != PerPiece::all(1)).then(|| whole.rates.sliced_layer(kind, slices));
    let work = sliced.as_ref().unwrap_or(&whole.layer(kind).work);
    let [first, second] = units.map(|pieces| {
        let piece = *pieces.first()?;
        Some(LayerUnit::new(costs[piece], kind, pieces, work, slices[piece], recomputed))
    });
    let (both, backwards) = ([&first, &second].into_iter().flatten(), [&second, &first].into_iter().flatten());
    let unpassed = whole.rates.scenario.differentiated(kind) == Differentiated::Nothing;
    match pass {
        Pass::Forward => both.for_each(|unit| unit.forward(&mut add)),
        _ if unpassed => backwards.for_each(|unit| unit.unpassed(pass, &mut add)),
        Pass::Backward | Pass::BackwardInputs => {
            both.for_each(|unit| unit.recompute(&mut add));
            backwards.for_each(|unit| unit.backward(pass, &mut add));
        }
        Pass::BackwardWeights => backwards.for_each(|unit| unit.weights(&mut add)),
    }
}

impl UnitCosts<'_> {
    /// The passes over a layer of a kind, in one unit if its experts are sharded as the rest of it.
    pub(crate) fn layer_passes(&self, kind: LayerKind, recomputed: bool, pass: Pass) -> Vec<UnitPass> {
        let (mut passes, units) = (Vec::new(), runs(kind, self.rates.has_expert_mesh(kind), false));
        let add = |unit_pass| passes.push(unit_pass);
        pass_over(kind, units, PerPiece::all(self), PerPiece::all(1), recomputed, pass, add);
        passes
    }

    /// The unit of a whole layer of a kind in a pass.
    pub(crate) fn layer_unit(&self, kind: LayerKind, pass: Pass) -> UnitParameters {
        let unit = self.unit(ModelPart::Layer, parameters(LAYER, |piece| self.layer(kind).parameters[piece]), 1);
        let unpassed = self.rates.scenario.differentiated(kind) == Differentiated::Nothing;
        if pass.is_backward() && unpassed { self.unpassed(unit) } else { unit }
    }

    fn unit(&self, part: ModelPart, parameters: Parameters, slices: u32) -> UnitParameters {
        let own = self.local(parameters) / f64::from(slices);
        UnitParameters { part, gathered: own.weights, reduced: own }
    }
}

impl<'a> LayerUnit<'a> {
    fn new(
        costs: &UnitCosts<'a>,
        kind: LayerKind,
        pieces: Run,
        work: &'a LayerWork,
        slices: u32,
        recomputed: bool,
    ) -> Self {
        let part = match pieces {
            [Piece::Experts] => ModelPart::Experts,
            [Piece::Mixer, Piece::Mlp] => ModelPart::Layer,
            [Piece::Mixer, ..] if kind.has_mixer() => ModelPart::Attention,
            _ => ModelPart::Mlp,
        };
        let all = parameters(pieces, |piece| costs.layer(kind).parameters[piece]);
        Self {
            costs: UnitCosts { collectives: collectives(pieces, costs.collectives), ..costs.clone() },
            kind,
            pieces,
            unit: costs.unit(part, all, slices),
            work,
            recomputed,
            slices,
        }
    }

    /// Whether it is the whole layer.
    fn is_layer(&self) -> bool {
        self.pieces == LAYER
    }

    /// Whether the layer begins with the unit.
    fn is_first(&self) -> bool {
        self.pieces[0] == Piece::Mixer || self.pieces[0] == Piece::Mlp && !self.kind.has_mixer()
    }

    /// The sum of something over its pieces.
    fn sum<T: Default + std::ops::Add<Output = T>>(&self, of: impl Fn(Piece) -> T) -> T {
        self.pieces.iter().fold(T::default(), |sum, piece| sum + of(*piece))
    }

    fn activations(&self) -> PieceActivations {
        let layer = &self.costs.layer(self.kind).activations;
        let own = self.sum(|piece| layer.pieces[piece]);
        if self.is_layer() { PieceActivations { working: layer.working, ..own } } else { own }
    }

    /// The layer's input, which recomputed layers keep. It belongs to the first unit.
    fn input(&self) -> Bytes {
        let input = self.costs.layer(self.kind).activations.checkpoint;
        if self.is_first() { self.share(input) } else { Bytes::ZERO }
    }

    /// What the host keeps of what a slice leaves for backward: of a recomputed layer its input, of any other all or the inputs
    /// of modules.
    fn on_host(&self) -> Bytes {
        let own = self.activations();
        match (self.costs.offloads(self.recomputed), self.recomputed) {
            (true, true) => self.input(),
            (false, true) => Bytes::ZERO,
            (true, false) => self.share(own.kept),
            (false, false) => self.share(own.on_host),
        }
    }

    /// The exchanges around a pass over one of its pieces. That of tokens on their way to experts is beside the mixer where it
    /// is hidden; in a layer that has none, beside the router.
    fn around(&self, piece: Piece, pass: Pass) -> Exchanges {
        let experts = &self.costs.rates.scenario.plan.experts;
        let dispatch = ExchangeId::Dispatch(pass.into());
        let beside = |around: Exchanges| around.with_experts_beside(dispatch);
        let with_router = self.pieces.contains(&Piece::Router);
        match piece {
            Piece::Mixer if with_router && experts.overlap && self.kind.has_mixer() => {
                beside(Exchanges::around(self.kind, piece, pass))
            }
            Piece::Mixer | Piece::Mlp => Exchanges::around(self.kind, piece, pass),
            Piece::Router if experts.overlap && self.kind.has_mixer() => Exchanges::NONE,
            Piece::Router if experts.overlap => beside(Exchanges::NONE),
            Piece::Router if pass != Pass::Forward => Exchanges::NONE,
            Piece::Router if experts.shared_overlap => beside(Exchanges::NONE),
            Piece::Router => Exchanges { after: Some(dispatch), ..Exchanges::NONE },
            Piece::Experts => Exchanges::around_experts(pass, experts.overlap),
        }
    }

    /// Time by which launches of the host make some work of the device longer.
    fn delay(&self, work: DeviceTime, launches: f64) -> Seconds {
        let host = self.sum(|piece| self.costs.layer(self.kind).host[piece]);
        self.costs.rates.launch_bound(work.time, launches * host) - work.time
    }

    /// The compute of a pass, piece by piece in its order.
    fn compute(&self, pass: Pass) -> [SliceCompute; 2] {
        let launches = match pass {
            Pass::Forward => 1.0,
            _ if self.is_layer() || pass.completes_gradients() => BACKWARD_LAUNCHES,
            _ => BACKWARD_LAUNCHES / 2.0,
        };
        // In a whole layer each piece has its share of what the host adds to all.
        let direction = if pass == Pass::Forward { &self.work.forward } else { &self.work.backward };
        let all = self.sum(|piece| direction[piece]);
        let late = if self.is_layer() { self.delay(all, launches) } else { Seconds::ZERO };
        let of = |piece: Piece| {
            let work = self.work.work(piece, pass) * (1.0 / f64::from(self.slices));
            let host = if self.is_layer() {
                late * share(work, all)
            } else {
                self.delay(work, launches / self.pieces.len() as f64)
            };
            SliceCompute { piece: LaunchedWork { work, host }, exchanges: self.around(piece, pass) }
        };
        match *self.pieces {
            [one, other] if pass == Pass::Forward => [of(one), of(other)],
            [one, other] => [of(other), of(one)],
            _ => [of(self.pieces[0]), SliceCompute::default()],
        }
    }

    /// All of forward as one piece of compute, with the exchanges around it, where backward begins with its repeat.
    fn repeated(&self) -> SliceCompute {
        if !self.is_layer() {
            return self.compute(Pass::Forward)[0];
        }
        let work = self.sum(|piece| self.work.forward[piece]);
        let piece = LaunchedWork { work, host: self.delay(work, 1.0) };
        SliceCompute { piece, exchanges: Exchanges::around_layer(self.kind) }
    }

    /// The compute that selective recompute repeats, with its exchanges.
    fn selected(&self) -> SliceCompute {
        if self.costs.rates.scenario.plan.recompute != Recompute::Selective {
            return SliceCompute::default();
        }
        let work = self.sum(|piece| self.work.selective[piece]) * (1.0 / f64::from(self.slices));
        let exchanges = self.repeated_exchanges();
        SliceCompute { piece: LaunchedWork { work, host: Seconds::ZERO }, exchanges }
    }

    /// The exchanges of selective recompute: where attention runs again, keys and values must travel again too, and where an MLP
    /// or experts run again from their input, what is around these. Experts that do fetch their tokens again, those of the
    /// shared expert among them.
    fn repeated_exchanges(&self) -> Exchanges {
        let again = self.costs.rates.repeats(self.kind);
        let has = |piece: Piece| self.pieces.contains(&piece);
        if has(Piece::Experts) && again.experts.whole {
            let [before, after] = [ExchangeId::Dispatch, ExchangeId::Combine].map(|way| Some(way(Direction::Forward)));
            return Exchanges { before, after, ..Exchanges::NONE };
        }
        let around_mlp = again.mlp.whole && (has(Piece::Mlp) || has(Piece::Router) && !again.experts.whole);
        let mlp = if around_mlp { Exchanges::around(self.kind, Piece::Mlp, Pass::Forward) } else { Exchanges::NONE };
        let attends = has(Piece::Mixer) && again.core > Share::ZERO;
        let [before, keys_values] =
            if attends { Exchanges::of_context(self.kind.mixer, Direction::Forward) } else { [None; 2] };
        Exchanges { before, beside: [keys_values, mlp.beside[1], None], ..mlp }
    }

    fn forward(&self, add: &mut impl FnMut(UnitPass)) {
        let own = self.activations();
        let (working, kept) = if self.recomputed {
            (own.whole - self.input() * f64::from(self.slices), self.input())
        } else {
            (own.whole - own.kept, self.share(own.kept))
        };
        let [one, other] = self.compute(Pass::Forward);
        let to_host = self.on_host();
        self.slices(Traversal::Pass(Pass::Forward), [one, other, SliceCompute::default()], |unit_pass| {
            add(UnitPass { working, kept, to_host, ..unit_pass });
        });
    }

    /// Whether recompute and backward are one pass on one gather: of a whole layer, and of an MLP in one piece behind attention.
    fn recomputes_at_once(&self) -> bool {
        self.is_layer() || !self.is_first() && self.slices == 1
    }

    /// The passes of recompute; none where nothing is recomputed or backward does it. They bring back all activations
    /// that backward reads, except for the layer's input, which was kept.
    fn recompute(&self, add: &mut impl FnMut(UnitPass)) {
        if !self.recomputed || self.recomputes_at_once() {
            return;
        }
        let kept = self.share(self.activations().whole) - self.input();
        let [one, other] = self.compute(Pass::Forward);
        // The first slice brings the input of all.
        let mut inputs = self.on_host() * f64::from(self.slices);
        self.slices(Traversal::Recompute, [one, other, SliceCompute::default()], |unit_pass| {
            let from_host = unit_pass.from_host + inputs;
            add(UnitPass { from_host, checkpoint: inputs, kept, ..unit_pass });
            inputs = Bytes::ZERO;
        });
    }

    /// Backward, whole or for inputs.
    fn backward(&self, pass: Pass, add: &mut impl FnMut(UnitPass)) {
        let (own, [one, other]) = (self.activations(), self.compute(pass));
        let at_once = self.recomputed && self.recomputes_at_once();
        let (compute, working, kept) = if !self.recomputed {
            ([self.selected(), one, other], own.whole - own.kept + own.working, self.share(own.kept))
        } else if at_once {
            ([self.repeated(), one, other], own.whole - self.input() + own.working, self.input())
        } else {
            ([one, other, SliceCompute::default()], own.working, self.share(own.whole))
        };
        let checkpoint = if !self.recomputed || at_once { self.on_host() } else { Bytes::ZERO };
        let kept = self.deferred_bytes(pass) - kept;
        self.slices(Traversal::Pass(pass), compute, |unit_pass| {
            let from_host = unit_pass.from_host + checkpoint;
            add(UnitPass { from_host, checkpoint, working, kept, ..unit_pass });
        });
    }

    /// Backward of a layer that it does not reach: the units give back what they hold.
    fn unpassed(&self, pass: Pass, add: &mut impl FnMut(UnitPass)) {
        let unit = self.costs.unpassed(self.unit);
        let idle = self.costs.unit_pass(unit, Traversal::Pass(pass), [ComputeStep::default(); 3]);
        (0..self.slices).for_each(|_| add(idle));
    }

    /// Backward for weights.
    fn weights(&self, add: &mut impl FnMut(UnitPass)) {
        let pass = Pass::BackwardWeights;
        let ([one, other], kept) = (self.compute(pass), self.deferred_bytes(pass));
        self.slices(Traversal::Pass(pass), [one, other, SliceCompute::default()], |unit_pass| {
            add(UnitPass { kept, ..unit_pass });
        });
    }

    /// Bytes that a slice's pass keeps for the gradients of weights, or gives back.
    fn deferred_bytes(&self, pass: Pass) -> Bytes {
        deferred_bytes(pass, || {
            let inputs = self.costs.rates.weight_gradient_inputs(self.kind);
            self.share(self.sum(|piece| inputs[piece]))
        })
    }

    /// One slice's share of some memory, in whole bytes, so that backward frees exactly what forward kept.
    fn share(&self, bytes: Bytes) -> Bytes {
        Bytes::new(libm::round((bytes / f64::from(self.slices)).get()))
    }

    /// The slices of one pass, each with its compute.
    fn slices(&self, pass: Traversal, compute: [SliceCompute; 3], mut add: impl FnMut(UnitPass)) {
        for slice in 0..self.slices {
            let steps = compute.map(|compute| self.step(compute, slice));
            add(self.costs.unit_pass(self.unit, pass, steps));
        }
    }

    /// Slices add up to one output, which the tensor ranks sum once; keys and values travel once as well.
    fn step(&self, SliceCompute { piece, exchanges }: SliceCompute, slice: u32) -> ComputeStep {
        let (first, last) = (slice == 0, slice + 1 == self.slices);
        let Exchanges { before, after, beside: [context, tensor, experts] } = exchanges;
        let beside = [context.filter(|_| first), tensor.filter(|_| last), experts.filter(|_| first)];
        let exchanges = Exchanges { before: before.filter(|_| first), after: after.filter(|_| last), beside };
        ComputeStep { piece, exchanges }
    }
}

fn share(part: DeviceTime, whole: DeviceTime) -> f64 {
    if whole.time > Seconds::ZERO { part.time / whole.time } else { 0.5 }
}
