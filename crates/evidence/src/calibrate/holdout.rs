//! Fits that leave rows out: folds of groups, whole sources, the sizes of an architecture of one source, models with experts
//! and machines one at a time, and all that is larger than what was fitted.
//!
//! Each is a fit of its own that starts from the solution for all rows. Not for scoring what it predicts.

use std::collections::{BTreeMap, BTreeSet};

use crate::measured::{Metric, who};
use shardscope_engine::scenario::file::printable;

use super::fit::{self, KnownSlopes, Solution};
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

/// Why rows are left out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOutReason {
    Source,
    /// They are of one size, on an architecture whose rows are all of one source: without it, nothing would be left to fit.
    Size,
    /// They are of one model with experts.
    Model,
    /// They are of one machine.
    Machine,
    /// They are larger than what is fitted.
    Large,
}

/// Rows that are left out together.
pub(super) struct HoldOutRows {
    pub name: String,
    pub why: HoldOutReason,
    /// The rows that are judged: step times.
    pub out: Vec<bool>,
    /// Rows that share a group with one of them: a fit to those has as good as seen it.
    pub related: Vec<bool>,
}

impl HoldOutRows {
    fn new(model: &FitModel<'_>, name: String, why: HoldOutReason, out: impl Fn(usize) -> bool) -> Self {
        let out: Vec<bool> = (0..model.len()).map(|row| model.metric(row) == Metric::StepTime && out(row)).collect();
        let group = |row: usize| model.case(row).row.group();
        let groups: BTreeSet<String> = (0..model.len()).filter(|row| out[*row]).map(group).collect();
        let related = (0..model.len()).map(|row| groups.contains(&group(row))).collect();
        Self { name, why, out, related }
    }
}

/// The source of a row: the organisation that ran it, where the row or the name of its source says so, else its file's name.
pub(super) fn source_of(model: &FitModel<'_>, row: usize) -> String {
    let row = &model.case(row).row;
    let organisation = match row.text("who") {
        "" => who::of_source(row.text("source")),
        who => Some(who),
    };
    printable(organisation.unwrap_or_else(|| row.file().rsplit('/').next().unwrap_or_default()))
}

/// Each source, each size of an architecture that one source alone has, where all are asked for each model with experts and
/// each machine, and the large jobs of all: which rows to leave out.
pub(super) fn held_out_sets(model: &FitModel<'_>, all: bool) -> Vec<HoldOutRows> {
    let file = |row: usize| source_of(model, row);
    let architecture = |row: usize| model.case(row).scenario().cluster.device.architecture.as_str();
    let devices = |row: usize| model.case(row).scenario().devices();
    let timed = || (0..model.len()).filter(|row| model.metric(*row) == Metric::StepTime);
    let files: BTreeSet<String> = (0..model.len()).map(file).collect();
    let source = |name: &String| HoldOutRows::new(model, name.clone(), HoldOutReason::Source, |row| file(row) == *name);
    let mut held_out_sets: Vec<HoldOutRows> = files.iter().map(source).collect();
    let mut sources: BTreeMap<&str, (BTreeSet<String>, BTreeSet<u32>)> = BTreeMap::new();
    for row in timed() {
        let (files, sizes) = sources.entry(architecture(row)).or_default();
        files.insert(file(row));
        sizes.insert(devices(row));
    }
    let others = held_out_sets.len() > 1;
    for (own, (_, sizes)) in sources.into_iter().filter(|(_, (files, _))| files.len() == 1 && others) {
        held_out_sets.extend(sizes.into_iter().map(|size| {
            let name = format!("{own}, one size at a time");
            HoldOutRows::new(model, name, HoldOutReason::Size, |row| architecture(row) == own && devices(row) == size)
        }));
    }
    // Models that differ in the number of their layers alone are one.
    let layers = |row: usize| {
        let model = &model.case(row).scenario().model;
        model.experts.map(|experts| (model.hidden, experts.count, experts.active, experts.ffn_hidden))
    };
    let models: BTreeSet<_> = timed().filter(|_| all).filter_map(layers).collect();
    held_out_sets.extend(models.into_iter().map(|own| {
        let name = "models with experts, one at a time".to_owned();
        HoldOutRows::new(model, name, HoldOutReason::Model, |row| layers(row) == Some(own))
    }));
    let machine = |row: usize| model.case(row).scenario().cluster.id.as_str();
    let machines: BTreeSet<&str> = timed().filter(|_| all).map(machine).collect();
    held_out_sets.extend(machines.into_iter().map(|own| {
        let name = "machines, one at a time".to_owned();
        HoldOutRows::new(model, name, HoldOutReason::Machine, |row| machine(row) == own)
    }));
    let large = |row| devices(row) > SMALL;
    held_out_sets.push(HoldOutRows::new(model, format!("more than {SMALL} devices"), HoldOutReason::Large, large));
    held_out_sets.retain(|HoldOutRows { out, related, .. }| out.contains(&true) && related.contains(&false));
    held_out_sets
}

/// The fit to all other rows.
pub(super) fn without<'a>(
    model: &FitModel<'a>,
    prior: &FitPrior,
    known: &KnownSlopes,
    out: impl Fn(usize) -> bool,
) -> Solution<'a> {
    fit::solve(model, prior, known.restricted(prior, |row| !out(row)))
}
