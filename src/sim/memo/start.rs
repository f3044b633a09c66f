//! How a slot begins: with a piece of compute beside flights that may end.
//!
//! Once some of them have, the rest of the slot is the same as without them, earlier or later by what is left of the
//! piece.

use std::ops::Range;

use crate::program::{COMPUTE, Class, Code, NONE, Picos, Place, WHOLE};

use super::super::Peak;
use super::super::gap::{FLIGHTS, Few, Gap, State, States};
use super::super::rank::{Around, Rank, pace, scaled, scaled_up};
use super::run::Need;

/// The first piece of a routine's compute beside flights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// The piece, by index, and its time alone.
    piece: u32,
    duration: Picos,
    /// How much longer it and each flight take, in units of [`WHOLE`].
    own: u32,
    its: [u32; FLIGHTS],
}

impl Start {
    /// `None` if it is not with one piece of compute beside transfers that leave nothing behind.
    pub fn of(state: &State, routine: usize, code: &Code) -> Option<Self> {
        let index = first_compute(code, routine).filter(|_| code.routines[routine].alone && state.plain)?;
        let piece = Some(&code.tasks[index as usize]).filter(|piece| piece.class == Class::Compute)?;
        let load = std::array::from_fn(|resource| state.load[resource] + piece.demand[resource]);
        let mut its = [WHOLE; FLIGHTS];
        for (flight, its) in its.iter_mut().enumerate().take(state.flights.count) {
            *its = pace(&load, state.task(flight, code));
        }
        Some(Self { piece: index, duration: piece.duration, own: pace(&load, piece), its })
    }
}

/// The task with which a routine's compute begins, by index.
pub(super) fn first_compute(code: &Code, routine: usize) -> Option<u32> {
    let Range { start, end } = code.routines[routine].blocks;
    let blocks = &code.blocks[start as usize..end as usize];
    blocks.iter().map(|block| block.first[COMPUTE as usize]).find(|task| *task != NONE)
}

/// A slot whose first piece of compute runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// What still flies, and what is left of it.
    pub state: u32,
    left: [Picos; FLIGHTS],
    /// Time since the slot began, and what is left of the piece, once a flight has ended.
    passed: Picos,
    piece: Picos,
    /// Flights that have ended: what flew before, which of it, and when.
    pub ended: Few<(u32, usize, Picos)>,
}

impl Begun {
    /// Just now.
    pub fn after(gap: &Gap) -> Self {
        Self { state: gap.state, left: gap.left, passed: 0, piece: 0, ended: Few::default() }
    }

    /// Lets the first flight end that does so beside the piece; whether there is one.
    pub fn advance(&mut self, start: &Start, states: &mut States, code: &Code) -> bool {
        let Start { duration, own, its, .. } = *start;
        let piece = if self.ended.count == 0 { duration } else { self.piece };
        let count = states.get(self.state).flights.count;
        let ends = |flight: usize| scaled_up(self.left[flight], its[flight]);
        let Some((passed, flight)) = (0..count).map(|flight| (ends(flight), flight)).min() else { return false };
        // What ends together with something else is left to the queues; a flight that has just begun will be met
        // again, so that a run with it is worth remembering.
        let together = (0..count).filter(|flight| ends(*flight) == passed).count() > 1;
        let fresh = self.left[flight] == states.get(self.state).task(flight, code).duration;
        if fresh || together || passed >= scaled_up(piece, own) || self.ended.count == FLIGHTS {
            return false;
        }
        self.ended.items[self.ended.count] = (self.state, flight, self.passed + passed);
        self.ended.count += 1;
        self.passed += passed;
        self.piece = piece - scaled(passed, own);
        for (left, its) in self.left.iter_mut().zip(its).take(count) {
            *left -= scaled(passed, its);
        }
        self.left[flight..count].rotate_left(1);
        self.state = states.without(self.state, flight, code);
        true
    }

    /// How much later the slot goes on than one that begins with what still flies (it may be earlier: the sum wraps
    /// round), and what that needs of each flight, if all outlast it.
    pub fn along(&self, start: &Start, mut needs: Few<Need>) -> Option<(Picos, Few<Need>)> {
        let Start { duration, own, its, .. } = *start;
        let (whole, left) = (scaled_up(duration, own), scaled_up(self.piece, own));
        for (need, its) in needs.items.iter_mut().zip(its).take(needs.count) {
            need.left = need.left + scaled(left, its) - scaled(whole, its);
        }
        let outlast = needs.as_slice().iter().zip(&self.left).all(|(need, left)| *left > need.left);
        outlast.then_some(((self.passed + left).wrapping_sub(whole), needs))
    }

    /// Books what has ended, and that the rest is later.
    pub fn book<O>(&self, start: &Start, late: Picos, rank: &mut Rank, states: &States, around: &mut Around<'_, O>) {
        let Some(at) = rank.at else { return };
        let (piece, began) = (&around.role.code.tasks[start.piece as usize], rank.clock);
        let held = std::array::from_fn(|part| rank.held[part] + piece.takes[part]);
        if held.iter().sum::<i64>() > rank.fullest {
            rank.fullest = held.iter().sum();
            rank.peak = Peak { held, at: began, task: start.piece, place: Place { at, block_iteration: 0 } };
        }
        let after = self.ended.as_slice().iter().skip(1).map(|(state, ..)| *state).chain([self.state]);
        for ((before, flight, passed), after) in self.ended.as_slice().iter().zip(after) {
            rank.clock = began + passed;
            states.land(*before, *flight, after, rank, around);
        }
        rank.clock = began.wrapping_add(late);
        if let Some(gap) = &mut rank.gap {
            gap.left = self.left;
        }
        let flies_on = states.get(self.state).flights.count > 0;
        let totals = &mut rank.totals;
        let phase = &mut totals.phases[piece.label.phase as usize];
        (totals.compute, *phase) = (totals.compute.wrapping_add(late), phase.wrapping_add(late));
        totals.communication = totals.communication.wrapping_add(if flies_on { late } else { self.passed });
    }
}
