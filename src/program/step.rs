//! The order of a step: micro-batches of visits, forward and backward, then the boundary.

use crate::cost::{Rates, Work};
use crate::plan::Recompute;
use crate::scenario::Layout;

use super::boundary::{self, Share};
use super::build::{Builder, HOST_IN, HOST_OUT, Piece, Queues, RoutineBuilder};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::order::{ALONE, Order, Place, whole_layers};
use super::state::local;
use super::task::{COMPUTE, CONTEXT, Class, Counter, TENSOR, Task, WAITS, Wait, held, waits};
use super::visit::{Visit, Visits};

/// Consecutive visits that differ in nothing but the layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub visit: Visit,
    pub count: u32,
    pub layer: u32,
    /// Direction through the layers.
    pub step: i32,
}

/// The copy of a checkpoint from the host, one unit ahead of the backward that starts from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    bytes: f64,
    part: Part,
    /// Layer, how it moves with the block's iterations, and micro-batch.
    layer: u32,
    step: i32,
    micro_batch: u32,
}

impl Ahead {
    /// For the visit at `position` of a run; `None` where nothing is fetched for it.
    pub fn of(run: &Run, position: u32) -> Option<Self> {
        let Run { visit: Visit { part, checkpoint, .. }, step, .. } = *run;
        let layer = run.layer.wrapping_add_signed(step * position.cast_signed());
        (checkpoint > 0.0).then_some(Self { bytes: checkpoint, part, layer, step, micro_batch: 0 })
    }

    /// The same with its layer and micro-batch counted from those of another slot.
    pub fn from(self, layer: u32, micro_batch: u32) -> Self {
        Self { layer: self.layer.wrapping_add(layer), micro_batch, ..self }
    }
}

impl Run {
    pub fn layer_at(&self, position: u32) -> u32 {
        (i64::from(self.layer) + i64::from(self.step) * i64::from(position)) as u32
    }
}

/// What emitting needs.
pub(super) struct Emit<'a> {
    pub visits: &'a Visits<'a>,
    pub queues: Queues,
    /// Units gathered ahead of compute.
    pub ahead: u32,
    pub contention: f64,
}

/// Builds the step of one rank whose operators are all placed alike.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, builder: Builder<'_>) {
    let visits = Visits::new(rates, layout, false);
    let (runs, used) = whole_layers(&visits);
    let order = Order { runs: &runs[..used], patterns: &ALONE[..used] };
    let parameters = local(&rates.scenario.model, layout);
    build_order(order, &[Share { visits: &visits, parameters }], builder);
}

/// Builds the step of one rank from its visits and the shares of its parameters, of which there is at least one.
pub(super) fn build_order(order: Order<'_>, shares: &[Share<'_>], mut builder: Builder<'_>) {
    let Some(Share { visits, .. }) = shares.first() else { return };
    let (plan, stack) = (&visits.rates.scenario.plan, &visits.rates.scenario.stack);
    let queues = Queues::of(stack.overlap);
    // A gather that stops compute gains nothing from being early.
    let ahead = if queues.gather == COMPUTE { 0 } else { plan.prefetch };
    let emit = Emit { visits, queues, ahead, contention: visits.rates.runtime.contention };
    builder.section(1, |routine| {
        Emit::host(routine, visits.rates.host_step(visits.layout.optimizer));
        for distance in 0..ahead {
            routine.block(1, |block| emit.fetch(block, order, Place::default(), distance, Some(0)));
        }
    });
    let last = plan.accumulate - 1;
    if last > 0 {
        builder.section(last, |routine| emit.micro_batch(routine, order, None));
    }
    builder.section(1, |routine| emit.micro_batch(routine, order, Some(last)));
    builder.section(1, |routine| routine.block(1, |block| boundary::build(shares, emit.queues, block)));
}

/// Layers that are computed again from their input: the first ones, in a pipeline of each stage.
pub(super) fn recomputed_layers(visits: &Visits<'_>) -> u32 {
    let layers = visits.rates.scenario.model.layers;
    match visits.rates.scenario.plan.recompute {
        Recompute::Full => layers,
        Recompute::Share(share) => libm::round(share * f64::from(layers)) as u32,
        Recompute::None | Recompute::Selective => 0,
    }
}

impl Emit<'_> {
    /// One micro-batch: all but the last (`None`: a section that repeats), or the last, by its number.
    fn micro_batch(&self, builder: &mut RoutineBuilder<'_>, order: Order<'_>, last: Option<u32>) {
        Self::host(builder, self.visits.rates.software.micro_batch.get());
        for (index, pattern) in order.patterns.iter().enumerate() {
            let alike = order.alike(*pattern, self.ahead);
            let mut turn = |position: u32, repeat: u32| {
                builder.block(repeat, |builder| {
                    for run in 0..pattern.runs {
                        self.place(builder, order, Place { pattern: index, run, position, later: 0 }, last);
                    }
                });
            };
            if alike > 0 {
                turn(0, alike);
            }
            (alike..order.runs[pattern.first].count).for_each(|position| turn(position, 1));
        }
    }

    /// One visit, and before it the fetch of the one that is `ahead` of it.
    fn place(&self, builder: &mut RoutineBuilder<'_>, order: Order<'_>, place: Place, last: Option<u32>) {
        let (wrap, micro_batch) = (last.is_none(), last.unwrap_or(0));
        self.fetch(builder, order, place, self.ahead, last);
        let upcoming = (1..=self.ahead).filter_map(|distance| order.find(place, distance, wrap));
        let ahead = upcoming.fold([0; 2], |[gathers, copies], place| {
            let visit = &order.run(place).visit;
            [gathers + i64::from(visit.gather.is_some()), copies + i64::from(visit.from_host > 0.0)]
        });
        self.visit(builder, order.run(place), place.position, ahead, micro_batch, last.is_some());
    }

    /// A fixed time of the host.
    pub fn host(builder: &mut RoutineBuilder<'_>, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        builder.block(1, |builder| {
            let first = Activity { kind: Kind::Host, part: Part::Model, ..Activity::default() };
            let label = Label { first, ..Label::default() };
            let mut task = builder.compute(Piece { work: Work::arithmetic(seconds), host: 0.0 }, Class::Host, label);
            task.signals = [Some(Counter::Computed), None];
            builder.push(task);
        });
    }

    /// Brings the weights of the unit that is `ahead` units after another one: from the host if they live there, then
    /// from the other ranks. It may begin when compute begins the earlier unit, and what was to be kept on the host
    /// is there.
    fn fetch(&self, builder: &mut RoutineBuilder<'_>, order: Order<'_>, from: Place, ahead: u32, last: Option<u32>) {
        let wrap = last.is_none();
        let Some(place) = order.find(from, ahead, wrap) else { return };
        let run = order.run(place);
        let visit = &run.visit;
        let micro_batch = last.unwrap_or(0) + place.later;
        let released = builder.after(Counter::Released, 0);
        let mut taken = held_bytes(held::GATHERED, visit.gathered);
        if visit.from_host > 0.0 {
            let label = Self::label(run, place.position, Lane::HostIn, Kind::Copy, micro_batch);
            let mut task = self.copy(builder, visit.from_host, HOST_IN, label);
            let written = (visit.checkpoint > 0.0).then(|| {
                let between = (0..ahead).filter_map(|distance| order.find(from, distance, wrap));
                let writes = between.filter(|place| order.run(*place).visit.to_host > 0.0).count();
                builder.after(Counter::HostOut, -(writes as i64))
            });
            task.waits = waits([Some(released), written]);
            task.signals = [Some(Counter::HostIn), None];
            taken[held::ACTIVATIONS] = bytes(visit.checkpoint);
            task.takes = std::mem::take(&mut taken);
            builder.push(task);
        }
        if let Some(gather) = &visit.gather {
            let label = Self::label(run, place.position, Lane::Gather, gather.kind, micro_batch);
            let mut task = builder.transfer(&gather.transfer, self.queues.gather, self.contention, label);
            let copied = (visit.from_host > 0.0).then(|| builder.after(Counter::HostIn, 0));
            task.waits = waits([Some(released), copied]);
            task.signals = [Some(Counter::Gathered), None];
            taken[held::COMMUNICATION] += bytes(gather.buffer);
            task.takes = taken;
            task.gives = held_bytes(held::COMMUNICATION, gather.buffer);
            builder.push(task);
        }
    }

    /// A unit's compute, then its reduction.
    fn visit(
        &self,
        builder: &mut RoutineBuilder<'_>,
        run: &Run,
        position: u32,
        [gathers_ahead, copies_ahead]: [i64; 2],
        micro_batch: u32,
        last: bool,
    ) {
        let visit = &run.visit;
        let reduce = visit.reduce[usize::from(last)];
        // Two gradient buffers: one is filled while the other is emptied.
        let emptied = match (visit.store[usize::from(last)] > 0.0, reduce) {
            (true, _) => Some(Counter::Stored),
            (false, reduce) => reduce.filter(|_| visit.gradients > 0.0).map(|_| Counter::Reduced),
        };
        let start = [
            visit.fetched().then(|| builder.after(Counter::Gathered, gathers_ahead)),
            (visit.from_host > 0.0).then(|| builder.after(Counter::HostIn, copies_ahead)),
            emptied.map(|counter| builder.after(counter, 1)),
        ];
        self.compute(builder, run, position, start, micro_batch);
        let released = builder.after(Counter::Released, 0);
        self.write_checkpoint(builder, run, position, micro_batch);
        self.leave(builder, visit, released, last, |lane, kind| Self::label(run, position, lane, kind, micro_batch));
    }

    /// A unit's compute on weights that a whole stage has gathered, and the copy of the checkpoint for the unit
    /// after it; its gradients stay with the stage's.
    pub fn stage_visit(
        &self,
        builder: &mut RoutineBuilder<'_>,
        run: &Run,
        start: [Option<Wait>; 2],
        ahead: Option<Ahead>,
    ) {
        let copied = (run.visit.checkpoint > 0.0).then(|| builder.after(Counter::HostIn, 0));
        self.compute(builder, run, 0, [start[0], start[1], copied], 0);
        self.write_checkpoint(builder, run, 0, 0);
        let Some(Ahead { bytes, part, layer, step, micro_batch }) = ahead else { return };
        let first = Activity { kind: Kind::Copy, part, layer, micro_batch };
        let label = Label { lane: Lane::HostIn, phase: Phase::Backward, first, layer_step: step, ..Label::default() };
        let mut task = self.copy(builder, bytes, HOST_IN, label);
        task.waits = waits([Some(builder.after(Counter::Released, 1)), Some(builder.after(Counter::HostOut, 0))]);
        task.signals = [Some(Counter::HostIn), None];
        task.takes = held_bytes(held::ACTIVATIONS, bytes);
        builder.push(task);
    }

    /// Copies what the unit's forward has kept to the host, where checkpoints live there.
    fn write_checkpoint(&self, builder: &mut RoutineBuilder<'_>, run: &Run, position: u32, micro_batch: u32) {
        let moved = run.visit.to_host;
        if moved <= 0.0 {
            return;
        }
        let label = Self::label(run, position, Lane::HostOut, Kind::Copy, micro_batch);
        let mut task = self.copy(builder, moved, HOST_OUT, label);
        task.waits = waits([Some(builder.after(Counter::Released, 0))]);
        task.signals = [Some(Counter::HostOut), None];
        task.gives = held_bytes(held::ACTIVATIONS, moved);
        builder.push(task);
    }

    /// Reduces a unit's gradients, with the sums of those before if these are on the host, and copies what is left there.
    fn leave(
        &self,
        builder: &mut RoutineBuilder<'_>,
        visit: &Visit,
        released: Wait,
        last: bool,
        label: impl Fn(Lane, Kind) -> Label,
    ) {
        let store = visit.store[usize::from(last)];
        let sums = if last { visit.sums } else { 0.0 };
        if sums > 0.0 {
            let mut task = self.copy(builder, sums, HOST_IN, label(Lane::HostIn, Kind::Copy));
            task.waits = waits([Some(builder.after(Counter::Released, 1)), Some(builder.after(Counter::Stored, 1))]);
            task.signals = [Some(Counter::Loaded), None];
            task.takes = held_bytes(held::GRADIENTS, sums);
            builder.push(task);
        }
        let reduce = visit.reduce[usize::from(last)];
        if let Some(reduce) = reduce {
            let label = label(Lane::Reduce, reduce.kind);
            let mut task = builder.transfer(&reduce.transfer, self.queues.reduce, self.contention, label);
            task.waits = waits([Some(released), (sums > 0.0).then(|| builder.after(Counter::Loaded, 0))]);
            task.signals = [Some(Counter::Reduced), None];
            task.takes = held_bytes(held::COMMUNICATION, reduce.buffer);
            task.gives = held_bytes(held::COMMUNICATION, reduce.buffer);
            task.gives[held::GRADIENTS] = bytes(visit.gradients) + bytes(sums) - bytes(store);
            builder.push(task);
        }
        if store > 0.0 {
            let mut task = self.copy(builder, store, HOST_OUT, label(Lane::HostOut, Kind::Copy));
            task.waits = waits([Some(released), reduce.map(|_| builder.after(Counter::Reduced, 0))]);
            task.signals = [Some(Counter::Stored), None];
            task.gives = held_bytes(held::GRADIENTS, store);
            builder.push(task);
        }
    }

    /// The pieces of a unit's compute in a chain, with the collectives of tensor and context ranks.
    fn compute(
        &self,
        builder: &mut RoutineBuilder<'_>,
        run: &Run,
        position: u32,
        start: [Option<Wait>; 3],
        micro_batch: u32,
    ) {
        let visit = &run.visit;
        let layout = self.visits.layout;
        let kind = if visit.backward { Kind::Backward } else { Kind::Forward };
        let steps = visit.steps.iter().filter(|step| step.piece.work.time > 0.0 || step.piece.host > 0.0);
        let total = steps.clone().count();
        for (index, step) in steps.enumerate() {
            let (first, last) = (index == 0, index + 1 == total);
            let tensor = layout.tensor > 1 && step.tensor > 0;
            let exchange = layout.context > 1 && step.exchange > 0;
            let chained = [
                (layout.tensor > 1).then(|| builder.after(Counter::Tensor, 0)),
                (layout.context > 1).then(|| builder.after(Counter::Context, 0)),
            ];
            let begin = if first { start } else { [None; 3] };
            let ready = waits(begin.into_iter().chain(chained));
            if exchange {
                let label = Self::label(run, position, Lane::Context, Kind::PointToPoint, micro_batch);
                let transfer = (1..step.exchange).fold(self.visits.exchange, |sum, _| sum + self.visits.exchange);
                let mut task = builder.transfer(&transfer, CONTEXT, self.contention, label);
                let computed = builder.after(Counter::Computed, 0);
                task.waits = waits(ready.into_iter().take(WAITS - 1).chain([Some(computed)]));
                task.signals = [Some(Counter::Context), None];
                builder.push(task);
            }
            let label = Self::label(run, position, Lane::Compute, kind, micro_batch);
            let mut task = builder.compute(step.piece, Class::Compute, label);
            task.waits = ready;
            task.signals = [Some(Counter::Computed), (last && !tensor).then_some(Counter::Released)];
            if first {
                task.takes = visit.takes();
            }
            if last && !tensor {
                task.gives = visit.gives();
            }
            builder.push(task);
            if tensor {
                self.tensor(builder, run, position, step.tensor, last, micro_batch);
            }
        }
    }

    fn tensor(
        &self,
        builder: &mut RoutineBuilder<'_>,
        run: &Run,
        position: u32,
        times: u32,
        last: bool,
        micro_batch: u32,
    ) {
        let label = Self::label(run, position, Lane::Tensor, Kind::AllReduce, micro_batch);
        let transfer = (1..times).fold(self.visits.tensor, |sum, _| sum + self.visits.tensor);
        let mut task = builder.transfer(&transfer, TENSOR, self.contention, label);
        task.waits = waits([Some(builder.after(Counter::Computed, 0))]);
        task.signals = [Some(Counter::Tensor), last.then_some(Counter::Released)];
        if last {
            task.gives = run.visit.gives();
        }
        builder.push(task);
    }

    /// A copy to or from the host.
    pub fn copy(&self, builder: &mut RoutineBuilder<'_>, moved: f64, queue: u8, label: Label) -> Task {
        let mut transfer = crate::cost::Transfer { received: moved, ..Default::default() };
        transfer.time = self.visits.rates.host_copy(moved);
        builder.transfer(&transfer, queue, self.contention, label)
    }

    fn label(run: &Run, position: u32, lane: Lane, kind: Kind, micro_batch: u32) -> Label {
        let first = Activity { kind, part: run.visit.part, layer: run.layer_at(position), micro_batch };
        Label { lane, phase: Phase::of(run.visit.backward), first, layer_step: run.step, ..Label::default() }
    }
}

impl Visit {
    /// Whether it computes on weights that may have been gathered; copies from the host are waited for apart.
    fn fetched(&self) -> bool {
        self.freed > 0.0 || self.gathered > 0.0 || self.gather.is_some()
    }

    fn takes(&self) -> [i64; super::HELD] {
        let mut takes = held_bytes(held::ACTIVATIONS, self.working);
        takes[held::GRADIENTS] = bytes(self.gradients);
        // The second copy is made from the gathered unit: both are there at once.
        takes[held::SECONDARY] = bytes(self.secondary.max(0.0));
        takes
    }

    fn gives(&self) -> [i64; super::HELD] {
        let mut gives = held_bytes(held::ACTIVATIONS, self.working);
        gives[held::ACTIVATIONS] -= bytes(self.kept);
        gives[held::GATHERED] = bytes(self.freed);
        gives[held::SECONDARY] = bytes((-self.secondary).max(0.0));
        gives
    }
}

/// Whole bytes.
pub(super) fn bytes(amount: f64) -> i64 {
    libm::round(amount) as i64
}

pub(super) fn held_bytes(part: usize, amount: f64) -> [i64; super::HELD] {
    let mut held = [0; super::HELD];
    held[part] = bytes(amount);
    held
}
