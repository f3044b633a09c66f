//! Defaults of transformers' classes by `model_type`, for what a configuration leaves out. The rules are here, their
//! values in `presets/tools`, where users may add files.

use std::collections::BTreeMap;

use serde::Deserialize;

use shardscope_engine::model::{Norm, QkNorm};
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file;

/// A model class.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of a class by itself, and any of them may go together"
)]
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(super) struct Family {
    pub name: String,
    /// Other names: old checkpoints keep the name that their class had then, and vision-language models use the decoder
    /// of the text model.
    pub aliases: Vec<String>,
    pub gated: bool,
    /// Clamp on the activation function's input.
    pub activation_limit: Option<f64>,
    pub norm: Norm,
    pub norms: Norms,
    pub qk_norm: QkNormRule,
    /// Weight tying of embedding and head.
    pub tied: Tied,
    pub kv_heads: KvHeads,
    /// The head size, if not hidden size over heads.
    pub head_size: Option<u32>,
    /// True if the MLP's width defaults to 4 x hidden.
    pub four_times: bool,
    pub biases: BiasRules,
    /// Extra rows of the learned position table beyond the sequence; `None` if positions are computed.
    pub learned: Option<u32>,
    pub window: WindowRule,
    pub experts: ExpertRule,
    /// True for multi-head latent attention (MLA).
    pub latent: bool,
    /// True if an indexer selects the tokens that attention reads.
    pub indexer: bool,
    pub delta_net: DeltaNetRule,
    /// True if each layer is a Mamba block, attention, an MLP or experts alone.
    pub mamba: bool,
    /// Defaults of sizes that published files leave out.
    pub unsaid: BTreeMap<String, u32>,
    /// Default sizes of the class, which a nested configuration leaves out if equal.
    pub class: Option<ClassSizes>,
}

/// A class's default layers, hidden size, heads, MLP width and vocabulary.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct ClassSizes(u32, u32, u32, u32, u32);

impl Family {
    /// The default of a size; `nested` if the configuration lies inside another one.
    pub fn usual(&self, key: &str, nested: bool) -> Option<u32> {
        let unsaid = self.unsaid.get(key).copied();
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

/// Default weight tying of embedding and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Tied {
    Yes,
    No,
    /// No default: the configuration must state it.
    Said,
}

/// Number of norms in a layer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Norms {
    Count(u32),
    /// 1 if this switch is on, since attention and MLP run in parallel; else 2.
    OneIf(String),
    /// 7 if this switch is on, since an MLP beside experts has its own norms; else 4.
    MoreIf(String),
    Falcon,
}

/// Norms of queries and keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum QkNormRule {
    Always(QkNorm),
    /// Per head, if this switch is on.
    HeadIf(String),
    /// Over all heads, if this switch is on.
    WidthIf(String),
}

/// Default number of KV heads.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KvHeads {
    /// As many as query heads.
    Heads,
    /// A constant of the class.
    Constant(u32),
    /// One, unless `multi_query` is false.
    MultiQuery,
}

/// Presence of a part of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Presence {
    #[default]
    No,
    Yes,
    /// Set by this switch, with the class's default.
    If(String, bool),
}

/// Matrices that have biases.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(super) struct BiasRules {
    pub qkv: Presence,
    pub projection: Presence,
    pub mlp: Presence,
    pub router: Presence,
    pub head: Presence,
    pub sinks: Presence,
}

/// Layers that have a sliding window.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WindowRule {
    None,
    /// All layers, with this default size.
    All {
        usual: Option<u32>,
    },
    /// All layers but every n-th: n, and the default size.
    AllBut(u32, u32),
    /// Layers from `max_window_layers` on, if `use_sliding_window` is on.
    Qwen,
    /// All layers but every fourth, with chunked attention.
    Llama4,
    /// The listed layers, else all but every sixth; the model-wide keys give their heads.
    Gemma4,
    /// The listed layers; `swa_*` keys give their heads.
    Mimo,
}

/// Layers that have a gated delta net.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeltaNetRule {
    None,
    /// All layers but every n-th, whose attention has an output gate.
    Gated,
    /// The layers that `linear_attn_config` lists, with a decay per channel.
    Kimi,
}

/// How a configuration states its experts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ExpertRule {
    None,
    /// In all layers.
    All,
    /// In all layers but some; Qwen2 adds a shared expert with its own width.
    Qwen {
        shared: bool,
    },
    /// In all but this default number of leading dense layers, with shared experts.
    DeepSeek(u32),
    /// In every n-th layer, with a shared expert.
    Llama4,
    /// In the pattern's expert layers, with a shared expert.
    Nemotron,
    /// In all layers beside an MLP, or in none.
    Gemma4,
    /// In the layers whose switch in a list is on.
    Mimo,
}

/// Llama's values.
impl Default for Family {
    fn default() -> Self {
        let attention = || Presence::If("attention_bias".to_owned(), false);
        Self {
            name: String::new(),
            aliases: Vec::new(),
            gated: true,
            activation_limit: None,
            norm: Norm::RmsNorm,
            norms: Norms::Count(2),
            qk_norm: QkNormRule::Always(QkNorm::None),
            tied: Tied::No,
            kv_heads: KvHeads::Heads,
            head_size: None,
            four_times: false,
            biases: BiasRules { qkv: attention(), projection: attention(), ..BiasRules::default() },
            learned: None,
            window: WindowRule::None,
            experts: ExpertRule::None,
            latent: false,
            indexer: false,
            delta_net: DeltaNetRule::None,
            mamba: false,
            unsaid: BTreeMap::new(),
            class: None,
        }
    }
}

/// Known classes, and keys that do not affect the shape.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Families {
    family: Vec<Family>,
    ignored: Vec<IgnoredKeys>,
}

/// Parts of key names, and why such keys are ignored.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IgnoredKeys {
    why: String,
    parts: Vec<String>,
}

impl Families {
    /// Loads a library's files: a later entry replaces an earlier one of the same name.
    pub fn of_library(library: &Library) -> Result<Self, Problem> {
        let mut found = Self::default();
        let says = |text: &str| ["[[family]]", "[[ignored]]"].iter().any(|head| text.contains(head));
        for entry in library.entries(Kind::Tool).filter(|entry| says(&entry.text)) {
            let file: Self = file::read_unversioned(&entry.text).map_err(|error| {
                let what = error.in_file(&format!("tools/{}.toml", entry.id));
                Problem::new("", what, "write entries as `shardscope presets tools --show transformers` shows them")
            })?;
            found.family.retain(|known| file.family.iter().all(|family| family.name != known.name));
            found.family.extend(file.family);
            found.ignored.extend(file.ignored);
        }
        Ok(found)
    }

    /// Why a key is ignored, if known.
    pub(super) fn reason(&self, key: &str) -> Option<&str> {
        let of_key = |ignored: &&IgnoredKeys| ignored.parts.iter().any(|part| key.contains(part.as_str()));
        self.ignored.iter().find(of_key).map(|ignored| ignored.why.as_str())
    }

    /// The class of a `model_type`.
    pub(super) fn find(&self, name: &str) -> Option<&Family> {
        self.family.iter().find(|family| family.name == name || family.aliases.iter().any(|alias| alias == name))
    }

    /// The longest known `model_type` that starts `name`: `qwen3` for `qwen3_next`.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        self.names().filter(|known| name.starts_with(known)).max_by_key(|known| known.len())
    }

    /// All known names of `model_type`.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.family.iter().map(|family| &family.name);
        names.chain(self.family.iter().flat_map(|family| &family.aliases)).map(String::as_str)
    }
}
