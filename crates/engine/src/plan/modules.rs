//! Parts of a layer that selective recompute may repeat, and parts whose inputs the host may keep, by Megatron-Core's names. Not
//! for what a part holds or costs ([`crate::cost`]).

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::choice::choice;
use super::{Offload, OneOf, Plan, Recompute, Word};

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

choice!(
    /// A part of a layer whose input the host may keep until backward: names of `--offload-modules` of Megatron-Core (ibid.,
    /// `offload_modules`), and of `--recompute-modules` for parts that it keeps on the device.
    HostModule, "a module" {
        /// The norm before attention, which reads the residual stream.
        AttentionNorm = "attn_norm",
        /// The product of queries, keys and values, which reads what that norm puts out.
        AttentionInputs = "qkv_linear",
        /// The products that expand what latent attention compresses.
        LatentExpansion = "mla_up_proj",
        /// Attention itself, which reads queries, keys and values.
        CoreAttention = "core_attn",
        /// The projection behind attention.
        AttentionOutput = "attn_proj",
        /// The norm before the MLP, which reads the residual stream.
        MlpNorm = "mlp_norm",
        /// The MLP of layers without experts: its input, and all between its matrices.
        Mlp = "mlp",
        /// The shared expert, likewise.
        SharedExperts = "shared_experts",
        /// The first matrices of routed experts, which read the tokens that arrive.
        ExpertInputs = "expert_fc1",
        /// The activation function of routed experts.
        ExpertActivation = "moe_act",
        /// The second matrices of routed experts.
        ExpertOutputs = "expert_fc2",
    }
);

/// Modules of which a set may be named.
pub trait NamedModule: OneOf + PartialEq + fmt::Display + FromStr<Err = String> {
    /// The word for a set without any.
    const NONE: &'static str;
    /// Words for several at once.
    const GROUPS: &'static [(&'static str, &'static [Self])];
}

impl NamedModule for Module {
    const NONE: &'static str = "stack";
    const GROUPS: &'static [(&'static str, &'static [Self])] = &[];
}

impl NamedModule for HostModule {
    const NONE: &'static str = "none";
    const GROUPS: &'static [(&'static str, &'static [Self])] = &[
        ("layernorm", &[Self::AttentionNorm, Self::MlpNorm]),
        ("moe", &[Self::ExpertInputs, Self::ExpertActivation, Self::ExpertOutputs]),
    ];
}

/// A set of modules, joined by `+` in files and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleSet<M>(u16, PhantomData<M>);

/// The modules that selective recompute repeats; without any, the part that the stack has in its file.
pub type RecomputeModules = ModuleSet<Module>;

/// The modules whose inputs the host keeps.
pub type HostModules = ModuleSet<HostModule>;

impl RecomputeModules {
    /// The part that the stack has in its file.
    pub const OF_STACK: Self = Self::NONE;

    /// Whether it is left to the stack.
    pub fn is_of_stack(self) -> bool {
        self.is_empty()
    }
}

impl<M: NamedModule> ModuleSet<M> {
    /// The set without any.
    pub const NONE: Self = Self(0, PhantomData);

    /// Whether none is among them.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Whether a module is among them.
    pub fn has(self, module: M) -> bool {
        self.0 & Self::bit(module) != 0
    }

    fn bit(module: M) -> u16 {
        let word: Word = module.into();
        1 << word.index
    }

    /// Its modules, in the order of their names.
    pub fn iter(self) -> impl Iterator<Item = M> {
        M::WORDS.iter().filter(move |word| self.0 >> word.index & 1 == 1).filter_map(M::from_word)
    }
}

impl<M: NamedModule> FromIterator<M> for ModuleSet<M> {
    fn from_iter<I: IntoIterator<Item = M>>(modules: I) -> Self {
        Self(modules.into_iter().fold(0, |set, module| set | Self::bit(module)), PhantomData)
    }
}

impl<M: NamedModule> fmt::Display for ModuleSet<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.iter().map(|module| module.to_string()).collect();
        f.pad(if words.is_empty() { M::NONE.to_owned() } else { words.join("+") }.as_str())
    }
}

impl<M: NamedModule> FromStr for ModuleSet<M> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == M::NONE {
            return Ok(Self::NONE);
        }
        let read = |word: &str| match M::GROUPS.iter().find(|(group, _)| *group == word) {
            Some((_, modules)) => Ok(modules.to_vec()),
            None => word.parse::<M>().map(|module| vec![module]),
        };
        let modules: Result<Vec<Vec<M>>, String> = text.split('+').map(|word| read(word.trim())).collect();
        let modules = modules.map_err(|known| format!("{known}; join several by +, or write {}", M::NONE))?;
        Ok(modules.into_iter().flatten().collect())
    }
}

impl<M: NamedModule> Serialize for ModuleSet<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Plan {
    /// The modules that this plan computes again, where it says so; none under other kinds of recompute.
    pub fn repeated_modules(&self) -> RecomputeModules {
        if self.recompute == Recompute::Selective { self.recompute_modules } else { RecomputeModules::OF_STACK }
    }

    /// The modules whose inputs go to the host: of layers that are not computed again from their own input, and where not all that
    /// layers keep goes there.
    pub fn host_modules(&self) -> HostModules {
        let keeps_none = self.offload.activations() || self.recompute.layers() >= 1.0;
        if keeps_none { HostModules::NONE } else { self.offload_modules }
    }

    /// Whether activations go to the host: inputs of layers or of modules, or all that layers keep.
    pub fn moves_activations(&self) -> bool {
        self.offload.checkpoints() || !self.host_modules().is_empty()
    }

    /// Whether anything that is kept from one task to another is on the host or its drives.
    pub fn offloads(&self) -> bool {
        self.offload != Offload::None || !self.host_modules().is_empty()
    }
}
