//! The end of a step: deferred reductions, the optimizer, and the gathers of updated weights.

use std::ops::Add;

use crate::plan::{Ema, Reduction};
use crate::units::{Bytes, Count, Seconds, Share};

use super::build::{GraphBuilder, LaunchedWork};
use super::label::{Activity, Label, ModelPart, Phase, TaskKind};
use super::memory::MemoryKind;
use super::network_transfer::{NetworkTransfer, ReductionPart, ReductionScope};
use super::state::ParameterGroup;
use super::stream::{CollectiveStreams, Stream};
use super::task::{EventWait, Task, TaskClass, TaskEvent, WAITS, bytes, memory_of, waits};
use super::unit_costs::UnitCosts;
use super::unit_pass::UnitCollective;
use crate::cost::{DeviceTime, Parameters, Payload, Transfer};
use crate::stack::TensorDivision;

/// Fills the last task loop of a step; there is at least one group of parameters.
pub(super) fn build(groups: &[ParameterGroup<'_>], streams: CollectiveStreams, builder: &mut GraphBuilder<'_>) {
    let Some(ParameterGroup { costs, .. }) = groups.first() else { return };
    let rates = costs.rates;
    let (plan, stack) = (&rates.scenario.plan, &rates.scenario.stack);
    if costs.reduces_after_backward() && !costs.staged {
        for group in groups {
            reduce(group, streams, builder);
        }
    }
    // Each rank updates what it owns of every sharding: with per-operator plans these are several, and one task updates
    // all.
    let owned = owned(groups);
    let kept = owned - owned * plan.optimizer_on_host();
    let on_host = owned.trained * plan.optimizer_on_host();
    let pages = plan.paged_optimizer.then(|| swap_pages(costs, builder));
    if plan.offload.optimizer() {
        // A whole state on the host has its gradients there already, and its weights come back with the next gather.
        let there = plan.offload.state() || costs.offloads_early();
        let gradients = if there { Bytes::ZERO } else { on_host * rates.gradient() };
        let weights = if plan.offload.state() { Bytes::ZERO } else { on_host * rates.storage() };
        // Copies beside the update begin with it: each tensor goes, is updated and comes back by itself.
        let begin = gradients_ready(builder);
        let ready = |builder: &GraphBuilder<'_>| if plan.offload_overlap { begin } else { gradients_ready(builder) };
        let waits = ready(builder);
        copy(costs, builder, gradients, Stream::HostOut, TaskEvent::HostOut, waits);
        let waits = ready(builder);
        update_on_host(costs, builder, on_host, waits);
        let waits = ready(builder);
        copy(costs, builder, weights, Stream::HostIn, TaskEvent::HostIn, waits);
    }
    if kept.trained > Count::ZERO {
        let piece = LaunchedWork { work: rates.optimizer(kept), host: Seconds::ZERO };
        let mut task = builder.compute(piece, TaskClass::Optimizer, label(Stream::Compute, TaskKind::Optimizer));
        task.waits = if gather_matrices(groups, streams, builder) {
            waits([Some(builder.after(TaskEvent::Gathered, 0))])
        } else {
            update_ready(builder, pages)
        };
        task.signals = [Some(TaskEvent::Computed), None];
        // Copies that the update makes live as long as it does.
        (task.allocates, task.frees) =
            [(); 2].map(|()| memory_of(MemoryKind::Gradients, kept.trained * Bytes::new(stack.update_copies))).into();
        let left: Bytes = groups.iter().map(|group| group.costs.left_gradients(group.parameters.trained)).sum();
        task.frees[MemoryKind::Gradients] += bytes(left);
        builder.push(task);
    }
    for group in groups {
        gather_weights(group, streams, builder);
    }
}

/// The parameters that a rank updates.
fn owned(groups: &[ParameterGroup<'_>]) -> Parameters {
    let shares = groups.iter().map(|group| group.parameters / f64::from(group.costs.layout.optimizer));
    shares.reduce(Parameters::add).unwrap_or_default()
}

/// Moves pages of the optimizer's state before its update. Each takes the room of one that goes. How many go follows from the peak
/// of a run ([`super::Program::move_pages`]): until then they take no time. Gives what waits for their return.
fn swap_pages(costs: &UnitCosts<'_>, builder: &mut GraphBuilder<'_>) -> EventWait {
    for (stream, event) in [(Stream::HostOut, TaskEvent::HostOut), (Stream::HostIn, TaskEvent::HostIn)] {
        let waits = gradients_ready(builder);
        push_copy(costs, builder, Bytes::ZERO, stream, event, waits);
        builder.mark_pages();
    }
    builder.after(TaskEvent::HostIn, 0)
}

/// Fills the first task loop of a step where the host averages weights: those that the step before updated. The update waits
/// until it is done with them (`NVIDIA/NeMo`, `nemo/collections/common/callbacks/ema.py`, `EMAOptimizer.step`).
pub(super) fn average_weights(groups: &[ParameterGroup<'_>], graph: &mut GraphBuilder<'_>) {
    let Some(ParameterGroup { costs, .. }) = groups.first() else { return };
    if costs.rates.scenario.plan.ema != Ema::Host {
        return;
    }
    let averaged = owned(groups).trained;
    let label = label(Stream::HostOut, TaskKind::Copy);
    graph.task_loop(1, |builder| {
        let received = costs.rates.averaged_on_host(averaged);
        let copied = Transfer { time: costs.rates.host_copy(received), received, ..Transfer::default() };
        let task = builder.transfer(&copied, None, Stream::HostOut, costs.copy_contention(), label);
        builder.push(task);
        // The host averages, beside which the device computes undisturbed.
        let average = Transfer { time: costs.rates.host_average(averaged), ..Transfer::default() };
        let task = builder.transfer(&average, None, Stream::HostOut, Share::new(0.0), label);
        builder.push(Task { signals: [Some(TaskEvent::HostOut), None], ..task });
    });
}

/// The update by the host's threads, for which the device waits.
fn update_on_host(
    costs: &UnitCosts<'_>,
    builder: &mut GraphBuilder<'_>,
    owned: Count,
    waits: [Option<EventWait>; WAITS],
) {
    let host = costs.rates.host_update(owned, costs.rates.scenario.host_threads().counted);
    if host == Seconds::ZERO {
        return;
    }
    // Not launches, which the host makes while the device computes.
    let piece = LaunchedWork { work: DeviceTime::arithmetic(host), host: Seconds::ZERO };
    let mut task = builder.compute(piece, TaskClass::Optimizer, label(Stream::Compute, TaskKind::Optimizer));
    (task.waits, task.signals) = (waits, [Some(TaskEvent::Computed), None]);
    builder.push(task);
}

/// Gathers matrices that the update needs whole, the way back included; returns whether there are any.
fn gather_matrices(groups: &[ParameterGroup<'_>], streams: CollectiveStreams, builder: &mut GraphBuilder<'_>) -> bool {
    let mut any = false;
    for ParameterGroup { costs, parameters } in groups {
        let Some(moved) = costs.whole_matrices(parameters.muon) else { continue };
        let (contention, label) = (costs.contention(), label(Stream::Gather, moved.kind));
        let mut task = builder.transfer(&moved.transfer, Some(moved.source), streams.gather, contention, label);
        task.waits = gradients_ready(builder);
        task.signals = [Some(TaskEvent::Gathered), None];
        builder.push(task);
        any = true;
    }
    any
}

/// Reduces gradients that waited for the end of backward.
fn reduce(group: &ParameterGroup<'_>, streams: CollectiveStreams, builder: &mut GraphBuilder<'_>) {
    let ParameterGroup { costs, parameters: Parameters { trained: parameters, .. } } = *group;
    let scenario = costs.rates.scenario;
    let parts = buckets(costs, parameters * costs.rates.gradient());
    let scope = ReductionScope { shards: scenario.plan.reduction == Reduction::Step, replicas: true };
    let Some(reduce) = costs.reduction(parameters, scope, parts).in_turn() else { return };
    let label = label(Stream::Reduce, reduce.kind);
    let of = NetworkTransfer::Reduction { elements: parameters, scope, parts, part: ReductionPart::InTurn };
    let mut task =
        builder.transfer(&reduce.transfer, Some(costs.source(of)), streams.reduce, costs.contention(), label);
    task.waits = waits([Some(builder.after(TaskEvent::Released, 0))]);
    task.signals = [Some(TaskEvent::Reduced), None];
    builder.push(task);
}

/// The events after which a step's gradients are complete.
const GRADIENTS: [TaskEvent; 6] = [
    TaskEvent::Released,
    TaskEvent::Reduced,
    TaskEvent::Summed,
    TaskEvent::HostOut,
    TaskEvent::Stored,
    TaskEvent::Computed,
];

fn gradients_ready(builder: &GraphBuilder<'_>) -> [Option<EventWait>; WAITS] {
    waits(GRADIENTS.map(|event| Some(builder.after(event, 0))))
}

/// All events that an update on the device waits for: those of gradients, and the return of the state's pages.
fn update_ready(builder: &GraphBuilder<'_>, pages: Option<EventWait>) -> [Option<EventWait>; WAITS] {
    let [released, reduced, summed, out, stored, computed] = GRADIENTS.map(|event| Some(builder.after(event, 0)));
    waits([released, reduced, summed, out, stored, computed, pages])
}

fn copy(
    costs: &UnitCosts<'_>,
    builder: &mut GraphBuilder<'_>,
    bytes: Bytes,
    stream: Stream,
    event: TaskEvent,
    waits: [Option<EventWait>; WAITS],
) {
    if bytes > Bytes::ZERO {
        push_copy(costs, builder, bytes, stream, event, waits);
    }
}

fn push_copy(
    costs: &UnitCosts<'_>,
    builder: &mut GraphBuilder<'_>,
    bytes: Bytes,
    stream: Stream,
    event: TaskEvent,
    waits: [Option<EventWait>; WAITS],
) {
    let transfer = Transfer { time: costs.rates.host_copy(bytes), received: bytes, ..Transfer::default() };
    // Beside the host's update the device has nothing to do that a copy could slow.
    let overlaps = costs.rates.scenario.plan.offload_overlap && costs.rates.scenario.pins_host();
    let contention = if overlaps { Share::new(0.0) } else { costs.copy_contention() };
    let task: Task = builder.transfer(&transfer, None, stream, contention, label(stream, TaskKind::Copy));
    builder.push(Task { waits, signals: [Some(event), None], ..task });
}

fn gather_weights(group: &ParameterGroup<'_>, streams: CollectiveStreams, builder: &mut GraphBuilder<'_>) {
    for gather in weight_gathers(group, true) {
        let label = label(Stream::Gather, gather.kind);
        let (source, contention) = (Some(gather.source), group.costs.contention());
        let mut task = builder.transfer(&gather.transfer, source, streams.gather, contention, label);
        // The update itself is the last thing that raises `Computed`; where the host updates, its copy raises `HostIn`.
        let before = [TaskEvent::Computed, TaskEvent::Gathered, TaskEvent::HostIn, TaskEvent::Stored];
        task.waits = waits(before.map(|event| Some(builder.after(event, 0))));
        task.signals = [Some(TaskEvent::Gathered), None];
        builder.push(task);
    }
}

/// Gathers of updated weights from the optimizer's shards to the weights': across the gradients' groups first, then
/// inside them [frontier D4, boundary of the three levels]. Unless they are `launched`, launches cost nothing. Where
/// the next step's first forward hides them, only the rest counts.
pub(super) fn weight_gathers(group: &ParameterGroup<'_>, launched: bool) -> impl Iterator<Item = UnitCollective> {
    let ParameterGroup { costs, parameters: Parameters { trained: parameters, .. } } = *group;
    let (rates, layout) = (costs.rates, costs.layout);
    // With weights over 8 ranks and optimizer state over 64, each rank gathers the 8 shards that make up its own, once
    // across. With ZeRO-3 all extents are equal and nothing is gathered here: the next forward does it.
    let middle = layout.gradients.max(layout.weights);
    let ways = [(layout.optimizer, middle), (middle, layout.weights)].into_iter();
    ways.filter(|(outer, inner)| outer > inner).enumerate().map(move |(place, (outer, inner))| {
        let wire = rates.scenario.plan.sharding.wire;
        let format = rates.scenario.plan.precision.wire(wire.boundary);
        let elements = parameters / f64::from(inner);
        // Of 32 layers of 7 tensors no more than 224 ranks have one to send.
        let owners = rates.divided_tensors(TensorDivision::Whole).map(|tensors| tensors.min((outer / inner).into()));
        let usual = || costs.parts(parameters, buckets(costs, elements * Bytes::new(format.bytes())));
        let parts = owners.unwrap_or_else(usual);
        let parts = if launched { parts } else { Count::ZERO };
        let payload = Payload { elements, format, block: wire.block.into(), parts };
        let replicas = layout.replica_group(inner, outer);
        let of = NetworkTransfer::UpdatedWeights { trained: parameters, place };
        let mut gather = costs.all_gather(of, payload, replicas);
        if owners.is_some() {
            gather.transfer = rates.broadcast(payload, replicas);
        }
        if rates.scenario.stack.gather_during_forward {
            gather.transfer.time -= gather.transfer.time.min(costs.forward_time()) * (1.0 - costs.contention().get());
        }
        gather
    })
}

/// A lower bound on the time of the end of a step, latencies left out: deferred reductions, the update and the gathers
/// of updated weights.
pub(super) fn lower_bound(group: &ParameterGroup<'_>) -> Seconds {
    let ParameterGroup { costs, parameters: Parameters { trained: parameters, .. } } = *group;
    let late = costs.reduces_after_backward() && !costs.staged;
    let scope = ReductionScope { shards: costs.rates.scenario.plan.reduction == Reduction::Step, replicas: true };
    let reduced = late.then(|| costs.reduction(parameters, scope, Count::ZERO).in_turn()).flatten();
    let reduced = reduced.map_or(Seconds::ZERO, |reduce| reduce.transfer.time);
    let (rates, owned) = (group.costs.rates, group.parameters / f64::from(group.costs.layout.optimizer));
    let plan = &rates.scenario.plan;
    let matrices =
        group.costs.whole_matrices(group.parameters.muon).map_or(Seconds::ZERO, |moved| moved.transfer.slowest());
    let kept = owned - owned * plan.optimizer_on_host();
    let on_host = owned.trained * plan.optimizer_on_host();
    // Weights come back beside what the device updates.
    let (on_device, back) = if kept.trained > Count::ZERO {
        (rates.optimizer(kept).time + matrices, Bytes::ZERO)
    } else {
        (Seconds::ZERO, rates.storage())
    };
    let gradients = if group.costs.offloads_early() { Bytes::ZERO } else { rates.gradient() };
    let copied = |each: Bytes| {
        let bytes = if plan.offload.state() { Bytes::ZERO } else { on_host * each };
        rates.host_copy(bytes)
    };
    let updated = rates.host_update(on_host, rates.scenario.host_threads().counted);
    let on_host = if plan.offload_overlap {
        updated.max(copied(gradients)).max(copied(back))
    } else {
        copied(gradients + back) + updated
    };
    reduced + on_device + on_host + weight_gathers(group, false).map(|gather| gather.transfer.time).sum::<Seconds>()
}

/// Collectives for `bytes` of the whole model.
fn buckets(costs: &UnitCosts<'_>, bytes: Bytes) -> Count {
    Count::new(libm::ceil(bytes / costs.rates.scenario.stack.collectives.bucket).max(1.0))
}

fn label(lane: Stream, kind: TaskKind) -> Label {
    let phase = if lane == Stream::Reduce { Phase::Backward } else { Phase::Update };
    Label { lane, phase, first: Activity { kind, part: ModelPart::Model, ..Activity::default() }, ..Label::default() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cost::{Factors, Rates};
    use crate::plan::Extent;
    use crate::stack::{ParameterBuckets, StateDivision};
    use crate::testing;

    /// 100.7 million parameters in buckets of 20 million travel in 5.03 collectives, each with 7 hops of 1 us, as gradients do.
    #[test]
    fn updated_weights_travel_in_the_buckets_of_gradients() {
        let hops = |buckets: Option<ParameterBuckets>| {
            let mut scenario = testing::scenario();
            for efficiency in Arc::make_mut(&mut scenario.calibration).architectures.values_mut() {
                (efficiency.latency, efficiency.latency_between) = (1.0, 1.0);
            }
            scenario.plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
            Arc::make_mut(&mut scenario.stack).collectives.buckets = buckets;
            let (rates, layout) =
                (Rates::new(&scenario, &Factors::default()), scenario.layout().expect("it is possible"));
            let costs = UnitCosts::new(&rates, &layout, false);
            let group = ParameterGroup::new(&costs, Parameters::outside(&scenario, scenario.model.parameters(), true));
            weight_gathers(&group, true).map(|way| way.transfer.steps.get()).sum::<f64>()
        };
        let parameters = 8.0 * 12.0 * 1024.0 * 1024.0;
        let close =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
        close(hops(None), 7e-6);
        close(hops(Some(ParameterBuckets { least: 20e6, per_rank: 0.0 })), 7e-6 * parameters / 20e6);
    }

    /// 8 layers of 12 x 1024^2 weights in bf16 over 8 ranks on two nodes: 201 MB. A gather brings each rank seven eighths of
    /// it through the nodes' 40 GB/s; owners of whole tensors broadcast all of it, one after the other, 7 hops of 1 us each
    /// time. Of 3 tensors in all, 3 ranks have one.
    #[test]
    fn owners_of_whole_tensors_broadcast_them_in_turn() {
        let back = |per_layer: Option<f64>| {
            let mut scenario = testing::scenario();
            for efficiency in Arc::make_mut(&mut scenario.calibration).architectures.values_mut() {
                (efficiency.latency, efficiency.latency_between) = (1.0, 1.0);
            }
            scenario.plan.sharding = testing::sharding(Extent::Device, Extent::Device, Extent::System);
            let whole = |per_layer| StateDivision { tensors: TensorDivision::Whole, per_layer };
            Arc::make_mut(&mut scenario.stack).division = per_layer.map(whole);
            let (rates, layout) =
                (Rates::new(&scenario, &Factors::default()), scenario.layout().expect("it is possible"));
            let costs = UnitCosts::new(&rates, &layout, false);
            let group = ParameterGroup::new(&costs, Parameters::outside(&scenario, scenario.model.parameters(), true));
            weight_gathers(&group, true).map(|way| way.transfer.time.get()).sum::<f64>()
        };
        let bytes = 8.0 * 12.0 * 1024.0 * 1024.0 * 2.0;
        let close =
            |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-6, "{value}, not {expected}");
        close(back(None), bytes * 7.0 / 8.0 / 40e9 + 7e-6);
        close(back(Some(7.0)), bytes / 40e9 + 8.0 * 7e-6);
        close(back(Some(3.0 / 8.0)), bytes / 40e9 + 3.0 * 7e-6);
    }
}
