//! torchtitan's ranks in both directions: the mesh, pipeline stages and the batch.

use shardscope_engine::plan::{Extent, Schedule, Sharded};
use shardscope_engine::scenario::{Field, Value};

use super::super::deviation::Deviation;
use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::table::Codec;
use super::super::writer::Line;
use super::{DEFAULT, EAGER, GLOBAL, LOCAL, MICRO, PER_STAGE, REPLICATE, RESHARD, SHARD};

/// The mesh: shards span the ranks of the shard degree and of context parallelism. FSDP2 by default reduces gradients
/// at each micro-batch, and `torchtitan/train.py` does not change that.
pub(super) const MESH: Codec = Codec::new(&[Field::Reshard, Field::Reduction], read_mesh, |writer| {
    let shards = writer.asked.fsdp2_shards();
    let degrees = [(REPLICATE, shards.copies), (SHARD, shards.over / writer.layout.context)];
    let again = match shards.first {
        Some(Sharded::Weights) => Some(writer.value(Field::Reshard) != Some(&Value::Switch(false))),
        Some(_) => Some(false),
        None => None,
    };
    let again = again.map(|again| Line::new(RESHARD, if again { "always" } else { "never" }));
    degrees.map(|(name, ranks)| Line::new(name, ranks)).into_iter().chain(again).collect()
});

fn read_mesh(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [replicate, shard] = [REPLICATE, SHARD].map(|name| settings.take(name));
    let place = [&shard, &replicate].into_iter().flatten().next().map(|setting| setting.place.clone());
    let place = place.unwrap_or_else(|| format!("{}: no {SHARD}", settings.file));
    let replicas = replicate.and_then(|setting| setting.text.parse().ok()).unwrap_or(1_u32).max(1);
    // -1 means all ranks that the other degrees leave.
    let own = shard.and_then(|setting| setting.text.parse::<i64>().ok()).and_then(|degree| u32::try_from(degree).ok());
    // 64 devices with 8 tensor ranks and replicate 2 leave a degree of 64 / 8 / 2 = 4.
    let all = draft.data_ranks();
    let rest = all.filter(|all| all.is_multiple_of(replicas)).map(|all| all / replicas);
    let inner = [Field::Tensor, Field::Context, Field::Pipeline].map(|field| draft.ranks(field));
    let Some(degree) = own.or(rest).filter(|degree| *degree > 0) else {
        return draft.ask(
            Field::Devices,
            &place,
            "the degree of sharding is what the devices leave, and no file counts them",
        );
    };
    let product =
        inner.iter().chain([&replicas, &degree]).try_fold(1_u32, |product, ranks| product.checked_mul(*ranks));
    match (draft.devices(), product) {
        (None, Some(product)) => {
            draft.take(Field::Devices, product, &format!("{place}, with the other degrees"));
        }
        (Some(devices), product) if product != Some(devices) => {
            let product = product.map_or("more than can be counted".to_owned(), |product| product.to_string());
            draft.contradict(&place, format!("the degrees come to {product} devices, not {devices}"));
        }
        (_, None) => draft.refuse(&place, "the degrees come to more than can be counted", Field::Devices),
        (Some(_), Some(_)) => {}
    }
    let over = degree.saturating_mul(inner[1]);
    match (over, replicas) {
        (1, _) => draft.shard(None, None, &place),
        (_, 1) => draft.shard(Some(Sharded::Weights), None, &place),
        _ => draft.shard(Some(Sharded::Weights), Some(Extent::Ranks(over)), &place),
    }
    let reshard = settings.take(RESHARD);
    let place = reshard.as_ref().map_or_else(|| place.clone(), |setting| setting.place.clone());
    match reshard.as_ref().map_or("default", |setting| setting.text.as_str()) {
        "always" => draft.take(Field::Reshard, true, &place),
        "never" => draft.take(Field::Reshard, false, &place),
        // With a pipeline, weights are kept so that each micro-batch need not gather them again.
        "default" if inner[2] > 1 => draft.take(Field::Reshard, false, &format!("{place}, default with a pipeline")),
        "default" => {}
        other => draft.refuse(&place, format!("'{other}' is none of default, always and never"), Field::Reshard),
    }
}

/// Layers of each stage; the first and the last stage have no fewer than the others.
pub(super) const STAGES: Codec = Codec::new(&[Field::StagesPerRank], read_stages, |writer| {
    let stages = writer.asked.stages();
    if stages == 1 {
        return Vec::new();
    }
    let each = writer.scenario.model.layers.div_ceil(stages);
    let less = ["first", "last"].map(|end| format!("parallelism.pipeline_parallel_{end}_stage_less_layers"));
    [Line::new(PER_STAGE, each)].into_iter().chain(less.iter().map(|name| Line::new(name, 0))).collect()
})
.losing(&[Deviation::instead_of(
    Field::StagesPerRank,
    |asked, _| {
        let (layers, stages) = (asked.job.model.layers, asked.stages());
        stages > 1 && layers.div_ceil(layers.div_ceil(stages)) != stages
    },
    |asked, _| {
        let layers = asked.job.model.layers;
        format!("torchtitan cuts {layers} layers by those of a stage, {}", layers.div_ceil(asked.stages()))
    },
)]);

/// Stages per pipeline rank: from the layers of a stage if given, else two if the schedule has virtual stages.
fn read_stages(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if draft.ranks(Field::Pipeline) > 1 {
        draft.assume(Field::Schedule, Schedule::OneForwardOneBackward, DEFAULT);
    }
    let Some(per_stage) = settings.take(PER_STAGE) else {
        let schedule = draft.value(Field::Schedule).and_then(Value::get::<Schedule>);
        let loops = schedule.is_some_and(|schedule| schedule.rules().virtual_stages);
        if loops && draft.ranks(Field::Pipeline) > 1 {
            draft.assume(Field::StagesPerRank, 2_u32, DEFAULT);
        }
        return;
    };
    draft.layers_per_stage =
        per_stage.text.parse().ok().filter(|layers| *layers > 0).map(|layers| (layers, per_stage.place.clone()));
    if draft.layers_per_stage.is_none() {
        draft.refuse(&per_stage.place, format!("'{}' is no count of layers", per_stage.text), Field::StagesPerRank);
    }
}

/// A rank's batch is one micro-batch, or is cut into several by a pipeline.
pub(super) const BATCH: Codec =
    Codec::new(&[Field::MicroBatch, Field::Accumulate, Field::GlobalBatch], read_batch, |writer| {
        let (plan, pipelined) = (writer.plan(), writer.layout.pipeline > 1);
        let cut = if pipelined { plan.accumulate } else { 1 };
        let mut lines = vec![Line::new(LOCAL, u64::from(plan.micro_batch) * u64::from(cut))];
        lines.extend(writer.line(GLOBAL, Field::GlobalBatch));
        lines.extend(pipelined.then(|| Line::new(MICRO, plan.micro_batch)));
        // torchtitan refuses pipelines with CUDA graphs.
        lines.extend((pipelined && writer.version == "0.3.0").then(|| Line::new(EAGER, true)));
        lines
    });

fn read_batch(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let [local, global, micro] = [LOCAL, GLOBAL, MICRO].map(|name| settings.take(name));
    let (batch, place) = match &local {
        Some(local) => (local.text.clone(), local.place.clone()),
        None => ("8".to_owned(), DEFAULT.to_owned()),
    };
    let all = global.filter(|global| global.text.parse::<u32>().is_ok_and(|count| count > 0));
    let Ok(count) = batch.parse::<u32>() else {
        return draft.refuse(&place, format!("'{batch}' is no count of sequences"), Field::MicroBatch);
    };
    if draft.ranks(Field::Pipeline) == 1 {
        if local.is_some() {
            draft.take(Field::MicroBatch, count, &place);
        } else {
            draft.assume(Field::MicroBatch, count, &place);
        }
        match all {
            Some(all) => draft.read(Field::GlobalBatch, &all.text, &all.place),
            None => draft.take(Field::Accumulate, 1_u32, &format!("{}: no {GLOBAL}", settings.file)),
        }
        return;
    }
    let size = micro.as_ref().and_then(|micro| micro.text.parse().ok()).unwrap_or(1_u32);
    if size == 0 || !count.is_multiple_of(size) {
        return draft.refuse(&place, format!("micro-batches of {size} do not divide '{count}'"), Field::MicroBatch);
    }
    draft.take(Field::MicroBatch, size, micro.as_ref().map_or(DEFAULT, |micro| &micro.place));
    draft.take(Field::Accumulate, count / size, &place);
    if let (Some(all), Some(ranks)) = (all, draft.data_ranks())
        && all.text.parse() != Ok(u64::from(count) * u64::from(ranks))
    {
        let fix = format!("write {LOCAL} into both, or leave it out: a plan runs one pipeline over the whole batch");
        draft.cannot(&all, "repeats the whole pipeline for one step, which a plan cannot say", &fix);
    }
}
