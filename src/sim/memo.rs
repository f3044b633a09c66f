//! What a slot does is done once and remembered: which ranks and micro-batches it is for makes no difference.
//!
//! From the moment at which compute begins with a slot until the slot is over, a rank depends on nothing
//! but the slot's routine and what is still running from before. A run of the slot that finds the same
//! running, with the same work left, ends the same way; so does one that finds more of it left, where it
//! ran all along. What was running and what the slot has left running are all that is remembered of the queues.
//! Once nothing runs but a piece of the slot's compute, the rest of the slot is the same for any work left of that
//! piece, later by as much; where something of earlier slots runs on beside it, from the beginning of a piece.

use crate::program::{
    CHAIN, COMPUTE, COUNTERS, Class, Counter, HELD, Phase, Picos, Place, Position, QUEUES, RESOURCES,
};

use super::queue::{Cursor, Queue};
use super::rank::{Around, Rank, queues};
use super::{Peak, Totals};

/// The most tasks that run beside a slot that is remembered.
const FLIGHTS: usize = 4;

/// The most runs of a routine that are looked through.
const MOST: usize = 24;

/// A task that runs when a slot begins.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    queue: u8,
    task: u32,
    /// What must be left of it: exactly this, if it ends in the slot; more than this, if it does not.
    remaining: Picos,
    ends: bool,
}

/// A task of the slot that still runs when it is over.
#[derive(Debug, Clone, Copy, Default)]
struct Landing {
    queue: u8,
    place: Cursor,
    remaining: Picos,
}

/// The fullest moment of a run.
#[derive(Debug, Clone, Copy)]
struct Fullest {
    /// Memory held then beyond what was held when the slot began.
    more: i64,
    peak: Peak,
    /// The queue of the task of that moment, where that one ran before the slot began.
    beside: Option<usize>,
}

/// A few of something.
#[derive(Debug, Clone, Copy)]
struct Few<T> {
    items: [T; FLIGHTS],
    count: usize,
}

impl<T: Copy + Default> Default for Few<T> {
    fn default() -> Self {
        Self { items: [T::default(); FLIGHTS], count: 0 }
    }
}

impl<T: Copy> Few<T> {
    fn push(&mut self, item: T) -> Option<()> {
        *self.items.get_mut(self.count)? = item;
        self.count += 1;
        Some(())
    }

    fn as_slice(&self) -> &[T] {
        &self.items[..self.count]
    }
}

/// One run of a slot, or of its rest, relative to its beginning.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// With which piece of compute it begins, if it is the rest of a slot.
    lead: Option<Lead>,
    /// Queues that run something when it begins, as bits, and what.
    before: u8,
    flights: Few<Flight>,
    duration: Picos,
    counters: [i64; COUNTERS],
    held: [i64; HELD],
    totals: Totals,
    fullest: Option<Fullest>,
    /// What is sent, when, and whether backward.
    sent: Few<(Picos, bool)>,
    /// Queues that run something when it is over, as bits, and what of the slot's.
    after: u8,
    landings: Few<Landing>,
    /// Where compute stands then, if it had something to do.
    computed: Option<Cursor>,
    load: [u32; RESOURCES],
}

/// The beginning of a run that is being watched.
#[derive(Debug, Clone, Copy)]
struct Watched {
    at: Position,
    before: Rank,
    /// What had been sent by then.
    sent: usize,
    lead: Option<Lead>,
}

/// A piece of compute that runs alone.
#[derive(Debug, Clone, Copy)]
struct Lead {
    block: u32,
    block_iteration: u32,
    task: u32,
    /// What is on each queue.
    pending: [u32; QUEUES],
    /// What is left of the piece, and its phase.
    left: Picos,
    phase: Phase,
}

impl Lead {
    /// Whether it is the same piece of the same slot, however much is left of it.
    fn like(&self, other: &Self) -> bool {
        let piece = |lead: &Self| (lead.task, lead.block_iteration, lead.block);
        piece(self) == piece(other) && self.pending == other.pending
    }
}

/// The runs that are remembered, by routine.
#[derive(Debug, Default)]
pub(super) struct Memo {
    records: Vec<Record>,
    routines: Vec<Vec<u32>>,
    /// The same for rests of slots.
    rests: Vec<Vec<u32>>,
    watched_rest: Option<Watched>,
    watched: Option<Watched>,
}

impl Memo {
    pub fn clear(&mut self, routines: usize) {
        self.records.clear();
        self.routines.iter_mut().for_each(Vec::clear);
        self.routines.resize_with(routines, Vec::new);
        self.rests.iter_mut().for_each(Vec::clear);
        self.rests.resize_with(routines, Vec::new);
        (self.watched, self.watched_rest) = (None, None);
    }

    /// Runs the slot that compute can begin with, if such a run is remembered.
    pub fn replay<O>(&mut self, rank: &mut Rank, around: &mut Around<'_, O>) -> bool {
        let Some(at) = rank.at else { return false };
        // A slot that is not issued could not begin otherwise.
        if rank.issued && !tidy(rank, &around.role.routine(&at).tasks) {
            return false;
        }
        let known = &mut self.routines[around.role.script.slot(&at).routine as usize];
        let Some(found) = known.iter().position(|record| self.records[*record as usize].fits(rank)) else {
            return false;
        };
        // What was last is likely to be next.
        known.swap(0, found);
        self.records[known[0] as usize].apply(rank, at, 0, around);
        true
    }

    /// Runs the rest of a slot of which a piece of compute runs; or watches it, if it is not remembered. What runs
    /// beside it must be of earlier slots, and the piece must have just begun then.
    pub fn resume<O>(&mut self, rank: &mut Rank, around: &mut Around<'_, O>) -> bool {
        let Some(at) = rank.at.filter(|_| rank.running & CHAIN == 1 << COMPUTE) else { return false };
        let (role, head) = (around.role, rank.queues[COMPUTE as usize]);
        let task = role.task(&head.cursor);
        let beside = rank.running & !(1 << COMPUTE);
        // As long as all of what ran before still does, the whole slot is worth remembering.
        let whole = self.watched.as_ref().map_or(beside != 0, |watched| watched.before.running == beside);
        let own = |queue: usize| rank.queues[queue].cursor.at == at;
        let apart = queues(rank.active & !beside).all(own) && !queues(beside).any(own);
        let fresh = beside == 0 || head.remaining == task.duration;
        if whole || !apart || !fresh || task.class != Class::Compute {
            return false;
        }
        let lead = Lead {
            block: head.cursor.block,
            block_iteration: head.cursor.block_iteration,
            task: head.cursor.task,
            pending: rank.pending,
            left: head.remaining,
            phase: task.label.phase,
        };
        let rests = &mut self.rests[role.script.slot(&at).routine as usize];
        let found = rests.iter().position(|rest| {
            let record = &self.records[*rest as usize];
            let like = record.before == rank.running && record.lead.as_ref().is_some_and(|other| other.like(&lead));
            like && (beside == 0 || record.fits(rank))
        });
        let Some(found) = found else {
            // Once something has ended, the rest from there is likelier to be met again.
            if let Some(watched) = self.watched_rest.take_if(|watched| watched.before.running != rank.running) {
                watched.settle(rank);
            }
            if self.watched_rest.is_none() {
                self.watched_rest = Some(Watched::begin(rank, at, Some(lead), around));
            }
            return false;
        };
        rests.swap(0, found);
        self.records[rests[0] as usize].apply(rank, at, head.remaining, around);
        true
    }

    /// Watches the slot that compute begins with, if it can be remembered.
    pub fn watch<O>(&mut self, rank: &mut Rank, around: &Around<'_, O>) {
        if let Some(at) = rank.at.filter(|at| tidy(rank, &around.role.routine(at).tasks)) {
            self.watched = Some(Watched::begin(rank, at, None, around));
        }
    }

    /// Ends watching: remembers the slot if it is over and has left nothing but what runs.
    pub fn finish<O>(&mut self, rank: &mut Rank, around: &Around<'_, O>) {
        if self.watched.is_none() && self.watched_rest.is_none() {
            return;
        }
        for rest in [true, false] {
            let watched = if rest { &mut self.watched_rest } else { &mut self.watched };
            let Some(seen) = watched else { continue };
            let over = rank.slot_is_over() && tidy(rank, &[0; QUEUES]);
            let record = if over { seen.record(rank, around) } else { None };
            seen.settle(rank);
            let routine = around.role.script.slot(&seen.at).routine as usize;
            *watched = None;
            if let Some(record) = record {
                self.remember(routine, &record);
            }
        }
    }

    fn remember(&mut self, routine: usize, record: &Record) {
        let known = if record.lead.is_some() { &mut self.rests[routine] } else { &mut self.routines[routine] };
        match known.last() {
            Some(last) if known.len() == MOST => self.records[*last as usize] = *record,
            _ => {
                known.push(self.records.len() as u32);
                self.records.push(*record);
            }
        }
    }
}

/// Whether a rank has nothing on its queues but the tasks of a slot and one more on each queue that runs.
fn tidy(rank: &Rank, tasks: &[u32; QUEUES]) -> bool {
    let running = |queue: usize| u32::from(rank.running >> queue & 1);
    rank.running & CHAIN == 0 && (0..QUEUES).all(|queue| rank.pending[queue] == tasks[queue] + running(queue))
}

impl Watched {
    fn begin<O>(rank: &mut Rank, at: Position, lead: Option<Lead>, around: &Around<'_, O>) -> Self {
        let watched = Self { at, before: *rank, sent: around.sent.len(), lead };
        // The fullest moment is looked for apart; what is held now is seen when time passes.
        (rank.fullest, rank.changed) = (i64::MIN, true);
        watched
    }

    /// Gives a rank back its fullest moment, where it was before.
    fn settle(&self, rank: &mut Rank) {
        if rank.fullest <= self.before.fullest {
            (rank.fullest, rank.peak) = (self.before.fullest, self.before.peak);
        }
    }

    /// What has happened since the slot began; `None` if there is too much to remember.
    fn record<O>(&self, rank: &Rank, around: &Around<'_, O>) -> Option<Record> {
        let before = &self.before;
        let mut record = Record {
            lead: self.lead,
            before: before.running,
            flights: Few::default(),
            duration: rank.clock - before.clock,
            counters: std::array::from_fn(|counter| rank.counters[counter] - before.counters[counter]),
            held: std::array::from_fn(|part| rank.held[part] - before.held[part]),
            totals: rank.totals.since(&before.totals),
            fullest: None,
            sent: Few::default(),
            after: rank.running,
            landings: Few::default(),
            computed: Some(rank.queues[COMPUTE as usize].cursor).filter(|cursor| cursor.at == self.at),
            load: rank.load,
        };
        for queue in queues(before.running) {
            let (earlier, head) = (&before.queues[queue], &rank.queues[queue]);
            let ends = rank.running & 1 << queue == 0 || earlier.cursor != head.cursor;
            let remaining = earlier.remaining - if ends { 0 } else { head.remaining };
            record.flights.push(Flight { queue: queue as u8, task: earlier.cursor.task, remaining, ends })?;
        }
        for queue in queues(rank.running) {
            let Queue { cursor, remaining, .. } = rank.queues[queue];
            if cursor.at == self.at {
                record.landings.push(Landing { queue: queue as u8, place: cursor, remaining })?;
            } else if before.running & 1 << queue == 0 || before.queues[queue].cursor != cursor {
                return None;
            }
        }
        for (train, counter) in &around.sent[self.sent..] {
            record.sent.push((train.first - before.clock, *counter == Counter::ArrivedBackward))?;
        }
        if rank.fullest > i64::MIN {
            let Peak { held, at, place, .. } = rank.peak;
            let queue = queues(before.running).find(|queue| before.queues[*queue].cursor.at == place.at);
            if place.at != self.at && queue.is_none() {
                return None;
            }
            let peak = Peak {
                held: std::array::from_fn(|part| held[part] - before.held[part]),
                at: at - before.clock,
                ..rank.peak
            };
            let beside = queue.filter(|_| place.at != self.at);
            record.fullest = Some(Fullest { more: rank.fullest - before.held.iter().sum::<i64>(), peak, beside });
        }
        Some(record)
    }
}

impl Record {
    /// Whether a rank has the same running that a run of the slot began with.
    fn fits(&self, rank: &Rank) -> bool {
        let fits = |flight: &Flight| {
            let queue = &rank.queues[flight.queue as usize];
            let enough =
                if flight.ends { queue.remaining == flight.remaining } else { queue.remaining > flight.remaining };
            queue.cursor.task == flight.task && enough
        };
        self.before == rank.running && self.flights.as_slice().iter().all(fits)
    }

    /// Takes a rank to the end of the slot; `left` is what is left of the first piece of compute, if that runs.
    fn apply<O>(&self, rank: &mut Rank, at: Position, left: Picos, around: &mut Around<'_, O>) {
        let lead = self.lead.map_or(0, |lead| lead.left);
        let moved = |after: Picos| after + left - lead;
        if let Some(Fullest { more, peak, beside }) = &self.fullest {
            let fullest = rank.held.iter().sum::<i64>() + more;
            if fullest > rank.fullest {
                let held = std::array::from_fn(|part| rank.held[part] + peak.held[part]);
                let at = beside.map_or(at, |queue| rank.queues[queue].cursor.at);
                let place = Place { at, ..peak.place };
                rank.fullest = fullest;
                // What is held at the beginning is fullest at once.
                let after = if peak.at == 0 { 0 } else { moved(peak.at) };
                rank.peak = Peak { held, at: rank.clock + after, task: peak.task, place };
            }
        }
        for flight in self.flights.as_slice().iter().filter(|flight| !flight.ends) {
            rank.queues[flight.queue as usize].remaining -= flight.remaining;
        }
        if let Some(place) = self.computed {
            rank.queues[COMPUTE as usize] = Queue { cursor: Cursor { at, ..place }, ..Queue::default() };
        }
        for Landing { queue, place, remaining } in self.landings.as_slice() {
            rank.queues[*queue as usize] =
                Queue { cursor: Cursor { at, ..*place }, remaining: *remaining, ..Queue::default() };
        }
        for (after, backward) in self.sent.as_slice() {
            let counter = if *backward { Counter::ArrivedBackward } else { Counter::ArrivedForward };
            rank.send(rank.clock + moved(*after), counter, around);
        }
        (rank.active, rank.running) = (self.after, self.after);
        rank.pending = [0; QUEUES];
        queues(self.after).for_each(|queue| rank.pending[queue] = 1);
        rank.load = self.load;
        rank.clock += moved(self.duration);
        for (counter, more) in rank.counters.iter_mut().zip(self.counters) {
            *counter += more;
        }
        for (held, more) in rank.held.iter_mut().zip(self.held) {
            *held += more;
        }
        rank.totals.add(&self.totals);
        if let Some(Lead { phase, .. }) = self.lead {
            let phase = &mut rank.totals.phases[phase as usize];
            (rank.totals.compute, *phase) = (moved(rank.totals.compute), moved(*phase));
        }
        (rank.issued, rank.begun, rank.changed) = (true, true, true);
    }
}
