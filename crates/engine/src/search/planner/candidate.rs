//! One assignment of shardings and slices to the operators of a model. Not for what it costs ([`super::judge`]).

use crate::cost::Piece;
use crate::model::Model;
use crate::plan::{Extent, Layers, Operator, Placement};
use crate::scenario::Scenario;
use crate::search::tune::Tuned;

use super::space::Space;

/// How an operator of a layer is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OperatorChoice {
    /// Its way, by index in the space.
    pub way: usize,
    pub slices: u32,
}

/// How many of equal sublayers are treated in which way, and the ways of embedding and logits. The first layers are
/// those that shard least.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OperatorPlan {
    /// In the order of the space's equal sublayers.
    sublayers: Vec<Vec<(OperatorChoice, u32)>>,
    /// Of the embedding, and of logits that do not reuse it.
    ends: Vec<usize>,
}

impl OperatorPlan {
    /// All operators alike and whole.
    pub fn uniform(space: &Space<'_>, slot: OperatorChoice) -> Self {
        let sublayers = space.sublayers.iter().map(|alike| vec![(slot, alike.layers)]).collect();
        Self { sublayers, ends: vec![slot.way; ends(&space.scenario.model)] }
    }

    /// From counts in any order.
    pub fn new(sublayers: Vec<Vec<(OperatorChoice, u32)>>, ends: Vec<usize>) -> Self {
        Self { sublayers: sublayers.into_iter().map(sorted).collect(), ends }
    }

    /// The way of all operators, where they are alike and whole.
    pub(crate) fn uniform_way(&self) -> Option<usize> {
        let way = self.sublayers.first()?.first()?.0.way;
        let whole = OperatorChoice { way, slices: 1 };
        let alike = |slots: &Vec<(OperatorChoice, u32)>| matches!(slots[..], [(slot, _)] if slot == whole);
        (self.ends.iter().all(|end| *end == way) && self.sublayers.iter().all(alike)).then_some(way)
    }

    /// Slots of equal sublayers with the layers that each has.
    pub fn slots(&self, alike: usize) -> &[(OperatorChoice, u32)] {
        &self.sublayers[alike]
    }

    /// The ways of the embedding and of logits that do not reuse it.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The same with the embedding (0) or the logits (1) placed in another way.
    pub(crate) fn with_end(&self, end: usize, way: usize) -> Self {
        let mut changed = self.clone();
        changed.ends[end] = way;
        changed
    }

    /// The same with `layers` of equal sublayers moved from one slot to another.
    pub fn moved(&self, alike: usize, from: OperatorChoice, to: OperatorChoice, layers: u32) -> Self {
        let mut changed = self.clone();
        let slots = &mut changed.sublayers[alike];
        for (slot, count) in slots.iter_mut() {
            if *slot == from {
                *count -= layers.min(*count);
            }
        }
        slots.push((to, layers));
        *slots = sorted(std::mem::take(slots));
        changed
    }

    /// The job with this assignment.
    pub fn scenario(&self, space: &Space<'_>, tuned: Tuned) -> Scenario {
        let mut scenario = space.scenario.clone();
        tuned.apply(&mut scenario);
        // The plan's own sharding is what most layers have; the entries below place every operator anyway.
        let most = self.sublayers.last().and_then(|slots| slots.iter().max_by_key(|(_, layers)| *layers));
        let way = self.uniform_way().or(most.map(|(slot, _)| slot.way)).unwrap_or_default();
        let (sharding, extents) = (&mut scenario.plan.sharding, &space.ways[way].extents);
        let parts = [&mut sharding.weights, &mut sharding.gradients, &mut sharding.optimizer];
        for (part, (_, extent)) in parts.into_iter().zip(extents.named()) {
            part.clone_from(extent.unwrap_or(&Extent::System));
        }
        scenario.plan.operators = if self.uniform_way().is_some() { Vec::new() } else { self.cover(space) };
        scenario
    }

    /// Entries of a plan that place every operator.
    pub fn cover(&self, space: &Space<'_>) -> Vec<Placement> {
        let place = |layers: Option<Layers>, operator: Operator, slot: OperatorChoice| Placement {
            layers,
            operator,
            extents: space.ways[slot.way].extents.clone(),
            split: slot.slices,
        };
        if let Some(way) = self.uniform_way() {
            return vec![place(None, Operator::All, OperatorChoice { way, slices: 1 })];
        }
        let mut found: Vec<Placement> = Vec::new();
        let mut add = |placement: Placement| {
            let follows = |before: &&mut Placement| {
                let ends = before.layers.map(|layers| layers.last + 1) == placement.layers.map(|layers| layers.first);
                ends && Placement { layers: placement.layers, ..(**before).clone() } == placement
            };
            match (found.iter_mut().find(follows).and_then(|before| before.layers.as_mut()), placement.layers) {
                (Some(before), Some(layers)) => before.last = layers.last,
                _ => found.push(placement),
            }
        };
        for (layers, [attention, mlp]) in self.ranges(space) {
            if attention == mlp {
                add(place(Some(layers), Operator::Layer, attention));
            } else {
                add(place(Some(layers), Operator::Attention, attention));
                add(place(Some(layers), Operator::Mlp, mlp));
            }
        }
        for (operator, way) in [Operator::Embedding, Operator::Head].into_iter().zip(&self.ends) {
            found.push(place(None, operator, OperatorChoice { way: *way, slices: 1 }));
        }
        found
    }

    /// Ranges of layers with the same choices, and the choices for their attention and their MLP.
    fn ranges(&self, space: &Space<'_>) -> Vec<(Layers, [OperatorChoice; 2])> {
        // Attention is A for 24 layers and B for 8, the MLP A for 8 and B for 24: 8 layers are A A, 16 are A B, 8 are B
        // B.
        let in_order = |slots: &Vec<(OperatorChoice, u32)>| {
            slots.clone().into_iter().flat_map(|(slot, layers)| std::iter::repeat_n(slot, layers as usize))
        };
        let mut left: Vec<_> = self.sublayers.iter().map(in_order).collect();
        let mut ranges: Vec<(Layers, [OperatorChoice; 2])> = Vec::new();
        for layer in 0..space.scenario.model.layers {
            let kind = space.scenario.model.kind(layer);
            let mut next = |piece: Piece| {
                let alike = space.sublayers.iter().position(|alike| alike.are_of(piece, kind))?;
                left[alike].next()
            };
            // A layer that is one of the two alone is placed as a whole.
            let choices = match (next(Piece::Mixer), next(Piece::Mlp)) {
                (Some(attention), Some(mlp)) => [attention, mlp],
                (Some(alone), None) | (None, Some(alone)) => [alone; 2],
                (None, None) => break,
            };
            match ranges.last_mut() {
                Some((layers, before)) if *before == choices => layers.last = layer,
                _ => ranges.push((Layers { first: layer, last: layer }, choices)),
            }
        }
        ranges
    }
}

/// How many of embedding and logits are operators of their own.
fn ends(model: &Model) -> usize {
    match (model.vocab > 0, model.has_tied_logits()) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    }
}

/// In the order of the slots, each once, none empty.
fn sorted(mut half: Vec<(OperatorChoice, u32)>) -> Vec<(OperatorChoice, u32)> {
    half.sort_unstable();
    half.dedup_by(|after, before| {
        let same = after.0 == before.0;
        if same {
            before.1 += after.1;
        }
        same
    });
    half.retain(|(_, layers)| *layers > 0);
    half
}
