//! What the guide says of the program, held to the program: lines that examples print, metrics, keys of JSON, and errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use shardscope::guide::CHAPTERS;
use shardscope_report::figures::{Figure, METRICS};

use super::{Document, ROOT, commands, documents};

/// Chapters whose first commands need files, a machine or a terminal that no test has.
const WITHOUT_EXAMPLE: [&str; 4] = ["explorer", "import", "sweeps", "held-out"];

/// Commands whose JSON has all keys between them.
const JSON: [&str; 14] = [
    "eval lora-70b",
    "eval zeropp-18b-v100 --tokens 1T",
    "eval --model deepseek-v3 --hardware h100-80gb-dgx --nodes 64 --pp 16 --ep 32 --offload optimizer-nvme",
    "eval --model mpt-1b --hardware rtx4090 --stack hf-trainer-2024 --devices 1 --paged-optimizer on",
    "eval --model mpt-7b --nodes 8 --measured-mfu 20%",
    "search --model mpt-7b --nodes 1 --tokens 1T --top 1 --pareto days,devices --tp 1 --cp 1 --pp 1",
    "search --model llama-3.1-8b --hardware a6000-48gb --stack accelerate --devices 2 --seq 4096",
    "search --model mpt-1b --nodes 1 --objective sequence",
    "sweep --model mpt-7b --x nodes=1,2 --y micro-batch=1,2",
    "limits --model mpt-7b --nodes 8",
    "plan osdp-48x1536 --memory-limit 10GiB --any-plan",
    "plan --grid --model fsdp-7b --devices 64 --memory 40GB --link 25GB/s --peak 312TFLOP/s",
    "support --model mpt-7b --nodes 2",
    "validate",
];

/// Commands whose reports have all rows between them.
const ROWS: [&str; 8] = [
    "eval zeropp-18b-v100 --tokens 1T",
    "eval --tokens 1T --price 2EUR",
    "eval lora-70b",
    "eval --model deepseek-v3 --hardware h100-80gb-dgx --nodes 64 --pp 16 --ep 32 --offload optimizer-nvme",
    "eval --model mpt-1b --hardware rtx4090 --stack hf-trainer-2024 --devices 1 --paged-optimizer on",
    "eval --model llama-3.1-8b --nodes 2 --method grpo",
    "eval --model mpt-7b --nodes 8 --measured-mfu 20%",
    "limits --model mpt-7b --nodes 8",
];

/// Its parts are fields, resources, or figures of a search: other tables list them.
const ELSEWHERE: [&str; 3] = ["scenario", "elasticity", "parts"];

fn run(arguments: &[String], folder: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shardscope"));
    command.args(arguments).env("HOME", folder).current_dir(folder).stdin(Stdio::null());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first of some lines that an output does not have behind those before it.
fn missing<'a>(shown: &'a str, output: &str) -> Option<&'a str> {
    let mut printed = output.lines().map(words);
    shown.lines().find(|line| {
        let line = words(line);
        !printed.any(|printed| printed == line)
    })
}

#[test]
fn examples_print_what_the_guide_shows() {
    for (file, document) in documents(Path::new(ROOT)) {
        for (block, shown) in &document.examples {
            let folder = tempfile::tempdir().unwrap();
            let output: String = commands(block).iter().map(|command| run(&command[1..], folder.path())).collect();
            let missing = missing(shown, &output);
            assert!(
                missing.is_none(),
                "{}: no line '{}' behind those before it in\n{output}",
                file.display(),
                missing.unwrap()
            );
        }
    }
}

#[test]
fn a_line_that_is_not_printed_is_found() {
    let output = "step time   1 s\npeak  2 GiB\n";
    assert_eq!(missing("  step time 1 s\n  peak 2 GiB\n", output), None);
    assert_eq!(missing("peak 2 GiB\nstep time 1 s\n", output), Some("step time 1 s"));
    assert_eq!(missing("peak 3 GiB\n", output), Some("peak 3 GiB"));
}

#[test]
fn the_lead_example_of_each_chapter_shows_what_it_prints() {
    for (file, document) in documents(&Path::new(ROOT).join("docs")) {
        let name = file.to_str().unwrap().trim_end_matches(".md");
        let Some(first) = document.shell.first().filter(|block| !commands(block).is_empty()) else { continue };
        let is_shown = document.examples.first().is_some_and(|(block, _)| block == first);
        let needs_files = WITHOUT_EXAMPLE.contains(&name) || name.contains('/');
        assert!(
            is_shown != needs_files,
            "{name}: put a block of `text` with lines of its output behind the first command"
        );
    }
}

fn chapter(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap()
}

#[test]
fn every_metric_is_in_the_guide() {
    let chapter = chapter("options.md");
    let listed: Vec<&str> =
        chapter.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ").map(|(word, _)| word)).collect();
    assert_eq!(listed, METRICS.map(Figure::word));
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !ELSEWHERE.contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_json_is_in_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = BTreeSet::new();
    for arguments in JSON {
        let arguments: Vec<String> = arguments.split(' ').chain(["--format", "json"]).map(str::to_owned).collect();
        keys(&serde_json::from_str(&run(&arguments, folder.path())).unwrap(), &mut found);
    }
    let document = Document::read(&chapter("formats.md"));
    let said: Vec<&str> =
        document.named.iter().flat_map(|(_, code)| code.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
    let lacking: Vec<&String> = found.iter().filter(|key| !said.contains(&key.as_str())).collect();
    assert!(found.len() > 100 && lacking.is_empty(), "docs/formats.md lacks {lacking:?}");
}

/// The words before the figures of a report's row.
fn label(line: &str) -> Option<&str> {
    let row = line.strip_prefix("  ").filter(|row| row.starts_with(|c: char| c.is_ascii_lowercase()))?;
    row.split_once("  ").map(|(label, _)| label)
}

#[test]
fn every_row_of_a_report_is_in_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    let guide: String = CHAPTERS.iter().map(|chapter| chapter.text.replace(['`', '*'], "")).collect();
    let guide = words(&guide).to_lowercase();
    let mut found = BTreeSet::new();
    for arguments in ROWS {
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        let printed = run(&arguments, folder.path());
        // Phases of an update say behind a colon which one they are.
        found.extend(printed.lines().filter_map(label).map(|label| label.split(": ").last().unwrap().to_lowercase()));
    }
    let lacking: Vec<&String> = found.iter().filter(|label| !guide.contains(&**label)).collect();
    assert!(found.len() > 50 && lacking.is_empty(), "of {} the guide lacks {lacking:?}", found.len());
}

/// What Python reads of an evaluation is what is printed: a key that it does not know would be an error there.
#[test]
fn every_key_of_an_evaluation_is_typed_in_python() {
    let folder = tempfile::tempdir().unwrap();
    let typed = fs::read_to_string(Path::new(ROOT).join("crates/python/python/shardscope/_figures.py")).unwrap();
    let (_, typed) = typed.split_once("class Evaluation:").unwrap();
    for arguments in JSON.iter().filter(|arguments| arguments.starts_with("eval")) {
        let arguments: Vec<String> = arguments.split(' ').chain(["--format", "json"]).map(str::to_owned).collect();
        let value: Value = serde_json::from_str(&run(&arguments, folder.path())).unwrap();
        let keys = value.as_object().unwrap().keys().filter(|key| *key != "measured");
        let lacking: Vec<&String> = keys.filter(|key| !typed.contains(&format!("\n    {key}: "))).collect();
        assert!(lacking.is_empty(), "_figures.py lacks {lacking:?}");
    }
}

/// The section of a document under a heading, up to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The numbers before each `% off` of a text.
fn errors(text: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_error = |words: &[&str]| words[1].starts_with('%') && words[2].starts_with("off");
    let quoted: Vec<&str> = words.windows(3).filter(|words| is_error(words)).map(|words| words[0]).collect();
    quoted.into_iter().map(|figure| figure.trim_start_matches(['(', '[']))
}

/// Errors that the README and the chapters quote stand in the one table of them.
#[test]
fn errors_that_are_quoted_are_in_the_table() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let evidence = chapter("evidence.md");
    let table = section(&evidence, "All errors in one table");
    let trusted = section(&readme, "How far to trust it");
    let rows = trusted.lines().filter(|line| line.starts_with("| ") && line.contains('%'));
    let of_rows: Vec<&str> =
        rows.flat_map(|row| row.split([' ', '(']).filter(|word| word.parse::<f64>().is_ok())).collect();
    let [experts, adapters] = ["experts.md", "fine-tuning.md"].map(chapter);
    let sections = [trusted, section(&experts, "How far off it is"), section(&adapters, "How far off it is")];
    let quoted: Vec<&str> = of_rows.into_iter().chain(sections.into_iter().flat_map(errors)).collect();
    assert!(quoted.len() > 12, "{quoted:?}");
    for figure in quoted {
        assert!(table.contains(&format!(" {figure} %")), "docs/evidence.md has no error of {figure} %");
    }
}
