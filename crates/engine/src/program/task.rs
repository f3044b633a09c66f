//! One task: its stream, duration, demands, waits and events. Not for the order of tasks ([`super::rank_program`]).
//!
//! A task runs on its stream, in the order of the list, once the events that it waits for have been raised often enough;
//! when it ends it raises events itself. Waits are relative to what the list has raised so far, so that one task stands
//! for all its repeats. With a prefetch of one layer, the gathers of layers 0 to 6 are listed before layer 5 computes: it
//! waits for all of them but the latest, six.

use crate::cost::Transfer;
use crate::hardware::MAX_LEVELS;
use crate::plan::pass::Direction;
use crate::units::{Bytes, Seconds, Share, ceil, nearest};

use super::label::Label;
use super::memory::{MemoryKind, PerMemoryKind};
use super::stream::{STREAMS, Stream};

/// Whole picoseconds.
pub(crate) type Picos = u64;

/// Picoseconds per second.
pub const PICOS: f64 = 1e12;

/// The longest that all ranks' tasks may take one after the other, so that the clock can count every moment of the
/// step: tasks that share resources take up to [`STREAMS`] times as long.
pub(crate) const MAX_SERIAL_TIME: Seconds = Seconds::new(Picos::MAX as f64 / PICOS / STREAMS as f64);

/// Rounds seconds to picoseconds, once, where a task is made.
pub fn picos(time: Seconds) -> Picos {
    nearest(time.get() * PICOS).cast_unsigned()
}

/// Whole picoseconds in seconds.
pub fn seconds(picos: Picos) -> Seconds {
    Seconds::new(picos as f64 / PICOS)
}

/// The resources that tasks share: the levels' links, and the device itself, for which overlapping work contends.
pub const RESOURCES: usize = MAX_LEVELS + 1;

/// The index of the device among the resources.
pub(crate) const DEVICE: usize = MAX_LEVELS;

/// A demand for the whole of a resource.
pub(crate) const FULL_DEMAND: u32 = 4096;

/// Counters of a rank, which tasks raise when they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TaskEvent {
    /// Pieces of compute.
    Computed,
    /// Units whose compute is done, so that their gathered weights are free.
    Released,
    /// Units gathered.
    Gathered,
    /// Units reduced.
    Reduced,
    /// Units whose gradients are summed over replicas, where that is a transfer of its own.
    Summed,
    /// Collectives of tensor parallelism.
    Tensor,
    /// Exchanges of context parallelism.
    Context,
    /// Exchanges of tokens with their experts.
    Experts,
    /// Copies to the host, except those counted by `Stored`.
    HostOut,
    /// Copies from the host, except those counted by `Loaded`.
    HostIn,
    /// Shards of stages' weights, and sums of gradients of stages or units, that came from the host.
    Loaded,
    /// Gradients of stages or units that went to the host.
    Stored,
    /// Activations that arrived from another rank.
    ArrivedForward,
    /// Gradients of activations that arrived from another rank.
    ArrivedBackward,
}

/// Number of events, of which this is the last.
pub(crate) const EVENTS: usize = TaskEvent::ArrivedBackward as usize + 1;

impl TaskEvent {
    /// The event that a neighbouring rank raises by sending in a direction.
    pub const fn arrival(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::ArrivedForward,
            Direction::Backward => Self::ArrivedBackward,
        }
    }

    /// An arrival's direction; `None` for events of the rank's own tasks.
    pub const fn direction(self) -> Option<Direction> {
        match self {
            Self::ArrivedForward => Some(Direction::Forward),
            Self::ArrivedBackward => Some(Direction::Backward),
            _ => None,
        }
    }

    /// Whether another rank raises it.
    pub(crate) const fn remote(self) -> bool {
        self.direction().is_some()
    }
}

/// A condition of a task: the event must have been raised as often as the list does before this iteration of the task
/// loop, plus `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventWait {
    /// The event to wait for.
    pub event: TaskEvent,
    /// Count relative to the beginning of this iteration.
    pub offset: i64,
}

/// The kind of time that a task on the compute stream accounts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskClass {
    /// Forward and backward.
    #[default]
    Compute,
    /// The optimizer's update.
    Optimizer,
    /// A fixed cost of the host.
    Host,
    /// A transfer or collective.
    Transfer,
}

/// The most conditions that a task has.
pub const WAITS: usize = 7;

/// One task; in a task loop that repeats, one per iteration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Task {
    /// The stream that runs it, in order.
    pub stream: Stream,
    /// The kind of time that it accounts for.
    pub class: TaskClass,
    /// Time that it takes alone.
    pub duration: Picos,
    /// Shares of resources that it needs for that, in the units in which a whole resource is `FULL_DEMAND`.
    pub demand: [u32; RESOURCES],
    /// Conditions, packed to the front.
    pub waits: [Option<EventWait>; WAITS],
    /// Counters that it raises by one.
    pub signals: [Option<TaskEvent>; 2],
    /// The direction of its send, which arrives at the next rank (forward) or the one before (backward) when it ends.
    pub sends: Option<Direction>,
    /// Memory that it allocates when it starts.
    pub allocates: PerMemoryKind<i64>,
    /// Memory that it frees (or, negative, leaves behind) when it ends.
    pub frees: PerMemoryKind<i64>,
    /// Description for people.
    pub label: Label,
    /// A transfer's place among those of the program.
    pub transfer: u32,
    /// The stream's next task in the loop, by index; a number beyond all tasks if there is none.
    pub next: u32,
}

impl Task {
    /// Makes it take as long as a transfer, and what that needs; `contention` is how much of the device that is.
    pub(super) fn take(&mut self, transfer: &Transfer, contention: Share) {
        self.duration = picos(transfer.time);
        for (demand, busy) in self.demand.iter_mut().zip(transfer.busy) {
            // A transfer of 8 ms, 2 of them latency, keeps its link busy for 6: it demands 3/4 of the link, 3072 of
            // 4096, and another one of 1/4 beside it slows neither down. Rounded up, so that no demand vanishes.
            let share = || (busy / transfer.time).min(1.0);
            let shared = busy > Seconds::ZERO;
            *demand = if shared { (ceil(share() * f64::from(FULL_DEMAND)) as u32).min(FULL_DEMAND) } else { 0 };
        }
        // Kernels of a collective occupy part of the device: compute beside them runs slower by `contention`.
        self.demand[DEVICE] = device_demand(contention);
        self.label.bytes = nearest(transfer.received.get()).cast_unsigned();
        self.label.level = transfer.level().map(|level| level as u8);
    }
}

/// A transfer's demand for the device, of [`FULL_DEMAND`], so that compute beside it runs slower by `contention`.
pub(super) fn device_demand(contention: Share) -> u32 {
    nearest(contention.get() * f64::from(FULL_DEMAND)) as u32
}

/// Packs a task's conditions to the front. More than [`WAITS`] do not compile, so none can be lost:
///
/// ```
/// # use shardscope_engine::program::{WAITS, waits};
/// waits([None; WAITS]);
/// ```
/// ```compile_fail,E0080
/// # use shardscope_engine::program::{WAITS, waits};
/// waits([None; WAITS + 1]);
/// ```
pub fn waits<const N: usize>(conditions: [Option<EventWait>; N]) -> [Option<EventWait>; WAITS] {
    const { assert!(N <= WAITS, "a task has more conditions than there is room for") };
    let mut waits = [None; WAITS];
    for (slot, wait) in waits.iter_mut().zip(conditions.into_iter().flatten()) {
        *slot = Some(wait);
    }
    waits
}

/// The index of no task.
pub(crate) const NO_TASK: u32 = u32::MAX;

/// Whole bytes; negative where a task leaves less behind than it found.
pub(super) fn bytes(amount: Bytes) -> i64 {
    let whole = nearest(amount.get().abs());
    if amount < Bytes::ZERO { -whole } else { whole }
}

/// Whole bytes of one kind of memory.
pub(super) fn memory_of(kind: MemoryKind, amount: Bytes) -> PerMemoryKind<i64> {
    PerMemoryKind::only(kind, bytes(amount))
}
