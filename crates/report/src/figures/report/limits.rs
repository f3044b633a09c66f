//! The FSDP limits as text, each number with its formula in words, and as JSON.

use serde_json::{Map, Value, json};

use crate::figures::figure::{BoundForm, Limit};
use crate::figures::why::limits::verdict;
use shardscope_engine::bounds::fsdp::{FsdpLimits, Transfers, ZeroStage};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::units::{Amount, Dimension, devices, thousands};

use super::FORMAT;
use super::lines::{Lines, row};
use super::text::changed;
use crate::figures::table::{joined, pretty};

/// The keys of JSON, each with its number.
const KEYS: [(&str, Limit, BoundForm); 10] = [
    ("phi", Limit::Parameters, BoundForm::Floor),
    ("free_bytes", Limit::Free, BoundForm::Floor),
    ("token_capacity", Limit::Tokens, BoundForm::Floor),
    ("transfer_s", Limit::Transfer, BoundForm::Floor),
    ("hfu_bound", Limit::Hfu, BoundForm::Hidden),
    ("hfu_bound_uncapped", Limit::Uncapped, BoundForm::Hidden),
    ("mfu_bound", Limit::Mfu, BoundForm::Hidden),
    ("tokens_per_s_bound", Limit::TokensPerSecond, BoundForm::Hidden),
    ("tokens_per_s_bound_uncapped", Limit::UncappedTokens, BoundForm::Hidden),
    ("seq_bound", Limit::Sequence, BoundForm::Floor),
];

/// Numbers of the network floor, in an object of their own.
const FLOOR: [(&str, Limit, BoundForm); 2] =
    [("hfu", Limit::Uncapped, BoundForm::Floor), ("tokens_per_s", Limit::UncappedTokens, BoundForm::Floor)];

/// The numbers of each section of text.
const MEMORY: [Limit; 6] =
    [Limit::Parameters, Limit::State, Limit::Free, Limit::Activation, Limit::Tokens, Limit::Sequence];
const TIME: [Limit; 7] = [
    Limit::Transfer,
    Limit::ForwardFlop,
    Limit::Flop,
    Limit::Counted,
    Limit::Arithmetic,
    Limit::Forward,
    Limit::Backward,
];
const BOUNDS: [Limit; 6] =
    [Limit::Shortest, Limit::Uncapped, Limit::UncappedTokens, Limit::Hfu, Limit::Mfu, Limit::TokensPerSecond];

const HIDDEN_TITLE: &str = "no exposed communication: each pass hides its own transfers";
const FLOOR_TITLE: &str = "network floor: the transfers of a step, one after the other, take all of it";

#[derive(Debug, Clone, Copy)]
pub struct LimitsReport<'a> {
    /// The model and the machine; a number that was given in place of the machine's is not a change of it.
    pub scenario: &'a Scenario,
    /// The model, the machine and the settings.
    pub limits: &'a FsdpLimits,
}

impl LimitsReport<'_> {
    /// As JSON: whole parameters, bytes and tokens, seconds, shares, tokens per second and device.
    pub fn json(&self) -> String {
        let fields = |fields: &[(&str, Limit, BoundForm)]| -> Map<String, Value> {
            fields.iter().map(|(key, limit, form)| ((*key).to_owned(), self.number(*limit, *form))).collect()
        };
        let floor = json!({"network_floor": fields(&FLOOR)});
        pretty(&joined(joined(json!({"format": FORMAT}), fields(&KEYS).into()), floor))
    }

    fn number(&self, limit: Limit, form: BoundForm) -> Value {
        let Amount { value, unit } = limit.amount(form, self.limits);
        match unit {
            Dimension::Bytes => json!(value.round() as i64),
            Dimension::Of("" | "tokens") => json!(value as u64),
            _ => json!(value),
        }
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let limits = self.limits;
        let mut lines = Lines(String::new());
        let (devices, model) = (devices(limits.devices), printable(&self.scenario.model.name));
        lines.line(&format!("limits of {model} on {devices}, ZeRO-{}", limits.stage.number()));
        if let Some(changed) = changed(self.scenario) {
            lines.line(&changed);
        }
        lines.line(verdict(limits));
        lines.section("given", &self.given());
        lines.section("memory", &self.rows(&MEMORY, BoundForm::Floor));
        lines.section("time, device full, kernels at the peak", &self.rows(&TIME, BoundForm::Floor));
        lines.section(HIDDEN_TITLE, &self.rows(&BOUNDS, BoundForm::Hidden));
        lines.section(FLOOR_TITLE, &self.rows(&BOUNDS, BoundForm::Floor));
        lines.0
    }

    fn given(&self) -> Vec<(String, String)> {
        let limits = self.limits;
        let Transfers { forward, backward } = limits.transfers();
        let idle = if limits.stage == ZeroStage::Three { "" } else { ": gradients and new weights" };
        vec![
            row("memory", format!("{:>10} per device, {} of it reserved", limits.memory, limits.reserve)),
            row(
                "link",
                format!("{:>10} into each device, latency {} per layer and device", limits.link, limits.latency),
            ),
            row("peak", format!("{:>10} per device", limits.peak)),
            row("sequence", format!("{:>10} tokens", thousands(limits.sequence))),
            row("gamma", format!("{:>10} share of the activations that is kept", limits.gamma)),
            row("n_fwd", format!("{forward:>10} transfers of the model in forward")),
            row("n_bwd", format!("{backward:>10} transfers of the model in backward{idle}")),
            row("ring", format!("{:>10} (N - 1) / N of the model is received", if limits.ring { "yes" } else { "no" })),
        ]
    }

    /// Numbers, each with how it is counted.
    fn rows(&self, limits: &[Limit], form: BoundForm) -> Vec<(String, String)> {
        let counted = |limit: &Limit| {
            let (value, formula) = (limit.text(form, self.limits), limit.formula(form, self.limits));
            row(limit.label(), format!("{value:>10}  = {formula}"))
        };
        limits.iter().map(counted).collect()
    }
}
