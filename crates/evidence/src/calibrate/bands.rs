//! Error bands from cross-validated residuals, and how often they hold. Not for predicting.

use std::collections::{BTreeMap, BTreeSet};

use crate::measured::{Case, Metric, Reading, Residual, ScoreKey, Validation};
use shardscope_engine::evaluate::{COVERAGE_SIGMA, likeness};
use shardscope_engine::stack::{Band, Division, Likeness, Reach};

use super::rounded;

/// The share of runs that a band holds.
pub const NOMINAL_COVERAGE: f64 = 0.8;

/// Groups that rows of one stack need for a band of their own. All stacks of an architecture together need
/// as many as make the rank of [`width`] exist: 4.
const OWN: usize = 10;

/// Groups that a class needs to be listed with its coverage.
const LISTED: usize = 20;

/// A row, and how far off it was predicted by constants that had not seen it.
#[derive(Debug, Clone)]
pub(super) struct UnseenResidual<'a> {
    pub run: Likeness<'a>,
    pub residual: &'a Residual,
    /// How unsure its step time is by what the fit leaves open of the constants: a standard deviation, in the logarithm.
    pub open: f64,
}

impl UnseenResidual<'_> {
    /// The half width of the narrowest band of runs like it that holds it, with what the constants leave open: as an
    /// interval has both, in squares, a row that the second explains asks nothing of the first.
    fn required_half_width(&self) -> f64 {
        let (error, open) = (error(self.residual), COVERAGE_SIGMA * self.open);
        libm::sqrt((error * error - open * open).max(0.0))
    }

    /// The half width of its interval by some bands, if one serves it.
    fn half_width(&self, bands: &[Band]) -> Option<f64> {
        let band = bands.iter().find(|band| band.serves(&self.run))?;
        Some(libm::hypot(band.half_width, COVERAGE_SIGMA * self.open))
    }
}

/// `|ln(measured / predicted)|`.
fn error(residual: &Residual) -> f64 {
    libm::fabs(libm::log(residual.measured / residual.predicted))
}

/// How many rows lie in their bands, where a band knows nothing of the row's group.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    /// The key of the split and its class; `all` and nothing for all rows.
    pub by: (&'static str, String),
    /// Independent groups of rows in it: rows of one publication and configuration are one group.
    pub groups: usize,
    /// Its rows that have a band.
    pub rows: usize,
    /// The share of them that lies within.
    pub held: f64,
    /// Mean over them of `e^w - 1`, where `w` is the half width.
    pub width: f64,
}

/// The step times of a validation, with what each is like, and how unsure it is by its id.
pub(super) fn unseen<'a>(
    cases: &'a [Case],
    validation: &'a Validation,
    open: &BTreeMap<String, f64>,
) -> Vec<UnseenResidual<'a>> {
    let runs: BTreeMap<String, Likeness<'_>> =
        cases.iter().map(|case| (case.row.id(), likeness(case.scenario()))).collect();
    let timed = validation.residuals.iter().filter(|one| one.metric == Metric::StepTime && one.error().is_finite());
    let open = |residual: &Residual| open.get(&residual.id).copied().unwrap_or(0.0);
    let miss =
        |residual: &'a Residual| Some(UnseenResidual { run: *runs.get(&residual.id)?, residual, open: open(residual) });
    timed.filter_map(miss).collect()
}

/// The bands, nearest evidence first: rows of one stack on one architecture that divide their work alike
/// within a node or across nodes; of one stack on one architecture; of all stacks on it. Then, for any other
/// stack, the rows of sources that were left out whole: what a stack costs that the constants do not know. None is narrower
/// than `least_width`: rows of one publication lie closer together than builds of one software do.
pub(super) fn bands(crossed: &[UnseenResidual<'_>], unseen: &[UnseenResidual<'_>], least_width: f64) -> Vec<Band> {
    type BandPool<'a> = (Option<&'a str>, (&'a str, [bool; 2]), Option<(Division, bool)>);
    let near = |run: &Likeness<'_>| (run.division, run.across_nodes);
    let of = |residuals: &[UnseenResidual<'_>],
              least: usize,
              known: bool,
              pool: &dyn for<'a> Fn(&Likeness<'a>) -> BandPool<'a>| {
        let mut pools: BTreeMap<BandPool<'_>, Vec<&UnseenResidual<'_>>> = BTreeMap::new();
        for miss in residuals {
            pools.entry(pool(&miss.run)).or_default().push(miss);
        }
        let one = |((_, (architecture, [experts, part]), near), rows): (BandPool<'_>, Vec<&UnseenResidual<'_>>)| {
            let needed: Vec<(&str, f64)> =
                rows.iter().map(|miss| (miss.residual.group.as_str(), miss.required_half_width())).collect();
            let groups = sizes(&needed).len();
            let stacks: BTreeSet<&str> = rows.iter().filter(|_| known).map(|miss| miss.run.stack).collect();
            let reach = rows.iter().map(|miss| &miss.run);
            Some(Band {
                stacks: stacks.into_iter().map(str::to_owned).collect(),
                architecture: architecture.to_owned(),
                division: near.map(|(division, _)| division),
                across_nodes: near.map(|(_, across)| across),
                experts,
                part,
                own: 0,
                // Sources that were left out say how far off software is of which no row is known: they serve any run.
                reach: known.then(|| reach.fold(Reach::default(), Reach::and)),
                half_width: rounded(width(&needed).filter(|_| groups >= least)?.max(least_width)),
                groups: groups as u32,
                rows: rows.len() as u32,
            })
        };
        pools.into_iter().filter_map(one).collect::<Vec<_>>()
    };
    let mut bands = of(crossed, OWN, true, &|run| (Some(run.stack), machine(run), Some(near(run))));
    bands.extend(of(crossed, OWN, true, &|run| (Some(run.stack), machine(run), None)));
    bands.extend(of(crossed, 0, true, &|run| (None, machine(run), None)));
    bands.extend(of(unseen, 0, false, &|run| (None, machine(run), None)));
    bands
}

/// The device's architecture, and whether it trained a model with experts, and a part of a model.
const fn machine<'a>(run: &Likeness<'a>) -> (&'a str, [bool; 2]) {
    (run.architecture, [run.experts, run.part])
}

/// The half width that holds [`NOMINAL_COVERAGE`] of runs to come, from a group and an error of each run that there was:
/// the error of rank `NOMINAL_COVERAGE (n + 1)` of `n`, groups equal (split conformal prediction: Lei et al., Journal of
/// the American Statistical Association 113, 2018, p. 1094); `None` where there are too few groups to have that rank.
fn width(rows: &[(&str, f64)]) -> Option<f64> {
    let sizes = sizes(rows);
    let rank = NOMINAL_COVERAGE * (sizes.len() as f64 + 1.0);
    let mut errors: Vec<(f64, f64)> = rows.iter().map(|(group, error)| (*error, 1.0 / sizes[group])).collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    // 19 groups of one row each: the rank is 0.8 x 20 = 16, so the 16th smallest error is the half width. A group of
    // four rows would count a quarter for each.
    let mut below = 0.0;
    errors.into_iter().find_map(|(error, share)| {
        below += share;
        // Shares such as a third do not add up to whole numbers.
        (below > rank - 1e-9).then_some(error)
    })
}

/// Rows of each group.
fn sizes<'a>(rows: &[(&'a str, f64)]) -> BTreeMap<&'a str, f64> {
    let mut sizes = BTreeMap::new();
    for (group, _) in rows {
        *sizes.entry(*group).or_default() += 1.0;
    }
    sizes
}

/// The half width of peaks that allocators report.
pub(super) fn peak_width(crossed: &Validation) -> Option<f64> {
    let of_allocators = |one: &&Residual| {
        one.metric == Metric::Memory && one.reading == Some(Reading::Allocator) && one.error().is_finite()
    };
    let peaks = crossed.residuals.iter().filter(of_allocators);
    width(&peaks.map(|one| (one.group.as_str(), error(one))).collect::<Vec<_>>()).map(rounded)
}

/// Whether bands hold: those of each row come from all groups but its own.
pub(super) fn coverage(
    crossed: &[UnseenResidual<'_>],
    unseen: &[UnseenResidual<'_>],
    least_width: f64,
) -> Vec<Coverage> {
    let mut known: BTreeMap<&str, Vec<Band>> = BTreeMap::new();
    let mut judged: Vec<(&UnseenResidual<'_>, f64)> = Vec::new();
    for miss in crossed {
        let group = miss.residual.group.as_str();
        let bands =
            known.entry(group).or_insert_with(|| bands(&others(crossed, group), &others(unseen, group), least_width));
        judged.extend(miss.half_width(bands).map(|half_width| (miss, half_width)));
    }
    let mut classes: BTreeMap<(&'static str, String), Vec<&(&UnseenResidual<'_>, f64)>> = BTreeMap::new();
    for one in &judged {
        let UnseenResidual { run, residual, .. } = one.0;
        let scale = if run.across_nodes { "across nodes" } else { "within a node" };
        let keys = [ScoreKey::Stack, ScoreKey::Hardware, ScoreKey::Class]
            .map(|key| (key.into_str(), residual.key(key).to_owned()));
        let own = [("all", String::new()), ("scale", scale.to_owned())];
        own.into_iter().chain(keys).for_each(|key| classes.entry(key).or_default().push(one));
    }
    classes.into_iter().filter_map(|(by, rows)| covered(by, &rows, LISTED)).collect()
}

/// Whether the bands of sources hold that a fit has not seen, each by rows of the others alone: of their rows, then the
/// mean over sources. `judged` has each source's rows as a fit that has not seen it is sure of them.
pub(super) fn source_coverage(
    crossed: &[UnseenResidual<'_>],
    sources: &[Vec<UnseenResidual<'_>>],
    judged: &[Vec<UnseenResidual<'_>>],
    least_width: f64,
) -> Vec<Coverage> {
    let (mut all, mut means) = (Vec::new(), Vec::new());
    for (at, source) in judged.iter().enumerate() {
        let own: BTreeSet<&str> = source.iter().map(|miss| miss.residual.group.as_str()).collect();
        let apart = |miss: &&UnseenResidual<'_>| !own.contains(miss.residual.group.as_str());
        let rest: Vec<UnseenResidual<'_>> = crossed.iter().filter(apart).cloned().collect();
        let before = sources[..at].iter().chain(&sources[at + 1..]);
        let unseen: Vec<UnseenResidual<'_>> = before.flatten().filter(apart).cloned().collect();
        let bands = bands(&rest, &unseen, least_width);
        let width = |miss| Some((miss, UnseenResidual::half_width(miss, &bands)?));
        let widths: Vec<(&UnseenResidual<'_>, f64)> = source.iter().filter_map(width).collect();
        means.extend(covered(("source", String::new()), &widths.iter().collect::<Vec<_>>(), 0));
        all.extend(widths);
    }
    let rows = covered(("sources", "left out whole".to_owned()), &all.iter().collect::<Vec<_>>(), 0);
    let mean = |of: fn(&Coverage) -> f64| means.iter().map(of).sum::<f64>() / means.len() as f64;
    let alike = rows.iter().filter(|_| !means.is_empty()).map(|rows| Coverage {
        by: ("sources", "left out whole, each counting alike".to_owned()),
        held: mean(|one| one.held),
        width: mean(|one| one.width),
        ..rows.clone()
    });
    rows.iter().cloned().chain(alike).collect()
}

fn others<'a>(residuals: &[UnseenResidual<'a>], group: &str) -> Vec<UnseenResidual<'a>> {
    residuals.iter().filter(|other| other.residual.group != group).cloned().collect()
}

fn covered(by: (&'static str, String), rows: &[&(&UnseenResidual<'_>, f64)], least: usize) -> Option<Coverage> {
    let groups = rows.iter().map(|(miss, _)| &miss.residual.group).collect::<BTreeSet<_>>().len();
    let count = rows.len() as f64;
    let held = rows.iter().filter(|(miss, half_width)| error(miss.residual) <= *half_width).count() as f64;
    let width = rows.iter().map(|(_, half_width)| libm::expm1(*half_width)).sum::<f64>();
    if rows.is_empty() {
        return None;
    }
    let listed = by.0 == "all" || groups >= least;
    listed.then(|| Coverage { by, groups, rows: rows.len(), held: held / count, width: width / count })
}
