//! The limits of fully sharded data parallelism: what memory, bandwidth and peak allow, whatever the
//! schedule, after "Memory and Bandwidth are All You Need for Fully Sharded Data Parallel" (arXiv
//! 2504.03655).
//!
//! The formulas are derived anew from its assumptions (sections [fsdp A2] to [fsdp A4] of the notes on
//! it); none of its tables is claimed to be reproduced. Not for a particular job's traffic, which
//! [`crate::program`] counts, and not for tensor, context or pipeline parallelism.

pub mod grid;

use crate::cost::{self, Factors, Rates};
use crate::hardware::Group;
use crate::scenario::Scenario;
use crate::units::{Bytes, BytesPerSecond, Flop, FlopPerSecond, Seconds};

/// How much of the state is sharded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroStage {
    /// Optimizer state.
    One,
    /// Gradients too.
    Two,
    /// Weights too: FSDP.
    Three,
}

impl ZeroStage {
    /// The digit in its name: 3 for ZeRO-3.
    pub const fn number(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// A model, a machine and the settings that the limits depend on [fsdp A1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FsdpLimits {
    /// Parameters (phi).
    pub parameters: f64,
    /// The arithmetic of a token.
    pub arithmetic: TokenArithmetic,
    /// Transformer layers (L).
    pub layers: f64,
    /// Width of the residual stream (H).
    pub hidden: f64,
    /// Bytes of a weight, a gradient or an activation (Q).
    pub element: Bytes,
    /// Bytes of optimizer state per parameter: 6 Q for Adam with fp32 master weights beside bf16.
    pub optimizer: Bytes,
    /// Devices that share the state (N).
    pub devices: u32,
    /// How much of it they share.
    pub stage: ZeroStage,
    /// Memory of a device.
    pub memory: Bytes,
    /// Memory taken before any state: runtime, allocator, gathered layers.
    pub reserve: Bytes,
    /// Rate at which a device receives the gathered model (S): a convention, not a law [fsdp A7]. The paper
    /// seems to take one device's port; a ring passes through the ports of all devices of a node, and may be
    /// faster.
    pub link: BytesPerSecond,
    /// Latency per layer and device (epsilon).
    pub latency: Seconds,
    /// Whether a device's own shard is left out of what it receives: the `(N - 1) / N` of a ring.
    pub ring: bool,
    /// Peak of a device's arithmetic.
    pub peak: FlopPerSecond,
    /// Tokens per sequence.
    pub sequence: f64,
    /// Share of the activations that is kept: 0 recomputes all layers, 1 recomputes none (gamma).
    pub gamma: f64,
    /// Transfers of the whole model in backward: 2 counts a gather and a reduction (`n_bwd`).
    pub n_bwd: f64,
}

/// The parameters that a token meets, as flop are counted and as kernels compute them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenArithmetic {
    /// Parameters that are counted with 6 flop each.
    pub counted: f64,
    /// Weights of matrix products, 2 flop each in forward; none of experts that a token does not visit.
    pub computed: f64,
    /// Those of them that full recompute does not repeat: the logits'.
    pub once: f64,
    /// Width of all attention heads together.
    pub width: f64,
    /// Share of the attention scores that is computed: half where a causal kernel skips the others.
    pub square: f64,
    /// Share of the attention scores that is counted.
    pub attended: f64,
    /// Whether the model is one of the paper's family: `12 L H^2` parameters, all alike, every score computed.
    pub family: bool,
}

impl TokenArithmetic {
    /// The paper's.
    pub const fn family(parameters: f64, hidden: f64) -> Self {
        Self {
            counted: parameters,
            computed: parameters,
            once: 0.0,
            width: hidden,
            square: 1.0,
            attended: 1.0,
            family: true,
        }
    }

    /// A scenario's, counted as its plan says.
    fn new(scenario: &Scenario) -> Self {
        let Scenario { model, plan, .. } = scenario;
        let unmet = scenario.unmet_logits();
        let example = plan.attended_sequence();
        let width = model.over_layers(|kind| model.attended_width(kind, example)) / f64::from(model.all_layers());
        Self {
            counted: scenario.counted_parameters() as f64 - unmet,
            attended: scenario.counted_attention(),
            computed: model.matrix_parameters() as f64 - unmet,
            once: model.logits_weights() as f64 - unmet,
            width: width * (f64::from(example) / f64::from(plan.sequence)),
            square: if model.causal && scenario.attention().flash() { 0.5 } else { 1.0 },
            family: false,
        }
    }
}

/// Full-size transfers that forward and backward each wait for.
#[derive(Debug, Clone, Copy)]
pub struct Transfers {
    /// `n_fwd`.
    pub forward: f64,
    /// `n_bwd`, as counted.
    pub backward: f64,
}

/// A bound on how well the devices are used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilisation {
    /// Hardware flop utilisation (recompute counted).
    pub hfu: f64,
    /// Model flop utilisation (recompute not counted).
    pub mfu: f64,
    /// Tokens per second and device.
    pub tokens_per_s: f64,
}

/// A step in which forward and backward each hide their transfers as far as they can [fsdp A3].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FsdpStep {
    /// Arithmetic of forward.
    pub forward: Seconds,
    /// Arithmetic of backward, recompute included.
    pub backward: Seconds,
    /// The whole step.
    pub time: Seconds,
    /// How well it uses the device.
    pub reached: Utilisation,
}

impl FsdpLimits {
    /// The limits that no plan of a scenario passes: all parameters travel, and a token's arithmetic is that of its
    /// kernels; bandwidth is that of a ring over all devices on the slowest level that it crosses, as the
    /// simulator's gathers have it; no reserve, no latency, all layers computed again and `n_bwd` 1.
    pub fn new(scenario: &Scenario) -> Self {
        let (model, plan, devices) = (&scenario.model, &scenario.plan, scenario.devices());
        let storage = plan.precision.storage();
        let spans = Rates::new(scenario, &Factors::default()).network.ring(Group::new(1, devices.max(1)));
        // The slowest level that the ring crosses sets its pace; on one device, which crosses none, it is the
        // innermost.
        let crossed = spans.iter().filter(|span| span.edges > 0).map(|span| span.rate);
        Self {
            parameters: model.parameters() as f64,
            arithmetic: TokenArithmetic::new(scenario),
            layers: f64::from(model.all_layers()),
            hidden: f64::from(model.hidden),
            element: Bytes::new(storage.bytes()),
            optimizer: Bytes::new(plan.optimizer_state()),
            devices,
            stage: ZeroStage::Three,
            memory: scenario.cluster.device.memory * plan.memory_factor,
            reserve: Bytes::ZERO,
            link: crossed.reduce(BytesPerSecond::min).unwrap_or(spans[0].rate),
            latency: Seconds::ZERO,
            ring: true,
            peak: cost::peak(scenario, plan.precision),
            sequence: f64::from(plan.sequence),
            gamma: 0.0,
            n_bwd: 1.0,
        }
    }

    /// The limits as the paper counts: the model as `12 L H^2` parameters with all scores of attention, a device
    /// receiving even its own shard. A model with experts, which the paper has none of, keeps its own parameters and
    /// those that a token meets.
    pub fn of_family(scenario: &Scenario) -> Self {
        let (own, model) = (Self::new(scenario), &scenario.model);
        let (parameters, active) = match model.experts {
            None => [12.0 * own.layers * own.hidden * own.hidden; 2].into(),
            Some(_) => (model.parameters() as f64, model.active_parameters() as f64),
        };
        Self { parameters, arithmetic: TokenArithmetic::family(active, own.hidden), ring: false, ..own }
    }

    /// Bytes of state that a device holds of a parameter [fsdp A2]: weights, gradients and optimizer, each over the
    /// devices that share it.
    pub fn state(&self) -> Bytes {
        let share = 1.0 / f64::from(self.devices);
        let (weights, gradients) = match self.stage {
            ZeroStage::One => (1.0, 1.0),
            ZeroStage::Two => (1.0, share),
            ZeroStage::Three => (share, share),
        };
        self.element * (weights + gradients) + self.optimizer * share
    }

    /// Memory that state leaves to activations; negative where the state alone does not fit [fsdp A2]:
    /// `memory - reserve - phi x state of a parameter`.
    pub fn free(&self) -> Bytes {
        self.memory - self.reserve - self.state() * self.parameters
    }

    /// Activations of one token [fsdp A2]: `(1 - gamma) L H Q + gamma (16 L H Q + 2 L H)`, from the
    /// layers' inputs alone to everything but the scores.
    pub fn activation(&self) -> Bytes {
        let width = self.layers * self.hidden;
        let inputs = self.element * width;
        let all = inputs * 16.0 + Bytes::new(2.0 * width);
        inputs * (1.0 - self.gamma) + all * self.gamma
    }

    /// Tokens of a device whose activations fit, and so the longest sequence [fsdp A2]:
    /// `free memory / activations of a token`; none where the state does not fit.
    pub fn token_capacity(&self) -> f64 {
        self.free().max(Bytes::ZERO) / self.activation()
    }

    /// Time of one gather of the whole model [fsdp A3]: `phi Q / S + L N epsilon`.
    pub fn transfer(&self) -> Seconds {
        // The paper lets a device receive even its own shard; a ring spares it that.
        let devices = f64::from(self.devices);
        let received = if self.ring { (devices - 1.0) / devices } else { 1.0 };
        self.element * self.parameters * received / self.link + self.latency * (self.layers * devices)
    }

    /// Flop of a token's attention in forward, over the full square.
    fn attention(&self) -> Flop {
        Flop::new(4.0 * self.layers * self.arithmetic.width * self.sequence)
    }

    /// Forward flop of a token as they are counted [fsdp A3]: `2 phi + 4 L H sequence`, attention over what of the square
    /// is counted.
    pub fn counted_forward(&self) -> Flop {
        Flop::new(2.0 * self.arithmetic.counted) + self.attention() * self.arithmetic.attended
    }

    /// Flop of a token's whole step as HFU counts them: forward, backward at twice its cost, and what of the layers is
    /// computed again.
    pub fn counted_flop(&self) -> Flop {
        let again = self.repeated_weights() + self.attention() * self.arithmetic.attended;
        self.counted_forward() * 3.0 + again * (1.0 - self.gamma)
    }

    /// Forward flop of a token that kernels compute.
    pub fn forward_flop(&self) -> Flop {
        Flop::new(2.0 * self.arithmetic.computed) + self.attention() * self.arithmetic.square
    }

    /// Backward flop of a token that kernels compute, recompute included [fsdp A3]: in the paper's family `(3 - gamma)`
    /// times forward's.
    pub fn backward_flop(&self) -> Flop {
        // The logits stand outside the layers, so that computing layers again does not repeat them.
        let again = self.repeated_weights() + self.attention() * self.arithmetic.square;
        self.forward_flop() * 2.0 + again * (1.0 - self.gamma)
    }

    /// Flop of the matrix products that full recompute repeats.
    fn repeated_weights(&self) -> Flop {
        Flop::new(2.0 * (self.arithmetic.computed - self.arithmetic.once))
    }

    /// Flop of backward over those of forward.
    fn backward_forwards(&self) -> f64 {
        self.backward_flop() / self.forward_flop()
    }

    /// Time of forward at the peak, memory full.
    pub fn arithmetic(&self) -> Seconds {
        self.forward_flop() * self.token_capacity() / self.peak
    }

    /// Stage 3 gathers in forward and moves `n_bwd` models in backward; stages 1 and 2 reduce gradients
    /// and gather updated weights, once a step [fsdp A3].
    pub fn transfers(&self) -> Transfers {
        match self.stage {
            ZeroStage::One | ZeroStage::Two => Transfers { forward: 0.0, backward: 2.0 },
            ZeroStage::Three => Transfers { forward: 1.0, backward: self.n_bwd },
        }
    }

    /// Transfer time over arithmetic's, forward and backward, for `tokens` on each device whose kernels
    /// reach the share `alpha` of the peak; up to 1 all of it can hide [fsdp A3].
    pub fn overlap(&self, tokens: f64, alpha: f64) -> [f64; 2] {
        let (transfers, transfer) = (self.transfers(), self.transfer());
        let time = |flop: Flop| flop * tokens / (self.peak * alpha);
        [
            transfer * transfers.forward / time(self.forward_flop()),
            transfer * transfers.backward / time(self.backward_flop()),
        ]
    }

    /// A step of `tokens` on each device whose kernels reach the share `alpha` of the peak [fsdp A3].
    pub fn step(&self, tokens: f64, alpha: f64) -> FsdpStep {
        let (transfers, transfer) = (self.transfers(), self.transfer());
        let forward = self.forward_flop() * tokens / (self.peak * alpha);
        let backward = self.backward_flop() * tokens / (self.peak * alpha);
        // Within a pass arithmetic and transfers run side by side; the two passes run one after the other.
        let time = forward.max(transfer * transfers.forward) + backward.max(transfer * transfers.backward);
        FsdpStep { forward, backward, time, reached: self.bound(tokens / time.get()) }
    }

    /// The shortest step in which each pass still hides its own transfers [fsdp A4 (a)], in forwards of `4 - gamma` a
    /// step in the paper's family: backward has `3 - gamma` of them, and asks for more where `n_bwd > 3 - gamma`.
    pub fn hidden_step(&self) -> Seconds {
        let (Transfers { forward, backward }, behind) = (self.transfers(), self.backward_forwards());
        // Hidden means that the shorter pass hides its transfers too: forward must last as long as its own, and
        // backward, `behind` times as long, as its own. The longer of the two wants says how long forward is.
        self.transfer() * ((1.0 + behind) * forward.max(backward / behind))
    }

    /// The step that its transfers fill, one after the other [fsdp A4 (b)].
    pub fn floor_step(&self) -> Seconds {
        let Transfers { forward, backward } = self.transfers();
        self.transfer() * (forward + backward)
    }

    /// No exposed communication: the most at which each pass still hides its own transfers, memory full
    /// [fsdp A4 (a)]. It may exceed what the peak allows.
    ///
    /// `HFU <= E F_fwd S / (phi Q peak)`, from forward.
    pub fn hidden(&self) -> Utilisation {
        self.full(self.hidden_step())
    }

    /// Network floor: no step ends before its transfers, one after the other, memory full [fsdp A4 (b)].
    /// It may exceed what the peak allows, and is never below [`Self::hidden`]. With `ring` and `n_bwd` 2, what
    /// FSDP sends, no schedule that gathers twice and reduces at each micro-batch beats it.
    ///
    /// `tokens/s <= E S / ((1 + n_bwd) phi Q)`.
    pub fn network_floor(&self) -> Utilisation {
        self.full(self.floor_step())
    }

    /// A step with all tokens that fit.
    fn full(&self, step: Seconds) -> Utilisation {
        let tokens = self.token_capacity();
        self.bound(if tokens > 0.0 { tokens / step.get() } else { 0.0 })
    }

    /// A throughput with its utilisations [fsdp A3]: in the paper's family `MFU = HFU 3 / (4 - gamma)`.
    fn bound(&self, tokens_per_s: f64) -> Utilisation {
        let share = |flop: Flop| tokens_per_s * (flop / self.peak).get();
        Utilisation { hfu: share(self.counted_flop()), mfu: share(self.counted_forward() * 3.0), tokens_per_s }
    }

    /// Time of a token's arithmetic at the peak.
    fn token(&self) -> Seconds {
        (self.forward_flop() + self.backward_flop()) / self.peak
    }

    /// Share of the peak that kernels would need for a bound.
    pub fn needed(&self, bound: Utilisation) -> f64 {
        bound.tokens_per_s * self.token().get()
    }

    /// A bound, and no more than the peak allows.
    pub fn capped(&self, bound: Utilisation) -> Utilisation {
        if self.needed(bound) <= 1.0 { bound } else { self.bound(1.0 / self.token().get()) }
    }
}

#[cfg(test)]
mod tests;
