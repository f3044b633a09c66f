//! The arguments of a shell script's command: continuation lines joined, variables that the script sets put in.
//!
//! Reads what scripts of runs are made of: assignments, arrays, arithmetic, defaults. Nothing is run. A variable that is
//! not set in the file stays in the text as it is written, and is refused where it would matter.

use std::path::Path;

use std::cell::Cell;
use std::collections::BTreeMap;

use super::fine_tuners;
use super::launcher::{self, LaunchCommand};
use super::settings::ToolSettings;

/// The most that values of variables may come to in all, each time one is put in: they may hold one another.
const MOST_BYTES: usize = 1 << 22;

/// Flags by which a program is known, written with hyphens or with underscores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownFlags {
    /// Those that no other program has: one is enough.
    pub own: &'static [&'static str],
    /// Those that others have too: it takes two.
    pub shared: &'static [&'static str],
}

impl KnownFlags {
    fn all(self) -> impl Iterator<Item = &'static str> {
        self.own.iter().chain(self.shared).copied()
    }

    /// Whether options are those of a program that is known by these.
    pub fn know(self, options: &ToolSettings) -> bool {
        let there = |name: &&&str| options.has(name);
        self.own.iter().any(|name| there(&name)) || self.shared.iter().filter(there).count() >= 2
    }

    fn has(self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or_default().replace('-', "_");
        self.all().any(|known| known == name.trim_start_matches('_') && word.starts_with("--"))
    }
}

/// Whether a text runs the program that is known by these flags.
pub fn runs(known: KnownFlags, text: &str) -> bool {
    let text = text.replace('-', "_");
    let there = |name: &&&str| text.contains(&format!("__{name}"));
    known.own.iter().any(|name| there(&name)) || known.shared.iter().filter(there).count() >= 2
}

/// The arguments that it runs it with.
pub fn arguments(known: KnownFlags, file: &str, text: &str) -> Option<ToolSettings> {
    let mut shell = Shell::default();
    let is_known = |words: &Vec<String>| {
        words.iter().any(|word| known.has(word)) || fine_tuners::start(words.iter().map(String::as_str)).is_some()
    };
    let (mut run, mut printed) = (None, None);
    for words in statements(text).iter().filter_map(|statement| shell.execute(statement)).filter(is_known) {
        let last = if words.first().is_some_and(|word| word == "echo") { &mut printed } else { &mut run };
        *last = Some(words);
    }
    // What is only printed counts where nothing is run: `echo $CMD`. A script that is sourced only sets the arguments.
    let words = run.or(printed).map_or_else(|| shell.lists(), |words| vec![words]);
    let mut settings = settings(file, &words);
    let words = words.concat();
    fine_tuners::note_start(&mut settings, &words);
    if settings.is_empty() {
        return None;
    }
    // `CUDA_VISIBLE_DEVICES=0,1 torchrun ...` sets it for the command.
    let launch = LaunchCommand { words: &words, text, variables: &shell.values };
    launcher::count_devices(&mut settings, &launch);
    launcher::count_threads(&mut settings, &launch);
    Some(settings)
}

/// The options of a launcher that is started by some words (`accelerate launch`), and those of the program that it starts,
/// which begins at a file of Python or at a module; nothing where a script does not run it.
pub fn launched(launcher: &[&str], file: &str, text: &str) -> Option<[ToolSettings; 2]> {
    let mut shell = Shell::default();
    let behind = |words: Vec<String>| {
        let at = words.windows(launcher.len()).position(|some| some.iter().eq(launcher))?;
        Some((words, at + launcher.len()))
    };
    let commands = statements(text).into_iter().filter_map(|statement| behind(shell.execute(&statement)?));
    let (words, begin) = commands.last()?;
    let is_module = |word: &String| word == "-m" || word == "--module";
    let behind = &words[begin..];
    let start = behind.iter().position(|word| is_module(word) || is_python(word)).unwrap_or(behind.len());
    let (options, program) = behind.split_at(start);
    let [mut options, program] = [options, program].map(|words| settings(file, &[words.to_vec()]));
    let launch = LaunchCommand { words: &words, text, variables: &shell.values };
    launcher::count_devices(&mut options, &launch);
    launcher::count_threads(&mut options, &launch);
    Some([options, program])
}

/// Whether a word is a file of Python.
fn is_python(word: &str) -> bool {
    Path::new(word).extension() == Some("py".as_ref())
}

/// `--name value`, `--name=value` and `--name` among the words of some lists.
fn settings(file: &str, lists: &[Vec<String>]) -> ToolSettings {
    let mut settings = ToolSettings::new(file);
    for words in lists {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(named) = word.strip_prefix("--").filter(|name| !name.is_empty()) else { continue };
            let (name, mut value) = match named.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (named, String::new()),
            };
            if value.is_empty() {
                // A file of Python behind a value is the program: `--num_gpus 8 train.py`.
                let follows = |word: &String, first: bool| !word.starts_with("--") && (first || !is_python(word));
                while let Some(word) = words.next_if(|word| follows(word, value.is_empty())) {
                    value.push_str(if value.is_empty() { "" } else { " " });
                    value.push_str(word);
                }
            }
            let value = if value.is_empty() { "true" } else { &value };
            settings.put(&name.replace('-', "_"), value, &format!("--{name}"));
        }
    }
    settings
}

/// The statements of a script: continued lines joined, comments and documents for other programs left out.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    let mut document: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut depth = 0_i32;
    for line in text.lines() {
        if let Some(end) = &document {
            if line.trim() == end {
                document = None;
            }
            continue;
        }
        // Quotes and brackets reach over lines, and nothing inside them ends a statement: `ARGS=(` ... `)`.
        let mut before = ' ';
        let mut continued = false;
        // What this line adds: a document that an earlier line began is over.
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
                    found.push(std::mem::take(&mut statement));
                    added = 0;
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
            found.push(std::mem::take(&mut statement));
        }
    }
    found.push(statement);
    found.retain(|statement| !statement.trim().is_empty());
    found
}

/// The word that ends a document which begins here: `cat <<EOF > file`.
fn heredoc(statement: &str) -> Option<String> {
    let (_, rest) = statement.split_once("<<")?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?;
    let word = word.trim_matches(['"', '\'']);
    (!word.starts_with('<') && !word.is_empty()).then(|| word.to_owned())
}

/// What a script has set so far.
#[derive(Debug)]
struct Shell {
    values: BTreeMap<String, String>,
    /// What values may still come to.
    left: Cell<usize>,
}

/// Signs that close what a `$` opens, and whether none is left in a text: whoever looked for one to its end need not look
/// again.
#[derive(Debug, Default)]
struct Unclosed {
    sum: bool,
    parameter: bool,
}

/// What stands before the sign that closes it, and what follows; nothing where none is left.
fn closed<'a>(text: &'a str, sign: &str, unclosed: &mut bool) -> Option<(&'a str, &'a str)> {
    let found = if *unclosed { None } else { text.split_once(sign) };
    *unclosed = found.is_none();
    found
}

impl Default for Shell {
    fn default() -> Self {
        Self { values: BTreeMap::new(), left: Cell::new(MOST_BYTES) }
    }
}

impl Shell {
    /// Takes an assignment in, or gives the words of a command.
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

    /// Whether so much more of values is within bounds.
    fn spend(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(self.left.get()));
        left.is_some()
    }

    /// The value of a variable, if it is set and there is room for it.
    fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| self.spend(value.len()))
    }

    /// The words of a text, with variables put in; quotes hold nothing together that an argument would need.
    fn words(&self, text: &str) -> Vec<String> {
        self.expanded(text).split_whitespace().map(str::to_owned).collect()
    }

    /// The words of each value that is set.
    fn lists(&self) -> Vec<Vec<String>> {
        self.values.values().map(|value| value.split_whitespace().map(str::to_owned).collect()).collect()
    }

    /// The text without quotes, its variables put in once: what they hold was expanded when they were set.
    fn expanded(&self, text: &str) -> String {
        let mut found = String::new();
        let mut rest = text;
        let mut single = false;
        let mut unclosed = Unclosed::default();
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = match c {
                '\'' => {
                    single = !single;
                    after
                }
                '"' if !single => after,
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

    /// What stands behind a `$`, and the text after it.
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
            // A command's output is not known: it stays as it is written, without its spaces.
            let end = closing(text);
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

    /// Sums and products of whole numbers and variables.
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

/// What stands in the brackets of `(a b)`, or the value as it is.
fn list(value: &str) -> &str {
    value.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).unwrap_or(value)
}

/// Where the bracket that a text begins with closes.
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

/// `NAME=value` or `NAME+=value` at the start of a statement: name, whether it appends, value, and what follows.
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

    const KNOWN: KnownFlags = KnownFlags { own: &[], shared: &["num_layers", "hidden_size", "micro_batch_size"] };

    fn text(script: &str, name: &str) -> Option<String> {
        arguments(KNOWN, "run.sh", script).and_then(|settings| settings.text(name).map(str::to_owned))
    }

    #[test]
    fn variables_of_the_file_are_put_in_and_others_stay() {
        let script = "N=32 # layers\nH=$((2 * 2048))\nFFN=$((4*H))\nSTEPS=1_000\nSTEPS=${STEPS//_}\n\
                      ARGS=\" \\\n  --num-layers $N \\\n  --hidden-size ${H} \\\n --ffn-hidden-size $FFN \\\n \"\n\
                      MORE=(--bf16 --train-iters $STEPS)\nMORE+=(--seed ${SEED:-7})\n\
                      echo $ARGS --num-layers 1\ncat <<EOF > x\n--num-layers 9\nEOF\n\
                      srun torchrun train.py $ARGS \"${MORE[@]}\" --micro-batch-size=$MBS --load $(pwd) # end\n";
        let of = |name| text(script, name);
        assert_eq!(of("num_layers").as_deref(), Some("32"));
        assert_eq!((of("hidden_size").as_deref(), of("ffn_hidden_size").as_deref()), (Some("4096"), Some("16384")));
        assert_eq!((of("bf16").as_deref(), of("train_iters").as_deref()), (Some("true"), Some("1000")));
        assert_eq!((of("seed").as_deref(), of("micro_batch_size").as_deref()), (Some("7"), Some("$MBS")));
        assert_eq!(of("load").as_deref(), Some("$(pwd)"));
    }

    #[test]
    fn devices_are_the_launchers_or_those_that_slurm_is_asked_for() {
        let run = "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 2 --hidden-size 64\n";
        assert_eq!(text(run, "world_size").as_deref(), Some("32"));
        let slurm = "#SBATCH --nodes=8\n#SBATCH --gpus-per-node=mi250:8\nx --num-layers 2 --hidden-size 64\n";
        assert_eq!(text(slurm, "world_size").as_deref(), Some("64"));
        assert_eq!(text("x --num-layers 2 --hidden-size 64\n", "world_size"), None);
    }
}
