//! Scenario in, what each rank does in a step out: units, buffers, and tasks with their dependencies.
//!
//! Follows the rules of FSDP's runtime: a unit (layer, embedding, head) is gathered at most `prefetch` units ahead of
//! compute, dropped after its forward, gathered again for backward, and reduced after it, with two gradient buffers.
//! Every other way of sharding the state is the same rules with fewer transfers. Not for running it: that is
//! [`crate::sim`]'s.
//!
//! One step of 1F1B on 2 ranks with 3 micro-batches, where backward takes twice the time of forward and nothing is
//! sharded. `F1` is the forward of micro-batch 1 over the rank's only stage; below, `>` before a pass is an event of the
//! other rank that it waits for, and `>` behind it what the pass sends there:
//!
//! ```text
#![doc = include_str!("program/step.txt")]
//! ```
//!
//! Rank 0 warms up with one forward more than rank 1, so that it has a checkpoint more. The bubble is 3 of 12 on each:
//! rank 0 idles from 2 to 4 and from 9 to 10, rank 1 from 0 to 1 and from 10 to 12. [`crate::sim`] says which event wakes
//! which pass.
//!
//! Each pass is one [`Launch`] of a [`TaskGraph`]; `F0` and `F1` of a rank launch the same graph, micro-batches apart. In
//! it a [`TaskLoop`] has the tasks of a layer, once for each layer:
//! - the graph of `F` on rank 0 computes layers on the stream of compute, each task in order, and sends the last one's
//!   activations on the stream of the pipeline, which waits for [`TaskEvent::Released`] of the last layer;
//! - that raises [`TaskEvent::ArrivedForward`] on rank 1, for which the first task of `>F` there waits; so backward with
//!   [`TaskEvent::ArrivedBackward`] the other way;
//! - with sharded weights each layer also has a gather on a stream of its own, which waits for `Released` of the layer
//!   before the last one and raises [`TaskEvent::Gathered`], for which the layer's compute waits; and behind its backward
//!   a reduction, which waits for `Released` and raises [`TaskEvent::Reduced`];
//! - the boundary's optimizer waits for `Reduced`, and for everything else that changes gradients.
//!
//! A schedule may run `B` as two passes. The first, [`Pass::BackwardInputs`](crate::plan::pass::Pass::BackwardInputs), has
//! what `B` receives and sends; behind the second, `BackwardWeights`, come the reductions. What that one needs of the
//! activations stays in memory between the two.
//!
//! A [`RankProgram`] lists launches in loops: launches that repeat for each micro-batch are a [`MicroBatchLoop`], as `F B`
//! is between warm-up and cool-down, and loops that repeat for each group of as many micro-batches as ranks a [`GroupLoop`]
//! (interleaved schedules). So a step of thousands of layers and micro-batches is a few dozen tasks. On another network they
//! are the same tasks, and only their transfers are timed anew (`retime`).

mod beside;
mod boundary;
pub(crate) mod build;
mod end_units;
mod label;
mod layer_units;
mod memory;
mod network_transfer;
mod operator_layouts;
mod pipeline;
mod rank_program;
mod retime;
mod stage;
mod stage_buffers;
mod stage_sizes;
mod state;
mod step;
mod stream;
mod task;
mod terms;
mod unit_costs;
mod unit_order;
mod unit_pass;
mod unit_transfers;
mod unit_work;
mod volume;

use std::sync::Arc;

use crate::cost::{Factors, Rates};
use crate::plan::Plan;
use crate::scenario::{Layout, Scenario};
use crate::units::Seconds;

use beside::PassedModel;
use build::RankBuilder;
use operator_layouts::OperatorLayouts;
use pipeline::PipelineBuilder;
use pipeline::context::PipelineContext;
use step::WholeModel;
use unit_order::UnitList;

pub use label::Label;

pub use label::Phase;

pub use label::{Activity, ModelPart, PHASES, TaskKind};
pub use memory::MemoryKind;
pub use memory::PerMemoryKind;
pub use rank_program::GroupLoop;
pub use rank_program::LaunchPosition;
pub use rank_program::MicroBatchLoop;
pub use rank_program::RankProgram;
pub use rank_program::TaskGraph;
pub use rank_program::TaskLoop;
pub use rank_program::TaskPosition;
pub use rank_program::{Code, Launch};
pub(crate) use stage_buffers::{EndTransferCounts, StageTransferCounts};
pub use state::{HostMemory, ModelState, StateBytes};
pub use stream::PerStream;
pub(crate) use stream::SERIAL;
pub(crate) use stream::STREAMS;
pub use stream::Stream;
pub use stream::StreamSet;
#[cfg(test)]
pub(crate) use task::DEVICE;
pub use task::EventWait;
pub(crate) use task::FULL_DEMAND;
pub(crate) use task::NO_TASK;
pub use task::Task;
pub use task::TaskClass;
pub use task::TaskEvent;
pub(crate) use task::{EVENTS, MAX_SERIAL_TIME, Picos};
pub use task::{PICOS, RESOURCES, WAITS, picos, seconds, waits};
pub(crate) use terms::{StageCost, StepTerms, transfer_counts_at_ends};
pub(crate) use unit_pass::PerGradients;
pub(crate) use unit_work::UnitWork;
pub use volume::HostCopies;
pub use volume::Volume;
pub use volume::{Copies, HostDirection};

/// A step, ready to run, and what is known of it before it runs.
#[derive(Debug, Default)]
pub struct Program {
    /// The graphs that ranks launch, listed once.
    pub code: Code,
    /// Each pipeline rank's launches of them.
    pub ranks: Vec<RankProgram>,
    /// Each rank's static memory.
    pub states: Vec<ModelState>,
    /// The work of its units.
    work: Option<Arc<UnitWork>>,
    /// Scratch space: the unit passes of a micro-batch.
    units: UnitList,
}

impl Program {
    /// Builds the step of a checked scenario, reusing this program's memory.
    pub fn build(&mut self, scenario: &Scenario, layout: &Layout, factors: &Factors) {
        self.build_with(scenario, layout, factors, None);
    }

    /// The same where the work of its units may be known, of a scenario that differs in where the state lies alone.
    pub(crate) fn build_with(
        &mut self,
        scenario: &Scenario,
        layout: &Layout,
        factors: &Factors,
        known: Option<&Arc<UnitWork>>,
    ) {
        let rates = Rates::new(scenario, factors).with_ring(layout.gradient_group());
        let known = known.filter(|work| work.serves(scenario)).cloned();
        let work = known.unwrap_or_else(|| Arc::new(UnitWork::new(&rates, layout)));
        let ranks = layout.pipeline as usize;
        self.code.clear();
        self.ranks.resize_with(ranks, RankProgram::default);
        self.ranks.iter_mut().for_each(RankProgram::clear);
        self.states.clear();
        let layouts = OperatorLayouts::new(scenario, layout);
        let beside = scenario.beside();
        let beside: Vec<PassedModel<'_>> = beside.iter().map(|model| PassedModel::new(model, factors)).collect();
        if scenario.plan.staged() {
            self.pipeline(&PipelineContext::with_work(&rates, layout, &layouts, &work), &scenario.plan, &beside);
        } else {
            let ahead = scenario.plan.passes_beside() && scenario.stack.passes_beside_ahead;
            for program in &mut self.ranks {
                for model in beside.iter().filter(|_| ahead) {
                    let alone = || WholeModel { layouts: &model.layouts, work: &model.work, beside: &[] };
                    for _ in 0..model.forwards() {
                        let builder = RankBuilder::new(&mut self.code, program);
                        step::build(&model.rates, alone(), &mut self.units, builder);
                    }
                }
                let builder = RankBuilder::new(&mut self.code, program);
                let model = WholeModel { layouts: &layouts, work: &work, beside: &beside };
                self.states.push(step::build(&rates, model, &mut self.units, builder));
            }
        }
        self.work = Some(work);
    }

    fn pipeline(&mut self, context: &PipelineContext<'_>, plan: &Plan, beside: &[PassedModel<'_>]) {
        let contexts: Vec<PipelineContext<'_>> = beside
            .iter()
            .map(|model| PipelineContext::with_work(&model.rates, &model.layout, &model.layouts, &model.work))
            .collect();
        // All micro-batches pass a model beside ahead of the step (NVIDIA-NeMo/RL, `nemo_rl/algorithms/dpo.py`, and ms-swift's
        // `megatron rlhf`).
        let passed = beside.iter().zip(&contexts).filter(|_| plan.passes_beside());
        for (model, context) in passed {
            let mut pipeline = PipelineBuilder::new(context);
            for (rank, program) in (0..).zip(&mut self.ranks) {
                for _ in 0..model.forwards() {
                    pipeline.pass_alone(rank, RankBuilder::new(&mut self.code, program));
                }
            }
        }
        let mut pipeline = PipelineBuilder::new(context);
        for (rank, program) in (0..).zip(&mut self.ranks) {
            let known = self.states.get(context.first_alike(rank) as usize).copied();
            let state = known.unwrap_or_else(|| context.state(rank));
            let state = ModelState { buffers: context.buffers(rank), ..state };
            let beside = beside.iter().zip(&contexts);
            let state = beside.fold(state, |state, (model, own)| model.with_weights(state, &own.state(rank)));
            self.states.push(state.with_activations_on_host(context.activations_on_host(rank)));
            let builder = RankBuilder::new(&mut self.code, program);
            if plan.stands_beside {
                pipeline.pass_alone(rank, builder);
            } else {
                pipeline.build(rank, builder);
            }
        }
    }

    /// Totals over one rank's tasks, repeats counted.
    pub fn volume(&self, rank: usize) -> Volume {
        self.ranks[rank].volume(&self.code)
    }

    /// Time of all ranks' tasks run one after the other.
    pub(crate) fn serial(&self) -> Seconds {
        self.ranks.iter().map(|program| program.serial(&self.code)).sum()
    }
}

#[cfg(any(test, feature = "testing"))]
impl Program {
    /// A plan's pipeline step in the order of a schedule that no plan can name.
    #[expect(clippy::panic, reason = "a helper of tests ends the test")]
    pub(crate) fn scheduled(scenario: &Scenario, rules: &'static crate::plan::ScheduleRules) -> Self {
        let layout = scenario.layout().unwrap_or_else(|problems| panic!("{problems:?}"));
        let factors = Factors { bandwidth: [1e30; crate::hardware::MAX_LEVELS], ..Factors::default() };
        let (rates, layouts) = (Rates::new(scenario, &factors), OperatorLayouts::new(scenario, &layout));
        let mut program = Self::default();
        program.ranks.resize_with(layout.pipeline as usize, RankProgram::default);
        let work = Arc::new(UnitWork::new(&rates, &layout));
        let mut context = PipelineContext::with_work(&rates, &layout, &layouts, &work);
        context.rules = rules;
        program.pipeline(&context, &scenario.plan, &[]);
        program
    }
}

#[cfg(test)]
pub(crate) mod tests;
