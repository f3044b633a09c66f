//! The limits of fully sharded data parallelism, each with its formula [fsdp A2 to A4].

mod given;

use shardscope_engine::bounds::fsdp::{FsdpLimits, Utilisation};
use shardscope_engine::units::{Amount, Bytes, Dimension, Seconds, engineering, significant, thousands};

use crate::figures::figure::{BoundForm, Figure, Limit};

use super::facts::{count, share};
use super::formula::{Citation, Explanation, Formula};
use given::{FSDP, LimitFacts};

impl BoundForm {
    const fn words(self) -> &'static str {
        match self {
            Self::Hidden => "no exposed communication",
            Self::Floor => "network floor",
        }
    }

    fn step(self, limits: &FsdpLimits) -> Seconds {
        match self {
            Self::Hidden => limits.hidden_step(),
            Self::Floor => limits.floor_step(),
        }
    }

    /// How well the device is used in the shortest step.
    fn bound(self, limits: &FsdpLimits) -> Utilisation {
        match self {
            Self::Hidden => limits.hidden(),
            Self::Floor => limits.network_floor(),
        }
    }
}

/// A number of the limits: a row of their table.
struct LimitEntry {
    limit: Limit,
    /// Its name in formulas, the form of a bound apart.
    name: &'static str,
    /// The name in a narrow column.
    label: &'static str,
    /// Its meaning, in a sentence.
    about: &'static str,
    /// Its value, which is not finite where the state leaves no memory and the number means nothing.
    amount: fn(&FsdpLimits, BoundForm) -> Amount,
    /// How it follows from its inputs.
    formula: fn(&LimitFacts) -> Formula,
}

/// A row of the table, to be filled in.
const fn number(limit: Limit, name: &'static str, amount: fn(&FsdpLimits, BoundForm) -> Amount) -> LimitEntry {
    LimitEntry { limit, name, label: name, about: "", amount, formula: |_| Formula::Number(f64::NAN) }
}

impl LimitEntry {
    const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    const fn formula(self, formula: fn(&LimitFacts) -> Formula) -> Self {
        Self { formula, ..self }
    }
}

/// Every number, in the order in which they are shown; the bounds, from the shortest step on, have two
/// forms. Its rows stand in the order of [`Limit`].
#[expect(clippy::redundant_closure_for_method_calls, reason = "a method of one lifetime is no function for all")]
static TABLE: [LimitEntry; 19] = [
    number(Limit::Parameters, "parameters", |limits, _| count(limits.parameters, ""))
        .about("All parameters, those of all experts included; of bare numbers, of the layers' matrices.")
        .formula(|given| given.parameters()),
    number(Limit::State, "state of a parameter", |limits, _| limits.state().into())
        .label("state")
        .about("Weights, gradients and optimizer state on a device: each divided by the devices that share it.")
        .formula(|given| given.state()),
    number(Limit::Free, "free memory", |limits, _| limits.free().into())
        .about(
            "What weights, gradients and optimizer state leave for activations; negative if the state alone does not \
             fit.",
        )
        .formula(|given| given.memory() - given.figure(Limit::Parameters) * given.figure(Limit::State)),
    number(Limit::Activation, "activations of a token", |limits, _| limits.activation().into())
        .label("activations")
        .about("From only the inputs of the layers, with full recomputation, to everything but the attention scores.")
        .formula(|given| given.activation()),
    number(Limit::Tokens, "token capacity", |limits, _| count(limits.token_capacity(), "tokens"))
        .about("Tokens whose activations fit on a device.")
        .formula(|given| {
            Formula::Largest(vec![0.0.into(), given.figure(Limit::Free)]) / given.figure(Limit::Activation)
        }),
    number(Limit::Sequence, "longest sequence", |limits, _| count(limits.token_capacity(), "tokens"))
        .about("All tokens of a device as one sequence.")
        .formula(|given| given.figure(Limit::Tokens)),
    number(Limit::Transfer, "transfer", |limits, _| limits.transfer().into())
        .about("One gather, or one reduction, of all parameters.")
        .formula(|given| given.transfer()),
    number(Limit::ForwardFlop, "forward flop of a token", |limits, _| limits.forward_flop().into())
        .label("forward flop")
        .about("What kernels compute in forward; a causal flash kernel computes half of the scores.")
        .formula(|given| given.forward_flop()),
    number(Limit::Flop, "flop of a token", |limits, _| (limits.forward_flop() + limits.backward_flop()).into())
        .label("flop")
        .about("Forward, backward at twice its cost, and recomputation of what is not kept: 1 - gamma.")
        .formula(|given| given.flop()),
    number(Limit::Counted, "counted flop of a token", |limits, _| limits.counted_flop().into())
        .label("counted flop")
        .about("The same as HFU counts it: all scores of attention, and 6 flop per trained parameter.")
        .formula(|given| given.counted()),
    number(Limit::Arithmetic, "forward", |limits, _| limits.arithmetic().into())
        .about("Arithmetic of forward with memory full and kernels at the peak.")
        .formula(|given| given.figure(Limit::Tokens) * given.figure(Limit::ForwardFlop) / given.peak()),
    number(Limit::Forward, "overlap in forward", |limits, _| {
        count(limits.overlap(limits.token_capacity(), 1.0)[0], "")
    })
    .label("forward overlap")
    .about("Transfers of forward over its arithmetic at the peak, with memory full: up to 1 they are hidden.")
    .formula(|given| given.forward_transfers() * given.figure(Limit::Transfer) / given.figure(Limit::Arithmetic)),
    number(Limit::Backward, "overlap in backward", |limits, _| {
        count(limits.overlap(limits.token_capacity(), 1.0)[1], "")
    })
    .label("backward overlap")
    .about("Transfers of backward over its arithmetic at the peak, recompute included: up to 1 they are hidden.")
    .formula(|given| {
        given.backward_transfers() * given.figure(Limit::Transfer)
            / (given.backward_forwards() * given.figure(Limit::Arithmetic))
    }),
    number(Limit::Shortest, "shortest step", |limits, form| form.step(limits).into())
        .about(
            "Its transfers one after the other, the least that a step can take; or, with no exposed communication, \
             the shortest step in which each pass hides its own.",
        )
        .formula(|given| match given.form {
            BoundForm::Hidden => given.forwards() * given.slower_pass() * given.figure(Limit::Transfer),
            BoundForm::Floor => {
                (given.forward_transfers() + given.backward_transfers()) * given.figure(Limit::Transfer)
            }
        }),
    number(Limit::Uncapped, "uncapped HFU", |limits, form| share(form.bound(limits).hfu))
        .about(
            "The share of the peak that the network allows with memory full; above 100 % the network is not the limit.",
        )
        .formula(|given| given.uncapped()),
    number(Limit::UncappedTokens, "uncapped tokens/s", |limits, form| {
        count(form.bound(limits).tokens_per_s, "tokens/s")
    })
    .label("uncapped")
    .about("What the network allows per device.")
    .formula(|given| given.figure(Limit::Tokens) / given.figure(Limit::Shortest)),
    number(Limit::Hfu, "HFU", |limits, form| share(limits.capped(form.bound(limits)).hfu))
        .about("Uncapped HFU, capped where kernels reach the peak: above 100 % if they skip scores that are counted.")
        .formula(|given| given.figure(Limit::Uncapped) / Formula::Largest(vec![1.0.into(), given.needed()])),
    number(Limit::Mfu, "MFU", |limits, form| share(limits.capped(form.bound(limits)).mfu))
        .about("HFU without recomputation: of bare numbers, 3 of the 4 - gamma forward equivalents.")
        .formula(|given| given.mfu()),
    number(Limit::TokensPerSecond, "tokens/s and device", |limits, form| {
        count(limits.capped(form.bound(limits)).tokens_per_s, "tokens/s")
    })
    .label("tokens/s, device")
    .about("The same, capped at the peak.")
    .formula(|given| given.figure(Limit::Hfu) * given.peak() / given.hardware_flop()),
];

/// Every number of both forms, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = (Limit, BoundForm)> {
    let of_form = |form| TABLE.iter().map(move |entry| (entry.limit, form));
    of_form(BoundForm::Floor).chain(of_form(BoundForm::Hidden).filter(|(limit, _)| limit.is_bound()))
}

/// The limits in words.
pub fn verdict(limits: &FsdpLimits) -> &'static str {
    if limits.free() <= Bytes::ZERO {
        return "the state alone does not fit: no tokens, no throughput";
    }
    match [limits.hidden(), limits.network_floor()].map(|bound| limits.needed(bound) >= 1.0).into() {
        (true, _) => "memory full, the network allows the peak with all communication hidden",
        (false, true) => "memory full, the network allows the peak only with communication exposed",
        (false, false) => "even with memory full, the network keeps it below the peak",
    }
}

/// Why a limit is what it is; `None` where the state leaves no memory and the number means nothing.
pub fn explain(which: Limit, form: BoundForm, limits: &FsdpLimits) -> Option<Explanation> {
    let (amount, formula) = (which.amount(form, limits), which.formula(form, limits));
    let entry = which.entry();
    let name = if which.is_bound() { format!("{}, {}", entry.name, form.words()) } else { entry.name.to_owned() };
    (amount.value.is_finite() && formula.value().is_finite()).then(|| Explanation {
        figure: Figure::Limits(which, form),
        name,
        amount,
        formula,
        about: entry.about.into(),
        source: Citation::paper(FSDP),
    })
}

impl Limit {
    /// Its row of the table, which has one for each.
    fn entry(self) -> &'static LimitEntry {
        &TABLE[self as usize]
    }

    /// Whether it has two forms.
    pub const fn is_bound(self) -> bool {
        self as usize >= Self::Shortest as usize
    }

    /// Its name in a narrow column.
    pub fn label(self) -> &'static str {
        self.entry().label
    }

    pub fn amount(self, form: BoundForm, limits: &FsdpLimits) -> Amount {
        (self.entry().amount)(limits, form)
    }

    /// How it is counted: `memory - parameters x state of a parameter`.
    pub fn formula(self, form: BoundForm, limits: &FsdpLimits) -> Formula {
        (self.entry().formula)(&LimitFacts { limits, form })
    }

    /// Its amount as a column of limits shows it: whole tokens, as many as fit.
    pub fn text(self, form: BoundForm, limits: &FsdpLimits) -> String {
        let amount = self.amount(form, limits);
        let value = amount.value;
        match amount.unit {
            _ if !value.is_finite() => "-".to_owned(),
            // A negative size has no unit that is read again: the sign is ours.
            Dimension::Bytes if value < 0.0 => format!("-{}", Bytes::new(-value)),
            Dimension::Bytes if value < 1024.0 => format!("{} B", significant(value, 4)),
            Dimension::Of("tokens") => thousands(value.floor()),
            Dimension::Of("tokens/s") => thousands(value),
            Dimension::Of(_) if value >= 1e6 => engineering(value, 4),
            Dimension::Of(_) => significant(value, 3),
            _ => amount.to_string(),
        }
    }
}

/// The name of every number, what it is here, and its sentence.
#[cfg(test)]
pub(super) fn glossary(limits: &FsdpLimits) -> impl Iterator<Item = (&'static str, Amount, &'static str)> {
    TABLE.iter().map(|entry| (entry.name, entry.limit.amount(BoundForm::Floor, limits), entry.about))
}

#[cfg(test)]
pub(super) mod tests;
