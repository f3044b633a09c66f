//! Fits that leave rows out: folds of groups, whole sources, and all that is larger than what was fitted.
//!
//! Each is a fit of its own that starts from the solution for all rows. Not for scoring what it predicts.

use std::collections::{BTreeMap, BTreeSet};

use crate::measured::Metric;
use crate::scenario::file::printable;

use super::fit::{self, KnownSlopes};
use super::model::FitModel;
use super::prior::FitPrior;

/// Parts of a cross-validation.
pub(super) const FOLDS: usize = 5;

/// Devices that a fit may have seen where larger jobs are predicted.
const SMALL: u32 = 64;

/// The fold of each row: the groups of each stack are assigned in order of their names, those that state no step time
/// last.
pub(super) fn folds(model: &FitModel<'_>) -> Vec<usize> {
    let key = |of: usize| {
        let row = &model.case(of).row;
        (model.metric(of), row.text("stack").to_owned(), row.group())
    };
    let mut assigned: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(Metric, String, String)> = (0..model.len()).map(key).collect();
    groups.sort();
    for (.., group) in groups {
        let next = assigned.len();
        assigned.entry(group).or_insert(next);
    }
    // Assigned in the order of stacks, so that each fold has groups of every stack that has five or more.
    (0..model.len()).map(|row| assigned[&model.case(row).row.group()] % FOLDS).collect()
}

/// Rows that are left out together.
pub(super) struct LeftOutRows {
    pub name: String,
    /// Whether they are all rows of a source.
    pub source: bool,
    /// The rows that are judged: step times.
    pub out: Vec<bool>,
    /// Those that share a group with one of them, which is as good as having seen it.
    pub kin: Vec<bool>,
}

impl LeftOutRows {
    fn new(model: &FitModel<'_>, name: String, source: bool, out: impl Fn(usize) -> bool) -> Self {
        let out: Vec<bool> = (0..model.len()).map(|row| model.metric(row) == Metric::StepTime && out(row)).collect();
        let group = |row: usize| model.case(row).row.group();
        let groups: BTreeSet<String> = (0..model.len()).filter(|row| out[*row]).map(group).collect();
        let kin = (0..model.len()).map(|row| groups.contains(&group(row))).collect();
        Self { name, source, out, kin }
    }
}

/// Each source by its file, and the large jobs of all: which rows to leave out.
pub(super) fn wholes(model: &FitModel<'_>) -> Vec<LeftOutRows> {
    let file = |row: usize| printable(model.case(row).row.file().rsplit('/').next().unwrap_or_default());
    let files: BTreeSet<String> = (0..model.len()).map(file).collect();
    let source = |name: &String| LeftOutRows::new(model, name.clone(), true, |row| file(row) == *name);
    let mut wholes: Vec<LeftOutRows> = files.iter().map(source).collect();
    let large = |row| model.case(row).scenario().devices() > SMALL;
    wholes.push(LeftOutRows::new(model, format!("more than {SMALL} devices"), false, large));
    wholes.retain(|LeftOutRows { out, kin, .. }| out.contains(&true) && kin.contains(&false));
    wholes
}

/// The constants that are fitted to all other rows.
pub(super) fn without(
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    out: impl Fn(usize) -> bool,
) -> Vec<f64> {
    fit::solve(model, prior, known.among(prior, |row| !out(row)))
}
