//! The scenario that a file means, and what a map around it starts from.

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{CheckedScenario, Field, Problem, Scenario};

use crate::app::answers::axes;

/// The scenario that a file means, if it can be laid out; what it shares with the last one stays as it was there,
/// which may come from a snapshot.
pub(crate) fn resolve(
    library: &Library,
    file: &ScenarioFile,
    last: &Scenario,
) -> Result<CheckedScenario, Vec<Problem>> {
    library.resolve_over(file, Some(last))?.into_checked()
}

/// What the map's cells start from: the scenario without what the axes set, so that moving along them changes no cell.
pub(crate) fn base(library: &Library, file: &ScenarioFile, scenario: &Scenario, fields: [Field; 2]) -> Scenario {
    let mut file = file.clone();
    for field in fields.into_iter().filter(|field| field.is_in_sharding()) {
        file.plan.put(field, None);
    }
    let base = library.resolve_over(&file, Some(scenario)).unwrap_or_else(|_| scenario.clone());
    axes::common(fields, base)
}
