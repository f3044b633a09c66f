//! Clusters that a flag names: a preset by its id, or a file that lies anywhere.

use std::path::Path;
use std::sync::Arc;

use shardscope_engine::disk::{self, InputKind};
use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::FileError;
use shardscope_report::snapshot;

use super::exit::Failure;

/// Whether a name is that of a file, not of a preset.
pub(super) fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// The cluster of a file. It gets an id that no preset has.
pub(super) fn read(library: &Library, path: &Path) -> Result<Cluster, Failure> {
    let text = disk::read_text(path, InputKind::Preset).map_err(|error| Failure::io(path, &error))?;
    let wrong = |error: FileError| Failure::input(error.in_file(&path.display().to_string()).to_string());
    library.cluster_from(&text).map_err(wrong)
}

/// The default scenario on a cluster.
pub(super) fn scenario_on(library: &Library, name: &str) -> Result<Scenario, Failure> {
    let unopened = |error: snapshot::OpenError| Failure::input(error.to_string());
    let mut scenario = snapshot::open("default", library).map_err(unopened)?.scenario;
    scenario.cluster = if is_file(name) {
        Arc::new(read(library, Path::new(name))?)
    } else {
        library.cluster(name).map_err(|unknown| Failure::input(format!("--cluster: {unknown}")))?
    };
    Ok(scenario)
}
