//! `eval`: one scenario, everything about it.

use shardscope_engine::evaluate::Workspace;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{self, Cancel, Evaluator, OwnFigure};
use shardscope_evidence::calibrate::{AttributionError, RunDiagnosis};
use shardscope_interop::runs_in::runs_in;
use shardscope_library::command;
use shardscope_report::figures::{self, EvaluationReport, Figures};
use shardscope_report::snapshot::Opened;

use super::args::{EvalArgs, EvalFormat, ScenarioArgs};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle, refused};
use super::{files, output};

pub(super) fn run(session: &Session, eval: &EvalArgs) -> Result<Exit, Failure> {
    if let Some(out) = &eval.out {
        files::refuse_taken(out, eval.force, &session.inputs)?;
    }
    let opened = session.open_possible(&eval.input)?;
    note_idle(&eval.input, [opened.scenario.plan.clone()]);
    let figure = eval.measured.or(eval.measured_mfu.map(OwnFigure::Mfu));
    let measured = figure.map(|figure| diagnose(session, figure, &opened.scenario)).transpose()?;
    let exit = report(&session.library, (&opened, &eval.input), eval.format, measured.as_ref())?;
    if eval.out.is_some() && figure.is_some_and(|figure| !figure.is_of_time()) {
        let fix = "measure the time of a step, or leave --out away";
        return Err(Failure::input(format!("--out: a peak of memory tells of no constant; {fix}")));
    }
    let learned = measured.as_ref().and_then(|told| told.attribution.as_ref());
    if let (Some(out), Some(learned)) = (&eval.out, learned) {
        let text = toml::to_string(&learned.calibration).map_err(Failure::unwritten)?;
        files::write(&[(out.clone(), &text)], eval.force)?;
    }
    Ok(exit)
}

/// The causes of a measured figure's gap to its prediction.
pub(super) fn diagnose(session: &Session, figure: OwnFigure, scenario: &Scenario) -> Result<RunDiagnosis, Failure> {
    let (pool, cancel) = (session.pool()?, Cancel::default());
    let evaluator = Evaluator::new(&pool, &cancel);
    RunDiagnosis::new(&session.library, scenario, figure, &evaluator).map_err(|error| match error {
        AttributionError::Impossible(problems) => problems.into(),
        error => Failure::input(format!("--measured: {error}")),
    })
}

/// Prints the report; a scenario that does not fit has one too.
pub(super) fn report(
    library: &Library,
    (opened, input): (&Opened, &ScenarioArgs),
    format: EvalFormat,
    measured: Option<&RunDiagnosis>,
) -> Result<Exit, Failure> {
    let Opened { file, scenario, stored, pins, .. } = opened;
    let mut workspace = Workspace::default();
    let evaluation = search::full(scenario, &mut workspace).map_err(|problems| refused(&problems, input))?;
    let comparison = search::compare(library, file, scenario, &evaluation.summary, &mut workspace)?;
    let now = Figures::new(scenario, &evaluation);
    let doubt = stored.as_ref().and_then(|stored| stored.doubt(&now));
    if let Some(doubt) = doubt {
        output::warning(&doubt);
    }
    for pin in pins.iter().filter(|pin| pin.scenario != *scenario) {
        let Some(stored) = pin.stored.as_ref().filter(|stored| stored.is_own()) else { continue };
        let evaluation = search::full(&pin.scenario, &mut workspace)?;
        if let Some(doubt) = stored.doubt(&Figures::new(&pin.scenario, &evaluation)) {
            output::warning(&format!("{}: {doubt}", pin.name));
        }
    }
    // There is nothing to put beside figures that came out again.
    let stored = stored.as_ref().filter(|stored| !stored.is_own() || doubt.is_some());
    let report = || {
        EvaluationReport::new(scenario, &evaluation, comparison.as_ref())
            .with_command(command::eval(library, scenario).as_deref())
            .with_measured(measured)
            .with_runs_in(&runs_in(scenario))
    };
    match format {
        EvalFormat::Text => {
            let beside = stored.map(|stored| figures::beside(&stored.version, &stored.figures, &now));
            let published = comparison.as_ref().map(figures::published);
            let fix = (!evaluation.summary.fits).then(|| search::fix(scenario, &mut workspace)).flatten();
            let text = figures::text(scenario, &evaluation, fix.as_ref());
            let told = measured.map(figures::measured).unwrap_or_default();
            output::result(&(text + &told + &published.unwrap_or_default() + &beside.unwrap_or_default()))?;
        }
        EvalFormat::Json => output::json(&report().to_json())?,
        EvalFormat::Toml => output::result(&report().to_toml().map_err(Failure::unwritten)?)?,
    }
    Ok(if evaluation.summary.fits { Exit::Done } else { Exit::DoesNotFit })
}
