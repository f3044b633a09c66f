//! The named choices of a plan: each is one word in a file, on the command line and on the screen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::hardware::{Architecture, Peaks};
use crate::units::{FlopPerSecond, read_share};

/// A choice of one of a few words, so that a table of fields can hold any of them without knowing which.
pub trait OneOf: Copy + Into<Word> + 'static {
    /// Every value, in the order in which keys cycle through them.
    const WORDS: &'static Words;

    /// The choice that a word stands for, if the word is one of this choice's.
    fn from_word(word: Word) -> Option<Self>;
}

/// The words of a choice.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// The noun for a value, with its article: `a schedule`.
    pub what: &'static str,
    /// In the order in which a key steps through them.
    pub all: &'static [&'static str],
}

impl Words {
    /// All of them, as values.
    pub fn iter(&'static self) -> impl Iterator<Item = Word> {
        (0..self.all.len()).map(move |index| Word { words: self, index })
    }

    /// The word that a text is.
    pub fn read(&'static self, text: &str) -> Result<Word, String> {
        let known = self.iter().find(|word| word.text() == text);
        known.ok_or_else(|| format!("{} is one of {}", self.what, self.all.join(", ")))
    }
}

/// A word of some choice: the typed choice is one [`OneOf::from_word`] away, without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub(super) words: &'static Words,
    pub(super) index: usize,
}

impl Word {
    /// As files, the command line and the screen have it.
    pub fn text(self) -> &'static str {
        self.words.all[self.index]
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// All of them, in the order in which a key steps through them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in files and on the command line.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// The value as one of any choice.
            pub const fn to_word(self) -> $crate::plan::Word {
                // Variants are numbered in the order of their words.
                $crate::plan::Word { words: <Self as $crate::plan::OneOf>::WORDS, index: self as usize }
            }
        }

        impl $crate::plan::OneOf for $name {
            const WORDS: &'static $crate::plan::Words = &$crate::plan::Words { what: $what, all: &[$($text),+] };

            fn from_word(word: $crate::plan::Word) -> Option<Self> {
                // The words name the choice, so a word of another one never passes for one of these.
                (word.words == <Self as $crate::plan::OneOf>::WORDS).then(|| Self::ALL[word.index])
            }
        }

        impl From<$name> for $crate::plan::Word {
            fn from(choice: $name) -> Self {
                choice.to_word()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                <Self as $crate::plan::OneOf>::WORDS.read(text).map(|word| Self::ALL[word.index])
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as ::serde::Deserialize>::deserialize(deserializer)?.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}

pub(super) use choice;

choice!(
    /// A number format in memory or on the wire.
    Format, "a format" {
        /// IEEE single precision.
        Fp32 = "fp32",
        /// bfloat16.
        Bf16 = "bf16",
        /// IEEE half precision.
        Fp16 = "fp16",
        /// 8-bit floating point.
        Fp8 = "fp8",
        /// 4-bit floating point.
        Fp4 = "fp4",
        /// 8-bit integers with block scales.
        Int8 = "int8",
        /// 4-bit integers with block scales.
        Int4 = "int4",
    }
);

impl Format {
    /// Bytes per element, scales apart.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Bf16 | Self::Fp16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Fp4 | Self::Int4 => 0.5,
        }
    }

    /// Whether it needs scales, and passes that quantise and dequantise.
    pub const fn quantised(self) -> bool {
        matches!(self, Self::Int8 | Self::Int4)
    }

    /// The peak of a device whose units multiply it; that of fp32 where it has none.
    pub fn peak(self, peaks: &Peaks) -> FlopPerSecond {
        let own = match self {
            Self::Bf16 => peaks.bf16,
            Self::Fp16 => peaks.fp16,
            Self::Fp8 => peaks.fp8,
            Self::Fp4 => peaks.fp4,
            Self::Fp32 | Self::Int8 | Self::Int4 => None,
        };
        own.unwrap_or(peaks.fp32)
    }
}

choice!(
    /// The optimizer.
    Optimizer, "an optimizer" {
        /// Adam: two fp32 moments.
        Adam = "adam",
        /// Adam with two 8-bit moments.
        Adam8bit = "adam8bit",
        /// SGD with an fp32 momentum.
        SgdMomentum = "sgd-momentum",
        /// Muon: one fp32 momentum.
        Muon = "muon",
    }
);

impl Optimizer {
    /// Bytes of moments per parameter, where those that are not of 8 bits have a format.
    pub const fn moments(self, format: Moments) -> f64 {
        let each = match format {
            Moments::Fp32 => 4.0,
            Moments::Bf16 => 2.0,
        };
        match self {
            Self::Adam => 2.0 * each,
            Self::Adam8bit => 2.0,
            Self::SgdMomentum | Self::Muon => each,
        }
    }
}

choice!(
    /// The format of the optimizer's moments, where the optimizer's name does not say it.
    Moments, "a format of moments" {
        /// fp32.
        Fp32 = "fp32",
        /// bf16: DeepSeek-V3's (arXiv 2412.19437, section 3.3.3), beside fp32 master weights.
        Bf16 = "bf16",
    }
);

choice!(
    /// The format of the copy of trained weights that the optimizer updates, beside weights of fewer bits.
    MasterWeights, "a format of master weights" {
        /// fp32.
        Fp32 = "fp32",
        /// No copy: the optimizer updates the weights themselves, as torchtune's recipes and transformers do with a model
        /// that is loaded in bf16.
        None = "none",
    }
);

choice!(
    /// The format in which gradients are added up and reduced, where the software's own is not meant.
    GradientFormat, "a format of gradients" {
        /// fp32: Megatron-LM's `--accumulate-allreduce-grads-in-fp32`.
        Fp32 = "fp32",
        /// bf16: its `--grad-reduce-in-bf16`, `DeepSeek-V3`'s and Megatron-Bridge's recipes.
        Bf16 = "bf16",
    }
);

impl GradientFormat {
    /// The format of the numbers.
    pub const fn format(self) -> Format {
        match self {
            Self::Fp32 => Format::Fp32,
            Self::Bf16 => Format::Bf16,
        }
    }
}

choice!(
    /// State and checkpoints that are offloaded to host memory, or state to the drives of its node (`ZeRO-Infinity`).
    Offload, "an offload" {
        /// Nothing.
        None = "none",
        /// Optimizer state; the update runs there too.
        Optimizer = "optimizer",
        /// Optimizer state, gradients and weights.
        State = "state",
        /// Activation checkpoints.
        Checkpoints = "checkpoints",
        /// State and checkpoints.
        All = "all",
        /// Optimizer state and gradients on the drives; the update runs on the host.
        OptimizerNvme = "optimizer-nvme",
        /// Optimizer state, gradients and weights on the drives.
        StateNvme = "state-nvme",
        /// The same, and checkpoints in host memory.
        AllNvme = "all-nvme",
        /// What layers keep for backward, checkpoints or not.
        Activations = "activations",
    }
);

impl Offload {
    /// Whether optimizer state is on the host or its drives.
    pub const fn optimizer(self) -> bool {
        self.state() || matches!(self, Self::Optimizer | Self::OptimizerNvme)
    }

    /// Whether weights and gradients are on the host or its drives.
    pub const fn state(self) -> bool {
        matches!(self, Self::State | Self::All | Self::StateNvme | Self::AllNvme)
    }

    /// Whether checkpoints are on the host.
    pub const fn checkpoints(self) -> bool {
        matches!(self, Self::Checkpoints | Self::All | Self::AllNvme | Self::Activations)
    }

    /// Whether what a layer keeps for backward is on the host, though nothing of it is computed again.
    pub const fn activations(self) -> bool {
        matches!(self, Self::Activations)
    }

    /// Whether what is offloaded of the state is on the drives.
    pub const fn on_drives(self) -> bool {
        matches!(self, Self::OptimizerNvme | Self::StateNvme | Self::AllNvme)
    }
}

choice!(
    /// Where an exponential moving average of the trained weights is kept, in the format that the optimizer updates.
    Ema, "a place of averaged weights" {
        /// Nowhere.
        None = "none",
        /// Beside the optimizer's state, on the host where that is offloaded; averaged behind the update.
        Device = "device",
        /// On the host, which averages a copy of the weights while the next step runs (`cpu_offload` of the callback in `NeMo`).
        Host = "host",
    }
);

choice!(
    /// When gradients are reduced under accumulation.
    Reduction, "a reduction" {
        /// Shards of gradients at each micro-batch, sums over replicas as the strategy says.
        Default = "default",
        /// Everything at each micro-batch.
        MicroBatch = "micro-batch",
        /// Shards of gradients at each micro-batch, sums over replicas once at the end, whatever the strategy does: FSDP2's
        /// `set_requires_all_reduce(False)` for all micro-batches but the last.
        ShardedLast = "sharded-last",
        /// Everything once, at the end of the step: gradients are kept whole until then.
        Step = "step",
    }
);

choice!(
    /// The kernel of attention.
    AttentionKernel, "a kernel of attention" {
        /// The stack's on the device.
        Stack = "stack",
        /// None of its own: scores are written, scaled, masked, normalised and read back operator by operator.
        Plain = "plain",
        /// `scaled_dot_product_attention` of PyTorch, which takes flash attention 2 where the device has it
        /// (`aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`).
        Sdpa = "sdpa",
        /// Flash attention, second version.
        Flash2 = "flash2",
        /// Flash attention, third version.
        Flash3 = "flash3",
        /// `cuDNN`'s.
        Cudnn = "cudnn",
    }
);

impl AttentionKernel {
    /// Whether it is not made for an architecture, by name. Nothing is known of architectures that are not named.
    pub fn lacks(self, architecture: &str) -> bool {
        let Architecture { flash2, flash3, cudnn, .. } = Architecture::named(architecture);
        match self {
            Self::Flash2 => !flash2,
            Self::Flash3 => !flash3,
            Self::Cudnn => !cudnn,
            Self::Stack | Self::Plain | Self::Sdpa => false,
        }
    }
}

choice!(
    /// The part of a step that CUDA graphs replay, so that the host does not launch its kernels one by one.
    CudaGraphs, "a use of CUDA graphs" {
        /// Nothing.
        None = "none",
        /// Layers; of those with experts attention and router alone, since how many tokens an expert gets is not known
        /// before (Megatron-LM, `--cuda-graph-scope attn moe_router moe_preprocess`).
        Layer = "layer",
        /// Forward and backward of all micro-batches (Megatron-LM, `--cuda-graph-scope full_iteration`).
        Full = "full",
    }
);

choice!(
    /// What `torch.compile` fuses: operators between matrix products become a kernel each, and autograd keeps what those read
    /// rather than what they hand to one another.
    Compile, "a use of torch.compile" {
        /// Nothing.
        Off = "off",
        /// Layers, one by one (torchtitan's `compile.components = ["model"]`).
        Layer = "layer",
        /// Layers and the loss, or the model as a whole.
        On = "on",
    }
);

choice!(
    /// What counts as model flop: the convention of MFU and of TFLOP/s per device. All add
    /// `12 x layers x heads x head size x sequence` per token for attention; the last halves it where a model is causal.
    FlopCount, "a flop count" {
        /// 6 per trained parameter and token, a tied embedding once, active experts only: torchtitan's,
        /// fms-fsdp's and nanotron's.
        Parameters = "parameters",
        /// 6 per weight of a matrix product and token, logits included, embedding not: Megatron-LM's until March 2025.
        Matrices = "matrices",
        /// The same with half of attention: Megatron-LM's since (megatron/training/training.py,
        /// `num_floating_point_operations`, commit 8873b55d6a).
        Causal = "causal",
    }
);

choice!(
    /// Operators that a plan can place apart.
    Operator, "an operator" {
        /// Query, key and value, scores and projection, and the norm before them.
        Attention = "attention",
        /// Both matrices of the MLP, all experts and their router, and the norm before them.
        Mlp = "mlp",
        /// The embedding; with the logits, where they reuse it.
        Embedding = "embedding",
        /// Last norm and logits.
        Head = "head",
        /// Attention and MLP.
        Layer = "layer",
        /// Everything.
        All = "all",
    }
);

choice!(
    /// The order of micro-batches and layers.
    Accumulation, "an accumulation order" {
        /// All layers of a micro-batch before the next micro-batch.
        Standard = "standard",
        /// All micro-batches of a layer before the next layer.
        Layered = "layered",
    }
);

/// The part of forward that activation checkpointing makes backward compute again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recompute {
    /// Nothing.
    None,
    /// The part that the stack recomputes selectively: the attention core.
    Selective,
    /// Every layer, from its input.
    Full,
    /// This share of the layers, from their input; the rest keep everything.
    Share(f64),
}

impl Recompute {
    /// The share of layers that are computed again from their input.
    pub const fn layers(self) -> f64 {
        match self {
            Self::None | Self::Selective => 0.0,
            Self::Full => 1.0,
            Self::Share(share) => share,
        }
    }
}

impl fmt::Display for Recompute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Selective => f.pad("selective"),
            Self::Full => f.pad("full"),
            Self::Share(share) => f.pad(&share.to_string()),
        }
    }
}

impl FromStr for Recompute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "selective" => Ok(Self::Selective),
            "full" => Ok(Self::Full),
            share => match read_share(share) {
                Some(share) if (0.0..=1.0).contains(&share) => Ok(Self::Share(share)),
                _ => {
                    Err("recompute is none, selective, full or the share of layers recomputed, from 0 to 1".to_owned())
                }
            },
        }
    }
}

impl Serialize for Recompute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

struct RecomputeVisitor;

impl de::Visitor<'_> for RecomputeVisitor {
    type Value = Recompute;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"none\", \"selective\", \"full\" or the share of layers recomputed, from 0 to 1")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Recompute, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, share: f64) -> Result<Recompute, E> {
        self.visit_str(&share.to_string())
    }

    fn visit_i64<E: de::Error>(self, share: i64) -> Result<Recompute, E> {
        self.visit_str(&share.to_string())
    }
}

impl<'de> Deserialize<'de> for Recompute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RecomputeVisitor)
    }
}
