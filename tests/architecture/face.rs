//! What somebody outside can name of the engine: its public items, each at the place where they are to be taken from.
//!
//! The list is a picture that a change shows: `cargo insta review` takes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

/// The modules of a crate by their paths from its root.
type Modules = BTreeMap<Vec<String>, Vec<Item>>;

/// A public item: its kind, and the names of its public parts.
struct Shown {
    kind: &'static str,
    parts: BTreeSet<String>,
}

#[test]
fn the_engine_shows_these_items() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/engine/src");
    let mut modules = Modules::new();
    read(&root.join("lib.rs"), &root, &[], &mut modules);
    let mut found = BTreeMap::new();
    show(&modules, &[], &[], &mut BTreeSet::new(), &mut found);
    let mut text = String::new();
    for (path, Shown { kind, parts }) in &found {
        let parts = parts.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let colon = if parts.is_empty() { "" } else { ": " };
        writeln!(text, "{kind} {path}{colon}{parts}").unwrap();
    }
    insta::assert_snapshot!(format!("{} items\n{text}", found.len()));
}

/// A file's items, and those of the modules that it declares.
fn read(file: &Path, folder: &Path, path: &[String], modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap();
    let items = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items;
    add(items, folder, path, modules);
}

fn add(items: Vec<Item>, folder: &Path, path: &[String], modules: &mut Modules) {
    let items: Vec<Item> = items.into_iter().filter(|item| !is_of_tests(item)).collect();
    for item in &items {
        let Item::Mod(module) = item else { continue };
        let name = module.ident.to_string();
        let (inner, below) = ([path, std::slice::from_ref(&name)].concat(), folder.join(&name));
        if let Some((_, items)) = &module.content {
            add(items.clone(), &below, &inner, modules);
        } else {
            let files: [PathBuf; 2] = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
            let file = files.iter().find(|file| file.exists()).unwrap();
            read(file, &below, &inner, modules);
        }
    }
    modules.insert(path.to_vec(), items);
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_of_tests(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| attribute.path().is_ident("cfg") && quote(attribute).contains("test"))
}

fn quote(attribute: &Attribute) -> String {
    attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default()
}

/// Shows the public items of a module as items of `at`, the place where others see it.
fn show(
    modules: &Modules,
    module: &[String],
    at: &[String],
    been: &mut BTreeSet<(Vec<String>, Vec<String>)>,
    found: &mut BTreeMap<String, Shown>,
) {
    if !been.insert((module.to_vec(), at.to_vec())) {
        return;
    }
    for item in modules.get(module).into_iter().flatten() {
        match item {
            Item::Mod(inner) if is_public(&inner.vis) => {
                let name = inner.ident.to_string();
                let [of, to] = [module, at].map(|path| [path, std::slice::from_ref(&name)].concat());
                show(modules, &of, &to, been, found);
            }
            Item::Use(item) if is_public(&item.vis) => {
                for (name, path) in leaves(&item.tree, Vec::new()) {
                    let Some(path) = resolve(modules, module, &path) else { continue };
                    if name == "*" {
                        show(modules, &path, at, been, found);
                    } else if modules.contains_key(&path) {
                        show(modules, &path, &[at, &[name]].concat(), been, found);
                    } else if let Some((original, parent)) = path.split_last() {
                        let of = |item: &&Item| named(item).is_some_and(|(ident, _, _)| ident == *original);
                        let item = modules.get(parent).into_iter().flatten().find(of);
                        if let Some(item) = item {
                            enter(modules, item, &name, at, found);
                        }
                    }
                }
            }
            item => {
                if let Some((name, _, true)) = named(item) {
                    enter(modules, item, &name, at, found);
                }
            }
        }
    }
}

fn enter(modules: &Modules, item: &Item, name: &str, at: &[String], found: &mut BTreeMap<String, Shown>) {
    let Some((original, kind, _)) = named(item) else { return };
    let path = [at, &[name.to_owned()]].concat().join("::");
    found.entry(path).or_insert_with(|| Shown { kind, parts: parts(modules, item, &original) });
}

/// An item's name, its kind, and whether it is public.
fn named(item: &Item) -> Option<(String, &'static str, bool)> {
    let (ident, kind, visible) = match item {
        Item::Const(item) => (&item.ident, "const", &item.vis),
        Item::Enum(item) => (&item.ident, "enum", &item.vis),
        Item::Fn(item) => (&item.sig.ident, "fn", &item.vis),
        Item::Static(item) => (&item.ident, "static", &item.vis),
        Item::Struct(item) => (&item.ident, "struct", &item.vis),
        Item::Trait(item) => (&item.ident, "trait", &item.vis),
        Item::Type(item) => (&item.ident, "type", &item.vis),
        _ => return None,
    };
    Some((ident.to_string(), kind, is_public(visible)))
}

const fn is_public(visible: &Visibility) -> bool {
    matches!(visible, Visibility::Public(_))
}

/// Public fields, variants, methods and constants of a type, wherever in the crate they are written.
fn parts(modules: &Modules, item: &Item, name: &str) -> BTreeSet<String> {
    let fields = |fields: &Fields| -> Vec<String> {
        let public = fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis));
        public.map(|(at, field)| field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string)).collect()
    };
    let mut parts: BTreeSet<String> = match item {
        Item::Struct(item) => fields(&item.fields).into_iter().collect(),
        Item::Enum(item) => item.variants.iter().map(|variant| variant.ident.to_string()).collect(),
        Item::Trait(item) => {
            let of = |item: &TraitItem| match item {
                TraitItem::Fn(item) => Some(format!("{}()", item.sig.ident)),
                TraitItem::Const(item) => Some(item.ident.to_string()),
                _ => None,
            };
            item.items.iter().filter_map(of).collect()
        }
        _ => return BTreeSet::new(),
    };
    let is_of =
        |of: &Type| matches!(of, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name));
    for item in modules.values().flatten() {
        let Item::Impl(item) = item else { continue };
        if item.trait_.is_some() || !is_of(&item.self_ty) {
            continue;
        }
        parts.extend(item.items.iter().filter_map(|item| match item {
            ImplItem::Fn(item) if is_public(&item.vis) => Some(format!("{}()", item.sig.ident)),
            ImplItem::Const(item) if is_public(&item.vis) => Some(item.ident.to_string()),
            _ => None,
        }));
    }
    parts
}

/// The names that a `use` gives, each with its path.
fn leaves(tree: &UseTree, mut path: Vec<String>) -> Vec<(String, Vec<String>)> {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            leaves(&tree.tree, path)
        }
        UseTree::Name(tree) => {
            path.push(tree.ident.to_string());
            vec![(tree.ident.to_string(), path)]
        }
        UseTree::Rename(tree) => {
            path.push(tree.ident.to_string());
            vec![(tree.rename.to_string(), path)]
        }
        UseTree::Glob(_) => vec![("*".to_owned(), path)],
        UseTree::Group(tree) => tree.items.iter().flat_map(|tree| leaves(tree, path.clone())).collect(),
    }
}

/// A path from the root of the crate, followed through other `use`s; `None` for another crate's.
fn resolve(modules: &Modules, module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let full = match first.as_str() {
        "crate" => rest.to_vec(),
        "self" => [module, rest].concat(),
        "super" => return resolve(modules, &module[..module.len() - 1], &[&["self".to_owned()], rest].concat()),
        _ => [module, path].concat(),
    };
    if modules.contains_key(&full) {
        return Some(full);
    }
    let (name, parent) = full.split_last()?;
    let items = modules.get(parent)?;
    if items.iter().any(|item| named(item).is_some_and(|(ident, _, _)| ident == *name)) {
        return Some(full);
    }
    let again = items.iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None });
    let (_, path) = again.flat_map(|item| leaves(&item.tree, Vec::new())).find(|(given, _)| given == name)?;
    resolve(modules, parent, &path)
}
