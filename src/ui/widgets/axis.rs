//! Ticks of a time axis: few, on round moments, labelled with no more digits than they need.

use shardscope_engine::units::Seconds;

/// A tick: its column and its label.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// Columns from the left end.
    pub column: usize,
    /// The moment; the first tick names the unit.
    pub label: String,
}

/// Columns that a tick should have for itself.
const ROOM: usize = 14;

/// Ticks over `columns` columns for the time from `from` to `to`; none for a window without length.
pub(super) fn ticks(from: Seconds, to: Seconds, columns: usize) -> Vec<Tick> {
    let (from, to) = (from.get(), to.get());
    let length = to - from;
    if !(from.is_finite() && length.is_finite() && length > 0.0 && columns > 0) {
        return Vec::new();
    }
    let step = round_step(length * ROOM as f64 / columns.max(ROOM) as f64);
    let (factor, unit) = unit(from.abs().max(to.abs()));
    // As many digits as tell two ticks apart; the small term forgives the logarithm of 0.1.
    let digits = (-libm::floor(libm::log10(step / factor) + 1e-9)).clamp(0.0, 12.0) as usize;
    // A tick on the very edge counts as inside.
    let first = (from / step - 1e-9).ceil();
    let mut ticks: Vec<Tick> = (0..columns)
        .map(|count| (first + count as f64) * step)
        .take_while(|moment| *moment < to)
        .map(|moment| Tick {
            column: ((moment - from) / length * columns as f64).max(0.0) as usize,
            // A tick at zero may come out as -0.
            label: format!("{:.digits$}", moment / factor + 0.0),
        })
        .collect();
    if let Some(tick) = ticks.first_mut() {
        tick.label = format!("{} {unit}", tick.label);
    }
    ticks
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(least)));
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// The unit in which a moment of this size is said.
fn unit(size: f64) -> (f64, &'static str) {
    match size {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e-3, "ms"),
        s if s >= 1e-6 => (1e-6, "us"),
        _ => (1e-9, "ns"),
    }
}

#[cfg(test)]
mod tests;
