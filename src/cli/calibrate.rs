//! `calibrate`: constants fitted to measured rows, and the file that holds them.

use indicatif::ProgressBar;

use crate::calibrate::{self, Fitted};
use crate::measured::{self, Case, Skipped};
use crate::presets::Kind;
use crate::report::CalibrateReport;
use crate::scenario::file::printable;
use crate::{search, snapshot};

use super::args::{Calibrate, PlanFormat};
use super::session::Session;
use super::{Exit, Failure, output, sweep, validate};

pub(super) fn run(session: &Session, arguments: &Calibrate) -> Result<Exit, Failure> {
    let (rows, mut skipped) = validate::rows(&arguments.rows)?;
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    skipped.extend(unbuilt);
    let Some(id) = cases.first().map(|case| case.scenario().stack.calibration.clone()) else {
        let mut lines: Vec<String> = skipped.iter().map(|Skipped { id, why }| format!("{id}: {why}")).collect();
        if lines.is_empty() {
            lines.push("the files hold no rows: each measured run is a line under their header".to_owned());
        }
        return Err(Failure::Input(lines));
    };
    let (cases, foreign): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.scenario().stack.calibration == id);
    skipped.extend(foreign.iter().map(|case| {
        let other = &case.scenario().stack.calibration;
        let why = format!("its stack uses calibration '{other}', not '{id}', which the first row has");
        Skipped { id: case.row.id(), why: printable(&why) }
    }));
    let unknown = |error: crate::presets::Unknown| Failure::Input(vec![error.to_string()]);
    let calibration = session.library.calibration(&id).map_err(unknown)?;
    let pool = search::pool(session.options.threads).map_err(|error| Failure::Io(format!("threads: {error}")))?;
    let bar: ProgressBar = sweep::spinner(session.options.low_bandwidth);
    let begins = |part: &str| bar.set_message(part.to_owned());
    let evaluate = |scenarios: &[_]| {
        bar.inc(scenarios.len() as u64);
        search::summaries(scenarios, &pool)
    };
    let fitted = calibrate::calibrate(&cases, &calibration, &evaluate, &begins);
    bar.finish_and_clear();
    let Some(fitted) = fitted else {
        let what = "no row has a step time to fit to: 'step_time_s' is blank or 'scored' is no in all of them";
        return Err(Failure::Input(vec![what.to_owned()]));
    };
    if let Some(out) = &arguments.out {
        let text = file(session, &id, &fitted)?;
        snapshot::replace(out, &text).map_err(|error| Failure::io(out, &error))?;
    }
    skipped.extend(fitted.before.skipped.iter().cloned());
    let report = CalibrateReport { fitted: &fitted, skipped: &skipped };
    output::result(&match arguments.format {
        PlanFormat::Text => report.text(),
        PlanFormat::Json => report.json().map_err(Failure::unwritten)? + "\n",
    })?;
    Ok(Exit::Done)
}

/// The calibration's own file with the fitted values in it.
fn file(session: &Session, id: &str, fitted: &Fitted) -> Result<String, Failure> {
    // The user's own stands after the embedded one that it stands in for.
    let entry = session.library.entries(Kind::Calibration).filter(|entry| entry.id == id).last();
    let text = entry.map(|entry| &*entry.text).unwrap_or_default();
    calibrate::write(text, fitted).map_err(|what| Failure::Input(vec![format!("{id}: {what}")]))
}
