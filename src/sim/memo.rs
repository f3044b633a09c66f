//! What a launch does is done once and remembered: which ranks and micro-batches it is for makes no difference.
//!
//! What a rank does after a gap depends on the launch's graph and on what is in flight there. So a rank goes from gap
//! to gap: a record of the launch that finds the same transfers in flight, with the same work left, ends the same way;
//! so does one that finds more of it left, where it was in flight all along. Where transfers end beside the first piece
//! of the launch's compute, the rest is known from the record without them.

mod record;
mod start;

use crate::program::{Code, EventWait, Phase, Picos, SERIAL, STREAMS, TaskEvent, TaskGraph};

use super::fold::StateHistory;
use super::in_flight::InFlightSets;
use super::observer::Observer;
use super::rank::{RankContext, RankState, way};
use super::stream::RankRole;
use super::{joint, local};

use record::{RecordedLaunch, Recording};
use start::{BegunLaunch, FirstCompute, first_compute};

/// What a graph is, whatever is in flight.
#[derive(Debug, Clone, Copy, Default)]
struct GraphTraits {
    /// Whether nothing can come before it but the next arrival from one neighbour, and transfers of the rank's own.
    simple: bool,
    arrival: Option<TaskEvent>,
    /// The phase of its compute.
    phase: Phase,
    /// Whether there is nothing on compute's stream or on one serialised with it.
    instant: bool,
}

/// How a graph goes after some transfers in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Remembered {
    gate: Gate,
    first: FirstPiece,
    /// The record in which all transfers outlast the launch, by index, and the latest of those in which some end.
    along: Option<u32>,
    latest: Option<u32>,
}

/// With what a launch begins.
#[derive(Debug, Clone, Copy, Default)]
enum FirstPiece {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// A piece of compute.
    Piece(FirstCompute),
    /// Anything else.
    Other,
}

/// What keeps compute from beginning with a graph.
#[derive(Debug, Clone, Copy, Default)]
enum Gate {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// Nothing but the next arrival.
    Open,
    /// One of the transfers in flight.
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
    /// To a launch that is not remembered.
    Unknown,
}

/// The records that are remembered.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub states: InFlightSets,
    kinds: Vec<GraphTraits>,
    /// By what is in flight, and by graph.
    known: Vec<Remembered>,
    records: Vec<RecordedLaunch>,
    recording: Option<Recording>,
}

impl Memo {
    pub fn clear(&mut self, code: &Code) {
        self.states.clear();
        self.kinds.clear();
        self.kinds.extend((0..code.graphs.len()).map(|graph| GraphTraits::new(code, graph)));
        self.known.clear();
        self.records.clear();
        self.recording = None;
    }

    /// Goes from gap to gap, as far as what is remembered and what is known of the others lets a rank; all of them
    /// have come to the moment `now`.
    pub fn stride<O: Observer>(
        &mut self,
        rank: &mut RankState,
        batch_loop: &mut StateHistory,
        now: Picos,
        context: &mut RankContext<'_, O>,
    ) -> Stride {
        let role = context.role;
        while let (Some(at), Some(gap)) = (&rank.at, &rank.gap) {
            let graph = role.program.launch(at).graph as usize;
            let GraphTraits { arrival: awaited, phase, instant, .. } = self.kinds[graph];
            if !instant {
                match self.gate(gap.state, graph, role.code) {
                    Gate::Open => {}
                    Gate::Flight(transfer) => {
                        self.states.expose(rank, transfer, context);
                        continue;
                    }
                    Gate::Shut | Gate::Unknown => break,
                }
                let arrival = awaited.map_or(Some(rank.clock), |event| context.inbox.by(event).next());
                if arrival.is_none_or(|arrival| arrival > rank.clock) {
                    let next = self.states.rest(rank, arrival.unwrap_or(now), phase, context);
                    let Some(arrival) = arrival else {
                        rank.awaits[awaited.map_or(0, way)] = true;
                        return Stride::Until(next);
                    };
                    self.states.pass(rank, arrival, phase, context);
                    rank.waited = true;
                }
                if !rank.paused && joint::begins(&role, rank) {
                    rank.paused = true;
                    return Stride::Look;
                }
                if local::worth_a_look(rank, &role) {
                    local::fold_micro_batches(rank, batch_loop, &self.states, context);
                }
            }
            if !self.replay(rank, context) {
                break;
            }
        }
        self.states.spread(rank, &role);
        rank.gap = None;
        Stride::Unknown
    }

    /// Runs a launch with which a rank can begin after a gap, if what it does is remembered.
    fn replay<O>(&mut self, rank: &mut RankState, context: &mut RankContext<'_, O>) -> bool {
        let (Some(at), Some(gap)) = (&rank.at, &rank.gap) else { return false };
        let graph = context.role.program.launch(at).graph as usize;
        let Remembered { along, latest, .. } = *self.known(gap.state, graph);
        let some_end = std::iter::successors(latest, |record| self.records[*record as usize].earlier);
        let mut records = along.into_iter().chain(some_end).map(|record| &self.records[record as usize]);
        if let Some(record) = records.find(|record| record.fits(&gap.left)) {
            record.apply(&record.needs, rank, context);
            return true;
        }
        let Some(first) = self.start(gap.state, graph, context.role.code) else { return false };
        let (mut begun, mut start) = (BegunLaunch::after(gap), first);
        while begun.advance(&start, &mut self.states, context.role.code) {
            let Some(next) = self.start(begun.state, graph, context.role.code) else { return false };
            let along = self.known(begun.state, graph).along.map(|record| &self.records[record as usize]);
            if let Some((record, (late, needs))) =
                along.and_then(|record| Some((record, begun.along(&next, record.needs)?)))
            {
                begun.book(&first, late, rank, &self.states, context);
                record.apply(&needs, rank, context);
                return true;
            }
            start = next;
        }
        false
    }

    fn cell(&self, state: u32, graph: usize) -> usize {
        state as usize * self.kinds.len() + graph
    }

    fn known(&mut self, state: u32, graph: usize) -> &mut Remembered {
        let cell = self.cell(state, graph);
        if cell >= self.known.len() {
            self.known.resize((state as usize + 1) * self.kinds.len(), Remembered::default());
        }
        &mut self.known[cell]
    }

    fn start(&mut self, state: u32, graph: usize, code: &Code) -> Option<FirstCompute> {
        if let FirstPiece::Unknown = self.known(state, graph).first {
            let start = FirstCompute::new(self.states.get(state), graph, code);
            self.known(state, graph).first = start.map_or(FirstPiece::Other, FirstPiece::Piece);
        }
        let FirstPiece::Piece(start) = self.known(state, graph).first else { return None };
        Some(start)
    }

    fn gate(&mut self, state: u32, graph: usize, code: &Code) -> Gate {
        if let gate @ (Gate::Open | Gate::Flight(_) | Gate::Shut) = self.known(state, graph).gate {
            return gate;
        }
        let flying = self.states.get(state);
        let mut waits = code.graphs[graph].entry.iter().flatten().flatten();
        let unmet = waits.find(|wait| !wait.event.remote() && flying.owed[wait.event as usize] + wait.offset > 0);
        let producer = |wait: &EventWait| {
            let stream = code.producer(wait.event);
            (0..flying.transfers.count).find(|transfer| Some(flying.task(*transfer, code).stream) == stream)
        };
        let gate = match unmet {
            _ if !self.kinds[graph].simple || !flying.plain => Gate::Shut,
            None => Gate::Open,
            // What is serialised with compute may begin before it.
            Some(_) if !code.graphs[graph].alone => Gate::Shut,
            Some(wait) => producer(wait).map_or(Gate::Shut, Gate::Flight),
        };
        self.known(state, graph).gate = gate;
        gate
    }

    /// Runs the launch with which a rank on its streams begins, if what it does is remembered; watches it otherwise.
    pub fn replay_or_record<O>(&mut self, rank: &mut RankState, context: &mut RankContext<'_, O>) -> bool {
        rank.gap = self.states.gap(rank, rank.due(&context.role), context.role.code);
        let remembered = self.replay(rank, context);
        if !remembered && let (Some(at), Some(gap)) = (rank.at, rank.gap.take()) {
            self.recording = Some(Recording::begin(rank, at, gap, context));
        }
        remembered
    }

    /// Whether a rank is at a launch in which there is nothing on compute's stream or on one serialised with it.
    pub fn instant(&self, rank: &RankState, role: &RankRole<'_>) -> bool {
        rank.at.is_some_and(|at| self.kinds[role.program.launch(&at).graph as usize].instant)
    }

    /// Ends watching: remembers the launch if it is over and has left nothing but what records.
    pub fn finish<O>(&mut self, rank: &mut RankState, context: &RankContext<'_, O>) {
        let Some(recording) = self.recording.take() else { return };
        let over = rank.launch_is_over().then(|| self.states.gap(rank, &[0; STREAMS], context.role.code)).flatten();
        let before = self.states.get(recording.gap.state);
        let record = over.and_then(|after| recording.record(before, rank, after.state, context));
        recording.settle(rank);
        let Some(mut record) = record else { return };
        let index = Some(self.records.len() as u32);
        let known = self.known(recording.gap.state, context.role.program.launch(&recording.at).graph as usize);
        let ends = record.needs.as_slice().iter().any(|need| need.ends);
        let launch = if ends { &mut known.latest } else { &mut known.along };
        record.earlier = std::mem::replace(launch, index);
        self.records.push(record);
    }
}

impl GraphTraits {
    fn new(code: &Code, graph: usize) -> Self {
        let TaskGraph { entry, advance, streams, .. } = &code.graphs[graph];
        let mut waits = entry.iter().flatten().flatten().filter(|wait| wait.event.remote());
        let (first, second) = (waits.next(), waits.next());
        let arrival = first.map(|wait| wait.event);
        let next = |event: TaskEvent| advance[event as usize] == i64::from(arrival == Some(event));
        let simple = entry.is_some() && second.is_none() && first.is_none_or(|wait| wait.offset == 1);
        let phase = first_compute(code, graph).map(|task| code.tasks[task as usize].label.phase);
        Self {
            simple: simple && next(TaskEvent::ArrivedForward) && next(TaskEvent::ArrivedBackward),
            arrival,
            phase: phase.unwrap_or(Phase::Update),
            instant: (*streams & SERIAL).is_empty(),
        }
    }
}
