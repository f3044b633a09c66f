//! The ways of training that are compared, as data. Not for how each is laid out ([`super::candidates`]).

use crate::plan::{Accumulation, Schedule};

/// How layers are assigned to pipeline ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageAssignment {
    /// No pipeline.
    None,
    /// Neighbouring layers together, one stage per rank.
    Contiguous(Schedule),
    /// Layer `i` to rank `i mod P`, one layer per stage.
    Modular,
}

/// A way of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Its name in tables of methods.
    pub name: &'static str,
    /// Its description, in a sentence.
    pub about: &'static str,
    /// How layers may be assigned to pipeline ranks.
    pub assignments: &'static [StageAssignment],
    /// The order of micro-batches and layers.
    pub accumulation: Accumulation,
    /// The strategies that may place the state.
    pub strategies: &'static [&'static str],
}

const CONTIGUOUS: [StageAssignment; 2] =
    [StageAssignment::Contiguous(Schedule::CONTIGUOUS[0]), StageAssignment::Contiguous(Schedule::CONTIGUOUS[1])];

/// The variants of [layered B8]: {standard, partitioned} and {standard, layered} accumulation times {no,
/// contiguous, modular} pipeline, grouped as the paper compares them. Any of them may split its layers
/// over tensor ranks.
pub const METHODS: [Method; 5] = [
    Method {
        name: "data parallel",
        about: "the state on every rank, no pipeline",
        assignments: &[StageAssignment::None],
        accumulation: Accumulation::Standard,
        strategies: &["ddp"],
    },
    Method {
        name: "contiguous 3d",
        about: "the state on every data-parallel rank, a pipeline of contiguous stages",
        assignments: &CONTIGUOUS,
        accumulation: Accumulation::Standard,
        strategies: &["ddp"],
    },
    Method {
        name: "partitioned",
        about: "the state sharded over data-parallel ranks, alone or in contiguous stages",
        assignments: &[StageAssignment::None, CONTIGUOUS[0], CONTIGUOUS[1]],
        accumulation: Accumulation::Standard,
        strategies: &["zero1", "zero2", "fsdp"],
    },
    Method {
        name: "layered",
        about: "all micro-batches of a layer before the next layer, no pipeline",
        assignments: &[StageAssignment::None],
        accumulation: Accumulation::Layered,
        strategies: &["ddp", "zero2", "fsdp"],
    },
    Method {
        name: "layered + modular",
        about: "layered, in a pipeline that assigns layers round-robin",
        assignments: &[StageAssignment::Modular],
        accumulation: Accumulation::Layered,
        strategies: &["ddp", "zero2", "fsdp"],
    },
];
