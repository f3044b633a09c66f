//! Counts a scheduler's nodes of each kind by name, each name once, however often it is listed.
//!
//! Does not decide which kind is meant.

use std::collections::{BTreeMap, HashSet};

use super::facts::{NodeKind, Sourced, UNKNOWN_COUNT};
use super::hosts;

/// The most names that are counted, over all lists.
const MOST_NAMES: usize = 1 << 20;

/// All nodes with the same number of devices of a type.
#[derive(Debug, Default)]
pub(crate) struct NodeGroup<'a> {
    /// Type of the devices; empty if the scheduler has none.
    pub device: &'a str,
    /// Devices per node.
    pub devices: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// The partition with most of the nodes; empty if none is named.
    pub partition: &'a str,
    /// The first line that lists any of the nodes.
    pub place: &'a str,
    /// Number of lines that list the nodes.
    pub lines: usize,
    /// True if all nodes have names; those without are counted by their lines.
    pub named: bool,
}

/// The nodes of each kind, sorted by type and devices.
pub fn groups(kinds: &[Sourced<NodeKind>]) -> Vec<NodeGroup<'_>> {
    let mut all: BTreeMap<(&str, u32), Vec<&Sourced<NodeKind>>> = BTreeMap::new();
    // If nothing tells which nodes have devices, one partition's nodes are taken as one kind: the largest with `gpu` in
    // its name, else the largest.
    let is_said = kinds.iter().any(|kind| kind.value.devices != UNKNOWN_COUNT);
    let partition = |kind: &Sourced<NodeKind>| kind.value.partition.trim_end_matches('*').to_owned();
    let mut sizes: BTreeMap<String, u32> = BTreeMap::new();
    for kind in kinds {
        let size = sizes.entry(partition(kind)).or_default();
        *size = size.saturating_add(kind.value.nodes);
    }
    let named = |name: &str| name.to_lowercase().contains("gpu");
    let largest = sizes.into_iter().max_by_key(|(name, nodes)| (named(name), *nodes)).map(|(name, _)| name);
    let counts = |kind: &&Sourced<NodeKind>| {
        if is_said { kind.value.devices != UNKNOWN_COUNT } else { Some(partition(kind)) == largest }
    };
    for kind in kinds.iter().filter(counts) {
        all.entry((&kind.value.device, kind.value.devices)).or_default().push(kind);
    }
    let mut left = MOST_NAMES;
    all.into_iter().map(|((device, devices), kinds)| group(device, devices, &kinds, &mut left)).collect()
}

fn group<'a>(device: &'a str, devices: u32, kinds: &[&'a Sourced<NodeKind>], left: &mut usize) -> NodeGroup<'a> {
    let mut names: HashSet<String> = HashSet::new();
    let mut unnamed: BTreeMap<&str, u32> = BTreeMap::new();
    let mut all: BTreeMap<&str, u32> = BTreeMap::new();
    for NodeKind { names: list, partition, nodes, .. } in kinds.iter().map(|kind| &kind.value) {
        let sum = all.entry(partition).or_default();
        *sum = sum.saturating_add(*nodes);
        if let Some(listed) = hosts::expanded(list, *left) {
            *left -= listed.len();
            names.extend(listed);
        } else {
            // Lines of one partition list different nodes; two partitions may share nodes.
            let sum = unnamed.entry(partition).or_default();
            *sum = sum.saturating_add(*nodes);
        }
    }
    let most = unnamed.values().copied().max().unwrap_or(0);
    // Of partitions with equally many nodes, the default one, which Slurm marks, comes first.
    let partition = all.into_iter().max_by_key(|(name, nodes)| (*nodes, name.ends_with('*')));
    NodeGroup {
        device,
        partition: partition.map_or("", |(name, _)| name.trim_end_matches('*')),
        devices,
        nodes: most.max(u32::try_from(names.len()).unwrap_or(u32::MAX)),
        place: kinds.first().map_or("", |kind| &kind.place),
        lines: kinds.len(),
        named: unnamed.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said((device, devices, nodes, names, partition): (&str, u32, u32, &str, &str)) -> Sourced<NodeKind> {
        let [device, names, partition] = [device, names, partition].map(str::to_owned);
        Sourced { value: NodeKind { device, devices, nodes, names, partition }, place: "it:1".to_owned() }
    }

    fn counts(kinds: &[(&str, u32, u32, &str, &str)]) -> Vec<(String, u32, u32, bool)> {
        let kinds: Vec<_> = kinds.iter().copied().map(said).collect();
        groups(&kinds)
            .into_iter()
            .map(|group| (group.device.to_owned(), group.devices, group.nodes, group.named))
            .collect()
    }

    /// 62 + 2 nodes of one partition, of which another has 32 again: 64. Of the second type 16.
    #[test]
    fn a_node_counts_once_in_all_states_and_partitions() {
        let found = counts(&[
            ("h100", 8, 2, "gpu[003-004]", "gpu*"),
            ("h100", 8, 62, "gpu[001-002,005-064]", "gpu*"),
            ("h100", 8, 32, "gpu[033-064]", "big"),
            ("mi250", 8, 16, "amd[01-16]", "amd"),
        ]);
        assert_eq!(found, [("h100".to_owned(), 8, 64, true), ("mi250".to_owned(), 8, 16, true)]);
    }

    /// `sinfo` alone says of no node which devices it has: of 1, 4 + 60 and 16 the 64 of one partition count.
    #[test]
    fn without_devices_the_largest_partition_counts() {
        let plain = [
            ("", UNKNOWN_COUNT, 1, "vm", "debug*"),
            ("", UNKNOWN_COUNT, 4, "gpu[001-004]", "gpu"),
            ("", UNKNOWN_COUNT, 60, "gpu[005-064]", "gpu"),
            ("", UNKNOWN_COUNT, 16, "amd[01-16]", "amd"),
        ];
        assert_eq!(counts(&plain), [(String::new(), UNKNOWN_COUNT, 64, true)]);
        let larger = [plain[2], ("", UNKNOWN_COUNT, 400, "cpu[001-400]", "cpu*")];
        assert_eq!(
            counts(&larger),
            [(String::new(), UNKNOWN_COUNT, 60, true)],
            "a partition called gpu has the devices"
        );
        let beside = [plain[3], ("h100", 8, 2, "gpu[1-2]", "gpu")];
        assert_eq!(counts(&beside), [("h100".to_owned(), 8, 2, true)], "a table that counts devices is the better one");
    }

    /// Without names 2 + 62 of one partition are different nodes, and another partition's 32 may be among them.
    #[test]
    fn without_names_the_largest_partition_counts() {
        let found = counts(&[("h100", 8, 2, "", "gpu"), ("h100", 8, 62, "", "gpu"), ("h100", 8, 32, "", "big")]);
        assert_eq!(found, [("h100".to_owned(), 8, 64, false)]);
        // Nodes of another number of devices are another kind.
        let found = counts(&[("h100", 8, 2, "a[1-2]", ""), ("h100", 4, 3, "b[1-3]", "")]);
        assert_eq!(found, [("h100".to_owned(), 4, 3, true), ("h100".to_owned(), 8, 2, true)]);
    }

    #[test]
    fn more_names_than_any_machine_has_are_not_counted_out() {
        let list = "n[0-99999]";
        let kinds: Vec<_> = (0..1000).map(|_| ("h100", 8, 7, list, "")).collect();
        // Ten lists of 100,000 fit into 2^20; of the others' 990 lines each says 7, which are 6,930.
        assert_eq!(counts(&kinds), [("h100".to_owned(), 8, 100_000, false)]);
    }
}
