//! The head: last norm, logits and loss, of all tokens at once or of some at a time. Not for what ranks exchange there
//! ([`super::collective`]).

use crate::model::Matrix;
use crate::plan::{Format, KeptOfChunk};
use crate::scenario::{Differentiated, LossChunks};
use crate::units::{Bytes, Count, FlopPerSecond};

use super::device_time::{DeviceTime, PassTimes};
use super::matmul::MatrixProduct;
use super::rates::Rates;

/// Copies of the logits that the divergence of two models works in, beside the student's own: the teacher's, the log-softmax of
/// both, and their mixture (TRL, `trl/experimental/gkd/gkd_trainer.py`, `generalized_jsd_loss`).
const DISTILLED_COPIES: f64 = 4.0;

/// Bytes of one of the logits that a teacher hands on where it hands on the largest: a value and its index, in 32 bits each
/// (NVIDIA-NeMo/RL, `nemo_rl/algorithms/distillation.py`).
const CHOSEN_LOGIT: Bytes = Bytes::new(8.0);

/// Tensors of the logits' size in which the entropy of each token is computed, a copy and the softmax, and how often they and the
/// logits are read or written: copied (2), their largest found (1), that subtracted (2), the exponential taken in place (2), summed
/// (1), divided by it (2), multiplied with the logits and summed (2). So `vocab_parallel_entropy` and what calls it do (verl,
/// `verl/utils/megatron/tensor_parallel.py`, `verl/workers/engine/megatron/transformer_impl.py`).
const ENTROPY_TENSORS: f64 = 2.0;
const ENTROPY_PASSES: f64 = 12.0;

/// Bytes of logits and loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeadBytes {
    /// What stays from forward to backward.
    pub kept: Bytes,
    /// What each of the two works in beside.
    pub working: Bytes,
}

impl Rates<'_> {
    /// Forward and backward of last norm, logits and loss, and of those of further tokens, where tokens have logits. Logits stay in
    /// the storage format unless the head multiplies in fp32; the loss moves a number of bytes per logit, a third of them in forward.
    pub fn head(&self) -> PassTimes {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let tokens = self.tokens_with_logits();
        let vocab = Count::from(model.logits_width()) / f64::from(self.scenario.loss_ranks());
        let (logits, chunks) = (self.logits_product(), self.loss_chunks());
        let loss = DeviceTime::traffic(tokens * vocab.get() * self.calibrated.loss / self.memory);
        let entropy =
            DeviceTime::traffic(tokens * vocab.get() * self.entropy_of_logit() * ENTROPY_PASSES / self.memory);
        let mut once = PassTimes {
            forward: logits.forward + loss * (1.0 / 3.0) + entropy,
            backward: logits.backward + loss * (2.0 / 3.0),
            weights: logits.weights,
        };
        if let Some(LossChunks { kept, .. }) = chunks {
            let again = if kept == KeptOfChunk::Nothing { once.forward } else { DeviceTime::default() };
            // A chunk's gradients are all computed before those of the next one.
            once = PassTimes::of_inputs(once.forward, once.backward + again);
        }
        // Each further token: its embedding, the product that joins it to the layer before, and logits once more.
        (0..model.mtp_layers).fold(once, |all, _| {
            let Matrix { input, output } = model.further_projection();
            let product = MatrixProduct::new(tokens, Count::from(output) / f64::from(plan.tensor), input.into());
            let joined = self.passes(self.scenario.differentiated_logits(), product, self.matmul);
            all + once + joined + self.embedding()
        })
    }

    /// Chunks of the head on this rank.
    pub(in crate::cost) fn loss_chunks(&self) -> Option<LossChunks> {
        self.scenario.loss_chunks(self.tokens_with_logits().get())
    }

    /// The product that makes the logits and those of its gradients, chunk by chunk where there are such.
    fn logits_product(&self) -> PassTimes {
        let of = self.scenario.differentiated_logits();
        let all = self.tokens_with_logits().get();
        let (tokens, count) = self.loss_chunks().map_or((all, 1.0), |own| (own.tokens, own.count));
        let product = MatrixProduct::new(Count::new(tokens), self.head_columns(), self.scenario.model.hidden.into());
        let (rate, element) = self.head_rate();
        let each = PassTimes::differentiated(of, product, |product| self.product(product, rate, element));
        let mut all = each * count;
        let trained = of == Differentiated::All;
        // Each chunk's gradient of the weights is added to that of those before: read once more than it is written.
        let added = self.head_weights() * element * if trained { (count - 1.0).max(0.0) } else { 0.0 };
        all.backward += DeviceTime::traffic(added / self.memory);
        if self.scenario.copies_head() {
            // A copy in fp32 for each chunk, and its gradient in the storage format.
            let cast = DeviceTime::traffic(self.head_weights() * (self.storage() + element) * count / self.memory);
            all.forward += cast;
            all.backward += if trained { cast } else { DeviceTime::default() };
        }
        all
    }

    /// Rate of a large product of the head, and bytes of its factors.
    fn head_rate(&self) -> (FlopPerSecond, Bytes) {
        if !self.scenario.copies_head() {
            return (self.matmul_storage, self.storage());
        }
        let peaks = &self.scenario.cluster.device.peak;
        let [own, storage] = [Format::Fp32, self.scenario.plan.precision.storage()].map(|format| format.peak(peaks));
        (self.matmul_storage * (own / storage), Bytes::new(Format::Fp32.bytes()))
    }

    /// Rows of the vocabulary on this rank.
    fn head_columns(&self) -> Count {
        Count::from(self.scenario.model.logits_width()) / f64::from(self.scenario.plan.tensor)
    }

    /// Weights of the head on this rank.
    fn head_weights(&self) -> Count {
        self.head_columns() * f64::from(self.scenario.model.hidden)
    }

    /// Bytes of logits and loss at their worst moment, all together.
    pub fn logits(&self) -> Bytes {
        let HeadBytes { kept, working } = self.head_bytes();
        kept + working
    }

    /// Bytes of logits and loss, with the input of the logits where it is kept gathered. Those of each further token are beside
    /// them, with what leads to its layer: the token's embedding, both halves of the input of the product that joins it to the
    /// layer before, and the last norm's input.
    ///
    /// A model that stands beside the trained one has its logits for no longer than their log-probabilities take.
    ///
    /// Of a loss in chunks the logits of one are there at a time. Logits that are kept are those of all tokens, and so are their
    /// gradients, 2 bytes each beside what one chunk holds more. The gradient of the head's input is added up in fp32
    /// (`GradAccumulator` of torchtitan/components/loss.py). A head in fp32 has a copy of its weights and of its input, and of what it trains a gradient in fp32.
    pub fn head_bytes(&self) -> HeadBytes {
        let (model, stack, tokens) = (&self.scenario.model, &self.scenario.stack, self.tokens_with_logits());
        let streams = f64::from(self.sequence_ranks());
        let inputs = if stack.keeps_gathered { 1.0 } else { streams };
        let gathered = self.tokens() * f64::from(model.hidden) * self.storage() * (1.0 / inputs - 1.0 / streams);
        let (chunks, beside) = (self.loss_chunks(), self.scenario.plan.stands_beside);
        let held = self.calibrated.logits_held;
        let held = if beside { held.min(self.passed_logit()) } else { held };
        let held = held + self.entropy_of_logit() * ENTROPY_TENSORS;
        let of_logits =
            |each: Bytes| tokens * f64::from(model.logits_width()) / f64::from(self.scenario.loss_ranks()) * each;
        let copies = self.head_copies(chunks.map_or(tokens, |chunks| Count::new(chunks.tokens)));
        let HeadBytes { kept, working } = match chunks {
            None => HeadBytes { kept: of_logits(held) + copies, working: Bytes::ZERO },
            Some(LossChunks { tokens: of_chunk, kept, .. }) => {
                let share = of_chunk / tokens.get();
                match if beside { KeptOfChunk::Nothing } else { kept } {
                    KeptOfChunk::Logits => {
                        let more = (held - self.storage()).max(Bytes::ZERO);
                        HeadBytes { kept: of_logits(self.storage() * 2.0 + more * share), working: copies }
                    }
                    KeptOfChunk::Gradients => {
                        let gradient = tokens * f64::from(model.hidden) * Bytes::new(Format::Fp32.bytes());
                        HeadBytes { kept: gradient, working: of_logits(held * share) + copies }
                    }
                    KeptOfChunk::Nothing => HeadBytes { kept: Bytes::ZERO, working: of_logits(held * share) + copies },
                }
            }
        };
        let once = kept + gathered;
        HeadBytes { kept: once + (once + self.stream() * 4.0) * f64::from(model.mtp_layers), working }
    }

    /// Bytes of a logit of which no gradient is computed: itself, and the cast of which the log-probability is taken
    /// (`OpenRLHF`, `openrlhf/models/actor.py`, casts the whole tensor to fp32).
    fn passed_logit(&self) -> Bytes {
        self.storage() + Bytes::new(Format::Fp32.bytes())
    }

    /// Bytes of a logit in each tensor of those in which the entropy is computed: nothing where it is not. It is of a forward alone,
    /// and of the cast of which the log-probability is taken.
    fn entropy_of_logit(&self) -> Bytes {
        let plan = &self.scenario.plan;
        let post = &plan.post_training;
        let computed = plan.stands_beside && post.method.writes() && post.rollouts.entropy;
        Bytes::new(if computed { Format::Fp32.bytes() } else { 0.0 })
    }

    /// Bytes that the loss of a distillation takes beside the logits and what any loss takes of them.
    pub fn distilled(&self) -> Bytes {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        if plan.post_training.method.of_teacher() == 0 || plan.stands_beside {
            return Bytes::ZERO;
        }
        if let Some(chosen) = plan.post_training.top_k {
            return self.tokens_with_logits() * f64::from(chosen) * CHOSEN_LOGIT;
        }
        let logits = self.tokens_with_logits() * f64::from(model.logits_width()) / f64::from(plan.tensor);
        logits * DISTILLED_COPIES * self.storage()
    }

    /// Bytes of the copies in fp32 that the head multiplies, its input having so many tokens.
    fn head_copies(&self, tokens: Count) -> Bytes {
        if !self.scenario.copies_head() {
            return Bytes::ZERO;
        }
        let trained = self.scenario.differentiated_logits() == Differentiated::All;
        let weights = self.head_weights() * if trained { 2.0 } else { 1.0 };
        (weights + tokens * f64::from(self.scenario.model.hidden)) * Bytes::new(Format::Fp32.bytes())
    }

    /// Bytes of the inputs to the gradients of the logits' weights, where these can be put off.
    pub(crate) fn head_gradient_inputs(&self) -> Bytes {
        let whole = || self.tokens_with_logits() * self.head_columns().get() * self.storage() + self.stream();
        let once = if self.loss_chunks().is_some() { Bytes::ZERO } else { whole() };
        // Both halves of the joining product's input, and the gradient of its output.
        once + (once + self.stream() * 3.0) * f64::from(self.scenario.model.mtp_layers)
    }
}
