//! Results as text, JSON, TOML and CSV: what the commands print.
//!
//! Pure functions from results to text. Not for computing figures, and not for writing files.

mod bars;
mod calibrate;
mod figures;
mod intensity;
mod limits;
mod plan;
mod published;
mod sweep;
mod text;
mod training;
mod validate;

use serde::Serialize;

use crate::evaluate::Evaluation;
use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;
use crate::search::Comparison;

pub use calibrate::CalibrateReport;
pub use figures::{Band, Bottleneck, Bytes, Figures, Memory, Phases, Stage, Time, Traffic, Training};
pub use intensity::{IntensityRecord, verdict};
pub use limits::LimitsReport;
pub use plan::{GridReport, PlanReport, ProfileReport};
pub use published::{Published, PublishedFigure, published};
pub use sweep::SweepReport;
pub use text::{Limiting, Verdict, beside, changed, limit, text};
pub use training::TrainingReport;
pub use validate::ValidateReport;

/// The format of every JSON and TOML that is printed.
const FORMAT: u32 = 1;

/// An evaluation with the scenario that it is of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Version of the format.
    pub format: u32,
    /// What was evaluated.
    pub scenario: ScenarioFile,
    /// What came out.
    #[serde(flatten)]
    pub figures: Figures,
    /// Which transfers its arithmetic can hide.
    pub intensities: Vec<IntensityRecord>,
    /// What was published of the scenario, beside these figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

impl Report {
    /// Of an evaluation, beside what was published of the scenario.
    pub fn of(scenario: &Scenario, evaluation: &Evaluation, comparison: Option<&Comparison>) -> Self {
        Self {
            format: FORMAT,
            scenario: ScenarioFile::of(scenario),
            figures: Figures::of(scenario, evaluation),
            intensities: intensity::records(scenario),
            published: comparison.map(Published::of),
        }
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// As TOML; a number that is not finite is left out.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

#[cfg(test)]
pub(crate) mod tests;
