//! Results as text, JSON, TOML and CSV: what the commands print.
//!
//! Pure functions from results to text. Not for computing figures, and not for writing files.

mod calibrate;
mod caveats;
mod comparison;
mod diagnosis;
mod figures;
mod intensity;
mod layers;
mod limits;
mod lines;
mod measured;
mod plan;
mod post_training;
mod published;
mod search;
mod sequences;
mod setbacks;
mod support;
mod sweep;
mod text;
mod training;
mod validate;

use serde::Serialize;
use serde_json::{Value, json};

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::search::Comparison;
use shardscope_evidence::calibrate::RunDiagnosis;

use super::table::{joined, known, pretty};

pub use calibrate::CalibrateReport;
pub use caveats::{above_published, caveats, lacking};
pub use comparison::comparison;
pub use diagnosis::{apart_words, hypotheses, memory_words, prices, verdict_words};
pub use figures::Figures;
pub use intensity::{intensities, verdict};
pub use limits::{GridReport, LimitsReport};
pub use measured::{MeasuredReport, band_words, cause_cells, measured};
pub use plan::{PlanReport, ProfileReport};
pub use published::{PublishedAmounts, published};
pub use search::{
    RecipePlan, RunsIn, SearchReport, extent_words, folded, offload_words, plan_words, proven_words, so_far_words,
};
pub use sequences::{SequenceReport, change_of_length, longest_words, needs_words, step_words, tried_words};
pub use support::SupportReport;
pub use sweep::{SweepCells, SweepReport};
pub use text::StepLimit;
pub use text::{Verdict, beside, changed, limit, safety_words, text};
pub use training::TrainingReport;
pub use validate::ValidateReport;

use text::held;

/// The format of every JSON and TOML that is printed.
const FORMAT: u32 = 1;

/// An evaluation with the scenario that it is of, the intensities of its transfers, and what was published of the
/// scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationReport(Value);

impl EvaluationReport {
    /// The report of an evaluation, beside the published figures of the scenario.
    pub fn new(scenario: &Scenario, evaluation: &Evaluation, comparison: Option<&Comparison>) -> Self {
        let head = json!({"format": FORMAT, "scenario": ScenarioFile::of(scenario)});
        let figures = joined(head, figures::record(scenario, evaluation));
        let published = comparison.map_or(json!({}), |known| json!({"published": published::record(known)}));
        let intensities = intensity::intensities(scenario, &evaluation.details.transfers).objects();
        Self(joined(joined(figures, json!({"intensities": intensities})), published))
    }

    /// With what a measured figure says of the evaluation.
    #[must_use]
    pub fn with_measured(self, measured: Option<&RunDiagnosis>) -> Self {
        Self(joined(self.0, json!({"measured": measured.map(measured::record)})))
    }

    /// With the command line that gives the evaluation, where there is one.
    #[must_use]
    pub fn with_command(self, command: Option<&str>) -> Self {
        let note = command.is_none().then_some("no flags can express this scenario: write it to a file");
        let said = json!({"command": command});
        let noted = note.map_or(json!({}), |note| json!({"command_note": note}));
        Self(joined(joined(self.0, said), noted))
    }

    /// With the launchers that run the plan as planned, by name.
    #[must_use]
    pub fn with_runs_in(self, names: &[&str]) -> Self {
        Self(joined(self.0, json!({"runs_in": names})))
    }

    /// The document itself; a number that is not finite is `null`.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn to_json(&self) -> String {
        pretty(&self.0)
    }

    /// As TOML; a number that is not finite is left out.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(&known(self.0.clone()))
    }
}

#[cfg(test)]
pub(crate) mod tests;
