//! Sources as data: which paths a file names, where, and how long its functions are.
//!
//! Tests (`#[cfg(test)]` items and the files behind such a `mod`) are left out: they may look
//! anywhere and have no shape to keep. Judging what is found is not for here.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Item, Meta, Signature, UseTree};

/// A file that is part of the product.
pub struct Source {
    /// Its path, from the root of the project.
    pub file: String,
    /// Its module (`["app", "keymap"]`); empty for `lib.rs`.
    pub module: Vec<String>,
    /// Its first line.
    pub first_line: String,
    /// Its lines without those of its tests.
    pub lines: usize,
    /// The paths that it names.
    pub named: Vec<Named>,
    /// Its functions.
    pub functions: Vec<Function>,
    /// The modules of tests that it declares.
    tests: Vec<Vec<String>>,
}

/// A path as a file names it, from the crate's root or an external crate on (`["crate", "cost"]`).
pub struct Named {
    pub path: Vec<String>,
    pub line: usize,
    /// Whether the path ends here and brings what it names into scope, as the leaf of a `use` does.
    pub import: bool,
}

/// A function with a body, from `fn` to the closing brace.
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Every file under `src` that is part of the product.
pub fn product() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    let sources: Vec<Source> = files
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            parse(path.strip_prefix(root).unwrap().to_str().unwrap(), &text)
        })
        .collect();
    let tests: Vec<Vec<String>> = sources.iter().flat_map(|source| source.tests.clone()).collect();
    let is_product = |source: &Source| !tests.iter().any(|test| source.module.starts_with(test));
    sources.into_iter().filter(is_product).collect()
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}

/// Reads one file.
pub fn parse(file: &str, text: &str) -> Source {
    let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let module = module(file);
    let mut reader = Reader { module: module.clone(), ..Reader::default() };
    reader.visit_file(&syntax);
    Source {
        file: file.to_owned(),
        module,
        first_line: text.lines().next().unwrap_or_default().to_owned(),
        lines: text.lines().count() - reader.test_lines,
        named: reader.named,
        functions: reader.functions,
        tests: reader.tests,
    }
}

/// `src/app/keymap.rs` is `app::keymap`; `src/lib.rs` is the root.
fn module(file: &str) -> Vec<String> {
    let path = file.strip_prefix("src/").unwrap_or(file).trim_end_matches(".rs");
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

#[derive(Default)]
struct Reader {
    /// The module around what is being read, inline modules included.
    module: Vec<String>,
    named: Vec<Named>,
    functions: Vec<Function>,
    tests: Vec<Vec<String>>,
    test_lines: usize,
}

impl Reader {
    fn name(&mut self, segments: &[String], span: Span, import: bool) {
        let mut base = vec!["crate".to_owned()];
        let mut rest = segments;
        match segments.first().map(String::as_str) {
            Some("crate" | env!("CARGO_PKG_NAME")) => rest = &segments[1..],
            Some("self" | "super") => {
                base.extend(self.module.iter().cloned());
                while let Some(step @ ("self" | "super")) = rest.first().map(String::as_str) {
                    base.truncate(base.len() - usize::from(step == "super" && base.len() > 1));
                    rest = &rest[1..];
                }
            }
            _ => base.clear(),
        }
        base.extend(rest.iter().cloned());
        self.named.push(Named { path: base, line: span.start().line, import });
    }

    /// The leaves of a `use`: `a::{b, c::d}` is `a::b` and `a::c::d`.
    fn leaves(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.leaves(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.leaves(item, before)),
            UseTree::Glob(star) => self.name(before, star.span(), true),
            UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
                let itself = ident == "self" && !before.is_empty();
                let path = if itself { before.to_vec() } else { with(ident) };
                self.name(&path, ident.span(), true);
            }
        }
    }

    /// Paths among the tokens of a macro or an attribute; one that goes on in braces or a star counts
    /// as an import of what it has named so far.
    fn tokens(&mut self, stream: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut at = Span::call_site();
        for token in stream {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) if !path.is_empty() && colons == 2 => path.push(ident.to_string()),
                TokenTree::Ident(ident) => {
                    self.flush(&mut path, at, false);
                    path.push(ident.to_string());
                    at = ident.span();
                }
                TokenTree::Punct(_) => self.flush(&mut path, at, colons == 2),
                TokenTree::Group(group) => {
                    self.flush(&mut path, at, colons == 2 && group.delimiter() == Delimiter::Brace);
                    self.tokens(group.stream());
                }
                TokenTree::Literal(_) => self.flush(&mut path, at, false),
            }
            colons = 0;
        }
        self.flush(&mut path, at, false);
    }

    fn flush(&mut self, path: &mut Vec<String>, at: Span, import: bool) {
        if !path.is_empty() {
            self.name(&std::mem::take(path), at, import);
        }
    }

    /// Paths inside quotes, as `#[serde(default = "super::none")]` has them.
    fn quoted(&mut self, stream: TokenStream) {
        for token in stream {
            let TokenTree::Literal(literal) = token else { continue };
            if let Ok(path) = syn::parse_str::<syn::Path>(literal.to_string().trim_matches('"')) {
                self.path(&path, literal.span());
            }
        }
    }

    fn path(&mut self, path: &syn::Path, span: Span) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.name(&segments, span, false);
    }

    fn function(&mut self, signature: &Signature, body: &Block) {
        let line = signature.span().start().line;
        let lines = body.span().end().line - line + 1;
        self.functions.push(Function { name: signature.ident.to_string(), line, lines });
    }

    fn leave_out(&mut self, item: &Item) {
        let span = item.span();
        self.test_lines += span.end().line - span.start().line + 1;
        if let Item::Mod(inner) = item {
            self.tests.push([&self.module[..], &[inner.ident.to_string()]].concat());
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test) {
            self.leave_out(item);
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.leaves(&item.tree, &[]);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let root = if item.ident == "self" { "crate".to_owned() } else { item.ident.to_string() };
        self.name(&[root], item.span(), true);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path, path.span());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.quoted(list.tokens.clone());
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(syn::ItemConst { attrs, .. })
        | Item::Enum(syn::ItemEnum { attrs, .. })
        | Item::Fn(syn::ItemFn { attrs, .. })
        | Item::Impl(syn::ItemImpl { attrs, .. })
        | Item::Macro(syn::ItemMacro { attrs, .. })
        | Item::Mod(syn::ItemMod { attrs, .. })
        | Item::Static(syn::ItemStatic { attrs, .. })
        | Item::Struct(syn::ItemStruct { attrs, .. })
        | Item::Trait(syn::ItemTrait { attrs, .. })
        | Item::Type(syn::ItemType { attrs, .. })
        | Item::Use(syn::ItemUse { attrs, .. }) => attrs,
        _ => &[],
    }
}
