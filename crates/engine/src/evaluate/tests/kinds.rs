//! Models whose layers are of several kinds.

use super::*;
use crate::cost::Factors;
use crate::model::LayerPattern;
use crate::plan::StageSizes;

/// Seconds of forward and backward of a layer with so many active weights, in units of the square of the width of 1024,
/// for one sequence of 1024 tokens of which attention sees a share: 6 flop for each weight and token, and 2 + 5 for each
/// token and channel attended to (half of 4, and 2.5 times that).
fn layer(weights: f64, seen: f64) -> f64 {
    let cube = 1024.0 * 1024.0 * 1024.0;
    (6.0 * weights + 7.0 * seen) * cube / 100e12
}

/// Six layers on one device.
fn of_kinds(kinds: usize) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::of_kinds(testing::model(6, 1024), kinds));
    scenario.plan.size = Size::Devices(1);
    scenario
}

/// Time of a layer with experts: 8 squares of the width for each token, and a router's three products, each as long as the
/// 2 x (1024 x 1024 + 2 x 4 x 1024) bytes of 1024 tokens, 1024 channels and 4 experts take at 1 TB/s.
fn routed(seen: f64) -> f64 {
    layer(8.0, seen) + 3.0 * 2.0 * (1024.0 * 1024.0 + 2.0 * 4.0 * 1024.0) / 1e12
}

/// A dense layer has 4 + 8 squares of the width in weights. One with experts 4 and, of 4 experts of 2 each, two active
/// ones. A window of an eighth of the sequence sees 1/8 (2 - 1/8) of it.
#[test]
fn a_step_is_the_sum_of_the_layers_that_there_are() {
    let (dense, seen) = (12.0, 0.234_375);
    let mixed = [layer(dense, seen), layer(dense, seen), routed(1.0), layer(dense, seen), routed(seen)];
    let expected = [
        6.0 * layer(dense, 1.0),
        6.0 * routed(1.0),
        layer(dense, 1.0) + 5.0 * routed(1.0),
        3.0 * layer(dense, 1.0) + 3.0 * routed(1.0),
        2.0 * layer(dense, 1.0) + 4.0 * layer(dense, seen),
        mixed.iter().sum::<f64>() + layer(dense, 1.0),
    ];
    for (kinds, expected) in expected.into_iter().enumerate() {
        close(evaluate(&of_kinds(kinds)).time.compute.get(), expected);
    }
}

/// Layers whose keys are their values have 3 + 8 squares of the width in weights. Of those with a window 8 heads of keys and of
/// values serve 16 of queries, each of twice as many channels: 2 + 1 + 1 + 2 + 8 squares, and twice the width of scores. Of
/// six layers the first and the last of every three see everything.
#[test]
fn windows_may_have_heads_of_their_own() {
    let expected = 3.0 * layer(11.0, 1.0) + 3.0 * layer(14.0, 2.0 * 0.234_375);
    close(evaluate(&of_kinds(10)).time.compute.get(), expected);
}

/// Twelve layers, attention and an MLP in turns, are six that have both, and so with experts; tensor ranks exchange as much,
/// and experts may have a mesh of their own.
#[test]
fn halves_in_layers_of_their_own_cost_what_they_cost_together() {
    for (kinds, letters, tensor, experts) in [(0, "*-", 1, 1), (0, "*-", 2, 1), (1, "*E", 2, 1), (1, "*E", 1, 4)] {
        let mut whole = of_kinds(kinds);
        whole.plan.size = Size::Devices(tensor * experts);
        (whole.plan.tensor, whole.plan.experts.ranks) = (tensor, experts);
        let mut alone = whole.clone();
        let model = Arc::make_mut(&mut alone.model);
        model.layers = 12;
        model.pattern = Some(LayerPattern::try_from(letters.to_owned()).expect("a pattern"));
        let [whole, alone] = [whole, alone].map(|scenario| evaluate(&scenario));
        close(alone.time.compute.get(), whole.time.compute.get());
        close(alone.memory.parts.weights.get(), whole.memory.parts.weights.get());
        // Gradients of smaller units are reduced sooner.
        if experts == 1 {
            close(alone.step_time.get(), whole.step_time.get());
        }
    }
}

/// A dense layer and three with experts on two ranks, 8 micro-batches. Balanced, the ranks have d + e and 2 e. The first
/// one's first backward begins a forward f and 2 e after the step; then it has 8 backwards b and 6 forwards, and before its
/// last backward the last rank takes 2 e, beside which it has a backward: f + 2 e + 8 b + 6 f + 2 e - b = 7 (d + e) + 4 e.
/// Given as 1 and 3 layers, the second rank is busy with 3 e for each micro-batch, before and behind it the first with d.
#[test]
fn stages_are_balanced_by_their_layers_or_given() {
    let mut scenario = of_kinds(2);
    Arc::make_mut(&mut scenario.model).layers = 4;
    (scenario.plan.size, scenario.plan.pipeline, scenario.plan.accumulate) = (Size::Devices(2), 2, 8);
    let (d, e) = (layer(12.0, 1.0), routed(1.0));
    let free = Factors { bandwidth: [1e30; MAX_LEVELS], ..Factors::default() };
    let mut judge = |sizes: StageSizes, expected: f64, weights: [f64; 2]| {
        scenario.plan.stage_layers = sizes;
        let mut workspace = Workspace::default();
        let checked = scenario.checked().expect("a valid scenario");
        let summary = summary_with(&checked, &free, &mut workspace).expect("a valid scenario");
        close((summary.step_time - summary.time.optimizer).get(), expected);
        let held: Vec<f64> = stages(&checked, &workspace).iter().map(|rank| rank.parts.weights.get()).collect();
        assert_eq!(held, weights);
    };
    // In bytes: a dense layer 2 x 12 x 1024^2; one with experts 2 x (4 + 4 x 2) x 1024^2 and a router of 4 x 1024.
    let (dense, sparse) = (25_165_824.0, 25_165_824.0 + 8192.0);
    judge(StageSizes::Balanced, 7.0 * (d + e) + 4.0 * e, [dense + sparse, 2.0 * sparse]);
    judge(StageSizes::Layers(vec![1, 3]), 8.0 * 3.0 * e + d, [dense, 3.0 * sparse]);
    for wrong in [vec![4], vec![2, 3], vec![0, 4]] {
        scenario.plan.stage_layers = StageSizes::Layers(wrong);
        let problems = scenario.layout().expect_err("it cannot be");
        assert_eq!(problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), ["plan.stage_layers"]);
    }
}
