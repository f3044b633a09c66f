//! Code for a shell: scripts, and command lines to be typed. Foreign text gets in as a quoted word or a comment and in no
//! other way, so that it never becomes code. Not for reading what others typed.

use std::fmt::Display;

use shlex::try_quote;

use shardscope_engine::text::{comment, is_hidden, printable};

/// Code for bash that grows from left to right.
#[derive(Debug, Clone, Default)]
pub struct ShellCode {
    text: String,
    refused: Option<String>,
}

impl ShellCode {
    /// Code of our own, as it stands.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.text.push_str(code);
        self
    }

    /// One word, quoted where a shell would read anything else; a word with characters that nobody sees is refused.
    #[must_use]
    pub fn word(mut self, text: impl Display) -> Self {
        let text = text.to_string();
        match try_quote(&text) {
            // Words like `nodes=1,2` are easier to read without quotes, and mean the same to every shell.
            _ if is_bare(&text) => self.text.push_str(&text),
            Ok(word) if !text.contains(is_hidden) => self.text.push_str(&word),
            _ => self.refuse("an argument that holds control characters or line breaks", &text),
        }
        self
    }

    /// An option and its value, behind a blank: ` --nodes 2`.
    #[must_use]
    pub fn option(self, name: impl Display, value: impl Display) -> Self {
        let (named, value) = (self.switch(name), value.to_string());
        // Behind a blank it would be an option itself.
        let between = if value.starts_with('-') { "=" } else { " " };
        named.code(between).word(value)
    }

    /// An option without a value, behind a blank: ` --tune`.
    #[must_use]
    pub fn switch(self, name: impl Display) -> Self {
        self.code(" ").word(format!("--{name}"))
    }

    /// Lines of comments, each one line whatever is in it.
    #[must_use]
    pub fn comments(mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.text.extend(lines.into_iter().map(|line| comment(line.as_ref())));
        self
    }

    /// A line for Slurm: an option and a value that no reader takes for more; another one is refused.
    #[must_use]
    pub fn sbatch(mut self, option: &'static str, value: impl Display) -> Self {
        let value = value.to_string();
        if !value.chars().all(|c| is_plain(c) || matches!(c, ':' | '%')) {
            self.refuse(
                "an option of a job that is more than letters, digits, '_', '-', '.', ',', ':' and '%'",
                &value,
            );
        }
        let mut line = self.code("#SBATCH --").code(option).code("=");
        line.text += &value;
        line.code("\n")
    }

    fn refuse(&mut self, what: &str, text: &str) {
        self.refused.get_or_insert_with(|| printable(&format!("'{text}' is {what}")));
    }

    /// The code: a line to be typed, or the text of a script.
    pub fn line(self) -> Result<String, String> {
        self.refused.map_or(Ok(self.text), Err)
    }
}

fn is_bare(word: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphanumeric() || c == '-';
    word.starts_with(begins) && word.chars().all(|c| is_plain(c) || matches!(c, '=' | '%'))
}

/// Whether a character means nothing but itself to a shell and to Slurm.
pub const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_again_as_they_were() {
        let hostile =
            ["", "two words", "it's", "\"", "$(touch x)", "`touch x`", "a;b", "#c", "~", "!!", "\\", "*", "=x"];
        let line = hostile.iter().fold(ShellCode::default().code("run"), |line, word| line.code(" ").word(word));
        let read = shlex::split(&line.line().unwrap()).unwrap();
        assert_eq!(read[1..], hostile);
    }

    #[test]
    fn what_needs_no_quotes_has_none() {
        let line = ShellCode::default().code("run").option("x", "nodes=1,2").option("margin", "5%").option("d", "3 d");
        assert_eq!(line.line().unwrap(), "run --x nodes=1,2 --margin 5% --d '3 d'");
    }

    #[test]
    fn a_value_that_looks_like_an_option_stays_a_value() {
        let line = ShellCode::default().code("run").option("level", "--help").option("nodes", 2).switch("tune");
        assert_eq!(line.line().unwrap(), "run --level=--help --nodes 2 --tune");
    }

    #[test]
    fn comments_are_one_line_and_hidden_words_are_refused() {
        let script = ShellCode::default().comments(["a\nb\rc\u{85}d\u{2028}e\u{b}f"]).code("run\n").line().unwrap();
        assert_eq!(script, "# a b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\nrun\n");
        for hidden in ["a\nb", "a\0", "\u{202e}"] {
            assert!(ShellCode::default().word(hidden).line().is_err(), "{hidden:?}");
            assert!(ShellCode::default().sbatch("account", hidden).line().is_err(), "{hidden:?}");
        }
        assert!(ShellCode::default().sbatch("account", "a b").line().is_err());
        assert_eq!(ShellCode::default().sbatch("array", "0-6%3").line().unwrap(), "#SBATCH --array=0-6%3\n");
    }
}
