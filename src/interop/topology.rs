//! What a login node or a compute node says of its machine, as a cluster: Slurm, NVIDIA's and AMD's tools, InfiniBand's,
//! and NCCL's topology files.
//!
//! Takes the text of files. What none says is refused with the option that does. Not for measured links ([`super::nccl`]).

mod facts;
mod found;
mod xml;

use serde::Serialize;

use crate::hardware::{Cluster, Reliability};
use crate::presets::Library;
use crate::text::printable;
use crate::units::BytesPerSecond;

use super::report::{ImportError, ImportReport, Imported};

use facts::{MachineFacts, NodeKind, Said};

/// A machine as a preset has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundMachine {
    /// With the device and the inner links of a preset.
    pub cluster: Cluster,
}

/// What is said beside the files.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineWishes<'a> {
    /// The cluster's name.
    pub name: Option<&'a str>,
    /// How many nodes it has.
    pub nodes: Option<u32>,
    /// What a node sends to others, all ports together.
    pub rate: Option<BytesPerSecond>,
    /// The preset whose device, and whose links inside a node, it has.
    pub device: Option<&'a str>,
}

/// Devices by words of their names, and the presets that have them; of several, the options say which.
const DEVICES: [(&str, &[&str]); 8] = [
    ("h100", &["h100-80gb-dgx"]),
    ("h200", &["h200-141gb-dgx"]),
    ("gh200", &["gh200-96gb-alps"]),
    ("h800", &["h800-80gb"]),
    ("a800", &["a800-80gb"]),
    ("a100", &["a100-40gb-dgx", "a100-80gb-dgx"]),
    ("v100", &["v100-32gb-dgx1", "v100-32gb-dgx2"]),
    ("mi250", &["mi250x-frontier", "mi250x-lumi", "mi250-mosaic"]),
];

impl FoundMachine {
    /// The file of a preset: what its name gives is left out.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut table = toml::Table::try_from(&self.cluster)?;
        table.remove("id");
        toml::to_string(&table)
    }
}

/// Whether a text is one that a machine can be made from.
pub fn is_machine(file: &str, text: &str) -> bool {
    found::read(&printable(file), text, &mut MachineFacts::default()).is_ok()
}

/// The machine that `files`, each a name and a text, describe.
pub fn machine(
    files: &[(String, String)],
    library: &Library,
    wishes: MachineWishes<'_>,
) -> Result<Imported<FoundMachine>, Vec<ImportError>> {
    let mut facts = MachineFacts::default();
    let read = files.iter().filter_map(|(file, text)| found::read(&printable(file), text, &mut facts).err());
    let errors: Vec<ImportError> = read.collect();
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
) -> Result<Cluster, ImportError> {
    let kind = kind(facts, wishes.device)?;
    let id = device(facts, kind, wishes.device, report)?;
    let found = library.cluster(&id).map_err(|unknown| ImportError::new("--device", unknown.what(), unknown.fix()))?;
    let mut cluster = (*found).clone();
    report.take("device", &cluster.device.name, format!("preset {id}"));
    members(facts, kind, &mut cluster, report)?;
    rate(facts, wishes, &mut cluster, report)?;
    cluster.nodes = wishes.nodes.or(kind.map(|kind| kind.value.nodes));
    match (wishes.nodes, kind) {
        (Some(nodes), _) => report.take("nodes", nodes, "--nodes"),
        (None, Some(kind)) => report.take("nodes", kind.value.nodes, &kind.place),
        (None, None) => {
            return Err(ImportError::new("", "no file says how many nodes there are", "say so with --nodes"));
        }
    }
    let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    cluster.source = printable(&format!("imported from {}; device and links inside a node as {id}", names.join(", ")));
    cluster.name = printable(wishes.name.unwrap_or(&format!("{}, imported", cluster.device.name)));
    // What the preset's own site pays, draws and suffers is not this machine's.
    (cluster.price_per_device_hour, cluster.watts_per_device) = (None, None);
    cluster.reliability = Reliability::default();
    for (place, why) in &facts.ignored {
        report.ignore(place, *why);
    }
    report.ignore("switches between nodes", "no file says how they are joined, nor what other jobs send");
    match cluster.problems().into_iter().next() {
        Some((field, must)) => Err(ImportError::new(field, must, "name another preset with --device")),
        None => Ok(cluster),
    }
}

/// The scheduler's nodes that count: those of the device, or the only ones that have devices.
fn kind<'a>(facts: &'a MachineFacts, device: Option<&str>) -> Result<Option<&'a Said<NodeKind>>, ImportError> {
    let of = |kind: &&Said<NodeKind>| match device {
        Some(id) => kind.value.device.is_empty() || presets_of(&kind.value.device).contains(&id),
        None => true,
    };
    let kinds: Vec<&Said<NodeKind>> = facts.kinds.iter().filter(of).collect();
    let same = |one: &&&Said<NodeKind>| {
        (&one.value.device, one.value.devices) == (&kinds[0].value.device, kinds[0].value.devices)
    };
    if kinds.iter().filter(same).count() < kinds.len() {
        let all: Vec<String> =
            kinds.iter().map(|kind| format!("{} of {}", kind.value.nodes, kind.value.device)).collect();
        let what = format!("there are nodes of several kinds ({})", all.join(", "));
        return Err(ImportError::new("", what, "say with --device which of them count"));
    }
    Ok(kinds.iter().max_by_key(|kind| kind.value.nodes).copied())
}

fn presets_of(name: &str) -> &'static [&'static str] {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let known =
        DEVICES.iter().find(|(word, _)| words.iter().any(|other| *other == *word || *other == format!("{word}x")));
    known.map_or(&[], |(_, presets)| presets)
}

/// The preset that has the device which the files name.
fn device(
    facts: &MachineFacts,
    kind: Option<&Said<NodeKind>>,
    said: Option<&str>,
    report: &mut ImportReport,
) -> Result<String, ImportError> {
    if let Some(id) = said {
        return Ok(id.to_owned());
    }
    let listed = facts.names.first().map(|name| (name.value.clone(), name.place.clone()));
    let typed = || {
        kind.filter(|kind| !kind.value.device.is_empty()).map(|kind| (kind.value.device.clone(), kind.place.clone()))
    };
    let Some((name, place)) = listed.or_else(typed) else {
        let fix = "say with --device which preset has it, like --device h100-80gb-dgx";
        return Err(ImportError::new("", "no file names the devices", fix));
    };
    let lower = name.to_lowercase();
    let mut presets: Vec<&str> = presets_of(&name).to_vec();
    if presets.is_empty() {
        let what = format!("no preset has '{name}'");
        return Err(ImportError::new(
            place,
            what,
            "name one like it with --device, and correct the file that comes out",
        ));
    }
    let memory = facts.memory.iter().map(|memory| memory.value).fold(0.0, f64::max);
    if lower.contains("a100") {
        let (small, large) = (lower.contains("40gb"), lower.contains("80gb"));
        let wanted = match (small || (30e3..50e3).contains(&memory), large || memory > 70e3) {
            (true, false) => "40gb",
            (false, true) => "80gb",
            _ => "gb",
        };
        presets.retain(|id| id.contains(wanted));
    }
    let other = ["pcie", "nvl"].into_iter().find(|form| lower.contains(form));
    if presets.len() > 1 || other.is_some() {
        let what = match other {
            Some(form) => format!("'{name}' is the {} form, which no preset has", form.to_uppercase()),
            None => format!("'{name}' may be any of {}", presets.join(", ")),
        };
        return Err(ImportError::new(
            place,
            what,
            format!("say with --device which it is like, of {}", presets.join(", ")),
        ));
    }
    report.take("device.name", &name, place);
    Ok(presets[0].to_owned())
}

/// Devices of a node: what the files say must agree.
fn members(
    facts: &MachineFacts,
    kind: Option<&Said<NodeKind>>,
    cluster: &mut Cluster,
    report: &mut ImportReport,
) -> Result<(), ImportError> {
    let scheduled = kind.map(|kind| Said { value: kind.value.devices, place: kind.place.clone() });
    let all: Vec<Said<u32>> = facts.devices.iter().cloned().chain(scheduled).filter(|one| one.value > 0).collect();
    let Some(first) = all.first() else {
        report.assume("devices of a node", cluster.devices_per_node(), "the preset's; no file counts them");
        return Ok(());
    };
    if let Some(other) = all.iter().find(|other| other.value != first.value) {
        let what = format!("{} devices of a node here, {} at {}", other.value, first.value, first.place);
        return Err(ImportError::new(&other.place, what, "give files of one kind of node"));
    }
    let inner: u32 =
        cluster.levels.iter().take_while(|level| level.name != "node").filter_map(|level| level.members).product();
    if !first.value.is_multiple_of(inner.max(1)) {
        let what = format!("{} devices of a node are no whole number of packages of {inner}", first.value);
        return Err(ImportError::new(&first.place, what, "name another preset with --device"));
    }
    report.take("devices of a node", first.value, &first.place);
    let links = facts.links.first();
    if let Some(node) = cluster.levels.iter_mut().find(|level| level.name == "node") {
        // A map of links is of so many devices, and of no other number.
        if node.members != Some(first.value / inner.max(1)) {
            node.links.clear();
        }
        node.members = Some(first.value / inner.max(1));
        match links {
            // 18 links of 26.562 GB/s carry 25 each: what is printed counts symbols on the wire.
            Some(links) => {
                report.ignore(&links.place, "rates of links on the wire; the data sheet has what they carry");
            }
            None => report.assume("node.bandwidth", node.bandwidth, "the data sheet's; import links measures it"),
        }
    }
    Ok(())
}

/// What a node sends to others: ports times their rate, or what is said.
fn rate(
    facts: &MachineFacts,
    wishes: MachineWishes<'_>,
    cluster: &mut Cluster,
    report: &mut ImportReport,
) -> Result<(), ImportError> {
    let devices = f64::from(cluster.devices_per_node());
    let ports = facts.ports.iter().map(|ports| ports.value).max();
    // `ibstat` lists each port by itself, a topology all of a node at once.
    let counted = facts.ports.iter().filter(|ports| ports.value == 1).count() as u32;
    let node = match (wishes.rate, facts.rates.first(), ports) {
        (Some(rate), ..) => {
            report.take("system.injection", rate, "--rate");
            rate
        }
        (None, Some(rate), Some(ports)) => {
            let ports = ports.max(counted);
            let node = BytesPerSecond::new(rate.value * 1e9 / 8.0 * f64::from(ports));
            report.take("system.injection", node, format!("{}, {ports} ports of {} Gb/s", rate.place, rate.value));
            report.assume("ports", ports, "all of them carry training; --rate says otherwise, for a whole node");
            node
        }
        _ => {
            let what = "no file says how fast a node's ports are";
            return Err(ImportError::new("", what, "say with --rate what a node sends, like --rate '400 GB/s'"));
        }
    };
    let Some(system) = cluster.levels.last_mut() else { return Ok(()) };
    (system.bandwidth, system.injection) = (node / devices, Some(node));
    "ports of a node, shared by its devices; latency as the preset's".clone_into(&mut system.source);
    report.assume("system.latency", system.latency, "the preset's; import links measures it");
    Ok(())
}

#[cfg(test)]
mod tests;
