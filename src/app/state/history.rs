//! Undo and redo: the scenarios that edits left behind, and the pins beside them. It holds scenarios, not screens:
//! cursors, zoom and panels stay where they are.

use std::collections::VecDeque;
use std::sync::Arc;

use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Field, Scenario};

use crate::app::answers::pins::{Pin, are_same};
use crate::app::views::inputs::Wrong;

/// The most edits that can be undone.
const MOST: usize = 1_000;

/// The state that edits change.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The scenario as its file says it.
    pub file: ScenarioFile,
    /// The last scenario of the file that can be laid out.
    pub scenario: Scenario,
    /// Values that cannot be.
    pub wrong: Vec<Wrong>,
    /// The pinned scenarios, without evaluations.
    pub pins: Arc<[Pin]>,
}

/// The states before each edit, and those that were undone.
#[derive(Debug, Clone, Default)]
pub struct History {
    // Whole scenarios, not edits backward: an opened snapshot holds its cluster by value, and a preset that was read
    // again has changed behind the same id, so that no edit of fields would bring back what was there. Facts are
    // shared, so that an entry costs a plan and a file.
    past: VecDeque<Edited>,
    future: Vec<Edited>,
    /// The field that the last entry stepped through, as long as nothing else was asked for: a held key is one entry.
    stepping: Option<Field>,
}

impl History {
    /// Notes what was before an edit; of steps through one field, one after the other, only what was before the first.
    pub fn note(&mut self, mut before: Edited, stepped: Option<Field>) {
        // An edit after an undo begins another future: what was taken back cannot come again.
        self.future.clear();
        if stepped.is_some() && self.stepping == stepped {
            return;
        }
        self.stepping = stepped;
        // Most edits leave the pins as they are: one list serves them all.
        if let Some(last) = self.past.back().filter(|last| are_same(&last.pins, &before.pins)) {
            before.pins = Arc::clone(&last.pins);
        }
        self.past.push_back(before);
        if self.past.len() > MOST {
            self.past.pop_front();
        }
    }

    /// Whether nothing can be undone or done again: nothing was edited.
    pub fn is_empty(&self) -> bool {
        self.past.is_empty() && self.future.is_empty()
    }

    /// Something else was asked for: the next step is an entry of its own.
    pub fn settle(&mut self) {
        self.stepping = None;
    }

    /// The state before the last edit.
    pub fn undo(&mut self, now: Edited) -> Option<Edited> {
        self.settle();
        let before = self.past.pop_back()?;
        self.future.push(now);
        Some(before)
    }

    /// The state before the last undo.
    pub fn redo(&mut self, now: Edited) -> Option<Edited> {
        self.settle();
        let after = self.future.pop()?;
        self.past.push_back(now);
        Some(after)
    }

    /// How many edits can be undone, and how many redone.
    pub fn depth(&self) -> (usize, usize) {
        (self.past.len(), self.future.len())
    }
}

#[cfg(test)]
mod tests;
