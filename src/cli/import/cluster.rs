//! `import cluster`: what Slurm and the tools of a node say, as a cluster.

use std::path::PathBuf;

use crate::interop::report::ImportError;
use crate::interop::topology::{self, MachineWishes};
use crate::presets::Library;

use super::super::args::ImportClusterArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign::text_of;
use super::{called, deliver};

pub(super) fn run(library: &Library, arguments: &ImportClusterArgs) -> Result<Exit, Failure> {
    let ImportClusterArgs { files, name, nodes, rate, device, output } = arguments;
    let read = |file: &PathBuf| Ok((called(file), text_of(file)?));
    let texts = files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let wishes = MachineWishes { name: name.as_deref(), nodes: *nodes, rate: *rate, device: device.as_deref() };
    let refused = |errors: Vec<ImportError>| Failure::Input(errors.iter().map(ToString::to_string).collect());
    let imported = topology::machine(&texts, library, wishes).map_err(refused)?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &text, files.iter().map(PathBuf::as_path), output)
}
