//! The limits of fully sharded data parallelism, each with its formula [fsdp A2 to A4].

use crate::bounds::fsdp::{FsdpLimits, Utilisation, ZeroStage};
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds};

use crate::figures::amount::Amount;
use crate::figures::figure::{Figure, Form, Limit};

use super::facts::{count, input, share};
use super::formula::{Explanation, Formula, Input, Source};

/// Where the formulas are from.
const FSDP: &str =
    "Memory and Bandwidth are All You Need for Fully Sharded Data Parallel, arXiv 2504.03655, derived anew";

impl Form {
    /// Its words.
    const fn words(self) -> &'static str {
        match self {
            Self::Hidden => "no exposed communication",
            Self::Floor => "network floor",
        }
    }

    /// The shortest step.
    pub fn step(self, limits: &FsdpLimits) -> Seconds {
        match self {
            Self::Hidden => limits.hidden_step(),
            Self::Floor => limits.floor_step(),
        }
    }

    /// How well the device is used in it.
    pub fn bound(self, limits: &FsdpLimits) -> Utilisation {
        match self {
            Self::Hidden => limits.hidden(),
            Self::Floor => limits.network_floor(),
        }
    }
}

/// Every number, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = Limit> {
    use Limit::{
        Activation, Arithmetic, Backward, Flop, Forward, ForwardFlop, Free, Hfu, Mfu, Parameters, Sequence, Shortest,
        State, Tokens, TokensPerSecond, Transfer, Uncapped,
    };
    let given = [
        Parameters,
        State,
        Free,
        Activation,
        Tokens,
        Sequence,
        Transfer,
        ForwardFlop,
        Flop,
        Arithmetic,
        Forward,
        Backward,
    ];
    let bounds = [Form::Floor, Form::Hidden]
        .into_iter()
        .flat_map(|form| [Shortest(form), Uncapped(form), Hfu(form), Mfu(form), TokensPerSecond(form)]);
    given.into_iter().chain(bounds)
}

/// Why a limit is what it is; `None` where the state leaves no memory and the number means nothing.
pub fn explain(which: Limit, limits: &FsdpLimits) -> Option<Explanation> {
    let amount = amount(which, limits)?;
    let form = match which {
        Limit::Shortest(form)
        | Limit::Uncapped(form)
        | Limit::Hfu(form)
        | Limit::Mfu(form)
        | Limit::TokensPerSecond(form) => format!(", {}", form.words()),
        _ => String::new(),
    };
    let name = format!("{}{form}", name(which));
    let (formula, about) = because(which, limits);
    formula.value().is_finite().then(|| Explanation {
        figure: Figure::Limits(which),
        name,
        amount,
        formula,
        about: about.into(),
        source: Source::paper(FSDP),
    })
}

/// How a limit is counted, in words: `memory - parameters x state of a parameter`.
pub fn words(which: Limit, limits: &FsdpLimits) -> String {
    because(which, limits).0.to_string()
}

/// A number's name, the form of a bound apart.
const fn name(which: Limit) -> &'static str {
    match which {
        Limit::Parameters => "parameters",
        Limit::State => "state of a parameter",
        Limit::Free => "free memory",
        Limit::Activation => "activations of a token",
        Limit::Tokens => "token capacity",
        Limit::Sequence => "longest sequence",
        Limit::Transfer => "transfer",
        Limit::ForwardFlop => "forward flop of a token",
        Limit::Flop => "flop of a token",
        Limit::Arithmetic => "forward",
        Limit::Forward => "overlap in forward",
        Limit::Backward => "overlap in backward",
        Limit::Shortest(_) => "shortest step",
        Limit::Uncapped(_) => "uncapped HFU",
        Limit::Hfu(_) => "HFU",
        Limit::Mfu(_) => "MFU",
        Limit::TokensPerSecond(_) => "tokens/s and device",
    }
}

/// What a number is; `None` where it is not finite.
fn amount(which: Limit, limits: &FsdpLimits) -> Option<Amount> {
    let tokens = limits.token_capacity();
    let [forward, backward] = limits.overlap(tokens, 1.0);
    let amount: Amount = match which {
        Limit::Parameters => count(limits.parameters, ""),
        Limit::State => limits.state().into(),
        Limit::Free => limits.free().into(),
        Limit::Activation => limits.activation().into(),
        Limit::Tokens | Limit::Sequence => count(tokens, "tokens"),
        Limit::Transfer => limits.transfer().into(),
        Limit::ForwardFlop => limits.forward_flop().into(),
        Limit::Flop => (limits.forward_flop() + limits.backward_flop()).into(),
        Limit::Arithmetic => limits.arithmetic().into(),
        Limit::Forward => count(forward, ""),
        Limit::Backward => count(backward, ""),
        Limit::Shortest(form) => form.step(limits).into(),
        Limit::Uncapped(form) => share(form.bound(limits).hfu),
        Limit::Hfu(form) => share(limits.capped(form.bound(limits)).hfu),
        Limit::Mfu(form) => share(limits.capped(form.bound(limits)).mfu),
        Limit::TokensPerSecond(form) => count(limits.capped(form.bound(limits)).tokens_per_s, "tokens/s"),
    };
    amount.value.is_finite().then_some(amount)
}

/// A number as an input to another one's formula.
fn figure(which: Limit, limits: &FsdpLimits) -> Formula {
    let amount = amount(which, limits).unwrap_or_else(|| share(f64::INFINITY));
    let (name, figure) = (name(which).to_owned(), Some(Figure::Limits(which)));
    Input { name, amount, source: Source::paper(FSDP), figure }.into()
}

fn because(which: Limit, limits: &FsdpLimits) -> (Formula, &'static str) {
    let figure = |which| figure(which, limits);
    let given = Given(limits);
    let forwards = || Formula::from(4.0) - given.gamma();
    match which {
        Limit::Parameters => (given.parameters(), "Those of the layers' matrices; of a model with experts all."),
        Limit::State => (given.state(), "What a device holds of it: each part over the devices that share it."),
        Limit::Free => (
            given.memory() - figure(Limit::Parameters) * figure(Limit::State),
            "What weights, gradients and optimizer leave to activations; negative where the state alone does not fit.",
        ),
        Limit::Activation => (
            given.activation(),
            "From the inputs of the layers alone, where all is computed again, to everything but the scores.",
        ),
        Limit::Tokens => (
            Formula::Largest(vec![0.0.into(), figure(Limit::Free)]) / figure(Limit::Activation),
            "Tokens whose activations fit on a device.",
        ),
        Limit::Sequence => (figure(Limit::Tokens), "All tokens of a device as one sequence."),
        Limit::Transfer => (given.transfer(), "One gather, or one reduction, of all parameters."),
        Limit::ForwardFlop => (
            Formula::from(2.0) * given.active()
                + Formula::from(4.0) * given.layers() * given.hidden() * given.sequence(),
            "Forward only; attention over the full square of scores.",
        ),
        Limit::Flop => (
            forwards() * figure(Limit::ForwardFlop),
            "Forward, backward as two of it, and again what is not kept: 1 - gamma.",
        ),
        Limit::Arithmetic => (
            figure(Limit::Tokens) * figure(Limit::ForwardFlop) / given.peak(),
            "Arithmetic of forward, memory full, kernels at the peak.",
        ),
        Limit::Forward => (
            given.forward_transfers() * figure(Limit::Transfer) / figure(Limit::Arithmetic),
            "Transfers of forward over its arithmetic at the peak, memory full: up to 1 they hide.",
        ),
        Limit::Backward => (
            given.backward_transfers() * figure(Limit::Transfer)
                / ((Formula::from(3.0) - given.gamma()) * figure(Limit::Arithmetic)),
            "Transfers of backward over its arithmetic at the peak, recompute included: up to 1 they hide.",
        ),
        Limit::Shortest(Form::Hidden) => (
            forwards() * given.slower_pass() * figure(Limit::Transfer),
            "The shortest step in which each pass still hides its own transfers.",
        ),
        Limit::Shortest(Form::Floor) => (
            (given.forward_transfers() + given.backward_transfers()) * figure(Limit::Transfer),
            "No step ends before its transfers, one after the other.",
        ),
        Limit::Uncapped(form) => (
            forwards() * figure(Limit::Arithmetic) / figure(Limit::Shortest(form)),
            "What the network allows of the peak, memory full; above it the network is not what limits.",
        ),
        Limit::Hfu(form) => (
            figure(Limit::Uncapped(form)) / Formula::Largest(vec![1.0.into(), figure(Limit::Uncapped(form))]),
            "The same, and no more than the peak.",
        ),
        Limit::Mfu(form) => (
            figure(Limit::Hfu(form)) * 3.0 / forwards(),
            "Recompute does not count: of 4 - gamma forwards 3 are the model's.",
        ),
        Limit::TokensPerSecond(form) => {
            (figure(Limit::Hfu(form)) * given.peak() / figure(Limit::Flop), "Per device, at most what the peak allows.")
        }
    }
}

/// What the formulas are made from.
struct Given<'a>(&'a FsdpLimits);

impl Given<'_> {
    fn chosen(name: &str, value: f64, about: &str) -> Formula {
        input(name, count(value, ""), Source::chosen(about))
    }

    fn layers(&self) -> Formula {
        Self::chosen("layers", self.0.layers, "the model's shape")
    }

    fn hidden(&self) -> Formula {
        Self::chosen("width", self.0.hidden, "the model's shape")
    }

    fn sequence(&self) -> Formula {
        Self::chosen("sequence", self.0.sequence, "seq")
    }

    fn gamma(&self) -> Formula {
        Self::chosen("gamma", self.0.gamma, "share of the activations that is kept, set in this view")
    }

    fn devices(&self) -> Formula {
        Self::chosen("devices", f64::from(self.0.devices), "nodes x devices of a node, or as given")
    }

    fn element(&self) -> Formula {
        input("bytes of a value", self.0.element, Source::chosen("precision"))
    }

    fn peak(&self) -> Formula {
        let peak: FlopPerSecond = self.0.peak;
        input("peak", peak, Source::chosen("the cluster's device"))
    }

    fn memory(&self) -> Formula {
        let memory = input("memory", self.0.memory, Source::chosen("the cluster's device"));
        let reserve: Bytes = self.0.reserve;
        if reserve > Bytes::ZERO {
            return memory - input("reserve", reserve, Source::convention("taken before any state"));
        }
        memory
    }

    fn parameters(&self) -> Formula {
        if self.0.idle > 0.0 {
            return input("parameters, all experts", count(self.0.parameters, ""), Source::chosen("the model's shape"));
        }
        Formula::from(12.0) * self.layers() * self.hidden() * self.hidden()
    }

    /// Parameters that a token meets.
    fn active(&self) -> Formula {
        let all = figure(Limit::Parameters, self.0);
        if self.0.idle > 0.0 {
            return all
                - Self::chosen("those of idle experts", self.0.idle, "the model's shape, the experts of a token");
        }
        all
    }

    /// Weights, gradients and optimizer, each over the devices that share it.
    fn state(&self) -> Formula {
        let [weights, gradients] =
            ["weights", "gradients"].map(|part| input(part, self.0.element, Source::chosen("precision")));
        let optimizer = input("optimizer", self.0.optimizer, Source::chosen("optimizer"));
        match self.0.stage {
            ZeroStage::One => weights + gradients + optimizer / self.devices(),
            ZeroStage::Two => weights + (gradients + optimizer) / self.devices(),
            ZeroStage::Three => (weights + gradients + optimizer) / self.devices(),
        }
    }

    fn activation(&self) -> Formula {
        let inputs = || self.layers() * self.hidden() * self.element();
        let two = input("bytes of two masks", Bytes::new(2.0), Source::paper(FSDP));
        (Formula::from(1.0) - self.gamma()) * inputs()
            + self.gamma() * (Formula::from(16.0) * inputs() + self.layers() * self.hidden() * two)
    }

    fn transfer(&self) -> Formula {
        let link: BytesPerSecond = self.0.link;
        let link = input("link", link, Source::chosen("of a ring over all devices, the slowest level; or as given"));
        let mut bytes = figure(Limit::Parameters, self.0) * self.element();
        if self.0.ring {
            bytes = bytes * (self.devices() - 1.0) / self.devices();
        }
        let time = bytes / link;
        if self.0.latency > Seconds::ZERO {
            let latency = input("latency", self.0.latency, Source::chosen("per layer and device"));
            return time + self.layers() * self.devices() * latency;
        }
        time
    }

    fn forward_transfers(&self) -> Formula {
        Self::chosen("n_fwd", self.0.transfers().forward, "stage: only sharded weights are gathered in forward")
    }

    fn backward_transfers(&self) -> Formula {
        let about = match self.0.stage {
            ZeroStage::Three => "models moved in backward, as given or set in this view",
            _ => "stage: gradients are reduced and updated weights gathered",
        };
        Self::chosen("n_bwd", self.0.transfers().backward, about)
    }

    /// What the pass needs, in forwards, that asks for more.
    fn slower_pass(&self) -> Formula {
        let backward = self.backward_transfers() / (Formula::from(3.0) - self.gamma());
        Formula::Largest(vec![self.forward_transfers(), backward])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 13 B model of [fsdp A6] on 512 devices of 80 GB at 25 GB/s, 312 TFLOP/s.
    fn limits(stage: ZeroStage, gamma: f64, n_bwd: f64) -> FsdpLimits {
        FsdpLimits {
            parameters: 12.0 * 40.0 * 5120.0 * 5120.0,
            idle: 0.0,
            layers: 40.0,
            hidden: 5120.0,
            element: Bytes::new(2.0),
            optimizer: Bytes::new(12.0),
            devices: 512,
            stage,
            memory: Bytes::new(80e9),
            reserve: Bytes::ZERO,
            link: BytesPerSecond::new(25e9),
            latency: Seconds::ZERO,
            ring: false,
            peak: FlopPerSecond::new(312e12),
            sequence: 2048.0,
            gamma,
            n_bwd,
        }
    }

    #[test]
    fn every_limit_has_a_formula_that_gives_it() {
        for stage in [ZeroStage::One, ZeroStage::Two, ZeroStage::Three] {
            for (gamma, n_bwd) in [(0.0, 1.0), (0.3, 2.0), (1.0, 2.0)] {
                let plain = limits(stage, gamma, n_bwd);
                let odd = FsdpLimits {
                    ring: true,
                    latency: Seconds::new(1e-6),
                    reserve: Bytes::new(1e9),
                    idle: 1e9,
                    ..plain
                };
                for (limits, which) in [plain, odd].iter().flat_map(|limits| all().map(move |which| (limits, which))) {
                    let found = explain(which, limits).unwrap_or_else(|| panic!("{which:?} of {limits:?}"));
                    let Explanation { formula, amount, .. } = &found;
                    assert!(found.holds(), "{which:?}: {formula} = {} is not {amount}", formula.in_numbers());
                }
            }
        }
    }

    #[test]
    fn where_the_state_does_not_fit_only_what_means_something_is_explained() {
        let limits = FsdpLimits { memory: Bytes::new(1e9), ..limits(ZeroStage::One, 0.0, 1.0) };
        assert!(explain(Limit::Forward, &limits).is_none(), "a share of no tokens");
        let free = explain(Limit::Free, &limits).unwrap();
        assert!(free.amount.value < 0.0 && free.holds());
        assert!(explain(Limit::Tokens, &limits).unwrap().holds());
    }

    /// `tokens/s <= E S / ((1 + n_bwd) phi Q)` [fsdp A4 (b)].
    #[test]
    fn the_floor_names_what_it_counts() {
        let limits = limits(ZeroStage::Three, 0.0, 2.0);
        assert_eq!(words(Limit::Shortest(Form::Floor), &limits), "(n_fwd + n_bwd) x transfer");
        assert_eq!(words(Limit::Uncapped(Form::Floor), &limits), "(4 - gamma) x forward / shortest step");
    }
}
