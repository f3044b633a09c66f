//! Published figures beside those computed here; some of them need a second run.

use crate::evaluate::{Summary, Workspace, summary};
use crate::presets::Library;
use crate::scenario::file::{PublishedFigure, PublishedQuantity, ScenarioFile};
use crate::scenario::{Edit, Field, Problem, Scenario, Value};

/// What was published of a scenario, beside what is computed here.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Where it was published.
    pub source: String,
    /// What had to be assumed to compare.
    pub note: Option<String>,
    /// Each figure.
    pub figures: Vec<PublishedComparison>,
}

/// A published figure and this one, both in [`PublishedQuantity::unit`].
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedComparison {
    /// What was published, and how far off it may be.
    pub published: PublishedFigure,
    /// The published value.
    pub amount: f64,
    /// The value computed here.
    pub here: f64,
}

impl PublishedComparison {
    /// How far this figure is off, as a share of the published one.
    pub fn error(&self) -> f64 {
        self.here / self.amount - 1.0
    }

    /// Whether that is within the tolerance.
    pub fn within(&self) -> bool {
        self.error().abs() <= self.published.tolerance
    }
}

/// Every published figure of a file beside that of its scenario, whose figures are known; `None` where
/// nothing was published.
pub fn compare(
    library: &Library,
    file: &ScenarioFile,
    scenario: &Scenario,
    figures: &Summary,
    workspace: &mut Workspace,
) -> Result<Option<Comparison>, Vec<Problem>> {
    let Some(published) = &file.published else { return Ok(None) };
    // Each figure takes a copy of the file: without the figures, of which there may be many.
    let bare = ScenarioFile { published: None, ..file.clone() };
    let mut with = |edits: &[Edit]| {
        let mut file = bare.clone();
        file.edit(edits);
        summary(&library.resolve_over(&file, Some(scenario))?, workspace)
    };
    let strategy = |id: &str| Edit { field: Field::Strategy, value: Value::Id(id.into()) };
    let mut found = Vec::new();
    for figure in &published.figures {
        let Some(amount) = figure.amount() else { continue };
        let own: Vec<Edit> = figure.strategy.as_deref().map(strategy).into_iter().collect();
        let figures = if own.is_empty() { *figures } else { with(&own)? };
        let other = match (&figure.over, figure.from_nodes) {
            (Some(over), _) => with(&[strategy(over)])?,
            (None, Some(nodes)) => {
                // Each rank keeps its work while their number grows: the batch is not held.
                let size = vec![Edit::new(Field::Nodes, nodes), Edit::new(Field::Accumulate, scenario.plan.accumulate)];
                with(&[own, size].concat())?
            }
            (None, None) => figures,
        };
        found.push(PublishedComparison {
            published: figure.clone(),
            amount,
            here: here(figure.what, &figures, &other),
        });
    }
    Ok(Some(Comparison { source: published.source.clone(), note: published.note.clone(), figures: found }))
}

/// A quantity of a run; a ratio is over another run.
fn here(what: PublishedQuantity, figures: &Summary, other: &Summary) -> f64 {
    match what {
        PublishedQuantity::StepTime => figures.step_time.get(),
        PublishedQuantity::ForwardTime => figures.phases.forward.get(),
        PublishedQuantity::BackwardTime => figures.phases.backward.get(),
        PublishedQuantity::UpdateTime => figures.phases.update.get(),
        PublishedQuantity::Tokens => figures.tokens_per_s_per_device,
        PublishedQuantity::ModelFlop => figures.model_flops.get(),
        PublishedQuantity::HardwareFlop => figures.hardware_flops.get(),
        PublishedQuantity::Mfu => figures.mfu,
        PublishedQuantity::AllocatedMemory => (figures.memory.peak - figures.memory.parts.reserved).get(),
        PublishedQuantity::Speedup | PublishedQuantity::ScalingEfficiency => {
            figures.tokens_per_s_per_device / other.tokens_per_s_per_device
        }
    }
}
