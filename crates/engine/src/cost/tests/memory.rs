//! Activations, logits, and what recomputation keeps.

use super::*;
use crate::plan::{GradientFormat, Offload};
use crate::stack::Stack;

#[test]
fn activations_of_a_gelu_layer_are_thirty_four_bytes_per_token_and_channel() {
    // Korthikanti et al. (arXiv 2205.05198), eq. 1: s b h (34 + 5 a s / h); [fsdp A2]: 34 L H with flash.
    let mut scenario = testing::scenario();
    let tokens_hidden = 1024.0 * 1024.0;
    Arc::make_mut(&mut scenario.stack).dropout = true;
    close(rates(&scenario).activations(DENSE).layer, 34.0 * tokens_hidden);
    close(rates(&scenario).activations(DENSE).checkpoint, 2.0 * tokens_hidden);
    Arc::make_mut(&mut scenario.stack).attention = Attention::Plain;
    // 16 heads, sequence 1024: 5 x 16 x 1024 / 1024 = 80 more.
    close(rates(&scenario).activations(DENSE).layer, (34.0 + 80.0) * tokens_hidden);
    scenario.plan.recompute = Recompute::Selective;
    close(rates(&scenario).activations(DENSE).layer, 34.0 * tokens_hidden);
}

/// A layer of 4 h channels in its MLP keeps 32 bytes for each token and channel (no masks): 16 of them are what the activation
/// function and the second matrix read, which tiles do not keep. Backward of the MLP works in 2 bytes of the gradient at its
/// input, and in 8 of what lies between the matrices; a fourth of these and of the 16 is there at a time.
#[test]
fn an_mlp_in_tiles_keeps_its_input_and_computes_the_rest_again() {
    let mut scenario = testing::scenario();
    let tokens_hidden = 1024.0 * 1024.0;
    let before = rates(&scenario).activations(DENSE);
    close(before.layer, 32.0 * tokens_hidden);
    close(before.pieces[Piece::Mlp].working, 10.0 * tokens_hidden);
    let [forward, backward] = [rates(&scenario).layer(DENSE).forward, rates(&scenario).layer(DENSE).backward];
    let flop = TokenFlop::new(&scenario);
    scenario.plan.mlp_tiles = 4;
    let tiled = rates(&scenario).activations(DENSE);
    close(tiled.layer, 16.0 * tokens_hidden);
    close(tiled.whole, 16.0 * tokens_hidden);
    close(tiled.pieces[Piece::Mlp].working, (2.0 + (8.0 + 16.0) / 4.0) * tokens_hidden);
    // Both matrices run again, with what lies between them, and neither norm nor residual.
    let more = rates(&scenario).layer(DENSE).backward[Piece::Mlp].time - backward[Piece::Mlp].time;
    assert!(more > Seconds::ZERO && more < forward[Piece::Mlp].time, "{more}");
    close(rates(&scenario).layer(DENSE).backward[Piece::Mixer].time, backward[Piece::Mixer].time.get());
    // 2 flop for each of 8 h^2 weights of a layer.
    let weights = 8.0 * 1024.0 * 1024.0 * f64::from(scenario.model.layers);
    close((TokenFlop::new(&scenario).recomputed - flop.recomputed).get(), 2.0 * weights);
}

/// Latent attention of 16 heads of 64 channels: what compresses is whole on each tensor rank, and so is what it puts out where
/// these do not share the sequence. A second rank spares half of the rest, in 16 bits: 1,024 channels of queries, 512 + 1,024 of
/// keys and values, 16 x 32 of rotated keys, 1,024 of attention's output, and 2 x 4,096 in the MLP.
#[test]
fn tensor_ranks_each_keep_what_compresses_for_latent_attention() {
    let mut scenario = testing::scenario();
    let latent = LatentAttention { query: Some(256), key_value: 128, rotary: 32, value_head: 64 };
    Arc::make_mut(&mut scenario.model).latent = Some(latent);
    Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    let alone = rates(&scenario).activations(DENSE).layer;
    scenario.plan.tensor = 2;
    let spared = 1024.0 * (1024.0 + 1536.0 + 512.0 + 1024.0 + 8192.0);
    close(alone - rates(&scenario).activations(DENSE).layer, spared);
}

/// Of the 32 bytes for each token and channel, in 16 bits: both norms read the residual stream, 2 bytes, and put out as much;
/// attention reads queries, keys and values, and its projection what it puts out; an MLP reads its norm's output, and its
/// activation function and second matrix 8 each.
#[test]
fn the_host_keeps_inputs_of_modules() {
    let mut scenario = testing::scenario();
    let tokens_hidden = 1024.0 * 1024.0;
    for (modules, bytes) in [
        ("attn_norm", 2.0),
        ("layernorm", 4.0),
        ("qkv_linear", 2.0),
        ("core_attn", 6.0),
        ("core_attn+attn_proj", 8.0),
        ("mlp", 2.0 + 8.0 + 8.0),
        ("layernorm+qkv_linear+core_attn+attn_proj+mlp", 32.0),
    ] {
        scenario.plan.offload_modules = modules.parse().expect(modules);
        let kept = rates(&scenario).activations(DENSE);
        close(kept.on_host, bytes * tokens_hidden);
        close(kept.layer, 32.0 * tokens_hidden);
    }
    // Nothing of a layer that is computed again but its input, which is no module's; all of one that leaves by itself.
    for (recompute, offload) in [(Recompute::Full, Offload::None), (Recompute::None, Offload::Activations)] {
        (scenario.plan.recompute, scenario.plan.offload) = (recompute, offload);
        close(1.0 + rates(&scenario).activations(DENSE).on_host.get(), 1.0);
    }
}

/// `DeepSeek-V3`, in bytes of a token: latents of 1,536 + 512 + 64 channels and their norms' outputs of 1,536 + 512; 128 heads of
/// 192 channels of queries, and of 192 + 128 of keys and values; copies for 8 experts, their gate and up of 2,048 each, and what
/// their second matrices read; the shared expert's input, gate, up and product.
#[test]
fn the_host_keeps_inputs_of_experts_and_of_latent_attention() {
    let mut scenario = testing::scenario();
    scenario.model = crate::presets::Library::embedded().model("deepseek-v3").expect("a preset");
    let sparse = scenario.model.kind(3);
    for (modules, numbers) in [
        ("mla_up_proj", 1536.0 + 512.0 + 64.0 + 1536.0 + 512.0),
        ("core_attn", 128.0 * (192.0 + 192.0 + 128.0)),
        ("expert_fc1", 8.0 * 7168.0),
        ("moe_act", 8.0 * 2.0 * 2048.0),
        ("moe", 8.0 * (7168.0 + 3.0 * 2048.0)),
        ("shared_experts", 7168.0 + 3.0 * 2048.0),
        ("mlp", 0.0),
    ] {
        scenario.plan.offload_modules = modules.parse().expect(modules);
        close(1.0 + rates(&scenario).activations(sparse).on_host.get(), 1.0 + 1024.0 * 2.0 * numbers);
    }
}

#[test]
fn without_sequence_parallelism_each_tensor_rank_passes_the_whole_stream() {
    let mut scenario = testing::scenario();
    scenario.plan.tensor = 4;
    Arc::make_mut(&mut scenario.calibration).element_wise.insert("none".to_owned(), 1.0);
    let split = rates(&scenario).layer(DENSE).forward[Piece::Mixer].memory;
    let kept = rates(&scenario).activations(DENSE).layer;
    Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    // Seven passes of 1024 x 1024 elements of two bytes at 1 TB/s, over four ranks or on each.
    close(split, 7.0 * 2.0 * 1024.0 * 1024.0 / 1e12 / 4.0);
    close(rates(&scenario).layer(DENSE).forward[Piece::Mixer].memory, 4.0 * split);
    // Korthikanti et al. (arXiv 2205.05198), eq. 2 and 4 without masks and scores: 8 + 24 / t against 32 / t bytes.
    close(kept, (32.0 / 4.0) * 1024.0 * 1024.0);
    close(rates(&scenario).activations(DENSE).layer, (8.0 + 24.0 / 4.0) * 1024.0 * 1024.0);
}

/// torchtitan's Llama 3.1 70B, 16 x 8,192 tokens, tp 8: 131,072 x 16,032 logits of 4 x 4 + 2 bytes are 37.8 GB, and the
/// gathered input of 8,192 x 2 bytes is seven eighths more than its shard: 1.88 GB.
#[test]
fn a_loss_over_a_divided_vocabulary_holds_its_logits_in_fp32_four_times() {
    let library = crate::presets::Library::embedded();
    let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"torchtitan\"\nmodel = \"llama-3.1-70b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 32\ntensor = 8\nmicro_batch = 16\nsequence = 8192\n";
    let mut scenario =
        library.resolve(&crate::scenario::file::parse(text).expect("a scenario")).expect("it is possible");
    let logits = 131_072.0 * 16_032.0;
    close(rates(&scenario).logits(), logits * 18.0 + 131_072.0 * 8192.0 * 2.0 * (1.0 - 1.0 / 8.0));
    // Undivided, another program runs, whose figure is fitted.
    scenario.plan.tensor = 1;
    let held = scenario.calibration.logits_held["torch"];
    close(rates(&scenario).logits(), 8.0 * logits * held);
}

/// MPT-1B of llm-foundry's tables, 20 x 2,048 tokens on an H100: 40,960 x 50,368 logits of 2 bytes and their gradient of 2
/// are 8.25 GB. PyTorch's loss would hold 14 bytes of each, 28.9 GB, with which the published run would not have fitted.
#[test]
fn a_fused_loss_holds_logits_and_their_gradient_in_sixteen_bits() {
    let library = crate::presets::Library::embedded();
    let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"llm-foundry-2024\"\nmodel = \"mpt-1b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 4\nmicro_batch = 20\nsequence = 2048\n";
    let scenario = library.resolve(&crate::scenario::file::parse(text).expect("a scenario")).expect("it is possible");
    close(rates(&scenario).logits(), 40_960.0 * 50_368.0 * 4.0);
}

/// `LitGPT`'s loss of 4 x 2,048 tokens: three times 2 bytes of 8,192 x 32,000 logits, 1.57 GB, where `PyTorch`'s loss of
/// bf16 logits in fp32 would hold 3.67 GB.
#[test]
fn a_loss_in_sixteen_bits_holds_three_of_them() {
    let library = crate::presets::Library::embedded();
    let text = "format = 1\ncluster = \"a100-40gb-dgx\"\nstack = \"litgpt-2024\"\nmodel = \"llama-2-7b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 1\nmicro_batch = 4\nsequence = 2048\n";
    let scenario = library.resolve(&crate::scenario::file::parse(text).expect("a scenario")).expect("it is possible");
    close(rates(&scenario).logits(), 8192.0 * 32_000.0 * 6.0);
}

#[test]
fn selective_recompute_repeats_its_shares_and_keeps_the_rest() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Selective;
    let stack = Arc::make_mut(&mut scenario.stack);
    stack.selective = Selective { core: 0.0, element_wise: 1.0, matmul: 0.5 };
    // Half of 1024 x 12 x 2^20 weights x 2 at the peak.
    let again = rates(&scenario).layer(DENSE).selective;
    close(again[Piece::Mixer].time + again[Piece::Mlp].time, 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12);
    // Of 16 elements per token and channel: 2 norm outputs and the MLP's product (4) go, and half of queries, keys,
    // values and MLP input (3 + 4): 16 - 6 - 3.5 = 6.5 elements of two bytes.
    close(rates(&scenario).activations(DENSE).layer, 13.0 * 1024.0 * 1024.0);
}

/// A sublayer passes 7 intermediates of 1024 x 1024 elements, 2 of them a norm's; the MLP another 4 of 4096: at two bytes
/// and 1 TB/s, where every intermediate is passed once.
#[test]
fn residuals_are_added_again_only_behind_products_that_are_computed_again() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Selective;
    Arc::make_mut(&mut scenario.calibration).element_wise.insert("none".to_owned(), 1.0);
    let pass = 2.0 * 1024.0 * 1024.0 / 1e12;
    let product = 1024.0 * 2.0 * 4.0 * 1024.0 * 1024.0 / 100e12;
    for (matmul, norms) in [(0.0, 2.0), (1.0, 7.0)] {
        Arc::make_mut(&mut scenario.stack).selective = Selective { core: 0.0, element_wise: 1.0, matmul };
        let again = rates(&scenario).layer(DENSE).selective;
        close(again[Piece::Mixer].time, norms * pass + matmul * product);
        close(again[Piece::Mlp].time, (norms + 16.0) * pass + 2.0 * matmul * product);
    }
}

/// Of a token, one of DeepSeek-V3's layers of experts keeps, in bf16: norms' inputs and outputs 4 x 14,336 bytes, compressed
/// queries with keys and values before and behind their norms 2 x (3,072 + 1,024) and keys' rotary channels 128; queries,
/// keys and values 49,152 + 49,152 + 32,768, attention's output 32,768; 8 copies 114,688, experts' first matrices 65,536 and
/// activations 32,768, the shared one's 8,192 and 4,096. That makes 454,784, of which each module frees its own.
#[test]
fn modules_free_what_they_compute_again() {
    let mut scenario = testing::scenario();
    scenario.model = crate::presets::Library::embedded().model("deepseek-v3").expect("a preset");
    let model = &scenario.model;
    let [dense, sparse] = [0, 3].map(|layer| model.kind(layer));
    let kept = |scenario: &Scenario, kind: LayerKind| rates(scenario).activations(kind).layer.get() / 1024.0;
    let [of_dense, of_sparse] = [dense, sparse].map(|kind| kept(&scenario, kind));
    close(of_sparse, 454_784.0);
    // Two layer kinds, and the flop of a token that run again: 2 for each weight of the products.
    let mlp = 2.0 * 3.0 * 7168.0 * 2048.0;
    let expansion = 2.0 * (1536.0 * 128.0 * 192.0 + 512.0 * 128.0 * 256.0);
    let plain = 2.0 * 3.0 * 7168.0 * 18_432.0;
    scenario.plan.recompute = Recompute::Selective;
    for (modules, [less_dense, less_sparse], flop) in [
        ("mla_up_proj", [131_072.0, 131_072.0], 61.0 * expansion),
        ("moe_act", [0.0, 32_768.0], 0.0),
        ("layernorm", [28_672.0, 28_672.0], 0.0),
        ("shared_experts", [0.0, 12_288.0], 58.0 * mlp),
        ("moe", [0.0, 225_280.0], 58.0 * 9.0 * mlp),
        ("mlp", [110_592.0, 0.0], 3.0 * plain),
        ("core_attn", [0.0, 0.0], 61.0 * 4.0 * 1024.0 * 128.0 * (192.0 + 128.0) / 2.0),
        ("moe_act+layernorm+mlp", [139_264.0, 61_440.0], 3.0 * plain),
    ] {
        scenario.plan.recompute_modules = modules.parse().expect(modules);
        close(kept(&scenario, dense) + less_dense, of_dense);
        close(kept(&scenario, sparse) + less_sparse, of_sparse);
        close(1.0 + TokenFlop::new(&scenario).recomputed.get(), 1.0 + flop);
    }
}

/// Products of DeepSeek-V3's dense MLP: 2 x 3 x 7168 x 18,432 flop for each of 1024 tokens at 100 TFLOP/s.
#[test]
fn a_module_takes_the_time_of_its_forward() {
    let mut scenario = testing::scenario();
    scenario.model = crate::presets::Library::embedded().model("deepseek-v3").expect("a preset");
    scenario.plan.recompute = Recompute::Selective;
    scenario.plan.recompute_modules = "mlp".parse().expect("a module");
    let again = rates(&scenario).layer(scenario.model.kind(0)).selective;
    close(again[Piece::Mlp].time, 1024.0 * 2.0 * 3.0 * 7168.0 * 18_432.0 / 100e12);
    assert_eq!(again[Piece::Mixer].time + again[Piece::Experts].time, Seconds::ZERO);
}

/// TransformerEngine keeps the inputs of linear layers as it casts them. Of 34 bytes per token and channel, those of two
/// norms' outputs and of the second matrix of the MLP, 2 h and 4 h numbers, become 1 byte each, and the projection keeps
/// attention's output, h numbers, once more: 34 - 6 + 1 = 29. With a byte for 32 numbers it is 34 - 6 x 31/32 + 33/32.
#[test]
fn inputs_are_kept_as_they_are_cast() {
    let mut scenario = testing::scenario();
    let tokens_hidden = 1024.0 * 1024.0;
    Arc::make_mut(&mut scenario.stack).dropout = true;
    for (precision, keeps_casts, bytes) in [
        (Precision::Fp8Delayed, false, 34.0),
        (Precision::Fp8Delayed, true, 29.0),
        (Precision::Mxfp8, true, 29.218_75),
        (Precision::Bf16, true, 34.0),
    ] {
        scenario.plan.precision = precision;
        Arc::make_mut(&mut scenario.stack).keeps_casts = keeps_casts;
        close(rates(&scenario).activations(DENSE).layer, bytes * tokens_hidden);
    }
}

/// A byte for each weight and one for its transpose, which units that scale blocks do without; of blocks both directions
/// have their own scales, a byte for 32 weights. Weights that are gathered have no casts that stay.
#[test]
fn casts_of_weights_are_kept_beside_them() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.stack).keeps_casts = true;
    scenario.plan.sharding = testing::ddp();
    let casts = |scenario: &Scenario| rates(scenario).weight_casts(&scenario.layout().expect("it is possible"));
    assert_eq!(casts(&scenario), Bytes::ZERO);
    scenario.plan.precision = Precision::Fp8;
    let peak = &mut Arc::make_mut(&mut scenario.cluster).device.peak;
    peak.fp8 = peak.bf16;
    close(casts(&scenario), 2.0);
    let peak = &mut Arc::make_mut(&mut scenario.cluster).device.peak;
    peak.fp4 = peak.bf16;
    close(casts(&scenario), 1.0);
    Arc::make_mut(&mut scenario.stack).fp8 = Some(Precision::Mxfp8);
    close(casts(&scenario), 2.0625);
    // In the place of 2 bytes of bf16.
    Arc::make_mut(&mut scenario.stack).casts_replace_weights = true;
    close(casts(&scenario), 0.0625);
    scenario.plan.sharding.weights = crate::plan::Extent::System;
    assert_eq!(casts(&scenario), Bytes::ZERO);
}

/// Adam beside bf16 weights: fp32 masters and two moments make 12 B, with moments in bf16 8, without masters 4 B less. An
/// update reads and writes those, reads a gradient and writes a weight of 2 B. On an H200, `AdamW` of torch 2.11 on a model of
/// 1.2358e9 bf16 parameters left 6.97 GiB between steps: 6.06 B each, 2 of weights and 4 of moments.
#[test]
fn moments_have_the_bytes_of_their_format() {
    let mut scenario = testing::scenario();
    for (optimizer, moments, state) in [
        (Optimizer::Adam, Moments::Fp32, 12.0),
        (Optimizer::Adam, Moments::Bf16, 8.0),
        (Optimizer::Muon, Moments::Bf16, 6.0),
        (Optimizer::Adam8bit, Moments::Bf16, 6.0),
    ] {
        (scenario.plan.optimizer, scenario.plan.moments) = (optimizer, moments);
        close(scenario.plan.optimizer_state(), state);
        close(rates(&scenario).update_bytes(), 2.0 * state + 4.0);
    }
    scenario.plan.master_weights = MasterWeights::None;
    (scenario.plan.optimizer, scenario.plan.moments) = (Optimizer::Adam, Moments::Bf16);
    close(scenario.plan.optimizer_state(), 4.0);
    // 4 + 4 B of moments, 2 B of a gradient, and a weight that is read and written.
    close(rates(&scenario).update_bytes(), 14.0);
}

/// An average of the fp32 masters makes 12 B of state 16, and an update of 28 B one of 40: the average is read and written, and
/// the weight read once more. Of bf16 weights without masters it has 2 B: 6 B of state, and 14 + 6 B moved. On the host it takes
/// nothing of the device. Without clipping a gradient of 2 B is read once less.
#[test]
fn an_average_is_state_and_a_pass_of_the_update() {
    let mut scenario = testing::scenario();
    scenario.plan.ema = Ema::Device;
    let counted = |scenario: &Scenario| (scenario.plan.optimizer_state(), rates(scenario).update_bytes().get());
    assert_eq!(counted(&scenario), (16.0, 40.0));
    scenario.plan.clip_norm = false;
    assert_eq!(counted(&scenario), (16.0, 38.0));
    (scenario.plan.master_weights, scenario.plan.moments) = (MasterWeights::None, Moments::Bf16);
    scenario.plan.clip_norm = true;
    assert_eq!(counted(&scenario), (6.0, 20.0));
    scenario.plan.ema = Ema::Host;
    assert_eq!(counted(&scenario), (4.0, 14.0));
}

/// Muon keeps one moment of each matrix of Llama 3.1 8B's 32 layers, 4096 x (2 x 4096 + 2 x 1024) + 3 x 4096 x 14336 weights
/// each, beside masters: 8 bytes. Embedding, logits and norms have Adam's 12. An update reads and writes either, reads a
/// gradient and writes a weight of 2 bytes, at 1 TB/s.
#[test]
fn muon_leaves_all_but_matrices_to_adam() {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).software.optimizer_traffic = 1.0;
    scenario.model = Library::embedded().model("llama-3.1-8b").expect("a preset");
    let all = scenario.model.parameters() as f64;
    let matrices = 32.0 * 218_103_808.0;
    let saved = |scenario: &Scenario| Parameters::trained_in_all(scenario).saved(&scenario.plan).get();
    close(saved(&scenario), (2.0 + 12.0) * all);
    scenario.plan.optimizer = Optimizer::Muon;
    close(saved(&scenario), 2.0 * all + 8.0 * matrices + 12.0 * (all - matrices));
    let update = rates(&scenario).optimizer(Parameters::trained_in_all(&scenario)).memory.get();
    close(update, (matrices * (2.0 * 8.0 + 4.0) + (all - matrices) * 28.0) / 1e12);
}

/// 2 bytes of a gradient in bf16 and 4 in fp32, kept and sent, whatever software of Megatron's way has by itself. FSDP2 adds
/// whole ones up in that format and keeps shards in the weights' own; DDP's buckets are as large as the gradients.
#[test]
fn gradients_have_a_format() {
    let bytes = |format: Option<GradientFormat>, change: fn(&mut Stack)| {
        let mut scenario = testing::scenario();
        change(Arc::make_mut(&mut scenario.stack));
        (scenario.plan.gradients, scenario.plan.accumulate) = (format, 2);
        let rates = Rates::new(&scenario, &Factors::default());
        let sent = scenario.reduction_format(Format::Bf16).bytes();
        [rates.gradient().get(), rates.unreduced_gradient().get(), sent]
    };
    let megatron: fn(&mut Stack) = |stack| {
        (stack.gradient_format, stack.reduce_format_of_bf16) = (Some(Format::Fp32), Some(Format::Fp32));
    };
    let fsdp2: fn(&mut Stack) = |stack| {
        (stack.unreduced_format, stack.reduce_format) = (Some(Format::Fp32), Some(Format::Fp32));
    };
    let (coarse, fine) = (Some(GradientFormat::Bf16), Some(GradientFormat::Fp32));
    assert_eq!([None, coarse, fine].map(|format| bytes(format, megatron)), [[4.0; 3], [2.0; 3], [4.0; 3]]);
    assert_eq!([None, coarse].map(|format| bytes(format, fsdp2)), [[2.0, 4.0, 4.0], [2.0; 3]]);
    assert_eq!([None, fine].map(|format| bytes(format, |_| {})), [[2.0; 3], [4.0; 3]]);
    let mut scenario = testing::scenario();
    (scenario.plan.gradients, scenario.plan.precision) = (coarse, Precision::Fp16);
    let problems = scenario.checked().err().unwrap_or_default();
    assert!(problems.iter().any(|problem| problem.field == "plan.gradient_format"), "{problems:?}");
}

/// A gated layer of 16 heads of 64, of which keys and values have four, and an MLP of 3,072: two norms and two inputs of 1,024,
/// 1,024 + 2 x 256 and the output of attention, and of the MLP two widths and their product, in elements of 2 bytes. Norms in
/// fp32 keep 4 bytes of their input and 2 of what the weight multiplies; keys and values of all heads are 2 x 768 more, and
/// silu's output one width of the MLP. A compiler leaves none of that.
#[test]
fn modules_that_are_not_fused_keep_what_they_hand_on() {
    let mut scenario = testing::scenario();
    let model = Arc::make_mut(&mut scenario.model);
    (model.kv_heads, model.gated, model.ffn_hidden) = (4, true, 3072);
    let kept = |scenario: &crate::scenario::Scenario| rates(scenario).activations(DENSE).layer.get() / (1024.0 * 2.0);
    let fused = 4.0 * 1024.0 + 1536.0 + 1024.0 + 3.0 * 3072.0;
    close(kept(&scenario), fused);
    let stack = Arc::make_mut(&mut scenario.stack);
    (stack.norms_in_fp32, stack.repeats_keys, stack.keeps_gate) = (true, true, true);
    close(kept(&scenario), fused + 2.0 * 2.0 * 1024.0 + 2.0 * 768.0 + 3072.0);
    let before = kept(&scenario);
    scenario.plan.compile = Compile::Layer;
    close(kept(&scenario), before);
    Arc::make_mut(&mut scenario.stack).element_wise_compiled = Some("none".to_owned());
    close(kept(&scenario), fused);
}

/// A weight that multiplies in fp32 keeps 2 bytes more of 1,024 numbers for each of two norms. Where queries, keys and values
/// of as many heads are one tensor, 3 x 1,024 numbers, copies of keys and values are 2 x 1,024 more; of 4 heads that queries
/// share, each is a tensor of its own.
#[test]
fn norms_and_rotation_keep_what_their_modules_copy() {
    let mut scenario = testing::scenario();
    let kept = |scenario: &crate::scenario::Scenario| rates(scenario).activations(DENSE).layer.get() / (1024.0 * 2.0);
    Arc::make_mut(&mut scenario.stack).norms_in_fp32 = true;
    let before = kept(&scenario);
    Arc::make_mut(&mut scenario.stack).scales_norms_in_fp32 = true;
    close(kept(&scenario), before + 2.0 * 1024.0);
    for (kv_heads, more) in [(16, 2.0 * 1024.0), (4, 0.0)] {
        Arc::make_mut(&mut scenario.model).kv_heads = kv_heads;
        Arc::make_mut(&mut scenario.stack).copies_keys = false;
        let once = kept(&scenario);
        Arc::make_mut(&mut scenario.stack).copies_keys = true;
        close(kept(&scenario), once + more);
    }
}

/// 2 x 3,072 numbers that the activation function reads, in one byte each rather than two, where products have 8 bits.
#[test]
fn the_input_of_an_activation_function_may_be_kept_in_8_bits() {
    let mut scenario = testing::scenario();
    let model = Arc::make_mut(&mut scenario.model);
    (model.gated, model.ffn_hidden) = (true, 3072);
    let kept = |scenario: &crate::scenario::Scenario| rates(scenario).activations(DENSE).layer.get() / 1024.0;
    for (precision, less) in [(Precision::Bf16, 0.0), (Precision::Fp8, 2.0 * 3072.0)] {
        scenario.plan.precision = precision;
        Arc::make_mut(&mut scenario.stack).fp8_activation_input = false;
        let whole = kept(&scenario);
        Arc::make_mut(&mut scenario.stack).fp8_activation_input = true;
        close(kept(&scenario), whole - less);
    }
}

/// `DeepSeek-V3` at tp 8: of 671,026,404,352 parameters 58 x 256 x 3 x 7168 x 2048 = 653,908,770,816 are of routed experts, and
/// 17,117,633,536 are not. Of these each tensor rank has whole 61 x 7168 x (1536 + 512 + 64) = 923,467,776 that compress, 61 x (2 x
/// 7168 + 1536 + 512) + 7168 = 1,006,592 of norms and 58 x 7168 x 256 = 106,430,464 of routers, 1,030,904,832 in all; of the other
/// 16,086,728,704 an eighth. 2,010,841,088 + 1,030,904,832 = 3,041,745,920, 6.083 GB in bf16. A checkpoint has each once.
#[test]
fn tensor_ranks_have_whole_what_is_not_divided() {
    let library = crate::presets::Library::embedded();
    let mut scenario = testing::scenario();
    scenario.model = library.model("deepseek-v3").expect("a preset");
    (scenario.plan.tensor, scenario.plan.sharding) = (8, testing::ddp());
    let dense = |scenario: &Scenario| {
        let layer =
            |kind| Parameters::piece(scenario, kind, Piece::Mixer) + Parameters::piece(scenario, kind, Piece::Router);
        let layers = scenario.model.kinds().map(|(kind, layers)| layer(kind) * f64::from(layers));
        layers.fold(Parameters::embedding(scenario) + Parameters::head(scenario), |sum, more| sum + more)
    };
    let own = dense(&scenario) / 8.0;
    close(own.weights.get(), 3_041_745_920.0);
    close(own.trained.get(), 3_041_745_920.0);
    // Of matrices in layers what compresses is whole; routers and norms are none.
    let [all, divided] = [(own.linear * 8.0).get(), 7.0 * 923_467_776.0];
    scenario.plan.tensor = 1;
    close(all - divided, dense(&scenario).linear.get());
    close(dense(&scenario).weights.get(), 17_117_633_536.0);
    scenario.plan.tensor = 8;
    close(Parameters::trained_in_all(&scenario).trained.get(), 671_026_404_352.0);
    // With sequence parallelism each rank compresses its eighth of the tokens, by all columns.
    let first = scenario.model.matrices(scenario.model.kind(0)).next().expect("a matrix");
    let compressing = rates(&scenario).matrix_product(&first);
    for (extent, expected) in [(compressing.m, 1024.0 / 8.0), (compressing.n, 2112.0), (compressing.k, 7168.0)] {
        close(extent.get(), expected);
    }
    std::sync::Arc::make_mut(&mut scenario.stack).sequence_parallel = false;
    let compressing = rates(&scenario).matrix_product(&first);
    close(compressing.m.get(), 1024.0);
}
