//! Rates of the device and the network under this software: peaks times shares.

use crate::hardware::{Group, MAX_LEVELS, Network, RingSpan};
use crate::plan::{Format, Precision};
use crate::scenario::{PAGEABLE, Scenario};
use crate::stack::Attention;
use crate::units::{BytesPerSecond, FlopPerSecond, Share};

use super::calibrated::Calibrated;

/// What-if factors on the hardware, all 1 outside elasticities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// On every arithmetic peak.
    pub peak: f64,
    /// On the device's memory bandwidth.
    pub memory: f64,
    /// On the bandwidth of the link to the host's memory.
    pub host: f64,
    /// On each level's bandwidth.
    pub bandwidth: [f64; MAX_LEVELS],
    /// On each level's latency.
    pub latency: [f64; MAX_LEVELS],
}

impl Default for Factors {
    fn default() -> Self {
        Self { peak: 1.0, memory: 1.0, host: 1.0, bandwidth: [1.0; MAX_LEVELS], latency: [1.0; MAX_LEVELS] }
    }
}

/// A rank's share of the experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ExpertShare {
    /// Ranks among which a layer's experts are divided.
    pub ranks: f64,
    /// Ranks that share each expert.
    pub tensor: f64,
    /// Tokens of the busiest rank's experts over the mean.
    pub load: f64,
    /// Whether experts are divided over other ranks than the rest of the model.
    pub own_mesh: bool,
}

/// The rates of one scenario.
#[derive(Debug, Clone, Copy)]
pub struct Rates<'a> {
    /// The scenario of these rates.
    pub scenario: &'a Scenario,
    /// The what-if factors in them.
    pub factors: Factors,
    /// The scenario's entries of its calibration.
    pub calibrated: Calibrated<'a>,
    /// The attention kernel that runs.
    pub attention: Attention,
    /// A rank's share of the experts.
    pub(crate) experts: ExpertShare,
    /// Peak in the format of the layers' matrix products.
    pub peak: FlopPerSecond,
    /// Rate of a large matrix product of a layer.
    pub matmul: FlopPerSecond,
    /// Rate of a large product in the storage format: the logits' under fp8.
    pub matmul_storage: FlopPerSecond,
    /// Peak in the storage format: attention's.
    pub peak_storage: FlopPerSecond,
    /// Rate of streaming kernels.
    pub memory: BytesPerSecond,
    /// Bandwidth to and from the host, each way.
    pub host: BytesPerSecond,
    /// Bandwidths and latencies of the levels, factors included.
    pub network: Network<'a>,
    /// A group whose ring is at hand, and how it crosses each level at the rates that it reaches.
    pub(super) known_ring: Option<(Group, [RingSpan; MAX_LEVELS])>,
    /// Nodes of the job.
    nodes: u32,
    /// The first level beyond the node: from there on `wire_between` applies.
    pub beyond_node: usize,
    /// The first level beyond those that the node's links join.
    pub beyond_links: usize,
    /// How much the inverse of the share of the wire that collectives reach beyond the node grows with each doubling of the nodes
    /// from the first rank of a group to its last.
    wire_loss: f64,
}

/// Scores of one device that Megatron's kernel of scale, mask and softmax takes together: sequences x heads
/// must be a multiple of it (NVIDIA/Megatron-LM, `fused_softmax.py`, `is_kernel_available`).
pub const FUSED_SOFTMAX_BATCH: u32 = 4;

impl<'a> Rates<'a> {
    /// The rates of a scenario with what-if factors.
    pub fn new(scenario: &'a Scenario, factors: &Factors) -> Self {
        let cluster = &*scenario.cluster;
        let device = &cluster.device;
        let calibrated = Calibrated::new(scenario, &scenario.calibration);
        let Calibrated { efficiency, software, runtime, .. } = calibrated;
        let nodes = scenario.nodes();
        let doublings = libm::log2(f64::from(nodes));
        // The slowest of all devices sets the pace of the others' kernels, and power that of arithmetic.
        let pace = software.compute * calibrated.stack.get() / (1.0 + software.stragglers * doublings);
        let clock = device.clock() * pace;
        let precision = scenario.plan.precision;
        let peak = peak(scenario, precision) * (factors.peak * clock);
        let peak_storage = peak_storage(scenario) * (factors.peak * clock);
        let share_storage = efficiency.matmul * calibrated.kernels;
        let share = match precision.linear().arithmetic {
            Format::Fp8 => efficiency.matmul_fp8,
            Format::Fp4 => efficiency.matmul_fp4.unwrap_or(efficiency.matmul_fp8),
            _ => share_storage,
        };
        // A plan's what-if bandwidth is that of the network, the outermost level.
        let mut bandwidth = factors.bandwidth.map(|factor| factor * software.network);
        let outermost = cluster.levels.len().clamp(1, MAX_LEVELS) - 1;
        bandwidth[outermost] *= scenario.plan.bandwidth_factor;
        let beyond_node = cluster.level("node").map_or(0, |node| node + 1);
        // `ideal` has no latency, and no use for what was measured.
        let stated = Network::new(cluster, bandwidth, factors.latency);
        let network = if efficiency.latency > 0.0 { stated } else { stated.as_stated() };
        let mut latency = factors.latency;
        for (level, factor) in latency.iter_mut().enumerate().filter(|(level, _)| network.measured(*level).is_none()) {
            *factor *= if level < beyond_node { efficiency.latency } else { efficiency.latency_between };
        }
        Self {
            scenario,
            factors: *factors,
            calibrated,
            attention: attention(scenario),
            experts: ExpertShare::new(scenario),
            peak,
            matmul: peak * share,
            matmul_storage: peak_storage * share_storage,
            peak_storage,
            memory: device.memory_bandwidth * (efficiency.memory * factors.memory * pace),
            host: scenario.host_link() * factors.host * if scenario.pins_host() { 1.0 } else { PAGEABLE.get() },
            network: network.with_latency(latency),
            known_ring: None,
            nodes,
            beyond_node,
            beyond_links: cluster.linked_levels().max(beyond_node),
            wire_loss: efficiency.wire_loss + runtime.wire_loss,
        }
    }

    /// The same, with the ring over one group at hand, over which most transfers of state are. A collective over another group
    /// finds its own.
    #[must_use]
    pub(crate) fn with_ring(self, group: Group) -> Self {
        Self { known_ring: Some((group, self.reached_ring(group))), ..self }
    }

    /// The share of the wire beyond the node that the collectives of a group reach. Further nodes are more switches away, whose
    /// ports others use: of 64 ranks on 8 nodes three doublings, whatever else the job has.
    pub(super) fn wire_between(&self, group: Group) -> Share {
        let nodes = group.devices().div_ceil(self.scenario.cluster.devices_per_node()).min(self.nodes);
        let doublings = libm::log2(f64::from(nodes));
        Share::new(self.calibrated.efficiency.wire_between / (1.0 + self.wire_loss * doublings))
    }
}

impl ExpertShare {
    fn new(scenario: &Scenario) -> Self {
        let (experts, tensor) = (&scenario.plan.experts, scenario.expert_tensor());
        Self {
            ranks: experts.ranks.into(),
            tensor: tensor.into(),
            load: experts.load(),
            own_mesh: experts.ranks > 1 || tensor != scenario.plan.tensor,
        }
    }
}

/// The attention kernel: softmax is fused only where the kernel takes the shape.
fn attention(scenario: &Scenario) -> Attention {
    let batch =
        u64::from(scenario.plan.sequences_at_once()) * u64::from(scenario.model.heads / scenario.plan.tensor.max(1));
    match scenario.attention() {
        Attention::FusedSoftmax if !batch.is_multiple_of(u64::from(FUSED_SOFTMAX_BATCH)) => Attention::Plain,
        kernel => kernel,
    }
}

/// The device's peak at a precision: the denominator of MFU and HFU.
pub fn peak(scenario: &Scenario, precision: Precision) -> FlopPerSecond {
    precision.linear().arithmetic.peak(&scenario.cluster.device.peak)
}

/// The peak of what is kept: attention and logits run in bf16 beside linear layers of fewer bits.
fn peak_storage(scenario: &Scenario) -> FlopPerSecond {
    scenario.plan.precision.storage().peak(&scenario.cluster.device.peak)
}
