//! A validation as text, as CSV and as JSON.

use serde_json::{Value, json};
use strum::VariantArray;

use shardscope_engine::units::{Amount, percent, signed, whole_percent};
use shardscope_evidence::measured::{
    Metric, Pairs, PriceOfChoice, Ranking, Reading, Residual, ScoreKey, Scores, Skipped, Validation,
};

use crate::figures::figure::Figure;
use crate::figures::table::{Table, TableCell, joined, pretty};

/// How many of the worst groups a text shows.
const WORST: usize = 15;

#[derive(Debug, Clone, Copy)]
pub struct ValidateReport<'a> {
    pub validation: &'a Validation,
}

const fn reading(residual: &Residual) -> Option<&'static str> {
    match residual.reading {
        Some(Reading::Allocator) => Some("allocator"),
        Some(Reading::Reserved) => Some("allocator, reserved"),
        Some(Reading::Device) => Some("nvidia-smi"),
        None => None,
    }
}

impl ValidateReport<'_> {
    pub fn json(self) -> String {
        let validation = self.validation;
        let Ranking { pairs, choices, slowdown_mean, slowdown_worst, price } = validation.ranking;
        let pairs = pairs.map(|Pairs { apart, pairs, right }| json!({"apart": apart, "pairs": pairs, "right": right}));
        let assumed = validation
            .assumed
            .iter()
            .map(|(one, rows)| json!({"column": one.column, "value": one.value, "why": one.why, "rows": rows}));
        pretty(&json!({
            "format": super::FORMAT,
            "rows": self.records(),
            "skipped": skipped_records(&validation.skipped),
            "summary": self.in_all(),
            "by": self.parts(),
            "ranking": {
                "pairs": pairs,
                "choices": choices,
                "slowdown_mean": slowdown_mean,
                "slowdown_worst": slowdown_worst,
                "price": price.map(|PriceOfChoice { keys, price, predicted_gain, measured_gain }| json!({
                    "choices": keys,
                    "price": price,
                    "predicted_gain": predicted_gain,
                    "measured_gain": measured_gain,
                })),
            },
            "assumed": assumed.collect::<Vec<_>>(),
        }))
    }

    /// As CSV: every comparison, then what was skipped.
    pub fn csv(self) -> String {
        let keys = ["id", "group", "stack", "hardware", "strategy_class", "metric", "predicted", "measured", "error"];
        let mut table = Table::new(keys.into_iter().chain(["skipped"]).map(|key| (key, "")));
        table.extend(self.validation.residuals.iter().map(|one| {
            let Residual { id, group, stack, hardware, class, metric, .. } = one;
            let words = [id, group, stack, hardware, class, metric.into_str()].map(TableCell::word);
            let numbers = [one.predicted, one.measured, one.error()].map(|number| TableCell::new("", number));
            words.into_iter().chain(numbers).collect()
        }));
        table.extend(self.validation.skipped.iter().map(|Skipped { id, why }| {
            let blank = vec![TableCell::default(); keys.len() - 1];
            std::iter::once(TableCell::word(id)).chain(blank).chain([TableCell::word(why)]).collect()
        }));
        table.csv()
    }

    /// For people: each comparison, then the scores.
    pub fn text(self) -> String {
        let parts = [self.rows(), self.summary(), self.assumed(), skipped(&self.validation.skipped)];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The scores without the rows.
    pub(super) fn summary(self) -> String {
        let parts = [self.scores(Metric::StepTime), self.scores(Metric::Memory), self.ranking()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Every comparison, as JSON has it.
    pub(super) fn records(self) -> Vec<Value> {
        let record = |one: &Residual| {
            let head = json!({"id": one.id, "group": one.group, "metric": one.metric.into_str()});
            let reading = reading(one).map_or(json!({}), |reading| json!({"reading": reading}));
            let numbers = json!({"predicted": one.predicted, "measured": one.measured, "error": one.error()});
            let refused = one.refused.map_or(json!({}), |more| json!({"refused_by_bytes": more.get() as u64}));
            let band = one.band.map_or(json!({}), |[low, high]| json!({"band": {"low": low, "high": high}}));
            joined(joined(joined(joined(head, reading), numbers), refused), band)
        };
        self.validation.residuals.iter().map(record).collect()
    }

    /// The scores of all rows, as JSON has them.
    pub(super) fn in_all(self) -> Value {
        json!({
            "step_time": scored(self.metric(Metric::StepTime)),
            "memory": scored(self.metric(Metric::Memory)),
            "memory_allocator": scored(self.memory(false)),
            "memory_device": scored(self.memory(true)),
            "held": self.validation.held(),
        })
    }

    pub(super) fn metric(self, metric: Metric) -> Option<Scores> {
        self.validation.scores(|one| one.metric == metric)
    }

    /// Scores of the peaks that the device or that the allocator reports.
    pub(super) fn memory(self, device: bool) -> Option<Scores> {
        self.validation.scores(|one| one.reading.is_some_and(|reading| (reading == Reading::Device) == device))
    }

    /// The scores by each key, as JSON has them.
    pub(super) fn parts(self) -> Vec<Value> {
        let mut parts = Vec::new();
        for metric in [Metric::StepTime, Metric::Memory] {
            for by in ScoreKey::VARIANTS.iter().copied() {
                parts.extend(self.validation.values(metric, by).into_iter().map(|value| {
                    let scores = self.validation.scores(|one| one.metric == metric && one.key(by) == value);
                    joined(json!({"metric": metric.into_str(), "by": by.into_str(), "value": value}), scored(scores))
                }));
            }
        }
        parts
    }

    fn rows(self) -> String {
        let row = |one: &Residual| {
            let unit = Figure::from(one.metric).unit();
            let amounts =
                [one.predicted, one.measured].map(|value| TableCell::word(Amount { value, unit }.to_string()));
            let sure = format!(", P(fits) {}", whole_percent(one.p_fits));
            let refused = one.refused.map(|more| TableCell::word(format!("predicted OOM by {more}{sure}")));
            let cells = std::iter::once(TableCell::word(&one.id)).chain(amounts);
            cells.chain([TableCell::change(one.error())]).chain(refused).collect()
        };
        let columns =
            [("id", "id"), ("predicted", "predicted"), ("measured", "measured"), ("error", "error"), ("refused", "")];
        let mut table = Table::new(columns);
        table.extend(self.validation.residuals.iter().map(row));
        table.text()
    }

    /// The scores of a metric, in all and by key; the worst groups under them.
    fn scores(self, metric: Metric) -> String {
        // A single row leaves nothing to sum up.
        let Some(all) = self.metric(metric).filter(|all| all.rows > 1) else { return String::new() };
        let title = Figure::from(metric).entry().map_or("", |entry| entry.name);
        let mut table = scores_table(title);
        table.push(line("in all", &all));
        if metric == Metric::Memory {
            let readings = [("allocator's peak", false), ("nvidia-smi", true)];
            table.extend(readings.iter().filter_map(|(name, device)| Some(line(name, &self.memory(*device)?))));
        }
        for by in [ScoreKey::Stack, ScoreKey::Hardware, ScoreKey::Class] {
            table.push(vec![TableCell::word(format!("by {}", by.into_str()))]);
            for value in self.validation.values(metric, by) {
                let scores = self.validation.scores(|one| one.metric == metric && one.key(by) == value);
                table.extend(scores.map(|scores| line(&format!("  {value}"), &scores)));
                if by == ScoreKey::Stack {
                    table.extend(self.reaches(metric, value));
                }
            }
        }
        table.text() + &self.worst(metric)
    }

    /// A stack's runs on one node and on several, where it has both.
    fn reaches(self, metric: Metric, stack: &str) -> Vec<Vec<TableCell>> {
        let of = |across: bool| {
            self.validation.scores(|one| one.metric == metric && one.stack == stack && one.across == across)
        };
        match [of(false), of(true)] {
            [Some(one), Some(several)] => vec![line("    on one node", &one), line("    on several", &several)],
            _ => Vec::new(),
        }
    }

    /// The groups that are furthest off.
    fn worst(self, metric: Metric) -> String {
        let of = |group| self.validation.scores(|one| one.metric == metric && one.group == group);
        let mut groups: Vec<(&str, Scores)> = self
            .validation
            .values(metric, ScoreKey::Group)
            .into_iter()
            .filter_map(|group| Some((group, of(group)?)))
            .collect();
        groups.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
        let line = |(group, scores): &(&str, Scores)| format!("  {:>6}  {group}\n", signed(scores.bias));
        let lines: String = groups.iter().take(WORST).map(line).collect();
        format!("furthest off, by group\n{lines}")
    }

    fn ranking(self) -> String {
        let all = self.validation.ranking_of(|_| true);
        if all.choices == 0 {
            return String::new();
        }
        let head = ["ranking", "pairs", "right", "pairs", "right", "choices", "slower", "at worst"];
        let apart = all.pairs.map(|pairs| format!("> {}", percent(pairs.apart)));
        let under = ["", "", &apart[0], "", &apart[1], "", "", ""];
        let under = under.map(TableCell::word).to_vec();
        let mut table = Table::headed(head);
        table.extend([under, ordered("in all", &all)]);
        for stack in self.validation.values(Metric::StepTime, ScoreKey::Stack) {
            let reaches = [false, true]
                .map(|across| self.validation.ranking_of(|one| one.stack == stack && one.across == across));
            let names = [format!("  {stack} on one node"), format!("  {stack} on several")];
            let told = reaches.iter().zip(&names).filter(|(ranking, _)| ranking.pairs[0].pairs > 0);
            table.extend(told.map(|(ranking, name)| ordered(name, ranking)));
        }
        let price = all.price.map_or_else(String::new, |PriceOfChoice { keys, price, predicted_gain, measured_gain }| {
            let [price, predicted, measured] = [price, predicted_gain, measured_gain].map(signed);
            format!(
                "the predicted best of 3 layouts or more, {keys} times: {predicted} against the others predicted, {measured} \
                 measured: it takes {price} more for having been chosen\n"
            )
        });
        format!("{}{price}", table.text())
    }

    fn assumed(self) -> String {
        let line = |(one, rows): (&shardscope_evidence::measured::Assumed, &usize)| {
            format!("  {} = {} in {rows} rows: {}\n", one.column, one.value, one.why)
        };
        let lines: String = self.validation.assumed.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("assumed where a cell is blank or not known\n{lines}") }
    }
}

/// Scores as JSON; without rows only the counts are no `null`.
pub(super) fn scored(scores: Option<Scores>) -> Value {
    let (mut table, mut cells) = (scores_table(""), line("", &scores.unwrap_or_default()));
    if scores.is_none() {
        cells[3..].fill(TableCell::default());
    }
    table.push(cells);
    table.objects().pop().unwrap_or_default()
}

/// The rows that have no prediction, as JSON has them.
pub(super) fn skipped_records(skipped: &[Skipped]) -> Vec<Value> {
    skipped.iter().map(|Skipped { id, why }| json!({"id": id, "why": why})).collect()
}

/// The most rows without a prediction that people read one by one.
const MOST_SKIPPED: usize = 20;

/// The rows that have no prediction, for people; nothing if there are none.
pub(super) fn skipped(skipped: &[Skipped]) -> String {
    let line = |Skipped { id, why }: &Skipped| format!("  {id}: {why}\n");
    let lines: String = skipped.iter().take(MOST_SKIPPED).map(line).collect();
    let more = match skipped.len().saturating_sub(MOST_SKIPPED) {
        0 => String::new(),
        more => format!("  and {more} more, which --format json lists\n"),
    };
    if lines.is_empty() { lines } else { format!("skipped\n{lines}{more}") }
}

/// A table of scores without rows.
pub(super) fn scores_table(title: &str) -> Table {
    let figures = ["mean", "median", "p90", "bias"].map(|name| (name, name));
    let counts = [("", title), ("rows", "rows"), ("groups", "groups")];
    Table::new(counts.into_iter().chain(figures).chain([("null_mean", "null"), ("skill", "skill")]))
}

pub(super) fn line(name: &str, scores: &Scores) -> Vec<TableCell> {
    let Scores { rows, groups, mean, standard_error: _, median, p90, bias, null_mean } = *scores;
    let mut cells = vec![TableCell::word(name), TableCell::count(rows), TableCell::count(groups)];
    cells.extend([mean, median, p90].map(TableCell::percent));
    cells.extend([
        TableCell::change(bias),
        TableCell::percent(null_mean),
        TableCell::new(format!("{:.1}", scores.skill()), scores.skill()),
    ]);
    cells
}

fn ordered(name: &str, ranking: &Ranking) -> Vec<TableCell> {
    let Ranking { pairs: [near, far], choices, slowdown_mean, slowdown_worst, .. } = ranking;
    let right = |pairs: &Pairs| if pairs.pairs > 0 { TableCell::percent(pairs.right) } else { TableCell::default() };
    let mut cells =
        vec![TableCell::word(name), TableCell::count(near.pairs), right(near), TableCell::count(far.pairs), right(far)];
    cells.extend([TableCell::count(*choices), TableCell::percent(*slowdown_mean), TableCell::percent(*slowdown_worst)]);
    cells
}
