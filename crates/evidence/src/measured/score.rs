//! How far predictions are off: averaged inside each group first, then over groups, so that a sweep of
//! near-duplicates weighs as much as one run.

use std::collections::BTreeMap;

/// One comparison: its group, its signed error and the null model's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredError<'a> {
    /// The publication and configuration that the row is from; all groups have the same weight.
    pub group: &'a str,
    /// Predicted over measured, less 1.
    pub error: f64,
    /// The null model's error.
    pub null: f64,
}

/// Errors of a set of comparisons, as fractions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    pub rows: usize,
    pub groups: usize,
    /// Mean over groups of the mean absolute error inside each.
    pub mean: f64,
    /// Standard error of `mean` over groups.
    pub standard_error: f64,
    /// Median over groups.
    pub median: f64,
    /// 90th percentile over groups.
    pub p90: f64,
    /// Mean over groups of the mean signed error.
    pub bias: f64,
    /// `mean` of the null model.
    pub null_mean: f64,
}

/// A mean of independent values, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub mean: f64,
    /// Its standard deviation where as many values are drawn again from these (the bootstrap). No draw is needed: each of
    /// `n` has the variance `v` of the values, so that their mean has `v / n`.
    pub standard_error: f64,
}

impl Estimate {
    /// The mean of some values; not a number if there are none.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Self { mean, standard_error: libm::sqrt(squares) / count }
    }
}

impl Scores {
    /// Scores some comparisons; `None` if there are none.
    pub fn new<'a>(compared: impl IntoIterator<Item = ScoredError<'a>>) -> Option<Self> {
        let mut groups: BTreeMap<&str, [f64; 4]> = BTreeMap::new();
        for one in compared {
            let sums = groups.entry(one.group).or_default();
            let parts = [1.0, one.error.abs(), one.error, one.null.abs()];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        // The first sum is the count of rows, so that each other one over it is a mean inside the group.
        let means = |part: usize| groups.values().map(move |sums| sums[part] / sums[0]);
        let mean_of = |part: usize| means(part).sum::<f64>() / groups.len() as f64;
        let mut errors: Vec<f64> = means(1).collect();
        let Estimate { mean, standard_error } = Estimate::of(&errors);
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then(|| Self {
            rows: groups.values().map(|sums| sums[0]).sum::<f64>() as usize,
            groups: groups.len(),
            mean,
            standard_error,
            median: quantile(&errors, 0.5),
            p90: quantile(&errors, 0.9),
            bias: mean_of(2),
            null_mean: mean_of(3),
        })
    }

    /// How many times larger the null model's error is.
    pub fn skill(&self) -> f64 {
        self.null_mean / self.mean
    }
}

/// A quantile of ascending values, linear between neighbours.
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let place = share * ascending.len().saturating_sub(1) as f64;
    let at = |index: f64| ascending.get(index as usize).copied().unwrap_or(f64::NAN);
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn groups_are_averaged_first() {
        let one = |group, error| ScoredError { group, error, null: 0.5 };
        // Group a: (0.1 + 0.3) / 2 = 0.2 with bias (0.1 - 0.3) / 2 = -0.1; group b: 0.4.
        let scores = Scores::new([one("a", 0.1), one("a", -0.3), one("b", 0.4)]).expect("three comparisons");
        assert_eq!((scores.rows, scores.groups), (3, 2));
        close(scores.mean, 0.3);
        // Two groups are drawn twice: the means 0.2, 0.3, 0.3 and 0.4 are 0.1 / sqrt(2) from 0.3 in the mean square.
        close(scores.standard_error, 0.1 * std::f64::consts::FRAC_1_SQRT_2);
        close(scores.median, 0.3);
        // 0.2 + 0.9 x (0.4 - 0.2).
        close(scores.p90, 0.38);
        close(scores.bias, 0.15);
        close(scores.skill(), 0.5 / 0.3);
        assert_eq!(Scores::new([]), None);
    }
}
