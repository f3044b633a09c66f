//! `validate`: predictions against published measurements.

use shardscope_engine::search::Evaluator;
use shardscope_evidence::measured;
use shardscope_report::figures::ValidateReport;

use super::args::ValidateArgs;
use super::exit::{Exit, Failure};
use super::session::Session;
use super::{output, progress, rows};

pub(super) fn run(session: &Session, arguments: &ValidateArgs) -> Result<Exit, Failure> {
    if arguments.template {
        return output::result(&measured::template()).map(|()| Exit::Done);
    }
    let waiting = progress::waiting("comparing runs with what is predicted", &session.options);
    let (rows, mut skipped) = rows::read(&arguments.rows)?;
    if rows.is_empty() {
        return Err(rows::unread(&arguments.rows, &skipped));
    }
    let (cases, unbuilt) = measured::cases(&rows, &session.library);
    let pool = session.pool()?;
    let mut validation = measured::validate(&cases, |scenarios| Evaluator::on(&pool).summaries(scenarios));
    waiting.finish_and_clear();
    skipped.extend(unbuilt);
    skipped.append(&mut validation.skipped);
    if validation.residuals.is_empty() {
        return Err(rows::unread(&arguments.rows, &skipped));
    }
    validation.skipped = skipped;
    let report = ValidateReport { validation: &validation };
    output::table(arguments.format, || report.text(), || report.csv(), || report.json())?;
    Ok(Exit::Done)
}
