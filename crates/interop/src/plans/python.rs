//! Assignments in a Python file, as far as they are known without running it: numbers, strings, lists and `dict(...)`,
//! as in mmengine's configurations. All else is kept as written. Does not interpret names.

use std::ops::Range;

use serde_json::{Map, Value};

/// The most values in a file: each use of a name repeats its values.
const MOST_VALUES: usize = 100_000;

/// The deepest nesting, deeper than any configuration's.
const DEEPEST: u32 = 32;

/// Names that statements assign, with their last values. A name that a block assigns is unknown, and has the block's text.
pub(super) fn assigned(text: &str) -> Map<String, Value> {
    let tokens = tokens(text);
    let mut reader = Assignments { text, names: Map::new(), left: MOST_VALUES };
    for statement in tokens.split(|token| token.kind == WordKind::End) {
        reader.assign(statement);
    }
    reader.names
}

/// A Python token, and its place.
#[derive(Debug, Clone)]
struct Token {
    kind: WordKind,
    at: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// A name, with its dotted parts: `torch.float16`.
    Name,
    Number,
    /// A string in quotes.
    Text,
    Sign(char),
    /// End of a statement: the end of a line outside brackets.
    End,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let (mut at, mut open) = (0, 0_usize);
    while let Some(character) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
        let (kind, length) = match character {
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '\'' | '"' => (Some(WordKind::Text), quoted(rest)),
            '\n' => ((open == 0).then_some(WordKind::End), 1),
            '\\' if rest.starts_with("\\\n") => (None, 2),
            _ if character.is_whitespace() => (None, character.len_utf8()),
            _ if character.is_ascii_digit() => (Some(WordKind::Number), of_number(rest)),
            _ if character.is_alphabetic() || character == '_' => {
                (Some(WordKind::Name), run(|c| c.is_alphanumeric() || "._".contains(c)))
            }
            _ => (Some(WordKind::Sign(character)), character.len_utf8()),
        };
        match kind {
            Some(WordKind::Sign('(' | '[' | '{')) => open += 1,
            Some(WordKind::Sign(')' | ']' | '}')) => open = open.saturating_sub(1),
            _ => {}
        }
        found.extend(kind.map(|kind| Token { kind, at: at..at + length }));
        at += length;
    }
    found
}

/// Length of the number at the start: `1_024`, `2e-5`.
fn of_number(rest: &str) -> usize {
    let part = |from: usize| {
        let more = rest[from..].find(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)));
        more.map_or(rest.len(), |more| from + more)
    };
    let end = part(0);
    let signed = rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']);
    if signed { part(end + 1) } else { end }
}

/// Length of the quoted string at the start; the whole text if the quotes are not closed.
fn quoted(rest: &str) -> usize {
    let three = ["\"\"\"", "'''"].into_iter().find(|mark| rest.starts_with(mark));
    let mark = three.unwrap_or(&rest[..1]);
    let mut at = mark.len();
    while let Some(character) = rest[at..].chars().next() {
        if rest[at..].starts_with(mark) {
            return at + mark.len();
        }
        at += character.len_utf8();
        // An escaped quote closes nothing.
        if character == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

struct Assignments<'a> {
    text: &'a str,
    names: Map<String, Value>,
    /// Number of values that may still be repeated.
    left: usize,
}

impl Assignments<'_> {
    /// Stores what a statement assigns.
    fn assign(&mut self, statement: &[Token]) {
        let [name, rest @ ..] = statement else { return };
        if name.kind != WordKind::Name {
            return;
        }
        let line = self.text[..name.at.start].rfind('\n').map_or(0, |end| end + 1);
        let in_block = line != name.at.start;
        let (value, times) = match rest {
            [Token { kind: WordKind::Sign('='), .. }, value @ ..] => (value, false),
            [Token { kind: WordKind::Sign('*'), .. }, Token { kind: WordKind::Sign('='), .. }, value @ ..] => {
                (value, true)
            }
            // Another operator changes the name: `a += b`.
            [Token { kind: WordKind::Sign(_), .. }, Token { kind: WordKind::Sign('='), .. }, ..] => (rest, true),
            _ => return,
        };
        let key = self.text[name.at.clone()].to_owned();
        let own = self.names.get(&key).cloned();
        let read = Expression { reader: self, tokens: value, at: 0 }.all();
        let value = match (in_block, times) {
            (true, _) => Value::from(self.written(statement)),
            (false, false) => read,
            (false, true) => own.and_then(|own| product(&own, &read)).unwrap_or_else(|| self.written(statement).into()),
        };
        self.names.insert(key, value);
    }

    /// The tokens' source text.
    fn written(&self, tokens: &[Token]) -> String {
        let ends = tokens.first().zip(tokens.last()).map(|(first, last)| first.at.start..last.at.end);
        ends.map_or_else(String::new, |all| self.text[all].to_owned())
    }
}

/// An expression, read from left to right.
struct Expression<'a, 'b> {
    reader: &'a mut Assignments<'b>,
    tokens: &'a [Token],
    at: usize,
}

impl Expression<'_, '_> {
    /// The value of the whole expression.
    fn all(mut self) -> Value {
        let value = self.value(0);
        if self.at == self.tokens.len() { value } else { self.reader.written(self.tokens).into() }
    }

    fn peek(&self) -> Option<WordKind> {
        Some(self.tokens.get(self.at)?.kind)
    }

    fn next_if(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(WordKind::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    /// A value, up to its end; kept as text if it is more than a product of known values.
    fn value(&mut self, depth: u32) -> Value {
        let start = self.at;
        let mut value = self.part(depth);
        while let Some(found) = &value
            && self.next_if('*')
        {
            let found = found.clone();
            value = self.part(depth).and_then(|other| product(&found, &other));
        }
        if let Some(value) = value.filter(|_| self.ends()) {
            return value;
        }
        self.at = start;
        // Brackets in an expression kept as text stay together.
        let mut open = 0_usize;
        while let Some(kind) = self.peek().filter(|_| open > 0 || !self.ends()) {
            match kind {
                WordKind::Sign('(' | '[' | '{') => open += 1,
                WordKind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        self.reader.written(&self.tokens[start..self.at]).into()
    }

    /// True if a value ends here.
    fn ends(&self) -> bool {
        matches!(self.peek(), None | Some(WordKind::Sign(',' | ')' | ']' | '}' | ':')))
    }

    /// A number, a string, a name's value, a call with keywords, or a list.
    fn part(&mut self, depth: u32) -> Option<Value> {
        let token = self.tokens.get(self.at).filter(|_| depth < DEEPEST)?.clone();
        let written = &self.reader.text[token.at.clone()];
        self.at += 1;
        match token.kind {
            WordKind::Number => number(written),
            WordKind::Text => {
                let mut text = unquoted(written).to_owned();
                while self.peek() == Some(WordKind::Text) {
                    text.push_str(unquoted(&self.reader.text[self.tokens[self.at].at.clone()]));
                    self.at += 1;
                }
                Some(text.into())
            }
            WordKind::Name if self.next_if('(') => self.call(written.to_owned(), depth),
            WordKind::Name => Some(match written {
                "True" => true.into(),
                "False" => false.into(),
                "None" => Value::Null,
                name => self.named(name),
            }),
            WordKind::Sign('[') => self.list(']', depth),
            WordKind::Sign('(') => self.list(')', depth),
            WordKind::Sign(_) | WordKind::End => None,
        }
    }

    /// The value of a name, or the name itself.
    fn named(&mut self, name: &str) -> Value {
        let value = self.reader.names.get(name);
        let size = value.map_or(0, size);
        match value.filter(|_| size <= self.reader.left) {
            Some(value) => {
                self.reader.left -= size;
                value.clone()
            }
            None => name.into(),
        }
    }

    fn list(&mut self, end: char, depth: u32) -> Option<Value> {
        let mut values = Vec::new();
        while !self.next_if(end) {
            values.push(self.value(depth + 1));
            if !self.next_if(',') && self.peek() != Some(WordKind::Sign(end)) {
                return None;
            }
        }
        Some(Value::Array(values))
    }

    /// The keywords of a call, and the called name under `type`, as in mmengine.
    fn call(&mut self, called: String, depth: u32) -> Option<Value> {
        let mut object = Map::new();
        if called != "dict" {
            object.insert("type".to_owned(), called.into());
        }
        while !self.next_if(')') {
            let name = self.tokens.get(self.at).filter(|token| token.kind == WordKind::Name)?.at.clone();
            self.at += 1;
            if !self.next_if('=') {
                return None;
            }
            let value = self.value(depth + 1);
            object.insert(self.reader.text[name].to_owned(), value);
            if !self.next_if(',') && self.peek() != Some(WordKind::Sign(')')) {
                return None;
            }
        }
        Some(Value::Object(object))
    }
}

fn number(written: &str) -> Option<Value> {
    let plain = written.replace('_', "");
    let whole = plain.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| plain.parse::<f64>().ok().map(Value::from))
}

fn product(one: &Value, other: &Value) -> Option<Value> {
    one.as_i64()?.checked_mul(other.as_i64()?).map(Value::from)
}

fn unquoted(written: &str) -> &str {
    let mark = if written.starts_with("\"\"\"") || written.starts_with("'''") { 3 } else { 1 };
    written.get(mark..written.len().saturating_sub(mark)).unwrap_or_default()
}

/// Number of values in a value, itself included.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str, name: &str) -> Value {
        assigned(text).get(name).cloned().unwrap_or_default()
    }

    #[test]
    fn values_are_those_that_python_would_have() {
        let text = "# A comment: a = 1\nfrom x import (\n    a,\n)\nsize = 1_024  # tokens\nhalf = 2 * size\nhalf *= 3\nrate = 2e-5\n\
                    name = 'it''s' \"#1\"\non = True\nmodel = dict(\n    type=Tune,\n    llm=dict(dtype=torch.float16, size=size),\n\
                    \x20   parts=[size, 'a', (1, None)],\n)\n";
        assert_eq!(value(text, "half"), json!(6144));
        assert_eq!((value(text, "rate"), value(text, "on")), (json!(2e-5), json!(true)));
        assert_eq!(value(text, "name"), json!("its#1"));
        let model = json!({
            "type": "Tune", "llm": {"dtype": "torch.float16", "size": 1024}, "parts": [1024, "a", [1, null]]
        });
        assert_eq!(value(text, "model"), model);
        assert_eq!(value(text, "a"), Value::Null);
    }

    #[test]
    fn what_is_computed_stays_as_it_is_written() {
        let text = "size = int(2048 - (336 / 14) ** 2)\nkind = A if size > 1 else B\nd = dict(a=f(1, 2), b=3)\nb = 1\nif b:\n    b = 2\n";
        assert_eq!(value(text, "size"), json!("int(2048 - (336 / 14) ** 2)"));
        assert_eq!(value(text, "kind"), json!("A if size > 1 else B"));
        assert_eq!(value(text, "d"), json!({"a": "f(1, 2)", "b": 3}));
        assert_eq!(value(text, "b"), json!("b = 2"));
        assert_eq!(value("a = 1\na += 1\n", "a"), json!("a += 1"));
    }

    #[test]
    fn no_text_is_read_for_ever() {
        for broken in
            ["a = 'x", "a = dict(b", "a = [1, (2,", "a = ]", "a = dict(b=)", "= 1", "a = \\", "a = 1 2", "é = 'ü"]
        {
            assigned(broken);
        }
        let deep = format!("a = {}", "[".repeat(100_000));
        assigned(&deep);
        // Each name is twice the one before.
        let doubled: Vec<String> = (1..60).map(|n| format!("a{n} = [a{}, a{}]\n", n - 1, n - 1)).collect();
        assert!(size(&Value::Object(assigned(&format!("a0 = 1\n{}", doubled.concat())))) < 4 * MOST_VALUES);
    }
}
