//! A step in compact form: tasks in blocks that repeat (layers), blocks one after the other in
//! routines, and per rank a script: slots that run a routine, in sections that repeat (micro-batches),
//! in rounds that repeat (groups of micro-batches).
//!
//! Routines are listed once, whoever runs them and how often: ranks and stages that do the same share them.

use std::ops::Range;

use super::build::Volume;
use super::label::{Activity, Part};
use super::task::{COMPUTE, COUNTERS, Counter, QUEUES, Task, WAITS, Wait};

/// Tasks that repeat together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Iterations.
    pub repeat: u32,
    /// Its tasks, by index.
    pub tasks: Range<u32>,
    /// How far one iteration moves each counter.
    pub advance: [i64; COUNTERS],
    /// What the routine's earlier blocks have announced.
    pub base: [i64; COUNTERS],
    /// Each queue's first task, by index; [`super::NONE`] if it has none.
    pub first: [u32; QUEUES],
}

/// Blocks one after the other: what a slot does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Routine {
    /// Its blocks, by index.
    pub blocks: Range<u32>,
    /// How far it moves each counter.
    pub advance: [i64; COUNTERS],
    /// Queues that have a task in it, as bits.
    pub queues: u8,
    /// Tasks of each queue, repeats counted.
    pub tasks: [u32; QUEUES],
    /// What compute waits for to begin with it, beside the slots before, counted from what they have
    /// announced; `None` if something else in it may start before compute does.
    pub entry: Option<[Option<Wait>; WAITS]>,
    /// Whether nothing else in it starts together with compute.
    pub alone: bool,
    /// What its tasks move and need, repeats counted.
    pub volume: Volume,
}

/// What ranks do, listed once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Code {
    /// Tasks of all blocks.
    pub tasks: Vec<Task>,
    /// Blocks of all routines.
    pub blocks: Vec<Block>,
    /// Routines.
    pub routines: Vec<Routine>,
    /// The queue whose tasks raise each counter of the own rank.
    pub producer: [u8; COUNTERS],
}

/// One run of a routine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Slot {
    /// The routine, by index.
    pub routine: u32,
    /// What the section's earlier slots have announced.
    pub base: [u32; COUNTERS],
    /// Layer and micro-batch that its tasks' labels count from.
    pub layer: u32,
    /// The micro-batch, when the slot runs first.
    pub micro_batch: u32,
}

/// Slots that repeat together, each time for the next micro-batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Iterations.
    pub repeat: u32,
    /// Its slots, by index into the rank's.
    pub slots: Range<u32>,
    /// How far one iteration moves each counter.
    pub advance: [i64; COUNTERS],
    /// What the round's earlier sections have announced.
    pub base: [i64; COUNTERS],
}

/// Sections that repeat together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// Iterations.
    pub repeat: u32,
    /// Its sections, by index into the rank's.
    pub sections: Range<u32>,
    /// How far one iteration moves each counter.
    pub advance: [i64; COUNTERS],
    /// What earlier rounds have announced.
    pub base: [i64; COUNTERS],
    /// Micro-batches from one iteration to the next.
    pub micro_batches: u32,
}

/// What one rank does in a step: rounds, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Rounds.
    pub rounds: Vec<Round>,
    /// Their sections.
    pub sections: Vec<Section>,
    /// The sections' slots.
    pub slots: Vec<Slot>,
}

/// One run of one slot: a place in a script's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The round, by index.
    pub round: u32,
    /// Its iteration.
    pub round_iteration: u32,
    /// The section, by index.
    pub section: u32,
    /// Its iteration.
    pub section_iteration: u32,
    /// The slot, by index.
    pub slot: u32,
}

/// Where a task stands in all loops around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The slot that it belongs to.
    pub at: Position,
    /// The iteration of its block.
    pub block_iteration: u32,
}

impl Code {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.tasks.clear();
        self.blocks.clear();
        self.routines.clear();
        self.producer = [COMPUTE; COUNTERS];
    }
}

impl Script {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.rounds.clear();
        self.sections.clear();
        self.slots.clear();
    }

    /// The first slot; `None` if there is nothing to do.
    pub fn first(&self) -> Option<Position> {
        (!self.slots.is_empty()).then(Position::default)
    }

    /// The slot after another; `None` after the last.
    pub fn after(&self, mut at: Position) -> Option<Position> {
        let section = &self.sections[at.section as usize];
        at.slot += 1;
        if at.slot < section.slots.end {
            return Some(at);
        }
        at.section_iteration += 1;
        if at.section_iteration < section.repeat {
            at.slot = section.slots.start;
            return Some(at);
        }
        (at.section, at.section_iteration) = (at.section + 1, 0);
        let round = &self.rounds[at.round as usize];
        if at.section == round.sections.end {
            at.round_iteration += 1;
            if at.round_iteration < round.repeat {
                (at.section, at.slot) =
                    (round.sections.start, self.sections[round.sections.start as usize].slots.start);
            } else {
                (at.round, at.round_iteration) = (at.round + 1, 0);
            }
        }
        ((at.round as usize) < self.rounds.len()).then_some(at)
    }

    /// The slot at a position.
    pub fn slot(&self, at: &Position) -> &Slot {
        &self.slots[at.slot as usize]
    }

    /// What has been announced to a counter before a slot begins.
    pub fn announced(&self, at: &Position, counter: Counter) -> i64 {
        self.announcer(at)(counter as usize)
    }

    /// The same of all counters.
    pub fn all_announced(&self, at: &Position) -> [i64; COUNTERS] {
        std::array::from_fn(self.announcer(at))
    }

    fn announcer(&self, at: &Position) -> impl Fn(usize) -> i64 {
        let (round, section) = (&self.rounds[at.round as usize], &self.sections[at.section as usize]);
        let (slot, [rounds, sections]) = (self.slot(at), [at.round_iteration, at.section_iteration].map(i64::from));
        move |counter| {
            let round = round.base[counter] + rounds * round.advance[counter];
            round + section.base[counter] + sections * section.advance[counter] + i64::from(slot.base[counter])
        }
    }

    /// Its slots, each with how often it runs.
    fn runs(&self) -> impl Iterator<Item = (&Slot, u64)> {
        self.rounds.iter().flat_map(move |round| {
            let sections = &self.sections[round.sections.start as usize..round.sections.end as usize];
            sections.iter().flat_map(move |section| {
                let repeat = u64::from(round.repeat) * u64::from(section.repeat);
                let slots = &self.slots[section.slots.start as usize..section.slots.end as usize];
                slots.iter().map(move |slot| (slot, repeat))
            })
        })
    }

    /// What all its tasks move and need.
    pub fn volume(&self, code: &Code) -> Volume {
        let mut runs = vec![0; code.routines.len()];
        self.runs().for_each(|(slot, times)| runs[slot.routine as usize] += times);
        let mut volume = Volume::default();
        for (routine, times) in code.routines.iter().zip(runs) {
            volume.add(&routine.volume, times);
        }
        volume
    }

    /// Seconds that they would take one after the other.
    pub fn serial(&self, code: &Code) -> f64 {
        self.runs().map(|(slot, times)| code.routines[slot.routine as usize].volume.serial * times as f64).sum()
    }

    /// How many tasks a step runs, repeats counted.
    pub fn task_count(&self, code: &Code) -> u64 {
        let tasks = |slot: &Slot| code.routines[slot.routine as usize].tasks.into_iter().map(u64::from).sum::<u64>();
        self.runs().map(|(slot, times)| times * tasks(slot)).sum()
    }

    /// What a task is in one run.
    pub fn activity(&self, task: &Task, place: &Place) -> Activity {
        let (at, first) = (&place.at, task.label.first);
        let Some(slot) = self.slots.get(at.slot as usize) else { return first };
        let from = if matches!(first.part, Part::Layer | Part::Attention | Part::Mlp) { slot.layer } else { 0 };
        let moved = task.label.layer_step * place.block_iteration.cast_signed();
        let rounds = self.rounds.get(at.round as usize).map_or(0, |round| at.round_iteration * round.micro_batches);
        Activity {
            // Both count from the slot's, and may be less.
            layer: from.wrapping_add(first.layer).wrapping_add_signed(moved),
            micro_batch: first.micro_batch.wrapping_add(slot.micro_batch) + at.section_iteration + rounds,
            ..first
        }
    }
}

/// The producer of a counter, if it is a queue of the own rank.
impl Code {
    /// The queue whose tasks raise a counter; `None` if another rank does.
    pub fn producer(&self, counter: Counter) -> Option<u8> {
        (!counter.remote()).then(|| self.producer[counter as usize])
    }
}
