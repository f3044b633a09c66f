//! Search with the paper's cost model: alpha, beta and gamma of each operator, added up, and memory as state,
//! activations and the largest operator that is gathered [osdp C3].
//!
//! Exact for that model, to a unit of memory: for every bound on what is gathered at once, the fastest assignment
//! within what the bound leaves. An operator's state may lie on any level: what it shards over is gathered and reduced
//! there, what is left is summed over its replicas.

use crate::bounds::osdp::Ring;
use crate::bounds::state_per_parameter;
use crate::cost::{Activations, Factors, Parameters, Payload, PerPiece, Piece, Rates};
use crate::model::LayerPart;
use crate::plan::{Format, Optimizer, Recompute};
use crate::program::{PICOS, picos};
use crate::scenario::{Layout, Scenario};
use crate::search::evaluator::Cancel;
use crate::search::tune::Tuned;
use crate::units::{Bytes, Count, Seconds};

use super::candidate::{OperatorChoice, OperatorPlan};
use super::classes::{Assignment, OperatorClass, OptionCost, fastest, relaxed};
use super::judge::{Judge, JudgedPlan};
use super::request::PlannerObjective;
use super::space::{EqualPieces, Space};

/// The most times that a plan is made smaller when the simulator finds that it needs more memory than the model says.
const TRIES: usize = 5;

/// Units in which memory is counted: an operator's share is rounded up, which wastes less than a percent of the
/// room for a hundred operators.
const UNITS: f64 = 16_384.0;

/// The model of one batch and recompute.
pub(super) struct PaperModel<'a> {
    space: &'a Space<'a>,
    scenario: Scenario,
    /// Memory that states and gathered operators may take.
    room: f64,
}

/// Equal operators of a model, or one of its ends.
#[derive(Debug, Clone, Copy)]
struct EqualOperators {
    part: PaperOperator,
    copies: u32,
    /// Parameters of one of them on one tensor rank.
    parameters: f64,
    /// Collectives that carry it.
    collectives: f64,
}

#[derive(Debug, Clone, Copy)]
enum PaperOperator {
    Layer(EqualPieces),
    Embedding,
    Head,
}

/// One choice for an operator, and its cost.
#[derive(Debug, Clone, Copy)]
struct OperatorTreatment {
    slot: OperatorChoice,
    cost: OptionCost,
    /// What is held of an operator while it computes, beside its state, in units of memory.
    held: u64,
}

/// Equal operators with all choices for them.
struct TreatedOperators {
    copies: u32,
    treatments: Vec<OperatorTreatment>,
}

/// The rings over which an operator's state travels where it lies in one way: the same for all operators and slices.
#[derive(Debug, Clone, Copy)]
struct WayRings {
    /// Of gathers and of reductions at each micro-batch.
    weights: Ring,
    gradients: Ring,
    /// Of what is left to the step's end: gradients up to the optimizer's shards and over their replicas, and the updated
    /// weights back to those that hold gradients, and from these to those that hold weights.
    to_optimizer: Ring,
    replicas: Ring,
    to_gradients: Ring,
    to_weights: Ring,
}

impl WayRings {
    fn new(rates: &Rates<'_>, layout: &Layout) -> Self {
        let Layout { weights, gradients, optimizer, .. } = *layout;
        let middle = gradients.max(weights);
        let between = |inner: u32, outer: u32| Ring::new(rates, layout.replica_group(inner, outer));
        Self {
            weights: Ring::new(rates, layout.shard_group(weights)),
            gradients: Ring::new(rates, layout.shard_group(gradients)),
            to_optimizer: between(gradients, optimizer),
            replicas: between(optimizer, layout.group()),
            to_gradients: between(middle, optimizer),
            to_weights: between(weights, middle),
        }
    }
}

/// The assignments that hold at most a given part of an operator, in units of memory: a problem of its own.
struct BoundedProblem<'a> {
    held: u64,
    /// What of it counts as time.
    added: u64,
    /// A time that none of them beats.
    least: u64,
    /// What their states may take.
    limit: u64,
    /// By class.
    allowed: Vec<Vec<&'a OperatorTreatment>>,
    classes: Vec<OperatorClass>,
}

/// The optimum by the paper's model.
pub(super) struct PaperOptimum {
    pub candidate: OperatorPlan,
    /// Seconds of a step by the model.
    seconds: f64,
    /// Memory of states and of what is held, by the model.
    memory: f64,
}

/// The best plan of each batch and recompute that fits; the best by the model first.
pub(super) fn search(space: &Space<'_>, ways: &[usize], judge: &Judge<'_>) -> Vec<JudgedPlan> {
    let mut found: Vec<JudgedPlan> = Vec::new();
    let mut full: Option<Recompute> = None;
    for (batch, tuned) in space.batches.iter().enumerate() {
        if full == Some(tuned.recompute) {
            continue;
        }
        match PaperModel::new(space, *tuned).fitting(batch, ways, judge) {
            Some(one) => found.push(one),
            None => full = Some(tuned.recompute),
        }
    }
    let cost = |one: &JudgedPlan| match judge.objective {
        PlannerObjective::Throughput | PlannerObjective::Devices => {
            one.paper_s.unwrap_or(f64::INFINITY) / one.summary.tokens_per_step
        }
        PlannerObjective::StepTime => one.paper_s.unwrap_or(f64::INFINITY),
        PlannerObjective::Memory => one.summary.memory.peak.get(),
    };
    let memory = |one: &JudgedPlan| one.summary.memory.peak.get();
    found.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then(memory(a).total_cmp(&memory(b))));
    found
}

impl<'a> PaperModel<'a> {
    pub fn new(space: &'a Space<'a>, tuned: Tuned) -> Self {
        let mut scenario = space.scenario.clone();
        tuned.apply(&mut scenario);
        let room = room(&scenario);
        Self { space, scenario, room }
    }

    /// The best plan that the simulator agrees to fit.
    fn fitting(mut self, batch: usize, ways: &[usize], judge: &Judge<'_>) -> Option<JudgedPlan> {
        for _ in 0..TRIES {
            let best = self.best(ways, judge.objective)?;
            let one = judge.judge(self.space, batch, best.candidate)?;
            if one.summary.fits {
                return Some(JudgedPlan { paper_s: Some(best.seconds), ..one });
            }
            // The model left out what the simulator found beyond the limit: take it from the room and try again. A byte
            // less each time makes sure that the room shrinks.
            let beyond = one.summary.memory.peak - one.summary.memory.capacity;
            self.room = self.room.min(best.memory)
                - beyond.get() / (1.0 + self.scenario.calibration.allocator.fragmentation)
                - 1.0;
        }
        None
    }

    /// The fastest assignment that fits by the model, or the smallest one.
    pub fn best(&self, ways: &[usize], objective: PlannerObjective) -> Option<PaperOptimum> {
        let rates = Rates::new(&self.scenario, &Factors::default());
        let unit = (self.room / UNITS).max(1.0);
        let ways = self.rings(&rates, ways);
        let treated: Vec<TreatedOperators> =
            self.operators().iter().map(|alike| self.treated(&rates, alike, &ways, unit)).collect();
        // The largest operator held is a maximum, not a sum, so it cannot be a cost of a class. Every value that it may
        // take is a problem of its own: only treatments that hold no more, and the limit less by it.
        let mut helds: Vec<u64> = treated.iter().flat_map(|of| &of.treatments).map(|one| one.held).collect();
        helds.sort_unstable();
        helds.dedup();
        let problems = helds.into_iter().filter_map(|held| self.bounded(&treated, held, unit, objective));
        let mut problems: Vec<BoundedProblem> = problems.collect();
        problems.sort_by_key(|problem| problem.least);
        let mut best: Option<(Assignment, &BoundedProblem)> = None;
        for problem in &problems {
            let cost = |found: &Assignment, of: &BoundedProblem| (found.time + of.added, found.memory + of.held);
            // Problems come in the order of their bounds: none from here on beats the best.
            if best.as_ref().is_some_and(|(found, of)| cost(found, of).0 < problem.least) {
                break;
            }
            let Some(found) = fastest(&problem.classes, problem.limit, &Cancel::default()) else { continue };
            if best.as_ref().is_none_or(|(other, of)| cost(&found, problem) < cost(other, of)) {
                best = Some((found, problem));
            }
        }
        let (found, problem) = best?;
        let counted = |(allowed, counts): (&Vec<&OperatorTreatment>, &Vec<u32>)| {
            allowed.iter().zip(counts).filter(|(_, count)| **count > 0).map(|(one, count)| (**one, *count)).collect()
        };
        let treated: Vec<Vec<(OperatorTreatment, u32)>> =
            problem.allowed.iter().zip(&found.counts).map(counted).collect();
        self.find_optimum(&rates, &treated, unit)
    }

    /// The assignments that hold at most so much of an operator; `None` if there is none.
    fn bounded<'t>(
        &self,
        treated: &'t [TreatedOperators],
        held: u64,
        unit: f64,
        objective: PlannerObjective,
    ) -> Option<BoundedProblem<'t>> {
        let limit = self.room / unit - held as f64;
        let allowed: Vec<Vec<&OperatorTreatment>> =
            treated.iter().map(|of| of.treatments.iter().filter(|one| one.held <= held).collect()).collect();
        if limit < 0.0 || allowed.iter().any(Vec::is_empty) {
            return None;
        }
        // Where memory is the objective, it counts as the time too, what is held included.
        let added = if objective == PlannerObjective::Memory { held } else { 0 };
        let cost = |one: &&OperatorTreatment| match objective {
            PlannerObjective::Memory => OptionCost { time: one.cost.memory, memory: one.cost.memory },
            _ => one.cost,
        };
        let class = |(of, allowed): (&TreatedOperators, &Vec<&OperatorTreatment>)| OperatorClass {
            copies: of.copies,
            choices: allowed.iter().map(cost).collect(),
        };
        let classes: Vec<OperatorClass> = treated.iter().zip(&allowed).map(class).collect();
        let least = relaxed(&classes, limit as u64) + added;
        Some(BoundedProblem { held, added, least, limit: limit as u64, allowed, classes })
    }

    /// An assignment with what it takes by the model.
    fn find_optimum(
        &self,
        rates: &Rates<'_>,
        treated: &[Vec<(OperatorTreatment, u32)>],
        unit: f64,
    ) -> Option<PaperOptimum> {
        let all = || treated.iter().flatten().map(|(one, count)| (one, u64::from(*count)));
        let picos: u64 = all().map(|(one, count)| count * one.cost.time).sum();
        let state: u64 = all().map(|(one, count)| count * one.cost.memory).sum();
        let held = all().map(|(one, _)| one.held).max()?;
        let (layers, ends) = treated.split_at_checked(self.space.sublayers.len())?;
        let slots =
            |alike: &Vec<(OperatorTreatment, u32)>| alike.iter().map(|(one, count)| (one.slot, *count)).collect();
        let ends = ends.iter().filter_map(|end| Some(end.first()?.0.slot.way)).collect();
        Some(PaperOptimum {
            candidate: OperatorPlan::new(layers.iter().map(slots).collect(), ends),
            seconds: picos as f64 / PICOS + self.fixed(rates).get(),
            memory: (state + held) as f64 * unit,
        })
    }

    fn operators(&self) -> Vec<EqualOperators> {
        let (model, tensor) = (&self.scenario.model, f64::from(self.scenario.plan.tensor));
        let matrices = f64::from(self.scenario.stack.collectives.per_layer);
        let in_layers = |alike: &EqualPieces| {
            let of = |part| model.part_parameters(alike.kind, part).all;
            let parameters = match alike.piece {
                Piece::Mixer => of(LayerPart::Mixer),
                Piece::Mlp | Piece::Router => of(LayerPart::Plain) + of(LayerPart::Routed),
                Piece::Experts => of(LayerPart::Routed),
            };
            EqualOperators {
                part: PaperOperator::Layer(*alike),
                copies: alike.layers,
                parameters: parameters as f64 / tensor,
                collectives: (matrices / 2.0).max(1.0),
            }
        };
        let end = |part: PaperOperator, parameters: u64| EqualOperators {
            part,
            copies: 1,
            parameters: parameters as f64 / tensor,
            collectives: matrices,
        };
        let (embedding, head) = (model.embedding_parameters(), model.head_parameters());
        let mut operators: Vec<EqualOperators> = self.space.sublayers.iter().map(in_layers).collect();
        match (model.vocab > 0, model.has_tied_logits()) {
            (false, _) => {}
            (true, true) => operators.push(end(PaperOperator::Embedding, embedding + head)),
            (true, false) => {
                operators.extend([end(PaperOperator::Embedding, embedding), end(PaperOperator::Head, head)]);
            }
        }
        operators
    }

    /// Some ways with their rings, which are probed once here and not again for each operator and count of slices.
    fn rings(&self, rates: &Rates<'_>, ways: &[usize]) -> Vec<(usize, WayRings)> {
        ways.iter().map(|way| (*way, WayRings::new(rates, &self.space.ways[*way].layout))).collect()
    }

    fn treated(
        &self,
        rates: &Rates<'_>,
        alike: &EqualOperators,
        ways: &[(usize, WayRings)],
        unit: f64,
    ) -> TreatedOperators {
        let whole = [1];
        let slices: &[u32] = if matches!(alike.part, PaperOperator::Layer(_)) { &self.space.slices } else { &whole };
        let compute: Vec<Seconds> = slices.iter().map(|slices| self.compute(rates, alike.part, *slices)).collect();
        let treatments = ways.iter().flat_map(|(way, rings)| {
            let layout = &self.space.ways[*way].layout;
            slices.iter().zip(&compute).map(move |(slices, compute)| {
                let time = *compute + self.transfers(rings, alike, layout, *slices) + update(rates, alike, layout);
                let (memory, held) = self.memory(alike, layout, *slices);
                let units = |bytes: f64| libm::ceil(bytes / unit) as u64;
                let cost = OptionCost { time: picos(time), memory: units(memory) };
                OperatorTreatment { slot: OperatorChoice { way: *way, slices: *slices }, cost, held: units(held) }
            })
        });
        TreatedOperators { copies: alike.copies, treatments: treatments.collect() }
    }

    /// Arithmetic of a step: forward, backward, and forward again where that is.
    fn compute(&self, rates: &Rates<'_>, part: PaperOperator, slices: u32) -> Seconds {
        let plan = &self.scenario.plan;
        let (forward, backward, again, host) = match part {
            PaperOperator::Embedding => {
                (rates.embedding().forward, rates.embedding().backward, Seconds::ZERO, Seconds::ZERO)
            }
            PaperOperator::Head => (rates.head().forward, rates.head().backward, Seconds::ZERO, Seconds::ZERO),
            PaperOperator::Layer(EqualPieces { piece, kind, .. }) => {
                let layer = rates.sliced_layer(kind, PerPiece::all(slices));
                let forward = layer.forward[piece];
                let again = match plan.recompute {
                    Recompute::Full => forward.time,
                    Recompute::Selective => layer.selective[piece].time,
                    _ => Seconds::ZERO,
                };
                (forward, layer.backward[piece], again, rates.host_piece(piece, kind))
            }
        };
        let slices = f64::from(slices);
        let launched = |time: Seconds, host: Seconds| slices * rates.launch_bound(time / slices, host);
        f64::from(plan.accumulate) * (launched(forward.time + again, host) + launched(backward.time, 1.5 * host))
    }

    /// Transfers of a step [osdp C3]: gathers and reductions of what is sharded at each micro-batch, and what is left
    /// once: up to the optimizer's shards, over its replicas, and the updated weights back.
    fn transfers(&self, rings: &WayRings, alike: &EqualOperators, layout: &Layout, slices: u32) -> Seconds {
        let plan = &self.scenario.plan;
        let wire = plan.sharding.wire;
        let collectives = alike.collectives * f64::from(slices);
        let pass = |share: u32, format: Format, ring: &Ring| {
            let elements = Count::new(alike.parameters / f64::from(share));
            let payload = Payload { block: wire.block.into(), ..Payload::plain(elements, plan.precision.wire(format)) };
            ring.pass(payload.bytes(), collectives)
        };
        let usual = |format: Format| self.scenario.reduction_format(format);
        let reshards = f64::from(u8::from(plan.sharding.reshard_after_forward));
        let recomputed = if plan.recompute == Recompute::Full { reshards } else { 0.0 };
        // Forward gathers once, backward again if forward dropped what it had, and recompute a third time.
        let gathers = 1.0 + reshards + recomputed;
        let (weights, gradients, optimizer) = (layout.weights, layout.gradients, layout.optimizer);
        let each = gathers * pass(1, wire.weights, &rings.weights) + pass(1, usual(wire.gradients), &rings.gradients);
        let middle = gradients.max(weights);
        let once = pass(gradients, usual(wire.boundary), &rings.to_optimizer)
            + 2.0 * pass(optimizer, usual(wire.boundary), &rings.replicas)
            + pass(middle, wire.boundary, &rings.to_gradients)
            + pass(weights, wire.boundary, &rings.to_weights);
        f64::from(plan.accumulate) * each + once
    }

    /// State of an operator, and what is held of it beside: as many of its gathered weights and whole
    /// gradients as the runtime fetches ahead, and one more.
    fn memory(&self, alike: &EqualOperators, layout: &Layout, slices: u32) -> (f64, f64) {
        let plan = &self.scenario.plan;
        let weight = plan.precision.storage().bytes();
        let gradient = self.scenario.gradient_format().bytes();
        let state = state_per_parameter(&self.scenario, layout).get();
        let gathered =
            if layout.weights > 1 { weight } else { 0.0 } + if layout.gradients > 1 { gradient } else { 0.0 };
        let held = alike.parameters / f64::from(slices) * gathered * f64::from(1 + plan.prefetch);
        (alike.parameters * state, held)
    }

    /// Time of a step that no operator has a part in.
    fn fixed(&self, rates: &Rates<'_>) -> Seconds {
        rates.host_step(1) + rates.host_micro_batch() * f64::from(self.scenario.plan.accumulate)
    }
}

/// The optimizer's update of what a rank owns of an operator.
fn update(rates: &Rates<'_>, alike: &EqualOperators, layout: &Layout) -> Seconds {
    let trained = Count::new(alike.parameters / f64::from(layout.optimizer));
    let muon = if rates.scenario.plan.optimizer == Optimizer::Muon { trained } else { Count::ZERO };
    rates.optimizer(Parameters { trained, muon, ..Parameters::NONE }).time
}

/// Memory of a device less its reserve, its fragments and the activations of a micro-batch.
fn room(scenario: &Scenario) -> f64 {
    let rates = Rates::new(scenario, &Factors::default());
    let model = &scenario.model;
    // Backward begins with the last layer.
    let last = rates.activations(model.kind(model.layers - 1));
    let all = |of: fn(&Activations) -> Bytes| {
        model.kinds().map(|(kind, layers)| f64::from(layers) * of(&rates.activations(kind))).sum::<Bytes>()
    };
    let kept = match scenario.plan.recompute {
        _ if scenario.plan.offload.activations() => last.whole,
        Recompute::Full if scenario.plan.offload.checkpoints() => last.whole,
        Recompute::Full => all(|layer| layer.checkpoint) + last.whole,
        _ => all(|layer| layer.layer - layer.on_host) + last.whole - last.layer + last.on_host,
    };
    let memory = scenario.capacity();
    let ends = if model.vocab > 0 { rates.stream() + rates.logits() } else { Bytes::ZERO };
    (scenario.calibration.allocator.asked(memory) - kept - last.working - ends).get()
}

#[cfg(test)]
mod tests;
