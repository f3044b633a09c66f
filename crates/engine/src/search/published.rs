//! The runs that published figures are compared with; ratios need a second one. Not for the figures themselves.

use crate::evaluate::{Summary, Workspace, summary};
use crate::presets::Library;
use crate::scenario::file::{PublishedFigure, ScenarioFile};
use crate::scenario::{Edit, Field, Problem, Scenario, Value};

/// Published figures of a scenario, beside those computed here.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Where it was published.
    pub source: String,
    /// Assumptions of the comparison.
    pub note: Option<String>,
    /// Each figure.
    pub figures: Vec<PublishedComparison>,
}

/// A published figure and the run that it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedComparison {
    /// The published figure, and how far off it may be.
    pub published: PublishedFigure,
    /// Its run here.
    pub run: (Scenario, Summary),
    /// The run that a ratio is over.
    pub over: Option<(Scenario, Summary)>,
}

/// Every published figure of a file with the runs to compare it with; that of its scenario is known. `None` where nothing
/// was published.
pub fn compare(
    library: &Library,
    file: &ScenarioFile,
    scenario: &Scenario,
    known: &Summary,
    workspace: &mut Workspace,
) -> Result<Option<Comparison>, Vec<Problem>> {
    let Some(published) = &file.published else { return Ok(None) };
    // Each figure takes a copy of the file: without the figures, of which there may be many.
    let bare = ScenarioFile { published: None, ..file.clone() };
    let mut with = |edits: &[Edit]| {
        let mut file = bare.clone();
        file.edit(edits);
        let scenario = library.resolve_over(&file, Some(scenario))?;
        let summary = summary(&scenario, workspace)?;
        Ok::<_, Vec<Problem>>((scenario, summary))
    };
    let strategy = |id: &str| Edit { field: Field::Strategy, value: Value::Id(id.into()) };
    let mut figures = Vec::new();
    for figure in &published.figures {
        let own: Vec<Edit> = figure.strategy.as_deref().map(strategy).into_iter().collect();
        let run = if own.is_empty() { (scenario.clone(), *known) } else { with(&own)? };
        let over = match (&figure.over, figure.from_nodes) {
            (Some(over), _) => Some(with(&[strategy(over)])?),
            (None, Some(nodes)) => {
                // Each rank keeps its work while their number grows: the batch is not held.
                let size = vec![Edit::new(Field::Nodes, nodes), Edit::new(Field::Accumulate, scenario.plan.accumulate)];
                Some(with(&[own, size].concat())?)
            }
            (None, None) => None,
        };
        figures.push(PublishedComparison { published: figure.clone(), run, over });
    }
    Ok(Some(Comparison { source: published.source.clone(), note: published.note.clone(), figures }))
}
