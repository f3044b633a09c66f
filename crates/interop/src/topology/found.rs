//! Reads one file about a machine, recognised by its content: Slurm's tables, NVIDIA's, AMD's and InfiniBand's tools, XML.

use crate::runs::plain;
use shardscope_engine::problem::Problem;
use shardscope_library::disk::InputKind;

use super::facts::{DirectLinks, JoinedPairs, MachineFacts, Sourced};
use super::{ports, rocm, slurm, xml};

/// Adds the facts in a file.
pub fn read(file: &str, text: &str, facts: &mut MachineFacts) -> Result<(), Problem> {
    let whole = text.trim_start_matches('\u{feff}').trim_start();
    // Every XML that these tools write begins with an element, a comment or a declaration.
    if whole.starts_with('<') {
        return xml::read(file, whole, facts);
    }
    let before = facts.size();
    if text.lines().nth(MOST_LINES).is_some() {
        let what = format!("it has more than {MOST_LINES} lines");
        return Err(Problem::new(file, what, "give those of one kind of node"));
    }
    let lines: Vec<String> = text.lines().map(|line| plain(line).into_owned()).collect();
    let mut listed = 0;
    for (at, line) in lines.iter().enumerate() {
        refuse_slices(line, &format!("{file}:{}", at + 1))?;
    }
    if whole.starts_with('{') {
        return json(file, whole, facts);
    }
    let mut section = "";
    for (at, line) in lines.iter().enumerate() {
        if line.trim_end().ends_with(" Memory Usage") {
            section = line.trim();
        }
        listed += u32::from(driver(line, section, &format!("{file}:{}", at + 1), facts));
    }
    slurm::read(file, &lines, facts)?;
    ports::read(file, &lines, facts)?;
    rocm::read(file, &lines, facts);
    if listed > 0 {
        facts.devices.push(Sourced { value: listed, place: file.to_owned() });
    }
    matrix(file, &lines, facts);
    links(file, &lines, facts);
    if facts.size() > before {
        return Ok(());
    }
    Err(Problem::new(file, "says nothing of devices, nodes or ports", KNOWN))
}

/// The most lines of a file: what Slurm prints for 20,000 nodes.
const MOST_LINES: usize = 400_000;

const KNOWN: &str = "give sinfo -o '%P|%D|%G|%N' or --json, scontrol show node, nvidia-smi -L, -q, -q -x or topo -m, \
                     rocm-smi, alone or with --showtopo, amd-smi topology or static, xpu-smi discovery, ibstat, ibv_devinfo -v or a topology file of NCCL";

/// Reads Slurm's and `rocm-smi`'s JSON.
fn json(file: &str, text: &str, facts: &mut MachineFacts) -> Result<(), Problem> {
    let large =
        |error| Problem::new(file, error, "sinfo -o '%P|%D|%G|%N' says as much in a line for each kind of node");
    InputKind::MachineTree.check(text).map_err(large)?;
    let wrong = |error| Problem::new(file, format!("it is not JSON ({error})"), "give the file whole");
    let whole = serde_json::from_str(text).map_err(wrong)?;
    if slurm::read_json(file, &whole, facts) || rocm::read_json(file, &whole, facts) {
        return Ok(());
    }
    Err(Problem::new(file, "says nothing of nodes or devices", KNOWN))
}

/// Refuses slices of a device (`gpu:1g.10gb:16`, `MIG 3g.40gb`), over which no job is sharded.
fn refuse_slices(line: &str, place: &str) -> Result<(), Problem> {
    let slice = |word: &str| {
        let Some((share, memory)) = word.split_once("g.") else { return false };
        !share.is_empty() && share.chars().all(|c| c.is_ascii_digit()) && memory.ends_with("gb")
    };
    match line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).find(|word| slice(word)) {
        Some(word) => {
            Err(Problem::new(place, format!("'{word}' is a slice of a device (MIG)"), "give nodes of whole devices"))
        }
        None => Ok(()),
    }
}

/// The section of `nvidia-smi -q` on a device's own memory; that of BAR1 is about bus addresses.
const OWN_MEMORY: &str = "FB Memory Usage";

/// Reads a device in `nvidia-smi -L`, `-q`, its table or its CSV, and its memory, which `-q` has in sections.
fn driver(line: &str, section: &str, place: &str, facts: &mut MachineFacts) -> bool {
    let said = |value: &str| Sourced { value: value.trim().to_owned(), place: place.to_owned() };
    let after =
        |key: &str| line.trim_start().strip_prefix(key).map(|rest| rest.trim_start().trim_start_matches(':').trim());
    let memory = line.split_whitespace().filter_map(|word| word.trim_end_matches(',').strip_suffix("MiB"));
    if let Some(value) = memory
        .filter_map(|word| word.parse::<f64>().ok())
        .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))))
    {
        // The table has used and total memory side by side; the total is the larger figure.
        facts.memory.push(Sourced { value, place: place.to_owned() });
    }
    let total = after("Total").filter(|_| section == OWN_MEMORY);
    if let Some(total) = total.and_then(|rest| rest.strip_suffix("MiB")?.trim().parse::<f64>().ok()) {
        facts.memory.push(Sourced { value: total, place: place.to_owned() });
    }
    // `xpu-smi discovery`: `| 0         | Device Name: Intel(R) Data Center GPU Max 1550   |`.
    if let Some((_, name)) = line.split_once("Device Name:") {
        facts.names.push(said(name.trim_end().trim_end_matches('|')));
        return true;
    }
    if let Some(name) = after("Product Name") {
        facts.names.push(said(name));
        return true;
    }
    let listed = line.trim_start().strip_prefix("GPU ").and_then(|rest| rest.split_once(": "));
    if let Some((name, _)) = listed.and_then(|(_, rest)| rest.split_once(" (UUID")) {
        facts.names.push(said(name));
        return true;
    }
    let known = ["NVIDIA ", "Tesla ", "GeForce ", "TITAN ", "Quadro ", "RTX ", "A100-", "H100 "];
    let cells = line.split([',', '|']).map(str::trim);
    let is_table = line.starts_with("| ") && line.contains("  ") && line.contains("Off |") | line.contains("On  |");
    let is_row = line.contains(", ") && line.contains("GPU-") || line.contains(" MiB,") || line.ends_with(" MiB");
    if is_table || is_row {
        // The table puts the device's number before its name: `|   0  NVIDIA H100 80GB HBM3          On  |`.
        let strip = |cell: &str| cell.trim_start_matches(|c: char| c.is_ascii_digit()).trim().to_owned();
        let name = cells.map(strip).find(|cell| known.iter().any(|known| cell.starts_with(known)));
        if let Some(name) = name {
            facts.names.push(said(name.split("  ").next().unwrap_or_default()));
            let total = line.split(", ").filter_map(|cell| cell.trim().strip_suffix(" MiB")?.parse::<f64>().ok());
            facts.memory.extend(
                total
                    .fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))))
                    .map(|value| Sourced { value, place: place.to_owned() }),
            );
            return true;
        }
    }
    false
}

/// Devices, direct links and near ports in the matrix of `nvidia-smi topo -m` or `rocm-smi --showtopo`.
fn matrix(file: &str, lines: &[String], facts: &mut MachineFacts) {
    let device = |word: &str| word.strip_prefix("GPU").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let Some(at) =
        lines.iter().position(|line| line.split_whitespace().next().is_some_and(device) && !line.contains(':'))
    else {
        return;
    };
    let head: Vec<&str> = lines[at].split_whitespace().collect();
    // `GPU0 GPU1 NIC0 NIC1 CPU Affinity`: first devices, then ports, then columns that do not matter.
    let devices = head.iter().take_while(|word| device(word)).count();
    let place = format!("{file}:{}", at + 1);
    facts.devices.push(Sourced { value: devices as u32, place: place.clone() });
    let ports = head.iter().skip(devices).take_while(|word| word.starts_with("NIC") || word.starts_with("mlx")).count();
    let rows = lines[at + 1..].iter().map(|line| line.split_whitespace().collect());
    let rows: Vec<Vec<&str>> = rows.take_while(|row: &Vec<_>| row.first().is_some_and(|word| device(word))).collect();
    // PIX and PXB cross only PCIe switches; NODE and SYS cross the processor, as storage ports do.
    let near =
        |port: usize| rows.iter().any(|row| row.get(1 + devices + port).is_some_and(|to| matches!(*to, "PIX" | "PXB")));
    let near = (0..ports).filter(|port| near(*port)).count() as u32;
    if near > 0 {
        facts.ports.push(Sourced { value: near, place: place.clone() });
    }
    let mut pairs = JoinedPairs::default();
    for (one, row) in (0..).zip(&rows) {
        for (other, word) in (0..).zip(row.iter().skip(1).take(devices)) {
            pairs.push(one, other, word);
        }
    }
    if pairs.pcie > 0 || !pairs.direct.is_empty() {
        facts.pairs.push(Sourced { value: pairs, place });
    }
}

/// Links in `nvidia-smi nvlink -s`, of the first device: `Link 0: 26.562 GB/s`.
fn links(file: &str, lines: &[String], facts: &mut MachineFacts) {
    let rate = |line: &String| {
        line.trim().strip_prefix("Link ")?.split_once(": ")?.1.strip_suffix(" GB/s")?.parse::<f64>().ok()
    };
    // Only the first device's links; the others' are the same. A link that is down shows `<inactive>`.
    let is_link = |line: &&String| line.trim().starts_with("Link ");
    let first = lines.iter().enumerate().skip_while(|(_, line)| rate(line).is_none());
    let rates: Vec<f64> = first.clone().map(|(_, line)| line).take_while(is_link).filter_map(rate).collect();
    if let (Some((at, _)), Some(wire)) = (first.clone().next(), rates.first()) {
        let value = DirectLinks { count: rates.len() as u32, wire: Some(*wire) };
        facts.links.push(Sourced { value, place: format!("{file}:{}", at + 1) });
    }
}
