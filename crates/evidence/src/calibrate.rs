//! Fitting: the free constants of a calibration from published step times and peaks of memory, how sure they are, and
//! how far off the fit is on rows that it has not seen.
//!
//! Takes measured cases, a calibration and a function that evaluates scenarios. Not for reading rows, for threads, or
//! for the layout of a report.

mod attribution;
mod bands;
mod bars;
mod fit;
mod holdout;
mod linear;
mod matrices;
mod model;
mod nested;
mod own;
mod own_rows;
mod own_run;
mod posterior;
mod prior;
mod stacks;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::iter::zip;
use std::sync::Arc;

use strum::IntoStaticStr;

use crate::measured::{self, Case, Metric, Scores, Validation};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::stack::constants::Constant;
use shardscope_engine::stack::{Calibration, ConstantValues, Posterior};

use fit::{KnownSlopes, Solution};
pub use holdout::HoldOutReason;
use holdout::HoldOutRows;
use model::FitModel;
use posterior::UnseenSource;
use prior::FitPrior;

pub use attribution::{Attribution, Cause};
pub use bands::{Coverage, NOMINAL_COVERAGE};
pub use bars::{AccuracyBar, BARS, JudgedBar, JudgedFigure, judge};
pub use nested::{ConstantWorth, Nested, NestedFold, NestedScores};
pub use own::{OwnRowsEffect, OwnSet};
pub use own_rows::{FittedRows, Unfitted};
pub use own_run::{AttributionError, RunDiagnosis};
pub use prior::Prior;
pub use stacks::{FittedStack, FittedStacks};
pub use text::write;

/// Evaluates scenarios, and answers in their order.
pub type Evaluate<'a> = dyn Fn(&[Scenario]) -> Vec<Result<Summary, Vec<Problem>>> + 'a;

/// How well the rows determine a constant, from its standard error as a share of its range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(const_into_str)]
pub enum Identifiability {
    /// Within a twentieth of its range.
    #[strum(serialize = "well determined")]
    Well,
    /// Within a sixth.
    #[strum(serialize = "fairly determined")]
    Fairly,
    /// Hardly: other constants can compensate for it.
    #[strum(serialize = "weakly determined")]
    Weakly,
    /// It would go beyond one of its bounds.
    #[strum(serialize = "at its bound")]
    AtBound,
    /// No row depends on it: it keeps its value.
    #[strum(serialize = "without evidence")]
    Without,
}

/// A constant and what the rows say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedConstant {
    pub constant: &'static Constant,
    pub before: f64,
    pub value: f64,
    /// Its standard error; `None` at a bound and without evidence.
    pub error: Option<f64>,
    pub determined: Identifiability,
    /// Groups of rows that depend on it.
    pub groups: usize,
    pub stacks: Vec<String>,
}

/// Rows that a fit left out, predicted by constants fitted to all others.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldOut {
    /// Which they are.
    pub name: String,
    /// Why they are left out together.
    pub why: HoldOutReason,
    /// How far off they are so.
    pub scores: Scores,
    /// How far off they are when the fit has seen them.
    pub seen: Scores,
}

/// A finished fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// All constants, in the order of their table.
    pub constants: Vec<FittedConstant>,
    /// Factors of single stacks; none but of a fit from scratch.
    pub stacks: FittedStacks,
    /// The calibration with their values.
    pub calibration: Calibration,
    /// Whether it began with nothing, rather than at what rows before have told.
    pub from_scratch: bool,
    pub before: Validation,
    /// Predictions of the rows that were fitted.
    pub after: Validation,
    /// Each row predicted by constants that were fitted without its group.
    pub crossed: Validation,
    /// A source at a time, then what is larger than anything fitted.
    pub left_out: Vec<HoldOut>,
    /// Effect of a few own rows on sets that the constants have not seen; empty unless a fit from scratch asks for it.
    pub own: Vec<OwnSet>,
    /// How often the calibration's bands hold: of all rows, then by class.
    pub coverage: Vec<Coverage>,
    /// Nested cross-validation, where it is asked for and there are groups enough.
    pub nested: Option<Nested>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitOptions {
    /// Where it begins.
    pub prior: Prior,
    /// Whether a fit from scratch also tries what a few own rows are worth, and leaves out each model with experts and each
    /// machine, which takes as long as all the rest.
    pub own_sets: bool,
    /// Whether everything that rows choose is chosen again without the rows that are scored.
    pub nested: bool,
}

/// Digits that a constant is written with: more than rows can tell.
const DIGITS: i32 = 3;

/// Fits the constants of `calibration` to the step times and peaks of memory of cases; `None` if there are none. Calls
/// `begins` as each part of the work begins.
pub fn calibrate(
    cases: &[Case],
    calibration: &Calibration,
    options: FitOptions,
    evaluate: &Evaluate<'_>,
    begins: &dyn Fn(&str),
) -> Option<Fitted> {
    let with = |calibration: &Calibration| recalibrated(cases, &[Arc::new(calibration.clone())], |_| 0);
    let validate = |cases: &[Case]| measured::validate(cases, |scenarios| evaluate(scenarios));
    begins("before");
    let (base, prior, before) = (calibration, FitPrior::new(options.prior, calibration), validate(&with(calibration)));
    let model = FitModel::new(cases, calibration, &before, evaluate);
    if model.is_empty() {
        return None;
    }
    begins("fit");
    let start = ConstantValues::from_fn(|id| calibration.get(id.constant()).unwrap_or(f64::NAN));
    let all: Vec<usize> = (0..model.len()).collect();
    // The slopes at the solution serve all that follows: a fit without some rows is a few steps away from there.
    let Solution { model, stacks, values } =
        fit::solve(&model, &prior, KnownSlopes::at(&model, all.clone(), start.clone()));
    let known = KnownSlopes::at(&model, all.clone(), values);
    let mut calibration = model.calibration(&known.values);
    let after = validate(&with(&calibration));
    let constants = fit::fitted_constants(&model, &prior, &known, &start);
    begins("cross-validation by group");
    let crossed = cross_validate(cases, &model, &prior, &known, evaluate);
    begins("leaving out one source at a time");
    let (mut left_out, mut unseen, mut sources) = (HoldOuts::default(), Vec::new(), Vec::new());
    for HoldOutRows { name, why, out, related } in holdout::held_out_sets(&model, options.own_sets) {
        let solution = holdout::without(&model, &prior, &known, |row| related[row]);
        let rows: Vec<usize> = (0..model.len()).filter(|row| out[*row]).collect();
        let own: Vec<Case> = rows.iter().map(|row| model.case(*row).clone()).collect();
        let validation = |with: &Calibration| validate(&recalibrated(&own, &[Arc::new(with.clone())], |_| 0));
        let (without, with) = (validation(&solution.calibration()), validation(&calibration));
        left_out.add(name, why, &without, with);
        // Bands for stacks without rows of their own come from sources that a fit has not seen.
        if why == HoldOutReason::Source {
            sources.push(unseen_source(&solution, &known, &rows));
            unseen.push(without);
        }
    }
    let posterior = posterior::after(&model, &prior, &known, &sources);
    let shipped = uncertainties(&model, &known, &posterior, &all);
    let (missed, least_width) = (bands::unseen(cases, &crossed, &shipped), posterior::between_builds(&posterior));
    let of_sources: Vec<_> = unseen.iter().map(|validation| bands::unseen(cases, validation, &shipped)).collect();
    let unaware = |source| uncertainties_without(&model, &prior, &known, &sources, source);
    let judged: Vec<_> =
        zip(&unseen, 0..).map(|(validation, source)| bands::unseen(cases, validation, &unaware(source))).collect();
    let unseen = of_sources.concat();
    let of_groups = bands::coverage(&missed, &unseen, least_width);
    let coverage = [of_groups, bands::source_coverage(&missed, &of_sources, &judged, least_width)].concat();
    calibration.peak_half_width = bands::peak_width(&crossed).or(calibration.peak_half_width);
    calibration.posterior = Some(posterior);
    let mut own = Vec::new();
    if prior.noise.is_some() {
        // What a few rows of one's own, which are of one build, cannot say, the rows behind the prior do.
        calibration.bands = bands::bands(&missed, &[], 0.0);
        calibration.bands.extend(base.bands.iter().cloned());
    } else {
        calibration.bands = bands::bands(&missed, &unseen, least_width);
        if options.own_sets {
            begins("giving sets a few of their own rows");
            own = own::sets(&model, &prior, &known, &sources);
        }
    }
    Some(Fitted {
        constants,
        stacks,
        calibration,
        from_scratch: prior.noise.is_none(),
        before,
        after,
        crossed,
        left_out: left_out.scored(),
        own,
        coverage,
        nested: options.nested.then(|| nested::nested(&model, &prior, &known, begins)).flatten(),
    })
}

/// Predictions of rows by fits without them.
fn cross_validate(
    cases: &[Case],
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    evaluate: &Evaluate<'_>,
) -> Validation {
    // A group is left out as a whole: its rows are near-duplicates, and one of them would give the others away.
    let folds = holdout::folds(model);
    let fold = |fold| holdout::without(model, prior, known, |row| folds[row] == fold).calibration();
    let fitted: Vec<Arc<Calibration>> = (0..holdout::FOLDS).map(|number| Arc::new(fold(number))).collect();
    // Rows that the fit cannot use are predicted too: with their group's fold, else with the first.
    let of_group: BTreeMap<String, usize> =
        (0..model.len()).map(|row| (model.case(row).row.group(), folds[row])).collect();
    let place = |case: usize| of_group.get(&cases[case].row.group()).copied().unwrap_or(0);
    measured::validate(&recalibrated(cases, &fitted, place), |scenarios| evaluate(scenarios))
}

/// Predictions of rows that were left out, by constants that had not seen them and by those that had. Those of one name are
/// scored together.
#[derive(Default)]
struct HoldOuts(Vec<(String, HoldOutReason, [Validation; 2])>);

impl HoldOuts {
    fn add(&mut self, name: String, why: HoldOutReason, without: &Validation, with: Validation) {
        match self.0.last_mut().filter(|(last, ..)| *last == name) {
            Some((_, _, [before, after])) => {
                before.residuals.extend_from_slice(&without.residuals);
                after.residuals.extend(with.residuals);
            }
            None => self.0.push((name, why, [without.clone(), with])),
        }
    }

    fn scored(self) -> Vec<HoldOut> {
        let scores = |validation: &Validation| validation.scores(|one| one.metric == Metric::StepTime);
        let scored = |(name, why, [without, with]): (String, HoldOutReason, [Validation; 2])| {
            Some(HoldOut { name, why, scores: scores(&without)?, seen: scores(&with)? })
        };
        self.0.into_iter().filter_map(scored).collect()
    }
}

/// Rows of a source, with what a fit without them makes of them.
fn unseen_source(without: &Solution<'_>, known: &KnownSlopes, rows: &[usize]) -> UnseenSource {
    let Solution { model, values, .. } = without;
    let logs = model.logs(values, rows);
    let errors: Vec<f64> = rows.iter().zip(logs).map(|(row, log)| model.measured[*row] - log).collect();
    let weights: Vec<f64> = rows.iter().map(|row| model.weights[*row]).collect();
    UnseenSource::new(rows.iter().copied().collect(), &known.select(rows), &errors, &weights)
}

/// How unsure the step times of rows are by what a fit leaves open of the constants, by the rows' ids.
fn uncertainties(
    model: &FitModel<'_>,
    known: &KnownSlopes,
    posterior: &Posterior,
    rows: &[usize],
) -> BTreeMap<String, f64> {
    let slopes = known.select(rows);
    let one = |(place, row): (usize, &usize)| {
        let slopes = ConstantValues::from_fn(|id| slopes[(place, id.index())]);
        (model.case(*row).row.id(), posterior.uncertainty(&slopes))
    };
    rows.iter().enumerate().map(one).collect()
}

/// Coverage of the rows of a source, by a fit that has not seen it.
fn uncertainties_without(
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    sources: &[UnseenSource],
    source: usize,
) -> BTreeMap<String, f64> {
    let rows: Vec<usize> = sources[source].rows.iter().copied().collect();
    let groups: BTreeSet<String> = rows.iter().map(|row| model.case(*row).row.group()).collect();
    let rest = known.restricted(prior, |row| !groups.contains(&model.case(row).row.group()));
    let others = sources.iter().enumerate().filter(|(other, _)| *other != source).map(|(_, one)| one);
    uncertainties(model, known, &posterior::posterior(model, &rest, others), &rows)
}

/// The cases with other calibrations: each takes that of its place.
fn recalibrated(cases: &[Case], calibrations: &[Arc<Calibration>], place: impl Fn(usize) -> usize) -> Vec<Case> {
    let mut cases = cases.to_vec();
    for (index, case) in cases.iter_mut().enumerate() {
        let Some(calibration) = calibrations.get(place(index)) else { continue };
        case.scenarios.iter_mut().for_each(|scenario| scenario.calibration = Arc::clone(calibration));
    }
    cases
}

/// A value with [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let last = libm::floor(libm::log10(value.abs())) as i32 + 1 - DIGITS;
    // The shortest text has no binary remainder: 2.67e-3, not 2.6700000000000001e-3.
    format!("{:.0}e{last}", value / libm::pow(10.0, f64::from(last))).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
