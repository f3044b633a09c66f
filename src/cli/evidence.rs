//! Measured runs on the command line: `validate`, `support` and `calibrate`, and the tables that they read.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use toml_edit::DocumentMut;

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::presets::Kind;
use shardscope_engine::search::{self, Evaluator};
use shardscope_engine::stack::constants::CONSTANTS;
use shardscope_engine::text::printable;
use shardscope_engine::units::percent;
use shardscope_evidence::calibrate::{self, FitOptions, Fitted, Prior};
use shardscope_evidence::measured::{self, Case, MeasuredRow, Metric, Scores, Skipped, Validation};
use shardscope_interop::import::name_of;
use shardscope_library::disk::InputKind;
use shardscope_library::folders;
use shardscope_report::figures::{CalibrateReport, SupportReport, ValidateReport};

use super::args::{CalibrateArgs, SupportArgs, TableForm, ValidateArgs};
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{files, output, progress};

/// `validate`: predictions beside published measurements.
pub(super) fn validate(session: &Session, arguments: &ValidateArgs) -> Result<Exit, Failure> {
    if arguments.template {
        return output::result(&measured::template()).map(|()| Exit::Done);
    }
    let waiting = progress::waiting("comparing runs with what is predicted", &session.options);
    let (rows, mut skipped) = read_rows(&arguments.rows)?;
    if rows.is_empty() {
        return Err(refuse_rows(&arguments.rows, &skipped));
    }
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    let pool = session.pool()?;
    let evaluate = |scenarios: &[_]| Evaluator::on(&pool).summaries(scenarios);
    let mut validation = measured::validate(&cases, evaluate);
    if arguments.format == TableForm::Json {
        measured::add_bands(&mut validation, &cases, evaluate);
    }
    waiting.finish_and_clear();
    skipped.extend(unbuilt);
    skipped.append(&mut validation.skipped);
    if validation.residuals.is_empty() {
        return Err(refuse_rows(&arguments.rows, &skipped));
    }
    validation.skipped = skipped;
    let report = ValidateReport { validation: &validation };
    output::table(arguments.format, || report.text(), || report.csv(), || report.json())?;
    Ok(Exit::Done)
}

/// `support`: the measured runs behind a scenario, and how near they are.
pub(super) fn support(session: &Session, arguments: &SupportArgs) -> Result<Exit, Failure> {
    let scenario = session.open_possible(&arguments.input)?.scenario;
    let mut workspace = Workspace::default();
    let evaluation = search::full(&scenario, &mut workspace)?;
    let slopes = search::slopes(&scenario, evaluation.summary.step_time, &mut workspace);
    let table = folders::evidence(&session.library, &scenario.calibration.id).map_err(Failure::input)?;
    let groups = measured::read_groups(&table)
        .map_err(|what| Failure::input(format!("the runs behind calibration '{}': {what}", scenario.calibration.id)))?;
    let nearest = measured::nearest(&groups, &scenario);
    let report = SupportReport { scenario: &scenario, evaluation: &evaluation, slopes: &slopes, groups: &nearest };
    output::report(arguments.format, || report.text(), || report.json())?;
    Ok(Exit::Done)
}

/// `calibrate`: constants fitted to measured rows, and the file that holds them.
pub(super) fn calibrate(session: &Session, arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        for file in [out.clone(), out.with_extension("csv")] {
            files::refuse_taken(&file, arguments.force, &session.inputs)?;
        }
    }
    let (rows, mut skipped) = read_rows(&arguments.rows)?;
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    skipped.extend(unbuilt);
    // Predicted with the default's they would teach it what other software does.
    let (cases, unknown): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(Case::is_of_known_stack);
    skipped.extend(unknown.iter().map(|case| {
        let why = format!("no stack '{}'; `shardscope presets stacks` lists them", printable(case.row.text("stack")));
        Skipped::new(&case.row.id(), &why)
    }));
    let Some(id) = cases.first().map(|case| case.scenario().stack.calibration.clone()) else {
        return Err(refuse_rows(&arguments.rows, &skipped));
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
    let CalibrateArgs { prior, nested, .. } = *arguments;
    // What a shipped prior says was learnt of the rows that a nested fit must not have seen.
    let asked = FitOptions { prior: if nested { Prior::None } else { prior }, own_sets: !nested, nested };
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
        let text = fitted_file(session, &id, &fitted)?;
        let runs = measured::write_groups(&measured::groups(&cases, &fitted.crossed)).map_err(Failure::unwritten)?;
        files::write(&[(out.clone(), &text), (out.with_extension("csv"), &runs)], arguments.force)?;
    }
    Ok(Exit::Done)
}

/// The calibration's own file with the fitted values in it.
fn fitted_file(session: &Session, id: &str, fitted: &Fitted) -> Result<String, Failure> {
    let entry = session.library.entries(Kind::Calibration).find(|entry| entry.id == id);
    let text = entry.map(|entry| &*entry.text).unwrap_or_default();
    let wrong = |what: String| Failure::input(format!("{id}: {what}"));
    let mut document: DocumentMut = calibrate::write(text, fitted)
        .and_then(|text| text.parse().map_err(|error: toml_edit::TomlError| error.to_string()))
        .map_err(wrong)?;
    document["source"] = toml_edit::value(describe_fit(id, fitted));
    Ok(document.to_string())
}

/// A sentence on the rows that a fit rests on, and how far it is off.
fn describe_fit(id: &str, fitted: &Fitted) -> String {
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

/// The text of a table.
pub(super) fn read_table(file: &Path) -> Result<String, Failure> {
    files::read_lossy(file, InputKind::Rows)
}

/// The failure of files without a run: the mistake in each line, or that there is no line.
pub(super) fn refuse_rows(files: &[PathBuf], skipped: &[Skipped]) -> Failure {
    if skipped.is_empty() {
        let line = |file: &PathBuf| format!("{}: holds no run; write each as a line under the header", name_of(file));
        return Failure::Input(files.iter().map(line).collect());
    }
    Failure::Input(skipped.iter().map(|Skipped { id, why }| format!("{id}: {why}")).collect())
}

/// The rows of the files, or the embedded ones where none is named.
fn read_rows(files: &[PathBuf]) -> Result<(Vec<MeasuredRow>, Vec<Skipped>), Failure> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |(more, without): (Vec<MeasuredRow>, Vec<Skipped>)| {
        rows.extend(more);
        skipped.extend(without);
    };
    for file in files {
        add(measured::read(&name_of(file), &read_table(file)?));
    }
    if files.is_empty() {
        for (name, text) in shardscope_presets::MEASURED {
            add(measured::read(name, text));
        }
    }
    Ok((rows, skipped))
}
