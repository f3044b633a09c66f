//! The values beside the axes.

use super::*;

/// 540 to 610: a step of 20, the first above a fifth of 70, gives 540, 560, 580, 600.
#[test]
fn a_narrow_range_has_labels_too() {
    let labels = |low, high| round_values(low, high).into_iter().map(|(_, label)| label).collect::<Vec<_>>();
    assert_eq!(labels(540.0, 610.0), ["540", "560", "580", "600"]);
    assert_eq!(labels(0.93, 1.07), ["0.95", "1.00", "1.05"]);
    assert_eq!(labels(3.0, 60.0), ["5", "10", "20", "50"]);
    assert!(labels(5.0, 5.0).len() <= 1);
}
