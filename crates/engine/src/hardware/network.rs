//! A cluster's levels as rates, and how a group of ranks lies on them.

use crate::problem::Problem;
use crate::units::{BytesPerSecond, Seconds, greatest_common_divisor};

use super::{Cluster, Drives, Host, Level, MAX_LEVELS, MeasuredLevel, Queue, Reliability};

/// A regular group of ranks: devices `0, stride, 2 stride, ...`, `size` of them, and the other groups of its shape.
///
/// All of these run the same collective at the same time, and what comes next waits for the slowest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Distance between neighbours, in devices.
    pub stride: u32,
    /// Ranks.
    pub size: u32,
    /// Groups side by side, each one device further than the one before: as many as fill the gap between two neighbours,
    /// unless other ranks lie there.
    pub beside: u32,
    /// Devices of all groups of this shape: one row of groups side by side begins where the one before ends.
    pub among: u32,
}

impl Group {
    /// One row of groups that fill the gaps between their neighbours.
    pub const fn new(stride: u32, size: u32) -> Self {
        Self { stride, size, beside: stride, among: stride * size }
    }

    /// Devices from the first rank to the last, both counted.
    pub const fn devices(self) -> u32 {
        self.span() + 1
    }

    const fn span(self) -> u32 {
        self.stride * self.size.saturating_sub(1)
    }
}

/// How a ring over a group crosses one level.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RingSpan {
    /// Hops on this level along the path that a piece of data takes past all ranks.
    pub hops: u32,
    /// Ring edges on this level, the closing one included.
    pub edges: u32,
    /// Members of the group inside one group of this level.
    pub members: u32,
    /// Rate at which the group's rings, all at once, pass this level.
    pub rate: BytesPerSecond,
    /// Rate at which each rank sends data of its own into this level while all others do the same.
    pub per_rank: BytesPerSecond,
    /// Time of one hop.
    pub latency: Seconds,
}

/// A cluster's levels with what-if factors applied.
#[derive(Debug, Clone, Copy)]
pub struct Network<'a> {
    cluster: &'a Cluster,
    bandwidth: [f64; MAX_LEVELS],
    latency: [f64; MAX_LEVELS],
    measured: bool,
    node: usize,
}

impl<'a> Network<'a> {
    /// The cluster's network, each level's bandwidth and latency times a factor.
    pub fn new(cluster: &'a Cluster, bandwidth: [f64; MAX_LEVELS], latency: [f64; MAX_LEVELS]) -> Self {
        Self { cluster, bandwidth, latency, measured: true, node: cluster.level("node").unwrap_or(0) }
    }

    /// The network as vendors state it, whatever was measured.
    #[must_use]
    pub(crate) const fn as_stated(self) -> Self {
        Self { measured: false, ..self }
    }

    /// The network with other factors on the latencies.
    #[must_use]
    pub(crate) const fn with_latency(self, latency: [f64; MAX_LEVELS]) -> Self {
        Self { latency, ..self }
    }

    /// The measurement of a level, if that counts.
    pub fn measured(&self, level: usize) -> Option<&'a MeasuredLevel> {
        self.cluster.levels.get(level)?.measured.as_ref().filter(|_| self.measured)
    }

    /// Whether a level's switches add up all-reduces.
    pub fn sums(&self, level: usize) -> bool {
        self.cluster.levels.get(level).is_some_and(|level| level.sharp)
    }

    /// Members of a group inside one group of a level, where they lie evenly.
    pub fn members(&self, level: usize, group: Group) -> u32 {
        group.size.div_ceil(self.places(level, group))
    }

    /// Groups of a level in which a group has ranks: of all groups of its shape, the one that lies in most.
    ///
    /// Ranks fill the devices of nodes in order, so that of groups of 3 on nodes of 8 the third has its last rank in the second
    /// node. Which nodes a rack gives is up to a scheduler, which keeps together what has room there (Slurm's `--segment`): rows
    /// of groups begin where racks do.
    fn places(&self, level: usize, group: Group) -> u32 {
        let Some(devices) = self.cluster.devices_in(level) else { return 1 };
        let row = group.span() + group.beside;
        // Where in a node rows begin: at each multiple of what divides both.
        let in_order = level <= self.node && group.among > row;
        let latest = if in_order { devices - greatest_common_divisor(row, devices) } else { 0 };
        let end = (latest + group.beside).min(devices) - 1 + group.span();
        (end / devices + 1).min(group.among.div_ceil(devices)).clamp(1, group.size)
    }

    /// The ranks of a group that hold the same part once each `inside` of them, inside one group of the level below, hold
    /// parts of their own.
    pub(crate) fn across(&self, level: usize, group: Group, inside: u32, size: u32) -> Group {
        let below = level.checked_sub(1).and_then(|below| self.cluster.devices_in(below)).unwrap_or(1);
        Group::new((group.stride * inside).max(below), size)
    }

    /// How a ring over `group` crosses each level, innermost first; levels that it does not cross have no edges.
    ///
    /// All groups of the same shape run the same collective at the same time, so a group may use the
    /// share of a node's ports that its members are of the node's devices.
    pub fn ring(&self, group: Group) -> [RingSpan; MAX_LEVELS] {
        let mut spans = [RingSpan::default(); MAX_LEVELS];
        let (mut inside_devices, mut inside_members, mut below) = (1_u32, 1_u32, group.size);
        for (index, (span, level)) in spans.iter_mut().zip(&self.cluster.levels).enumerate() {
            // Of 8 ranks on nodes of 4: level 0 has 4 members and 8 - 2 = 6 hops, level 1 has 2 - 1 = 1 more.
            let devices = self.cluster.devices_in(index).unwrap_or(u32::MAX);
            let here = self.places(index, group).min(below);
            let members = group.size.div_ceil(here);
            let (rate, per_rank) = self.rates(index, level, group, members, inside_members, inside_devices);
            *span = RingSpan {
                hops: below - here,
                // The ring closes on the level that holds the whole group.
                edges: if here == 1 && below > 1 { below } else { below - here },
                members,
                rate: rate * self.bandwidth[index],
                per_rank: per_rank * self.bandwidth[index],
                latency: self.measured(index).map_or(level.latency, |measured| measured.latency) * self.latency[index],
            };
            (inside_devices, inside_members, below) = (devices, members, here);
        }
        spans
    }

    /// The innermost level that joins two ranks of a group, whichever group of its shape they belong to.
    pub(crate) fn joining(&self, group: Group, one: u32, other: u32) -> usize {
        let stride = u64::from(group.stride);
        let [near, far] = [one.min(other), one.max(other)].map(|rank| u64::from(rank) * stride);
        let joins = |devices: u32| near / u64::from(devices) == (far + stride - 1) / u64::from(devices);
        let outermost = self.cluster.levels.len() - 1;
        (0..outermost).find(|level| self.cluster.devices_in(*level).is_some_and(joins)).unwrap_or(outermost)
    }

    /// The rates of a ring and of each rank alone, from the ports of the devices and of the groups below.
    fn rates(
        &self,
        index: usize,
        level: &Level,
        group: Group,
        members: u32,
        below: u32,
        below_devices: u32,
    ) -> (BytesPerSecond, BytesPerSecond) {
        let measured = self.measured(index).map(|measured| measured.bandwidth);
        if !level.links.is_empty() {
            let ring = |stride, members| self.cluster.rings.rate(self.cluster, index, stride, members);
            // Of 8 devices' rings, measured at 120 of 150 GB/s, those of 4 have the same share of their own links.
            let whole = ring(1, self.cluster.devices_in(index).unwrap_or(members));
            let share = measured.map_or(1.0, |measured| measured / whole);
            // A transfer from one rank to another is not divided among rings.
            return (ring(group.stride, members) * share, level.bandwidth * share);
        }
        // Whoever shares the ports of a node gets an equal part of them.
        let shared = level.injection.map_or(level.bandwidth, |injection| injection / f64::from(below_devices));
        let per_rank = measured.unwrap_or(level.bandwidth.min(shared)) * level.linked(members.div_ceil(below));
        (per_rank * f64::from(below), per_rank)
    }
}

/// Everything that is wrong with a cluster.
pub(super) fn problems(cluster: &Cluster) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut refuse = |wrong: bool, field: String, fix: &str| {
        if wrong {
            found.push(Problem::must(field, fix));
        }
    };
    let levels = &cluster.levels;
    refuse(
        levels.is_empty() || levels.len() > MAX_LEVELS,
        "levels".to_owned(),
        "must be between 1 and 6 levels, innermost first",
    );
    refuse(cluster.level("node").is_none(), "levels".to_owned(), "one level must be called 'node'");
    refuse(cluster.level("system").is_none(), "levels".to_owned(), "the outermost level must be called 'system'");
    let device = &cluster.device;
    for (field, value) in [
        ("device.memory", device.memory.get()),
        ("device.usable", device.usable.unwrap_or(device.memory).get()),
        ("highest_mfu.mfu", cluster.highest_mfu.as_ref().map_or(1.0, |highest| highest.mfu)),
        ("device.memory_bandwidth", device.memory_bandwidth.get()),
        ("device.host_bandwidth", device.host_bandwidth.get()),
        ("device.peak.fp32", device.peak.fp32.get()),
        ("device.compute_units", f64::from(device.compute_units)),
    ] {
        refuse(value <= 0.0, field.to_owned(), "must be above 0");
    }
    operation_problems(cluster, &mut refuse);
    let share = device.power_share;
    refuse(!(share > 0.0 && share <= 1.0), "device.power_share".to_owned(), "must be above 0 and at most 1");
    let clock = device.clock_share.unwrap_or(1.0);
    refuse(!(clock > 0.0 && clock <= 1.0), "device.clock_share".to_owned(), "must be above 0 and at most 1");
    let twice = device.clock_share.is_some() && share < 1.0;
    refuse(twice, "device.power_share".to_owned(), "must be left out beside clock_share, which says what it leads to");
    let flop = device.flop_per_exponential.unwrap_or(1.0);
    refuse(!(1.0..=1e6).contains(&flop), "device.flop_per_exponential".to_owned(), "must be between 1 and 1e6");
    for (index, level) in levels.iter().enumerate() {
        // Each property is named here, so that a new one is not forgotten.
        let Level { name, members, bandwidth, injection, latency: _, sharp: _, mesh, links, measured, source: _ } =
            level;
        let last = index + 1 == levels.len();
        let at = |field: &str| format!("levels[{index}].{field}");
        let named = ["device", "innermost"].contains(&name.as_str()) || name.parse::<u32>().is_ok();
        refuse(named, at("name"), "must not be 'device', 'innermost' or a number: an extent uses those words");
        refuse(name.is_empty() || name.chars().any(char::is_control), at("name"), "must be a word");
        refuse(last != members.is_none(), at("members"), "must be given on every level but the outermost");
        refuse(
            members.is_some_and(|members| members == 0 || members > 1 << 16),
            at("members"),
            "must be between 1 and 65536",
        );
        refuse(bandwidth.get() <= 0.0, at("bandwidth"), "must be above 0");
        refuse(injection.is_some_and(|rate| rate.get() <= 0.0), at("injection"), "must be above 0");
        let reached = measured.as_ref().map(|measured| measured.bandwidth);
        refuse(reached.is_some_and(|rate| rate.get() <= 0.0), at("measured.bandwidth"), "must be above 0");
        refuse(
            levels[..index].iter().any(|other| other.name == *name),
            at("name"),
            "must differ from the other levels' names",
        );
        let devices = cluster.devices_in(index).unwrap_or(0);
        let beyond = links.iter().any(|link| link.a >= devices || link.b >= devices || link.a == link.b);
        refuse(beyond, at("links"), "must join two different devices of the group, counted from 0");
        let alone = !last && links.is_empty();
        refuse(*mesh && !alone, at("mesh"), "must not stand on the outermost level, nor beside links");
        for (link, at) in links.iter().zip(0..).map(|(link, number)| (link, at(&format!("links[{number}]")))) {
            refuse(link.bandwidth.get() <= 0.0, format!("{at}.bandwidth"), "must be above 0");
        }
        refuse(
            !links.is_empty() && devices > super::ring::MOST_DEVICES,
            at("links"),
            "are understood for groups of at most 12 devices",
        );
    }
    found
}

/// Everything that is wrong with what is said of a cluster's failures, its host and its queue.
fn operation_problems(cluster: &Cluster, refuse: &mut impl FnMut(bool, String, &str)) {
    let Reliability { device_mtbf, restart, write_rate, source: _ } = &cluster.reliability;
    for (field, value) in [
        ("device_mtbf", device_mtbf.map(Seconds::get)),
        ("restart", restart.map(Seconds::get)),
        ("write_rate", write_rate.map(BytesPerSecond::get)),
    ] {
        refuse(value.is_some_and(|value| value <= 0.0), format!("reliability.{field}"), "must be above 0");
    }
    if let Some(Host { cores, memory, memory_bandwidth, thread_rate, pinned: _, source: _, nvme }) = &cluster.host {
        refuse(*cores == 0, "host.cores".to_owned(), "must be above 0");
        refuse(memory.get() <= 0.0, "host.memory".to_owned(), "must be above 0");
        refuse(memory_bandwidth.get() <= 0.0, "host.memory_bandwidth".to_owned(), "must be above 0");
        let stopped = thread_rate.is_some_and(|rate| rate.get() <= 0.0);
        refuse(stopped, "host.thread_rate".to_owned(), "must be above 0");
        if let Some(Drives { capacity, read, write, source: _ }) = nvme {
            for (field, value) in [("capacity", capacity.get()), ("read", read.get()), ("write", write.get())] {
                refuse(value <= 0.0, format!("host.nvme.{field}"), "must be above 0");
            }
        }
    }
    if let Some(Queue { partition, longest, nodes }) = &cluster.queue {
        refuse(partition.is_empty(), "queue.partition".to_owned(), "must be a name");
        refuse(longest.is_some_and(|longest| longest.get() <= 0.0), "queue.longest".to_owned(), "must be above 0");
        refuse(*nodes == Some(0), "queue.nodes".to_owned(), "must be above 0");
    }
}

#[cfg(test)]
mod tests;
