//! The FSDP limits as text, each number with its formula in words, and as JSON.

use serde_json::json;

use crate::bounds::fsdp::{FsdpLimits, Transfers, Utilisation, ZeroStage};
use crate::figures::figure::{Form, Limit};
use crate::figures::why::limits::words;
use crate::scenario::Scenario;
use crate::scenario::file::printable;
use crate::units::{Bytes, devices, engineering, significant, thousands};

use super::FORMAT;
use super::text::{Lines, changed, row};
use crate::figures::table::{percent, pretty};

/// Limits, and of what.
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
        let limits = self.limits;
        let (uncapped, floor) = (limits.hidden(), limits.network_floor());
        let capped = limits.capped(uncapped);
        pretty(&json!({
            "format": FORMAT,
            "phi": limits.parameters as u64,
            "free_bytes": limits.free().get().round() as i64,
            "token_capacity": limits.token_capacity() as u64,
            "transfer_s": limits.transfer().get(),
            "hfu_bound": capped.hfu,
            "hfu_bound_uncapped": uncapped.hfu,
            "mfu_bound": capped.mfu,
            "tokens_per_s_bound": capped.tokens_per_s,
            "tokens_per_s_bound_uncapped": uncapped.tokens_per_s,
            "seq_bound": limits.token_capacity() as u64,
            "network_floor": {"hfu": floor.hfu, "tokens_per_s": floor.tokens_per_s},
        }))
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
        lines.line(&self.verdict());
        lines.section("given", &self.given());
        lines.section("memory", &self.memory());
        lines.section("time, device full, kernels at the peak", &self.time());
        lines.section("no exposed communication: each pass hides its own transfers", &self.bound(Form::Hidden));
        lines.section(
            "network floor: the transfers of a step, one after the other, take all of it",
            &self.bound(Form::Floor),
        );
        lines.0
    }

    fn verdict(&self) -> String {
        let limits = self.limits;
        if limits.free() <= Bytes::ZERO {
            return "the model's state alone does not fit: no tokens, no throughput".to_owned();
        }
        let verdict = |bound: Utilisation| if bound.hfu >= 1.0 { "allows the peak" } else { "stays below the peak" };
        let (hidden, floor) = (limits.hidden(), limits.network_floor());
        match (hidden.hfu >= 1.0, floor.hfu >= 1.0) {
            (false, true) => "the network allows the peak only with communication exposed".to_owned(),
            _ => format!("the network {}, memory full", verdict(floor)),
        }
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

    fn memory(&self) -> Vec<(String, String)> {
        let limits = self.limits;
        let (free, tokens) = (limits.free(), thousands(limits.token_capacity().floor()));
        // A negative size has no unit that is read again: the sign is ours.
        let free = if free < Bytes::ZERO { format!("-{}", -free) } else { free.to_string() };
        let parameters = engineering(limits.parameters, 4);
        vec![
            self.counted("parameters", &parameters, Limit::Parameters),
            self.counted("state", &format!("{} B", significant(limits.state().get(), 4)), Limit::State),
            self.counted("free memory", &free, Limit::Free),
            self.counted("activations", &limits.activation().to_string(), Limit::Activation),
            self.counted("token capacity", &tokens, Limit::Tokens),
            self.counted("longest sequence", &tokens, Limit::Sequence),
        ]
    }

    fn time(&self) -> Vec<(String, String)> {
        let limits = self.limits;
        let shown = |ratio: f64| if ratio.is_finite() { significant(ratio, 3) } else { "-".to_owned() };
        let [forward, backward] = limits.overlap(limits.token_capacity(), 1.0).map(shown);
        let flop = limits.forward_flop();
        vec![
            self.counted("transfer", &limits.transfer().to_string(), Limit::Transfer),
            self.counted("forward flop", &flop.to_string(), Limit::ForwardFlop),
            self.counted("flop", &(flop + limits.backward_flop()).to_string(), Limit::Flop),
            self.counted("forward", &limits.arithmetic().to_string(), Limit::Arithmetic),
            self.counted("forward overlap", &forward, Limit::Forward),
            self.counted("backward overlap", &backward, Limit::Backward),
        ]
    }

    fn bound(&self, form: Form) -> Vec<(String, String)> {
        let bound = form.bound(self.limits);
        let capped = self.limits.capped(bound);
        vec![
            self.counted("shortest step", &form.step(self.limits).to_string(), Limit::Shortest(form)),
            self.counted("uncapped HFU", &percent(bound.hfu), Limit::Uncapped(form)),
            row("uncapped", format!("{:>10}  tokens/s per device, at that HFU", thousands(bound.tokens_per_s))),
            self.counted("HFU", &percent(capped.hfu), Limit::Hfu(form)),
            self.counted("MFU", &percent(capped.mfu), Limit::Mfu(form)),
            self.counted("tokens/s", &thousands(capped.tokens_per_s), Limit::TokensPerSecond(form)),
        ]
    }

    /// A number and how it is counted.
    fn counted(&self, name: &str, value: &str, which: Limit) -> (String, String) {
        row(name, format!("{value:>10}  = {}", words(which, self.limits)))
    }
}
