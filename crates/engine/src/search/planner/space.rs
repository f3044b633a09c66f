//! What a plan can choose from: ways to place an operator's state, slices, batches and recompute.

use crate::cost::Piece;
use crate::model::{LayerKind, Model};
use crate::plan::Extents;
use crate::scenario::{Field, Layout, Problem, Scenario};
use crate::search::levels::{all_of, levels};
use crate::search::plans::{MOST_SEQUENCES, least_memory, micro_batches};
use crate::search::tune::{Tuned, recomputes};
use crate::stack::{Feature, Runs};
use crate::units::Bytes;

use super::request::PlannerObjective;

/// Slices into which a layer's operators may be cut [osdp C5].
const SLICES: [u32; 5] = [1, 2, 4, 8, 16];

/// One way to place an operator's state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatePlacement {
    /// All three of them.
    pub extents: Extents,
    pub layout: Layout,
}

/// Equal operators: all attentions of a model's layers or all MLPs, or those of the layers with a window, or with experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EqualPieces {
    pub piece: Piece,
    /// A kind of layer that has them.
    pub kind: LayerKind,
    /// Layers that have them.
    pub layers: u32,
}

impl EqualPieces {
    /// All of a model: attentions before MLPs.
    pub fn of_model(model: &Model) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let halves: [(Piece, fn(LayerKind) -> bool); 2] =
            [(Piece::Mixer, LayerKind::has_mixer), (Piece::Mlp, LayerKind::has_mlp)];
        for (piece, has) in halves {
            for (kind, layers) in model.kinds().filter(|(kind, _)| has(*kind)) {
                match found.iter_mut().find(|known| known.are_of(piece, kind)) {
                    Some(known) => known.layers += layers,
                    None => found.push(Self { piece, kind, layers }),
                }
            }
        }
        found
    }

    /// Whether a layer of a kind has its piece among these.
    pub fn are_of(self, piece: Piece, kind: LayerKind) -> bool {
        let alike = match piece {
            Piece::Mixer => self.kind.mixer == kind.mixer,
            _ => self.kind.mlp == kind.mlp,
        };
        self.piece == piece && alike
    }
}

/// Everything that can be chosen for a job.
pub(super) struct Space<'a> {
    pub scenario: &'a Scenario,
    /// From everything on each device to everything sharded over all ranks.
    pub ways: Vec<StatePlacement>,
    /// The smaller batch of two with the same recompute first; around a plan its own before all.
    pub batches: Vec<Tuned>,
    pub slices: Vec<u32>,
    pub sublayers: Vec<EqualPieces>,
}

impl<'a> Space<'a> {
    /// The choices for a scenario that can be laid out.
    pub fn new(scenario: &'a Scenario, objective: PlannerObjective) -> Result<Self, Vec<Problem>> {
        let layout = scenario.layout()?;
        if layout.has_expert_mesh() && scenario.model.experts.is_some() {
            let what = "operators are placed one by one only where experts are sharded as the rest of the model";
            let fix = "choose 1, with as many tensor ranks for experts as for the rest";
            return Err(vec![Problem::new(Field::Experts.path(), what.to_owned(), fix.to_owned())]);
        }
        if scenario.model.mtp_layers > 0 {
            let what = "operators are placed one by one only where no layer predicts further tokens";
            return Err(vec![Problem::new(Field::MtpLayers.path(), what.to_owned(), "choose 0".to_owned())]);
        }
        if scenario.trains_part() && !scenario.plan.tuning.freezes() {
            let what = "operators are placed one by one only where all parameters are trained";
            let field = if scenario.model.frozen_layers > 0 { Field::FrozenLayers } else { Field::FrozenEnds };
            return Err(vec![Problem::new(field.path(), what.to_owned(), "train all of them".to_owned())]);
        }
        Ok(Self::laid_out(scenario, &layout, objective))
    }

    fn laid_out(scenario: &'a Scenario, layout: &Layout, objective: PlannerObjective) -> Self {
        let model = &scenario.model;
        let even = |slices: &u32| model.hidden.is_multiple_of(*slices) && model.undivided_mlp(*slices).is_none();
        Self {
            scenario,
            ways: ways(scenario, layout),
            batches: batches(scenario, objective),
            slices: SLICES.into_iter().filter(even).collect(),
            sublayers: EqualPieces::of_model(model),
        }
    }
}

impl<'a> Space<'a> {
    /// The choices around a plan: its own batch and recompute before the others, its own extents beside the levels.
    pub fn around(scenario: &'a Scenario, objective: PlannerObjective) -> Result<Self, Vec<Problem>> {
        let layout = scenario.layout()?;
        let mut space = Self::laid_out(scenario, &layout, objective);
        let sharding = &scenario.plan.sharding;
        let extents = all_of([&sharding.weights, &sharding.gradients, &sharding.optimizer]);
        let ranks = |layout: &Layout| (layout.weights, layout.gradients, layout.optimizer);
        if !space.ways.iter().any(|way| ranks(&way.layout) == ranks(&layout)) {
            // From what shards least to what shards most.
            let place = space.ways.partition_point(|way| ranks(&way.layout) < ranks(&layout));
            space.ways.insert(place, StatePlacement { extents, layout });
        }
        let own = Tuned::from(scenario);
        space.batches.retain(|tuned| *tuned != own);
        space.batches.insert(0, own);
        Ok(space)
    }
}

impl Space<'_> {
    /// Leaves out batches and slices that a program cannot run.
    pub fn keep_to(&mut self, runs: &Runs) {
        self.batches.retain(|tuned| runs.recomputes(tuned.recompute));
        self.slices.retain(|slices| *slices == 1 || runs.has(Feature::Slices));
    }

    /// The ways, by their places, that a program can run for all operators; any where none is named.
    pub fn runnable(&self, runs: Option<&Runs>) -> Vec<usize> {
        let runs_way = |way: &StatePlacement| runs.is_none_or(|runs| self.scenario.runs_shards(runs, &way.layout));
        self.ways.iter().enumerate().filter(|(_, way)| runs_way(way)).map(|(place, _)| place).collect()
    }

    /// The least memory of any choice for each operator among some ways, with one batch and recompute.
    pub(crate) fn least_memory(&self, ways: &[usize], batch: usize) -> Bytes {
        let mut scenario = self.scenario.clone();
        self.batches[batch].apply(&mut scenario);
        least_memory(&scenario, ways.iter().map(|way| &self.ways[*way].layout))
    }
}

/// Every choice of levels for weights, gradients and optimizer state, each at least as wide as the one before.
fn ways(scenario: &Scenario, layout: &Layout) -> Vec<StatePlacement> {
    let levels = levels(scenario, layout);
    let mut ways = Vec::new();
    // As in the stages of ZeRO, the optimizer is sharded at least as far as gradients, and these as far as weights.
    // With device, node and system there are 10 ways: 3 with all alike, 6 with two alike, 1 with none.
    for (index, weights) in levels.iter().enumerate() {
        for (wider, gradients) in levels.iter().enumerate().skip(index) {
            for optimizer in &levels[wider..] {
                let extents = all_of([weights, gradients, optimizer]);
                ways.push(StatePlacement { layout: layout.placed(scenario, &extents), extents });
            }
        }
    }
    ways
}

/// Micro-batches with every recompute: as many sequences a step as the scenario has, or, where throughput is
/// what counts, more.
fn batches(scenario: &Scenario, objective: PlannerObjective) -> Vec<Tuned> {
    let sequences = scenario.plan.micro_batch.saturating_mul(scenario.plan.accumulate);
    let sizes: Vec<u32> = match objective {
        PlannerObjective::Throughput | PlannerObjective::Devices => micro_batches(),
        PlannerObjective::StepTime | PlannerObjective::Memory => {
            (1..=sequences.min(MOST_SEQUENCES)).filter(|size| sequences.is_multiple_of(*size)).collect()
        }
    };
    let tuned = |recompute, micro_batch| {
        scenario.accumulate_for(micro_batch).map(|accumulate| Tuned { micro_batch, recompute, accumulate })
    };
    let all = recomputes(scenario).flat_map(|recompute| sizes.iter().map(move |size| (recompute, *size)));
    all.filter_map(|(recompute, size)| tuned(recompute, size)).collect()
}
