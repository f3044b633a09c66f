//! A number and what it counts, as people read it.

use std::fmt;

use super::{
    Bytes, BytesPerSecond, Currency, Flop, FlopPerSecond, Joules, Money, NO_NUMBER, Seconds, Watts, counted,
    engineering, precise_percent, short, signed, significant, thousands,
};

/// The dimension of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Things with a name, or nothing at all.
    Of(&'static str),
    /// A share of a whole, shown in percent.
    Share,
    /// A relative change, shown in percent with its sign.
    Change,
    /// Time.
    Seconds,
    /// Memory or traffic.
    Bytes,
    /// A rate of transfer.
    BytesPerSecond,
    /// Money.
    Money(Option<Currency>),
    /// Energy.
    Joules,
    /// Power.
    Watts,
    /// Arithmetic.
    Flop,
    /// A rate of arithmetic.
    FlopPerSecond,
}

impl Dimension {
    /// The unit of [`Amount::value`], as files name it; nothing for a ratio.
    pub const fn base_unit(self) -> &'static str {
        match self {
            Self::Of(name) => name,
            Self::Share | Self::Change | Self::Money(_) => "",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes/s",
            Self::Joules => "J",
            Self::Watts => "W",
            Self::Flop => "flop",
            Self::FlopPerSecond => "flop/s",
        }
    }

    /// How much the unit is that files count in.
    const fn in_files(self) -> f64 {
        match self {
            Self::Joules => 3.6e6,
            Self::FlopPerSecond => 1e12,
            _ => 1.0,
        }
    }

    /// The unit of a column of such numbers, which all rows share.
    pub fn column_unit(self) -> String {
        match self {
            Self::Of(_) | Self::Money(None) => String::new(),
            Self::Share | Self::Change => "%".to_owned(),
            Self::Seconds => "s".to_owned(),
            Self::Bytes => "GiB".to_owned(),
            Self::BytesPerSecond => "B/s".to_owned(),
            Self::Money(Some(currency)) => currency.to_string(),
            Self::Joules => "kWh".to_owned(),
            Self::Watts => "W".to_owned(),
            Self::Flop => "flop".to_owned(),
            Self::FlopPerSecond => "TFLOP/s".to_owned(),
        }
    }
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// In base units: seconds, bytes, flop, joules, shares of one.
    pub value: f64,
    /// The dimension, which names the base unit.
    pub unit: Dimension,
}

impl Amount {
    /// The number in [`Dimension::column_unit`].
    pub fn in_column(self) -> f64 {
        match self.unit {
            Dimension::Share | Dimension::Change => 100.0 * self.value,
            Dimension::Bytes => Bytes::new(self.value).gib(),
            unit => self.value / unit.in_files(),
        }
    }

    /// The number as files have it: shares as they are, the rest as in a column; nothing for what is not finite.
    pub fn in_files(self) -> Option<f64> {
        // Keys say the unit of a column (`energy_kwh`); bytes and shares are exact instead, since scripts add them up.
        let value = self.value / self.unit.in_files();
        value.is_finite().then_some(value)
    }

    /// A number that [`Amount::in_files`] gave.
    pub fn from_file(value: f64, unit: Dimension) -> Self {
        Self { value: value * unit.in_files(), unit }
    }

    /// A number in the unit of a column, for people: counts, money and energy whole, the rest with three digits.
    /// Days are no count: most trainings take few.
    pub fn in_column_text(unit: Dimension, value: f64) -> String {
        match unit {
            Dimension::Of("days") => significant(value, 3),
            Dimension::Of(_) | Dimension::Money(_) | Dimension::Joules => thousands(value),
            _ => significant(value, 3),
        }
    }

    /// Less than one of the days of a training: a tuning takes hours or minutes, and is shown in these.
    fn part_of_day(self) -> Option<Seconds> {
        let part = self.unit == Dimension::Of("days") && self.value > 0.0 && self.value < 1.0;
        part.then(|| Seconds::DAY * self.value)
    }

    /// The number with its unit, where nothing else names what is counted.
    pub fn in_words(self) -> String {
        match self.unit {
            _ if self.part_of_day().is_some() => self.to_string(),
            Dimension::Of(name) if !name.is_empty() && self.value.is_finite() => format!("{} {name}", self.in_row()),
            _ => self.in_row(),
        }
    }

    /// The number with its unit, to two digits: `4.5 min`, `7,700 tokens/s`.
    pub fn in_rough_words(self) -> String {
        let words = self.in_words();
        let (number, unit) = words.split_once(' ').map_or((&*words, None), |(number, unit)| (number, Some(unit)));
        let Ok(number) = number.replace(',', "").parse::<f64>() else { return words };
        // `significant` leaves the digits of a whole number as they are.
        let two = format!("{number:.1e}").parse().unwrap_or(number);
        let rounded = if number.abs() >= 100.0 { thousands(two) } else { significant(two, 2) };
        unit.map_or_else(|| rounded.clone(), |unit| format!("{rounded} {unit}"))
    }

    /// The number with its unit, for a row that names what is counted.
    pub fn in_row(self) -> String {
        match self.unit {
            Dimension::Of(_) => Self::in_column_text(self.unit, self.value),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.unit {
            _ if !value.is_finite() => f.pad(NO_NUMBER),
            Dimension::Of("") => f.pad(&plain(value)),
            _ if self.part_of_day().is_some() => self.part_of_day().unwrap_or_default().fmt(f),
            Dimension::Of(name) => f.pad(&format!("{} {name}", plain(value))),
            Dimension::Share => f.pad(&precise_percent(value)),
            Dimension::Change => f.pad(&signed(value)),
            Dimension::Seconds => Seconds::new(value).fmt(f),
            Dimension::Bytes => Bytes::new(value).fmt(f),
            Dimension::BytesPerSecond => BytesPerSecond::new(value).fmt(f),
            Dimension::Money(currency) => Money { amount: value, currency }.fmt(f),
            Dimension::Joules => Joules::new(value).fmt(f),
            Dimension::Watts => Watts::new(value).fmt(f),
            Dimension::Flop => Flop::new(value).fmt(f),
            Dimension::FlopPerSecond => FlopPerSecond::new(value).fmt(f),
        }
    }
}

/// A count as such, anything else with four digits.
fn plain(value: f64) -> String {
    if value.abs() >= 999.5e6 {
        return engineering(value, 3);
    }
    if value.abs() >= 1.0 && (value.fract() == 0.0 || value.abs() >= 1e4) { counted(value) } else { short(value, 4) }
}

impl From<Seconds> for Amount {
    fn from(time: Seconds) -> Self {
        Self { value: time.get(), unit: Dimension::Seconds }
    }
}

impl From<Bytes> for Amount {
    fn from(bytes: Bytes) -> Self {
        Self { value: bytes.get(), unit: Dimension::Bytes }
    }
}

impl From<BytesPerSecond> for Amount {
    fn from(rate: BytesPerSecond) -> Self {
        Self { value: rate.get(), unit: Dimension::BytesPerSecond }
    }
}

impl From<Money> for Amount {
    fn from(money: Money) -> Self {
        Self { value: money.amount, unit: Dimension::Money(money.currency) }
    }
}

impl From<Watts> for Amount {
    fn from(power: Watts) -> Self {
        Self { value: power.get(), unit: Dimension::Watts }
    }
}

impl From<Flop> for Amount {
    fn from(flop: Flop) -> Self {
        Self { value: flop.get(), unit: Dimension::Flop }
    }
}

impl From<FlopPerSecond> for Amount {
    fn from(rate: FlopPerSecond) -> Self {
        Self { value: rate.get(), unit: Dimension::FlopPerSecond }
    }
}
