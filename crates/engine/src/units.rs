//! Quantities with a unit: what a number means is in its type.
//!
//! Every quantity is a newtype over `f64` in its base unit (byte, flop, second, byte/s, flop/s).
//! Text is read with [`FromStr`](std::str::FromStr) (`"64 GiB"`, `"200 Gb/s"`), written for people
//! with [`Display`](std::fmt::Display) (three or four significant digits) and written for machines
//! with [`Bytes::exact`], which reads back to the same bits.
//!
//! Not for words of the domain (a micro-batch, a shard), and not for the simulator's integers
//! (whole picoseconds and whole bytes), which live in [`crate::sim`].

mod amount;
mod count;
mod money;
mod quantity;
mod rounding;
mod unit;

pub use amount::{Amount, Dimension};
pub use count::read_share;
pub(crate) use count::{read_count, written_count};
pub use money::Currency;
pub use money::Money;
pub use quantity::{Bytes, BytesPerSecond, Count, Flop, FlopPerSecond, Joules, Seconds, Share, Watts};
pub(crate) use rounding::greatest_common_divisor;
pub use rounding::{ceil, nearest};
pub use unit::ParseError;
pub use unit::{Quantity, Unit};

/// What people read in place of a number that is not finite: values beyond any machine's came to it.
pub(crate) const NO_NUMBER: &str = "-";

/// A number as a text, if it is finite.
fn finite(value: f64, text: impl FnOnce() -> String) -> String {
    if value.is_finite() { text() } else { NO_NUMBER.to_owned() }
}

/// A count with thousands separated, for people: `9420` is `9,420`.
pub fn thousands(count: f64) -> String {
    if count.abs() >= 1e15 || count.is_nan() {
        return significant(count, 3);
    }
    let digits = format!("{:.0}", count.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if count <= -0.5 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with `digits` significant digits, for people: `significant(57.08, 3)` is `57.1`; with an exponent only where
/// it has more than 15 digits, or more than 12 behind the point.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return finite(value, || format!("{value}"));
    }
    // Rounded first: 9.996 with three digits is 10.0, one place further to the left.
    let mut rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let (length, magnitude) = (mantissa.len(), exponent.parse().unwrap_or(0_isize));
    let decimals = digits.cast_signed() - 1 - magnitude;
    if magnitude >= 15 || decimals > 12 {
        return rounded;
    }
    let decimals = decimals.max(0).cast_unsigned();
    match mantissa.find('.') {
        // 8.59e1 is 85.9.
        Some(point) if magnitude >= 0 && decimals > 0 => {
            rounded.truncate(length);
            rounded.remove(point);
            rounded.insert(point + magnitude.cast_unsigned(), '.');
            rounded
        }
        _ => format!("{value:.decimals$}"),
    }
}

/// Rounds to so many digits, without zeros at the end: `short(0.5, 3)` is `0.5`, `short(1.0 / 3.0, 3)` is `0.333`.
pub fn short(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    if text.contains('e') || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A count for people, three digits of a large one: `9,420`, `920k`, `1.17M`, `300B`.
pub fn counted(count: f64) -> String {
    match count {
        small if small < 1e5 => thousands(small),
        thousand if thousand < 999.5e3 => format!("{}k", significant(thousand / 1e3, 3)),
        millions if millions < 1e9 => format!("{}M", significant(millions / 1e6, 3)),
        billions if billions < 1e12 => format!("{}B", significant(billions / 1e9, 3)),
        trillions => finite(trillions, || format!("{}T", significant(trillions / 1e12, 3))),
    }
}

/// A share of a whole, for people: `4.7 %`.
pub fn percent(share: f64) -> String {
    finite(share, || format!("{:.1} %", 100.0 * share))
}

/// A percentage of three digits: `4.67 %`, `36.1 %`.
pub fn precise_percent(share: f64) -> String {
    finite(share, || format!("{} %", significant(100.0 * share, 3)))
}

/// A percentage without digits behind the point: `36 %`.
pub fn whole_percent(share: f64) -> String {
    finite(share, || format!("{:.0} %", 100.0 * share))
}

/// A percentage with no more digits than one would say: `4.7 %`, `36 %`.
pub fn rounded_percent(share: f64) -> String {
    if (100.0 * share).abs() < 9.95 { percent(share) } else { whole_percent(share) }
}

/// A relative change, for people: `+4.7 %`.
pub fn signed(change: f64) -> String {
    finite(change, || format!("{:+.1} %", 100.0 * change))
}

/// So many devices: `1 device`, `38,640 devices`.
pub fn devices(count: u32) -> String {
    match count {
        1 => "1 device".to_owned(),
        count => format!("{} devices", thousands(f64::from(count))),
    }
}

/// A large count beside bytes, where the B of a billion would be taken for theirs: `19.93e9`, `1.260e12`.
pub fn engineering(count: f64, digits: usize) -> String {
    let (unit, power) = match count.abs() {
        millions if millions < 999.5e6 => (1e6, "e6"),
        billions if billions < 999.5e9 => (1e9, "e9"),
        _ => (1e12, "e12"),
    };
    finite(count, || format!("{}{power}", significant(count / unit, digits)))
}

#[cfg(test)]
mod tests;
