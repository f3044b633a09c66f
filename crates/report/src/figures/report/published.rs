//! Published figures beside predicted ones: a section of the text report and of the JSON.

use serde_json::{Value, json};

use crate::figures::figure::Figure;
use crate::figures::table::{joined, known};
use crate::figures::why::facts::FigureSubject;
use shardscope_engine::evaluate::Summary;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::{PublishedFigure, PublishedQuantity, printable};
use shardscope_engine::search::{Comparison, PublishedComparison};
use shardscope_engine::units::{Amount, signed, whole_percent};

use super::lines::{Lines, row};

/// The figure that a quantity is, or that it is a ratio of.
const fn figure(what: PublishedQuantity) -> Figure {
    match what {
        PublishedQuantity::StepTime => Figure::StepTime,
        PublishedQuantity::ForwardTime => Figure::Forward,
        PublishedQuantity::BackwardTime => Figure::Backward,
        PublishedQuantity::UpdateTime => Figure::Update,
        PublishedQuantity::ModelFlop => Figure::ModelFlops,
        PublishedQuantity::HardwareFlop => Figure::HardwareFlops,
        PublishedQuantity::Mfu => Figure::Mfu,
        PublishedQuantity::AllocatedMemory => Figure::Allocated,
        PublishedQuantity::Tokens | PublishedQuantity::Speedup | PublishedQuantity::ScalingEfficiency => {
            Figure::TokensPerSecond
        }
    }
}

/// A published figure and the same one here.
#[derive(Debug, Clone, Copy)]
pub struct PublishedAmounts<'a> {
    /// The published figure and its tolerance.
    pub published: &'a PublishedFigure,
    pub amount: Amount,
    /// How much it is here.
    pub here: Amount,
}

impl<'a> PublishedAmounts<'a> {
    pub fn new(PublishedComparison { published, run, over }: &'a PublishedComparison) -> Option<Self> {
        let value = |(scenario, summary): &(Scenario, Summary)| {
            Some(figure(published.what).amount(&FigureSubject::new(scenario, summary))?.value)
        };
        let amount = published.amount()?;
        let over = over.as_ref().map_or(Some(1.0), value)?;
        Some(Self { published, amount, here: Amount { value: value(run)? / over, ..amount } })
    }

    /// How far the figure here is off, as a share of the published one.
    pub fn error(&self) -> f64 {
        self.here.value / self.amount.value - 1.0
    }

    pub fn within(&self) -> bool {
        self.error().abs() <= self.published.tolerance
    }

    /// As JSON: the unit of both amounts, empty for a ratio; how far this one is off, and how far it may be, as shares of
    /// the published one.
    fn record(&self) -> Value {
        let Self { published, amount, here } = self;
        let of = known(json!({
            "what": published.what.name(),
            "strategy": published.strategy,
            "over": published.over,
            "from_nodes": published.from_nodes,
        }));
        let amounts = json!({
            "unit": amount.unit.base_unit(),
            "published": amount.value,
            "here": here.value,
            "error": self.error(),
            "tolerance": published.tolerance,
            "within": self.within(),
        });
        joined(of, amounts)
    }

    fn row(&self) -> (String, String) {
        let Self { published, amount, here } = self;
        let (error, tolerance) = (signed(self.error()), whole_percent(published.tolerance));
        let verdict = if self.within() { "within" } else { "not within" };
        let beside = format!("{amount:>12}, {here:>12} ({error}, {verdict} {tolerance})");
        row(&printable(&published.to_string()), beside)
    }
}

/// Published and predicted figures as JSON.
pub(super) fn record(comparison: &Comparison) -> Value {
    let figures: Vec<Value> = amounts(comparison).map(|one| one.record()).collect();
    joined(known(json!({"source": comparison.source, "note": comparison.note})), json!({"figures": figures}))
}

/// The section of the text report.
pub fn published(comparison: &Comparison) -> String {
    let mut rows: Vec<_> = amounts(comparison).map(|one| one.row()).collect();
    rows.push(row("source", printable(&comparison.source)));
    rows.extend(comparison.note.iter().map(|note| row("assumed", printable(note))));
    let mut lines = Lines(String::new());
    lines.section("published, and here", &rows);
    lines.0
}

fn amounts(comparison: &Comparison) -> impl Iterator<Item = PublishedAmounts<'_>> {
    comparison.figures.iter().filter_map(PublishedAmounts::new)
}
