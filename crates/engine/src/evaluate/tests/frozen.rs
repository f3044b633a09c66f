//! Layers and ends of a model that stay as they are.

use super::*;
use crate::cost::{Factors, Rates, trained_parameters};
use crate::evaluate::checkpoint_size;
use crate::plan::{FrozenEnds, Recompute, TrainMethod};

/// Weights of a layer of the toy, which has 8 of them and nothing else.
const LAYER: f64 = 12.0 * 1024.0 * 1024.0;

/// Seconds of a layer's products and of its attention, forward, for 1,024 tokens at 100 TFLOP/s. Backward of either takes as
/// long for inputs, of products once more for weights, and of attention 2.5 times as long in all.
const PRODUCTS: f64 = 2.0 * 1024.0 * LAYER / 100e12;
const ATTENTION: f64 = 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;

/// The toy on one device with so many of its layers frozen.
fn frozen(layers: u32, ends: Option<FrozenEnds>) -> Scenario {
    let mut scenario = testing::scenario();
    (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(1), testing::ddp());
    Arc::make_mut(&mut scenario.model).frozen_layers = layers;
    scenario.plan.tuning.ends = ends;
    scenario
}

/// Of Llama 3.1 8B a layer has 4096 x (2 x 4096 + 2 x 1024) + 3 x 4096 x 14336 + 2 x 4096 = 218,112,000 parameters, the
/// embedding and the logits 128,256 x 4,096 = 525,336,576 each, and the last norm 4,096. The last eight layers alone; the
/// last eight and the head, as where the embedding is frozen with the first ones; embedding and head; all but the embedding.
#[test]
fn what_is_trained_is_counted() {
    let library = crate::presets::Library::embedded();
    let (layer, embedding) = (218_112_000, 525_336_576);
    for (layers, ends, expected) in [
        (24, Some(FrozenEnds::Both), 8 * layer),
        (24, None, 8 * layer + embedding + 4096),
        (32, Some(FrozenEnds::None), 2 * embedding + 4096),
        (0, Some(FrozenEnds::Embedding), 32 * layer + embedding + 4096),
        (0, Some(FrozenEnds::Head), 32 * layer + embedding),
        (0, None, 8_030_261_248),
    ] {
        let mut scenario = frozen(layers, ends);
        scenario.model = library.model("llama-3.1-8b").expect("a preset");
        Arc::make_mut(&mut scenario.model).frozen_layers = layers;
        assert_eq!(trained_parameters(&scenario), expected, "{layers} {ends:?}");
        // Weights of 2 bytes with 12 of state.
        close(checkpoint_size(&scenario).get(), expected as f64 * 14.0);
    }
}

/// With six of eight layers frozen two have gradients of two bytes and 12 of state. Forward passes all layers, backward two;
/// where the embedding below is trained, it passes the six for the gradients of their inputs.
#[test]
fn backward_stops_at_the_last_frozen_layer() {
    for (ends, behind) in [(None, 0.0), (Some(FrozenEnds::None), 6.0 * (PRODUCTS + 2.5 * ATTENTION))] {
        let summary = evaluate(&frozen(6, ends));
        let forward = 8.0 * (PRODUCTS + ATTENTION);
        close(summary.time.compute.get(), forward + 2.0 * (2.0 * PRODUCTS + 2.5 * ATTENTION) + behind);
        let parts = summary.memory.parts;
        close(parts.weights.get(), 8.0 * LAYER * 2.0);
        close(parts.gradients.get(), 2.0 * LAYER * 2.0);
        close(parts.optimizer.get(), 2.0 * LAYER * 12.0);
    }
}

/// The flop of a token: 6 for each weight of two layers, 2 or 4 for those of the six; three passes over 4 x 1024 x 1024 of
/// attention, or one.
#[test]
fn frozen_weights_take_fewer_flop() {
    let attention = 4.0 * 1024.0 * 1024.0;
    for (ends, each, passes) in [(None, 2.0, 1.0), (Some(FrozenEnds::None), 4.0, 3.0)] {
        let summary = evaluate(&frozen(6, ends));
        let flop = (2.0 * 6.0 + 6.0 * each) * LAYER + (2.0 * 3.0 + 6.0 * passes) * attention;
        close(summary.model_flops.get() * summary.step_time.get(), flop * 1024.0);
    }
}

/// Layers that backward does not reach are not computed again, neither in time nor in flop.
#[test]
fn frozen_layers_are_not_computed_again() {
    let summaries = [Recompute::None, Recompute::Full].map(|recompute| {
        let mut scenario = frozen(6, None);
        scenario.plan.recompute = recompute;
        evaluate(&scenario)
    });
    let [once, again] = &summaries;
    close((again.time.compute - once.time.compute).get(), 2.0 * (PRODUCTS + ATTENTION));
    let recomputed = (again.hardware_flops - again.model_flops).get() * again.step_time.get();
    close(recomputed, 1024.0 * 2.0 * (2.0 * LAYER + 4.0 * 1024.0 * 1024.0));
}

/// Autograd keeps nothing of layers that nothing below needs a gradient of. Where it passes them, it keeps what a frozen
/// layer's adapters would not add: norms' inputs, 3 widths of queries, keys and values, attention's output, and the MLP's
/// 4 widths before its activation. At the peak, in the last layer, two layers' activations are there.
#[test]
fn frozen_layers_keep_less() {
    let kept = |ends: Option<FrozenEnds>| {
        let scenario = frozen(6, ends);
        let rates = Rates::new(&scenario, &Factors::default());
        let width = Bytes::new(1024.0 * 1024.0 * 2.0);
        [0, 7].map(|layer| rates.activations(scenario.model.kind(layer)).layer / width)
    };
    let near = |found: [f64; 2], expected: [f64; 2]| (0..2).all(|at| (found[at] - expected[at]).abs() < 1e-9);
    assert!(near(kept(None), [0.0, 16.0]), "{:?}", kept(None));
    let trained = kept(Some(FrozenEnds::None));
    assert!(near(trained, [10.0, 16.0]), "{trained:?}");
    let mut short = frozen(0, None);
    Arc::make_mut(&mut short.model).layers = 2;
    let activations = |scenario: &Scenario| evaluate(scenario).memory.parts.activations.get();
    close(activations(&frozen(6, None)), activations(&short));
}

/// On four devices each layer is gathered for forward, and again for backward where that passes it; gradients of two layers
/// are reduced. Three quarters of everything leave a device.
#[test]
fn frozen_layers_are_gathered_where_they_are_passed() {
    for (ends, passed) in [(None, 2.0), (Some(FrozenEnds::None), 8.0)] {
        let mut scenario = frozen(6, ends);
        (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(4), testing::zero3());
        let sent = evaluate(&scenario).traffic[0].bytes_per_device.get();
        close(sent, 0.75 * (8.0 + passed + 2.0) * LAYER * 2.0);
    }
}

/// Weights that stay gathered after forward go at the end all the same, in every micro-batch.
#[test]
fn frozen_weights_that_stay_gathered_go_in_the_end() {
    let gathered = |accumulate: u32| {
        let mut scenario = frozen(6, None);
        (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(4), testing::zero3());
        scenario.plan.sharding.reshard_after_forward = false;
        scenario.plan.accumulate = accumulate;
        evaluate(&scenario).memory.parts.gathered.get()
    };
    close(gathered(5), gathered(2));
}

/// A frozen head needs the gradient of its input for the layers below, and a frozen embedding nothing: 5,000 words of width
/// 512, 1,024 tokens. Frozen with the embedding, logits that reuse its matrix are a frozen product too.
#[test]
fn frozen_ends_have_no_gradients() {
    let compute = |ends: FrozenEnds, tied: bool| {
        let mut scenario = frozen(0, Some(ends));
        scenario.model = Arc::new(Model { vocab: 5000, tied, ..testing::model(2, 512) });
        evaluate(&scenario).time.compute.get()
    };
    let (logits, row) = (2.0 * 1024.0 * 5000.0 * 512.0 / 100e12, 1024.0 * 512.0 * 2.0 / 1e12);
    let all = compute(FrozenEnds::None, false);
    close(all - compute(FrozenEnds::Head, false), logits);
    close(all - compute(FrozenEnds::Embedding, false), 3.0 * row);
    close(all - compute(FrozenEnds::Embedding, true), logits + 3.0 * row);
}

/// More layers than there are, nothing that is trained, adapters beside them, and pipelines are refused by name.
#[test]
fn what_cannot_be_frozen_is_refused() {
    let refused = |layers: u32, ends: Option<FrozenEnds>, change: &dyn Fn(&mut Scenario)| {
        let mut scenario = frozen(layers, ends);
        change(&mut scenario);
        scenario.layout().err().map(|problems| problems[0].field.clone())
    };
    assert_eq!(refused(6, None, &|_| {}), None);
    assert_eq!(refused(9, None, &|_| {}).as_deref(), Some("plan.frozen_layers"));
    assert_eq!(refused(8, None, &|_| {}).as_deref(), Some("plan.frozen_layers"), "the toy has no ends");
    let adapters = |scenario: &mut Scenario| scenario.plan.tuning.method = TrainMethod::Lora;
    assert_eq!(refused(6, None, &adapters).as_deref(), Some("plan.frozen_layers"));
    assert_eq!(refused(0, Some(FrozenEnds::Head), &adapters).as_deref(), Some("plan.frozen_ends"));
    let pipeline = |scenario: &mut Scenario| {
        (scenario.plan.size, scenario.plan.pipeline, scenario.plan.accumulate) = (Size::Devices(2), 2, 2);
    };
    assert_eq!(refused(6, None, &pipeline).as_deref(), Some("plan.frozen_layers"));
    assert_eq!(refused(0, Some(FrozenEnds::Embedding), &pipeline), None);
}

/// The first 26 of 52 layers would be computed again, and backward reaches none of the first 30: nothing is. With all of them
/// computed again the last 22 are, of which each takes a third of what it takes otherwise. In a hybrid the first layers are not
/// like the mean of all.
#[test]
fn layers_that_backward_does_not_reach_are_not_computed_again() {
    let mut scenario = frozen(0, None);
    scenario.model = Library::embedded().model("nemotron-h-8b").expect("a preset");
    Arc::make_mut(&mut scenario.model).frozen_layers = 30;
    scenario.plan.recompute = Recompute::Share(0.5);
    let half = evaluate(&scenario);
    close(half.hfu, half.mfu);
    scenario.plan.recompute = Recompute::Full;
    let full = evaluate(&scenario);
    assert!(full.hfu > full.mfu * 1.1 && full.hfu < full.mfu * 4.0 / 3.0, "{} {}", full.hfu, full.mfu);
}
