//! Values of fields, typed: what an edit carries and an axis lists. Text is read and written at the edges only: files,
//! flags and what is typed on the screen.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::{
    BesideModel, Capacity, DispatchFormats, Extent, GlobalBatch, HostModules, Imbalance, LoraTargets, OneOf, Precision,
    Recompute, RecomputeModules, Sharding, StageSizes, Word, Words,
};
use crate::stack::{Calibration, Stack};
use crate::units::{Money, read_count, read_share, written_count};

/// The most that a what-if factor on the hardware can be.
const MOST_FACTOR: f64 = 1e6;

/// The longest training in tokens: a million times what anyone has. What follows from it, days, money and energy, stays
/// finite.
const MOST_TOKENS: f64 = 1e20;

/// What a field's values are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// The id of a preset.
    Id,
    /// A whole number, both ends included.
    Count(u32, u32),
    /// What-if factor on the hardware; 1 leaves it as it is.
    Factor,
    /// A part of a whole; 1 is all of it.
    Share,
    /// A length in tokens, of any size.
    Tokens,
    /// An amount of money.
    Money,
    /// A global batch.
    Batch,
    /// `on` or `off`.
    Switch,
    /// A level of the cluster, or a count of ranks.
    Extent,
    /// What backward computes again.
    Recompute,
    /// Modules that selective recompute repeats.
    RecomputeModules,
    /// Modules whose inputs the host keeps.
    HostModules,
    /// Layers of each pipeline stage.
    StageSizes,
    /// How evenly tokens are spread over experts.
    Imbalance,
    /// The tokens that an expert takes.
    Capacity,
    /// The formats of the exchanges of tokens with their experts.
    DispatchFormats,
    /// Matrices of a layer that have adapters.
    LoraTargets,
    /// A model beside the one that is trained.
    Beside,
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
    /// An amount of money.
    Money(Money),
    /// A global batch.
    Batch(GlobalBatch),
    /// On or off.
    Switch(bool),
    /// An extent.
    Extent(Extent),
    /// What backward computes again.
    Recompute(Recompute),
    /// Modules that selective recompute repeats.
    RecomputeModules(RecomputeModules),
    /// Modules whose inputs the host keeps.
    HostModules(HostModules),
    /// Layers of each pipeline stage.
    StageSizes(StageSizes),
    /// How evenly tokens are spread over experts.
    Imbalance(Imbalance),
    /// The tokens that an expert takes.
    Capacity(Capacity),
    /// The formats of the exchanges of tokens with their experts.
    DispatchFormats(DispatchFormats),
    /// Matrices of a layer that have adapters.
    LoraTargets(LoraTargets),
    /// A model beside the one that is trained.
    Beside(BesideModel),
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

typed!(
    u32 = Count,
    f64 = Number,
    Money = Money,
    GlobalBatch = Batch,
    bool = Switch,
    Extent = Extent,
    Recompute = Recompute,
    RecomputeModules = RecomputeModules,
    HostModules = HostModules,
    StageSizes = StageSizes,
    Imbalance = Imbalance,
    Capacity = Capacity,
    DispatchFormats = DispatchFormats,
    LoraTargets = LoraTargets,
    BesideModel = Beside
);

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
    /// The id of a preset.
    pub fn id(id: &str) -> Self {
        Self::Id(id.into())
    }

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
            Self::Money(money) => f.pad(&money.exact()),
            Self::Batch(batch) => batch.fmt(f),
            Self::Switch(on) => f.pad(if *on { "on" } else { "off" }),
            Self::Extent(extent) => extent.fmt(f),
            Self::Recompute(recompute) => recompute.fmt(f),
            Self::RecomputeModules(modules) => modules.fmt(f),
            Self::HostModules(modules) => modules.fmt(f),
            Self::StageSizes(sizes) => sizes.fmt(f),
            Self::Imbalance(imbalance) => imbalance.fmt(f),
            Self::Capacity(capacity) => capacity.fmt(f),
            Self::DispatchFormats(formats) => formats.fmt(f),
            Self::LoraTargets(targets) => targets.fmt(f),
            Self::Beside(model) => model.fmt(f),
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
            Self::Money(money) => money.serialize(serializer),
            Self::Batch(batch) => batch.serialize(serializer),
            Self::Switch(on) => on.serialize(serializer),
            Self::Extent(extent) => extent.serialize(serializer),
            Self::Recompute(recompute) => recompute.serialize(serializer),
            Self::RecomputeModules(modules) => modules.serialize(serializer),
            Self::HostModules(modules) => modules.serialize(serializer),
            Self::StageSizes(sizes) => sizes.serialize(serializer),
            Self::Imbalance(imbalance) => imbalance.serialize(serializer),
            Self::Capacity(capacity) => capacity.serialize(serializer),
            Self::DispatchFormats(formats) => formats.serialize(serializer),
            Self::LoraTargets(targets) => targets.serialize(serializer),
            Self::Beside(model) => serializer.collect_str(model),
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
            Self::Factor => number(read_share(text)).ok_or_else(|| "write a factor, like 0.5 or 50%".to_owned()),
            Self::Share => number(read_share(text)).ok_or_else(|| "write a share, like 0.5 or 50%".to_owned()),
            Self::Tokens => number(read_count(text)).ok_or_else(|| "write a number, like 300B or 300e9".to_owned()),
            Self::Money => text.parse().map(Value::Money).map_err(|_| "write a price, like \"2.50 EUR\"".to_owned()),
            Self::Batch => text.parse().map(Value::Batch),
            Self::Switch => switch(text).map(Value::Switch),
            Self::Extent => text.parse().map(Value::Extent),
            Self::Recompute => text.parse().map(Value::Recompute),
            Self::RecomputeModules => text.parse().map(Value::RecomputeModules),
            Self::HostModules => text.parse().map(Value::HostModules),
            Self::StageSizes => text.parse().map(Value::StageSizes),
            Self::Imbalance => text.parse().map(Value::Imbalance),
            Self::Capacity => text.parse().map(Value::Capacity),
            Self::DispatchFormats => text.parse().map(Value::DispatchFormats),
            Self::LoraTargets => text.parse().map(Value::LoraTargets),
            Self::Beside => text.parse().map(Value::Beside),
            Self::OneOf(words) => words.read(text).map(Value::Word),
        }
    }

    /// A value as people write it: `300B` tokens.
    pub fn show(self, value: &Value) -> String {
        match (self, value) {
            (Self::Tokens, Value::Number(tokens)) => written_count(*tokens),
            (_, value) => value.to_string(),
        }
    }

    /// Whether a value of it is within its range.
    pub fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Count(least, most), Value::Count(count)) => (least..=most).contains(count),
            (Self::Factor, Value::Number(factor)) => *factor > 0.0 && *factor <= MOST_FACTOR,
            (Self::Share, Value::Number(share)) => (0.0..=1.0).contains(share),
            (Self::Tokens, Value::Number(tokens)) => *tokens > 0.0 && *tokens <= MOST_TOKENS,
            (Self::Imbalance, Value::Imbalance(imbalance)) => imbalance.holds(),
            (Self::Capacity, Value::Capacity(capacity)) => capacity.holds(),
            // Whatever else a type reads is a value that can be.
            _ => true,
        }
    }

    /// Whether it reads values that are outside its range.
    pub(in crate::scenario) const fn has_range(self) -> bool {
        matches!(self, Self::Count(..) | Self::Factor | Self::Share | Self::Tokens | Self::Imbalance | Self::Capacity)
    }

    /// That range in words: `a count from 1 to 64`.
    pub fn range(self) -> String {
        match self {
            Self::Count(least, most) => format!("a count from {least} to {most}"),
            Self::Factor => format!("a factor above 0 and up to {MOST_FACTOR:e}"),
            Self::Share => "a share from 0 to 1".to_owned(),
            Self::Tokens => format!("a number of tokens above 0, at most {}", written_count(MOST_TOKENS)),
            Self::Imbalance => format!("usual, balanced or a factor from 1 to {}", Imbalance::MOST),
            Self::Capacity => format!("none, or a factor above 0 up to {}", Imbalance::MOST),
            Self::Id
            | Self::Money
            | Self::Batch
            | Self::Switch
            | Self::Extent
            | Self::Recompute
            | Self::RecomputeModules
            | Self::HostModules
            | Self::StageSizes
            | Self::DispatchFormats
            | Self::LoraTargets
            | Self::Beside
            | Self::OneOf(_) => "a value of the field".to_owned(),
        }
    }

    /// Whether its values are few enough to be chosen from a list, rather than typed.
    pub const fn is_listed(self) -> bool {
        match self {
            Self::Id | Self::Switch | Self::Extent | Self::Recompute | Self::Beside | Self::OneOf(_) => true,
            Self::Count(..)
            | Self::Factor
            | Self::Share
            | Self::Tokens
            | Self::Money
            | Self::Batch
            | Self::RecomputeModules
            | Self::HostModules
            | Self::StageSizes
            | Self::Imbalance
            | Self::Capacity
            | Self::DispatchFormats
            | Self::LoraTargets => false,
        }
    }

    /// Whether it takes values beside those of its list.
    pub const fn takes_more(self) -> bool {
        matches!(self, Self::Extent | Self::Recompute | Self::Beside)
    }

    /// Reads a value as a file has it.
    pub(in crate::scenario) fn deserialize<'de, D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self {
            Self::Id => Arc::deserialize(from).map(Value::Id),
            Self::Count(..)
            | Self::Factor
            | Self::Share
            | Self::Tokens
            | Self::Batch
            | Self::Imbalance
            | Self::Capacity => from.deserialize_any(self),
            Self::StageSizes | Self::RecomputeModules | Self::HostModules | Self::DispatchFormats | Self::Beside => {
                self.read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
            }
            Self::LoraTargets => {
                let read = String::deserialize(from)?.parse();
                read.map(Value::LoraTargets).map_err(serde::de::Error::custom)
            }
            Self::Money => Money::deserialize(from).map(Value::Money),
            Self::Switch => bool::deserialize(from).map(Value::Switch),
            Self::Extent => Extent::deserialize(from).map(Value::Extent),
            Self::Recompute => Recompute::deserialize(from).map(Value::Recompute),
            Self::OneOf(words) => {
                words.read(&String::deserialize(from)?).map(Value::Word).map_err(serde::de::Error::custom)
            }
        }
    }
}

/// Reads what is counted or measured from a file: a number, or its text as people write it.
impl Visitor<'_> for Type {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count(..) => "u32",
            Self::Batch => "sequences, \"4M tokens\" or \"free\"",
            Self::Imbalance => "a factor, \"balanced\" or \"usual\"",
            Self::Capacity => "a factor or \"none\"",
            _ => "f64",
        })
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        let count = u32::try_from(number).ok();
        let value = match self {
            Self::Count(..) => count.map(Value::Count),
            Self::Batch => GlobalBatch::sequences(number as f64).map(Value::Batch),
            Self::Imbalance => Some(Value::Imbalance(Imbalance::Factor(number as f64))),
            Self::Capacity => Some(Value::Capacity(Capacity::Factor(number as f64))),
            _ => Some(Value::Number(number as f64)),
        };
        value.ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        match self {
            Self::Factor | Self::Share | Self::Tokens => Ok(Value::Number(number)),
            Self::Imbalance => Ok(Value::Imbalance(Imbalance::Factor(number))),
            Self::Capacity => Ok(Value::Capacity(Capacity::Factor(number))),
            _ => Err(E::invalid_type(Unexpected::Float(number), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        self.read(text).map_err(|_| E::invalid_type(Unexpected::Str(text), &self))
    }
}

/// Reads a switch as people and files write it.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}

/// Reads a multiple of 1,024: `8k` is 8,192.
pub(super) fn binary(text: &str) -> Option<u32> {
    text.strip_suffix(['k', 'K'])?.trim_end().parse::<u32>().ok()?.checked_mul(1024)
}

/// Reads a whole number as people write it: `2048`, `2_048` or `2k`.
pub fn count(text: &str) -> Result<u32, String> {
    // `4k` is 4000: what is written short may still be whole.
    let whole = read_count(text).filter(|count| count.fract() == 0.0 && *count >= 0.0);
    match whole {
        Some(count) if count <= f64::from(u32::MAX) => Ok(count as u32),
        Some(_) => Err("it is too large: write a smaller whole number, like 8".to_owned()),
        None => Err("write a whole number, like 8".to_owned()),
    }
}

fn number(read: Option<f64>) -> Option<Value> {
    read.map(Value::Number)
}
