//! What the classes of transformers build where a configuration does not say it, by `model_type`: rules, whose values are data
//! of `presets/tools`, to which users add files of their own.

use std::collections::BTreeMap;

use serde::Deserialize;

use shardscope_engine::model::{Norm, QkNorm};
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file;

/// A class.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of a class by itself, and any of them may go together"
)]
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(super) struct Family {
    pub name: String,
    /// Other names of it: checkpoints keep the name that their class had when they were written, and decoders of models of
    /// text and pictures are those of the model of text.
    pub aliases: Vec<String>,
    pub gated: bool,
    /// The bound of what the activation function reads.
    pub activation_limit: Option<f64>,
    pub norm: Norm,
    pub norms: Norms,
    pub qk_norm: QkNormRule,
    /// Whether the logits reuse the embedding.
    pub tied: Tied,
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
    pub unsaid: BTreeMap<String, u32>,
    /// Sizes of the class, which a configuration inside another leaves out where it has the same.
    pub class: Option<ClassSizes>,
}

/// Layers, width, heads, width of the MLP, and vocabulary that a class has by default.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct ClassSizes(u32, u32, u32, u32, u32);

impl Family {
    /// The size that a file leaves to the class; `nested` says that it stands inside another one.
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

/// Whether the logits reuse the embedding where a configuration does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Tied {
    Yes,
    No,
    /// The configuration must say it.
    Said,
}

/// Norms of a layer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Norms {
    Count(u32),
    /// 1 where this switch is on: the halves run side by side.
    OneIf(String),
    /// 4, or 7 where this switch is on: an MLP beside experts has norms of its own.
    MoreIf(String),
    Falcon,
}

/// Norms of queries and keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum QkNormRule {
    Always(QkNorm),
    /// Of each head where this switch is on.
    HeadIf(String),
    /// Over all heads where this switch is on.
    WidthIf(String),
}

/// Heads of keys and values where they are absent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KvHeads {
    /// As many as of queries.
    Heads,
    /// A constant of the class.
    Constant(u32),
    /// One, unless `multi_query` is false.
    MultiQuery,
}

/// Whether something is there.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Has {
    #[default]
    No,
    Yes,
    /// By a switch, with the default of the class.
    If(String, bool),
}

/// Which matrices have biases.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(super) struct BiasRules {
    pub qkv: Has,
    pub projection: Has,
    pub mlp: Has,
    pub router: Has,
    pub head: Has,
    pub sinks: Has,
}

/// Which layers have a window.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WindowRule {
    None,
    /// All, of a size that has this default.
    All {
        usual: Option<u32>,
    },
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DeltaNetRule {
    None,
    /// All but each so-manieth, whose attention has a gate of its output.
    Gated,
    /// Those that `linear_attn_config` lists, with a decay for each channel.
    Kimi,
}

/// How experts are said.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// As Llama.
impl Default for Family {
    fn default() -> Self {
        let attention = || Has::If("attention_bias".to_owned(), false);
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

/// What a configuration's class is known by: the classes, and keys that do not matter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Families {
    family: Vec<Family>,
    ignored: Vec<IgnoredKeys>,
}

/// Parts of keys' names, and what such keys are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IgnoredKeys {
    why: String,
    parts: Vec<String>,
}

impl Families {
    /// Those of a library's files: a later entry goes before an earlier one of the same name.
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

    /// Why a key does not matter, where that is known.
    pub(super) fn reason(&self, key: &str) -> Option<&str> {
        let of_key = |ignored: &&IgnoredKeys| ignored.parts.iter().any(|part| key.contains(part.as_str()));
        self.ignored.iter().find(of_key).map(|ignored| ignored.why.as_str())
    }

    /// What a `model_type` stands for.
    pub(super) fn find(&self, name: &str) -> Option<&Family> {
        self.family.iter().find(|family| family.name == name || family.aliases.iter().any(|alias| alias == name))
    }

    /// The known `model_type` that another one goes on from: `qwen3_next` from `qwen3`.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        self.names().filter(|known| name.starts_with(known)).max_by_key(|known| known.len())
    }

    /// Every `model_type` that is known.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.family.iter().map(|family| &family.name);
        names.chain(self.family.iter().flat_map(|family| &family.aliases)).map(String::as_str)
    }
}
