//! `calibrate`: constants fitted to measured rows, and the file that holds them.

use indicatif::ProgressBar;
use toml_edit::DocumentMut;

use shardscope_engine::presets::Kind;
use shardscope_engine::search::Evaluator;
use shardscope_engine::stack::constants::CONSTANTS;
use shardscope_engine::units::percent;
use shardscope_evidence::calibrate::{self, FitOptions, Fitted};
use shardscope_evidence::measured::{self, Case, Metric, Scores, Skipped, Validation};
use shardscope_report::figures::CalibrateReport;

use super::args::CalibrateArgs;
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{files, output, progress, rows};

pub(super) fn run(session: &Session, arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        for file in [out.clone(), out.with_extension("csv")] {
            files::vacant(&file, arguments.force, &session.inputs)?;
        }
    }
    let (rows, mut skipped) = rows::read(&arguments.rows)?;
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    skipped.extend(unbuilt);
    let Some(id) = cases.first().map(|case| case.scenario().stack.calibration.clone()) else {
        return Err(rows::unread(&arguments.rows, &skipped));
    };
    let (cases, foreign): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.scenario().stack.calibration == id);
    skipped.extend(foreign.iter().map(|case| {
        let other = &case.scenario().stack.calibration;
        let why = format!("its stack uses calibration '{other}', not '{id}', which the first row has");
        Skipped::new(&case.row.id(), &why)
    }));
    let unknown = |error: shardscope_engine::presets::Unknown| Failure::input(error.to_string());
    let calibration = session.library.calibration(&id).map_err(unknown)?;
    let missing: Vec<&str> =
        CONSTANTS.iter().filter(|constant| calibration.get(constant).is_none()).map(|constant| constant.name).collect();
    if missing.len() * 2 > CONSTANTS.len() {
        let what = format!("'{id}' has {} of the {} constants", CONSTANTS.len() - missing.len(), CONSTANTS.len());
        let fix = "give rows of a stack whose calibration has been measured, like default";
        return Err(Failure::input(format!("{what} that rows can tell, and nothing could be fitted to them; {fix}")));
    }
    let pool = session.pool()?;
    let bar: ProgressBar = progress::spinner(session.options.terminal.low_bandwidth);
    let begins = |part: &str| bar.set_message(part.to_owned());
    let evaluate = |scenarios: &[_]| {
        bar.inc(scenarios.len() as u64);
        Evaluator::on(&pool).summaries(scenarios)
    };
    let asked = FitOptions { prior: arguments.prior, own_sets: true };
    let fitted = calibrate::calibrate(&cases, &calibration, asked, &evaluate, &begins);
    bar.finish_and_clear();
    let timed = |fitted: &Fitted| fitted.before.scores(|one| one.metric == Metric::StepTime).is_some();
    let Some(fitted) = fitted.filter(timed) else {
        let what = "no row has a step time to fit to: 'step_time_s' is blank or 'scored' is no in all of them";
        return Err(Failure::input(what));
    };
    skipped.extend(fitted.before.skipped.iter().cloned());
    let report = CalibrateReport { fitted: &fitted, skipped: &skipped };
    output::report(arguments.format, || report.text(), || report.json())?;
    if let Some(out) = &arguments.out {
        let text = file(session, &id, &fitted)?;
        let runs = measured::write_groups(&measured::groups(&cases, &fitted.crossed)).map_err(Failure::unwritten)?;
        files::write(&[(out.clone(), &text), (out.with_extension("csv"), &runs)], arguments.force)?;
    }
    Ok(Exit::Done)
}

/// The calibration's own file with the fitted values in it.
fn file(session: &Session, id: &str, fitted: &Fitted) -> Result<String, Failure> {
    let entry = session.library.entries(Kind::Calibration).find(|entry| entry.id == id);
    let text = entry.map(|entry| &*entry.text).unwrap_or_default();
    let wrong = |what: String| Failure::input(format!("{id}: {what}"));
    let mut document: DocumentMut = calibrate::write(text, fitted)
        .and_then(|text| text.parse().map_err(|error: toml_edit::TomlError| error.to_string()))
        .map_err(wrong)?;
    document["source"] = toml_edit::value(source(id, fitted));
    Ok(document.to_string())
}

/// What a fit rests on.
fn source(id: &str, fitted: &Fitted) -> String {
    let scores = |validation: &Validation| validation.scores(|one| one.metric == Metric::StepTime);
    let [after, crossed] = [&fitted.after, &fitted.crossed].map(scores);
    let (rows, groups) = after.as_ref().map_or((0, 0), |after| (after.rows, after.groups));
    let mean = |scores: Option<Scores>| percent(scores.map_or(f64::NAN, |scores| scores.mean));
    let (after, crossed) = (mean(after), mean(crossed));
    format!(
        "constants that `calibrate` fitted to {rows} step times: {after} off on the mean of {groups} groups, \
         {crossed} where a group was left out of the fit; what no row tells is as '{id}' had it before"
    )
}
