//! The axes of a map: a field, and the values that it takes.

use std::fmt;
use std::str::FromStr;

use crate::scenario::field::{Field, Type, Value};
use crate::scenario::file::printable;

/// An axis with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The field that varies.
    pub field: Field,
    /// The values, in order. Presets must have been looked up before a cell is evaluated.
    pub values: Vec<Value>,
}

/// The most values that an axis may have.
const MOST_VALUES: u32 = 1 << 16;

impl Axis {
    /// Reads `1,2,4`, `1..64` (doubling) or `1..64:3` (step) for what is counted, and lists of anything else. A range contains
    /// its end: `1..24` is 1, 2, 4, 8, 16 and 24.
    pub fn parse(field: Field, values: &str) -> Result<Self, String> {
        let mut read = Vec::new();
        for item in values.split(',').map(str::trim) {
            match (field.spec().takes, item.split_once("..")) {
                (Type::Count(..), Some((from, to))) => read.extend(range(field, from, to)?),
                (Type::Factor | Type::Share, Some(_)) => {
                    return Err("a range is for counts: list factors, like 0.5,1,2".to_owned());
                }
                _ => read.push(value(field, item)?),
            }
            if read.len() > MOST_VALUES as usize {
                return Err(format!("an axis has at most {MOST_VALUES} values"));
            }
        }
        Ok(Self { field, values: read })
    }

    /// Its word on the command line.
    pub fn word(&self) -> &'static str {
        word(self.field)
    }
}

/// As it is read: `nodes=1,2,4`.
impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(|value| self.field.spec().takes.show(value)).collect();
        write!(f, "{}={}", self.word(), values.join(","))
    }
}

/// The word of a field as an axis; `memory` is that of the factor on the device's memory.
pub fn word(field: Field) -> &'static str {
    field.spec().axis.word
}

impl FromStr for Axis {
    type Err = String;

    /// Reads `AXIS=VALUES`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text.split_once('=').ok_or("an axis is written AXIS=VALUES, like nodes=1..64")?;
        let field = Field::from_axis(name).ok_or_else(|| {
            let words: Vec<&str> = Field::all().map(word).collect();
            format!("an axis is one of {}", words.join(", "))
        })?;
        Self::parse(field, values)
    }
}

fn value(field: Field, text: &str) -> Result<Value, String> {
    let takes = field.spec().takes;
    match (takes, takes.read(text)) {
        (_, Ok(value)) if takes.holds(&value) => Ok(value),
        (Type::Count(..) | Type::Factor | Type::Share, _) | (_, Ok(_)) => {
            Err(format!("'{}' is not {}", printable(text), takes.range()))
        }
        (_, refused) => refused,
    }
}

fn range(field: Field, from: &str, to: &str) -> Result<Vec<Value>, String> {
    let (to, step) = to.split_once(':').map_or((to, None), |(to, step)| (to, Some(step)));
    let number = |text: &str| value(field, text)?.get::<u32>().ok_or_else(|| "a range is for counts".to_owned());
    let (first, last) = (number(from)?, number(to)?);
    if first > last {
        return Err(format!("the range {first}..{last} is empty: its first number is the larger one"));
    }
    let step = step.map(number).transpose()?;
    if step == Some(0) {
        return Err("a range steps by 1 or more".to_owned());
    }
    // One value more than allowed is enough for the caller to refuse the axis.
    let mut counts: Vec<u32> = match step {
        Some(step) => (first..=last).step_by(step as usize).take(MOST_VALUES as usize + 1).collect(),
        None => std::iter::successors(Some(first), |count| count.checked_mul(2).filter(|next| next > count))
            .take_while(|count| *count <= last)
            .collect(),
    };
    if counts.last().is_some_and(|reached| *reached < last) {
        counts.push(last);
    }
    Ok(counts.into_iter().map(Value::Count).collect())
}
