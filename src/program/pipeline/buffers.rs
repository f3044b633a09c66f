//! The buffers of a pipeline rank: what fills them, and what empties them. Not for when they change hands, which the
//! order of its passes says ([`super::super::schedule`]).
//!
//! The shard of a state that lives on the host comes from there before it is gathered, whenever a stage comes into a
//! buffer, and what a stage's gradients are reduced to goes there when backward leaves it [layered B5]; the host adds
//! it to what it has. Sums that are still to be reduced over other ranks come back for that with the stage's last
//! backward. A second copy of the weights is left by a stage's first gather, serves its gathers for backward and goes
//! after the last backward [frontier D4]; a stage that stays in its buffer needs none.

use crate::cost::Transfer;

use super::super::build::{HOST_IN, HOST_OUT, RoutineBuilder};
use super::super::label::{Kind, Lane, Part, Phase};
use super::super::places::Holding;
use super::super::step::{bytes, held_bytes};
use super::super::task::{Counter, Task, held, waits};
use super::super::visit::{Moved, Visits};
use super::{Pipeline, label, pause};

/// A stage that comes into a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coming {
    pub work: usize,
    /// The one whose buffer it takes.
    pub evicts: Option<usize>,
    pub backward: bool,
    /// Whether it leaves a second copy.
    pub leaves: bool,
}

/// A stage that backward leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Going {
    pub work: usize,
    /// Whether for good.
    pub last: bool,
    /// Whether sums of its gradients have come back from the host.
    pub resumed: bool,
    /// Whether a second copy goes with it.
    pub second: bool,
}

impl<'a> Pipeline<'a> {
    /// What a stage holds, by how it is placed.
    fn held(&self, work: usize) -> impl Iterator<Item = (&Visits<'a>, Holding, f64)> {
        let placed = |holding: &Holding| {
            let visits = &self.ways[holding.way];
            (visits, *holding, visits.local(holding.parameters))
        };
        self.stages.works[work].holdings.iter().map(placed)
    }

    /// The sum of something over the parameters of a stage.
    fn sum(&self, work: usize, of: impl Fn(&Visits<'a>, f64) -> f64) -> f64 {
        self.held(work).map(|(visits, _, elements)| of(visits, elements)).sum()
    }

    /// Bytes that a stage takes in its buffer beyond the one that it evicts.
    pub(super) fn taken(&self, work: usize, evicts: Option<usize>) -> i64 {
        let buffer = |work: usize| bytes(self.sum(work, Visits::buffer));
        buffer(work) - evicts.map_or(0, buffer)
    }

    /// Bytes of a gradient buffer that a stage's backward fills; none where gradients stay whole all the time.
    pub(super) fn waiting(&self, work: usize) -> i64 {
        self.held(work).map(|(visits, _, elements)| bytes(visits.waiting(elements))).sum()
    }

    /// Bytes of sums on the host that are still to be reduced over other ranks.
    pub(super) fn unreduced(&self, work: usize) -> f64 {
        self.sum(work, Visits::unreduced)
    }

    /// Fills a buffer, once what was in it has been used for the last time.
    pub(super) fn fill(&self, routine: &mut RoutineBuilder<'_>, coming: Coming) {
        let Coming { work, evicts, backward, leaves } = coming;
        routine.block(1, |block| {
            let mut tasks = self.bring(block, work, backward);
            if let Some(first) = tasks.first_mut() {
                first.takes[held::GATHERED] += self.taken(work, evicts);
            }
            if let Some(last) = tasks.last_mut() {
                last.signals[1] = Some(Counter::Gathered);
                last.gives[held::SECONDARY] -= if leaves { bytes(self.sum(work, Visits::secondary)) } else { 0 };
            }
            for task in tasks {
                block.push(task);
            }
        });
    }

    /// What brings a stage's weights; the last task is on the same queue for all stages.
    fn bring(&self, block: &mut RoutineBuilder<'_>, work: usize, backward: bool) -> Vec<Task> {
        let phase = Phase::of(backward);
        let released = Some(block.after(Counter::Released, 0));
        let copied = self.sum(work, |visits, elements| visits.loaded(elements, backward));
        let loaded = (copied > 0.0).then(|| block.after(Counter::Loaded, -1));
        let mut tasks = Vec::new();
        if copied > 0.0 {
            let task = self.emit().copy(block, copied, HOST_IN, label(Lane::HostIn, Kind::Copy, Part::Layer, phase));
            tasks.push(Task { waits: waits([released]), signals: [Some(Counter::Loaded), None], ..task });
        }
        let mut gathered = false;
        for (visits, holding, elements) in self.held(work) {
            let Some(gather) = visits.gather(elements, holding.collectives, backward) else { continue };
            let mut task = self.transfer(block, &gather, self.queues.gather, Lane::Gather, phase, holding.units);
            task.waits = waits([released, loaded]);
            tasks.push(task);
            gathered = true;
        }
        if tasks.is_empty() || (self.gathers && !gathered) {
            let queue = if self.gathers { self.queues.gather } else { HOST_IN };
            let label = label(Lane::Gather, Kind::AllGather, Part::Layer, phase);
            let task = block.transfer(&Transfer::default(), queue, 0.0, label);
            tasks.push(Task { waits: waits([released, loaded]), ..task });
        }
        tasks
    }

    /// A collective of a stage, which travels unit by unit through a buffer for one.
    fn transfer(
        &self,
        block: &mut RoutineBuilder<'_>,
        moved: &Moved,
        queue: u8,
        lane: Lane,
        phase: Phase,
        units: f64,
    ) -> Task {
        let task =
            block.transfer(&moved.transfer, queue, self.contention(), label(lane, moved.kind, Part::Layer, phase));
        let buffer = held_bytes(held::COMMUNICATION, moved.buffer / units);
        Task { takes: buffer, gives: buffer, ..task }
    }

    /// A stage takes a gradient buffer, if it needs one; sums that it is to be reduced with come from the host beside
    /// its backward.
    pub(super) fn mark(&self, routine: &mut RoutineBuilder<'_>, (work, resumed): (usize, bool)) {
        let waiting = self.waiting(work);
        routine.block(u32::from(waiting > 0), |block| {
            let mut task = pause(block);
            let emptied = if self.offload.state() { Counter::Stored } else { Counter::Reduced };
            task.waits = waits([Some(block.after(emptied, 1))]);
            task.takes[held::GRADIENTS] = waiting;
            block.push(task);
            if resumed {
                let label = label(Lane::HostIn, Kind::Copy, Part::Layer, Phase::Backward);
                let mut task = self.emit().copy(block, self.unreduced(work), HOST_IN, label);
                task.waits = waits([Some(block.after(Counter::Released, 0)), Some(block.after(Counter::Stored, 1))]);
                task.signals = [Some(Counter::Loaded), None];
                task.takes[held::GRADIENTS] = bytes(self.unreduced(work));
                block.push(task);
            }
        });
    }

    /// Reduces a stage's gradients when backward leaves it: those that are sharded, and after its last backward all.
    pub(super) fn leave(&self, routine: &mut RoutineBuilder<'_>, going: Going) {
        let Going { work, last, resumed, second } = going;
        routine.block(1, |block| {
            if second {
                let mut task = pause(block);
                task.gives[held::SECONDARY] = bytes(self.sum(work, Visits::secondary));
                block.push(task);
            }
            let mut tasks = Vec::new();
            for (visits, holding, elements) in self.held(work) {
                let reduced =
                    (last || !visits.whole()).then(|| visits.reduction(elements, true, last, holding.collectives));
                let Some(reduce) = reduced.flatten() else { continue };
                let mut task =
                    self.transfer(block, &reduce, self.queues.reduce, Lane::Reduce, Phase::Backward, holding.units);
                let sums = resumed.then(|| block.after(Counter::Loaded, 0));
                task.waits = waits([Some(block.after(Counter::Released, 0)), sums]);
                task.gives[held::GRADIENTS] = bytes(visits.waiting(elements)) - bytes(visits.stored(elements, last));
                tasks.push(task);
            }
            if let Some(task) = tasks.last_mut() {
                task.signals = [Some(Counter::Reduced), None];
                task.gives[held::GRADIENTS] += if resumed { bytes(self.unreduced(work)) } else { 0 };
            }
            for task in tasks {
                block.push(task);
            }
            if self.offload.state() {
                self.store(block, work, last);
            }
        });
    }

    /// What is left of a stage's gradients goes to the host.
    fn store(&self, block: &mut RoutineBuilder<'_>, work: usize, last: bool) {
        let copied = self.sum(work, |visits, elements| visits.stored(elements, last));
        let label = label(Lane::HostOut, Kind::Copy, Part::Layer, Phase::Backward);
        let mut task = self.emit().copy(block, copied, HOST_OUT, label);
        task.waits = waits([Counter::Released, Counter::Reduced].map(|counter| Some(block.after(counter, 0))));
        task.signals = [Some(Counter::Stored), None];
        let left = self.held(work).map(|(visits, _, elements)| bytes(visits.stored(elements, last)));
        task.gives[held::GRADIENTS] = left.sum();
        block.push(task);
    }
}
