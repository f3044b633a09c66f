//! Lines of keys and values as YAML, JSON, TOML or arguments, each with a head of comments.
//!
//! Not for what the lines say.

use std::fmt::Write;

use serde_json::{Map, Value as Json};

use shardscope_engine::scenario::Scenario;

use super::writer::Line;

/// Who writes for whom, and what the file does not say.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// Tool and version.
    pub tool: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the tool does otherwise than planned.
    pub notes: Vec<String>,
    /// What is said elsewhere.
    pub elsewhere: Vec<String>,
}

/// The job's size, as launchers want it.
#[derive(Debug, Clone, Copy)]
pub struct Ranks {
    /// Devices in all.
    pub devices: u32,
    /// Nodes.
    pub nodes: u32,
    /// Devices of each node.
    pub each: u32,
}

impl Ranks {
    /// Those of a scenario.
    pub fn of_scenario(scenario: &Scenario) -> Self {
        let (devices, per_node) = (scenario.devices(), scenario.cluster.devices_per_node());
        Self { devices, nodes: devices.div_ceil(per_node), each: devices.min(per_node) }
    }
}

impl Head {
    /// As comments.
    pub fn comments(&self) -> String {
        let mut text = format!("# for {}\n# {}\n", self.tool, self.line());
        for (what, lines) in [("not as planned", &self.notes), ("set outside this file", &self.elsewhere)] {
            for line in lines {
                // A string takes every text.
                let _ = writeln!(text, "# {what}: {line}");
            }
        }
        text
    }

    fn line(&self) -> String {
        format!("'{}' as shardscope {} planned it", self.scenario, env!("CARGO_PKG_VERSION"))
    }
}

/// The lines as nested objects.
fn nested(lines: &[Line]) -> Map<String, Json> {
    let mut root = Map::new();
    for Line { name, value } in lines {
        // `fsdp_config.fsdp_version` goes down into `fsdp_config`, which is made on the way.
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

/// As YAML.
pub fn yaml(head: &Head, lines: &[Line]) -> String {
    let mut text = head.comments();
    block(&nested(lines), 0, &mut text);
    text
}

fn block(object: &Map<String, Json>, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (key, value) in object {
        // A string takes every text, and JSON's numbers and strings are YAML's too.
        let _ = match value {
            Json::Object(inner) => {
                let _ = writeln!(text, "{indent}{key}:");
                block(inner, depth + 1, text);
                Ok(())
            }
            value => writeln!(text, "{indent}{key}: {value}"),
        };
    }
}

/// As JSON, which has no comments: the head stands under names of its own.
pub fn json(head: &Head, lines: &[Line]) -> String {
    let mut object = Map::new();
    object.insert("for".to_owned(), head.tool.clone().into());
    object.insert("from".to_owned(), head.line().into());
    object.insert("notes".to_owned(), head.notes.clone().into());
    object.insert("elsewhere".to_owned(), head.elsewhere.clone().into());
    object.extend(nested(lines));
    // With a `#` the indented form of JSON's text is asked for.
    format!("{:#}\n", Json::Object(object))
}

/// As TOML, a section for each object.
pub fn toml(head: &Head, lines: &[Line]) -> String {
    let mut text = head.comments();
    for (section, object) in nested(lines) {
        // A string takes every text, and JSON's values are TOML's too.
        let _ = writeln!(text, "\n[{section}]");
        for (key, value) in object.as_object().into_iter().flatten() {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

/// As arguments of a command, one a line; what is on has no value, and what is off is not there.
pub fn arguments(lines: &[Line]) -> Vec<String> {
    let argument = |Line { name, value }: &Line| match value {
        Json::Bool(true) => format!("--{name}"),
        Json::String(text) => format!("--{name} {text}"),
        value => format!("--{name} {value}"),
    };
    lines.iter().filter(|line| line.value != false).map(argument).collect()
}
