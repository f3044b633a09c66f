//! One run of the user's own: what its figure says of the constants behind the scenario that ran.

use std::fmt;

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{self, Diagnosis, Evaluator, OwnFigure};

use super::attribution::{Attribution, attribute};

/// Why a figure says nothing of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributionError {
    /// The scenario cannot be.
    Impossible(Vec<Problem>),
    /// No step takes so long.
    NoTime,
    /// It was stopped before it was told.
    Stopped,
    /// The calibration of this id has no posterior.
    NoPosterior(String),
}

/// What a figure of one run tells: which scenarios would have had it, and which constants.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDiagnosis {
    pub diagnosis: Diagnosis,
    /// The constants; none where it is of memory, whose constants have no posterior.
    pub attribution: Option<Attribution>,
}

impl RunDiagnosis {
    /// Diagnoses a figure of a scenario, attributes what constants may explain of the gap, and updates how sure a like step
    /// is.
    pub fn new(
        library: &Library,
        scenario: &Scenario,
        figure: OwnFigure,
        evaluator: &Evaluator<'_>,
    ) -> Result<Self, AttributionError> {
        let diagnosis = search::diagnose(library, scenario, figure, evaluator)
            .map_err(AttributionError::Impossible)?
            .ok_or(AttributionError::Stopped)?;
        let Some(seconds) = figure.seconds(&diagnosis.predicted) else {
            return Ok(Self { diagnosis, attribution: None });
        };
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(AttributionError::NoTime);
        }
        let attribution = attribute(scenario, seconds, &|scenarios| evaluator.summaries(scenarios));
        let stopped = evaluator.cancel().is_cancelled();
        let unknown = || AttributionError::NoPosterior(scenario.calibration.id.clone());
        let attribution = attribution.ok_or_else(|| if stopped { AttributionError::Stopped } else { unknown() })?;
        Ok(Self { diagnosis, attribution: Some(attribution) })
    }
}

impl fmt::Display for AttributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Impossible(problems) => problems.first().map_or(Ok(()), |problem| problem.fmt(f)),
            Self::Stopped => f.write_str("it was stopped; ask again"),
            Self::NoTime => f.write_str("must be a time above 0, like \"3.4 s\""),
            Self::NoPosterior(id) => write!(
                f,
                "calibration '{id}' does not say how sure its constants are, so that nothing explains a gap; `calibrate \
                 --prior none` writes a calibration that does"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use shardscope_engine::evaluate::{self, Workspace};
    use shardscope_engine::scenario::file;
    use shardscope_engine::search::Cancel;

    /// A utilisation of half the predicted one is a step of twice the predicted time.
    #[test]
    fn a_utilisation_is_a_step_time_of_the_same_work() {
        let library = shardscope_presets::library();
        let text = &library.scenario_text("default").expect("it is there").text;
        let scenario = library.resolve(&file::parse(text).expect("a scenario")).expect("possible");
        let found = evaluate::summary(&scenario, &mut Workspace::default()).expect("possible");
        let (pool, cancel) = (search::pool(Some(2)).expect("threads"), Cancel::default());
        let evaluator = Evaluator::new(&pool, &cancel);
        let told = |figure| RunDiagnosis::new(&library, &scenario, figure, &evaluator);
        let gap = |figure| told(figure).expect("possible").attribution.expect("a posterior").gap;
        let (half, same) = (gap(OwnFigure::Mfu(found.mfu / 2.0)), gap(OwnFigure::StepTime(found.step_time)));
        assert!((half - 1.0).abs() < 1e-9 && same.abs() < 1e-9, "{half} {same}");
        cancel.cancel();
        assert_eq!(told(OwnFigure::Mfu(0.4)), Err(AttributionError::Stopped));
    }
}
