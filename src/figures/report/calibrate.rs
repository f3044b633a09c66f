//! A calibration's fit as text and as JSON.

use serde::Serialize;

use crate::calibrate::{self, Coverage, Determined, Fitted, FittedConstant, HELD, LeftOut};
use crate::measured::{Metric, Skipped, Validation};
use crate::stack::Band;

use super::ValidateReport;
use super::bars::{self, BarRecord};
use super::sweep::aligned;
use super::text::percent;
use super::validate::{Part, RowRecord, ScoresRecord, SkippedRecord, Summary, line, skipped, skipped_records};

/// A fit and what to say of it.
#[derive(Debug, Clone, Copy)]
pub struct CalibrateReport<'a> {
    /// What was fitted.
    pub fitted: &'a Fitted,
    /// Rows that took no part.
    pub skipped: &'a [Skipped],
}

#[derive(Debug, Serialize)]
struct ConstantRecord<'a> {
    name: &'a str,
    meaning: &'a str,
    unit: &'a str,
    path: String,
    before: f64,
    value: f64,
    low: f64,
    high: f64,
    standard_error: Option<f64>,
    groups: usize,
    stacks: &'a [String],
    determined: &'a str,
}

#[derive(Debug, Serialize)]
struct LeftOutRecord<'a> {
    left_out: &'a str,
    #[serde(flatten)]
    scores: ScoresRecord,
    mean_when_fitted: f64,
}

#[derive(Debug, Serialize)]
struct Crossed<'a> {
    rows: Vec<RowRecord<'a>>,
    summary: Summary,
    by: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
struct CoverageRecord<'a> {
    by: &'static str,
    value: &'a str,
    rows: usize,
    groups: usize,
    held: f64,
    mean_width: f64,
}

#[derive(Debug, Serialize)]
struct ErrorBands<'a> {
    wanted: f64,
    coverage: Vec<CoverageRecord<'a>>,
    bands: &'a [Band],
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    format: u32,
    constants: Vec<ConstantRecord<'a>>,
    skipped: Vec<SkippedRecord<'a>>,
    before: Summary,
    after: Summary,
    cross_validated: Crossed<'a>,
    left_out: Vec<LeftOutRecord<'a>>,
    error_bands: ErrorBands<'a>,
    bars: Vec<BarRecord>,
}

impl<'a> CalibrateReport<'a> {
    /// As JSON.
    pub fn json(self) -> Result<String, serde_json::Error> {
        let fitted = self.fitted;
        let of = |validation: &'a Validation| ValidateReport { validation };
        let left_out = fitted.left_out.iter().map(|LeftOut { name, scores, seen, .. }| LeftOutRecord {
            left_out: name,
            scores: Some(*scores).into(),
            mean_when_fitted: seen.mean,
        });
        serde_json::to_string_pretty(&Document {
            format: super::FORMAT,
            constants: fitted.constants.iter().map(constant).collect(),
            skipped: skipped_records(self.skipped),
            before: of(&fitted.before).in_all(),
            after: of(&fitted.after).in_all(),
            cross_validated: Crossed {
                rows: of(&fitted.crossed).records(),
                summary: of(&fitted.crossed).in_all(),
                by: of(&fitted.crossed).parts(),
            },
            left_out: left_out.collect(),
            error_bands: ErrorBands {
                wanted: HELD,
                coverage: fitted.coverage.iter().map(covered).collect(),
                bands: &fitted.calibration.bands,
            },
            bars: bars::records(&calibrate::judge(fitted)),
        })
    }

    /// For people: how far off before and after, on unseen rows, and each constant.
    pub fn text(self) -> String {
        let crossed = ValidateReport { validation: &self.fitted.crossed }.summary();
        let parts = [
            self.overview(),
            self.constants(),
            self.bands(),
            bars::text(&calibrate::judge(self.fitted)),
            format!("each group predicted by constants fitted without it\n\n{crossed}"),
            skipped(self.skipped),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn overview(self) -> String {
        let Fitted { before, after, crossed, left_out, .. } = self.fitted;
        let names = ["", "rows", "groups", "mean", "median", "p90", "bias", "null", "skill"];
        let mut table = vec![names.map(str::to_owned).to_vec()];
        for (name, validation) in [("before", before), ("fitted", after), ("cross-validated by group", crossed)] {
            table.extend(ValidateReport { validation }.metric(Metric::StepTime).map(|scores| line(name, &scores)));
        }
        for LeftOut { name, scores, seen, .. } in left_out {
            table.push(line(&format!("without {name}"), scores));
            table.push(line("  seen", seen));
        }
        format!("step time\n{}{}", aligned(&table), self.memory())
    }

    fn memory(self) -> String {
        let Fitted { before, after, crossed, .. } = self.fitted;
        let names = ["", "rows", "groups", "mean", "median", "p90", "bias", "null", "skill"];
        let mut table = vec![names.map(str::to_owned).to_vec()];
        for (device, reader) in [(false, "allocator's"), (true, "nvidia-smi")] {
            for (name, validation) in [("before", before), ("fitted", after), ("cross-validated by group", crossed)] {
                let scores = ValidateReport { validation }.memory(device);
                table.extend(scores.map(|scores| line(&format!("{reader} {name}"), &scores)));
            }
        }
        if table.len() == 1 { String::new() } else { format!("\npeak memory\n{}", aligned(&table)) }
    }

    fn bands(self) -> String {
        let mut table = vec![["", "rows", "groups", "held", "mean width"].map(str::to_owned).to_vec()];
        table.extend(self.fitted.coverage.iter().map(|Coverage { by: (by, value), groups, rows, held, width }| {
            let name = format!("{by} {value}").trim_end().to_owned();
            vec![name, rows.to_string(), groups.to_string(), percent(*held), format!("+-{}", percent(*width))]
        }));
        let wanted = 100.0 * HELD;
        format!("rows within their {wanted} % band, which knows nothing of their group\n{}", aligned(&table))
    }

    fn constants(self) -> String {
        let names = ["constant", "value", "before", "least", "most", "error", "groups", ""];
        let mut table = vec![names.map(str::to_owned).to_vec()];
        table.extend(self.fitted.constants.iter().map(|found| {
            let FittedConstant { constant, before, value, error, groups, determined, .. } = found;
            let number = |value: f64| short(value);
            let name = if constant.unit.is_empty() {
                constant.name.to_owned()
            } else {
                format!("{}, {}", constant.name, constant.unit)
            };
            let error = error.map_or_else(String::new, number);
            let values = [*value, *before, constant.low, constant.high].map(number);
            let [value, before, low, high] = values;
            vec![name, value, before, low, high, error, groups.to_string(), determined.name().to_owned()]
        }));
        let count =
            |wanted: Determined| self.fitted.constants.iter().filter(|found| found.determined == wanted).count();
        let (bound, without) = (count(Determined::AtBound), count(Determined::Without));
        let all = self.fitted.constants.len();
        format!("{}{all} constants: {bound} at a bound, {without} without evidence\n", aligned(&table))
    }
}

fn covered(Coverage { by: (by, value), groups, rows, held, width }: &Coverage) -> CoverageRecord<'_> {
    CoverageRecord { by, value, rows: *rows, groups: *groups, held: *held, mean_width: *width }
}

fn constant(found: &FittedConstant) -> ConstantRecord<'_> {
    let FittedConstant { constant, before, value, error, determined, groups, stacks } = found;
    ConstantRecord {
        name: constant.name,
        meaning: constant.meaning,
        unit: constant.unit,
        path: constant.place.paths().join(" "),
        before: *before,
        value: *value,
        low: constant.low,
        high: constant.high,
        standard_error: error.filter(|error| error.is_finite()),
        groups: *groups,
        stacks,
        determined: determined.name(),
    }
}

/// Four digits at most, in the notation that is shorter.
fn short(value: f64) -> String {
    let plain = format!("{}", format!("{value:.3e}").parse::<f64>().unwrap_or(value));
    if plain.len() <= 8 { plain } else { format!("{value:.3e}") }
}
