//! A calibration's fit as text and as JSON.

use serde_json::{Value, json};

use shardscope_evidence::calibrate::{
    self, AccuracyBar, ConstantWorth, Coverage, Fitted, FittedConstant, FittedStack, FittedStacks, HoldOut,
    HoldOutReason, Identifiability, JudgedBar, JudgedFigure, NOMINAL_COVERAGE, Nested, NestedFold, NestedScores,
    OwnRowsEffect, OwnSet,
};
use shardscope_evidence::measured::{Estimate, Metric, Scores, Skipped, Validation};

use super::ValidateReport;
use super::validate::{line, scored, scores_table, skipped, skipped_records};
use crate::figures::table::{Table, TableCell, joined, pretty};
use shardscope_engine::units::percent;

/// A fit and what to say of it.
#[derive(Debug, Clone, Copy)]
pub struct CalibrateReport<'a> {
    pub fitted: &'a Fitted,
    /// Rows that took no part.
    pub skipped: &'a [Skipped],
}

impl CalibrateReport<'_> {
    pub fn json(self) -> String {
        let fitted = self.fitted;
        let crossed = ValidateReport { validation: &fitted.crossed };
        let of = |validation| ValidateReport { validation }.in_all();
        let left_out = fitted.left_out.iter().map(|HoldOut { name, scores, seen, .. }| {
            let scores = joined(json!({"left_out": name}), scored(Some(*scores)));
            joined(scores, json!({"mean_when_fitted": seen.mean}))
        });
        pretty(&json!({
            "format": super::FORMAT,
            "constants": fitted.constants.iter().map(constant).collect::<Vec<_>>(),
            "stacks": {"spread": fitted.stacks.spread, "factors": fitted.stacks.factors.iter().map(stack).collect::<Vec<_>>()},
            "skipped": skipped_records(self.skipped),
            "before": of(&fitted.before),
            "after": of(&fitted.after),
            "cross_validated": {"rows": crossed.records(), "summary": crossed.in_all(), "by": crossed.parts()},
            "left_out": left_out.collect::<Vec<_>>(),
            "nested": fitted.nested.as_ref().map(|nested| self.nested_record(nested)),
            "own": fitted.own.iter().map(own).collect::<Vec<_>>(),
            "error_bands": {
                "wanted": NOMINAL_COVERAGE,
                "coverage": fitted.coverage.iter().map(covered).collect::<Vec<_>>(),
                "bands": fitted.calibration.bands,
            },
            "bars": bar_records(&calibrate::judge(fitted)),
        }))
    }

    /// For people: how far off before and after, on unseen rows, and each constant.
    pub fn text(self) -> String {
        let crossed = ValidateReport { validation: &self.fitted.crossed }.summary();
        let parts = [
            self.overview(),
            self.fitted
                .nested
                .as_ref()
                .map_or_else(String::new, |nested| self.nested(nested) + "\n" + &verdicts(nested)),
            self.own(),
            self.constants(),
            self.stacks(),
            self.bands(),
            bars_text(&calibrate::judge(self.fitted)),
            format!("each group predicted by constants fitted without it\n\n{crossed}"),
            skipped(self.skipped),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn overview(self) -> String {
        let mut table = scores_table("");
        for (name, validation) in self.validations() {
            table.extend(ValidateReport { validation }.metric(Metric::StepTime).map(|scores| line(name, &scores)));
        }
        for HoldOut { name, scores, seen, .. } in &self.fitted.left_out {
            table.push(line(&format!("without {name}"), scores));
            table.push(line("  seen", seen));
        }
        format!("step time\n{}{}", table.text(), self.memory())
    }

    fn validations(&self) -> [(&'static str, &Validation); 3] {
        let Fitted { before, after, crossed, .. } = self.fitted;
        [("before", before), ("fitted", after), ("cross-validated by group", crossed)]
    }

    fn memory(self) -> String {
        let mut table = scores_table("");
        for (device, reader) in [(false, "allocator's"), (true, "nvidia-smi")] {
            for (name, validation) in self.validations() {
                let scores = ValidateReport { validation }.memory(device);
                table.extend(scores.map(|scores| line(&format!("{reader} {name}"), &scores)));
            }
        }
        if table.is_empty() { String::new() } else { format!("\npeak memory\n{}", table.text()) }
    }

    /// Scores of step time by ordinary cross-validation: of groups, and of sources left out whole.
    fn ordinary(self) -> [Option<Estimate>; 2] {
        let crossed = self.fitted.crossed.scores(|one| one.metric == Metric::StepTime);
        let sources = self.fitted.left_out.iter().filter(|left| left.why == HoldOutReason::Source);
        let sources: Vec<f64> = sources.map(|left| left.scores.mean).collect();
        let groups = crossed.map(|scores| Estimate { mean: scores.mean, standard_error: scores.standard_error });
        [groups, (!sources.is_empty()).then(|| Estimate::of(&sources))]
    }

    fn nested(self, Nested { by_group, by_source, .. }: &Nested) -> String {
        let mut table = Table::headed(["", "groups", "mean", "+-", "p90", "prior", "usual values kept"]);
        let blank = TableCell::default;
        let scored = |name: &str, scores: &Scores| {
            let Scores { groups, mean, standard_error, p90, .. } = *scores;
            let shares = [mean, standard_error, p90].map(TableCell::percent);
            let head = [TableCell::word(name), TableCell::count(groups)];
            head.into_iter().chain(shares).collect::<Vec<_>>()
        };
        let [groups, sources] = self.ordinary();
        let parts = [("groups", by_group, groups), ("sources, each counting alike", by_source, sources)];
        for (name, NestedScores { folds, step_time, memory }, ordinary) in parts {
            for NestedFold { name, step_time, weight, held, .. } in folds {
                let Some(scores) = step_time else { continue };
                let mut cells = scored(&format!("without {name}"), scores);
                cells.extend([TableCell::word(weight.to_string()), TableCell::count(held.len())]);
                table.push(cells);
            }
            for (metric, scores) in [("", step_time), (", peak memory", memory)] {
                let all = scores.as_ref().map(|scores| scored(&format!("all {name}{metric}"), scores));
                table.extend(all.map(|cells| cells.into_iter().chain([blank(), blank()]).collect()));
            }
            let ordinary = ordinary.map(|Estimate { mean, standard_error }| {
                let shares = [mean, standard_error].map(TableCell::percent);
                let head = [TableCell::word("  cross-validated"), blank()];
                head.into_iter().chain(shares).chain([blank(), blank(), blank()]).collect()
            });
            table.extend(ordinary);
        }
        format!("nested: constants and the prior's weight chosen without the rows that are scored\n{}", table.text())
    }

    fn nested_record(self, Nested { by_group, by_source, verdicts }: &Nested) -> Value {
        let scores = |scores: &Option<Scores>| {
            let error = scores.map(|scores| scores.standard_error);
            joined(scored(*scores), json!({"standard_error": error}))
        };
        let folds = |NestedScores { folds, step_time, memory }: &NestedScores, ordinary: Option<Estimate>| {
            let fold = |NestedFold { name, step_time, memory, weight, held }: &NestedFold| {
                json!({
                    "left_out": name, "step_time": scores(step_time), "memory": scores(memory), "prior_weight": weight,
                    "usual": held.iter().map(|constant| constant.name).collect::<Vec<_>>(),
                })
            };
            json!({
                "folds": folds.iter().map(fold).collect::<Vec<_>>(),
                "step_time": scores(step_time), "memory": scores(memory), "cross_validated": ordinary.map(estimate),
            })
        };
        let verdict = |verdict: &ConstantWorth| {
            let ConstantWorth { constant, groups, with, without, by_group, by_source } = verdict;
            json!({
                "name": constant.name, "groups": groups, "mean_with": with, "mean_without": without,
                "difference": estimate(*by_group), "difference_by_source": estimate(*by_source),
                "stays": verdict.stays(),
            })
        };
        let [groups, sources] = self.ordinary();
        json!({
            "by_group": folds(by_group, groups),
            "by_source": folds(by_source, sources),
            "constants": verdicts.iter().map(verdict).collect::<Vec<_>>(),
        })
    }

    fn own(self) -> String {
        if self.fitted.own.is_empty() {
            return String::new();
        }
        let row = |OwnSet { name, groups, none, one, three }: &OwnSet| {
            let errors = [*none, one.before, one.after, three.before, three.after].map(TableCell::percent);
            let worse = [one, three].into_iter().any(|own| own.is_worse());
            let head = [TableCell::word(name.clone()), TableCell::count(*groups)];
            let mark = TableCell::word(if worse { "worse" } else { "" });
            head.into_iter().chain(errors).chain([mark]).collect()
        };
        let names = ["", "groups", "no own row", "rest of one", "with it", "rest of three", "with them", ""];
        let mut table = Table::headed(names);
        table.extend(self.fitted.own.iter().map(row));
        table.push(row(&mean(&self.fitted.own)));
        format!("held-out sets, with a few of their rows given back as one's own\n{}", table.text())
    }

    fn bands(self) -> String {
        let row = |Coverage { by: (by, value), groups, rows, held, width }: &Coverage| {
            let name = TableCell::word(format!("{by} {value}").trim_end());
            let width = TableCell::word(format!("+-{}", percent(*width)));
            vec![name, TableCell::count(*rows), TableCell::count(*groups), TableCell::percent(*held), width]
        };
        let mut table = Table::headed(["", "rows", "groups", "held", "mean width"]);
        table.extend(self.fitted.coverage.iter().map(row));
        let wanted = 100.0 * NOMINAL_COVERAGE;
        format!("rows within their {wanted} % band, which knows nothing of their group\n{}", table.text())
    }

    fn constants(self) -> String {
        let names = ["constant", "value", "before", "least", "most", "error", "groups", ""];
        let rows = self.fitted.constants.iter().map(|found| {
            let FittedConstant { constant, before, value, error, groups, determined, .. } = found;
            let number = four_digits;
            let name = if constant.unit.is_empty() {
                constant.name.to_owned()
            } else {
                format!("{}, {}", constant.name, constant.unit)
            };
            let error = error.map_or_else(String::new, number);
            let values = [*value, *before, constant.low, constant.high].map(number);
            let [value, before, low, high] = values;
            vec![name, value, before, low, high, error, groups.to_string(), determined.into_str().to_owned()]
        });
        let table = Table::of_texts(&names, rows);
        let count =
            |wanted: Identifiability| self.fitted.constants.iter().filter(|found| found.determined == wanted).count();
        let (bound, without) = (count(Identifiability::AtBound), count(Identifiability::Without));
        let all = self.fitted.constants.len();
        format!("{}{all} constants: {bound} at a bound, {without} without evidence\n", table.text())
    }

    fn stacks(self) -> String {
        let FittedStacks { factors, spread } = &self.fitted.stacks;
        if factors.is_empty() {
            return String::new();
        }
        let rows = factors.iter().map(|FittedStack { id, factor, error, groups }| {
            vec![id.clone(), four_digits(*factor), four_digits(*error), groups.to_string()]
        });
        let table = Table::of_texts(&["rate of kernels of", "factor", "error", "groups"], rows);
        format!("{}stacks differ by {} (standard deviation)\n", table.text(), percent(*spread))
    }
}

fn estimate(Estimate { mean, standard_error }: Estimate) -> Value {
    json!({"mean": mean, "standard_error": standard_error})
}

/// Whether each constant stays.
fn verdicts(Nested { verdicts, .. }: &Nested) -> String {
    let head = ["constant", "groups", "with", "without", "more", "+-", "sources, more", "+-", ""];
    let rows = verdicts.iter().map(|verdict| {
        let ConstantWorth { constant, groups, with, without, by_group, by_source } = verdict;
        let points = |share: f64| if share.is_finite() { format!("{:+.2}", 100.0 * share) } else { String::new() };
        let mut cells = vec![constant.name.to_owned(), groups.to_string(), percent(*with), percent(*without)];
        for Estimate { mean, standard_error } in [by_group, by_source] {
            cells.extend([points(*mean), points(*standard_error).replace('+', "")]);
        }
        cells.push(if verdict.stays() { "stays" } else { "goes" }.to_owned());
        cells
    });
    let table = Table::of_texts(&head, rows);
    format!(
        "nested errors with each constant and with its usual value, differences in points, the youngest first\n{}",
        table.text()
    )
}

/// The mean over sets.
fn mean(sets: &[OwnSet]) -> OwnSet {
    let mean = |of: &dyn Fn(&OwnSet) -> f64| sets.iter().map(of).sum::<f64>() / sets.len() as f64;
    let with = |of: fn(&OwnSet) -> OwnRowsEffect| OwnRowsEffect {
        before: mean(&|set| of(set).before),
        after: mean(&|set| of(set).after),
    };
    OwnSet {
        name: "mean".to_owned(),
        groups: sets.iter().map(|set| set.groups).sum(),
        none: mean(&|set| set.none),
        one: with(|set| set.one),
        three: with(|set| set.three),
    }
}

fn own(OwnSet { name, groups, none, one, three }: &OwnSet) -> Value {
    json!({
        "set": name, "groups": groups, "mean_with_none": none,
        "mean_without_one": one.before, "mean_with_one": one.after,
        "mean_without_three": three.before, "mean_with_three": three.after,
    })
}

fn covered(Coverage { by: (by, value), groups, rows, held, width }: &Coverage) -> Value {
    json!({"by": by, "value": value, "rows": rows, "groups": groups, "held": held, "mean_width": width})
}

fn constant(found: &FittedConstant) -> Value {
    let FittedConstant { constant, before, value, error, determined, groups, stacks } = found;
    json!({
        "name": constant.name,
        "meaning": constant.meaning,
        "unit": constant.unit,
        "path": constant.place.paths().join(" "),
        "before": before,
        "value": value,
        "low": constant.low,
        "high": constant.high,
        "standard_error": error,
        "groups": groups,
        "stacks": stacks,
        "determined": determined.into_str(),
    })
}

fn stack(FittedStack { id, factor, error, groups }: &FittedStack) -> Value {
    json!({"id": id, "factor": factor, "standard_error": error, "groups": groups})
}

/// Four digits at most, in the notation that is shorter.
fn four_digits(value: f64) -> String {
    let plain = format!("{}", format!("{value:.3e}").parse::<f64>().unwrap_or(value));
    if plain.len() <= 8 { plain } else { format!("{value:.3e}") }
}

/// Bars as JSON; the bar of what is only reported is `null`, and so is whether it is met.
fn bar_records(judged: &[JudgedBar]) -> Vec<Value> {
    let record = |one: &JudgedBar| {
        let JudgedBar { bar: AccuracyBar { set, figure, .. }, count, value, null: null_mean } = one;
        let (figure, bar, met) = (figure.into_str(), one.bar.limit(), one.met());
        json!({
            "set": set, "figure": figure, "count": count, "value": value, "bar": bar, "null_mean": null_mean, "met": met,
        })
    };
    judged.iter().map(record).collect()
}

/// Bars as a table: each set with what was found, its bar, and whether it holds.
fn bars_text(judged: &[JudgedBar]) -> String {
    let head = ["bar", "figure", "count", "found", "wanted", "", "null"];
    let rows = judged.iter().map(|one| {
        let JudgedBar { bar: AccuracyBar { set, figure, most, least, .. }, count, value, null } = one;
        let amount = |value: f64| match figure {
            JudgedFigure::Skill => format!("{value:.1}"),
            JudgedFigure::Worse => value.to_string(),
            _ => percent(value),
        };
        let wanted = match (most, least) {
            (Some(most), _) => format!("<= {}", amount(*most)),
            (None, Some(least)) => format!(">= {}", amount(*least)),
            (None, None) => String::new(),
        };
        let verdict = one.met().map_or("", |met| if met { "met" } else { "missed" }).to_owned();
        let worse = null.is_some_and(|null| null < *value);
        let null = null.map_or_else(String::new, |null| amount(null) + if worse { ", better" } else { "" });
        vec![set.clone(), figure.into_str().to_owned(), count.to_string(), amount(*value), wanted, verdict, null]
    });
    if judged.is_empty() {
        return String::new();
    }
    let table = Table::of_texts(&head, rows);
    let verdicts: Vec<bool> = judged.iter().filter_map(JudgedBar::met).collect();
    let missed = verdicts.iter().filter(|met| !**met).count();
    format!(
        "bars set for the published rows, each row held out with its group unless stated\n{}{missed} of {} missed\n",
        table.text(),
        verdicts.len()
    )
}
