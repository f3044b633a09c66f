//! Rates and times of what the host of a rank does for it: copies over its link, the update of an offloaded state, and
//! the drives behind it. Not for the memory that this takes there ([`super::kept`]).

use crate::plan::{Ema, MasterWeights, Optimizer, Reduction};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, BytesPerSecond, Count, Seconds, Share};

use super::kept::HOST_GRADIENT;
use super::rates::Rates;

/// The rates of a rank's share of its node's drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveRates {
    /// Reading.
    pub read: BytesPerSecond,
    /// Writing.
    pub write: BytesPerSecond,
}

/// Bytes per parameter that a host's update moves between its drives and its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwappedBytes {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
}

impl Rates<'_> {
    /// Time of a copy to or from the host.
    pub(crate) fn host_copy(&self, bytes: Bytes) -> Seconds {
        bytes / self.host
    }

    /// Time of a copy of weights from where they are offloaded to.
    pub(crate) fn weights_copy(&self, bytes: Bytes) -> Seconds {
        bytes / self.weights_from_host()
    }

    /// The rate at which offloaded weights come to the device: the link's, or that of the drives behind it.
    pub fn weights_from_host(&self) -> BytesPerSecond {
        let drives = self.drives().filter(|_| self.scenario.plan.offload.state());
        drives.map_or(self.host, |drives| drives.read.min(self.host))
    }

    /// The rates of a rank's share of its node's drives; `None` where none of its state is there.
    pub fn drives(&self) -> Option<DriveRates> {
        let drives = self.scenario.cluster.drives().filter(|_| self.scenario.plan.offload.on_drives())?;
        let ranks = f64::from(self.scenario.devices_on_node());
        Some(DriveRates { read: drives.read / ranks, write: drives.write / ranks })
    }

    /// What an update reads of the drives and writes to them for each parameter: its state, and the gradient in fp32, which
    /// backward leaves there; weights where they are there too. Adam: 12 + 4 bytes each way, and 2 more written
    /// (deepspeed/runtime/zero/stage3.py, `swap_out_gradients`, `_optimizer_states_and_gradient_swap_in`,
    /// `_partitioned_params_swap_out`).
    pub fn swapped_bytes(&self) -> SwappedBytes {
        let plan = &self.scenario.plan;
        let read = Bytes::new(plan.optimizer_state()) + HOST_GRADIENT;
        let weight = if plan.offload.state() { plan.precision.storage().bytes() } else { 0.0 };
        SwappedBytes { read, written: read + Bytes::new(weight) }
    }

    /// The rate at which a rank's threads on the host update its state: theirs, as the cluster states it of its host or else the
    /// calibration of old ones, or the rank's share of the host's memory bandwidth where that is less. `None` where the host's
    /// arithmetic takes no time.
    pub fn host_update_rate(&self, threads: u32) -> Option<BytesPerSecond> {
        let usual = self.calibrated.software.host_update?;
        let own = self.scenario.cluster.host.as_ref().and_then(|host| host.thread_rate);
        let threads = own.unwrap_or(usual) * f64::from(threads);
        let memory = self.scenario.cluster.host_memory_bandwidth();
        Some(threads.min(memory / f64::from(self.scenario.devices_on_node())))
    }

    /// What an update on the host moves for each parameter: as on the device, or as the stack's Adam does it on fp32 weights.
    pub fn host_update_bytes(&self) -> Bytes {
        let plan = &self.scenario.plan;
        let adam = plan.optimizer == Optimizer::Adam && plan.master_weights == MasterWeights::Fp32;
        let averaged = if plan.ema == Ema::Device { self.average_bytes() } else { Bytes::ZERO };
        let own = self.scenario.stack.host_adam.filter(|_| adam);
        // The norm is taken on the device, where gradients are reduced.
        own.map_or(self.update_bytes() + self.read_for_norm(), |own| Bytes::new(own) + averaged)
    }

    /// What an average of the weights moves for each parameter: it is read and written, and the weight read.
    fn average_bytes(&self) -> Bytes {
        Bytes::new(3.0 * self.scenario.plan.updated_weight())
    }

    /// Time of the host's threads to average so many weights.
    pub(crate) fn host_average(&self, parameters: Count) -> Seconds {
        let rate = self.host_update_rate(self.scenario.host_threads().counted);
        rate.map_or(Seconds::ZERO, |rate| parameters * self.average_bytes() / rate)
    }

    /// The share of gradients that is on the host from one micro-batch to the next: all beside a state there, and those of an
    /// optimizer there that each rank sends shard by shard while backward runs.
    pub(crate) fn gradients_on_host(&self, layout: &Layout) -> Share {
        let Scenario { plan, stack, .. } = self.scenario;
        if plan.offload.state() {
            return Share::new(1.0);
        }
        let shards = layout.gradients > 1 && layout.gradients == layout.group() && plan.reduction != Reduction::Step;
        let early = stack.offloads_during_backward && stack.reduce_during_backward && !plan.staged();
        Share::new(if early && shards { plan.optimizer_on_host() } else { 0.0 })
    }

    /// Time of the host to add gradients of so many bytes to sums, both of which it reads, and the sums it writes: at a rank's share
    /// of its memory bandwidth. How fast a thread adds was not measured.
    pub(crate) fn host_sum(&self, gradients: Bytes) -> Seconds {
        let memory = self.scenario.cluster.host_memory_bandwidth() / f64::from(self.scenario.devices_on_node());
        let free = self.calibrated.software.host_update.is_none();
        if free { Seconds::ZERO } else { gradients * 3.0 / memory }
    }

    /// Bytes of so many weights that come to the host to be averaged there.
    pub(crate) fn averaged_on_host(&self, parameters: Count) -> Bytes {
        parameters * Bytes::new(self.scenario.plan.updated_weight())
    }

    /// Time of so many threads of the host to update `parameters` local parameters. Of a state on drives each part is read,
    /// updated and written before the next one: `pipeline_read` and `pipeline_write` are off by default
    /// (`deepspeed/runtime/zero/offload_config.py`).
    pub fn host_update(&self, parameters: Count, threads: u32) -> Seconds {
        let moved = parameters * self.host_update_bytes();
        let update = self.host_update_rate(threads).map_or(Seconds::ZERO, |rate| moved / rate);
        let swapped = self.drives().map_or(Seconds::ZERO, |drives| {
            let SwappedBytes { read, written } = self.swapped_bytes();
            parameters * read / drives.read + parameters * written / drives.write
        });
        update + swapped
    }
}
