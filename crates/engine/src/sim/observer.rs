//! What a run reports while it runs: for traces and tests. The summary needs none of it.

use crate::program::{PerMemoryKind, Picos, Stream, Task, TaskPosition};

/// Why compute stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallCause {
    /// It needs a transfer that is running: exposed communication; on the stream given.
    Transfer(Stream),
    /// It waits for another rank.
    Bubble,
    /// Anything else.
    Other,
}

/// Sees what happens, rank by rank in the order of time. The summary needs none of it: `()` sees nothing
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
    /// What a rank did between two moments repeats so many times more, and is skipped.
    fn folded(&mut self, _rank: usize, _from: Picos, _to: Picos, _times: u64) {}
}

impl Observer for () {
    const ENABLED: bool = false;
}
