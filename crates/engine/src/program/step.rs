//! The order of a step: micro-batches of unit passes, forward and backward, then the boundary.

use std::sync::Arc;

use crate::cost::{DeviceTime, Rates, Transfer};
use crate::plan::pass::Pass;
use crate::units::{Bytes, Seconds, Share};

use super::beside::PassedModel;
use super::boundary;
use super::build::{GraphBuilder, LaunchedWork, RankBuilder};
use super::label::{Activity, Label, ModelPart, Phase, TaskKind};
use super::memory::MemoryKind;
use super::operator_layouts::{OperatorLayouts, StageParameters};
use super::state::{ModelState, ParameterGroup};
use super::stream::{CollectiveStreams, Stream};
use super::task::{EventWait, Task, TaskClass, TaskEvent, bytes, memory_of, waits};
use super::unit_costs::UnitCosts;
use super::unit_order::{CheckpointFetch, UnitList, UnitPosition, UnitRun, recomputed_layers};
use super::unit_pass::{ComputeStep, Exchange, Exchanges, GradientReduction, Gradients, UnitCollective, UnitPass};
use super::unit_work::UnitWork;

/// Writes the tasks of unit passes.
pub(super) struct TaskEmitter<'a> {
    pub costs: &'a UnitCosts<'a>,
    /// Costs of models beside, in the order of their places.
    pub beside: &'a [&'a UnitCosts<'a>],
    pub streams: CollectiveStreams,
    /// Units gathered ahead of compute.
    pub ahead: u32,
    pub contention: Share,
}

/// What a rank that passes the whole model has: layouts of its operators, the work of its units, and models beside it.
pub(super) struct WholeModel<'a> {
    pub layouts: &'a OperatorLayouts<'a>,
    pub work: &'a Arc<UnitWork>,
    pub beside: &'a [PassedModel<'a>],
}

/// Builds the step of a rank that passes the whole model, and gives the memory of its state; `list` is filled with the
/// passes of its units. A model that stands beside another one goes forward alone. Models beside are passed between forward and backward of each micro-batch, as trainers on PyTorch do
/// (TRL, `trl/trainer/dpo_trainer.py`; `OpenRLHF`, `openrlhf/trainer/dpo_trainer.py`).
pub(super) fn build(
    rates: &Rates<'_>,
    WholeModel { layouts, work, beside }: WholeModel<'_>,
    list: &mut UnitList,
    builder: RankBuilder<'_>,
) -> ModelState {
    let costs = layouts.costs_with(rates, false, work);
    let whole = layouts.whole_model(recomputed_layers(&costs[0]));
    let of_beside: Vec<Vec<UnitCosts<'_>>> = beside.iter().map(PassedModel::costs).collect();
    list.clear();
    layouts.list(&costs, &whole, Pass::Forward, list);
    let plan = &rates.scenario.plan;
    // All micro-batches have passed them already, where the stack does so.
    if plan.passes_beside() && !rates.scenario.stack.passes_beside_ahead {
        for (place, (model, costs)) in (1..).zip(beside.iter().zip(&of_beside)) {
            model.list(costs, place, list);
        }
    }
    if !plan.stands_beside {
        layouts.list(&costs, &whole, Pass::Backward, list);
    }
    let held = layouts.holdings(work, &whole);
    let group = |held: &StageParameters| ParameterGroup::new(&costs[held.layout], held.parameters);
    let groups: Vec<ParameterGroup<'_>> = held.iter().map(group).collect();
    let passed: Vec<&UnitCosts<'_>> = of_beside.iter().filter_map(|costs| costs.first()).collect();
    build_order(list, &groups, &passed, builder);
    // Micro-batches pass one after the other, so that the host has the activations of one.
    let state = ModelState::of_groups(&groups).with_activations_on_host(list.to_host());
    beside.iter().zip(&of_beside).fold(state, |state, (model, costs)| model.joins(state, costs))
}

/// Builds the step of one rank from its unit passes, the groups of its parameters, of which there is at least one, and costs of
/// models beside.
fn build_order(
    order: &UnitList,
    groups: &[ParameterGroup<'_>],
    beside: &[&UnitCosts<'_>],
    mut builder: RankBuilder<'_>,
) {
    let Some(ParameterGroup { costs, .. }) = groups.first() else { return };
    let (plan, stack) = (&costs.rates.scenario.plan, &costs.rates.scenario.stack);
    let streams = CollectiveStreams::new(stack.overlap);
    // A gather that stops compute gains nothing from being early.
    // Weights that are further ahead than a micro-batch would be gathered twice before they serve once.
    let ahead = if streams.gather == Stream::Compute { 0 } else { plan.prefetch.min(order.passes()) };
    let emit = TaskEmitter { costs, beside, streams, ahead, contention: costs.contention() };
    // The prologue: what would have been prefetched during the units before the first one.
    builder.batch_loop(1, |graph| {
        TaskEmitter::write_host_time(graph, costs.rates.host_step(costs.layout.optimizer));
        boundary::average_weights(groups, graph);
        for distance in 0..ahead {
            graph.task_loop(1, |body| {
                emit.fetch(body, order, UnitPosition::default(), distance, MicroBatch { number: 0, last: true });
            });
        }
    });
    // The last micro-batch is written apart: its reductions complete the gradients, and nothing is prefetched past its
    // end. With 8 micro-batches the loop before runs 7 times, each prefetching the first units of the next.
    let last = plan.accumulate - 1;
    // Where gradients are on the host, the first micro-batch has no sums to add to, and is written apart too.
    let without_sums = u32::from(last > 0 && groups.iter().any(|group| group.costs.sums_on_host()));
    for (number, alike) in [(0, without_sums), (without_sums, last - without_sums)] {
        if alike > 0 {
            builder.batch_loop(alike, |graph| emit.write_micro_batch(graph, order, MicroBatch { number, last: false }));
        }
    }
    builder.batch_loop(1, |graph| emit.write_micro_batch(graph, order, MicroBatch { number: last, last: true }));
    if !plan.stands_beside {
        builder.batch_loop(1, |graph| graph.task_loop(1, |body| boundary::build(groups, emit.streams, body)));
    }
}

/// A micro-batch of a step, or the first of several that are alike and repeat in a loop.
#[derive(Clone, Copy)]
struct MicroBatch {
    number: u32,
    /// Whether no other follows.
    last: bool,
}

/// A pass of a run: which of its layers, and of which micro-batch.
#[derive(Clone, Copy)]
pub(super) struct RunSite<'a> {
    pub run: &'a UnitRun,
    pub position: u32,
    pub micro_batch: u32,
}

impl RunSite<'_> {
    fn label(&self, lane: Stream, kind: TaskKind) -> Label {
        let Self { run, position, micro_batch } = *self;
        let first = Activity { kind, part: run.unit_pass.part, layer: run.layer_at(position), micro_batch };
        Label { lane, phase: run.unit_pass.phase(), first, layer_step: run.step, ..Label::default() }
    }
}

impl TaskEmitter<'_> {
    /// The costs of the model that a run is of.
    fn costs_of(&self, run: &UnitRun) -> &UnitCosts<'_> {
        run.beside.checked_sub(1).and_then(|place| self.beside.get(place)).map_or(self.costs, |beside| beside)
    }

    /// Writes one micro-batch.
    fn write_micro_batch(&self, builder: &mut GraphBuilder<'_>, order: &UnitList, batch: MicroBatch) {
        // What Python does once for each micro-batch runs on the compute stream, alone.
        Self::write_host_time(builder, self.costs.rates.host_micro_batch());
        for (index, pattern) in order.patterns.iter().enumerate() {
            // With prefetch 2 and 32 layers, the first 30 turns prefetch a layer of the same run and are one loop; the
            // last two prefetch what comes after it, and are written one by one.
            let alike = order.alike(*pattern, self.ahead);
            let mut turn = |position: u32, repeat: u32| {
                builder.task_loop(repeat, |builder| {
                    for run in 0..pattern.runs {
                        self.write_pass(
                            builder,
                            order,
                            UnitPosition { pattern: index, run, position, later: 0 },
                            batch,
                        );
                    }
                });
            };
            if alike > 0 {
                turn(0, alike);
            }
            (alike..order.runs[pattern.first].count).for_each(|position| turn(position, 1));
        }
    }

    /// Writes one pass, and before it the fetch for the pass that is `ahead` of it.
    fn write_pass(&self, builder: &mut GraphBuilder<'_>, order: &UnitList, place: UnitPosition, batch: MicroBatch) {
        let MicroBatch { number: micro_batch, last } = batch;
        self.fetch(builder, order, place, self.ahead, batch);
        let upcoming = (1..=self.ahead).filter_map(|distance| order.find(place, distance, !last));
        // Gathers are counted in the order of their issue, and those of the next units are counted already: this
        // unit's weights are there once all but these are.
        let ahead = upcoming.fold([0; 2], |[gathers, copies], place| {
            let unit_pass = &order.run(place).unit_pass;
            [gathers + i64::from(unit_pass.gather.is_some()), copies + i64::from(unit_pass.from_host > Bytes::ZERO)]
        });
        let site = RunSite { run: order.run(place), position: place.position, micro_batch };
        self.write_unit_pass(builder, site, ahead, Gradients::new(last));
    }

    /// Adds a fixed time of the host.
    pub(crate) fn write_host_time(builder: &mut GraphBuilder<'_>, time: Seconds) {
        if time <= Seconds::ZERO {
            return;
        }
        builder.task_loop(1, |builder| {
            let first = Activity { kind: TaskKind::Host, part: ModelPart::Model, ..Activity::default() };
            let label = Label { first, ..Label::default() };
            let mut task = builder.compute(
                LaunchedWork { work: DeviceTime::arithmetic(time), host: Seconds::ZERO },
                TaskClass::Host,
                label,
            );
            task.signals = [Some(TaskEvent::Computed), None];
            builder.push(task);
        });
    }

    /// Fetches the weights of the unit that is `ahead` units after another one: from the host if they live there, then
    /// from the other ranks. It may begin when compute begins the earlier unit, and once the checkpoint is on the host.
    fn fetch(
        &self,
        builder: &mut GraphBuilder<'_>,
        order: &UnitList,
        from: UnitPosition,
        ahead: u32,
        batch: MicroBatch,
    ) {
        let wrap = !batch.last;
        let Some(place) = order.find(from, ahead, wrap) else { return };
        let micro_batch = batch.number + place.later;
        let site = RunSite { run: order.run(place), position: place.position, micro_batch };
        let unit_pass = &site.run.unit_pass;
        let released = builder.after(TaskEvent::Released, 0);
        // The first task that brings weights takes their memory: the copy from the host where there is one, else the
        // gather.
        let mut taken = memory_of(MemoryKind::Gathered, unit_pass.gathered);
        if unit_pass.from_host > Bytes::ZERO {
            let (time, label) =
                (unit_pass.fetch_time(self.costs_of(site.run).rates), site.label(Stream::HostIn, TaskKind::Copy));
            let mut task = self.timed_copy(builder, unit_pass.from_host, time, label);
            // In line with compute it begins when all before it is done.
            let in_line = unit_pass.checkpoint > Bytes::ZERO && self.costs.copies_in_line();
            let released = if in_line { builder.after(TaskEvent::Released, -i64::from(ahead)) } else { released };
            let written = (unit_pass.checkpoint > Bytes::ZERO).then(|| {
                // The checkpoint must be on the host before it is fetched. Writes of the units between here and there
                // are listed later than this wait, hence the negative `behind`: it waits for them before they
                // are listed.
                let between = (0..ahead).filter_map(|distance| order.find(from, distance, wrap));
                let writes = between.filter(|place| order.run(*place).unit_pass.to_host > Bytes::ZERO);
                builder.after(TaskEvent::HostOut, -writes.map(|_| 1_i64).sum::<i64>())
            });
            task.waits = waits([Some(released), written]);
            task.signals = [Some(TaskEvent::HostIn), None];
            taken[MemoryKind::Activations] = bytes(unit_pass.checkpoint);
            task.allocates = std::mem::take(&mut taken);
            builder.push(task);
        }
        if let Some(gather) = &unit_pass.gather {
            let label = site.label(Stream::Gather, gather.kind);
            let (source, stream) = (Some(gather.source), self.streams.gather);
            let mut task = builder.transfer(&gather.transfer, source, stream, self.contention, label);
            let weights = unit_pass.from_host > unit_pass.checkpoint;
            let copied = weights.then(|| builder.after(TaskEvent::HostIn, 0));
            task.waits = waits([Some(released), copied]);
            task.signals = [Some(TaskEvent::Gathered), None];
            taken[MemoryKind::Communication] += bytes(gather.buffer);
            task.allocates = taken;
            task.frees = memory_of(MemoryKind::Communication, gather.buffer);
            builder.push(task);
        }
    }

    /// Writes a unit's compute, then its reduction.
    fn write_unit_pass(
        &self,
        builder: &mut GraphBuilder<'_>,
        site: RunSite<'_>,
        [gathers_ahead, copies_ahead]: [i64; 2],
        gradients: Gradients,
    ) {
        let unit_pass = &site.run.unit_pass;
        let reduce = unit_pass.reduce.get(gradients).reduce.as_ref();
        // Two gradient buffers: one is filled while the other is emptied.
        // Backward of layer 5 waits for the reduction of layer 7; that of layer 6 may still run.
        let emptied = match (*unit_pass.store.get(gradients) > Bytes::ZERO, reduce) {
            (true, _) => Some(TaskEvent::Stored),
            (false, reduce) => reduce.filter(|_| unit_pass.gradients > Bytes::ZERO).map(|_| TaskEvent::Reduced),
        };
        let start = [
            unit_pass.fetches_weights().then(|| builder.after(TaskEvent::Gathered, gathers_ahead)),
            (unit_pass.from_host > Bytes::ZERO).then(|| builder.after(TaskEvent::HostIn, copies_ahead)),
            emptied.map(|event| builder.after(event, 1)).or_else(|| self.written(builder, unit_pass)),
        ];
        self.write_compute(builder, site, start);
        let released = builder.after(TaskEvent::Released, 0);
        self.write_checkpoint(builder, site);
        self.reduce_and_store(builder, site, released, gradients);
    }

    /// Writes a unit's compute on weights that a whole stage has gathered, and the copy of the checkpoint for the unit
    /// after it; its gradients stay with the stage's.
    pub(crate) fn write_stage_unit_pass(
        &self,
        builder: &mut GraphBuilder<'_>,
        site: RunSite<'_>,
        start: [Option<EventWait>; 2],
        ahead: Option<CheckpointFetch>,
    ) {
        let copied = (site.run.unit_pass.checkpoint > Bytes::ZERO).then(|| builder.after(TaskEvent::HostIn, 0));
        let copied = copied.or_else(|| self.written(builder, &site.run.unit_pass));
        self.write_compute(builder, site, [start[0], start[1], copied]);
        self.write_checkpoint(builder, site);
        let Some(CheckpointFetch { bytes, part, layer, step, micro_batch }) = ahead else { return };
        let first = Activity { kind: TaskKind::Copy, part, layer, micro_batch };
        let label = Label { lane: Stream::HostIn, phase: Phase::Backward, first, layer_step: step, ..Label::default() };
        let mut task = self.copy(builder, bytes, label);
        let behind = i64::from(!self.costs.copies_in_line());
        let released = builder.after(TaskEvent::Released, behind);
        task.waits = waits([Some(released), Some(builder.after(TaskEvent::HostOut, 0))]);
        task.signals = [Some(TaskEvent::HostIn), None];
        task.allocates = memory_of(MemoryKind::Activations, bytes);
        builder.push(task);
    }

    /// The copies to the host that a forward pass waits for: those of all units before it where they are in line with compute.
    /// Where activations go beside it, those of the unit before may still be on their way: no more are on the device.
    fn written(&self, builder: &GraphBuilder<'_>, unit_pass: &UnitPass) -> Option<EventWait> {
        let (in_line, plan) = (self.costs.copies_in_line(), &self.costs.rates.scenario.plan);
        let kept = plan.offload.activations() || !plan.host_modules().is_empty();
        let waits = unit_pass.pass == Pass::Forward && (in_line || kept);
        waits.then(|| builder.after(TaskEvent::HostOut, i64::from(!in_line)))
    }

    /// Copies the unit's checkpoint to the host, where checkpoints live there.
    fn write_checkpoint(&self, builder: &mut GraphBuilder<'_>, site: RunSite<'_>) {
        let moved = site.run.unit_pass.to_host;
        if moved <= Bytes::ZERO {
            return;
        }
        let mut task = self.copy(builder, moved, site.label(Stream::HostOut, TaskKind::Copy));
        task.waits = waits([Some(builder.after(TaskEvent::Released, 0))]);
        task.signals = [Some(TaskEvent::HostOut), None];
        task.frees = memory_of(MemoryKind::Activations, moved);
        builder.push(task);
    }

    /// Reduces a unit's gradients, together with earlier sums on the host if there are any, and copies the rest to the
    /// host.
    fn reduce_and_store(
        &self,
        builder: &mut GraphBuilder<'_>,
        site: RunSite<'_>,
        released: EventWait,
        gradients: Gradients,
    ) {
        let unit_pass = &site.run.unit_pass;
        let store = *unit_pass.store.get(gradients);
        let unreduced = if gradients == Gradients::Complete { unit_pass.sums } else { Bytes::ZERO };
        // Sums that come back to be reduced have taken these gradients in.
        let added = if site.micro_batch == 0 || unreduced > Bytes::ZERO { Bytes::ZERO } else { store };
        let fetches = self.costs.rates.scenario.stack.offloads_during_backward;
        let sums = if fetches { unreduced + added } else { unreduced };
        if sums > Bytes::ZERO {
            let mut task = self.copy(builder, sums, site.label(Stream::HostIn, TaskKind::Copy));
            task.waits =
                waits([Some(builder.after(TaskEvent::Released, 1)), Some(builder.after(TaskEvent::Stored, 1))]);
            task.signals = [Some(TaskEvent::Loaded), None];
            task.allocates = memory_of(MemoryKind::Gradients, sums);
            builder.push(task);
        }
        let GradientReduction { reduce, replicas } = unit_pass.reduce.get(gradients);
        if let Some(reduce) = reduce {
            let label = site.label(Stream::Reduce, reduce.kind);
            let (source, stream) = (Some(reduce.source), self.streams.reduce);
            let mut task = builder.transfer(&reduce.transfer, source, stream, self.contention, label);
            task.waits = waits([Some(released), (sums > Bytes::ZERO).then(|| builder.after(TaskEvent::Loaded, 0))]);
            task.signals = [Some(TaskEvent::Reduced), None];
            task.allocates = memory_of(MemoryKind::Communication, reduce.buffer);
            task.frees = memory_of(MemoryKind::Communication, reduce.buffer);
            task.frees[MemoryKind::Gradients] = bytes(unit_pass.gradients) + bytes(sums) - bytes(store);
            builder.push(task);
        }
        if gradients == Gradients::Complete && unit_pass.early > Bytes::ZERO {
            let mut task = self.copy(builder, unit_pass.early, site.label(Stream::HostOut, TaskKind::Copy));
            task.waits = waits([Some(released), reduce.as_ref().map(|_| builder.after(TaskEvent::Reduced, 0))]);
            task.signals = [Some(TaskEvent::HostOut), None];
            builder.push(task);
        }
        if let Some(sum) = replicas {
            let task = self.replica_sum(builder, sum, site.label(Stream::Replicas, sum.kind));
            builder.push(task);
        }
        if store > Bytes::ZERO {
            let mut task = self.copy(builder, store, site.label(Stream::HostOut, TaskKind::Copy));
            task.waits = waits([
                Some(released),
                reduce.as_ref().map(|_| builder.after(TaskEvent::Reduced, 0)),
                (sums > Bytes::ZERO).then(|| builder.after(TaskEvent::Loaded, 0)),
            ]);
            task.frees = memory_of(MemoryKind::Gradients, store);
            // What no reduction gave back goes with the copy.
            task.frees[MemoryKind::Gradients] += if reduce.is_none() { bytes(sums) } else { 0 };
            let on_host = if fetches { Bytes::ZERO } else { added };
            task.signals = [(on_host == Bytes::ZERO).then_some(TaskEvent::Stored), None];
            builder.push(task);
            self.add_on_host(builder, on_host, site.label(Stream::HostOut, TaskKind::Copy));
        }
    }

    /// Adds gradients that have come to the host to the sums there, for which the thread that launches kernels waits.
    pub(crate) fn add_on_host(&self, builder: &mut GraphBuilder<'_>, gradients: Bytes, label: Label) {
        if gradients > Bytes::ZERO {
            let add = Transfer { time: self.costs.rates.host_sum(gradients), ..Transfer::default() };
            let task = builder.transfer(&add, None, label.lane, Share::new(1.0), label);
            builder.push(Task { signals: [Some(TaskEvent::Stored), None], ..task });
        }
    }

    /// The sum of a shard over its replicas, once it is reduced.
    pub(crate) fn replica_sum(&self, builder: &mut GraphBuilder<'_>, sum: &UnitCollective, label: Label) -> Task {
        let task = builder.transfer(&sum.transfer, Some(sum.source), Stream::Replicas, self.contention, label);
        Task {
            waits: waits([Some(builder.after(TaskEvent::Reduced, 0))]),
            signals: [Some(TaskEvent::Summed), None],
            ..task
        }
    }

    /// Chains the pieces of a unit's compute, with the exchanges around them.
    fn write_compute(&self, builder: &mut GraphBuilder<'_>, site: RunSite<'_>, start: [Option<EventWait>; 3]) {
        let (unit_pass, costs) = (&site.run.unit_pass, self.costs_of(site.run));
        let rates = costs.rates;
        let plan = &rates.scenario.plan;
        let exchanges = |step: &ComputeStep| {
            let Exchanges { before, after, .. } = step.exchanges;
            [before, after].into_iter().any(|id| costs.exchange(id).is_some())
        };
        let steps = unit_pass.steps.iter().filter(|step| step.piece.time() > Seconds::ZERO || exchanges(step));
        let total = steps.clone().count();
        if total == 0 {
            // A frozen embedding has nothing to compute in backward: it gives back what it holds all the same.
            let label = site.label(Stream::Compute, unit_pass.kind());
            let mut task = builder.compute(LaunchedWork::default(), TaskClass::Compute, label);
            let [one, two, three] = start;
            task.waits = waits([one, two, three]);
            (task.allocates, task.frees) = (unit_pass.allocates(), unit_pass.frees());
            task.signals = [Some(TaskEvent::Computed), Some(TaskEvent::Released)];
            builder.push(task);
        }
        for (index, step) in steps.enumerate() {
            let (first, last) = (index == 0, index + 1 == total);
            let [one, two, three] = if first { start } else { [None; 3] };
            let tensor = (plan.tensor > 1).then(|| builder.after(TaskEvent::Tensor, 0));
            let context = |builder: &GraphBuilder<'_>| (plan.context > 1).then(|| builder.after(TaskEvent::Context, 0));
            let tokens =
                |builder: &GraphBuilder<'_>| rates.experts.own_mesh.then(|| builder.after(TaskEvent::Experts, 0));
            if let Some(exchange) = costs.exchange(step.exchanges.before) {
                let computed = Some(builder.after(TaskEvent::Computed, 0));
                let waits = waits([one, two, three, tensor, context(builder), tokens(builder), computed]);
                let task = Self::exchange(builder, site, &exchange);
                builder.push(Task { waits, ..task });
            }
            let (context, experts) = (context(builder), tokens(builder));
            // An exchange runs beside this piece of compute, not before it: what the piece waits for was read before the
            // exchange is listed, so the first to wait for it is the next piece.
            for exchange in costs.beside(step) {
                let computed = Some(builder.after(TaskEvent::Computed, 0));
                let waits = waits([one, two, three, tensor, context, experts, computed]);
                let task = Self::exchange(builder, site, &exchange);
                builder.push(Task { waits, ..task });
            }
            let after = costs.exchange(step.exchanges.after);
            let label = site.label(Stream::Compute, unit_pass.kind());
            let mut task = builder.compute(step.piece, TaskClass::Compute, label);
            task.waits = waits([one, two, three, tensor, context, experts]);
            task.signals[0] = Some(TaskEvent::Computed);
            if first {
                task.allocates = unit_pass.allocates();
            }
            // Memory is given back, and the unit released, by whatever ends the pass: the last piece of compute, or the
            // exchange after it.
            let ends = |task: Task| Task {
                frees: unit_pass.frees(),
                signals: [task.signals[0], Some(TaskEvent::Released)],
                ..task
            };
            builder.push(if last && after.is_none() { ends(task) } else { task });
            if let Some(exchange) = after {
                let waits = waits([Some(builder.after(TaskEvent::Computed, 0))]);
                let task = Task { waits, ..Self::exchange(builder, site, &exchange) };
                builder.push(if last { ends(task) } else { task });
            }
        }
    }

    /// The task of an exchange; `push` it after setting waits.
    fn exchange(builder: &mut GraphBuilder<'_>, site: RunSite<'_>, exchange: &Exchange) -> Task {
        let Exchange { source, stream, kind, event, transfer, contention } = exchange;
        let task = builder.transfer(transfer, Some(*source), *stream, *contention, site.label(*stream, *kind));
        Task { signals: [Some(*event), None], ..task }
    }

    /// A copy to or from the host, as its label says.
    pub fn copy(&self, builder: &mut GraphBuilder<'_>, moved: Bytes, label: Label) -> Task {
        self.timed_copy(builder, moved, self.costs.rates.host_copy(moved), label)
    }

    /// A copy of a stage's weights from where they are offloaded to.
    pub fn fetch_weights(&self, builder: &mut GraphBuilder<'_>, moved: Bytes, label: Label) -> Task {
        self.timed_copy(builder, moved, self.costs.rates.weights_copy(moved), label)
    }

    fn timed_copy(&self, builder: &mut GraphBuilder<'_>, moved: Bytes, time: Seconds, label: Label) -> Task {
        let transfer = Transfer { time, received: moved, ..Transfer::default() };
        builder.transfer(&transfer, None, label.lane, self.costs.copy_contention(), label)
    }
}
