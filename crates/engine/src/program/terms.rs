//! Costs of a step's parts on a rank, read off the unit passes that steps are made of: the terms of lower bounds. Not
//! for when a part runs.

use std::sync::Arc;

use crate::cost::{Factors, Parameters, Piece, Rates, Transfer};
use crate::model::LayerKind;
use crate::plan::pass::{Pass, PerDirection};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Seconds, Share};

use super::boundary;
use super::label::ModelPart;
use super::operator_layouts::{OperatorLayouts, StageParameters};
use super::pipeline::context::{PipelineContext, pipeline_counts};
use super::stage::StageWork;
use super::stage_buffers::{EndTransferCounts, StageTransferCounts};
use super::state::{ModelState, ParameterGroup};
use super::task::{FULL_DEMAND, device_demand};
use super::unit_costs::UnitCosts;
use super::unit_order::{UnitList, UnitRun, recomputed_layers};
use super::unit_pass::{ComputeStep, Gradients, PerGradients, Traversal, UnitCollective, UnitPass};
use super::unit_work::UnitWork;

/// The cost of a unit, or of a stage with all its units, on one rank: of one micro-batch, except for the state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StageCost {
    /// Forward and backward, with the tensor collectives after compute.
    pub compute: PerDirection<Seconds>,
    /// Time until the rank may begin the next part: exchanges beside compute may outlast it.
    pub until_next: PerDirection<Seconds>,
    /// Compute time of both passes.
    pub computing: Seconds,
    /// Exchanges between context and tensor ranks beside compute.
    pub beside: Seconds,
    /// Gathers of weights for each pass; nothing where weights are not sharded.
    pub gather: PerDirection<Transfer>,
    /// The reductions of the gradients.
    pub reduce: PerGradients<Transfer>,
    /// The sum over replicas after the last reduction, where it is a transfer of its own.
    pub replicas: Transfer,
    /// Copies from the host.
    pub from_host: Seconds,
    /// Copies to the host.
    pub to_host: Seconds,
    /// Copies of a stage's weights from the host, for the gathers for forward and for backward.
    pub load: PerDirection<Seconds>,
    /// The copy of a stage's gradients to the host, after the last reduction.
    pub store: Seconds,
    /// Activations kept between forward and backward.
    pub kept: Bytes,
    /// Activations taken beside them when backward begins.
    pub working: Bytes,
    /// Gathered weights.
    pub gathered: Bytes,
    /// Gathered weights that stay from a unit's forward to its backward.
    pub stays: Bytes,
    /// Gradients that wait for their reduction.
    pub gradients: Bytes,
    /// The second copy of its weights.
    pub secondary: Bytes,
    /// Parameters before they are sharded: of experts that have a mesh of their own, and all others.
    pub parameters: [Parameters; 2],
    /// Weights, gradients and optimizer state that stay in memory.
    pub state: Bytes,
    /// The update, and the gathers of updated weights.
    pub update: Seconds,
}

/// The parts of a plan's step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepTerms {
    /// The distinct units or stages.
    pub parts: Vec<StageCost>,
    /// Indices of the parts in the order of forward; stage `i` is of pipeline rank `i mod P`.
    pub order: Vec<u16>,
    /// Time in which activations reach the next pipeline rank, where it is nearest.
    pub send: Seconds,
    /// Whether gradients wait in two buffers for their reduction, rather than stay whole.
    pub buffered: bool,
    /// The share of the device that a transfer takes while it runs.
    pub contention: Share,
    /// The cost of each part without its state, and what it holds; empty where that is not enough to place them anew.
    stateless: Vec<(StageCost, Holding)>,
    /// Compute and exchanges of the stage's units.
    work: Arc<UnitWork>,
}

/// The state that a part holds.
#[derive(Debug, Clone, PartialEq)]
enum Holding {
    /// Parameters of a stage, by layout.
    Stage(Vec<StageParameters>),
    /// Parameters of a unit that is a whole layer of a kind, or an end of the model.
    Unit(ModelPart, LayerKind),
}

impl StepTerms {
    /// The terms of a checked scenario.
    pub fn new(scenario: &Scenario, layout: &Layout) -> Self {
        let rates = Rates::new(scenario, &Factors::default());
        Self::with_work(&rates, layout, Arc::new(UnitWork::new(&rates, layout)))
    }

    /// The terms of a scenario where the work of its units is known.
    pub(crate) fn with_known(scenario: &Scenario, layout: &Layout, work: Arc<UnitWork>) -> Self {
        Self::with_work(&Rates::new(scenario, &Factors::default()), layout, work)
    }

    fn with_work(rates: &Rates<'_>, layout: &Layout, work: Arc<UnitWork>) -> Self {
        let scenario = rates.scenario;
        let costs = UnitCosts::with_work(rates, layout, scenario.plan.staged(), Arc::clone(&work));
        // A bound must not exceed any step, so the cheapest hop stands for all of them.
        let hops = (0..layout.pipeline).filter(|_| layout.pipeline > 1).map(|rank| costs.hop(rank, Pass::Forward));
        let send = hops.map(|level| costs.send(level).time).reduce(Seconds::min).unwrap_or(Seconds::ZERO);
        let mut terms = Self {
            parts: Vec::new(),
            order: Vec::new(),
            send,
            buffered: !rates.keeps_whole_gradients(layout),
            contention: contention(&costs),
            stateless: Vec::new(),
            work,
        };
        if costs.staged {
            let layouts = OperatorLayouts::new(scenario, layout);
            let pipeline = PipelineContext::with_work(rates, layout, &layouts, &terms.work);
            for work in pipeline.distinct_stages() {
                let stateless = stateless_cost(&pipeline, work);
                terms.parts.push(stage_cost(&stateless, &work.holdings, |layout| pipeline.costs_of(layout)));
                terms.stateless.push((stateless, Holding::Stage(work.holdings.clone())));
            }
            terms.order.extend(pipeline.order().map(|place| place as u16));
        } else {
            let layouts = OperatorLayouts::plain(scenario, layout);
            let whole = layouts.whole_model(recomputed_layers(&costs));
            let all = layouts.costs_with(rates, false, &terms.work);
            let [ahead, behind] = [Pass::Forward, Pass::Backward].map(|pass| {
                let mut list = UnitList::default();
                layouts.list(&all, &whole, pass, &mut list);
                list
            });
            for (ahead, behind) in ahead.turns().zip(behind.turns().collect::<Vec<_>>().into_iter().rev()) {
                let parts = ahead.iter().zip(behind.iter().rev());
                let parts: Vec<u16> = parts.map(|(ahead, behind)| terms.unit(&all, ahead, behind)).collect();
                terms.order.extend((0..ahead[0].count).flat_map(|_| &parts));
            }
            // Weights on the host come in the same copy as checkpoints, and units of a layer are not told apart.
            if all.len() > 1 || scenario.plan.offload.state() {
                terms.stateless.clear();
            }
        }
        terms
    }

    /// The terms for a scenario that differs in its sharding alone: the compute of units and stages stays as it is.
    #[must_use]
    pub fn placed(&self, scenario: &Scenario, layout: &Layout) -> Self {
        let rates = Rates::new(scenario, &Factors::default());
        if !self.work.serves(scenario) {
            return Self::with_work(&rates, layout, Arc::new(UnitWork::new(&rates, layout)));
        }
        let work = Arc::clone(&self.work);
        if self.stateless.is_empty() || !scenario.plan.operators.is_empty() {
            return Self::with_work(&rates, layout, work);
        }
        let layouts = OperatorLayouts::plain(scenario, layout);
        let costs = layouts.costs_with(&rates, scenario.plan.staged(), &work);
        let mut parts: Vec<StageCost> = Vec::with_capacity(self.stateless.len());
        for (index, (stateless, holding)) in self.stateless.iter().enumerate() {
            parts.push(match holding {
                Holding::Stage(held) => stage_cost(stateless, held, |layout| &costs[layout]),
                Holding::Unit(part, kind) => {
                    // A layer that is computed again holds what any other does.
                    let known = self.stateless[..index].iter().position(|(_, other)| other == holding);
                    stateless.with_state_of(
                        &known.map_or_else(|| whole_unit_state(&costs[0], *part, *kind), |known| parts[known]),
                    )
                }
            });
        }
        Self {
            parts,
            order: self.order.clone(),
            send: self.send,
            buffered: !rates.keeps_whole_gradients(layout),
            contention: self.contention,
            // What has been placed is not placed again.
            stateless: Vec::new(),
            work,
        }
    }

    /// The index of a unit's part, which is listed if it is new.
    fn unit(&mut self, all: &[UnitCosts<'_>], ahead: &UnitRun, behind: &UnitRun) -> u16 {
        let (part, kind) = (ahead.unit_pass.part, all[0].rates.scenario.model.kind(ahead.layer));
        let (costs, parameters) = parameters_of(all, part, kind);
        let one = |run: &UnitRun| [UnitRun { count: 1, ..*run }];
        let stateless = passes(costs, &one(ahead), &one(behind));
        let state = unit_state(costs, parameters, &ahead.unit_pass, &behind.unit_pass);
        let entry = (stateless, Holding::Unit(part, kind));
        // Most units are alike: a hundred layers are one part, passed a hundred times.
        let cost = entry.0.with_state_of(&state);
        let mut known = self.parts.iter().zip(&self.stateless);
        if let Some(known) = known.position(|(other, of)| *other == cost && of.1 == entry.1) {
            return known as u16;
        }
        self.parts.push(cost);
        self.stateless.push(entry);
        (self.parts.len() - 1) as u16
    }
}

/// Transfer counts of each stage of the first and the last pipeline rank. They follow from the order of the schedule,
/// wherever the state lies.
pub(crate) fn transfer_counts_at_ends(scenario: &Scenario, layout: &Layout) -> EndTransferCounts {
    if !scenario.plan.staged() {
        return EndTransferCounts::default();
    }
    let counts = pipeline_counts(scenario, layout);
    let order = scenario.plan.schedule_rules().order;
    let turns = |rank| StageTransferCounts::all(&order(counts, rank, true), counts.stages);
    EndTransferCounts { first_rank: turns(0), last_rank: turns(counts.ranks - 1) }
}

/// The costs of a unit, and its parameters.
fn parameters_of<'c, 'a>(
    all: &'c [UnitCosts<'a>],
    part: ModelPart,
    kind: LayerKind,
) -> (&'c UnitCosts<'a>, Parameters) {
    let scenario = all[0].rates.scenario;
    // Without entries for operators there are two layouts at most: that of the model, and that of its experts.
    match part {
        ModelPart::Embedding => (&all[0], Parameters::embedding(scenario)),
        ModelPart::Head => (&all[0], Parameters::head(scenario)),
        ModelPart::Experts => (&all[all.len() - 1], all[0].layer(kind).parameters[Piece::Experts]),
        ModelPart::Attention | ModelPart::Mlp => {
            let parameters = &all[0].layer(kind).parameters;
            (&all[0], parameters[Piece::Mixer] + parameters[Piece::Router])
        }
        _ => (&all[0], all[0].layer(kind).parameters.sum()),
    }
}

/// The state of a whole layer of a kind, or of an end of the model, with its transfers and its update.
fn whole_unit_state(costs: &UnitCosts<'_>, part: ModelPart, kind: LayerKind) -> StageCost {
    let [ahead, behind] = [Pass::Forward, Pass::Backward].map(|pass| {
        let unit = if part == ModelPart::Layer { costs.layer_unit(kind, pass) } else { costs.end_unit(part, pass) };
        costs.unit_pass(unit, Traversal::Pass(pass), [ComputeStep::default(); 3])
    });
    let (_, parameters) = parameters_of(std::slice::from_ref(costs), part, kind);
    unit_state(costs, parameters, &ahead, &behind)
}

/// The state of a unit with its transfers and its update, by its passes.
fn unit_state(costs: &UnitCosts<'_>, parameters: Parameters, ahead: &UnitPass, behind: &UnitPass) -> StageCost {
    let state = StageCost {
        gather: PerDirection { forward: transfer(ahead.gather), backward: transfer(behind.gather) },
        reduce: behind.reduce.map(|reduction| transfer(reduction.reduce)),
        replicas: transfer(behind.reduce.complete.replicas),
        gathered: behind.gathered,
        stays: (ahead.gathered - ahead.freed).max(Bytes::ZERO),
        gradients: behind.gradients,
        secondary: ahead.secondary,
        ..StageCost::default()
    };
    state.with_state(&ParameterGroup::new(costs, parameters))
}

/// The cost of a stage without its state.
fn stateless_cost(pipeline: &PipelineContext<'_>, work: &StageWork) -> StageCost {
    let [ahead, behind] = [Pass::Forward, Pass::Backward].map(|pass| &pipeline.list(work, pass).runs);
    passes(pipeline.costs_of(0), ahead, behind)
}

/// Adds a stage's state to its cost, by the costs under each layout of operators.
fn stage_cost<'c, 'a: 'c>(
    stateless: &StageCost,
    held: &[StageParameters],
    of_layout: impl Fn(usize) -> &'c UnitCosts<'a>,
) -> StageCost {
    let mut cost = *stateless;
    for holding in held {
        let costs = of_layout(holding.layout);
        let group = ParameterGroup::new(costs, holding.parameters);
        let Parameters { weights, trained, .. } = group.parameters;
        let gather = |pass| transfer(costs.gather(weights, costs.parts(weights, holding.collectives), pass));
        let ahead = gather(Pass::Forward);
        // Backward gathers what forward does, unless that left a second copy.
        let behind = if costs.secondary_copy().is_some() { gather(Pass::Backward) } else { ahead };
        for (pass, gathered) in [(Pass::Forward, ahead), (Pass::Backward, behind)] {
            // Groups of parameters with shards of their own are gathered one after the other, so their times add up.
            let gather = cost.gather.get_mut(pass);
            *gather = *gather + gathered;
            *cost.load.get_mut(pass) += costs.rates.weights_copy(costs.loaded(weights, pass));
        }
        let parts = costs.parts(trained, holding.collectives);
        let sharded = costs.shard_sum(trained, true, parts);
        if !costs.keeps_whole_gradients() {
            cost.reduce.partial = cost.reduce.partial + transfer(sharded);
        }
        let reduction = costs.with_replicas(sharded, trained, true, parts);
        cost.reduce.complete = cost.reduce.complete + transfer(reduction.reduce);
        cost.replicas = cost.replicas + transfer(reduction.replicas);
        cost.store += costs.rates.host_copy(costs.stored(trained, Gradients::Complete));
        cost.gathered += costs.buffer(weights);
        cost.gradients += costs.gradient_buffer(trained);
        cost.secondary += costs.secondary(weights);
        cost = cost.with_state(&group);
    }
    cost
}

fn transfer(moved: Option<UnitCollective>) -> Transfer {
    moved.map(|moved| moved.transfer).unwrap_or_default()
}

/// Sums a quantity over all passes of some runs.
fn sum<Q: std::iter::Sum + std::ops::Mul<f64, Output = Q>>(runs: &[UnitRun], of: impl Fn(&UnitPass) -> Q) -> Q {
    runs.iter().map(|run| of(&run.unit_pass) * f64::from(run.count)).sum()
}

/// A transfer's share of the device, as the simulator counts it.
fn contention(costs: &UnitCosts<'_>) -> Share {
    Share::new(f64::from(device_demand(costs.contention())) / f64::from(FULL_DEMAND))
}

/// The cost of forward and backward over runs.
fn passes(costs: &UnitCosts<'_>, ahead: &[UnitRun], behind: &[UnitRun]) -> StageCost {
    let both = |of: fn(&UnitPass) -> Bytes| sum(ahead, of) + sum(behind, of);
    let of_steps = |of: &dyn Fn(&ComputeStep) -> Seconds| -> Seconds {
        let of_pass = |pass: &UnitPass| pass.steps.iter().map(of).sum::<Seconds>();
        sum(ahead, of_pass) + sum(behind, of_pass)
    };
    StageCost {
        compute: PerDirection { forward: ahead, backward: behind }.map(|runs| sum(runs, |pass| costs.serial(pass))),
        until_next: PerDirection { forward: ahead, backward: behind }
            .map(|runs| sum(runs, |pass| costs.lower_bound(pass, contention(costs)))),
        computing: of_steps(&|step| step.piece.time()),
        beside: of_steps(&|step| costs.beside(step).map(|exchange| exchange.transfer.time).sum()),
        from_host: [ahead, behind].map(|runs| sum(runs, |pass| pass.fetch_time(costs.rates))).into_iter().sum(),
        to_host: costs.rates.host_copy(both(|unit_pass| unit_pass.to_host)),
        // What goes to the host is not kept on the device.
        kept: sum(ahead, |unit_pass| unit_pass.kept - unit_pass.to_host),
        working: working(ahead, behind),
        ..StageCost::default()
    }
}

/// Activations that backward takes beside those that forward kept: for its first unit, or for the next one where the
/// first is the head, whose logits are free by then.
fn working(ahead: &[UnitRun], behind: &[UnitRun]) -> Bytes {
    let of = |run: &UnitRun| run.unit_pass.working;
    let first = behind.first().map_or(Bytes::ZERO, of);
    match (ahead.last(), behind) {
        (Some(head), [UnitRun { count: 1, .. }, next, ..]) if head.unit_pass.part == ModelPart::Head => {
            first.max(of(next) - head.unit_pass.kept)
        }
        _ => first,
    }
}

impl StageCost {
    /// The passes of this part with the state of another.
    fn with_state_of(&self, state: &Self) -> Self {
        let Self { compute, until_next, computing, beside, from_host, to_host, kept, working, .. } = *self;
        Self { compute, until_next, computing, beside, from_host, to_host, kept, working, ..*state }
    }

    /// Adds the state of a parameter group.
    fn with_state(self, group: &ParameterGroup<'_>) -> Self {
        let state = ModelState::of_groups(&[*group]);
        let [mut experts, mut others] = self.parameters;
        if group.costs.layout.sees_experts {
            experts = experts + state.parameters;
        } else {
            others = others + state.parameters;
        }
        Self {
            parameters: [experts, others],
            state: self.state + state.least(),
            update: self.update + boundary::lower_bound(group),
            ..self
        }
    }
}
