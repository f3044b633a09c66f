//! `import cluster`: what Slurm and the tools of a node say, as a cluster.

use std::path::PathBuf;

use shardscope_engine::disk::InputKind;
use shardscope_interop::topology::{self, MachineWishes};

use super::super::args::ImportClusterArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign::ReadText;
use super::super::session::Session;
use super::{called, deliver};

pub(super) fn run(session: &Session, arguments: &ImportClusterArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let ImportClusterArgs { files, name, nodes, rate, node_bandwidth, device, output } = arguments;
    let named = |file: &PathBuf| Ok((called(file), read(file, InputKind::Machine)?));
    let texts = files.iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
    let (name, device) = (name.as_deref(), device.as_deref());
    let wishes = MachineWishes { name, nodes: *nodes, rate: *rate, node_bandwidth: *node_bandwidth, device };
    let imported = topology::machine(&texts, &session.library, wishes)?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &text, &session.inputs, output)
}
