//! The order in which one pipeline rank visits its stages, in turns of equal slots.

use crate::plan::Schedule;

/// Forward or backward of one of a rank's stages for one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Which of the rank's stages, from 0.
    pub stage: u32,
    /// Its direction.
    pub backward: bool,
    /// The micro-batch, from 0, when the slot runs first.
    pub micro_batch: u32,
}

/// One slot, or a forward and a backward, so many times in a row; each time the next micro-batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub repeat: u32,
    pub slots: Vec<Slot>,
}

/// A pipeline's shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub schedule: Schedule,
    pub ranks: u32,
    pub stages_per_rank: u32,
    pub micro_batches: u32,
}

const fn forward(stage: u32, micro_batch: u32) -> Slot {
    Slot { stage, backward: false, micro_batch }
}

const fn backward(stage: u32, micro_batch: u32) -> Slot {
    Slot { stage, backward: true, micro_batch }
}

impl Shape {
    /// What rank `rank` does, in order.
    pub fn turns(self, rank: u32) -> Vec<Turn> {
        let micro_batches = self.micro_batches;
        let mut order = Order::default();
        match self.schedule {
            Schedule::GPipe => {
                order.add(micro_batches, &[forward(0, 0)]);
                order.add(micro_batches, &[backward(0, 0)]);
            }
            Schedule::OneForwardOneBackward => {
                let ahead = (self.ranks - 1 - rank).min(micro_batches);
                order.add(ahead, &[forward(0, 0)]);
                order.add(micro_batches - ahead, &[forward(0, ahead), backward(0, 0)]);
                order.add(ahead, &[backward(0, micro_batches - ahead)]);
            }
            Schedule::BreadthFirst => {
                (0..self.stages_per_rank).for_each(|stage| order.add(micro_batches, &[forward(stage, 0)]));
                (0..self.stages_per_rank).rev().for_each(|stage| order.add(micro_batches, &[backward(stage, 0)]));
            }
            Schedule::Interleaved => self.interleaved(rank, &mut order),
        }
        order.turns
    }

    /// Depth first: groups of as many micro-batches as ranks go through the rank's stages in turn;
    /// `2 (P - r - 1) + (K - 1) P` forwards go ahead (Narayanan et al., arXiv 2104.04473, section 2.2).
    fn interleaved(self, rank: u32, order: &mut Order) {
        let (ranks, stages) = (self.ranks, self.stages_per_rank);
        let total = self.micro_batches * stages;
        let place = |index: u32| (index / ranks % stages, index / (ranks * stages) * ranks + index % ranks);
        let ahead_of = |index: u32| {
            let (stage, micro_batch) = place(index);
            forward(stage, micro_batch)
        };
        let behind_of = |index: u32| {
            let (stage, micro_batch) = place(index);
            backward(stages - 1 - stage, micro_batch)
        };
        let ahead = (2 * (ranks - 1 - rank) + (stages - 1) * ranks).min(total);
        (0..ahead).for_each(|index| order.add(1, &[ahead_of(index)]));
        (ahead..total).for_each(|index| order.add(1, &[ahead_of(index), behind_of(index - ahead)]));
        (total - ahead..total).for_each(|index| order.add(1, &[behind_of(index)]));
    }
}

/// Collects turns, joining equal neighbours.
#[derive(Debug, Default)]
struct Order {
    turns: Vec<Turn>,
}

impl Order {
    fn add(&mut self, repeat: u32, slots: &[Slot]) {
        if repeat == 0 {
            return;
        }
        // Two stages of one buffer take it from each other at every slot.
        if let [first, second] = slots
            && first.stage != second.stage
            && buffer(first.stage) == buffer(second.stage)
        {
            for time in 0..repeat {
                let later = |slot: &Slot| Slot { micro_batch: slot.micro_batch + time, ..*slot };
                self.turns.extend(slots.iter().map(|slot| Turn { repeat: 1, slots: vec![later(slot)] }));
            }
            return;
        }
        if let Some(last) = self.turns.last_mut() {
            let follows = |before: &Slot, slot: &Slot| {
                (before.stage, before.backward) == (slot.stage, slot.backward)
                    && before.micro_batch + last.repeat == slot.micro_batch
            };
            let joined = last.slots.len() == slots.len() && last.slots.iter().zip(slots).all(|(a, b)| follows(a, b));
            if joined {
                last.repeat += repeat;
                return;
            }
        }
        self.turns.push(Turn { repeat, slots: slots.to_vec() });
    }
}

/// Layers of each stage: one at a time to the stage that has least time so far, embedding and head
/// counted where they are; among equals the earliest. Each time is of forward and backward together.
pub(super) fn split(layers: u32, stages: u32, layer: f64, embedding: f64, head: f64) -> Vec<u32> {
    let mut times = vec![0.0; stages as usize];
    times[0] += embedding;
    times[stages as usize - 1] += head;
    let mut counts = vec![0; stages as usize];
    for _ in 0..layers {
        let least = (0..stages as usize).min_by(|a, b| f64::total_cmp(&times[*a], &times[*b])).unwrap_or(0);
        counts[least] += 1;
        times[least] += layer;
    }
    counts
}

/// A stage that must be gathered for a turn, because no buffer holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fill {
    pub stage: u32,
    /// The stage whose buffer it takes, and the turns that had passed after that one's last use.
    pub evicts: Option<(u32, usize)>,
}

/// The stages to gather before each turn: those that their buffer does not hold.
pub(super) fn fills(turns: &[Turn]) -> Vec<Vec<Fill>> {
    let mut buffers: [Option<(u32, usize)>; BUFFERS] = [None; BUFFERS];
    let fill = |(index, turn): (usize, &Turn)| {
        let mut needed = Vec::new();
        for slot in &turn.slots {
            let held = buffers[buffer(slot.stage)].replace((slot.stage, index + 1));
            if held.is_none_or(|(stage, _)| stage != slot.stage) {
                needed.push(Fill { stage: slot.stage, evicts: held });
            }
        }
        needed
    };
    turns.iter().enumerate().map(fill).collect()
}

/// For each turn, whether its backward stage begins (its predecessor's was another), ends, and ends for good.
pub(super) fn spells(turns: &[Turn]) -> Vec<Option<Spell>> {
    let stage = |turn: &Turn| turn.slots.iter().find(|slot| slot.backward).map(|slot| slot.stage);
    let backward: Vec<(usize, u32)> =
        turns.iter().enumerate().filter_map(|(index, turn)| Some((index, stage(turn)?))).collect();
    let mut spells = vec![None; turns.len()];
    for (place, (index, stage)) in backward.iter().enumerate() {
        let differs = |other: Option<&(usize, u32)>| other.is_none_or(|(_, other)| other != stage);
        let before = place.checked_sub(1).and_then(|before| backward.get(before));
        let again = backward[place + 1..].iter().any(|(_, later)| later == stage);
        spells[*index] = Some(Spell {
            stage: *stage,
            begins: differs(before),
            ends: differs(backward.get(place + 1)),
            last: !again,
        });
    }
    spells
}

/// A stretch of turns with the same backward stage, seen from one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spell {
    pub stage: u32,
    pub begins: bool,
    pub ends: bool,
    /// Whether the stage's backward is over after this turn.
    pub last: bool,
}

/// Buffers for gathered stages, and as many for their gradients [layered C5].
const BUFFERS: usize = 2;

/// The buffer of a stage: they take turns.
const fn buffer(stage: u32) -> usize {
    stage as usize % BUFFERS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collectives(schedule: Schedule, (ranks, stages_per_rank, micro_batches): (u32, u32, u32)) -> (usize, usize) {
        let turns = Shape { schedule, ranks, stages_per_rank, micro_batches }.turns(0);
        let gathers = fills(&turns).iter().map(Vec::len).sum();
        (gathers, spells(&turns).iter().flatten().filter(|spell| spell.ends).count())
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

    #[test]
    fn every_slot_runs_once_and_forward_first() {
        for schedule in Schedule::ALL {
            for (ranks, stages_per_rank, micro_batches) in [(1, 1, 1), (4, 1, 6), (4, 3, 8), (2, 4, 2)] {
                let stages = if matches!(schedule, Schedule::GPipe | Schedule::OneForwardOneBackward) {
                    1
                } else {
                    stages_per_rank
                };
                let shape = Shape { schedule: *schedule, ranks, stages_per_rank: stages, micro_batches };
                for rank in 0..ranks {
                    let mut seen = std::collections::HashSet::new();
                    for turn in shape.turns(rank) {
                        for time in 0..turn.repeat {
                            for slot in &turn.slots {
                                let micro_batch = slot.micro_batch + time;
                                assert!(seen.insert((slot.stage, micro_batch, slot.backward)), "twice");
                                assert!(
                                    !slot.backward || seen.contains(&(slot.stage, micro_batch, false)),
                                    "too early"
                                );
                            }
                        }
                    }
                    assert_eq!(seen.len() as u32, 2 * stages * micro_batches);
                }
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
