//! Scenarios side by side as CSV, a line each.

use serde_json::json;

use shardscope_engine::units::Amount;

use crate::figures::FigureSubject;
use crate::figures::difference::Side;
use crate::figures::figure::{COMPARED, Figure};
use crate::figures::table::{Table, TableCell};

/// `scenario,model,cluster,stack,strategy`, then the figures by which scenarios are compared, by the words and in the units that
/// files have for them; nothing where a scenario lacks one.
pub fn comparison(sides: &[Side]) -> String {
    let keys = ["scenario", "model", "cluster", "stack", "strategy"];
    let mut table = Table::new(keys.into_iter().chain(COMPARED.map(Figure::word)).map(|key| (key, "")));
    table.extend(sides.iter().map(|Side { name, scenario, evaluation }| {
        let subject = FigureSubject::evaluated(scenario, evaluation);
        let ids = [*name, &scenario.model.id, &scenario.cluster.id, &scenario.stack.id, &scenario.strategy];
        let figures = COMPARED.map(|figure| json!(figure.amount(&subject).and_then(Amount::in_files)));
        ids.map(TableCell::word).into_iter().chain(figures.map(|figure| TableCell::new("", figure))).collect()
    }));
    table.csv()
}
