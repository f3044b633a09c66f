//! One queue of one rank: where it stands in the program and what it runs.

use crate::program::{Counter, Picos, RankProgram, Task, WAITS};

use super::Iteration;

/// A position in the loops of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    pub section: u32,
    pub section_iteration: u32,
    pub block: u32,
    pub block_iteration: u32,
    pub task: u32,
}

impl Cursor {
    pub fn iteration(&self) -> Iteration {
        Iteration { block: self.block_iteration, section: self.section_iteration }
    }
}

/// A condition of the task at the head, made absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    pub counter: Counter,
    pub least: i64,
}

/// A queue: the position of its next task, and its run if it has begun.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Queue {
    pub cursor: Cursor,
    /// Whether there is a task at the cursor; none is left otherwise.
    pub has_task: bool,
    pub needs: [Option<Need>; WAITS],
    pub running: bool,
    /// What is left of the running task, at its own pace.
    pub remaining: Picos,
    /// When it ends at the present pace.
    pub end: Picos,
}

impl Queue {
    /// The queue at its first task.
    pub fn new(program: &RankProgram, queue: u8) -> Self {
        let mut new = Self::default();
        new.seek(program, queue);
        new
    }

    /// The task at the head.
    pub fn task<'p>(&self, program: &'p RankProgram) -> Option<&'p Task> {
        self.has_task.then(|| &program.tasks[self.cursor.task as usize])
    }

    /// Moves past the task at the head, to the queue's next one.
    pub fn advance(&mut self, program: &RankProgram, queue: u8) {
        self.running = false;
        self.cursor.task += 1;
        self.seek(program, queue);
    }

    /// Finds the first task of this queue at or after the cursor.
    fn seek(&mut self, program: &RankProgram, queue: u8) {
        let bit = 1 << queue;
        let cursor = &mut self.cursor;
        self.has_task = false;
        while let Some(section) = program.sections.get(cursor.section as usize) {
            if section.queues & bit == 0 || cursor.section_iteration == section.repeat {
                let block = section.blocks.end;
                let task = program.blocks.get(block as usize).map_or(0, |next| next.tasks.start);
                *cursor = Cursor { section: cursor.section + 1, block, task, ..Cursor::default() };
                continue;
            }
            if self.seek_in_section(program, queue) {
                self.has_task = true;
                self.needs = self.absolute(program);
                return;
            }
            let cursor = &mut self.cursor;
            let block = section.blocks.start;
            let task = program.blocks[block as usize].tasks.start;
            *cursor = Cursor {
                section: cursor.section,
                section_iteration: cursor.section_iteration + 1,
                block,
                block_iteration: 0,
                task,
            };
            return self.seek(program, queue);
        }
    }

    /// Finds it in what is left of this iteration of the section.
    fn seek_in_section(&mut self, program: &RankProgram, queue: u8) -> bool {
        let end = program.sections[self.cursor.section as usize].blocks.end;
        let cursor = &mut self.cursor;
        while cursor.block < end {
            let block = &program.blocks[cursor.block as usize];
            if block.queues & (1 << queue) != 0 {
                while cursor.block_iteration < block.repeat {
                    let rest = cursor.task..block.tasks.end;
                    if let Some(task) = rest.into_iter().find(|task| program.tasks[*task as usize].queue == queue) {
                        cursor.task = task;
                        return true;
                    }
                    cursor.block_iteration += 1;
                    cursor.task = block.tasks.start;
                }
            }
            cursor.block += 1;
            cursor.block_iteration = 0;
            cursor.task = block.tasks.end;
        }
        false
    }

    /// The head's waits as absolute counts.
    fn absolute(&self, program: &RankProgram) -> [Option<Need>; WAITS] {
        let cursor = &self.cursor;
        let (section, block) = (&program.sections[cursor.section as usize], &program.blocks[cursor.block as usize]);
        program.tasks[cursor.task as usize].waits.map(|wait| {
            wait.map(|wait| {
                let counter = wait.counter as usize;
                let announced = section.base[counter]
                    + i64::from(cursor.section_iteration) * section.advance[counter]
                    + block.base[counter]
                    + i64::from(cursor.block_iteration) * block.advance[counter];
                Need { counter: wait.counter, least: announced + wait.offset }
            })
        })
    }

    /// What is left of the running task, if one runs.
    pub fn remaining_if_running(&self) -> Option<Picos> {
        self.running.then_some(self.remaining)
    }

    /// Re-reads the head's waits after the cursor was moved by whole iterations.
    pub fn refresh(&mut self, program: &RankProgram) {
        if self.has_task {
            self.needs = self.absolute(program);
        }
    }
}
