//! The number of layers of each stage of a pipeline.

use crate::model::Model;
use crate::stack::Balance;
use crate::units::Seconds;

/// Time of forward and backward of a model's parts.
pub(super) struct PartTimes {
    pub layers: Vec<Seconds>,
    pub embedding: Seconds,
    /// Time of the last norm and the logits, with that of the layers that predict further tokens.
    pub head: Seconds,
}

/// The number of layers of each stage, on `ranks` ranks of `chunks` stages each: the first stages of all ranks, then the second
/// ones. Calls `times` only where the stack balances stages by time.
pub(super) fn stage_sizes(
    balance: Balance,
    model: &Model,
    [ranks, chunks]: [u32; 2],
    times: impl FnOnce() -> PartTimes,
) -> Vec<u32> {
    let stages = ranks * chunks;
    let equal = |layers: u32, stages: u32, end: f64| split(&vec![1.0; layers as usize], stages, [end; 2]);
    match balance {
        // 126 layers on 128 stages leave none for the ends, as Llama 3 405B was trained (arXiv 2407.21783, 3.3.2).
        _ if model.layers < stages => equal(model.layers, stages, 1.0),
        Balance::Time => {
            let PartTimes { layers, embedding, head } = times();
            let layers: Vec<f64> = layers.into_iter().map(Seconds::get).collect();
            split(&layers, stages, [embedding.get(), head.get()])
        }
        // 30 layers on 8 stages leave 3.75 each: with the ends as a layer each, 32 are assigned evenly, 4 per stage.
        Balance::LayersAndEnds if !model.layers.is_multiple_of(stages) => equal(model.layers, stages, 1.0),
        Balance::LayersBehind if model.layers.is_multiple_of(chunks) => {
            let mut sizes = equal(model.layers / chunks, ranks, 0.0);
            sizes.reverse();
            sizes.repeat(chunks as usize)
        }
        Balance::LayersFilled if !model.layers.is_multiple_of(stages) => {
            let counts = if (model.layers + 2).is_multiple_of(stages) { None } else { filled(model, stages) };
            counts.unwrap_or_else(|| equal(model.layers, stages, 1.0))
        }
        Balance::Layers | Balance::LayersAndEnds | Balance::LayersBehind | Balance::LayersFilled => {
            equal(model.layers, stages, 0.0)
        }
        Balance::Weights => {
            let layers: Vec<f64> = (0..model.layers).map(|layer| full_weights(model, layer)).collect();
            let head = model.logits_weights() as f64;
            past_share(&layers, stages, head).unwrap_or_else(|| split(&layers, stages, [0.0, head]))
        }
    }
}

/// Each stage has as many layers as the fullest must have, those that predict further tokens counted, and the last what is
/// left. `None` where less than nothing is left.
fn filled(model: &Model, stages: u32) -> Option<Vec<u32>> {
    let each = (model.layers + model.mtp_layers).div_ceil(stages);
    let last = model.layers.checked_sub(each * (stages - 1))?;
    let mut counts = vec![each; stages as usize];
    *counts.last_mut()? = last;
    Some(counts)
}

/// Weights of a layer's matrices, with keys and values as if each query head had its own.
fn full_weights(model: &Model, layer: u32) -> f64 {
    let shared = f64::from(2 * (model.heads - model.kv_heads)) * f64::from(model.head_size) * f64::from(model.hidden);
    model.active_weights(model.kind(layer)) as f64 + shared
}

/// Each stage takes layers until all that are assigned are past its share and that of those before. `None` where a stage
/// between the ends has none.
fn past_share(layers: &[f64], stages: u32, head: f64) -> Option<Vec<u32>> {
    let total = layers.iter().sum::<f64>() + head;
    let mut counts = vec![0; stages as usize];
    let (mut stage, mut assigned) = (0, 0.0);
    for layer in layers {
        counts[stage] += 1;
        assigned += layer;
        if assigned > total * ((stage + 1) as f64 / f64::from(stages)) && stage + 1 < counts.len() {
            stage += 1;
        }
    }
    (stage + 1 == counts.len() || stage + 2 == counts.len()).then_some(counts)
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
    use crate::testing;

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
        let balances = [
            Balance::Time,
            Balance::Layers,
            Balance::LayersAndEnds,
            Balance::LayersBehind,
            Balance::LayersFilled,
            Balance::Weights,
        ];
        for balance in balances {
            let layers = |layers: u32, stages: u32| {
                let times = || PartTimes {
                    layers: vec![Seconds::new(1.0); layers as usize],
                    embedding: Seconds::new(0.1),
                    head: Seconds::new(3.0),
                };
                stage_sizes(balance, &testing::model(layers, 64), [stages, 1], times)
            };
            assert_eq!(layers(6, 8), [0, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
            assert_eq!(layers(7, 8), [1, 1, 1, 1, 1, 1, 1, 0], "{balance:?}");
        }
    }

    /// Of 32 layers on 5 or 6 stages, 2 are left: the last two stages have them. With two stages a rank each half of the
    /// model is assigned so.
    #[test]
    fn layers_left_over_go_to_the_last_stages() {
        let of = |ranks, chunks| {
            let model = testing::model(32, 64);
            stage_sizes(Balance::LayersBehind, &model, [ranks, chunks], || unreachable!("counts alone"))
        };
        assert_eq!(of(5, 1), [6, 6, 6, 7, 7]);
        assert_eq!(of(6, 1), [5, 5, 5, 5, 6, 6]);
        assert_eq!(of(4, 1), [8, 8, 8, 8]);
        assert_eq!(of(3, 2), [5, 5, 6, 5, 5, 6]);
    }

    /// Megatron Bridge's layouts of `DeepSeek`-V3 have 16, 16, 16 and 13 of its 61 layers on 4 stages, 8 and at last 5 on 8, and
    /// 4 and at last 1 on 16; 32 stages of 2 would leave less than none, and have embedding and logits as a layer each. So have
    /// the 94 of Qwen3 235B, with which they are 96, on 16 stages of 6.
    #[test]
    fn stages_are_filled_one_after_the_other() {
        let of = |layers, ranks, chunks| {
            let model = Model { mtp_layers: u32::from(layers == 61), ..testing::model(layers, 64) };
            stage_sizes(Balance::LayersFilled, &model, [ranks, chunks], || unreachable!("counts alone"))
        };
        let counts = |each: u32, stages: usize, last: u32| [vec![each; stages - 1], vec![last]].concat();
        assert_eq!(of(61, 4, 1), counts(16, 4, 13));
        assert_eq!(of(61, 8, 1), counts(8, 8, 5));
        for (ranks, chunks) in [(16, 1), (4, 4)] {
            assert_eq!(of(61, ranks, chunks), counts(4, 16, 1));
        }
        assert_eq!(of(61, 8, 4), [vec![1], counts(2, 31, 0)].concat());
        assert_eq!(of(94, 16, 1), [vec![5], counts(6, 15, 5)].concat());
        assert_eq!(of(96, 16, 1), counts(6, 16, 6));
    }

    /// Llama 3 8B on 8 stages: a walk through nanotron's code that its functions print has 5, 4, 4, 5, 4, 4, 4 and 2 layers on
    /// them. A layer has 4 x 4,096^2 + 3 x 14,336 x 4,096 = 243.3e6 weights, the logits 128,256 x 4,096 = 525.3e6 or 2.16
    /// layers: a share is 34.16 / 8 = 4.27 layers. The fifth layer is the first beyond 4.27, the ninth beyond 8.54, then
    /// the 13th, 18th, 22nd, 26th and 30th beyond 12.8, 17.1, 21.3, 25.6 and 29.9; two are left beside the logits.
    #[test]
    fn a_stage_takes_layers_until_it_is_past_its_share_of_the_weights() {
        let sizes =
            |model: &Model, ranks| stage_sizes(Balance::Weights, model, [ranks, 1], || unreachable!("weights alone"));
        let blocks = testing::model(32, 4096);
        let model =
            Model { heads: 32, kv_heads: 8, head_size: 128, ffn_hidden: 14336, gated: true, vocab: 128_256, ..blocks };
        assert_eq!(sizes(&model, 8), [5, 4, 4, 5, 4, 4, 4, 2]);
        // Beside logits of fifteen layers the second of four stages would have none, since five layers are not past their
        // share of 20 / 4. So the first takes what it may beside the logits' stage, and leaves one for each behind it.
        let few = Model { layers: 5, vocab: 128_256 * 7, ..model };
        assert_eq!(sizes(&few, 4), [3, 1, 1, 0]);
    }
}
