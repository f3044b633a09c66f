//! How experts are spread over ranks, and how tokens reach them. No costs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Format;
use super::choice::choice;
use super::pass::PerDirection;

/// The experts' part of a plan: a mesh of their own over the ranks of each pipeline stage, and the exchange of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertMesh {
    /// Ranks among which a layer's experts are divided (expert parallelism).
    pub ranks: u32,
    /// Ranks that share each expert's matrices; where it is not said, as the stack has it.
    pub tensor: Option<u32>,
    /// How evenly tokens are spread over experts.
    pub imbalance: Imbalance,
    /// The tokens that each expert takes, where the router fills or cuts what comes to it.
    pub capacity: Capacity,
    /// The library that carries tokens to experts and back.
    pub dispatcher: Dispatcher,
    /// Whether these exchanges run beside another micro-batch's compute (Megatron-LM's
    /// `--overlap-moe-expert-parallel-comm`).
    pub overlap: bool,
    /// Whether the shared expert computes beside the dispatch (Megatron-LM's `--moe-shared-expert-overlap`).
    pub shared_overlap: bool,
    /// The formats in which tokens travel; where it is not said, as the stack has it.
    pub formats: Option<DispatchFormats>,
}

impl Default for ExpertMesh {
    fn default() -> Self {
        Self {
            ranks: 1,
            tensor: None,
            imbalance: Imbalance::Usual,
            capacity: Capacity::None,
            dispatcher: Dispatcher::AllToAll,
            overlap: false,
            shared_overlap: false,
            formats: None,
        }
    }
}

impl ExpertMesh {
    /// Whether exchanges run beside another micro-batch's compute: without other ranks there are none.
    pub const fn hides_exchanges(&self) -> bool {
        self.overlap && self.ranks > 1
    }

    /// Tokens of the busiest rank's experts over the mean of all tokens' visits: as many as each expert has room for, or
    /// else as they are spread.
    pub fn load(&self) -> f64 {
        match self.capacity {
            Capacity::Factor(factor) => factor,
            Capacity::None => self.imbalance.factor(self.ranks),
        }
    }
}

choice!(
    /// The library that carries tokens to experts and back.
    Dispatcher, "a dispatcher" {
        /// An all-to-all of the collective library: a copy of a token for each expert that it visits.
        AllToAll = "alltoall",
        /// `DeepEP`: one copy for each node, from which links inside the node carry it on.
        DeepEp = "deepep",
        /// `HybridEP`, which sends as `DeepEP` does and permutes on the way.
        HybridEp = "hybridep",
    }
);

impl Dispatcher {
    /// Whether a token crosses to each node once, however many of its experts are there.
    pub const fn forwards_in_node(self) -> bool {
        !matches!(self, Self::AllToAll)
    }

    /// Whether tokens are put into the order of their experts on the way, and not by kernels of their own.
    pub const fn permutes(self) -> bool {
        matches!(self, Self::HybridEp)
    }
}

/// The formats of the four exchanges of tokens with their experts, written in the order of a step: tokens to experts, outputs
/// back, gradients of outputs to experts, gradients of tokens back. One format stands for all four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchFormats {
    /// Tokens to their experts; in backward the gradients of experts' inputs back.
    pub dispatch: PerDirection<Format>,
    /// Experts' outputs back to their tokens; in backward the gradients of outputs to the experts.
    pub combine: PerDirection<Format>,
}

impl DispatchFormats {
    /// The formats that an exchange can have.
    const KNOWN: [Format; 4] = [Format::Bf16, Format::Fp16, Format::Fp32, Format::Fp8];

    /// One format for all four.
    pub const fn all(format: Format) -> Self {
        Self { dispatch: PerDirection::both(format), combine: PerDirection::both(format) }
    }

    /// `DeepSeek-V3`'s (arXiv 2412.19437, section 3.3.3): what comes to the experts in 8 bits, what they put out in 16. The
    /// `ncclep` dispatcher of Megatron-LM takes these two in `mxfp8`, and no others (`moe_dispatch_fwd_dtype`,
    /// `moe_combine_bwd_dtype`).
    pub const TO_EXPERTS_IN_FP8: Self = Self {
        dispatch: PerDirection { forward: Format::Fp8, backward: Format::Bf16 },
        combine: PerDirection { forward: Format::Bf16, backward: Format::Fp8 },
    };

    /// The four in the order of a step.
    const fn in_order(self) -> [Format; 4] {
        [self.dispatch.forward, self.combine.forward, self.combine.backward, self.dispatch.backward]
    }
}

impl fmt::Display for DispatchFormats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let four = self.in_order();
        if four.iter().all(|format| *format == four[0]) {
            return f.pad(four[0].word());
        }
        f.pad(&four.map(Format::word).join("+"))
    }
}

impl FromStr for DispatchFormats {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = |word: &str| Self::KNOWN.into_iter().find(|format| format.word() == word.trim());
        let formats: Option<Vec<Format>> = text.split('+').map(known).collect();
        match formats.as_deref() {
            Some([one]) => Ok(Self::all(*one)),
            Some(&[dispatch, combine, combine_back, dispatch_back]) => Ok(Self {
                dispatch: PerDirection { forward: dispatch, backward: dispatch_back },
                combine: PerDirection { forward: combine, backward: combine_back },
            }),
            _ => Err(format!(
                "write one of {}, or four of them for tokens to experts, outputs back, and in backward to experts and back: \
                 fp8+bf16+fp8+bf16",
                Self::KNOWN.map(Format::word).join(", ")
            )),
        }
    }
}

impl Serialize for DispatchFormats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DispatchFormats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The tokens that an expert takes over the mean, if that is fixed: of more the router drops some, and fewer are filled up
/// (Megatron-LM's `--moe-expert-capacity-factor` with `--moe-pad-expert-input-to-capacity`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Capacity {
    /// All that come: no token is dropped.
    #[default]
    None,
    /// So many times the mean.
    Factor(f64),
}

impl Capacity {
    /// Whether it is a factor that can be.
    pub fn holds(self) -> bool {
        !matches!(self, Self::Factor(factor) if !(factor > 0.0 && factor <= Imbalance::MOST))
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Factor(factor) => f.pad(&factor.to_string()),
        }
    }
}

impl FromStr for Capacity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = if text == "none" { Some(Self::None) } else { text.parse().ok().map(Self::Factor) };
        let right = read.filter(|read| read.holds());
        right.ok_or_else(|| format!("write none, or a factor above 0 up to {}, like 1.25", Imbalance::MOST))
    }
}

impl serde::Serialize for Capacity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.collect_str(self),
            Self::Factor(factor) => serializer.serialize_f64(*factor),
        }
    }
}

/// How many more tokens the busiest rank's experts have than the mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Imbalance {
    /// As learned routing spreads them ([`Imbalance::factor`]).
    #[default]
    Usual,
    /// A factor from 1, where benchmarks force the router.
    Factor(f64),
}

/// The growth of the usual imbalance with each doubling of the ranks. A step with learned routing was measured 9 % slower
/// than one with forced balance on 8 ranks (Ai2's report on Olmo-core); experts and exchanges take some three fifths of it:
/// 15 % more tokens on the busiest rank, 5 % for each doubling.
const EACH_DOUBLING: f64 = 0.05;

impl Imbalance {
    /// As benchmarks force the router.
    pub const BALANCED: Self = Self::Factor(1.0);

    /// The largest factor.
    pub const MOST: f64 = 64.0;

    /// Tokens of the busiest rank's experts over the mean, on so many ranks.
    pub fn factor(self, ranks: u32) -> f64 {
        match self {
            Self::Usual => 1.0 + EACH_DOUBLING * libm::log2(f64::from(ranks.max(1))),
            Self::Factor(factor) => factor,
        }
    }

    /// Whether it is a factor that can be.
    pub fn holds(self) -> bool {
        !matches!(self, Self::Factor(factor) if !(1.0..=Self::MOST).contains(&factor))
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usual => f.pad("usual"),
            balanced if *balanced == Self::BALANCED => f.pad("balanced"),
            Self::Factor(factor) => f.pad(&factor.to_string()),
        }
    }
}

impl FromStr for Imbalance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = match text {
            "usual" => Some(Self::Usual),
            "balanced" => Some(Self::BALANCED),
            _ => text.parse().ok().map(Self::Factor),
        };
        let right = read.filter(|read| read.holds());
        right.ok_or_else(|| format!("write usual, balanced, or a factor from 1 to {}, like 1.15", Self::MOST))
    }
}

impl serde::Serialize for Imbalance {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Factor(factor) if *self != Self::BALANCED => serializer.serialize_f64(*factor),
            named => serializer.collect_str(named),
        }
    }
}
