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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(from: f64, to: f64, columns: usize) -> Vec<(usize, String)> {
        ticks(Seconds::new(from), Seconds::new(to), columns).into_iter().map(|tick| (tick.column, tick.label)).collect()
    }

    fn expected(pairs: &[(usize, &str)]) -> Vec<(usize, String)> {
        pairs.iter().map(|(column, label)| (*column, (*label).to_string())).collect()
    }

    #[test]
    fn ticks_stand_on_round_moments() {
        // 0.35 s over 100 columns: at least 14 columns a tick are 0.049 s, so one every 0.05 s, 14.3 columns apart.
        assert_eq!(
            shown(1.2, 1.55, 100),
            expected(&[
                (0, "1.20 s"),
                (14, "1.25"),
                (28, "1.30"),
                (42, "1.35"),
                (57, "1.40"),
                (71, "1.45"),
                (85, "1.50")
            ])
        );
    }

    #[test]
    fn the_unit_follows_the_size_and_is_said_once() {
        // 7 ms over 70 columns: 14 columns are 1.4 ms, so one every 2 ms, 20 columns apart.
        assert_eq!(shown(0.0, 0.007, 70), expected(&[(0, "0 ms"), (20, "2"), (40, "4"), (60, "6")]));
        // 30 s over 60 columns: 14 columns are 7 s, so one every 10 s.
        assert_eq!(shown(0.0, 30.0, 60), expected(&[(0, "0 s"), (20, "10"), (40, "20")]));
    }

    #[test]
    fn a_window_without_length_has_no_ticks() {
        for (from, to) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert_eq!(shown(from, to, 80), []);
        }
        assert_eq!(shown(0.0, 1.0, 0), []);
    }

    proptest! {
        #[test]
        fn ticks_stay_inside_and_apart(from in 0.0..1e4f64, length in 1e-9..1e4f64, columns in 1usize..400) {
            let ticks = ticks(Seconds::new(from), Seconds::new(from + length), columns);
            prop_assert!(ticks.iter().all(|tick| tick.column < columns));
            prop_assert!(ticks.windows(2).all(|pair| pair[1].column >= pair[0].column + ROOM - 1));
            prop_assert!(ticks.len() <= columns / (ROOM - 1) + 1);
        }

        #[test]
        fn any_window_is_survived(from in proptest::num::f64::ANY, to in proptest::num::f64::ANY, columns in 0usize..400) {
            prop_assert!(ticks(Seconds::new(from), Seconds::new(to), columns).len() <= columns);
        }
    }
}
