//! Inputs of the limits' formulas: the model, the machine and the settings, each with its source.

use crate::figures::figure::{BoundForm, Figure, Limit};
use shardscope_engine::bounds::fsdp::{FsdpLimits, ZeroStage};
use shardscope_engine::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds};

use crate::figures::why::facts::{count, input};
use crate::figures::why::formula::{Citation, Formula, FormulaInput};

/// Where the formulas are from.
pub(super) const FSDP: &str =
    "Memory and Bandwidth are All You Need for Fully Sharded Data Parallel, arXiv 2504.03655, derived anew";

/// Inputs of the limits' formulas.
pub(super) struct LimitFacts<'a> {
    pub(super) limits: &'a FsdpLimits,
    pub(super) form: BoundForm,
}

impl LimitFacts<'_> {
    /// A number as an input to another one's formula.
    pub(super) fn figure(&self, which: Limit) -> Formula {
        // A limit that is no bound is the same figure in both forms.
        let form = if which.is_bound() { self.form } else { BoundForm::Floor };
        let (name, figure) = (which.entry().name.to_owned(), Some(Figure::Limits(which, form)));
        FormulaInput { name, amount: which.amount(form, self.limits), source: Citation::paper(FSDP), figure }.into()
    }

    fn chosen(name: &str, value: f64, about: &str) -> Formula {
        input(name, count(value, ""), Citation::chosen(about))
    }

    pub(super) fn layers(&self) -> Formula {
        Self::chosen("layers", self.limits.layers, "the model's shape")
    }

    pub(super) fn hidden(&self) -> Formula {
        Self::chosen("width", self.limits.hidden, "the model's shape")
    }

    pub(super) fn sequence(&self) -> Formula {
        Self::chosen("sequence", self.limits.sequence, "seq")
    }

    pub(super) fn gamma(&self) -> Formula {
        Self::chosen("gamma", self.limits.gamma, "share of the activations that is kept, set in this view")
    }

    pub(super) fn devices(&self) -> Formula {
        Self::chosen("devices", f64::from(self.limits.devices), "nodes x devices of a node, or as given")
    }

    pub(super) fn element(&self) -> Formula {
        input("bytes of a value", self.limits.element, Citation::chosen("precision"))
    }

    pub(super) fn peak(&self) -> Formula {
        let peak: FlopPerSecond = self.limits.peak;
        input("peak", peak, Citation::chosen("the cluster's device"))
    }

    pub(super) fn memory(&self) -> Formula {
        let memory = input("memory", self.limits.memory, Citation::chosen("the cluster's device"));
        let reserve: Bytes = self.limits.reserve;
        if reserve > Bytes::ZERO {
            return memory - input("reserve", reserve, Citation::convention("taken before any state"));
        }
        memory
    }

    fn family(&self) -> bool {
        self.limits.arithmetic.family
    }

    pub(super) fn parameters(&self) -> Formula {
        let (parameters, counted) = (self.limits.parameters, self.limits.arithmetic.counted);
        if self.family() && parameters <= counted {
            return Formula::from(12.0) * self.layers() * self.hidden() * self.hidden();
        }
        Self::chosen("all of the model", parameters, "the model's shape")
    }

    /// Parameters that a token meets, of the paper's family.
    fn active(&self) -> Formula {
        let (all, idle) = (self.figure(Limit::Parameters), self.limits.parameters - self.limits.arithmetic.counted);
        if idle > 0.0 {
            return all - Self::chosen("those of idle experts", idle, "the model's shape, the experts of a token");
        }
        all
    }

    /// Flop of a token's attention in forward.
    fn attention(&self) -> Formula {
        let width = if self.family() {
            self.hidden()
        } else {
            Self::chosen("width of all heads", self.limits.arithmetic.width, "the model's shape")
        };
        Formula::from(4.0) * self.layers() * width * self.sequence()
    }

    /// The attention that kernels compute.
    fn computed_attention(&self) -> Formula {
        self.share_of_attention(self.limits.arithmetic.square)
    }

    fn share_of_attention(&self, share: f64) -> Formula {
        if share < 1.0 { self.attention() * share } else { self.attention() }
    }

    fn weights(&self) -> Formula {
        Self::chosen("weights", self.limits.arithmetic.computed, "the model's matrix products, logits included")
    }

    pub(super) fn forward_flop(&self) -> Formula {
        let weights = if self.family() { self.active() } else { self.weights() };
        Formula::from(2.0) * weights + self.computed_attention()
    }

    /// Flop of the matrix products that are computed again.
    fn repeated(&self) -> Formula {
        let logits = Self::chosen("logits", self.limits.arithmetic.once, "the model's vocabulary and width");
        Formula::from(2.0) * (self.weights() - logits)
    }

    fn again(&self) -> Formula {
        Formula::from(1.0) - self.gamma()
    }

    /// Flop that kernels compute for a token.
    pub(super) fn flop(&self) -> Formula {
        let forward = self.figure(Limit::ForwardFlop);
        if self.family() {
            return self.forwards() * forward;
        }
        Formula::from(3.0) * forward + self.again() * (self.repeated() + self.computed_attention())
    }

    /// Forward as it is counted, of the scenario's own model.
    fn counted_forward(&self) -> Formula {
        let counted = Self::chosen("parameters of a token", self.limits.arithmetic.counted, "flop-count");
        Formula::from(2.0) * counted + self.counted_attention()
    }

    /// The attention that the convention counts.
    fn counted_attention(&self) -> Formula {
        self.share_of_attention(self.limits.arithmetic.attended)
    }

    /// Flop that HFU counts for a token.
    pub(super) fn counted(&self) -> Formula {
        if self.family() {
            return self.figure(Limit::Flop);
        }
        Formula::from(3.0) * self.counted_forward() + self.again() * (self.repeated() + self.counted_attention())
    }

    /// The flop that a utilisation of the hardware counts.
    pub(super) fn hardware_flop(&self) -> Formula {
        self.figure(if self.family() { Limit::Flop } else { Limit::Counted })
    }

    pub(super) fn uncapped(&self) -> Formula {
        if self.family() {
            return self.forwards() * self.figure(Limit::Arithmetic) / self.figure(Limit::Shortest);
        }
        self.figure(Limit::Counted) * self.figure(Limit::Tokens) / (self.figure(Limit::Shortest) * self.peak())
    }

    /// The share of the peak that kernels would need.
    pub(super) fn needed(&self) -> Formula {
        let uncapped = self.figure(Limit::Uncapped);
        if self.family() {
            return uncapped;
        }
        uncapped * self.figure(Limit::Flop) / self.figure(Limit::Counted)
    }

    pub(super) fn mfu(&self) -> Formula {
        let hfu = self.figure(Limit::Hfu);
        if self.family() {
            return hfu * 3.0 / self.forwards();
        }
        hfu * 3.0 * self.counted_forward() / self.figure(Limit::Counted)
    }

    /// Weights, gradients and optimizer, each over the devices that share it.
    pub(super) fn state(&self) -> Formula {
        let [weights, gradients] =
            ["weights", "gradients"].map(|part| input(part, self.limits.element, Citation::chosen("precision")));
        let optimizer = input("optimizer", self.limits.optimizer, Citation::chosen("optimizer"));
        match self.limits.stage {
            ZeroStage::One => weights + gradients + optimizer / self.devices(),
            ZeroStage::Two => weights + (gradients + optimizer) / self.devices(),
            ZeroStage::Three => (weights + gradients + optimizer) / self.devices(),
        }
    }

    pub(super) fn activation(&self) -> Formula {
        let inputs = || self.layers() * self.hidden() * self.element();
        let two = input("bytes of two masks", Bytes::new(2.0), Citation::paper(FSDP));
        (Formula::from(1.0) - self.gamma()) * inputs()
            + self.gamma() * (Formula::from(16.0) * inputs() + self.layers() * self.hidden() * two)
    }

    pub(super) fn transfer(&self) -> Formula {
        let link: BytesPerSecond = self.limits.link;
        let link = input("link", link, Citation::chosen("of a ring over all devices, the slowest level; or as given"));
        let mut bytes = self.figure(Limit::Parameters) * self.element();
        if self.limits.ring {
            bytes = bytes * (self.devices() - 1.0) / self.devices();
        }
        let time = bytes / link;
        if self.limits.latency > Seconds::ZERO {
            let latency = input("latency", self.limits.latency, Citation::chosen("per layer and device"));
            return time + self.layers() * self.devices() * latency;
        }
        time
    }

    pub(super) fn forward_transfers(&self) -> Formula {
        Self::chosen("n_fwd", self.limits.transfers().forward, "stage: only sharded weights are gathered in forward")
    }

    pub(super) fn backward_transfers(&self) -> Formula {
        let about = match self.limits.stage {
            ZeroStage::Three => "models moved in backward, as given or set in this view",
            _ => "stage: gradients are reduced and updated weights gathered",
        };
        Self::chosen("n_bwd", self.limits.transfers().backward, about)
    }

    /// Arithmetic of a step, in forwards.
    pub(super) fn forwards(&self) -> Formula {
        if self.family() {
            return Formula::from(4.0) - self.gamma();
        }
        self.figure(Limit::Flop) / self.figure(Limit::ForwardFlop)
    }

    /// The part of it that backward has.
    pub(super) fn backward_forwards(&self) -> Formula {
        if self.family() {
            return Formula::from(3.0) - self.gamma();
        }
        self.figure(Limit::Flop) / self.figure(Limit::ForwardFlop) - 1.0
    }

    /// The need of the pass that needs more, in forwards.
    pub(super) fn slower_pass(&self) -> Formula {
        let backward = self.backward_transfers() / self.backward_forwards();
        Formula::Largest(vec![self.forward_transfers(), backward])
    }
}
