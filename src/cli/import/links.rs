//! `import links`: logs of nccl-tests and rccl-tests as a cluster's measured links.

use std::path::PathBuf;

use crate::interop::nccl::{self, LinkOptions};
use crate::interop::report::ImportError;
use crate::presets::Library;

use super::super::args::ImportLinksArgs;
use super::super::cluster;
use super::super::exit::{Exit, Failure};
use super::super::foreign::text_of;
use super::{called, deliver};

pub(super) fn run(library: &Library, arguments: &ImportLinksArgs) -> Result<Exit, Failure> {
    let ImportLinksArgs { files, cluster, collective, name, output } = arguments;
    let base = cluster::scenario_on(library, cluster)?;
    let read = |file: &PathBuf| Ok((called(file), text_of(file)?));
    let logs = files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let options = LinkOptions { collective: *collective, name: name.as_deref() };
    let refused = |errors: Vec<ImportError>| Failure::Input(errors.iter().map(ToString::to_string).collect());
    let imported = nccl::links(&logs, &base, options).map_err(refused)?;
    let text = imported.made.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &text, files.iter().map(PathBuf::as_path), output)
}
