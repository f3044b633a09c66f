//! Which parameters a job trains: all of them, or adapters beside frozen ones. No costs.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::units::Share;

use super::choice::choice;

choice!(
    /// Which parameters are trained.
    TrainMethod, "a method" {
        /// All of them.
        Full = "full",
        /// Low-rank adapters beside frozen matrices (`LoRA`: Hu et al., arXiv 2106.09685).
        Lora = "lora",
        /// The same beside matrices frozen in four bits (`QLoRA`: Dettmers et al., arXiv 2305.14314).
        Qlora = "qlora",
    }
);

choice!(
    /// The format in which frozen matrices are kept.
    FrozenFormat, "a frozen format" {
        /// The 16 bits of the precision.
        Bf16 = "bf16",
        /// 32 bits, which are cast to those of the precision for each product.
        Fp32 = "fp32",
        /// 8-bit floating point with one scale for a matrix.
        Fp8 = "fp8",
        /// 8-bit integers with a scale for each row (`LLM.int8()`: arXiv 2208.07339).
        Int8 = "int8",
        /// 4 bits, with scales for blocks of 64 that are quantised themselves.
        Nf4 = "nf4",
        /// 4 bits, with scales of 32 bits for blocks of 64.
        Nf4Single = "nf4-single",
    }
);

choice!(
    /// The ends of the model that stay as they are, where all else may be trained.
    FrozenEnds, "frozen ends" {
        /// Neither.
        None = "none",
        /// The embedding; logits that reuse it are its matrix.
        Embedding = "embedding",
        /// The last norm and the logits.
        Head = "head",
        /// Both.
        Both = "both",
    }
);

impl FrozenEnds {
    /// Whether the embedding is among them.
    pub const fn embedding(self) -> bool {
        matches!(self, Self::Embedding | Self::Both)
    }

    /// Whether the last norm and the logits are.
    pub const fn head(self) -> bool {
        matches!(self, Self::Head | Self::Both)
    }
}

impl FrozenFormat {
    /// Bytes of a weight whose unquantised format takes `storage` bytes, scales of blocks included.
    ///
    /// NF4 has a scale of 8 bits for 64 weights, and one of 32 bits for 256 of these (arXiv 2305.14314, section 3):
    /// `4 + 8 / 64 + 32 / (64 x 256) = 4.127` bits. Without this second quantisation a scale has 32 bits: 4.5 bits in all.
    pub const fn bytes(self, storage: f64) -> f64 {
        match self {
            Self::Bf16 => storage,
            Self::Fp32 => 4.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Nf4 => (4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0)) / 8.0,
            Self::Nf4Single => (4.0 + 32.0 / 64.0) / 8.0,
        }
    }

    /// Whether a weight has 4 bits.
    pub const fn has_four_bits(self) -> bool {
        matches!(self, Self::Nf4 | Self::Nf4Single)
    }
}

/// The part of the model that is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// Which parameters are trained.
    pub method: TrainMethod,
    /// Rank of the adapters.
    pub rank: u32,
    /// Matrices that have one.
    pub targets: LoraTargets,
    /// Probability with which an adapter's input is dropped. Its own copy of the input and the mask are kept wherever it is not 0.
    pub dropout: Share,
    /// Format of the frozen matrices, where it is not the method's own.
    pub frozen: Option<FrozenFormat>,
    /// Ends of the model that stay as they are beside layers trained in full, where they are said
    /// ([`crate::scenario::Scenario::frozen_ends`]).
    pub ends: Option<FrozenEnds>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            method: TrainMethod::Full,
            rank: 16,
            targets: LoraTargets::ALL,
            dropout: Share::ZERO,
            frozen: None,
            ends: None,
        }
    }
}

impl Tuning {
    /// Whether adapters are trained, and everything else is frozen.
    pub fn freezes(&self) -> bool {
        self.method != TrainMethod::Full
    }

    /// Whether adapters drop a part of their input.
    pub fn drops(&self) -> bool {
        self.freezes() && self.dropout > Share::ZERO
    }

    /// The format of the frozen matrices.
    pub fn frozen_format(&self) -> FrozenFormat {
        let usual = if self.method == TrainMethod::Qlora { FrozenFormat::Nf4 } else { FrozenFormat::Bf16 };
        self.frozen.unwrap_or(usual)
    }
}

/// A matrix of a layer beside which an adapter can lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoraTarget {
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Queries, keys and values as one matrix.
    QueryKeyValue,
    /// The projection after attention.
    Projection,
    /// The gate of the MLP.
    Gate,
    /// The first matrix of the MLP.
    Up,
    /// Gate and first matrix of the MLP as one; without a gate the first matrix.
    GateUp,
    /// The second matrix of the MLP.
    Down,
}

/// Each target with its word, and the names that modules have in frameworks: of Hugging Face and torchtune, of Megatron.
const TARGETS: [(LoraTarget, &str, &[&str]); 9] = [
    (LoraTarget::Query, "q", &["q_proj"]),
    (LoraTarget::Key, "k", &["k_proj"]),
    (LoraTarget::Value, "v", &["v_proj"]),
    (LoraTarget::QueryKeyValue, "qkv", &["linear_qkv", "qkv_proj", "query_key_value", "W_pack"]),
    (LoraTarget::Projection, "o", &["o_proj", "output_proj", "linear_proj"]),
    (LoraTarget::Gate, "gate", &["gate_proj"]),
    (LoraTarget::Up, "up", &["up_proj"]),
    (LoraTarget::GateUp, "gate_up", &["linear_fc1", "gate_up_proj"]),
    (LoraTarget::Down, "down", &["down_proj", "linear_fc2"]),
];

/// Words for several targets at once.
const SETS: [(LoraTargets, &[&str]); 3] = [
    (LoraTargets::ALL, &["all", "all-linear"]),
    (LoraTargets::ATTENTION, &["attention"]),
    (LoraTargets::MLP, &["mlp"]),
];

/// The matrices that have adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoraTargets(u16);

impl LoraTargets {
    /// None yet.
    pub const NONE: Self = Self(0);
    /// Each matrix of a layer by itself.
    pub const ALL: Self = Self(Self::ATTENTION.0 | Self::MLP.0);
    /// Each matrix of attention by itself.
    pub const ATTENTION: Self =
        Self::NONE.with(LoraTarget::Query).with(LoraTarget::Key).with(LoraTarget::Value).with(LoraTarget::Projection);
    /// Each matrix of the MLP by itself.
    pub const MLP: Self = Self::NONE.with(LoraTarget::Gate).with(LoraTarget::Up).with(LoraTarget::Down);

    /// These and one more.
    #[must_use]
    pub const fn with(self, target: LoraTarget) -> Self {
        Self(self.0 | 1 << target as u16)
    }

    /// Whether a matrix is among them.
    pub const fn has(self, target: LoraTarget) -> bool {
        self.0 & 1 << target as u16 != 0
    }

    /// Each of them by the name that its module has in Hugging Face's models, fused ones by Megatron's.
    pub fn modules(self) -> impl Iterator<Item = &'static str> {
        TARGETS.iter().filter(move |(target, ..)| self.has(*target)).filter_map(|(.., names)| names.first().copied())
    }
}

impl fmt::Display for LoraTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, words)) = SETS.iter().find(|(set, _)| set == self) {
            return f.pad(words[0]);
        }
        let words: Vec<&str> =
            TARGETS.iter().filter(|(target, ..)| self.has(*target)).map(|(_, word, _)| *word).collect();
        f.pad(&words.join(","))
    }
}

impl FromStr for LoraTargets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split([',', '+', ' '])
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .try_fold(Self::NONE, |all, word| {
                let set = SETS.iter().find(|(_, words)| words.contains(&word)).map(|(set, _)| *set);
                let one = TARGETS.iter().find(|(_, own, names)| *own == word || names.contains(&word));
                let more = set.or(one.map(|(target, ..)| Self::NONE.with(*target)));
                more.map(|more| Self(all.0 | more.0)).ok_or_else(|| targets_fix(word))
            })
            .and_then(|all| if all == Self::NONE { Err(targets_fix("nothing")) } else { Ok(all) })
    }
}

/// How targets are written.
fn targets_fix(word: &str) -> String {
    let known: Vec<&str> = TARGETS.iter().map(|(_, word, _)| *word).collect();
    let word = if word.chars().all(|letter| letter.is_ascii_graphic()) { word } else { "that" };
    format!("{word} is no matrix of a layer: write all, attention, mlp, or a list of {}", known.join(", "))
}

impl Serialize for LoraTargets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of Hugging Face, torchtune and Megatron mean the same matrices, and sets are written as one word.
    #[test]
    fn targets_are_read_by_any_name() {
        let read = |text: &str| text.parse::<LoraTargets>().map(|targets| targets.to_string());
        assert_eq!(read("q_proj,v_proj").as_deref(), Ok("q,v"));
        assert_eq!(read("linear_qkv+linear_proj").as_deref(), Ok("qkv,o"));
        assert_eq!(read("q,k,v,output_proj").as_deref(), Ok("attention"));
        assert_eq!(read("all-linear").as_deref(), Ok("all"));
        assert!(read("lm_head").is_err_and(|why| why.contains("lm_head")));
        assert!(read("").is_err());
    }

    /// 4.127 bits, as the paper states it.
    #[test]
    fn four_bits_have_scales() {
        assert!((FrozenFormat::Nf4.bytes(2.0) * 8.0 - 4.127).abs() < 5e-4);
        assert!((FrozenFormat::Nf4Single.bytes(2.0) * 8.0 - 4.5).abs() < f64::EPSILON);
        assert!((FrozenFormat::Bf16.bytes(4.0) - 4.0).abs() < f64::EPSILON);
        assert!((FrozenFormat::Fp32.bytes(2.0) - 4.0).abs() < f64::EPSILON);
    }
}
