//! The paper's search on measured operators: seconds and memory of one layer for each way of sharding it.
//!
//! A profile is a CSV with the columns `hidden`, `batch_index`, `strategy` (0 shards nothing, the next ones
//! more and more), `time_s` and `mem_mib`. Not for reading it from disk.

mod read;

use std::collections::BTreeMap;

use crate::program::{PICOS, picos};
use crate::search::Cancel;
use crate::units::Seconds;

use super::classes::{OperatorClass, OptionCost, fastest};

/// What one layer takes when it is sharded in one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredLayer {
    /// Seconds of a step.
    pub time_s: f64,
    /// Memory in MiB.
    pub mem_mib: f64,
}

/// Measured layers: by width and batch, each way of sharding that was measured, by its number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredProfile {
    layers: BTreeMap<(u32, u32), BTreeMap<u32, MeasuredLayer>>,
}

/// What to plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileRequest {
    /// Layers of the model.
    pub layers: u32,
    /// Hidden width of a layer, as the profile names it.
    pub hidden: u32,
    /// Memory that the layers may take, in whole MiB.
    pub room_mib: u64,
    /// Only this batch.
    pub batch_index: Option<u32>,
}

/// The fastest way to shard the layers at one batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchPlan {
    /// The batch, from 1.
    pub batch_index: u32,
    /// Layers sharded in each way.
    pub counts: Vec<u32>,
    /// Seconds of a step.
    pub time_s: f64,
    /// Memory, each layer's cut to whole MiB.
    pub mem_mib: u64,
    /// The same, not cut.
    pub uncut_mib: f64,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plans {
    /// Of each batch that fits; the best throughput first, of equals the one with less memory.
    pub plans: Vec<BatchPlan>,
    /// All layers sharded as far as they can be, at the same batches; if none fits, at the first one.
    pub all_sharded: Vec<BatchPlan>,
}

impl MeasuredProfile {
    /// A layer of this width at this batch, sharded in this way.
    pub fn measured(&self, hidden: u32, batch: u32, strategy: u32) -> Option<MeasuredLayer> {
        self.layers.get(&(hidden, batch))?.get(&strategy).copied()
    }

    /// The widths that were measured.
    pub fn widths(&self) -> Vec<u32> {
        let mut widths: Vec<u32> = self.layers.keys().map(|(hidden, _)| *hidden).collect();
        widths.dedup();
        widths
    }

    /// The batches that were measured at a width, from 1: the batch 0 is a single sample.
    pub fn batches(&self, hidden: u32) -> Vec<u32> {
        self.layers.range((hidden, 1)..=(hidden, u32::MAX)).map(|((_, batch), _)| *batch).collect()
    }

    /// Raises the batch until all-sharded layers no longer fit and plans each [osdp C4].
    pub fn plan(&self, request: ProfileRequest, cancel: &Cancel) -> Plans {
        let mut found = Plans::default();
        for batch in self.batches(request.hidden) {
            if cancel.is_cancelled() {
                break;
            }
            if request.batch_index.is_some_and(|wanted| wanted != batch) {
                continue;
            }
            let choices = &self.layers[&(request.hidden, batch)];
            let smallest = all_sharded(choices, request, batch);
            let plan = best(choices, request, batch, cancel);
            if plan.is_some() || found.all_sharded.is_empty() {
                found.all_sharded.extend(smallest);
            }
            // Batches ascend, and a larger one takes more memory: the first that does not fit ends the search.
            match plan {
                Some(plan) => found.plans.push(plan),
                None => break,
            }
        }
        let samples_per_s = |plan: &BatchPlan| f64::from(plan.batch_index) / plan.time_s;
        found.plans.sort_by(|a, b| samples_per_s(b).total_cmp(&samples_per_s(a)).then(a.mem_mib.cmp(&b.mem_mib)));
        found
    }
}

/// Whole MiB, as the authors' search counts them.
fn cut(layer: &MeasuredLayer) -> u64 {
    layer.mem_mib as u64
}

fn best(
    choices: &BTreeMap<u32, MeasuredLayer>,
    request: ProfileRequest,
    batch_index: u32,
    cancel: &Cancel,
) -> Option<BatchPlan> {
    let cost = |layer: &MeasuredLayer| OptionCost { time: picos(Seconds::new(layer.time_s)), memory: cut(layer) };
    let class = OperatorClass { copies: request.layers, choices: choices.values().map(cost).collect() };
    let found = fastest(&[class], request.room_mib, cancel)?;
    let mut counts = vec![0; most_strategies(choices)];
    for (strategy, count) in choices.keys().zip(&found.counts[0]) {
        counts[*strategy as usize] = *count;
    }
    let uncut = choices.values().zip(&found.counts[0]).map(|(layer, count)| layer.mem_mib * f64::from(*count));
    let time_s = found.time as f64 / PICOS;
    Some(BatchPlan { batch_index, counts, time_s, mem_mib: found.memory, uncut_mib: uncut.sum() })
}

fn all_sharded(choices: &BTreeMap<u32, MeasuredLayer>, request: ProfileRequest, batch_index: u32) -> Option<BatchPlan> {
    // What takes least memory is sharded furthest, however the profile numbers its ways.
    let (strategy, layer) = choices.iter().min_by(|a, b| a.1.mem_mib.total_cmp(&b.1.mem_mib))?;
    let mut counts = vec![0; most_strategies(choices)];
    counts[*strategy as usize] = request.layers;
    let layers = f64::from(request.layers);
    let (time_s, uncut_mib) = (layers * layer.time_s, layers * layer.mem_mib);
    Some(BatchPlan { batch_index, counts, time_s, mem_mib: u64::from(request.layers) * cut(layer), uncut_mib })
}

fn most_strategies(choices: &BTreeMap<u32, MeasuredLayer>) -> usize {
    choices.keys().max().map_or(0, |most| *most as usize + 1)
}

#[cfg(test)]
mod tests;
