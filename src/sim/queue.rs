//! One queue of one rank: where it stands in the program and what it runs.

use crate::program::{Code, Counter, NONE, Picos, Position, Routine, Script, Task, WHOLE};

/// What one rank runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role<'p> {
    pub code: &'p Code,
    pub script: &'p Script,
    pub rank: usize,
}

impl<'p> Role<'p> {
    /// The routine of a slot.
    pub fn routine(&self, at: &Position) -> &'p Routine {
        &self.code.routines[self.script.slot(at).routine as usize]
    }

    /// A task.
    pub fn task(&self, cursor: &Cursor) -> &'p Task {
        &self.code.tasks[cursor.task as usize]
    }

    /// What a task's slot has announced to a counter before the task's iteration of its block.
    pub fn in_block(&self, cursor: &Cursor, counter: Counter) -> i64 {
        let block = &self.code.blocks[cursor.block as usize];
        block.base[counter as usize] + i64::from(cursor.block_iteration) * block.advance[counter as usize]
    }
}

/// A condition of a task, made absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    pub counter: Counter,
    pub least: i64,
}

/// A task in a rank's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    pub at: Position,
    pub block: u32,
    pub block_iteration: u32,
    pub task: u32,
}

impl Cursor {
    /// The beginning of a slot.
    pub fn begin(at: Position) -> Self {
        Self { at, ..Self::default() }
    }

    /// The first task of a queue in a slot.
    pub fn first(role: &Role<'_>, at: Position, queue: usize) -> Option<Self> {
        let blocks = role.routine(&at).blocks.clone();
        Self::among(role, at, blocks, queue)
    }

    /// The queue's next task in the same slot.
    pub fn next(&self, role: &Role<'_>, queue: usize) -> Option<Self> {
        let next = role.task(self).next;
        if next != NONE {
            return Some(Self { task: next, ..*self });
        }
        let block = &role.code.blocks[self.block as usize];
        if self.block_iteration + 1 < block.repeat {
            return Some(Self { block_iteration: self.block_iteration + 1, task: block.first[queue], ..*self });
        }
        let rest = self.block + 1..role.routine(&self.at).blocks.end;
        Self::among(role, self.at, rest, queue)
    }

    fn among(role: &Role<'_>, at: Position, mut blocks: std::ops::Range<u32>, queue: usize) -> Option<Self> {
        blocks.find_map(|block| {
            let task = role.code.blocks[block as usize].first[queue];
            (task != NONE).then_some(Self { at, block, block_iteration: 0, task })
        })
    }
}

/// A queue that has work: its first task, and that task's run if it has begun.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Queue {
    pub cursor: Cursor,
    /// The condition that was last found not to hold.
    pub unmet: Option<Need>,
    /// What is left of the running task, at its own pace.
    pub remaining: Picos,
    /// How much longer than alone it takes, in units of [`WHOLE`].
    pub pace: u32,
    /// When it ends at that pace.
    pub end: Picos,
}

impl Default for Queue {
    fn default() -> Self {
        Self { cursor: Cursor::default(), unmet: None, remaining: 0, pace: WHOLE, end: Picos::MAX }
    }
}
