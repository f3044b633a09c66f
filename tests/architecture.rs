//! Knowledge runs one way, each library has its place, files and functions stay small, and names say one thing.
//!
//! Every path that the program and the crates beside it name is checked: in `use`, inline, in macros and attributes,
//! through `super` and `self`. Tests inside `src` may look anywhere. What one crate may use of another is cargo's.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests ends the test")]

mod circles;
mod face;
mod shape;
mod source;

use std::collections::BTreeSet;
use std::process::Command;

use source::{Call, Named, Source};

/// The modules of each crate from the top down: each may use those above it, never one below. A better cut is welcome:
/// change this table with it. The arrows between crates are cargo's.
const MODULES: &[(&str, &[&str])] = &[
    (
        "shardscope_engine",
        &[
            "text",     // foreign text made harmless
            "problem",  // what is wrong, where, and the fix
            "units",    // quantities with a unit
            "hardware", // facts about clusters
            "model",    // transformer shapes
            "plan",     // how the job is laid out
            "stack",    // the software, as data
            "scenario", // the four together, checked
            "presets",  // read, merge, look up
            "cost",     // seconds and bytes of one thing
            "bounds",   // closed forms
            "program",  // what each rank does
            "sim",      // tasks on streams over levels
            "evaluate", // the verdict of one run
            "search",   // many evaluations
        ],
    ),
    (
        "shardscope_library",
        &[
            "threads", // who gives way
            "disk",    // files, read and written whole
            "text",    // languages that are written
            "folders", // presets in files
            "schema",  // the keys of a preset
            "draft",   // a preset being edited
            "command", // a scenario as a command line
        ],
    ),
    (
        "shardscope_evidence",
        &[
            "measured",  // rows, residuals
            "calibrate", // fitting
        ],
    ),
    (
        "shardscope_report",
        &[
            "figures",  // names, units, formulas, reports: text, JSON, CSV
            "snapshot", // a scenario and its report: a file out and in again
        ],
    ),
    (
        "shardscope",
        &[
            "guide",  // text: what the model counts
            "config", // the user's settings
            "app",    // state, actions, jobs
            "ui",     // drawing
            "term",   // terminal, signals, event loop
            "cli",    // arguments and dispatch
            "main",   // the binary
        ],
    ),
];

/// What only some modules may name, which these are, and what the others do instead.
const PLACES: &[(&str, &[&str], &str)] = &[
    ("ratatui", &["shardscope::ui", "shardscope::term"], "hand over data and draw it in `ui`"),
    (
        "crossterm",
        &["shardscope::term", "shardscope::app::action::keys", "shardscope::app::state::keymap"],
        "name the intent as an `Action` and leave the key to `app::keys`",
    ),
    (
        "rustix",
        &["shardscope_library::disk", "shardscope_library::threads", "shardscope::term"],
        "let `term` ask the system",
    ),
    ("rayon", &["shardscope_engine::search"], "describe the evaluations and let `search` run them"),
    (
        "shlex",
        &["shardscope_library::text", "shardscope::app::transfer::importing", "shardscope::cli::guide"],
        "compose the line with `text::shell::ShellCode`",
    ),
    ("std::fs", FILES, "take text or bytes and leave the file to a module that is for files"),
    ("tempfile", &["shardscope_library::disk"], "take text or bytes and leave the file to a module that is for files"),
    ("std::thread", THREADS, "make it a job of `app`"),
    ("std::time::Instant", WAITING, "take the time as an argument"),
    ("std::time::SystemTime", CLOCK, "take the time as an argument"),
];
const FILES: &[&str] = &[
    "shardscope_library::disk",
    "shardscope_library::folders",
    "shardscope_report::snapshot",
    "shardscope::cli",
    "shardscope::config",
    "shardscope::term",
];
const THREADS: &[&str] =
    &["shardscope_engine::search", "shardscope::app", "shardscope::term", "shardscope::cli", "shardscope_python"];
const CLOCK: &[&str] = &["shardscope::app", "shardscope::term", "shardscope::cli"];
/// A pipe is waited for as long as it is worth.
const WAITING: &[&str] = &["shardscope_library::disk", "shardscope::app", "shardscope::term", "shardscope::cli"];

/// Methods that check, lay out or work out something, with the count of their arguments: no drawing calls them.
const COMPUTING: &[(&str, usize)] = &[
    ("checked", 0),
    ("layout", 0),
    ("idle_in", 1),
    ("failures", 0),
    ("untuned", 1),
    ("mapped", 3),
    ("scenario", 2),
    ("limits", 1),
    ("network_floor", 0),
    ("scores", 1),
];

const FUNCTION_LINES: usize = 80;
const MEDIAN_FUNCTION_LINES: usize = 10;
/// Shorter than this, a first line cannot say what a module is for.
const FIRST_LINE_CHARACTERS: usize = 20;

#[test]
fn knowledge_runs_one_way() {
    judge(source::product().iter().flat_map(arrows));
}

#[test]
fn each_library_has_its_place() {
    judge(source::product().iter().flat_map(misplaced));
}

/// What stands at the top level: the program's own folders, and what cargo, git, CI and those who cite it need.
#[test]
fn the_top_level_holds_what_belongs_there() {
    const TOP: &[&str] = &[
        ".ci",
        ".github",
        ".gitignore",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "assets",
        "benches",
        "clippy.toml",
        "crates",
        "deny.toml",
        "docs",
        "examples",
        "presets",
        "rustfmt.toml",
        "src",
        "tests",
    ];
    let mut git = Command::new("git");
    let listed = git.args(["ls-files"]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let top: BTreeSet<&str> = listed.lines().filter_map(|path| path.split('/').next()).collect();
    judge(top.difference(&TOP.iter().copied().collect()).map(|name| format!("{name}: is not of the top level")));
}

#[test]
fn drawing_only_reads() {
    judge(source::product().iter().flat_map(computed_while_drawing));
}

#[test]
fn functions_are_small() {
    let sources = source::product();
    let mut found: Vec<String> = sources.iter().flat_map(oversized).collect();
    let functions = median(sources.iter().flat_map(|source| &source.functions).map(|function| function.lines));
    if functions > MEDIAN_FUNCTION_LINES {
        found.push(format!("the median function has {functions} lines of at most {MEDIAN_FUNCTION_LINES}; split some"));
    }
    judge(found);
}

#[test]
fn every_module_says_what_it_is_for() {
    judge(source::product().iter().filter_map(unexplained));
}

fn judge(found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// Paths that lead down the table of their crate, or that hide where they lead.
fn arrows(source: &Source) -> Vec<String> {
    let Some((_, modules)) = MODULES.iter().find(|(package, _)| *package == source.package) else { return Vec::new() };
    let position = |module: &str| modules.iter().position(|name| *name == module);
    let Some(own) = source.module.first() else { return Vec::new() };
    let Some(from) = position(own) else {
        return vec![format!("{}: `{own}` is not in MODULES of tests/architecture.rs; give it its place", source.file)];
    };
    let wrong = |named: &Named| {
        let (root, inside) = named.path.split_first()?;
        if root != "crate" {
            return None;
        }
        let place = format!("{}:{}", source.file, named.line);
        match inside.first() {
            None if named.import => {
                Some(format!("{place}: the crate's root is imported; name the module that is meant"))
            }
            None => None,
            Some(to) => match position(to) {
                None => Some(format!("{place}: `crate::{to}` is no module of MODULES; name the item by its module")),
                Some(position) if position > from => Some(format!(
                    "{place}: `{own}` uses `{to}`, which stands below it; \
                     move what both need up, or hand the result down"
                )),
                Some(_) => None,
            },
        }
    };
    source.named.iter().filter_map(wrong).collect()
}

/// Libraries named outside their place. An import of what contains them counts: `use std::time` could
/// hide an `Instant`.
fn misplaced(source: &Source) -> Vec<String> {
    let module = [std::slice::from_ref(&source.package), &source.module[..]].concat().join("::");
    let mut found = Vec::new();
    for (library, places, fix) in PLACES {
        if places.iter().any(|place| is_within(&module, place)) {
            continue;
        }
        for named in &source.named {
            let path = named.path.join("::");
            if is_within(&path, library) || named.import && is_within(library, &path) {
                let places = places.join("`, `");
                found.push(format!(
                    "{}:{}: `{path}` gives `{library}`, which belongs in `{places}`; {fix}",
                    source.file, named.line
                ));
            }
        }
    }
    found
}

/// What `ui` calls that checks, lays out or works out something.
fn computed_while_drawing(source: &Source) -> Vec<String> {
    if source.module.first().is_none_or(|module| module != "ui") {
        return Vec::new();
    }
    let computes = |call: &&Call| COMPUTING.contains(&(call.name.as_str(), call.arguments));
    let said = |Call { name, line, .. }: &Call| {
        format!("{}:{line}: `{name}()` while drawing; let the view work it out when what is shown changes", source.file)
    };
    source.calls.iter().filter(computes).map(said).collect()
}

/// Whether `path` is `outer` or inside it: `std::fs::File` is within `std::fs`.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn oversized(source: &Source) -> Vec<String> {
    let long = source.functions.iter().filter(|function| function.lines > FUNCTION_LINES);
    long.map(|source::Function { name, line, lines }| {
        let file = &source.file;
        format!("{file}:{line}: `{name}` has {lines} lines of at most {FUNCTION_LINES}; give its parts names")
    })
    .collect()
}

fn unexplained(source: &Source) -> Option<String> {
    let Source { file, first_line, .. } = source;
    if file.ends_with("/mod.rs") {
        return Some(format!("{file}:1: name it after its module, `foo.rs` beside `foo/`"));
    }
    let says = first_line.starts_with("//! ") && first_line.len() >= FIRST_LINE_CHARACTERS;
    (!says).then(|| format!("{file}:1: open with `//!` saying what the module is for"))
}

fn median(lines: impl Iterator<Item = usize>) -> usize {
    let mut lines: Vec<usize> = lines.collect();
    lines.sort_unstable();
    lines.get(lines.len() / 2).copied().unwrap_or_default()
}

/// The checks themselves, on small sources with a known fault.
mod checks {
    use super::{arrows, computed_while_drawing, misplaced, oversized, source, unexplained};

    fn one(found: &[String], line: usize, says: &str) {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!(":{line}: ")) && found[0].contains(says), "{}", found[0]);
    }

    #[test]
    fn an_arrow_down_the_table_is_found_however_it_is_written() {
        for (file, line, text) in [
            ("crates/engine/src/cost.rs", 1, "use crate::evaluate::Summary;"),
            ("crates/engine/src/cost.rs", 2, "use crate::{\n evaluate as e,\n units::Bytes};"),
            ("crates/engine/src/cost.rs", 2, "use super::{\n evaluate::{self}};"),
            ("crates/engine/src/cost/ring.rs", 1, "use super::super::evaluate;"),
            ("crates/engine/src/cost/ring.rs", 1, "use self::super::super::evaluate::full;"),
            ("crates/engine/src/cost.rs", 2, "mod inner {\n use super::super::evaluate; }"),
            ("crates/engine/src/cost.rs", 1, "fn f(x: &Option<crate::evaluate::Summary>) {}"),
            ("crates/engine/src/cost.rs", 2, "fn f() {\n crate::evaluate::full(); }"),
            ("crates/engine/src/cost.rs", 2, "fn f() {\n <crate::evaluate::Summary as Default>::default(); }"),
            ("crates/engine/src/cost.rs", 3, "fn f() {\n dbg!(1,\n [crate::evaluate::full()]); }"),
            ("crates/engine/src/cost.rs", 2, "macro_rules! m { () => {\n $crate::evaluate::full() } }"),
            ("crates/engine/src/cost.rs", 2, "struct S {\n #[serde(default = \"crate::evaluate::none\")] x: u8 }"),
            ("crates/engine/src/cost.rs", 1, "use shardscope_engine::evaluate;"),
        ] {
            one(&arrows(&source::parse(file, text)), line, "`cost` uses `evaluate`, which stands below it");
        }
    }

    #[test]
    fn a_path_that_hides_where_it_leads_is_found() {
        for text in ["use crate as root;", "use super::*;", "extern crate self as root;", "m! { use crate::{x} }"] {
            one(&arrows(&source::parse("crates/engine/src/cost.rs", text)), 1, "the crate's root is imported");
        }
        one(
            &arrows(&source::parse("crates/engine/src/cost.rs", "use crate::Summary;")),
            1,
            "`crate::Summary` is no module",
        );
        let unknown = arrows(&source::parse("crates/engine/src/costs.rs", ""));
        assert!(unknown[0].contains("give it its place"), "{unknown:?}");
    }

    #[test]
    fn what_is_allowed_is_left_alone() {
        for (file, text) in [
            ("crates/engine/src/evaluate.rs", "use crate::cost::ring; use crate::{units::Bytes, sim};"),
            ("crates/engine/src/cost/ring.rs", "use super::Bytes; use crate::cost::tree; pub(crate) fn f(&self) {}"),
            ("crates/engine/src/cost.rs", "/// Used by [`crate::evaluate`].\nfn f() { let evaluate = 1; }"),
            ("crates/engine/src/cost.rs", "#[cfg(test)] mod tests { use super::*; use crate::evaluate::full; }"),
            ("crates/engine/src/lib.rs", "pub mod evaluate; use std::time::Duration;"),
            ("src/term/screen.rs", "use ratatui::Frame; use std::{fs, thread, time::Instant};"),
            ("src/app/state/keymap.rs", "use crossterm::event::KeyCode;"),
        ] {
            let source = source::parse(file, text);
            assert_eq!(arrows(&source), Vec::<String>::new());
            assert_eq!(misplaced(&source), Vec::<String>::new());
        }
    }

    #[test]
    fn a_library_out_of_its_place_is_found() {
        for (file, text, says) in [
            ("src/app.rs", "use ratatui::Frame;", "`ratatui`, which belongs in `shardscope::ui`, `shardscope::term`"),
            ("src/app/edit.rs", "fn f(k: crossterm::event::KeyCode) {}", "`shardscope::app::action::keys`"),
            ("crates/engine/src/evaluate.rs", "use ::rayon::prelude::*;", "let `search` run them"),
            ("crates/engine/src/scenario/file.rs", "use std::{io, fs::File};", "`std::fs::File` gives `std::fs`"),
            ("src/ui.rs", "fn f() { std::thread::yield_now(); }", "a job of `app`"),
            (
                "crates/engine/src/cost.rs",
                "fn f() { dbg!(std::time::Instant::now()); }",
                "take the time as an argument",
            ),
        ] {
            one(&misplaced(&source::parse(file, text)), 1, says);
        }
        for text in ["use std::time;", "use std::time::*;", "use std::time::{self as clock};"] {
            let found = misplaced(&source::parse("crates/engine/src/cost.rs", text));
            assert_eq!(found.len(), 2, "an Instant and a SystemTime could hide: {found:?}");
        }
    }

    #[test]
    fn what_is_computed_while_drawing_is_found() {
        let text = "fn f(x: X) {\n g(x.area.layout(&rows), x.scenario\n.layout()); }";
        one(&computed_while_drawing(&source::parse("src/ui/panels.rs", text)), 3, "`layout()` while drawing");
        assert_eq!(computed_while_drawing(&source::parse("src/app/state.rs", text)), Vec::<String>::new());
    }

    #[test]
    fn what_is_too_long_is_found_and_tests_do_not_count() {
        let body = "    f();\n";
        let long = format!("//! A cost.\nfn f() {{\n{}}}\n", body.repeat(79));
        one(&oversized(&source::parse("crates/engine/src/cost.rs", &long)), 2, "`f` has 81 lines of at most 80");
        assert_eq!(
            oversized(&source::parse("crates/engine/src/cost.rs", &long.replacen(body, "", 1))),
            Vec::<String>::new()
        );

        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", long.replace("//! ", "// "));
        assert_eq!(oversized(&source::parse("crates/engine/src/cost.rs", &tests)), Vec::<String>::new());
    }

    #[test]
    fn a_module_that_does_not_say_what_it_is_for_is_found() {
        for (file, text) in [
            ("crates/engine/src/cost.rs", "fn f() {}"),
            ("crates/engine/src/cost.rs", "//! x"),
            ("crates/engine/src/cost/mod.rs", "//! Costs of things."),
        ] {
            assert!(unexplained(&source::parse(file, text)).is_some(), "{file}: {text}");
        }
        assert_eq!(
            unexplained(&source::parse("crates/engine/src/cost.rs", "//! Seconds and bytes of one thing.")),
            None
        );
    }
}
