//! The prior of a fit: it holds the constants that its rows leave open. Not for the fit itself ([`super::fit`]).
//!
//! Constants are counted in shares of their ranges here, so that all are of one size.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, SymmetricEigen};

use shardscope_engine::stack::{Calibration, ConstantId, ConstantValues};

use super::matrices;

/// The weight of the prior of a fit from scratch: a constant its whole range away from its usual value costs as much as
/// one group that is off by this, in the logarithm.
pub(super) const FROM_SCRATCH: f64 = 0.06;

/// How much further off a row of one's own counts as, over what rows are off by where their source's constants are known.
/// Part of that is structure, which like rows share and other layouts do not: of 21 sets of one software, machine and
/// format, the rest is 4.83, 4.73 and 4.74 % off after one own row with 1, 1.5 and 2, and 4.80, 4.67 and 4.61 % after
/// three (4.87 % without any; `calibrate --prior none` prints the sets).
pub(super) const OWN_NOISE: f64 = 1.5;

/// Where a fit begins, and how tightly it holds what rows do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// The calibration's posterior, where it has one.
    Shipped,
    /// The usual values of the constants: a fit from scratch.
    None,
}

/// The constants that rows of all sources together do not move: factors of one source, and figures that are published.
pub(super) fn never_fitted() -> BTreeSet<ConstantId> {
    ConstantId::all().filter(|id| !id.constant().is_fitted()).collect()
}

pub(super) struct FitPrior {
    /// Where they stay without rows.
    pub centre: ConstantValues,
    /// Squares of this matrix times the distance from there, in shares of the ranges, are added to those of the rows.
    pub roots: DMatrix<f64>,
    /// How far off a row of one's own counts as, if rows before have told how far off rows are.
    pub noise: Option<f64>,
    /// Constants that no row moves.
    pub held: BTreeSet<ConstantId>,
}

impl FitPrior {
    /// The posterior of a calibration, where that is asked for and there is one; else what a fit from scratch has.
    pub fn new(prior: Prior, calibration: &Calibration) -> Self {
        let count = ConstantId::COUNT;
        let Some(posterior) = calibration.posterior().filter(|_| prior == Prior::Shipped) else {
            let centre = ConstantValues::from_fn(|id| id.constant().usual);
            let roots = DMatrix::identity(count, count) * FROM_SCRATCH;
            return Self { centre, roots, noise: None, held: never_fitted() };
        };
        let value = |id: ConstantId| calibration.get(id.constant()).unwrap_or(id.constant().usual);
        let noise = OWN_NOISE * posterior.noise;
        let SymmetricEigen { eigenvalues, eigenvectors } =
            SymmetricEigen::new(matrices::covariance(posterior) + matrices::spread(posterior));
        // Correlations of three digits may leave a hair below zero where there was a hair above.
        let least = eigenvalues.max() * 1e-9;
        let scale = eigenvalues.map(|along| noise / libm::sqrt(along.max(least)));
        let roots = DMatrix::from_diagonal(&scale) * eigenvectors.transpose();
        Self { centre: ConstantValues::from_fn(value), roots, noise: Some(noise), held: BTreeSet::new() }
    }
}
