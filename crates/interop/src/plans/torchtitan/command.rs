//! torchtitan's command: in 0.3 a named configuration with overrides, in earlier versions a file.

use std::collections::BTreeMap;

use crate::FileText;
use shardscope_library::text::shell::ShellCode;

use super::super::launcher;
use super::super::settings::ToolSettings;
use super::super::words::{CONFIG, SUBCOMMAND};
use super::super::writer::Line;
use super::super::written::{self, Head, Ranks};
use super::{COMPILE, CONVERTERS, LOCAL, MODE, TENSOR};

/// Defaults in the configurations of 0.3 (`torchtitan/models/llama3/config_registry.py`).
const CONFIGS: [(&str, &[(&str, &str)]); 3] = [
    ("llama3_8b", &[(LOCAL, "1"), ("training.seq_len", "8192"), (MODE, "selective")]),
    ("llama3_70b", &[(LOCAL, "8"), ("training.seq_len", "8192"), (MODE, "full"), (TENSOR, "8")]),
    (
        "llama3_405b",
        &[
            (LOCAL, "2"),
            ("training.seq_len", "8192"),
            (MODE, "full"),
            (TENSOR, "8"),
            (COMPILE, "true"),
            (CONVERTERS, "quantize.linear.float8"),
        ],
    ),
];

/// A setting's value in a configuration of 0.3.
pub(super) fn configured(config: &str, name: &str) -> Option<&'static str> {
    let (_, says) = CONFIGS.iter().find(|(known, _)| *known == config)?;
    says.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The script that starts torchtitan, configured by variables.
pub const SCRIPT: &str = "run_train.sh";

/// True if a program's name or arguments are torchtitan's.
pub fn is_started(program: &str, words: &[String]) -> bool {
    let named = program == "torchtitan.train" || program.ends_with("torchtitan/train.py") || program.ends_with(SCRIPT);
    named || words.iter().any(|word| word.starts_with("--job.config_file"))
}

/// Settings of a command: its file or named configuration, and switches turned off (`--compile.no-enable`).
pub fn of_command(mut settings: ToolSettings, variables: &BTreeMap<String, String>) -> ToolSettings {
    let said = |name: &str| variables.get(name).cloned();
    if let Some(devices) = said("NGPU").filter(|_| !settings.has(launcher::DEVICES)) {
        settings.put(launcher::DEVICES, &devices, "NGPU");
    }
    let name = |settings: &mut ToolSettings, option: &str, variable: &str| {
        settings.take(option).map(|it| it.text).or_else(|| said(variable))
    };
    let module = name(&mut settings, "module", "MODULE");
    let config = name(&mut settings, CONFIG, "CONFIG");
    if let Some(file) = name(&mut settings, "job.config_file", "CONFIG_FILE") {
        settings.put(CONFIG, &file, "--job.config_file");
    }
    let off: Vec<(String, String)> =
        settings.rest().map(|(name, _)| (name.to_owned(), name.replacen(".no_", ".", 1))).collect();
    for (name, on) in off.into_iter().filter(|(name, on)| name != on) {
        settings.take(&name);
        settings.put(&on, "false", &format!("--{name}"));
    }
    for mode in ["none", "selective", "full"].map(|mode| (mode, format!("{SUBCOMMAND}{mode}"))) {
        if settings.take(&mode.1).is_some() {
            settings.put(MODE, mode.0, &mode.1);
        }
    }
    if let (Some(module), Some(config)) = (module, config) {
        let flavor = config.strip_prefix(&format!("{module}_")).unwrap_or(&config).to_uppercase();
        settings.put("model.name", &module, "--module");
        settings.put("model.flavor", &flavor, &format!("--config {config}"));
        let mut own = ToolSettings::new(&settings.file);
        for (name, text) in CONFIGS.iter().filter(|(known, _)| *known == config).flat_map(|(_, says)| *says) {
            own.put(name, text, &format!("--config {config}"));
        }
        if own.is_empty() {
            // An unknown configuration is a Python function, which is in no file.
            settings.put("--config", &config, "--config");
        }
        settings.fall_back(own);
    }
    settings
}

/// The command of 0.3, which has no file; recomputation is a subcommand at the end.
pub fn command(head: &Head, lines: &[Line], ranks: &Ranks) -> Result<FileText, String> {
    const NEXT: &str = " \\\n   ";
    let (modes, flags): (Vec<_>, Vec<_>) = lines.iter().cloned().partition(|line| line.name == MODE);
    let command = ShellCode::default().code("#!/bin/bash\n").comments(head.lines()).code("torchrun");
    let command = command.option("nnodes", ranks.nodes).option("nproc-per-node", ranks.each);
    let command = written::options(command.code(" -m torchtitan.train"), NEXT, &flags);
    let subcommand = |line: &Line| format!("{SUBCOMMAND}{}", line.value.as_str().unwrap_or("none"));
    let command = modes.iter().fold(command, |command, mode| command.code(NEXT).code(" ").word(subcommand(mode)));
    FileText::shell(command.code("\n"))
}
