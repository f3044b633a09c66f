//! The order in which one pipeline rank costs its stages, in turns of equal passes.

use std::ops::Range;

use crate::plan::Schedule;

/// Forward or backward of one of a rank's stages for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StagePass {
    /// Which of the rank's stages, from 0.
    pub stage: u32,
    /// Its direction.
    pub backward: bool,
    /// The micro-batch, from 0, when the pass runs first.
    pub micro_batch: u32,
}

impl StagePass {
    /// The same, so many micro-batches later.
    const fn later(self, micro_batches: u32) -> Self {
        Self { micro_batch: self.micro_batch + micro_batches, ..self }
    }
}

/// One pass, or a forward and a backward, so many times in a row; each time the next micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PassRun {
    pub repeat: u32,
    pub first: StagePass,
    pub second: Option<StagePass>,
}

impl PassRun {
    pub fn passes(&self) -> impl Iterator<Item = StagePass> + use<> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// The pass with which it ends.
    pub fn last(&self) -> StagePass {
        self.second.unwrap_or(self.first)
    }

    /// The same, so many micro-batches later.
    pub fn later(self, micro_batches: u32) -> Self {
        Self {
            first: self.first.later(micro_batches),
            second: self.second.map(|pass| pass.later(micro_batches)),
            ..self
        }
    }

    /// The backward that runs, if one does.
    fn backward(&self) -> Option<StagePass> {
        self.passes().find(|pass| pass.backward)
    }
}

/// What a rank does: turns, some of which may repeat together.
#[derive(Debug, Default)]
pub(super) struct PassOrder {
    pub turns: Vec<PassRun>,
    /// Turns that repeat together, each time for the next micro-batch; in order.
    pub loops: Vec<PassLoop>,
    /// Turns that repeat together, each time for as many micro-batches later as there are ranks.
    pub group_loop: Range<usize>,
    /// How often they do.
    pub repeat: u32,
}

/// Turns, so many times in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PassLoop {
    pub turns: Range<usize>,
    pub repeat: u32,
}

/// A pipeline's shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct PipelineShape {
    pub schedule: Schedule,
    pub ranks: u32,
    pub stages_per_rank: u32,
    pub micro_batches: u32,
    /// Whether stages take turns in buffers.
    pub buffered: bool,
}

const fn forward(stage: u32, micro_batch: u32) -> StagePass {
    StagePass { stage, backward: false, micro_batch }
}

const fn backward(stage: u32, micro_batch: u32) -> StagePass {
    StagePass { stage, backward: true, micro_batch }
}

/// Stages that forward and backward of the interleaved schedule visit beside each other until both buffers hold what
/// they brought: from then on, until the last group, all periods are alike.
const STEADY: u32 = 3;

impl PipelineShape {
    /// What rank `rank` does, in order.
    pub fn order(self, rank: u32) -> PassOrder {
        let micro_batches = self.micro_batches;
        let mut order = PassOrder { repeat: 1, ..PassOrder::default() };
        match self.schedule {
            Schedule::GPipe => {
                order.add(micro_batches, forward(0, 0), None);
                order.add(micro_batches, backward(0, 0), None);
            }
            Schedule::OneForwardOneBackward => {
                let ahead = (self.ranks - 1 - rank).min(micro_batches);
                order.add(ahead, forward(0, 0), None);
                order.add(micro_batches - ahead, forward(0, ahead), Some(backward(0, 0)));
                order.add(ahead, backward(0, micro_batches - ahead), None);
            }
            Schedule::BreadthFirst => {
                (0..self.stages_per_rank).for_each(|stage| order.add(micro_batches, forward(stage, 0), None));
                (0..self.stages_per_rank).rev().for_each(|stage| order.add(micro_batches, backward(stage, 0), None));
            }
            Schedule::Interleaved => self.interleaved(rank, &mut order),
        }
        order
    }

    /// Depth first: groups of as many micro-batches as ranks go through the rank's stages in turn;
    /// `2 (P - r - 1) + (K - 1) P` forwards go ahead (Narayanan et al., arXiv 2104.04473, batch_loop 2.2).
    fn interleaved(self, rank: u32, order: &mut PassOrder) {
        let (ranks, stages) = (self.ranks, self.stages_per_rank);
        let groups = self.micro_batches / ranks;
        // Forwards go ahead by less than `K + 1` stages; then come those until all is steady, a period that stands for
        // many, and one more before the last. With one stage per rank all turns join anyway.
        let steady = stages.min(STEADY);
        let listed = if stages == 1 { groups } else { groups.min((2 * stages + steady + 2).div_ceil(stages)) };
        let (period, later) = (stages * ranks, (groups - listed) * ranks);
        let group_loop = steady * ranks..steady * ranks + period;
        let total = listed * period;
        let in_a_row = |index: u32| ranks - index % ranks;
        let ahead = (2 * (ranks - 1 - rank) + (stages - 1) * ranks).min(total);
        let mut index = 0;
        while index < total + ahead {
            let behind = index.checked_sub(ahead);
            if later > 0 && behind == Some(group_loop.start) {
                order.group_loop.start = order.turns.len();
            }
            if later > 0 && behind == Some(group_loop.end) {
                (order.group_loop.end, order.repeat) = (order.turns.len(), 1 + later / ranks);
            }
            let later = if behind.is_some_and(|behind| behind >= group_loop.end) { later } else { 0 };
            let place = |index: u32| (index / ranks % stages, index / period * ranks + index % ranks + later);
            let first = (index < total).then(|| place(index)).map(|(stage, micro_batch)| forward(stage, micro_batch));
            let second = behind.map(place).map(|(stage, micro_batch)| backward(stages - 1 - stage, micro_batch));
            let count = in_a_row(index).min(behind.map_or_else(|| ahead - index, in_a_row));
            match (first, second) {
                (Some(first), Some(second)) if self.buffered && contend(first.stage, second.stage) => {
                    order.contend(count, [first, second]);
                }
                (Some(first), second) => order.add(count, first, second),
                (None, Some(second)) => order.add(count, second, None),
                (None, None) => {}
            }
            index += count;
        }
    }
}

impl PassOrder {
    /// Adds turns of two stages that take one buffer from each other at every pass: between the first time and the
    /// last all are alike.
    fn contend(&mut self, repeat: u32, passes: [StagePass; 2]) {
        let turns = |time: u32| passes.map(|pass| PassRun { repeat: 1, first: pass.later(time), second: None });
        self.turns.extend(turns(0));
        if repeat > 2 {
            let start = self.turns.len();
            self.turns.extend(turns(1));
            self.loops.push(PassLoop { turns: start..self.turns.len(), repeat: repeat - 2 });
        }
        if repeat > 1 {
            self.turns.extend(turns(repeat - 1));
        }
    }

    /// Adds a turn, joining it with an equal neighbour.
    fn add(&mut self, repeat: u32, first: StagePass, second: Option<StagePass>) {
        if repeat == 0 {
            return;
        }
        if let Some(last) = self.turns.last_mut() {
            let follows = |before: StagePass, pass: StagePass| {
                StagePass { micro_batch: before.micro_batch + last.repeat, ..before } == pass
            };
            let joined = match (last.second, second) {
                (Some(before), Some(pass)) => follows(before, pass),
                (None, None) => true,
                _ => false,
            };
            if joined && follows(last.first, first) {
                last.repeat += repeat;
                return;
            }
        }
        self.turns.push(PassRun { repeat, first, second });
    }
}

/// Layers of each stage: one at a time to the stage that has least time so far, embedding and head
/// counted where they are; among equals the earliest. Each time is of forward and backward together.
pub(super) fn split(layers: u32, stages: u32, layer: f64, embedding: f64, head: f64) -> Vec<u32> {
    let last = stages as usize - 1;
    let mut counts = vec![0; stages as usize];
    if last == 0 {
        counts[0] = layers;
        return counts;
    }
    // Stages between the ends fill up level by level.
    let (mut first_time, mut level, mut last_time) = (embedding, 0.0, head);
    let mut next = 1;
    for _ in 0..layers {
        let between = if last > 1 { level } else { f64::INFINITY };
        if first_time <= between && first_time <= last_time {
            counts[0] += 1;
            first_time += layer;
        } else if between <= last_time {
            counts[next] += 1;
            next += 1;
            if next == last {
                (next, level) = (1, level + layer);
            }
        } else {
            counts[last] += 1;
            last_time += layer;
        }
    }
    counts
}

/// A stage that must be gathered for a turn, because no buffer holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StageGather {
    pub stage: u32,
    /// The stage whose buffer it takes.
    pub evicts: Option<u32>,
    /// The turn that needs it, whether that is for backward, and whether it is the stage's first of all.
    pub turn: usize,
    pub backward: bool,
    pub first: bool,
    /// Turns that have passed where its gather is listed: when that buffer is free, or later.
    pub place: usize,
}

/// The stages to gather, in the order of the turns that need them: those that their buffer does not hold, each
/// as soon as it is free.
pub(super) fn fills(turns: &[PassRun]) -> Vec<StageGather> {
    let mut buffers: [Option<(u32, usize)>; BUFFERS] = [None; BUFFERS];
    let mut fills = Vec::with_capacity(turns.len());
    for (turn, passes) in turns.iter().map(PassRun::passes).enumerate() {
        for StagePass { stage, backward, micro_batch } in passes {
            let held = buffers[buffer(stage)].replace((stage, turn + 1));
            if held.is_none_or(|(held, _)| held != stage) {
                let (evicts, place) = held.map_or((None, 0), |(held, free)| (Some(held), free));
                let first = !backward && micro_batch == 0;
                fills.push(StageGather { stage, evicts, turn, backward, first, place });
            }
        }
    }
    fills
}

/// The stages that are in the buffers when all fills are done.
pub(super) fn last(fills: &[StageGather]) -> impl Iterator<Item = u32> {
    let last = |index: usize| fills.iter().map(|fill| fill.stage).rfind(|stage| buffer(*stage) == index);
    (0..BUFFERS).filter_map(last)
}

/// Turns with the same backward stage, others without any among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BackwardRun {
    pub stage: u32,
    /// The turns with which it begins and ends.
    pub begins: usize,
    pub ends: usize,
    /// Whether it has the stage's first micro-batch, and whether the last.
    pub first: bool,
    pub last: bool,
}

/// The backward_runs of backward, in order.
pub(super) fn backward_runs(turns: &[PassRun], micro_batches: u32) -> Vec<BackwardRun> {
    let mut backward_runs: Vec<BackwardRun> = Vec::with_capacity(turns.len());
    for (index, turn) in turns.iter().enumerate() {
        let Some(StagePass { stage, micro_batch, .. }) = turn.backward() else { continue };
        let last = micro_batch + turn.repeat == micro_batches;
        match backward_runs.last_mut() {
            Some(backward_run) if backward_run.stage == stage => (backward_run.ends, backward_run.last) = (index, last),
            _ => backward_runs.push(BackwardRun { stage, begins: index, ends: index, first: micro_batch == 0, last }),
        }
    }
    backward_runs
}

/// Buffers for gathered stages, and as many for their gradients [layered C5].
const BUFFERS: usize = 2;

/// The buffer of a stage: they take turns.
const fn buffer(stage: u32) -> usize {
    stage as usize % BUFFERS
}

/// Whether two stages cannot be in their buffers together.
const fn contend(one: u32, other: u32) -> bool {
    one != other && buffer(one) == buffer(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collectives(schedule: Schedule, (ranks, stages_per_rank, micro_batches): (u32, u32, u32)) -> (usize, usize) {
        let order = PipelineShape { schedule, ranks, stages_per_rank, micro_batches, buffered: true }.order(0);
        let around = |turn: usize| order.loops.iter().find(|around| around.turns.contains(&turn));
        let times = |fill: &StageGather| around(fill.turn).map_or(1, |around| around.repeat as usize);
        (fills(&order.turns).iter().map(times).sum(), backward_runs(&order.turns, micro_batches).len())
    }

    /// [layered C5], the table: (all-gathers, reduce-scatters) per rank and batch with two buffers.
    #[test]
    fn collectives_per_batch() {
        let (breadth, depth) = (Schedule::BreadthFirst, Schedule::Interleaved);
        assert_eq!(collectives(breadth, (4, 4, 8)), (6, 4));
        assert_eq!(collectives(depth, (4, 4, 8)), (20, 8));
        assert_eq!(collectives(breadth, (8, 4, 16)), (6, 4));
        assert_eq!(collectives(depth, (8, 4, 16)), (36, 8));
        assert_eq!(collectives(breadth, (8, 8, 8)), (14, 8));
        assert_eq!(collectives(depth, (8, 8, 8)), (14, 8));
    }

    /// Every turn of an order, by index, loops and group_loops unrolled, and how many micro-batches later it runs.
    fn costs(order: &PassOrder, ranks: u32) -> Vec<(usize, u32)> {
        let mut costs = Vec::new();
        let mut list = |turns: Range<usize>, later: u32| {
            let mut index = turns.start;
            while index < turns.end {
                let around = order.loops.iter().find(|around| around.turns.start == index);
                let (end, repeat) = around.map_or((index + 1, 1), |around| (around.turns.end, around.repeat));
                (0..repeat).for_each(|time| costs.extend((index..end).map(|turn| (turn, later + time))));
                index = end;
            }
        };
        list(0..order.group_loop.start, 0);
        (0..order.repeat).for_each(|group_loop| list(order.group_loop.clone(), group_loop * ranks));
        list(order.group_loop.end..order.turns.len(), 0);
        costs
    }

    /// Every pass of an order.
    fn unrolled(order: &PassOrder, ranks: u32) -> Vec<StagePass> {
        let times =
            |(turn, later): (usize, u32)| (later..later + order.turns[turn].repeat).map(move |later| (turn, later));
        let passes = |(turn, later): (usize, u32)| order.turns[turn].later(later).passes();
        costs(order, ranks).into_iter().flat_map(times).flat_map(passes).collect()
    }

    #[test]
    fn every_pass_runs_once_and_forward_first() {
        for schedule in Schedule::ALL {
            for (ranks, stages_per_rank, micro_batches) in [(1, 1, 1), (4, 1, 6), (4, 3, 8), (2, 4, 2), (3, 2, 33)] {
                let contiguous = matches!(schedule, Schedule::GPipe | Schedule::OneForwardOneBackward);
                let stages = if contiguous { 1 } else { stages_per_rank };
                if *schedule == Schedule::Interleaved && micro_batches % ranks > 0 {
                    continue;
                }
                for buffered in [false, true] {
                    let shape =
                        PipelineShape { schedule: *schedule, ranks, stages_per_rank: stages, micro_batches, buffered };
                    for rank in 0..ranks {
                        let mut seen = std::collections::HashSet::new();
                        for StagePass { stage, backward, micro_batch } in unrolled(&shape.order(rank), ranks) {
                            assert!(seen.insert((stage, micro_batch, backward)), "twice");
                            assert!(!backward || seen.contains(&(stage, micro_batch, false)), "too early");
                        }
                        assert_eq!(seen.len() as u32, 2 * stages * micro_batches);
                    }
                }
            }
        }
    }

    /// Rounds stand for what would be listed without them: index by index, `ahead` forwards first.
    #[test]
    fn rounds_stand_for_all_groups() {
        for (ranks, stages, groups) in [(2, 2, 6), (3, 2, 11), (4, 3, 9), (2, 7, 8)] {
            let (schedule, micro_batches) = (Schedule::Interleaved, ranks * groups);
            for buffered in [false, true] {
                let shape = PipelineShape { schedule, ranks, stages_per_rank: stages, micro_batches, buffered };
                for rank in 0..ranks {
                    let order = shape.order(rank);
                    let listed = if stages < 5 { 4 } else { 3 };
                    assert_eq!(order.repeat, groups - listed + 1);
                    let total = micro_batches * stages;
                    let ahead = 2 * (ranks - 1 - rank) + (stages - 1) * ranks;
                    let place = |index: u32| (index / ranks % stages, index / (ranks * stages) * ranks + index % ranks);
                    let mut expected = Vec::new();
                    for index in 0..total + ahead {
                        if index < total {
                            expected.push(forward(place(index).0, place(index).1));
                        }
                        if let Some(behind) = index.checked_sub(ahead) {
                            expected.push(backward(stages - 1 - place(behind).0, place(behind).1));
                        }
                    }
                    assert_eq!(unrolled(&order, ranks), expected);
                }
            }
        }
    }

    /// What repeats takes the buffers from the same stages each time.
    #[test]
    fn rounds_gather_as_all_groups_do() {
        let taken = |fill: &StageGather| (fill.stage, fill.evicts, fill.backward);
        for (ranks, stages, groups) in [(2, 2, 6), (3, 3, 7), (5, 4, 6), (4, 5, 5), (8, 6, 5), (3, 7, 6), (8, 8, 4)] {
            let (schedule, micro_batches) = (Schedule::Interleaved, ranks * groups);
            let shape = PipelineShape { schedule, ranks, stages_per_rank: stages, micro_batches, buffered: true };
            for rank in 0..ranks {
                let order = shape.order(rank);
                assert!(order.repeat > 1);
                let listed = fills(&order.turns);
                let of_turn = |(turn, _)| listed.iter().filter(move |fill| fill.turn == turn).map(taken);
                let repeated: Vec<_> = costs(&order, ranks).into_iter().flat_map(of_turn).collect();
                let each = |pass: StagePass| PassRun { repeat: 1, first: pass, second: None };
                let turns: Vec<PassRun> = unrolled(&order, ranks).into_iter().map(each).collect();
                assert_eq!(repeated, fills(&turns).iter().map(taken).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn layers_go_where_there_is_least() {
        assert_eq!(split(8, 4, 1.0, 0.0, 0.0), [2, 2, 2, 2]);
        // The head costs two layers: 2 + 2 + 2 + (0 + 2).
        assert_eq!(split(6, 4, 1.0, 0.0, 2.0), [2, 2, 2, 0]);
        assert_eq!(split(9, 4, 1.0, 0.0, 0.0), [3, 2, 2, 2]);
    }
}
