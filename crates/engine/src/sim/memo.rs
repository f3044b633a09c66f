//! Memoises what a launch does to a rank. Not for finding repeats ([`super::fold`]).
//!
//! Which rank and which micro-batch a launch is for makes no difference to its course: that follows from its graph and
//! from the transfers in flight when it begins. So a rank moves from gap to gap between launches by records:
//! - a record made with the same transfers in flight applies where the same work is left of each;
//! - it applies too where more is left of a transfer that was in flight all along;
//! - where a transfer ends beside the launch's first piece of compute, the record without it applies from then on.
//!
//! In 1F1B the first `F B` of the steady state is run task by task; each later one that begins with the same transfers
//! in flight is two look-ups.

mod record;
mod start;

use crate::plan::pass::Direction;
use crate::program::{Code, EventWait, Phase, Picos, SERIAL, TaskEvent, TaskGraph};

use super::fold::StateHistory;
use super::in_flight::InFlightSets;
use super::outcome::Observer;
use super::rank::{NOTHING_QUEUED, RankContext, RankState};
use super::stream::RankRole;
use super::{joint, local};

use record::{LaunchRecord, RecordKey, Recording};
use start::{FirstCompute, StartedLaunch, first_compute};

/// Records in which some transfers end that are compared with a gap, the latest first: where remainders seldom repeat, to
/// compare them with all would take longer than to run the launch.
const MOST_COMPARED: usize = 64;

/// Properties of a graph that do not depend on what is in flight.
#[derive(Debug, Clone, Copy, Default)]
struct GraphTraits {
    /// Whether nothing can come before it but the next arrival from one neighbour, and transfers of the rank's own.
    simple: bool,
    /// The direction of that arrival.
    arrival: Option<Direction>,
    /// The phase of its compute.
    phase: Phase,
    /// Whether there is nothing on compute's stream or on one serialised with it.
    without_compute: bool,
}

/// Records of a graph's launches that begin with certain transfers in flight.
#[derive(Debug, Clone, Copy, Default)]
struct MemoEntry {
    gate: Gate,
    first: FirstPiece,
    /// The record in which all transfers outlast the launch, by index, and the latest of those in which some end.
    outlasting: Option<u32>,
    latest: Option<u32>,
}

/// The way in which compute begins in a launch.
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

/// An obstacle to compute's beginning with a graph.
#[derive(Debug, Clone, Copy, Default)]
enum Gate {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// Nothing but the next arrival.
    Open,
    /// One of the transfers in flight.
    InFlight(usize),
    /// More than that.
    Closed,
}

/// Why a rank stopped moving from gap to gap.
pub(super) enum ReplayStop {
    /// The rank waits for another one, until this time at most.
    Until(Picos),
    /// The rank begins an iteration at which the states of all ranks are compared with earlier ones.
    Compare,
    /// The rank is at a launch that no record fits.
    Unknown,
}

/// The records that are remembered.
#[derive(Debug, Default)]
pub(super) struct Memo {
    pub states: InFlightSets,
    traits: Vec<GraphTraits>,
    /// By what is in flight, and by graph.
    entries: Vec<MemoEntry>,
    records: Vec<LaunchRecord>,
    /// The key of each record.
    keys: Vec<RecordKey>,
    recording: Option<Recording>,
}

impl Memo {
    pub fn clear(&mut self, code: &Code) {
        self.states.clear();
        self.traits.clear();
        self.traits.extend((0..code.graphs.len()).map(|graph| GraphTraits::new(code, graph)));
        self.entries.clear();
        self.records.clear();
        self.keys.clear();
        self.recording = None;
    }

    /// Moves a rank from gap to gap, as far as records and known arrivals allow; all ranks have reached `now`.
    pub(crate) fn replay_launches<O: Observer>(
        &mut self,
        rank: &mut RankState,
        batch_loop: &mut StateHistory,
        now: Picos,
        context: &mut RankContext<'_, O>,
    ) -> ReplayStop {
        let role = context.role;
        while let (Some(at), Some(gap)) = (&rank.at, &rank.gap) {
            let graph = role.program.launch(at).graph as usize;
            let GraphTraits { arrival: awaited, phase, without_compute, .. } = self.traits[graph];
            // A launch without compute, of gathers say, takes no time of the rank's own: it is replayed without asking
            // what compute waits for.
            if !without_compute {
                match self.gate(gap.state, graph, role.code) {
                    Gate::Open => {}
                    Gate::InFlight(transfer) => {
                        self.states.wait_for_transfer(rank, transfer, context);
                        continue;
                    }
                    Gate::Closed | Gate::Unknown => break,
                }
                let arrival = awaited.map_or(Some(rank.clock), |direction| context.inbox.arrivals(direction).next());
                if arrival.is_none_or(|arrival| arrival > rank.clock) {
                    let next = self.states.drain_until(rank, arrival.unwrap_or(now), phase, context);
                    let Some(arrival) = arrival else {
                        *rank.awaits.get_mut(awaited.unwrap_or_default()) = true;
                        return ReplayStop::Until(next);
                    };
                    self.states.wait_until(rank, arrival, phase, context);
                    rank.waited = true;
                }
                if !rank.paused && joint::begins_iteration(&role, rank) {
                    rank.paused = true;
                    return ReplayStop::Compare;
                }
                if local::worth_comparing(rank, &role) {
                    local::fold_micro_batches(rank, batch_loop, &self.states, context);
                }
            }
            if !self.replay_launch(rank, context) {
                break;
            }
        }
        self.states.restore_streams(rank, &role);
        rank.gap = None;
        ReplayStop::Unknown
    }

    /// Runs a launch with which a rank can begin after a gap, if what it does is remembered.
    fn replay_launch<O>(&mut self, rank: &mut RankState, context: &mut RankContext<'_, O>) -> bool {
        let (Some(at), Some(gap)) = (&rank.at, &rank.gap) else { return false };
        let graph = context.role.program.launch(at).graph as usize;
        let MemoEntry { outlasting, latest, .. } = *self.entry(gap.state, graph);
        // First the record in which every transfer outlasts the launch: it fits whatever is left of them beyond that.
        // Then those in which some end inside, which fit only what they saw, to the picosecond.
        let some_end = std::iter::successors(latest, |record| self.keys[*record as usize].earlier).take(MOST_COMPARED);
        let mut records = outlasting.into_iter().chain(some_end);
        if let Some(record) = records.find(|record| self.keys[*record as usize].fits(&gap.left)) {
            let record = &self.records[record as usize];
            record.apply(&record.needs, rank, context);
            return true;
        }
        let Some(first) = self.start(gap.state, graph, context.role.code) else { return false };
        // No record fits as it is. Let transfers end one after the other beside the first piece of compute, until those
        // that are still in flight outlast a launch that is remembered.
        let (mut started, mut start) = (StartedLaunch::after(gap), first);
        while started.advance(&start, &mut self.states, context.role.code) {
            let Some(next) = self.start(started.state, graph, context.role.code) else { return false };
            let outlasting = self.entry(started.state, graph).outlasting.map(|record| &self.records[record as usize]);
            if let Some((record, (late, needs))) =
                outlasting.and_then(|record| Some((record, started.delay(&next, record.needs)?)))
            {
                started.apply(&first, late, rank, &self.states, context);
                record.apply(&needs, rank, context);
                return true;
            }
            start = next;
        }
        false
    }

    fn entry_index(&self, state: u32, graph: usize) -> usize {
        state as usize * self.traits.len() + graph
    }

    fn entry(&mut self, state: u32, graph: usize) -> &mut MemoEntry {
        let index = self.entry_index(state, graph);
        if index >= self.entries.len() {
            self.entries.resize((state as usize + 1) * self.traits.len(), MemoEntry::default());
        }
        &mut self.entries[index]
    }

    fn start(&mut self, state: u32, graph: usize, code: &Code) -> Option<FirstCompute> {
        if let FirstPiece::Unknown = self.entry(state, graph).first {
            let start = FirstCompute::new(self.states.get(state), graph, code);
            self.entry(state, graph).first = start.map_or(FirstPiece::Other, FirstPiece::Piece);
        }
        let FirstPiece::Piece(start) = self.entry(state, graph).first else { return None };
        Some(start)
    }

    fn gate(&mut self, state: u32, graph: usize, code: &Code) -> Gate {
        if let gate @ (Gate::Open | Gate::InFlight(_) | Gate::Closed) = self.entry(state, graph).gate {
            return gate;
        }
        let flying = self.states.get(state);
        let mut waits = code.graphs[graph].entry.iter().flatten().flatten();
        // In a gap an event stands at its expected count less what is outstanding. A wait for the expected count plus an
        // offset is unmet exactly if the two together are positive.
        let unmet =
            waits.find(|wait| !wait.event.remote() && flying.outstanding[wait.event as usize] + wait.offset > 0);
        let producer = |wait: &EventWait| {
            let stream = code.producer(wait.event);
            (0..flying.transfers.len).find(|transfer| Some(flying.task(*transfer, code).stream) == stream)
        };
        let gate = match unmet {
            _ if !self.traits[graph].simple || !flying.plain => Gate::Closed,
            None => Gate::Open,
            // What is serialised with compute may begin before it.
            Some(_) if !code.graphs[graph].alone => Gate::Closed,
            Some(wait) => producer(wait).map_or(Gate::Closed, Gate::InFlight),
        };
        self.entry(state, graph).gate = gate;
        gate
    }

    /// Replays the launch that a rank begins, if a record fits; begins a recording otherwise.
    pub(crate) fn replay_or_record<O>(&mut self, rank: &mut RankState, context: &mut RankContext<'_, O>) -> bool {
        rank.gap = self.states.gap(rank, rank.queued_of_launch(&context.role), context.role.code);
        let remembered = self.replay_launch(rank, context);
        if !remembered && let (Some(at), Some(gap)) = (rank.at, rank.gap.take()) {
            self.recording = Some(Recording::begin(rank, at, gap, context));
        }
        remembered
    }

    /// Whether a rank is at a launch in which there is nothing on compute's stream or on one serialised with it.
    pub(crate) fn without_compute(&self, rank: &RankState, role: &RankRole<'_>) -> bool {
        rank.at.is_some_and(|at| self.traits[role.program.launch(&at).graph as usize].without_compute)
    }

    /// Ends a recording: keeps it if the launch is over and nothing but transfers is in flight.
    pub fn finish<O>(&mut self, rank: &mut RankState, context: &RankContext<'_, O>) {
        let Some(recording) = self.recording.take() else { return };
        let over = rank.launch_is_over().then(|| self.states.gap(rank, &NOTHING_QUEUED, context.role.code)).flatten();
        let before = self.states.get(recording.gap.state);
        let record = over.and_then(|after| recording.record(before, rank, after.state, context));
        recording.restore_peak(rank);
        let Some(record) = record else { return };
        let index = Some(self.records.len() as u32);
        let known = self.entry(recording.gap.state, context.role.program.launch(&recording.at).graph as usize);
        let ends = record.needs.as_slice().iter().any(|need| need.ends);
        // Where none ends, one record serves for whatever is left beyond the launch; where some do, each remainder is a
        // record of its own, found by going back from the latest.
        let launch = if ends { &mut known.latest } else { &mut known.outlasting };
        let earlier = std::mem::replace(launch, index);
        self.keys.push(RecordKey { needs: record.needs, earlier });
        self.records.push(record);
    }
}

impl GraphTraits {
    fn new(code: &Code, graph: usize) -> Self {
        let TaskGraph { entry, advance, streams, .. } = &code.graphs[graph];
        let mut waits = entry.iter().flatten().flatten().filter(|wait| wait.event.remote());
        let (first, second) = (waits.next(), waits.next());
        let arrival = first.and_then(|wait| wait.event.direction());
        let next = |direction: &Direction| {
            advance[TaskEvent::arrival(*direction) as usize] == i64::from(arrival == Some(*direction))
        };
        // An offset of 1 is the very next arrival; and no arrival but this one is taken.
        let simple = entry.is_some() && second.is_none() && first.is_none_or(|wait| wait.offset == 1);
        let phase = first_compute(code, graph).map(|task| code.tasks[task as usize].label.phase);
        Self {
            simple: simple && Direction::ALL.iter().all(next),
            arrival,
            phase: phase.unwrap_or(Phase::Update),
            without_compute: (*streams & SERIAL).is_empty(),
        }
    }
}
