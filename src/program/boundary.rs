//! The end of a step: reductions that waited for it, the optimizer, and the weights' way back.

use crate::plan::Reduction;
use crate::units::Bytes;

use super::build::{Builder, HOST_IN, HOST_OUT, Piece, Queues};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::state::gradient_format;
use super::step::waits;
use super::task::{Class, Counter, Task};
use super::visit::{Moved, Visits};
use crate::cost::{Payload, Transfer};

/// Bytes that frameworks put into one collective when the whole model travels at once: the 5e8
/// elements of `DeepSpeed`'s default `allgather_bucket_size`, two bytes each.
const BUCKET: Bytes = Bytes::new(1e9);

/// Fills the last block of a step.
pub(super) fn build(visits: &Visits<'_>, queues: Queues, builder: &mut Builder<'_>, parameters: f64) {
    let (rates, layout) = (visits.rates, visits.layout);
    let (plan, stack) = (&rates.scenario.plan, &rates.scenario.stack);
    if !stack.reduce_during_backward && !visits.staged {
        let parts = buckets(parameters * gradient_format(rates).bytes());
        if let Some(reduce) = visits.reduction(parameters, plan.reduction == Reduction::Step, true, parts) {
            let label = label(Lane::Reduce, reduce.kind);
            let mut task = builder.transfer(&reduce.transfer, queues.reduce, stack.contention, label);
            task.waits = waits([Some(builder.after(Counter::Released, 0))]);
            task.signals = [Some(Counter::Reduced), None];
            builder.push(task);
        }
    }
    let owned = parameters / f64::from(layout.optimizer);
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
    weights(visits, queues, builder, parameters);
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

fn weights(visits: &Visits<'_>, queues: Queues, builder: &mut Builder<'_>, parameters: f64) {
    for gather in ways_back(visits, parameters, buckets) {
        let label = label(Lane::Gather, gather.kind);
        let contention = visits.rates.scenario.stack.contention;
        let mut task = builder.transfer(&gather.transfer, queues.gather, contention, label);
        let before = [Counter::Computed, Counter::Gathered, Counter::HostIn];
        task.waits = waits(before.map(|counter| Some(builder.after(counter, 0))));
        task.signals = [Some(Counter::Gathered), None];
        builder.push(task);
    }
}

/// Updated weights from the optimizer's shards back to the weights': across the gradients' groups
/// first, then inside them [frontier D4, boundary of the three levels]. `parts` collectives carry so many
/// bytes.
fn ways_back(visits: &Visits<'_>, parameters: f64, parts: fn(f64) -> f64) -> impl Iterator<Item = Moved> {
    let (rates, layout) = (visits.rates, visits.layout);
    let middle = layout.gradients.max(layout.weights);
    let ways = [(layout.optimizer, middle), (middle, layout.weights)].into_iter();
    ways.filter(|(outer, inner)| outer > inner).map(move |(outer, inner)| {
        let wire = rates.scenario.plan.sharding.wire;
        let format = rates.scenario.plan.precision.wire(wire.boundary);
        let elements = parameters / f64::from(inner);
        let payload =
            Payload { elements, format, block: f64::from(wire.block), parts: parts(elements * format.bytes()) };
        visits.gathered(payload, layout.replica_group(inner, outer))
    })
}

/// Seconds that the end of a step takes at least for these parameters, latencies left out.
pub(super) fn least(visits: &Visits<'_>, parameters: f64) -> f64 {
    let (rates, offload) = (visits.rates, visits.rates.scenario.plan.offload);
    let owned = parameters / f64::from(visits.layout.optimizer);
    let update = match (offload.optimizer(), offload.state()) {
        (false, _) => rates.optimizer(owned).time,
        (true, false) => rates.host_copy(owned * (gradient_format(rates).bytes() + rates.storage())),
        (true, true) => 0.0,
    };
    update + ways_back(visits, parameters, |_| 0.0).map(|gather| gather.transfer.time).sum::<f64>()
}

fn buckets(bytes: f64) -> f64 {
    libm::ceil(bytes / BUCKET.get()).max(1.0)
}

fn label(lane: Lane, kind: Kind) -> Label {
    let phase = if lane == Lane::Reduce { Phase::Backward } else { Phase::Update };
    Label { lane, phase, first: Activity { kind, part: Part::Model, ..Activity::default() }, ..Label::default() }
}
