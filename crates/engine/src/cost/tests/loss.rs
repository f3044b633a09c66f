//! Logits and loss: whole, divided, fused and in chunks.

use super::*;
use crate::plan::{KeptOfChunk, LossChunk, LossFormat, LossKind};

/// A job of Llama 3.1 8B on H100: 2 x 8,192 tokens before 128,256 rows of 4,096 channels.
fn llama(stack: &str, more: &str) -> Scenario {
    let text = format!(
        "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"{stack}\"\nmodel = \"llama-3.1-8b\"\nstrategy = \"fsdp\"\n\
         [plan]\nnodes = 1\nmicro_batch = 2\nsequence = 8192\n{more}"
    );
    let scenario = Library::embedded().resolve(&crate::scenario::file::parse(&text).expect("a scenario"));
    scenario.expect("it is possible")
}

const TOKENS: f64 = 16_384.0;
const VOCAB: f64 = 128_256.0;
const HIDDEN: f64 = 4096.0;

/// In eight chunks of the sequence (torchtune's `CEWithChunkedOutputLoss`) 2 bytes of a logit and 2 of its gradient stay, and
/// of one chunk in eight 12 more: 4 + 12 / 8 = 5.5 bytes, 11.6 GB, where the loss in one piece holds 14, 30 GB. Its traffic is
/// that of PyTorch's own loss, 30 bytes, and each chunk's gradient of the weights is added to that of those before.
#[test]
fn a_chunked_loss_holds_an_eighth_of_its_logits_in_fp32() {
    let scenario = llama("torchtune-2025", "");
    assert_eq!(scenario.loss(), LossKind::Chunked);
    close(rates(&scenario).logits(), TOKENS * VOCAB * (4.0 + 12.0 / 8.0));
    let head = |scenario: &Scenario| rates(scenario).head();
    let whole = llama("torchtune-2025", "loss = \"whole\"\n");
    close(rates(&whole).logits(), TOKENS * VOCAB * 14.0);
    let memory = rates(&scenario).memory.get();
    close(head(&scenario).forward.memory, TOKENS * VOCAB * 30.0 / 3.0 / memory);
    let added = VOCAB * HIDDEN * 2.0 * 7.0;
    close(head(&scenario).backward.memory, (TOKENS * VOCAB * 30.0 * 2.0 / 3.0 + added) / memory);
}

/// TRL's `chunked_nll` computes 256 tokens in fp32 (`h.float() @ w.float().t()`) and keeps none of their logits: at its worst
/// 256 x 128,256 x 12 B = 394 MB, beside a copy of the weights in fp32 and its gradient, 2 x 2.10 GB, and 256 x 4,096 x 4 B of
/// input. Backward multiplies once more: four products at fp32's peak of 67 TFLOP/s, not three at 989.
#[test]
fn a_loss_in_chunks_of_fp32_holds_one_and_multiplies_again() {
    let scenario = llama("hf-trainer-2024", "loss = \"chunked\"\nloss_format = \"fp32\"\n");
    let bytes = rates(&scenario).head_bytes();
    assert_eq!(bytes.kept, Bytes::ZERO);
    close(bytes.working, 256.0 * VOCAB * 12.0 + VOCAB * HIDDEN * 8.0 + 256.0 * HIDDEN * 4.0);
    // Adapters train no head, so that no gradient of its weights is there.
    let adapters = llama("hf-trainer-2024", "loss = \"chunked\"\nloss_format = \"fp32\"\ntrain = \"lora\"\n");
    close(rates(&adapters).head_bytes().working, 256.0 * VOCAB * 12.0 + VOCAB * HIDDEN * 4.0 + 256.0 * HIDDEN * 4.0);
    let head = rates(&scenario).head();
    let arithmetic = (head.forward.time + head.backward.time) - (head.forward.memory + head.backward.memory);
    let product = 2.0 * TOKENS * VOCAB * HIDDEN / (rates(&scenario).matmul_storage.get() * 67.0 / 989.0);
    // Products of 256 rows fill tiles and waves less, and those of gradients are not deep.
    let products = arithmetic.get() / product;
    assert!((4.0..6.0).contains(&products), "{products}");
}

/// torchtitan's `ChunkedCELoss` computes the gradients of each of eight chunks before the next one: 2,048 x 128,256 logits of
/// 14 B, 3.68 GB, beside the gradient of the head's input in fp32, 16,384 x 4,096 x 4 B.
#[test]
fn a_chunk_whose_gradients_are_computed_at_once_leaves_that_of_its_input() {
    let scenario = llama("torchtitan-2026", "loss = \"chunked\"\n");
    let bytes = rates(&scenario).head_bytes();
    close(bytes.kept, TOKENS * HIDDEN * 4.0);
    close(bytes.working, TOKENS / 8.0 * VOCAB * 14.0);
    // No product is repeated.
    let [once, again] = [KeptOfChunk::Gradients, KeptOfChunk::Nothing].map(|kept| {
        let mut scenario = scenario.clone();
        Arc::make_mut(&mut scenario.stack).kept_chunks = kept;
        let head = rates(&scenario).head();
        (head.forward.time, head.backward.time)
    });
    close(again.1, (once.1 + once.0).get());
}

/// Of 8,192 tokens of 2,304 channels before 256,000 rows Liger's chunk is the power of two from 8,192 / 112 on; a chunk is
/// never more than there are.
#[test]
fn chunks_are_counted_or_as_wide_as_the_input() {
    close(LossChunk::AsInputs.tokens(8192.0, 256_000, 2304), 128.0);
    close(LossChunk::AsInputs.tokens(64.0, 100, 2304), 64.0);
    close(LossChunk::Tokens(256).tokens(8192.0, 256_000, 2304), 256.0);
    close(LossChunk::Tokens(256).tokens(100.0, 256_000, 2304), 100.0);
    close(LossChunk::Parts(8).tokens(8192.0, 256_000, 2304), 1024.0);
}

/// Eight tensor ranks share Megatron's 16,032 of 128,256 logits; told to have them whole, each gathers 16,384 x 128,256 of 2 B
/// and holds eight times as many. A fused kernel holds 4 B of its own.
#[test]
fn tensor_ranks_divide_the_logits_unless_each_has_them_whole() {
    let divided = llama("torchtitan", "tensor = 8\n");
    assert_eq!(divided.loss(), LossKind::VocabParallel);
    let [divided, fused, whole] = ["stack", "fused", "whole"].map(|loss| {
        let scenario = llama("torchtitan", &format!("tensor = 8\nloss = \"{loss}\"\n"));
        let rates = rates(&scenario);
        let group = scenario.layout().expect("a layout").tensor_group();
        let gathered = TOKENS * HIDDEN * 2.0 * (1.0 - 1.0 / 8.0);
        let transfers = rates.tensor_transfers(rates.tokens() * HIDDEN, group);
        (rates.logits().get() - gathered, transfers.ends.head.forward.time.get())
    });
    close(Bytes::new(divided.0), TOKENS * VOCAB / 8.0 * 18.0);
    close(Bytes::new(fused.0), TOKENS * VOCAB / 8.0 * 4.0);
    close(Bytes::new(whole.0), TOKENS * VOCAB * 14.0);
    // 7 / 8 of 4.20 GB at 450 GB/s and less: 8.2 ms at least, where three sums of a number per token take less than one.
    assert!(whole.1 - divided.1 > 7.0 / 8.0 * TOKENS * VOCAB * 2.0 / 450e9, "{whole:?} {divided:?}");
}

/// What cannot be computed is refused by name.
#[test]
fn chunks_of_a_whole_loss_and_other_formats_of_fused_ones_are_refused() {
    for (stack, more, field) in [
        ("hf-trainer-2024", "loss_chunk = 256\n", "plan.loss_chunk"),
        ("hf-trainer-2024", "loss = \"whole\"\nloss_chunk = 256\n", "plan.loss_chunk"),
        ("llm-foundry-2024", "loss_format = \"fp32\"\n", "plan.loss_format"),
        ("megatron-2024", "loss_format = \"bf16\"\n", "plan.loss_format"),
    ] {
        let found = llama(stack, more).layout().expect_err(field);
        assert!(found.iter().all(|problem| problem.field == field) && !found.is_empty(), "{found:?}");
    }
    llama("torchtune-2025", "loss_chunk = 256\n").layout().expect("its loss is in chunks");
}

/// The head's product in 16 bits throughout, as `LitGPT` has it, holds three times 2 bytes.
#[test]
fn a_loss_in_16_bits_is_that_of_any_stack() {
    let mut scenario = llama("hf-trainer-2024", "");
    close(rates(&scenario).logits(), TOKENS * VOCAB * 12.0);
    scenario.plan.loss_format = Some(LossFormat::Bf16);
    close(rates(&scenario).logits(), TOKENS * VOCAB * 6.0);
}
