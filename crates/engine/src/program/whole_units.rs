//! Passes over whole layers, over the embedding and over the head. Not for layers whose attention and MLP are units of
//! their own ([`super::sublayers`]).

use crate::cost::{DeviceTime, Sublayer};
use crate::plan::Recompute;
use crate::plan::pass::Pass;
use crate::units::{Bytes, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::sublayers::BACKWARD_LAUNCHES;
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, TensorExchange, Traversal, UnitParameters, UnitPass, deferred_bytes};

impl UnitCosts<'_> {
    /// A pass over one of the layers that are computed again from their input, or of the others.
    pub fn layer_pass(&self, recomputed: bool, pass: Pass) -> UnitPass {
        let activations = &self.activations;
        let kept = if recomputed { activations.checkpoint } else { activations.layer };
        let again = activations.whole - kept;
        let offloaded = recomputed && self.rates.scenario.plan.offload.checkpoints();
        let checkpoint = if offloaded { kept } else { Bytes::ZERO };
        let held = deferred_bytes(pass, || self.rates.weight_gradient_inputs().sum());
        let own = self.unit_pass(self.layer_unit(), Traversal::Pass(pass), self.layer_steps(recomputed, pass));
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

    /// The compute of a pass over a layer.
    fn layer_steps(&self, recomputed: bool, pass: Pass) -> [ComputeStep; 3] {
        // `late` is what the host adds to the device's time of the whole layer; each sublayer has its share, so that
        // cutting the layer into two units does not change its total.
        let late = |work: DeviceTime, launches: f64| {
            self.rates.launch_bound(work.time, launches * self.rates.host_layer()) - work.time
        };
        let part = |sublayer: Sublayer, all: DeviceTime, late: Seconds, tensor: TensorExchange, exchange: u32| {
            let work = self.layer.work(sublayer, pass);
            ComputeStep { piece: LaunchedWork { work, host: late * share(work, all) }, tensor, exchange }
        };
        let ahead = self.layer.forward.sum();
        if pass == Pass::Forward {
            let (late, once) = (late(ahead, 1.0), TensorExchange::Forward(1));
            let attention = part(Sublayer::Attention, ahead, late, once, 1);
            return [attention, part(Sublayer::Mlp, ahead, late, once, 0), ComputeStep::default()];
        }
        // Backward first repeats the whole layer with its collectives, or only the core of attention, which with
        // context parallelism needs keys and values passed around again.
        let selective = self.rates.scenario.plan.recompute == Recompute::Selective;
        let again = match (recomputed, selective) {
            _ if !pass.propagates() => ComputeStep::default(),
            (true, _) => {
                let piece = LaunchedWork { work: ahead, host: late(ahead, 1.0) };
                ComputeStep { piece, tensor: TensorExchange::Forward(2), exchange: 1 }
            }
            (false, true) => {
                let work = self.layer.selective.sum();
                let exchange = u32::from(self.repeats_attention());
                ComputeStep { piece: LaunchedWork { work, host: Seconds::ZERO }, exchange, ..ComputeStep::default() }
            }
            (false, false) => ComputeStep::default(),
        };
        let back = self.layer.backward.sum();
        let late = late(back, BACKWARD_LAUNCHES);
        // Backward passes keys and values around once more, and their gradients with them (arXiv 2310.01889). All that
        // ranks exchange goes with the gradients of inputs; those of weights need nothing from other ranks.
        let (meet, around) =
            if pass.propagates() { (TensorExchange::Backward, 2) } else { (TensorExchange::Nothing, 0) };
        [again, part(Sublayer::Mlp, back, late, meet, 0), part(Sublayer::Attention, back, late, meet, around)]
    }

    /// A pass over the embedding, or over last norm, logits and loss.
    pub fn end_pass(&self, part: ModelPart, pass: Pass) -> UnitPass {
        let (activations, rates) = (&self.activations, self.rates);
        let (kept, held, work) = match part {
            ModelPart::Head => {
                (activations.logits, deferred_bytes(pass, || rates.head_gradient_inputs()), rates.head())
            }
            _ => (activations.embedding, Bytes::ZERO, rates.embedding()),
        };
        let tensor = if pass.propagates() { TensorExchange::End(part, pass) } else { TensorExchange::Nothing };
        let piece = LaunchedWork { work: work.work(pass), host: Seconds::ZERO };
        let mut steps = [ComputeStep::default(); 3];
        steps[0] = ComputeStep { piece, tensor, exchange: 0 };
        let kept = match pass {
            Pass::Forward => kept,
            Pass::Backward | Pass::BackwardInputs => held - kept,
            Pass::BackwardWeights => held,
        };
        UnitPass { kept, ..self.unit_pass(self.end_unit(part, pass), Traversal::Pass(pass), steps) }
    }

    fn layer_unit(&self) -> UnitParameters {
        let own = self.local(self.rates.scenario.model.layer_parameters());
        UnitParameters { part: ModelPart::Layer, gathered: own, reduced: own }
    }
}

fn share(part: DeviceTime, whole: DeviceTime) -> f64 {
    if whole.time > Seconds::ZERO { part.time / whole.time } else { 0.5 }
}
