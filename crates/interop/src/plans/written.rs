//! Writes lines of keys and values as YAML, JSON, TOML or arguments, each with a head of comments.
//!
//! Does not interpret the lines.

use serde_json::{Map, Value as Json};

use crate::FileText;
use shardscope_engine::scenario::Scenario;
use shardscope_library::text::shell::ShellCode;

use super::writer::Line;

/// Head of a file: tool, scenario and notes.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Tool and version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// Where the tool deviates from the plan.
    pub notes: Vec<String>,
    /// Settings outside the file.
    pub elsewhere: Vec<String>,
    /// Aspects of the plan that the prediction does not cover.
    pub caveats: Vec<String>,
}

/// The job's size, in launchers' terms.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    /// Devices in all.
    pub devices: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Devices per node.
    pub each: u32,
}

impl Ranks {
    /// The size of a scenario's job.
    pub(crate) fn of_scenario(scenario: &Scenario) -> Self {
        let (devices, per_node) = (scenario.devices(), scenario.cluster.devices_per_node());
        Self { devices, nodes: devices.div_ceil(per_node), each: devices.min(per_node) }
    }
}

impl Head {
    /// The head as lines of comments.
    pub fn lines(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|note| format!("not as planned: {note}"));
        let elsewhere = self.elsewhere.iter().map(|note| format!("set outside this file: {note}"));
        let caveats = self.caveats.iter().map(|caveat| format!("predicted with a caveat: {caveat}"));
        [format!("for {}", self.tool), self.line()].into_iter().chain(notes).chain(elsewhere).chain(caveats).collect()
    }

    fn line(&self) -> String {
        format!("'{}' as shardscope {} planned it", self.scenario, env!("CARGO_PKG_VERSION"))
    }
}

/// Lines as nested objects.
fn nested(lines: &[Line]) -> Map<String, Json> {
    let mut root = Map::new();
    for Line { name, value } in lines {
        // `fsdp_config.fsdp_version` descends into `fsdp_config`, which is created if needed.
        let mut object = &mut root;
        let mut steps = name.split('.').peekable();
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                object.insert(step.to_owned(), value.clone());
                break;
            }
            let inner = object.entry(step).or_insert_with(|| Json::Object(Map::new()));
            let Json::Object(inner) = inner else { break };
            object = inner;
        }
    }
    root
}

/// Writes YAML.
pub fn yaml(head: &Head, lines: &[Line]) -> Result<FileText, String> {
    FileText::yaml(&head.lines(), &nested(lines))
}

/// Writes JSON, which has no comments: the head has keys of its own.
pub fn json(head: &Head, lines: &[Line]) -> Result<FileText, String> {
    let mut object = Map::new();
    object.insert("for".to_owned(), head.tool.clone().into());
    object.insert("from".to_owned(), head.line().into());
    object.insert("notes".to_owned(), head.notes.clone().into());
    object.insert("elsewhere".to_owned(), head.elsewhere.clone().into());
    object.extend(nested(lines));
    FileText::json(&object)
}

/// Writes TOML, with a section for each object.
pub fn toml(head: &Head, lines: &[Line]) -> Result<FileText, String> {
    FileText::toml(&head.lines(), &nested(lines))
}

/// Writes options of a command, each after `between`; a switch that is on has no value, one that is off is left out.
pub fn options(command: ShellCode, between: &'static str, lines: &[Line]) -> ShellCode {
    lines.iter().fold(command, |command, Line { name, value }| match value {
        Json::Bool(false) => command,
        Json::Bool(true) => command.code(between).switch(name),
        Json::Array(words) => {
            let words = words.iter().filter_map(Json::as_str);
            words.fold(command.code(between).switch(name), |command, word| command.code(" ").word(word))
        }
        Json::String(text) => command.code(between).option(name, text),
        value => command.code(between).option(name, value),
    })
}

/// Builds a script from its head and the job's size.
type ScriptText = Box<dyn FnOnce(&Head, &Ranks) -> Result<FileText, String>>;

/// The form in which a plan is written, with the file's usual name.
pub(crate) enum Written {
    Yaml(&'static str, Vec<Line>),
    Json(&'static str, Vec<Line>),
    Toml(&'static str, Vec<Line>),
    Script(&'static str, ScriptText),
    /// A job script, which has more than lines.
    Job,
}
