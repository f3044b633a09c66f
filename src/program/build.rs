//! Puts tasks into blocks and routines, and routines into scripts, keeping the books: what each iteration
//! announces to the counters, and what the tasks of a routine move.

use crate::cost::{Transfer, Work};
use crate::hardware::MAX_LEVELS;
use crate::stack::Overlap;

use super::label::{Label, Lane};
use super::script::{Block, Code, Round, Routine, Script, Section, Slot};
use super::task::{
    CHAIN, COUNTERS, Class, Counter, DEVICE, NONE, Picos, QUEUES, RESOURCES, Task, WAITS, WHOLE, Wait, picos, seconds,
    waits,
};

/// What the tasks of a step move and need, repeats counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Volume {
    /// Bytes that one device sends into each level.
    pub bytes: [f64; MAX_LEVELS],
    /// The same by the lane of the timeline that sends them, in the order of [`Lane::ALL`].
    pub sent: [[f64; MAX_LEVELS]; Lane::ALL.len()],
    /// Seconds that each level would be busy.
    pub busy: [f64; MAX_LEVELS],
    /// Bytes copied to the host and from it.
    pub copied: [f64; 2],
    /// Seconds that each of these ways would be busy.
    pub copying: [f64; 2],
    /// Time added to compute because the host launches it too slowly.
    pub host: Picos,
    /// Seconds that all tasks would take one after the other.
    pub serial: f64,
    /// Seconds of compute that the memory's bandwidth sets.
    pub memory_bound: f64,
}

impl Volume {
    /// Adds another, so many times over.
    pub(super) fn add(&mut self, other: &Self, repeats: u64) {
        let times = repeats as f64;
        for level in 0..MAX_LEVELS {
            self.bytes[level] += other.bytes[level] * times;
            self.busy[level] += other.busy[level] * times;
        }
        for (sent, other) in self.sent.as_flattened_mut().iter_mut().zip(other.sent.as_flattened()) {
            *sent += other * times;
        }
        for way in 0..2 {
            self.copied[way] += other.copied[way] * times;
            self.copying[way] += other.copying[way] * times;
        }
        self.host = self.host.saturating_add(other.host.saturating_mul(repeats));
        self.serial += other.serial * times;
        self.memory_bound += other.memory_bound * times;
    }
}

/// Which queue each kind of transfer runs on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queues {
    pub gather: u8,
    pub reduce: u8,
}

pub(super) const GATHER: u8 = 1;
pub(super) const REDUCE: u8 = 2;
pub(super) const PIPELINE: u8 = 5;
pub(super) const HOST_OUT: u8 = 6;
pub(super) const HOST_IN: u8 = 7;

const _: () = assert!((HOST_IN as usize) < QUEUES);

impl Queues {
    /// As the stack overlaps: what does not overlap runs on the compute queue.
    pub fn of(overlap: Overlap) -> Self {
        let (gather, reduce) = match overlap {
            Overlap::None => (super::COMPUTE, super::COMPUTE),
            Overlap::Reductions => (super::COMPUTE, REDUCE),
            Overlap::OneStream => (GATHER, GATHER),
            Overlap::Independent => (GATHER, REDUCE),
        };
        Self { gather, reduce }
    }
}

/// Compute as a task needs it: device time, and time added by a slow host.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Piece {
    pub work: Work,
    pub host: f64,
}

/// Fills one routine.
pub(crate) struct RoutineBuilder<'a> {
    code: &'a mut Code,
    routine: Routine,
    block: Block,
    /// Each queue's last task in the open block.
    last: [u32; QUEUES],
}

impl RoutineBuilder<'_> {
    /// Opens a block that runs `repeat` times; everything until its end belongs to it.
    pub fn block(&mut self, repeat: u32, fill: impl FnOnce(&mut Self)) {
        if repeat == 0 {
            return;
        }
        let start = self.code.tasks.len() as u32;
        self.block = Block {
            repeat,
            tasks: start..start,
            advance: [0; COUNTERS],
            base: self.routine.advance,
            first: [NONE; QUEUES],
        };
        self.last = [NONE; QUEUES];
        fill(self);
        let mut block = std::mem::take(&mut self.block);
        block.tasks.end = self.code.tasks.len() as u32;
        if block.tasks.is_empty() {
            return;
        }
        for (announced, one) in self.routine.advance.iter_mut().zip(block.advance) {
            *announced += i64::from(repeat) * one;
        }
        self.routine.blocks.end += 1;
        self.code.blocks.push(block);
    }

    /// Announces one more of what another rank will raise; between blocks.
    pub fn expect(&mut self, counter: Counter) {
        self.routine.advance[counter as usize] += 1;
    }

    /// A wait for everything announced to a counter so far, less the latest `behind`.
    pub fn after(&self, counter: Counter, behind: i64) -> Wait {
        Wait { counter, offset: self.block.advance[counter as usize] - behind }
    }

    /// Adds a task to the open block.
    pub fn push(&mut self, task: Task) {
        let (index, queue) = (self.code.tasks.len() as u32, task.queue as usize);
        for counter in task.signals.iter().flatten() {
            self.block.advance[*counter as usize] += 1;
            // What two pipeline ranks sum is reduced too, but is not what gradients wait for in a step.
            if task.queue != PIPELINE {
                self.code.producer[*counter as usize] = task.queue;
            }
        }
        match self.last[queue] {
            NONE => self.block.first[queue] = index,
            last => self.code.tasks[last as usize].next = index,
        }
        self.last[queue] = index;
        self.routine.volume.serial += seconds(task.duration) * f64::from(self.block.repeat);
        self.routine.queues |= 1 << queue;
        self.routine.tasks[queue] += self.block.repeat;
        self.code.tasks.push(Task { next: NONE, ..task });
    }

    /// A compute task; `push` it after setting waits, signals and memory.
    pub fn compute(&mut self, piece: Piece, class: Class, label: Label) -> Task {
        let host = picos(piece.host);
        let (volume, repeat) = (&mut self.routine.volume, self.block.repeat);
        volume.host = volume.host.saturating_add(host.saturating_mul(repeat.into()));
        volume.memory_bound += piece.work.memory * f64::from(repeat);
        let mut demand = [0; RESOURCES];
        demand[DEVICE] = WHOLE;
        Task {
            queue: super::COMPUTE,
            class,
            duration: picos(piece.work.time).saturating_add(host),
            demand,
            label,
            ..Task::default()
        }
    }

    /// A transfer's task on a queue; `contention` is how much of the device it takes while it runs.
    pub fn transfer(&mut self, transfer: &Transfer, queue: u8, contention: f64, label: Label) -> Task {
        let (volume, repeat) = (&mut self.routine.volume, f64::from(self.block.repeat));
        for level in 0..MAX_LEVELS {
            volume.bytes[level] += transfer.bytes[level] * repeat;
            volume.sent[label.lane as usize][level] += transfer.bytes[level] * repeat;
            volume.busy[level] += transfer.busy[level] * repeat;
        }
        if let Some(way) = [Lane::HostOut, Lane::HostIn].iter().position(|lane| *lane == label.lane) {
            volume.copied[way] += transfer.received * repeat;
            volume.copying[way] += transfer.time * repeat;
        }
        let mut demand = [0; RESOURCES];
        for (demand, busy) in demand.iter_mut().zip(transfer.busy) {
            if busy > 0.0 {
                let share = (busy / transfer.time).min(1.0);
                *demand = (libm::ceil(share * f64::from(WHOLE)) as u32).min(WHOLE);
            }
        }
        demand[DEVICE] = libm::round(contention * f64::from(WHOLE)) as u32;
        let label = Label {
            bytes: libm::round(transfer.received) as u64,
            level: transfer.level().map(|level| level as u8),
            ..label
        };
        Task { queue, class: Class::Transfer, duration: picos(transfer.time), demand, label, ..Task::default() }
    }
}

/// A routine to run, and what its labels count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub routine: u32,
    pub layer: u32,
    pub micro_batch: u32,
}

/// Writes one rank's script, and the routines that it needs.
pub(crate) struct Builder<'a> {
    code: &'a mut Code,
    script: &'a mut Script,
    /// Whether the last round is still open, and whether its last section is.
    open: bool,
    begun: bool,
    /// Iterations of the section.
    repeat: u32,
}

impl<'a> Builder<'a> {
    pub fn new(code: &'a mut Code, script: &'a mut Script) -> Self {
        Self { code, script, open: false, begun: false, repeat: 1 }
    }

    /// A round of all that it is filled with, `repeat` times, each time so many micro-batches later.
    pub fn round(&mut self, repeat: u32, micro_batches: u32, fill: impl FnOnce(&mut Self)) {
        if repeat == 1 {
            return fill(self);
        }
        self.open(repeat, micro_batches);
        fill(self);
        self.close();
    }

    fn close(&mut self) {
        self.script.rounds.pop_if(|last| last.sections.is_empty());
        if let (true, Some(round), Some(last)) = (self.open, self.script.rounds.last_mut(), self.script.sections.last())
        {
            round.advance = announced(&last.base, last.repeat, &last.advance);
        }
        (self.open, self.begun) = (false, false);
    }

    fn open(&mut self, repeat: u32, micro_batches: u32) {
        self.close();
        let after = |last: &Round| announced(&last.base, last.repeat, &last.advance);
        let (base, advance) = (self.script.rounds.last().map_or([0; COUNTERS], after), [0; COUNTERS]);
        let sections = self.script.sections.len() as u32;
        self.script.rounds.push(Round { repeat, sections: sections..sections, advance, base, micro_batches });
        self.open = true;
    }

    /// A routine, to be run by any script.
    pub fn routine(&mut self, fill: impl FnOnce(&mut RoutineBuilder<'_>)) -> u32 {
        let blocks = self.code.blocks.len() as u32;
        let routine = Routine { blocks: blocks..blocks, ..Routine::default() };
        let mut builder = RoutineBuilder { code: self.code, routine, block: Block::default(), last: [NONE; QUEUES] };
        fill(&mut builder);
        let mut routine = builder.routine;
        (routine.entry, routine.alone) = self.entry(&routine);
        self.code.routines.push(routine);
        self.code.routines.len() as u32 - 1
    }

    /// What compute waits for to begin with a routine in which every queue beside it waits for what compute
    /// does there; and whether every queue that it is chained to does so too.
    fn entry(&self, routine: &Routine) -> (Option<[Option<Wait>; WAITS]>, bool) {
        let blocks = &self.code.blocks[routine.blocks.start as usize..routine.blocks.end as usize];
        let chained =
            |wait: &Wait| !wait.counter.remote() && CHAIN & 1 << self.code.producer[wait.counter as usize] != 0;
        let begin = |queue: usize| {
            let block = blocks.iter().find(|block| block.first[queue] != NONE)?;
            let counted = |wait: Wait| Wait { offset: wait.offset + block.base[wait.counter as usize], ..wait };
            Some(self.code.tasks[block.first[queue] as usize].waits.map(|wait| wait.map(counted)))
        };
        let closed = |queue: usize| {
            let waits = begin(queue);
            waits.iter().flatten().flatten().any(|wait| chained(wait) && wait.offset > 0)
        };
        let others = |among: u8| (1..QUEUES).filter(move |queue| routine.queues & among & 1 << queue != 0);
        let first = begin(super::COMPUTE as usize).filter(|_| others(!CHAIN).all(closed));
        // What is chained to compute is done when the slots before are over.
        let entry = first.map(|first| waits(first.map(|wait| wait.filter(|wait| !chained(wait) || wait.offset > 0))));
        (entry, entry.is_some() && others(CHAIN).all(closed))
    }

    /// A section that runs a routine of its own `repeat` times.
    pub fn section(&mut self, repeat: u32, fill: impl FnOnce(&mut RoutineBuilder<'_>)) {
        let routine = self.routine(fill);
        self.repeat(repeat, |builder| builder.run(Run { routine, layer: 0, micro_batch: 0 }));
    }

    /// A section of all that it is filled with, `repeat` times.
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

    /// A slot. All that follow one another outside of sections that repeat are one section.
    pub fn run(&mut self, Run { routine, layer, micro_batch }: Run) {
        if self.code.routines[routine as usize].blocks.is_empty() {
            return;
        }
        if !self.begun {
            self.begin();
        }
        let Some(section) = self.script.sections.last_mut() else { return };
        self.script.slots.push(Slot {
            routine,
            base: section.advance.map(|announced| announced as u32),
            layer,
            micro_batch,
        });
        section.slots.end += 1;
        for (announced, one) in section.advance.iter_mut().zip(self.code.routines[routine as usize].advance) {
            *announced += one;
        }
    }

    /// Begins a section.
    fn begin(&mut self) {
        if !self.open {
            self.open(1, 0);
        }
        let Script { rounds, sections, slots } = &mut *self.script;
        let Some(round) = rounds.last_mut() else { return };
        let before = sections.last().filter(|_| !round.sections.is_empty());
        let after = |before: &Section| announced(&before.base, before.repeat, &before.advance);
        let (base, start) = (before.map_or([0; COUNTERS], after), slots.len() as u32);
        sections.push(Section { repeat: self.repeat, slots: start..start, advance: [0; COUNTERS], base });
        round.sections.end += 1;
        self.begun = true;
    }
}

impl Drop for Builder<'_> {
    /// Closes the last round.
    fn drop(&mut self) {
        self.close();
    }
}

/// What has been announced after a loop: before it, and by each iteration.
fn announced(base: &[i64; COUNTERS], repeat: u32, advance: &[i64; COUNTERS]) -> [i64; COUNTERS] {
    std::array::from_fn(|counter| base[counter] + i64::from(repeat) * advance[counter])
}
