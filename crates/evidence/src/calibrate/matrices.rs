//! What the engine knows of constants, as matrices and vectors over all of them. Not for what is worked out with these.

use nalgebra::{DMatrix, DVector};

use shardscope_engine::stack::{ConstantId, ConstantValues, Posterior};

/// A number for each constant, in the order of their table.
pub fn vector(values: &ConstantValues) -> DVector<f64> {
    DVector::from_column_slice(values.numbers())
}

/// The covariance of the constants' errors, in shares of their ranges.
pub fn covariance(posterior: &Posterior) -> DMatrix<f64> {
    let numbers =
        ConstantId::all().flat_map(|one| ConstantId::all().map(move |other| posterior.covariance(one, other)));
    DMatrix::from_iterator(ConstantId::COUNT, ConstantId::COUNT, numbers)
}

/// By how much each constant differs from source to source: variances on the diagonal, in shares of their ranges.
pub fn spread(posterior: &Posterior) -> DMatrix<f64> {
    DMatrix::from_diagonal(&vector(&ConstantValues::from_fn(|id| posterior.spread(id))))
}
