//! One run of the user's own: the figure that was measured, as it is typed, and what it says of the scenario that ran.

use std::fmt;
use std::str::FromStr;

use shardscope_engine::evaluate::{self, Summary, Workspace};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::Evaluator;
use shardscope_engine::units::{Seconds, precise_percent};

use super::attribution::{Attribution, attribute};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OwnFigure {
    /// How long a step took.
    StepTime(Seconds),
    /// The model flop utilisation, as a share of the peak.
    Mfu(f64),
}

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

impl OwnFigure {
    /// Attributes the gap between prediction and measurement, and updates how sure a like step is.
    pub fn attribute(self, scenario: &Scenario, evaluator: &Evaluator<'_>) -> Result<Attribution, AttributionError> {
        let predicted = evaluate::summary(scenario, &mut Workspace::default()).map_err(AttributionError::Impossible)?;
        let seconds = self.seconds(&predicted);
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(AttributionError::NoTime);
        }
        attribute(scenario, seconds, &|scenarios| evaluator.summaries(scenarios)).ok_or_else(|| {
            let stopped = evaluator.cancel().is_cancelled();
            if stopped {
                AttributionError::Stopped
            } else {
                AttributionError::NoPosterior(scenario.calibration.id.clone())
            }
        })
    }

    pub fn typed(self) -> String {
        match self {
            Self::StepTime(time) => time.to_string(),
            Self::Mfu(share) => precise_percent(share),
        }
    }

    /// Seconds of a step, from what is predicted of it.
    pub fn seconds(self, predicted: &Summary) -> f64 {
        match self {
            Self::StepTime(time) => time.get(),
            // The same work: the utilisation falls as the time grows.
            Self::Mfu(mfu) => predicted.step_time.get() * predicted.mfu / mfu,
        }
    }
}

impl FromStr for OwnFigure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unread = || format!("'{text}' is no measured step; write a time like 3.4 s, or a utilisation like 38 %");
        if let Some(percent) = text.trim().strip_suffix('%') {
            let share = percent.trim().parse::<f64>().map_err(|_| unread())? / 100.0;
            return if share > 0.0 && share <= 1.0 {
                Ok(Self::Mfu(share))
            } else {
                Err(format!("'{text}' is no utilisation; write one above 0 % and at most 100 %"))
            };
        }
        let time = text.trim().parse::<Seconds>().map_err(|_| unread())?;
        if time.get() > 0.0 && time.get().is_finite() { Ok(Self::StepTime(time)) } else { Err(unread()) }
    }
}

impl fmt::Display for OwnFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepTime(_) => f.write_str(&self.typed()),
            Self::Mfu(_) => write!(f, "{} MFU", self.typed()),
        }
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

    use shardscope_engine::scenario::file;
    use shardscope_engine::search::{self, Cancel};

    #[test]
    fn a_figure_is_a_time_or_a_share_and_says_which() {
        assert_eq!("3.4 s".parse(), Ok(OwnFigure::StepTime(Seconds::new(3.4))));
        assert_eq!("500 ms".parse(), Ok(OwnFigure::StepTime(Seconds::new(0.5))));
        assert_eq!("38%".parse(), Ok(OwnFigure::Mfu(0.38)));
        assert_eq!(" 38.5 % ".parse(), Ok(OwnFigure::Mfu(0.385)));
        for (text, why) in [("3.4", "3.4 s"), ("0 s", "3.4 s"), ("-1 s", "3.4 s"), ("120 %", "100 %"), ("x%", "38 %")] {
            let said = text.parse::<OwnFigure>().expect_err(text);
            assert!(said.contains(text) && said.contains(why), "{said}");
        }
    }

    /// A utilisation of half the predicted one is a step of twice the predicted time.
    #[test]
    fn a_utilisation_is_a_step_time_of_the_same_work() {
        let library = shardscope_presets::library();
        let text = &library.scenario_text("default").expect("it is there").text;
        let scenario = library.resolve(&file::parse(text).expect("a scenario")).expect("possible");
        let found = evaluate::summary(&scenario, &mut Workspace::default()).expect("possible");
        let (pool, cancel) = (search::pool(Some(2)).expect("threads"), Cancel::default());
        let evaluator = Evaluator::new(&pool, &cancel);
        let told = OwnFigure::Mfu(found.mfu / 2.0).attribute(&scenario, &evaluator).expect("a posterior");
        assert!((told.gap - 1.0).abs() < 1e-9, "{}", told.gap);
        let same = OwnFigure::StepTime(found.step_time).attribute(&scenario, &evaluator).expect("a posterior");
        assert!(same.gap.abs() < 1e-9, "{}", same.gap);
        cancel.cancel();
        assert_eq!(OwnFigure::Mfu(0.4).attribute(&scenario, &evaluator), Err(AttributionError::Stopped));
    }
}
