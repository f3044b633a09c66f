//! Layers that predict further tokens.

use super::*;
use crate::plan::{StageSizes, TrainMethod};

/// Blocks of width 512 with 5,000 words, and so many layers for further tokens.
fn blocks(layers: u32, mtp_layers: u32) -> Arc<Model> {
    Arc::new(Model { vocab: 5000, mtp_layers, ..testing::model(layers, 512) })
}

/// Beside a layer as any other, for 1,024 tokens at 100 TFLOP/s and 1 TB/s: logits once more, `6 x 5000 x 512` flop a token;
/// a product of 1024 by 512, `6 x 2 x 512^2`; and a row of the embedding read, written and added to, 5 x 2 bytes a channel.
#[test]
fn a_further_token_is_a_layer_a_product_and_logits() {
    let step = |model: Arc<Model>| {
        let mut scenario = testing::scenario();
        (scenario.model, scenario.plan.sharding, scenario.plan.size) = (model, testing::ddp(), Size::Devices(1));
        evaluate(&scenario).step_time.get()
    };
    let flop = 6.0 * (5000.0 * 512.0 + 2.0 * 512.0 * 512.0) * 1024.0;
    let bytes = 5.0 * 2.0 * 512.0 * 1024.0;
    close(step(blocks(2, 1)) - step(blocks(3, 0)), flop / 100e12 + bytes / 1e12);
}

/// On the last of two pipeline ranks are a layer of the two, the one behind it, the product before that, logits, and a copy
/// of the embedding, whose gradients both ends sum: 5000 x 512 of 2 bytes in a ring of two.
#[test]
fn the_last_stage_has_them_and_a_copy_of_the_embedding() {
    let [plain, further] = [0, 1].map(|mtp_layers| {
        let mut scenario = pipeline(Schedule::OneForwardOneBackward, 2, 1, 3);
        scenario.model = blocks(2, mtp_layers);
        scenario.plan.stage_layers = StageSizes::Layers(vec![1, 1]);
        evaluate(&scenario)
    });
    let weights = 2.0 * 12.0 * 512.0 * 512.0 + 2.0 * 512.0 * 512.0 + 2.0 * 5000.0 * 512.0;
    close(further.memory.parts.weights.get(), 2.0 * weights);
    close((further.traffic[0].bytes_per_device - plain.traffic[0].bytes_per_device).get(), 5.12e6);
}

/// Where weights are sharded, each pass gathers the embedding twice: for the first tokens and, with the logits, for further
/// ones. Gradients are reduced once.
#[test]
fn the_head_gathers_the_embedding_too() {
    let sent = |model: Arc<Model>| {
        let mut scenario = testing::scenario();
        scenario.model = model;
        evaluate(&scenario).traffic.iter().map(|level| level.bytes_per_device.get()).sum::<f64>()
    };
    let [plain, further] = [blocks(2, 0), blocks(2, 1)].map(|model| (model.parameters() as f64, sent(model)));
    let embedding = 5000.0 * 512.0;
    close(further.1 / plain.1, (3.0 * further.0 + 2.0 * embedding) / (3.0 * plain.0));
}

/// Two of them beside combined passes, adapters, and blocks without logits are refused by name.
#[test]
fn what_cannot_be_trained_so_is_refused() {
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = testing::scenario();
        scenario.model = blocks(2, 2);
        change(&mut scenario);
        let problems = scenario.checked().err().unwrap_or_default();
        problems.iter().any(|problem| problem.field == "plan.mtp_layers")
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|scenario| scenario.plan.experts.overlap = true));
    assert!(refused(&|scenario| scenario.plan.tuning.method = TrainMethod::Lora));
    assert!(refused(&|scenario| Arc::make_mut(&mut scenario.model).vocab = 0));
}
