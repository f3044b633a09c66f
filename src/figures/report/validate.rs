//! A validation as text, as CSV and as JSON.

use serde::Serialize;

use crate::measured::{Metric, Pairs, Ranking, Reading, Residual, ScoreKey, Scores, Skipped, Validation};
use crate::units::{Bytes, Seconds};

use super::sweep::aligned;
use super::text::percent;

/// How many of the worst groups a text shows.
const WORST: usize = 15;

/// A validation and what to say of it.
#[derive(Debug, Clone, Copy)]
pub struct ValidateReport<'a> {
    /// What was compared.
    pub validation: &'a Validation,
}

/// Scores as JSON; without rows the figures are `null`.
#[derive(Debug, Serialize)]
pub(super) struct ScoresRecord {
    rows: usize,
    groups: usize,
    mean: f64,
    median: f64,
    p90: f64,
    bias: f64,
    null_mean: f64,
    skill: f64,
}

impl From<Option<Scores>> for ScoresRecord {
    fn from(scores: Option<Scores>) -> Self {
        let none = || Scores {
            mean: f64::NAN,
            median: f64::NAN,
            p90: f64::NAN,
            bias: f64::NAN,
            null_mean: f64::NAN,
            ..Scores::default()
        };
        let scores = scores.unwrap_or_else(none);
        let Scores { rows, groups, mean, median, p90, bias, null_mean } = scores;
        Self { rows, groups, mean, median, p90, bias, null_mean, skill: scores.skill() }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct RowRecord<'a> {
    id: &'a str,
    group: &'a str,
    metric: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<&'static str>,
    predicted: f64,
    measured: f64,
    error: f64,
}

impl<'a> RowRecord<'a> {
    fn of(one: &'a Residual) -> Self {
        Self {
            id: &one.id,
            group: &one.group,
            metric: one.metric.name(),
            reading: reading(one),
            predicted: one.predicted,
            measured: one.measured,
            error: one.error(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SkippedRecord<'a> {
    id: &'a str,
    why: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    step_time: ScoresRecord,
    memory: ScoresRecord,
    memory_allocator: ScoresRecord,
    memory_device: ScoresRecord,
}

#[derive(Debug, Serialize)]
pub(super) struct Part<'a> {
    metric: &'static str,
    by: &'static str,
    value: &'a str,
    #[serde(flatten)]
    scores: ScoresRecord,
}

#[derive(Debug, Serialize)]
struct PairsRecord {
    apart: f64,
    pairs: usize,
    right: f64,
}

#[derive(Debug, Serialize)]
struct RankingRecord {
    pairs: [PairsRecord; 2],
    choices: usize,
    slowdown_mean: f64,
    slowdown_worst: f64,
}

#[derive(Debug, Serialize)]
struct AssumedRecord<'a> {
    column: &'static str,
    value: &'a str,
    why: &'static str,
    rows: usize,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    format: u32,
    rows: Vec<RowRecord<'a>>,
    skipped: Vec<SkippedRecord<'a>>,
    summary: Summary,
    by: Vec<Part<'a>>,
    ranking: RankingRecord,
    assumed: Vec<AssumedRecord<'a>>,
}

const fn reading(residual: &Residual) -> Option<&'static str> {
    match residual.reading {
        Some(Reading::Allocator) => Some("allocator"),
        Some(Reading::Reserved) => Some("allocator, reserved"),
        Some(Reading::Device) => Some("nvidia-smi"),
        None => None,
    }
}

impl<'a> ValidateReport<'a> {
    /// As JSON.
    pub fn json(self) -> Result<String, serde_json::Error> {
        let validation = self.validation;
        let Ranking { pairs, choices, slowdown_mean, slowdown_worst } = validation.ranking;
        let pairs = pairs.map(|Pairs { apart, pairs, right }| PairsRecord { apart, pairs, right });
        let assumed = validation.assumed.iter().map(|(one, rows)| AssumedRecord {
            column: one.column,
            value: &one.value,
            why: one.why,
            rows: *rows,
        });
        serde_json::to_string_pretty(&Document {
            format: super::FORMAT,
            rows: self.records(),
            skipped: skipped_records(&validation.skipped),
            summary: self.in_all(),
            by: self.parts(),
            ranking: RankingRecord { pairs, choices, slowdown_mean, slowdown_worst },
            assumed: assumed.collect(),
        })
    }

    /// As CSV: every comparison, then what was skipped.
    pub fn csv(self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record([
            "id",
            "group",
            "stack",
            "hardware",
            "strategy_class",
            "metric",
            "predicted",
            "measured",
            "error",
            "skipped",
        ])?;
        for one in &self.validation.residuals {
            let numbers = [one.predicted, one.measured, one.error()].map(|number| number.to_string());
            let [predicted, measured, error] = &numbers;
            let Residual { id, group, stack, hardware, class, metric, .. } = one;
            writer.write_record([id, group, stack, hardware, class, metric.name(), predicted, measured, error, ""])?;
        }
        for Skipped { id, why } in &self.validation.skipped {
            writer.write_record([id, "", "", "", "", "", "", "", "", why])?;
        }
        let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
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
    pub(super) fn records(self) -> Vec<RowRecord<'a>> {
        self.validation.residuals.iter().map(RowRecord::of).collect()
    }

    /// The scores of all rows, as JSON has them.
    pub(super) fn in_all(self) -> Summary {
        Summary {
            step_time: self.metric(Metric::StepTime).into(),
            memory: self.metric(Metric::Memory).into(),
            memory_allocator: self.memory(false).into(),
            memory_device: self.memory(true).into(),
        }
    }

    pub(super) fn metric(self, metric: Metric) -> Option<Scores> {
        self.validation.scores(|one| one.metric == metric)
    }

    /// Of peaks that the device or that the allocator reports.
    pub(super) fn memory(self, device: bool) -> Option<Scores> {
        self.validation.scores(|one| one.reading.is_some_and(|reading| (reading == Reading::Device) == device))
    }

    /// The scores by each key, as JSON has them.
    pub(super) fn parts(self) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for metric in [Metric::StepTime, Metric::Memory] {
            for by in ScoreKey::ALL {
                parts.extend(self.validation.values(metric, by).into_iter().map(|value| {
                    let scores = self.validation.scores(|one| one.metric == metric && one.key(by) == value).into();
                    Part { metric: metric.name(), by: by.name(), value, scores }
                }));
            }
        }
        parts
    }

    fn rows(self) -> String {
        let mut table = vec![["id", "predicted", "measured", "error"].map(str::to_owned).to_vec()];
        table.extend(self.validation.residuals.iter().map(|one| {
            let amount = |value: f64| match one.metric {
                Metric::StepTime => Seconds::new(value).to_string(),
                Metric::Memory => Bytes::new(value).to_string(),
            };
            vec![one.id.clone(), amount(one.predicted), amount(one.measured), signed(one.error())]
        }));
        aligned(&table)
    }

    /// The scores of a metric, in all and by key; the worst groups under them.
    fn scores(self, metric: Metric) -> String {
        let Some(all) = self.metric(metric) else { return String::new() };
        let title = match metric {
            Metric::StepTime => "step time",
            Metric::Memory => "peak memory",
        };
        let mut table = vec![
            [title, "rows", "groups", "mean", "median", "p90", "bias", "null", "skill"].map(str::to_owned).to_vec(),
            line("in all", &all),
        ];
        if metric == Metric::Memory {
            let readings = [("allocator's peak", false), ("nvidia-smi", true)];
            table.extend(readings.iter().filter_map(|(name, device)| Some(line(name, &self.memory(*device)?))));
        }
        for by in [ScoreKey::Stack, ScoreKey::Hardware, ScoreKey::Class] {
            table.push(std::iter::once(format!("by {}", by.name())).chain(vec![String::new(); 8]).collect());
            for value in self.validation.values(metric, by) {
                let scores = self.validation.scores(|one| one.metric == metric && one.key(by) == value);
                table.extend(scores.map(|scores| line(&format!("  {value}"), &scores)));
                if by == ScoreKey::Stack {
                    table.extend(self.reaches(metric, value));
                }
            }
        }
        aligned(&table) + &self.worst(metric)
    }

    /// A stack's runs on one node and on several, where it has both.
    fn reaches(self, metric: Metric, stack: &str) -> Vec<Vec<String>> {
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
        let mut table =
            vec![head.map(str::to_owned).to_vec(), under.map(str::to_owned).to_vec(), ordered("in all", &all)];
        for stack in self.validation.values(Metric::StepTime, ScoreKey::Stack) {
            let reaches = [false, true]
                .map(|across| self.validation.ranking_of(|one| one.stack == stack && one.across == across));
            let names = [format!("  {stack} on one node"), format!("  {stack} on several")];
            let told = reaches.iter().zip(&names).filter(|(ranking, _)| ranking.pairs[0].pairs > 0);
            table.extend(told.map(|(ranking, name)| ordered(name, ranking)));
        }
        aligned(&table)
    }

    fn assumed(self) -> String {
        let line = |(one, rows): (&crate::measured::Assumed, &usize)| {
            format!("  {} = {} in {rows} rows: {}\n", one.column, one.value, one.why)
        };
        let lines: String = self.validation.assumed.iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("assumed where a cell is blank\n{lines}") }
    }
}

/// The rows that have no prediction, as JSON has them.
pub(super) fn skipped_records(skipped: &[Skipped]) -> Vec<SkippedRecord<'_>> {
    skipped.iter().map(|Skipped { id, why }| SkippedRecord { id, why }).collect()
}

/// The rows that have no prediction, for people; nothing if there are none.
pub(super) fn skipped(skipped: &[Skipped]) -> String {
    let line = |Skipped { id, why }: &Skipped| format!("  {id}: {why}\n");
    let lines: String = skipped.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("skipped\n{lines}") }
}

pub(super) fn line(name: &str, scores: &Scores) -> Vec<String> {
    vec![
        name.to_owned(),
        scores.rows.to_string(),
        scores.groups.to_string(),
        percent(scores.mean),
        percent(scores.median),
        percent(scores.p90),
        signed(scores.bias),
        percent(scores.null_mean),
        format!("{:.1}", scores.skill()),
    ]
}

fn ordered(name: &str, ranking: &Ranking) -> Vec<String> {
    let Ranking { pairs: [near, far], choices, slowdown_mean, slowdown_worst } = ranking;
    let right = |pairs: &Pairs| if pairs.pairs > 0 { percent(pairs.right) } else { String::new() };
    let (mean, worst) = (percent(*slowdown_mean), percent(*slowdown_worst));
    let counts = [near.pairs, far.pairs, *choices].map(|count| count.to_string());
    let [near_pairs, far_pairs, choices] = counts;
    vec![name.to_owned(), near_pairs, right(near), far_pairs, right(far), choices, mean, worst]
}

fn signed(value: f64) -> String {
    format!("{:+.1} %", 100.0 * value)
}
