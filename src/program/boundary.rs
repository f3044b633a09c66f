//! The end of a step: reductions that waited for it, the optimizer, and the weights' way back.

use crate::plan::Reduction;
use crate::units::Bytes;

use super::build::{Builder, HOST_IN, HOST_OUT, Piece, Queues};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::state::gradient_format;
use super::step::waits;
use super::task::{Class, Counter, Task};
use super::visit::Visits;
use crate::cost::{Payload, Transfer};

/// Bytes that frameworks put into one collective when the whole model travels at once: the 5e8
/// elements of `DeepSpeed`'s default `allgather_bucket_size`, two bytes each.
const BUCKET: Bytes = Bytes::new(1e9);

/// Parameters that are placed alike, and how.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    pub visits: &'a Visits<'a>,
    /// On one tensor and pipeline rank, before sharding.
    pub parameters: f64,
}

/// Fills the last block of a step whose parameters are all placed alike.
pub(super) fn build(visits: &Visits<'_>, queues: Queues, builder: &mut Builder<'_>, parameters: f64) {
    build_shares(&[Share { visits, parameters }], queues, builder);
}

/// Fills the last block of a step; there is at least one share.
pub(super) fn build_shares(shares: &[Share<'_>], queues: Queues, builder: &mut Builder<'_>) {
    let Some(Share { visits, .. }) = shares.first() else { return };
    let rates = visits.rates;
    let (plan, stack) = (&rates.scenario.plan, &rates.scenario.stack);
    if !stack.reduce_during_backward && !visits.staged {
        for share in shares {
            reduce(share, queues, builder);
        }
    }
    let owned = shares.iter().map(|share| share.parameters / f64::from(share.visits.layout.optimizer)).sum();
    if plan.offload.optimizer() {
        // The host's own arithmetic is not counted: it overlaps the copies on a machine made for it.
        let gradients = if plan.offload.state() { 0.0 } else { owned * gradient_format(rates).bytes() };
        copy(visits, builder, gradients, HOST_OUT, Lane::HostOut, Counter::HostOut);
        let weights = if plan.offload.state() { 0.0 } else { owned * rates.storage() };
        copy(visits, builder, weights, HOST_IN, Lane::HostIn, Counter::HostIn);
    } else {
        let piece = Piece { work: rates.optimizer(owned), host: 0.0 };
        let mut task = builder.compute(piece, Class::Optimizer, label(Lane::Compute, Kind::Optimizer));
        task.waits = done(builder);
        task.signals = [Some(Counter::Computed), None];
        builder.push(task);
    }
    for share in shares {
        weights(share, queues, builder);
    }
}

/// Reduces what waited for the end of backward.
fn reduce(share: &Share<'_>, queues: Queues, builder: &mut Builder<'_>) {
    let Share { visits, parameters } = *share;
    let scenario = visits.rates.scenario;
    let parts = buckets(parameters * gradient_format(visits.rates).bytes());
    let Some(reduce) = visits.reduction(parameters, scenario.plan.reduction == Reduction::Step, true, parts) else {
        return;
    };
    let label = label(Lane::Reduce, reduce.kind);
    let mut task = builder.transfer(&reduce.transfer, queues.reduce, scenario.stack.contention, label);
    task.waits = waits([Some(builder.after(Counter::Released, 0))]);
    task.signals = [Some(Counter::Reduced), None];
    builder.push(task);
}

/// Everything that gradients wait for.
fn done(builder: &Builder<'_>) -> [Option<super::Wait>; super::WAITS] {
    waits([Counter::Released, Counter::Reduced, Counter::HostOut].map(|counter| Some(builder.after(counter, 0))))
}

fn copy(visits: &Visits<'_>, builder: &mut Builder<'_>, bytes: f64, queue: u8, lane: Lane, counter: Counter) {
    if bytes == 0.0 {
        return;
    }
    let transfer = Transfer { time: visits.rates.host_copy(bytes), received: bytes, ..Transfer::default() };
    let contention = visits.rates.scenario.stack.contention;
    let mut task: Task = builder.transfer(&transfer, queue, contention, label(lane, Kind::Copy));
    task.waits = done(builder);
    task.signals = [Some(counter), None];
    builder.push(task);
}

/// Updated weights from the optimizer's shards back to the weights': across the gradients' groups
/// first, then inside them [frontier D4, boundary of the three levels].
fn weights(share: &Share<'_>, queues: Queues, builder: &mut Builder<'_>) {
    let Share { visits, parameters } = *share;
    let (rates, layout) = (visits.rates, visits.layout);
    let middle = layout.gradients.max(layout.weights);
    for (outer, inner) in [(layout.optimizer, middle), (middle, layout.weights)] {
        if outer <= inner {
            continue;
        }
        let wire = rates.scenario.plan.sharding.wire;
        let format = rates.scenario.plan.precision.wire(wire.boundary);
        let elements = parameters / f64::from(inner);
        let payload =
            Payload { elements, format, block: f64::from(wire.block), parts: buckets(elements * format.bytes()) };
        let gather = visits.gathered(payload, layout.replica_group(inner, outer));
        let label = label(Lane::Gather, gather.kind);
        let mut task = builder.transfer(&gather.transfer, queues.gather, rates.scenario.stack.contention, label);
        let before = [Counter::Computed, Counter::Gathered, Counter::HostIn];
        task.waits = waits(before.map(|counter| Some(builder.after(counter, 0))));
        task.signals = [Some(Counter::Gathered), None];
        builder.push(task);
    }
}

fn buckets(bytes: f64) -> f64 {
    libm::ceil(bytes / BUCKET.get()).max(1.0)
}

fn label(lane: Lane, kind: Kind) -> Label {
    let phase = if lane == Lane::Reduce { Phase::Backward } else { Phase::Update };
    Label { lane, phase, first: Activity { kind, part: Part::Model, ..Activity::default() }, ..Label::default() }
}
