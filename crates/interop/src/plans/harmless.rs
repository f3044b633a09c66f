//! Settings that change neither the size nor the time nor the memory of a step, by tool, each with the reason: data of
//! `presets/tools`, to which users add files of their own. Beside them kernels that take a time of their own, which no plan says.
//!
//! A name that is neither there nor in a tool's own table is unknown.

use std::collections::BTreeMap;

use serde::Deserialize;

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file;

/// The tools whose settings they are: the files of the same names, and those that say so.
pub(crate) const LAUNCHER: &str = "launcher";
pub(crate) const ACCELERATE: &str = "accelerate";
pub(crate) const ACCELERATE_MEGATRON: &str = "accelerate-megatron";
pub(crate) const TORCHTUNE: &str = "torchtune";
pub(crate) const TRAINER: &str = "trainer";
pub(crate) const DEEPSPEED: &str = "deepspeed";
pub(crate) const MEGATRON: &str = "megatron";
pub(crate) const TORCHTITAN: &str = "torchtitan";
pub(crate) const PRIMUS: &str = "primus";

/// Names that change nothing, and names of kernels, by tool.
#[derive(Debug, Default)]
pub(crate) struct HarmlessNames(BTreeMap<String, [Vec<Harmless>; 2]>);

/// Names of settings, and why they change nothing, or what is not known of them. A `*` stands for any end.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Harmless {
    pub why: String,
    pub names: Vec<String>,
}

/// A file of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(rename = "name")]
    _name: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
    /// The tool that it adds to, where the file has another name.
    of: Option<String>,
    #[serde(default)]
    harmless: Vec<Harmless>,
    /// Kernels in the place of others, with which a plan stays possible and its figures are less sure.
    #[serde(default, rename = "kernel")]
    kernels: Vec<Harmless>,
    /// Classes of Hugging Face's models and keys of their files, which an import of a model reads.
    #[serde(rename = "family")]
    _family: Option<toml::Value>,
    #[serde(rename = "ignored")]
    _ignored: Option<toml::Value>,
}

impl HarmlessNames {
    /// Those of a library's files.
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

    /// Those of a tool, and its kernels.
    pub fn of_tool(&self, tool: &str) -> [&[Harmless]; 2] {
        self.0.get(tool).map_or([&[]; 2], |both| both.each_ref().map(Vec::as_slice))
    }
}
