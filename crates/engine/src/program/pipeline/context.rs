//! Facts that the ranks of a pipeline share: stages, shardings of operators, streams of collectives.

use std::sync::Arc;

use crate::cost::{Factors, Parameters, Rates};
use crate::plan::pass::{Pass, PipelineCounts};
use crate::plan::{Accumulation, Offload, ScheduleRules, Site};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Count, Share};

use super::super::build::{GraphBuilder, LaunchedWork};
use super::super::label::{Activity, Label, ModelPart, Phase, TaskKind};
use super::super::operator_layouts::OperatorLayouts;
use super::super::stage::{PipelineStages, StageWork};
use super::super::state::{ModelState, ParameterGroup};
use super::super::step::TaskEmitter;
use super::super::stream::{CollectiveStreams, Stream};
use super::super::task::{Task, TaskClass, TaskEvent};
use super::super::unit_costs::UnitCosts;
use super::super::unit_order::UnitList;
use super::super::unit_work::UnitWork;

/// A pipeline: everything that its ranks share.
#[expect(clippy::struct_excessive_bools, reason = "four independent properties of the plan's state")]
pub(in crate::program) struct PipelineContext<'a> {
    /// Costs under each layout of operators; the plan's own first.
    pub(super) layout_costs: Vec<UnitCosts<'a>>,
    layouts: &'a OperatorLayouts<'a>,
    /// The layout of the embedding, by index.
    pub(super) embedding: usize,
    pub(super) streams: CollectiveStreams,
    pub(super) stages: PipelineStages,
    /// Whether stages take turns in gradient buffers.
    pub(super) buffered: bool,
    pub(in crate::program) rules: &'static ScheduleRules,
    pub(super) counts: PipelineCounts,
    /// Whether any weights come into buffers, and whether any are gathered for that.
    pub(super) fetches: bool,
    pub(super) gathers: bool,
    /// Whether there is a second copy of any weights.
    pub(super) has_secondary: bool,
    /// The state that lives on the host.
    pub(super) offload: Offload,
    /// The first rank of each rank's group of neighbours with equal stages.
    alike: Vec<u32>,
}

/// Ranks, stages of a rank and micro-batches of a checked plan.
pub(in crate::program) fn pipeline_counts(scenario: &Scenario, layout: &Layout) -> PipelineCounts {
    let plan = &scenario.plan;
    // Layered accumulation without a pipeline has a stage per layer [layered B7].
    let alone = plan.accumulation == Accumulation::Layered && layout.pipeline == 1;
    let stages = if alone { scenario.model.layers } else { plan.virtual_stages() };
    PipelineCounts { ranks: layout.pipeline, stages, micro_batches: plan.accumulate }
}

impl<'a> PipelineContext<'a> {
    /// The pipeline of a checked plan whose units have this work.
    pub fn with_work(
        rates: &'a Rates<'a>,
        layout: &Layout,
        layouts: &'a OperatorLayouts<'a>,
        work: &Arc<UnitWork>,
    ) -> Self {
        let plan = &rates.scenario.plan;
        let counts = pipeline_counts(rates.scenario, layout);
        let PipelineCounts { ranks, stages: stages_per_rank, .. } = counts;
        let layout_costs = layouts.costs_with(rates, true, work);
        let stages = if rates.factors == Factors::default() {
            PipelineStages::new(layouts, &layout_costs[0], ranks, stages_per_rank)
        } else {
            // Faster hardware, asked after for once, assigns no layers anew.
            let plain = Rates::new(rates.scenario, &Factors::default());
            PipelineStages::new(layouts, &UnitCosts::new(&plain, layout, true), ranks, stages_per_rank)
        };
        let held = |is: &dyn Fn(&UnitCosts<'a>) -> bool| {
            let holdings = stages.distinct.iter().flat_map(|work| &work.holdings);
            holdings.map(|holding| &layout_costs[holding.layout]).any(is)
        };
        let buffered = plan.offload.state() || held(&|costs| costs.layout.gradients > 1);
        let mut alike: Vec<u32> = Vec::with_capacity(ranks as usize);
        for rank in 0..ranks {
            let same = |before: &u32| {
                (0..stages_per_rank).all(|k| stages.place(*before, k).work == stages.place(rank, k).work)
            };
            // Compared with the last group only: ranks 1 to 6 of 8 mostly hold the same, the two ends do not.
            alike.push(alike.last().copied().filter(same).unwrap_or(rank));
        }
        Self {
            buffered,
            rules: plan.schedule_rules(),
            counts,
            streams: CollectiveStreams::new(rates.scenario.stack.overlap),
            fetches: held(&UnitCosts::fetches_weights),
            gathers: held(&|costs| costs.layout.weights > 1),
            has_secondary: held(&|costs| costs.secondary_copy().is_some()),
            embedding: layouts.layout_of(Site::Embedding),
            stages,
            layout_costs,
            layouts,
            offload: plan.offload,
            alike,
        }
    }

    /// The distinct stages.
    pub(crate) fn distinct_stages(&self) -> &[StageWork] {
        &self.stages.distinct
    }

    /// A stage's units in the order of a pass.
    pub fn list<'w>(&self, work: &'w StageWork, pass: Pass) -> &'w UnitList {
        work.list(self.layouts, &self.layout_costs, pass)
    }

    /// Costs under one layout of operators.
    pub(crate) fn costs_of(&self, layout: usize) -> &UnitCosts<'a> {
        &self.layout_costs[layout]
    }

    /// The stages in the order of forward, as indices into the distinct ones.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.stages.in_order()
    }

    /// The first rank of this rank's group of neighbours with equal stages.
    pub(crate) fn first_alike(&self, rank: u32) -> u32 {
        self.alike[rank as usize]
    }

    /// One rank's parameters, by layout.
    pub(super) fn parameter_groups(&self, rank: u32) -> Vec<ParameterGroup<'_>> {
        let mut parameters = vec![Parameters::NONE; self.layout_costs.len()];
        let stages = (0..self.counts.stages).map(|stage| self.stages.place(rank, stage).work);
        for holding in stages.flat_map(|work| &self.stages.distinct[work].holdings) {
            parameters[holding.layout] = parameters[holding.layout] + holding.parameters;
        }
        let held = self.layout_costs.iter().zip(parameters).filter(|(_, parameters)| parameters.weights > Count::ZERO);
        held.map(|(costs, parameters)| ParameterGroup::new(costs, parameters)).collect()
    }

    /// Static memory of one rank's parameters.
    pub fn state(&self, rank: u32) -> ModelState {
        ModelState::of_groups(&self.parameter_groups(rank))
    }

    /// Buffers for the transfers of every micro-batch: inputs to every stage but the first, gradients of outputs to
    /// every stage but the last. Outputs stay from a stage's forward to its backward; except for the first stage,
    /// inputs that are counted as activations make up for them. With 8 micro-batches on 4 ranks, a middle one has 8 of
    /// each, the first 8 and 4.
    pub fn buffers(&self, rank: u32) -> Bytes {
        let (rates, PipelineCounts { ranks, stages, micro_batches }) = (self.costs().rates, self.counts);
        if ranks == 1 || !rates.scenario.stack.pipeline_buffers {
            return Bytes::ZERO;
        }
        let of_end = match rank {
            0 => micro_batches + micro_batches.min(ranks),
            _ if rank + 1 == ranks => micro_batches,
            _ => 2 * micro_batches,
        };
        rates.stream() * (f64::from(2 * (stages - 1)) * f64::from(micro_batches) + f64::from(of_end))
    }

    /// Activations of one rank on its host, where it holds the most of them: those of the forwards before its first backward.
    pub fn activations_on_host(&self, rank: u32) -> Bytes {
        if !self.costs().rates.scenario.plan.moves_activations() {
            return Bytes::ZERO;
        }
        let forwards = (self.rules.checkpoints)(self.counts, rank);
        let of_stage = |stage: u32| {
            let work = &self.stages.distinct[self.stages.place(rank, stage).work];
            let kept = self.list(work, Pass::Forward).to_host();
            kept * f64::from(self.counts.forwards_of(stage, forwards))
        };
        (0..self.counts.stages).map(of_stage).sum()
    }

    /// Costs under the plan's own layout.
    pub(super) fn costs(&self) -> &UnitCosts<'a> {
        &self.layout_costs[0]
    }

    pub(super) fn emit(&self) -> TaskEmitter<'_> {
        TaskEmitter { costs: self.costs(), beside: &[], streams: self.streams, ahead: 0, contention: self.contention() }
    }

    pub(super) fn contention(&self) -> Share {
        self.costs().contention()
    }
}

/// A task on the compute stream that takes no time.
pub(super) fn pause(body: &mut GraphBuilder<'_>) -> Task {
    let label = label(Stream::Compute, TaskKind::Host, ModelPart::Model, Phase::default());
    Task { signals: [Some(TaskEvent::Computed), None], ..body.compute(LaunchedWork::default(), TaskClass::Host, label) }
}

pub(super) fn label(lane: Stream, kind: TaskKind, part: ModelPart, phase: Phase) -> Label {
    Label { lane, phase, first: Activity { kind, part, ..Activity::default() }, ..Label::default() }
}
