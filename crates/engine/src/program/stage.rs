//! The stages of a pipeline: the layers of each, and the unit passes over them.

use std::cell::OnceCell;

use crate::model::PerKind;
use crate::plan::StageSizes;
use crate::plan::pass::Pass;
use crate::units::Seconds;

use super::label::ModelPart;
use super::operator_layouts::{OperatorLayouts, StageEnds, StageLayers, StageParameters};
use super::unit_costs::UnitCosts;
use super::unit_order::{UnitList, recomputed_layers};
use super::unit_pass::UnitPass;

/// The work of a stage, shared by stages that differ only in their layers' numbers.
pub(super) struct StageWork {
    layers: StageLayers,
    /// Its units in the order of each pass, listed when they are needed: no schedule has all passes. Layers count from
    /// the stage's first.
    passes: [OnceCell<UnitList>; Pass::ALL.len()],
    /// Parameters by layout.
    pub holdings: Vec<StageParameters>,
}

/// All stages, in the order in which forward passes them.
pub(super) struct PipelineStages {
    ranks: u32,
    pub distinct: Vec<StageWork>,
    /// Each stage's place in the model.
    places: Vec<StagePlace>,
}

/// A stage's place in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StagePlace {
    /// Its work, by index.
    pub work: usize,
    pub first_layer: u32,
}

impl PipelineStages {
    /// Assigns layers as the plan says, or as evenly as possible: by the weights that the stack balances, or by their times
    /// from `costs`.
    pub fn new(layouts: &OperatorLayouts<'_>, costs: &UnitCosts<'_>, ranks: u32, stages_per_rank: u32) -> Self {
        let model = &costs.rates.scenario.model;
        let count = ranks * stages_per_rank;
        let recomputed = recomputed_layers(costs);
        let ends = model.vocab > 0;
        let [embedding, head] = [ModelPart::Embedding, ModelPart::Head]
            .map(|part| if ends { time(|pass| vec![costs.end_pass(part, pass)]) } else { 0.0 });
        // The share of the layers that is computed again is that of each stage, and without a pipeline the first
        // layers.
        // With 24 of 32 layers recomputed, the first 8 layers count 6, the first 16 count 12: 6 in each stage of 8.
        let again = |layers: u32| match ranks {
            1 => layers.min(recomputed),
            _ => (u64::from(layers) * u64::from(recomputed) / u64::from(model.all_layers())) as u32,
        };
        let share = f64::from(recomputed) / f64::from(model.all_layers());
        let of_kind = PerKind::new(model, |kind| {
            let [once, twice] = [false, true].map(|again| time(|pass| costs.layer_passes(kind, again, pass)));
            once + (twice - once) * share
        });
        let scenario = costs.rates.scenario;
        let mut layers = match (&scenario.plan.stage_layers, scenario.stack.balance.weights(model.layers, count)) {
            // Without a pipeline each layer is a stage where micro-batches pass layer by layer.
            (StageSizes::Layers(counts), _) if ranks > 1 => counts.clone(),
            (_, Some([layer, embedding, head])) => split(&vec![layer; model.layers as usize], count, [embedding, head]),
            (_, None) => {
                let layers: Vec<f64> = (0..model.layers).map(|layer| *of_kind.get(model.kind(layer))).collect();
                let further = *of_kind.get(model.kind(model.layers)) * f64::from(model.mtp_layers);
                split(&layers, count, [embedding, head + further])
            }
        };
        // Layers that predict further tokens are behind all others, where the logits are, however these are shared out
        // (`get_mtp_num_layers_to_build` of Megatron-Core).
        if let Some(last) = layers.last_mut() {
            *last += model.mtp_layers;
        }
        let mut all = Self { ranks, distinct: Vec::new(), places: Vec::with_capacity(layers.len()) };
        let mut first = 0;
        for (index, layers) in (0..count).zip(layers) {
            let ends = StageEnds { embedding: ends && index == 0, head: ends && index + 1 == count };
            let computed_again = first + again(first + layers) - again(first);
            let own = layouts.stage_layers(first..first + layers, computed_again, ends);
            // A pipeline of 64 equal stages has three different ones: the first with the embedding, the last with the
            // head, and one for all between. Tasks are built once for each.
            let known = all.distinct.iter().position(|other| other.layers == own);
            let work = known.unwrap_or(all.distinct.len());
            if known.is_none() {
                all.distinct.push(StageWork {
                    passes: Default::default(),
                    holdings: layouts.holdings(&own),
                    layers: own,
                });
            }
            all.places.push(StagePlace { work, first_layer: first });
            first += layers;
        }
        all
    }

    /// The stages' works, by index, in the order of forward.
    pub fn in_order(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|place| place.work)
    }

    /// Number of stages.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// The place of a rank's stage among all stages, in the order of forward.
    pub fn index(&self, rank: u32, stage: u32) -> u32 {
        stage * self.ranks + rank
    }

    /// The place of a rank's stage in the model.
    pub fn place(&self, rank: u32, stage: u32) -> StagePlace {
        self.places[self.index(rank, stage) as usize]
    }
}

impl StageWork {
    /// Its units in the order of a pass.
    pub fn list(&self, layouts: &OperatorLayouts<'_>, costs: &[UnitCosts<'_>], pass: Pass) -> &UnitList {
        self.passes[pass as usize].get_or_init(|| {
            let mut list = UnitList::default();
            layouts.list(costs, &self.layers, pass, &mut list);
            list
        })
    }
}

/// Seconds of forward and backward of some units.
fn time(units: impl Fn(Pass) -> Vec<UnitPass>) -> f64 {
    let steps = [Pass::Forward, Pass::Backward].into_iter().flat_map(units).flat_map(|unit_pass| unit_pass.steps);
    steps.map(|step| step.piece.time()).sum::<Seconds>().get()
}

/// How many layers each stage has: a stage takes layers up to the least time with which all layers have a place, by the
/// weights of each and of the ends of the model. No more stages than must take all of that time: the first ones.
fn split(layers: &[f64], stages: u32, [embedding, head]: [f64; 2]) -> Vec<u32> {
    let last = stages as usize - 1;
    if last == 0 {
        return vec![layers.len() as u32];
    }
    let mut counts = vec![0; stages as usize];
    let mut fill = |limit: f64, full: usize| fill(layers, [embedding, head], &mut counts, limit, full);
    // Begins below the mean time of a stage, of which rounding may have made too much.
    let total = embedding + head + layers.iter().sum::<f64>();
    let mut limit = total / f64::from(stages) * (1.0 - 1e-9);
    while let Some(next) = fill(limit, last) {
        limit = next;
    }
    // 9 layers of time 1 on 4 stages: with a limit of 3 the first stage takes 3, and the others need not.
    let (mut full, mut most) = (0, last);
    while full < most {
        let middle = full.midpoint(most);
        if fill(limit, middle).is_none() { most = middle } else { full = middle + 1 }
    }
    fill(limit, full);
    counts
}

/// Fills the stages up to `full` to a limit, and those behind below it, each with the layers after those of the stage
/// before. Where not all layers have a place, gives the least limit with which a stage takes one more.
fn fill(layers: &[f64], [embedding, head]: [f64; 2], counts: &mut [u32], limit: f64, full: usize) -> Option<f64> {
    let (last, mut left, mut more) = (counts.len() - 1, layers, f64::INFINITY);
    for (stage, count) in counts.iter_mut().enumerate() {
        let mut time = match stage {
            0 => embedding,
            _ if stage == last => head,
            _ => 0.0,
        };
        // No other stage than that of the embedding or of the head is without a layer.
        let needed = last.saturating_sub(stage + usize::from(head > 0.0));
        *count = 0;
        while let Some((layer, behind)) = left.split_first().filter(|(_, behind)| behind.len() >= needed) {
            time += layer;
            if time > limit || stage > full && time >= limit {
                more = more.min(time);
                break;
            }
            (left, *count) = (behind, *count + 1);
        }
    }
    (!left.is_empty()).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Balance;

    #[test]
    fn layers_go_where_there_is_least() {
        let equal = |layers: usize, stages: u32, ends: [f64; 2]| split(&vec![1.0; layers], stages, ends);
        assert_eq!(equal(8, 4, [0.0, 0.0]), [2, 2, 2, 2]);
        // The head costs two layers: 2 + 2 + 2 + (0 + 2).
        assert_eq!(equal(6, 4, [0.0, 2.0]), [2, 2, 2, 0]);
        assert_eq!(equal(9, 4, [0.0, 0.0]), [3, 2, 2, 2]);
    }

    /// Layers of equal times go one by one to the stage that has least, the earliest of several.
    fn one_by_one(layers: u32, stages: u32, layer: f64, [embedding, head]: [f64; 2]) -> Vec<u32> {
        let mut times = vec![0.0; stages as usize];
        times[0] += embedding;
        times[stages as usize - 1] += head;
        let mut counts = vec![0; stages as usize];
        for _ in 0..layers {
            let least = (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b])).unwrap();
            (times[least], counts[least]) = (times[least] + layer, counts[least] + 1);
        }
        counts
    }

    #[test]
    fn equal_layers_go_to_the_stage_that_has_least() {
        for (layers, stages) in [(8, 2), (9, 4), (32, 5), (61, 16), (96, 64), (80, 7), (31, 30)] {
            for ends in [[0.0, 0.0], [0.05, 0.9], [0.3, 2.7], [1.0, 1.0], [0.0, 0.7]] {
                let expected = one_by_one(layers, stages, 0.7, ends);
                assert_eq!(split(&vec![0.7; layers as usize], stages, ends), expected, "{layers} {stages} {ends:?}");
            }
        }
    }

    /// No partition into runs has a smaller longest stage, and no stage between the ends is empty.
    #[test]
    fn layers_that_differ_make_the_longest_stage_as_short_as_can_be() {
        fn least(layers: &[f64], stages: usize, head: f64) -> f64 {
            if stages == 1 {
                return layers.iter().sum::<f64>() + head;
            }
            let with = |first: usize| {
                let own: f64 = layers[..first].iter().sum();
                own.max(least(&layers[first..], stages - 1, head))
            };
            (1..=layers.len()).map(with).fold(f64::INFINITY, f64::min)
        }
        let cases: [&[f64]; 5] = [
            &[1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0],
            &[1.0, 1.0, 1.0, 1.0, 4.0],
            &[1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0],
            &[2.0, 2.0, 5.0, 2.0, 2.0, 5.0, 2.0, 2.0],
            &[4.0, 1.0, 1.0, 1.0, 1.0],
        ];
        for layers in cases {
            for (stages, head) in [(2, 0.0), (3, 0.0), (4, 0.0), (3, 2.0)] {
                let counts = split(layers, stages, [0.0, head]);
                let mut left = layers;
                let mut longest = 0.0_f64;
                for (stage, count) in counts.iter().enumerate() {
                    let (own, behind) = left.split_at(*count as usize);
                    let end = if stage + 1 == stages as usize { head } else { 0.0 };
                    assert!(*count > 0 || end > 0.0, "{layers:?} {counts:?}");
                    (longest, left) = (longest.max(own.iter().sum::<f64>() + end), behind);
                }
                assert_eq!((left.len(), longest), (0, least(layers, stages as usize, head)), "{layers:?} {counts:?}");
            }
        }
    }

    /// Embedding and head may have a stage each to themselves, whatever a stack balances, and no other stage is without
    /// a layer.
    #[test]
    fn ends_do_without_layers_where_there_are_fewer_than_stages() {
        for balance in [Balance::Time, Balance::Layers, Balance::LayersAndEnds] {
            let layers = |layers: u32, stages: u32| {
                let [layer, embedding, head] = balance.weights(layers, stages).unwrap_or([1.0, 0.1, 3.0]);
                split(&vec![layer; layers as usize], stages, [embedding, head])
            };
            assert_eq!(layers(6, 8), [0, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
            assert_eq!(layers(7, 8), [1, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
        }
    }
}
