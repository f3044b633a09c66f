//! Formulas that print themselves and work themselves out, so that what is shown is what is true.
//!
//! Not for what the figures mean ([`super`]).

use std::fmt::{self, Write};
use std::ops::{Add, Div, Mul, Sub};

use crate::units::{
    Bytes, BytesPerSecond, Currency, Flop, FlopPerSecond, Joules, Money, Seconds, Watts, counted, engineering, short,
    significant,
};

use super::{Figure, Source};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
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

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The number, in the base unit.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.unit {
            Unit::Of("") => f.pad(&plain(value)),
            Unit::Of(name) => f.pad(&format!("{} {name}", plain(value))),
            Unit::Share => f.pad(&format!("{} %", significant(100.0 * value, 3))),
            Unit::Change => f.pad(&format!("{:+.1} %", 100.0 * value)),
            Unit::Seconds => Seconds::new(value).fmt(f),
            Unit::Bytes => Bytes::new(value).fmt(f),
            Unit::BytesPerSecond => BytesPerSecond::new(value).fmt(f),
            Unit::Money(currency) => Money { amount: value, currency }.fmt(f),
            Unit::Joules => Joules::new(value).fmt(f),
            Unit::Watts => Watts::new(value).fmt(f),
            Unit::Flop => Flop::new(value).fmt(f),
            Unit::FlopPerSecond => FlopPerSecond::new(value).fmt(f),
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
        Self { value: time.get(), unit: Unit::Seconds }
    }
}

impl From<Bytes> for Amount {
    fn from(bytes: Bytes) -> Self {
        Self { value: bytes.get(), unit: Unit::Bytes }
    }
}

impl From<BytesPerSecond> for Amount {
    fn from(rate: BytesPerSecond) -> Self {
        Self { value: rate.get(), unit: Unit::BytesPerSecond }
    }
}

impl From<Money> for Amount {
    fn from(money: Money) -> Self {
        Self { value: money.amount, unit: Unit::Money(money.currency) }
    }
}

impl From<Joules> for Amount {
    fn from(energy: Joules) -> Self {
        Self { value: energy.get(), unit: Unit::Joules }
    }
}

impl From<Watts> for Amount {
    fn from(power: Watts) -> Self {
        Self { value: power.get(), unit: Unit::Watts }
    }
}

impl From<Flop> for Amount {
    fn from(flop: Flop) -> Self {
        Self { value: flop.get(), unit: Unit::Flop }
    }
}

impl From<FlopPerSecond> for Amount {
    fn from(rate: FlopPerSecond) -> Self {
        Self { value: rate.get(), unit: Unit::FlopPerSecond }
    }
}

/// What goes into a formula: a name, a value, and who says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// What it is, in the words of the formula.
    pub name: String,
    /// How much.
    pub amount: Amount,
    /// Who says so.
    pub source: Source,
    /// The figure that it is, where that has an explanation of its own.
    pub figure: Option<Figure>,
}

/// How a figure follows from its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number that belongs to the formula.
    Number(f64),
    /// An input.
    Input(Box<Input>),
    /// All together.
    Sum(Vec<Formula>),
    /// The first less the second.
    Difference(Box<[Formula; 2]>),
    /// One times the other.
    Product(Vec<Formula>),
    /// The first over the second.
    Quotient(Box<[Formula; 2]>),
    /// The first to the power of the second.
    Power(Box<[Formula; 2]>),
    /// The largest.
    Largest(Vec<Formula>),
}

impl Formula {
    /// What it comes to, in base units.
    pub fn value(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Input(input) => input.amount.value,
            Self::Sum(terms) => terms.iter().map(Self::value).sum(),
            Self::Difference(pair) => pair[0].value() - pair[1].value(),
            Self::Product(factors) => factors.iter().map(Self::value).product(),
            Self::Quotient(pair) => pair[0].value() / pair[1].value(),
            Self::Power(pair) => libm::pow(pair[0].value(), pair[1].value()),
            Self::Largest(terms) => terms.iter().map(Self::value).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// The same with the inputs' values in place of their names.
    pub fn in_numbers(&self) -> String {
        self.spelled(&|input| input.amount.to_string())
    }

    /// The same with any words for the inputs.
    pub(super) fn spelled(&self, words: &dyn Fn(&Input) -> String) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, words);
        text
    }

    /// What goes into it, each once, in the order in which it is named.
    pub fn inputs(&self) -> Vec<&Input> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Input>) {
        match self {
            Self::Number(_) => {}
            Self::Input(input) => {
                if !found.iter().any(|known| known.name == input.name) {
                    found.push(input);
                }
            }
            Self::Sum(parts) | Self::Product(parts) | Self::Largest(parts) => {
                for part in parts {
                    part.collect(found);
                }
            }
            Self::Difference(pair) | Self::Quotient(pair) | Self::Power(pair) => {
                for part in pair.iter() {
                    part.collect(found);
                }
            }
        }
    }

    /// How tightly it binds: what binds less needs brackets inside what binds more.
    fn binding(&self) -> u8 {
        match self {
            Self::Sum(_) | Self::Difference(_) => 1,
            Self::Product(_) | Self::Quotient(_) => 2,
            Self::Power(_) => 3,
            Self::Number(_) | Self::Input(_) | Self::Largest(_) => 4,
        }
    }

    fn write(&self, out: &mut dyn Write, leaf: &dyn Fn(&Input) -> String) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Input(input) => out.write_str(&leaf(input)),
            Self::Sum(terms) if terms.is_empty() => out.write_char('0'),
            Self::Sum(terms) => list(out, terms, " + ", 1, leaf),
            Self::Product(factors) => list(out, factors, " x ", 2, leaf),
            Self::Difference(pair) => two(out, pair, " - ", (1, 2), leaf),
            Self::Quotient(pair) => two(out, pair, " / ", (2, 3), leaf),
            Self::Power(pair) => two(out, pair, " ^ ", (4, 4), leaf),
            Self::Largest(terms) => {
                out.write_str("max(")?;
                list(out, terms, ", ", 0, leaf)?;
                out.write_char(')')
            }
        }
    }

    /// Writes it, in brackets if it binds less than `least`.
    fn write_within(&self, out: &mut dyn Write, least: u8, leaf: &dyn Fn(&Input) -> String) -> fmt::Result {
        if self.binding() >= least {
            return self.write(out, leaf);
        }
        out.write_char('(')?;
        self.write(out, leaf)?;
        out.write_char(')')
    }
}

fn list(
    out: &mut dyn Write,
    parts: &[Formula],
    between: &str,
    least: u8,
    leaf: &dyn Fn(&Input) -> String,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.write_str(between)?;
        }
        part.write_within(out, least, leaf)?;
    }
    Ok(())
}

fn two(
    out: &mut dyn Write,
    pair: &[Formula; 2],
    between: &str,
    least: (u8, u8),
    leaf: &dyn Fn(&Input) -> String,
) -> fmt::Result {
    pair[0].write_within(out, least.0, leaf)?;
    out.write_str(between)?;
    pair[1].write_within(out, least.1, leaf)
}

/// With the inputs' names.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|input| input.name.clone())
    }
}

impl From<f64> for Formula {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Input> for Formula {
    fn from(input: Input) -> Self {
        Self::Input(Box::new(input))
    }
}

impl<T: Into<Formula>> Add<T> for Formula {
    type Output = Self;
    fn add(self, other: T) -> Self {
        match (self, other.into()) {
            (Self::Sum(mut terms), other) => {
                terms.push(other);
                Self::Sum(terms)
            }
            (first, other) => Self::Sum(vec![first, other]),
        }
    }
}

impl<T: Into<Formula>> Mul<T> for Formula {
    type Output = Self;
    fn mul(self, other: T) -> Self {
        match (self, other.into()) {
            (Self::Product(mut factors), other) => {
                factors.push(other);
                Self::Product(factors)
            }
            (first, other) => Self::Product(vec![first, other]),
        }
    }
}

impl<T: Into<Formula>> Sub<T> for Formula {
    type Output = Self;
    fn sub(self, other: T) -> Self {
        Self::Difference(Box::new([self, other.into()]))
    }
}

impl<T: Into<Formula>> Div<T> for Formula {
    type Output = Self;
    fn div(self, other: T) -> Self {
        Self::Quotient(Box::new([self, other.into()]))
    }
}
