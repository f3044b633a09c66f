//! The intensity of each kind of transfer, from the plan's counts [layered B5]. Not for what it means.

use crate::bounds::pipeline::Pipeline;
use crate::cost::{self, Factors, Rates, overlapped_share};
use crate::hardware::Group;
use crate::model::LayerKind;
use crate::plan::Format;
use crate::plan::pass::{PerDirection, PipelineCounts, StageCollectives};
use crate::scenario::{Layout, Scenario};
use crate::stack::Overlap;
use crate::units::BytesPerSecond;

use super::{Intensity, IntensityFormula, TransferKind, TransferLink};

/// Flop per parameter and token of forward; the gradients of inputs and weights take as much each.
pub(super) const FORWARD: f64 = 2.0;

/// The terms of the formulas.
pub(super) struct Terms<'a> {
    scenario: &'a Scenario,
    layout: &'a Layout,
    rates: Rates<'a>,
    pipeline: Pipeline,
    /// Share of the layers that backward computes again.
    again: f64,
    /// Tokens of a micro-batch on one rank: `b_mu d_s`.
    tokens: f64,
    /// Weights of a layer's matrices that a token meets, on average over layers: `12 d_m^2` in the family.
    layer: f64,
    /// Active share of the layer's weights: less than 1 where it has experts.
    active: f64,
    /// Bytes of activations of the model's width, per token and tensor rank.
    stream: f64,
}

/// How often the state of a stage passes the device, and what computes meanwhile.
#[derive(Debug, Clone, Copy)]
struct Passages {
    /// Times that weights come for forward and for backward, and that gradients go.
    gathers: PerDirection<f64>,
    reductions: f64,
    /// The micro-batches that these serve.
    together: f64,
    hidden_by: HiddenBy,
}

/// The arithmetic behind which transfers of the state are hidden.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HiddenBy {
    /// The pass that it is for, of the stage before or after.
    Pass,
    /// Any pass.
    Step,
    /// Nothing: a rank's only stage comes before its first pass and is reduced after its last; the stages of forward
    /// and backward that take one buffer from each other are both needed at once.
    Nothing,
}

/// Weights come for each pass, gradients go once.
const EACH_PASS: Passages = Passages {
    gathers: PerDirection { forward: 1.0, backward: 1.0 },
    reductions: 1.0,
    together: 1.0,
    hidden_by: HiddenBy::Pass,
};

impl<'a> Terms<'a> {
    pub(super) fn new(scenario: &'a Scenario, layout: &'a Layout) -> Self {
        let (model, rates) = (&scenario.model, Rates::new(scenario, &Factors::default()));
        let mean =
            |of: &dyn Fn(LayerKind) -> u64| model.over_layers(|kind| of(kind) as f64) / f64::from(model.all_layers());
        let layer = mean(&|kind| model.active_weights(kind));
        Self {
            scenario,
            layout,
            pipeline: Pipeline::new(&scenario.plan),
            again: scenario.plan.recompute.layers(),
            tokens: rates.tokens().get(),
            layer,
            active: layer / mean(&|kind| model.layer_weights(kind)),
            stream: rates.storage().get() * f64::from(model.hidden) / f64::from(layout.tensor),
            rates,
        }
    }

    /// Flop per parameter and token of backward, recompute included: 6 where all is computed again.
    fn backward(&self) -> f64 {
        FORWARD * (2.0 + self.again)
    }

    fn step(&self) -> f64 {
        FORWARD + self.backward()
    }

    fn accumulate(&self) -> f64 {
        f64::from(self.scenario.plan.accumulate)
    }

    /// How the state of a stage passes the device.
    fn passages(&self) -> Passages {
        let PipelineCounts { ranks, stages, micro_batches } = self.pipeline.counts;
        let together = self.pipeline.together();
        let StageCollectives { gathers, reductions } = self.pipeline.collectives();
        let [gathers, reductions] = [gathers, reductions].map(|count| f64::from(count) / f64::from(stages));
        let gathers = PerDirection::from_fn(|_| gathers / 2.0);
        let whole = Passages { gathers, reductions, together: self.accumulate(), hidden_by: HiddenBy::Step };
        match (ranks, stages) {
            // Without a pipeline each pass gathers its own layer: for one micro-batch, or for all where they are
            // accumulated layer by layer.
            (1, _) => Passages { together: f64::from(together), ..EACH_PASS },
            // The only stage of a rank is gathered before its first forward and stays.
            (_, 1) => Passages {
                gathers: PerDirection { forward: 1.0, backward: 0.0 },
                hidden_by: HiddenBy::Nothing,
                ..whole
            },
            _ if together == micro_batches => Passages { together: self.accumulate(), ..EACH_PASS },
            // Two stages have a buffer each, and stay as well.
            (_, 2) => whole,
            _ => Passages { hidden_by: HiddenBy::Nothing, ..whole },
        }
    }

    /// Bytes of a weight in this format on the wire.
    fn weight(&self, format: Format) -> f64 {
        self.scenario.plan.precision.wire(format).bytes()
    }

    /// Bytes of a gradient in this format on the wire, or in the one that the stack reduces in.
    fn gradient(&self, format: Format) -> f64 {
        self.scenario.reduction_format(format).bytes()
    }

    /// Whether weights are gathered over their own extent a second time, for backward.
    fn regathers(&self) -> bool {
        let sharding = &self.scenario.plan.sharding;
        sharding.reshard_after_forward && sharding.secondary.is_none()
    }

    /// The slowest level that a ring over the group crosses, and at what rate.
    fn ring(&self, group: Group) -> (TransferLink, BytesPerSecond) {
        let spans = self.rates.network.ring(group);
        let crossed = spans.iter().enumerate().filter(|(_, span)| span.edges > 0);
        let slowest = crossed.min_by(|(_, a), (_, b)| a.rate.get().total_cmp(&b.rate.get()));
        let (level, rate) = slowest.map_or((0, spans[0].per_rank), |(level, span)| (level, span.rate));
        (TransferLink::Level(level), rate)
    }

    /// [layered B4]: `peak / (2 x bandwidth)`, input and output of the link together; the peak of the data sheet.
    fn threshold(&self, bandwidth: BytesPerSecond) -> f64 {
        cost::peak(self.scenario, self.scenario.plan.precision).get() / (2.0 * bandwidth.get())
    }

    const fn host(&self) -> (TransferLink, BytesPerSecond) {
        (TransferLink::Host, self.rates.host)
    }

    fn row(
        &self,
        kind: TransferKind,
        (link, bandwidth): (TransferLink, BytesPerSecond),
        formula: IntensityFormula,
    ) -> Intensity {
        let threshold = self.threshold(bandwidth);
        Intensity { kind, link, formula, bandwidth, threshold, overlapped: true, micro_batches: None }
    }

    /// Traffic of the state: `flop` per parameter and token, `bytes` per parameter, and the `micro_batches` that
    /// it serves.
    fn state(
        &self,
        kind: TransferKind,
        link: (TransferLink, BytesPerSecond),
        flop: f64,
        bytes: f64,
        micro_batches: f64,
    ) -> Intensity {
        let one = IntensityFormula { flop: flop * self.active, count: self.tokens, of: "tokens", bytes };
        let all = self.row(kind, link, IntensityFormula { count: self.tokens * micro_batches, ..one });
        Intensity { micro_batches: Some(libm::ceil(all.threshold / one.value()).max(1.0)), ..all }
    }

    /// Traffic of activations: `parameters` that a token meets on a device, and `bytes` per token.
    fn activations(
        &self,
        kind: TransferKind,
        link: (TransferLink, BytesPerSecond),
        parameters: f64,
        bytes: f64,
    ) -> Intensity {
        self.row(kind, link, IntensityFormula { flop: self.step(), count: parameters, of: "parameters", bytes })
    }

    /// A transfer that runs beside nothing: in turn with all arithmetic of the step.
    fn alone(row: Intensity) -> Intensity {
        Intensity { overlapped: false, micro_batches: None, ..row }
    }

    /// Gradients are summed over the ranks that hold the same shard of them, or of the weights where gradients
    /// are sharded over all, and come back as sums or, where the optimizer is sharded over them, as weights:
    /// `2 g + 2 g` or `2 g + 2 w` bytes of what a rank holds. They hide behind the backward of the last
    /// micro-batch, of the last group of interleaved ones, of all of them layer by layer:
    /// `I = (3/4) n_mu b_mu d_s` with full recompute and 16 bits.
    /// A rank with one stage of a pipeline sums when its backward is over.
    pub(super) fn data_parallel(&self) -> Option<Intensity> {
        let (layout, stack) = (self.layout, &self.scenario.stack);
        let held = if layout.gradients < layout.group() { layout.gradients } else { layout.weights };
        if layout.group() == held {
            return None;
        }
        let link = self.ring(layout.replica_group(held, layout.group()));
        let format = self.scenario.plan.sharding.wire.boundary;
        let out = self.gradient(format);
        let back = if layout.optimizer > held { self.weight(format) } else { out };
        let bytes = 2.0 * (out + back) / f64::from(held);
        let late = self.pipeline.counts.ranks > 1 && self.pipeline.counts.stages == 1;
        // Gradients that live on the host are reduced before they go there.
        let during = stack.reduce_during_backward || self.scenario.plan.offload.state();
        if late || stack.overlap == Overlap::None || !during {
            return Some(Self::alone(self.state(
                TransferKind::DataParallel,
                link,
                self.step(),
                bytes,
                self.accumulate(),
            )));
        }
        let hidden_by = f64::from(self.pipeline.together());
        Some(self.state(TransferKind::DataParallel, link, self.backward(), bytes, hidden_by))
    }

    /// Weights are gathered for forward (`2 w` bytes) and for backward, and gradients reduced (`2 g`), each time
    /// for all micro-batches that are visited together. The phase that asks for more counts: with full
    /// recompute and 16 bits forward, `I = (1/2) n_mu b_mu d_s` layer by layer. Where it runs beside all of the step,
    /// or beside nothing, all counts.
    pub(super) fn partitioned_state(&self) -> Option<Intensity> {
        let layout = self.layout;
        if layout.weights == 1 {
            return None;
        }
        let link = self.ring(layout.shard_group(layout.weights));
        let wire = self.scenario.plan.sharding.wire;
        let (weights, gradients) = (self.weight(wire.weights), self.gradient(wire.gradients));
        let again = if self.regathers() { weights } else { 0.0 };
        let Passages { gathers: PerDirection { forward: first, backward: second }, reductions, together, hidden_by } =
            self.passages();
        let row = |flop: f64, bytes: f64| self.state(TransferKind::PartitionedState, link, flop, 2.0 * bytes, together);
        let whole = row(self.step(), first * weights + second * again + reductions * gradients);
        let stops = matches!(self.scenario.stack.overlap, Overlap::None | Overlap::Reductions);
        Some(match hidden_by {
            HiddenBy::Pass if !stops => {
                let (forward, backward) = (row(FORWARD, weights), row(self.backward(), again + gradients));
                if backward.flop_per_byte() < forward.flop_per_byte() { backward } else { forward }
            }
            HiddenBy::Step if !stops => whole,
            _ => Self::alone(whole),
        })
    }

    /// Activations forward and their gradients back, each in and out, once per stage; each tensor rank
    /// sends its share: `I = 12 d_m` times the layers of a stage, all of `d_l / n_l` where it is contiguous.
    pub(super) fn pipeline(&self) -> Option<Intensity> {
        if self.layout.pipeline == 1 {
            return None;
        }
        let (group, network) = (self.layout.pipeline_group(), self.rates.network);
        let spans = network.ring(group);
        // The slowest hop counts; where each rank has several stages, the last rank sends to the first too.
        let closing = u32::from(self.pipeline.counts.stages > 1);
        let hops = (1..group.size + closing).map(|rank| network.joining(group, rank - 1, rank % group.size));
        let level = hops.min_by(|a, b| spans[*a].per_rank.get().total_cmp(&spans[*b].per_rank.get()))?;
        let link = (TransferLink::Level(level), spans[level].per_rank);
        let stages = f64::from(self.pipeline.counts.ranks * self.pipeline.counts.stages);
        let layers = f64::from(self.scenario.model.all_layers()) / stages;
        let parameters = self.layer * layers / f64::from(self.layout.tensor);
        Some(self.activations(TransferKind::Pipeline, link, parameters, 4.0 * self.stream))
    }

    /// Two all-reduces per layer in each of forward, backward and recompute, each `2 (n_a - 1) / n_a` of the
    /// stream in and out, and nothing beside them: `I = 2 d_m / (n_a - 1)` with full recompute and 16 bits. Of those in
    /// backward a stack may hide all, or with sequence parallelism all but a gather for each.
    pub(super) fn tensor(&self) -> Option<Intensity> {
        let ranks = f64::from(self.layout.tensor);
        if self.layout.tensor == 1 {
            return None;
        }
        let stack = &self.scenario.stack;
        let backward = match (stack.tensor_overlap, stack.sequence_parallel) {
            (false, _) => 1.0,
            (true, true) => 0.5,
            (true, false) => 0.0,
        };
        let alone = 1.0 - overlapped_share(&self.scenario.plan);
        let reductions = 2.0 * (1.0 + backward + self.again) * alone;
        let bytes = reductions * 4.0 * self.stream * (ranks - 1.0);
        Some(Self::alone(self.activations(
            TransferKind::Tensor,
            self.ring(self.layout.tensor_group()),
            self.layer / ranks,
            bytes,
        )))
    }

    /// Inputs of the layers that are computed again, written in forward and read in backward:
    /// `I = 24 d_m` with full recompute and 16 bits. Of activations that are not computed again there is no closed form.
    pub(super) fn checkpoint_offload(&self) -> Option<Intensity> {
        if !self.scenario.plan.offload.checkpoints() || self.again <= 0.0 {
            return None;
        }
        let parameters = self.layer / f64::from(self.layout.tensor);
        Some(self.activations(TransferKind::CheckpointOffload, self.host(), parameters, 2.0 * self.again * self.stream))
    }

    /// A rank's shard of the weights comes for forward and, where no second copy serves it, for backward, and its
    /// shard of the gradients goes, each time for all micro-batches that are visited together:
    /// `I = (8/6) n_mu b_mu d_s n_b` layer by layer. Where only the optimizer is on the host, gradients go and
    /// weights come once, after backward.
    pub(super) fn state_offload(&self) -> Option<Intensity> {
        let (plan, layout) = (&self.scenario.plan, self.layout);
        let storage = plan.precision.storage();
        let gradient = self.scenario.gradient_format().bytes();
        let row = |bytes: f64, together: f64| {
            self.state(TransferKind::StateOffload, self.host(), self.step(), bytes, together)
        };
        if plan.offload.state() {
            let Passages {
                gathers: PerDirection { forward: first, backward: second },
                reductions,
                together,
                hidden_by,
            } = self.passages();
            let again = if self.regathers() || layout.weights == 1 { second } else { 0.0 };
            let weights = (first + again) * storage.bytes() / f64::from(layout.weights);
            let all = row(weights + reductions * gradient / f64::from(layout.gradients), together);
            return Some(if hidden_by == HiddenBy::Nothing { Self::alone(all) } else { all });
        }
        let bytes = (storage.bytes() + gradient) * plan.optimizer_on_host() / f64::from(layout.optimizer);
        plan.offload.optimizer().then(|| Self::alone(row(bytes, self.accumulate())))
    }
}
