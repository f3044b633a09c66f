//! The end of a step: reductions that waited for it, the optimizer, and the weights' way back.

use crate::plan::Reduction;

use super::build::{HOST_IN, HOST_OUT, Piece, Queues, RoutineBuilder};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::state::gradient_format;
use super::step::held_bytes;
use super::task::{Class, Counter, Task, held, waits};
use super::visit::{Moved, Visits};
use crate::cost::{Payload, Transfer};

/// Parameters that are placed alike, and how.
#[derive(Clone, Copy)]
pub(super) struct Share<'a> {
    pub visits: &'a Visits<'a>,
    /// On one tensor and pipeline rank, before sharding.
    pub parameters: f64,
}

/// Fills the last block of a step whose parameters are all placed alike.
pub(super) fn build(visits: &Visits<'_>, queues: Queues, builder: &mut RoutineBuilder<'_>, parameters: f64) {
    build_shares(&[Share { visits, parameters }], queues, builder);
}

/// Fills the last block of a step; there is at least one share.
pub(super) fn build_shares(shares: &[Share<'_>], queues: Queues, builder: &mut RoutineBuilder<'_>) {
    let Some(Share { visits, .. }) = shares.first() else { return };
    let rates = visits.rates;
    let (plan, stack) = (&rates.scenario.plan, &rates.scenario.stack);
    if !stack.reduce_during_backward && !visits.staged {
        for share in shares {
            reduce(share, queues, builder);
        }
    }
    let owned: f64 = shares.iter().map(|share| share.parameters / f64::from(share.visits.layout.optimizer)).sum();
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
        (task.takes, task.gives) = [(); 2].map(|()| held_bytes(held::GRADIENTS, owned * stack.update_copies)).into();
        builder.push(task);
    }
    for share in shares {
        weights(share, queues, builder);
    }
}

/// Reduces what waited for the end of backward.
fn reduce(share: &Share<'_>, queues: Queues, builder: &mut RoutineBuilder<'_>) {
    let Share { visits, parameters } = *share;
    let scenario = visits.rates.scenario;
    let parts = buckets(visits, parameters * gradient_format(visits.rates).bytes());
    let Some(reduce) = visits.reduction(parameters, scenario.plan.reduction == Reduction::Step, true, parts) else {
        return;
    };
    let label = label(Lane::Reduce, reduce.kind);
    let mut task = builder.transfer(&reduce.transfer, queues.reduce, visits.rates.runtime.contention, label);
    task.waits = waits([Some(builder.after(Counter::Released, 0))]);
    task.signals = [Some(Counter::Reduced), None];
    builder.push(task);
}

/// Everything that gradients wait for.
fn done(builder: &RoutineBuilder<'_>) -> [Option<super::Wait>; super::WAITS] {
    waits(
        [Counter::Released, Counter::Reduced, Counter::HostOut, Counter::Computed]
            .map(|counter| Some(builder.after(counter, 0))),
    )
}

fn copy(visits: &Visits<'_>, builder: &mut RoutineBuilder<'_>, bytes: f64, queue: u8, lane: Lane, counter: Counter) {
    if bytes == 0.0 {
        return;
    }
    let transfer = Transfer { time: visits.rates.host_copy(bytes), received: bytes, ..Transfer::default() };
    let contention = visits.rates.runtime.contention;
    let mut task: Task = builder.transfer(&transfer, queue, contention, label(lane, Kind::Copy));
    task.waits = done(builder);
    task.signals = [Some(counter), None];
    builder.push(task);
}

fn weights(share: &Share<'_>, queues: Queues, builder: &mut RoutineBuilder<'_>) {
    for gather in ways_back(share, buckets) {
        let label = label(Lane::Gather, gather.kind);
        let contention = share.visits.rates.runtime.contention;
        let mut task = builder.transfer(&gather.transfer, queues.gather, contention, label);
        let before = [Counter::Computed, Counter::Gathered, Counter::HostIn];
        task.waits = waits(before.map(|counter| Some(builder.after(counter, 0))));
        task.signals = [Some(Counter::Gathered), None];
        builder.push(task);
    }
}

/// Updated weights from the optimizer's shards back to the weights': across the gradients' groups
/// first, then inside them [frontier D4, boundary of the three levels]. So many bytes take `parts`
/// collectives. Where the next step's first forward hides them, only the rest is left.
fn ways_back(share: &Share<'_>, parts: fn(&Visits<'_>, f64) -> f64) -> impl Iterator<Item = Moved> {
    let Share { visits, parameters } = *share;
    let (rates, layout) = (visits.rates, visits.layout);
    let middle = layout.gradients.max(layout.weights);
    let ways = [(layout.optimizer, middle), (middle, layout.weights)].into_iter();
    ways.filter(|(outer, inner)| outer > inner).map(move |(outer, inner)| {
        let wire = rates.scenario.plan.sharding.wire;
        let format = rates.scenario.plan.precision.wire(wire.boundary);
        let elements = parameters / f64::from(inner);
        let parts = parts(visits, elements * format.bytes());
        let payload = Payload { elements, format, block: f64::from(wire.block), parts };
        let mut gather = visits.gathered(payload, layout.replica_group(inner, outer));
        if rates.scenario.stack.gather_during_forward {
            gather.transfer.time -= gather.transfer.time.min(visits.forward()) * (1.0 - rates.runtime.contention);
        }
        gather
    })
}

/// Seconds that the end of a step takes at least, latencies left out: the update and the weights' way back.
pub(super) fn least(share: &Share<'_>) -> f64 {
    let (rates, owned) = (share.visits.rates, share.parameters / f64::from(share.visits.layout.optimizer));
    let offload = rates.scenario.plan.offload;
    let update = match (offload.optimizer(), offload.state()) {
        (false, _) => rates.optimizer(owned).time,
        (true, false) => rates.host_copy(owned * (gradient_format(rates).bytes() + rates.storage())),
        (true, true) => 0.0,
    };
    update + ways_back(share, |_, _| 0.0).map(|gather| gather.transfer.time).sum::<f64>()
}

/// Collectives for so many bytes of the whole model.
fn buckets(visits: &Visits<'_>, bytes: f64) -> f64 {
    libm::ceil(bytes / visits.rates.scenario.stack.collectives.bucket.get()).max(1.0)
}

fn label(lane: Lane, kind: Kind) -> Label {
    let phase = if lane == Lane::Reduce { Phase::Backward } else { Phase::Update };
    Label { lane, phase, first: Activity { kind, part: Part::Model, ..Activity::default() }, ..Label::default() }
}
