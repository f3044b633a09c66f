//! Choices that a plan does not follow, each with the reason: what one place says, flags and forms repeat.

use std::borrow::Cow;

use super::{
    Accumulation, Ema, Extent, Format, MasterWeights, Moments, Offload, Optimizer, Plan, Recompute, Schedule, Tuning,
};
use crate::units::Share;

/// A field of a plan that may have no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleChoice {
    /// The schedule of a pipeline.
    Schedule,
    /// Its stages on each rank.
    StagesPerRank,
    /// The modules that are computed again.
    RecomputeModules,
    /// What is said of adapters.
    Adapters,
    /// The offload to the host.
    Offload,
    /// The format of the optimizer's moments.
    Moments,
    /// The format of master weights.
    MasterWeights,
    /// The share of the optimizer that is on the host.
    OffloadRatio,
    /// Copies beside its update there.
    OffloadOverlap,
    /// Copies from memory that is not page-locked.
    HostPinned,
    /// Pages of the optimizer's state.
    PagedOptimizer,
    /// No clipping.
    ClipNorm,
    /// Quantised gathers of weights.
    QuantisedWeights,
    /// A second copy of the weights.
    SecondCopy,
    /// Quantised reductions of gradients.
    QuantisedGradients,
}

/// A choice that changes nothing in its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Which.
    pub choice: IdleChoice,
    /// Why it changes nothing.
    pub why: String,
    /// The change that would give it an effect.
    pub fix: Cow<'static, str>,
}

impl Plan {
    /// The choices that this plan does not follow. Usual values are among them: where there is no pipeline,
    /// its schedule never counts, whether somebody chose it or not.
    pub fn idle(&self) -> Vec<Idle> {
        let first = [self.idle_schedule(), self.idle_stages(), self.idle_modules()];
        let first = first.into_iter().chain([
            self.idle_adapters(),
            self.idle_offload(),
            self.idle_moments(),
            self.idle_masters(),
            self.idle_ratio(),
            self.idle_overlap(),
            self.idle_pinning(),
            self.idle_pages(),
            self.idle_clipping(),
        ]);
        first.flatten().chain(self.idle_wire()).collect()
    }

    fn idle_schedule(&self) -> Option<Idle> {
        let runs = self.effective_schedule();
        let (why, fix) = match self.schedule {
            _ if self.pipeline == 1 => (NO_PIPELINE.to_owned(), PIPELINE),
            schedule if schedule == runs => return None,
            _ if self.accumulation == Accumulation::Layered => {
                (format!("layer by layer, a pipeline runs {runs}"), "choose accumulation standard")
            }
            schedule => {
                (format!("{schedule} with one stage on each rank is {runs}"), "choose 2 or more stages per rank")
            }
        };
        Some(Idle { choice: IdleChoice::Schedule, why, fix: fix.into() })
    }

    fn idle_stages(&self) -> Option<Idle> {
        let runs = self.effective_schedule();
        let (why, fix) = match self.pipeline {
            _ if self.stages_per_rank == 1 => return None,
            1 => (NO_PIPELINE.to_owned(), PIPELINE.into()),
            _ if runs.rules().virtual_stages => return None,
            _ => {
                let several = Schedule::ALL.iter().filter(|schedule| schedule.rules().virtual_stages);
                let several = several.map(|schedule| schedule.word()).collect::<Vec<_>>().join(" or ");
                (format!("{runs} has one stage on each rank"), format!("choose schedule {several}").into())
            }
        };
        Some(Idle { choice: IdleChoice::StagesPerRank, why, fix })
    }

    fn idle_modules(&self) -> Option<Idle> {
        let idle = !self.recompute_modules.is_of_stack() && self.recompute != Recompute::Selective;
        let why = format!("recompute {} takes no modules", self.recompute);
        idle.then_some(Idle { choice: IdleChoice::RecomputeModules, why, fix: "choose recompute selective".into() })
    }

    fn idle_adapters(&self) -> Option<Idle> {
        let usual = Tuning { ends: self.tuning.ends, ..Tuning::default() };
        let idle = !self.tuning.freezes() && self.tuning != usual;
        let why = "all parameters are trained, so that there are no adapters".to_owned();
        idle.then_some(Idle { choice: IdleChoice::Adapters, why, fix: "choose train lora or qlora".into() })
    }

    /// A checkpoint is the input of a layer that backward computes again.
    fn idle_offload(&self) -> Option<Idle> {
        if !self.offload.checkpoints() || self.offload.activations() || self.recompute.layers() > 0.0 {
            return None;
        }
        let left = if self.offload.state() { "; only the state is on the host" } else { "" };
        let why = format!("recompute {} keeps no checkpoints{left}", self.recompute);
        Some(Idle { choice: IdleChoice::Offload, why, fix: "choose recompute full, or a share of the layers".into() })
    }

    fn idle_moments(&self) -> Option<Idle> {
        let idle = self.optimizer == Optimizer::Adam8bit && self.moments != Moments::Fp32;
        let why = format!("{} has moments of 8 bits", self.optimizer);
        idle.then_some(Idle { choice: IdleChoice::Moments, why, fix: "choose optimizer adam".into() })
    }

    fn idle_masters(&self) -> Option<Idle> {
        let idle = self.precision.storage() == Format::Fp32 && self.master_weights != MasterWeights::Fp32;
        let why = format!("precision {} has no master weights beside its fp32 weights", self.precision);
        idle.then_some(Idle { choice: IdleChoice::MasterWeights, why, fix: "choose precision bf16".into() })
    }

    fn idle_ratio(&self) -> Option<Idle> {
        let idle = !self.offload.optimizer() && self.offload_ratio < Share::new(1.0);
        let why = format!("offload {} leaves the optimizer on the device", self.offload);
        idle.then_some(Idle { choice: IdleChoice::OffloadRatio, why, fix: "choose offload optimizer".into() })
    }

    fn idle_overlap(&self) -> Option<Idle> {
        let idle = self.offload_overlap && (!self.offload.optimizer() || self.offload.state());
        let why = format!("offload {} copies nothing around an update", self.offload);
        idle.then_some(Idle { choice: IdleChoice::OffloadOverlap, why, fix: "choose offload optimizer".into() })
    }

    fn idle_pinning(&self) -> Option<Idle> {
        let idle = !self.host_pinned && self.offload == Offload::None && self.ema != Ema::Host;
        let why = "nothing is copied to the host or from it".to_owned();
        idle.then_some(Idle { choice: IdleChoice::HostPinned, why, fix: "choose offload optimizer".into() })
    }

    fn idle_pages(&self) -> Option<Idle> {
        let idle = self.paged_optimizer && self.optimizer_on_host() >= 1.0;
        let why = "the optimizer's state is on the host all the time".to_owned();
        idle.then_some(Idle { choice: IdleChoice::PagedOptimizer, why, fix: "choose offload none".into() })
    }

    fn idle_clipping(&self) -> Option<Idle> {
        let idle = !self.clip_norm && self.optimizer_on_host() >= 1.0;
        let why = "the host updates, and the norm is taken where gradients are reduced".to_owned();
        idle.then_some(Idle { choice: IdleChoice::ClipNorm, why, fix: "choose offload none".into() })
    }

    /// `ZeRO++` settings of gathers and reductions, where there are none.
    fn idle_wire(&self) -> impl Iterator<Item = Idle> {
        let sharding = &self.sharding;
        let whole = |extent: &Extent| self.operators.is_empty() && matches!(extent, Extent::Device | Extent::Ranks(1));
        let (weights, gradients) = (whole(&sharding.weights), whole(&sharding.gradients));
        let idle = |is: bool, choice, what: &str| {
            let why = format!("{what} are not sharded");
            is.then_some(Idle { choice, why, fix: "choose a strategy that shards them".into() })
        };
        let found = [
            idle(weights && sharding.wire.weights.quantised(), IdleChoice::QuantisedWeights, "weights"),
            idle(weights && sharding.secondary.is_some(), IdleChoice::SecondCopy, "weights"),
            idle(gradients && sharding.two_hop_gradients, IdleChoice::QuantisedGradients, "gradients"),
        ];
        found.into_iter().flatten()
    }
}

const NO_PIPELINE: &str = "there is no pipeline";
const PIPELINE: &str = "choose 2 or more pipeline ranks";
