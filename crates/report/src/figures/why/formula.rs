//! Formulas that print themselves and work themselves out, so that what is shown is what is true.
//!
//! Not for what the figures mean ([`super`]).

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::{Add, Div, Mul, Sub};

use crate::figures::figure::Figure;
use shardscope_engine::units::Amount;

/// The source of a formula or of a value: a paper, a convention, a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    pub kind: Authority,
    /// Where it stands.
    pub text: String,
}

/// The kind of source of a number or a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Authority {
    Paper,
    /// A vendor's or a site's statement.
    #[strum(serialize = "data sheet")]
    Sheet,
    /// Fitted or measured.
    Measurement,
    /// A way of counting.
    Convention,
    #[strum(serialize = "this scenario")]
    Scenario,
    /// A result of the simulated step.
    Simulation,
    /// Follows from the rest.
    Derived,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => write!(f, "{}", self.kind),
            text => write!(f, "{}: {text}", self.kind),
        }
    }
}

/// A figure with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub figure: Figure,
    /// Its name, which of several included: `sent into the node level`.
    pub name: String,
    /// The figure as the evaluation has it.
    pub amount: Amount,
    /// How it follows from its inputs.
    pub formula: Formula,
    /// Its meaning, in a sentence or two.
    pub about: Cow<'static, str>,
    /// Who says that it is counted like this.
    pub source: Citation,
}

/// How far a formula may be from its figure: the simulator counts whole picoseconds and whole bytes, the formula
/// does not.
const TOLERANCE: f64 = 1e-6;

impl Explanation {
    /// Whether the formula gives the figure.
    pub fn holds(&self) -> bool {
        let (stated, shown) = (self.formula.value(), self.amount.value);
        (stated - shown).abs() <= TOLERANCE * shown.abs()
    }
}

/// An input of a formula: a name, a value and its source.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaInput {
    pub name: String,
    pub amount: Amount,
    /// Where it was taken from.
    pub source: Citation,
    /// The figure that it is, where that has an explanation of its own.
    pub figure: Option<Figure>,
}

/// How a figure follows from its inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number that belongs to the formula.
    Number(f64),
    Input(Box<FormulaInput>),
    Sum(Vec<Formula>),
    /// The first less the second.
    Difference(Box<[Formula; 2]>),
    /// One times the other.
    Product(Vec<Formula>),
    /// The first over the second.
    Quotient(Box<[Formula; 2]>),
    /// The first to the power of the second.
    Power(Box<[Formula; 2]>),
    Largest(Vec<Formula>),
}

impl Formula {
    /// Its value in base units.
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

    /// The formula with the inputs' values in place of their names.
    pub fn in_numbers(&self) -> String {
        self.spelled(&|input| input.amount.to_string())
    }

    /// The formula with any words for the inputs.
    pub(super) fn spelled(&self, words: &dyn Fn(&FormulaInput) -> String) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut text, words);
        text
    }

    /// Its inputs, each once, in the order in which they are named.
    pub fn inputs(&self) -> Vec<&FormulaInput> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a FormulaInput>) {
        match self {
            Self::Number(_) => {}
            Self::Input(input) => {
                // An input that stands in a formula twice is one row.
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

    fn write(&self, out: &mut dyn Write, leaf: &dyn Fn(&FormulaInput) -> String) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Input(input) => out.write_str(&leaf(input)),
            Self::Sum(terms) if terms.is_empty() => out.write_char('0'),
            Self::Sum(terms) => list(out, terms, " + ", 1, leaf),
            Self::Product(factors) => list(out, factors, " x ", 2, leaf),
            // What is taken away binds more tightly than what it is taken from: a - b - c needs no brackets, a - (b +
            // c) does.
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
    fn write_within(&self, out: &mut dyn Write, least: u8, leaf: &dyn Fn(&FormulaInput) -> String) -> fmt::Result {
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
    leaf: &dyn Fn(&FormulaInput) -> String,
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
    leaf: &dyn Fn(&FormulaInput) -> String,
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

impl From<FormulaInput> for Formula {
    fn from(input: FormulaInput) -> Self {
        Self::Input(Box::new(input))
    }
}

impl<T: Into<Formula>> Add<T> for Formula {
    type Output = Self;
    fn add(self, other: T) -> Self {
        match (self, other.into()) {
            // a + b + c is one sum of three, and prints without brackets.
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
