//! The batch up to which more data parallelism pays, and what a larger or smaller one costs in steps.
//!
//! Empirical laws, each a choice with its source: they disagree by a factor of several.

use std::str::FromStr;

use crate::model::Model;

/// A law of the critical batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CriticalBatch {
    /// Kaplan et al. (arXiv 2001.08361), at the loss that a model of `N` parameters converges to.
    Kaplan,
    /// `82 x^(2/3)` sequences for `X_[x]` of arXiv 2106.02679, for other models by the tokens that it means.
    Layered,
    /// So many sequences.
    Sequences(f64),
}

/// `L(N) = (N_c / N)^0.076`, nats per token [layered B3, Kaplan et al.].
const LOSS: (f64, f64) = (8.8e13, 0.076);

/// `B_crit = B_* / L^(1 / 0.21)`, tokens [layered B3, Kaplan et al.].
const BATCH: (f64, f64) = (2e8, 0.21);

/// Sequences at x = 1, of 16 x tokens [layered B3]; an input rather than a checked constant.
const SEQUENCES: f64 = 82.0;

impl CriticalBatch {
    /// Those that need no count.
    pub const LAWS: [Self; 2] = [Self::Layered, Self::Kaplan];

    /// Sequences of `sequence` tokens, for a model's blocks of `p` parameters.
    ///
    /// `Kaplan`: `2e8 / (8.8e13 / p)^(0.076 / 0.21)` tokens. `Layered`: `82 x 16 (p / 12)^(1/3)`, 573 `p^(1/3)`
    /// tokens, which is `82 x^(2/3)` sequences where `p = 12 x^5` and the sequence has `16 x` tokens.
    pub fn sequences(self, model: &Model, sequence: u32) -> f64 {
        let parameters = (u64::from(model.layers) * model.layer_parameters()) as f64;
        let tokens = match self {
            Self::Sequences(count) => return count,
            Self::Kaplan => {
                let loss = libm::pow(LOSS.0 / parameters, LOSS.1);
                BATCH.0 / libm::pow(loss, 1.0 / BATCH.1)
            }
            Self::Layered => SEQUENCES * 16.0 * libm::cbrt(parameters / 12.0),
        };
        tokens / f64::from(sequence)
    }

    /// Its word on the command line; that of a count only says that it was given.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kaplan => "kaplan",
            Self::Layered => "layered",
            Self::Sequences(_) => "given",
        }
    }

    /// Where the law comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Kaplan => "Kaplan et al. (arXiv 2001.08361), at the converged loss",
            Self::Layered => "82 x^(2/3) sequences of X_[x] (arXiv 2106.02679)",
            Self::Sequences(_) => "as given",
        }
    }
}

impl FromStr for CriticalBatch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(law) = Self::LAWS.into_iter().find(|law| law.word() == text) {
            return Ok(law);
        }
        match text.parse::<f64>() {
            Ok(count) if count > 0.0 && count.is_finite() => Ok(Self::Sequences(count)),
            _ => Err("a critical batch is kaplan, layered or a count of sequences above 0".to_owned()),
        }
    }
}

/// Steps that a batch needs where `at_critical` of the critical batch would do [layered B3]: with
/// `S = S_min (1 + b_c / b)`, so `2 S_min` at `b_c`, they are `at_critical (1 + b_c / b) / 2`.
pub fn steps(at_critical: f64, critical: f64, batch: f64) -> f64 {
    at_critical * (1.0 + critical / batch) / 2.0
}
