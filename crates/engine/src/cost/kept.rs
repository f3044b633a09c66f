//! What training keeps of parameters: each part of the state once, with its bytes, the ranks that share it and the place where it
//! lies. Memory of the device, of the host and of its drives, checkpoints and explanations add this list up. Not for
//! activations ([`super::activation`]), nor for what moves in an update ([`super::layer`]).

use crate::plan::{Accumulation, Ema, Reduction};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Share};

use super::adapters::Parameters;
use super::rates::Rates;

/// Bytes of a gradient on the host, which is kept in fp32 there: `DeepSpeed`'s own estimate counts 16 bytes per parameter
/// with Adam, 18 with the weights (deepspeed/runtime/zero/stage3.py, `estimate_zero3_model_states_mem_needs`).
pub(super) const HOST_GRADIENT: Bytes = Bytes::new(4.0);

/// Bytes per parameter of the buffers through which a state comes from the drives: `buffer_count` of fp32 tensors, each as long
/// as the largest part that is updated at once, which holds up to `sub_group_size` parameters of a rank
/// (`deepspeed/runtime/zero/offload_config.py` and `config.py`, their defaults; `runtime/swap_tensor/optimizer_utils.py`).
const SWAP_BUFFERS: f64 = 4.0 * 4.0;
const SWAPPED_AT_ONCE: f64 = 1e9;

/// Parameters in the buffers of weights that come from the drives: `buffer_count` of `buffer_size`.
const WEIGHT_BUFFERS: f64 = 5.0 * 1e8;

/// A part of what is kept of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePart {
    /// The weights, in the format in which they are stored.
    Weights,
    /// The weights of a model beside the one that is trained.
    Beside,
    /// Casts of weights to fewer bits, beside or in place of them.
    Casts,
    /// Gradients.
    Gradients,
    /// Weights of more bits than those that layers multiply by, which the optimizer updates.
    Master,
    /// Moments of the optimizer.
    Moments,
    /// Averages of the weights.
    Average,
    /// The copy of the weights that an average on the host is taken of.
    AveragedCopy,
}

/// The parameters of which a part is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOf {
    /// All parameters, frozen or not.
    All,
    /// Parameters of matrices in layers.
    Linear,
    /// Trained parameters.
    Trained,
    /// Trained ones of matrices in layers, which Muon updates.
    Matrices,
    /// Trained ones beside these: all where the optimizer is another.
    BesideMatrices,
}

/// The memory in which a part of the state lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// The device's.
    Device,
    /// The device's, in pages of the driver, which leave where anything else needs their room.
    Pages,
    /// The host's.
    Host,
    /// The drives of the node.
    Drives,
}

impl Home {
    /// Whether it is the device's memory.
    pub const fn is_device(self) -> bool {
        matches!(self, Self::Device | Self::Pages)
    }
}

/// A part of the state of some parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeptPart {
    /// What it is.
    pub part: StatePart,
    /// Where it lies.
    pub home: Home,
    /// The parameters of which it is kept.
    pub of: KeptOf,
    /// Number of parameters, before they are sharded.
    pub count: Count,
    /// Bytes of each.
    pub each: Bytes,
    /// Ranks that share them.
    pub ranks: u32,
    /// The share of a rank's own part that lies there.
    pub share: Share,
}

impl KeptPart {
    /// Bytes that a rank keeps.
    pub fn bytes(&self) -> Bytes {
        self.count * self.each / f64::from(self.ranks) * self.share.get()
    }
}

impl Rates<'_> {
    /// Whether gradients of all units are kept whole until the step's end, rather than reduced unit by unit.
    pub fn keeps_whole_gradients(&self, layout: &Layout) -> bool {
        layout.gradients == 1 || self.scenario.plan.reduction == Reduction::Step
    }

    /// Whether backward leaves gradients where there were none, and the update gives them back.
    pub(crate) fn frees_gradients(&self, layout: &Layout) -> bool {
        let Scenario { plan, stack, .. } = self.scenario;
        let alone = layout.group() == 1 && plan.pipeline == 1 && plan.accumulate == 1;
        stack.frees_gradients && alone && !plan.offload.optimizer() && plan.accumulation == Accumulation::Standard
    }

    /// Gives each part of the state of `parameters`, of one tensor and pipeline rank before sharding, to `keep`. On a device it
    /// is `weights P q / w`, `gradients P g / d`, `optimizer P k / o` [frontier D3], where gradients that are not reduced
    /// before the step's end are whole, and frozen parameters have neither gradients nor optimizer state.
    #[inline]
    pub fn kept(&self, layout: &Layout, parameters: Parameters, mut keep: impl FnMut(KeptPart)) {
        let plan = &self.scenario.plan;
        let outside = if plan.offload.on_drives() { Home::Drives } else { Home::Host };
        let mut add = |part, home, of, each: Bytes, ranks, share: f64| {
            let Parameters { weights, trained, linear, muon } = parameters;
            let count = match of {
                KeptOf::All => weights,
                KeptOf::Linear => linear,
                KeptOf::Trained => trained,
                KeptOf::Matrices => muon,
                KeptOf::BesideMatrices => trained - muon,
            };
            if count > Count::ZERO && each != Bytes::ZERO && share > 0.0 {
                keep(KeptPart { part, home, of, count, each, ranks, share: Share::new(share) });
            }
        };
        let of_weights = if plan.offload.state() { outside } else { Home::Device };
        let weights = if plan.stands_beside { StatePart::Beside } else { StatePart::Weights };
        add(weights, of_weights, KeptOf::All, self.storage(), layout.weights, 1.0);
        add(StatePart::Casts, Home::Device, KeptOf::Linear, self.weight_casts(layout), 1, 1.0);

        let whole = self.keeps_whole_gradients(layout);
        let gradient_ranks = if whole { 1 } else { layout.gradients };
        let on_device = if self.frees_gradients(layout) { 0.0 } else { 1.0 - self.gradients_on_host(layout).get() };
        let each = self.gradient_bytes(whole, layout);
        add(StatePart::Gradients, Home::Device, KeptOf::Trained, each, gradient_ranks, on_device);

        let ranks = layout.optimizer;
        let on_host = plan.optimizer_on_host();
        let on_device = 1.0 - on_host;
        // An update on the host reads gradients there. Beside a state on the drives those that backward leaves are in memory, in
        // the format of the weights, and go to the drives in fp32.
        add(StatePart::Gradients, outside, KeptOf::Trained, HOST_GRADIENT, ranks, on_host);
        if outside == Home::Drives {
            add(StatePart::Gradients, Home::Host, KeptOf::Trained, self.storage(), ranks, on_host);
        }
        let mut optimizer = |part, home, of, each| {
            add(part, home, of, each, ranks, on_device);
            add(part, outside, of, each, ranks, on_host);
        };
        let [of_muon, of_rest] = [plan.state_of_matrices(), plan.state_beside_matrices()];
        let moments = if plan.paged_optimizer { Home::Pages } else { Home::Device };
        optimizer(StatePart::Master, Home::Device, KeptOf::Trained, of_rest.master);
        optimizer(StatePart::Moments, moments, KeptOf::BesideMatrices, of_rest.moments);
        optimizer(StatePart::Moments, moments, KeptOf::Matrices, of_muon.moments);
        match plan.ema {
            Ema::None => {}
            Ema::Device => optimizer(StatePart::Average, Home::Device, KeptOf::Trained, of_rest.average),
            Ema::Host => {
                for part in [StatePart::Average, StatePart::AveragedCopy] {
                    add(part, Home::Host, KeptOf::Trained, of_rest.average, ranks, 1.0);
                }
            }
        }
    }

    /// Memory of the host for the buffers through which a rank's state of so many parameters comes from the drives; none where
    /// none of it lies there. Buffers that are page-locked beside a state in the host's memory are not counted.
    pub(crate) fn swap_buffers(&self, updated: Count) -> Bytes {
        let plan = &self.scenario.plan;
        if !plan.offload.on_drives() || updated == Count::ZERO {
            return Bytes::ZERO;
        }
        let weights = if plan.offload.state() { self.storage() * WEIGHT_BUFFERS } else { Bytes::ZERO };
        Bytes::new(SWAP_BUFFERS * updated.get().min(SWAPPED_AT_ONCE)) + weights
    }
}
