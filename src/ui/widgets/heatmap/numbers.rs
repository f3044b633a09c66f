//! The form of a map's numbers - all alike, with as many digits as there is room for, three at most, or what
//! tells them apart - and where each lies between worst and best.

use crate::ui::widgets::text::{columns, width};

/// Digits that are added at most.
const MORE: usize = 2;

/// The common form of a map's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    range: (f64, f64),
    factor: f64,
    suffix: &'static str,
    decimals: usize,
    lower_is_better: bool,
}

impl Numbers {
    /// For values in `range`, in `room` columns if that leaves a digit.
    pub(super) fn new(range: Option<(f64, f64)>, room: usize) -> Self {
        let range = range.unwrap_or_default();
        let largest = range.0.abs().max(range.1.abs());
        // The bounds lie where rounding would give one digit more: 99,950 is written as 100k.
        let (factor, suffix) = match largest {
            v if v >= 99_950_000.0 => (1e6, "M"),
            v if v >= 99_950.0 => (1e3, "k"),
            _ => (1.0, ""),
        };
        let wanted = match largest / factor {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            v if v >= 0.9995 || v == 0.0 => 2,
            v => (2.0 - libm::floor(libm::log10(v))).clamp(0.0, 9.0) as usize,
        };
        let least = if largest / factor >= 9.995 { 0 } else { wanted.saturating_sub(1) };
        let with = |decimals| Self { range, factor, suffix, decimals, lower_is_better: false };
        // Digits more where the least and the most would read alike otherwise.
        let apart = |numbers: &Self| range.0 >= range.1 || numbers.text(range.0) != numbers.text(range.1);
        let wanted = (wanted..=wanted + MORE).find(|decimals| apart(&with(*decimals))).unwrap_or(wanted);
        // As many digits as there is room for; with too little room for any, the fewest.
        let fits = |numbers: &Self| usize::from(numbers.width()) <= room;
        (least..=wanted).rev().map(with).find(fits).unwrap_or(with(least))
    }

    /// Whether the lowest value is the best.
    pub(super) const fn lower_is_better(mut self, lower: bool) -> Self {
        self.lower_is_better = lower;
        self
    }

    /// The place of a value between the worst (0) and the best (1).
    pub(super) fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        match high - low {
            span if span > 0.0 && self.lower_is_better => (high - value) / span,
            span if span > 0.0 => (value - low) / span,
            _ => 1.0,
        }
    }

    /// A value's text.
    pub(super) fn text(&self, value: f64) -> String {
        format!("{:.*}{}", self.decimals, value / self.factor, self.suffix)
    }

    /// Columns of the widest number.
    pub(super) fn width(&self) -> u16 {
        columns(width(&self.text(self.range.0)).max(width(&self.text(self.range.1))))
    }
}
