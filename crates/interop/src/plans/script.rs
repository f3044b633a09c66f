//! The commands of a shell script, with continuation lines joined and the script's variables expanded.
//!
//! Reads what training scripts consist of: assignments, arrays, arithmetic, defaults. Runs nothing. A variable that the
//! file does not set stays as written, and is refused where it matters. [`super::commands`] interprets commands.

use std::cell::Cell;
use std::collections::BTreeMap;

/// The most bytes of all values expanded: variables may contain one another.
const MOST_BYTES: usize = 1 << 22;

/// A script's commands, in order, and its variables.
pub(super) struct ShellScript<'a> {
    /// The script's text.
    pub text: &'a str,
    /// Commands that the script would run or print.
    pub commands: Vec<ShellCommand>,
    shell: Shell,
}

/// A command of a script.
pub(super) struct ShellCommand {
    /// The command's words, with variables expanded and redirections dropped.
    pub words: Vec<String>,
    /// First line of the command.
    pub line: usize,
}

impl ShellCommand {
    /// True if the words are only printed.
    pub fn is_printed(&self) -> bool {
        self.words.first().is_some_and(|word| word == "echo")
    }
}

impl<'a> ShellScript<'a> {
    /// Reads a script; runs nothing.
    pub fn read(text: &'a str) -> Self {
        let mut shell = Shell::default();
        let commands = statements(text).into_iter().filter_map(|(line, statement)| {
            let words = unredirected(shell.execute(&statement)?);
            Some(ShellCommand { words, line })
        });
        let commands = commands.collect();
        Self { text, commands, shell }
    }

    /// The variables that the script sets.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.shell.values
    }

    /// The words of each variable's value.
    pub fn lists(&self) -> impl Iterator<Item = Vec<String>> {
        self.shell.values.values().map(|value| value.split_whitespace().map(str::to_owned).collect())
    }
}

/// Drops redirections: `> log`, `2>log`.
fn unredirected(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.trim_start_matches(|c: char| c.is_ascii_digit()) {
            ">" | ">>" | "<" => drop(words.next()),
            // A word like `<|user|>` is text.
            file if file.starts_with('>') && !file.contains('|') => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Statements and their first lines, with continued lines joined, and comments and here-documents dropped.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut statement = String::new();
    let mut first = 1;
    let mut document: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut depth = 0_i32;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(end) = &document {
            if line.trim() == end {
                document = None;
            }
            continue;
        }
        // A statement starts at its first word: continued empty lines, even a million, are dropped.
        if statement.trim_start().is_empty() {
            statement.clear();
            first = number;
        }
        // Quotes and brackets span lines, and nothing inside them ends a statement: `ARGS=(` ... `)`.
        let mut before = ' ';
        let mut continued = false;
        // Only this line's text may start a here-document: one from an earlier line is over.
        let mut added = statement.len();
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            match (c, quote) {
                ('\\', Some('\'')) => statement.push(c),
                ('\\', _) if characters.peek().is_none() => continued = true,
                ('\\', _) => {
                    statement.push(c);
                    statement.extend(characters.next());
                }
                ('#', None) if before.is_whitespace() || before == ';' => break,
                (';' | '|' | '&', None) if depth == 0 => {
                    found.push((first, std::mem::take(&mut statement)));
                    (added, first) = (0, number);
                }
                ('(', None) => {
                    depth += 1;
                    statement.push(c);
                }
                (')', None) => {
                    depth -= 1;
                    statement.push(c);
                }
                ('"' | '\'', None) => {
                    quote = Some(c);
                    statement.push(c);
                }
                (c, Some(open)) if c == open => {
                    quote = None;
                    statement.push(c);
                }
                _ => statement.push(c),
            }
            before = c;
        }
        document = quote.is_none().then(|| heredoc(&statement[added..])).flatten();
        if continued || quote.is_some() || depth > 0 {
            statement.push(' ');
        } else {
            depth = 0;
            found.push((first, std::mem::take(&mut statement)));
        }
    }
    found.push((first, statement));
    found.retain(|(_, statement)| !statement.trim().is_empty());
    found
}

/// The word that ends a here-document that starts here: `cat <<EOF > file`.
fn heredoc(statement: &str) -> Option<String> {
    let (_, rest) = statement.split_once("<<")?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?;
    let word = word.trim_matches(['"', '\'']);
    (!word.starts_with('<') && !word.is_empty()).then(|| word.to_owned())
}

/// Variables that the script has set so far.
#[derive(Debug)]
struct Shell {
    values: BTreeMap<String, String>,
    /// Bytes of values that may still be expanded.
    left: Cell<usize>,
}

/// Marks closing signs that do not occur in the rest of a text, so that nobody searches for them again.
#[derive(Debug, Default)]
struct Unclosed {
    sum: bool,
    parameter: bool,
}

/// The text before a closing sign, and after it; `None` if there is none left.
fn closed<'a>(text: &'a str, sign: &str, unclosed: &mut bool) -> Option<(&'a str, &'a str)> {
    let found = if *unclosed { None } else { text.split_once(sign) };
    *unclosed = found.is_none();
    found
}

/// Stands for a blank inside quotes until words are split.
const HELD: char = '\u{1f}';

/// A script's own arguments.
const GIVEN: [&str; 4] = ["$@", "$*", "${@}", "${*}"];

impl Default for Shell {
    fn default() -> Self {
        Self { values: BTreeMap::new(), left: Cell::new(MOST_BYTES) }
    }
}

impl Shell {
    /// Stores an assignment, or returns the words of a command.
    fn execute(&mut self, statement: &str) -> Option<Vec<String>> {
        let mut rest = statement.trim_start();
        for head in ["export ", "local ", "readonly ", "declare ", "then ", "else ", "do "] {
            rest = rest.strip_prefix(head).unwrap_or(rest).trim_start();
        }
        let mut assigned = false;
        while let Some((name, appends, value, after)) = assignment(rest) {
            let mut value = self.expanded(list(value));
            if appends {
                value = format!("{} {value}", self.values.get(name).map_or("", String::as_str));
            }
            if self.spend(value.len()) {
                self.values.insert(name.to_owned(), value);
            }
            assigned = true;
            rest = after.trim_start();
        }
        let words = self.words(rest);
        (!(words.is_empty() || assigned && words.len() < 2)).then_some(words)
    }

    /// True if this many bytes of values are within bounds; counts them.
    fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(self.left.get()));
        left.is_some()
    }

    /// The value of a variable, if it is set and within bounds.
    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| self.spend(value.len()))
    }

    /// The words of a text, with variables expanded. Quotes keep together only what follows `=` in a word, which is all
    /// that arguments need. A script's own arguments are unknown, and mostly empty.
    fn words(&self, text: &str) -> Vec<String> {
        let expanded = self.expanded(text);
        let words = expanded.split_whitespace().filter(|word| !GIVEN.contains(word));
        words.map(|word| word.replace(HELD, " ")).collect()
    }

    /// The text without quotes, its variables expanded once: their values were expanded when set.
    fn expanded(&self, text: &str) -> String {
        let mut found = String::new();
        let mut rest = text;
        let mut single = false;
        // Start of a quoted value, and whether double quotes are open.
        let (mut held, mut double) = (None, false);
        let mut unclosed = Unclosed::default();
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = match c {
                '\'' if double => after,
                '\'' | '"' if c == '\'' || !single => {
                    let open = if c == '"' { &mut double } else { &mut single };
                    *open = !*open;
                    if *open {
                        held = found.ends_with('=').then_some(found.len());
                    } else if let Some(begin) = held.take() {
                        let value = found.split_off(begin);
                        found.extend(value.chars().map(|c| if c.is_whitespace() { HELD } else { c }));
                    }
                    after
                }
                '$' if !single => {
                    let (value, after) = self.variable(after, &mut unclosed);
                    found.push_str(&value);
                    after
                }
                _ => {
                    found.push(c);
                    after
                }
            };
        }
        found
    }

    /// The value after a `$`, and the text after it.
    fn variable<'a>(&self, text: &'a str, unclosed: &mut Unclosed) -> (String, &'a str) {
        if let Some((sum, after)) = text.strip_prefix("((").and_then(|rest| closed(rest, "))", &mut unclosed.sum)) {
            let value = self.arithmetic(sum).map_or_else(|| format!("$(({sum}))"), |value| value.to_string());
            return (value, after);
        }
        if let Some((inside, after)) =
            text.strip_prefix('{').and_then(|rest| closed(rest, "}", &mut unclosed.parameter))
        {
            return (self.parameter(inside), after);
        }
        if text.starts_with('(') {
            let end = closing(text);
            let sum =
                text[..end].trim_matches(['(', ')']).trim().strip_prefix("expr ").and_then(|sum| self.arithmetic(sum));
            if let Some(sum) = sum {
                return (sum.to_string(), &text[end..]);
            }
            // Another command's output is unknown: it is kept as written, without spaces.
            return (format!("${}", text[..end].replace(char::is_whitespace, "")), &text[end..]);
        }
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (name, after) = text.split_at(end);
        (self.value(name).map_or_else(|| format!("${name}"), str::to_owned), after)
    }

    /// `NAME`, `NAME[@]`, `NAME:-default` or `NAME//part/other`.
    fn parameter(&self, inside: &str) -> String {
        let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inside.len());
        let (name, operator) = inside.split_at(end);
        let value = self.value(name);
        let unknown = || format!("${{{inside}}}");
        match operator {
            "" | "[@]" | "[*]" => value.map_or_else(unknown, str::to_owned),
            _ => {
                let default = [":-", ":=", "-"].into_iter().find_map(|sign| operator.strip_prefix(sign));
                if let Some(default) = default {
                    return value.map_or_else(|| self.expanded(default), str::to_owned);
                }
                let replaced = operator.strip_prefix("//").zip(value);
                replaced.map_or_else(unknown, |(parts, value)| match parts.split_once('/') {
                    Some((part, other)) if !part.is_empty() => {
                        let fits = self.spend(value.matches(part).count().saturating_mul(other.len()));
                        if fits { value.replace(part, other) } else { unknown() }
                    }
                    None if !parts.is_empty() => value.replace(parts, ""),
                    _ => value.to_owned(),
                })
            }
        }
    }

    /// Sums, products and quotients of integers and variables.
    fn arithmetic(&self, text: &str) -> Option<i64> {
        let text = self.expanded(text);
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut rest = text.as_str();
        let mut terms: Vec<i64> = Vec::new();
        let mut sign = '+';
        loop {
            let end = rest.find(['+', '-', '*', '/', '%']).unwrap_or(rest.len());
            let (operand, after) = rest.split_at(end);
            let operand = operand.trim_matches(['(', ')']);
            let value: i64 = match operand.parse() {
                Ok(value) => value,
                Err(_) => self.values.get(operand)?.trim().parse().ok()?,
            };
            match sign {
                '+' => terms.push(value),
                '-' => terms.push(value.checked_neg()?),
                '*' => terms.last_mut().map(|last| last.checked_mul(value).map(|product| *last = product))??,
                '/' => terms.last_mut().map(|last| last.checked_div(value).map(|quotient| *last = quotient))??,
                _ => terms.last_mut().map(|last| last.checked_rem(value).map(|rest| *last = rest))??,
            }
            let Some(next) = after.chars().next() else { break };
            sign = next;
            rest = &after[1..];
        }
        terms.into_iter().try_fold(0_i64, i64::checked_add)
    }
}

/// The inside of `(a b)`, or the value as it is.
fn list(value: &str) -> &str {
    value.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).unwrap_or(value)
}

/// The end of the bracket at the start of a text.
fn closing(text: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// `NAME=value` or `NAME+=value` at the start of a statement: name, true if it appends, value, and the rest.
fn assignment(text: &str) -> Option<(&str, bool, &str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (name, rest) = text.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (appends, value) = match rest.strip_prefix("+=") {
        Some(value) => (true, value),
        None => (false, rest.strip_prefix('=')?),
    };
    let mut quote = None;
    let mut depth = 0_i32;
    let end = value.char_indices().find(|(_, c)| {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(*c),
            (c, Some(open)) if *c == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) => depth -= 1,
            _ => {}
        }
        c.is_whitespace() && quote.is_none() && depth <= 0
    });
    let (value, after) = value.split_at(end.map_or(value.len(), |(at, _)| at));
    Some((name, appends, value, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines on which commands begin, and their words: what is redirected is no word.
    #[test]
    fn commands_have_lines_and_words() {
        let script =
            "N=2 # nodes\nif true; then\n  run a \\\n    --n $N > log.txt 2>&1\nfi; other '<|user|>' | tee log\n";
        let script = ShellScript::read(script);
        let commands: Vec<(usize, String)> =
            script.commands.iter().map(|command| (command.line, command.words.join(" "))).collect();
        let has = |line: usize, words: &str| commands.contains(&(line, words.to_owned()));
        assert!(has(3, "run a --n 2"), "{commands:?}");
        assert!(has(5, "other <|user|>"), "{commands:?}");
    }

    /// Quotes behind `=` hold a value together, in a list too; those around options do not. `$@` is nothing that is known.
    #[test]
    fn quotes_hold_the_value_of_a_word_together() {
        let script =
            "X=7\nA=(a.b=\"uv run --x $X\" c=d)\nO=\"--one 1 --two 2\"\nrun \"${A[@]}\" $O --say='it is' \"$@\"\n";
        let script = ShellScript::read(script);
        let words: Vec<&str> = script.commands.last().expect("a command").words.iter().map(String::as_str).collect();
        assert_eq!(words, ["run", "a.b=uv run --x 7", "c=d", "--one", "1", "--two", "2", "--say=it is"]);
    }
}
