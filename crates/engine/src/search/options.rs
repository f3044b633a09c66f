//! The values of a field that are worth a look, from the narrowest on: what a key steps through, what a list offers, and
//! what a map's axis is made of.

use crate::hardware::Cluster;
use crate::plan::{
    BesideModel, Capacity, DispatchFormats, Extent, Format, GlobalBatch, HostModule, Imbalance, LoraTargets, Module,
    Recompute, StageSizes,
};
use crate::presets::{Kind, Library};
use crate::scenario::Scenario;
use crate::scenario::field::{Field, Steps, Type, Value};

/// The most extents that are offered.
const MOST_EXTENTS: usize = 8;

/// Nodes that are offered on a cluster of any size.
const MOST_NODES: u32 = 4096;

/// Choices of recompute.
const RECOMPUTE: [Recompute; 6] = [
    Recompute::None,
    Recompute::Selective,
    Recompute::Share(0.25),
    Recompute::Share(0.5),
    Recompute::Share(0.75),
    Recompute::Full,
];

/// Modules that are worth repeating, the cheapest for what they free first.
const MODULES: &[&[Module]] = &[
    &[],
    &[Module::LatentExpansion],
    &[Module::Norms, Module::ExpertActivation],
    &[Module::LatentExpansion, Module::Norms, Module::ExpertActivation],
    &[Module::Mlp],
    &[Module::LatentExpansion, Module::Mlp],
    &[Module::Norms, Module::Experts],
    &[Module::LatentExpansion, Module::Mlp, Module::Experts],
];

/// Modules whose inputs are worth a place on the host, the most bytes for what computing them again takes first.
const HOST_MODULES: &[&[HostModule]] = &[
    &[],
    &[HostModule::CoreAttention, HostModule::AttentionOutput],
    &[HostModule::Mlp],
    &[HostModule::CoreAttention, HostModule::AttentionOutput, HostModule::Mlp],
    &[HostModule::ExpertInputs],
    &[HostModule::ExpertInputs, HostModule::ExpertActivation],
    &[HostModule::ExpertInputs, HostModule::ExpertActivation, HostModule::ExpertOutputs],
];

/// The values of a field, in order; not all of them may be possible.
pub fn options(field: Field, scenario: &Scenario, library: &Library) -> Vec<Value> {
    match Kind::from_field(field) {
        Some(kind) => library.entries(kind).map(|entry| Value::Id(entry.id.as_str().into())).collect(),
        None => plan_options(field, scenario),
    }
}

/// The values of a field of the plan, which has no presets.
pub fn plan_options(field: Field, scenario: &Scenario) -> Vec<Value> {
    let steps = field.spec().steps;
    let count = |counts: Vec<u32>| counts.into_iter().map(Value::Count).collect();
    match steps {
        Steps::All => all(field.spec().takes),
        Steps::Nodes => count(nodes(scenario.cluster.nodes.unwrap_or(MOST_NODES))),
        Steps::Counts(_) | Steps::Powers(..) => count(steps.counts(u32::MAX)),
        Steps::Numbers(numbers) => numbers.iter().copied().map(Value::Number).collect(),
        Steps::Batches => batches().map(Value::Batch).collect(),
        Steps::Extents => extents(field, scenario),
        Steps::Levels => levels(&scenario.cluster).map(Value::Extent).collect(),
    }
}

/// None held, then sequences.
fn batches() -> impl Iterator<Item = GlobalBatch> {
    std::iter::once(GlobalBatch::Free).chain((0..=16).map(|power| GlobalBatch::Sequences(1 << power)))
}

/// All values of a type that has few.
fn all(takes: Type) -> Vec<Value> {
    match takes {
        Type::Switch => [false, true].map(Value::Switch).to_vec(),
        Type::Recompute => RECOMPUTE.map(Value::Recompute).to_vec(),
        Type::OneOf(words) => words.iter().map(Value::Word).collect(),
        Type::Beside => BesideModel::WORDS.map(|(_, model)| Value::Beside(model)).to_vec(),
        Type::LoraTargets => {
            [LoraTargets::ALL, LoraTargets::ATTENTION, LoraTargets::MLP].map(Value::LoraTargets).to_vec()
        }
        Type::RecomputeModules => {
            MODULES.iter().map(|set| set.iter().copied().collect()).map(Value::RecomputeModules).collect()
        }
        Type::HostModules => {
            HOST_MODULES.iter().map(|set| set.iter().copied().collect()).map(Value::HostModules).collect()
        }
        Type::StageSizes => vec![Value::StageSizes(StageSizes::Balanced)],
        Type::Capacity => [Capacity::None, Capacity::Factor(1.0), Capacity::Factor(1.25)].map(Value::Capacity).to_vec(),
        Type::DispatchFormats => [DispatchFormats::all(Format::Bf16), DispatchFormats::TO_EXPERTS_IN_FP8]
            .map(Value::DispatchFormats)
            .to_vec(),
        Type::Imbalance => [Imbalance::Usual, Imbalance::BALANCED].map(Value::Imbalance).to_vec(),
        Type::Id
        | Type::Count(..)
        | Type::Factor
        | Type::Share
        | Type::Tokens
        | Type::Money
        | Type::Batch
        | Type::Extent => Vec::new(),
    }
}

/// The values after a scenario's own or before it, the nearest first: what a step tries.
pub fn toward(field: Field, now: Option<&Value>, forward: bool, scenario: &Scenario, library: &Library) -> Vec<Value> {
    let options = options(field, scenario, library);
    let beyond = |option: &Value| match (number(option), now.and_then(number)) {
        (Some(option), Some(now)) if forward => option > now,
        (Some(option), Some(now)) => option < now,
        _ => forward,
    };
    let at = now.and_then(|now| options.iter().position(|option| same(option, now, &scenario.cluster)));
    let mut rest: Vec<Value> = match at {
        Some(at) if forward => options[at + 1..].to_vec(),
        Some(at) => options[..at].to_vec(),
        None => options.into_iter().filter(beyond).collect(),
    };
    if !forward {
        rest.reverse();
    }
    rest
}

/// The number by which values are ordered.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Count(count) | Value::Extent(Extent::Ranks(count)) | Value::Batch(GlobalBatch::Sequences(count)) => {
            Some(f64::from(*count))
        }
        Value::Number(number) => Some(*number),
        Value::Money(money) => Some(money.amount),
        Value::Recompute(recompute) => Some(recompute.layers()),
        _ => None,
    }
}

/// Whether an option is a scenario's own value: a preset under its id, an extent however it is called.
pub fn same(option: &Value, own: &Value, cluster: &Cluster) -> bool {
    match (option, own) {
        (Value::Preset(preset), Value::Id(id)) => preset.id() == &**id,
        (Value::Extent(option), Value::Extent(own)) => same_group(own, option, cluster),
        (option, own) => option == own,
    }
}

/// Counts of nodes up to the whole machine.
fn nodes(most: u32) -> Vec<u32> {
    let mut all = Steps::Nodes.counts(most);
    if all.last() != Some(&most) {
        all.push(most);
    }
    all
}

/// Shard extents, narrow to wide, the scenario's own among them.
fn extents(field: Field, scenario: &Scenario) -> Vec<Value> {
    let own = &field.value(scenario).and_then(|own| own.get()).unwrap_or(Extent::Device);
    let cluster = &scenario.cluster;
    let node = cluster.level("node").unwrap_or(0);
    let mut rows: Vec<Extent> = levels(cluster)
        .take(node + 2)
        .chain([2, 4, 8].map(|nodes| Extent::Ranks(nodes_in_ranks(nodes, scenario))))
        .chain([Extent::System])
        .collect();
    if !rows.iter().any(|row| same_group(row, own, cluster)) {
        let before = rows.iter().position(|row| width(row, cluster) > width(own, cluster));
        rows.insert(before.unwrap_or(rows.len()), own.clone());
    }
    // Counts of ranks go first, the widest before the narrower: levels have names that people know.
    while rows.len() > MOST_EXTENTS {
        let spare = rows.iter().rposition(|row| matches!(row, Extent::Ranks(_)) && row != own);
        rows.remove(spare.unwrap_or(0));
    }
    rows.into_iter().map(Value::Extent).collect()
}

/// One device, and the levels of the cluster.
fn levels(cluster: &Cluster) -> impl Iterator<Item = Extent> {
    std::iter::once(Extent::Device).chain(cluster.levels.iter().map(Extent::from))
}

/// The data x context ranks inside so many nodes.
pub fn nodes_in_ranks(nodes: u32, scenario: &Scenario) -> u32 {
    (nodes * scenario.cluster.devices_per_node() / scenario.plan.tensor.max(1)).max(1)
}

/// A level or a count, however it is called: `innermost` and `node` are the same group on most machines.
fn same_group(a: &Extent, b: &Extent, cluster: &Cluster) -> bool {
    a == b || width(a, cluster) == width(b, cluster) && !matches!((a, b), (Extent::Ranks(_), _) | (_, Extent::Ranks(_)))
}

/// The devices that an extent spans, to put rows in order; the whole machine is the widest.
fn width(extent: &Extent, cluster: &Cluster) -> u32 {
    let level = |index: usize| cluster.devices_in(index).unwrap_or(u32::MAX);
    match extent {
        Extent::Device => 1,
        Extent::Innermost => level(0),
        Extent::Node => cluster.devices_per_node(),
        Extent::System => u32::MAX,
        Extent::Level(name) => cluster.level(name).map_or(u32::MAX, level),
        Extent::Ranks(ranks) => *ranks,
    }
}
