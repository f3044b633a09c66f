//! Converts logs of training runs to rows of measured runs: Megatron-LM, torchtitan, DeepSpeed, Hugging Face's Trainer.
//!
//! Takes the text of logs; opens no files. [`shardscope_evidence::measured`] scores rows.

mod arguments;
mod draft;
mod heads;
mod lines;
mod megatron;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use shardscope_evidence::measured;

use super::report::Imported;
use shardscope_engine::problem::Problem;

use draft::RowDraft;
use lines::{Pace, StepLine, peak_gib};

pub(super) use arguments::Arguments;
pub(super) use lines::{LogLine, plain};

/// Step lines left out by default at the start of a run, which hold start-up and compilation.
pub const WARM_UP: usize = 3;

/// Rows of measured runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunRows {
    /// Cells of each row, by column; a missing column is blank.
    pub rows: Vec<BTreeMap<String, String>>,
}

impl RunRows {
    /// Numbers rows whose files have the same name, since each row of a table needs its own id.
    pub fn tell_apart(&mut self) {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for id in self.rows.iter_mut().filter_map(|row| row.get_mut("id")) {
            let count = seen.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
            if *count > 1 {
                *id = format!("{id}-{count}");
            }
        }
    }

    /// Options of an import, with examples, for what rows lack to be measurements.
    pub fn missing_options(&self) -> Vec<(&'static str, String)> {
        let lacks = |column: &str| self.rows.iter().any(|row| row.get(column).is_none_or(String::is_empty));
        let missing = measured::needed_columns().filter(|(column, _)| lacks(column));
        let option = |(column, example): (&'static str, &str)| match column {
            "cluster" => ("hardware", example.to_owned()),
            "stack" => ("stack", example.to_owned()),
            _ => ("set", format!("{column}={example}")),
        };
        missing.map(option).collect()
    }

    /// The table that `validate` and `calibrate` read.
    pub fn to_csv(&self) -> String {
        measured::table(&self.rows)
    }
}

/// Options for reading logs.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions<'a> {
    /// Step lines to leave out at the start; by default [`WARM_UP`] and those of skipped iterations.
    pub skip: Option<usize>,
    /// Cells by column, each with its option; they override the log's.
    pub given: &'a [(String, String, String)],
}

/// Reads a step from a line and its number.
type StepReader = fn(usize, &str) -> Option<StepLine>;

const TRAINER: &str = "HF Trainer";
const TRAINER_BAR: &str = "HF Trainer's bar";

/// Programs that print step lines, the most reliable first: DeepSpeed's samples per second are off under gradient
/// accumulation.
const PROGRAMS: [(&str, StepReader); 4] = [
    ("Megatron-LM", lines::megatron),
    ("torchtitan", lines::torchtitan),
    (TRAINER, lines::trainer),
    ("DeepSpeed", lines::deepspeed),
];

/// The row of one log, called `file`; `assumed` lists the cells left blank.
pub fn run(file: &str, text: &str, options: RunOptions<'_>) -> Result<Imported<RunRows>, Vec<Problem>> {
    let text = plain(text);
    let lines = LogLine::all(&text);
    let unknown = || {
        let what = "holds no line of a step of Megatron-LM, torchtitan, DeepSpeed or HF Trainer";
        vec![Problem::new("", what, "give the log of the rank that prints them")]
    };
    // A log may hold several runs, one after each restart: the last one's arguments and the steps after them belong to
    // one plan.
    let start = lines.iter().rposition(|line| line.text.contains("- arguments --")).unwrap_or(0);
    let of = |read: StepReader| {
        lines[start..].iter().filter_map(|line| read(line.number as usize, line.text)).collect::<Vec<_>>()
    };
    let found = PROGRAMS.into_iter().map(|(program, read)| (program, of(read)));
    let bar = || {
        let total = heads::printed(&lines[start..], "Total optimization steps").map(|(total, _)| total);
        Some((TRAINER_BAR, vec![lines::trainer_bar(&lines[start..], total, options.skip.unwrap_or(WARM_UP))?]))
    };
    let (program, steps) = found.into_iter().find(|(_, steps)| !steps.is_empty()).or_else(bar).ok_or_else(unknown)?;

    let mut row = RowDraft::default();
    let name = std::path::Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
    row.take("id", name, "name of the file");
    row.take("source", format!("imported from {file} ({program} log)"), "name of the file");
    let megatron = Arguments::of_megatron(&lines);
    if megatron.is_empty() {
        configured(&mut row, &Arguments::of_deepspeed(&lines));
        match program {
            "torchtitan" => heads::torchtitan(&mut row, &lines),
            TRAINER | TRAINER_BAR => heads::trainer(&mut row, &lines),
            _ => {}
        }
    } else {
        megatron::fill(&mut row, &megatron)?;
        if let Some((size, line)) = padded_vocabulary(&lines[start..]) {
            row.take("vocab", size, format!("line {line}"));
        }
    }
    for (column, value, option) in options.given {
        row.take(column, value, option);
    }
    heads::trained(&mut row, &lines[start..])?;
    let skip = if program == TRAINER_BAR { Some(0) } else { options.skip };
    let steps = counted(&mut row, steps, skip)?;
    batch(&mut row, &megatron, &steps);
    timed(&mut row, program, &steps);
    peak(&mut row, program, &lines[start..]);
    let rates = ["mfu: ", "TFLOPs: ", "TFLOP/s/GPU"];
    if lines[start..].iter().any(|line| rates.iter().any(|word| line.text.contains(word))) {
        row.report
            .ignore("MFU and TFLOP/s", "programs count flop in ways of their own; validate counts from the shapes");
    }
    blanks(&mut row);
    let (cells, report) = row.close();
    Ok(Imported { made: RunRows { rows: vec![cells] }, report })
}

/// Fills a row from DeepSpeed's printed configuration.
fn configured(row: &mut RowDraft, printed: &Arguments<'_>) {
    for (column, name) in [
        ("num_gpus", "world_size"),
        ("micro_batch", "train_micro_batch_size_per_gpu"),
        ("grad_accum", "gradient_accumulation_steps"),
        ("global_batch", "train_batch_size"),
    ] {
        if let (Some(value), Some((_, line))) = (printed.count(name), printed.get(name)) {
            row.take(column, value, format!("line {line}, {name}"));
        }
    }
    let stage = printed.get("zero_optimization_stage");
    if let Some((stage, line)) = stage.filter(|(stage, _)| ["0", "1", "2", "3"].contains(stage)) {
        let class = if stage == "0" { "ddp".to_owned() } else { format!("zero{stage}") };
        row.take("strategy_class", class, format!("line {line}, zero_optimization_stage"));
    }
    for (name, format) in [("bfloat16_enabled", "bf16"), ("fp16_enabled", "fp16")] {
        if printed.is_on(name) {
            row.take("precision", format, name);
        }
    }
}

/// ` > padded vocab (size: 50257) with 431 dummy tokens (new size: 50688)`: the new size, and the line number.
pub(super) fn padded_vocabulary(lines: &[LogLine<'_>]) -> Option<(u32, u32)> {
    lines.iter().find_map(|LogLine { number, text }| {
        let size = text.split_once("padded vocab")?.1.split_once("new size: ")?.1.split_once(')')?.0;
        Some((size.parse().ok()?, *number))
    })
}

/// The step lines that count: each step once, without those at the start.
fn counted(row: &mut RowDraft, mut steps: Vec<StepLine>, skip: Option<usize>) -> Result<Vec<StepLine>, Vec<Problem>> {
    let mut seen = BTreeSet::new();
    steps.retain(|line| seen.insert(line.step));
    let all = steps.len();
    // A single line is the mean of a whole run, or all that is left of it.
    let head = skip.unwrap_or(if all == 1 { 0 } else { WARM_UP });
    let mut kept: Vec<StepLine> = steps.into_iter().skip(head).collect();
    if skip.is_none() && kept.iter().any(|line| !line.skipped) {
        kept.retain(|line| !line.skipped);
    }
    if kept.is_empty() {
        let what = format!("has {all} lines of steps, and {head} are left out at the head");
        return Err(vec![Problem::new("", what, "write a smaller --skip")]);
    }
    if kept.len() < all {
        let why = "start-up, or iterations that the loss scaler skipped; --skip says how many lines to leave out";
        row.report.ignore(&format!("{} of {all} lines of steps", all - kept.len()), why);
    }
    Ok(kept)
}

/// The batch of the lines that count; lines of a ramp-up with another batch do not count.
fn batch(row: &mut RowDraft, arguments: &Arguments<'_>, steps: &[StepLine]) {
    if row.cells.contains_key("global_batch") {
        return;
    }
    if let Some((batch, line)) = steps.iter().rev().find_map(|line| Some((line.batch?, line.line))) {
        row.take("global_batch", batch, format!("line {line}"));
    } else if let (Some(batch), Some((_, line))) =
        (arguments.count("global_batch_size"), arguments.get("global_batch_size"))
    {
        row.take("global_batch", batch, format!("line {line}, global_batch_size"));
    }
}

/// Seconds per step: the median of the lines.
fn timed(row: &mut RowDraft, program: &str, steps: &[StepLine]) {
    if row.cells.contains_key("step_time_s") {
        return;
    }
    let last = steps.last().and_then(|line| line.batch);
    // While a batch ramps up, steps are shorter: only those with the last batch count.
    let same: Vec<&StepLine> = steps.iter().filter(|line| line.batch == last).collect();
    let (Some(first), Some(end)) = (same.first(), same.last()) else { return };
    // The median, since one step that wrote a checkpoint or waited for data would shift a mean by minutes.
    let pace = first.pace.with(median(same.iter().map(|line| line.pace.amount()).collect()));
    let place = match program {
        TRAINER_BAR => format!("elapsed time of {program} up to line {}, over its steps", end.line),
        _ => format!("median of {} lines of {program}, from line {} to {}", same.len(), first.line, end.line),
    };
    let number = |column: &str| row.number(column);
    let seconds = match pace {
        Pace::Seconds(seconds) => Some(seconds),
        Pace::Samples(rate) => number("global_batch").map(|batch| batch / rate),
        Pace::TokensPerDevice(rate) => {
            let tokens = number("global_batch").zip(number("seq_len")).map(|(batch, sequence)| batch * sequence);
            tokens.zip(number("num_gpus")).map(|(tokens, devices)| tokens / (devices * rate))
        }
    };
    match (seconds, pace) {
        (Some(seconds), _) => row.take("step_time_s", rounded(seconds), &place),
        (None, Pace::TokensPerDevice(rate)) => {
            row.note(format!("{rate} tokens per second and device"), &place);
            row.leave(
                "step_time_s",
                "--set global_batch=N, seq_len=N and num_gpus=N make seconds of tokens per second",
            );
        }
        (None, pace) => {
            row.note(format!("{} sequences per second", pace.amount()), &place);
            row.leave("step_time_s", "--set global_batch=N makes seconds of sequences per second");
        }
    }
    let accumulates = number_of_micro_batches(row).is_some_and(|count| count > 1.0);
    if program == "DeepSpeed" && accumulates {
        row.take("scored", "no", "DeepSpeed's samples per second are too high where micro-batches are accumulated");
    }
    if program == TRAINER {
        row.note("mean of the whole run, start-up included", "train_runtime");
    }
}

fn number_of_micro_batches(row: &RowDraft) -> Option<f64> {
    row.number("grad_accum").or_else(|| {
        let ranks = row.number("num_gpus")? / row.number("tp").unwrap_or(1.0) / row.number("pp").unwrap_or(1.0);
        Some(row.number("global_batch")? / row.number("micro_batch")? / ranks)
    })
}

fn median(mut amounts: Vec<f64>) -> f64 {
    amounts.sort_by(f64::total_cmp);
    let middle = amounts.len() / 2;
    if amounts.len().is_multiple_of(2) { amounts[middle - 1].midpoint(amounts[middle]) } else { amounts[middle] }
}

/// Rounds to six digits, more than any log has.
fn rounded(amount: f64) -> f64 {
    format!("{amount:.5e}").parse().unwrap_or(amount)
}

/// The highest peak among the ranks that print one.
fn peak(row: &mut RowDraft, program: &str, lines: &[LogLine<'_>]) {
    let pipelined = row.number("pp").is_some_and(|stages| stages > 1.0);
    // DeepSpeed prints it only for the first rank, which need not be in the fullest stage.
    let own = lines.iter().filter(|line| !(pipelined && line.text.contains("SamplesPerSec=")));
    let Some(most) = own.filter_map(|line| peak_gib(line.text)).max_by(f64::total_cmp) else { return };
    if row.cells.contains_key("metric_peak_mem_gb") {
        return;
    }
    let reading = if program == "torchtitan" { "what the allocator holds" } else { "what the allocator gave" };
    row.take("metric_peak_mem_gb", rounded(most), format!("the most of the ranks that print it, {reading}"));
}

/// Notes cells that stay blank, and what fills them.
fn blanks(row: &mut RowDraft) {
    for (column, option) in [("cluster", "--hardware ID"), ("stack", "--stack ID")] {
        if !row.cells.contains_key(column) {
            row.leave(column, format!("no log says; {option} fills it"));
        }
    }
    let needed = ["num_gpus", "strategy_class", "layers", "hidden", "seq_len"];
    let wanted = ["model", "heads", "ffn_hidden", "vocab", "global_batch", "micro_batch", "precision", "act_ckpt"];
    for column in needed.into_iter().chain(wanted) {
        if !row.cells.contains_key(column) {
            row.leave(column, format!("the log does not say; --set {column}=VALUE fills it"));
        }
    }
}

#[cfg(test)]
mod tests;
