//! Pipelines and layered accumulation: each rank visits its stages in the order of a schedule.
//!
//! Sharded states are gathered and reduced by stages, with two buffers for weights and two for
//! gradients [layered C5]: a stage is gathered when no buffer holds it, as soon as the buffer it
//! takes is free, and its gradients are reduced when backward turns to another stage. Replicated
//! gradients are reduced after a stage's last backward. Layered accumulation is the breadth-first
//! schedule with a stage per layer [layered B7].

mod buffers;
mod crossing;

use std::ops::Range;

use crate::cost::{Factors, Rates};
use crate::plan::{Accumulation, Offload, Schedule, Site};
use crate::scenario::Layout;

use super::boundary::{self, Share};
use super::build::{Builder, PIPELINE, Piece, Queues, RoutineBuilder, Run};
use super::label::{Activity, Kind, Label, Lane, Part, Phase};
use super::places::Places;
use super::schedule::{Fill, Loop, Order, Pass, Shape, Spell, Turn, fills, last, spells};
use super::stage::{Stages, Work};
use super::state::State;
use super::step::Emit;
use super::task::{COMPUTE, Class, Counter, Task, held, waits};
use super::visit::Visits;
use buffers::{Coming, Going};
use crossing::{Crossing, Next, NextCopy};

/// A pipeline and what its ranks share.
pub(super) struct Pipeline<'a> {
    /// What visits are made from, for each way of placing operators; the plan's own first.
    ways: Vec<Visits<'a>>,
    /// The way of the embedding.
    embedding: usize,
    queues: Queues,
    stages: Stages,
    shape: Shape,
    /// Whether any weights come into buffers, and whether any are gathered for that.
    fetches: bool,
    gathers: bool,
    /// Whether there is a second copy of any weights.
    seconds: bool,
    /// What lives on the host.
    offload: Offload,
    /// For each rank the first of those up to it, neighbour by neighbour, that hold the same.
    alike: Vec<u32>,
    /// Passes that differ in more than what is around them.
    crossings: Vec<Crossing>,
    routines: Routines,
}

/// Routines of one kind that exist already, each after what tells it from the others.
type Known<K> = Vec<(K, u32)>;

/// Routines that exist already. Stages are told apart by their work only.
#[derive(Debug, Default)]
struct Routines {
    /// The host's fixed times before all else, and the boundary, each of ranks that are alike.
    begins: Known<u32>,
    ends: Known<u32>,
    /// Each crossing, while so many stages are gathered ahead of it.
    passes: Vec<Known<(usize, Next)>>,
    /// A stage that comes into the buffer of another.
    fills: Known<Coming>,
    /// A gradient buffer taken for a work, and whether sums come from the host into it.
    marks: Known<(usize, bool)>,
    /// The reduction of a stage's gradients.
    reductions: Known<Going>,
    /// The end of so many bytes that are left in the buffers.
    empties: Known<i64>,
}

/// Whether a plan runs in stages.
pub(super) fn wanted(rates: &Rates<'_>, layout: &Layout) -> bool {
    layout.pipeline > 1 || rates.scenario.plan.accumulation == Accumulation::Layered
}

impl<'a> Pipeline<'a> {
    /// Of a checked plan.
    pub fn of(rates: &'a Rates<'a>, layout: &Layout, places: &'a Places<'a>) -> Self {
        let plan = &rates.scenario.plan;
        let layered = plan.accumulation == Accumulation::Layered;
        let schedule = plan.effective_schedule();
        let looped = matches!(schedule, Schedule::BreadthFirst | Schedule::Interleaved);
        let stages_per_rank = match (layered && layout.pipeline == 1, looped) {
            (true, _) => rates.scenario.model.layers,
            (false, true) => plan.stages_per_rank,
            (false, false) => 1,
        };
        let ranks = layout.pipeline;
        let ways = places.visits(rates, true);
        // Faster hardware, asked after for once, deals no layers anew.
        let plain = Rates::of(rates.scenario, &Factors::default());
        let stages = Stages::of(places, &ways, &Visits::new(&plain, layout, true), ranks, stages_per_rank);
        let held = |is: &dyn Fn(&Visits<'a>) -> bool| {
            let holdings = stages.works.iter().flat_map(|work| &work.holdings);
            holdings.map(|holding| &ways[holding.way]).any(is)
        };
        let buffered = plan.offload.state() || held(&|visits| visits.layout.gradients > 1);
        let mut alike: Vec<u32> = Vec::with_capacity(ranks as usize);
        for rank in 0..ranks {
            let same = |before: &u32| (0..stages_per_rank).all(|k| stages.work(*before, k) == stages.work(rank, k));
            alike.push(alike.last().copied().filter(same).unwrap_or(rank));
        }
        Self {
            shape: Shape { schedule, ranks, stages_per_rank, micro_batches: plan.accumulate, buffered },
            queues: Queues::of(rates.scenario.stack.overlap),
            fetches: held(&Visits::fetched),
            gathers: held(&|visits| visits.layout.weights > 1),
            seconds: held(&|visits| visits.second().is_some()),
            embedding: places.way(Site::Embedding),
            stages,
            ways,
            offload: plan.offload,
            alike,
            crossings: Vec::new(),
            routines: Routines::default(),
        }
    }

    /// Stages that differ.
    pub fn works(&self) -> &[Work] {
        &self.stages.works
    }

    /// What visits of operators placed in some way are made from.
    pub fn way(&self, way: usize) -> &Visits<'a> {
        &self.ways[way]
    }

    /// Which of them the stages are, in the order of forward.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.stages.in_order()
    }

    /// The first of the ranks up to this one, neighbour by neighbour, that hold the same.
    pub fn alike(&self, rank: u32) -> u32 {
        self.alike[rank as usize]
    }

    /// One rank's parameters, by how they are placed.
    fn shares(&self, rank: u32) -> Vec<Share<'_>> {
        let mut parameters = vec![0; self.ways.len()];
        let stages = (0..self.shape.stages_per_rank).map(|stage| self.stages.work(rank, stage));
        for holding in stages.flat_map(|work| &self.stages.works[work].holdings) {
            parameters[holding.way] += holding.parameters;
        }
        let held = self.ways.iter().zip(parameters).filter(|(_, parameters)| *parameters > 0);
        held.map(|(visits, parameters)| Share::of(visits, parameters)).collect()
    }

    /// Memory of one rank that does not change during the step.
    pub fn state(&self, rank: u32) -> State {
        State::of_shares(&self.shares(rank))
    }

    /// What all visits share.
    fn visits(&self) -> &Visits<'a> {
        &self.ways[0]
    }

    /// Builds the step of one rank.
    pub fn build(&mut self, rank: u32, mut builder: Builder<'_>) {
        let (alike, ranks) = (self.alike(rank), self.shape.ranks);
        let Order { turns, loops, round, repeat } = self.shape.order(rank);
        let (fills, spells) = (self.placed(&turns), spells(&turns, self.shape.micro_batches));
        let mut agenda = Agenda { seats: self.seats(rank), turns, loops, fills, spells, ..Agenda::default() };
        let left = last(&agenda.fills).map(|stage| self.taken(agenda.seat(stage).work, None)).sum();
        let rest = round.end..agenda.turns.len();
        self.fills(&mut builder, &mut agenda, 0);
        self.once(&mut builder, 0, |known| &mut known.begins, alike, |this, routine| this.begin(routine, rank));
        self.turns(&mut builder, &mut agenda, 0..round.start);
        builder.round(repeat, ranks, |builder| self.turns(builder, &mut agenda, round));
        self.turns(&mut builder, &mut agenda, rest);
        self.once(&mut builder, 0, |known| &mut known.ends, alike, |this, routine| this.end(routine, rank));
        self.once(&mut builder, 0, |known| &mut known.empties, left, |_, routine| empty(routine, left));
    }

    /// The host's fixed times before all else.
    fn begin(&self, routine: &mut RoutineBuilder<'_>, rank: u32) {
        let rates = self.visits().rates;
        let owners = self.shares(rank).first().map_or(1, |share| share.visits.layout.optimizer);
        Emit::host(routine, rates.host_step(owners));
        Emit::host(routine, rates.software.micro_batch.get());
    }

    /// The boundary, after what the ends of the pipeline sum.
    fn end(&self, routine: &mut RoutineBuilder<'_>, rank: u32) {
        self.tie(routine, rank);
        routine.block(1, |block| boundary::build(&self.shares(rank), self.queues, block));
    }

    /// What a rank's stages are.
    fn seats(&mut self, rank: u32) -> Vec<Seat> {
        let (ranks, last) = (self.shape.ranks, self.stages.len() - 1);
        let hops = [false, true].map(|backward| self.visits().hop(rank, backward));
        let seat = |stage: u32| {
            let (index, work) = (self.stages.index(rank, stage), self.stages.work(rank, stage));
            let crossings = [false, true].map(|backward| {
                let (first, last) = if backward { (last, 0) } else { (0, last) };
                let sends = (ranks > 1 && index != last).then(|| hops[usize::from(backward)]);
                let crossing = Crossing { work, backward, receives: ranks > 1 && index != first, sends };
                let known = self.crossings.iter().position(|known| *known == crossing);
                known.unwrap_or_else(|| {
                    self.crossings.push(crossing);
                    self.routines.passes.push(Vec::new());
                    self.crossings.len() - 1
                })
            });
            Seat { work, layer: self.stages.first_layer(rank, stage), crossings }
        };
        (0..self.shape.stages_per_rank).map(seat).collect()
    }

    /// The stages to gather in the order in which they are needed, each where its gather is listed: as
    /// soon as its buffer is free, or, where a gather stops compute, when it is needed.
    fn placed(&self, turns: &[Turn]) -> Vec<Fill> {
        if !self.fetches {
            return Vec::new();
        }
        let (mut fills, mut last) = (fills(turns), 0);
        for fill in &mut fills {
            last = last.max(if self.gathers && self.queues.gather == COMPUTE { fill.turn } else { fill.place });
            fill.place = last;
        }
        fills
    }

    fn emit(&self) -> Emit<'_> {
        Emit { visits: self.visits(), queues: self.queues, ahead: 0, contention: self.contention() }
    }

    fn contention(&self) -> f64 {
        self.visits().rates.runtime.contention
    }

    /// The routine of a kind that a key tells from the others, made where it is needed first.
    fn routine<K: PartialEq>(
        &mut self,
        builder: &mut Builder<'_>,
        known: impl Fn(&mut Routines) -> &mut Known<K>,
        key: K,
        fill: impl FnOnce(&Self, &mut RoutineBuilder<'_>),
    ) -> u32 {
        if let Some((_, routine)) = known(&mut self.routines).iter().find(|(other, _)| *other == key) {
            return *routine;
        }
        let routine = builder.routine(|routine| fill(self, routine));
        known(&mut self.routines).push((key, routine));
        routine
    }

    /// Runs such a routine once, from a layer.
    fn once<K: PartialEq>(
        &mut self,
        builder: &mut Builder<'_>,
        layer: u32,
        known: impl Fn(&mut Routines) -> &mut Known<K>,
        key: K,
        fill: impl FnOnce(&Self, &mut RoutineBuilder<'_>),
    ) {
        let routine = self.routine(builder, known, key, fill);
        builder.run(Run { routine, layer, micro_batch: 0 });
    }

    /// Turns in order.
    fn turns(&mut self, builder: &mut Builder<'_>, agenda: &mut Agenda, turns: Range<usize>) {
        let mut index = turns.start;
        while index < turns.end {
            let next = agenda.loops.get(agenda.looped).filter(|next| next.turns.start == index);
            let (repeat, end) = next.map_or((1, index + 1), |next| (next.repeat, next.turns.end));
            agenda.looped += usize::from(next.is_some());
            builder.repeat(repeat, |builder| (index..end).for_each(|index| self.turn(builder, agenda, index)));
            index = end;
        }
    }

    /// One turn, and what surrounds it.
    fn turn(&mut self, builder: &mut Builder<'_>, agenda: &mut Agenda, index: usize) {
        let spell = agenda.spells.get(agenda.over).copied();
        if let Some(spell) = spell.filter(|spell| spell.begins == index && self.shape.buffered) {
            let Seat { work, .. } = agenda.seat(spell.stage);
            let mark = (work, self.resumed(work, spell));
            self.once(builder, 0, |known| &mut known.marks, mark, |this, routine| this.mark(routine, mark));
        }
        let (turn, ahead) = (agenda.turns[index], agenda.ahead(index));
        let rest = turn.later(turn.repeat - 1);
        let following = self.next(agenda, rest.last(), agenda.turns.get(index + 1).map(|turn| turn.first));
        let again = if turn.repeat > 1 { self.next(agenda, turn.last(), Some(turn.later(1).first)) } else { following };
        if again == following {
            self.passes(builder, agenda, turn, ahead, following);
        } else {
            // The last time is listed apart where something else follows it.
            self.passes(builder, agenda, Turn { repeat: turn.repeat - 1, ..turn }, ahead, again);
            self.passes(builder, agenda, Turn { repeat: 1, ..rest }, ahead, following);
        }
        if let Some(spell) = spell.filter(|spell| spell.ends == index) {
            agenda.over += 1;
            if spell.last || self.shape.buffered {
                self.reduce(builder, agenda, spell);
            }
        }
        self.fills(builder, agenda, index + 1);
    }

    /// The passes of a turn, `ahead` gathers ahead, and what the last one does for what is `next`.
    fn passes(&mut self, builder: &mut Builder<'_>, agenda: &Agenda, turn: Turn, ahead: usize, next: Next) {
        if let Some(second) = turn.second {
            let between = self.next(agenda, turn.first, turn.second);
            let first = self.pass(builder, agenda, turn.first, ahead, between);
            let second = self.pass(builder, agenda, second, ahead, next);
            builder.repeat(turn.repeat, |builder| [first, second].into_iter().for_each(|run| builder.run(run)));
        } else {
            let run = self.pass(builder, agenda, turn.first, ahead, next);
            builder.repeat(turn.repeat, |builder| builder.run(run));
        }
    }

    /// Forward or backward of a stage for one micro-batch, `ahead` gathers ahead.
    fn pass(&mut self, builder: &mut Builder<'_>, agenda: &Agenda, pass: Pass, ahead: usize, next: Next) -> Run {
        let Seat { layer, crossings, .. } = agenda.seat(pass.stage);
        let crossing = crossings[usize::from(pass.backward)];
        let fill = |this: &Self, routine: &mut RoutineBuilder<'_>| {
            this.cross(routine, this.crossings[crossing], ahead, next);
        };
        let routine = self.routine(builder, |known| &mut known.passes[crossing], (ahead, next), fill);
        Run { routine, layer, micro_batch: pass.micro_batch }
    }

    /// What a pass does for the one after it.
    fn next(&self, agenda: &Agenda, pass: Pass, next: Option<Pass>) -> Next {
        let Some(next) = next else { return Next::default() };
        Next {
            opens: !next.backward && next.stage == 0,
            copy: (self.offload.checkpoints() && next.backward).then(|| {
                let [from, to] = [pass, next].map(|pass| agenda.seat(pass.stage));
                NextCopy {
                    work: to.work,
                    layer: to.layer.wrapping_sub(from.layer),
                    micro_batch: next.micro_batch.wrapping_sub(pass.micro_batch),
                }
            }),
        }
    }

    /// The gathers that are listed after so many turns.
    fn fills(&mut self, builder: &mut Builder<'_>, agenda: &mut Agenda, turns: usize) {
        while let Some(fill) = agenda.fills.get(agenda.listed).filter(|fill| fill.place == turns) {
            let Seat { work, layer, .. } = agenda.seat(fill.stage);
            let leaves = self.seconds && fill.first && agenda.refills(fill.stage);
            let evicts = fill.evicts.map(|stage| agenda.seat(stage).work);
            let coming = Coming { work, evicts, backward: fill.backward, leaves };
            self.once(builder, layer, |known| &mut known.fills, coming, |this, routine| this.fill(routine, coming));
            agenda.listed += 1;
        }
    }

    /// Whether a spell of backward brings sums of gradients back from the host: a stage's last, where it had others.
    fn resumed(&self, work: usize, spell: Spell) -> bool {
        self.offload.state() && spell.last && !spell.first && self.unreduced(work) > 0.0
    }

    /// Reduces a stage's gradients when backward leaves it.
    fn reduce(&mut self, builder: &mut Builder<'_>, agenda: &Agenda, spell: Spell) {
        let (Spell { stage, last, .. }, Seat { work, layer, .. }) = (spell, agenda.seat(spell.stage));
        let second = last && self.seconds && agenda.refills(stage);
        let going = Going { work, last, resumed: self.resumed(work, spell), second };
        self.once(builder, layer, |known| &mut known.reductions, going, |this, routine| this.leave(routine, going));
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
        let Some(transfer) = self.ways[self.embedding].tied() else { return };
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
}

/// What one rank does, and what it gathers and reduces around it.
#[derive(Debug, Default)]
struct Agenda {
    seats: Vec<Seat>,
    turns: Vec<Turn>,
    loops: Vec<Loop>,
    fills: Vec<Fill>,
    spells: Vec<Spell>,
    /// Loops that are listed, gathers that are, those of them that were for turns so far, and spells that are over.
    looped: usize,
    listed: usize,
    needed: usize,
    over: usize,
}

/// One of a rank's stages.
#[derive(Debug, Clone, Copy)]
struct Seat {
    work: usize,
    /// Its first layer.
    layer: u32,
    /// Its forward and backward, by index.
    crossings: [usize; 2],
}

impl Agenda {
    fn seat(&self, stage: u32) -> Seat {
        self.seats[stage as usize]
    }

    /// Gathers that are listed before a turn and neither for it nor for an earlier one.
    fn ahead(&mut self, turn: usize) -> usize {
        while self.fills.get(self.needed).is_some_and(|fill| fill.turn <= turn) {
            self.needed += 1;
        }
        self.listed - self.needed
    }

    /// Whether a stage comes into a buffer again for backward.
    fn refills(&self, stage: u32) -> bool {
        self.fills.iter().any(|fill| fill.backward && fill.stage == stage)
    }
}

/// Gives back what is left in the buffers.
fn empty(routine: &mut RoutineBuilder<'_>, left: i64) {
    routine.block(u32::from(left > 0), |block| {
        let mut task = pause(block);
        task.gives[held::GATHERED] = left;
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
