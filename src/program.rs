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
mod rank_program;
mod schedule;
mod stage;
mod state;
mod step;
mod task;
mod terms;
mod visit;

use crate::cost::{Factors, Rates};
use crate::scenario::{Layout, Scenario};
use crate::units::Seconds;

use build::RankBuilder;
use pipeline::PipelineBuilder;
use places::OperatorLayouts;

pub use build::Volume;
pub use label::{Activity, Label, Lane, ModelPart, PHASES, Phase, TaskKind};
pub use rank_program::{
    Code, GroupLoop, Launch, LaunchPosition, MicroBatchLoop, RankProgram, TaskGraph, TaskLoop, TaskPosition,
};
pub use state::ModelState;
pub use task::{
    COMPUTE, DEVICE, EVENTS, EventWait, HELD, LONGEST, NONE, PICOS, Picos, RESOURCES, SERIAL, STREAMS, Task, TaskClass,
    TaskEvent, WAITS, WHOLE, held, picos,
};
pub use terms::{StageCost, StepTerms};

/// A step, ready to run, and what is known of it before it runs.
#[derive(Debug, Default)]
pub struct Program {
    /// What ranks do, listed once.
    pub code: Code,
    /// Which of it each pipeline rank does, and how often.
    pub ranks: Vec<RankProgram>,
    /// Each rank's memory that does not change during the step.
    pub states: Vec<ModelState>,
}

impl Program {
    /// Builds the step of a checked scenario, reusing this program's memory.
    pub fn build(&mut self, scenario: &Scenario, layout: &Layout, factors: &Factors) {
        let rates = Rates::new(scenario, factors);
        let ranks = layout.pipeline as usize;
        self.code.clear();
        self.ranks.resize_with(ranks, RankProgram::default);
        self.ranks.iter_mut().for_each(RankProgram::clear);
        self.states.clear();
        if pipeline::wanted(&rates, layout) {
            let places = OperatorLayouts::of(scenario, layout);
            let mut pipeline = PipelineBuilder::of(&rates, layout, &places);
            for (rank, program) in (0..layout.pipeline).zip(&mut self.ranks) {
                let known = self.states.get(pipeline.alike(rank) as usize).copied();
                self.states.push(known.unwrap_or_else(|| pipeline.state(rank)));
                pipeline.build(rank, RankBuilder::new(&mut self.code, program));
            }
        } else {
            for program in &mut self.ranks {
                let builder = RankBuilder::new(&mut self.code, program);
                if scenario.plan.operators.is_empty() {
                    self.states.push(ModelState::of(&rates, layout, state::local(&scenario.model, layout)));
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

    /// What the tasks of all ranks would take one after the other.
    pub fn serial(&self) -> Seconds {
        self.ranks.iter().map(|program| program.serial(&self.code)).sum()
    }
}

#[cfg(test)]
mod tests;
