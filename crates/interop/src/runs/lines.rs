//! Reads the step lines of training programs, after any prefix. Does not evaluate them.

use std::borrow::Cow;

/// The speed of a run, in the unit that its program prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// Seconds per optimizer step.
    Seconds(f64),
    /// Sequences per second, over all ranks.
    Samples(f64),
    /// Tokens per second and device.
    TokensPerDevice(f64),
}

impl Pace {
    /// The bare number; medians are taken within one program.
    pub const fn amount(self) -> f64 {
        match self {
            Self::Seconds(amount) | Self::Samples(amount) | Self::TokensPerDevice(amount) => amount,
        }
    }

    /// Another number in the same unit.
    pub const fn with(self, amount: f64) -> Self {
        match self {
            Self::Seconds(_) => Self::Seconds(amount),
            Self::Samples(_) => Self::Samples(amount),
            Self::TokensPerDevice(_) => Self::TokensPerDevice(amount),
        }
    }
}

/// A line on one step, or on the mean of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepLine {
    /// Line number in the file.
    pub line: usize,
    /// Step number; ranks that print the same step count once.
    pub step: u64,
    /// Speed of the step.
    pub pace: Pace,
    /// Sequences in the step, if the line says so.
    pub batch: Option<u64>,
    /// True if the loss scaler skipped steps.
    pub skipped: bool,
}

/// ` iteration  10/ 1000 | elapsed time per iteration (ms): 5837.9 | global batch size: 4 | ...`; older builds of
/// `BigScience` and LUMI print (s).
pub fn megatron(number: usize, line: &str) -> Option<StepLine> {
    let step = digits(after(line, "iteration ")?)?;
    let seconds = match (after(line, "iteration (ms):"), after(line, "iteration (s):")) {
        (Some(text), _) => decimal(text)? / 1e3,
        (None, text) => decimal(text?)?,
    };
    Some(StepLine {
        line: number,
        step,
        pace: Pace::Seconds(seconds),
        batch: after(line, "global batch size:").and_then(digits),
        skipped: after(line, "skipped iterations:").and_then(digits).is_some_and(|skipped| skipped > 0),
    })
}

/// `step: 1990  loss:  3.4370  memory: 68.57GiB(86.69%)  tps: 6,785  mfu: 39.73%`, once per rank; `wps` in 2024.
pub fn torchtitan(number: usize, line: &str) -> Option<StepLine> {
    let (step, rate) = (digits(after(line, "step: ")?)?, decimal(rate_of_torchtitan(line)?)?);
    Some(StepLine { line: number, step, pace: Pace::TokensPerDevice(rate), batch: None, skipped: false })
}

fn rate_of_torchtitan(line: &str) -> Option<&str> {
    after(line, "tps: ").or_else(|| after(line, "wps: "))
}

/// `epoch=0/micro_step=3/global_step=3, RunningAvgSamplesPerSec=R, CurrSamplesPerSec=C, ...`.
pub fn deepspeed(number: usize, line: &str) -> Option<StepLine> {
    let (step, rate) = (digits(after(line, "global_step=")?)?, decimal(after(line, "CurrSamplesPerSec=")?)?);
    Some(StepLine { line: number, step, pace: Pace::Samples(rate), batch: None, skipped: false })
}

/// `{'train_runtime': 273.01, 'train_samples_per_second': 3.663, ...}` at the end of a run, once per rank.
pub fn trainer(number: usize, line: &str) -> Option<StepLine> {
    after(line, "'train_runtime':")?;
    // Version 5 prints numbers between quotation marks.
    let rate = decimal(after(line, "'train_samples_per_second':")?.trim_start_matches('\''))?;
    Some(StepLine { line: number, step: 0, pace: Pace::Samples(rate), batch: None, skipped: false })
}

/// Reads an unfinished run from the bar of its `total` steps: `  0%|   | 3/4500 [01:04<26:40:10, 21.35s/it]`.
///
/// Bars print whole seconds, so the speed is that from the bar after `skip` others to the last one.
pub fn trainer_bar(lines: &[LogLine<'_>], total: Option<u64>, skip: usize) -> Option<StepLine> {
    let bar = |line: &LogLine<'_>, part: &str| {
        // Bars of other things, such as files being read, have a name in front.
        let (before, bar) = part.split_once("%|")?;
        let is_named = before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end().ends_with(':');
        let (step, rest) = bar.split_once('|')?.1.trim_start().split_once('/')?;
        let (all, rest) = rest.split_once(" [")?;
        let in_steps = part.contains("it/s") || part.contains("s/it");
        let all: u64 = all.parse().ok()?;
        let counts = in_steps && total.map_or(!is_named, |total| total == all);
        let seen = (step.parse::<u64>().ok()?, clock(rest.split('<').next()?)?, line.number);
        counts.then_some(seen)
    };
    let mut bars: Vec<(u64, u64, u32)> =
        lines.iter().flat_map(|line| line.text.split('\r').filter_map(move |part| bar(line, part))).collect();
    // A second bar, of an evaluation or another rank, starts over.
    bars.dedup_by(|next, before| next.0 <= before.0);
    let (first, last) = (bars.get(skip)?, bars.last()?);
    let (steps, seconds) = (last.0.checked_sub(first.0)?, last.1.checked_sub(first.1)?);
    let pace = Pace::Seconds(seconds as f64 / steps as f64);
    (steps > 0 && seconds > 0).then_some(StepLine {
        line: last.2 as usize,
        step: last.0,
        pace,
        batch: None,
        skipped: false,
    })
}

/// Seconds of `01:04` or `1:02:03`.
fn clock(text: &str) -> Option<u64> {
    text.split(':').try_fold(0_u64, |sum, part| sum.checked_mul(60)?.checked_add(part.trim().parse().ok()?))
}

/// The allocator's peak in GiB, from a line of Megatron-LM (in MiB), DeepSpeed or torchtitan.
pub(crate) fn peak_gib(line: &str) -> Option<f64> {
    if line.contains("memory (MB)") {
        return Some(decimal(after(line, "max allocated:")?)? / 1024.0);
    }
    if line.contains("SamplesPerSec=") {
        return decimal(after(line, "MaxMemAllocated=")?);
    }
    let amount = after(line, "memory: ").filter(|_| rate_of_torchtitan(line).is_some())?;
    amount.split_once("GiB").and_then(|(amount, _)| decimal(amount))
}

/// The text after a key.
pub fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    Some(line.split_once(key)?.1.trim_start())
}

/// A positive integer at the start of a text: `51,760` is one.
pub fn count(text: &str) -> Option<u64> {
    decimal(text).filter(|number| number.fract() == 0.0 && *number < 1e15).map(|number| number as u64)
}

fn digits(text: &str) -> Option<u64> {
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

/// A positive number at the start of a text, like `6,785` or `3.5e2`.
fn decimal(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".,eE+-".contains(c))).unwrap_or(text.len());
    let number = text[..end].trim_end_matches(',').replace(',', "");
    number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// A line of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLine<'a> {
    /// Line number in the file.
    pub number: u32,
    /// The line's text.
    pub text: &'a str,
}

impl<'a> LogLine<'a> {
    /// Shorter lines say nothing of a run, and a log may have more of them than memory can hold.
    const SHORTEST: usize = 3;

    /// Lines of a log that may be of use.
    pub fn all(text: &'a str) -> Vec<Self> {
        let numbered = || (1..).zip(text.lines()).filter(|(_, line)| line.len() >= Self::SHORTEST);
        let mut lines = Vec::with_capacity(numbered().count());
        lines.extend(numbered().map(|(number, text)| Self { number, text }));
        lines
    }
}

/// A text without terminal colours: ESC, `[`, and everything up to a letter.
pub fn plain(coloured: &str) -> Cow<'_, str> {
    if !coloured.contains("\u{1b}[") {
        return Cow::Borrowed(coloured);
    }
    let mut text = String::with_capacity(coloured.len());
    let mut rest = coloured;
    while let Some((before, colour)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        rest = colour.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
    }
    Cow::Owned(text + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_s_line_is_read_behind_any_prefix() {
        let line = "127:  iteration   2/ 143066 | elapsed time per iteration (s): 346.58 | global batch size:  1024 | \
                    number of skipped iterations:   1 |";
        let pace = Pace::Seconds(346.58);
        assert_eq!(megatron(7, line), Some(StepLine { line: 7, step: 2, pace, batch: Some(1024), skipped: true }));
        let line = plain("1: \u{1b}[36mstep: 1990  \u{1b}[33mmemory: 68.57GiB(86.69%)  \u{1b}[34mtps: 6,785\u{1b}[39m");
        assert_eq!(
            torchtitan(1, &line).map(|line| (line.step, line.pace)),
            Some((1990, Pace::TokensPerDevice(6785.0)))
        );
        assert_eq!(peak_gib(&line), Some(68.57));
        let line = "epoch=0/micro_step=3/global_step=3, RunningAvgSamplesPerSec=291.6, CurrSamplesPerSec=300.5, \
                    MemAllocated=17.54GB, MaxMemAllocated=66.97GB";
        assert_eq!(deepspeed(1, line).map(|line| line.pace), Some(Pace::Samples(300.5)));
        assert_eq!(peak_gib(line), Some(66.97));
        assert_eq!(peak_gib("memory (MB) | allocated: 1.0 | max allocated: 2048.0 | reserved: 4096.0"), Some(2.0));
        assert_eq!(torchtitan(1, "step: 40  memory: 81.67GiB(85.93%)  wps: 112,109").map(|line| line.step), Some(40));
        assert_eq!((clock("01:04"), clock("1:02:03"), clock("?")), (Some(64), Some(3723), None));
        for nothing in ["", "iteration", "iteration 1/ | elapsed time per iteration (ms): nan", "step: 1 tps: -3"] {
            assert_eq!((megatron(1, nothing), torchtitan(1, nothing)), (None, None), "{nothing}");
        }
    }
}
