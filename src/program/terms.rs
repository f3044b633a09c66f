//! What each part of a step costs a rank, read off the visits that steps are made of: the terms of bounds
//! on a step. Not for when a part runs.

use crate::cost::{Factors, Rates, Transfer};
use crate::scenario::{Layout, Scenario};

use super::boundary::{self, Share};
use super::label::Part;
use super::order::whole_layers;
use super::pipeline::{self, Pipeline};
use super::places::Places;
use super::stage::Work;
use super::state::{State, whole_gradients};
use super::step::Run;
use super::visit::{Moved, Visit, Visits};

/// A unit, or a stage with all its units: seconds and bytes on one rank, of one micro-batch where they are
/// not of the state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Forward and backward, with the tensor collectives, beside which nothing computes.
    pub compute: [f64; 2],
    /// The gathers of the weights for them; nothing where they are not sharded.
    pub gather: [Transfer; 2],
    /// The reductions of the gradients: at each micro-batch, and at the last.
    pub reduce: [Transfer; 2],
    /// Copies from the host, and to it.
    pub host: [f64; 2],
    /// Copies of a stage's weights from the host, for the gathers for forward and for backward.
    pub load: [f64; 2],
    /// The copy of a stage's gradients to the host, after the last reduction.
    pub store: f64,
    /// Kept in memory between forward and backward.
    pub kept: f64,
    /// Taken beside that when backward begins.
    pub working: f64,
    /// Gathered weights, and gradients that wait for their reduction.
    pub buffers: f64,
    /// Weights, gradients and optimizer state that stay in memory.
    pub state: f64,
    /// The update, and the way back of what it has changed.
    pub update: f64,
}

/// The parts of a plan's step.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// Units or stages that differ.
    pub parts: Vec<Cost>,
    /// Which of them forward passes, in order; stage `i` is of pipeline rank `i mod P`.
    pub order: Vec<u16>,
    /// Seconds in which activations reach the next pipeline rank, where it is nearest.
    pub send: f64,
    /// Whether gradients wait in two buffers for their reduction, rather than stay whole.
    pub buffered: bool,
}

impl Terms {
    /// Of a checked scenario.
    pub fn of(scenario: &Scenario, layout: &Layout) -> Self {
        let rates = Rates::of(scenario, &Factors::default());
        let visits = Visits::new(&rates, layout, pipeline::wanted(&rates, layout));
        let hops = (0..layout.pipeline).filter(|_| layout.pipeline > 1).map(|rank| visits.hop(rank, false));
        let send = hops.map(|level| visits.send(level).time).reduce(f64::min).unwrap_or(0.0);
        let buffered = !whole_gradients(&rates, layout);
        let mut terms = Self { parts: Vec::new(), order: Vec::new(), send, buffered };
        if visits.staged {
            let places = Places::of(scenario, layout);
            let pipeline = Pipeline::of(&rates, layout, &places);
            terms.parts.extend(pipeline.works().iter().map(|work| stage(&pipeline, work)));
            terms.order.extend(pipeline.order().map(|place| place as u16));
        } else {
            let (runs, used) = whole_layers(&visits);
            let (ahead, behind) = runs[..used].split_at(used / 2);
            for (ahead, behind) in ahead.iter().zip(behind.iter().rev()) {
                terms.add(&unit(&visits, ahead, behind), ahead.count);
            }
        }
        terms
    }

    /// Adds a part that is passed so many times in a row.
    fn add(&mut self, cost: &Cost, count: u32) {
        let known = self.parts.iter().position(|other| other == cost);
        let place = known.unwrap_or(self.parts.len());
        if known.is_none() {
            self.parts.push(*cost);
        }
        self.order.extend(std::iter::repeat_n(place as u16, count as usize));
    }
}

/// One of the units of a run, there and back.
fn unit(visits: &Visits<'_>, ahead: &Run, behind: &Run) -> Cost {
    let model = &visits.rates.scenario.model;
    let parameters = match ahead.visit.part {
        Part::Embedding => model.embedding_parameters(),
        Part::Head => model.head_parameters(),
        _ => model.layer_parameters(),
    };
    let [ahead, behind] = [ahead, behind].map(|run| &run.visit);
    let one = |visit: &Visit| [Run { visit: *visit, count: 1, ..Run::default() }];
    Cost {
        gather: [of(ahead.gather), of(behind.gather)],
        reduce: behind.reduce.map(of),
        buffers: behind.gathered + behind.gradients,
        ..passes(visits, &one(ahead), &one(behind)).with_state(&Share::of(visits, parameters))
    }
}

/// A stage with all its units.
fn stage(pipeline: &Pipeline<'_>, work: &Work) -> Cost {
    let [ahead, behind] = &work.passes;
    let mut cost = passes(pipeline.way(0), &ahead.runs, &behind.runs);
    for holding in &work.holdings {
        let visits = pipeline.way(holding.way);
        let share = Share::of(visits, holding.parameters);
        let elements = share.parameters;
        for backward in [false, true] {
            let direction = usize::from(backward);
            cost.gather[direction] =
                cost.gather[direction] + of(visits.gather(elements, holding.collectives, backward));
            cost.load[direction] += visits.rates.host_copy(visits.loaded(elements, backward));
        }
        cost.reduce[1] = cost.reduce[1] + of(visits.reduction(elements, true, true, holding.collectives));
        cost.store += visits.rates.host_copy(visits.stored(elements, true));
        cost.buffers += visits.buffer(elements) + visits.waiting(elements);
        cost = cost.with_state(&share);
    }
    cost
}

fn of(moved: Option<Moved>) -> Transfer {
    moved.map(|moved| moved.transfer).unwrap_or_default()
}

/// Forward and backward of runs.
fn passes(visits: &Visits<'_>, ahead: &[Run], behind: &[Run]) -> Cost {
    let sum = |runs: &[Run], of: &dyn Fn(&Visit) -> f64| {
        runs.iter().map(|run| f64::from(run.count) * of(&run.visit)).sum::<f64>()
    };
    let both = |of: &dyn Fn(&Visit) -> f64| sum(ahead, of) + sum(behind, of);
    Cost {
        compute: [ahead, behind].map(|runs| sum(runs, &|visit| visits.serial(visit))),
        host: [
            visits.rates.host_copy(both(&|visit| visit.from_host)),
            visits.rates.host_copy(both(&|visit| visit.to_host)),
        ],
        kept: sum(ahead, &|visit| visit.kept - visit.to_host),
        working: behind.first().map_or(0.0, |run| run.visit.working),
        ..Cost::default()
    }
}

impl Cost {
    /// With the state of some of its parameters.
    fn with_state(self, share: &Share<'_>) -> Self {
        let state = State::of_shares(&[*share]);
        Self {
            state: self.state + state.weights + state.gradients + state.optimizer,
            update: self.update + boundary::least(share),
            ..self
        }
    }
}
