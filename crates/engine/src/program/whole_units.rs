//! Passes over whole layers, over the embedding and over the head. Not for layers whose attention and MLP are units of
//! their own ([`super::sublayers`]).

use crate::cost::{DeviceTime, PerSublayer, Sublayer};
use crate::model::LayerKind;
use crate::plan::Recompute;
use crate::plan::pass::Pass;
use crate::scenario::Differentiated;
use crate::units::{Bytes, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::network_transfer::ExchangeId;
use super::sublayers::{self, BACKWARD_LAUNCHES};
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, Exchanges, Traversal, UnitParameters, UnitPass, deferred_bytes};
use super::unit_work::LayerCosts;

impl UnitCosts<'_> {
    /// A pass over a layer of a kind, recomputed from its input or not.
    pub fn layer_pass(&self, kind: LayerKind, recomputed: bool, pass: Pass) -> UnitPass {
        let unit = self.layer_unit(kind, pass);
        if self.is_unpassed(kind, pass) {
            return self.unit_pass(unit, Traversal::Pass(pass), [ComputeStep::default(); 3]);
        }
        let activations = &self.layer(kind).activations;
        let kept = if recomputed { activations.checkpoint } else { activations.layer };
        let again = activations.whole - kept;
        let checkpoint = if self.offloads(recomputed) { kept } else { Bytes::ZERO };
        let held = deferred_bytes(pass, || self.rates.weight_gradient_inputs(kind).sum());
        let own = self.unit_pass(unit, Traversal::Pass(pass), self.layer_steps(kind, recomputed, pass));
        match pass {
            Pass::Forward => UnitPass { working: again, kept, to_host: checkpoint, ..own },
            Pass::Backward | Pass::BackwardInputs => UnitPass {
                working: again + activations.working,
                kept: held - kept,
                from_host: own.from_host + checkpoint,
                checkpoint,
                ..own
            },
            Pass::BackwardWeights => UnitPass { kept: held, ..own },
        }
    }

    /// The passes over a layer of a kind, in one piece if its experts are sharded as the rest of it.
    pub fn layer_passes(&self, kind: LayerKind, recomputed: bool, pass: Pass) -> Vec<UnitPass> {
        if self.rates.experts_apart(kind) {
            sublayers::layer(kind, PerSublayer::all(self), PerSublayer::all(1), recomputed, pass)
        } else {
            vec![self.layer_pass(kind, recomputed, pass)]
        }
    }

    /// The compute of a pass over a layer.
    fn layer_steps(&self, kind: LayerKind, recomputed: bool, pass: Pass) -> [ComputeStep; 3] {
        let LayerCosts { work: layer, host, .. } = self.layer(kind);
        // `late` is what the host adds to the device's time of the whole layer; each sublayer has its share, so that
        // cutting the layer into two units does not change its total.
        let host: Seconds = host.iter().copied().sum();
        let late = |work: DeviceTime, launches: f64| self.rates.launch_bound(work.time, launches * host) - work.time;
        let part = |sublayer: Sublayer, all: DeviceTime, late: Seconds| {
            let work = layer.work(sublayer, pass);
            let piece = LaunchedWork { work, host: late * share(work, all) };
            ComputeStep { piece, exchanges: Exchanges::around(kind, sublayer, pass) }
        };
        let ahead = layer.forward.sum();
        if pass == Pass::Forward {
            let late = late(ahead, 1.0);
            let [attention, mlp] = [Sublayer::Attention, Sublayer::Mlp].map(|sublayer| part(sublayer, ahead, late));
            return [attention, mlp, ComputeStep::default()];
        }
        // Backward first repeats the whole layer with its collectives, or only parts of it, with what these exchange.
        let selective = self.rates.scenario.plan.recompute == Recompute::Selective;
        let again = match (recomputed, selective) {
            _ if !pass.propagates() => ComputeStep::default(),
            (true, _) => {
                let piece = LaunchedWork { work: ahead, host: late(ahead, 1.0) };
                ComputeStep { piece, exchanges: Exchanges::around_layer(kind) }
            }
            (false, true) => {
                let piece = LaunchedWork { work: layer.selective.sum(), host: Seconds::ZERO };
                ComputeStep { piece, exchanges: self.repeated_exchanges(kind, &[Sublayer::Attention, Sublayer::Mlp]) }
            }
            (false, false) => ComputeStep::default(),
        };
        let back = layer.backward.sum();
        let late = late(back, BACKWARD_LAUNCHES);
        [again, part(Sublayer::Mlp, back, late), part(Sublayer::Attention, back, late)]
    }

    /// A pass over the embedding, or over last norm, logits and loss.
    pub(crate) fn end_pass(&self, part: ModelPart, pass: Pass) -> UnitPass {
        let rates = self.rates;
        let (kept, held, work) = match part {
            ModelPart::Head => (rates.logits(), deferred_bytes(pass, || rates.head_gradient_inputs()), rates.head()),
            _ => (rates.embedded(), Bytes::ZERO, rates.embedding()),
        };
        let head = part == ModelPart::Head;
        let after = if head { ExchangeId::Head(pass) } else { ExchangeId::Embedding(pass) };
        let beside = (head && pass.is_backward()).then_some(ExchangeId::HeadBeside);
        let exchanges = Exchanges { after: Some(after), beside: [None, beside, None], ..Exchanges::NONE };
        let mut steps = [ComputeStep::default(); 3];
        steps[0] = ComputeStep {
            piece: LaunchedWork { work: work.work(pass), host: Seconds::ZERO },
            exchanges: if pass.propagates() { exchanges } else { Exchanges::NONE },
        };
        let kept = match pass {
            Pass::Forward => kept,
            Pass::Backward | Pass::BackwardInputs => held - kept,
            Pass::BackwardWeights => held,
        };
        UnitPass { kept, ..self.unit_pass(self.end_unit(part, pass), Traversal::Pass(pass), steps) }
    }

    /// The unit of a layer of a kind in a pass.
    pub(crate) fn layer_unit(&self, kind: LayerKind, pass: Pass) -> UnitParameters {
        let own = self.local(self.layer(kind).parameters);
        let unit = UnitParameters { part: ModelPart::Layer, gathered: own.weights, reduced: own };
        if self.is_unpassed(kind, pass) { self.unpassed(unit) } else { unit }
    }

    /// Whether a pass is backward of layers that it does not reach.
    fn is_unpassed(&self, kind: LayerKind, pass: Pass) -> bool {
        pass.is_backward() && self.rates.scenario.differentiated(kind) == Differentiated::Nothing
    }
}

fn share(part: DeviceTime, whole: DeviceTime) -> f64 {
    if whole.time > Seconds::ZERO { part.time / whole.time } else { 0.5 }
}
