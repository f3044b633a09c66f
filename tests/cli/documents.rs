//! Help, completions, man page, presets: what people read before they compute anything.

use std::io::Write;
use std::process::{Command, Stdio};

use super::run::{Home, assert_contains, run};

#[test]
fn help_of_the_program() {
    let run = run("--help");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout);
}

/// A page of a terminal is some 50 rows; every flag is under `--help`.
#[test]
fn the_short_help_is_a_page() {
    let page = run("-h").stdout;
    assert!(page.lines().count() <= 60, "{page}");
    assert_contains(&page, &["--model", "--global-batch", "eval", "`shardscope --help` has all flags"]);
    assert!(!page.contains("--moments"), "{page}");
}

#[test]
fn words_of_other_tools_lead_to_what_is_meant() {
    assert_eq!(
        run("eval --gpus 64 --batch 512 --format json").code,
        run("eval --devices 64 --global-batch 512 --format json").code
    );
    let misspelt = run("evl x");
    assert_eq!(misspelt.code, Some(2));
    assert_contains(&misspelt.stderr, &["'evl' is no command", "shardscope eval"]);
    assert_contains(&run("evl").stderr, &["or the command eval"]);
}

/// A model's configuration, whose name alone would be that of a scenario.
#[test]
fn the_name_of_another_tools_file_leads_to_its_import() {
    let home = Home::new();
    home.write("config.json", "{}");
    for command in ["config.json", "eval config.json", "./config.json"] {
        let run = home.run(command);
        assert_eq!(run.code, Some(2), "{command}: {}", run.stderr);
        assert_contains(&run.stderr, &["is no scenario; import it: `shardscope import "]);
    }
}

#[test]
fn help_of_eval() {
    insta::assert_snapshot!(run("eval --help").stdout);
}

#[test]
fn help_of_sweep() {
    insta::assert_snapshot!(run("sweep --help").stdout);
}

#[test]
fn version() {
    assert_eq!(run("--version").stdout, concat!("shardscope ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn completions_know_commands_flags_and_words() {
    for shell in ["bash", "zsh", "fish"] {
        let run = run(&format!("completions {shell}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{shell}");
        assert_contains(&run.stdout, &["sweep", "micro-batch", "step-time", "bf16", "truecolor", "clusters", "guide"]);
    }
    assert_eq!(run("completions tcsh").code, Some(2));
}

#[test]
fn bash_accepts_its_completions() {
    let script = run("completions bash").stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash");
    bash.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("bash reads");
    assert!(bash.wait().expect("bash ends").success());
}

#[test]
fn the_man_page_has_every_command() {
    // A hyphen of the text is written as `\-`.
    let page = run("man").stdout.replace("\\-", "-");
    assert_contains(&page, &[".TH shardscope 1", ".SH SYNOPSIS", ".SH OPTIONS", "--low-bandwidth"]);
    for command in ["eval", "sweep", "validate", "presets", "guide", "config", "completions", "man"] {
        assert_contains(&page, &[&format!(".TH shardscope-{command} 1")]);
    }
}

#[test]
fn the_default_configuration_can_be_used_as_printed() {
    let home = Home::new();
    let printed = home.run("config --default");
    assert_eq!(printed.code, Some(0));
    home.write("mine.toml", &printed.stdout);
    let run = home.run("presets strategies --config ./mine.toml");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn presets_are_listed_by_kind_with_their_figures() {
    let clusters = run("presets clusters");
    assert_eq!((clusters.code, clusters.stderr.as_str()), (Some(0), ""));
    let frontier = clusters.stdout.lines().find(|line| line.contains("mi250x-frontier")).expect("Frontier");
    // A GCD of Frontier has 64 GiB, and a node has 8 of them.
    assert_contains(frontier, &["64.0 GiB", "  8  "]);
    assert!(!clusters.stdout.contains("mpt-7b"));
    let all = run("presets").stdout;
    assert_contains(&all, &["mi250x-frontier", "mpt-7b", "zero-topo", "ideal", "default"]);
}

#[test]
fn a_preset_is_shown_as_its_file() {
    let run = run("presets models --show mpt-7b");
    assert_eq!(run.code, Some(0));
    assert_contains(&run.stdout, &["format = 1", "layers = 32", "source"]);
}

#[test]
fn an_unknown_preset_is_refused_with_the_nearest_names() {
    let run = run("presets models --show mpt7b");
    assert_contains(&run.refused().join("\n"), &["mpt7b", "mpt-7b"]);
}

#[test]
fn the_users_own_preset_wins_and_is_marked() {
    let home = Home::new();
    let model = home.run("presets models --show mpt-7b").stdout.replace("layers = 32", "layers = 33");
    home.write(".config/shardscope/models/mpt-7b.toml", &model);
    let list = home.run("presets models");
    let line = list.stdout.lines().find(|line| line.starts_with("mpt-7b ")).expect("the model");
    assert_contains(line, &["33", "overrides"]);
    assert_contains(&home.run("presets models --show mpt-7b").stdout, &["layers = 33"]);
}
