//! The worth of a few runs of one's own: each set of one software, machine and number format is left out of the fit,
//! then one of its groups, or three, are given back as a user's own rows. Not for the fits themselves ([`super::fit`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::measured::Metric;
use shardscope_engine::stack::ConstantValues;

use super::fit::{self, KnownSlopes};
use super::holdout;
use super::model::FitModel;
use super::posterior::{self, UnseenSource};
use super::prior::{FitPrior, Prior};

/// Groups that a set has at least: with fewer, three of them would leave too little to be judged.
const LEAST_GROUPS: usize = 5;

/// Choices of own rows that are tried, whose mean counts.
const CHOICES: usize = 6;

/// A set of rows of one software, machine and number format, which the fit had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnSet {
    /// Software, machine and number format.
    pub name: String,
    /// How many groups of near-duplicates it has.
    pub groups: usize,
    /// Mean error, over groups, without any row of the set.
    pub none: f64,
    /// Errors of the rest of the set with one of its rows as one's own.
    pub one: OwnRowsEffect,
    /// Errors of the rest of the set with three rows as one's own, each of another group.
    pub three: OwnRowsEffect,
}

/// Errors of the rest of a set without and with own rows: means over choices of those rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnRowsEffect {
    /// How far off the rest is without them.
    pub before: f64,
    /// How far off it is with them.
    pub after: f64,
}

impl OwnRowsEffect {
    /// Less than a tenth of a point is no difference.
    const NO_DIFFERENCE: f64 = 1e-3;

    /// Whether one would be better off without them.
    pub fn is_worse(self) -> bool {
        self.after > self.before + Self::NO_DIFFERENCE
    }
}

/// The sets that are large enough, each without the rows of its own in the constants, nor its source in their spread.
pub(super) fn sets(
    model: &FitModel<'_>,
    scratch: &FitPrior,
    known: &KnownSlopes,
    sources: &[UnseenSource],
) -> Vec<OwnSet> {
    let mut sets: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
    for row in (0..model.len()).filter(|row| model.metric(*row) == Metric::StepTime) {
        let (case, scenario) = (model.case(row), model.case(row).scenario());
        let name = format!("{}, {}, {}", scenario.stack.id, scenario.cluster.id, scenario.plan.precision.word());
        sets.entry(name).or_default().entry(case.row.group()).or_default().push(row);
    }
    sets.retain(|_, groups| groups.len() >= LEAST_GROUPS);
    let set = |(name, groups): (String, BTreeMap<String, Vec<usize>>)| {
        let groups: Vec<Vec<usize>> = groups.into_values().collect();
        let own: BTreeSet<usize> = groups.iter().flatten().copied().collect();
        let names: BTreeSet<String> = own.iter().map(|row| model.case(*row).row.group()).collect();
        let related = |row: usize| names.contains(&model.case(row).row.group());
        let solution = holdout::without(model, scratch, known, related);
        // A source that shares rows with the set would tell the spread what the set says itself.
        let others = sources.iter().filter(|source| source.rows.is_disjoint(&own));
        let rest = known.restricted(scratch, |row| !related(row));
        let shipped = posterior::posterior(model, &rest, others);
        let mut calibration = solution.calibration();
        calibration.posterior = Some(shipped);
        let prior = FitPrior::new(Prior::Shipped, &calibration);
        let (model, values) = (&solution.model, &solution.values);
        let alike = model.unweighted();
        let given = |count: usize| {
            let choices = CHOICES.min(groups.len());
            let choice = |choice: usize| {
                // Choices are spread evenly over the groups, the same on every run: no luck is involved, and none can
                // be chosen.
                let place =
                    |part: usize| (choice * groups.len() / choices + part * groups.len() / count) % groups.len();
                let places: BTreeSet<usize> = (0..count).map(place).collect();
                let rows = places.iter().filter_map(|place| groups[*place].first().copied()).collect();
                let told = fit::solve(&alike, &prior, KnownSlopes::at(&alike, rows, values.clone())).values;
                let rest = || groups.iter().enumerate().filter(|(place, _)| !places.contains(place));
                [values, &told].map(|values| error(model, values, rest().map(|(_, rows)| rows)))
            };
            let tried: Vec<[f64; 2]> = (0..choices).map(choice).collect();
            let mean = |of: usize| tried.iter().map(|errors| errors[of]).sum::<f64>() / choices as f64;
            OwnRowsEffect { before: mean(0), after: mean(1) }
        };
        OwnSet { name, groups: groups.len(), none: error(model, values, groups.iter()), one: given(1), three: given(3) }
    };
    sets.into_iter().map(set).collect()
}

/// Mean error over groups, of the predicted over the measured less 1.
fn error<'a>(model: &FitModel<'_>, values: &ConstantValues, groups: impl Iterator<Item = &'a Vec<usize>>) -> f64 {
    let groups: Vec<&Vec<usize>> = groups.collect();
    let of_group = |rows: &Vec<usize>| {
        let logs = model.logs(values, rows);
        let errors = rows.iter().zip(logs).map(|(row, log)| libm::expm1(log - model.measured[*row]).abs());
        errors.sum::<f64>() / rows.len() as f64
    };
    groups.iter().map(|rows| of_group(rows)).sum::<f64>() / groups.len() as f64
}
