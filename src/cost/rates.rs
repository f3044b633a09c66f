//! What the device and the network reach with this software: peaks times shares.

use crate::hardware::{MAX_LEVELS, Network};
use crate::plan::Precision;
use crate::scenario::Scenario;
use crate::stack::Efficiency;
use crate::units::{BytesPerSecond, FlopPerSecond};

/// What-if factors on the hardware, all 1 outside elasticities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// On every arithmetic peak.
    pub peak: f64,
    /// On the device's memory bandwidth.
    pub memory: f64,
    /// On each level's bandwidth.
    pub bandwidth: [f64; MAX_LEVELS],
    /// On each level's latency.
    pub latency: [f64; MAX_LEVELS],
}

impl Default for Factors {
    fn default() -> Self {
        Self { peak: 1.0, memory: 1.0, bandwidth: [1.0; MAX_LEVELS], latency: [1.0; MAX_LEVELS] }
    }
}

/// The rates of one scenario.
#[derive(Debug, Clone, Copy)]
pub struct Rates<'a> {
    /// The scenario they belong to.
    pub scenario: &'a Scenario,
    /// What the software reaches on this device.
    pub efficiency: &'a Efficiency,
    /// Peak in the format of the layers' matrix products.
    pub peak: FlopPerSecond,
    /// What a large matrix product of a layer reaches.
    pub matmul: FlopPerSecond,
    /// What a large product reaches in the storage format: the logits' under fp8.
    pub matmul_storage: FlopPerSecond,
    /// Peak in the storage format: attention's.
    pub peak_storage: FlopPerSecond,
    /// What streaming kernels reach.
    pub memory: BytesPerSecond,
    /// To and from the host, each way.
    pub host: BytesPerSecond,
    /// The levels.
    pub network: Network<'a>,
    /// The first level beyond the node: what lies there is `wire_between`'s.
    pub beyond_node: usize,
}

/// Used where a calibration has neither the architecture nor a default; checks refuse such a file.
const NO_EFFICIENCY: &Efficiency = &Efficiency::IDEAL;

impl<'a> Rates<'a> {
    /// The rates of a scenario with what-if factors.
    pub fn of(scenario: &'a Scenario, factors: &Factors) -> Self {
        let cluster = &*scenario.cluster;
        let device = &cluster.device;
        let efficiency = scenario.calibration.efficiency(&device.architecture).unwrap_or(NO_EFFICIENCY);
        let precision = scenario.plan.precision;
        let (peak, peak_storage) = (peak(scenario, precision) * factors.peak, peak_storage(scenario) * factors.peak);
        let share = if precision == Precision::Fp8 { efficiency.matmul_fp8 } else { efficiency.matmul };
        let mut bandwidth = factors.bandwidth;
        let outermost = cluster.levels.len().clamp(1, MAX_LEVELS) - 1;
        bandwidth[outermost] *= scenario.plan.bandwidth_factor;
        let latency = factors.latency.map(|factor| factor * efficiency.latency);
        Self {
            scenario,
            efficiency,
            peak,
            matmul: peak * share,
            matmul_storage: peak_storage * efficiency.matmul,
            peak_storage,
            memory: device.memory_bandwidth * (efficiency.memory * factors.memory),
            host: device.host_bandwidth,
            network: Network::new(cluster, bandwidth, latency),
            beyond_node: cluster.level("node").map_or(0, |node| node + 1),
        }
    }
}

/// The device's peak at a precision: the denominator of MFU and HFU.
pub(crate) fn peak(scenario: &Scenario, precision: Precision) -> FlopPerSecond {
    let peaks = &scenario.cluster.device.peak;
    match precision {
        Precision::Bf16 => peaks.bf16,
        Precision::Fp16 => peaks.fp16,
        Precision::Fp8 => peaks.fp8,
        Precision::Fp32 => None,
    }
    .unwrap_or(peaks.fp32)
}

fn peak_storage(scenario: &Scenario) -> FlopPerSecond {
    match scenario.plan.precision {
        Precision::Fp8 => peak(scenario, Precision::Bf16),
        precision => peak(scenario, precision),
    }
}
