//! The limits of fully sharded data parallelism, each with its formula [fsdp A2 to A4].

use crate::bounds::fsdp::{Bound, Limits, Stage};
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond, Seconds};

use super::facts::{count, input, share};
use super::{Amount, Explanation, Figure, Formula, Input, Source};

/// Where the formulas are from.
const FSDP: &str =
    "Memory and Bandwidth are All You Need for Fully Sharded Data Parallel, arXiv 2504.03655, derived anew";

/// Which of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Parameters.
    Parameters,
    /// Memory that the state leaves.
    Free,
    /// Activations of a token.
    Activation,
    /// Tokens of a device that fit.
    Tokens,
    /// Time of one gather of the model.
    Transfer,
    /// Forward flop of a token.
    Flop,
    /// Transfers over arithmetic in forward.
    Forward,
    /// The same in backward.
    Backward,
    /// Tokens per second that the transfers allow.
    Rate(Form),
    /// Hardware flop utilisation that they allow, not capped by the peak.
    Uncapped(Form),
    /// The same, at most the peak.
    Hfu(Form),
    /// Model flop utilisation.
    Mfu(Form),
    /// Tokens per second, at most those of the peak.
    TokensPerSecond(Form),
}

/// The two forms of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Each pass hides its own transfers.
    Hidden,
    /// No step ends before its transfers.
    Floor,
}

impl Form {
    /// Its words.
    const fn words(self) -> &'static str {
        match self {
            Self::Hidden => "no exposed communication",
            Self::Floor => "network floor",
        }
    }

    fn bound(self, limits: &Limits) -> Bound {
        match self {
            Self::Hidden => limits.hidden(),
            Self::Floor => limits.network_floor(),
        }
    }
}

/// Every number, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = Which> {
    use Which::{
        Activation, Backward, Flop, Forward, Free, Hfu, Mfu, Parameters, Rate, Tokens, TokensPerSecond, Transfer,
        Uncapped,
    };
    let given = [Parameters, Free, Activation, Tokens, Transfer, Flop, Forward, Backward];
    let bounds = [Form::Floor, Form::Hidden]
        .into_iter()
        .flat_map(|form| [Rate(form), Uncapped(form), Hfu(form), Mfu(form), TokensPerSecond(form)]);
    given.into_iter().chain(bounds)
}

/// Why a limit is what it is; `None` where the state leaves no memory and the number means nothing.
pub fn explain(which: Which, limits: &Limits) -> Option<Explanation> {
    let (name, amount) = shown(which, limits)?;
    let (formula, about) = because(which, limits)?;
    let source = Source::paper(FSDP);
    Some(Explanation { figure: Figure::Limits(which), name, amount, formula, about: about.into(), source })
}

/// A number's name and what it is.
fn shown(which: Which, limits: &Limits) -> Option<(String, Amount)> {
    let tokens = limits.token_capacity();
    let [forward, backward] = limits.overlap(tokens, 1.0);
    let bound = |form: Form, what: &str| format!("{what}, {}", form.words());
    let (name, amount): (String, Amount) = match which {
        Which::Parameters => ("parameters".to_owned(), count(limits.parameters, "")),
        Which::Free => ("free memory".to_owned(), limits.free().into()),
        Which::Activation => ("activations of a token".to_owned(), limits.activation().into()),
        Which::Tokens => ("token capacity".to_owned(), count(tokens, "tokens")),
        Which::Transfer => ("transfer of the model".to_owned(), limits.transfer().into()),
        Which::Flop => ("forward flop of a token".to_owned(), limits.forward_flop().into()),
        Which::Forward => ("overlap in forward".to_owned(), count(forward, "")),
        Which::Backward => ("overlap in backward".to_owned(), count(backward, "")),
        Which::Rate(form) => {
            (bound(form, "tokens/s by the transfers alone"), count(form.bound(limits).tokens_per_s, "tokens/s"))
        }
        Which::Uncapped(form) => (bound(form, "HFU, uncapped"), share(form.bound(limits).hfu)),
        Which::Hfu(form) => (bound(form, "HFU"), share(limits.capped(form.bound(limits)).hfu)),
        Which::Mfu(form) => (bound(form, "MFU"), share(limits.capped(form.bound(limits)).mfu)),
        Which::TokensPerSecond(form) => {
            (bound(form, "tokens/s and device"), count(limits.capped(form.bound(limits)).tokens_per_s, "tokens/s"))
        }
    };
    amount.value.is_finite().then_some((name, amount))
}

/// A number as an input to another one's formula.
fn figure(which: Which, limits: &Limits) -> Option<Formula> {
    let (name, amount) = shown(which, limits)?;
    Some(Input { name, amount, source: Source::paper(FSDP), figure: Some(Figure::Limits(which)) }.into())
}

fn because(which: Which, limits: &Limits) -> Option<(Formula, &'static str)> {
    let figure = |which| figure(which, limits);
    let given = Given(limits);
    let passes = || Formula::from(4.0) - given.gamma();
    Some(match which {
        Which::Parameters => (given.parameters(), "Those of the layers' matrices; of a model with experts all."),
        Which::Free => (
            given.memory() - given.state(figure(Which::Parameters)?),
            "What weights, gradients and optimizer leave to activations; negative where the state alone does not fit.",
        ),
        Which::Activation => (
            given.activation(),
            "From the inputs of the layers alone, where all is computed again, to everything but the scores.",
        ),
        Which::Tokens => (
            Formula::Largest(vec![0.0.into(), figure(Which::Free)?]) / figure(Which::Activation)?,
            "Tokens whose activations fit on a device: as one sequence, the longest.",
        ),
        Which::Transfer => {
            (given.transfer(figure(Which::Parameters)?), "One gather, or one reduction, of all parameters.")
        }
        Which::Flop => (
            Formula::from(2.0) * given.active(figure(Which::Parameters)?)
                + Formula::from(4.0) * given.layers() * given.hidden() * given.sequence(),
            "Forward only; attention over the full square of scores.",
        ),
        Which::Forward => (
            given.forward_transfers() * figure(Which::Transfer)? * given.peak()
                / (figure(Which::Tokens)? * figure(Which::Flop)?),
            "Transfers of forward over its arithmetic at the peak, memory full: up to 1 they hide.",
        ),
        Which::Backward => (
            given.backward_transfers() * figure(Which::Transfer)? * given.peak()
                / (figure(Which::Tokens)? * (Formula::from(3.0) - given.gamma()) * figure(Which::Flop)?),
            "Transfers of backward over its arithmetic at the peak, recompute included: up to 1 they hide.",
        ),
        Which::Rate(Form::Hidden) => (
            figure(Which::Tokens)? / (figure(Which::Transfer)? * passes() * given.slower_pass()),
            "The most at which each pass still hides its own transfers, memory full.",
        ),
        Which::Rate(Form::Floor) => (
            figure(Which::Tokens)?
                / (figure(Which::Transfer)? * (given.forward_transfers() + given.backward_transfers())),
            "No step ends before its transfers, one after the other, memory full.",
        ),
        Which::Uncapped(form) => (
            figure(Which::Rate(form))? * passes() * figure(Which::Flop)? / given.peak(),
            "What the network allows of the peak; above it the network is not what limits.",
        ),
        Which::Hfu(form) => (
            figure(Which::Uncapped(form))? / Formula::Largest(vec![1.0.into(), figure(Which::Uncapped(form))?]),
            "The same, and no more than the peak.",
        ),
        Which::Mfu(form) => (
            figure(Which::Hfu(form))? * 3.0 / passes(),
            "Recompute does not count: of 4 - gamma forwards 3 are the model's.",
        ),
        Which::TokensPerSecond(form) => (
            figure(Which::Hfu(form))? * given.peak() / (passes() * figure(Which::Flop)?),
            "Per device, at most what the peak allows.",
        ),
    })
}

/// What the formulas are made from.
struct Given<'a>(&'a Limits);

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
        let memory = input("memory of the device", self.0.memory, Source::chosen("the cluster's device"));
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
    fn active(&self, all: Formula) -> Formula {
        if self.0.idle > 0.0 {
            return all
                - Self::chosen("those of experts that a token does not visit", self.0.idle, "the model's shape");
        }
        all
    }

    /// Weights, gradients and optimizer, each over the devices that share it.
    fn state(&self, parameters: Formula) -> Formula {
        let optimizer = || input("bytes of optimizer state", self.0.optimizer, Source::chosen("optimizer"));
        let each = match self.0.stage {
            Stage::One => self.element() + self.element() + optimizer() / self.devices(),
            Stage::Two => self.element() + (self.element() + optimizer()) / self.devices(),
            Stage::Three => (self.element() + self.element() + optimizer()) / self.devices(),
        };
        parameters * each
    }

    fn activation(&self) -> Formula {
        let inputs = || self.layers() * self.hidden() * self.element();
        let two = input("bytes of two masks", Bytes::new(2.0), Source::paper(FSDP));
        (Formula::from(1.0) - self.gamma()) * inputs()
            + self.gamma() * (Formula::from(16.0) * inputs() + self.layers() * self.hidden() * two)
    }

    fn transfer(&self, parameters: Formula) -> Formula {
        let link: BytesPerSecond = self.0.link;
        let link = input("bandwidth of a ring over all devices", link, Source::chosen("the cluster's slowest level"));
        let mut bytes = parameters * self.element();
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
        let value = if self.0.stage == Stage::Three { 1.0 } else { 0.0 };
        Self::chosen("transfers in forward", value, "stage: what is not sharded needs no gather")
    }

    fn backward_transfers(&self) -> Formula {
        if self.0.stage == Stage::Three {
            return Self::chosen("n_bwd", self.0.n_bwd, "models moved in backward, set in this view");
        }
        Self::chosen("transfers in backward", 2.0, "stage: gradients are reduced and updated weights gathered")
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

    /// The 13 B model of [fsdp A5] on 8 to 512 devices of 40 GB at 25 GB/s, 312 TFLOP/s.
    fn limits(stage: Stage, gamma: f64, n_bwd: f64) -> Limits {
        Limits {
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
        for stage in [Stage::One, Stage::Two, Stage::Three] {
            for (gamma, n_bwd) in [(0.0, 1.0), (0.3, 2.0), (1.0, 2.0)] {
                let plain = limits(stage, gamma, n_bwd);
                let odd =
                    Limits { ring: true, latency: Seconds::new(1e-6), reserve: Bytes::new(1e9), idle: 1e9, ..plain };
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
        let limits = Limits { memory: Bytes::new(1e9), ..limits(Stage::One, 0.0, 1.0) };
        assert!(explain(Which::Forward, &limits).is_none(), "a share of no tokens");
        let free = explain(Which::Free, &limits).unwrap();
        assert!(free.amount.value < 0.0 && free.holds());
        assert!(explain(Which::Tokens, &limits).unwrap().holds());
    }

    /// `tokens/s <= E S / ((1 + n_bwd) phi Q)` [fsdp A4 (b)].
    #[test]
    fn the_floor_names_what_it_counts() {
        let limits = limits(Stage::Three, 0.0, 2.0);
        let floor = explain(Which::Rate(Form::Floor), &limits).unwrap();
        assert_eq!(
            floor.formula.to_string(),
            "token capacity / (transfer of the model x (transfers in forward + n_bwd))"
        );
    }
}
