//! What runs when: spans on lanes, stretches in which compute stands still, memory over the step.

use crate::cost::Factors;
use crate::program::{Activity, Class, Lane, PICOS, Picos, Task};
use crate::scenario::{Problem, Scenario};
use crate::sim::{self, Iteration, Observer};
use crate::units::{Bytes, Seconds};

use super::{Summary, Workspace, summary};

/// One task's stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Its line.
    pub lane: Lane,
    /// What runs.
    pub activity: Activity,
    /// Start, from the beginning of the step.
    pub start: Seconds,
    /// End.
    pub end: Seconds,
    /// How long it would take alone.
    pub alone: Seconds,
    /// Bytes that one device receives, for a transfer.
    pub bytes: Bytes,
    /// The outermost level that it crosses, for a transfer between devices.
    pub level: Option<u8>,
    /// Whether compute stood still for it at some moment.
    pub exposed: bool,
}

/// Memory of one rank from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPoint {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// The moment.
    pub at: Seconds,
    /// In use from then on.
    pub in_use: Bytes,
}

/// A stretch in which compute stands still.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Why.
    pub cause: IdleCause,
    /// Start.
    pub start: Seconds,
    /// End.
    pub end: Seconds,
}

/// Why compute stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCause {
    /// It needs a transfer that is running: exposed communication.
    Communication,
    /// It waits for another pipeline rank.
    Bubble,
    /// Anything else.
    Other,
}

/// A step as it runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Spans by start time.
    pub spans: Vec<Span>,
    /// Stretches in which compute stands still, by start time.
    pub idle: Vec<Idle>,
    /// Memory over time, by time.
    pub memory: Vec<MemoryPoint>,
    /// Repeats that were folded away, because the step has too many tasks to list: from, to and how often.
    pub folded: Vec<(Seconds, Seconds, u32)>,
}

impl Trace {
    /// What one pipeline rank does, alone.
    #[must_use]
    pub fn of_rank(mut self, rank: u32) -> Self {
        self.spans.retain(|span| span.rank == rank);
        self.idle.retain(|idle| idle.rank == rank);
        self.memory.retain(|point| point.rank == rank);
        self
    }
}

/// Tasks that a trace lists; a longer step is folded, and the trace says where.
const MOST_TASKS: u64 = 60_000;

/// Runs a scenario and writes down what happens.
pub(super) fn run(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Summary, Trace), Vec<Problem>> {
    workspace.build(scenario, &Factors::default())?;
    let fold = workspace.task_count() > MOST_TASKS;
    let stack = &scenario.stack;
    let mut recorder = Recorder {
        states: workspace.state_bytes().collect(),
        lost: 1.0 + stack.fragmentation,
        reserve: stack.reserve,
        ..Recorder::default()
    };
    let summary = summary::run(scenario, &Factors::default(), workspace, fold, &mut recorder)?;
    Ok((summary, recorder.trace))
}

/// Writes down what the simulator reports.
#[derive(Debug, Default)]
struct Recorder {
    trace: Trace,
    /// Memory that each rank holds all the time.
    states: Vec<f64>,
    /// What the allocator makes of each byte.
    lost: f64,
    /// Memory of the runtime.
    reserve: Bytes,
    /// The open span of each queue of each rank, by its place in the trace.
    open: Vec<(usize, u8, usize)>,
}

fn seconds(picos: Picos) -> Seconds {
    Seconds::new(picos as f64 / PICOS)
}

impl Observer for Recorder {
    fn started(&mut self, rank: usize, task: &Task, iteration: Iteration, at: Picos) {
        self.open.push((rank, task.queue, self.trace.spans.len()));
        self.trace.spans.push(Span {
            rank: rank as u32,
            lane: task.label.lane,
            activity: task.label.at(iteration.block, iteration.section),
            start: seconds(at),
            end: seconds(at),
            alone: seconds(task.duration),
            bytes: Bytes::new(task.label.bytes as f64),
            level: task.label.level,
            exposed: task.class == Class::Transfer && task.queue == crate::program::COMPUTE,
        });
    }

    fn ended(&mut self, rank: usize, task: &Task, at: Picos) {
        let open = self.open.iter().position(|(r, queue, _)| (*r, *queue) == (rank, task.queue));
        if let Some(open) = open {
            let (_, _, span) = self.open.swap_remove(open);
            self.trace.spans[span].end = seconds(at);
        }
    }

    fn idle(&mut self, rank: usize, cause: sim::Idle, from: Picos, to: Picos) {
        if let sim::Idle::Transfer(queue) = cause
            && let Some((_, _, span)) = self.open.iter().find(|(r, q, _)| (*r, *q) == (rank, queue))
        {
            self.trace.spans[*span].exposed = true;
        }
        let cause = match cause {
            sim::Idle::Transfer(_) => IdleCause::Communication,
            sim::Idle::Bubble => IdleCause::Bubble,
            sim::Idle::Other => IdleCause::Other,
        };
        let (start, end) = (seconds(from), seconds(to));
        let last = self.trace.idle.iter_mut().rev().find(|idle| idle.rank == rank as u32);
        match last {
            Some(last) if last.cause == cause && last.end == start => last.end = end,
            _ => self.trace.idle.push(Idle { rank: rank as u32, cause, start, end }),
        }
    }

    fn memory(&mut self, rank: usize, held: i64, at: Picos) {
        let in_use = Bytes::new((self.states[rank] + held as f64) * self.lost) + self.reserve;
        self.trace.memory.push(MemoryPoint { rank: rank as u32, at: seconds(at), in_use });
    }

    fn folded(&mut self, from: Picos, to: Picos, times: u64) {
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        self.trace.folded.push((seconds(from), seconds(to), times));
    }
}
