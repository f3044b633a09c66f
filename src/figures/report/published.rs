//! What was published of a scenario beside what comes out here: a section of the text report and of the JSON.

use serde::Serialize;

use crate::scenario::file::printable;
use crate::search::{Comparison, PublishedComparison};

use super::figures::finite;
use super::text::{Lines, row};

/// What was published, beside these figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// Where.
    pub source: String,
    /// What had to be assumed to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Each figure.
    pub figures: Vec<PublishedFigure>,
}

/// One published figure beside this one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigure {
    /// What was measured.
    pub what: &'static str,
    /// The strategy that it was measured with, where it is not the scenario's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The strategy that a speedup is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The nodes that a scaling efficiency starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_nodes: Option<u32>,
    /// The unit of both; empty for a ratio.
    pub unit: &'static str,
    /// As published.
    pub published: Option<f64>,
    /// What comes out here.
    pub here: Option<f64>,
    /// How far that is off, as a share of the published figure.
    pub error: Option<f64>,
    /// How far it may be off.
    pub tolerance: f64,
    /// Whether it is within that.
    pub within: bool,
}

impl Published {
    /// Of a comparison.
    pub fn of(comparison: &Comparison) -> Self {
        let figures = comparison.figures.iter().map(PublishedFigure::of).collect();
        Self { source: comparison.source.clone(), note: comparison.note.clone(), figures }
    }
}

impl PublishedFigure {
    fn of(compared: &PublishedComparison) -> Self {
        let published = &compared.published;
        Self {
            what: published.what.name(),
            strategy: published.strategy.clone(),
            over: published.over.clone(),
            from_nodes: published.from_nodes,
            unit: published.what.unit(),
            published: finite(compared.amount),
            here: finite(compared.here),
            error: finite(compared.error()),
            tolerance: published.tolerance,
            within: compared.within(),
        }
    }
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
