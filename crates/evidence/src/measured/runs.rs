//! Published runs of whole tables, and what comes out of them here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::measured::{self, Residual, Validation};
use shardscope_engine::evaluate::Summary;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::Evaluator;

/// Tables of measured runs, each with its name, and what their words mean.
#[derive(Debug, Clone)]
pub struct Tables {
    pub library: Arc<Library>,
    /// The program's own where there is none.
    pub files: Arc<Vec<(String, String)>>,
}

impl PartialEq for Tables {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.library, &other.library) && Arc::ptr_eq(&self.files, &other.files)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRun {
    /// The run; of two between which it lies the one with fewer micro-batches.
    pub scenario: Scenario,
    pub summary: Summary,
    /// Where it was published.
    pub source: String,
    /// Assumptions for blank cells: `sequence 2048`.
    pub assumed: Vec<String>,
}

/// Every run that could be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedRuns {
    /// Predictions beside measurements.
    pub validation: Validation,
    pub runs: BTreeMap<String, PublishedRun>,
}

impl ComparedRuns {
    pub fn run(&self, residual: &Residual) -> Option<&PublishedRun> {
        self.runs.get(&residual.id)
    }
}

/// Builds, evaluates and compares the runs of some tables.
pub fn compare(tables: &Tables, evaluator: &Evaluator) -> ComparedRuns {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |name: &str, text: &str| {
        let (more, without) = measured::read(name, text);
        rows.extend(more);
        skipped.extend(without);
    };
    for (name, text) in shardscope_presets::MEASURED.iter().filter(|_| tables.files.is_empty()) {
        add(name, text);
    }
    for (name, text) in tables.files.iter() {
        add(name, text);
    }
    let (cases, unbuilt) = measured::cases(&rows, &tables.library);
    let mut figures = Vec::new();
    let mut validation = measured::validate(&cases, |scenarios| {
        let found = evaluator.summaries(scenarios);
        figures.extend(found.iter().map(|one| one.as_ref().ok().copied()));
        found
    });
    skipped.extend(unbuilt);
    validation.skipped.extend(skipped);
    let mut figures = figures.into_iter();
    let mut runs = BTreeMap::new();
    for case in &cases {
        let own: Vec<Option<Summary>> = figures.by_ref().take(case.scenarios.len()).collect();
        let Some(summary) = own.first().copied().flatten() else { continue };
        let assumed = case.assumed.iter().map(|one| format!("{} {}", one.column, printable(&one.value)));
        let run = PublishedRun {
            scenario: case.scenario().clone(),
            summary,
            source: printable(case.row.text("source")),
            assumed: assumed.collect(),
        };
        runs.insert(case.row.id(), run);
    }
    ComparedRuns { validation, runs }
}
