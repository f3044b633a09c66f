//! One run of a slot, from the gap before it to the one after it.

use crate::program::{COMPUTE, Counter, HELD, Picos, Place, Position};

use super::super::gap::{FLIGHTS, Few, Gap, State};
use super::super::queue::{Cursor, Queue};
use super::super::rank::{Around, Rank, queues};
use super::super::{Peak, Totals};

/// What a run needs to be left of a flight: exactly this, if it ends in the slot; more than this, if it does not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Need {
    pub left: Picos,
    pub ends: bool,
}

/// What is left of a flight when the slot is over.
#[derive(Debug, Clone, Copy)]
enum Left {
    /// Of one from before, less what it needed.
    Of(usize),
    /// Of one of the slot's.
    Own(Picos),
}

impl Default for Left {
    fn default() -> Self {
        Self::Own(0)
    }
}

/// The fullest moment of a run.
#[derive(Debug, Clone, Copy)]
struct Fullest {
    /// Memory held then beyond what was held when the slot began.
    more: i64,
    peak: Peak,
    /// The flight of that moment, where it is of a slot before.
    beside: Option<usize>,
}

/// What a slot does, relative to its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub needs: Few<Need>,
    duration: Picos,
    held: [i64; HELD],
    totals: Totals,
    fullest: Fullest,
    /// What is sent, when, and whether backward; and how much of what arrives is taken, either way.
    sent: Few<(Picos, bool)>,
    taken: [u64; 2],
    /// What flies when it is over, by index, and how much of each is left.
    after: u32,
    left: Few<Left>,
    /// Where compute stands then, if it has done anything.
    computed: Option<Cursor>,
    /// The run of the routine after the same flights that was remembered before this one, by index.
    pub earlier: Option<u32>,
}

/// The two ways in which things arrive.
const WAYS: [Counter; 2] = [Counter::ArrivedForward, Counter::ArrivedBackward];

/// The beginning of a run that is being watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub before: Rank,
    pub at: Position,
    pub gap: Gap,
    /// What had been sent by then.
    sent: usize,
}

impl Watched {
    /// Begins to watch the slot after a gap, in which the rank is no longer.
    pub fn begin<O>(rank: &mut Rank, at: Position, gap: Gap, around: &Around<'_, O>) -> Self {
        let watched = Self { before: *rank, at, gap, sent: around.sent.len() };
        // The fullest moment is looked for apart; what is held now is seen when time passes.
        (rank.fullest, rank.changed) = (i64::MIN, true);
        watched
    }

    /// Gives a rank back its fullest moment, where it was before.
    pub fn settle(&self, rank: &mut Rank) {
        if rank.fullest <= self.before.fullest {
            (rank.fullest, rank.peak) = (self.before.fullest, self.before.peak);
        }
    }

    /// What has happened since the slot began, after which `after` flies; `None` if there is too much to remember.
    pub fn run<O>(&self, state: &State, rank: &Rank, after: u32, around: &Around<'_, O>) -> Option<Run> {
        let Self { before, at, gap, sent } = self;
        let advance = &around.role.routine(at).advance;
        let mut run = Run {
            needs: Few::default(),
            duration: rank.clock - before.clock,
            held: std::array::from_fn(|part| rank.held[part] - before.held[part]),
            totals: rank.totals.since(&before.totals),
            fullest: self.fullest(state.flights.count, rank)?,
            sent: Few::default(),
            taken: WAYS.map(|counter| advance[counter as usize] as u64),
            after,
            left: Few::default(),
            computed: Some(rank.queues[COMPUTE as usize].cursor).filter(|cursor| cursor.at == *at),
            earlier: None,
        };
        let goes_on =
            |queue: usize| rank.running & 1 << queue != 0 && before.queues[queue].cursor == rank.queues[queue].cursor;
        for (queue, left) in queues(state.running).zip(gap.left) {
            let ends = !goes_on(queue);
            run.needs.push(Need { left: left - if ends { 0 } else { rank.queues[queue].remaining }, ends })?;
        }
        for queue in queues(rank.running) {
            let Queue { cursor, remaining, .. } = rank.queues[queue];
            let earlier = || queues(state.running).position(|earlier| earlier == queue && goes_on(queue));
            run.left.push(if cursor.at == *at { Left::Own(remaining) } else { Left::Of(earlier()?) })?;
        }
        for (train, counter) in &around.sent[*sent..] {
            run.sent.push((train.first - before.clock, *counter == Counter::ArrivedBackward))?;
        }
        Some(run)
    }

    fn fullest(&self, flights: usize, rank: &Rank) -> Option<Fullest> {
        let held = self.before.held;
        let Peak { at, place, .. } = rank.peak;
        if rank.fullest == i64::MIN {
            return Some(Fullest { more: i64::MIN / 2, peak: Peak::default(), beside: None });
        }
        let beside = if place.at == self.at {
            None
        } else {
            Some(self.gap.of[..flights].iter().position(|of| *of == place.at)?)
        };
        let more = std::array::from_fn(|part| rank.peak.held[part] - held[part]);
        let peak = Peak { held: more, at: at - self.before.clock, ..rank.peak };
        Some(Fullest { more: rank.fullest - held.iter().sum::<i64>(), peak, beside })
    }
}

impl Run {
    /// Whether flights with so much left are what it needs.
    pub fn fits(&self, left: &[Picos; FLIGHTS]) -> bool {
        let fits = |(need, left): (&Need, &Picos)| if need.ends { *left == need.left } else { *left > need.left };
        self.needs.as_slice().iter().zip(left).all(fits)
    }

    /// Takes a rank from the gap before the slot to the one after it, with what it needs of the flights.
    pub fn apply<O>(&self, needs: &Few<Need>, rank: &mut Rank, around: &mut Around<'_, O>) {
        let (Some(at), Some(gap)) = (rank.at, &mut rank.gap) else { return };
        let fullest = rank.held.iter().sum::<i64>() + self.fullest.more;
        if fullest > rank.fullest {
            let Fullest { peak, beside, .. } = &self.fullest;
            let held = std::array::from_fn(|part| rank.held[part] + peak.held[part]);
            let at = beside.map_or(at, |flight| gap.of[flight]);
            rank.fullest = fullest;
            rank.peak = Peak { held, at: rank.clock + peak.at, task: peak.task, place: Place { at, ..peak.place } };
        }
        let (left, of) = (gap.left, gap.of);
        for (flight, after) in self.left.as_slice().iter().enumerate() {
            (gap.left[flight], gap.of[flight]) = match *after {
                Left::Of(earlier) => (left[earlier] - needs.items[earlier].left, of[earlier]),
                Left::Own(left) => (left, at),
            };
        }
        gap.state = self.after;
        if let Some(cursor) = self.computed {
            gap.computed = Some(Cursor { at, ..cursor });
        }
        for (after, backward) in self.sent.as_slice() {
            rank.send(rank.clock + after, WAYS[usize::from(*backward)], around);
        }
        rank.clock += self.duration;
        for (held, more) in rank.held.iter_mut().zip(self.held) {
            *held += more;
        }
        rank.totals.add(&self.totals);
        for (counter, taken) in WAYS.into_iter().zip(self.taken).filter(|(_, taken)| *taken > 0) {
            around.inbox.of_mut(counter).take(taken);
            rank.counters[counter as usize] += taken.cast_signed();
        }
        rank.at = around.role.script.after(at);
        (rank.issued, rank.begun, rank.waited, rank.paused) = (false, false, false, false);
    }
}
