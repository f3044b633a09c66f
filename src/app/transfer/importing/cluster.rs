//! Clusters: what the tools of a machine print, what benchmarks measured of its links, and files of shardscope's own.

use std::sync::Arc;

use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::BytesPerSecond;
use shardscope_interop::nccl::{self, LinkOptions};
use shardscope_interop::report::ImportReport;
use shardscope_interop::topology::{self, MachineWishes};

use super::{ImportQuestion, ImportedFile, NamedText};

impl ImportQuestion {
    /// A machine from what its tools print.
    pub(super) fn machine(
        &self,
        kind: &'static str,
        texts: &[NamedText],
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        let option = |name| self.words.option(name);
        if let Some(other) = self.words.others(&["name", "nodes", "rate", "node-bandwidth", "device"]) {
            return Err(vec![other]);
        }
        let unread = |name: &str, text: &str| vec![format!("--{name}: '{text}' is none; write one like \"400 GB/s\"")];
        let rate = |name| {
            let read = |text: &str| text.parse::<BytesPerSecond>().map_err(|_| unread(name, text));
            option(name).map(read).transpose()
        };
        let count = |text: &str| text.parse().map_err(|_| vec![format!("--nodes: '{text}' is no count")]);
        let nodes = option("nodes").map(count).transpose()?;
        let wishes = MachineWishes {
            name: option("name"),
            nodes,
            rate: rate("rate")?,
            node_bandwidth: rate("node-bandwidth")?,
            device: option("device"),
        };
        let imported = topology::machine(texts, library, wishes)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        self.on(kind, imported.made.cluster, &imported.report, library)
    }

    /// The cluster in hand with its links as they were measured.
    pub(super) fn links(
        &self,
        kind: &'static str,
        texts: &[NamedText],
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        if let Some(other) = self.words.others(&["name"]) {
            return Err(vec![other]);
        }
        // All-gathers and reduce-scatters only: whether an all-reduce may stand for them is asked on the command line.
        let options = LinkOptions { collective: None, name: self.words.option("name") };
        let imported = nccl::links(texts, &self.scenario, options)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        self.on(kind, imported.made.cluster, &imported.report, library)
    }

    /// A cluster's own file.
    pub(super) fn own_cluster(&self, name: &str, text: &str, library: &Library) -> Result<ImportedFile, Vec<String>> {
        let cluster = library.cluster_from(text).map_err(|error| vec![error.in_file(name).to_string()])?;
        self.on("a cluster", cluster, &ImportReport::default(), library)
    }

    /// The scenario in hand on a cluster that is no preset.
    fn on(
        &self,
        kind: &'static str,
        mut cluster: Cluster,
        report: &ImportReport,
        library: &Library,
    ) -> Result<ImportedFile, Vec<String>> {
        cluster.id = library.new_id(Kind::Cluster, &cluster.name);
        let mut file = self.unpublished();
        file.cluster.clone_from(&cluster.id);
        // What the file said of another machine is not of this one.
        file.machine = None;
        let facts = Scenario { cluster: Arc::new(cluster), ..self.scenario.clone() };
        Self::changed(kind, file, &facts, report, "", library)
    }
}
