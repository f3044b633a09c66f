//! Scenarios of the embedded presets, and what comes out of them.

use std::sync::{Arc, LazyLock};

use shardscope_engine::evaluate::{self, Summary, Workspace};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file;

/// The presets, read once.
pub static LIBRARY: LazyLock<Library> = LazyLock::new(shardscope_presets::library);

/// A preset scenario with another strategy; its other fields are there to be changed.
pub fn scenario(id: &str, strategy: &str) -> Scenario {
    let entry = LIBRARY.scenario_text(id).unwrap_or_else(|unknown| panic!("{unknown}"));
    let mut file = file::parse(&entry.text).unwrap_or_else(|error| panic!("{error}"));
    file.set("strategy", strategy).unwrap_or_else(|problem| panic!("{problem}"));
    LIBRARY.resolve(&file).unwrap_or_else(|problems| panic!("{problems:?}"))
}

pub fn summary(scenario: &Scenario) -> Summary {
    evaluate::summary(scenario, &mut Workspace::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// What the calibration says of the scenario's device, to be changed.
pub fn efficiency(scenario: &mut Scenario) -> &mut shardscope_engine::stack::Efficiency {
    let architecture = scenario.cluster.device.architecture.clone();
    let calibration = Arc::make_mut(&mut scenario.calibration);
    calibration.architectures.get_mut(&architecture).expect("the architecture has an entry")
}

/// How far a value is off what was published, as a share.
pub fn error(value: f64, published: f64) -> f64 {
    value / published - 1.0
}

/// Checks that a value is what was published, within a share.
pub fn within(share: f64, what: &str, value: f64, published: f64) {
    let error = error(value, published);
    assert!(error.abs() <= share, "{what}: {value} is {:+.1} % off {published}", 100.0 * error);
}
