//! Reports of a run, rank by rank: to an observer while it runs, and at its end.

use crate::hardware::MAX_LEVELS;
use crate::program::{Label, PHASES, PerMemoryKind, Picos, Stream, Task, TaskPosition};

/// One rank's time, by use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeTotals {
    /// Compute runs.
    pub compute: Picos,
    /// The optimizer runs.
    pub optimizer: Picos,
    /// A fixed cost of the host runs.
    pub host: Picos,
    /// Compute stalls for a transfer, by the level that the transfer keeps busiest; the last
    /// is for transfers that cross no level.
    pub exposed: [Picos; MAX_LEVELS + 1],
    /// Part of those stalls: for exchanges of tokens with their experts.
    pub dispatch: Picos,
    /// Compute waits for another rank.
    pub bubble: Picos,
    /// Compute waits for anything else.
    pub waiting: Picos,
    /// Any transfer runs.
    pub communication: Picos,
    /// Time that the tasks alone take that are over and were no transfers.
    pub alone: Picos,
    /// Forward, backward and update: they sum to the whole.
    pub phases: [Picos; PHASES],
}

/// The fullest moment of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryPeak {
    /// Memory allocated then, by what it is allocated for.
    pub allocated: PerMemoryKind<i64>,
    /// Time of that moment.
    pub at: Picos,
    /// The task that computes then, or another that runs where none does, by index.
    pub task: u32,
    /// Position of the task.
    pub place: TaskPosition,
}

impl TimeTotals {
    /// The difference from an earlier moment.
    pub(super) fn since(&self, before: &Self) -> Self {
        self.combine(before, |now, before| now - before)
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.compute += more.compute;
        self.optimizer += more.optimizer;
        self.host += more.host;
        self.dispatch += more.dispatch;
        self.bubble += more.bubble;
        self.waiting += more.waiting;
        self.communication += more.communication;
        self.alone += more.alone;
        self.exposed.iter_mut().zip(more.exposed).for_each(|(now, more)| *now += more);
        self.phases.iter_mut().zip(more.phases).for_each(|(now, more)| *now += more);
    }

    /// Books a stall for a transfer.
    pub(super) fn stall(&mut self, label: Option<&Label>, passed: Picos) {
        let level = label.and_then(|label| label.level);
        self.exposed[level.map_or(MAX_LEVELS, usize::from)] += passed;
        if label.is_some_and(|label| label.lane == Stream::Experts) {
            self.dispatch += passed;
        }
    }

    pub(super) fn combine(&self, other: &Self, both: impl Fn(Picos, Picos) -> Picos) -> Self {
        Self {
            compute: both(self.compute, other.compute),
            optimizer: both(self.optimizer, other.optimizer),
            host: both(self.host, other.host),
            exposed: std::array::from_fn(|level| both(self.exposed[level], other.exposed[level])),
            dispatch: both(self.dispatch, other.dispatch),
            bubble: both(self.bubble, other.bubble),
            waiting: both(self.waiting, other.waiting),
            communication: both(self.communication, other.communication),
            alone: both(self.alone, other.alone),
            phases: std::array::from_fn(|phase| both(self.phases[phase], other.phases[phase])),
        }
    }
}

/// Limits of a rank's run: beyond them its end is not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankLimits {
    /// The end of the step.
    pub end: Picos,
    /// Memory allocated at once.
    pub allocated: i64,
    /// Time of its tasks that are no transfers, none of them slowed down.
    pub computing: Picos,
    /// Consequences on other ranks.
    pub drain: Option<PipelineDrain>,
}

/// The end of a pipeline's step behind a rank: its last gradients pass the ranks before it one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PipelineDrain {
    /// The rank's last launch that sends backward, by index.
    pub launch: u32,
    /// Time of what the rank computes in later launches.
    pub after: Picos,
    /// Time of what the ranks before it compute from then on.
    pub before: Picos,
}

/// One rank's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Time of its end.
    pub end: Picos,
    /// Time of the rank, by use.
    pub totals: TimeTotals,
    /// Memory of the rank at its fullest moment.
    pub peak: MemoryPeak,
}

/// A program whose tasks wait for one another for ever: a mistake of the program's builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// The rank whose compute is stuck.
    pub rank: usize,
    /// The task at its head, by index.
    pub task: Option<u32>,
}

/// Why compute stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallCause {
    /// Compute waits for a transfer on the given stream: exposed communication.
    Transfer(Stream),
    /// Compute waits for another rank.
    Bubble,
    /// Anything else.
    Other,
}

/// Sees every event, rank by rank in the order of time. The summary needs none of it: `()` sees nothing
/// and costs nothing.
pub trait Observer {
    /// Whether it wants to see every task.
    const ENABLED: bool = true;
    /// A task began and will be reported again when it ends.
    fn started(&mut self, _rank: usize, _task: &Task, _place: TaskPosition, _at: Picos) {}
    /// A task ended.
    fn ended(&mut self, _rank: usize, _task: &Task, _at: Picos) {}
    /// Compute stalled.
    fn idle(&mut self, _rank: usize, _cause: StallCause, _from: Picos, _to: Picos) {}
    /// Memory in use changed; what is allocated, by what it is allocated for.
    fn memory(&mut self, _rank: usize, _held: &PerMemoryKind<i64>, _at: Picos) {}
    /// A rank's work between two moments repeats `times` more, and is skipped.
    fn folded(&mut self, _rank: usize, _from: Picos, _to: Picos, _times: u64) {}
}

impl Observer for () {
    const ENABLED: bool = false;
}
