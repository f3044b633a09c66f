//! Layered accumulation and modular pipelines in closed form: bubble, step time, memory and the batch that
//! still pays, after "Layered gradient accumulation and modular pipeline parallelism" (arXiv 2106.02679).
//!
//! The formulas are derived anew from its assumptions (sections [layered B3], [layered B6] and
//! [layered B8] of the notes on it); none of its tables is claimed to be reproduced. Blocks only: embedding,
//! logits, the attention core and the optimizer are left out, kernels reach the peak and links their
//! bandwidth. Not for a particular job's order in time, which [`crate::sim`] knows.

use std::str::FromStr;

use crate::cost::{Factors, Rates, layers_flop};
use crate::model::Model;
use crate::scenario::Checked;
use crate::units::{Bytes, Seconds};

use super::intensity::{self, TransferKind};
use super::pipeline::Pipeline;
use super::state_per_parameter;

/// A step in closed form, and what it is made of [layered B8].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayeredStep {
    /// Arithmetic at the peak.
    pub ideal: Seconds,
    /// Factor of tensor parallelism, which nothing hides: `1 + threshold / intensity`.
    pub tensor: f64,
    /// Bubble overhead.
    pub bubble: f64,
    /// Factor of the worst of the transfers that overlap but are not hidden; 1 where all are.
    pub exposed: f64,
    /// Time of the other transfers that overlap nothing.
    pub alone: Seconds,
}

impl LayeredStep {
    /// The step of a scenario.
    ///
    /// The ideal is `(6 + 2 r) p b_mu n_mu d_s / (n_l n_a c)`, 8 where all layers are computed again.
    pub fn new(scenario: &Checked) -> Self {
        let (layout, plan) = (scenario.layout(), &scenario.plan);
        let rates = Rates::new(scenario, &Factors::default());
        let tokens = rates.tokens() * f64::from(plan.accumulate);
        let devices = f64::from(layout.pipeline * layout.tensor);
        let ideal = layers_flop(scenario) * tokens.get() / devices / rates.peak;
        let mut step =
            Self { ideal, tensor: 1.0, bubble: Pipeline::new(plan).bubble(), exposed: 1.0, alone: Seconds::ZERO };
        for transfer in intensity::transfers(scenario) {
            match (transfer.kind, transfer.overlapped) {
                (TransferKind::Tensor, _) => step.tensor = transfer.slowdown(),
                // They overlap each other too, so the worst of them counts alone.
                (_, true) => step.exposed = step.exposed.max(transfer.slowdown()),
                (_, false) => step.alone += ideal * (transfer.slowdown() - 1.0),
            }
        }
        step
    }

    /// Its time: `ideal x tensor x (1 + bubble) x exposed + alone`.
    pub fn time(&self) -> Seconds {
        self.ideal * (self.tensor * (1.0 + self.bubble) * self.exposed) + self.alone
    }

    /// Share of the time that is arithmetic at the peak.
    pub fn efficiency(&self) -> f64 {
        self.ideal / self.time()
    }
}

/// Memory of one device in closed form [layered B6]; a layer's working memory comes on top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LayeredMemory {
    /// Weights, gradients and optimizer state: `16 p / (n_l n_a)` bytes, over `n_b` where they are partitioned.
    pub state: Bytes,
    /// Where weights are partitioned or on the host: two layers' weights and two layers' gradients, one in use and
    /// one on its way, `4 x 2 x 12 d_m^2 / n_a` bytes.
    pub buffers: Bytes,
    /// Layers' inputs of all micro-batches that are held, each tensor rank its share:
    /// `2 n_mu b_mu d_s d_m d_l / (n_l n_a)` bytes breadth first. None are written where nothing is computed again.
    pub checkpoints: Bytes,
}

impl LayeredMemory {
    /// The memory of a scenario; state and checkpoints on the host do not count.
    pub fn new(scenario: &Checked) -> Self {
        let (layout, model, plan) = (scenario.layout(), &scenario.model, &scenario.plan);
        let (layers, tensor) = (f64::from(model.all_layers()), f64::from(layout.tensor));
        // The paper's layers are all alike: a buffer has room for the mean one.
        let layer = model.layers_parameters() as f64 / layers / tensor;
        let rates = Rates::new(scenario, &Factors::default());
        let pipeline = Pipeline::new(plan);
        let stage = layers / f64::from(pipeline.counts.ranks * pipeline.counts.stages);
        let gradient = Bytes::new(scenario.gradient_format().bytes());
        let buffered = layout.weights > 1 || plan.offload.state();
        let buffers = if buffered { 2.0 * (rates.storage() + gradient) * layer } else { Bytes::ZERO };
        let input = rates.tokens() * f64::from(model.hidden) * rates.storage() / tensor;
        let held = f64::from(pipeline.checkpoints()) * plan.recompute.layers();
        let own = layer * layers / f64::from(layout.pipeline);
        let checkpoints = if plan.offload.checkpoints() { Bytes::ZERO } else { held * stage * input };
        Self { state: state_per_parameter(scenario, layout) * own, buffers, checkpoints }
    }

    /// All of it.
    pub fn total(&self) -> Bytes {
        self.state + self.buffers + self.checkpoints
    }
}

/// A law of the critical batch: up to it more data parallelism pays. The laws are empirical, each with its source, and
/// disagree by a factor of several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CriticalBatch {
    /// Kaplan et al. (arXiv 2001.08361), at the loss that a model of `N` parameters converges to.
    Kaplan,
    /// `82 x^(2/3)` sequences for `X_[x]` of arXiv 2106.02679, for other models by the tokens that it means.
    Layered,
    /// So many sequences.
    Sequences(f64),
}

/// `L(N) = (N_c / N)^0.076`, nats per token [layered B3, Kaplan et al.].
const LOSS: (f64, f64) = (8.8e13, 0.076);

/// `B_crit = B_* / L^(1 / 0.21)`, tokens [layered B3, Kaplan et al.].
const BATCH: (f64, f64) = (2e8, 0.21);

/// Sequences at x = 1, of 16 x tokens [layered B3]; an input rather than a checked constant.
const SEQUENCES: f64 = 82.0;

impl CriticalBatch {
    /// Those that need no count.
    pub const LAWS: [Self; 2] = [Self::Layered, Self::Kaplan];

    /// Sequences of `sequence` tokens, for a model's blocks of `p` parameters.
    ///
    /// `Kaplan`: `2e8 / (8.8e13 / p)^(0.076 / 0.21)` tokens. `Layered`: `82 x 16 (p / 12)^(1/3)`, 573 `p^(1/3)`
    /// tokens, which is `82 x^(2/3)` sequences where `p = 12 x^5` and the sequence has `16 x` tokens.
    pub fn sequences(self, model: &Model, sequence: u32) -> f64 {
        let parameters = model.layers_parameters() as f64;
        let tokens = match self {
            Self::Sequences(count) => return count,
            Self::Kaplan => {
                let loss = libm::pow(LOSS.0 / parameters, LOSS.1);
                BATCH.0 / libm::pow(loss, 1.0 / BATCH.1)
            }
            Self::Layered => SEQUENCES * 16.0 * libm::cbrt(parameters / 12.0),
        };
        tokens / f64::from(sequence)
    }

    /// Its word on the command line; that of a count only says that it was given.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kaplan => "kaplan",
            Self::Layered => "layered",
            Self::Sequences(_) => "given",
        }
    }

    /// Where the law comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Kaplan => "Kaplan et al. (arXiv 2001.08361), at the converged loss",
            Self::Layered => "82 x^(2/3) sequences of X_[x] (arXiv 2106.02679)",
            Self::Sequences(_) => "as given",
        }
    }
}

impl FromStr for CriticalBatch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(law) = Self::LAWS.into_iter().find(|law| law.word() == text) {
            return Ok(law);
        }
        match text.parse::<f64>() {
            Ok(count) if count > 0.0 && count.is_finite() => Ok(Self::Sequences(count)),
            _ => Err("a critical batch is kaplan, layered or a count of sequences above 0".to_owned()),
        }
    }
}

/// Steps that a batch needs where `at_critical` of the critical batch would do [layered B3]: with
/// `S = S_min (1 + b_c / b)`, so `2 S_min` at `b_c`, they are `at_critical (1 + b_c / b) / 2`.
///
/// ```
/// use shardscope_engine::bounds::layered::steps;
///
/// // At the critical batch as many as are said, and never less than half of them.
/// assert_eq!(steps(100_000.0, 1_000.0, 1_000.0), 100_000.0);
/// assert_eq!(steps(100_000.0, 1_000.0, 4_000.0), 62_500.0);
/// ```
pub fn steps(at_critical: f64, critical: f64, batch: f64) -> f64 {
    at_critical * (1.0 + critical / batch) / 2.0
}

#[cfg(test)]
mod tests;
