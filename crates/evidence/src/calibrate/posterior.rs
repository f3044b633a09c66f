//! How sure a fit's constants are, and by how much they differ from one source of rows to another. Not for the fit itself
//! ([`super::fit`]).

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};

use shardscope_engine::evaluate::COVERAGE_SIGMA;
use shardscope_engine::stack::{ConstantId, ConstantValues, Posterior, PosteriorConstant};

use super::fit::{self, KnownSlopes};
use super::model::FitModel;
use super::prior::{self, FitPrior, OWN_NOISE};
use super::{matrices, rounded};

/// Spread between sources that is assumed of each constant, with the weight of one source. Of 21 sets of one software,
/// machine and format, some get worse with rows of their own (`calibrate --prior none` prints them): by 0.1 points and more,
/// 12 with one row and 13 with three where 0.1 is assumed, 3 and 5 with 0.03.
const USUAL_SPREAD: f64 = 0.03;

/// Spread of hosts and networks: published runs are of healthy machines, and one's own may not be.
const USUAL_SPREAD_OF_MACHINES: f64 = 0.1;

/// Spread of what only rows of one source move: 0.08 of the pace of kernels, 0.15 of the network's rate and 0.3 of the host's
/// pace, in shares of the constants' ranges of 0.8, 1.4 and 1.2; a PyTorch loss that holds one copy of the logits in fp32 more
/// or fewer, 4 of 18 B.
const USUAL_SPREAD_OF_SOURCES: [(&str, f64); 5] = [
    ("own-compute", 0.1),
    ("own-network", 0.107),
    ("own-host", 0.25),
    ("logits-torch", 0.222),
    ("logits-vocab-parallel", 0.222),
];

/// How far off a row is assumed to be where its source's constants are known, with the weight of one row.
const USUAL_NOISE: f64 = 0.06;

/// Variance of a constant that no row tells, in shares of its range: it may be anywhere between its bounds.
const UNKNOWN: f64 = 1.0 / 12.0;

/// Rounds in which spread and noise are estimated: beyond them the third digit stays.
const ROUNDS: usize = 50;

/// The most that a row off by more is counted as, in the logarithm.
const MOST_ERROR: f64 = 0.5;

/// Rows of a source that a fit has not seen: how far off they are, and what that depends on.
pub(super) struct UnseenSource {
    pub rows: BTreeSet<usize>,
    /// Slopes' squares, and slopes times errors, each row by its weight.
    normal: DMatrix<f64>,
    toward: DVector<f64>,
    /// Weighted squares of the errors, and the groups.
    squares: f64,
    groups: f64,
}

impl UnseenSource {
    pub fn new(rows: BTreeSet<usize>, slopes: &DMatrix<f64>, errors: &[f64], weights: &[f64]) -> Self {
        let errors = DVector::from_iterator(errors.len(), errors.iter().map(|one| one.clamp(-MOST_ERROR, MOST_ERROR)));
        let weights = DVector::from_column_slice(weights);
        let mut weighted = slopes.clone();
        for (mut row, weight) in weighted.row_iter_mut().zip(weights.iter()) {
            row *= *weight;
        }
        Self {
            rows,
            normal: slopes.transpose() * &weighted,
            toward: weighted.transpose() * &errors,
            squares: errors.component_mul(&errors).dot(&weights),
            groups: weights.sum(),
        }
    }
}

/// Variance of each constant between sources, and of a row whose source's constants are known: by expectation and
/// maximisation, each source having constants of its own around the shared ones. `assumed` has the spread of each constant
/// that counts as one source.
pub(super) fn spread<'a>(
    sources: impl IntoIterator<Item = &'a UnseenSource>,
    assumed: &ConstantValues,
) -> (ConstantValues, f64) {
    let sources: Vec<&UnseenSource> = sources.into_iter().collect();
    let assumed = ConstantValues::from_fn(|id| assumed[id] * assumed[id]);
    let mut variances = assumed.clone();
    let groups: f64 = sources.iter().map(|source| source.groups).sum();
    let usual = USUAL_NOISE * USUAL_NOISE;
    // At first all that rows are off is noise; each round then moves what a source's rows have in common into its own
    // constants.
    let mut noise = (sources.iter().map(|source| source.squares).sum::<f64>() + usual) / (groups + 1.0);
    for _ in 0..ROUNDS {
        let (mut sums, mut told, mut left) = (assumed.clone(), ConstantValues::from_fn(|_| 1.0), 0.0);
        for UnseenSource { normal, toward, squares, .. } in &sources {
            let held = DMatrix::from_diagonal(&matrices::vector(&variances).map(|one| 1.0 / one));
            let Some(open) = (held + normal / noise).try_inverse() else { continue };
            // Expectation: the most likely constants of this source, held near the shared ones by how much sources
            // differ, and `open`, how unsure they are.
            let own = &open * toward / noise;
            for id in ConstantId::all().filter(|id| normal[(id.index(), id.index())] > 0.0) {
                let at = id.index();
                sums[id] += own[at] * own[at] + open[(at, at)];
                told[id] += 1.0;
            }
            left += squares - 2.0 * own.dot(toward) + own.dot(&(normal * &own)) + (&open * normal).trace();
        }
        // Maximisation: how much sources differ is the mean square of what was found, their own uncertainty added.
        variances = ConstantValues::from_fn(|id| sums[id] / told[id]);
        noise = (left + usual) / (groups + 1.0);
    }
    (variances, noise)
}

/// The posterior of a fit that began at a prior.
pub(super) fn after(
    model: &FitModel<'_>,
    prior: &FitPrior,
    known: &KnownSlopes,
    sources: &[UnseenSource],
) -> Posterior {
    prior.noise.map_or_else(|| posterior(model, known, sources), |noise| updated(model, prior, known, noise))
}

/// The half width of the 80 % interval within which one build of a program on one machine differs from others, in the logarithm
/// of a step that kernels fill: by the spread of their pace from source to source.
pub(super) fn between_builds(posterior: &Posterior) -> f64 {
    let pace = posterior.constants.iter().find(|one| one.name == "own-compute");
    COVERAGE_SIGMA * pace.map_or(0.0, |pace| pace.spread)
}

/// The posterior of a fit from scratch, from its slopes at the solution and the sources that were left out of it whole.
pub(super) fn posterior<'a>(
    model: &FitModel<'_>,
    known: &KnownSlopes,
    sources: impl IntoIterator<Item = &'a UnseenSource>,
) -> Posterior {
    let count = ConstantId::COUNT;
    let assumed = |id: ConstantId| {
        let constant = id.constant();
        let of_source = USUAL_SPREAD_OF_SOURCES.iter().find(|(name, _)| *name == constant.name);
        let usual = if constant.is_of_machine() { USUAL_SPREAD_OF_MACHINES } else { USUAL_SPREAD };
        of_source.map_or(usual, |(_, spread)| *spread)
    };
    let (variances, noise) = spread(sources, &ConstantValues::from_fn(assumed));
    // A matrix without an inverse is of constants that no row tells apart: then each is as good as unknown, which the
    // report says.
    // All sources together are what factors of one source are 1 of: these are exact. What is published is as far off as it says.
    let exact: Vec<usize> = prior::never_fitted().iter().map(|id| id.index()).collect();
    let without = |matrix: DMatrix<f64>| {
        let rows = matrix.remove_rows_at(&exact);
        rows.remove_columns_at(&exact)
    };
    let told = without(fit::normal(model, known) / noise);
    let unknown = DMatrix::identity(told.nrows(), told.nrows());
    let inverse = (told + &unknown / UNKNOWN).try_inverse().unwrap_or(unknown * UNKNOWN);
    let mut open = DMatrix::zeros(count, count);
    let others: Vec<usize> = (0..count).filter(|at| !exact.contains(at)).collect();
    for (row, at) in others.iter().enumerate() {
        for (column, with) in others.iter().enumerate() {
            open[(*at, *with)] = inverse[(row, column)];
        }
    }
    for id in ConstantId::all() {
        if let Some(error) = id.constant().published {
            let share = error / id.constant().range();
            open[(id.index(), id.index())] = share * share;
        }
    }
    to_posterior(&open, &variances, libm::sqrt(noise))
}

/// The posterior after rows of one's own: that of their source, from which nothing differs any more. `noise` is what
/// those rows counted with.
fn updated(model: &FitModel<'_>, prior: &FitPrior, known: &KnownSlopes, noise: f64) -> Posterior {
    let count = ConstantId::COUNT;
    let normal = fit::normal(model, known) + prior.roots.transpose() * &prior.roots;
    let open = normal.try_inverse().unwrap_or_else(|| DMatrix::identity(count, count)) * (noise * noise);
    to_posterior(&open, &ConstantValues::from_fn(|_| 0.0), noise / OWN_NOISE)
}

/// As a calibration has it: what a fit leaves open, variances between sources, and a row's standard deviation.
pub(super) fn to_posterior(open: &DMatrix<f64>, variances: &ConstantValues, noise: f64) -> Posterior {
    let error = |id: ConstantId| libm::sqrt(open[(id.index(), id.index())].max(0.0));
    let constants = ConstantId::all().map(|id| {
        let range = id.constant().range();
        let with = |other: ConstantId| {
            let both = error(id) * error(other);
            let correlation = if both > 0.0 { open[(id.index(), other.index())] / both } else { 0.0 };
            libm::round(correlation.clamp(-1.0, 1.0) * 1e3) / 1e3
        };
        PosteriorConstant {
            name: id.constant().name.to_owned(),
            error: rounded(error(id) * range),
            spread: rounded(libm::sqrt(variances[id]) * range),
            with: ConstantId::all().take_while(|other| *other < id).map(with).collect(),
        }
    });
    Posterior { noise: rounded(noise), constants: constants.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources of one row each that tell one constant with slope 1, off by 0.2 and -0.2. With noise s, spread t and
    /// one assumed source of 0.1: only the sum of the variances is told, 0.04; a constant that no row tells keeps 0.1.
    #[test]
    fn the_spread_is_what_sources_differ_by() {
        let slopes = DMatrix::from_fn(4, ConstantId::COUNT, |_, column| if column == 0 { 1.0 } else { 0.0 });
        let sources = [0.2, -0.2].map(|error| UnseenSource::new(BTreeSet::new(), &slopes, &[error; 4], &[1.0; 4]));
        let (variances, noise) = spread(&sources, &ConstantValues::from_fn(|_| 0.1));
        let variances = matrices::vector(&variances);
        // Rows of a source agree, so that nearly nothing is noise, 0.0036 / 7: (0.01 + 2 x 0.04) / 3 = 0.03.
        assert!((variances[0] - 0.03).abs() < 1e-3, "{variances:?}");
        assert!((variances[1] - 0.01).abs() < 1e-12 && noise < 1e-3, "{variances:?} {noise}");
    }
}
