//! The best points of the FSDP limits' grid.

use serde_json::{Value, json};

use crate::figures::report::FORMAT;
use crate::figures::report::changed;
use crate::figures::report::lines::{Lines, row};
use crate::figures::table::pretty;
use shardscope_engine::bounds::fsdp::FsdpLimits;
use shardscope_engine::bounds::fsdp::grid::{BestPoints, GridPoint};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::units::{devices, percent, thousands};

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
