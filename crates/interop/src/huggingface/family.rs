//! What the classes of transformers build where a configuration does not say it, by `model_type`.
//!
//! As in transformers 5.23.0, and the youngest in 5.24.0: each class's defaults, and what its layers are made of.

use shardscope_engine::model::{Norm, QkNorm};

/// A class.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of a class by itself, and any of them may go together"
)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub name: &'static str,
    pub gated: bool,
    pub norm: Norm,
    pub norms: Norms,
    pub qk_norm: QkNormRule,
    /// Whether the logits reuse the embedding; `None` where the configuration must say it.
    pub tied: Option<bool>,
    pub kv_heads: KvHeads,
    /// The size of a head that does not follow from the width.
    pub head_size: Option<u32>,
    /// Whether the MLP is four times as wide where nothing is said.
    pub four_times: bool,
    pub biases: BiasRules,
    /// Rows of the table of learned positions beyond the sequence; `None` where positions are computed.
    pub learned: Option<u32>,
    pub window: WindowRule,
    pub experts: ExpertRule,
    /// Whether queries, keys and values are computed from compressed ones.
    pub latent: bool,
    /// Whether an indexer chooses the tokens that attention looks at.
    pub indexer: bool,
    pub delta_net: DeltaNetRule,
    /// Whether each layer is a state space, attention, an MLP or experts alone.
    pub mamba: bool,
    /// Sizes that its published files leave to the class.
    pub unsaid: &'static [(&'static str, u32)],
    /// Sizes of the class, which a configuration inside another leaves out where it has the same.
    pub class: Option<ClassSizes>,
}

/// Layers, width, heads, width of the MLP, and vocabulary that a class has by default.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassSizes(u32, u32, u32, u32, u32);

impl Family {
    /// The size that a file leaves to the class; `nested` says that it stands inside another one.
    pub fn usual(&self, key: &str, nested: bool) -> Option<u32> {
        let unsaid = self.unsaid.iter().find(|(name, _)| *name == key).map(|(_, size)| *size);
        let of_class = |ClassSizes(layers, hidden, heads, ffn, vocab): ClassSizes| match key {
            "num_hidden_layers" => Some(layers),
            "hidden_size" => Some(hidden),
            "num_attention_heads" => Some(heads),
            "intermediate_size" => Some(ffn),
            "vocab_size" => Some(vocab),
            _ => None,
        };
        unsaid.or_else(|| self.class.filter(|_| nested).and_then(of_class))
    }
}

/// Norms of a layer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Norms {
    Count(u32),
    /// 1 where this switch is on: the halves run side by side.
    OneIf(&'static str),
    /// 4, or 7 where this switch is on: an MLP beside experts has norms of its own.
    MoreIf(&'static str),
    Falcon,
}

/// Norms of queries and keys.
#[derive(Debug, Clone, Copy)]
pub(super) enum QkNormRule {
    Always(QkNorm),
    /// Of each head where this switch is on.
    HeadIf(&'static str),
    /// Over all heads where this switch is on.
    WidthIf(&'static str),
}

/// Heads of keys and values where they are absent.
#[derive(Debug, Clone, Copy)]
pub(super) enum KvHeads {
    /// As many as of queries.
    Heads,
    /// A constant of the class.
    Constant(u32),
    /// One, unless `multi_query` is false.
    MultiQuery,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Has {
    No,
    Yes,
    /// By a switch, with the default of the class.
    If(&'static str, bool),
}

/// Which matrices have biases.
#[derive(Debug, Clone, Copy)]
pub(super) struct BiasRules {
    pub qkv: Has,
    pub projection: Has,
    pub mlp: Has,
    pub router: Has,
    pub head: Has,
    pub sinks: Has,
}

impl BiasRules {
    const NONE: Self =
        Self { qkv: Has::No, projection: Has::No, mlp: Has::No, router: Has::No, head: Has::No, sinks: Has::No };

    const fn attention(has: Has) -> Self {
        Self { qkv: has, projection: has, ..Self::NONE }
    }

    /// All of the layers.
    const fn layers(has: Has) -> Self {
        Self { mlp: has, ..Self::attention(has) }
    }
}

/// Which layers have a window.
#[derive(Debug, Clone, Copy)]
pub(super) enum WindowRule {
    None,
    /// All, of a size that has this default.
    All(Option<u32>),
    /// All but each so-manieth, of a size that has this default.
    AllBut(u32, u32),
    /// Those from `max_window_layers` on, if `use_sliding_window`.
    Qwen,
    /// All but each fourth, in chunks.
    Llama4,
    /// Those that are listed, else all but each sixth, of heads that the keys of all layers say.
    Gemma4,
    /// Those that are listed, of heads that keys of their own say.
    Mimo,
}

/// Which layers have a gated delta net.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeltaNetRule {
    None,
    /// All but each so-manieth, whose attention has a gate of its output.
    Gated,
    /// Those that `linear_attn_config` lists, with a decay for each channel.
    Kimi,
}

/// How experts are said.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExpertRule {
    None,
    /// In all layers.
    All,
    /// In all layers but some, with a shared expert of its own width in Qwen2.
    Qwen {
        shared: bool,
    },
    /// In all layers but the first, with shared experts, dense first layers by default.
    DeepSeek(u32),
    /// In each so-manieth layer, with a shared expert.
    Llama4,
    /// In the layers of a pattern, with a shared expert.
    Nemotron,
    /// In all layers, beside an MLP, or in none.
    Gemma4,
    /// In the layers of a list of switches.
    Mimo,
}

const ATTENTION: Has = Has::If("attention_bias", false);

const LLAMA: Family = Family {
    name: "llama",
    gated: true,
    norm: Norm::RmsNorm,
    norms: Norms::Count(2),
    qk_norm: QkNormRule::Always(QkNorm::None),
    tied: Some(false),
    kv_heads: KvHeads::Heads,
    head_size: None,
    four_times: false,
    biases: BiasRules::attention(ATTENTION),
    learned: None,
    window: WindowRule::None,
    experts: ExpertRule::None,
    latent: false,
    delta_net: DeltaNetRule::None,
    indexer: false,
    mamba: false,
    unsaid: &[],
    class: None,
};

/// Those of Llama itself and of what its code was copied for, by two switches.
const BY_SWITCHES: BiasRules = BiasRules { mlp: Has::If("mlp_bias", false), ..BiasRules::attention(ATTENTION) };

const GEMMA: Family =
    Family { name: "gemma", tied: Some(true), kv_heads: KvHeads::Constant(16), head_size: Some(256), ..LLAMA };

const GPT2: Family = Family {
    name: "gpt2",
    gated: false,
    norm: Norm::LayerNorm,
    tied: Some(true),
    four_times: true,
    biases: BiasRules::layers(Has::Yes),
    learned: Some(0),
    ..LLAMA
};

const QK_HEAD: QkNormRule = QkNormRule::Always(QkNorm::Head);
const QK_WIDTH: QkNormRule = QkNormRule::Always(QkNorm::Width);

const QWEN3_NEXT: Family = Family {
    name: "qwen3_next",
    qk_norm: QK_HEAD,
    kv_heads: KvHeads::Constant(2),
    head_size: Some(256),
    experts: ExpertRule::Qwen { shared: true },
    delta_net: DeltaNetRule::Gated,
    ..LLAMA
};

const DEEPSEEK_V3: Family = Family { name: "deepseek_v3", experts: ExpertRule::DeepSeek(3), latent: true, ..LLAMA };

const PHI: Family = Family {
    name: "phi",
    tied: Some(false),
    norms: Norms::Count(1),
    four_times: false,
    biases: BiasRules { head: Has::Yes, ..BiasRules::layers(Has::Yes) },
    learned: None,
    ..GPT2
};

const FALCON: Family = Family {
    name: "falcon",
    norms: Norms::Falcon,
    kv_heads: KvHeads::MultiQuery,
    biases: BiasRules::layers(Has::If("bias", false)),
    learned: None,
    ..GPT2
};

#[rustfmt::skip]
static FAMILIES: [Family; 54] = [
    Family { biases: BY_SWITCHES, class: Some(ClassSizes(32, 4096, 32, 11_008, 32_000)), ..LLAMA },
    Family { name: "llama4_text", kv_heads: KvHeads::Constant(8), head_size: Some(128), window: WindowRule::Llama4,
        experts: ExpertRule::Llama4, ..LLAMA },
    Family { name: "mistral", kv_heads: KvHeads::Constant(8), window: WindowRule::All(Some(4096)),
        biases: BiasRules::NONE, class: Some(ClassSizes(32, 4096, 32, 14_336, 32_000)), ..LLAMA },
    Family { name: "ministral", kv_heads: KvHeads::Constant(8), window: WindowRule::All(Some(4096)), biases: BiasRules::NONE, ..LLAMA },
    Family { name: "ministral3", kv_heads: KvHeads::Constant(8), head_size: Some(128), window: WindowRule::All(None),
        biases: BiasRules::NONE, class: Some(ClassSizes(34, 4096, 32, 14_336, 131_072)), ..LLAMA },
    Family { name: "mixtral", kv_heads: KvHeads::Constant(8), window: WindowRule::All(None),
        biases: BiasRules::NONE, experts: ExpertRule::All, ..LLAMA },
    Family { name: "qwen2", kv_heads: KvHeads::Constant(32), biases: BiasRules { qkv: Has::Yes, ..BiasRules::NONE },
        window: WindowRule::Qwen, class: Some(ClassSizes(32, 4096, 32, 22_016, 151_936)), ..LLAMA },
    Family { name: "qwen2_moe", kv_heads: KvHeads::Constant(16), biases: BiasRules { qkv: Has::If("qkv_bias", true), ..BiasRules::NONE },
        window: WindowRule::Qwen, experts: ExpertRule::Qwen { shared: true }, ..LLAMA },
    Family { name: "qwen3", kv_heads: KvHeads::Constant(32), head_size: Some(128), qk_norm: QK_HEAD,
        window: WindowRule::Qwen, class: Some(ClassSizes(32, 4096, 32, 22_016, 151_936)), ..LLAMA },
    Family { name: "qwen3_moe", kv_heads: KvHeads::Constant(4), qk_norm: QK_HEAD, window: WindowRule::Qwen,
        experts: ExpertRule::Qwen { shared: false }, ..LLAMA },
    QWEN3_NEXT,
    Family { name: "qwen3_5_moe_text", ..QWEN3_NEXT },
    Family { name: "qwen3_5_text", kv_heads: KvHeads::Constant(4), experts: ExpertRule::None, ..QWEN3_NEXT },
    Family { class: Some(ClassSizes(28, 3072, 16, 24_576, 256_000)), ..GEMMA },
    Family { name: "gemma2", kv_heads: KvHeads::Constant(4), norms: Norms::Count(4), window: WindowRule::AllBut(2, 4096),
        class: Some(ClassSizes(26, 2304, 8, 9216, 256_000)), ..GEMMA },
    // The published file of Gemma 3 4B has neither.
    Family { name: "gemma3_text", kv_heads: KvHeads::Constant(4), norms: Norms::Count(4), qk_norm: QK_HEAD,
        window: WindowRule::AllBut(6, 4096), unsaid: &[("num_attention_heads", 8), ("vocab_size", 262_208)], ..GEMMA },
    // Without the classes' embeddings for each layer, and without layers that share keys.
    Family { name: "gemma4_text", kv_heads: KvHeads::Heads, norms: Norms::MoreIf("enable_moe_block"), qk_norm: QK_HEAD,
        window: WindowRule::Gemma4, experts: ExpertRule::Gemma4, biases: BiasRules::attention(ATTENTION),
        unsaid: &[("head_dim", 256), ("global_head_dim", 512)], ..GEMMA },
    PHI,
    Family { name: "phi-msft", four_times: true, ..PHI },
    Family { name: "phi3", window: WindowRule::All(None), biases: BiasRules::NONE,
        class: Some(ClassSizes(32, 3072, 32, 8192, 32_064)), ..LLAMA },
    Family { name: "phimoe", norm: Norm::LayerNorm, kv_heads: KvHeads::Constant(8), biases: BiasRules { head: Has::If("lm_head_bias", false), ..BiasRules::attention(ATTENTION) },
        window: WindowRule::All(None), experts: ExpertRule::All, ..LLAMA },
    GPT2,
    Family { name: "gpt_bigcode", kv_heads: KvHeads::MultiQuery, ..GPT2 },
    Family { name: "gptj", norms: Norms::Count(1), tied: Some(false), biases: BiasRules { mlp: Has::Yes, head: Has::Yes, ..BiasRules::NONE }, learned: None,
        ..GPT2 },
    Family { name: "gpt_neox", tied: Some(false), four_times: false, learned: None,
        biases: BiasRules { mlp: Has::Yes, ..BiasRules::attention(Has::If("attention_bias", true)) }, ..GPT2 },
    Family { name: "opt", four_times: false, learned: Some(2), biases: BiasRules::layers(Has::If("enable_bias", true)), ..GPT2 },
    FALCON,
    // Its norms have no biases, so that they count as RMS norms do.
    Family { name: "mpt", norm: Norm::RmsNorm, biases: BiasRules::NONE, learned: None, ..GPT2 },
    Family { name: "starcoder2", kv_heads: KvHeads::Constant(2), four_times: false, learned: None,
        biases: BiasRules::layers(Has::If("use_bias", true)), window: WindowRule::All(None), ..GPT2 },
    Family { name: "stablelm", norm: Norm::LayerNorm, norms: Norms::OneIf("use_parallel_residual"),
        qk_norm: QkNormRule::WidthIf("qk_layernorm"), kv_heads: KvHeads::Constant(32),
        biases: BiasRules { qkv: Has::If("use_qkv_bias", false), ..BiasRules::NONE }, ..LLAMA },
    Family { name: "olmo", norm: Norm::None, ..LLAMA },
    Family { name: "olmo2", qk_norm: QK_WIDTH, ..LLAMA },
    Family { name: "olmo3", qk_norm: QK_WIDTH, window: WindowRule::AllBut(4, 4096), ..LLAMA },
    Family { name: "olmoe", qk_norm: QK_WIDTH, experts: ExpertRule::All, ..LLAMA },
    Family { name: "granite", biases: BY_SWITCHES, ..LLAMA },
    Family { name: "granitemoe", experts: ExpertRule::All, ..LLAMA },
    Family { name: "smollm3", biases: BY_SWITCHES, tied: None, kv_heads: KvHeads::Constant(4), window: WindowRule::Qwen, ..LLAMA },
    Family { name: "gpt_oss", kv_heads: KvHeads::Constant(8), head_size: Some(64), biases: BiasRules { mlp: Has::Yes, router: Has::Yes,
            sinks: Has::Yes, ..BiasRules::attention(Has::If("attention_bias", true)) },
        window: WindowRule::AllBut(2, 128), experts: ExpertRule::All, ..LLAMA },
    // The code beside its weights (XiaomiMiMo/MiMo-V2-Flash, modeling_mimo_v2_flash.py): its sinks are no parameters.
    Family { name: "mimo_v2_flash", window: WindowRule::Mimo, experts: ExpertRule::Mimo, ..LLAMA },
    Family { name: "deepseek_v2", experts: ExpertRule::DeepSeek(0), ..DEEPSEEK_V3 },
    DEEPSEEK_V3,
    Family { name: "deepseek_v32", indexer: true, ..DEEPSEEK_V3 },
    Family { name: "glm_moe_dsa", indexer: true, ..DEEPSEEK_V3 },
    Family { name: "kimi_linear", delta_net: DeltaNetRule::Kimi, ..DEEPSEEK_V3 },
    // Both matrices of the MLP, and a squared ReLU between them.
    Family { name: "nemotron", gated: false, norm: Norm::LayerNorm, biases: BY_SWITCHES, ..LLAMA },
    Family { name: "nemotron_h", gated: false, kv_heads: KvHeads::Constant(8), head_size: Some(128), biases: BY_SWITCHES,
        experts: ExpertRule::Nemotron, mamba: true, ..LLAMA },
    Family { name: "arcee", gated: false, biases: BY_SWITCHES, ..LLAMA },
    Family { name: "seed_oss", kv_heads: KvHeads::Constant(8), head_size: Some(128), biases: BiasRules { qkv: Has::If("attention_bias", true),
            projection: Has::If("attention_out_bias", false), mlp: Has::If("mlp_bias", false), ..BiasRules::NONE }, ..LLAMA },
    Family { name: "glm4", norms: Norms::Count(4), kv_heads: KvHeads::Constant(2), head_size: Some(128),
        biases: BiasRules { qkv: Has::If("attention_bias", true), ..BiasRules::NONE }, ..LLAMA },
    Family { name: "glm4_moe", qk_norm: QkNormRule::HeadIf("use_qk_norm"), kv_heads: KvHeads::Constant(8),
        biases: BiasRules { qkv: ATTENTION, ..BiasRules::NONE }, experts: ExpertRule::DeepSeek(1), ..LLAMA },
    // The first one with experts, before latent attention.
    Family { name: "deepseek", experts: ExpertRule::DeepSeek(0), ..LLAMA },
    Family { name: "dots1", qk_norm: QK_HEAD, experts: ExpertRule::DeepSeek(0), ..LLAMA },
    // Ling 2.0: the code beside its weights (inclusionAI/Ling-1T, modeling_bailing_moe_v2.py).
    Family { name: "bailing_moe_v2", qk_norm: QkNormRule::HeadIf("use_qk_norm"), biases: BiasRules { qkv: Has::If("use_qkv_bias", false),
            ..BiasRules::layers(Has::If("use_bias", false)) }, experts: ExpertRule::DeepSeek(0), ..LLAMA },
    Family { name: "minimax_m2", qk_norm: QK_WIDTH, kv_heads: KvHeads::Constant(8), head_size: Some(128),
        experts: ExpertRule::All, ..LLAMA },
];

/// Other names of classes.
#[rustfmt::skip]
const ALIASES: [(&str, &str); 12] = [
    ("kimi_k2", "deepseek_v3"), ("mimo", "qwen2"), ("RefinedWeb", "falcon"), ("RefinedWebModel", "falcon"),
    // Decoders of models of text and pictures, which are those of the model of text.
    ("qwen2_vl", "qwen2"), ("qwen2_vl_text", "qwen2"), ("qwen2_5_vl", "qwen2"), ("qwen2_5_vl_text", "qwen2"),
    ("qwen3_vl_text", "qwen3"), ("qwen3_vl_moe_text", "qwen3_moe"), ("glm4v_text", "glm4"), ("glm4v_moe_text", "glm4_moe"),
];

/// What a `model_type` stands for.
pub(super) fn find(name: &str) -> Option<&'static Family> {
    // Checkpoints keep the name that their class had when they were written.
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    FAMILIES.iter().find(|family| family.name == name)
}

/// The known `model_type` that another one goes on from: `qwen3_next` from `qwen3`.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    names().filter(|known| name.starts_with(known)).max_by_key(|known| known.len())
}

/// Every `model_type` that is known.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name).chain(ALIASES.iter().map(|(alias, _)| *alias))
}
