//! Units of a quantity, and how it is written for people.

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
            return value.to_string();
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
