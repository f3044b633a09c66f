//! Whether predictions choose well among layouts of one model on one machine.

use std::collections::BTreeMap;

/// One layout: what it is compared within, and its two times.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedLayout<'a> {
    /// Model, machine, software and batch: layouts of one key answer the same question.
    pub key: &'a str,
    /// Predicted seconds.
    pub predicted: f64,
    /// Measured seconds.
    pub measured: f64,
}

/// Pairs of layouts whose measured times differ by more than a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pairs {
    /// How far apart the measured times of a pair are at least: 0.05 for 5 %.
    pub apart: f64,
    pub pairs: usize,
    /// The share of them whose predicted times are in the same order.
    pub right: f64,
}

/// Cost of choosing by prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Pairs apart by 5 % and by 15 %.
    pub pairs: [Pairs; 2],
    /// Keys with two layouts or more.
    pub choices: usize,
    /// Measured time of the layout predicted to be fastest over that of the fastest, less 1: the mean over keys.
    pub slowdown_mean: f64,
    pub slowdown_worst: f64,
    /// What choosing by prediction adds to the error of what is chosen; none without keys of three layouts.
    pub price: Option<PriceOfChoice>,
}

/// The layout that is predicted to be fastest, against the mean (of logarithms) over all layouts of its key: of those keys with at
/// least three.
///
/// What is chosen for its figure has, on average, a figure that is too good. By how much is `price`; where it is near 0, the
/// gain over the others is as large as predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceOfChoice {
    pub keys: usize,
    /// `measured / predicted` of the chosen over that of its key, less 1: the mean over keys.
    pub price: f64,
    /// By how much the chosen is predicted to be faster than its key, and by how much it was.
    pub predicted_gain: f64,
    pub measured_gain: f64,
}

impl PriceOfChoice {
    /// Layouts of a key that tell it.
    const LEAST: usize = 3;

    fn new<'a>(sets: impl Iterator<Item = &'a Vec<&'a TimedLayout<'a>>>) -> Option<Self> {
        let sets: Vec<_> = sets.filter(|set| set.len() >= Self::LEAST).collect();
        let gain = |of: fn(&TimedLayout<'_>) -> f64| {
            let gained = |set: &&Vec<&TimedLayout<'_>>| {
                let chosen = set.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted));
                let all = set.iter().map(|layout| libm::log(of(layout))).sum::<f64>() / set.len() as f64;
                all - chosen.map_or(all, |chosen| libm::log(of(chosen)))
            };
            sets.iter().map(gained).sum::<f64>() / sets.len() as f64
        };
        let [predicted, measured] = [gain(|layout| layout.predicted), gain(|layout| layout.measured)];
        (!sets.is_empty()).then(|| Self {
            keys: sets.len(),
            price: libm::expm1(predicted - measured),
            predicted_gain: libm::expm1(predicted),
            measured_gain: libm::expm1(measured),
        })
    }
}

impl Ranking {
    pub fn new(layouts: &[TimedLayout<'_>]) -> Self {
        let mut sets: BTreeMap<&str, Vec<&TimedLayout<'_>>> = BTreeMap::new();
        for layout in layouts {
            sets.entry(layout.key).or_default().push(layout);
        }
        sets.retain(|_, set| set.len() > 1);
        let slowdowns: Vec<f64> = sets.values().filter_map(|set| slowdown(set)).collect();
        Self {
            pairs: [0.05, 0.15].map(|apart| pairs(sets.values(), apart)),
            choices: slowdowns.len(),
            slowdown_mean: slowdowns.iter().sum::<f64>() / slowdowns.len() as f64,
            slowdown_worst: slowdowns.iter().copied().fold(0.0, f64::max),
            price: PriceOfChoice::new(sets.values()),
        }
    }
}

fn slowdown(set: &[&TimedLayout<'_>]) -> Option<f64> {
    let chosen = set.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted))?;
    let best = set.iter().min_by(|a, b| a.measured.total_cmp(&b.measured))?;
    Some(chosen.measured / best.measured - 1.0)
}

fn pairs<'a>(sets: impl Iterator<Item = &'a Vec<&'a TimedLayout<'a>>>, apart: f64) -> Pairs {
    let (mut pairs, mut right) = (0, 0);
    for set in sets {
        for (index, one) in set.iter().enumerate() {
            for other in &set[index + 1..] {
                // Two layouts within the noise of a measurement say nothing of who chooses well.
                let (fast, slow) = if one.measured < other.measured { (one, other) } else { (other, one) };
                if slow.measured > fast.measured * (1.0 + apart) {
                    pairs += 1;
                    right += usize::from(fast.predicted < slow.predicted);
                }
            }
        }
    }
    Pairs { apart, pairs, right: f64::from(right as u32) / f64::from(pairs as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_the_cost_of_a_choice() {
        let layout = |key, predicted, measured| TimedLayout { key, predicted, measured };
        // 10 and 11 are 10 % apart, 10 and 13 are 30 %, 11 and 13 are 18 %. Predicted: 12 < 13 < 14 for 11, 10, 13.
        let ranking = Ranking::new(&[
            layout("a", 13.0, 10.0),
            layout("a", 12.0, 11.0),
            layout("a", 14.0, 13.0),
            layout("b", 1.0, 1.0),
        ]);
        assert_eq!(ranking.pairs[0], Pairs { apart: 0.05, pairs: 3, right: 2.0 / 3.0 });
        assert_eq!(ranking.pairs[1], Pairs { apart: 0.15, pairs: 2, right: 1.0 });
        assert_eq!(ranking.choices, 1);
        assert!((ranking.slowdown_mean - 0.1).abs() < 1e-12);
        // The second is chosen. Predicted: (13 x 12 x 14)^(1/3) / 12 = 1.0812; measured: (10 x 11 x 13)^(1/3) / 11 = 1.0242; it is
        // 1.0812 / 1.0242 - 1 = 5.56 % slower beside the others than was predicted.
        let price = ranking.price.expect("one key has three layouts");
        let found = [price.predicted_gain, price.measured_gain, price.price];
        assert!(
            found.iter().zip([0.0812, 0.0242, 0.0556]).all(|(found, hand)| (found - hand).abs() < 1e-4),
            "{found:?}"
        );
        assert_eq!(price.keys, 1);
    }
}
