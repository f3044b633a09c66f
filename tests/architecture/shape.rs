//! The shape of the whole: sizes, circles, names, and what they may not exceed.

use std::collections::BTreeMap;

use super::circles;
use super::source::{self, Source};

/// A measure of the whole crate, with what it counted.
pub struct Measure {
    pub name: &'static str,
    pub value: usize,
    /// Where: the worst first.
    pub places: Vec<String>,
}

pub fn measures(sources: &[Source]) -> Vec<Measure> {
    let code: usize = sources.iter().map(|source| source.code).sum();
    let comments: usize = sources.iter().map(|source| source.comments).sum();
    let mut sizes: Vec<(usize, &str)> = sources.iter().map(|source| (source.code, source.file.as_str())).collect();
    sizes.sort_unstable();
    sizes.reverse();
    let listed = |sizes: &[(usize, &str)]| sizes.iter().map(|(lines, file)| format!("{file}: {lines}")).collect();
    let counted = |name, places: Vec<String>| Measure { name, value: places.len(), places };
    let fewest = sources.iter().filter(|source| source.code > 150 && source.comments == 0);
    let (circling, circles) = in_circles(sources);
    vec![
        Measure { name: "lines of code", value: code, places: by_module(sources) },
        Measure { name: "lines of code in the longest file", value: sizes[0].0, places: listed(&sizes[..10]) },
        Measure { name: "lines of code in the median file", value: sizes[sizes.len() / 2].0, places: Vec::new() },
        Measure {
            name: "comments per 1000 lines of code",
            value: 1000 * comments / code,
            places: fewest.map(|source| format!("{}: none on {} lines", source.file, source.code)).collect(),
        },
        Measure { name: "siblings in circles", value: circling, places: circles },
        Measure {
            name: "files that use and are used by their parent",
            value: circles::nested(sources),
            places: Vec::new(),
        },
        counted("names of types used again", names_used_again(sources)),
        counted("functions called `of`", functions_called_of(sources)),
        counted("bare f64 that others see in cost and program", bare_numbers(sources)),
        counted("comments that document nothing", empty_comments(sources)),
        counted("engine functions named by app and ui", engine_functions(sources)),
    ]
}

fn by_module(sources: &[Source]) -> Vec<String> {
    let mut modules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for source in sources {
        let (code, comments) = modules.entry(source.module.first().map_or("lib", String::as_str)).or_default();
        *code += source.code;
        *comments += source.comments;
    }
    let mut modules: Vec<_> = modules.into_iter().collect();
    modules.sort_by_key(|(_, (code, _))| std::cmp::Reverse(*code));
    modules.into_iter().map(|(module, (code, comments))| format!("{module}: {code}, comments {comments}")).collect()
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
            ["Its" | "Of" | "The" | "Their", word] => word.chars().all(char::is_alphabetic),
            ["Of", "the" | "a" | "an" | "its", word] => word.chars().all(char::is_alphabetic),
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

/// What `app` and `ui` name in `evaluate`, `program` and `sim` that is no type, no constant and no module.
fn engine_functions(sources: &[Source]) -> Vec<String> {
    let screens = |source: &&Source| source.module.first().is_some_and(|first| first == "app" || first == "ui");
    let is_module = |path: &[String]| sources.iter().any(|source| source.module == path[1..]);
    let mut found = Vec::new();
    for source in sources.iter().filter(screens) {
        for named in &source.named {
            let behind = source.imports.iter().find(|(name, _)| named.path.first() == Some(name));
            let path = match behind {
                Some((_, behind)) if !named.import => [behind, &named.path[1..]].concat(),
                _ => named.path.clone(),
            };
            let engine = path.first().is_some_and(|first| first == "crate")
                && path.get(1).is_some_and(|module| ["evaluate", "program", "sim"].contains(&module.as_str()));
            let function = path.last().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()));
            if engine && function && path.len() > 2 && !is_module(&path) {
                found.push(format!("{}:{}: {}", source.file, named.line, path[1..].join("::")));
            }
        }
    }
    found
}

/// Every measure, for people: `cargo test --test architecture -- --ignored --nocapture shape`.
#[test]
#[ignore = "a report"]
fn shape() {
    for Measure { name, value, places } in measures(&source::product()) {
        println!("{value:>6} {name}");
        places.iter().for_each(|place| println!("         {place}"));
    }
}
