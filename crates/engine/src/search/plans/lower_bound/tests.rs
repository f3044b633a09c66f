//! The work of a mesh by hand; the tests of the search hold all bounds against simulations.

use super::*;
use crate::testing;

/// Four layers that take 1, 2, 3 and 4 s, and a head of 2 s; computed again 2, 5, 5 and 8 s. The layers that a share names
/// may be those that add least: two of them add 1 s each at least. All four add 1 + 3 + 2 + 4 s.
#[test]
fn the_cheapest_layer_stands_for_each_that_is_computed_again() {
    let scenario = testing::scenario();
    let terms = StepTerms::new(&scenario, &scenario.layout().expect("a plan"));
    let units = |seconds: [f64; 5]| {
        let half = |seconds: f64| PerDirection::both(Seconds::new(seconds / 2.0));
        let parts = seconds.map(|seconds| StageCost { compute: half(seconds), ..StageCost::default() });
        let mut units = terms.clone();
        (units.parts, units.order) = (parts.to_vec(), (0..5).collect());
        units
    };
    let [none, selective, full] =
        [[1.0, 2.0, 3.0, 4.0, 2.0], [1.5, 2.5, 3.5, 4.5, 2.0], [2.0, 5.0, 5.0, 8.0, 2.0]].map(units);
    let work = RecomputeWork::new([&none, &selective, &full], |part| part.compute);
    for (recompute, expected) in
        [(Recompute::None, 12.0), (Recompute::Selective, 14.0), (Recompute::Share(0.5), 14.0), (Recompute::Full, 22.0)]
    {
        assert_eq!(work.with(recompute, 4, 0), Seconds::new(expected), "{recompute}");
    }
    // Of three layers that would be computed again backward does not reach the first.
    assert_eq!(work.with(Recompute::Share(0.75), 4, 1), Seconds::new(14.0));
}
