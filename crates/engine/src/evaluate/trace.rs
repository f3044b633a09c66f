//! The timeline of a step: spans on lanes, stalls of compute, memory over time. Not for sums over it
//! ([`super::window`]).

use std::ops::Range;

use crate::cost::Factors;
use crate::program::{
    Activity, ModelPart, ModelState, PerMemoryKind, Picos, Program, STREAMS, Stream, Task, TaskClass, TaskKind,
    TaskPosition, picos, seconds,
};
use crate::scenario::{Checked, Problem, Scenario};
use crate::sim::{self, Observer};
use crate::stack::Allocator;
use crate::units::{Bytes, Seconds};

use super::figures::{MemoryParts, Summary};
use super::simulation::simulate;
use super::summary::{self, Workspace};

/// One task on the timeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// The line of the timeline on which it is drawn.
    pub lane: Stream,
    /// Activity.
    pub activity: Activity,
    /// Start, from the beginning of the step.
    pub start: Seconds,
    /// End.
    pub end: Seconds,
    /// Its time alone.
    pub alone: Seconds,
    /// Bytes that one device receives, for a transfer.
    pub bytes: Bytes,
    /// The outermost level that it crosses, for a transfer between devices.
    pub level: Option<u8>,
    /// Whether compute stalled for it at some moment.
    pub exposed: bool,
}

impl Span {
    /// Whether the next span of the lane continues the same pass: the same direction of the same micro-batch, on the
    /// same layer or a neighbouring one. Such a run of spans is a rank's pass over one of its stages.
    pub fn leads_to(&self, next: &Self) -> bool {
        let (one, other) = (self.activity, next.activity);
        (one.kind, one.micro_batch) == (other.kind, other.micro_batch)
            && (one.part != ModelPart::Layer || other.part != ModelPart::Layer || one.layer.abs_diff(other.layer) <= 1)
    }
}

/// Memory of one rank from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPoint {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Time of the change, from the beginning of the step.
    pub at: Seconds,
    /// Bytes in use from then on.
    pub in_use: Bytes,
    /// The part that comes and goes, by kind.
    pub allocated: PerMemoryKind<Bytes>,
}

impl MemoryPoint {
    /// Its parts, the rank's static memory included.
    pub fn parts(&self, state: &ModelState) -> MemoryParts {
        let parts = MemoryParts::new(state, &self.allocated);
        MemoryParts { reserved: self.in_use - parts.total(), ..parts }
    }
}

/// A stall of compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Why.
    pub cause: IdleCause,
    /// Start.
    pub start: Seconds,
    /// End.
    pub end: Seconds,
}

/// A reason for which compute stalls.
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
    /// Spans by rank, lane and start time; those of one rank's lane don't overlap.
    pub spans: Vec<Span>,
    /// Stalls of compute, by rank and start time.
    pub idle: Vec<Stall>,
    /// Memory over time, by rank and time.
    pub memory: Vec<MemoryPoint>,
    /// Repeats that were folded away, because the step has too many tasks to list, by rank and time.
    pub folded: Vec<Folded>,
}

/// A span of time that repeats: what happens in it happens `times` times more after it, and is not listed again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// Pipeline rank, from 0.
    pub rank: u32,
    /// Start.
    pub start: Seconds,
    /// End; the repeats follow.
    pub end: Seconds,
    /// How many.
    pub times: u32,
}

impl Folded {
    /// When the repeats are over.
    pub fn over(&self) -> Seconds {
        self.end + (self.end - self.start) * f64::from(self.times)
    }
}

impl Trace {
    /// A trace of what was written down in the order of time.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        group(&mut self.spans, |span| span.rank as usize * Stream::ALL.len() + span.lane as usize);
        group(&mut self.idle, |idle| idle.rank as usize);
        group(&mut self.memory, |point| point.rank as usize);
        self.folded.sort_by_key(|folded| folded.rank);
        self
    }

    /// Pipeline ranks.
    pub fn ranks(&self) -> u32 {
        self.spans.last().map_or(0, |span| span.rank + 1)
    }

    /// The pipeline rank that ends last, the first of several.
    pub fn last_rank(&self) -> u32 {
        let later = |a: &&Span, b: &&Span| a.end.get().total_cmp(&b.end.get()).then(b.rank.cmp(&a.rank));
        self.spans.iter().max_by(later).map_or(0, |span| span.rank)
    }

    /// The part that a strip of the whole step draws: stalls of the rank that ends last, and its last span.
    #[must_use]
    pub fn outline(&self) -> Self {
        let rank = self.last_rank();
        let last =
            self.spans.iter().filter(|span| span.rank == rank).max_by(|a, b| a.end.get().total_cmp(&b.end.get()));
        Self {
            spans: last.copied().into_iter().collect(),
            idle: self.idle_of(rank).to_vec(),
            memory: Vec::new(),
            folded: self.folded_of(rank).to_vec(),
        }
    }

    /// Where in `spans` those of one lane of one rank are.
    pub fn line(&self, rank: u32, lane: Stream) -> Range<usize> {
        let from = self.spans.partition_point(|span| (span.rank, span.lane) < (rank, lane));
        let to = self.spans.partition_point(|span| (span.rank, span.lane) <= (rank, lane));
        from..to
    }

    /// Spans on one lane of one rank.
    pub fn spans_on(&self, rank: u32, lane: Stream) -> &[Span] {
        &self.spans[self.line(rank, lane)]
    }

    /// By how much transfers beside it lengthen the compute of the rank that ends last, the optimizer's apart.
    pub fn slowed(&self) -> Seconds {
        let last = self.last_rank();
        let own = |span: &&Span| span.activity.kind != TaskKind::Optimizer;
        let compute = self.spans_on(last, Stream::Compute).iter().filter(own);
        // Moments are whole picoseconds: less is what subtraction leaves, of long spans also less than nothing.
        let longer = |span: &Span| seconds(picos((span.end - span.start - span.alone).max(Seconds::ZERO)));
        // A span that stands for many repeats of a loop counts as often as it is repeated.
        compute.map(|span| longer(span) * self.times_at(last, span.start)).sum()
    }

    /// Stalls of one rank's compute.
    pub fn idle_of(&self, rank: u32) -> &[Stall] {
        of_rank(&self.idle, rank, |idle| idle.rank)
    }

    /// Repeats of one rank that are folded away.
    pub fn folded_of(&self, rank: u32) -> &[Folded] {
        of_rank(&self.folded, rank, |folded| folded.rank)
    }

    /// How often what a rank does at a moment happens: what was folded away did as often as the trace says.
    pub fn times_at(&self, rank: u32, at: Seconds) -> f64 {
        let within = self.folded_of(rank).iter().filter(|folded| (folded.start..folded.end).contains(&at));
        1.0 + within.map(|folded| f64::from(folded.times)).sum::<f64>()
    }

    /// Memory of one rank over time.
    pub fn memory_of(&self, rank: u32) -> &[MemoryPoint] {
        of_rank(&self.memory, rank, |point| point.rank)
    }
}

/// Brings the items into the order of their groups, and leaves them as they were in each: a sort by counting, for groups
/// are few.
fn group<T>(items: &mut [T], group_of: impl Fn(&T) -> usize) {
    let mut next = Vec::new();
    for item in items.iter() {
        let group = group_of(item);
        if next.len() <= group {
            next.resize(group + 1, 0);
        }
        next[group] += 1;
    }
    // Counts 3, 0, 2 become the places 0, 3, 3 at which the groups begin.
    let mut before = 0;
    for count in &mut next {
        (*count, before) = (before, before + *count);
    }
    let place = |item: &T| {
        let next = &mut next[group_of(item)];
        *next += 1;
        *next - 1
    };
    let mut places: Vec<usize> = items.iter().map(place).collect();
    // In place: a list of 100,000 spans is several megabytes. Each swap brings one item where it belongs.
    for at in 0..items.len() {
        while places[at] != at {
            let to = places[at];
            items.swap(at, to);
            places.swap(at, to);
        }
    }
}

/// The part of a list in the order of ranks that belongs to one.
fn of_rank<T>(items: &[T], wanted: u32, rank: impl Fn(&T) -> u32) -> &[T] {
    let (from, to) =
        (items.partition_point(|item| rank(item) < wanted), items.partition_point(|item| rank(item) <= wanted));
    &items[from..to]
}

/// Tasks that a trace lists; a longer step is folded, and the trace says where.
const MOST_TASKS: u64 = 60_000;

/// Runs a scenario and writes down what happens.
pub(super) fn run(scenario: &Checked, workspace: &mut Workspace) -> Result<(Summary, Trace), Vec<Problem>> {
    workspace.build(scenario, &Factors::default(), None)?;
    let tasks = workspace.task_count();
    let trace = record(scenario, workspace, tasks > MOST_TASKS)?;
    Ok((summary::figures(scenario, workspace), trace))
}

/// A trace with nothing folded away; `None` where the step has more than `most` tasks.
pub(super) fn whole(scenario: &Checked, most: u64, workspace: &mut Workspace) -> Result<Option<Trace>, Vec<Problem>> {
    workspace.build(scenario, &Factors::default(), None)?;
    if workspace.task_count() > most {
        return Ok(None);
    }
    record(scenario, workspace, false).map(Some)
}

/// Runs what has been built.
pub(super) fn record(scenario: &Scenario, workspace: &mut Workspace, fold: bool) -> Result<Trace, Vec<Problem>> {
    let tasks = workspace.task_count();
    let states: Vec<f64> = workspace.state_bytes().collect();
    let Workspace { program, simulator, .. } = workspace;
    let mut recorder = Recorder::new(scenario, program, states);
    recorder.trace.spans.reserve(tasks.min(MOST_TASKS) as usize);
    simulate(program, simulator, fold, &mut recorder)?;
    Ok(recorder.trace.in_order())
}

/// Records the simulator's reports as a trace.
struct Recorder<'a> {
    program: &'a Program,
    trace: Trace,
    /// Memory that each rank holds all the time.
    states: Vec<f64>,
    allocator: Allocator,
    /// The last span of each stream of each rank.
    last: Vec<[OpenSpan; STREAMS]>,
    /// The last stall of each rank's compute, by its place in the trace.
    idle: Vec<Option<usize>>,
}

/// A span that may not have ended.
#[derive(Debug, Clone, Copy, Default)]
struct OpenSpan {
    /// Its place in the trace.
    span: usize,
    /// When it began, and time that has been folded away since then.
    began: Picos,
    skipped: Picos,
}

impl<'a> Recorder<'a> {
    fn new(scenario: &Scenario, program: &'a Program, states: Vec<f64>) -> Self {
        let ranks = program.ranks.len();
        Self {
            program,
            trace: Trace::default(),
            states,
            allocator: scenario.calibration.allocator,
            last: vec![[OpenSpan::default(); STREAMS]; ranks],
            idle: vec![None; ranks],
        }
    }
}

impl Observer for Recorder<'_> {
    fn started(&mut self, rank: usize, task: &Task, place: TaskPosition, at: Picos) {
        self.last[rank][task.stream as usize] = OpenSpan { span: self.trace.spans.len(), began: at, skipped: 0 };
        self.trace.spans.push(Span {
            rank: rank as u32,
            lane: task.label.lane,
            activity: self.program.ranks[rank].activity(task, &place),
            start: seconds(at),
            end: seconds(at),
            alone: seconds(task.duration),
            bytes: Bytes::new(task.label.bytes as f64),
            level: task.label.level,
            exposed: task.class == TaskClass::Transfer && task.stream == Stream::Compute,
        });
    }

    fn ended(&mut self, rank: usize, task: &Task, at: Picos) {
        // What ends now may be the last repeat of the span that began; that one ended before the repeats.
        let OpenSpan { span, skipped, .. } = self.last[rank][task.stream as usize];
        self.trace.spans[span].end = seconds(at - skipped);
    }

    fn idle(&mut self, rank: usize, cause: sim::StallCause, from: Picos, to: Picos) {
        if let sim::StallCause::Transfer(stream) = cause {
            self.trace.spans[self.last[rank][stream as usize].span].exposed = true;
        }
        let cause = match cause {
            sim::StallCause::Transfer(_) => IdleCause::Communication,
            sim::StallCause::Bubble => IdleCause::Bubble,
            sim::StallCause::Other => IdleCause::Other,
        };
        let (start, end) = (seconds(from), seconds(to));
        // The simulator reports a stall piecewise, whenever anything ends; neighbours with one cause are one stall.
        match self.idle[rank].and_then(|last| self.trace.idle.get_mut(last)) {
            Some(last) if last.cause == cause && last.end == start => last.end = end,
            _ => {
                self.idle[rank] = Some(self.trace.idle.len());
                self.trace.idle.push(Stall { rank: rank as u32, cause, start, end });
            }
        }
    }

    fn memory(&mut self, rank: usize, allocated: &PerMemoryKind<i64>, at: Picos) {
        // The state lies there all the time, so that the simulator does not count it; the allocator's losses are on top
        // of both.
        let in_use = self.allocator.peak(Bytes::new(self.states[rank] + allocated.total() as f64));
        let allocated = allocated.map(|bytes| Bytes::new(bytes as f64));
        self.trace.memory.push(MemoryPoint { rank: rank as u32, at: seconds(at), in_use, allocated });
    }

    fn folded(&mut self, rank: usize, from: Picos, to: Picos, times: u64) {
        // What began before the fold ran all along, and spans the repeats as one task.
        for last in self.last[rank].iter_mut().filter(|last| last.began >= from) {
            last.skipped += (to - from) * times;
        }
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        self.trace.folded.push(Folded { rank: rank as u32, start: seconds(from), end: seconds(to), times });
    }
}
