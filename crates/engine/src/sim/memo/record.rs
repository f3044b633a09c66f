//! One record of a launch, from the gap before it to the one after it.

use crate::plan::pass::{Direction, PerDirection};
use crate::program::{LaunchPosition, PerMemoryKind, Picos, Stream, TaskEvent, TaskPosition};

use super::super::arrivals::SentTrain;
use super::super::gap::{Gap, InlineVec, MOST_IN_FLIGHT};
use super::super::in_flight::InFlight;
use super::super::outcome::{MemoryPeak, TimeTotals};
use super::super::rank::{LaunchStage, RankContext, RankState};
use super::super::stream::{Cursor, StreamHead};

/// The rest of a transfer that a record requires: exactly this if the transfer ends in the launch, more than this if it
/// does not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransferNeed {
    pub left: Picos,
    pub ends: bool,
}

/// The rest of a transfer when the launch is over.
#[derive(Debug, Clone, Copy)]
enum TransferRemainder {
    /// An earlier transfer's rest, less the need.
    Earlier(usize),
    /// The rest of a transfer of the launch.
    Own(Picos),
}

impl Default for TransferRemainder {
    fn default() -> Self {
        Self::Own(0)
    }
}

/// The fullest moment of a record.
#[derive(Debug, Clone, Copy)]
struct RecordedPeak {
    /// Memory allocated then beyond what was allocated when the launch began.
    above_start: i64,
    peak: MemoryPeak,
    /// The transfer of that moment, where it is of a launch before.
    transfer: Option<usize>,
}

/// The effects of a launch, relative to its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaunchRecord {
    pub needs: InlineVec<TransferNeed>,
    duration: Picos,
    allocated: PerMemoryKind<i64>,
    totals: TimeTotals,
    peak: RecordedPeak,
    /// Sends, and how many arrivals are taken.
    sent: InlineVec<SendRecord>,
    taken: PerDirection<u64>,
    /// Transfers in flight when it is over, by index, and the rest of each.
    after: u32,
    left: InlineVec<TransferRemainder>,
    /// Where compute stands then, if it has done anything.
    computed: Option<Cursor>,
}

/// All that a search for a record reads of those that do not fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordKey {
    pub needs: InlineVec<TransferNeed>,
    /// The record of the graph after the same transfers in flight that was remembered before this one, by index.
    pub earlier: Option<u32>,
}

/// Something that a launch sends, so long after its beginning.
#[derive(Debug, Clone, Copy, Default)]
struct SendRecord {
    after: Picos,
    direction: Direction,
}

/// The beginning of a record that is being watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recording {
    pub before: RankState,
    pub at: LaunchPosition,
    pub gap: Gap,
    /// Sends by then.
    sent: usize,
}

impl Recording {
    /// Begins to watch the launch after a gap, in which the rank is no longer.
    pub fn begin<O>(rank: &mut RankState, at: LaunchPosition, gap: Gap, context: &RankContext<'_, O>) -> Self {
        let watched = Self { before: *rank, at, gap, sent: context.sent.len() };
        // The fullest moment is looked for apart; what is allocated now is seen when time passes.
        (rank.peak_bytes, rank.memory_changed) = (i64::MIN, true);
        watched
    }

    /// Gives a rank back its fullest moment, where it was before.
    pub(crate) fn restore_peak(&self, rank: &mut RankState) {
        if rank.peak_bytes <= self.before.peak_bytes {
            (rank.peak_bytes, rank.peak) = (self.before.peak_bytes, self.before.peak);
        }
    }

    /// Records the effects since the launch began, with `after` in flight now; `None` if there is too much to remember.
    pub fn record<O>(
        &self,
        state: &InFlight,
        rank: &RankState,
        after: u32,
        context: &RankContext<'_, O>,
    ) -> Option<LaunchRecord> {
        let Self { before, at, gap, sent } = self;
        let graph = context.role.graph(at);
        let mut record = LaunchRecord {
            needs: InlineVec::default(),
            duration: rank.clock - before.clock,
            allocated: rank.allocated - before.allocated,
            totals: rank.totals.since(&before.totals),
            peak: self.recorded_peak(state.transfers.len, rank)?,
            sent: InlineVec::default(),
            taken: PerDirection::from_fn(|direction| graph.advance[TaskEvent::arrival(direction) as usize] as u64),
            after,
            left: InlineVec::default(),
            computed: graph.streams.contains(Stream::Compute).then_some(rank.streams[Stream::Compute].cursor),
        };
        let goes_on = |stream: Stream| {
            rank.running.contains(stream) && before.streams[stream].cursor == rank.streams[stream].cursor
        };
        for (stream, left) in state.running.iter().zip(gap.left) {
            // One that is still in flight did some work in the launch, and must have had more than that left. One that
            // ended set the moment of what followed, so that it must have had exactly as much.
            let ends = !goes_on(stream);
            record
                .needs
                .push(TransferNeed { left: left - if ends { 0 } else { rank.streams[stream].remaining }, ends })?;
        }
        for stream in rank.running.iter() {
            let StreamHead { cursor, remaining, .. } = rank.streams[stream];
            let earlier = || state.running.iter().position(|earlier| earlier == stream && goes_on(stream));
            record.left.push(if cursor.at == *at {
                TransferRemainder::Own(remaining)
            } else {
                TransferRemainder::Earlier(earlier()?)
            })?;
        }
        for SentTrain { train, direction } in &context.sent[*sent..] {
            record.sent.push(SendRecord { after: train.first - before.clock, direction: *direction })?;
        }
        Some(record)
    }

    fn recorded_peak(&self, in_flight: usize, rank: &RankState) -> Option<RecordedPeak> {
        let allocated = self.before.allocated;
        let MemoryPeak { at, place, .. } = rank.peak;
        if rank.peak_bytes == i64::MIN {
            return Some(RecordedPeak { above_start: i64::MIN / 2, peak: MemoryPeak::default(), transfer: None });
        }
        // The task at the fullest moment may belong to an earlier launch: a transfer in flight, which is another one at
        // each replay.
        let transfer = if place.at == self.at {
            None
        } else {
            Some(self.gap.launches[..in_flight].iter().position(|of| *of == place.at)?)
        };
        let peak = MemoryPeak { allocated: rank.peak.allocated - allocated, at: at - self.before.clock, ..rank.peak };
        Some(RecordedPeak { above_start: rank.peak_bytes - allocated.total(), peak, transfer })
    }
}

impl RecordKey {
    /// Whether transfers with so much left are what it needs.
    pub fn fits(&self, left: &[Picos; MOST_IN_FLIGHT]) -> bool {
        let fits =
            |(need, left): (&TransferNeed, &Picos)| if need.ends { *left == need.left } else { *left > need.left };
        self.needs.as_slice().iter().zip(left).all(fits)
    }
}

impl LaunchRecord {
    /// Takes a rank from the gap before the launch to the one after it, with what it needs of the transfers in flight.
    pub fn apply<O>(&self, needs: &InlineVec<TransferNeed>, rank: &mut RankState, context: &mut RankContext<'_, O>) {
        let (Some(at), Some(gap)) = (rank.at, &mut rank.gap) else { return };
        // Before `allocated` moves on: the record's fullest moment is relative to what was allocated when the launch
        // began.
        let peak_bytes = rank.allocated.total() + self.peak.above_start;
        if peak_bytes > rank.peak_bytes {
            let RecordedPeak { peak, transfer, .. } = &self.peak;
            let allocated = rank.allocated + peak.allocated;
            let at = transfer.map_or(at, |transfer| gap.launches[transfer]);
            rank.peak_bytes = peak_bytes;
            rank.peak = MemoryPeak {
                allocated,
                at: rank.clock + peak.at,
                task: peak.task,
                place: TaskPosition { at, ..peak.place },
            };
        }
        let (left, of) = (gap.left, gap.launches);
        for (transfer, after) in self.left.as_slice().iter().enumerate() {
            (gap.left[transfer], gap.launches[transfer]) = match *after {
                TransferRemainder::Earlier(earlier) => (left[earlier] - needs.items[earlier].left, of[earlier]),
                TransferRemainder::Own(left) => (left, at),
            };
        }
        gap.state = self.after;
        if let Some(cursor) = self.computed {
            gap.computed = Some(Cursor { at, ..cursor });
        }
        for SendRecord { after, direction } in self.sent.as_slice() {
            rank.send(rank.clock + after, *direction, context);
        }
        rank.clock += self.duration;
        rank.allocated += self.allocated;
        rank.totals.add(&self.totals);
        for direction in Direction::ALL {
            let taken = *self.taken.get(direction);
            if taken > 0 {
                context.inbox.arrivals_mut(direction).take(taken);
                rank.events[TaskEvent::arrival(direction) as usize] += taken.cast_signed();
            }
        }
        rank.at = context.role.program.after(at);
        (rank.stage, rank.waited, rank.paused) = (LaunchStage::Ahead, false, false);
    }
}
