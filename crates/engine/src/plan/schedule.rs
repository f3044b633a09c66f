//! The schedules of a pipeline: their names, and the rules of each in a file of their own; `GPipe` stands beside
//! breadth first. Other modules ask for [`Schedule::rules`] and tell no schedules apart. Not for the tasks of a pass
//! ([`crate::program`]).
//!
//! A further schedule is a file beside the others and a line in both lists here.

mod breadth_first;
mod interleaved;
mod one_forward_one_backward;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod zero_bubble;

use super::choice::choice;
use super::pass::{PassOrder, PipelineCounts, StageCollectives};

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
    /// The default, and the schedule without a pipeline: micro-batches one by one.
    pub const USUAL: Self = Self::OneForwardOneBackward;

    /// The schedule of layered accumulation, whatever was chosen: all micro-batches of a layer before the next layer.
    pub const LAYERED: Self = Self::BreadthFirst;

    /// Schedules with one stage of neighbouring layers on each rank [layered B8], the better first.
    pub const CONTIGUOUS: [Self; 2] = [Self::OneForwardOneBackward, Self::GPipe];

    /// The schedule that tables of measured runs call interleaving.
    pub const INTERLEAVING: Self = Self::Interleaved;

    /// The schedule that remains with a single virtual stage on each rank, where there is nothing to interleave.
    pub(super) fn with_one_stage(self) -> Self {
        self.rules().with_one_stage.unwrap_or(self)
    }

    /// The rules that define this schedule.
    pub const fn rules(self) -> &'static ScheduleRules {
        match self {
            Self::GPipe => &breadth_first::GPIPE,
            Self::OneForwardOneBackward => &one_forward_one_backward::RULES,
            Self::Interleaved => &interleaved::RULES,
            Self::BreadthFirst => &breadth_first::RULES,
        }
    }
}

/// The rules of one schedule: its order, and closed forms that follow from it.
#[derive(Debug)]
pub struct ScheduleRules {
    /// Whether a rank has several virtual stages: every `P`-th of the model.
    pub virtual_stages: bool,
    /// The schedule that it becomes with a single virtual stage on each rank, if another one.
    pub with_one_stage: Option<Schedule>,
    /// The rules where each forward and the backward beside it are one pass, if these are others.
    pub combined: Option<&'static ScheduleRules>,
    /// Whether micro-batches run in groups of as many as there are ranks, so that their number must be a multiple of
    /// that. Backward then returns to each stage in every group.
    pub grouped: bool,
    /// Whether a rank runs a backward after each forward once it has warmed up.
    pub alternates: bool,
    /// The passes of a rank, in order. The last argument says whether stages share weight buffers. Forwards of a stage
    /// take micro-batches in ascending order, since a run goes from each to the next; many in a row are one run of
    /// [`PassOrder::add`].
    pub order: fn(PipelineCounts, rank: u32, buffered: bool) -> PassOrder,
    /// Bubble overhead: idle over busy time.
    pub bubble: fn(PipelineCounts) -> f64,
    /// The most checkpoints that a rank holds, each of one stage and one micro-batch [layered B6, C4]: those with which
    /// it begins its first backward. The first rank holds the most.
    pub checkpoints: fn(PipelineCounts, rank: u32) -> u32,
    /// Gathers of a stage's weights by a rank in a step, and reductions of a stage's gradients, where two buffers hold
    /// what is gathered [layered C5].
    pub collectives: fn(PipelineCounts) -> StageCollectives,
    /// Micro-batches that pass a stage before its rank turns to another.
    pub together: fn(PipelineCounts) -> u32,
}

#[cfg(test)]
mod tests;
