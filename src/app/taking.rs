//! What is taken from a map: a cell becomes the scenario.

use crate::scenario::file::ScenarioFile;
use crate::scenario::{Field, Problem, Scenario};

use super::effect::Effect;
use super::inputs::FIELDS;

/// The fields that a tuned cell settles on.
pub(super) const SETTLED: [&str; 3] = ["micro-batch", "accumulate", "recompute"];

/// The cell under the cursor is the scenario already.
pub(super) fn take_nothing() -> Vec<Effect> {
    vec![Effect::Tell("this is the present scenario: nothing to take".to_owned())]
}

/// A cell of a map over more or less hardware becomes the scenario, with the fields that it sets besides.
pub(super) fn take_hardware(
    cell: Result<Scenario, Problem>,
    flags: impl IntoIterator<Item = &'static str>,
    file: &ScenarioFile,
) -> Vec<Effect> {
    let Ok(cell) = cell else {
        return vec![Effect::Tell("not possible, so there is nothing to take".to_owned())];
    };
    let mut file = file.clone();
    for field in [Field::Bandwidth, Field::Memory] {
        file.plan.put(field, field.value(&cell));
    }
    let fields = flags.into_iter().filter_map(|flag| FIELDS.iter().find(|field| field.flag == flag));
    revise(file, fields.map(|field| (field.flag, field.read(&cell))), "took the hardware of the cell: u undoes it")
}

/// A file with some more fields becomes the scenario, if they can be set; then something is said.
pub(super) fn revise(
    mut file: ScenarioFile,
    fields: impl IntoIterator<Item = (&'static str, String)>,
    said: impl Into<String>,
) -> Vec<Effect> {
    for (flag, text) in fields {
        if let Err(problem) = file.set(flag, &text) {
            return vec![Effect::Tell(problem.to_string())];
        }
    }
    vec![Effect::Revise(Box::new(file), said.into())]
}
