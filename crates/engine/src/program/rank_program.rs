//! A step in compact form: tasks in task loops that repeat (layers), task loops one after the other in
//! graphs, and per rank a program: launches that run a graph, in micro-batch loops that repeat (micro-batches),
//! in group loops that repeat (groups of micro-batches).
//!
//! Graphs are listed once: ranks and stages with equal work share them.

use crate::plan::pass::Direction;
use crate::units::Seconds;
use std::ops::Range;

use super::label::{Activity, ModelPart};
use super::network_transfer::GraphTransfer;
use super::stream::{PerStream, Stream, StreamSet};
use super::task::{EVENTS, EventWait, Picos, Task, TaskEvent, WAITS};
use super::volume::Volume;

/// Tasks that repeat together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskLoop {
    /// Iterations: one for each layer, say.
    pub repeat: u32,
    /// Indices of the loop's tasks.
    pub tasks: Range<u32>,
    /// Number of times that an iteration raises each event.
    pub advance: [i64; EVENTS],
    /// How often the graph's earlier task loops raise each event.
    pub base: [i64; EVENTS],
    /// Each stream's first task, by index; a number beyond all tasks if it has none.
    pub first: PerStream<u32>,
}

/// Task loops in sequence: the work of a launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskGraph {
    /// Indices of the graph's task loops.
    pub task_loops: Range<u32>,
    /// Number of times that one run of the graph raises each event.
    pub advance: [i64; EVENTS],
    /// Streams that have a task in it, as bits.
    pub streams: StreamSet,
    /// Tasks of each stream, repeats counted.
    pub tasks: PerStream<u32>,
    /// Conditions on which compute begins with it, counted from the events of earlier launches; `None` if another
    /// stream may start in it before compute.
    pub entry: Option<[Option<EventWait>; WAITS]>,
    /// Whether no other stream starts together with compute.
    pub alone: bool,
    /// Totals over its tasks, repeats counted.
    pub volume: Volume,
}

/// Tasks, loops and graphs of all ranks, each listed once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Code {
    /// Tasks of all task loops.
    pub tasks: Vec<Task>,
    /// Task loops of all graphs.
    pub task_loops: Vec<TaskLoop>,
    /// Graphs of all ranks.
    pub graphs: Vec<TaskGraph>,
    /// Transfers of all graphs, in the order in which they were made.
    pub(super) transfers: Vec<GraphTransfer>,
    /// Indices of the transfers that copy pages of the optimizer's state.
    pub(super) pages: Vec<usize>,
    /// The stream whose tasks raise each event of the own rank.
    pub producer: [Stream; EVENTS],
}

/// One run of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Launch {
    /// The graph, by index.
    pub graph: u32,
    /// How often the micro-batch loop's earlier launches raise each event.
    pub base: [u32; EVENTS],
    /// Layer and micro-batch that its tasks' labels count from.
    pub layer: u32,
    /// The micro-batch, when the launch runs first.
    pub micro_batch: u32,
}

/// Launches that repeat together, each time for the next micro-batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MicroBatchLoop {
    /// Iterations.
    pub repeat: u32,
    /// Indices of the loop's launches among the rank's.
    pub launches: Range<u32>,
    /// Number of times that an iteration raises each event.
    pub advance: [i64; EVENTS],
    /// How often the group loop's earlier micro-batch loops raise each event.
    pub base: [i64; EVENTS],
}

/// Micro-batch loops that repeat together, each time for a later group of micro-batches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupLoop {
    /// Iterations.
    pub repeat: u32,
    /// Indices of the group's micro-batch loops among the rank's.
    pub batch_loops: Range<u32>,
    /// Number of times that an iteration raises each event.
    pub advance: [i64; EVENTS],
    /// How often earlier group loops raise each event.
    pub base: [i64; EVENTS],
    /// Micro-batches from one iteration to the next.
    pub micro_batches: u32,
}

/// One rank's step: group loops, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RankProgram {
    /// In the order in which they run.
    pub group_loops: Vec<GroupLoop>,
    /// Their micro-batch loops.
    pub batch_loops: Vec<MicroBatchLoop>,
    /// The micro-batch loops' launches.
    pub launches: Vec<Launch>,
}

/// One run of one launch: a place in a program's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchPosition {
    /// The group loop, by index.
    pub group_loop: u32,
    /// Which iteration of it, from 0.
    pub group: u32,
    /// The micro-batch loop, by index.
    pub batch_loop: u32,
    /// Which iteration of it, from 0.
    pub batch: u32,
    /// The launch, by index.
    pub launch: u32,
}

/// The position of one run of a task in all its loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskPosition {
    /// The launch that it belongs to.
    pub at: LaunchPosition,
    /// The iteration of its task loop.
    pub iteration: u32,
}

impl Code {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.tasks.clear();
        self.task_loops.clear();
        self.graphs.clear();
        self.transfers.clear();
        self.pages.clear();
        self.producer = [Stream::Compute; EVENTS];
    }
}

impl RankProgram {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.group_loops.clear();
        self.batch_loops.clear();
        self.launches.clear();
    }

    /// Whether any loop of it runs more than once.
    pub(crate) fn repeats(&self) -> bool {
        self.group_loops.iter().any(|group| group.repeat > 1) || self.batch_loops.iter().any(|batch| batch.repeat > 1)
    }

    /// The first launch; `None` if there is nothing to do.
    pub fn first(&self) -> Option<LaunchPosition> {
        (!self.launches.is_empty()).then(LaunchPosition::default)
    }

    /// The launch after another; `None` after the last.
    pub fn after(&self, mut at: LaunchPosition) -> Option<LaunchPosition> {
        let batch_loop = &self.batch_loops[at.batch_loop as usize];
        // Like an odometer: the launch turns fastest, then the iteration of its micro-batch loop, then the loop, then
        // the iteration of the group, then the group loop.
        at.launch += 1;
        if at.launch < batch_loop.launches.end {
            return Some(at);
        }
        at.batch += 1;
        if at.batch < batch_loop.repeat {
            at.launch = batch_loop.launches.start;
            return Some(at);
        }
        (at.batch_loop, at.batch) = (at.batch_loop + 1, 0);
        let group_loop = &self.group_loops[at.group_loop as usize];
        if at.batch_loop == group_loop.batch_loops.end {
            at.group += 1;
            if at.group < group_loop.repeat {
                (at.batch_loop, at.launch) = (
                    group_loop.batch_loops.start,
                    self.batch_loops[group_loop.batch_loops.start as usize].launches.start,
                );
            } else {
                (at.group_loop, at.group) = (at.group_loop + 1, 0);
            }
        }
        ((at.group_loop as usize) < self.group_loops.len()).then_some(at)
    }

    /// The launch at a position.
    pub fn launch(&self, at: &LaunchPosition) -> &Launch {
        &self.launches[at.launch as usize]
    }

    /// How often the launches before this one raise an event.
    pub fn expected(&self, at: &LaunchPosition, event: TaskEvent) -> i64 {
        self.expectation(at)(event as usize)
    }

    /// How often the launches before this one raise each event.
    pub(crate) fn all_expected(&self, at: &LaunchPosition) -> [i64; EVENTS] {
        std::array::from_fn(self.expectation(at))
    }

    fn expectation(&self, at: &LaunchPosition) -> impl Fn(usize) -> i64 {
        let (group_loop, batch_loop) =
            (&self.group_loops[at.group_loop as usize], &self.batch_loops[at.batch_loop as usize]);
        let (launch, [group_loops, batch_loops]) = (self.launch(at), [at.group, at.batch].map(i64::from));
        // In the second iteration of a loop that raises an event 4 times, after 10 before the loop, a launch with base 1
        // begins at 10 + 1 x 4 + 1 = 15.
        move |event| {
            let group_loop = group_loop.base[event] + group_loops * group_loop.advance[event];
            group_loop
                + batch_loop.base[event]
                + batch_loops * batch_loop.advance[event]
                + i64::from(launch.base[event])
        }
    }

    /// The rank's launches, each with the number of times that it runs.
    fn runs(&self) -> impl Iterator<Item = (&Launch, u64)> {
        self.group_loops.iter().flat_map(move |group_loop| {
            let batch_loops =
                &self.batch_loops[group_loop.batch_loops.start as usize..group_loop.batch_loops.end as usize];
            batch_loops.iter().flat_map(move |batch_loop| {
                let repeat = u64::from(group_loop.repeat) * u64::from(batch_loop.repeat);
                let launches = &self.launches[batch_loop.launches.start as usize..batch_loop.launches.end as usize];
                launches.iter().map(move |launch| (launch, repeat))
            })
        })
    }

    /// Totals over its tasks.
    pub fn volume(&self, code: &Code) -> Volume {
        let mut runs = vec![0; code.graphs.len()];
        self.runs().for_each(|(launch, times)| runs[launch.graph as usize] += times);
        let mut volume = Volume::default();
        for (graph, times) in code.graphs.iter().zip(runs) {
            volume.add(&graph.volume, times);
        }
        volume
    }

    /// Time of its tasks run one after the other.
    pub(crate) fn serial(&self, code: &Code) -> Seconds {
        self.runs().map(|(launch, times)| code.graphs[launch.graph as usize].volume.serial * times as f64).sum()
    }

    /// Time of its tasks that are no transfers, none of them slowed down.
    pub(crate) fn computing(&self, code: &Code) -> Picos {
        self.computing_from(0, code)
    }

    /// Time of the tasks that are no transfers in the launches after a given one.
    pub(crate) fn computing_after(&self, launch: u32, code: &Code) -> Picos {
        self.computing_from(launch as usize + 1, code)
    }

    fn computing_from(&self, first: usize, code: &Code) -> Picos {
        let computing = |launch: &Launch| code.graphs[launch.graph as usize].volume.computing;
        let runs = self.runs().skip(first);
        runs.map(|(launch, times)| computing(launch).saturating_mul(times)).fold(0, Picos::saturating_add)
    }

    /// Index of the rank's last launch that sends something to the rank before it.
    pub(crate) fn last_sent_backward(&self, code: &Code) -> Option<u32> {
        let sends = |launch: &Launch| code.tasks_of(launch).any(|task| task.sends == Some(Direction::Backward));
        self.launches.iter().rposition(sends).map(|launch| launch as u32)
    }

    /// Time of what it computes in the last launch that takes what the rank behind it sends.
    pub(crate) fn last_received_backward(&self, code: &Code) -> Picos {
        let graphs = self.launches.iter().rev().map(|launch| &code.graphs[launch.graph as usize]);
        let mut receiving = graphs.filter(|graph| graph.advance[TaskEvent::ArrivedBackward as usize] > 0);
        receiving.next().map_or(0, |graph| graph.volume.computing)
    }

    /// Number of tasks that a step runs, each iteration counted.
    pub(crate) fn task_count(&self, code: &Code) -> u64 {
        let tasks = |launch: &Launch| {
            code.graphs[launch.graph as usize].tasks.values().map(|tasks| u64::from(*tasks)).sum::<u64>()
        };
        self.runs().map(|(launch, times)| times * tasks(launch)).sum()
    }

    /// The activity of a task in one run.
    pub fn activity(&self, task: &Task, place: &TaskPosition) -> Activity {
        let (at, first) = (&place.at, task.label.first);
        let Some(launch) = self.launches.get(at.launch as usize) else { return first };
        // One graph serves several stages: layer 3 of its labels is layer 11 in a launch whose stage begins at layer 8.
        let from = if matches!(first.part, ModelPart::Layer | ModelPart::Attention | ModelPart::Mlp) {
            launch.layer
        } else {
            0
        };
        let moved = task.label.layer_step * place.iteration.cast_signed();
        let group_loops =
            self.group_loops.get(at.group_loop as usize).map_or(0, |group_loop| at.group * group_loop.micro_batches);
        Activity {
            // Both count from the launch's, and may be less.
            layer: from.wrapping_add(first.layer).wrapping_add_signed(moved),
            micro_batch: first.micro_batch.wrapping_add(launch.micro_batch) + at.batch + group_loops,
            ..first
        }
    }
}

/// The producer of an event, if it is a stream of the own rank.
impl Code {
    /// The stream whose tasks raise an event; `None` if another rank does.
    pub(crate) fn producer(&self, event: TaskEvent) -> Option<Stream> {
        (!event.remote()).then(|| self.producer[event as usize])
    }

    /// The tasks of a launch, each once.
    fn tasks_of(&self, launch: &Launch) -> impl Iterator<Item = &Task> {
        let task_loops = self.graphs[launch.graph as usize].task_loops.clone().map(|index| index as usize);
        task_loops.flat_map(|index| {
            let tasks = &self.task_loops[index].tasks;
            &self.tasks[tasks.start as usize..tasks.end as usize]
        })
    }
}
