//! What files say of a machine, each with its place, before it is put together. Not for how a file says it.

/// Something that a file says, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Said<T> {
    /// What it says.
    pub value: T,
    /// The file and its line.
    pub place: String,
}

/// Nodes of one kind, as a scheduler lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeKind {
    /// Type of the devices; empty where the scheduler has none.
    pub device: String,
    /// Devices of a node.
    pub devices: u32,
    /// How many such nodes.
    pub nodes: u32,
    /// Their names, as a list of Slurm's, by which a node of two partitions counts once; empty where none are listed.
    pub names: String,
    /// The partition that they are listed in; empty where none is named.
    pub partition: String,
}

/// How pairs of devices of a node are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedPairs {
    /// Over AMD's links between devices.
    pub xgmi: u32,
    /// Over `PCIe`.
    pub pcie: u32,
}

/// What all files say.
#[derive(Debug, Default)]
pub struct MachineFacts {
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
    /// GB/s of all direct links of a device, per direction.
    pub links: Vec<Said<f64>>,
    /// How pairs of devices are joined.
    pub pairs: Vec<Said<LinkedPairs>>,
    /// What has no effect, with the reason.
    pub ignored: Vec<(String, &'static str)>,
}

impl MachineFacts {
    /// How much is said, whatever of.
    pub fn size(&self) -> usize {
        let Self { names, devices, memory: _, kinds, ports, rates, links: _, pairs, ignored } = self;
        names.len() + devices.len() + kinds.len() + ports.len() + rates.len() + pairs.len() + ignored.len()
    }
}
