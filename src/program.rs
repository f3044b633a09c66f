//! Scenario in, what each rank does in a step out: units, buffers, and tasks with their dependencies.
//!
//! Follows the rules of FSDP's runtime: a unit (layer, embedding, head) is gathered at most
//! `prefetch` units ahead of compute, dropped after its forward, gathered again for backward, and
//! reduced after it, with two gradient buffers. Every other placement of the state is the same rules
//! with fewer transfers. Not for running it: that is [`crate::sim`]'s.

mod boundary;
pub(crate) mod build;
mod label;
mod state;
mod step;
mod task;
mod visit;

use crate::cost::{Factors, Rates};
use crate::scenario::{Layout, Scenario};

pub use build::Volume;
pub use label::{Activity, Kind, Label, Lane, Part};
pub use state::State;
pub use task::{
    Block, COMPUTE, COUNTERS, Class, Counter, DEVICE, HELD, PICOS, Picos, QUEUES, REMOTE, RESOURCES, RankProgram,
    Section, Task, WAITS, WHOLE, Wait, held, picos,
};

/// A step, ready to run, and what is known of it before it runs.
#[derive(Debug, Default)]
pub struct Program {
    /// What each rank does; ranks that do the same are listed once.
    pub ranks: Vec<RankProgram>,
    /// What the tasks move and need, repeats counted.
    pub volume: Volume,
    /// Memory that does not change during the step.
    pub state: State,
}

impl Program {
    /// Builds the step of a checked scenario, reusing this program's memory.
    pub fn build(&mut self, scenario: &Scenario, layout: &Layout, factors: &Factors) {
        let rates = Rates::of(scenario, factors);
        self.state = State::of(&rates, layout);
        self.ranks.resize_with(1, RankProgram::default);
        self.volume = Volume::default();
        for rank in &mut self.ranks {
            rank.clear();
            let builder = build::Builder::new(rank, &mut self.volume);
            step::build(&rates, layout, builder);
        }
    }
}

#[cfg(test)]
mod tests;
