//! What was published of a scenario beside what comes out here: a section of the text report and of the JSON.

use serde_json::{Value, json};

use crate::scenario::file::printable;
use crate::search::{Comparison, PublishedComparison};

use super::lines::{Lines, row};
use crate::figures::table::{joined, known};

/// What was published, beside these figures, as JSON: the unit of both, empty for a ratio; how far this one is off, and
/// how far it may be, as shares of the published one.
pub(super) fn record(comparison: &Comparison) -> Value {
    let figure = |compared: &PublishedComparison| {
        let published = &compared.published;
        let of = known(json!({
            "what": published.what.name(),
            "strategy": published.strategy,
            "over": published.over,
            "from_nodes": published.from_nodes,
        }));
        let amounts = json!({
            "unit": published.what.unit(),
            "published": compared.amount,
            "here": compared.here,
            "error": compared.error(),
            "tolerance": published.tolerance,
            "within": compared.within(),
        });
        joined(of, amounts)
    };
    let figures: Vec<Value> = comparison.figures.iter().map(figure).collect();
    joined(known(json!({"source": comparison.source, "note": comparison.note})), json!({"figures": figures}))
}

/// The section of the text report.
pub fn published(comparison: &Comparison) -> String {
    let name = |compared: &PublishedComparison| printable(&compared.published.to_string());
    let mut rows: Vec<_> = comparison.figures.iter().map(|one| row(&name(one), beside(one))).collect();
    rows.push(row("source", printable(&comparison.source)));
    rows.extend(comparison.note.iter().map(|note| row("assumed", printable(note))));
    let mut lines = Lines(String::new());
    lines.section("published, and here", &rows);
    lines.0
}

fn beside(compared: &PublishedComparison) -> String {
    let PublishedComparison { published, amount, here } = compared;
    let [amount, here] = [amount, here].map(|amount| published.what.show(*amount));
    let (error, tolerance) = (100.0 * compared.error(), 100.0 * published.tolerance);
    let verdict = if compared.within() { "within" } else { "not within" };
    format!("{amount:>12}, {here:>12} ({error:+.1} %, {verdict} {tolerance:.0} %)")
}
