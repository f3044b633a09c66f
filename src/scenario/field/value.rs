//! Values of fields, typed: what an edit carries and an axis lists. Text is read and written at the edges only: files,
//! flags and what is typed on the screen.

use std::fmt;
use std::num::{IntErrorKind, ParseIntError};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::{Extent, OneOf, Precision, Recompute, Sharding, Word, Words};
use crate::stack::{Calibration, Stack};

/// What a field's values are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// The id of a preset.
    Id,
    /// A whole number, both ends included.
    Count(u32, u32),
    /// What-if factor on the hardware; 1 leaves it as it is.
    Factor,
    /// A length in tokens, of any size.
    Tokens,
    /// `on` or `off`.
    Switch,
    /// A level of the cluster, or a count of ranks.
    Extent,
    /// What backward computes again.
    Recompute,
    /// One of a few words.
    OneOf(&'static Words),
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The id of a preset, which a library has still to look up before a scenario can take it.
    Id(Arc<str>),
    /// A preset that was looked up.
    Preset(Resolved),
    /// A whole number.
    Count(u32),
    /// A factor, or a length in tokens.
    Number(f64),
    /// On or off.
    Switch(bool),
    /// An extent.
    Extent(Extent),
    /// What backward computes again.
    Recompute(Recompute),
    /// One of a few words.
    Word(Word),
}

/// A preset with what it brings along, so that a scenario takes it without asking anyone.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// A cluster, and the precision that is trained in on it.
    Cluster(Arc<Cluster>, Precision),
    /// A stack and its calibration.
    Stack(Arc<Stack>, Arc<Calibration>),
    /// A model, and the sequence length that goes with it.
    Model(Arc<Model>, u32),
    /// A strategy's id, and the placement of the state that goes with it.
    Strategy(Arc<str>, Sharding),
}

impl Resolved {
    /// The id under which it was looked up.
    pub fn id(&self) -> &str {
        match self {
            Self::Cluster(cluster, _) => &cluster.id,
            Self::Stack(stack, _) => &stack.id,
            Self::Model(model, _) => &model.id,
            Self::Strategy(id, _) => id,
        }
    }
}

/// A type that a [`Value`] can hold, and be asked for.
pub trait Typed: Sized {
    /// The value, if it is of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! typed {
    ($($type:ty = $variant:ident),+ $(,)?) => {
        $(
            impl From<$type> for Value {
                fn from(value: $type) -> Self {
                    Self::$variant(value)
                }
            }

            impl Typed for $type {
                fn from_value(value: &Value) -> Option<Self> {
                    match value {
                        Value::$variant(held) => Some(held.clone()),
                        _ => None,
                    }
                }
            }
        )+
    };
}

typed!(u32 = Count, f64 = Number, bool = Switch, Extent = Extent, Recompute = Recompute);

impl<T: OneOf> From<T> for Value {
    fn from(choice: T) -> Self {
        Self::Word(choice.into())
    }
}

impl<T: OneOf> Typed for T {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word(word) => T::from_word(*word),
            _ => None,
        }
    }
}

impl Value {
    /// The value as a type of the domain; `None` if it is of another one.
    pub fn get<T: Typed>(&self) -> Option<T> {
        T::from_value(self)
    }

    /// Puts the value into its place; says whether it was of that place's type.
    #[must_use]
    pub fn put<T: Typed>(&self, place: &mut T) -> bool {
        self.get().map(|value| *place = value).is_some()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.pad(id),
            Self::Preset(preset) => f.pad(preset.id()),
            Self::Count(count) => f.pad(&count.to_string()),
            Self::Number(number) => f.pad(&number.to_string()),
            Self::Switch(on) => f.pad(if *on { "on" } else { "off" }),
            Self::Extent(extent) => extent.fmt(f),
            Self::Recompute(recompute) => recompute.fmt(f),
            Self::Word(word) => f.pad(word.text()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Id(id) => id.serialize(serializer),
            Self::Preset(preset) => preset.id().serialize(serializer),
            Self::Count(count) => count.serialize(serializer),
            Self::Number(number) => number.serialize(serializer),
            Self::Switch(on) => on.serialize(serializer),
            Self::Extent(extent) => extent.serialize(serializer),
            Self::Recompute(recompute) => recompute.serialize(serializer),
            Self::Word(word) => word.text().serialize(serializer),
        }
    }
}

impl Type {
    /// Reads a value as people write it; else what to write instead.
    pub fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Id if text.is_empty() || text.chars().any(char::is_control) => {
                Err("write an id, as `shardscope presets` lists them".to_owned())
            }
            Self::Id => Ok(Value::Id(text.into())),
            Self::Count(..) => count(text).map(Value::Count),
            Self::Factor => number(text).ok_or_else(|| "write a factor, like 0.5".to_owned()),
            Self::Tokens => number(text).ok_or_else(|| "write a number, like 300e9".to_owned()),
            Self::Switch => match text {
                "on" => Ok(Value::Switch(true)),
                "off" => Ok(Value::Switch(false)),
                _ => Err("write on or off".to_owned()),
            },
            Self::Extent => text.parse().map(Value::Extent),
            Self::Recompute => text.parse().map(Value::Recompute),
            Self::OneOf(words) => words.read(text).map(Value::Word),
        }
    }

    /// A value as people write it: `3e11` tokens.
    pub fn show(self, value: &Value) -> String {
        match (self, value) {
            (Self::Tokens, Value::Number(tokens)) => format!("{tokens:e}"),
            (_, value) => value.to_string(),
        }
    }

    /// Whether its values are few enough to be chosen from a list, rather than typed.
    pub const fn is_listed(self) -> bool {
        match self {
            Self::Id | Self::Switch | Self::Extent | Self::Recompute | Self::OneOf(_) => true,
            Self::Count(..) | Self::Factor | Self::Tokens => false,
        }
    }

    /// Reads a value as a file has it.
    pub(in crate::scenario) fn deserialize<'de, D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self {
            Self::Id => Arc::deserialize(from).map(Value::Id),
            Self::Count(..) => u32::deserialize(from).map(Value::Count),
            Self::Factor | Self::Tokens => f64::deserialize(from).map(Value::Number),
            Self::Switch => bool::deserialize(from).map(Value::Switch),
            Self::Extent => Extent::deserialize(from).map(Value::Extent),
            Self::Recompute => Recompute::deserialize(from).map(Value::Recompute),
            Self::OneOf(words) => {
                words.read(&String::deserialize(from)?).map(Value::Word).map_err(serde::de::Error::custom)
            }
        }
    }
}

/// Reads a whole number as people write it: `2048` or `2_048`.
pub fn count(text: &str) -> Result<u32, String> {
    text.replace('_', "").parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large: write a smaller whole number, like 8".to_owned(),
        _ => "write a whole number, like 8".to_owned(),
    })
}

/// Reads a number of any size: `300e9` or `300_000_000_000`.
fn number(text: &str) -> Option<Value> {
    let number = text.replace('_', "").parse::<f64>().ok()?;
    number.is_finite().then_some(Value::Number(number))
}
