//! One rank: its queues, counters, shared resources and memory.

use crate::program::{
    COMPUTE, COUNTERS, Class, Counter, HELD, Phase, Picos, QUEUES, REMOTE, RESOURCES, RankProgram, WHOLE,
};

use super::queue::{Cursor, Queue};
use super::{Idle, Observer, Outcome, Peak, Totals};

/// The end of an iteration that compute has just passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Of a block.
    Block,
    /// Of a section.
    Section,
}

/// A rank at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rank {
    pub queues: [Queue; QUEUES],
    pub counters: [i64; COUNTERS],
    pub clock: Picos,
    pub held: [i64; HELD],
    pub totals: Totals,
    load: [u32; RESOURCES],
    peak: Peak,
    fullest: i64,
    /// Counters of other ranks to raise, from tasks that ended at this moment.
    outbox: [Option<(u32, Counter)>; QUEUES],
}

impl Rank {
    pub fn new(program: &RankProgram) -> Self {
        Self {
            queues: std::array::from_fn(|queue| Queue::new(program, queue as u8)),
            counters: [0; COUNTERS],
            clock: 0,
            held: [0; HELD],
            totals: Totals::default(),
            load: [0; RESOURCES],
            peak: Peak::default(),
            fullest: 0,
            outbox: [None; QUEUES],
        }
    }

    /// When the next task ends; `MAX` if none runs.
    pub fn next(&self) -> Picos {
        let ends = self.queues.iter().filter(|queue| queue.running).map(|queue| queue.end);
        ends.min().unwrap_or(Picos::MAX)
    }

    /// Whether every queue has run out of tasks.
    pub fn finished(&self) -> bool {
        self.queues.iter().all(|queue| !queue.has_task)
    }

    /// The task that compute cannot start.
    pub fn blocked(&self) -> Option<u32> {
        self.queues.iter().find(|queue| queue.has_task).map(|queue| queue.cursor.task)
    }

    pub fn outcome(&self) -> Outcome {
        Outcome { end: self.clock, totals: self.totals, peak: self.peak }
    }

    /// Moves to the moment `at`: ends what ends then, starts what can start.
    pub fn step(
        &mut self,
        program: &RankProgram,
        index: usize,
        at: Picos,
        observer: &mut impl Observer,
    ) -> Option<Boundary> {
        self.advance(program, index, at, observer);
        let before = self.queues[COMPUTE as usize].cursor;
        for queue in 0..QUEUES {
            if self.queues[queue].running && self.queues[queue].end == at {
                self.end(program, index, queue, observer);
            }
        }
        self.settle(program, index, observer);
        boundary(&before, &self.queues[COMPUTE as usize].cursor)
    }

    /// Counters of other ranks to raise now.
    pub fn take_outbox(&mut self) -> [Option<(u32, Counter)>; QUEUES] {
        std::mem::take(&mut self.outbox)
    }

    /// Another rank raised one of this rank's counters.
    pub fn receive(
        &mut self,
        program: &RankProgram,
        index: usize,
        counter: Counter,
        at: Picos,
        observer: &mut impl Observer,
    ) {
        self.advance(program, index, at, observer);
        self.counters[counter as usize] += 1;
        self.settle(program, index, observer);
    }

    /// Lets time pass until `at`, no task ending in between.
    fn advance(&mut self, program: &RankProgram, index: usize, at: Picos, observer: &mut impl Observer) {
        let passed = at - self.clock;
        if passed == 0 {
            return;
        }
        self.account(program, index, passed, observer);
        for queue in 0..QUEUES {
            if self.queues[queue].running {
                let done = scaled(passed, WHOLE, self.pace(program, queue));
                let queue = &mut self.queues[queue];
                queue.remaining = queue.remaining.saturating_sub(done);
            }
        }
        self.clock = at;
    }

    /// Books a stretch of time under what it went into.
    fn account(&mut self, program: &RankProgram, index: usize, passed: Picos, observer: &mut impl Observer) {
        let transfer =
            |queue: &Queue| queue.running && queue.task(program).is_some_and(|task| task.class == Class::Transfer);
        if self.queues.iter().any(transfer) {
            self.totals.communication += passed;
        }
        let compute = &self.queues[COMPUTE as usize];
        let next = compute.task(program);
        let phase = next.map_or(Phase::Update, |task| task.label.phase);
        let running = next.filter(|_| compute.running).map(|task| task.class);
        let computing = match running {
            Some(Class::Compute) => Some(&mut self.totals.compute),
            Some(Class::Optimizer) => Some(&mut self.totals.optimizer),
            Some(Class::Host) => Some(&mut self.totals.host),
            Some(Class::Transfer) | None => None,
        };
        if let Some(total) = computing {
            *total += passed;
            self.totals.phases[phase as usize] += passed;
            return;
        }
        let cause = if running.is_some() { Idle::Transfer(COMPUTE) } else { self.cause(program, COMPUTE, QUEUES) };
        let awaited = match cause {
            Idle::Transfer(queue) => self.queues[queue as usize].task(program),
            Idle::Bubble | Idle::Other => None,
        };
        self.totals.phases[awaited.map_or(phase, |task| task.label.phase) as usize] += passed;
        match cause {
            Idle::Transfer(_) => {
                let level = awaited.and_then(|task| task.label.level);
                self.totals.exposed[level.map_or(RESOURCES - 1, usize::from)] += passed;
            }
            Idle::Bubble => self.totals.bubble += passed,
            Idle::Other => self.totals.waiting += passed,
        }
        observer.idle(index, cause, self.clock, self.clock + passed);
    }

    /// What the queue's next task waits for: followed through waits to a transfer that runs.
    fn cause(&self, program: &RankProgram, queue: u8, depth: usize) -> Idle {
        let head = &self.queues[queue as usize];
        if !head.has_task {
            // Nothing left to compute: the step ends with what still travels.
            let travelling = self.queues.iter().position(|queue| queue.running);
            return travelling.map_or(Idle::Other, |queue| Idle::Transfer(queue as u8));
        }
        let unmet = head.needs.iter().flatten().filter(|need| self.counters[need.counter as usize] < need.least);
        for need in unmet {
            let producer = program.producer[need.counter as usize];
            if producer == REMOTE {
                return Idle::Bubble;
            }
            if producer == queue {
                continue;
            }
            if self.queues[producer as usize].running {
                return Idle::Transfer(producer);
            }
            if depth > 0
                && let found @ (Idle::Transfer(_) | Idle::Bubble) = self.cause(program, producer, depth - 1)
            {
                return found;
            }
        }
        Idle::Other
    }

    fn end(&mut self, program: &RankProgram, index: usize, queue: usize, observer: &mut impl Observer) {
        let Some(task) = self.queues[queue].task(program) else { return };
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load -= demand;
        }
        for counter in task.signals.iter().flatten() {
            self.counters[*counter as usize] += 1;
        }
        self.outbox[queue] = task.sends;
        let mut changed = false;
        for (held, gives) in self.held.iter_mut().zip(task.gives) {
            *held -= gives;
            changed |= gives != 0;
        }
        observer.ended(index, task, self.clock);
        let cursor = self.queues[queue].cursor;
        if changed {
            self.remember_peak(index, cursor, observer);
        }
        self.queues[queue].advance(program, queue as u8);
    }

    /// Starts every task whose waits hold, then finds when each running one ends.
    pub fn settle(&mut self, program: &RankProgram, index: usize, observer: &mut impl Observer) {
        for queue in 0..QUEUES {
            let head = &self.queues[queue];
            let met = |need: &super::queue::Need| self.counters[need.counter as usize] >= need.least;
            if head.has_task && !head.running && head.needs.iter().flatten().all(met) {
                self.start(program, index, queue, observer);
            }
        }
        for queue in 0..QUEUES {
            if self.queues[queue].running {
                let pace = self.pace(program, queue);
                let queue = &mut self.queues[queue];
                queue.end = self.clock + scaled_up(queue.remaining, pace);
            }
        }
    }

    fn start(&mut self, program: &RankProgram, index: usize, queue: usize, observer: &mut impl Observer) {
        let head = &mut self.queues[queue];
        let Some(task) = head.task(program) else { return };
        head.running = true;
        head.remaining = task.duration;
        let cursor = head.cursor;
        for (load, demand) in self.load.iter_mut().zip(task.demand) {
            *load += demand;
        }
        let mut changed = false;
        for (held, takes) in self.held.iter_mut().zip(task.takes) {
            *held += takes;
            changed |= takes != 0;
        }
        observer.started(index, task, cursor.iteration(), self.clock);
        if changed {
            self.remember_peak(index, cursor, observer);
        }
    }

    /// Memory changed while the task at `cursor` began or ended.
    fn remember_peak(&mut self, index: usize, cursor: Cursor, observer: &mut impl Observer) {
        let held = self.held.iter().sum();
        observer.memory(index, held, self.clock);
        if held > self.fullest {
            self.fullest = held;
            // What computes then says more than what happened to take the last byte.
            let compute = &self.queues[COMPUTE as usize];
            let during = if compute.running { compute.cursor } else { cursor };
            let (task, iteration) = (during.task, during.iteration());
            self.peak = Peak { held: self.held, at: self.clock, task, iteration };
        }
    }

    /// How much longer than alone a running task takes, in units of [`WHOLE`].
    fn pace(&self, program: &RankProgram, queue: usize) -> u32 {
        let Some(task) = self.queues[queue].task(program) else { return WHOLE };
        let needed = self.load.iter().zip(task.demand).filter(|(_, demand)| *demand > 0);
        needed.map(|(load, _)| *load).max().unwrap_or(0).max(WHOLE)
    }
}

/// `value x whole / pace`, rounded down.
fn scaled(value: Picos, whole: u32, pace: u32) -> Picos {
    if pace == whole {
        return value;
    }
    match value.checked_mul(u64::from(whole)) {
        Some(product) => product / u64::from(pace),
        None => (u128::from(value) * u128::from(whole) / u128::from(pace)) as Picos,
    }
}

/// `value x pace / WHOLE`, rounded up.
fn scaled_up(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
    match value.checked_mul(u64::from(pace)) {
        Some(product) => product.div_ceil(u64::from(WHOLE)),
        None => (u128::from(value) * u128::from(pace)).div_ceil(u128::from(WHOLE)) as Picos,
    }
}

/// Whether moving from one position to the other ended an iteration of the same block or section.
fn boundary(before: &Cursor, after: &Cursor) -> Option<Boundary> {
    if after.section != before.section {
        None
    } else if after.section_iteration != before.section_iteration {
        Some(Boundary::Section)
    } else if after.block == before.block && after.block_iteration != before.block_iteration {
        Some(Boundary::Block)
    } else {
        None
    }
}
