//! Puts tasks into blocks and sections, keeping the books: what each iteration announces to the
//! counters, and what all repeats move.

use crate::cost::{Transfer, Work};
use crate::hardware::MAX_LEVELS;
use crate::stack::Overlap;

use super::label::{Label, Lane};
use super::task::{
    Block, COUNTERS, Class, Counter, DEVICE, Picos, QUEUES, RESOURCES, RankProgram, Section, Task, WHOLE, Wait, picos,
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
    /// Time added to compute because the host launches it too slowly.
    pub host: Picos,
    /// Seconds of compute that the memory's bandwidth sets.
    pub memory_bound: f64,
}

/// Which queue each kind of transfer runs on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queues {
    pub gather: u8,
    pub reduce: u8,
}

pub(super) const GATHER: u8 = 1;
pub(super) const REDUCE: u8 = 2;
pub(super) const TENSOR: u8 = 3;
pub(super) const CONTEXT: u8 = 4;
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

/// Builds one rank's program.
pub(crate) struct Builder<'a> {
    program: &'a mut RankProgram,
    volume: &'a mut Volume,
    section_repeat: u32,
    block_repeat: u32,
    section_start: u32,
    block_start: u32,
    /// Announced by the program so far, by this section's iteration so far, by this block's.
    announced: [i64; COUNTERS],
    in_section: [i64; COUNTERS],
    in_block: [i64; COUNTERS],
}

impl<'a> Builder<'a> {
    pub fn new(program: &'a mut RankProgram, volume: &'a mut Volume) -> Self {
        Self {
            program,
            volume,
            section_repeat: 1,
            block_repeat: 1,
            section_start: 0,
            block_start: 0,
            announced: [0; COUNTERS],
            in_section: [0; COUNTERS],
            in_block: [0; COUNTERS],
        }
    }

    /// Opens a section that runs `repeat` times; everything until the next one belongs to it.
    pub fn section(&mut self, repeat: u32, fill: impl FnOnce(&mut Self)) {
        self.section_start = self.program.blocks.len() as u32;
        self.section_repeat = repeat;
        self.in_section = [0; COUNTERS];
        fill(self);
        let blocks = self.section_start..self.program.blocks.len() as u32;
        if blocks.is_empty() {
            return;
        }
        let queues = self.program.blocks[blocks.start as usize..].iter().fold(0, |bits, block| bits | block.queues);
        let section = Section { repeat, blocks, advance: self.in_section, base: self.announced, queues };
        for (announced, one) in self.announced.iter_mut().zip(self.in_section) {
            *announced += i64::from(repeat) * one;
        }
        self.program.sections.push(section);
    }

    /// Opens a block that runs `repeat` times in each iteration of the section.
    pub fn block(&mut self, repeat: u32, fill: impl FnOnce(&mut Self)) {
        self.block_start = self.program.tasks.len() as u32;
        self.block_repeat = repeat;
        self.in_block = [0; COUNTERS];
        fill(self);
        let tasks = self.block_start..self.program.tasks.len() as u32;
        if tasks.is_empty() {
            return;
        }
        let queues = self.program.tasks[tasks.start as usize..].iter().fold(0, |bits, task| bits | 1 << task.queue);
        let block = Block { repeat, tasks, advance: self.in_block, base: self.in_section, queues };
        for (in_section, one) in self.in_section.iter_mut().zip(self.in_block) {
            *in_section += i64::from(repeat) * one;
        }
        self.program.blocks.push(block);
    }

    /// Announces one more of what another rank will raise; between blocks.
    pub fn expect(&mut self, counter: Counter) {
        self.in_section[counter as usize] += 1;
        self.program.producer[counter as usize] = super::REMOTE;
    }

    /// Everything announced to a counter by the sections before the open one.
    pub fn announced(&self, counter: Counter) -> i64 {
        self.announced[counter as usize]
    }

    /// A wait for everything announced to a counter so far, less the latest `behind`.
    pub fn after(&self, counter: Counter, behind: i64) -> Wait {
        Wait { counter, offset: self.in_block[counter as usize] - behind }
    }

    /// Adds a task to the open block.
    pub fn push(&mut self, task: Task) {
        for counter in task.signals.iter().flatten() {
            self.in_block[*counter as usize] += 1;
            self.program.producer[*counter as usize] = task.queue;
        }
        self.program.tasks.push(task);
    }

    fn repeats(&self) -> f64 {
        f64::from(self.block_repeat) * f64::from(self.section_repeat)
    }

    /// A compute task; `push` it after setting waits, signals and memory.
    pub fn compute(&mut self, piece: Piece, class: Class, label: Label) -> Task {
        let host = picos(piece.host);
        self.volume.memory_bound += piece.work.memory * self.repeats();
        self.volume.host += host * u64::from(self.block_repeat) * u64::from(self.section_repeat);
        let mut demand = [0; RESOURCES];
        demand[DEVICE] = WHOLE;
        Task { queue: super::COMPUTE, class, duration: picos(piece.work.time) + host, demand, label, ..Task::default() }
    }

    /// A transfer's task on a queue; `contention` is how much of the device it takes while it runs.
    pub fn transfer(&mut self, transfer: &Transfer, queue: u8, contention: f64, label: Label) -> Task {
        let mut demand = [0; RESOURCES];
        for (level, demand) in demand.iter_mut().enumerate().take(MAX_LEVELS) {
            self.volume.bytes[level] += transfer.bytes[level] * self.repeats();
            self.volume.sent[label.lane as usize][level] += transfer.bytes[level] * self.repeats();
            self.volume.busy[level] += transfer.busy[level] * self.repeats();
            if transfer.busy[level] > 0.0 {
                let share = (transfer.busy[level] / transfer.time).min(1.0);
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
