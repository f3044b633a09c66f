//! How long a context fits and how fast it trains: text, CSV and JSON.

use serde_json::{Value, json};

use crate::figures::figure::Figure;
use crate::figures::table::{Table, TableCell, pretty};
use crate::figures::why::facts::FigureSubject;
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::file::{ScenarioFile, printable};
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_engine::search::plans::Margin;
use shardscope_engine::search::sequences::{ContextLength, SequenceAnswer, SequenceSearch};
use shardscope_engine::units::{Amount, Seconds, thousands};

use super::caveats::{caveats, lacking};
use super::lines::Lines;
use super::search::{RunsIn, loss_words, plan_words, ranked, space};
use super::{FORMAT, changed, safety_words};

/// The best plan at each length, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct SequenceReport<'a> {
    pub search: &'a SequenceSearch,
    pub answer: &'a SequenceAnswer,
    /// That of the longest.
    pub evaluation: Option<&'a Evaluation>,
    /// The command line that gives each of them, where there is one.
    pub commands: &'a [Option<String>],
    pub runs_in: RunsIn,
    /// How long the search took.
    pub time: Seconds,
}

/// How many more tokens a second a length has than the one before it, as a share: what the step up costs.
pub fn change_of_length(before: Option<&ContextLength>, length: &ContextLength) -> Option<f64> {
    Some(length.summary().tokens_per_s() / before?.summary().tokens_per_s() - 1.0)
}

/// What a plan does otherwise than that of the length before: `cp 8, recompute full`.
pub fn step_words(before: Option<&ContextLength>, length: &ContextLength) -> String {
    let Some(before) = before else { return String::new() };
    let (own, earlier) = (&length.found.scenario, &before.found.scenario);
    let shown = |field: Field| {
        let value = field.value(own)?;
        (field.value(earlier).as_ref() != Some(&value)).then(|| format!("{} {value}", field.spec().flag))
    };
    let meshes = [Field::Tensor, Field::Context, Field::ContextKind, Field::Pipeline].into_iter().filter_map(shown);
    let loss = loss_words(&own.plan).or_else(|| Some("loss stack".to_owned()));
    let loss = loss.filter(|_| loss_words(&own.plan) != loss_words(&earlier.plan));
    let others =
        [Field::Recompute, Field::MlpTiles, Field::Offload, Field::OffloadModules].into_iter().filter_map(shown);
    meshes.chain(loss).chain(others).collect::<Vec<_>>().join(", ")
}

/// What the plan of a length cannot do without, by the names of flags: `cp, loss`.
pub fn needs_words(length: &ContextLength) -> String {
    length.needs.iter().map(|field| field.spec().flag).collect::<Vec<_>>().join(", ")
}

/// The longest that fits, and how fast it is: `longest 1,048,576 tokens at 1,234 tokens/s; 1,114,112 do not fit`.
pub fn longest_words(answer: &SequenceAnswer) -> Option<String> {
    let longest = answer.longest()?;
    let [length, rate] = [f64::from(longest.sequence), longest.summary().tokens_per_s()].map(thousands);
    let end = answer.too_long.map(|too_long| format!("; {} do not fit", thousands(f64::from(too_long))));
    Some(format!("longest {length} tokens at {rate} tokens/s{}", end.unwrap_or_default()))
}

/// How far the search is: what it tries, the bound that is known, and the longest so far.
pub fn tried_words(answer: &SequenceAnswer) -> String {
    let phase = if answer.too_long.is_some() && !answer.lengths.is_empty() { "narrowing down" } else { "doubling" };
    let tried = thousands(f64::from(answer.tried));
    let known = longest_words(answer).map_or_else(|| "none fits so far".to_owned(), |words| format!("so far {words}"));
    format!("{phase}: {tried} tokens; {known}")
}

/// A length with the one before it.
struct LengthRow<'a> {
    before: Option<&'a ContextLength>,
    length: &'a ContextLength,
    runs_in: RunsIn,
}

impl LengthRow<'_> {
    fn scenario(&self) -> &Scenario {
        &self.length.found.scenario
    }

    fn figure(&self, figure: Figure) -> TableCell {
        let amount = figure.amount(&FigureSubject::new(self.scenario(), self.length.summary()));
        let text = amount.map_or_else(|| "-".to_owned(), Amount::in_row);
        TableCell::new(text, json!(amount.and_then(Amount::in_files)))
    }

    /// The value of a field, as its flag takes it.
    fn field(&self, field: Field) -> TableCell {
        let value = field.value(self.scenario());
        value.map_or_else(TableCell::default, |value| match value.get::<u32>() {
            Some(count) => TableCell::new(count.to_string(), count),
            None => TableCell::word(field.spec().takes.show(&value)),
        })
    }
}

/// A column: its key in CSV and its heading for people; each has only those that have one.
type LengthColumn = (&'static str, &'static str, fn(&LengthRow) -> TableCell);

const COLUMNS: [LengthColumn; 23] = [
    ("sequence", "tokens", |row| TableCell::new(thousands(f64::from(row.length.sequence)), row.length.sequence)),
    ("tokens_per_s", "tokens/s", |row| row.figure(Figure::TotalTokens)),
    ("change", "change", |row| {
        change_of_length(row.before, row.length).map_or_else(TableCell::default, TableCell::change)
    }),
    ("step_time_s", "step", |row| row.figure(Figure::StepTime)),
    ("mfu", "MFU", |row| row.figure(Figure::Mfu)),
    ("peak_bytes", "memory", |row| {
        let peak = row.length.summary().memory.peak;
        TableCell::new(peak.to_string(), peak.get() as u64)
    }),
    ("p_fits", "P(fits)", |row| row.figure(Figure::FitChance)),
    ("", "new", |row| TableCell::word(step_words(row.before, row.length))),
    ("needs", "needs", |row| TableCell::word(needs_words(row.length))),
    ("", "runs in", |row| TableCell::word(row.runs_in.words(row.scenario()))),
    ("", "plan", |row| TableCell::word(plan_words(&row.scenario().plan))),
    ("tp", "", |row| row.field(Field::Tensor)),
    ("cp", "", |row| row.field(Field::Context)),
    ("cp_kind", "", |row| row.field(Field::ContextKind)),
    ("pp", "", |row| row.field(Field::Pipeline)),
    ("loss", "", |row| row.field(Field::Loss)),
    ("loss_chunk", "", |row| row.field(Field::LossChunk)),
    ("micro_batch", "", |row| row.field(Field::MicroBatch)),
    ("accumulate", "", |row| row.field(Field::Accumulate)),
    ("global_batch", "", |row| TableCell::count(row.scenario().sequences() as usize)),
    ("recompute", "", |row| row.field(Field::Recompute)),
    ("offload", "", |row| row.field(Field::Offload)),
    ("runs_in", "", |row| TableCell::word((row.runs_in.names)(row.scenario()).join(" "))),
];

impl SequenceReport<'_> {
    fn rows(&self) -> impl Iterator<Item = LengthRow<'_>> {
        let before = std::iter::once(None).chain(self.answer.lengths.iter().map(Some));
        let row = |(length, before)| LengthRow { before, length, runs_in: self.runs_in };
        self.answer.lengths.iter().zip(before).map(row)
    }

    fn table(&self, has: fn(&LengthColumn) -> bool) -> Table {
        let columns = || COLUMNS.iter().filter(|column| has(column));
        let mut table = Table::new(columns().map(|(key, heading, _)| (*key, *heading)));
        table.extend(self.rows().map(|row| columns().map(|(_, _, cell)| cell(&row)).collect()));
        table
    }

    /// As CSV, a line for each length.
    pub fn csv(&self) -> String {
        self.table(|(key, ..)| !key.is_empty()).csv()
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let plans = &self.search.plans;
        let Scenario { model, cluster, .. } = &plans.base;
        let mut lines = Lines(String::new());
        lines.line(&format!(
            "{} on {}: how long a context fits, and how fast it trains",
            printable(&model.name),
            printable(&cluster.name)
        ));
        if let Some(changed) = changed(&plans.base) {
            lines.line(&changed);
        }
        if let Some(tokens) = self.search.tokens_of_step() {
            lines.line(&format!("{} tokens a step at every length, or one sequence", thousands(tokens)));
        }
        if plans.limits.margin == Margin::Likely {
            lines.line(&format!("{} (--margin)", safety_words()));
        }
        let counts = &self.answer.counts;
        let [all, simulated] = [counts.plans, counts.simulated].map(|count| thousands(count as f64));
        lines.line(&format!("{all} plans in {}, {simulated} simulated", self.time));
        if !self.answer.exact {
            lines.line("not all lengths were tried: these are those so far");
        }
        lines.line(&longest_words(self.answer).unwrap_or_else(|| "nothing fits at any length".to_owned()));
        let Some(longest) = self.answer.longest() else { return lines.0 };
        lines.line("");
        lines.0.push_str(&self.table(|(_, heading, _)| !heading.is_empty()).text());
        lines.line("needs: no plan of this length fits without");
        let scenario = &longest.found.scenario;
        let lacks = lacking(scenario).map(|lack| format!("cannot run: {lack} (the longest)"));
        lacks.for_each(|lack| lines.line(&lack));
        let notes = caveats(scenario, longest.summary());
        for caveat in &notes {
            lines.line(&format!("note on the longest: {caveat}"));
        }
        for command in self.commands.last().into_iter().flatten() {
            lines.line("");
            lines.line(&printable(command));
        }
        lines.0
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> String {
        let longest = self.answer.longest().zip(self.evaluation);
        pretty(&json!({
            "format": FORMAT,
            "objective": "sequence",
            "space": space(&self.answer.counts),
            "exact": self.answer.exact,
            "seconds": self.time.get(),
            "longest": self.answer.longest().map(|longest| longest.sequence),
            "too_long": self.answer.too_long,
            "lengths": self.rows().zip(self.commands).map(|(row, command)| length(&row, command.as_ref())).collect::<Vec<_>>(),
            "plans": longest.map(|(longest, evaluation)| {
                ranked(1, (&longest.found, evaluation), self.commands.last().and_then(Option::as_ref), self.runs_in)
            }).into_iter().collect::<Vec<_>>(),
        }))
    }
}

/// A length as JSON.
fn length(row: &LengthRow, command: Option<&String>) -> Value {
    let (summary, scenario) = (row.length.summary(), row.scenario());
    json!({
        "sequence": row.length.sequence,
        "tokens_per_s": summary.tokens_per_s(),
        "change": change_of_length(row.before, row.length),
        "step_time_s": summary.step_time.get(),
        "mfu": summary.mfu,
        "peak_bytes": summary.memory.peak.get() as u64,
        "p_fits": row.length.found.chance_of_fitting(),
        "needs": row.length.needs.iter().map(|field| field.spec().flag).collect::<Vec<_>>(),
        "runs_in": (row.runs_in.names)(scenario),
        "scenario": ScenarioFile::of(scenario),
        "command": command,
    })
}
