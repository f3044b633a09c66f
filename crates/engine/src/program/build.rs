//! Puts tasks into task loops and graphs, and graphs into programs, and counts: how often each iteration raises
//! each event, and what the tasks of a graph move.

use crate::cost::{DeviceTime, Transfer};
use crate::units::{Seconds, Share};

use super::label::Label;
use super::network_transfer::{GraphTransfer, TransferSource};
use super::rank_program::{Code, GroupLoop, Launch, MicroBatchLoop, RankProgram, TaskGraph, TaskLoop};
use super::stream::{PerStream, SERIAL, Stream, StreamSet};
use super::task::{
    DEVICE, EVENTS, EventWait, FULL_DEMAND, NO_TASK, RESOURCES, Task, TaskClass, TaskEvent, WAITS, picos, seconds,
    waits,
};

/// The time of a compute task: device time, and time added by a slow host.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LaunchedWork {
    pub work: DeviceTime,
    pub host: Seconds,
}

impl LaunchedWork {
    /// Seconds of the device and of the host together.
    pub fn time(&self) -> Seconds {
        self.work.time + self.host
    }
}

/// Fills one graph.
pub(crate) struct GraphBuilder<'a> {
    code: &'a mut Code,
    graph: TaskGraph,
    body: TaskLoop,
    /// Each stream's last task in the open body.
    last: PerStream<u32>,
}

impl GraphBuilder<'_> {
    /// Opens a body that runs `repeat` times; everything until its end belongs to it.
    pub(crate) fn task_loop(&mut self, repeat: u32, fill: impl FnOnce(&mut Self)) {
        if repeat == 0 {
            return;
        }
        let start = self.code.tasks.len() as u32;
        self.body = TaskLoop {
            repeat,
            tasks: start..start,
            advance: [0; EVENTS],
            base: self.graph.advance,
            first: PerStream::all(NO_TASK),
        };
        self.last = PerStream::all(NO_TASK);
        fill(self);
        let mut body = std::mem::take(&mut self.body);
        body.tasks.end = self.code.tasks.len() as u32;
        if body.tasks.is_empty() {
            return;
        }
        // The tasks are stored once, whatever `repeat` is: 32 layers that each raise `Gathered` once raise it 32 times.
        for (expected, one) in self.graph.advance.iter_mut().zip(body.advance) {
            *expected += i64::from(repeat) * one;
        }
        self.graph.task_loops.end += 1;
        self.code.task_loops.push(body);
    }

    /// Expects one more event from another rank; between task loops.
    pub fn expect(&mut self, event: TaskEvent) {
        self.graph.advance[event as usize] += 1;
    }

    /// A wait until an event is raised as often as listed so far, less the latest `behind`.
    pub fn after(&self, event: TaskEvent, behind: i64) -> EventWait {
        // Relative to the beginning of this iteration, so that the one wait is right in every iteration. After three
        // gathers in the body, `after(Gathered, 1)` is an offset of 2: two of the three must be done.
        EventWait { event, offset: self.body.advance[event as usize] - behind }
    }

    /// Adds a task to the open body.
    pub fn push(&mut self, mut task: Task) {
        let (index, stream) = (self.code.tasks.len() as u32, task.stream);
        for event in task.signals.iter().flatten() {
            self.body.advance[*event as usize] += 1;
            // What two pipeline ranks sum is reduced too, but is not what gradients wait for in a step.
            if task.stream != Stream::Pipeline {
                self.code.producer[*event as usize] = task.stream;
            }
        }
        match self.last[stream] {
            NO_TASK => self.body.first[stream] = index,
            last => self.code.tasks[last as usize].next = index,
        }
        self.last[stream] = index;
        let (volume, repeat) = (&mut self.graph.volume, self.body.repeat);
        volume.serial += seconds(task.duration) * f64::from(repeat);
        if task.class != TaskClass::Transfer {
            volume.computing = volume.computing.saturating_add(task.duration.saturating_mul(repeat.into()));
        }
        self.graph.streams.insert(stream);
        self.graph.tasks[stream] += self.body.repeat;
        task.next = NO_TASK;
        self.code.tasks.push(task);
    }

    /// A compute task; `push` it after setting waits, signals and memory.
    pub fn compute(&mut self, piece: LaunchedWork, class: TaskClass, label: Label) -> Task {
        // Rounded apart from the device's time, so that the host's share of the step is what the tasks add up to.
        let host = picos(piece.host);
        let (volume, repeat) = (&mut self.graph.volume, self.body.repeat);
        volume.host = volume.host.saturating_add(host.saturating_mul(repeat.into()));
        volume.memory_bound += piece.work.memory * f64::from(repeat);
        let mut demand = [0; RESOURCES];
        demand[DEVICE] = FULL_DEMAND;
        Task {
            stream: Stream::Compute,
            class,
            duration: picos(piece.work.time).saturating_add(host),
            demand,
            label,
            ..Task::default()
        }
    }

    /// Says that the last transfer is a copy of pages.
    pub(super) fn mark_pages(&mut self) {
        self.code.pages.extend(self.code.transfers.len().checked_sub(1));
    }

    /// A transfer's task on a stream. `source` is what its time follows from on a network,
    /// if it crosses one; `contention` is how much of the device the transfer takes while it runs.
    pub(super) fn transfer(
        &mut self,
        transfer: &Transfer,
        source: Option<TransferSource>,
        stream: Stream,
        contention: Share,
        label: Label,
    ) -> Task {
        let (lane, repeat, index) = (label.lane, self.body.repeat, self.code.transfers.len() as u32);
        self.graph.volume.add_transfer(transfer, lane, repeat);
        let graph = self.code.graphs.len();
        self.code.transfers.push(GraphTransfer { source, transfer: *transfer, contention, lane, graph, repeat });
        let mut task = Task { stream, class: TaskClass::Transfer, transfer: index, label, ..Task::default() };
        task.take(transfer, contention);
        task
    }
}

/// A graph to run, and the layer and micro-batch that its labels count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraphLaunch {
    pub graph: u32,
    pub layer: u32,
    pub micro_batch: u32,
}

/// Writes one rank's program, and the graphs that it needs.
pub(crate) struct RankBuilder<'a> {
    code: &'a mut Code,
    program: &'a mut RankProgram,
    /// Whether the last group loop is still open, and whether its last micro-batch loop is.
    open: bool,
    begun: bool,
    /// Iterations of the micro-batch loop.
    repeat: u32,
}

impl<'a> RankBuilder<'a> {
    pub fn new(code: &'a mut Code, program: &'a mut RankProgram) -> Self {
        Self { code, program, open: false, begun: false, repeat: 1 }
    }

    /// Repeats what `fill` writes as a group loop, each time `micro_batches` later.
    pub(crate) fn group_loop(&mut self, repeat: u32, micro_batches: u32, fill: impl FnOnce(&mut Self)) {
        // Without a repeat the loop is left out: what it would have held joins its neighbours.
        if repeat == 1 {
            return fill(self);
        }
        self.open(repeat, micro_batches);
        fill(self);
        self.close();
    }

    fn close(&mut self) {
        self.program.group_loops.pop_if(|last| last.batch_loops.is_empty());
        if let (true, Some(group_loop), Some(last)) =
            (self.open, self.program.group_loops.last_mut(), self.program.batch_loops.last())
        {
            // The micro-batch loops of a group count from the group's beginning, so the last one's end is all of it.
            group_loop.advance = expected_after(&last.base, last.repeat, &last.advance);
        }
        (self.open, self.begun) = (false, false);
    }

    fn open(&mut self, repeat: u32, micro_batches: u32) {
        self.close();
        let after = |last: &GroupLoop| expected_after(&last.base, last.repeat, &last.advance);
        let (base, advance) = (self.program.group_loops.last().map_or([0; EVENTS], after), [0; EVENTS]);
        let batch_loops = self.program.batch_loops.len() as u32;
        self.program.group_loops.push(GroupLoop {
            repeat,
            batch_loops: batch_loops..batch_loops,
            advance,
            base,
            micro_batches,
        });
        self.open = true;
    }

    /// Adds a graph, which any program may run.
    pub fn graph(&mut self, fill: impl FnOnce(&mut GraphBuilder<'_>)) -> u32 {
        let task_loops = self.code.task_loops.len() as u32;
        let graph = TaskGraph { task_loops: task_loops..task_loops, ..TaskGraph::default() };
        let mut builder =
            GraphBuilder { code: self.code, graph, body: TaskLoop::default(), last: PerStream::all(NO_TASK) };
        fill(&mut builder);
        let mut graph = builder.graph;
        (graph.entry, graph.alone) = self.entry(&graph);
        self.code.graphs.push(graph);
        self.code.graphs.len() as u32 - 1
    }

    /// The conditions on which compute begins with a graph, if every stream beside it waits for compute there; and
    /// whether every stream chained to compute does so too.
    fn entry(&self, graph: &TaskGraph) -> (Option<[Option<EventWait>; WAITS]>, bool) {
        let task_loops = &self.code.task_loops[graph.task_loops.start as usize..graph.task_loops.end as usize];
        // A stream that is serialised with compute has no task left from the launches before: those are over only when
        // it is idle. So a wait for what it did before holds already, and is left out.
        let chained =
            |wait: &EventWait| !wait.event.remote() && SERIAL.contains(self.code.producer[wait.event as usize]);
        let begin = |stream: Stream| {
            let body = task_loops.iter().find(|body| body.first[stream] != NO_TASK)?;
            let counted = |wait: EventWait| EventWait { offset: wait.offset + body.base[wait.event as usize], ..wait };
            Some(self.code.tasks[body.first[stream] as usize].waits.map(|wait| wait.map(counted)))
        };
        // A positive offset is something that this launch itself must do first: the stream cannot start before compute.
        let closed = |stream: Stream| {
            let waits = begin(stream);
            waits.iter().flatten().flatten().any(|wait| chained(wait) && wait.offset > 0)
        };
        let others = |among: StreamSet| (graph.streams & among).iter().filter(|stream| *stream != Stream::Compute);
        let first = begin(Stream::Compute).filter(|_| others(!SERIAL).all(closed));
        let entry = first.map(|first| waits(first.map(|wait| wait.filter(|wait| !chained(wait) || wait.offset > 0))));
        (entry, entry.is_some() && others(SERIAL).all(closed))
    }

    /// Adds a micro-batch loop that runs a graph of its own `repeat` times.
    pub(crate) fn batch_loop(&mut self, repeat: u32, fill: impl FnOnce(&mut GraphBuilder<'_>)) {
        let graph = self.graph(fill);
        self.repeat(repeat, |builder| builder.run(GraphLaunch { graph, layer: 0, micro_batch: 0 }));
    }

    /// Repeats what `fill` writes as a micro-batch loop.
    pub fn repeat(&mut self, repeat: u32, fill: impl FnOnce(&mut Self)) {
        match repeat {
            0 => {}
            1 => fill(self),
            _ => {
                (self.repeat, self.begun) = (repeat, false);
                fill(self);
                (self.repeat, self.begun) = (1, false);
            }
        }
    }

    /// Adds a launch. Launches in sequence outside of repeated micro-batch loops share one micro-batch loop.
    pub fn run(&mut self, GraphLaunch { graph, layer, micro_batch }: GraphLaunch) {
        if self.code.graphs[graph as usize].task_loops.is_empty() {
            return;
        }
        if !self.begun {
            self.begin();
        }
        let Some(batch_loop) = self.program.batch_loops.last_mut() else { return };
        self.program.launches.push(Launch {
            graph,
            base: batch_loop.advance.map(|expected| expected as u32),
            layer,
            micro_batch,
        });
        batch_loop.launches.end += 1;
        for (expected, one) in batch_loop.advance.iter_mut().zip(self.code.graphs[graph as usize].advance) {
            *expected += one;
        }
    }

    /// Begins a micro-batch loop.
    fn begin(&mut self) {
        if !self.open {
            self.open(1, 0);
        }
        let RankProgram { group_loops, batch_loops, launches } = &mut *self.program;
        let Some(group_loop) = group_loops.last_mut() else { return };
        // The first loop of a group counts from the group's beginning, every other one from where the one before ended.
        let before = batch_loops.last().filter(|_| !group_loop.batch_loops.is_empty());
        let after = |before: &MicroBatchLoop| expected_after(&before.base, before.repeat, &before.advance);
        let (base, start) = (before.map_or([0; EVENTS], after), launches.len() as u32);
        batch_loops.push(MicroBatchLoop { repeat: self.repeat, launches: start..start, advance: [0; EVENTS], base });
        group_loop.batch_loops.end += 1;
        self.begun = true;
    }
}

impl Drop for RankBuilder<'_> {
    /// Closes the last group loop.
    fn drop(&mut self) {
        self.close();
    }
}

/// Expected counts after a loop, from the counts before it and those that each iteration adds.
fn expected_after(base: &[i64; EVENTS], repeat: u32, advance: &[i64; EVENTS]) -> [i64; EVENTS] {
    std::array::from_fn(|event| base[event] + i64::from(repeat) * advance[event])
}
