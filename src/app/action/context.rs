//! The context of views and layers: the state of the explorer that they read and never change.

use std::sync::Arc;

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_report::figures::Figure;

use crate::app::answers::Answer;
use crate::app::answers::assumed::LimitAssumptions;
use crate::app::answers::own_run::OwnRun;
use crate::app::answers::pins::Pins;

/// The facts that a view is drawn from and a key is answered by, beside the view's own.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Everything that can be chosen.
    pub library: &'a Arc<Library>,
    /// The current scenario as its file says it.
    pub file: &'a ScenarioFile,
    /// The current scenario: the last one of the file that can be laid out.
    pub scenario: &'a Scenario,
    /// The scenario that the screen shows: the current one, or the map's cell under its cursor.
    pub shown: &'a Scenario,
    /// Whether what the screen is to show can be; where not, it shows the last one that could.
    pub is_possible: bool,
    /// Whether the fields as they stand make a scenario.
    pub fields_agree: bool,
    /// The last answer, perhaps of an earlier scenario.
    pub answer: Option<&'a Answer>,
    /// Whether the answer is that of an earlier scenario.
    pub stale: bool,
    /// The scenarios to compare with.
    pub pins: &'a Pins,
    /// The figure that the map shows.
    pub metric: Figure,
    /// A run of the user's own.
    pub measured: Option<Arc<OwnRun>>,
    /// The assumptions of the limits.
    pub assumed: LimitAssumptions,
    /// The pipeline rank that the timeline is at.
    pub rank: usize,
    /// Rows of a list that are seen at once.
    pub page: usize,
}

impl Context<'_> {
    /// The names of figures of the answer.
    pub fn names(&self, figures: Vec<Figure>) -> Option<Vec<String>> {
        let subject = self.answer?.subject();
        Some(figures.into_iter().map(|figure| figure.name(&subject).unwrap_or_default()).collect())
    }
}
