//! Measured runs on the command line: `validate`, `support` and `calibrate`, and the tables that they read.

use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::search::{self, Evaluator};
use shardscope_evidence::calibrate::{FitOptions, FittedRows, Prior, Unfitted};
use shardscope_evidence::measured::{self, MeasuredRow, Skipped};
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
    let found = FittedRows::new(&rows, &session.library, asked, &evaluate, &begins);
    bar.finish_and_clear();
    let found = match found {
        Ok(found) => found,
        Err(Unfitted::NoCase(more)) => {
            skipped.extend(more);
            return Err(refuse_rows(&arguments.rows, &skipped));
        }
        Err(Unfitted::Untold(what)) => return Err(Failure::input(what)),
    };
    skipped.extend(found.skipped.iter().cloned());
    let report = CalibrateReport { fitted: &found.fitted, skipped: &skipped };
    output::report(arguments.format, || report.text(), || report.json())?;
    if let Some(out) = &arguments.out {
        let text = found.file(&session.library).map_err(Failure::input)?;
        let runs = measured::groups(&found.cases, &found.fitted.crossed);
        let runs = measured::write_groups(&runs).map_err(Failure::unwritten)?;
        files::write(&[(out.clone(), &text), (out.with_extension("csv"), &runs)], arguments.force)?;
    }
    Ok(Exit::Done)
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
