//! The shape of the whole: sizes, circles, names, and what they may not exceed.

use std::collections::BTreeMap;

use super::circles;
use super::source::{self, Source};

/// What a measure may be at most: it only falls.
struct Limit {
    name: &'static str,
    most: usize,
}

const LONGEST: Limit = Limit { name: "lines of code in the longest file", most: 450 };
const CIRCLES: Limit = Limit { name: "siblings in circles", most: 0 };
const AGAIN: Limit = Limit { name: "names of types used again", most: 0 };
const OF: Limit = Limit { name: "functions called `of`", most: 11 };
const BARE: Limit = Limit { name: "bare f64 that others see in cost and program", most: 22 };
const EMPTY: Limit = Limit { name: "comments that document nothing", most: 0 };
const ENGINE: Limit = Limit { name: "engine functions named by app and ui", most: 0 };

/// The table of fields, which may be of any length: its entries are read one by one.
const TABLE: &str = "crates/engine/src/scenario/field/table.rs";

/// A measure of the whole, with what it counted.
struct Measure {
    limit: Limit,
    value: usize,
    /// Where: the worst first.
    places: Vec<String>,
}

fn measures(sources: &[Source]) -> Vec<Measure> {
    let written = sources.iter().filter(|source| source.file != TABLE);
    let mut sizes: Vec<(usize, &str)> = written.map(|source| (source.code, source.file.as_str())).collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let longest = sizes.iter().take(10).map(|(lines, file)| format!("{file}: {lines}")).collect();
    let (circling, circles) = in_circles(sources);
    let counted = |limit, places: Vec<String>| Measure { limit, value: places.len(), places };
    vec![
        Measure { limit: LONGEST, value: sizes.first().map_or(0, |(lines, _)| *lines), places: longest },
        Measure { limit: CIRCLES, value: circling, places: circles },
        counted(AGAIN, names_used_again(sources)),
        counted(OF, functions_called_of(sources)),
        counted(BARE, bare_numbers(sources)),
        counted(EMPTY, empty_comments(sources)),
        counted(ENGINE, engine_functions(sources)),
    ]
}

/// Lines of code of each module, the largest first.
fn by_module(sources: &[Source]) -> Vec<(usize, String)> {
    let mut modules: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for source in sources {
        let module = source.module.first().map_or("lib", String::as_str);
        *modules.entry((&source.package, module)).or_default() += source.code;
    }
    let mut modules: Vec<_> =
        modules.into_iter().map(|((package, module), code)| (code, format!("{package}::{module}"))).collect();
    modules.sort_unstable_by(|one, other| other.cmp(one));
    modules
}

fn in_circles(sources: &[Source]) -> (usize, Vec<String>) {
    let circles = circles::circles(sources);
    let members = circles.iter().map(|circle| circle.siblings.len()).sum();
    let told = |circle: circles::Circle| {
        std::iter::once(circle.siblings.join(", ")).chain(circle.uses.into_iter().map(|place| format!("    {place}")))
    };
    (members, circles.into_iter().flat_map(told).collect())
}

fn names_used_again(sources: &[Source]) -> Vec<String> {
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (name, line) in &source.types {
            names.entry(name).or_default().push(format!("{}:{line}", source.file));
        }
    }
    let mut again: Vec<_> = names.into_iter().filter(|(_, places)| places.len() > 1).collect();
    again.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    again.into_iter().map(|(name, places)| format!("{name}: {}", places.join(" "))).collect()
}

fn functions_called_of(sources: &[Source]) -> Vec<String> {
    let called = |source: &Source| {
        let functions = source.functions.iter().filter(|function| function.name == "of");
        functions.map(|function| format!("{}:{}", source.file, function.line)).collect::<Vec<_>>()
    };
    sources.iter().flat_map(called).collect()
}

fn bare_numbers(sources: &[Source]) -> Vec<String> {
    let of_costs = |source: &&Source| source.module.first().is_some_and(|first| first == "cost" || first == "program");
    let lines = |source: &Source| source.bare.iter().map(|line| format!("{}:{line}", source.file)).collect::<Vec<_>>();
    sources.iter().filter(of_costs).flat_map(lines).collect()
}

/// Doc comments of a pronoun and a word: `Its name.`, `Of the question.`
fn empty_comments(sources: &[Source]) -> Vec<String> {
    let empty = |text: &str| {
        let words: Vec<&str> = text.trim_end_matches('.').split(' ').collect();
        match words[..] {
            ["Its" | "Of" | "The" | "Their", word] | ["Of", "the" | "a" | "an" | "its", word] => {
                word.chars().all(char::is_alphabetic)
            }
            _ => false,
        }
    };
    let mut found = Vec::new();
    for source in sources {
        // A comment of several lines has its neighbours beside it.
        let alone = |line: usize| !source.docs.iter().any(|(_, other)| line.abs_diff(*other) == 1);
        let docs = source.docs.iter().filter(|(text, line)| empty(text) && alone(*line));
        found.extend(docs.map(|(text, line)| format!("{}:{line}: {text}", source.file)));
    }
    found
}

const ENGINE_CRATE: &str = "shardscope_engine";

/// What `app` and `ui` name in `evaluate`, `program` and `sim` that is no type, no constant and no module.
fn engine_functions(sources: &[Source]) -> Vec<String> {
    let screens = |source: &&Source| source.module.first().is_some_and(|first| first == "app" || first == "ui");
    let engine = |source: &&Source| source.package == ENGINE_CRATE;
    let is_module = |path: &[String]| sources.iter().filter(engine).any(|source| source.module == path[1..]);
    let mut found = Vec::new();
    for source in sources.iter().filter(screens) {
        for named in &source.named {
            let behind = source.imports.iter().find(|(name, _)| named.path.first() == Some(name));
            let path = match behind {
                Some((_, behind)) if !named.import => [behind, &named.path[1..]].concat(),
                _ => named.path.clone(),
            };
            let engine = path.first().is_some_and(|first| first == ENGINE_CRATE)
                && path.get(1).is_some_and(|module| ["evaluate", "program", "sim"].contains(&module.as_str()));
            let function = path.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()));
            if engine && function && path.len() > 2 && !is_module(&path) {
                found.push(format!("{}:{}: {}", source.file, named.line, path[1..].join("::")));
            }
        }
    }
    found
}

#[test]
fn the_shape_holds() {
    let broken = measures(&source::product()).into_iter().filter(|measure| measure.value > measure.limit.most);
    let told: Vec<String> = broken
        .map(|Measure { limit: Limit { name, most }, value, places }| {
            format!("{value} {name} of at most {most}:\n    {}", places.join("\n    "))
        })
        .collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
}

/// Every measure, for people: `cargo test architecture:: -- --ignored --nocapture shape`.
#[test]
#[ignore = "a report"]
fn shape() {
    let sources = source::product();
    for Measure { limit: Limit { name, most }, value, places } in measures(&sources) {
        println!("{value:>6} {name}; at most {most}");
        for place in places {
            println!("         {place}");
        }
    }
    for (code, module) in by_module(&sources) {
        println!("{code:>6} lines of code in {module}");
    }
    println!("{:>6} lines of code", sources.iter().map(|source| source.code).sum::<usize>());
    println!("{:>6} files that use and are used by their parent", circles::nested(&sources));
}

/// The measures themselves, on small sources with a known fault.
mod checks {
    use super::{Source, source};

    fn parsed(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(file, text)| source::parse(file, text)).collect()
    }

    #[test]
    fn code_is_counted_apart_from_comments_blank_lines_and_tests() {
        let text = "//! Of a cost.\n\n/// It says.\n// A reason.\nfn f() -> &'static str {\n    \"// no comment\\n\n    more\"\n} // end\n\
                    #[cfg(test)]\nmod tests {\n    // Not counted.\n    fn g() {}\n}\n";
        let source = source::parse("src/cost.rs", text);
        assert_eq!((source.code, source.comments), (4, 1));
    }

    #[test]
    fn a_circle_of_siblings_is_found_through_what_is_handed_on() {
        let sources = parsed(&[
            ("src/cost.rs", "mod ring; mod tree; pub use tree::Tree;"),
            ("src/cost/ring.rs", "use super::Tree; pub struct Ring; fn f(tree: Tree) {}"),
            ("src/cost/tree.rs", "mod leaf; pub struct Tree;"),
            ("src/cost/tree/leaf.rs", "fn f(ring: crate::cost::ring::Ring) {}"),
        ]);
        let (members, places) = super::in_circles(&sources);
        assert_eq!(members, 2, "{places:?}");
        assert_eq!(places[0], "shardscope::cost::ring, shardscope::cost::tree");
        assert!(places[1].contains("src/cost/ring.rs:1 uses cost::tree"), "{places:?}");
    }

    #[test]
    fn a_parent_and_its_child_may_use_one_another_and_an_import_alone_is_no_use() {
        let sources = parsed(&[
            ("src/cost.rs", "mod ring; mod tree; pub struct Cost; fn f(ring: ring::Ring) {}"),
            ("src/cost/ring.rs", "use super::Cost; pub struct Ring(Cost);"),
            ("src/cost/tree.rs", "pub use super::ring::Ring; fn f() {}"),
        ]);
        assert_eq!(super::in_circles(&sources), (0, Vec::new()));
        assert_eq!(super::circles::nested(&sources), 2);
    }

    #[test]
    fn names_and_numbers_that_say_too_little_are_found() {
        let sources = parsed(&[
            ("src/cost.rs", "pub struct Row { pub a: f64, b: f64 }\nimpl Row { pub fn of(x: Option<f64>) -> Self {} }"),
            ("src/program.rs", "enum Row { A }\nfn of(x: f64) {}\n#[cfg(test)]\nmod tests { struct Row; }"),
        ]);
        assert_eq!(super::names_used_again(&sources), ["Row: src/cost.rs:1 src/program.rs:1"]);
        assert_eq!(super::functions_called_of(&sources), ["src/cost.rs:2", "src/program.rs:2"]);
        assert_eq!(super::bare_numbers(&sources), ["src/cost.rs:1", "src/cost.rs:2"]);
    }

    #[test]
    fn comments_that_document_nothing_are_found() {
        let text =
            "/// Its name.\nfn f() {}\n/// Of the question.\nfn g() {}\n/// Its name, as a file has it.\nfn h() {}";
        let found = super::empty_comments(&parsed(&[("src/cost.rs", text)]));
        assert_eq!(found, ["src/cost.rs:1: Its name.", "src/cost.rs:3: Of the question."]);
    }

    #[test]
    fn functions_of_the_engine_are_found_and_its_types_are_not() {
        let sources = parsed(&[
            (
                "src/app/view.rs",
                "use shardscope_engine::evaluate::{Summary, summary};\nfn f() { Summary::new(); shardscope_engine::sim::run(); }",
            ),
            ("src/ui.rs", "use shardscope_engine::evaluate::Summary; fn f(summary: Summary) {}"),
            ("crates/engine/src/search.rs", "use crate::evaluate::summary;"),
        ]);
        let found = super::engine_functions(&sources);
        let functions = ["evaluate::summary", "evaluate::Summary::new", "sim::run"];
        assert!(functions.iter().all(|name| found.iter().any(|place| place.ends_with(name))), "{found:?}");
        assert_eq!(found.len(), functions.len(), "{found:?}");
    }
}
