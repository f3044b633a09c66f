//! What runs when: spans on lanes, stretches in which compute stands still, memory over the step.

use crate::cost::Factors;
use crate::program::{Activity, COMPUTE, Class, Lane, PICOS, Picos, Place, Program, QUEUES, Task};
use crate::scenario::{Problem, Scenario};
use crate::sim::{self, Observer};
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

/// What a rank does again and again, listed once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Start of the stretch that is listed.
    pub start: Seconds,
    /// Its end.
    pub end: Seconds,
    /// How many times more it runs.
    pub times: u32,
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
    /// Repeats that were folded away, because the step has too many tasks to list, by start time.
    pub folded: Vec<Folded>,
}

impl Trace {
    /// What one pipeline rank does, alone.
    #[must_use]
    pub fn of_rank(mut self, rank: u32) -> Self {
        self.spans.retain(|span| span.rank == rank);
        self.idle.retain(|idle| idle.rank == rank);
        self.memory.retain(|point| point.rank == rank);
        self.folded.retain(|folded| folded.rank == rank);
        self
    }
}

/// Tasks that a trace lists; a longer step is folded, and the trace says where.
const MOST_TASKS: u64 = 60_000;

/// Runs a scenario and writes down what happens.
pub(super) fn run(scenario: &Scenario, workspace: &mut Workspace) -> Result<(Summary, Trace), Vec<Problem>> {
    let layout = workspace.build(scenario, &Factors::default())?;
    let tasks = workspace.task_count();
    let states: Vec<f64> = workspace.state_bytes().collect();
    let Workspace { program, simulator } = workspace;
    let mut recorder = Recorder::new(scenario, program, states);
    summary::simulate(program, simulator, tasks > MOST_TASKS, &mut recorder)?;
    let trace = recorder.trace();
    Ok((summary::figures(scenario, layout, workspace), trace))
}

/// Writes down what the simulator reports.
struct Recorder<'a> {
    program: &'a Program,
    trace: Trace,
    /// Memory that each rank holds all the time.
    states: Vec<f64>,
    /// What the allocator makes of each byte.
    lost: f64,
    /// Memory of the runtime.
    reserve: Bytes,
    /// The last span of each queue of each rank, by its place in the trace.
    spans: Vec<[usize; QUEUES]>,
    /// The last stretch in which each rank's compute stood still, by its place in the trace.
    idle: Vec<Option<usize>>,
}

fn seconds(picos: Picos) -> Seconds {
    Seconds::new(picos as f64 / PICOS)
}

impl<'a> Recorder<'a> {
    fn new(scenario: &Scenario, program: &'a Program, states: Vec<f64>) -> Self {
        let ranks = program.ranks.len();
        Self {
            program,
            trace: Trace::default(),
            states,
            lost: 1.0 + scenario.stack.fragmentation,
            reserve: scenario.stack.reserve,
            spans: vec![[0; QUEUES]; ranks],
            idle: vec![None; ranks],
        }
    }

    /// All of it in the order of time, ranks in order where they do something at the same moment.
    fn trace(mut self) -> Trace {
        self.trace.spans.sort_by(|a, b| a.start.get().total_cmp(&b.start.get()).then(a.rank.cmp(&b.rank)));
        self.trace.idle.sort_by(|a, b| a.start.get().total_cmp(&b.start.get()).then(a.rank.cmp(&b.rank)));
        self.trace.memory.sort_by(|a, b| a.at.get().total_cmp(&b.at.get()).then(a.rank.cmp(&b.rank)));
        self.trace.folded.sort_by(|a, b| a.start.get().total_cmp(&b.start.get()).then(a.rank.cmp(&b.rank)));
        self.trace
    }
}

impl Observer for Recorder<'_> {
    fn started(&mut self, rank: usize, task: &Task, place: Place, at: Picos) {
        self.spans[rank][task.queue as usize] = self.trace.spans.len();
        self.trace.spans.push(Span {
            rank: rank as u32,
            lane: task.label.lane,
            activity: self.program.ranks[rank].activity(task, &place),
            start: seconds(at),
            end: seconds(at),
            alone: seconds(task.duration),
            bytes: Bytes::new(task.label.bytes as f64),
            level: task.label.level,
            exposed: task.class == Class::Transfer && task.queue == COMPUTE,
        });
    }

    fn ended(&mut self, rank: usize, task: &Task, at: Picos) {
        self.trace.spans[self.spans[rank][task.queue as usize]].end = seconds(at);
    }

    fn idle(&mut self, rank: usize, cause: sim::Idle, from: Picos, to: Picos) {
        if let sim::Idle::Transfer(queue) = cause {
            self.trace.spans[self.spans[rank][queue as usize]].exposed = true;
        }
        let cause = match cause {
            sim::Idle::Transfer(_) => IdleCause::Communication,
            sim::Idle::Bubble => IdleCause::Bubble,
            sim::Idle::Other => IdleCause::Other,
        };
        let (start, end) = (seconds(from), seconds(to));
        match self.idle[rank].and_then(|last| self.trace.idle.get_mut(last)) {
            Some(last) if last.cause == cause && last.end == start => last.end = end,
            _ => {
                self.idle[rank] = Some(self.trace.idle.len());
                self.trace.idle.push(Idle { rank: rank as u32, cause, start, end });
            }
        }
    }

    fn memory(&mut self, rank: usize, held: i64, at: Picos) {
        let in_use = Bytes::new((self.states[rank] + held as f64) * self.lost) + self.reserve;
        self.trace.memory.push(MemoryPoint { rank: rank as u32, at: seconds(at), in_use });
    }

    fn folded(&mut self, rank: usize, from: Picos, to: Picos, times: u64) {
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        self.trace.folded.push(Folded { rank: rank as u32, start: seconds(from), end: seconds(to), times });
    }
}
