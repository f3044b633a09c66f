//! How a plan uses the host of a node: threads, and page-locked memory. Not for what it keeps there
//! ([`crate::cost::Rates::kept`]), nor for the time that it takes.

use crate::stack::ProcessLauncher;
use crate::units::{BytesPerSecond, Share};

use super::Scenario;

/// The share of its link's rate that a copy reaches to and from memory of the host that is not page-locked: the driver passes
/// it through a buffer that is. A DGX A100 copies 10.0 of 25.7 GB/s to the device (`bandwidthTest` of NVIDIA's CUDA samples,
/// in `gengwg/gpu`); other hosts 0.17 (deepspeedai/DeepSpeed pull request 5301) to 0.48 (rapidsai/dask-cuda pull request 98).
pub const PAGEABLE: Share = Share::new(10.0 / 25.7);

/// Threads of the host with which each rank updates an offloaded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostThreads {
    /// The threads that an update is timed with.
    pub counted: u32,
    /// A rank's share of the cores, where nothing says that fewer threads run; absent where the threads are known.
    pub most: Option<u32>,
}

impl Scenario {
    /// The threads of each rank's update: as the plan says, or one for each of several processes that torchrun starts. Where
    /// neither is so one is counted, at whose rate two of four published runs of `DeepSpeed` updated.
    pub fn host_threads(&self) -> HostThreads {
        let ranks = self.devices_on_node();
        let launched = self.stack.launcher == Some(ProcessLauncher::Torchrun) && ranks > 1;
        let known = self.plan.host_threads.or(launched.then_some(1));
        let share = || (self.cluster.host_cores() / ranks).max(1);
        HostThreads { counted: known.unwrap_or(1), most: known.is_none().then(share) }
    }

    /// What copies between a device and page-locked memory of its host reach.
    pub fn host_link(&self) -> BytesPerSecond {
        self.cluster.device.host_bandwidth * self.calibration.software.host_link
    }

    /// Whether copies to and from the host are of page-locked memory: the program asks for it, and the host lets it.
    pub fn pins_host(&self) -> bool {
        self.plan.host_pinned && self.cluster.host.as_ref().is_none_or(|host| host.pinned)
    }
}
