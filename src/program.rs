//! Scenario in, what each rank does in a step out: units, buffers, and tasks with their dependencies.
//!
//! Follows the rules of FSDP's runtime: a unit (layer, embedding, head) is gathered at most
//! `prefetch` units ahead of compute, dropped after its forward, gathered again for backward, and
//! reduced after it, with two gradient buffers. Every other placement of the state is the same rules
//! with fewer transfers. Not for running it: that is [`crate::sim`]'s.

mod boundary;
pub(crate) mod build;
mod halves;
mod label;
mod operators;
mod order;
mod pipeline;
mod places;
mod schedule;
mod script;
mod stage;
mod state;
mod step;
mod task;
mod terms;
mod visit;

use crate::cost::{Factors, Rates};
use crate::scenario::{Layout, Scenario};

use build::Builder;
use pipeline::Pipeline;
use places::Places;

pub use build::Volume;
pub use label::{Activity, Kind, Label, Lane, PHASES, Part, Phase};
pub use script::{Block, Code, Place, Position, Round, Routine, Script, Section, Slot};
pub use state::State;
pub use task::{
    CHAIN, COMPUTE, COUNTERS, Class, Counter, DEVICE, HELD, LONGEST, NONE, PICOS, Picos, QUEUES, RESOURCES, Task,
    WAITS, WHOLE, Wait, held, picos,
};
pub use terms::{Cost, Terms};

/// A step, ready to run, and what is known of it before it runs.
#[derive(Debug, Default)]
pub struct Program {
    /// What ranks do, listed once.
    pub code: Code,
    /// Which of it each pipeline rank does, and how often.
    pub ranks: Vec<Script>,
    /// Each rank's memory that does not change during the step.
    pub states: Vec<State>,
}

impl Program {
    /// Builds the step of a checked scenario, reusing this program's memory.
    pub fn build(&mut self, scenario: &Scenario, layout: &Layout, factors: &Factors) {
        let rates = Rates::of(scenario, factors);
        let ranks = layout.pipeline as usize;
        self.code.clear();
        self.ranks.resize_with(ranks, Script::default);
        self.ranks.iter_mut().for_each(Script::clear);
        self.states.clear();
        if pipeline::wanted(&rates, layout) {
            let places = Places::of(scenario, layout);
            let mut pipeline = Pipeline::of(&rates, layout, &places);
            for (rank, script) in (0..layout.pipeline).zip(&mut self.ranks) {
                let known = self.states.get(pipeline.alike(rank) as usize).copied();
                self.states.push(known.unwrap_or_else(|| pipeline.state(rank)));
                pipeline.build(rank, Builder::new(&mut self.code, script));
            }
        } else {
            for script in &mut self.ranks {
                let builder = Builder::new(&mut self.code, script);
                if scenario.plan.operators.is_empty() {
                    self.states.push(State::of(&rates, layout, state::local(&scenario.model, layout)));
                    step::build(&rates, layout, builder);
                } else {
                    self.states.push(operators::build(&rates, layout, builder));
                }
            }
        }
    }

    /// What one rank's tasks move and need, repeats counted.
    pub fn volume(&self, rank: usize) -> Volume {
        self.ranks[rank].volume(&self.code)
    }

    /// Seconds that the tasks of all ranks would take one after the other.
    pub fn serial(&self) -> f64 {
        self.ranks.iter().map(|script| script.serial(&self.code)).sum()
    }
}

#[cfg(test)]
mod tests;
