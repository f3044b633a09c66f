//! The table of options in the guide.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use shardscope_engine::scenario::Field;

use super::Cli;

/// An option of a command, as a row.
fn row(command: &str, option: &Arg) -> Option<String> {
    let name = option.get_long()?;
    let value = option.get_value_names().filter(|_| option.get_action().takes_values());
    let value = value.map(|names| format!(" <{}>", names.join(" "))).unwrap_or_default();
    let words: Vec<String> = option.get_possible_values().iter().map(|word| format!("`{}`", word.get_name())).collect();
    let words = if words.is_empty() || value.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let usual = option.get_default_values().first().filter(|_| !value.is_empty());
    let usual = usual.map(|usual| format!("; {} by default", usual.to_string_lossy())).unwrap_or_default();
    Some(format!("| {command} | `--{name}{value}` | {help}{words}{usual} |").replace("<CHAPTER|WORD>", "<WORD>"))
}

/// The options of a command and of the commands below it, without the fields of a scenario.
fn rows(path: &str, command: &Command, text: &mut String) {
    let fields: Vec<&str> = Field::all().map(|field| field.spec().flag).collect();
    let own = command.get_arguments().filter(|option| {
        let field = option.get_help_heading() == Some("Scenario")
            && option.get_long().is_some_and(|name| fields.contains(&name));
        !field
    });
    for option in own {
        let name = if option.is_global_set() { "all" } else { path };
        row(name, option).into_iter().for_each(|row| _ = writeln!(text, "{row}"));
    }
    for below in command.get_subcommands() {
        let path =
            if path == "shardscope" { below.get_name().to_owned() } else { format!("{path} {}", below.get_name()) };
        rows(&path, below, text);
    }
}

#[test]
fn the_guide_has_the_table_of_options() {
    let mut table = "| Command | Option | What |\n|---|---|---|\n".to_owned();
    rows("shardscope", &Cli::command(), &mut table);
    let chapter = include_str!("../../../docs/options.md");
    assert!(chapter.contains(&table), "put into docs/options.md what this prints:\n{table}");
}
