//! What a slot does is done once and remembered: which ranks and micro-batches it is for makes no difference.
//!
//! What a rank does after a gap depends on the slot's routine and on what flies there. So a rank goes from gap to gap: a
//! run of the slot that finds the same flights, with the same work left, ends the same way; so does one that finds more
//! of it left, where it flew all along. Where flights end beside the first piece of the slot's compute, the rest is
//! known from the run without them.

mod run;
mod start;

use crate::program::{CHAIN, Code, Counter, Phase, Picos, QUEUES, Routine, Wait};

use super::fold::History;
use super::gap::States;
use super::queue::Role;
use super::rank::{Around, Rank, way};
use super::{Observer, joint, local};

use run::{Run, Watched};
use start::{Begun, Start, first_compute};

/// What a routine is, whatever flies.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    /// Whether nothing can come before it but the next arrival from one neighbour, and transfers of the rank's own.
    simple: bool,
    arrival: Option<Counter>,
    /// The phase of its compute.
    phase: Phase,
    /// Whether there is nothing that compute does or goes hand in hand with.
    instant: bool,
}

/// How a routine goes after some flights.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    gate: Gate,
    first: First,
    /// The run in which all flights outlast the slot, by index, and the latest of those in which some end.
    along: Option<u32>,
    latest: Option<u32>,
}

/// With what a slot begins.
#[derive(Debug, Clone, Copy, Default)]
enum First {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// A piece of compute.
    Piece(Start),
    /// Anything else.
    Other,
}

/// What keeps compute from beginning with a routine.
#[derive(Debug, Clone, Copy, Default)]
enum Gate {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// Nothing but the next arrival.
    Open,
    /// One of the flights.
    Flight(usize),
    /// More than that.
    Shut,
}

/// How far a rank came from gap to gap.
pub(super) enum Stride {
    /// To a wait for another rank; it has something to do again then.
    Until(Picos),
    /// To an iteration that is worth a look.
    Look,
    /// To a slot that is not remembered.
    Unknown,
}

/// The runs that are remembered.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub states: States,
    kinds: Vec<Kind>,
    /// By what flies, and by routine.
    known: Vec<Known>,
    runs: Vec<Run>,
    watched: Option<Watched>,
}

impl Memo {
    pub fn clear(&mut self, code: &Code) {
        self.states.clear();
        self.kinds.clear();
        self.kinds.extend((0..code.routines.len()).map(|routine| Kind::of(code, routine)));
        self.known.clear();
        self.runs.clear();
        self.watched = None;
    }

    /// Goes from gap to gap, as far as what is remembered and what is known of the others lets a rank; all of them
    /// have come to the moment `now`.
    pub fn stride<O: Observer>(
        &mut self,
        rank: &mut Rank,
        section: &mut History,
        now: Picos,
        around: &mut Around<'_, O>,
    ) -> Stride {
        let role = around.role;
        while let (Some(at), Some(gap)) = (&rank.at, &rank.gap) {
            let routine = role.script.slot(at).routine as usize;
            let Kind { arrival: awaited, phase, instant, .. } = self.kinds[routine];
            if !instant {
                match self.gate(gap.state, routine, role.code) {
                    Gate::Open => {}
                    Gate::Flight(flight) => {
                        self.states.expose(rank, flight, around);
                        continue;
                    }
                    Gate::Shut | Gate::Unknown => break,
                }
                let arrival = awaited.map_or(Some(rank.clock), |counter| around.inbox.of(counter).next());
                if arrival.is_none_or(|arrival| arrival > rank.clock) {
                    let next = self.states.rest(rank, arrival.unwrap_or(now), phase, around);
                    let Some(arrival) = arrival else {
                        rank.awaits[awaited.map_or(0, way)] = true;
                        return Stride::Until(next);
                    };
                    self.states.pass(rank, arrival, phase, around);
                    rank.waited = true;
                }
                if !rank.paused && joint::begins(&role, rank) {
                    rank.paused = true;
                    return Stride::Look;
                }
                if local::worth_a_look(rank, &role) {
                    local::fold_section(rank, section, &self.states, around);
                }
            }
            if !self.replay(rank, around) {
                break;
            }
        }
        self.states.spread(rank, &role);
        rank.gap = None;
        Stride::Unknown
    }

    /// Runs a slot with which a rank can begin after a gap, if what it does is remembered.
    fn replay<O>(&mut self, rank: &mut Rank, around: &mut Around<'_, O>) -> bool {
        let (Some(at), Some(gap)) = (&rank.at, &rank.gap) else { return false };
        let routine = around.role.script.slot(at).routine as usize;
        let Known { along, latest, .. } = *self.known(gap.state, routine);
        let some_end = std::iter::successors(latest, |run| self.runs[*run as usize].earlier);
        let mut runs = along.into_iter().chain(some_end).map(|run| &self.runs[run as usize]);
        if let Some(run) = runs.find(|run| run.fits(&gap.left)) {
            run.apply(&run.needs, rank, around);
            return true;
        }
        let Some(first) = self.start(gap.state, routine, around.role.code) else { return false };
        let (mut begun, mut start) = (Begun::after(gap), first);
        while begun.advance(&start, &mut self.states, around.role.code) {
            let Some(next) = self.start(begun.state, routine, around.role.code) else { return false };
            let along = self.known(begun.state, routine).along.map(|run| &self.runs[run as usize]);
            if let Some((run, (late, needs))) = along.and_then(|run| Some((run, begun.along(&next, run.needs)?))) {
                begun.book(&first, late, rank, &self.states, around);
                run.apply(&needs, rank, around);
                return true;
            }
            start = next;
        }
        false
    }

    fn cell(&self, state: u32, routine: usize) -> usize {
        state as usize * self.kinds.len() + routine
    }

    fn known(&mut self, state: u32, routine: usize) -> &mut Known {
        let cell = self.cell(state, routine);
        if cell >= self.known.len() {
            self.known.resize((state as usize + 1) * self.kinds.len(), Known::default());
        }
        &mut self.known[cell]
    }

    fn start(&mut self, state: u32, routine: usize, code: &Code) -> Option<Start> {
        if let First::Unknown = self.known(state, routine).first {
            let start = Start::of(self.states.get(state), routine, code);
            self.known(state, routine).first = start.map_or(First::Other, First::Piece);
        }
        let First::Piece(start) = self.known(state, routine).first else { return None };
        Some(start)
    }

    fn gate(&mut self, state: u32, routine: usize, code: &Code) -> Gate {
        if let gate @ (Gate::Open | Gate::Flight(_) | Gate::Shut) = self.known(state, routine).gate {
            return gate;
        }
        let flying = self.states.get(state);
        let mut waits = code.routines[routine].entry.iter().flatten().flatten();
        let unmet = waits.find(|wait| !wait.counter.remote() && flying.owed[wait.counter as usize] + wait.offset > 0);
        let producer = |wait: &Wait| {
            let queue = code.producer(wait.counter);
            (0..flying.flights.count).find(|flight| Some(flying.task(*flight, code).queue) == queue)
        };
        let gate = match unmet {
            _ if !self.kinds[routine].simple || !flying.plain => Gate::Shut,
            None => Gate::Open,
            // What goes hand in hand with compute may begin before it.
            Some(_) if !code.routines[routine].alone => Gate::Shut,
            Some(wait) => producer(wait).map_or(Gate::Shut, Gate::Flight),
        };
        self.known(state, routine).gate = gate;
        gate
    }

    /// Runs the slot with which a rank on its queues begins, if what it does is remembered; watches it otherwise.
    pub fn run_or_watch<O>(&mut self, rank: &mut Rank, around: &mut Around<'_, O>) -> bool {
        rank.gap = self.states.gap(rank, rank.due(&around.role), around.role.code);
        let remembered = self.replay(rank, around);
        if !remembered && let (Some(at), Some(gap)) = (rank.at, rank.gap.take()) {
            self.watched = Some(Watched::begin(rank, at, gap, around));
        }
        remembered
    }

    /// Whether a rank is at a slot in which there is nothing that compute does or goes hand in hand with.
    pub fn instant(&self, rank: &Rank, role: &Role<'_>) -> bool {
        rank.at.is_some_and(|at| self.kinds[role.script.slot(&at).routine as usize].instant)
    }

    /// Ends watching: remembers the slot if it is over and has left nothing but what runs.
    pub fn finish<O>(&mut self, rank: &mut Rank, around: &Around<'_, O>) {
        let Some(watched) = self.watched.take() else { return };
        let over = rank.slot_is_over().then(|| self.states.gap(rank, &[0; QUEUES], around.role.code)).flatten();
        let before = self.states.get(watched.gap.state);
        let run = over.and_then(|after| watched.run(before, rank, after.state, around));
        watched.settle(rank);
        let Some(mut run) = run else { return };
        let index = Some(self.runs.len() as u32);
        let known = self.known(watched.gap.state, around.role.script.slot(&watched.at).routine as usize);
        let ends = run.needs.as_slice().iter().any(|need| need.ends);
        let slot = if ends { &mut known.latest } else { &mut known.along };
        run.earlier = std::mem::replace(slot, index);
        self.runs.push(run);
    }
}

impl Kind {
    fn of(code: &Code, routine: usize) -> Self {
        let Routine { entry, advance, queues, .. } = &code.routines[routine];
        let mut waits = entry.iter().flatten().flatten().filter(|wait| wait.counter.remote());
        let (first, second) = (waits.next(), waits.next());
        let arrival = first.map(|wait| wait.counter);
        let next = |counter: Counter| advance[counter as usize] == i64::from(arrival == Some(counter));
        let simple = entry.is_some() && second.is_none() && first.is_none_or(|wait| wait.offset == 1);
        let phase = first_compute(code, routine).map(|task| code.tasks[task as usize].label.phase);
        Self {
            simple: simple && next(Counter::ArrivedForward) && next(Counter::ArrivedBackward),
            arrival,
            phase: phase.unwrap_or(Phase::Update),
            instant: queues & CHAIN == 0,
        }
    }
}
