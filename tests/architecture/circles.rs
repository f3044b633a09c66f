//! Circles among the files of a crate.
//!
//! A file uses another one where it names something that is *defined* there. Declaring a child (`mod x;`) and handing
//! on what it defines (`pub use x::X`) is no use: a name is followed through such a `use` to the file that defines it.
//!
//! What children share stands in their parent, which may use them in turn: that is nesting, and [`nested`] counts it.
//! A circle is among siblings, each taken with all that is inside it, in [`circles`]: `a/x.rs` using `b.rs` and `b/y.rs`
//! using `a.rs` close one. Siblings without circles can be read one after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::source::Source;

/// Which file uses which, by their positions in the list, and the first line that says so.
type Uses = BTreeMap<(usize, usize), usize>;

/// Which child of a module uses which, and the first place that says so.
type SiblingUses<'a> = BTreeMap<(&'a str, &'a str), String>;

/// A circle of siblings: their modules, and the uses between them as file and line.
pub struct Circle {
    pub siblings: Vec<String>,
    pub uses: Vec<String>,
}

/// All circles among siblings, at every depth.
pub fn circles(sources: &[Source]) -> Vec<Circle> {
    // By crate and parent: its children, and who uses whom where.
    let mut folders: BTreeMap<(&str, &[String]), SiblingUses> = BTreeMap::new();
    for ((from, to), line) in uses(sources) {
        let (one, other) = (&sources[from].module, &sources[to].module);
        let shared = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let (Some(child), Some(sibling)) = (one.get(shared), other.get(shared)) else { continue };
        let place = format!("{}:{line} uses {}", sources[from].file, other.join("::"));
        folders.entry((&sources[from].package, &one[..shared])).or_default().entry((child, sibling)).or_insert(place);
    }
    let parent = |(package, parent): (&str, &[String])| [&[package.to_owned()], parent].concat().join("::");
    folders.into_iter().flat_map(|(place, uses)| among(&parent(place), &uses)).collect()
}

fn among(parent: &str, uses: &SiblingUses) -> Vec<Circle> {
    let names: BTreeSet<&str> = uses.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let number = |name: &str| names.binary_search(&name).unwrap_or_default();
    let edges: Uses = uses.keys().map(|(from, to)| ((number(from), number(to)), 0)).collect();
    let found = components(names.len(), &edges).into_iter().map(|circle| {
        let inside = |name: &str| circle.contains(&number(name));
        let between = uses.iter().filter(|((from, to), _)| inside(from) && inside(to));
        Circle {
            siblings: circle.iter().map(|member| format!("{parent}::{}", names[*member])).collect(),
            uses: between.map(|(_, place)| place.clone()).collect(),
        }
    });
    found.collect()
}

/// Files that use a file inside their own module which uses them in turn, by whatever way.
pub fn nested(sources: &[Source]) -> usize {
    components(sources.len(), &uses(sources)).iter().map(Vec::len).sum()
}

/// All members that can reach themselves, in lists of those that reach one another.
fn components(members: usize, uses: &Uses) -> Vec<Vec<usize>> {
    let mut reach: Vec<BTreeSet<usize>> = (0..members).map(|member| reached(member, uses)).collect();
    let mut found = Vec::new();
    for member in 0..members {
        if reach[member].contains(&member) {
            let circle: Vec<usize> =
                reach[member].iter().copied().filter(|other| reach[*other].contains(&member)).collect();
            for one in &circle {
                reach[*one].clear();
            }
            found.push(circle);
        }
    }
    found
}

fn reached(from: usize, uses: &Uses) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = uses.range((file, 0)..(file + 1, 0)).map(|((_, to), _)| *to);
        open.extend(next.filter(|to| found.insert(*to)));
    }
    found
}

/// The uses between files of the same crate.
fn uses(sources: &[Source]) -> Uses {
    let packages: BTreeSet<&str> = sources.iter().map(|source| source.package.as_str()).collect();
    let crowds: BTreeMap<&str, Crowd> =
        packages.into_iter().map(|package| (package, Crowd::of_crate(package, sources))).collect();
    let mut found = Uses::new();
    for (from, source) in sources.iter().enumerate() {
        for named in &source.named {
            // What a `use` hands on unused is no use of it; where it is used, its name stands again.
            if named.import {
                continue;
            }
            let Some(to) = crowds[source.package.as_str()].definer(from, &named.path, 0) else { continue };
            if to != from {
                found.entry((from, to)).or_insert(named.line);
            }
        }
    }
    found
}

/// The most `use` items that a name is followed through.
const MOST_STEPS: usize = 8;

/// The files of a crate, found by their modules.
struct Crowd<'a> {
    sources: &'a [Source],
    files: HashMap<&'a [String], usize>,
}

impl<'a> Crowd<'a> {
    fn of_crate(package: &str, sources: &'a [Source]) -> Self {
        let files = (0..).zip(sources);
        let files = files.filter(|(_, source)| source.package == package);
        let files = files.map(|(file, source)| (&source.module[..], file)).collect();
        Self { sources, files }
    }

    /// The file that defines what a path in a file names; `None` for what is local or of another crate.
    fn definer(&self, from: usize, path: &[String], steps: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let source = &self.sources[from];
        if steps > MOST_STEPS {
            return None;
        }
        if first == "crate" {
            return self.rooted(rest, steps);
        }
        let inside = [&source.module[..], path].concat();
        if self.files.contains_key(&inside[..=source.module.len()]) {
            return self.rooted(&inside, steps);
        }
        if source.defines.contains(first) {
            return Some(from);
        }
        let (_, behind) = source.imports.iter().find(|(name, _)| name == first)?;
        if behind == path { None } else { self.definer(from, &[behind, rest].concat(), steps + 1) }
    }

    /// The same for a path from the crate's root on.
    fn rooted(&self, path: &[String], steps: usize) -> Option<usize> {
        let (length, file) = (1..=path.len()).rev().find_map(|end| Some((end, *self.files.get(&path[..end])?)))?;
        let source = &self.sources[file];
        let Some(name) = path.get(length).filter(|name| !source.defines.contains(name)) else { return Some(file) };
        let imports = &source.imports;
        let mut named = imports.iter().filter(|(known, _)| known == name);
        let mut starred = imports.iter().filter(|(known, _)| known == "*");
        let named = named.find_map(|(_, path)| self.definer(file, path, steps + 1));
        let starred = || {
            let inside = |path: &[String]| [path, std::slice::from_ref(name)].concat();
            starred.find_map(|(_, path)| self.definer(file, &inside(path), steps + 1))
        };
        named.or_else(starred).or(Some(file))
    }
}
