//! Fits that leave rows out: folds of groups, whole sources, and all that is larger than what was fitted.
//!
//! Each is a fit of its own that begins at the solution of all rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::stack::Calibration;

use super::fit::{self, Known};
use super::model::Model;

/// Parts of a cross-validation.
pub(super) const FOLDS: usize = 5;

/// Devices that a fit may have seen where larger jobs are predicted.
const SMALL: u32 = 64;

/// The fold of each row: the groups of each stack are dealt in order of their names.
pub(super) fn folds(model: &Model<'_>) -> Vec<usize> {
    let key = |row: usize| {
        let row = &model.case(row).row;
        (row.text("stack").to_owned(), row.group())
    };
    let mut dealt: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(String, String)> = (0..model.len()).map(key).collect();
    groups.sort();
    for (_, group) in groups {
        let next = dealt.len();
        dealt.entry(group).or_insert(next);
    }
    (0..model.len()).map(|row| dealt[&model.case(row).row.group()] % FOLDS).collect()
}

/// Rows that are left out together.
pub(super) struct Whole {
    pub name: String,
    /// Whether they are all rows of a source.
    pub source: bool,
    pub out: Vec<bool>,
}

/// Each source by its file, and the large jobs of all: which rows to leave out.
pub(super) fn wholes(model: &Model<'_>) -> Vec<Whole> {
    let file = |row: usize| model.case(row).row.file().rsplit('/').next().unwrap_or_default().to_owned();
    let files: BTreeSet<String> = (0..model.len()).map(file).collect();
    let mut wholes: Vec<Whole> = files
        .into_iter()
        .map(|name| {
            let out = (0..model.len()).map(|row| file(row) == name).collect();
            Whole { name, source: true, out }
        })
        .collect();
    let out = (0..model.len()).map(|row| model.case(row).scenario().devices() > SMALL).collect();
    wholes.push(Whole { name: format!("more than {SMALL} devices"), source: false, out });
    wholes.retain(|Whole { out, .. }| out.iter().any(|out| *out) && !out.iter().all(|out| *out));
    wholes
}

/// The calibration that is fitted to all other rows.
pub(super) fn without(model: &Model<'_>, known: &Known, out: impl Fn(usize) -> bool) -> Calibration {
    model.calibration(&fit::solve(model, known.among(|row| !out(row))))
}
