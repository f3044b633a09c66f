//! Sources as data: which paths a file names, where, and how long its functions are.
//!
//! Tests (`#[cfg(test)]` items and the files behind such a `mod`) are left out: they may look
//! anywhere and have no shape to keep. Judging what is found is not for here.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Item, Meta, Signature, UseTree};

/// A file that is part of the product.
pub struct Source {
    /// Its path, from the root of the project.
    pub file: String,
    /// Its crate, as paths name it (`shardscope_engine`).
    pub package: String,
    /// Its module in that crate (`["app", "keymap"]`); empty for `lib.rs`.
    pub module: Vec<String>,
    /// Its first line.
    pub first_line: String,
    /// The paths that it names.
    pub named: Vec<Named>,
    /// Its functions.
    pub functions: Vec<Function>,
    /// The methods that it calls.
    pub calls: Vec<Call>,
    /// What its `use` items at the top bring into scope: the name, `*` for all, and the path behind it.
    pub imports: Vec<(String, Vec<String>)>,
    /// Its structs, enums, unions, traits and aliases of types, each with its line.
    pub types: Vec<(String, usize)>,
    /// All names that its items define at the top.
    pub defines: Vec<String>,
    /// Lines with a bare `f64` in a signature or field that others can see.
    pub bare: Vec<usize>,
    /// Its doc comments, each with its line.
    pub docs: Vec<(String, usize)>,
    /// Lines with code on them, those of tests left out.
    pub code: usize,
    /// Lines that are a comment, of no documentation.
    pub comments: usize,
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

/// A call of a method.
pub struct Call {
    pub name: String,
    pub arguments: usize,
    pub line: usize,
}

/// A function with a body, from `fn` to the closing brace.
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Every file of the program and of the crates beside it that is part of the product.
pub fn product() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        collect(&folder.unwrap().path().join("src"), &mut files);
    }
    files.sort();
    let sources: Vec<Source> = files
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            parse(path.strip_prefix(root).unwrap().to_str().unwrap(), &text)
        })
        .collect();
    let tests: Vec<(String, Vec<String>)> = sources
        .iter()
        .flat_map(|source| source.tests.iter().map(|test| (source.package.clone(), test.clone())))
        .collect();
    let is_test = |source: &Source| {
        tests.iter().any(|(package, test)| *package == source.package && source.module.starts_with(test))
    };
    sources.into_iter().filter(|source| !is_test(source)).collect()
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
}

/// Reads one file.
pub fn parse(file: &str, text: &str) -> Source {
    let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (package, module) = place(file);
    let mut reader = Reader { package: package.clone(), module: module.clone(), ..Reader::default() };
    reader.visit_file(&syntax);
    let (code, comments) = count(text, &reader.test_ranges);
    Source {
        calls: reader.calls,
        imports: reader.imports,
        types: reader.types,
        defines: syntax.items.iter().filter_map(defined).collect(),
        bare: reader.bare,
        docs: reader.docs,
        code,
        comments,
        file: file.to_owned(),
        package,
        module,
        first_line: text.lines().next().unwrap_or_default().to_owned(),
        named: reader.named,
        functions: reader.functions,
        tests: reader.tests,
    }
}

/// The crate and module of a file: `crates/engine/src/cost/ring.rs` is `cost::ring` of `shardscope_engine`, and a
/// `lib.rs` is the root of its crate.
fn place(file: &str) -> (String, Vec<String>) {
    let (package, path) = match file.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
        Some((name, path)) => (format!("shardscope_{name}"), path),
        None => ("shardscope".to_owned(), file.strip_prefix("src/").unwrap_or(file)),
    };
    let path = path.trim_end_matches(".rs");
    (package, if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() })
}

#[derive(Default)]
struct Reader {
    package: String,
    /// The module around what is being read, inline modules included.
    module: Vec<String>,
    named: Vec<Named>,
    functions: Vec<Function>,
    calls: Vec<Call>,
    tests: Vec<Vec<String>>,
    test_ranges: Vec<RangeInclusive<usize>>,
    imports: Vec<(String, Vec<String>)>,
    types: Vec<(String, usize)>,
    bare: Vec<usize>,
    docs: Vec<(String, usize)>,
}

impl Reader {
    fn name(&mut self, segments: &[String], span: Span, import: bool) {
        let path = self.rooted(segments);
        self.named.push(Named { path, line: span.start().line, import });
    }

    /// The path from the crate's root on, where it says so (`super::cost` in `evaluate` is `crate::cost`).
    fn rooted(&self, segments: &[String]) -> Vec<String> {
        let mut base = vec!["crate".to_owned()];
        let mut rest = segments;
        match segments.first().map(String::as_str) {
            Some("crate") => rest = &segments[1..],
            Some(first) if first == self.package => rest = &segments[1..],
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
        base
    }

    /// Notes under which name a `use` brings what it ends in.
    fn import(&mut self, name: &str, path: &[String]) {
        let path = self.rooted(path);
        self.imports.push((name.to_owned(), path));
    }

    /// The leaves of a `use`: `a::{b, c::d}` is `a::b` and `a::c::d`.
    fn leaves(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.leaves(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.leaves(item, before)),
            UseTree::Glob(star) => {
                self.name(before, star.span(), true);
                self.import("*", before);
            }
            UseTree::Name(syn::UseName { ident }) | UseTree::Rename(syn::UseRename { ident, .. }) => {
                let itself = ident == "self" && !before.is_empty();
                let path = if itself { before.to_vec() } else { with(ident) };
                self.name(&path, ident.span(), true);
                let own = path.last().cloned().unwrap_or_default();
                let known = if let UseTree::Rename(renamed) = tree { renamed.rename.to_string() } else { own };
                self.import(&known, &path);
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

    fn signature(&mut self, visibility: &syn::Visibility, signature: &Signature) {
        if seen(visibility) {
            for input in &signature.inputs {
                if let syn::FnArg::Typed(input) = input {
                    self.bare.extend(bare(&input.ty));
                }
            }
            if let syn::ReturnType::Type(_, output) = &signature.output {
                self.bare.extend(bare(output));
            }
        }
    }

    fn leave_out(&mut self, item: &Item) {
        let span = item.span();
        self.test_ranges.push(span.start().line..=span.end().line);
        if let Item::Mod(inner) = item {
            self.tests.push([&self.module[..], &[inner.ident.to_string()]].concat());
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test) {
            self.leave_out(item);
            return;
        }
        if let Item::Struct(syn::ItemStruct { ident, .. })
        | Item::Enum(syn::ItemEnum { ident, .. })
        | Item::Union(syn::ItemUnion { ident, .. })
        | Item::Trait(syn::ItemTrait { ident, .. })
        | Item::Type(syn::ItemType { ident, .. }) = item
        {
            self.types.push((ident.to_string(), ident.span().start().line));
        }
        visit::visit_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if seen(&field.vis) {
            self.bare.extend(bare(&field.ty));
        }
        visit::visit_field(self, field);
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

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let (name, line) = (call.method.to_string(), call.method.span().start().line);
        self.calls.push(Call { name, arguments: call.args.len(), line });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value
        {
            self.docs.push((text.value().trim().to_owned(), attribute.span().start().line));
        }
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.quoted(list.tokens.clone());
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.signature(&item.vis, &item.sig);
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.signature(&item.vis, &item.sig);
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

/// Whether an attribute is `#[cfg(test)]`, or `#[cfg(any(test, ...))]`, by which a crate lends its tests' helpers.
fn is_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("any (test"))
}

/// Whether another file can see it.
fn seen(visibility: &syn::Visibility) -> bool {
    !matches!(visibility, syn::Visibility::Inherited)
}

/// The lines on which a type names `f64`, once for each time.
fn bare(of: &syn::Type) -> Vec<usize> {
    struct Bare(Vec<usize>);
    impl<'ast> Visit<'ast> for Bare {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            if path.is_ident("f64") {
                self.0.push(path.span().start().line);
            }
            visit::visit_path(self, path);
        }
    }
    let mut found = Bare(Vec::new());
    found.visit_type(of);
    found.0
}

/// The name that an item at the top of a file defines.
fn defined(item: &Item) -> Option<String> {
    match item {
        Item::Const(syn::ItemConst { ident, .. })
        | Item::Enum(syn::ItemEnum { ident, .. })
        | Item::Static(syn::ItemStatic { ident, .. })
        | Item::Struct(syn::ItemStruct { ident, .. })
        | Item::Trait(syn::ItemTrait { ident, .. })
        | Item::Type(syn::ItemType { ident, .. })
        | Item::Union(syn::ItemUnion { ident, .. }) => Some(ident.to_string()),
        Item::Fn(function) => Some(function.sig.ident.to_string()),
        Item::Macro(call) => call.ident.as_ref().map(ToString::to_string),
        _ => None,
    }
}

/// Lines of code and lines that are a comment but no documentation, tests left out.
fn count(text: &str, tests: &[RangeInclusive<usize>]) -> (usize, usize) {
    let mut code = BTreeSet::new();
    code_lines(text.parse().unwrap_or_default(), &mut code);
    let in_tests = |line: &usize| tests.iter().any(|test| test.contains(line));
    let is_comment = |text: &str| {
        let text = text.trim_start();
        text.starts_with("//") && !text.starts_with("///") && !text.starts_with("//!")
    };
    let lines = (1..).zip(text.lines());
    let comments = lines.filter(|(line, text)| is_comment(text) && !code.contains(line) && !in_tests(line)).count();
    (code.iter().filter(|line| !in_tests(line)).count(), comments)
}

/// Every line that holds a token, documentation apart, which the lexer hands over as `#[doc = "..."]`.
fn code_lines(stream: TokenStream, lines: &mut BTreeSet<usize>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let is_mark = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if matches!(mark.as_char(), '#' | '!'));
    let is_doc = |token: &TokenTree| {
        let TokenTree::Group(group) = token else { return false };
        let mut inside = group.stream().into_iter();
        matches!(inside.next(), Some(TokenTree::Ident(name)) if name == "doc")
            && matches!(inside.next(), Some(TokenTree::Punct(_)))
    };
    for (index, token) in tokens.iter().enumerate() {
        let before_doc = is_mark(token) && tokens[index + 1..].iter().find(|next| !is_mark(next)).is_some_and(is_doc);
        let doc = is_doc(token) && index > 0 && is_mark(&tokens[index - 1]);
        if before_doc || doc {
            continue;
        }
        match token {
            TokenTree::Group(group) => {
                lines.extend([group.span_open().start().line, group.span_close().end().line]);
                code_lines(group.stream(), lines);
            }
            token => lines.extend(token.span().start().line..=token.span().end().line),
        }
    }
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
