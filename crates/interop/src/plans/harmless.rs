//! Settings that change neither size, time nor memory of a step, by tool, each with the reason: data in
//! `presets/tools`, where users may add files. Also kernels whose time no plan knows.
//!
//! A name that is neither there nor in a tool's table is unknown.

use std::collections::BTreeMap;

use serde::Deserialize;

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file;

/// Tools with a list of harmless settings: the name of its file, or the file's `of`.
pub(crate) const LAUNCHER: &str = "launcher";
pub(crate) const ACCELERATE: &str = "accelerate";
pub(crate) const ACCELERATE_MEGATRON: &str = "accelerate-megatron";
pub(crate) const TORCHTUNE: &str = "torchtune";
pub(crate) const TRAINER: &str = "trainer";
pub(crate) const DEEPSPEED: &str = "deepspeed";
pub(crate) const MEGATRON: &str = "megatron";
pub(crate) const TORCHTITAN: &str = "torchtitan";
pub(crate) const PRIMUS: &str = "primus";
pub(crate) const VERL: &str = "verl";
pub(crate) const OPENRLHF: &str = "openrlhf";
pub(crate) const NEMO_RL: &str = "nemo-rl";

/// Names without effect, and names of kernels, by tool.
#[derive(Debug, Default)]
pub(crate) struct HarmlessNames(BTreeMap<String, [Vec<Harmless>; 2]>);

/// Names of settings, and why they change nothing or what is unknown about them. A final `*` stands for any end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Harmless {
    pub why: String,
    pub names: Vec<String>,
}

/// A tool's file in `presets/tools`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(rename = "name")]
    _name: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
    /// The tool that the file adds to, if it has another name.
    of: Option<String>,
    #[serde(default)]
    harmless: Vec<Harmless>,
    /// Replacements of kernels: a plan stays possible, but its figures are less sure.
    #[serde(default, rename = "kernel")]
    kernels: Vec<Harmless>,
    /// Families of Hugging Face's models and ignored keys, which the import of a model reads.
    #[serde(rename = "family")]
    _family: Option<toml::Value>,
    #[serde(rename = "ignored")]
    _ignored: Option<toml::Value>,
}

impl HarmlessNames {
    /// Loads a library's files.
    pub fn of_library(library: &Library) -> Result<Self, Vec<Problem>> {
        let mut found = Self::default();
        for entry in library.entries(Kind::Tool) {
            let file: ToolFile = file::read_unversioned(&entry.text).map_err(|error| {
                let fix = "write [[harmless]] with why and names, as the files of `presets/tools` do";
                vec![Problem::new("", error.in_file(&format!("tools/{}.toml", entry.id)), fix)]
            })?;
            let [harmless, kernels] = found.0.entry(file.of.unwrap_or_else(|| entry.id.clone())).or_default();
            harmless.extend(file.harmless);
            kernels.extend(file.kernels);
        }
        Ok(found)
    }

    /// A tool's names without effect, and its kernels.
    pub fn of_tool(&self, tool: &str) -> [&[Harmless]; 2] {
        self.0.get(tool).map_or([&[]; 2], |both| both.each_ref().map(Vec::as_slice))
    }
}
