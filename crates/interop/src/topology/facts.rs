//! Facts about a machine from files, each with its place. Knows no file's format.

use std::collections::BTreeMap;

use shardscope_engine::hardware::Queue;
use shardscope_engine::units::Seconds;

/// A fact, and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    /// The fact's value.
    pub value: T,
    /// The file and its line.
    pub place: String,
}

/// Stands for the devices of a node if no column counts them.
pub(crate) const UNKNOWN_COUNT: u32 = 0;

/// Nodes of one kind in a scheduler's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeKind {
    /// Type of the devices; empty if the scheduler has none.
    pub device: String,
    /// Devices per node, or [`UNKNOWN_COUNT`].
    pub devices: u32,
    /// Number of such nodes.
    pub nodes: u32,
    /// Node names as a Slurm host list, so that a node in two partitions counts once; empty if none are listed.
    pub names: String,
    /// The partition that lists the nodes; empty if none is named.
    pub partition: String,
}

/// Links between the devices of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JoinedPairs {
    /// Direct links of each pair that has any, by device numbers, the smaller first.
    pub direct: BTreeMap<(u32, u32), u32>,
    /// Pairs that are joined by `PCIe` alone.
    pub pcie: u32,
    /// True if links were counted; AMD's tools tell only that some exist.
    pub counted: bool,
}

impl JoinedPairs {
    /// Adds a table's entry for two devices: `NV12` is twelve links, `XGMI` some, all else `PCIe`.
    pub fn push(&mut self, one: u32, other: u32, word: &str) {
        let pair = (one.min(other), one.max(other));
        match word.strip_prefix("NV").map(str::parse) {
            _ if one == other => {}
            Some(Ok(links)) if links > 0 => {
                self.counted = true;
                self.direct.insert(pair, links);
            }
            None if word == "XGMI" => _ = self.direct.insert(pair, 1),
            // A table lists each pair twice.
            None if one < other && ["PCIE", "PIX", "PXB", "PHB", "NODE", "SYS"].contains(&word) => self.pcie += 1,
            _ => {}
        }
    }

    /// Groups of devices that are connected by direct links, over any number of hops.
    pub fn groups(&self, devices: u32) -> Vec<Vec<u32>> {
        let mut group: Vec<u32> = (0..devices).collect();
        for (one, other) in self.direct.keys().filter(|(_, other)| *other < devices) {
            let (from, to) = (group[*other as usize], group[*one as usize]);
            if from != to {
                group.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (device, of) in (0..).zip(group) {
            groups.entry(of).or_default().push(device);
        }
        groups.into_values().collect()
    }

    /// The fewest direct links that any device has, to all others together.
    pub fn fewest(&self, devices: u32) -> u32 {
        let mut sums = vec![0_u32; devices as usize];
        for ((one, other), links) in &self.direct {
            for device in [one, other] {
                if let Some(sum) = sums.get_mut(*device as usize) {
                    *sum = sum.saturating_add(*links);
                }
            }
        }
        sums.into_iter().min().unwrap_or(0)
    }
}

/// All direct links of one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DirectLinks {
    /// Number of links.
    pub count: u32,
    /// GB/s of one link on the wire, which exceeds the data sheet's; `None` if only the number is given.
    pub wire: Option<f64>,
}

/// The facts from all files.
#[derive(Debug, Default)]
pub(crate) struct MachineFacts {
    /// Device names that the driver gives.
    pub names: Vec<Sourced<String>>,
    /// Devices per node.
    pub devices: Vec<Sourced<u32>>,
    /// Memory per device, in MiB.
    pub memory: Vec<Sourced<f64>>,
    /// Kinds of nodes.
    pub kinds: Vec<Sourced<NodeKind>>,
    /// Ports near devices, or all ports of the node.
    pub ports: Vec<Sourced<u32>>,
    /// Rate of each listed port that is up, in Gb/s.
    pub rates: Vec<Sourced<f64>>,
    /// Direct links of a device.
    pub links: Vec<Sourced<DirectLinks>>,
    /// Links between pairs of devices.
    pub pairs: Vec<Sourced<JoinedPairs>>,
    /// Limits of jobs, by partition.
    pub queues: BTreeMap<String, Sourced<Queue>>,
    /// Entries without effect, with the reason.
    pub ignored: Vec<(String, &'static str)>,
}

impl MachineFacts {
    /// Number of facts, to see if a file added any.
    pub fn size(&self) -> usize {
        let Self { names, devices, memory: _, kinds, ports, rates, links: _, pairs, queues, ignored } = self;
        let network = ports.len() + rates.len() + pairs.len();
        names.len() + devices.len() + kinds.len() + network + queues.len() + ignored.len()
    }

    /// Notes the limits of a partition's jobs.
    pub fn limit(&mut self, partition: &str, place: &str, longest: Option<Seconds>, nodes: Option<u32>) {
        // Slurm marks the default partition.
        let partition = partition.trim_end_matches('*');
        if partition.is_empty() {
            return;
        }
        let new = || Sourced {
            value: Queue { partition: partition.to_owned(), ..Queue::default() },
            place: place.to_owned(),
        };
        let Sourced { value: queue, .. } = self.queues.entry(partition.to_owned()).or_insert_with(new);
        queue.longest = longest.or(queue.longest);
        queue.nodes = nodes.or(queue.nodes);
    }
}
