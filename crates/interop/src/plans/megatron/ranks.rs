//! Ranks: pipeline stages, and sharding of the state, in both directions.

use shardscope_engine::plan::{ContextKind, Extent, Precision, Schedule, Sharded, StageSizes};
use shardscope_engine::scenario::{Field, Value};

use super::super::asked::Shards;
use super::super::context;
use super::super::deviation::{Deviation, sums_each_micro_batch};
use super::super::draft::PlanDraft;
use super::super::settings::{Setting, ToolSettings};
use super::super::stages::{self, UnevenStages, write_layout};
use super::super::table::{self, Codec, number, words};
use super::super::writer::{Line, PlanWriter};
use super::on;
use crate::megatron::{SHARDED, sharded, sharded_by_deepspeed};

/// Tensor ranks of experts. By default Megatron-LM takes as many as tensor ranks, whatever the plan's stack does.
pub(super) const EXPERT_TENSOR: Codec = Codec::new(
    &[Field::ExpertTensor],
    |settings, draft| table::read(&[number(OF_EXPERTS, Field::ExpertTensor)], settings, draft),
    |writer| {
        let own = writer.layout.expert_tensor;
        let said = own != writer.layout.tensor || writer.value(Field::ExpertTensor).is_some();
        said.then(|| Line::new(OF_EXPERTS, own)).into_iter().collect()
    },
)
.named(&[OF_EXPERTS]);

const OF_EXPERTS: &str = "expert_tensor_parallel_size";

/// Pipeline stages, even or uneven.
pub(super) const STAGES: Codec =
    Codec::new(&[Field::StagesPerRank, Field::StageLayers, Field::Schedule], read_stages, |writer| {
        let layout = match &writer.plan().stage_layers {
            StageSizes::Layers(layers) => Some(Line::new(LAYOUT, write_layout(layers))),
            StageSizes::Balanced => None,
        };
        writer.line(PER_RANK, Field::StagesPerRank).into_iter().chain(layout).collect()
    })
    .losing(&[Deviation::instead(
        Field::Schedule,
        |asked, _| asked.layout().pipeline > 1 && !asked.plan().effective_schedule().rules().alternates,
        "Megatron-LM runs 1f1b, or interleaved with several stages on a rank",
    )]);

const PER_RANK: &str = "num_virtual_stages_per_pipeline_rank";
const LAYOUT: &str = "pipeline_model_parallel_layout";

/// Reads stages with uneven numbers of layers.
fn read_uneven(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let mut taken = |name: &str| on(settings, name);
    let [first, last] = ["decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"].map(&mut taken);
    let [embedding, loss] =
        ["account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"].map(&mut taken);
    let layout = taken(LAYOUT);
    let said = [&layout, &first, &last, &embedding, &loss].into_iter().flatten().next();
    let Some(place) = said.map(|setting| setting.place.clone()) else { return };
    let count = |setting: &Option<Setting>| setting.as_ref().and_then(|setting| setting.text.parse::<u32>().ok());
    let ranks = draft.ranks(Field::Pipeline);
    let uneven = match layout {
        Some(layout) => {
            let Some(layers) = stages::read_layout(&layout.text) else {
                return draft.refuse(
                    &place,
                    format!("'{}' is no layout of stages that is known", layout.text),
                    Field::StageLayers,
                );
            };
            let each = layers.len() as u32 / ranks;
            if each > 1 {
                draft.take(Field::StagesPerRank, each, &place);
                draft.take(Field::Schedule, Schedule::INTERLEAVING, &place);
            }
            UnevenStages::Listed(layers)
        }
        None if first.is_some() || last.is_some() => UnevenStages::Ends { first: count(&first), last: count(&last) },
        None => UnevenStages::Counted { embedding: embedding.is_some(), loss: loss.is_some() },
    };
    draft.uneven_stages = Some((uneven, place)).filter(|_| ranks > 1);
}

fn read_stages(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    read_uneven(settings, draft);
    let pipeline = draft.ranks(Field::Pipeline);
    let named = ["virtual_pipeline_model_parallel_size", PER_RANK];
    let stages = named.into_iter().find_map(|name| on(settings, name));
    let layers = on(settings, "num_layers_per_virtual_pipeline_stage");
    if pipeline == 1 {
        return;
    }
    if let Some(stages) = stages {
        if stages.text != "1" {
            draft.read(Field::StagesPerRank, &stages.text, &stages.place);
            draft.take(Field::Schedule, Schedule::INTERLEAVING, &stages.place);
        }
    } else if let Some((count, layers)) = layers.and_then(|layers| Some((layers.text.parse().ok()?, layers))) {
        draft.layers_per_stage = Some((count, layers.place)).filter(|(count, _)| *count > 0);
    }
}

/// Sharding of the state: the distributed optimizer, Megatron-FSDP, or ZeRO stages of Megatron-DeepSpeed.
pub(super) const SHARDING: Codec = Codec::new(&[Field::Reshard], read_sharding, write_sharding).losing(&[
    Deviation::instead(
        Field::Reduction,
        |asked, _| sums_each_micro_batch(asked) == Some(true),
        "gradients are summed over the instances of the optimizer once a step",
    ),
    Deviation::unsaid(Field::Reshard, |asked, _| asked.value(Field::Reshard) == Some(&Value::Switch(false))),
]);

const DISTRIBUTED: &str = "use_distributed_optimizer";
const COPIES: &str = "num_distributed_optimizer_instances";
const FSDP_WORD: &str = "data_parallel_sharding_strategy";
pub(super) const FSDP: &str = "use_megatron_fsdp";

fn read_sharding(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let torch = on(settings, "use_torch_fsdp2");
    let own = on(settings, FSDP).or_else(|| on(settings, "use_custom_fsdp"));
    let strategy = settings.take(FSDP_WORD);
    let deepspeed = on(settings, "deepspeed");
    let stage = settings.take("zero_stage");
    let unpipelined = on(settings, "no_pipeline_parallel").is_some();
    let distributed = on(settings, DISTRIBUTED);
    let (first, place) = match (torch, own, deepspeed.and(stage)) {
        (Some(torch), ..) => (Some(Some(Sharded::Weights)), torch.place),
        (_, Some(own), _) => match strategy {
            Some(strategy) => (sharded(&strategy.text).ok(), strategy.place),
            None => (Some(None), own.place),
        },
        (.., Some(stage)) => {
            let bf16 = draft.value(Field::Precision) == Some(&Precision::Bf16.into());
            (sharded_by_deepspeed(&stage.text, bf16 && !unpipelined).ok(), stage.place)
        }
        _ => match distributed {
            Some(distributed) => (Some(Some(Sharded::Optimizer)), distributed.place),
            None => (Some(None), format!("{}: no use_distributed_optimizer", settings.file)),
        },
    };
    let Some(first) = first else {
        return draft.refuse(&place, "what it shards is not known", Field::Strategy);
    };
    let copies = settings.take(COPIES).filter(|copies| copies.text != "1");
    let Some(copies) = copies.filter(|_| first.is_some()) else { return draft.shard(first, None, &place) };
    // With 64 ranks and 4 instances of the optimizer, each instance spans 16 ranks.
    let group = draft.data_ranks().map(|ranks| ranks * draft.ranks(Field::Context));
    match (copies.text.parse::<u32>().ok().filter(|copies| *copies > 0), group) {
        (Some(count), Some(group)) if group.is_multiple_of(count) => {
            // Each instance reduces its shards before they are summed over instances, once a step.
            draft.shard_with_copies(first, Some(Extent::Ranks(group / count)), "mics", &copies.place);
        }
        (_, None) => draft.ask(Field::Devices, &copies.place, "how many ranks each copy has follows from the devices"),
        _ => draft.refuse(&copies.place, format!("'{}' copies do not divide the ranks", copies.text), Field::Strategy),
    }
}

fn write_sharding(writer: &mut PlanWriter) -> Vec<Line> {
    let Shards { first, copies, .. } = writer.asked.shards();
    let mut lines = Vec::new();
    if first.is_none() {
        return lines;
    }
    lines.push(Line::new(DISTRIBUTED, true));
    lines.extend((copies > 1).then(|| Line::new(COPIES, copies)));
    if first != Some(Sharded::Optimizer) {
        let word = SHARDED.iter().find(|(.., own)| *own == first).map_or("no_shard", |(word, ..)| word);
        lines.extend([
            Line::new(FSDP, true),
            Line::new(FSDP_WORD, word),
            Line::new("no_gradient_accumulation_fusion", true),
            Line::new("ckpt_format", "fsdp_dtensor"),
        ]);
    }
    lines
}

/// Communication of context ranks (`cp_comm_type`), with the sizes of groups that exchange heads and of those that pass
/// keys around (`hierarchical_context_parallel_sizes`). Megatron-DeepSpeed's ranks exchange heads.
pub(super) const CONTEXT: Codec = Codec::new(
    &[Field::ContextKind, Field::ContextHeads],
    |settings, draft| {
        context::read_heads("ds_sequence_parallel_size", settings, draft);
        table::read(&[words(KIND, Field::ContextKind, KINDS)], settings, draft);
        if let Some(sizes) = settings.take(HIERARCHY) {
            let heads = sizes.text.split(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty());
            draft.read(Field::ContextHeads, heads.unwrap_or_default(), &sizes.place);
        }
    },
    |writer| {
        let mesh = writer.scenario.context_mesh();
        let own = writer.value(Field::ContextKind);
        let kind = KINDS.iter().find(|(_, kind)| Some(kind) == own).map(|(theirs, _)| Line::new(KIND, *theirs));
        let both = writer.scenario.context_kind() == ContextKind::Usp && writer.layout.context > 1;
        let sizes = both.then(|| Line::new(HIERARCHY, vec![mesh.heads, mesh.others]));
        kind.into_iter().chain(sizes).collect()
    },
)
.losing(&[Deviation::unsaid(Field::ContextKind, |asked, _| {
    asked.layout().context > 1 && asked.job.context_kind() == ContextKind::Ring
})]);

const KIND: &str = "cp_comm_type";
const HIERARCHY: &str = "hierarchical_context_parallel_sizes";
const KINDS: &[(&str, Value)] = &[
    ("p2p", Value::Word(ContextKind::Zigzag.to_word())),
    ("all_gather", Value::Word(ContextKind::AllGather.to_word())),
    ("allgather", Value::Word(ContextKind::AllGather.to_word())),
    ("a2a", Value::Word(ContextKind::Ulysses.to_word())),
    ("a2a+p2p", Value::Word(ContextKind::Usp.to_word())),
];
