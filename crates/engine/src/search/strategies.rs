//! One scenario with each strategy's placement of the state, to be held side by side.

use crate::evaluate::Summary;
use crate::presets::{Kind, Library};
use crate::scenario::field::Resolved;
use crate::scenario::{Edit, Field, Problem, Scenario, Value};

use super::candidate::Candidate;
use super::evaluator::Evaluator;

/// The figures of a scenario with a strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyOutcome {
    /// The strategy's id.
    pub id: String,
    /// Its number formats coarser than 16 bits.
    pub coarse: Vec<String>,
    /// Its figures, or why it is not possible.
    pub outcome: Result<Summary, Problem>,
}

/// The scenario with each strategy of the library, by its id.
pub fn strategies(library: &Library, scenario: &Scenario) -> Vec<(String, Candidate)> {
    let with = |id: &str| Some((id.to_owned(), with_strategy(library, scenario, id)?));
    library.entries(Kind::Strategy).filter_map(|entry| with(&entry.id)).collect()
}

/// The scenario with a strategy's placement of the state, by the same edits as taking it makes; with its own strategy
/// it stays as it is, refinements included.
pub fn with_strategy(library: &Library, scenario: &Scenario, id: &str) -> Option<Candidate> {
    let other = (*id != *scenario.strategy).then(|| library.strategy(id)).transpose().ok()?;
    let edit = other.map(|strategy| Edit {
        field: Field::Strategy,
        value: Value::Preset(Resolved::Strategy(id.into(), strategy.sharding.clone())),
    });
    Candidate::new(scenario, edit).ok()
}

/// Evaluates every strategy, in the order given.
pub fn outcomes(candidates: &[(String, Candidate)], evaluator: &Evaluator) -> Vec<StrategyOutcome> {
    let scenarios: Vec<Scenario> = candidates.iter().map(|(_, candidate)| candidate.scenario.clone()).collect();
    let figures = evaluator.summaries(&scenarios).into_iter();
    let outcome = |((id, candidate), figures): (&(String, Candidate), Result<Summary, Vec<Problem>>)| StrategyOutcome {
        id: id.clone(),
        coarse: candidate.scenario.plan.coarse_numbers(),
        outcome: figures.map_err(|problems| problems.into_iter().next().unwrap_or_else(not_possible)),
    };
    candidates.iter().zip(figures).map(outcome).collect()
}

fn not_possible() -> Problem {
    Problem {
        field: Field::Strategy.path().to_owned(),
        what: "is not possible".to_owned(),
        fix: "choose another".to_owned(),
    }
}
