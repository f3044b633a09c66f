//! Exchanges between tensor ranks in a layer and around the model's ends, and the share that overlaps compute.

use crate::hardware::Group;
use crate::plan::pass::PerDirection;
use crate::plan::{Format, LossKind, Plan};
use crate::units::Count;

use super::super::rates::Rates;
use super::transfer::{Payload, Transfer};

/// Share of what could run beside a product cut into pieces that does: pieces are less efficient products, and each is
/// handed over. Set to five published pairs of PyTorch's async tensor parallelism (torchtitan, benchmarks of December 2024
/// and June 2025; tp 8 on H100), by which it gains 1.09, 1.16 and 1.06 on 70B in bf16, fp8 and fp8, and 1.10 and 1.10 on 8B;
/// alone they would want 0.72, 0.86, 0.34, 0.75 and 0.60.
const HIDDEN_BESIDE_PRODUCT: f64 = 0.66;

/// Exchanges between tensor ranks in a layer, each for one sublayer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct TensorTransfers {
    /// After forward.
    pub forward: Transfer,
    /// While forward computes.
    pub overlapped_forward: Transfer,
    /// After backward, while nothing computes.
    pub backward: Transfer,
    /// While backward computes.
    pub overlapped_backward: Transfer,
    /// Around the embedding and the head.
    pub ends: EndTransfers,
}

/// Exchanges around the embedding and the head with its loss, where each tensor rank has a part of the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EndTransfers {
    /// After the embedding.
    pub embedding: PerDirection<Transfer>,
    /// After the head.
    pub head: PerDirection<Transfer>,
    /// While backward of the head computes.
    pub overlapped_head: Transfer,
}

/// The share of tensor parallelism's collectives that runs beside the products that they feed or follow. Of `n` pieces
/// the first has nothing to run beside, so that `(n - 1) / n` could at most.
pub(crate) fn overlapped_share(plan: &Plan) -> f64 {
    if plan.tensor_overlap && plan.tensor > 1 {
        HIDDEN_BESIDE_PRODUCT * f64::from(plan.tensor - 1) / f64::from(plan.tensor)
    } else {
        0.0
    }
}

impl Rates<'_> {
    /// Exchanges between tensor ranks around one sublayer, of `elements` each: an all-reduce, or with sequence
    /// parallelism a reduce-scatter and an all-gather, which move the same.
    pub(crate) fn tensor_transfers(&self, elements: Count, group: Group) -> TensorTransfers {
        if group.size < 2 {
            return TensorTransfers::default();
        }
        // Sequence parallelism replaces an all-reduce by a gather before the products and a reduce-scatter after them:
        // the same bytes, in two halves [Korthikanti et al., arXiv 2205.05198].
        let stack = &self.scenario.stack;
        let payload = Payload::plain(elements, self.scenario.plan.precision.storage());
        let overhead = self.calibrated.runtime.tensor_collective;
        let gather = self.gather(payload, group).after(overhead / 2.0);
        let forward =
            if stack.sequence_parallel { gather + gather } else { self.all_reduce(payload, group).after(overhead) };
        let (overlapped_forward, forward) = self.split_overlapped(forward);
        let (beside_gather, gather_after) = self.split_overlapped(gather);
        // Backward gathers the gradients of outputs before it can begin. The inputs it gathers once more beside the
        // gradient of inputs, unless they were kept, and it reduces that beside the gradient of weights.
        let second_gather = if stack.keeps_gathered { Transfer::default() } else { gather };
        let (backward, overlapped_backward) = match (stack.tensor_overlap, stack.sequence_parallel) {
            (false, _) => (forward, overlapped_forward),
            (true, true) => (gather_after, beside_gather + second_gather + gather),
            (true, false) => (Transfer::default(), overlapped_forward + forward),
        };
        let ends = self.end_transfers(gather, forward + overlapped_forward, group);
        TensorTransfers { forward, overlapped_forward, backward, overlapped_backward, ends }
    }

    /// The embedding's outputs are sums over the ranks, and the head's inputs are needed whole; backward is the other way
    /// round. `gather` is of a micro-batch's activations, and so is `sum`, an all-reduce or what takes its place.
    fn end_transfers(&self, gather: Transfer, sum: Transfer, group: Group) -> EndTransfers {
        let stack = &self.scenario.stack;
        let loss = self.loss_exchange(group);
        // With sequence parallelism an end needs half of what a half of a layer does; backward of the head reduces its
        // input's gradients, and where that was not kept gathers its input again.
        let (embedding, head, back) = match (stack.sequence_parallel, stack.keeps_gathered) {
            (false, _) => (PerDirection { forward: sum, backward: Transfer::default() }, loss, sum),
            (true, true) => (PerDirection { forward: gather, backward: gather }, gather + loss, gather),
            (true, false) => (PerDirection { forward: gather, backward: gather }, gather + loss, gather + gather),
        };
        let back = if self.scenario.repeats_logits() { back + loss } else { back };
        // A further token's embedding and logits are as the model's. Before the product that joins it to the layer before
        // both halves of the input are gathered, and behind it the output; backward sums them (Megatron-Core,
        // `multi_token_prediction.py`, `_concat_embeddings`).
        let joined = if stack.sequence_parallel {
            PerDirection { forward: gather + gather + gather, backward: gather + gather + gather }
        } else {
            PerDirection { forward: gather, backward: sum + sum }
        };
        let (head, back) = (0..self.scenario.model.mtp_layers).fold((head, back), |(ahead, behind), _| {
            (ahead + embedding.forward + joined.forward + head, behind + embedding.backward + joined.backward + back)
        });
        let (back, overlapped_head) =
            if stack.tensor_overlap { (Transfer::default(), back) } else { (back, Transfer::default()) };
        EndTransfers { embedding, head: PerDirection { forward: head, backward: back }, overlapped_head }
    }

    /// What tensor ranks tell each other of the logits: three sums of a number per token, of the largest logit, the exponentials
    /// and the next token's logit (Megatron-LM's `tensor_parallel/cross_entropy.py`, PyTorch's
    /// `distributed/tensor/parallel/loss.py`), chunk by chunk where there are such; or all logits, where each rank has the whole
    /// vocabulary.
    fn loss_exchange(&self, group: Group) -> Transfer {
        if self.scenario.loss() == LossKind::Whole {
            let logits = self.tokens_with_logits() * f64::from(self.scenario.model.vocab);
            let format =
                if self.scenario.copies_head() { Format::Fp32 } else { self.scenario.plan.precision.storage() };
            return self.gather(Payload::plain(logits, format), group);
        }
        let once = |tokens: Count| {
            let once = self.all_reduce(Payload::plain(tokens, Format::Fp32), group);
            once + once + once
        };
        let whole = || once(self.tokens_with_logits());
        self.loss_chunks().map_or_else(whole, |chunks| once(Count::new(chunks.tokens)) * chunks.count)
    }

    /// Splits a collective into the share beside the matrix product that it feeds or follows, and the rest.
    fn split_overlapped(&self, whole: Transfer) -> (Transfer, Transfer) {
        let beside = overlapped_share(&self.scenario.plan);
        if beside > 0.0 { (whole * beside, whole * (1.0 - beside)) } else { (Transfer::default(), whole) }
    }
}
