//! Arithmetic intensities as a table, and as lines of text.

use shardscope_engine::bounds::intensity::Intensity;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::units::{significant, thousands};

use crate::figures::table::{CellTone, Table, TableCell};

use super::lines::row;

/// Each kind of transfer against the link that carries it. Bytes count what a device sends and what it receives,
/// bandwidth both directions of the link.
pub fn intensities(scenario: &Scenario, transfers: &[Intensity]) -> Table {
    let mut table = Table::new([
        ("kind", "transfer"),
        ("link", "link"),
        ("flop_per_byte", "intensity"),
        ("threshold_flop_per_byte", "needed"),
        ("overlapped", ""),
        ("hidden", ""),
        ("slowdown", ""),
        ("micro_batches_to_hide", ""),
        ("formula", ""),
    ]);
    let rate = |flop_per_byte: f64| TableCell::new(thousands(flop_per_byte), flop_per_byte);
    table.extend(transfers.iter().map(|it| {
        let (slowed, tone) = if it.hidden() {
            ("hidden".to_owned(), CellTone::Plain)
        } else {
            (format!("x {}", significant(it.slowdown(), 3)), CellTone::Bad)
        };
        let micro_batches = it.micro_batches.filter(|count| count.is_finite()).map(|count| count as u64);
        vec![
            TableCell::word(it.kind.word()),
            TableCell::word(it.link.name(scenario)),
            rate(it.flop_per_byte()),
            rate(it.threshold),
            TableCell::new("", it.overlapped),
            TableCell::new("", it.hidden()),
            TableCell::new(slowed, it.slowdown()).toned(tone),
            TableCell::new("", micro_batches),
            TableCell::word(it.formula.to_string()),
        ]
    }));
    table
}

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

/// The effect of an intensity on the step, in words. A transfer that is not hidden would be by so many micro-batches only
/// if these were accumulated layer by layer.
pub fn verdict(intensity: &Intensity) -> String {
    let slower = format!("takes {} times as long", significant(intensity.slowdown(), 4));
    match (intensity.hidden(), intensity.overlapped, intensity.micro_batches) {
        (true, _, Some(count)) if count > 1.0 => {
            format!("hidden behind compute from {} micro-batches on", thousands(count))
        }
        (true, _, _) => "hidden behind compute".to_owned(),
        (false, true, Some(count)) => {
            format!(
                "exposed, compute {slower}; accumulated layer by layer, {} micro-batches would hide it",
                thousands(count)
            )
        }
        (false, true, None) => format!("exposed, compute {slower}"),
        (false, false, _) => format!("not overlapped with compute, which {slower}"),
    }
}
