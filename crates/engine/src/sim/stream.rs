//! One stream of one rank: its place in the program, and the task at its head.

use crate::program::{
    Code, FULL_DEMAND, LaunchPosition, NO_TASK, Picos, RankProgram, Stream, Task, TaskEvent, TaskGraph,
};

/// A rank's code and launches.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankRole<'p> {
    pub code: &'p Code,
    pub program: &'p RankProgram,
    pub rank: usize,
}

impl<'p> RankRole<'p> {
    /// The graph of a launch.
    pub fn graph(&self, at: &LaunchPosition) -> &'p TaskGraph {
        &self.code.graphs[self.program.launch(at).graph as usize]
    }

    /// A task.
    pub fn task(&self, cursor: &Cursor) -> &'p Task {
        &self.code.tasks[cursor.task as usize]
    }

    /// How often a task's launch raises an event before the task's iteration of its task loop.
    pub(crate) fn expected_in_launch(&self, cursor: &Cursor, event: TaskEvent) -> i64 {
        let task_loop = &self.code.task_loops[cursor.task_loop as usize];
        task_loop.base[event as usize] + i64::from(cursor.iteration) * task_loop.advance[event as usize]
    }
}

/// A condition of a task, made absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Requirement {
    pub event: TaskEvent,
    pub least: i64,
}

/// A task in a rank's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    pub at: LaunchPosition,
    pub task_loop: u32,
    pub iteration: u32,
    pub task: u32,
}

impl Cursor {
    /// The beginning of a launch.
    pub fn begin(at: LaunchPosition) -> Self {
        Self { at, ..Self::default() }
    }

    /// The first task of a stream in a launch.
    pub fn first(role: &RankRole<'_>, at: LaunchPosition, stream: Stream) -> Option<Self> {
        let task_loops = role.graph(&at).task_loops.clone();
        Self::among(role, at, task_loops, stream)
    }

    /// The stream's next task in the same launch.
    pub fn next(&self, role: &RankRole<'_>, stream: Stream) -> Option<Self> {
        // On in the same iteration of its loop, then to the loop's next iteration, then to the loops behind it.
        let next = role.task(self).next;
        if next != NO_TASK {
            return Some(Self { task: next, ..*self });
        }
        let task_loop = &role.code.task_loops[self.task_loop as usize];
        if self.iteration + 1 < task_loop.repeat {
            return Some(Self { iteration: self.iteration + 1, task: task_loop.first[stream], ..*self });
        }
        let rest = self.task_loop + 1..role.graph(&self.at).task_loops.end;
        Self::among(role, self.at, rest, stream)
    }

    fn among(
        role: &RankRole<'_>,
        at: LaunchPosition,
        mut task_loops: std::ops::Range<u32>,
        stream: Stream,
    ) -> Option<Self> {
        task_loops.find_map(|task_loop| {
            let task = role.code.task_loops[task_loop as usize].first[stream];
            (task != NO_TASK).then_some(Self { at, task_loop, iteration: 0, task })
        })
    }
}

/// The head of a stream's queue: its first task, and that task's progress if it has begun.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StreamHead {
    pub cursor: Cursor,
    /// The condition that was last found not to hold.
    pub unmet: Option<Requirement>,
    /// The rest of the running task, at its own pace.
    pub remaining: Picos,
    /// How much longer than alone it takes, in units of [`FULL_DEMAND`].
    pub slowdown: u32,
    /// When it ends at that pace.
    pub end: Picos,
}

impl Default for StreamHead {
    fn default() -> Self {
        Self { cursor: Cursor::default(), unmet: None, remaining: 0, slowdown: FULL_DEMAND, end: Picos::MAX }
    }
}
