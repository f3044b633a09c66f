//! A TOML text as it is read: its format number, its fields, and where each of them stands.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::scenario::Problem;
use crate::scenario::field::{Field, PLACEMENT};

use super::error::{FileError, Mistake, printable};
use crate::text::{no_line, no_name};

/// A text whose syntax is right.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
}

/// Reads a text as one kind of file, of which this version knows the formats up to `newest`.
///
/// Control characters are refused, so that no text of a file can command a terminal, and so are names and ids that are
/// not one line of at most 200 characters.
pub fn read<T: DeserializeOwned>(text: &str, newest: u32) -> Result<(T, Source<'_>), FileError> {
    let source = Source::new(text)?;
    source.check_format(newest)?;
    let value = toml::from_str(text).map_err(|error| source.refused(&error))?;
    Ok((value, source))
}

/// Reads a text that has no format number: settings, which every version reads alike.
pub fn read_unversioned<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    let source = Source::new(text)?;
    toml::from_str(text).map_err(|error| source.refused(&error))
}

impl<'a> Source<'a> {
    /// Reads the syntax of a text and refuses what no text in it may be.
    pub fn new(text: &'a str) -> Result<Self, FileError> {
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            one(text, span.start, &syntax(error.message()))
        })?;
        // What TOML lets through as it is, and what it writes with escapes.
        if let Some((offset, _)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        {
            return Err(one(text, offset, "the file holds a control character; remove it"));
        }
        match refused(table.get_ref()) {
            None => Ok(Self { text, table }),
            Some((path, span, why)) => Err(one(text, span.start, &format!("{path}: {why}"))),
        }
    }

    /// The text of a field at the top.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.table.get_ref().get(field)?.get_ref().as_str()
    }

    /// Whether there is such a field at the top.
    pub fn has(&self, field: &str) -> bool {
        self.table.get_ref().get(field).is_some()
    }

    /// The places of problems in the text, in its order; one field that causes several is named once.
    pub fn mistakes(&self, problems: &[Problem]) -> FileError {
        let placed = problems.iter().map(|problem| {
            let (field, offset) = self.place(&problem.field);
            (offset, Problem { field, ..problem.clone() }.to_string())
        });
        let mut messages: Vec<(usize, String)> = placed.collect();
        messages.sort_by_key(|(offset, _)| *offset);
        messages.dedup();
        let mistakes = messages.into_iter().map(|(offset, message)| mistake(self.text, offset, &message));
        FileError { file: String::new(), mistakes: mistakes.collect() }
    }

    /// The field to name for a problem, and where it stands: an extent that the text does not give in full is that of
    /// the nearest field behind it.
    fn place(&self, path: &str) -> (String, usize) {
        let (exact, offset) = self.find(path);
        let (prefix, named) = path.find(PLACEMENT).map_or(("", path), |at| path.split_at(at));
        let behind = Field::behind(named).into_iter().filter(|_| !exact);
        // A file that gives only `strategy` has no `plan.sharding.weights`: what is wrong there is said at the field
        // that set it.
        let given = behind.map(|field| format!("{prefix}{}", field.path())).find_map(|other| {
            let (given, offset) = self.find(&other);
            given.then_some((other, offset))
        });
        given.unwrap_or_else(|| (path.to_owned(), offset))
    }

    /// Whether a field is there, and where it stands or else the nearest table around it.
    fn find(&self, path: &str) -> (bool, usize) {
        descend(self.table.get_ref(), path)
    }

    fn check_format(&self, newest: u32) -> Result<(), FileError> {
        let at = |message: &str| Err(one(self.text, self.find("format").1, message));
        let this = env!("CARGO_PKG_VERSION");
        let Some(value) = self.table.get_ref().get("format") else {
            return at(&format!("format: is missing; write 'format = {newest}' at the top"));
        };
        let number = value.get_ref().as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        match number {
            Some(number) if number >= 1 && number <= i64::from(newest) => Ok(()),
            Some(number) if number > i64::from(newest) => {
                let needed = match self.text("version") {
                    Some(version) => format!("shardscope {version}, which wrote it"),
                    None => format!("a shardscope newer than {this}"),
                };
                at(&format!(
                    "format: {number} is newer than {newest}, the newest that shardscope {this} reads; use {}",
                    printable(&needed)
                ))
            }
            _ => at(&format!("format: must be a whole number from 1; write 'format = {newest}'")),
        }
    }

    /// An error of reading fields, at its place and with its path.
    fn refused(&self, error: &toml::de::Error) -> FileError {
        let offset = error.span().map_or(0, |span| span.start);
        let message = plain(error.message());
        let (path, message) = if error.message().starts_with("missing field") {
            (table_at(self.table.get_ref(), offset), format!("{message}; add it"))
        } else {
            (path_at(self.table.get_ref(), offset), message)
        };
        let path = path.map_or_else(String::new, |path| format!("{path}: "));
        one(self.text, offset, &format!("{path}{message}"))
    }
}

/// How messages of the syntax begin, and what they mean.
const SYNTAX: [(&str, &str); 6] = [
    ("duplicate key", "the same field is given twice; keep one of them"),
    ("string values must be quoted", "the value is missing or is text without quotes; write 8 or \"text\""),
    ("invalid key-value pair", "this is not a field; write it as NAME = VALUE"),
    ("invalid basic string, expected `\"`", "the text is not closed; add the closing quote"),
    ("invalid basic string, expected non-double-quote", "the text holds a control character; remove it"),
    ("cannot recurse further", "tables or arrays are nested too deep; write them flat"),
];

/// A syntax error in words that say how to fix it.
fn syntax(message: &str) -> String {
    let known = SYNTAX.iter().find(|(start, _)| message.starts_with(start));
    known.map_or_else(|| format!("this is not TOML: {message}"), |(_, words)| (*words).to_owned())
}

/// A message of serde without the names of Rust's types.
fn plain(message: &str) -> String {
    let (found, wanted) = message.split_once("expected struct ").map_or((message, ""), |(found, _)| (found, STRUCT));
    format!("{found}{wanted}")
        .replace(" as i128", "")
        .replace("expected u32", "expected a whole number from 0 to 4294967295")
        .replace("expected f64", "expected a number")
        .replace("expected a boolean", "expected true or false")
        .replace("expected a string", "expected text in quotes")
}

const STRUCT: &str = "expected a table of fields";

fn one(text: &str, offset: usize, message: &str) -> FileError {
    FileError { file: String::new(), mistakes: vec![mistake(text, offset, message)] }
}

fn mistake(text: &str, offset: usize, message: &str) -> Mistake {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Mistake { line, column, message: printable(message) }
}

/// Follows a path (`plan.tensor`, `levels[1].bandwidth`) as far as it goes: whether to its end, and the place reached.
fn descend(table: &DeTable<'_>, path: &str) -> (bool, usize) {
    let mut table = Some(table);
    let mut place = 0;
    // `members[1].snapshot` goes into the table `members`, to its item 1, to that item's field; a step that is not
    // there leaves the place of the last that was.
    for step in path.split('.') {
        let (name, index) = match step.trim_end_matches(']').split_once('[') {
            Some((name, index)) => (name, index.parse::<usize>().ok()),
            None => (step, None),
        };
        let Some((key, value)) = table.and_then(|table| table.get_key_value(name)) else { return (false, place) };
        place = key.span().start;
        let mut value = value;
        if let (Some(index), DeValue::Array(items)) = (index, value.get_ref()) {
            let Some(item) = items.get(index) else { return (false, place) };
            place = item.span().start;
            value = item;
        }
        table = value.get_ref().as_table();
    }
    (true, place)
}

/// The path of the key or value that stands at an offset.
fn path_at(table: &DeTable<'_>, offset: usize) -> Option<String> {
    walk(table, &mut |key, value| {
        let leaf = value.is_some_and(|value| !matches!(value.get_ref(), DeValue::Table(_) | DeValue::Array(_)));
        let here = |span: Range<usize>| span.contains(&offset).then_some(span);
        key.and_then(|key| here(key.span())).or_else(|| value.filter(|_| leaf).and_then(|value| here(value.span())))
    })
    .map(|(path, _)| path)
}

/// The path of the table that begins at an offset.
fn table_at(table: &DeTable<'_>, offset: usize) -> Option<String> {
    let here = |value: &Spanned<DeValue<'_>>| value.get_ref().is_table() && value.span().start == offset;
    walk(table, &mut |_, value| value.filter(|value| here(value)).map(Spanned::span)).map(|(path, _)| path)
}

/// Fields whose text is for people to read: it may be long, and have lines. All other text names something.
const PROSE: [&str; 4] = ["about", "look", "note", "source"];

/// The field whose texts are sentences for people: each may be long, in one line.
const SENTENCES: &str = "caveats";

/// The first key or value that no file may hold: control characters, and names or ids of several lines or too many
/// characters.
fn refused(table: &DeTable<'_>) -> Option<(String, Range<usize>, &'static str)> {
    let mut found = None;
    let control = |text: &str| text.replace("\r\n", "\n").chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    let mut bad = |text: &str, wrong: fn(&str) -> Option<&'static str>| {
        found = if control(text) { Some("holds control characters; remove them") } else { wrong(text) };
        found.is_some()
    };
    let (path, place) = walk(table, &mut |key, value| {
        let name = key.map_or("", |key| key.get_ref().as_ref());
        let wrong = match name {
            SENTENCES => no_line,
            _ if PROSE.contains(&name) => |_: &str| None,
            _ => no_name,
        };
        let key = key.filter(|key| bad(key.get_ref(), no_name)).map(Spanned::span);
        let text = value.and_then(|value| Some((value.get_ref().as_str()?, value.span())));
        key.or_else(|| text.filter(|(text, _)| bad(text, wrong)).map(|(_, place)| place))
    })?;
    Some((path, place, found?))
}

type Key<'a> = Spanned<toml::de::DeString<'a>>;
type Look<'l> = dyn FnMut(Option<&Key<'_>>, Option<&Spanned<DeValue<'_>>>) -> Option<Range<usize>> + 'l;

/// Shows each key with its value, and with each item of an array, until one is found; gives its path and place.
fn walk(table: &DeTable<'_>, look: &mut Look<'_>) -> Option<(String, Range<usize>)> {
    for (key, value) in table {
        let name = printable(key.get_ref());
        if let Some(place) = look(Some(key), Some(value)) {
            return Some((name, place));
        }
        if let Some((path, place)) = walk_value(key, value, look) {
            return Some((format!("{name}{path}"), place));
        }
    }
    None
}

fn walk_value(key: &Key<'_>, value: &Spanned<DeValue<'_>>, look: &mut Look<'_>) -> Option<(String, Range<usize>)> {
    match value.get_ref() {
        DeValue::Table(table) => walk(table, look).map(|(path, place)| (format!(".{path}"), place)),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let found = look(Some(key), Some(item)).map(|place| (String::new(), place));
            found.or_else(|| walk_value(key, item, look)).map(|(path, place)| (format!("[{index}]{path}"), place))
        }),
        _ => None,
    }
}
