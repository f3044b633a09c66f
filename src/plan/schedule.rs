//! The schedules of a pipeline: their names, and for each the rules that its file writes down. Nothing else knows one
//! from another: who needs to tell them apart asks for [`Schedule::rules`].
//!
//! A further schedule is a file beside the others and a line in both lists here.

mod breadth_first;
mod gpipe;
mod interleaved;
mod one_forward_one_backward;

use super::choice::choice;
use super::pass::{PassOrder, PipelineCounts};

choice!(
    /// The order of a pipeline's work.
    Schedule, "a schedule" {
        /// All forwards, then all backwards.
        GPipe = "gpipe",
        /// One forward, one backward.
        OneForwardOneBackward = "1f1b",
        /// One forward, one backward over several stages per rank, depth first.
        Interleaved = "interleaved",
        /// All micro-batches of a stage before the next.
        BreadthFirst = "breadth-first",
    }
);

impl Schedule {
    /// What makes this schedule another than the others.
    pub const fn rules(self) -> &'static ScheduleRules {
        match self {
            Self::GPipe => &gpipe::RULES,
            Self::OneForwardOneBackward => &one_forward_one_backward::RULES,
            Self::Interleaved => &interleaved::RULES,
            Self::BreadthFirst => &breadth_first::RULES,
        }
    }
}

/// What is known of one schedule: its order, and what follows from that in closed form.
#[derive(Debug)]
pub struct ScheduleRules {
    /// Whether a rank has several virtual stages, each rank every `P`-th of the model.
    pub virtual_stages: bool,
    /// Whether micro-batches come in groups of as many as there are ranks, so that their count is a multiple of that.
    /// Backward comes back to each stage then for every group.
    pub grouped: bool,
    /// What a rank does, in order. The last argument says whether stages take turns in buffers.
    pub order: fn(PipelineCounts, rank: u32, buffered: bool) -> PassOrder,
    /// Bubble overhead: idle over busy time.
    pub bubble: fn(PipelineCounts) -> f64,
    /// The most checkpoints that a rank holds, each of one stage and one micro-batch [layered B6, C4].
    pub checkpoints: fn(PipelineCounts) -> u32,
    /// How often a rank gathers the weights of a stage in a step, and how often it reduces the gradients of one, where
    /// two buffers hold what is gathered [layered C5].
    pub collectives: fn(PipelineCounts) -> [u32; 2],
    /// Micro-batches that pass a stage before its rank turns to another.
    pub together: fn(PipelineCounts) -> u32,
}

#[cfg(test)]
mod tests;
