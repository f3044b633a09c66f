//! `import links`: logs of nccl-tests and rccl-tests as a cluster's measured links.

use std::path::PathBuf;

use shardscope_engine::disk::InputKind;
use shardscope_interop::nccl::{self, LinkOptions};

use super::super::args::ImportLinksArgs;
use super::super::cluster;
use super::super::exit::{Exit, Failure};
use super::super::foreign::ReadText;
use super::super::session::Session;
use super::{called, deliver};

pub(super) fn run(session: &Session, arguments: &ImportLinksArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let ImportLinksArgs { files, cluster, collective, name, output } = arguments;
    let base = cluster::scenario_on(&session.library, cluster)?;
    let named = |file: &PathBuf| Ok((called(file), read(file, InputKind::LinkLog)?));
    let logs = files.iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
    let options = LinkOptions { collective: *collective, name: name.as_deref() };
    let imported = nccl::links(&logs, &base, options)?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &text, &session.inputs, output)
}
