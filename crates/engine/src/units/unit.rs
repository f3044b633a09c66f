//! Units of a quantity: reading a number with one, writing it for people, and so that reading gives the same bits.

use std::fmt;

use crate::text::printable;

/// One spelling of a unit: its text and how many base units it holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// The spelling, as in a file (`GiB`, `Gb/s`).
    pub text: &'static str,
    /// How many base units one of it is.
    pub factor: f64,
    /// Whether it is used to print for people (`GiB`) or only understood (`Gb/s`).
    pub shown: bool,
}

/// A quantity with units.
pub trait Quantity: Copy + Sized {
    /// Its name in a message.
    const NAME: &'static str;
    /// An example for a message.
    const EXAMPLE: &'static str;
    /// Its units, ascending; the first is the base unit.
    const UNITS: &'static [Unit];

    /// From a number of base units.
    fn from_base(value: f64) -> Self;
    /// The number of base units.
    fn base(self) -> f64;

    /// For people, in the largest unit that leaves it above 1, with so many significant digits: `17.886 s`.
    fn rounded(self, digits: usize) -> String {
        let value = self.base();
        if !value.is_finite() {
            return super::NO_NUMBER.to_owned();
        }
        let base = &Self::UNITS[0];
        let fits = |unit: &&Unit| unit.shown && value.abs() >= unit.factor * 0.9995;
        let largest = |a: &&Unit, b: &&Unit| a.factor.total_cmp(&b.factor);
        let smallest = || Self::UNITS.iter().filter(|unit| unit.shown).min_by(largest).unwrap_or(base);
        let unit = match value {
            0.0 => base,
            _ => Self::UNITS.iter().filter(fits).max_by(largest).unwrap_or_else(smallest),
        };
        format!("{} {}", super::significant(value / unit.factor, digits), unit.text)
    }
}

/// Why a text is no quantity, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(pub(super) String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// Reads `"25 GB/s"` (the space is optional); a bare number is refused, a negative or infinite one too.
pub(super) fn parse<Q: Quantity>(text: &str) -> Result<Q, ParseError> {
    let trimmed = text.trim();
    let split = unit_start(trimmed);
    let (number, unit) = (trimmed[..split].trim(), trimmed[split..].trim());
    let shown: String = printable(trimmed).chars().take(40).collect();
    let wrong = |why: &str| {
        let units: Vec<&str> = Q::UNITS.iter().map(|unit| unit.text).collect();
        ParseError(format!(
            "'{shown}' is not {}: {why}; write it like \"{}\" (units: {})",
            Q::NAME,
            Q::EXAMPLE,
            units.join(", ")
        ))
    };
    let value: f64 = number.replace('_', "").parse().map_err(|_| wrong("it does not begin with a number"))?;
    if !value.is_finite() || value < 0.0 {
        return Err(wrong("the number must be finite and not negative"));
    }
    if unit.is_empty() {
        return Err(wrong("the unit is missing"));
    }
    let unit = Q::UNITS.iter().find(|known| known.text == unit).ok_or_else(|| wrong("the unit is unknown"))?;
    let value = value * unit.factor;
    if !value.is_finite() {
        return Err(wrong("it is larger than any number here"));
    }
    Ok(Q::from_base(value))
}

/// The shortest text that reads back to the same bits.
pub(super) fn exact<Q: Quantity>(quantity: Q) -> String {
    let value = quantity.base();
    let written = |unit: &Unit| format!("{} {}", value / unit.factor, unit.text);
    let same = |text: &String| parse::<Q>(text).is_ok_and(|back| back.base().to_bits() == value.to_bits());
    let base = written(&Q::UNITS[0]);
    Q::UNITS.iter().map(written).filter(same).min_by_key(String::len).unwrap_or(base)
}

/// Where the unit begins: at the first letter that is not the exponent of the number.
fn unit_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit_after = |at: usize| match bytes.get(at + 1) {
        Some(b'+' | b'-') => bytes.get(at + 2).is_some_and(u8::is_ascii_digit),
        Some(next) => next.is_ascii_digit(),
        None => false,
    };
    for (at, c) in text.char_indices() {
        let exponent = matches!(c, 'e' | 'E') && at > 0 && digit_after(at);
        let number = c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | '_') || exponent;
        if !number {
            return at;
        }
    }
    text.len()
}
