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
use super::build::{Builder, PIPELINE, Piece, Queues, RoutineBuilder, Run};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::schedule::{Fill, Order, Pass, Shape, Spell, Turn, fills, spells};
use super::stage::{Stages, Work};
use super::state::{gradient_format, whole_gradients};
use super::step::{self, Emit, bytes, held_bytes};
use super::task::{COMPUTE, Class, Counter, HELD, Task, held, waits};
use super::visit::{Moved, Visits};

/// A pipeline and what its ranks share.
pub(super) struct Pipeline<'a> {
    visits: Visits<'a>,
    queues: Queues,
    stages: Stages,
    shape: Shape,
    /// Bytes of a gradient that is not reduced yet; 0 where gradients are kept whole anyway.
    gradient: f64,
    /// Whether checkpoints are fetched from the host.
    copies: bool,
    /// Routines that exist already.
    routines: Vec<(Key, u32)>,
}

/// What a routine does; stages are told apart by their work only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// Forward or backward of a stage, while so many others are gathered ahead of it.
    Pass { work: usize, backward: bool, receives: bool, sends: bool, ahead: usize, next: Next },
    /// The gather of a stage into the buffer of another, for forward or backward.
    Fill { work: usize, evicts: Option<usize>, phase: Phase },
    /// A gradient buffer taken.
    Mark { work: usize },
    /// The reduction of a stage's gradients.
    Reduce { work: usize, last: bool },
}

/// What a pass does for the one after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Next {
    /// The host's fixed time, where a micro-batch begins.
    opens: bool,
    /// The copy of a checkpoint.
    copy: Option<NextCopy>,
}

/// A backward that begins with a checkpoint from the host: its work, and its layer and micro-batch beyond those
/// of the pass before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NextCopy {
    work: usize,
    layer: u32,
    micro_batch: u32,
}

/// Whether a plan runs in stages.
pub(super) fn wanted(rates: &Rates<'_>, layout: &Layout) -> bool {
    layout.pipeline > 1 || rates.scenario.plan.accumulation == Accumulation::Layered
}

impl<'a> Pipeline<'a> {
    /// Of a checked plan.
    pub fn of(rates: &'a Rates<'a>, layout: &'a Layout) -> Self {
        let plan = &rates.scenario.plan;
        let layered = plan.accumulation == Accumulation::Layered;
        let schedule = if layered { Schedule::BreadthFirst } else { plan.schedule };
        let looped = matches!(schedule, Schedule::BreadthFirst | Schedule::Interleaved);
        let stages_per_rank = match (layered && layout.pipeline == 1, looped) {
            (true, _) => rates.scenario.model.layers,
            (false, true) => plan.stages_per_rank,
            (false, false) => 1,
        };
        let ranks = layout.pipeline;
        let buffered = layout.gradients > 1;
        let shape = Shape { schedule, ranks, stages_per_rank, micro_batches: plan.accumulate, buffered };
        let visits = Visits::new(rates, layout, true);
        let stages = Stages::of(&visits, ranks, stages_per_rank);
        let gradient = if whole_gradients(rates, layout) { 0.0 } else { gradient_format(rates).bytes() };
        let (queues, copies) = (Queues::of(rates.scenario.stack.overlap), plan.offload.checkpoints());
        Self { visits, queues, stages, shape, gradient, copies, routines: Vec::new() }
    }

    /// Stages that differ: parameters before sharding and their units, and what is visited there and back.
    pub fn works(&self) -> impl Iterator<Item = ((f64, f64), [Vec<step::Run>; 2])> {
        self.stages.works.iter().map(|work| {
            let runs = [false, true].map(|backward| work.runs(&self.visits, backward));
            ((work.elements, work.units), runs)
        })
    }

    /// Which of them the stages are, in the order of forward.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.stages.in_order()
    }

    /// Parameters of one rank, before sharding.
    pub fn parameters(&self, rank: u32) -> f64 {
        (0..self.shape.stages_per_rank).map(|stage| self.stages.of_rank(rank, stage).elements).sum()
    }

    /// Builds the step of one rank.
    pub fn build(&mut self, rank: u32, mut builder: Builder<'_>) {
        let Order { turns, round, repeat } = self.shape.order(rank);
        let agenda = Agenda { rank, fills: self.placed(&turns), spells: spells(&turns), turns };
        self.fills(&mut builder, &agenda, 0);
        let rates = self.visits.rates;
        builder.section(1, |routine| {
            Emit::host(routine, rates.host_step(self.visits.layout.optimizer));
            Emit::host(routine, rates.software.micro_batch.get());
        });
        (0..round.start).for_each(|index| self.turn(&mut builder, &agenda, index));
        let ranks = self.shape.ranks;
        builder.round(repeat, ranks, |builder| {
            round.clone().for_each(|index| self.turn(builder, &agenda, index));
        });
        (round.end..agenda.turns.len()).for_each(|index| self.turn(&mut builder, &agenda, index));
        let parameters = self.parameters(rank);
        builder.section(1, |routine| {
            self.tie(routine, rank);
            routine.block(1, |block| boundary::build(&self.visits, self.queues, block, parameters));
        });
        self.empty(&mut builder, &agenda);
    }

    /// The stages to gather in the order in which they are needed, each where its gather is listed: as
    /// soon as its buffer is free, or, where a gather stops compute, when it is needed.
    fn placed(&self, turns: &[Turn]) -> Vec<(usize, Fill)> {
        if self.visits.layout.weights == 1 {
            return Vec::new();
        }
        let mut last = 0;
        let mut place = |fill: Fill| {
            last = last.max(if self.queues.gather == COMPUTE { fill.turn } else { fill.free });
            (last, fill)
        };
        fills(turns).into_iter().map(&mut place).collect()
    }

    fn emit(&self) -> Emit<'_> {
        Emit { visits: &self.visits, queues: self.queues, ahead: 0, contention: self.contention() }
    }

    fn contention(&self) -> f64 {
        self.visits.rates.runtime.contention
    }

    /// The routine of a key, made where it is needed first.
    fn routine(
        &mut self,
        builder: &mut Builder<'_>,
        key: Key,
        fill: impl FnOnce(&Self, &mut RoutineBuilder<'_>),
    ) -> u32 {
        if let Some((_, routine)) = self.routines.iter().find(|(other, _)| *other == key) {
            return *routine;
        }
        let routine = builder.routine(|routine| fill(self, routine));
        self.routines.push((key, routine));
        routine
    }

    /// One turn, and what surrounds it.
    fn turn(&mut self, builder: &mut Builder<'_>, agenda: &Agenda, index: usize) {
        let Agenda { rank, turns, spells, .. } = agenda;
        let spell = spells[index];
        if let Some(spell) = spell.filter(|spell| spell.begins && self.gradient > 0.0) {
            let work = self.stages.work(*rank, spell.stage);
            let routine = self.routine(builder, Key::Mark { work }, |this, routine| {
                let taken = this.stages.works[work].elements * this.gradient;
                mark(routine, held_bytes(held::GRADIENTS, taken), [0; HELD]);
            });
            builder.turn(1, &[Run { routine, layer: 0, micro_batch: 0 }]);
        }
        let (turn, ahead) = (turns[index], agenda.ahead(index));
        // The last time is listed apart where something else follows it.
        let again = self.next(*rank, turn.last(), Some(turn.later(1).first));
        let rest = turn.later(turn.repeat - 1);
        let following = self.next(*rank, rest.last(), turns.get(index + 1).map(|turn| turn.first));
        if again == following {
            self.passes(builder, *rank, turn, ahead, again);
        } else {
            self.passes(builder, *rank, Turn { repeat: turn.repeat - 1, ..turn }, ahead, again);
            self.passes(builder, *rank, Turn { repeat: 1, ..rest }, ahead, following);
        }
        if let Some(spell) = spell {
            self.reduce(builder, *rank, spell);
        }
        self.fills(builder, agenda, index + 1);
    }

    /// The passes of a turn, `ahead` gathers ahead, and what the last one does for what is `next`.
    fn passes(&mut self, builder: &mut Builder<'_>, rank: u32, turn: Turn, ahead: usize, next: Next) {
        if let Some(second) = turn.second {
            let between = self.next(rank, turn.first, turn.second);
            let runs =
                [(turn.first, between), (second, next)].map(|(pass, next)| self.pass(builder, rank, pass, ahead, next));
            builder.turn(turn.repeat, &runs);
        } else {
            let run = self.pass(builder, rank, turn.first, ahead, next);
            builder.turn(turn.repeat, &[run]);
        }
    }

    /// What a pass does for the one after it.
    fn next(&self, rank: u32, pass: Pass, next: Option<Pass>) -> Next {
        let Some(next) = next else { return Next::default() };
        let first_layer = |pass: Pass| self.stages.first_layer(rank, pass.stage);
        Next {
            opens: !next.backward && next.stage == 0,
            copy: (self.copies && next.backward).then(|| NextCopy {
                work: self.stages.work(rank, next.stage),
                layer: first_layer(next).wrapping_sub(first_layer(pass)),
                micro_batch: next.micro_batch.wrapping_sub(pass.micro_batch),
            }),
        }
    }

    /// The gathers that are listed after so many turns.
    fn fills(&mut self, builder: &mut Builder<'_>, agenda: &Agenda, turns: usize) {
        let phase = |turn: usize| Phase::of(agenda.turns[turn].first.backward);
        let from = agenda.fills.partition_point(|(place, _)| *place < turns);
        for (_, fill) in agenda.fills[from..].iter().take_while(|(place, _)| *place == turns) {
            let stage = |stage: u32| self.stages.work(agenda.rank, stage);
            let (work, evicts) = (stage(fill.stage), fill.evicts.map(stage));
            let layer = self.stages.first_layer(agenda.rank, fill.stage);
            let phase = phase(fill.turn);
            let routine = self.routine(builder, Key::Fill { work, evicts, phase }, |this, routine| {
                this.fill(routine, (work, evicts), phase);
            });
            builder.turn(1, &[Run { routine, layer, micro_batch: 0 }]);
        }
    }

    /// Bytes that a stage takes in its buffer beyond the one that it evicts.
    fn taken(&self, work: usize, evicts: Option<usize>) -> f64 {
        let elements = |work: usize| self.stages.works[work].elements;
        (elements(work) - evicts.map_or(0.0, elements)) * self.visits.rates.storage()
    }

    /// Gathers a stage into a buffer, once what was in it has been used for the last time.
    fn fill(&self, routine: &mut RoutineBuilder<'_>, (work, evicts): (usize, Option<usize>), phase: Phase) {
        let Work { elements, units, .. } = self.stages.works[work];
        let Some(gather) = self.visits.stage_gather(elements, units) else { return };
        routine.block(1, |block| {
            let label = label(Lane::Gather, gather.kind, Part::Layer, phase);
            let mut task = block.transfer(&gather.transfer, self.queues.gather, self.contention(), label);
            task.waits = waits([Some(block.after(Counter::Released, 0))]);
            task.signals = [Some(Counter::Gathered), None];
            task.takes = held_bytes(held::GATHERED, self.taken(work, evicts));
            // The stage travels unit by unit through a buffer for one.
            task.takes[held::COMMUNICATION] = bytes(gather.buffer / units);
            task.gives = held_bytes(held::COMMUNICATION, gather.buffer / units);
            block.push(task);
        });
    }

    /// Forward or backward of a stage for one micro-batch, `ahead` gathers ahead.
    fn pass(&mut self, builder: &mut Builder<'_>, rank: u32, pass: Pass, ahead: usize, next: Next) -> Run {
        let Pass { stage, backward, micro_batch } = pass;
        let (index, last) = (self.stages.index(rank, stage), self.stages.len() - 1);
        let alone = self.shape.ranks == 1;
        let layer = self.stages.first_layer(rank, stage);
        let key = Key::Pass {
            work: self.stages.work(rank, stage),
            backward,
            receives: !alone && index != if backward { last } else { 0 },
            sends: !alone && index != if backward { 0 } else { last },
            ahead,
            next,
        };
        let routine = self.routine(builder, key, |this, routine| this.visit_stage(routine, key));
        Run { routine, layer, micro_batch }
    }

    fn visit_stage(&self, routine: &mut RoutineBuilder<'_>, key: Key) {
        let Key::Pass { work, backward, receives, sends, ahead, next } = key else { return };
        let arrival = if backward { Counter::ArrivedBackward } else { Counter::ArrivedForward };
        if receives {
            routine.expect(arrival);
        }
        let emit = self.emit();
        let runs = self.stages.works[work].runs(&self.visits, backward);
        let after = next.copy.and_then(|copy| self.first_copy(copy));
        for (index, run) in runs.iter().enumerate() {
            let after = runs.get(index + 1).map_or(after, |next| step::Ahead::of(next, 0));
            let apart = u32::from(after.is_some() || run.visit.checkpoint > 0.0);
            let mut visit = |run: step::Run, copy: Option<step::Ahead>| {
                routine.block(run.count, |block| {
                    let start = [
                        (self.visits.layout.weights > 1)
                            .then(|| block.after(Counter::Gathered, ahead.cast_signed() as i64)),
                        receives.then(|| block.after(arrival, 0)),
                    ];
                    emit.stage_visit(block, &run, start, copy);
                });
            };
            visit(step::Run { count: run.count - apart, ..*run }, step::Ahead::of(run, 1));
            visit(step::Run { count: apart, layer: run.layer_at(run.count - 1), ..*run }, after);
        }
        if sends {
            routine.block(1, |block| self.send(block, arrival));
        }
        if next.opens {
            Emit::host(routine, self.visits.rates.software.micro_batch.get());
        }
    }

    /// The copy of the checkpoint with which a backward begins.
    fn first_copy(&self, next: NextCopy) -> Option<step::Ahead> {
        let runs = self.stages.works[next.work].runs(&self.visits, true);
        let copy = runs.first().and_then(|run| step::Ahead::of(run, 0));
        copy.map(|copy| copy.from(next.layer, next.micro_batch))
    }

    /// Activations, or their gradients, to the rank of the neighbouring stage; each tensor rank its share.
    fn send(&self, block: &mut RoutineBuilder<'_>, arrival: Counter) {
        let phase = Phase::of(arrival == Counter::ArrivedBackward);
        let label = label(Lane::Pipeline, Kind::PointToPoint, Part::Model, phase);
        let mut task = block.transfer(&self.visits.send(), PIPELINE, self.contention(), label);
        task.waits = waits([Some(block.after(Counter::Released, 0))]);
        task.sends = Some(arrival);
        block.push(task);
    }

    /// Reduces a stage's gradients when backward leaves it.
    fn reduce(&mut self, builder: &mut Builder<'_>, rank: u32, spell: Spell) {
        if !spell.ends || (self.gradient == 0.0 && !spell.last) {
            return;
        }
        let (work, layer) = (self.stages.work(rank, spell.stage), self.stages.first_layer(rank, spell.stage));
        let key = Key::Reduce { work, last: spell.last };
        let routine = self.routine(builder, key, |this, routine| this.reduction(routine, work, spell.last));
        builder.turn(1, &[Run { routine, layer, micro_batch: 0 }]);
    }

    fn reduction(&self, routine: &mut RoutineBuilder<'_>, work: usize, last: bool) {
        let Work { elements, units, .. } = self.stages.works[work];
        let given = held_bytes(held::GRADIENTS, elements * self.gradient);
        let Some(Moved { transfer, kind, buffer, .. }) =
            self.visits.reduction(elements, true, last, self.visits.parts() * units)
        else {
            return mark(routine, [0; HELD], given);
        };
        routine.block(1, |block| {
            let label = label(Lane::Reduce, kind, Part::Layer, Phase::Backward);
            let mut task = block.transfer(&transfer, self.queues.reduce, self.contention(), label);
            task.waits = waits([Some(block.after(Counter::Released, 0))]);
            task.signals = [Some(Counter::Reduced), None];
            task.takes = held_bytes(held::COMMUNICATION, buffer / units);
            task.gives = given;
            task.gives[held::COMMUNICATION] = bytes(buffer / units);
            block.push(task);
        });
    }

    /// Sums the gradients of an embedding and of logits that are tied to it, where the first and the last rank have
    /// a copy each, once they are reduced (`finalize_model_grads` of Megatron-LM). The two ranks are neighbours
    /// where the pipeline closes: each has the sum when both have done their part.
    fn tie(&self, routine: &mut RoutineBuilder<'_>, rank: u32) {
        let (sends, arrival) = match rank {
            0 => (Counter::ArrivedBackward, Counter::ArrivedForward),
            last if last + 1 == self.shape.ranks => (Counter::ArrivedForward, Counter::ArrivedBackward),
            _ => return,
        };
        let Some(transfer) = self.visits.tied() else { return };
        routine.expect(arrival);
        routine.block(1, |block| {
            let label = label(Lane::Pipeline, Kind::AllReduce, Part::Embedding, Phase::Backward);
            let mut task = block.transfer(&transfer, PIPELINE, self.contention(), label);
            task.waits = waits([Counter::Released, Counter::Reduced].map(|counter| Some(block.after(counter, 0))));
            (task.signals, task.sends) = ([Some(Counter::Reduced), None], Some(sends));
            block.push(task);
            let mut task = pause(block);
            task.waits = waits([Some(block.after(Counter::Reduced, 0)), Some(block.after(arrival, 0))]);
            block.push(task);
        });
    }

    /// Gives back the gathered stages that are still in their buffers at the end.
    fn empty(&self, builder: &mut Builder<'_>, agenda: &Agenda) {
        let stage = |stage: u32| self.stages.work(agenda.rank, stage);
        let taken = |(_, fill): &(usize, Fill)| bytes(self.taken(stage(fill.stage), fill.evicts.map(stage)));
        let mut gives = [0; HELD];
        gives[held::GATHERED] = agenda.fills.iter().map(taken).sum();
        if gives[held::GATHERED] > 0 {
            builder.section(1, |routine| mark(routine, [0; HELD], gives));
        }
    }
}

/// What one rank does, and what it gathers and reduces around it.
struct Agenda {
    rank: u32,
    turns: Vec<Turn>,
    /// Gathers, after the number of turns that they are listed behind.
    fills: Vec<(usize, Fill)>,
    spells: Vec<Option<Spell>>,
}

impl Agenda {
    /// Gathers that are listed before a turn and not for it.
    fn ahead(&self, turn: usize) -> usize {
        let listed = self.fills.partition_point(|(place, _)| *place <= turn);
        listed - self.fills.partition_point(|(_, fill)| fill.turn <= turn)
    }
}

/// A moment on the compute queue at which memory changes hands: it waits for one gradient buffer.
fn mark(routine: &mut RoutineBuilder<'_>, takes: [i64; HELD], gives: [i64; HELD]) {
    routine.block(1, |block| {
        let mut task = pause(block);
        task.waits = waits([Some(block.after(Counter::Reduced, 1))]);
        (task.takes, task.gives) = (takes, gives);
        block.push(task);
    });
}

/// A moment on the compute queue.
fn pause(block: &mut RoutineBuilder<'_>) -> Task {
    let label = label(Lane::Compute, Kind::Host, Part::Model, Phase::default());
    Task { signals: [Some(Counter::Computed), None], ..block.compute(Piece::default(), Class::Host, label) }
}

fn label(lane: Lane, kind: Kind, part: Part, phase: Phase) -> Label {
    Label { lane, phase, first: Activity { kind, part, ..Activity::default() }, ..Label::default() }
}
