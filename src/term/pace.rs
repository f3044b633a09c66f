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

/// Findings of jobs that no frame shows yet.
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
mod tests {
    use super::*;

    #[test]
    fn a_held_key_keeps_the_panels_waiting() {
        let (mut held, start) = (HeldKey::new(false), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        held.press(at(0));
        assert_eq!(held.left(at(0)), Duration::ZERO, "one key is answered at once");
        held.press(at(400));
        assert_eq!(held.left(at(400)), Duration::ZERO, "so is one that comes later");
        held.press(at(433));
        assert_eq!(held.left(at(433)), REST);
        held.press(at(466));
        assert_eq!(held.left(at(500)), Duration::from_millis(66), "100 ms from 466 on");
        assert_eq!(held.left(at(600)), Duration::ZERO);
        let mut thrifty = HeldKey::new(true);
        thrifty.press(at(0));
        assert_eq!(thrifty.left(at(0)), REST, "over a slow line they always wait");
    }

    #[test]
    fn progress_is_drawn_at_once_and_then_after_each_pause() {
        let (mut progress, start) = (Progress::new(Duration::from_millis(100)), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(progress.left(at(0)), None, "nothing was found");
        progress.found(at(0));
        assert_eq!(progress.left(at(0)), Some(Duration::ZERO));
        progress.drawn(at(0));
        progress.found(at(10));
        progress.found(at(30));
        assert_eq!(progress.left(at(30)), Some(Duration::from_millis(70)), "100 ms after the first frame");
        progress.drawn(at(100));
        assert_eq!(progress.left(at(100)), None);
        progress.drawn(at(150));
        progress.found(at(190));
        assert_eq!(progress.left(at(190)), Some(Duration::from_millis(10)), "the frame at 150 showed nothing new");
    }
}
