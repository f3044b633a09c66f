//! A command's words as a program reads them: options, or assignments.
//!
//! [`super::commands`] finds the program; the tools' modules interpret options.

use std::path::Path;

use super::settings::ToolSettings;

/// The setting with the file of a program's other settings.
pub(super) const CONFIG: &str = "config";

/// Prefix of torchtitan's subcommands, which are no option's value.
pub(super) const SUBCOMMAND: &str = "activation-checkpoint:";

/// Flags by which a program is recognised, written with hyphens or underscores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownFlags {
    /// Flags of this program alone: one is enough.
    pub own: &'static [&'static str],
    /// Flags that other programs have too: two are needed.
    pub shared: &'static [&'static str],
}

impl KnownFlags {
    /// True if the options are those of this program.
    pub fn know(self, options: &ToolSettings) -> bool {
        self.fit(|name| options.has(name))
    }

    /// True if enough of the flags are present.
    pub fn fit(self, is_there: impl Fn(&str) -> bool) -> bool {
        self.own.iter().any(|name| is_there(name)) || self.shared.iter().filter(|name| is_there(name)).count() >= 2
    }

    /// True if any flag is present.
    pub fn has_any(self, options: &ToolSettings) -> bool {
        self.own.iter().chain(self.shared).any(|name| options.has(name))
    }
}

/// How a program reads its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordGrammar {
    /// `--name value` and `--name=value`, as argparse, click and tyro do.
    Options,
    /// `name=value` and `~name`, as `OmegaConf` and Hydra do.
    Assignments,
}

/// The index after a sequence of words.
pub(super) fn position(words: &[String], wanted: &[&str]) -> Option<usize> {
    words.windows(wanted.len()).position(|some| some.iter().eq(wanted)).map(|at| at + wanted.len())
}

/// True if a word is a Python file.
pub(super) fn is_python(word: &str) -> bool {
    Path::new(word).extension() == Some("py".as_ref())
}

/// True if a word is a settings file.
pub(super) fn is_settings_file(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["yaml", "yml", "json", "toml"].contains(&ending))
}

/// The name and the value of `name=value`.
pub(super) fn assigned(word: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    word.split_once('=').filter(|(name, _)| is_name(name))
}

/// A reader of a program's words.
pub(super) struct ProgramWords<'a> {
    /// The program's name: a Python file or module, or a command that takes a file. Empty for a launcher, whose stray
    /// words say nothing of a plan.
    pub program: &'a str,
    /// The form of the program's arguments.
    pub grammar: WordGrammar,
}

impl ProgramWords<'_> {
    /// The reader of launchers' words.
    pub fn of_launcher() -> Self {
        Self { program: "", grammar: WordGrammar::Options }
    }

    /// Adds the words' settings.
    pub fn read(&self, words: &[String], mut settings: ToolSettings) -> ToolSettings {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if let Some(name) = option(word) {
                let (name, mut value) = match name.split_once('=') {
                    Some((name, value)) => (name, value.to_owned()),
                    None => (name, String::new()),
                };
                if value.is_empty() {
                    while let Some(word) = words.next_if(|word| is_value(word, value.is_empty())) {
                        value.push_str(if value.is_empty() { "" } else { " " });
                        value.push_str(word);
                    }
                }
                let value = if value.is_empty() { "true" } else { &value };
                if self.grammar == WordGrammar::Options || name == CONFIG {
                    settings.put(&name.replace('-', "_"), value, &format!("--{name}"));
                } else {
                    self.leave(&format!("--{name} {value}"), &mut settings);
                }
                continue;
            }
            match (self.grammar, assigned(word)) {
                (WordGrammar::Assignments, Some((name, value))) => {
                    // A list may contain blanks: `[q_proj, v_proj]`.
                    let mut value = value.to_owned();
                    while value.matches('[').count() > value.matches(']').count()
                        && let Some(more) = words.next()
                    {
                        value = format!("{value} {more}");
                    }
                    settings.assign(name, &value);
                }
                (WordGrammar::Assignments, None) if word.starts_with('~') => settings.remove(&word[1..]),
                _ if self.program.is_empty() || is_python(word) && !self.takes_file() => {}
                _ if !settings.has(CONFIG) && (is_settings_file(word) || self.takes_file()) => {
                    settings.put(CONFIG, word, self.program);
                }
                _ => self.leave(word, &mut settings),
            }
        }
        settings
    }

    /// True if the first word is the program's file, of any type: XTuner's is a Python file.
    fn takes_file(&self) -> bool {
        self.program.contains(' ')
    }

    /// Keeps words that are not understood.
    fn leave(&self, words: &str, settings: &mut ToolSettings) {
        let read = match self.grammar {
            WordGrammar::Options => "--name value",
            WordGrammar::Assignments => "name=value",
        };
        settings.put(words, "", &format!("{words}, where {} reads {read}", self.program));
    }
}

/// The name of an option, with what may follow it: `--name`, `--name=value`.
pub(super) fn option(word: &str) -> Option<&str> {
    word.strip_prefix("--").filter(|name| !name.is_empty())
}

/// True if a word belongs to the option before it, as the first or a further part of its value.
fn is_value(word: &str, first: bool) -> bool {
    let is_short = word.strip_prefix('-').is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    // A Python file after a value is the program: `--num_gpus 8 train.py`. Nor is a script's own `"$@"` a value.
    let is_own = || is_python(word) || assigned(word).is_some() || word.starts_with("$@") || word.starts_with("${@");
    let is_subcommand = word.starts_with(SUBCOMMAND);
    option(word).is_none() && !is_short && !is_subcommand && (first || !is_own())
}
