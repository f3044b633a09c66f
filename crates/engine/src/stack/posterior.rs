//! How sure the fitted constants of a calibration are, as data. Not for working it out from measured rows
//! (`calibrate`), or for what follows from it ([`super::uncertainty`]).

use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// The constants, how far each may be off, and what that says of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Posterior {
    /// How far off a step time is where all constants are right: a standard deviation, in the logarithm.
    pub noise: f64,
    /// In the order of [`super::constants::CONSTANTS`]; a file of another version may have others, and serves as none.
    pub constants: Vec<PosteriorConstant>,
}

/// The evidence of a constant, around its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PosteriorConstant {
    /// As `calibrate` calls it.
    pub name: String,
    /// Its standard error, in its own unit.
    pub error: f64,
    /// By how much it differs from one source of rows, a build of the software on one machine, to another: a standard
    /// deviation, in its own unit.
    pub spread: f64,
    /// Correlation of its error with that of each constant before it.
    pub with: Vec<f64>,
}

impl Posterior {
    /// Everything that is wrong with it.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut refuse = |wrong: bool, field: String, fix: &str| {
            if wrong {
                found.push(Problem::must(format!("posterior.{field}"), fix));
            }
        };
        refuse(!(self.noise > 0.0 && self.noise <= 1.0), "noise".to_owned(), "must be above 0 and at most 1");
        for (index, one) in self.constants.iter().enumerate() {
            let wrong = |amount: f64| !(amount.is_finite() && amount >= 0.0);
            refuse(wrong(one.error), format!("constants.{index}.error"), "must be at least 0");
            refuse(wrong(one.spread), format!("constants.{index}.spread"), "must be at least 0");
            let known = one.with.len() == index && one.with.iter().all(|with| (-1.0..=1.0).contains(with));
            refuse(
                !known,
                format!("constants.{index}.with"),
                "must be a number from -1 to 1 for each constant before it",
            );
        }
        found
    }
}
