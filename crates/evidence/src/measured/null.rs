//! The null model: what a constant per device, software and network reaches, fitted on the same rows.
//!
//! For step time the constant is a share of the peak that all model flop runs at, for memory a
//! multiple of the model's state. A prediction that does not beat it has learnt nothing from the layout.

use std::collections::BTreeMap;

/// Device, stack, and whether the job crosses nodes.
pub(crate) type NullCell = (String, String, bool);

/// One measured value and what the null model scales for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NullRow {
    /// Each cell has its constant.
    pub cell: NullCell,
    /// Near-duplicates share a weight of 1.
    pub group: String,
    /// Time at the device's peak, or bytes of the state.
    pub base: f64,
    pub measured: f64,
}

/// The null model's signed error of each row: the constant of each cell minimises the mean absolute
/// relative error of its rows, groups weighing alike.
///
/// `sum w |c b / m - 1|` is least at the weighted median of `m / b` with weights `w b / m`.
pub fn errors(rows: &[NullRow]) -> Vec<f64> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        *sizes.entry(&row.group).or_default() += 1.0;
    }
    let mut cells: BTreeMap<&NullCell, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let constant = row.measured / row.base;
        // `w |c b / m - 1|` is `w b / m |c - m / b|`, a weighted distance on the constants `m / b`.
        cells.entry(&row.cell).or_default().push((constant, 1.0 / constant / sizes[row.group.as_str()]));
    }
    let constants: BTreeMap<_, f64> = cells.into_iter().map(|(cell, values)| (cell, weighted_median(values))).collect();
    rows.iter().map(|row| constants[&row.cell] * row.base / row.measured - 1.0).collect()
}

/// The least value at which half of the weight is reached.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    let middle = values.iter().find(|(_, weight)| {
        reached += weight;
        reached >= half
    });
    middle.map_or(f64::NAN, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_serves_each_cell() {
        let row = |stack: &str, group: &str, measured| NullRow {
            cell: ("a100".to_owned(), stack.to_owned(), false),
            group: group.to_owned(),
            base: 1.0,
            measured,
        };
        // Alone in its cell, a row is met. Of 2, 2 and 4 with weights 1/2, 1/2 and 1/4 the median is 2.
        let errors = errors(&[row("x", "a", 3.0), row("y", "b", 2.0), row("y", "c", 2.0), row("y", "d", 4.0)]);
        assert_eq!(errors, [0.0, 0.0, 0.0, -0.5]);
    }
}
