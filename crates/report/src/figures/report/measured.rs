//! What a figure of one's own run tells, as text and as JSON: hypotheses first, then constants.

use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::table::{Table, TableCell, joined};
use shardscope_engine::evaluate::ErrorBand;
use shardscope_engine::units::{Seconds, percent, thousands};
use shardscope_evidence::calibrate::{Attribution, Cause, RunDiagnosis};

use super::diagnosis::{diagnosis, diagnosis_record, memory_words};

/// What a figure tells, for scripts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredReport(Value);

impl MeasuredReport {
    pub fn new(told: &RunDiagnosis) -> Self {
        Self(record(told))
    }
}

pub(super) fn record(told: &RunDiagnosis) -> Value {
    let RunDiagnosis { diagnosis, attribution } = told;
    let measured = match attribution {
        Some(attribution) => attribution_record(attribution),
        None => json!({"gap": 1.0 / (1.0 + diagnosis.off) - 1.0}),
    };
    joined(measured, diagnosis_record(diagnosis))
}

fn attribution_record(told: &Attribution) -> Value {
    let cause = |Cause { constant, value, shift_in_sigma, share }: &Cause| json!({"constant": constant.name, "value": value, "shift_in_sigma": shift_in_sigma, "share": share});
    let band = |band: ErrorBand| json!({"low": band.low.get(), "high": band.high.get()});
    json!({
        "step_time_s": told.step_time,
        "gap": told.gap,
        "causes": told.causes.iter().map(cause).collect::<Vec<_>>(),
        "unexplained": told.unexplained,
        "band_before": told.band_before.map(band),
        "band_after": band(told.band_after),
    })
}

/// For people: the gap, what may explain it, and how sure a like step is afterwards.
pub fn measured(told: &RunDiagnosis) -> String {
    let hypotheses = diagnosis(&told.diagnosis);
    match &told.attribution {
        Some(attribution) => format!("\n{}\n{hypotheses}\n{}", gap_words(attribution), constants(attribution)),
        None => format!("\n{}\n{hypotheses}", memory_words(&told.diagnosis).join("\n")),
    }
}

/// From so many times on, a gap is no share of what is predicted that anyone would read.
const TIMES: f64 = 10.0;

fn gap_words(told: &Attribution) -> String {
    format!("measured {}, {}", Seconds::new(told.step_time), gap_of(1.0 + told.gap))
}

/// How a measured time is to the predicted one, of which it is some `times`.
fn gap_of(times: f64) -> String {
    match times {
        times if times >= TIMES => format!("{} times what is predicted", thousands(times)),
        times if times <= TIMES.recip() => format!("one {}th of what is predicted", thousands(times.recip())),
        times if times < 1.0 => format!("{} shorter than predicted", percent(1.0 - times)),
        times => format!("{} longer than predicted", percent(times - 1.0)),
    }
}

/// The constants that may be others, and how sure a like step is.
fn constants(told: &Attribution) -> String {
    let rest = [percent(told.unexplained).as_str(), "this run", "", "", "no constant"].map(TableCell::word);
    let mut table = Table::headed(["share of the gap", "constant", "would be", "that is", ""]);
    table.extend(told.causes.iter().map(cause_cells).chain([rest]).map(Vec::from));
    format!("{}{}\n", table.text(), band_words(told))
}

/// How sure a like step was and is: `80 % of such steps: 3.1 s to 3.9 s before, 3.3 s to 3.6 s after this one`.
pub fn band_words(told: &Attribution) -> String {
    let ends = |band: ErrorBand| format!("{} to {}", band.low, band.high);
    let before = told.band_before.map_or_else(|| "unknown".to_owned(), ends);
    format!("80 % of such steps: {before} before, {} after this one", ends(told.band_after))
}

/// A cause: its share of the gap, its constant, what that would be, how far from its value, what it means.
pub fn cause_cells(Cause { constant, value, shift_in_sigma, share }: &Cause) -> [TableCell; 5] {
    [
        TableCell::percent(*share),
        TableCell::word(constant.name),
        TableCell::new(format!("{value:.3}"), *value),
        TableCell::new(format!("{} sigma", shift(*shift_in_sigma)), *shift_in_sigma),
        TableCell::word(constant.meaning),
    ]
}

/// A shift with one digit and its sign; one that rounds to nothing has none.
fn shift(shift: f64) -> String {
    if shift.abs() < 0.05 { "0.0".to_owned() } else { format!("{shift:+.1}") }
}

#[cfg(test)]
mod tests {
    use super::{gap_of, shift};

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        assert_eq!([-0.04, -0.0, 0.0, 0.04, -0.06, 1.26].map(shift), ["0.0", "0.0", "0.0", "0.0", "-0.1", "+1.3"]);
    }

    /// No share of what is predicted is above 900 % or rounds to all of it.
    #[test]
    fn what_is_many_times_the_prediction_is_no_percentage() {
        assert_eq!(gap_of(1.25), "25.0 % longer than predicted");
        assert_eq!(gap_of(0.75), "25.0 % shorter than predicted");
        assert_eq!(gap_of(1234.0), "1,234 times what is predicted");
        assert_eq!(gap_of(1e-6), "one 1,000,000th of what is predicted");
    }
}
