//! Clusters as facts: what the vendor or the site states about devices, links and their hierarchy.
//!
//! A cluster is one [`Device`] many times over, joined by [`Level`]s from the innermost (a package or
//! a node) to the outermost (the network). Nothing here is fitted to a measurement; what software
//! makes of the hardware is in [`crate::stack`].

mod architecture;
mod network;
mod ring;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::problem::Problem;
use crate::units::{Bytes, BytesPerSecond, FlopPerSecond, Money, Seconds, Watts};

pub use architecture::{Architecture, Maker};
pub use network::Network;

pub use network::RingSpan;

pub use network::Group;
pub use ring::Rings;

/// The most levels a cluster may have (package, node, rack, pod, system and one to spare).
pub const MAX_LEVELS: usize = 6;

/// A machine: many copies of one device, and the levels of the network that join them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Version of the file format.
    pub format: u32,
    /// The id that `--hardware` takes.
    #[serde(default)]
    pub id: String,
    /// The name that people use.
    pub name: String,
    /// Where the figures come from.
    pub source: String,
    /// The device of one rank.
    pub device: Device,
    /// The host of a node, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The levels, innermost first; the last one joins the whole machine.
    pub levels: Vec<Level>,
    /// How many nodes the machine has, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Devices of a job that does not say how many, where that is not a number of nodes: one, of single cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_with: Option<u32>,
    /// A caveat of its figures, said beside every result with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The highest utilisation in 16 bits that anybody has published of a training on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_mfu: Option<HighestMfu>,
    /// Price of one device-hour (`"2.50 EUR"`), where the user wants costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_device_hour: Option<Money>,
    /// Power drawn per device, its share of hosts, switches and cooling included (`"1.2 kW"`, or a number of watts).
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "watts")]
    pub watts_per_device: Option<Watts>,
    /// Where its scheduler puts jobs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Failures and recovery.
    #[serde(default, skip_serializing_if = "Reliability::is_unknown")]
    pub reliability: Reliability,
    /// Rates of rings over link maps, found when first needed.
    #[serde(skip)]
    pub rings: Rings,
}

/// The processors of a node and their memory: what is offloaded lives there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Cores of all sockets.
    pub cores: u32,
    /// Memory of the node.
    pub memory: Bytes,
    /// Bandwidth of that memory, all channels together.
    pub memory_bandwidth: BytesPerSecond,
    /// Rate at which one thread of it updates an offloaded state, where it was measured; else the calibration's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_rate: Option<BytesPerSecond>,
    /// Whether programs may page-lock its memory, from which devices copy by themselves; not where a limit of the system or a
    /// virtual machine forbids it (`ulimit -l`).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub pinned: bool,
    /// Where the figures come from.
    pub source: String,
    /// Its solid-state drives, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvme: Option<Drives>,
}

/// The solid-state drives of a node, all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drives {
    /// Bytes that fit on them.
    pub capacity: Bytes,
    /// Rate at which large files are read.
    pub read: BytesPerSecond,
    /// Rate at which they are written.
    pub write: BytesPerSecond,
    /// Where the figures come from.
    pub source: String,
}

/// Memory bandwidth of a host that a cluster does not state: eight channels of DDR4-3200, one socket's.
const USUAL_HOST: BytesPerSecond = BytesPerSecond::new(204.8e9);

/// Cores of such a socket: an AMD EPYC 7763.
const USUAL_CORES: u32 = 64;

/// A queue of the scheduler, and what bounds its jobs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Its name: Slurm's partition.
    pub partition: String,
    /// The longest that a job may run; unbounded where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<Seconds>,
    /// The most nodes of a job; unbounded where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
}

/// The highest utilisation of the peak that was published of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HighestMfu {
    /// As a share of the peak.
    pub mfu: f64,
    /// Where it was published.
    pub source: String,
}

/// Failures of a machine and recovery from them, as far as they are known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reliability {
    /// Device-hours from one stop of a job to the next: whatever stops it, hosts, network and software included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_mtbf: Option<Seconds>,
    /// From a stop until steps run again: to notice it, to replace what failed, to start and to read the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Seconds>,
    /// Rate at which the file system takes the checkpoint of a whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_rate: Option<BytesPerSecond>,
    /// Where the figures come from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
}

impl Reliability {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The device of one rank: a GPU, or one of the two dies of a MI250X.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Product name.
    pub name: String,
    /// Which family of kernels runs on it (`ampere`, `hopper`, `cdna2`): the key into a calibration.
    pub architecture: String,
    /// Memory capacity.
    pub memory: Bytes,
    /// The part of it that an allocator sees, where that is known: what PyTorch calls the total capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<Bytes>,
    /// Memory bandwidth.
    pub memory_bandwidth: BytesPerSecond,
    /// Compute units (streaming multiprocessors), for wave quantisation.
    pub compute_units: u32,
    /// Dense peaks by format.
    pub peak: Peaks,
    /// Flop in 16 bits that its matrix units do in the time of one exponential; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flop_per_exponential: Option<f64>,
    /// Bandwidth to the host's memory, per direction.
    pub host_bandwidth: BytesPerSecond,
    /// Share of the product's usual power that this machine allows (500 W of 700 W): under load, clocks fall
    /// with its cube root, since power grows with frequency and with the square of a voltage that follows it.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub power_share: f64,
    /// Share of the product's usual clock that it keeps under load, where that was measured: in place of the cube root of its power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_share: Option<f64>,
    /// Where the figures come from.
    pub source: String,
}

impl Device {
    /// Memory that a job can fill.
    pub fn capacity(&self) -> Bytes {
        self.usable.map_or(self.memory, |usable| usable.min(self.memory))
    }

    /// Share of the product's usual clock under load: as measured, else what its power allows. Power grows with about the cube
    /// of the clock (voltage squared times clock), so that a device held to half its power keeps 0.79 of its clock.
    pub fn clock(&self) -> f64 {
        self.clock_share.unwrap_or_else(|| libm::cbrt(self.power_share))
    }

    /// Lets it keep a part of this clock.
    pub fn slow(&mut self, part: f64) {
        (self.clock_share, self.power_share) = (Some(self.clock() * part), whole());
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_yes(said: &bool) -> bool {
    *said
}

fn whole() -> f64 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::float_cmp,
    reason = "the form that serde asks for; exactly the default"
)]
fn is_whole(share: &f64) -> bool {
    *share == 1.0
}

/// Dense matrix peaks by the format of the factors. A format without a peak cannot be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peaks {
    /// Single precision as frameworks run it by default on this device (without TF32).
    pub fp32: FlopPerSecond,
    /// Half precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp16: Option<FlopPerSecond>,
    /// bfloat16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bf16: Option<FlopPerSecond>,
    /// 8-bit floating point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<FlopPerSecond>,
    /// 4-bit floating point in blocks that share a scale (`MXFP4`, `NVFP4`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp4: Option<FlopPerSecond>,
}

impl Peaks {
    /// Whether matrix units scale blocks of numbers. Those of Blackwell and CDNA 4 do, which multiply fp4 too.
    pub(crate) const fn scale_blocks(&self) -> bool {
        self.fp4.is_some()
    }
}

/// One level of the hierarchy: it joins `members` groups of the level below (devices, for the first).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name: every cluster has a `node` and a `system`.
    pub name: String,
    /// How many groups of the level below it joins; absent on the outermost one, which grows with the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    /// Rate at which one device can send into this level, and receive from it at the same time.
    pub bandwidth: BytesPerSecond,
    /// Rate at which a whole group of the level below can send into it, where its devices share ports (NICs of a node).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection: Option<BytesPerSecond>,
    /// Time of one hop: the cost of one step of a ring that crosses this level.
    pub latency: Seconds,
    /// Whether its switches add up the all-reduces that cross it (`SHARP` on `InfiniBand`), and the jobs use that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sharp: bool,
    /// Whether each two of its members have a link of their own, where others have a switch: `bandwidth` is that of all
    /// links of a device together, of which a group of fewer members has those to its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mesh: bool,
    /// Direct links between devices by their position in the group, where they are not all alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Measured rates of collectives, in place of the calibration's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredLevel>,
    /// Where the figures come from.
    pub source: String,
}

impl Level {
    /// Share of a device's links that lead to the others of `joined` members: in a mesh of 8, a group of 4 has 3 of 7.
    fn linked(&self, joined: u32) -> f64 {
        let others = self.members.filter(|members| self.mesh && *members > 1);
        others.map_or(1.0, |members| f64::from(joined.max(2) - 1) / f64::from(members - 1))
    }
}

/// Rates of a benchmark's rings on a level. No share or factor of a calibration applies to them; `ideal` disregards
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredLevel {
    /// Rate at which one device sends into the level while all others do so too.
    pub bandwidth: BytesPerSecond,
    /// Time of one hop.
    pub latency: Seconds,
    /// Time of a large message beyond its hops and its bytes: pipelines fill, and protocols change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Ramp>,
    /// Which lines of which logs stand behind each figure.
    pub source: String,
}

/// Time beyond hops and bytes: of `V` bytes that pass a device, `time V / (V + half)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ramp {
    /// Latency of the largest messages.
    pub time: Seconds,
    /// Bytes of a message that takes half of it.
    pub half: Bytes,
}

impl Ramp {
    /// Latency of a message.
    pub fn of(self, bytes: Bytes) -> Seconds {
        if bytes > Bytes::ZERO { self.time * (bytes / (bytes + self.half)) } else { Seconds::ZERO }
    }
}

/// A direct link between two devices of a group, per direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One end: the position of a device inside the group, from 0.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Bandwidth per direction.
    pub bandwidth: BytesPerSecond,
}

/// Text with a unit, or a bare number: the field's name says the unit.
fn watts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Watts>, D::Error> {
    deserializer.deserialize_any(WattsVisitor).map(Some)
}

struct WattsVisitor;

impl de::Visitor<'_> for WattsVisitor {
    type Value = Watts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a power like \"700 W\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Watts, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, watts: f64) -> Result<Watts, E> {
        self.visit_str(&format!("{watts} W"))
    }

    fn visit_i64<E: de::Error>(self, watts: i64) -> Result<Watts, E> {
        self.visit_str(&format!("{watts} W"))
    }
}

impl Cluster {
    /// The index of the level with this name.
    pub fn level(&self, name: &str) -> Option<usize> {
        self.levels.iter().position(|level| level.name == name)
    }

    /// How many of the innermost levels the node's links join: those of the node, and levels beyond it at its rate, as the
    /// switches of a rack join 18 trays. The outermost level, which has no bound, is the network.
    pub(crate) fn linked_levels(&self) -> usize {
        let Some(node) = self.level("node") else { return 0 };
        let linked = |level: &&Level| level.members.is_some() && level.bandwidth >= self.levels[node].bandwidth;
        node + 1 + self.levels.iter().skip(node + 1).take_while(linked).count()
    }

    /// Where a level's links run, in words: `in the node`, `between nodes`.
    pub fn place(&self, index: usize) -> String {
        let name = |index: usize| self.levels.get(index).map_or("system", |level| &level.name);
        match self.level("node") {
            Some(node) if index > node => format!("between {}s", name(index - 1)),
            _ => format!("in the {}", name(index)),
        }
    }

    /// How many devices one group of level `index` holds; `None` for the outermost, which has no bound.
    pub fn devices_in(&self, index: usize) -> Option<u32> {
        self.levels.get(..=index)?.iter().map(|level| level.members).product()
    }

    /// How many devices share what each may send into a level, when all of them do; 1 where each has that for itself.
    pub fn sharing(&self, index: usize) -> f64 {
        let Some(level) = self.levels.get(index) else { return 1.0 };
        let below = index.checked_sub(1).map_or(Some(1), |below| self.devices_in(below));
        let shared = level.injection.zip(below).map(|(all, devices)| level.bandwidth * f64::from(devices) / all);
        shared.map_or(1.0, |shared| shared.max(1.0))
    }

    /// Bandwidth of a node's host memory: as stated, or one socket's of eight channels of DDR4-3200.
    pub(crate) fn host_memory_bandwidth(&self) -> BytesPerSecond {
        self.host.as_ref().map_or(USUAL_HOST, |host| host.memory_bandwidth)
    }

    /// Cores of a node's host: as stated, or one socket's.
    pub fn host_cores(&self) -> u32 {
        self.host.as_ref().map_or(USUAL_CORES, |host| host.cores)
    }

    /// The drives of a node, where the cluster states them.
    pub fn drives(&self) -> Option<&Drives> {
        self.host.as_ref()?.nvme.as_ref()
    }

    /// Rate at which all devices of a node together send into the network.
    pub fn node_injection(&self) -> BytesPerSecond {
        let outermost = self.levels.len().saturating_sub(1);
        let port = self.levels.last().map_or(BytesPerSecond::ZERO, |level| level.bandwidth);
        port / self.sharing(outermost) * f64::from(self.devices_per_node())
    }

    /// Devices per node.
    pub fn devices_per_node(&self) -> u32 {
        self.level("node").and_then(|index| self.devices_in(index)).unwrap_or(1)
    }

    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Problem> {
        network::problems(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    /// A cube: an eighth of the power leaves half of the clock. What was measured stands in its place, 708 of 843 TFLOP/s.
    #[test]
    fn a_device_keeps_the_clock_that_was_measured_or_that_its_power_allows() {
        let mut cluster = testing::cluster();
        cluster.device.power_share = 0.125;
        assert!((cluster.device.clock() - 0.5).abs() < 1e-12 && cluster.problems().is_empty());
        cluster.device.slow(0.5);
        assert!((cluster.device.clock() - 0.25).abs() < 1e-12 && cluster.problems().is_empty());
        cluster.device.clock_share = Some(708.0 / 843.0);
        assert!((cluster.device.clock() - 0.84).abs() < 1e-3);
        cluster.device.power_share = 0.75;
        let refused: Vec<String> = cluster.problems().iter().map(ToString::to_string).collect();
        assert!(refused.len() == 1 && refused[0].contains("device.power_share"), "{refused:?}");
        (cluster.device.power_share, cluster.device.clock_share) = (1.0, Some(1.5));
        let refused: Vec<String> = cluster.problems().iter().map(ToString::to_string).collect();
        assert!(refused.len() == 1 && refused[0].contains("device.clock_share"), "{refused:?}");
    }
}
