//! The bars that a fit is held to, each with its verdict, as a table and as JSON.

use serde_json::{Value, json};

use shardscope_evidence::calibrate::{AccuracyBar, JudgedBar, JudgedFigure};

use crate::figures::table::Table;
use shardscope_engine::units::percent;

/// As JSON; the bar of what is only reported is `null`, and so is whether it is met.
pub(super) fn records(judged: &[JudgedBar]) -> Vec<Value> {
    let record = |one: &JudgedBar| {
        let JudgedBar { bar: AccuracyBar { set, figure, .. }, count, value, null: null_mean } = one;
        let (figure, bar, met) = (figure.into_str(), one.bar.limit(), one.met());
        json!({
            "set": set, "figure": figure, "count": count, "value": value, "bar": bar, "null_mean": null_mean, "met": met,
        })
    };
    judged.iter().map(record).collect()
}

/// As a table: each set with what was found, its bar, and whether it holds.
pub(super) fn text(judged: &[JudgedBar]) -> String {
    let head = ["bar", "figure", "count", "found", "wanted", "", "null"];
    let rows = judged.iter().map(|one| {
        let JudgedBar { bar: AccuracyBar { set, figure, most, least, .. }, count, value, null } = one;
        let amount = |value: f64| match figure {
            JudgedFigure::Skill => format!("{value:.1}"),
            JudgedFigure::Worse => value.to_string(),
            _ => percent(value),
        };
        let wanted = match (most, least) {
            (Some(most), _) => format!("<= {}", amount(*most)),
            (None, Some(least)) => format!(">= {}", amount(*least)),
            (None, None) => String::new(),
        };
        let verdict = one.met().map_or("", |met| if met { "met" } else { "missed" }).to_owned();
        let worse = null.is_some_and(|null| null < *value);
        let null = null.map_or_else(String::new, |null| amount(null) + if worse { ", better" } else { "" });
        vec![set.clone(), figure.into_str().to_owned(), count.to_string(), amount(*value), wanted, verdict, null]
    });
    if judged.is_empty() {
        return String::new();
    }
    let table = Table::of_texts(&head, rows);
    let verdicts: Vec<bool> = judged.iter().filter_map(JudgedBar::met).collect();
    let missed = verdicts.iter().filter(|met| !**met).count();
    format!(
        "bars set for the published rows, each row held out with its group unless stated\n{}{missed} of {} missed\n",
        table.text(),
        verdicts.len()
    )
}
