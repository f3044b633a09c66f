//! Layers whose attention and MLP are units of their own, each cut into slices if the plan says so.
//!
//! A layer that is computed again from its input runs both halves forward before either goes backward:
//! weights are gathered a third time for that, as FSDP does with units inside a recomputed block. Only an
//! MLP in one piece goes backward at once, on the weights that it has [osdp C3].

use crate::cost::{DeviceTime, LayerWork};
use crate::plan::Recompute;
use crate::plan::pass::Pass;
use crate::units::{Bytes, Count, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, TensorExchange, Traversal, UnitParameters, UnitPass};

/// One half of a layer, in unit passes.
struct HalfPasses {
    forward: Vec<UnitPass>,
    /// Forward once more, before backward; empty where nothing is, or where backward does it.
    again: Vec<UnitPass>,
    backward: Vec<UnitPass>,
}

/// What passes over half a layer are made from.
struct HalfLayer<'a> {
    costs: UnitCosts<'a>,
    unit: UnitParameters,
    /// Slices of this half.
    slices: u32,
    /// Time of the host to launch one unit of this size.
    host: Seconds,
}

/// A slice's compute and what it meets.
#[derive(Clone, Copy, Default)]
struct SliceCompute {
    /// Of all slices together.
    work: DeviceTime,
    /// The host's time over that of forward.
    launch: f64,
    /// What the tensor ranks exchange around the last slice, and the context ranks beside the first.
    tensor: TensorExchange,
    exchange: u32,
}

/// A pass over one layer whose attention and MLP are sharded as `costs`.
pub(super) fn layer(costs: [&UnitCosts<'_>; 2], slices: [u32; 2], recomputed: bool, pass: Pass) -> Vec<UnitPass> {
    let work = costs[0].rates.sliced_layer(slices);
    let [attention, mlp] =
        [0, 1].map(|index| HalfLayer::new(costs[index], index, slices[index]).half(index, &work, recomputed));
    if pass.is_backward() {
        [attention.again, mlp.again, mlp.backward, attention.backward].concat()
    } else {
        [attention.forward, mlp.forward].concat()
    }
}

/// Collectives for a slice of one half of a layer that takes `whole`: half of its matrices, where they travel one by
/// one.
pub(super) fn collectives(whole: Count) -> Count {
    (whole / 2.0).max(Count::new(1.0))
}

impl<'a> HalfLayer<'a> {
    fn new(costs: &UnitCosts<'a>, index: usize, slices: u32) -> Self {
        let model = &costs.rates.scenario.model;
        let (part, parameters) = match index {
            0 => (ModelPart::Attention, model.attention_parameters()),
            _ => (ModelPart::Mlp, model.mlp_parameters()),
        };
        let own = costs.local(parameters) / f64::from(slices);
        Self {
            costs: UnitCosts { collectives: collectives(costs.collectives), ..*costs },
            unit: UnitParameters { part, gathered: own, reduced: own },
            slices,
            host: costs.rates.host_layer() / 2.0,
        }
    }

    fn half(&self, index: usize, work: &LayerWork, recomputed: bool) -> HalfPasses {
        let activations = &self.costs.activations;
        let own = activations.halves[index];
        // Context ranks exchange keys and values, which attention alone has: once forward, and twice backward, where
        // their gradients travel too.
        let exchange = u32::from(index == 0);
        let ahead =
            SliceCompute { work: work.forward[index], launch: 1.0, tensor: TensorExchange::Forward(1), exchange };
        let tensor = TensorExchange::Backward;
        let back = SliceCompute { work: work.backward[index], launch: 1.5, tensor, exchange: 2 * exchange };
        let (whole, whole_left) = (own.whole, self.share(own.whole));
        if !recomputed {
            let selective = self.costs.rates.scenario.plan.recompute == Recompute::Selective;
            let exchange = if self.costs.repeats_attention() { exchange } else { 0 };
            let selected = SliceCompute { work: work.selective[index], exchange, ..SliceCompute::default() };
            let again = if selective { selected } else { SliceCompute::default() };
            let (working, kept) = (whole - own.kept, self.share(own.kept));
            return HalfPasses {
                forward: self.sliced(Traversal::Forward, [ahead, SliceCompute::default()], [working, kept]),
                again: Vec::new(),
                backward: self.sliced(Traversal::Backward, [again, back], [working + own.working, -kept]),
            };
        }
        // The checkpoint is the layer's input, so attention's: all else that forward needs is gone when it ends, and
        // comes back with the second forward, which leaves it to backward.
        let input = if index == 0 { self.share(activations.checkpoint) } else { Bytes::ZERO };
        let left = whole_left - input;
        let inputs = input * f64::from(self.slices);
        let mut forward = self.sliced(Traversal::Forward, [ahead, SliceCompute::default()], [whole - inputs, input]);
        // The MLP in one piece: its second forward and its backward are one pass on one gather.
        if index == 1 && self.slices == 1 {
            let backward = self.sliced(Traversal::Backward, [ahead, back], [whole + own.working, Bytes::ZERO]);
            return HalfPasses { forward, again: Vec::new(), backward };
        }
        let mut again = self.sliced(Traversal::Recompute, [ahead, SliceCompute::default()], [Bytes::ZERO, left]);
        if index == 0 && self.costs.rates.scenario.plan.offload.checkpoints() {
            for unit_pass in &mut forward {
                unit_pass.to_host = input;
            }
            again[0].from_host += inputs;
            again[0].checkpoint = inputs;
        }
        HalfPasses {
            forward,
            again,
            backward: self.sliced(Traversal::Backward, [back, SliceCompute::default()], [own.working, -whole_left]),
        }
    }

    /// What one slice has of some memory, in whole bytes, so that what forward leaves is what backward frees.
    fn share(&self, bytes: Bytes) -> Bytes {
        Bytes::new(libm::round((bytes / f64::from(self.slices)).get()))
    }

    /// The slices of one pass. `memory` is what each works in, and what it leaves behind.
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
        let host = self.costs.rates.launched(work.time, compute.launch * self.host) - work.time;
        ComputeStep {
            piece: LaunchedWork { work, host },
            // Slices add up to one output, which the tensor ranks sum once; keys and values travel once as well.
            tensor: if slice + 1 == self.slices { compute.tensor } else { TensorExchange::Nothing },
            exchange: if slice == 0 { compute.exchange } else { 0 },
        }
    }
}
