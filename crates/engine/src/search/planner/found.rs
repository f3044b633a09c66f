//! What a search came to: the best plans, and what they are held against.

use crate::evaluate::Summary;
use crate::plan::{Extents, Layers, Operator, Placement};
use crate::scenario::Scenario;

use super::placement_gain::PlacementGain;

/// A plan that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPlan {
    /// The job as planned.
    pub scenario: Scenario,
    /// What the simulator says of it.
    pub summary: Summary,
    /// Time of a step by the paper's model, where that was asked.
    pub paper_s: Option<f64>,
    /// Where every operator's state lies: no operator is left to the plan's own sharding.
    pub operators: Vec<Placement>,
    /// What each of them saves and spends.
    pub why: Vec<PlacementGain>,
}

impl FoundPlan {
    /// What an entry of its operators is called: `attention 44-47`, `embedding`.
    pub fn name(&self, placement: &Placement) -> String {
        match (self.layers(placement), placement.operator) {
            (_, Operator::All) => "all".to_owned(),
            (Some(layers), operator) => format!("{operator} {layers}"),
            (None, operator) => operator.to_string(),
        }
    }

    /// The layers of an entry of its operators; all of them where it says none but means layers.
    pub fn layers(&self, placement: &Placement) -> Option<Layers> {
        let all = Layers { first: 0, last: self.scenario.model.layers - 1 };
        let ends = matches!(placement.operator, Operator::Embedding | Operator::Head);
        placement.layers.or((!ends).then_some(all))
    }
}

/// The answer to a request. Plans that do not fit are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanAnswer {
    /// The best plans, best first.
    pub plans: Vec<FoundPlan>,
    /// The best one with everything sharded over all ranks.
    pub fsdp: Option<Summary>,
    /// The best one with everything on each device.
    pub ddp: Option<Summary>,
    /// Every way to place all operators alike, the best first.
    pub uniform: Vec<Uniform>,
    /// The best one that leaves each operator on each device or shards it over all ranks: the paper's choice.
    pub two_way: Option<Summary>,
    /// Plans that were compared, each as often as it was looked at: not all of them were simulated anew.
    pub searched: u64,
}

/// All operators placed alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Uniform {
    /// Where.
    pub extents: Extents,
    /// The best batch and recompute; `None` where none fits.
    pub best: Option<Summary>,
}

impl PlanAnswer {
    /// The best plan that places all operators alike.
    pub fn best_uniform(&self) -> Option<&Summary> {
        self.uniform.first()?.best.as_ref()
    }
}
