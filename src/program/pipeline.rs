//! Pipelines and layered accumulation: each rank visits its stages in the order of a schedule.
//!
//! Sharded states are gathered and reduced by stages, with two buffers for weights and two for
//! gradients [layered C5]: a stage is gathered when no buffer holds it, as soon as the buffer it
//! takes is free, and its gradients are reduced when backward turns to another stage. Replicated
//! gradients are reduced after a stage's last backward. Layered accumulation is the breadth-first
//! schedule with a stage per layer [layered B7].

use crate::cost::Rates;
use crate::plan::{Accumulation, Schedule};
use crate::scenario::Layout;

use super::boundary;
use super::build::{Builder, PIPELINE, Piece, Queues};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::schedule::{Fill, Shape, Slot, Spell, Turn, fills, spells, split};
use super::state::{gradient_format, whole_gradients};
use super::step::{Emit, Run, bytes, held_bytes, recomputed_layers, waits};
use super::task::{Class, Counter, Task, held};
use super::visit::{Moved, Visits};

/// One stage: which layers it has, and whether it is the first or the last.
#[derive(Debug, Clone, Copy)]
struct Stage {
    first_layer: u32,
    layers: u32,
    embedding: bool,
    head: bool,
}

/// A pipeline and what its ranks share.
pub(super) struct Pipeline<'a> {
    visits: Visits<'a>,
    stages: Vec<Stage>,
    shape: Shape,
}

/// Whether a plan runs in stages.
pub(super) fn wanted(rates: &Rates<'_>, layout: &Layout) -> bool {
    layout.pipeline > 1 || rates.scenario.plan.accumulation == Accumulation::Layered
}

impl<'a> Pipeline<'a> {
    /// Of a checked plan.
    pub fn of(rates: &'a Rates<'a>, layout: &'a Layout) -> Self {
        let plan = &rates.scenario.plan;
        let layers = rates.scenario.model.layers;
        let layered = plan.accumulation == Accumulation::Layered;
        let schedule = if layered { Schedule::BreadthFirst } else { plan.schedule };
        let looped = matches!(schedule, Schedule::BreadthFirst | Schedule::Interleaved);
        let stages_per_rank = match (layered && layout.pipeline == 1, looped) {
            (true, _) => layers,
            (false, true) => plan.stages_per_rank,
            (false, false) => 1,
        };
        let shape = Shape { schedule, ranks: layout.pipeline, stages_per_rank, micro_batches: plan.accumulate };
        let visits = Visits::new(rates, layout, true);
        let stages = stages(&visits, layout.pipeline * stages_per_rank);
        Self { visits, stages, shape }
    }

    /// Parameters of one rank, before sharding.
    pub fn parameters(&self, rank: u32) -> f64 {
        let own = (0..self.shape.stages_per_rank).map(|stage| self.units(self.stage(rank, stage)).0);
        own.sum()
    }

    /// The stages in the order of forward: parameters before sharding and their units, and what is visited
    /// there and back.
    pub fn stages(&self) -> impl Iterator<Item = ((f64, f64), [Vec<Run>; 2])> {
        self.stages.iter().map(|stage| (self.units(stage), [false, true].map(|way| self.runs(stage, way))))
    }

    fn index(&self, rank: u32, stage: u32) -> u32 {
        stage * self.shape.ranks + rank
    }

    fn stage(&self, rank: u32, stage: u32) -> &Stage {
        &self.stages[self.index(rank, stage) as usize]
    }

    /// Parameters of a stage, and the units that hold them. Tied logits have a copy of the embedding's
    /// weights; what sums the gradients of the two copies is not counted.
    fn units(&self, stage: &Stage) -> (f64, f64) {
        let model = &self.visits.rates.scenario.model;
        let layers = u64::from(stage.layers) * model.layer_parameters();
        let embedding = if stage.embedding { model.embedding_parameters() } else { 0 };
        let copied = if model.tied && !stage.embedding { u64::from(model.vocab) * u64::from(model.hidden) } else { 0 };
        let head = if stage.head { model.head_parameters() + copied } else { 0 };
        let units = f64::from(stage.layers) + f64::from(u8::from(stage.embedding)) + f64::from(u8::from(stage.head));
        ((layers + embedding + head) as f64 / f64::from(self.visits.layout.tensor), units)
    }

    /// Builds the step of one rank.
    pub fn build(&self, rank: u32, mut builder: Builder<'_>) {
        let rates = self.visits.rates;
        let stack = &rates.scenario.stack;
        let queues = Queues::of(stack.overlap);
        let emit = Emit { visits: &self.visits, queues, ahead: 0, contention: rates.runtime.contention };
        builder.section(1, |builder| Emit::host(builder, rates.host_step(self.visits.layout.optimizer)));
        let turns = self.shape.turns(rank);
        let (fills, spells) = (fills(&turns), spells(&turns));
        let gradients = if whole_gradients(rates, self.visits.layout) { 0.0 } else { gradient_format(rates).bytes() };
        // What had been released when each turn had passed.
        let mut released = vec![builder.announced(Counter::Released)];
        for (index, turn) in turns.iter().enumerate() {
            for fill in &fills[index] {
                let phase = Phase::of(turn.slots.first().is_some_and(|slot| slot.backward));
                self.fill(&emit, &mut builder, rank, (fill, phase), &released);
            }
            if let Some(spell) = spells[index].filter(|spell| spell.begins && gradients > 0.0) {
                let taken = self.units(self.stage(rank, spell.stage)).0 * gradients;
                mark(&mut builder, held_bytes(held::GRADIENTS, taken), [0; super::HELD]);
            }
            builder.section(turn.repeat, |builder| self.turn(&emit, builder, rank, turn));
            if let Some(spell) = spells[index] {
                self.reduce(&emit, &mut builder, rank, spell, gradients);
            }
            released.push(builder.announced(Counter::Released));
        }
        let parameters = self.parameters(rank);
        builder.section(1, |builder| {
            builder.block(1, |builder| boundary::build(&self.visits, emit.queues, builder, parameters));
        });
        self.empty(&mut builder, rank, &fills);
    }

    /// Bytes that a stage takes in its buffer beyond the one that it evicts.
    fn taken(&self, rank: u32, fill: &Fill) -> f64 {
        let elements = |stage: u32| self.units(self.stage(rank, stage)).0;
        let evicted = fill.evicts.map_or(0.0, |(stage, _)| elements(stage));
        (elements(fill.stage) - evicted) * self.visits.rates.storage()
    }

    /// Gathers a stage into a buffer, once what was in it has been used for the last time.
    fn fill(
        &self,
        emit: &Emit<'_>,
        builder: &mut Builder<'_>,
        rank: u32,
        (fill, phase): (&Fill, Phase),
        released: &[i64],
    ) {
        let stage = self.stage(rank, fill.stage);
        let (elements, units) = self.units(stage);
        let Some(gather) = self.visits.stage_gather(elements, units) else { return };
        let passed = fill.evicts.map_or(0, |(_, turns)| released[turns]);
        builder.section(1, |builder| {
            builder.block(1, |builder| {
                let first = Activity { kind: gather.kind, layer: stage.first_layer, ..Activity::default() };
                let label = Label { lane: Lane::Gather, phase, first, ..Label::default() };
                let mut task = builder.transfer(&gather.transfer, emit.queues.gather, emit.contention, label);
                let behind = builder.announced(Counter::Released) - passed;
                task.waits = waits([Some(builder.after(Counter::Released, behind))]);
                task.signals = [Some(Counter::Gathered), None];
                task.takes = held_bytes(held::GATHERED, self.taken(rank, fill));
                // The stage travels unit by unit through a buffer for one.
                task.takes[held::COMMUNICATION] = bytes(gather.buffer / units);
                task.gives = held_bytes(held::COMMUNICATION, gather.buffer / units);
                builder.push(task);
            });
        });
    }

    /// One slot, or a forward and a backward.
    fn turn(&self, emit: &Emit<'_>, builder: &mut Builder<'_>, rank: u32, turn: &Turn) {
        for slot in &turn.slots {
            if !slot.backward && slot.stage == 0 {
                Emit::host(builder, self.visits.rates.software.micro_batch.get());
            }
            self.slot(emit, builder, rank, *slot);
        }
    }

    fn slot(&self, emit: &Emit<'_>, builder: &mut Builder<'_>, rank: u32, slot: Slot) {
        let index = self.index(rank, slot.stage);
        let last = self.stages.len() as u32 - 1;
        let arrival = if slot.backward { Counter::ArrivedBackward } else { Counter::ArrivedForward };
        let alone = self.shape.ranks == 1;
        let receives = !alone && index != if slot.backward { last } else { 0 };
        let sends = !alone && index != if slot.backward { 0 } else { last };
        if receives {
            builder.expect(arrival);
        }
        for run in self.runs(self.stage(rank, slot.stage), slot.backward) {
            builder.block(run.count, |builder| {
                let start = [
                    (self.visits.layout.weights > 1).then(|| builder.after(Counter::Gathered, 0)),
                    receives.then(|| builder.after(arrival, 0)),
                ];
                emit.stage_visit(builder, &run, start, slot.micro_batch);
            });
        }
        if sends {
            let target = if slot.backward { rank + self.shape.ranks - 1 } else { rank + 1 } % self.shape.ranks;
            builder.block(1, |builder| self.send(emit, builder, slot, (target, arrival)));
        }
    }

    /// Activations, or their gradients, to the rank of the neighbouring stage; each tensor rank its share.
    fn send(&self, emit: &Emit<'_>, builder: &mut Builder<'_>, slot: Slot, target: (u32, Counter)) {
        let transfer = self.visits.send();
        let first = Activity { kind: Kind::PointToPoint, part: Part::Model, layer: 0, micro_batch: slot.micro_batch };
        let label = Label { lane: Lane::Pipeline, phase: Phase::of(slot.backward), first, ..Label::default() };
        let mut task = builder.transfer(&transfer, PIPELINE, emit.contention, label);
        task.waits = waits([Some(builder.after(Counter::Released, 0))]);
        task.sends = Some(target);
        builder.push(task);
    }

    /// The runs of visits of a stage in one direction.
    fn runs(&self, stage: &Stage, backward: bool) -> Vec<Run> {
        let recomputed = recomputed_layers(&self.visits);
        let again = recomputed.saturating_sub(stage.first_layer).min(stage.layers);
        let way = usize::from(backward);
        let mut runs = Vec::with_capacity(4);
        if stage.embedding {
            runs.push(Run { visit: self.visits.embedding()[way], count: 1, layer: 0, step: 1 });
        }
        let (from, kept) = (stage.first_layer, stage.layers - again);
        runs.push(Run { visit: self.visits.layers(true)[way], count: again, layer: from, step: 1 });
        runs.push(Run { visit: self.visits.layers(false)[way], count: kept, layer: from + again, step: 1 });
        if stage.head {
            runs.push(Run { visit: self.visits.head()[way], count: 1, layer: 0, step: 1 });
        }
        runs.retain(|run| run.count > 0);
        if backward {
            runs.reverse();
            for run in &mut runs {
                (run.layer, run.step) = (run.layer + run.count - 1, -1);
            }
        }
        runs
    }

    /// Reduces a stage's gradients when backward leaves it.
    fn reduce(&self, emit: &Emit<'_>, builder: &mut Builder<'_>, rank: u32, spell: Spell, gradients: f64) {
        let whole = gradients == 0.0;
        if !spell.ends || (whole && !spell.last) {
            return;
        }
        let stage = self.stage(rank, spell.stage);
        let (elements, units) = self.units(stage);
        let held_now = elements * gradients;
        let Some(Moved { transfer, kind, buffer, .. }) =
            self.visits.reduction(elements, true, spell.last, self.visits.parts() * units)
        else {
            return mark(builder, [0; super::HELD], held_bytes(held::GRADIENTS, held_now));
        };
        builder.section(1, |builder| {
            builder.block(1, |builder| {
                let first = Activity { kind, layer: stage.first_layer, ..Activity::default() };
                let label = Label { lane: Lane::Reduce, phase: Phase::Backward, first, ..Label::default() };
                let mut task = builder.transfer(&transfer, emit.queues.reduce, emit.contention, label);
                task.waits = waits([Some(builder.after(Counter::Released, 0))]);
                task.signals = [Some(Counter::Reduced), None];
                task.takes = held_bytes(held::COMMUNICATION, buffer / units);
                task.gives = held_bytes(held::COMMUNICATION, buffer / units);
                task.gives[held::GRADIENTS] = bytes(held_now);
                builder.push(task);
            });
        });
    }

    /// Gives back the gathered stages that are still in their buffers at the end.
    fn empty(&self, builder: &mut Builder<'_>, rank: u32, fills: &[Vec<Fill>]) {
        if self.visits.layout.weights == 1 {
            return;
        }
        let left = fills.iter().flatten().map(|fill| bytes(self.taken(rank, fill))).sum();
        let mut gives = [0; super::HELD];
        gives[held::GATHERED] = left;
        mark(builder, [0; super::HELD], gives);
    }
}

/// A moment on the compute queue at which memory changes hands: it waits for one gradient buffer.
fn mark(builder: &mut Builder<'_>, takes: [i64; super::HELD], gives: [i64; super::HELD]) {
    builder.section(1, |builder| {
        builder.block(1, |builder| {
            let first = Activity { kind: Kind::Host, part: Part::Model, ..Activity::default() };
            let label = Label { first, ..Label::default() };
            let mut task: Task = builder.compute(Piece::default(), Class::Host, label);
            task.waits = waits([Some(builder.after(Counter::Reduced, 1))]);
            task.signals = [Some(Counter::Computed), None];
            (task.takes, task.gives) = (takes, gives);
            builder.push(task);
        });
    });
}

/// The stages of a model: layers dealt as evenly as they go, by what the stack balances.
fn stages(visits: &Visits<'_>, count: u32) -> Vec<Stage> {
    let model = &visits.rates.scenario.model;
    let time = |[ahead, behind]: [super::visit::Visit; 2]| {
        let pieces = ahead.steps.iter().chain(&behind.steps);
        pieces.map(|step| step.piece.work.time + step.piece.host).sum::<f64>()
    };
    let (embedding, head) = match model.vocab {
        0 => (0.0, 0.0),
        _ => (time(visits.embedding()), time(visits.head())),
    };
    let layer = time(visits.layers(recomputed_layers(visits) > 0));
    let balance = visits.rates.scenario.stack.balance;
    let [layer, embedding, head] = balance.weights(model.layers, count, [layer, embedding, head]);
    let layers = split(model.layers, count, layer, embedding, head);
    let mut first_layer = 0;
    let ends = model.vocab > 0;
    let stage = |(index, layers): (usize, u32)| {
        let stage =
            Stage { first_layer, layers, embedding: ends && index == 0, head: ends && index + 1 == count as usize };
        first_layer += layers;
        stage
    };
    layers.into_iter().enumerate().map(stage).collect()
}
