//! Reads `rocm-smi`, as text or JSON, and its successor `amd-smi`: devices, their memory, and their links.
//!
//! Text matrices are read with those of `nvidia-smi`, except `amd-smi`'s, which names devices by bus address.

use std::collections::BTreeSet;

use serde_json::Value;

use super::facts::{JoinedPairs, MachineFacts, Sourced};

const LINKS: &str = "link type between drm devices ";

/// Adds facts from lines like `GPU[0] : Card series: AMD Instinct MI250X`, with tabs around the first colon.
pub fn read(file: &str, lines: &[String], facts: &mut MachineFacts) {
    let mut devices = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((number, rest)) = line.trim().strip_prefix("GPU[").and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let Ok(number) = number.parse::<u32>() else { continue };
        devices.insert(number);
        if let Some((key, value)) = rest.trim().trim_start_matches(':').split_once(": ") {
            device(key, value, &format!("{file}:{}", at + 1), facts);
        }
    }
    concise(file, lines, &mut devices, facts);
    sections(file, lines, &mut devices, facts);
    counted(&devices, file, facts);
    pairs(file, lines, facts);
    bus_pairs(file, lines, facts);
}

/// Reads the table of plain `rocm-smi`: a line per device, in some versions with the name below.
fn concise(file: &str, lines: &[String], devices: &mut BTreeSet<u32>, facts: &mut MachineFacts) {
    let Some(at) = lines.iter().position(|line| line.contains("Concise Info")) else { return };
    for (at, line) in lines.iter().enumerate().skip(at) {
        let line = line.trim();
        let number = line.split_whitespace().next().and_then(|number| number.parse::<u32>().ok());
        devices.extend(number.filter(|_| line.ends_with('%')));
        if line.starts_with("AMD ") {
            facts.names.push(Sourced { value: line.to_owned(), place: format!("{file}:{}", at + 1) });
        }
    }
}

/// Reads `amd-smi list` and `static`: `GPU: 0`, then lines like `MARKET_NAME: AMD Instinct MI300X`.
fn sections(file: &str, lines: &[String], devices: &mut BTreeSet<u32>, facts: &mut MachineFacts) {
    let mut memory = false;
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let (value, place) = (value.trim(), format!("{file}:{}", at + 1));
        match key {
            "GPU" => devices.extend(value.parse::<u32>().ok()),
            "MARKET_NAME" => facts.names.push(Sourced { value: value.to_owned(), place }),
            "VRAM" => memory = true,
            "SIZE" if memory => {
                memory = false;
                let megabytes = value.strip_suffix("MB").and_then(|value| value.trim().parse::<f64>().ok());
                facts.memory.extend(megabytes.map(|value| Sourced { value, place }));
            }
            _ => {}
        }
    }
}

/// Reads the matrix under `LINK TYPE TABLE` of `amd-smi topology`: devices by bus address, SELF on the diagonal.
fn bus_pairs(file: &str, lines: &[String], facts: &mut MachineFacts) {
    let Some(at) = lines.iter().position(|line| line.trim_end().ends_with("LINK TYPE TABLE:")) else { return };
    let of_bus = |word: &str| word.split(':').count() == 3 && word.contains('.');
    let rows = lines[at + 1..].iter().map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let rows: Vec<Vec<&str>> = rows.take_while(|row| row.first().is_some_and(|word| of_bus(word))).collect();
    let Some((head, rows)) = rows.split_first() else { return };
    let mut found = JoinedPairs::default();
    for (one, row) in (0..).zip(rows) {
        for (other, word) in (0..).zip(row.iter().skip(1)) {
            found.push(one, other, word);
        }
    }
    let place = format!("{file}:{}", at + 1);
    facts.devices.push(Sourced { value: head.len() as u32, place: place.clone() });
    push(found, place, facts);
}

fn counted(devices: &BTreeSet<u32>, file: &str, facts: &mut MachineFacts) {
    if !devices.is_empty() {
        facts.devices.push(Sourced { value: devices.len() as u32, place: file.to_owned() });
    }
}

/// Adds a fact about one device: older versions write `Card series`, later ones `Card Series`.
fn device(key: &str, value: &str, place: &str, facts: &mut MachineFacts) {
    let (value, place) = (value.trim(), place.to_owned());
    match key.trim().to_lowercase().as_str() {
        // Some versions print the product's number here.
        "card series" if !value.starts_with("0x") => facts.names.push(Sourced { value: value.to_owned(), place }),
        "vram total memory (b)" => {
            let bytes = value.parse::<f64>().ok().filter(|bytes| *bytes > 0.0 && *bytes < 1e15);
            facts.memory.extend(bytes.map(|bytes| Sourced { value: bytes / f64::from(1 << 20), place }));
        }
        _ => {}
    }
}

/// Reads the matrix under `Link Type between two GPUs`: XGMI or PCIE for each pair, 0 on the diagonal.
fn pairs(file: &str, lines: &[String], facts: &mut MachineFacts) {
    let Some(at) = lines.iter().position(|line| line.contains("Link Type between two GPUs")) else { return };
    let rows = lines[at + 1..].iter().skip_while(|line| !line.trim_start().starts_with("GPU")).skip(1);
    let rows = rows.take_while(|line| line.trim_start().starts_with("GPU"));
    let mut pairs = JoinedPairs::default();
    for (one, row) in (0..).zip(rows) {
        for (other, word) in (0..).zip(row.split_whitespace().skip(1)) {
            pairs.push(one, other, word);
        }
    }
    push(pairs, format!("{file}:{}", at + 1), facts);
}

fn push(pairs: JoinedPairs, place: String, facts: &mut MachineFacts) {
    if pairs.pcie > 0 || !pairs.direct.is_empty() {
        facts.pairs.push(Sourced { value: pairs, place });
    }
}

/// Adds facts from JSON: `card0` and so on, and `system`, which has the pairs of devices; true if it is of `rocm-smi`.
pub(crate) fn read_json(file: &str, whole: &Value, facts: &mut MachineFacts) -> bool {
    let before = facts.size();
    let mut devices = BTreeSet::new();
    for (name, entry) in whole.as_object().into_iter().flatten() {
        let Some(number) = name.strip_prefix("card").and_then(|number| number.parse().ok()) else { continue };
        devices.insert(number);
        for (key, value) in entry.as_object().into_iter().flatten() {
            device(key, value.as_str().unwrap_or_default(), &format!("{file}, {name}"), facts);
        }
    }
    let mut pairs = JoinedPairs::default();
    for (key, value) in whole.get("system").and_then(Value::as_object).into_iter().flatten() {
        let key = key.to_lowercase();
        let Some((one, other)) = key.split_once(LINKS).and_then(|(_, pair)| pair.split_once(" and ")) else { continue };
        let (Ok(one), Ok(other)) = (one.parse::<u32>(), other.parse::<u32>()) else { continue };
        devices.extend([one, other]);
        pairs.push(one.min(other), one.max(other), value.as_str().unwrap_or_default());
    }
    counted(&devices, file, facts);
    push(pairs, format!("{file}, system"), facts);
    facts.size() > before
}
