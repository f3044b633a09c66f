//! Reads `name ....... value`: Megatron-LM's arguments and DeepSpeed's configuration at the head of a log.
//!
//! Does not interpret arguments.

use std::collections::BTreeMap;

use super::lines::LogLine;

/// Values by name, each with its line number.
#[derive(Debug, Default)]
pub struct Arguments<'a>(BTreeMap<&'a str, (&'a str, usize)>);

/// What Python prints for an option that is not set, and numbers without effect.
const UNSET: [&str; 7] = ["", "None", "False", "0", "1", "[]", "[1]"];

impl<'a> Arguments<'a> {
    /// Megatron-LM's arguments: a block between two rules. In a log of several runs, the last block counts.
    pub(crate) fn of_megatron(lines: &[LogLine<'a>]) -> Self {
        let Some(start) = lines.iter().rposition(|line| line.text.contains("- arguments --")) else {
            return Self::default();
        };
        let block = lines[start + 1..].iter().take_while(|line| !line.text.contains("end of arguments --"));
        // Other ranks may write within the block.
        Self(block.filter(|line| !line.text.contains("[INFO]")).filter_map(entry).collect())
    }

    /// DeepSpeed's configuration; the last one printed counts.
    pub(crate) fn of_deepspeed(lines: &[LogLine<'a>]) -> Self {
        Self(lines.iter().filter(|line| line.text.contains("[config.py:")).filter_map(entry).collect())
    }

    /// True if nothing was printed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All arguments: name, value and line number.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &'a str, usize)> {
        self.0.iter().map(|(name, (value, line))| (*name, *value, *line))
    }

    /// A value as printed, and its line number.
    pub fn get(&self, name: &str) -> Option<(&'a str, usize)> {
        self.0.get(name).copied()
    }

    /// A value as printed; empty if there is none.
    pub fn text(&self, name: &str) -> &'a str {
        self.get(name).map_or("", |(value, _)| value)
    }

    /// True if an option is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.text(name) == "True"
    }

    /// True if an option is set to a value with an effect.
    pub fn is_set(&self, name: &str) -> bool {
        !UNSET.contains(&self.text(name))
    }

    /// A positive integer.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok().filter(|count| *count > 0)
    }
}

/// `  0:   hidden_size ....... 4096` is `hidden_size`, 4096; DeepSpeed leaves out the dots after a long name.
fn entry<'a>(line: &LogLine<'a>) -> Option<(&'a str, (&'a str, usize))> {
    let LogLine { number, text } = *line;
    let (name, value) = match text.split_once(" ..") {
        Some((before, after)) => (before.split_whitespace().last()?, after.trim_start_matches('.')),
        None => text.split_once("print] ")?.1.trim().split_once("  ")?,
    };
    Some((name, (value.trim(), number as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_block_counts_and_prefixes_are_left_out() {
        let lines = [
            "---- arguments ----",
            "  hidden_size .... 1",
            "---- end of arguments ----",
            "  0: ---- arguments ----",
            "  0:   hidden_size ......... 4096",
            "[x] [INFO] [config.py:9:print]   world_size ... 1",
            "  0:   load ..... my model.pt",
            "  0: ---- end of arguments ----",
            "  0:   world_size .... 7",
        ];
        let text = lines.join("\n");
        let arguments = Arguments::of_megatron(&LogLine::all(&text));
        assert_eq!(arguments.get("hidden_size"), Some(("4096", 5)));
        assert_eq!((arguments.text("load"), arguments.text("world_size")), ("my model.pt", ""));
        let text = ["[INFO] [config.py:752:print]   train_micro_batch_size_per_gpu  8", lines[5]].join("\n");
        let printed = Arguments::of_deepspeed(&LogLine::all(&text));
        assert_eq!(printed.count("train_micro_batch_size_per_gpu"), Some(8));
        assert_eq!(printed.count("world_size"), Some(1));
    }
}
