//! What two figures must be to each other, and how far they may be from that.

use std::fmt::Debug;

/// Whether a relation holds, or else what is wrong.
pub type Verdict = Result<(), String>;

/// Sums of the same terms in another order, and a clock of whole picoseconds.
pub const ROUNDING: f64 = 1e-9;

/// Tasks are started as soon as they can be, in a fixed order: one that ends sooner may let a less urgent one take a stream or
/// a link first, and so end the step later (Graham, "Bounds on multiprocessing timing anomalies", 1969). The largest of
/// 40,000 scenarios was 6.3 %, of state on a host whose copies share links with gathers.
pub const ANOMALY: f64 = 0.08;

/// Where times change, so does how many units meet at the peak whose weights are gathered, or whose gradients wait to be reduced:
/// one or two, each of a small part of the model. The most in 5,000 scenarios was 2.6 %.
pub const IN_FLIGHT: f64 = 0.05;

/// Equal but for rounding.
pub fn equal(what: &str, value: f64, expected: f64) -> Verdict {
    let slack = ROUNDING * value.abs().max(expected.abs());
    holds((value - expected).abs() <= slack, || format!("{what} is {value}, not {expected}"))
}

/// No more than another, but for a share of it.
pub fn at_most(what: &str, value: f64, most: f64, tolerance: f64) -> Verdict {
    holds(value <= most * (1.0 + tolerance), || {
        format!("{what} is {value}, {:+.4} % of {most}", 100.0 * (value / most - 1.0))
    })
}

/// Something that is true.
pub fn holds(is_true: bool, fault: impl FnOnce() -> String) -> Verdict {
    if is_true { Ok(()) } else { Err(fault()) }
}

/// Figures of which each, wherever it stands, is a finite number and none is negative.
pub fn sound(figures: &impl Debug) -> Verdict {
    let written = format!("{figures:?}");
    let words = written.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
    let unsound = |number: &f64| !(number.is_finite() && *number >= 0.0);
    let found = words.filter_map(|word| word.parse().ok()).find(unsound);
    holds(found.is_none(), || format!("{found:?} in {written}"))
}
