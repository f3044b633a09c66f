//! The gate: predictions of some 2,000 scenarios and of the searches over them, compared to the last digit.
//!
//! A change that should move no figure moves none here. A change of physics moves some, and its review reads the
//! difference of `tests/predictions/*.csv`. To write the files anew:
//!
//! ```sh
//! SHARDSCOPE_PREDICTIONS=renew cargo test predictions::
//! ```

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of tests ends the test")]

pub mod commands;
mod coverage;
pub mod difference;
pub mod families;
pub mod scenarios;
pub mod steps;
pub mod table;

use std::collections::HashSet;

use difference::Difference;
use table::Table;

/// The command that writes the files anew, as a failure names it.
const RENEW: &str = "SHARDSCOPE_PREDICTIONS=renew cargo test predictions::";

/// Compares a table with its file, or writes the file where that was asked for.
fn holds(name: &str, now: &Table) {
    let ids: HashSet<&String> = now.rows.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), now.rows.len(), "each row of {name} has an id of its own");
    let file = format!("{}/tests/predictions/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("SHARDSCOPE_PREDICTIONS").is_ok_and(|wanted| wanted == "renew") {
        std::fs::write(&file, now.to_csv()).expect("a writable file");
        return;
    }
    let text = std::fs::read_to_string(&file).expect("the file is in the repository");
    if let Some(difference) = Difference::between(&Table::from_csv(&text), now) {
        panic!("predictions of {name} changed.\n{difference}\nIf every change is meant: {RENEW}");
    }
}

#[test]
fn steps_are_predicted_as_before() {
    holds("steps", &steps::steps(&scenarios::all()));
}

#[test]
fn elasticities_are_predicted_as_before() {
    holds("elasticities", &steps::elasticities(&scenarios::all()));
}

#[test]
fn commands_answer_as_before() {
    holds("commands", &commands::answers());
}
