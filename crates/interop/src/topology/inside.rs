//! The inside of a node: number of devices and their links, compared with the preset's.

use crate::report::ImportReport;
use shardscope_engine::hardware::{Architecture, Cluster, Level};
use shardscope_engine::problem::Problem;
use shardscope_engine::units::BytesPerSecond;

use super::facts::{DirectLinks, JoinedPairs, MachineFacts, Sourced, UNKNOWN_COUNT};
use super::nodes::NodeGroup;

/// The most that a `PCIe` slot carries in one direction: 16 lanes of version 5.
const PCIE: BytesPerSecond = BytesPerSecond::new(64e9);

/// Sets a node's devices and links.
pub fn put(
    facts: &MachineFacts,
    kind: Option<&NodeGroup>,
    said: Option<BytesPerSecond>,
    cluster: &mut Cluster,
    report: &mut ImportReport,
) -> Result<(), Problem> {
    members(facts, kind, cluster, report)?;
    match said {
        Some(said) => {
            report.take("node.bandwidth", said, "--node-bandwidth");
            grouped(facts, said, cluster, report);
            Ok(())
        }
        None => compared(facts, cluster, report),
    }
}

/// Number of devices in each group below the node level.
fn package(cluster: &Cluster) -> u32 {
    let inner = cluster.levels.iter().take_while(|level| level.name != "node");
    inner.filter_map(|level| level.members).product::<u32>().max(1)
}

fn node(cluster: &mut Cluster) -> Option<&mut Level> {
    cluster.levels.iter_mut().find(|level| level.name == "node")
}

/// The level that holds several dies as one device: unlike bridges between cards, it is not optional.
const PACKAGE: &str = "package";

/// Removes bridges between cards if a file shows that there are none: a single card, cards that do not divide into
/// bridged groups, or a matrix with `PCIe` alone.
fn without_bridges(facts: &MachineFacts, cluster: &mut Cluster, report: &mut ImportReport) {
    let bridged = package(cluster);
    let apart = facts.devices.iter().find(|devices| devices.value > 0 && !devices.value.is_multiple_of(bridged));
    let unjoined = facts.pairs.iter().find(|pairs| pairs.value.direct.is_empty() && pairs.value.pcie > 0);
    let place = apart.map(|devices| &devices.place).or(unjoined.map(|pairs| &pairs.place));
    let Some(place) =
        place.filter(|_| cluster.levels.first().is_some_and(|level| !["node", PACKAGE].contains(&&*level.name)))
    else {
        return;
    };
    let inner = cluster.levels.iter().take_while(|level| level.name != "node").count();
    let names: Vec<String> = cluster.levels.drain(..inner).map(|level| level.name).collect();
    report.ignore(&names.join(", "), format!("the preset's bridges between cards are not there ({place})"));
    if let Some(node) = node(cluster) {
        node.members = node.members.map(|members| members * bridged);
    }
}

/// Sets the devices per node; the files must agree.
fn members(
    facts: &MachineFacts,
    kind: Option<&NodeGroup>,
    cluster: &mut Cluster,
    report: &mut ImportReport,
) -> Result<(), Problem> {
    without_bridges(facts, cluster, report);
    let package = package(cluster);
    let scheduled = match kind.filter(|kind| kind.devices != UNKNOWN_COUNT) {
        Some(kind) => Some(scheduled(facts, kind, package, cluster, report)?),
        None => None,
    };
    let all: Vec<Sourced<u32>> = facts.devices.iter().cloned().chain(scheduled).filter(|one| one.value > 0).collect();
    let Some(first) = all.first() else {
        report.assume("devices of a node", cluster.devices_per_node(), "the preset's; no file counts them");
        return Ok(());
    };
    if let Some(other) = all.iter().find(|other| other.value != first.value) {
        let what = format!("{} devices of a node here, {} at {}", other.value, first.value, first.place);
        return Err(Problem::new(&other.place, what, "give files of one kind of node"));
    }
    if !first.value.is_multiple_of(package) {
        let what = format!("{} devices of a node are no whole number of packages of {package}", first.value);
        return Err(Problem::new(&first.place, what, "name another preset with --device"));
    }
    report.take("devices of a node", first.value, &first.place);
    if let Some(node) = node(cluster) {
        // A map of links holds for one number of devices only.
        if node.members != Some(first.value / package) {
            node.links.clear();
        }
        node.members = Some(first.value / package);
    }
    Ok(())
}

/// Devices per node in a scheduler's count. If packages hold several devices, some sites count devices, others packages.
fn scheduled(
    facts: &MachineFacts,
    kind: &NodeGroup,
    package: u32,
    cluster: &Cluster,
    report: &mut ImportReport,
) -> Result<Sourced<u32>, Problem> {
    let (count, whole) = (kind.devices, kind.devices.saturating_mul(package));
    let driver = facts.devices.iter().find(|one| one.value > 0);
    let known = driver.map_or(cluster.devices_per_node(), |said| said.value);
    let said = |value| Ok(Sourced { value, place: kind.place.to_owned() });
    if package == 1 || known == count {
        return said(count);
    }
    if known != whole {
        let what = format!("{count} may be devices of a node, or packages of {package}, which are {whole} devices");
        let fix = "give `rocm-smi --showtopo` of a node too, which counts devices";
        return Err(Problem::new(kind.place, what, fix));
    }
    let who = driver.map_or("the preset's node has", |_| "the driver lists");
    report.assume("packages of a node", count, format!("{}: packages of {package}, since {who} {whole}", kind.place));
    said(whole)
}

/// Compares the tools' direct links with the preset's, and refuses a difference.
fn compared(facts: &MachineFacts, cluster: &mut Cluster, report: &mut ImportReport) -> Result<(), Problem> {
    let (architecture, devices) = (cluster.device.architecture.clone(), cluster.devices_per_node());
    let Some(node) = node(cluster) else { return Ok(()) };
    let known = node.bandwidth;
    let fix = "name a preset with such links with --device, or say with --node-bandwidth what a device sends to others \
               of its node, like --node-bandwidth '20 GB/s'";
    let pairs = facts.pairs.first();
    if let Some(Sourced { value, place }) = pairs.filter(|pairs| pairs.value.groups(devices).len() > 1) {
        let all = value.pcie as usize + value.direct.len();
        let told = format!("{} of {all} pairs of devices are joined by PCIe", value.pcie);
        if known > PCIE {
            let what = format!("{told}, and the preset's devices send {known} to any other of their node");
            return Err(Problem::new(place, what, fix));
        }
        let why = format!("the data sheet's, though {told} ({place}); import links measures it");
        report.assume("node.bandwidth", known, why);
        return Ok(());
    }
    let counted = pairs.filter(|pairs| pairs.value.counted).map(|pairs| pairs_told(pairs, devices, &architecture));
    let told: Vec<ReportedLinks> =
        counted.into_iter().chain(facts.links.first().map(|links| links_told(links, &architecture))).collect();
    for ReportedLinks { place, words, readings } in &told {
        if !readings.iter().any(|rate| (rate.get() / known.get() - 1.0).abs() < 0.01) {
            let rates: Vec<String> = readings.iter().map(ToString::to_string).collect();
            let what = format!("{words}: {}, and the preset has {known}", rates.join(" through a switch, or "));
            return Err(Problem::new(place, what, fix));
        }
        report.take("node.bandwidth", known, format!("{place}: {words}"));
    }
    if told.is_empty() {
        report.assume("node.bandwidth", known, "the data sheet's; import links measures it");
    }
    Ok(())
}

/// Direct links that a tool prints, and the rates that a device may send over them.
struct ReportedLinks {
    place: String,
    words: String,
    readings: Vec<BytesPerSecond>,
}

/// Twelve links to each of seven others lead to a switch; four to each of three are direct: a matrix may show both.
fn pairs_told(Sourced { value, place }: &Sourced<JoinedPairs>, devices: u32, architecture: &str) -> ReportedLinks {
    let link = link(None, architecture);
    let of_one = value.fewest(devices);
    let counts = || value.direct.values().copied();
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let complete = value.direct.len() as u64 == u64::from(devices) * u64::from(devices.saturating_sub(1)) / 2;
    let alike = Some(most).filter(|most| complete && *most == least);
    let words = match alike {
        Some(most) => format!("NV{most} to each other device"),
        None => format!("NV{least} to NV{most}, {of_one} links of a device"),
    };
    let counts = alike.into_iter().chain(Some(of_one).filter(|_| devices > 2 || alike.is_none()));
    let readings = counts.map(|links| BytesPerSecond::new(f64::from(links) * link)).collect();
    ReportedLinks { place: place.clone(), words: format!("{words}, {} a link", BytesPerSecond::new(link)), readings }
}

fn links_told(Sourced { value, place }: &Sourced<DirectLinks>, architecture: &str) -> ReportedLinks {
    let DirectLinks { count, wire } = *value;
    let link = BytesPerSecond::new(link(wire, architecture));
    let on_wire = wire.map_or_else(String::new, |wire| format!(" ({wire} GB/s on the wire)"));
    let words = format!("{count} links that carry {link} each{on_wire}");
    ReportedLinks { place: place.clone(), words, readings: vec![BytesPerSecond::new(f64::from(count) * link.get())] }
}

/// Bytes per second of a link in one direction, by its rate on the wire where a tool prints it, else by the architecture: 25 GB/s
/// for `NVLink` 2 to 4, 50 GB/s for 5 (NVIDIA's data sheets).
fn link(wire: Option<f64>, architecture: &str) -> f64 {
    let by_wire = |wire: f64| if wire > 40.0 { 50 } else { 25 };
    1e9 * f64::from(wire.map_or_else(|| Architecture::named(architecture).link, by_wire))
}

/// Adds a level for groups of neighbours with direct links, if the node as a whole is slower.
fn grouped(facts: &MachineFacts, said: BytesPerSecond, cluster: &mut Cluster, report: &mut ImportReport) {
    let (architecture, devices) = (cluster.device.architecture.clone(), cluster.devices_per_node());
    let whole = package(cluster) == 1;
    let Some(node) = node(cluster) else { return };
    node.bandwidth = said;
    node.links.clear();
    "what --node-bandwidth says; latency as the preset's".clone_into(&mut node.source);
    let Some(Sourced { value, place }) = facts.pairs.first().filter(|pairs| pairs.value.counted) else { return };
    let groups = value.groups(devices);
    let size = groups.first().map_or(0, Vec::len) as u32;
    let neighbours = groups.iter().zip(0..).all(|(group, at)| group.iter().copied().eq(at * size..(at + 1) * size));
    if size < 2 || size == devices || !neighbours || !whole {
        report.ignore(&format!("{place}, direct links"), "--node-bandwidth says what the whole node has");
        return;
    }
    let bandwidth = BytesPerSecond::new(f64::from(value.fewest(devices)) * link(None, &architecture));
    report.take("group.bandwidth", bandwidth, format!("{place}: groups of {size} devices with direct links"));
    let source = "direct links, as nvidia-smi counts them; latency as the preset's".to_owned();
    let mut group = Level { name: "group".to_owned(), members: Some(size), bandwidth, source, ..node.clone() };
    group.measured = None;
    node.members = Some(devices / size);
    cluster.levels.insert(0, group);
}
