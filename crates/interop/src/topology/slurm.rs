//! Slurm's nodes: `sinfo` with `%G`, `scontrol show node`, and what both print as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use shardscope_engine::problem::Problem;

use super::facts::{MachineFacts, NodeKind, Said};
use super::hosts;

/// The most nodes that a cell of names is compared with.
const MOST_OF_A_LINE: usize = 1 << 16;

/// The most devices of a node.
const MOST_DEVICES: u32 = 1024;

/// `gpu:h100:8(S:0-1),ssd:1` is eight of h100, `gpu:4` four of no type; two types of one node are two resources.
fn resources(text: &str) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for gpu in text.split(',').map(str::trim).filter(|one| one.starts_with("gpu:")) {
        let parts: Vec<&str> = gpu.split('(').next().unwrap_or_default().split(':').collect();
        let count = parts.last().and_then(|count| count.parse::<u32>().ok());
        let Some(count) = count.filter(|count| *count > 0 && *count <= MOST_DEVICES) else { continue };
        let device = if parts.len() > 2 { parts[1].to_lowercase() } else { String::new() };
        let sum = all.entry(device).or_insert(0_u32);
        *sum = sum.saturating_add(count);
    }
    all
}

/// Adds nodes of a kind; `gres` may have no devices.
fn push(gres: &str, (nodes, names, partition): (u32, &str, &str), place: &str, facts: &mut MachineFacts) {
    for (device, devices) in resources(gres) {
        let value = NodeKind { device, devices, nodes, names: names.to_owned(), partition: partition.to_owned() };
        facts.kinds.push(Said { value, place: place.to_owned() });
    }
}

/// Adds what the lines of `sinfo` or `scontrol` say.
pub fn read(file: &str, lines: &[String], facts: &mut MachineFacts) -> Result<(), Problem> {
    let (mut node, mut columns) = ("", SinfoColumns::default());
    for (at, line) in lines.iter().enumerate() {
        let place = format!("{file}:{}", at + 1);
        if let Some((_, rest)) = line.split_once("NodeName=") {
            node = rest.split_whitespace().next().unwrap_or_default();
        } else if line.contains("PartitionName=") {
            facts.ignored.push((place.clone(), "a partition's limits change no step"));
        }
        // A line for each node (`scontrol -o`), or one of its own among a node's.
        if let Some(gres) = line.split_whitespace().find_map(|word| word.strip_prefix("Gres=")) {
            push(gres, (1, node, ""), &place, facts);
        }
        let cells = cells(line);
        if cells.len() < 2 {
            continue;
        }
        if cells.contains(&"GRES") {
            columns = SinfoColumns::named(&cells);
        } else if let Some(gres) = cells.iter().position(|cell| !resources(cell).is_empty()) {
            columns.refuse_cut(&cells, &place)?;
            push(cells[gres], columns.nodes(&cells, gres), &place, facts);
        } else if columns.header && cells.iter().any(|cell| is_cut(cell)) {
            return Err(cut(&place));
        }
    }
    Ok(())
}

/// What stands between bars, or else between blanks, as `sinfo` prints columns of a width.
fn cells(line: &str) -> Vec<&str> {
    if line.contains('|') { line.split('|').map(str::trim).collect() } else { line.split_whitespace().collect() }
}

/// Whether a resource has lost the number at its end.
fn is_cut(cell: &str) -> bool {
    let number = cell.split('(').next().and_then(|cell| cell.rsplit(':').next());
    cell.starts_with("gpu:") && number.is_none_or(|number| number.parse::<u32>().is_err())
}

fn cut(place: &str) -> Problem {
    let fix =
        "print it with bars: sinfo -o '%P|%D|%G|%N', or with room: sinfo -O 'Partition,Nodes,Gres:60,NodeList:200'";
    Problem::new(place, "a cell is cut to the width of its column", fix)
}

/// Where a table of `sinfo` has what; without a header its cells tell.
#[derive(Default)]
struct SinfoColumns {
    nodes: Option<usize>,
    names: Option<usize>,
    partition: Option<usize>,
    header: bool,
    /// Cells of the header.
    width: usize,
}

impl SinfoColumns {
    fn named(header: &[&str]) -> Self {
        let at = |names: &[&str]| header.iter().position(|cell| names.contains(cell));
        Self {
            nodes: at(&["NODES", "NODES(A/I/O/T)"]),
            names: at(&["NODELIST", "HOSTNAMES"]),
            partition: at(&["PARTITION"]),
            header: true,
            width: header.len(),
        }
    }

    /// Cells that fill their columns run into one another.
    fn refuse_cut(&self, cells: &[&str], place: &str) -> Result<(), Problem> {
        if self.header && cells.len() < self.width { Err(cut(place)) } else { Ok(()) }
    }

    /// Nodes of a line, their names, and the partition: `gpu|64|gpu:h100:8|96|gpu[001-064]|idle~`.
    fn nodes<'a>(&self, cells: &[&'a str], gres: usize) -> (u32, &'a str, &'a str) {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).copied().unwrap_or_default();
        if self.header {
            // Lines of `sinfo -N` are of a node each.
            // Of those allocated, idle, other and total the last counts.
            let nodes = cell(self.nodes).rsplit('/').next().unwrap_or_default();
            return (nodes.parse().unwrap_or(1), cell(self.names), cell(self.partition));
        }
        let count = cells.iter().find_map(|cell| cell.parse::<u32>().ok());
        let names = (0..cells.len()).rev().find(|at| {
            // A partition stands first, and may be called h100; a feature may look like a name too.
            let is_list = cells[*at].ends_with(']') || *at > 0 && cells[*at].ends_with(|c: char| c.is_ascii_digit());
            let listed = || hosts::expanded(cells[*at], MOST_OF_A_LINE).map(|names| names.len() as u32);
            *at != gres && is_list && listed().is_some_and(|listed| count.is_none_or(|count| count == listed))
        });
        // `sinfo -N -h -o '%N|%G'`.
        let names = names.or((count.is_none() && gres > 0).then_some(0));
        let first = cells.first().filter(|first| gres > 0 && first.parse::<u32>().is_err());
        (count.unwrap_or(1), cell(names), first.copied().unwrap_or_default())
    }
}

/// Adds what JSON says: `nodes` of `sinfo` to 22.05 and of `scontrol`, `sinfo` of later ones. Whether it is of Slurm.
pub(crate) fn read_json(file: &str, whole: &Value, facts: &mut MachineFacts) -> bool {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(nodes) = whole.get("nodes").and_then(Value::as_array) {
        for node in nodes {
            let name = text(node, "/name");
            push(&text(node, "/gres"), (1, &name, ""), &format!("{file}, node {name}"), facts);
        }
        return true;
    }
    let Some(entries) = whole.get("sinfo").and_then(Value::as_array) else { return false };
    for (at, entry) in entries.iter().enumerate() {
        let names = entry.pointer("/nodes/nodes").and_then(Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        let count = entry.pointer("/nodes/total").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
        // A string in some versions, the total of an object in others.
        let gres = text(entry, "/gres/total") + &text(entry, "/gres");
        let nodes = (count.unwrap_or(1), &*names.join(","), &*text(entry, "/partition/name"));
        push(&gres, nodes, &format!("{file}, sinfo[{at}]"), facts);
    }
    true
}
