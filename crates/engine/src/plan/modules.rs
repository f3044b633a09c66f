//! Parts of a layer that selective recompute may repeat, by Megatron-Core's names. Not for what a part holds or costs
//! ([`crate::cost`]).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::choice::choice;
use super::{Plan, Recompute};

choice!(
    /// A part of a layer that `--recompute-modules` of Megatron-Core names (`megatron/core/transformer/transformer_config.py`,
    /// August 2026).
    Module, "a module" {
        /// Attention itself, without its projections.
        CoreAttention = "core_attn",
        /// The activation function of routed experts.
        ExpertActivation = "moe_act",
        /// The norms before attention and before the MLP.
        Norms = "layernorm",
        /// The products of latent attention that expand queries, keys and values.
        LatentExpansion = "mla_up_proj",
        /// The MLP of layers without experts.
        Mlp = "mlp",
        /// Router, experts and the exchanges of tokens.
        Experts = "moe",
        /// The shared expert.
        SharedExperts = "shared_experts",
        /// The output norm of a gated delta net.
        DeltaNorm = "gdn_norm_out",
        /// The input projection of a gated delta product.
        DeltaInputs = "gdp_in_proj",
        /// The convolution of a gated delta product.
        DeltaConvolution = "gdp_qkv",
        /// The mixing of several residual streams.
        HyperConnections = "mhc",
    }
);

impl Module {
    /// Whether it is a part that models here have.
    pub const fn is_counted(self) -> bool {
        !matches!(self, Self::DeltaNorm | Self::DeltaInputs | Self::DeltaConvolution | Self::HyperConnections)
    }
}

/// The modules that selective recompute repeats; without any, the part that the stack has in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecomputeModules(u16);

/// The word for a set without modules.
const OF_STACK: &str = "stack";

impl RecomputeModules {
    /// The part that the stack has in its file.
    pub const OF_STACK: Self = Self(0);

    /// Whether it is left to the stack.
    pub fn is_of_stack(self) -> bool {
        self == Self::OF_STACK
    }

    /// Whether a module is among them.
    pub const fn has(self, module: Module) -> bool {
        self.0 & (1 << module as u16) != 0
    }

    /// Its modules, in the order of their names.
    pub fn iter(self) -> impl Iterator<Item = Module> {
        Module::ALL.iter().copied().filter(move |module| self.has(*module))
    }
}

impl FromIterator<Module> for RecomputeModules {
    fn from_iter<I: IntoIterator<Item = Module>>(modules: I) -> Self {
        Self(modules.into_iter().fold(0, |set, module| set | 1 << module as u16))
    }
}

impl fmt::Display for RecomputeModules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Module::word).collect();
        f.pad(if words.is_empty() { OF_STACK.to_owned() } else { words.join("+") }.as_str())
    }
}

impl FromStr for RecomputeModules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == OF_STACK {
            return Ok(Self::OF_STACK);
        }
        let modules: Result<Self, String> = text.split('+').map(|word| word.trim().parse::<Module>()).collect();
        modules.map_err(|known| format!("{known}; join several by +, or write {OF_STACK}"))
    }
}

impl Serialize for RecomputeModules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Plan {
    /// The modules that this plan computes again, where it says so; none under other kinds of recompute.
    pub fn repeated_modules(&self) -> RecomputeModules {
        if self.recompute == Recompute::Selective { self.recompute_modules } else { RecomputeModules::OF_STACK }
    }
}
