//! What files say of a machine, each with its place, before it is put together. Not for how a file says it.

use std::collections::BTreeMap;

use shardscope_engine::hardware::Queue;
use shardscope_engine::units::Seconds;

/// Something that a file says, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Said<T> {
    /// What it says.
    pub value: T,
    /// The file and its line.
    pub place: String,
}

/// Devices of a node where no column counts them.
pub(crate) const UNSAID: u32 = 0;

/// Nodes of one kind, as a scheduler lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeKind {
    /// Type of the devices; empty where the scheduler has none.
    pub device: String,
    /// Devices of a node, or [`UNSAID`].
    pub devices: u32,
    /// How many such nodes.
    pub nodes: u32,
    /// Their names, as a list of Slurm's, by which a node of two partitions counts once; empty where none are listed.
    pub names: String,
    /// The partition that they are listed in; empty where none is named.
    pub partition: String,
}

/// How the devices of a node reach one another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JoinedPairs {
    /// Direct links of each pair that has any, by numbers of devices, the smaller first.
    pub direct: BTreeMap<(u32, u32), u32>,
    /// Pairs that `PCIe` alone joins.
    pub pcie: u32,
    /// Whether links were counted: AMD's tools say only that there are any.
    pub counted: bool,
}

impl JoinedPairs {
    /// Adds what a table says of two devices: `NV12` is twelve links, `XGMI` some, the rest `PCIe`.
    pub fn push(&mut self, one: u32, other: u32, word: &str) {
        let pair = (one.min(other), one.max(other));
        match word.strip_prefix("NV").map(str::parse) {
            _ if one == other => {}
            Some(Ok(links)) if links > 0 => {
                self.counted = true;
                self.direct.insert(pair, links);
            }
            None if word == "XGMI" => _ = self.direct.insert(pair, 1),
            // Each pair stands in a table twice.
            None if one < other && ["PCIE", "PIX", "PXB", "PHB", "NODE", "SYS"].contains(&word) => self.pcie += 1,
            _ => {}
        }
    }

    /// The devices, in groups that direct links join, however many links away.
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

    /// Direct links of the device that has the fewest, to all others together.
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

/// Direct links of one device, all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DirectLinks {
    /// How many.
    pub count: u32,
    /// GB/s of one on the wire, which counts what the data sheet does not; none where only the number is said.
    pub wire: Option<f64>,
}

/// What all files say.
#[derive(Debug, Default)]
pub(crate) struct MachineFacts {
    /// Devices by the name that the driver gives.
    pub names: Vec<Said<String>>,
    /// Devices of a node.
    pub devices: Vec<Said<u32>>,
    /// Memory of a device, in MiB.
    pub memory: Vec<Said<f64>>,
    /// Kinds of nodes.
    pub kinds: Vec<Said<NodeKind>>,
    /// Ports that lie near devices, or that the node has.
    pub ports: Vec<Said<u32>>,
    /// Rate of each port that is listed and up, in Gb/s.
    pub rates: Vec<Said<f64>>,
    /// Direct links of a device.
    pub links: Vec<Said<DirectLinks>>,
    /// How pairs of devices are joined.
    pub pairs: Vec<Said<JoinedPairs>>,
    /// What bounds jobs, by partition.
    pub queues: BTreeMap<String, Said<Queue>>,
    /// What has no effect, with the reason.
    pub ignored: Vec<(String, &'static str)>,
}

impl MachineFacts {
    /// How much is said, whatever of.
    pub fn size(&self) -> usize {
        let Self { names, devices, memory: _, kinds, ports, rates, links: _, pairs, queues, ignored } = self;
        let network = ports.len() + rates.len() + pairs.len();
        names.len() + devices.len() + kinds.len() + network + queues.len() + ignored.len()
    }

    /// Notes what bounds the jobs of a partition.
    pub fn limit(&mut self, partition: &str, place: &str, longest: Option<Seconds>, nodes: Option<u32>) {
        // Slurm marks the default partition.
        let partition = partition.trim_end_matches('*');
        if partition.is_empty() {
            return;
        }
        let new =
            || Said { value: Queue { partition: partition.to_owned(), ..Queue::default() }, place: place.to_owned() };
        let Said { value: queue, .. } = self.queues.entry(partition.to_owned()).or_insert_with(new);
        queue.longest = longest.or(queue.longest);
        queue.nodes = nodes.or(queue.nodes);
    }
}
