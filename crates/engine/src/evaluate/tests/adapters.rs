//! Adapters beside frozen weights.

use super::*;
use crate::cost::trained_parameters;
use crate::plan::{FrozenFormat, LoraTargets, TrainMethod, Tuning};

/// The toy on one device, with adapters of rank 16 beside its queries and values.
fn adapted(method: TrainMethod, frozen: FrozenFormat) -> Scenario {
    let mut scenario = testing::scenario();
    (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(1), testing::ddp());
    let targets: LoraTargets = "q,v".parse().expect("matrices");
    scenario.plan.tuning = Tuning { method, rank: 16, targets, frozen: Some(frozen), ..Tuning::default() };
    scenario
}

/// Of 8 layers, two adapters each: 16 x (1024 + 1024) parameters.
const ADAPTERS: f64 = 8.0 * 2.0 * 16.0 * 2048.0;

/// Weights of the toy's matrices, of which it has nothing else.
const FROZEN: f64 = 8.0 * 12.0 * 1024.0 * 1024.0;

/// The counts that PEFT prints for Llama-2-7B ("trainable params: 4,194,304" for q and v at rank 8; `QLoRA`'s 159,907,840 for
/// all matrices at rank 64), and `MLPerf`'s for Llama-2-70B at rank 16 beside fused queries, keys and values.
#[test]
fn adapters_have_the_published_counts_of_parameters() {
    let library = crate::presets::Library::embedded();
    let cases = [
        ("llama-2-7b", 8, "q_proj,v_proj", 4_194_304),
        ("llama-2-7b", 64, "all-linear", 159_907_840),
        ("llama-2-70b", 16, "linear_qkv+linear_proj", 44_564_480),
    ];
    for (model, rank, targets, expected) in cases {
        let mut scenario = testing::scenario();
        scenario.model = library.model(model).expect("a preset");
        assert_eq!(trained_parameters(&scenario), scenario.model.parameters(), "all are trained in full");
        let targets = targets.parse().expect("matrices");
        scenario.plan.tuning = Tuning { method: TrainMethod::Lora, rank, targets, ..Tuning::default() };
        assert_eq!(trained_parameters(&scenario), expected, "{model}");
    }
}

/// Frozen weights of two bytes, or of 4.127 bits; gradients of two bytes and 12 of state for adapters alone.
#[test]
fn frozen_weights_have_neither_gradients_nor_state() {
    for (method, format, bytes) in [
        (TrainMethod::Lora, FrozenFormat::Bf16, 2.0),
        (TrainMethod::Lora, FrozenFormat::Int8, 1.0),
        (TrainMethod::Qlora, FrozenFormat::Nf4, 4.126_953_125 / 8.0),
    ] {
        let parts = evaluate(&adapted(method, format)).memory.parts;
        close(parts.weights.get(), FROZEN * bytes + ADAPTERS * 2.0);
        close(parts.gradients.get(), ADAPTERS * 2.0);
        close(parts.optimizer.get(), ADAPTERS * 12.0);
    }
}

/// A frozen product takes as long backward as forward. Each product of an adapter reads and writes 1024 x 1024 + 2 x 1024 x
/// 16 elements of two bytes at 1 TB/s, which takes longer than its arithmetic: two of them forward, four backward. The model
/// flop of a token are 4 for a frozen weight and 6 for one of an adapter.
#[test]
fn frozen_products_have_no_gradient_of_weights() {
    let scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
    let summary = evaluate(&scenario);
    let weights = 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12;
    let attention = 2.0 * 1024.0 * 1024.0 * 1024.0 / 100e12;
    let adapter = 6.0 * (1024.0 * 1024.0 + 2.0 * 1024.0 * 16.0) * 2.0 / 1e12;
    close(summary.time.compute.get(), 8.0 * (2.0 * weights + 3.5 * attention + 2.0 * adapter));
    let flop = 4.0 * FROZEN + 6.0 * ADAPTERS + 12.0 * 8.0 * 1024.0 * 1024.0;
    close(summary.model_flops.get() * summary.step_time.get(), flop * 1024.0);
}

/// Every pass reads the four bits and writes two bytes for each weight of the matrices: once forward, once backward, and
/// once more where backward computes forward again. A kernel at a quarter of the rate of memory takes four times as long.
#[test]
fn quantised_weights_are_dequantised_in_every_pass() {
    let compute = |frozen: FrozenFormat, recompute: Recompute, share: f64| {
        let mut scenario = adapted(TrainMethod::Lora, frozen);
        scenario.plan.recompute = recompute;
        Arc::make_mut(&mut scenario.calibration).software.dequantisation = share;
        evaluate(&scenario).time.compute.get()
    };
    let pass = FROZEN * (4.126_953_125 / 8.0 + 2.0) / 1e12;
    for (recompute, passes, share) in
        [(Recompute::None, 2.0, 1.0), (Recompute::Full, 3.0, 1.0), (Recompute::None, 2.0, 0.25)]
    {
        let more = compute(FrozenFormat::Nf4, recompute, share) - compute(FrozenFormat::Bf16, recompute, share);
        close(more, passes * pass / share);
    }
}

/// On four devices of a node: weights are gathered in their format, forward and backward, and gradients of adapters alone
/// are reduced. Three quarters of everything leave a device.
#[test]
fn frozen_weights_travel_in_their_format_and_their_gradients_never() {
    for (format, bytes) in [(FrozenFormat::Bf16, 2.0), (FrozenFormat::Nf4, 4.126_953_125 / 8.0)] {
        let mut scenario = adapted(TrainMethod::Lora, format);
        (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(4), testing::zero3());
        let gathered = FROZEN * bytes + ADAPTERS * 2.0;
        let sent = evaluate(&scenario).traffic[0].bytes_per_device.get();
        close(sent, 0.75 * (2.0 * gathered + ADAPTERS * 2.0));
    }
}

/// Nothing of a model of 8 billion parameters on 8 devices stays gathered from one micro-batch to the next: a peak of as many
/// units, however many micro-batches there are.
#[test]
fn gathered_weights_go_with_each_micro_batch() {
    let library = crate::presets::Library::embedded();
    let gathered = |accumulate: u32| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        scenario.model = library.model("llama-3.1-8b").expect("a preset");
        (scenario.plan.size, scenario.plan.sharding) = (Size::Nodes(2), testing::zero3());
        scenario.plan.accumulate = accumulate;
        evaluate(&scenario).memory.parts.gathered.get()
    };
    close(gathered(9), gathered(3));
}

/// Autograd keeps of a layer without norms and gates: the norm's input and attention's 3 + 1 widths either way; the input of
/// attention for adapters on queries, none for an adapter on the projection alone; the MLP's 4 widths before its activation,
/// and the 4 behind it only for an adapter on `down`. Adapters keep 16 channels each.
#[test]
fn activations_are_kept_where_an_adapter_needs_them() {
    let kept = |targets: &str| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        scenario.plan.tuning.targets = targets.parse().expect("matrices");
        let rates = crate::cost::Rates::new(&scenario, &crate::cost::Factors::default());
        rates.activations(scenario.model.kind(0)).layer.get() / (1024.0 * 2.0)
    };
    let always = (1.0 + 3.0 + 1.0) * 1024.0 + (1.0 + 4.0) * 1024.0;
    close(kept("q,v"), always + 1024.0 + 2.0 * 16.0);
    close(kept("o"), always + 16.0);
    close(kept("down"), always + 4.0 * 1024.0 + 16.0);
    close(kept("all"), always + 2.0 * 1024.0 + 4.0 * 1024.0 + 6.0 * 16.0);
}

/// Adapters in fp32 beside 2-byte weights: each casts its input to 4 bytes, two widths of 2 for each of q, k and v, for the one on
/// the MLP's first matrix and, of attention's output, for the one on the projection, and eight for `down`, in the place of
/// shared copies; and the 16 channels of each take 4 bytes.
#[test]
fn adapters_of_another_format_cast_an_input_each() {
    let kept = |targets: &str| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        std::sync::Arc::make_mut(&mut scenario.stack).adapter_format = Some(crate::plan::Format::Fp32);
        scenario.plan.tuning.targets = targets.parse().expect("matrices");
        let rates = crate::cost::Rates::new(&scenario, &crate::cost::Factors::default());
        rates.activations(scenario.model.kind(0)).layer.get() / (1024.0 * 2.0)
    };
    let always = (1.0 + 3.0 + 1.0) * 1024.0 + (1.0 + 4.0) * 1024.0;
    close(kept("q,v"), always + 4.0 * 1024.0 + 2.0 * 32.0);
    close(kept("o"), always + 2.0 * 1024.0 + 32.0);
    close(kept("all"), always + (6.0 + 2.0 + 2.0 + 8.0) * 1024.0 + 6.0 * 32.0);
}

/// An adapter that drops a part of its input keeps what is left, in its own format, and a mask of a byte each: 1.5 widths of 2
/// bytes where it has the format of the layer, 2.5 in fp32, for each of q, k, v, o and the MLP's first matrix, and four times
/// that for `down`. The input itself is not kept. A plan that trains all weights has nothing to drop.
#[test]
fn adapters_with_dropout_keep_what_is_left_and_a_mask_each() {
    let kept = |targets: &str, format: Option<crate::plan::Format>| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        std::sync::Arc::make_mut(&mut scenario.stack).adapter_format = format;
        scenario.plan.tuning.targets = targets.parse().expect("matrices");
        scenario.plan.tuning.dropout = crate::units::Share::new(0.05);
        let rates = crate::cost::Rates::new(&scenario, &crate::cost::Factors::default());
        rates.activations(scenario.model.kind(0)).layer.get() / (1024.0 * 2.0)
    };
    let always = (1.0 + 3.0 + 1.0) * 1024.0 + (1.0 + 4.0) * 1024.0;
    for (format, copies, channels) in [(None, 1.5, 16.0), (Some(crate::plan::Format::Fp32), 2.5, 32.0)] {
        close(kept("q,v", format), always + 2.0 * copies * 1024.0 + 2.0 * channels);
        close(kept("o", format), always + copies * 1024.0 + channels);
        close(kept("all", format), always + (3.0 + 1.0 + 1.0 + 4.0) * copies * 1024.0 + 6.0 * channels);
    }
    let mut scenario = adapted(TrainMethod::Full, FrozenFormat::Bf16);
    let without = evaluate(&scenario);
    scenario.plan.tuning.dropout = crate::units::Share::new(0.05);
    assert_eq!(evaluate(&scenario), without);
}

/// Dropout reads an adapter's input of 1024 x 1024 numbers of two bytes and writes what is left and a mask of a byte, and as
/// much of its gradient, at 1 TB/s: once forward, once backward.
#[test]
fn dropout_reads_and_writes_an_adapters_input() {
    let compute = |dropout: f64| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        scenario.plan.tuning.dropout = crate::units::Share::new(dropout);
        Arc::make_mut(&mut scenario.calibration).element_wise.insert("none".to_owned(), 1.0);
        evaluate(&scenario).time.compute.get()
    };
    let pass = 1024.0 * 1024.0 * (2.0 + 2.0 + 1.0) / 1e12;
    close(compute(0.1) - compute(0.0), 8.0 * 2.0 * 2.0 * pass);
}

/// bitsandbytes kept the input of each product by weights of 4 or 8 bits: beside adapters on queries and values alone those of
/// the MLP's two matrices, 1 and 4 widths; attention puts its own out in that format. Adapters in fp32 have casts beside.
#[test]
fn products_by_quantised_weights_keep_their_inputs() {
    let kept = |frozen: FrozenFormat, keeps: bool, adapters: Option<crate::plan::Format>| {
        let mut scenario = adapted(TrainMethod::Lora, frozen);
        let stack = std::sync::Arc::make_mut(&mut scenario.stack);
        (stack.keeps_frozen_inputs, stack.adapter_format) = (keeps, adapters);
        let rates = crate::cost::Rates::new(&scenario, &crate::cost::Factors::default());
        rates.activations(scenario.model.kind(0)).layer.get() / (1024.0 * 2.0)
    };
    let without = kept(FrozenFormat::Nf4, false, None);
    for frozen in [FrozenFormat::Nf4, FrozenFormat::Int8] {
        close(kept(frozen, true, None), without + (1.0 + 4.0) * 1024.0);
    }
    close(kept(FrozenFormat::Bf16, true, None), without);
    let cast = Some(crate::plan::Format::Fp32);
    close(kept(FrozenFormat::Nf4, true, cast), kept(FrozenFormat::Nf4, false, cast) + (1.0 + 1.0 + 4.0) * 1024.0);
}

/// Frozen weights in fp32 take 4 bytes; each product casts them, 4 bytes read and 2 written, and keeps the cast until its
/// backward. What ranks that share them gather is refused.
#[test]
fn frozen_weights_in_fp32_are_cast_for_each_product() {
    let layer = |frozen: FrozenFormat| {
        let scenario = adapted(TrainMethod::Lora, frozen);
        let rates = crate::cost::Rates::new(&scenario, &crate::cost::Factors::default());
        let kind = scenario.model.kind(0);
        (rates.activations(kind).layer.get(), rates.layer(kind).forward.sum().memory.get())
    };
    let weights = FROZEN / 8.0;
    let [whole, cast] = [FrozenFormat::Bf16, FrozenFormat::Fp32].map(layer);
    close(cast.0 - whole.0, weights * 2.0);
    close(cast.1 - whole.1, weights * 6.0 / 1e12);
    let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Fp32);
    close(evaluate(&scenario).memory.parts.weights.get(), FROZEN * 4.0 + ADAPTERS * 2.0);
    (scenario.plan.size, scenario.plan.sharding) = (Size::Nodes(1), testing::zero3());
    let refused = scenario.layout().expect_err("they are shared");
    assert_eq!(refused[0].field, "plan.frozen_format");
}

/// Of 8 layers the last has its gradients, of two bytes each, at the peak, which is where its backward begins; with a second
/// micro-batch all of them are there.
#[test]
fn gradients_that_the_update_gives_back_are_not_there_before_backward() {
    let gradients = |accumulate: u32| {
        let mut scenario = testing::scenario();
        (scenario.plan.size, scenario.plan.sharding) = (Size::Devices(1), testing::ddp());
        scenario.plan.accumulate = accumulate;
        std::sync::Arc::make_mut(&mut scenario.stack).frees_gradients = true;
        evaluate(&scenario).memory.parts.gradients.get()
    };
    close(gradients(1), FROZEN / 8.0 * 2.0);
    close(gradients(2), FROZEN * 2.0);
}

/// Adapters that the model cannot have, or that are named twice, are refused by name.
#[test]
fn adapters_that_cannot_be_are_refused() {
    let refused = |targets: &str| {
        let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
        scenario.plan.tuning.targets = targets.parse().expect("matrices");
        scenario.layout().err().map(|problems| problems[0].field.clone())
    };
    assert_eq!(refused("q,qkv").as_deref(), Some("plan.lora_targets"));
    assert_eq!(refused("gate").as_deref(), Some("plan.lora_targets"));
    assert_eq!(refused("all"), None);
    let mut scenario = adapted(TrainMethod::Lora, FrozenFormat::Bf16);
    scenario.plan.optimizer = crate::plan::Optimizer::Muon;
    assert!(scenario.layout().is_err());
}

/// In a pipeline the stage of the embedding alone trains nothing, and the sum of all stages is the whole model.
#[test]
fn stages_without_adapters_run() {
    let library = crate::presets::Library::embedded();
    for sharding in [testing::ddp(), testing::zero3()] {
        let mut scenario = adapted(TrainMethod::Qlora, FrozenFormat::Nf4);
        scenario.model = library.model("gpt3-175b").expect("a preset");
        let plan = &mut scenario.plan;
        (plan.size, plan.pipeline, plan.accumulate, plan.sharding) = (Size::Devices(16), 8, 8, sharding);
        plan.stage_layers = crate::plan::StageSizes::Layers(vec![0, 14, 14, 14, 14, 14, 14, 12]);
        let summary = evaluate(&scenario);
        assert!(summary.step_time > Seconds::ZERO && summary.memory.peak > Bytes::ZERO);
    }
}
