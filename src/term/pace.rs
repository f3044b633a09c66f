//! When something is drawn: panels follow a cursor that rests, and progress is shown a few times a second.
//!
//! It is told what time it is. Not for what is drawn.

use std::time::{Duration, Instant};

/// Keys that come so soon after one another are a key held down, ...
const HELD: Duration = Duration::from_millis(150);

/// ... and the panels follow the map's cursor once it has rested for so long.
const REST: Duration = Duration::from_millis(100);

/// Whether a key is held down.
#[derive(Debug)]
pub(super) struct HeldKey {
    last: Option<Instant>,
    /// Until when panels wait.
    until: Option<Instant>,
    /// Whether the link is slow, so that panels always wait.
    slow: bool,
}

impl HeldKey {
    pub(super) const fn new(slow: bool) -> Self {
        Self { last: None, until: None, slow }
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, now: Instant) {
        let held = self.slow || self.last.is_some_and(|last| now.duration_since(last) < HELD);
        (self.last, self.until) = (Some(now), held.then(|| now + REST));
    }

    /// How long panels still wait.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }
}

/// What jobs have found and no frame shows yet.
#[derive(Debug)]
pub(super) struct Progress {
    /// Between two frames that show it.
    pause: Duration,
    last: Option<Instant>,
    due: Option<Instant>,
}

impl Progress {
    pub(super) const fn new(pause: Duration) -> Self {
        Self { pause, last: None, due: None }
    }

    /// A job found something.
    pub(super) fn found(&mut self, now: Instant) {
        // The first find is drawn at once; those that follow wait for the pause.
        let due = self.last.map_or(now, |last| last + self.pause);
        self.due.get_or_insert(due);
    }

    /// How long it may still wait, if there is something.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(now))
    }

    /// A frame shows it.
    pub(super) fn drawn(&mut self, now: Instant) {
        if self.due.take().is_some() {
            self.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests;
