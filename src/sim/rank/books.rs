//! A rank's books: where its time went and what memory it held. Not for what happens when.

use crate::program::{CHAIN, COMPUTE, Class, Phase, Picos, QUEUES, RESOURCES, Task};

use super::super::queue::{Cursor, Role};
use super::super::{Idle, Observer, Peak};
use super::{Around, Rank, place, queues};

impl Rank {
    /// Books a stretch of time under what it went into, and looks at the memory in use then.
    pub(super) fn account<O: Observer>(&mut self, passed: Picos, around: &mut Around<'_, O>) {
        if self.changed {
            self.look(around);
        }
        let role = around.role;
        let class = |queue: usize| role.task(&self.queues[queue].cursor).class;
        if queues(self.running).any(|queue| class(queue) == Class::Transfer) {
            self.totals.communication += passed;
        }
        let next = self.next_compute(&role);
        let phase = next.map_or(Phase::Update, |task| task.label.phase);
        let running = next.filter(|_| self.running & 1 << COMPUTE != 0).map(|task| task.class);
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
        let cause = if running.is_some() { Idle::Transfer(COMPUTE) } else { self.cause(COMPUTE, QUEUES, role) };
        let awaited = match cause {
            Idle::Transfer(queue) => Some(role.task(&self.queues[queue as usize].cursor)),
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
        around.observer.idle(role.rank, cause, self.clock, self.clock + passed);
    }

    /// The task that computes or is the next to compute, as far as slots are on their queues.
    fn next_compute<'p>(&self, role: &Role<'p>) -> Option<&'p Task> {
        let compute = COMPUTE as usize;
        if self.active & 1 << COMPUTE != 0 {
            return Some(role.task(&self.queues[compute].cursor));
        }
        let at = self.at.filter(|_| !self.issued)?;
        Cursor::first(role, at, compute).map(|cursor| role.task(&cursor))
    }

    /// What a queue's next task waits for: followed through waits to a transfer that runs.
    fn cause(&self, queue: u8, depth: usize, role: Role<'_>) -> Idle {
        if !self.issued && self.at.is_some() {
            // All that the slot needs of this rank is there.
            return Idle::Bubble;
        }
        if self.active & 1 << queue == 0 {
            // Nothing left to compute: the slot, or the step, ends with what still travels.
            let travelling = queues(self.running & CHAIN).next().or_else(|| queues(self.running).next());
            return travelling.map_or(Idle::Other, |queue| Idle::Transfer(queue as u8));
        }
        let mut waits = false;
        for need in self.needs(queue as usize, role) {
            let Some(producer) = role.code.producer(need.counter) else { continue };
            if self.counters[need.counter as usize] >= need.least || producer == queue {
                continue;
            }
            waits = true;
            if self.running & 1 << producer != 0 {
                return Idle::Transfer(producer);
            }
            if depth > 0
                && let found @ (Idle::Transfer(_) | Idle::Bubble) = self.cause(producer, depth - 1, role)
            {
                return found;
            }
        }
        // What others have not sent counts once nothing else is missing.
        let mut remote = self.needs(queue as usize, role).filter(|need| need.counter.remote());
        if !waits && remote.next().is_some() { Idle::Bubble } else { Idle::Other }
    }

    /// Looks at the memory in use from now on. What is taken and given back at the same moment is not seen.
    pub fn look<O: Observer>(&mut self, around: &mut Around<'_, O>) {
        self.changed = false;
        let held = self.held.iter().sum();
        if held != self.seen {
            self.seen = held;
            around.observer.memory(around.role.rank, held, self.clock);
        }
        if held > self.fullest {
            self.fullest = held;
            // What computes then says most; then what else runs.
            let during = queues(self.running).next().unwrap_or(COMPUTE as usize);
            let cursor = &self.queues[during].cursor;
            self.peak = Peak { held: self.held, at: self.clock, task: cursor.task, place: place(cursor) };
        }
    }
}
