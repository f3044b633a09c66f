//! The FSDP limits and the best points of their grid, as text and as JSON.

use serde_json::{Map, Value, json};

use crate::figures::figure::{BoundForm, Limit};
use crate::figures::why::limits::verdict;
use shardscope_engine::bounds::fsdp::grid::{BestPoints, GridPoint};
use shardscope_engine::bounds::fsdp::{FsdpLimits, Transfers, ZeroStage};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::units::{Amount, Dimension, devices, percent, thousands};

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

#[derive(Debug, Clone, Copy)]
pub struct GridReport<'a> {
    /// The model and the machine; a number that was given in place of the machine's is not a change of it.
    pub scenario: &'a Scenario,
    /// The model, the machine and the settings.
    pub limits: &'a FsdpLimits,
    /// Share of the peak that kernels reach.
    pub alpha: f64,
    /// `None` where nothing fits.
    pub found: Option<BestPoints>,
}

/// A point: whole tokens and sequences, shares, tokens per second and device, seconds.
fn record(point: &GridPoint) -> Value {
    json!({
        "stage": point.stage.number(),
        "gamma": point.gamma,
        "seq": point.sequence as u64,
        "batch": point.batch as u64,
        "mfu": point.reached.mfu,
        "hfu": point.reached.hfu,
        "tokens_per_s": point.reached.tokens_per_s,
        "step_time_s": point.time.get(),
    })
}

impl GridReport<'_> {
    /// As JSON; `best` is `null` where nothing fits.
    pub fn json(&self) -> String {
        let best = self.found.map(|found| {
            let [mfu, throughput, sequence] = [found.mfu, found.throughput, found.sequence].map(|point| record(&point));
            json!({"mfu": mfu, "throughput": throughput, "sequence": sequence})
        });
        let searched = self.found.map_or(0, |found| found.searched as u64);
        pretty(&json!({"format": FORMAT, "objective": "grid", "best": best, "searched": searched}))
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let mut lines = Lines(String::new());
        let FsdpLimits { devices: count, memory, reserve, link, peak, .. } = *self.limits;
        let (model, devices) = (printable(&self.scenario.model.name), devices(count));
        lines.line(&format!("grid of the FSDP limits: {model} on {devices}"));
        if let Some(changed) = changed(self.scenario) {
            lines.line(&changed);
        }
        lines.line(&format!("given {memory} ({reserve} reserved), {link} and {} of {peak} each", percent(self.alpha)));
        let Some(found) = self.found else {
            lines.line("nothing fits: no stage leaves room for a sequence of 512 tokens");
            return lines.0;
        };
        let points = [
            ("highest MFU", found.mfu),
            ("highest throughput", found.throughput),
            ("longest sequence", found.sequence),
        ];
        lines.section(
            "best on each device, with the time of a step",
            &points.map(|(name, point)| row(name, words(&point))),
        );
        lines.line("");
        lines.line(&format!(
            "best of {} points that fit: stages 1 to 3, gamma (kept share of the activations) 0 to 1 by 0.1,",
            thousands(found.searched)
        ));
        lines.line(&format!(
            "sequences of 512, 1,024, ... tokens, any batch; efficiency {}: a lower one is never faster",
            percent(self.alpha)
        ));
        lines.0
    }
}

fn words(point: &GridPoint) -> String {
    let GridPoint { stage, gamma, sequence, batch, reached, time } = point;
    format!(
        "{:>7} MFU {:>9} tokens/s {time:>8}  stage {}, gamma {gamma}, {} x {} tokens",
        percent(reached.mfu),
        thousands(reached.tokens_per_s),
        stage.number(),
        thousands(*batch),
        thousands(*sequence),
    )
}
