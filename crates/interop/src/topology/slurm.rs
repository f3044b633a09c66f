//! Reads Slurm's nodes: `sinfo` with `%G`, `scontrol show node`, and the JSON of both.

use std::collections::BTreeMap;

use serde_json::Value;

use shardscope_engine::problem::Problem;
use shardscope_engine::units::Seconds;

use super::facts::{MachineFacts, NodeKind, Sourced, UNKNOWN_COUNT};
use super::hosts;

/// The most nodes to which a cell of names may expand.
const MOST_OF_A_LINE: usize = 1 << 16;

/// The most devices per node.
const MOST_DEVICES: u32 = 1024;

/// `gpu:h100:8(S:0-1),ssd:1` is eight h100, `gpu:4` four without a type; two types on one node are two resources. An
/// entry with indices, `gpu:a100:2(IDX:0-1)`, is what jobs use.
fn resources(text: &str) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for gpu in text.split(',').map(str::trim).filter(|one| one.starts_with("gpu:") && !one.contains("(IDX")) {
        let parts: Vec<&str> = gpu.split('(').next().unwrap_or_default().split(':').collect();
        let count = parts.last().and_then(|count| count.parse::<u32>().ok());
        let Some(count) = count.filter(|count| *count > 0 && *count <= MOST_DEVICES) else { continue };
        let device = if parts.len() > 2 { parts[1].to_lowercase() } else { String::new() };
        let sum = all.entry(device).or_insert(0_u32);
        *sum = sum.saturating_add(count);
    }
    all
}

/// Adds nodes of one kind; `gres` may list no devices.
fn push(gres: &str, row: &NodeRow<'_>, place: &str, facts: &mut MachineFacts) {
    for (device, devices) in resources(gres) {
        let (names, partition) = (row.names.to_owned(), row.partition.to_owned());
        let value = NodeKind { device, devices, nodes: row.nodes, names, partition };
        facts.kinds.push(Sourced { value, place: place.to_owned() });
    }
}

/// Nodes on one line.
#[derive(Debug, Clone, Copy)]
struct NodeRow<'a> {
    nodes: u32,
    /// The nodes' names; empty if they have none.
    names: &'a str,
    /// The partition; empty if none is named.
    partition: &'a str,
}

/// Adds facts from lines of `sinfo` or `scontrol`.
pub fn read(file: &str, lines: &[String], facts: &mut MachineFacts) -> Result<(), Problem> {
    let (mut node, mut queue, mut columns) = ("", "", None);
    for (at, line) in lines.iter().enumerate() {
        let place = format!("{file}:{}", at + 1);
        if let Some((_, rest)) = line.split_once("NodeName=") {
            node = rest.split_whitespace().next().unwrap_or_default();
        } else if let Some((_, rest)) = line.split_once("PartitionName=") {
            queue = rest.split_whitespace().next().unwrap_or_default();
        }
        // One line per node or partition (`scontrol -o`), or several.
        for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            match name {
                "Gres" => push(value, &NodeRow { nodes: 1, names: node, partition: "" }, &place, facts),
                "MaxTime" => facts.limit(queue, &place, time(value), None),
                "MaxNodes" => facts.limit(queue, &place, None, value.parse().ok()),
                _ => {}
            }
        }
        let cells = cells(line);
        if cells.len() < 2 {
            continue;
        }
        // `sinfo` without options prints no column of devices.
        if cells.contains(&"GRES") || cells.contains(&"NODELIST") && cells.contains(&"PARTITION") {
            columns = Some(SinfoColumns::named(&cells));
        } else if let Some(gres) = gres(&cells, columns.as_ref()) {
            let row = match &columns {
                Some(columns) => columns.row(&cells, &place)?,
                None => unnamed(&cells, gres, &place)?,
            };
            push(cells[gres], &row, &place, facts);
            if let Some(columns) = &columns {
                facts.limit(row.partition, &place, columns.longest(&cells), columns.most_nodes(&cells));
            }
        } else if columns.is_some() && cells.iter().any(|cell| is_cut(cell)) {
            return Err(cut(&place));
        } else if let Some(columns) = columns.as_ref().filter(|columns| columns.lacks_devices(&cells)) {
            let row = columns.row(&cells, &place)?;
            let (names, partition) = (row.names.to_owned(), row.partition.to_owned());
            let value = NodeKind { device: String::new(), devices: UNKNOWN_COUNT, nodes: row.nodes, names, partition };
            facts.kinds.push(Sourced { value, place: place.clone() });
            facts.limit(row.partition, &place, columns.longest(&cells), columns.most_nodes(&cells));
        }
    }
    Ok(())
}

/// Cells between bars, or else between blanks, as in `sinfo`'s columns of fixed width.
fn cells(line: &str) -> Vec<&str> {
    if line.contains('|') { line.split('|').map(str::trim).collect() } else { line.split_whitespace().collect() }
}

/// The cell with devices: under its header, or else the first that has any.
fn gres(cells: &[&str], columns: Option<&SinfoColumns>) -> Option<usize> {
    let has = |at: usize| cells.get(at).is_some_and(|cell| !resources(cell).is_empty());
    let named = columns.and_then(|columns| columns.gres).filter(|at| has(*at));
    named.or_else(|| (0..cells.len()).find(|at| columns.is_none_or(|columns| columns.used != Some(*at)) && has(*at)))
}

/// True if a resource has lost its final number.
fn is_cut(cell: &str) -> bool {
    let number = cell.split('(').next().and_then(|cell| cell.rsplit(':').next());
    cell.starts_with("gpu:") && number.is_none_or(|number| number.parse::<u32>().is_err())
}

fn cut(place: &str) -> Problem {
    let fix =
        "print it with bars: sinfo -o '%P|%D|%G|%N|%l', or with room: sinfo -O 'Partition,Nodes,Gres:60,NodeList:200'";
    Problem::new(place, "a cell is cut to the width of its column", fix)
}

/// Positions of columns in a table of `sinfo`, from its header.
struct SinfoColumns {
    nodes: Option<usize>,
    names: Option<usize>,
    partition: Option<usize>,
    gres: Option<usize>,
    /// Resources that jobs use.
    used: Option<usize>,
    time: Option<usize>,
    size: Option<usize>,
    /// Number of cells in the header.
    width: usize,
}

impl SinfoColumns {
    fn named(header: &[&str]) -> Self {
        let at = |names: &[&str]| header.iter().position(|cell| names.contains(cell));
        Self {
            nodes: at(&["NODES", "NODES(A/I/O/T)"]),
            names: at(&["NODELIST", "HOSTNAMES"]),
            partition: at(&["PARTITION", "PARTITIONNAME"]),
            gres: at(&["GRES"]),
            used: at(&["GRES_USED"]),
            time: at(&["TIMELIMIT", "TIME"]),
            size: at(&["JOB_SIZE", "SIZE"]),
            width: header.len(),
        }
    }

    /// Nodes on a line: of allocated, idle, other and total, the total counts; each line of `sinfo -N` is one node.
    fn row<'a>(&self, cells: &[&'a str], place: &str) -> Result<NodeRow<'a>, Problem> {
        // Cells as wide as their columns run together.
        if cells.len() < self.width {
            return Err(cut(place));
        }
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).copied().unwrap_or_default();
        let nodes = cell(self.nodes).rsplit('/').next().unwrap_or_default();
        Ok(NodeRow { nodes: nodes.parse().unwrap_or(1), names: cell(self.names), partition: cell(self.partition) })
    }

    /// True if a line lists nodes and the table has no column of devices.
    fn lacks_devices(&self, cells: &[&str]) -> bool {
        let count = self.nodes.and_then(|at| cells.get(at)).and_then(|cell| cell.rsplit('/').next());
        let is_row = cells.len() >= self.width && count.is_some_and(|count| count.parse::<u32>().is_ok());
        self.gres.is_none() && self.used.is_none() && is_row
    }

    fn longest(&self, cells: &[&str]) -> Option<Seconds> {
        time(cells.get(self.time?)?)
    }

    /// `1-32` is 32 nodes at most; `1-infinite` has no bound.
    fn most_nodes(&self, cells: &[&str]) -> Option<u32> {
        cells.get(self.size?)?.rsplit('-').next()?.parse().ok()
    }
}

/// Nodes on a line without header, by its cells: `gpu|64|gpu:h100:8|96|gpu[001-064]|idle~`, `gpu01 idle 0/8/0/8 gpu:8`.
fn unnamed<'a>(cells: &[&'a str], gres: usize, place: &str) -> Result<NodeRow<'a>, Problem> {
    let listed = |at: usize| hosts::expanded(cells[at], MOST_OF_A_LINE).map(|names| names.len() as u32);
    let is_name =
        |at: &usize| *at != gres && cells[*at].ends_with(|c: char| c.is_ascii_digit()) && listed(*at).is_some();
    let list = (0..cells.len()).find(|at| *at != gres && cells[*at].ends_with(']') && listed(*at).is_some());
    let counts: Vec<u32> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    // With a cell of processors (allocated, idle, other, total), the other number is the node's memory.
    let only_count = counts.first().filter(|_| counts.len() == 1 && !cells.iter().any(|cell| cell.contains('/')));
    let first_is_name = is_name(&0);
    // The partition comes first, and may be called h100; a feature may look like a name too.
    let single = || (1..cells.len()).rev().find(is_name).filter(|_| counts.is_empty() || counts.contains(&1));
    let first = || first_is_name.then_some(0).filter(|_| only_count.is_none_or(|count| *count == 1));
    let names = list.or_else(single).or_else(first);
    let partition = |names: Option<usize>| match cells.first() {
        Some(first) if gres > 0 && names != Some(0) && first.parse::<u32>().is_err() => *first,
        _ => "",
    };
    match (names, only_count) {
        (Some(at), _) => Ok(NodeRow { nodes: listed(at).unwrap_or(1), names: cells[at], partition: partition(names) }),
        (None, Some(count)) if !first_is_name => Ok(NodeRow { nodes: *count, names: "", partition: partition(None) }),
        (None, None) if counts.is_empty() => Ok(NodeRow { nodes: 1, names: "", partition: partition(None) }),
        _ => {
            let what = "no header says which number counts nodes";
            Err(Problem::new(place, what, "print it with its header, or so: sinfo -o '%P|%D|%G|%N|%l'"))
        }
    }
}

/// `1-00:00:00`, `12:00:00`, `30:00` or `45` minutes; `None` if there is no limit.
fn time(text: &str) -> Option<Seconds> {
    let (days, rest) = text.split_once('-').map_or((0_u64, text), |(days, rest)| (days.parse().unwrap_or(0), rest));
    let parts: Vec<u64> = rest.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let seconds = match parts[..] {
        [hours, minutes, seconds] => {
            hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?
        }
        [hours, minutes] if days > 0 => hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?,
        [hours] if days > 0 => hours.checked_mul(3600)?,
        [minutes, seconds] => minutes.checked_mul(60)?.checked_add(seconds)?,
        [minutes] => minutes.checked_mul(60)?,
        _ => return None,
    };
    let whole = days.checked_mul(86_400)?.checked_add(seconds)?;
    (whole > 0).then(|| Seconds::new(whole as f64))
}

/// Adds facts from JSON: `nodes` of `scontrol` and of `sinfo` up to 22.05, `sinfo` of later ones; true if it is Slurm's.
pub(crate) fn read_json(file: &str, whole: &Value, facts: &mut MachineFacts) -> bool {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(nodes) = whole.get("nodes").and_then(Value::as_array) {
        for node in nodes {
            let name = text(node, "/name");
            let row = NodeRow { nodes: 1, names: &name, partition: "" };
            push(&text(node, "/gres"), &row, &format!("{file}, node {name}"), facts);
        }
        return true;
    }
    let Some(entries) = whole.get("sinfo").and_then(Value::as_array) else { return false };
    for (at, entry) in entries.iter().enumerate() {
        let names = entry.pointer("/nodes/nodes").and_then(Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        let count = entry.pointer("/nodes/total").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
        // A string in some versions, an object with a total in others.
        let gres = text(entry, "/gres/total") + &text(entry, "/gres");
        let (names, partition) = (names.join(","), text(entry, "/partition/name"));
        let row = NodeRow { nodes: count.unwrap_or(1), names: &names, partition: &partition };
        let place = format!("{file}, sinfo[{at}]");
        push(&gres, &row, &place, facts);
        // A number of minutes or nodes; in later versions an object with `set`.
        let limit = |name: &str| {
            let limit = entry.pointer(&format!("/partition/maximums/{name}"))?;
            let of = limit.get("number").filter(|_| limit.get("set") == Some(&Value::Bool(true))).unwrap_or(limit);
            of.as_u64().filter(|limit| *limit > 0)
        };
        let longest = limit("time").map(|minutes| Seconds::new(minutes as f64 * 60.0));
        facts.limit(&partition, &place, longest, limit("nodes").and_then(|nodes| u32::try_from(nodes).ok()));
    }
    true
}
