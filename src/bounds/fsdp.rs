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

/// What is sharded.
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
    /// Those of them that take no part in a token's arithmetic: of experts that it does not visit.
    pub idle: f64,
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
    /// What they share of it.
    pub stage: ZeroStage,
    /// Memory of a device.
    pub memory: Bytes,
    /// What of it is taken before any state: runtime, allocator, gathered layers.
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
    /// Of a scenario's model, devices and sequence: the model as `12 L H^2` parameters, or its own where it has
    /// experts, which the paper's models have not; bandwidth that of a ring over all devices on the slowest level
    /// that it crosses, as the simulator's gathers have it; no reserve, no latency, all layers computed again and
    /// `n_bwd` 1.
    pub fn new(scenario: &Scenario) -> Self {
        let (model, plan, devices) = (&scenario.model, &scenario.plan, scenario.devices());
        let (layers, hidden) = (f64::from(model.layers), f64::from(model.hidden));
        let storage = plan.precision.storage();
        let spans = Rates::new(scenario, &Factors::default()).network.ring(Group { stride: 1, size: devices.max(1) });
        let crossed = spans.iter().filter(|span| span.edges > 0).map(|span| span.rate);
        let (parameters, idle) = match model.experts {
            None => (12.0 * layers * hidden * hidden, 0.0),
            Some(_) => (model.parameters() as f64, (model.parameters() - model.active_parameters()) as f64),
        };
        Self {
            parameters,
            idle,
            layers,
            hidden,
            element: Bytes::new(storage.bytes()),
            optimizer: Bytes::new(plan.optimizer.state(storage)),
            devices,
            stage: ZeroStage::Three,
            memory: scenario.cluster.device.memory * plan.memory_factor,
            reserve: Bytes::ZERO,
            link: crossed.reduce(BytesPerSecond::min).unwrap_or(spans[0].rate),
            latency: Seconds::ZERO,
            ring: false,
            peak: cost::peak(scenario, plan.precision),
            sequence: f64::from(plan.sequence),
            gamma: 0.0,
            n_bwd: 1.0,
        }
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

    /// Forward flop of a token [fsdp A3]: `2 phi + 4 L H sequence`, attention over the full square.
    pub fn forward_flop(&self) -> Flop {
        Flop::new(2.0 * (self.parameters - self.idle) + 4.0 * self.layers * self.hidden * self.sequence)
    }

    /// Backward flop of a token, recompute included [fsdp A3]: `(3 - gamma)` times forward's.
    pub fn backward_flop(&self) -> Flop {
        self.forward_flop() * (3.0 - self.gamma)
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
    /// step: backward has `3 - gamma` of them, and asks for more where `n_bwd > 3 - gamma`.
    pub fn hidden_step(&self) -> Seconds {
        let Transfers { forward, backward } = self.transfers();
        self.transfer() * ((4.0 - self.gamma) * forward.max(backward / (3.0 - self.gamma)))
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

    /// A throughput with its utilisations [fsdp A3]: `MFU = HFU 3 / (4 - gamma)`.
    fn bound(&self, tokens_per_s: f64) -> Utilisation {
        let flop = self.forward_flop() + self.backward_flop();
        let hfu = tokens_per_s * (flop / self.peak).get();
        Utilisation { hfu, mfu: hfu * 3.0 / (4.0 - self.gamma), tokens_per_s }
    }

    /// A bound, and no more than the peak allows.
    pub fn capped(&self, bound: Utilisation) -> Utilisation {
        if bound.hfu <= 1.0 {
            return bound;
        }
        let flop = self.forward_flop() + self.backward_flop();
        Utilisation { hfu: 1.0, mfu: 3.0 / (4.0 - self.gamma), tokens_per_s: 1.0 / (flop / self.peak).get() }
    }
}

#[cfg(test)]
mod tests;
