//! How values get into a plan and out of it, where that is more than a place of their own. Not for what the fields are
//! ([`super::table`]).

use crate::plan::{BesideModel, Extent, Format, GlobalBatch, Plan, PostTraining, Rollouts, Secondary, Sharding, Size};
use crate::units::Share;

use super::{Typed, Value};

#[expect(clippy::unnecessary_wraps, reason = "most fields always have a value")]
pub(super) fn some(value: impl Into<Value>) -> Option<Value> {
    Some(value.into())
}

pub(super) fn whole_nodes(size: Size) -> Option<Value> {
    match size {
        Size::Nodes(nodes) => some(nodes),
        Size::Devices(_) => None,
    }
}

pub(super) fn devices(size: Size) -> Option<Value> {
    match size {
        Size::Nodes(_) => None,
        Size::Devices(devices) => some(devices),
    }
}

pub(super) fn put_size(plan: &mut Plan, count: &Value, size: fn(u32) -> Size) -> bool {
    count.get().map(|count| plan.size = size(count)).is_some()
}

/// Micro-batches that are said hold no batch.
pub(super) fn accumulate(plan: &mut Plan, count: &Value) -> bool {
    let taken = count.put(&mut plan.accumulate);
    if taken {
        plan.global_batch = GlobalBatch::Free;
    }
    taken
}

pub(super) fn put_tokens(plan: &mut Plan, tokens: &Value) -> bool {
    tokens.get().map(|tokens| plan.tokens = Some(tokens)).is_some()
}

/// A value that only adapters have.
pub(super) fn adapters(plan: &Plan, value: impl Into<Value>) -> Option<Value> {
    plan.tuning.freezes().then(|| value.into())
}

pub(super) fn put_lora_dropout(plan: &mut Plan, share: &Value) -> bool {
    share.get().map(|share| plan.tuning.dropout = Share::new(share)).is_some()
}

pub(super) fn put_frozen_format(plan: &mut Plan, format: &Value) -> bool {
    format.get().map(|format| plan.tuning.frozen = Some(format)).is_some()
}

pub(super) fn put_frozen_ends(plan: &mut Plan, ends: &Value) -> bool {
    ends.get().map(|ends| plan.tuning.ends = Some(ends)).is_some()
}

/// A value of post-training that may be left to the method.
pub(super) fn put_post<T: Typed>(
    plan: &mut Plan,
    value: &Value,
    place: fn(&mut PostTraining) -> &mut Option<T>,
) -> bool {
    value.get().map(|value| *place(&mut plan.post_training) = Some(value)).is_some()
}

/// The teacher; a plan of a method without one says none.
pub(super) fn teacher(plan: &Plan) -> Option<Value> {
    let teacher = &plan.post_training.teacher;
    (*teacher != BesideModel::None).then(|| teacher.clone().into())
}

/// What scores answers; a plan of a method without one says none.
pub(super) fn reward_model(plan: &Plan) -> Option<Value> {
    let model = &plan.post_training.reward_model;
    (*model != BesideModel::None).then(|| model.clone().into())
}

/// A value of the engine that writes answers; a plan of a method without one says none, unless it is not the usual one.
pub(super) fn of_engine(plan: &Plan, value: fn(&Rollouts) -> Value) -> Option<Value> {
    let own = value(&plan.post_training.rollouts);
    (plan.post_training.method.writes() || own != value(&Rollouts::USUAL)).then_some(own)
}

pub(super) fn put_rollout_share(plan: &mut Plan, share: &Value) -> bool {
    share.get().map(|share| plan.post_training.rollouts.share = Some(Share::new(share))).is_some()
}

pub(super) fn put_rollout_format(plan: &mut Plan, format: &Value) -> bool {
    format.get().map(|format| plan.post_training.rollouts.format = Some(format)).is_some()
}

pub(super) fn put_cache_format(plan: &mut Plan, format: &Value) -> bool {
    format.get().map(|format| plan.post_training.rollouts.cache = Some(format)).is_some()
}

pub(super) fn put_gradient_format(plan: &mut Plan, format: &Value) -> bool {
    format.get().map(|format| plan.gradients = Some(format)).is_some()
}

pub(super) fn put_loss_chunk(plan: &mut Plan, tokens: &Value) -> bool {
    tokens.get().map(|tokens| plan.loss_chunk = Some(tokens)).is_some()
}

pub(super) fn put_loss_format(plan: &mut Plan, format: &Value) -> bool {
    format.get().map(|format| plan.loss_format = Some(format)).is_some()
}

pub(super) fn put_offload_ratio(plan: &mut Plan, share: &Value) -> bool {
    share.get().map(|share| plan.offload_ratio = Share::new(share)).is_some()
}

pub(super) fn put_examples(plan: &mut Plan, examples: &Value) -> bool {
    examples.get().map(|examples| plan.examples = Some(examples)).is_some()
}

pub(super) fn put_host_threads(plan: &mut Plan, threads: &Value) -> bool {
    threads.get().map(|threads| plan.host_threads = Some(threads)).is_some()
}

pub(super) fn put_price(plan: &mut Plan, price: &Value) -> bool {
    price.get().map(|price| plan.price = Some(price)).is_some()
}

pub(super) fn put_packing(plan: &mut Plan, length: &Value) -> bool {
    length.get().map(|length| plan.packing = Some(length)).is_some()
}

pub(super) fn put_expert_tensor(plan: &mut Plan, ranks: &Value) -> bool {
    ranks.get().map(|ranks| plan.experts.tensor = Some(ranks)).is_some()
}

pub(super) fn put_context_heads(plan: &mut Plan, ranks: &Value) -> bool {
    ranks.get().map(|ranks| plan.context_heads = Some(ranks)).is_some()
}

pub(super) fn put_dispatch_formats(plan: &mut Plan, formats: &Value) -> bool {
    formats.get().map(|formats| plan.experts.formats = Some(formats)).is_some()
}

pub(super) fn shard(sharding: &mut Sharding, extent: &Value) -> bool {
    let moved = extent.get().and_then(|extent| sharding.with_shard(&extent));
    moved.map(|moved| *sharding = moved).is_some()
}

// The three parts of ZeRO++, each on its own [frontier D6].

pub(super) fn quantise_weights(sharding: &mut Sharding, on: &Value) -> bool {
    let Some(on) = on.get::<bool>() else { return false };
    // A format that quantises already stays the one that the strategy chose.
    if on != sharding.wire.weights.quantised() {
        sharding.wire.weights = if on { Format::Int8 } else { Format::Bf16 };
    }
    true
}

pub(super) fn quantise_gradients(sharding: &mut Sharding, on: &Value) -> bool {
    let Some(on) = on.get::<bool>() else { return false };
    // A strategy may quantise them in one hop. That is on already, and setting a field to what it shows changes nothing.
    if on != sharding.wire.gradients.quantised() {
        sharding.wire.gradients = if on { Format::Int4 } else { Format::Bf16 };
        sharding.two_hop_gradients = on;
    }
    true
}

/// Extent of the second copy of the weights; one device's is none.
pub(super) fn second_copy(sharding: &Sharding) -> Extent {
    sharding.secondary.as_ref().map_or(Extent::Device, |secondary| secondary.extent.clone())
}

pub(super) fn copy_weights(sharding: &mut Sharding, extent: &Value) -> bool {
    let Some(extent) = extent.get::<Extent>() else { return false };
    let format = sharding.secondary.as_ref().map_or(Format::Bf16, |secondary| secondary.format);
    let none = matches!(extent, Extent::Device | Extent::Ranks(1));
    sharding.secondary = (!none).then_some(Secondary { extent, format });
    true
}
