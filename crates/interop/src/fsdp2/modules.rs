//! The modules of a plan: ranges of layers with equal settings, and FSDP2's equivalent.

use shardscope_engine::plan::{Extents, Layers, Operator, Recompute, Reduction, Site};
use shardscope_engine::scenario::{Checked, Layout, Scenario};

use super::names::Names;
use super::spec::{Module, Reduce, Reshard};

/// One module's settings in the scenario.
#[derive(Debug, Clone, PartialEq)]
struct ModuleSettings {
    operator: Operator,
    extents: Extents,
    split: u32,
    recompute: Recompute,
}

/// All modules, and where FSDP2 deviates from the plan.
pub(super) fn modules(scenario: &Scenario, layout: &Layout, names: Names) -> (Vec<Module>, Vec<String>) {
    let model = &scenario.model;
    let mut ranges: Vec<(Option<Layers>, ModuleSettings)> = Vec::new();
    for layer in 0..model.layers {
        for wanted in of_layer(scenario, layer) {
            let follows = |(layers, before): &&mut (Option<Layers>, ModuleSettings)| {
                layers.is_some_and(|layers| layers.last + 1 == layer) && *before == wanted
            };
            match ranges.iter_mut().find(follows) {
                Some((Some(layers), _)) => layers.last = layer,
                _ => ranges.push((Some(Layers { first: layer, last: layer }), wanted)),
            }
        }
    }
    if model.vocab > 0 {
        ranges.push((None, wanted(scenario, Operator::Embedding, Site::Embedding, Recompute::None)));
    }
    if model.vocab > 0 && !model.tied {
        ranges.push((None, wanted(scenario, Operator::Head, Site::Head, Recompute::None)));
    }
    let mut notes = Vec::new();
    let mut module = |(layers, wanted): (Option<Layers>, ModuleSettings)| {
        let (module, why) = as_fsdp2(scenario, layout, layers, wanted, names);
        notes.extend(why.map(|why| format!("{}: {why}", module.path)));
        module
    };
    let modules = ranges.into_iter().map(&mut module).collect();
    notes.sort();
    notes.dedup();
    (modules, notes)
}

/// A layer as one module, or as attention and MLP.
fn of_layer(scenario: &Scenario, layer: u32) -> Vec<ModuleSettings> {
    let recompute = match scenario.plan.recompute {
        Recompute::Selective => Recompute::Selective,
        // Full recomputation covers the first layers.
        other if f64::from(layer) < libm::round(other.layers() * f64::from(scenario.model.layers)) => Recompute::Full,
        _ => Recompute::None,
    };
    let sites = [Site::Attention(layer), Site::Mlp(layer)];
    let [attention, mlp] = sites.map(|site| scenario.plan.placement(site));
    let whole = wanted(scenario, Operator::Layer, sites[0], recompute);
    if attention == mlp && whole.split == 1 {
        return vec![whole];
    }
    let halves = [Operator::Attention, Operator::Mlp].into_iter().zip(sites);
    halves.map(|(operator, site)| wanted(scenario, operator, site, recompute)).collect()
}

fn wanted(scenario: &Scenario, operator: Operator, site: Site, recompute: Recompute) -> ModuleSettings {
    let (plan, sharding) = (&scenario.plan, &scenario.plan.sharding);
    let entry = plan.placement(site).map(|entry| &plan.operators[entry]);
    let own = entry.map(|entry| entry.extents.clone()).unwrap_or_default();
    let extents = Extents {
        weights: own.weights.or_else(|| Some(sharding.weights.clone())),
        gradients: own.gradients.or_else(|| Some(sharding.gradients.clone())),
        optimizer: own.optimizer.or_else(|| Some(sharding.optimizer.clone())),
    };
    let sliced = !matches!(operator, Operator::Embedding | Operator::Head);
    let split = entry.filter(|_| sliced).map_or(1, |entry| entry.split);
    ModuleSettings { operator, extents, split, recompute }
}

/// The layouts of the state: the plan's, then one for each operator with its own placement.
pub(super) fn layouts<'a>(job: &'a Checked<'_>) -> impl Iterator<Item = Layout> + 'a {
    let own = job.plan.operators.iter().map(|placement| job.layout().placed(job, &placement.extents));
    std::iter::once(*job.layout()).chain(own)
}

/// How FSDP2 deviates from a module's layout; `None` if it does not.
pub(super) fn otherwise(placed: &Layout) -> Option<&'static str> {
    let Layout { weights, gradients, optimizer: shard, .. } = *placed;
    if weights > 1 && weights < shard {
        return Some("weights are sharded over the optimizer's ranks too, and gathered from there for forward");
    }
    (gradients > 1 && gradients < shard).then_some("gradients are reduced over the optimizer's ranks at once")
}

/// FSDP2 shards a module's weights, gradients and optimizer state over the same ranks. If the plan keeps weights whole,
/// they are gathered once per step and kept; if it shards them over fewer ranks, they stay sharded that way between
/// forward and backward.
fn as_fsdp2(
    scenario: &Scenario,
    layout: &Layout,
    layers: Option<Layers>,
    wanted: ModuleSettings,
    names: Names,
) -> (Module, Option<&'static str>) {
    let plan = &scenario.plan;
    let placed = layout.placed(scenario, &wanted.extents);
    let (weights, gradients, shard) = (placed.weights, placed.gradients, placed.optimizer);
    let second = placed.secondary.filter(|ranks| weights == shard && *ranks < shard);
    let reshard_after_forward = match (weights, second) {
        (1, _) => Reshard::Drop(false),
        (_, Some(ranks)) => Reshard::Over(ranks),
        (weights, None) if weights == shard => Reshard::Drop(plan.sharding.reshard_after_forward),
        (weights, None) => Reshard::Over(weights),
    };
    let reduce = match plan.reduction {
        Reduction::Default | Reduction::ShardedLast if gradients == 1 => Reduce::Step,
        Reduction::Step => Reduce::Step,
        Reduction::ShardedLast => Reduce::ShardedLast,
        Reduction::Default | Reduction::MicroBatch => Reduce::MicroBatch,
    };
    let why = otherwise(&placed);
    let module = Module {
        path: names.path(wanted.operator),
        layers,
        operator: wanted.operator,
        extents: wanted.extents,
        shard,
        replicate: layout.group() / shard,
        reshard_after_forward,
        reshard_after_backward: weights > 1,
        reduce,
        split: wanted.split,
        recompute: wanted.recompute,
        exact: why.is_none(),
    };
    (module, why)
}
