//! `support`: which measured runs stand behind a scenario, and how near they are.

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::search;
use shardscope_evidence::measured;
use shardscope_report::figures::SupportReport;

use super::args::SupportArgs;
use super::exit::{Exit, Failure};
use super::output;
use super::session::Session;

pub(super) fn run(session: &Session, arguments: &SupportArgs) -> Result<Exit, Failure> {
    let scenario = session.open_possible(&arguments.input)?.scenario;
    let mut workspace = Workspace::default();
    let evaluation = search::full(&scenario, &mut workspace)?;
    let slopes = search::slopes(&scenario, evaluation.summary.step_time, &mut workspace);
    let table = session.library.evidence(&scenario.calibration.id).map_err(Failure::input)?;
    let groups = measured::read_groups(&table)
        .map_err(|what| Failure::input(format!("the runs behind calibration '{}': {what}", scenario.calibration.id)))?;
    let nearest = measured::nearest(&groups, &scenario);
    let report = SupportReport { scenario: &scenario, evaluation: &evaluation, slopes: &slopes, groups: &nearest };
    output::report(arguments.format, || report.text(), || report.json())?;
    Ok(Exit::Done)
}
