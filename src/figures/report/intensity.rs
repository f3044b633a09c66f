//! Arithmetic intensities as records of JSON and as lines of text.

use serde_json::{Value, json};

use crate::bounds::intensity::Intensity;
use crate::scenario::Scenario;
use crate::scenario::file::printable;
use crate::units::{significant, thousands};

use super::lines::row;

/// Each kind of transfer against the link that carries it, as JSON. Bytes count what a device sends and what it
/// receives, bandwidth both directions of the link.
pub(super) fn records(scenario: &Scenario, transfers: &[Intensity]) -> Vec<Value> {
    let record = |it: &Intensity| {
        json!({
            "kind": it.kind.word(),
            "link": it.link.name(scenario),
            "flop_per_byte": it.flop_per_byte(),
            "threshold_flop_per_byte": it.threshold,
            "overlapped": it.overlapped,
            "hidden": it.hidden(),
            "slowdown": it.slowdown(),
            "micro_batches_to_hide": it.micro_batches.filter(|count| count.is_finite()).map(|count| count as u64),
            "formula": it.formula.to_string(),
        })
    };
    transfers.iter().map(record).collect()
}

/// The title of [`rows`].
pub(super) const TITLE: &str = "flop per byte in and out, and what twice a link's bandwidth needs";

/// For each kind what it has, and under that what it needs.
pub(super) fn rows(scenario: &Scenario, transfers: &[Intensity]) -> Vec<(String, String)> {
    let lines = |it: &Intensity| {
        let (found, needed) = (thousands(it.flop_per_byte()), thousands(it.threshold));
        let (link, verdict) = (printable(it.link.name(scenario)), verdict(it));
        let name = it.kind.word().replace('-', " ");
        let has = row(&name, format!("{found:>9} = {}", it.formula));
        [has, row("", format!("{needed:>9} needed by {link}: {verdict}"))]
    };
    transfers.iter().flat_map(lines).collect()
}

/// What an intensity means for the step, in words; a factor is on the time of the arithmetic. What is not hidden
/// would be by so many micro-batches only if these were accumulated layer by layer.
pub fn verdict(intensity: &Intensity) -> String {
    let factor = significant(intensity.slowdown(), 4);
    match (intensity.hidden(), intensity.overlapped, intensity.micro_batches) {
        (true, _, Some(count)) if count > 1.0 => format!("hidden from {} micro-batches on", thousands(count)),
        (true, _, _) => "hidden".to_owned(),
        (false, true, Some(count)) => format!("x {factor}; layer by layer, {} micro-batches hide it", thousands(count)),
        (false, true, None) => format!("x {factor}"),
        (false, false, _) => format!("x {factor}, not overlapped"),
    }
}
