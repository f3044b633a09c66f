//! A figure that users measured on a run of their own: step time, utilisation, peak memory, or memory that ran out.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::evaluate::Summary;
use crate::units::{Bytes, Seconds, precise_percent};

/// A measured figure of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OwnFigure {
    /// How long a step took.
    StepTime(Seconds),
    /// The model flop utilisation, as a share of the peak.
    Mfu(f64),
    /// The peak memory of the fullest device.
    Peak(Bytes),
    /// The run stopped for lack of memory.
    OutOfMemory {
        /// The least memory that its tensors needed: what was allocated, and what was asked for.
        least: Bytes,
        /// The least memory that its process needed: its tensors, and what allocator and runtime held beside them.
        needed: Bytes,
        /// The memory that it could use: the device's, less what other processes used.
        room: Bytes,
    },
}

/// The seconds that a step may have been measured to take: from a microsecond to twelve days.
const SECONDS: RangeInclusive<f64> = 1e-6..=1e6;

/// The utilisation that may have been measured: from a millionth of the peak on.
const SHARES: RangeInclusive<f64> = 1e-6..=1.0;

/// The bytes that a device may have been measured to hold: up to a thousand times what any has.
const BYTES: RangeInclusive<f64> = 1.0..=1e15;

impl OwnFigure {
    /// The figure, if anything can have been measured so; else what one is.
    pub fn sound(self) -> Result<Self, &'static str> {
        let memory = "a peak of memory from 1 B to 1 PB";
        let (holds, what) = match self {
            Self::StepTime(time) => (SECONDS.contains(&time.get()), "a time of a step from 1 us to 1e6 s"),
            Self::Mfu(share) => (SHARES.contains(&share), "a utilisation from 0.0001 % to 100 %"),
            Self::Peak(peak) => (BYTES.contains(&peak.get()), memory),
            Self::OutOfMemory { least, needed, room } => {
                ([least, needed, room].iter().all(|bytes| BYTES.contains(&bytes.get())), memory)
            }
        };
        if holds { Ok(self) } else { Err(what) }
    }

    /// Whether it is about the time of a step, not about memory.
    pub const fn is_of_time(self) -> bool {
        matches!(self, Self::StepTime(_) | Self::Mfu(_))
    }

    /// How far the predicted figure is from it: 0.1 where it is 10 % more. Memory that ran out is a lower bound: to
    /// predict more is no error.
    pub fn off(self, predicted: &Summary) -> f64 {
        match self {
            Self::StepTime(time) => predicted.step_time / time - 1.0,
            Self::Mfu(mfu) => predicted.mfu / mfu - 1.0,
            Self::Peak(peak) => predicted.memory.peak / peak - 1.0,
            Self::OutOfMemory { least, .. } => (predicted.memory.peak / least - 1.0).min(0.0),
        }
    }

    /// The measured seconds of a step, from a utilisation by way of the predicted step; `None` for memory.
    pub fn seconds(self, predicted: &Summary) -> Option<f64> {
        match self {
            Self::StepTime(time) => Some(time.get()),
            // The work is fixed: the utilisation falls as the time grows.
            Self::Mfu(mfu) => Some(predicted.step_time.get() * predicted.mfu / mfu),
            Self::Peak(_) | Self::OutOfMemory { .. } => None,
        }
    }

    /// Its text as a user types it.
    pub fn typed(self) -> String {
        match self {
            Self::StepTime(time) => time.to_string(),
            Self::Mfu(share) => precise_percent(share),
            Self::Peak(peak) => peak.to_string(),
            Self::OutOfMemory { least, .. } => least.to_string(),
        }
    }
}

impl FromStr for OwnFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unread = || {
            format!(
                "'{text}' is no measured figure; write a time like 3.4 s, a utilisation like 38 %, or a peak like 71 GiB"
            )
        };
        let trimmed = text.trim();
        let figure = if let Some(percent) = trimmed.strip_suffix('%') {
            percent.trim().parse::<f64>().ok().map(|percent| Self::Mfu(percent / 100.0))
        } else if let Ok(time) = trimmed.parse::<Seconds>() {
            Some(Self::StepTime(time))
        } else {
            trimmed.parse::<Bytes>().ok().map(Self::Peak)
        };
        figure.ok_or_else(unread)?.sound().map_err(|what| format!("'{text}' cannot have been measured; write {what}"))
    }
}

impl fmt::Display for OwnFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepTime(_) => f.write_str(&self.typed()),
            Self::Mfu(_) => write!(f, "{} MFU", self.typed()),
            Self::Peak(_) => write!(f, "{} peak", self.typed()),
            Self::OutOfMemory { needed, .. } => write!(f, "out of memory at {needed}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_a_time_a_share_or_a_size_and_says_which() {
        assert_eq!("3.4 s".parse(), Ok(OwnFigure::StepTime(Seconds::new(3.4))));
        assert_eq!("500 ms".parse(), Ok(OwnFigure::StepTime(Seconds::new(0.5))));
        assert_eq!("38%".parse(), Ok(OwnFigure::Mfu(0.38)));
        assert_eq!(" 38.5 % ".parse(), Ok(OwnFigure::Mfu(0.385)));
        assert_eq!("71 GiB".parse(), Ok(OwnFigure::Peak(71.0 * Bytes::GIB)));
        for (text, why) in [
            ("3.4", "3.4 s"),
            ("0 s", "from 1 us"),
            ("-1 s", "3.4 s"),
            ("1e308 s", "to 1e6 s"),
            ("1e-320 s", "from 1 us"),
            ("1e-300 %", "from 0.0001 %"),
            ("0 GiB", "from 1 B"),
            ("1e300 GiB", "71 GiB"),
            ("1e7 GiB", "to 1 PB"),
            ("120 %", "100 %"),
            ("x%", "38 %"),
        ] {
            let said = text.parse::<OwnFigure>().expect_err(text);
            assert!(said.contains(text) && said.contains(why), "{said}");
        }
    }
}
