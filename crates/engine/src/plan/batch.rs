//! The global batch: how many sequences all devices together take in a step, from which accumulation follows.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::units::{read_count, written_count};

/// The size of a step's batch, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum GlobalBatch {
    /// Whatever micro-batch, accumulation and data ranks come to.
    #[default]
    Free,
    /// So many sequences, 1 at least.
    Sequences(u32),
    /// The sequences that come nearest to so many tokens, which are above 0.
    Tokens(f64),
}

/// Every form that may be written.
pub(super) const HOW: &str = "write sequences, like 1024, tokens, like \"4M tokens\", or free";

impl GlobalBatch {
    /// A batch of whole sequences, if there is one of so many.
    pub fn sequences(count: f64) -> Option<Self> {
        let whole = count.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&count);
        whole.then_some(Self::Sequences(count as u32))
    }

    /// Whether it is held, so that accumulation follows.
    pub const fn is_held(self) -> bool {
        !matches!(self, Self::Free)
    }

    /// The whole sequences that are asked for, or pairs of them, each of so many tokens; `None` where it is free.
    pub fn wanted(self, each: f64) -> Option<f64> {
        match self {
            Self::Free => None,
            Self::Sequences(count) => Some(f64::from(count)),
            Self::Tokens(tokens) => Some((tokens / each.max(1.0)).round().max(1.0)),
        }
    }
}

impl fmt::Display for GlobalBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.pad("free"),
            Self::Sequences(count) => f.pad(&count.to_string()),
            Self::Tokens(tokens) => f.pad(&format!("{} tokens", written_count(*tokens))),
        }
    }
}

impl FromStr for GlobalBatch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "free" {
            return Ok(Self::Free);
        }
        let read = match text.strip_suffix("tokens") {
            Some(tokens) => read_count(tokens).filter(|tokens| *tokens > 0.0).map(Self::Tokens),
            None => read_count(text.strip_suffix("sequences").unwrap_or(text)).and_then(Self::sequences),
        };
        read.ok_or_else(|| HOW.to_owned())
    }
}

impl Serialize for GlobalBatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sequences(count) => serializer.serialize_u32(*count),
            other => serializer.serialize_str(&other.to_string()),
        }
    }
}
