//! A fit to somebody's own rows: which of them count, whose constants they tell, and the file that comes of it.

use toml_edit::DocumentMut;

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::stack::constants::CONSTANTS;
use shardscope_engine::text::printable;
use shardscope_engine::units::percent;

use crate::measured::{self, Case, MeasuredRow, Metric, Scores, Skipped, Validation};

use super::{Evaluate, FitOptions, Fitted, calibrate, write};

/// A fit to rows, with what it left out.
#[derive(Debug, Clone)]
pub struct FittedRows {
    /// The calibration that was fitted.
    pub id: String,
    /// What the rows tell of its constants.
    pub fitted: Fitted,
    /// The rows that it is of.
    pub cases: Vec<Case>,
    /// Rows that say nothing of it, and why.
    pub skipped: Vec<Skipped>,
}

/// Why nothing can be fitted.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfitted {
    /// No row is of a run that can be built.
    NoCase(Vec<Skipped>),
    /// Rows cannot tell the calibration, in a sentence.
    Untold(String),
}

impl FittedRows {
    /// Fits the constants of the calibration that the first row's stack has, to all rows of stacks that have it.
    pub fn new(
        rows: &[MeasuredRow],
        library: &Library,
        options: FitOptions,
        evaluate: &Evaluate<'_>,
        begins: &dyn Fn(&str),
    ) -> Result<Self, Unfitted> {
        let (cases, mut skipped) = measured::cases(rows, library);
        // Predicted with the default's they would teach it what other software does.
        let (cases, unknown): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(Case::is_of_known_stack);
        skipped.extend(unknown.iter().map(|case| {
            let why =
                format!("no stack '{}'; `shardscope presets stacks` lists them", printable(case.row.text("stack")));
            Skipped::new(&case.row.id(), &why)
        }));
        let Some(id) = cases.first().map(|case| case.scenario().stack.calibration.clone()) else {
            return Err(Unfitted::NoCase(skipped));
        };
        let (cases, foreign): (Vec<Case>, Vec<Case>) =
            cases.into_iter().partition(|case| case.scenario().stack.calibration == id);
        skipped.extend(foreign.iter().map(|case| {
            let other = &case.scenario().stack.calibration;
            let why = format!("its stack uses calibration '{other}', not '{id}', which the first row has");
            Skipped::new(&case.row.id(), &why)
        }));
        let calibration = library.calibration(&id).map_err(|error| Unfitted::Untold(error.to_string()))?;
        let missing = CONSTANTS.iter().filter(|constant| calibration.get(constant).is_none()).count();
        if missing * 2 > CONSTANTS.len() {
            let what = format!("'{id}' has {} of the {} constants", CONSTANTS.len() - missing, CONSTANTS.len());
            let fix = "give rows of a stack whose calibration has been measured, like default";
            return Err(Unfitted::Untold(format!(
                "{what} that rows can tell, and nothing could be fitted to them; {fix}"
            )));
        }
        let fitted = calibrate(&cases, &calibration, options, evaluate, begins);
        let timed = |fitted: &Fitted| fitted.before.scores(|one| one.metric == Metric::StepTime).is_some();
        let Some(fitted) = fitted.filter(timed) else {
            let what = "no row has a step time to fit to: 'step_time_s' is blank or 'scored' is no in all of them";
            return Err(Unfitted::Untold(what.to_owned()));
        };
        skipped.extend(fitted.before.skipped.iter().cloned());
        Ok(Self { id, fitted, cases, skipped })
    }

    /// The calibration's own file with the fitted values in it.
    pub fn file(&self, library: &Library) -> Result<String, String> {
        let entry = library.entries(Kind::Calibration).find(|entry| entry.id == self.id);
        let text = entry.map(|entry| &*entry.text).unwrap_or_default();
        let mut document: DocumentMut = write(text, &self.fitted)
            .and_then(|text| text.parse().map_err(|error: toml_edit::TomlError| error.to_string()))
            .map_err(|what| format!("{}: {what}", self.id))?;
        document["source"] = toml_edit::value(self.source());
        Ok(document.to_string())
    }

    /// A sentence on the rows that the fit rests on, and how far it is off.
    fn source(&self) -> String {
        let scores = |validation: &Validation| validation.scores(|one| one.metric == Metric::StepTime);
        let [after, crossed] = [&self.fitted.after, &self.fitted.crossed].map(scores);
        let (rows, groups) = after.as_ref().map_or((0, 0), |after| (after.rows, after.groups));
        let mean = |scores: Option<Scores>| percent(scores.map_or(f64::NAN, |scores| scores.mean));
        let (after, crossed, id) = (mean(after), mean(crossed), &self.id);
        format!(
            "constants that `calibrate` fitted to {rows} step times: {after} off on the mean of {groups} groups, \
             {crossed} where a group was left out of the fit; what no row tells is as '{id}' had it before"
        )
    }
}
