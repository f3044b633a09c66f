//! Memory of an engine that writes answers: its weights, its cache of keys and values, what it works in, and what is left while it
//! sleeps. Not for its time, which is not counted.

use crate::model::{LayerAttention, LayerKind, LayerMixer, Model};
use crate::plan::{Format, RolloutLayout};
use crate::scenario::Scenario;
use crate::units::Bytes;

/// What an engine keeps on a device while it sleeps at level 1 or 2, its context and graphs of kernels: 774 MiB of one alone, 2,440
/// MiB of one of two that share matrices and so have buffers of collectives (NVIDIA-NeMo/RL issue 223, vLLM with Llama 3.2 1B on
/// H100s).
const ASLEEP: [Bytes; 2] = [Bytes::new(774.0 * 1_048_576.0), Bytes::new(2440.0 * 1_048_576.0)];

/// Tokens that pass an engine at once (`max_num_batched_tokens`, `verl/trainer/config/rollout/rollout.yaml`).
const AT_ONCE: f64 = 8192.0;

/// Bytes of a logit while the next token is chosen: one of 32 bits, and one of its probability.
const LOGIT: f64 = 8.0;

/// Bytes of a number in the state of a mixer that has no keys and values (`mamba_ssm_cache_dtype`, vLLM: fp32 where models ask for
/// it).
const STATE: f64 = 4.0;

/// Weights in transfer at once (`update_weights_bucket_megabytes`, `verl/trainer/config/rollout/rollout.yaml`), or the largest tensor.
const BUCKET: f64 = 2048.0 * 1_048_576.0;

/// Memory of an engine on one of its devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineMemory {
    /// All that it takes: its share of the device's memory.
    pub share: Bytes,
    /// Its part of the weights.
    pub weights: Bytes,
    /// What it works in, its context included.
    pub workspace: Bytes,
    /// What is left for keys and values.
    pub cache: Bytes,
    /// What a sequence of the plan's length takes of that.
    pub sequence: Bytes,
    /// Bytes of a further token of such a sequence.
    pub token: Bytes,
    /// What stays on the device while the trainer has it.
    pub asleep: Bytes,
    /// What goes to the host meanwhile.
    pub on_host: Bytes,
    /// Gathered weights on their way into it.
    pub in_transfer: Bytes,
}

impl EngineMemory {
    /// That of a scenario whose model writes answers.
    pub fn new(scenario: &Scenario) -> Self {
        let Scenario { model, plan, .. } = scenario;
        let engine = &plan.post_training.rollouts;
        let ranks = f64::from(engine.tensor);
        let usual = plan.precision.storage();
        let bytes = |format: Option<Format>| format.unwrap_or(usual).bytes();
        let ends = (model.parameters() - model.layers_parameters()) as f64 * usual.bytes();
        let weights = (model.layers_parameters() as f64 * bytes(engine.format) + ends) / ranks;
        let share = scenario.capacity() * engine.share().get();
        let [alone, joined] = ASLEEP;
        let context = if engine.tensor > 1 { joined } else { alone };
        // The widest layer's inputs and inner activations of the tokens that pass at once, and logits of the sequences.
        let inner = f64::from(2 * model.hidden) + 2.0 * f64::from(model.ffn_hidden) / ranks;
        let passing =
            AT_ONCE * inner * usual.bytes() + f64::from(engine.slots) * f64::from(model.vocab) / ranks * LOGIT;
        let workspace = context + Bytes::new(passing);
        let cached = |tokens: f64| Bytes::new(cached(model, engine.tensor, bytes(engine.cache), tokens));
        let tokens = f64::from(plan.sequence);
        let sleeps = engine.layout == RolloutLayout::Colocated;
        let weights = Bytes::new(weights);
        Self {
            share,
            weights,
            workspace,
            cache: (share - weights - workspace).max(Bytes::ZERO),
            sequence: cached(tokens),
            token: cached(tokens + 1.0) - cached(tokens),
            asleep: match engine.sleep {
                _ if !sleeps => Bytes::ZERO,
                0 => share,
                _ => context,
            },
            on_host: if sleeps && engine.sleep == 1 { weights } else { Bytes::ZERO },
            in_transfer: in_transfer(model, usual),
        }
    }

    /// The least that it needs: a sequence in its cache.
    pub fn least(&self) -> Bytes {
        self.weights + self.workspace + self.sequence
    }

    /// Sequences that its cache holds.
    pub fn sequences(&self) -> u32 {
        (self.cache / self.sequence) as u32
    }
}

/// Bytes of keys and values of a sequence on one of so many devices, which share heads: each has one at least. Latent attention keeps
/// one narrow vector for all heads on each of them (arXiv 2405.04434, section 2.1), a window its last tokens, a recurrent mixer its
/// state.
fn cached(model: &Model, ranks: u32, number: f64, tokens: f64) -> f64 {
    let of_layer = |kind: LayerKind| match model.mixer(kind) {
        LayerMixer::Attention(LayerAttention { heads, latent, window, .. }) => {
            let window = window.map_or(tokens, |window| f64::from(window.size));
            let width = latent.map_or_else(
                || f64::from(heads.keys.div_ceil(ranks)) * f64::from(heads.size + heads.value),
                |latent| f64::from(latent.key_value + latent.rotary),
            );
            width * number * tokens.min(window)
        }
        LayerMixer::Recurrent(recurrence) => recurrence.states() as f64 * STATE / f64::from(ranks),
        LayerMixer::None => 0.0,
    };
    model.kinds().map(|(kind, layers)| f64::from(layers) * of_layer(kind)).sum()
}

/// Weights that are gathered at once on their way into an engine: a bucket of them, or the table of embeddings where that is larger.
fn in_transfer(model: &Model, format: Format) -> Bytes {
    let table = f64::from(model.vocab) * f64::from(model.hidden) * format.bytes();
    Bytes::new(BUCKET.max(table).min(model.parameters() as f64 * format.bytes()))
}
