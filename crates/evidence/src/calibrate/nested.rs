//! Nested cross-validation: everything that rows choose is chosen without the rows that are scored. Cross-validation refits
//! the values of the constants alone; which constants there are, and how tightly they are held, was chosen by people who
//! had seen all rows, and here each outer fold chooses both again.
//!
//! Bounds are published or physical, and figures that no fit moves were set by hand: neither is chosen again.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::zip;

use crate::measured::{Estimate, Metric, ScoredError, Scores};
use shardscope_engine::stack::constants::Constant;
use shardscope_engine::stack::{ConstantId, ConstantValues};

use super::fit::KnownSlopes;
use super::holdout::{self, FOLDS, source_of};
use super::linear::{LinearFit, LinearModel};
use super::model::FitModel;
use super::prior::{self, FROM_SCRATCH, FitPrior};

/// Weights of the prior that a fold chooses among.
const WEIGHTS: [f64; 3] = [FROM_SCRATCH / 2.0, FROM_SCRATCH, FROM_SCRATCH * 2.0];

/// Constants whose order is known, the youngest first; all others are older.
const YOUNGEST_FIRST: [&str; 4] = ["matmul-blackwell", "matmul-fp8-blackwell", "matmul-cdna2", "flash-backward"];

/// Scores of the nested folds, and what each constant is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Nested {
    /// Groups in five parts by a hash of their names.
    pub by_group: NestedScores,
    /// A source at a time; the standard error of all is over sources.
    pub by_source: NestedScores,
    /// In the order in which they are judged, each beside those that are left.
    pub verdicts: Vec<ConstantWorth>,
}

/// Outer folds and all of them together.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedScores {
    pub folds: Vec<NestedFold>,
    /// Step times.
    pub step_time: Option<Scores>,
    /// Peaks of memory.
    pub memory: Option<Scores>,
}

/// Rows that no part of a fit has seen.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedFold {
    pub name: String,
    /// Step times.
    pub step_time: Option<Scores>,
    /// Peaks of memory.
    pub memory: Option<Scores>,
    /// The weight of the prior that the other rows chose.
    pub weight: f64,
    /// Constants without which the other rows are predicted as well: they stay at their usual values.
    pub held: Vec<&'static Constant>,
}

/// The worth of a constant: nested errors with it and with its usual value in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstantWorth {
    pub constant: &'static Constant,
    /// Groups of the metric that it changes.
    pub groups: usize,
    /// Mean error over groups with it.
    pub with: f64,
    /// Mean error over groups without it, the others fitted again.
    pub without: f64,
    /// By how much the error of a group is larger without it.
    pub by_group: Estimate,
    /// By how much the error of a source is larger without it.
    pub by_source: Estimate,
}

impl ConstantWorth {
    /// Whether it stays: it lowers the error of groups by more than the standard error of that difference, and does not
    /// raise that of sources by more than theirs.
    pub fn stays(&self) -> bool {
        let Self { by_group, by_source, .. } = self;
        by_group.mean > by_group.standard_error
            && (by_source.mean >= -by_source.standard_error || by_source.mean.is_nan())
    }
}

/// A row that was left out.
struct LeftOutRow {
    metric: Metric,
    group: String,
    /// Predicted over measured, less 1.
    error: f64,
}

/// Rows that are left out, and the fit that the rest of the rows chose.
struct OuterFold<'a> {
    /// All rows with the factors of stacks that the rest tells.
    model: FitModel<'a>,
    name: String,
    out: Vec<usize>,
    rest: Vec<usize>,
    /// All rows around the fit to the rest with all constants.
    line: LinearModel,
    chosen: LinearFit,
}

/// Nested cross-validation of all rows, whose solution is `known`; `None` where their groups all fall into one fold. Calls
/// `begins` for each outer fold.
pub(super) fn nested(
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    begins: &dyn Fn(&str),
) -> Option<Nested> {
    let folds = |name_of: &dyn Fn(usize) -> String| -> Vec<OuterFold<'_>> {
        let names: BTreeSet<String> = (0..model.len()).map(name_of).collect();
        let fold = |name: String| {
            begins(&format!("nested: without {name}"));
            let out = (0..model.len()).filter(|row| name_of(*row) == name).collect();
            OuterFold::new(model, prior, known, name, out)
        };
        names.into_iter().filter_map(fold).collect()
    };
    let of_groups = folds(&|row| format!("fold {}", fold(model, row, 0) + 1));
    let of_sources = folds(&|row| source_of(model, row));
    let none = of_groups.is_empty();
    begins("nested: with and without each constant");
    let verdicts = verdicts(&of_groups, &of_sources);
    let by_group = NestedScores::new(&of_groups, |folds, metric| scores(folds.iter().flatten(), metric));
    let by_source = NestedScores::new(&of_sources, |folds, metric| {
        let means =
            zip(0_usize.., means_of_folds(folds, metric)).map(|(at, mean)| (at.to_string(), mean)).collect::<Vec<_>>();
        Scores::new(means.iter().map(|(group, error)| ScoredError { group, error: *error, null: f64::NAN }))
    });
    (!none).then_some(Nested { by_group, by_source, verdicts })
}

impl NestedScores {
    /// Scores each fold by the constants that the rest chose, and all of them by `overall`.
    fn new(folds: &[OuterFold<'_>], overall: impl Fn(&[Vec<LeftOutRow>], Metric) -> Option<Scores>) -> Self {
        let missed: Vec<Vec<LeftOutRow>> = folds.iter().map(OuterFold::missed).collect();
        let fold = |(fold, missed): (&OuterFold<'_>, &Vec<LeftOutRow>)| NestedFold {
            name: fold.name.clone(),
            step_time: scores(missed, Metric::StepTime),
            memory: scores(missed, Metric::Memory),
            weight: fold.chosen.weight,
            held: fold.chosen.held.difference(&prior::never_fitted()).map(|id| id.constant()).collect(),
        };
        Self {
            folds: zip(folds, &missed).map(fold).collect(),
            step_time: overall(&missed, Metric::StepTime),
            memory: overall(&missed, Metric::Memory),
        }
    }
}

impl<'a> OuterFold<'a> {
    /// Fits and chooses by all rows that share no group with those left out; `None` if there are none.
    fn new(model: &FitModel<'a>, prior: &FitPrior, known: &KnownSlopes, name: String, out: Vec<usize>) -> Option<Self> {
        let group = |row: usize| model.case(row).row.group();
        let groups: BTreeSet<String> = out.iter().map(|row| group(*row)).collect();
        let rest: Vec<usize> = (0..model.len()).filter(|row| !groups.contains(&group(*row))).collect();
        if rest.is_empty() {
            return None;
        }
        let solution = holdout::without(model, prior, known, |row| groups.contains(&group(row)));
        let chosen = LinearFit { weight: FROM_SCRATCH, held: prior::never_fitted() };
        let line = LinearModel::new(&solution);
        let mut fold = Self { line, model: solution.model, name, out, rest, chosen };
        fold.choose_weight();
        fold.choose_constants();
        Some(fold)
    }

    /// The metric that a constant changes; none changes both.
    fn metric(&self, id: ConstantId) -> Option<Metric> {
        self.line.first_that_depends(id).map(|row| self.model.metric(row))
    }

    /// The weight with the smallest error inside the rest.
    fn choose_weight(&mut self) {
        let error = |weight: &f64| {
            let missed = self.missed_inside(&LinearFit { weight: *weight, ..self.chosen.clone() });
            scores(&missed, Metric::StepTime).map_or(f64::INFINITY, |scores| scores.mean)
        };
        let best = WEIGHTS.into_iter().min_by(|one, other| error(one).total_cmp(&error(other)));
        self.chosen.weight = best.unwrap_or(FROM_SCRATCH);
    }

    /// The constants that lower the error inside the rest by more than the standard error of that difference.
    fn choose_constants(&mut self) {
        let mut with = self.missed_inside(&self.chosen);
        for id in youngest_first() {
            let Some(metric) = self.metric(id) else { continue };
            let fewer = self.chosen.without(id);
            let without = self.missed_inside(&fewer);
            let worth = difference(&means(&with, metric), &means(&without, metric));
            if worth.mean <= worth.standard_error {
                (self.chosen, with) = (fewer, without);
            }
        }
    }

    /// The rest, each row predicted without its fold inside the rest, which is not the fold that outer folds are made by.
    fn missed_inside(&self, asked: &LinearFit) -> Vec<LeftOutRow> {
        let missed = |number: usize| {
            let of_fold = |row: &usize| fold(&self.model, *row, 1) == number;
            let (out, rest): (Vec<usize>, Vec<usize>) = self.rest.iter().partition(|row| of_fold(row));
            self.missed_by(asked, &rest, &out)
        };
        (0..FOLDS).flat_map(missed).collect()
    }

    /// Some rows by a linear fit to others.
    fn missed_by(&self, asked: &LinearFit, rest: &[usize], out: &[usize]) -> Vec<LeftOutRow> {
        let values = self.line.solve(rest, asked);
        missed(&self.model, out, out.iter().map(|row| self.line.error(*row, &values)))
    }

    /// The rows left out, predicted with the constants that were chosen.
    fn missed(&self) -> Vec<LeftOutRow> {
        let shares = self.line.solve(&self.rest, &self.chosen);
        let value = |id: ConstantId| id.constant().low + id.constant().range() * shares[id.index()];
        let mut model = self.model.clone();
        model.stacks = self.line.factors(&shares);
        let logs = model.logs(&ConstantValues::from_fn(value), &self.out);
        missed(&self.model, &self.out, zip(&self.out, logs).map(|(row, log)| log - self.model.measured[*row]))
    }
}

impl LinearFit {
    fn without(&self, id: ConstantId) -> Self {
        let mut fewer = self.clone();
        fewer.held.insert(id);
        fewer
    }
}

/// The worth of each constant, beside those that are left when it is judged.
fn verdicts(of_groups: &[OuterFold<'_>], of_sources: &[OuterFold<'_>]) -> Vec<ConstantWorth> {
    let mut held = prior::never_fitted();
    let errors = |folds: &[OuterFold<'_>], held: &BTreeSet<ConstantId>| -> Vec<Vec<LeftOutRow>> {
        let of = |fold: &OuterFold<'_>| {
            let asked = LinearFit { weight: fold.chosen.weight, held: held.clone() };
            fold.missed_by(&asked, &fold.rest, &fold.out)
        };
        folds.iter().map(of).collect()
    };
    let both = |held: &BTreeSet<ConstantId>| [of_groups, of_sources].map(|folds| errors(folds, held));
    let mut with = both(&held);
    let mut verdicts = Vec::new();
    for id in youngest_first() {
        let Some(metric) = of_groups.iter().find_map(|fold| fold.metric(id)) else { continue };
        let mut fewer = held.clone();
        fewer.insert(id);
        let without = both(&fewer);
        let [of_groups_with, of_groups_without] = [&with, &without].map(|both| means(both[0].iter().flatten(), metric));
        let [of_sources_with, of_sources_without] = [&with, &without].map(|both| means_of_folds(&both[1], metric));
        let verdict = ConstantWorth {
            constant: id.constant(),
            groups: of_groups_with.len(),
            with: Estimate::of(&of_groups_with).mean,
            without: Estimate::of(&of_groups_without).mean,
            by_group: difference(&of_groups_with, &of_groups_without),
            by_source: difference(&of_sources_with, &of_sources_without),
        };
        if !verdict.stays() {
            (held, with) = (fewer, without);
        }
        verdicts.push(verdict);
    }
    verdicts
}

/// Constants in the order in which they are judged.
fn youngest_first() -> Vec<ConstantId> {
    let place = |id: &ConstantId| YOUNGEST_FIRST.iter().position(|name| *name == id.constant().name);
    let mut ids: Vec<ConstantId> = ConstantId::all().filter(|id| id.constant().is_fitted()).collect();
    ids.sort_by_key(|id| place(id).unwrap_or(YOUNGEST_FIRST.len()));
    ids
}

/// The fold of a row's group: a digit to the base of [`FOLDS`], the last being 0, of the hash of its name.
fn fold(model: &FitModel<'_>, row: usize, digit: u32) -> usize {
    (hash(&model.case(row).row.group()) / (FOLDS as u64).pow(digit) % FOLDS as u64) as usize
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo and Eastlake, draft-eastlake-fnv).
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn missed(model: &FitModel<'_>, rows: &[usize], errors: impl Iterator<Item = f64>) -> Vec<LeftOutRow> {
    let one = |(row, error): (&usize, f64)| LeftOutRow {
        metric: model.metric(*row),
        group: model.case(*row).row.group(),
        error: libm::expm1(error),
    };
    zip(rows, errors).map(one).collect()
}

fn scores<'a>(missed: impl IntoIterator<Item = &'a LeftOutRow>, metric: Metric) -> Option<Scores> {
    let own = missed.into_iter().filter(|one| one.metric == metric);
    Scores::new(own.map(|one| ScoredError { group: &one.group, error: one.error, null: f64::NAN }))
}

/// Mean error of each group, in the order of their names.
fn means<'a>(missed: impl IntoIterator<Item = &'a LeftOutRow>, metric: Metric) -> Vec<f64> {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in missed.into_iter().filter(|one| one.metric == metric) {
        groups.entry(&one.group).or_default().push(one.error.abs());
    }
    groups.values().map(|errors| Estimate::of(errors).mean).collect()
}

/// Mean error over groups of each fold that has rows of a metric.
fn means_of_folds(folds: &[Vec<LeftOutRow>], metric: Metric) -> Vec<f64> {
    folds
        .iter()
        .map(|missed| means(missed, metric))
        .filter(|means| !means.is_empty())
        .map(|means| Estimate::of(&means).mean)
        .collect()
}

/// By how much errors without something are larger than with it, each beside its own.
fn difference(with: &[f64], without: &[f64]) -> Estimate {
    Estimate::of(&zip(with, without).map(|(with, without)| without - with).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use shardscope_engine::stack::constants::named;

    use super::*;

    /// Test vectors of draft-eastlake-fnv, appendix C.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(
            ["", "a", "foobar"].map(hash),
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }

    #[test]
    fn every_constant_whose_order_is_known_exists() {
        assert!(YOUNGEST_FIRST.iter().all(|name| named(name).is_some()));
        assert_eq!(youngest_first().len() + prior::never_fitted().len(), ConstantId::COUNT);
    }

    /// Group a is off by (0.1 + 0.3) / 2 with a constant and by 0.3 without it, group b by 0.4 and by 0.9: differences of 0.1
    /// and 0.5, a mean of 0.3 and a standard error of sqrt(2 x 0.2^2) / 2 = 0.141.
    #[test]
    fn a_constant_is_worth_what_groups_lose_without_it() {
        let row = |group: &str, error| LeftOutRow { metric: Metric::StepTime, group: group.to_owned(), error };
        let of = |rows: &[LeftOutRow]| means(rows, Metric::StepTime);
        let with = of(&[row("a", 0.1), row("b", -0.4), row("a", -0.3)]);
        let without = of(&[row("a", 0.3), row("a", 0.3), row("b", 0.9)]);
        let by_group = difference(&with, &without);
        assert!((by_group.mean - 0.3).abs() < 1e-12 && (by_group.standard_error - 0.08_f64.sqrt() / 2.0).abs() < 1e-12);
        assert_eq!(means(&[row("a", 0.1)], Metric::Memory), []);
        let verdict = |by_group: [f64; 2], by_source: [f64; 2]| {
            let [by_group, by_source] =
                [by_group, by_source].map(|[mean, standard_error]| Estimate { mean, standard_error });
            let constant = named("micro-batch").expect("a constant");
            ConstantWorth { constant, groups: 2, with: 0.0, without: 0.0, by_group, by_source }.stays()
        };
        // More than its standard error, and no source is worse by more than theirs; no source at all is no objection.
        assert!(verdict([0.3, 0.141], [-0.1, 0.2]) && verdict([0.3, 0.141], [f64::NAN; 2]));
        assert!(!verdict([0.1, 0.141], [0.3, 0.1]) && !verdict([0.3, 0.141], [-0.3, 0.1]));
    }
}
