//! One event of a trace, and its time.

use std::ops::Sub;

use serde_json::Value;

use shardscope_engine::units::Seconds;

/// Whole picoseconds, as in the simulator, so that an event begins exactly where the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Picoseconds(pub u64);

impl Picoseconds {
    /// In microseconds, the unit of a trace.
    pub fn micros(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl From<Seconds> for Picoseconds {
    fn from(time: Seconds) -> Self {
        Self(libm::round(time.get() * 1e12) as u64)
    }
}

impl Sub for Picoseconds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// An event as text in the file, with its sort key.
#[derive(Debug)]
pub(super) struct TraceEvent {
    pub at: u64,
    pub lasts: u64,
    pub text: String,
}

impl TraceEvent {
    pub fn new(at: u64, lasts: u64, event: &Value) -> Self {
        Self { at, lasts, text: event.to_string() }
    }
}
