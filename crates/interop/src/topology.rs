//! Builds a cluster from what a login or compute node prints of its machine: Slurm, NVIDIA's, AMD's and InfiniBand's
//! tools, and NCCL's topology files.
//!
//! Takes the text of files. What no file gives is refused, with the option for it. [`super::nccl`] measures links.

mod cards;
mod facts;
mod found;
mod hosts;
mod inside;
mod nodes;
mod ports;
mod rocm;
mod slurm;
mod xml;

use serde::Serialize;

use shardscope_engine::hardware::{Cluster, Queue, Reliability};
use shardscope_engine::presets::Library;
use shardscope_engine::text::{self, printable};
use shardscope_engine::units::{Bytes, BytesPerSecond};

use super::report::{ImportReport, Imported};
use shardscope_engine::problem::Problem;

use cards::Card;
use facts::{MachineFacts, Sourced, UNKNOWN_COUNT};
use nodes::NodeGroup;

/// A machine, as in a preset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundMachine {
    /// The cluster, with a preset's device and inner links.
    pub cluster: Cluster,
}

/// The user's options beside the files.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineWishes<'a> {
    /// The cluster's name.
    pub name: Option<&'a str>,
    /// Number of nodes.
    pub nodes: Option<u32>,
    /// What a node sends to others, over all its ports together.
    pub rate: Option<BytesPerSecond>,
    /// What a device sends to others of its node, if the preset's links are absent.
    pub node_bandwidth: Option<BytesPerSecond>,
    /// The preset with the machine's device and its links inside a node; or the device's name, like `h100`.
    pub device: Option<&'a str>,
}

/// The command to run if a scheduler's table lacks something.
pub(crate) const SINFO: &str = "sinfo -o '%P|%D|%G|%N|%l'";

impl FoundMachine {
    /// The file of a preset, without the id: the file's name gives it.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut table = toml::Table::try_from(&self.cluster)?;
        table.remove("id");
        toml::to_string(&table)
    }
}

/// True if a machine can be built from a text.
pub(crate) fn is_machine(file: &str, text: &str) -> bool {
    found::read(&printable(file), text, &mut MachineFacts::default()).is_ok()
}

/// Builds the machine that `files`, each a name and a text, describe.
pub fn machine(
    files: &[(String, String)],
    library: &Library,
    wishes: MachineWishes<'_>,
) -> Result<Imported<FoundMachine>, Vec<Problem>> {
    let mut facts = MachineFacts::default();
    // All files are read into the same facts, in any order; a contradiction between two is found where the fact is used.
    let read = files.iter().filter_map(|(file, text)| found::read(&printable(file), text, &mut facts).err());
    let errors: Vec<Problem> = read.collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut report = ImportReport::default();
    described(&facts, files, library, wishes, &mut report)
        .map(|cluster| Imported { made: FoundMachine { cluster }, report })
        .map_err(|error| vec![error])
}

fn described(
    facts: &MachineFacts,
    files: &[(String, String)],
    library: &Library,
    wishes: MachineWishes<'_>,
    report: &mut ImportReport,
) -> Result<Cluster, Problem> {
    let mut groups = nodes::groups(&facts.kinds);
    let kind = kind(facts, &mut groups, library, wishes.device, report)?;
    let kind = kind.as_ref();
    let id = device(facts, kind, library, wishes.device, report)?;
    let found = library.cluster(&id).map_err(|unknown| Problem::new("--device", unknown.what(), unknown.fix()))?;
    let mut cluster = (*found).clone();
    report.take("device", &cluster.device.name, format!("preset {id}"));
    if let Some(other) = facts.names.first().filter(|name| !is_same(&name.value, &cluster.device.name)) {
        let why = format!("--device says so, where {} has '{}'", other.place, other.value);
        report.assume("device", &cluster.device.name, why);
    }
    memory(facts, &mut cluster, report);
    inside::put(facts, kind, wishes.node_bandwidth, &mut cluster, report)?;
    let nodes = wishes.nodes.or(kind.map(|kind| kind.nodes));
    rate(facts, wishes, nodes, &mut cluster, report)?;
    let counted = counted(kind, wishes.nodes, report)?;
    cluster.nodes = Some(counted);
    let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    cluster.source = printable(&format!("imported from {}; device and links inside a node as {id}", names.join(", ")));
    let plural = if counted == 1 { "" } else { "s" };
    cluster.name = text::name(wishes.name.unwrap_or(&format!("{}, {counted} node{plural}", cluster.device.name)));
    cluster.queue = queue(facts, kind, report);
    // The price, power and failures of the preset's site are not this machine's.
    (cluster.price_per_device_hour, cluster.watts_per_device) = (None, None);
    cluster.reliability = Reliability::default();
    for (place, why) in &facts.ignored {
        report.ignore(place, *why);
    }
    report.ignore("switches between nodes", "no file says how they are joined, nor what other jobs send");
    match cluster.problems().into_iter().next() {
        Some(Problem { field, what: must, .. }) => Err(Problem::new(field, must, "name another preset with --device")),
        None => Ok(cluster),
    }
}

/// The scheduler's nodes to use: those with the device that is meant, or the only ones with devices.
fn kind<'a>(
    facts: &MachineFacts,
    groups: &mut Vec<NodeGroup<'a>>,
    library: &Library,
    device: Option<&str>,
    report: &mut ImportReport,
) -> Result<Option<NodeGroup<'a>>, Problem> {
    let preset = |id: &str| library.cluster(id).map_or_else(|_| id.to_owned(), |cluster| cluster.device.name.clone());
    let meant = device.map(preset).or_else(|| facts.names.first().map(|name| name.value.clone()));
    let is_meant = |group: &NodeGroup| meant.as_deref().is_some_and(|name| is_same(name, group.device));
    // A single type may have any name; of several, the one that is meant counts.
    let several = groups.iter().any(|group| group.device != groups[0].device);
    let fit = |group: &&NodeGroup| !several || is_meant(group);
    let told = |group: &NodeGroup| match group.device {
        "" => format!("{} of {} devices without a type", group.nodes, group.devices),
        device => format!("{} of {device}", group.nodes),
    };
    if several && !groups.iter().any(is_meant) {
        let all: Vec<String> = groups.iter().map(told).collect();
        let what = format!("there are nodes of several kinds ({})", all.join(", "));
        let place = if device.is_some() { "" } else { "--device" };
        let fix = match device {
            Some(id) => format!("name with --device a preset with one of these devices, which {id} has not"),
            None => format!("say which of them count, like --device {}", groups[0].device),
        };
        return Err(Problem::new(place, what, fix));
    }
    // Nodes of one type may differ in their number of devices, or in the type's name: the larger part of the machine counts.
    let size = |at: &usize| u64::from(groups[*at].nodes) * u64::from(groups[*at].devices);
    let chosen = (0..groups.len()).filter(|at| fit(&&groups[*at])).max_by_key(size);
    let Some(chosen) = chosen else { return Ok(None) };
    let chosen = groups.swap_remove(chosen);
    for other in groups.iter() {
        let why = format!("{} nodes of another kind, {} devices each", other.nodes, other.devices);
        let name = if other.device.is_empty() { "nodes without a type" } else { other.device };
        report.ignore(name, why);
    }
    Ok(Some(chosen))
}

/// The limits of a job on the nodes to use.
fn queue(facts: &MachineFacts, kind: Option<&NodeGroup>, report: &mut ImportReport) -> Option<Queue> {
    let named = kind.map(|kind| kind.partition).filter(|name| !name.is_empty());
    let only = || if facts.queues.len() == 1 { facts.queues.values().next() } else { None };
    let Sourced { value: queue, place } = named.map_or_else(only, |name| facts.queues.get(name))?;
    report.take("queue.partition", &queue.partition, place);
    if let Some(longest) = queue.longest {
        report.take("queue.longest", longest, place);
    }
    if let Some(nodes) = queue.nodes {
        report.take("queue.nodes", nodes, place);
    }
    for other in facts.queues.keys().filter(|name| **name != queue.partition) {
        report.ignore(&format!("partition {other}"), "it has fewer of the nodes that count");
    }
    Some(queue.clone())
}

/// Number of nodes in the cluster, and its source.
fn counted(kind: Option<&NodeGroup>, said: Option<u32>, report: &mut ImportReport) -> Result<u32, Problem> {
    match (said, kind) {
        (Some(nodes), _) => {
            report.take("nodes", nodes, "--nodes");
            Ok(nodes)
        }
        (None, Some(kind)) => {
            let more = match kind.lines {
                0 | 1 => String::new(),
                lines => format!(" and {} more", lines - 1),
            };
            if kind.devices == UNKNOWN_COUNT {
                let why = "no column counts devices, so that those of one partition are taken: the largest, or one called gpu; --nodes says otherwise";
                report.assume("nodes", kind.nodes, format!("{}{more}: {why}", kind.place));
            } else if kind.named {
                report.take("nodes", kind.nodes, format!("{}{more}, each node once", kind.place));
            } else {
                let why = "counted without names, of the partition with the most, since partitions may share nodes; \
                           sinfo's %N names them, --nodes says otherwise";
                report.assume("nodes", kind.nodes, format!("{}{more}: {why}", kind.place));
            }
            Ok(kind.nodes)
        }
        (None, None) => Err(Problem::new("", "no file says how many nodes there are", "say so with --nodes")),
    }
}

/// True if a scheduler's type names a device of this name.
fn is_same(name: &str, kind: &str) -> bool {
    let is_word = || name.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == kind);
    Card::named(name).is_same(&Card::named(kind)) || is_word()
}

/// The preset that the user gives, or the one with the device that the user or the files name.
fn device(
    facts: &MachineFacts,
    kind: Option<&NodeGroup>,
    library: &Library,
    said: Option<&str>,
    report: &mut ImportReport,
) -> Result<String, Problem> {
    if let Some(id) = said.filter(|id| library.cluster(id).is_ok() || cards::of_name(id, library).is_empty()) {
        return Ok(id.to_owned());
    }
    let named = said.map(|name| (name.to_owned(), "--device".to_owned()));
    let listed = facts.names.first().map(|name| (name.value.clone(), name.place.clone()));
    let typed =
        || kind.filter(|kind| !kind.device.is_empty()).map(|kind| (kind.device.to_owned(), kind.place.to_owned()));
    let Some((name, place)) = named.or(listed).or_else(typed) else {
        let fix = format!("say which preset has them, like --device h100-80gb-dgx, or print them: {SINFO}");
        return Err(Problem::new("--device", "no file names the devices", fix));
    };
    let presets = cards::of_name(&name, library);
    if presets.is_empty() {
        let what = format!("no preset has '{name}'");
        return Err(Problem::new(place, what, "name one like it with --device, and correct the file that comes out"));
    }
    let driver = facts.memory.iter().map(|memory| memory.value).reduce(f64::max);
    let alike = cards::alike(&name, driver, &presets);
    if let [only] = alike[..] {
        report.take("device.name", &name, place);
        return Ok(only.id.clone());
    }
    let all = presets.iter().map(|known| known.id.as_str()).collect::<Vec<_>>().join(", ");
    let card = Card::named(&name);
    let what = match (alike.is_empty(), card.form.filter(|form| !form.starts_with("sxm")), card.gigabytes) {
        (true, Some(form), _) => format!("'{name}' is the {} form, which no preset has", form.to_uppercase()),
        (true, None, Some(size)) => format!("'{name}' has {size} GB, which no preset of it has"),
        _ => format!("'{name}' may be any of {all}"),
    };
    Err(Problem::new(format!("--device, {place}"), what, format!("say with --device which it is like, of {all}")))
}

/// Sets the memory from the driver, or else from the device's name, if it differs from the preset's device: the same
/// product is sold with several sizes.
fn memory(facts: &MachineFacts, cluster: &mut Cluster, report: &mut ImportReport) {
    let reported = facts.memory.iter().max_by(|one, other| one.value.total_cmp(&other.value));
    let of_name = || {
        let name = facts.names.first().filter(|name| is_same(&name.value, &cluster.device.name))?;
        Some((f64::from(Card::named(&name.value).gigabytes?) * 1024.0, &name.place))
    };
    let Some((most, place)) = reported.map(|most| (most.value, &most.place)).or_else(of_name) else { return };
    let said = Bytes::new(most * f64::from(1 << 20));
    // An 80 GiB device reports 81,559 MiB, 0.4 % less; a name gives whole GB.
    let tolerance = if reported.is_some() { 0.05 } else { 0.1 };
    if (said.get() / cluster.device.memory.get() - 1.0).abs() > tolerance {
        report.take("device.memory", said, place);
        (cluster.device.memory, cluster.device.usable) = (said, None);
        // The preset's name includes its own device's memory.
        if let Some(name) = facts.names.first() {
            cluster.device.name = printable(&name.value);
        }
    }
}

/// Sets what a node sends to others: ports times their rate, or what the user gives.
fn rate(
    facts: &MachineFacts,
    wishes: MachineWishes<'_>,
    nodes: Option<u32>,
    cluster: &mut Cluster,
    report: &mut ImportReport,
) -> Result<(), Problem> {
    let devices = f64::from(cluster.devices_per_node());
    let near = facts.ports.iter().map(|ports| ports.value).max();
    let fastest = facts.rates.iter().max_by(|one, other| one.value.total_cmp(&other.value));
    let node = match (wishes.rate, fastest) {
        (Some(rate), _) => {
            report.take("system.injection", rate, "--rate");
            rate
        }
        (None, Some(fastest)) => {
            // Ports near devices, which are the fast ones; else all that are listed.
            let (ports, gigabits) = match near {
                Some(ports) => (ports, fastest.value * f64::from(ports)),
                None => (facts.rates.len() as u32, facts.rates.iter().map(|rate| rate.value).sum()),
            };
            let node = BytesPerSecond::new(gigabits * 1e9 / 8.0);
            let place = format!("{}, {ports} ports of {} Gb/s at most", fastest.place, fastest.value);
            report.take("system.injection", node, place);
            report.assume("ports", ports, "all of them carry training; --rate says otherwise, for a whole node");
            node
        }
        (None, None) if nodes == Some(1) => {
            report.assume(
                "system.injection",
                "the preset's",
                "one node sends nothing to others; --rate says otherwise",
            );
            return Ok(());
        }
        (None, None) => {
            let what = "no file says how fast a node's ports are";
            return Err(Problem::new("--rate", what, "say what a node sends, like --rate '400 GB/s'"));
        }
    };
    // Between racks, the ports of all nodes in a rack send.
    let below = cluster.levels.len().checked_sub(2).and_then(|below| cluster.devices_in(below));
    let nodes = below.map_or(1, |below| below / cluster.devices_per_node());
    let Some(system) = cluster.levels.last_mut() else { return Ok(()) };
    (system.bandwidth, system.injection) = (node / devices, Some(node * f64::from(nodes)));
    "ports of a node, shared by its devices; latency as the preset's".clone_into(&mut system.source);
    report.assume("system.latency", system.latency, "the preset's; import links measures it");
    Ok(())
}

#[cfg(test)]
mod tests;
