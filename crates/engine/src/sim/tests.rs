//! The simulator against hand-worked programs, against an independent evaluation, and against itself.

mod by_hand;
mod random;

use super::*;
use crate::program::build::{GraphBuilder, RankBuilder};
use crate::program::{
    DEVICE, EVENTS, EventWait, FULL_DEMAND, LaunchPosition, MemoryKind, PerStream, SERIAL, Stream, Task, TaskClass,
    TaskEvent, TaskPosition,
};
use proptest::prelude::*;

const COMPUTED: TaskEvent = TaskEvent::Computed;

const GATHERED: TaskEvent = TaskEvent::Gathered;

fn task(stream: Stream, duration: Picos, signal: TaskEvent) -> Task {
    let class = if stream == Stream::Compute { TaskClass::Compute } else { TaskClass::Transfer };
    Task { stream, class, duration, signals: [Some(signal), None], ..Task::default() }
}

fn waiting(mut task: Task, waits: &[EventWait]) -> Task {
    for (launch, wait) in task.waits.iter_mut().zip(waits) {
        *launch = Some(*wait);
    }
    task
}

fn demanding(mut task: Task, resource: usize, demand: u32) -> Task {
    task.demand[resource] = demand;
    task
}

/// What ranks do.
#[derive(Debug, Clone, Default)]
struct Program {
    code: Code,
    programs: Vec<RankProgram>,
}

impl Program {
    fn with(mut self, fill: impl FnOnce(&mut RankBuilder<'_>)) -> Self {
        let mut program = RankProgram::default();
        fill(&mut RankBuilder::new(&mut self.code, &mut program));
        self.programs.push(program);
        self
    }

    /// A rank that runs these tasks once.
    fn with_once(self, tasks: &[Task]) -> Self {
        self.with(|builder| builder.batch_loop(1, |graph| graph.task_loop(1, |task_loop| push_all(task_loop, tasks))))
    }

    /// Another rank that does the same as the last.
    fn with_same(mut self) -> Self {
        self.programs.extend(self.programs.last().cloned());
        self
    }
}

fn push_all(task_loop: &mut GraphBuilder<'_>, tasks: &[Task]) {
    for task in tasks {
        task_loop.push(*task);
    }
}

fn program(fill: impl FnOnce(&mut RankBuilder<'_>)) -> Program {
    Program::default().with(fill)
}

fn once(tasks: &[Task]) -> Program {
    Program::default().with_once(tasks)
}

fn run(program: &Program, fold: bool) -> Vec<Outcome> {
    let mut simulator = Simulator::default();
    simulator.run(&program.code, &program.programs, fold, &mut ()).expect("no task waits for ever");
    (0..program.programs.len()).map(|rank| simulator.outcome(rank)).collect()
}

/// After everything that raises `event` in this iteration so far, less `behind`.
fn after(offset: i64, event: TaskEvent) -> EventWait {
    EventWait { event, offset }
}
