//! The layout and the batch of a row.

use std::str::FromStr;

use shardscope_engine::cost::{Factors, Rates};
use shardscope_engine::hardware::Cluster;
use shardscope_engine::plan::{
    ExpertMesh, Extent, FlopCount, Imbalance, LossFormat, MasterWeights, Moments, Plan, Precision, Recompute, Schedule,
    Sharding, Size, TrainMethod, Tuning,
};
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::stack::Stack;
use shardscope_engine::units::{Bytes, Share};

use super::Cells;
use crate::measured::conventions::Conventions;
use crate::measured::row::MeasuredRow;
use crate::measured::words;

/// The column that says of rows of other methods whether adapters were trained.
const ADAPTERS: &str = "adapters";

pub(super) struct RowPlan {
    pub plan: Plan,
    pub strategy: String,
    pub tensor: u32,
    /// The fraction of a micro-batch beyond the whole count, from 0 to 1.
    pub more: f64,
}

pub(super) fn read(
    cells: &mut Cells<'_>,
    library: &Library,
    cluster: &Cluster,
    stack: &Stack,
) -> Result<RowPlan, String> {
    let row = cells.row;
    let ranks = |column: &str| Ok::<u32, String>(row.count(column)?.unwrap_or(1));
    let (tensor, pipeline, context) = (ranks("tp")?, ranks("pp")?, ranks("cp")?);
    let devices = row.needed("num_gpus")?;
    let shared = tensor.saturating_mul(pipeline).saturating_mul(context);
    if shared == 0 || !devices.is_multiple_of(shared) {
        return Err(format!("{devices} devices are not a multiple of tp {tensor} x pp {pipeline} x cp {context}"));
    }
    let data = cells.row.count("dp")?.unwrap_or(devices / shared);
    if data.saturating_mul(shared) != devices {
        return Err(format!(
            "tp, pp, cp and dp multiply to {}, not to the {devices} devices",
            u64::from(data) * u64::from(shared)
        ));
    }
    let (strategy, sharding) = sharding(cells, library, cluster)?;
    let batch = batch(cells, data, pipeline)?;
    let sequence = cells.row.needed("seq_len")?;
    let mut plan = Plan::new(sharding, sequence);
    plan.size = Size::Devices(devices);
    (plan.tensor, plan.pipeline, plan.context) = (tensor, pipeline, context);
    plan.experts = experts(cells, stack, devices / pipeline, tensor)?;
    (plan.micro_batch, plan.accumulate) = (batch.micro, batch.whole);
    plan.flop_count = FlopCount::Parameters;
    plan.precision = precision(cells, cluster);
    plan.tuning = tuning(cells, stack, plan.precision)?;
    // Lightning's name for weights, gradients and state of 16 bits; and a table of fine-tuning says of full training too in
    // which format it had loaded the weights.
    let loaded = !plan.tuning.freezes() && row.text("frozen_format").starts_with("bf16");
    let no_copies = loaded || row.text("precision").contains("bf16-true");
    let usual = if no_copies { (MasterWeights::None, Moments::Bf16) } else { (plan.master_weights, plan.moments) };
    (plan.master_weights, plan.moments) = (chosen(row, "master_weights", usual.0)?, chosen(row, "moments", usual.1)?);
    plan.context_kind = chosen(row, "cp_kind", plan.context_kind)?;
    plan.attention_kernel = chosen(row, "attention_kernel", plan.attention_kernel)?;
    plan.loss = chosen(row, "loss", plan.loss)?;
    plan.loss_chunk = row.count("loss_chunk")?;
    plan.loss_format = match row.text("loss_format") {
        "" => None,
        _ => Some(chosen(row, "loss_format", LossFormat::Fp32)?),
    };
    plan.offload = chosen(row, "offload", plan.offload)?;
    plan.cuda_graphs = words::cuda_graphs(cells.row.text("cuda_graph"));
    plan.recompute = recompute(cells);
    if let (Recompute::Selective, Some(modules)) = (plan.recompute, words::modules(cells.row.text("recompute_modules")))
    {
        plan.recompute_modules = modules;
    }
    (plan.schedule, plan.stages_per_rank) = schedule(cells, pipeline, batch.whole)?;
    Ok(RowPlan { plan, strategy, tensor, more: batch.more })
}

/// The word of a choice, or `usual` where its cell is blank.
fn chosen<T: FromStr<Err = String>>(row: &MeasuredRow, column: &str, usual: T) -> Result<T, String> {
    match row.text(column) {
        "" => Ok(usual),
        word => word.parse().map_err(|unknown: String| row.wrong(column, &format!("wrong: {unknown}"))),
    }
}

/// The experts' mesh and exchanges: as the row says, else as the published runs of its stack had them.
fn experts(cells: &mut Cells<'_>, stack: &Stack, in_stage: u32, tensor: u32) -> Result<ExpertMesh, String> {
    let row = cells.row;
    let ranks = row.count("ep")?.unwrap_or(1);
    let mut experts = ExpertMesh { ranks, tensor: row.count("etp")?, ..ExpertMesh::default() };
    if ranks == 1 {
        return Ok(experts);
    }
    if experts.tensor.is_none() && !in_stage.is_multiple_of(ranks.saturating_mul(tensor)) {
        cells.assume("etp", &1, "as many tensor ranks in the experts as around them do not divide a stage's devices");
        experts.tensor = Some(1);
    }
    let (conventions, notes) = (Conventions::of_stack(&stack.id), row.text("notes"));
    if words::balanced(notes) {
        experts.imbalance = Imbalance::BALANCED;
    } else if conventions.balanced {
        cells.assume("notes", &"balanced", "what this stack's published runs force the router to");
        experts.imbalance = Imbalance::BALANCED;
    }
    if let Some(dispatcher) = words::dispatcher(notes) {
        (experts.dispatcher, experts.overlap) = (dispatcher, words::hides_exchanges(notes));
    } else if let Some(rule) = conventions.exchange_rule(row.text("cluster"), row.text("model"), notes) {
        let beside = if rule.overlap { ", beside compute" } else { "" };
        cells.assume("notes", &format!("{}{beside}", rule.dispatcher), &rule.why);
        (experts.dispatcher, experts.overlap) = (rule.dispatcher, rule.overlap);
    }
    Ok(experts)
}

/// The strategy of a class, and how it shards.
fn sharding(cells: &mut Cells<'_>, library: &Library, cluster: &Cluster) -> Result<(String, Sharding), String> {
    let class = cells.row.text("strategy_class").to_lowercase();
    // Tables of adapters write `distributed data parallel+tp4`, `FSDP2 (8)+tp2`, `pp4` into the column of strategies.
    let class = match cells.row.text("strategy").split(['+', '(']).next().unwrap_or_default().trim() {
        own if !class.is_empty() || own.is_empty() => class,
        "distributed data parallel" | "single device" => "ddp".to_owned(),
        "distributed optimizer" => "zero1".to_owned(),
        own if own.starts_with("pp") => "ddp".to_owned(),
        own => own.to_lowercase(),
    };
    // PyTorch writes NO_SHARD, DeepSpeed stage 3, ZeRO's paper ZeRO-3.
    let word = class.replace(['-', '_', ' '], "");
    let distributed = cells.conventions().distributed.as_deref().filter(|_| word == "3d");
    if let Some(why) = distributed {
        cells.assume("strategy", &"zero1", why);
    }
    let id = match word.as_str() {
        _ if distributed.is_some() => "zero1",
        "ddp" | "dp" | "3d" | "noshard" | "zero0" | "stage0" => "ddp",
        "zero1" | "stage1" | "zero1+3d" => "zero1",
        "zero2" => cells.conventions().zero2.as_deref().unwrap_or("zero2"),
        "stage2" | "4d" => "zero2",
        "fullshard" | "fullshard+3d" | "fsdp1" | "fsdp2" | "shardgradop" => "fsdp",
        "zero3" | "stage3" => "zero3",
        "hybridshard" => "hsdp",
        "zero++" => "zeropp",
        "" => return Err(format!("'strategy_class' is blank; write one of {}", strategies(library))),
        _ => class.as_str(),
    };
    let Ok(strategy) = library.strategy(id) else {
        let written = cells.row.text("strategy_class");
        return Err(format!("strategy_class '{written}' is unknown; write one of {}", strategies(library)));
    };
    let mut sharding = strategy.sharding.clone();
    let over = |column: &str| words::after(cells.row.text(column), "sharded over ").filter(|ranks| *ranks >= 1.0);
    let noted = over("notes").filter(|ranks| id == "hsdp" && *ranks > f64::from(cluster.devices_per_node()));
    if let Some(ranks) = over("strategy").or(noted) {
        let extent = Extent::Ranks(ranks as u32);
        // A hybrid shards weights and gradients over the same ranks, which may be those of several nodes.
        if id == "hsdp" {
            (sharding.weights, sharding.gradients) = (extent.clone(), extent.clone());
        }
        sharding.optimizer = extent;
    }
    if let Some(ranks) = noted.filter(|_| over("strategy").is_none()) {
        let said = format!("sharded over {ranks}");
        cells.assume("strategy", &said, "its notes say so, and hsdp alone would mean the devices of one node");
    }
    if word == "shardgradop" || word == "zero2" && id == "fsdp" {
        sharding.reshard_after_forward = false;
    }
    Ok((id.to_owned(), sharding))
}

/// The ids that a class may be: all presets, the user's own among them.
fn strategies(library: &Library) -> String {
    library.entries(Kind::Strategy).map(|entry| entry.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Sequences per micro-batch and micro-batches per step.
struct RowBatch {
    micro: u32,
    whole: u32,
    more: f64,
}

/// A step does the work of `global_batch`: its micro-batches may be no whole number, where the last one
/// of each rank is smaller.
fn batch(cells: &mut Cells<'_>, data: u32, pipeline: u32) -> Result<RowBatch, String> {
    let usual = if pipeline == 1 { 8 } else { 1 };
    let micro =
        cells.count_or("micro_batch", || usual, "1 in a pipeline, else all that a rank has up to 8; no source says")?;
    let per_rank = if let Some(sequences) = cells.row.number("global_batch")? {
        sequences / f64::from(data)
    } else {
        let accumulate = cells.row.count("grad_accum")?.unwrap_or(1);
        let per_rank = f64::from(micro) * f64::from(accumulate);
        cells.assume("global_batch", &(f64::from(data) * per_rank), "dp x micro_batch x grad_accum");
        per_rank
    };
    let (micro, count) = match per_rank / f64::from(micro) {
        // A rank has no more sequences than that.
        count if count < 1.0 => ((per_rank as u32).max(1), 1.0),
        count => (micro, count),
    };
    if per_rank < 1.0 {
        return Err(format!(
            "a global batch of {} sequences leaves some of {data} ranks without one",
            per_rank * f64::from(data)
        ));
    }
    let whole = count.floor();
    Ok(RowBatch { micro, whole: whole as u32, more: count - whole })
}

fn precision(cells: &mut Cells<'_>, cluster: &Cluster) -> Precision {
    let usual = Precision::usual(&cluster.device.peak);
    let stated = ["fp_recipe", "precision", "compute_format"].map(|column| words::precision(cells.row.text(column)));
    stated.into_iter().flatten().next().unwrap_or_else(|| {
        cells.assume("precision", &usual, "what the device is trained in");
        usual
    })
}

/// The part of the model that was trained.
fn tuning(cells: &mut Cells<'_>, stack: &Stack, precision: Precision) -> Result<Tuning, String> {
    let row = cells.row;
    let column = if row.text(ADAPTERS).is_empty() { "method" } else { ADAPTERS };
    let method = match row.text(column).to_lowercase().as_str() {
        "" => return Ok(Tuning::default()),
        // Another scaling of the same product.
        "rslora" => TrainMethod::Lora,
        named => named.parse().map_err(|_| row.wrong(column, "no method that is known: full, lora, qlora"))?,
    };
    let mut tuning = Tuning { method, ..Tuning::default() };
    if method == TrainMethod::Full {
        return Ok(tuning);
    }
    tuning.rank = cells.count_or("lora_rank", || tuning.rank, "no source says it")?;
    // The modules stand first; `*_proj (all linear)` names all.
    let named = row.text("target_modules");
    match named.split(" (").next().unwrap_or_default() {
        "*_proj" => {}
        modules => {
            if let Ok(targets) = modules.parse() {
                tuning.targets = targets;
            } else {
                let usual = Conventions::of_stack(&stack.id).adapters.as_ref().and_then(|names| names.parse().ok());
                let why = if usual.is_some() { "what this stack's recipes have" } else { "no matrices are named" };
                tuning.targets = usual.unwrap_or(tuning.targets);
                cells.assume("target_modules", &tuning.targets, why);
            }
        }
    }
    tuning.dropout = dropout(cells)?;
    let frozen = row.text("frozen_format").split(' ').next().unwrap_or_default();
    tuning.frozen = match frozen.parse() {
        Ok(format) => Some(format),
        Err(_) => cells.conventions().frozen.filter(|_| precision.is_low()),
    };
    Ok(tuning)
}

/// The share of their input that adapters drop.
fn dropout(cells: &mut Cells<'_>) -> Result<Share, String> {
    let column = "lora_dropout";
    match (cells.row.number(column)?, cells.conventions().dropout) {
        (Some(share), _) if (0.0..=1.0).contains(&share) => Ok(Share::new(share)),
        (Some(_), _) => Err(cells.row.wrong(column, "no share from 0 to 1")),
        (None, Some(usual)) => {
            cells.assume(column, &usual, "the default of this stack's program");
            Ok(Share::new(usual))
        }
        (None, None) => Ok(Share::ZERO),
    }
}

/// Recomputation; a blank cell means none, but full on stacks of before 2024 whose runs did, and for
/// the models beyond 100 billion parameters that the A100 ran.
fn recompute(cells: &mut Cells<'_>) -> Recompute {
    if let Some(stated) = words::recompute(cells.row.text("act_ckpt")) {
        return stated;
    }
    let large = cells.row.number("params_b").ok().flatten().is_some_and(|billions| billions > 100.0);
    let model = cells.row.text("model");
    let recomputes = cells.conventions().recomputes || cells.conventions().checkpoints.iter().any(|one| one == model);
    let (value, why) = if recomputes {
        (Recompute::Full, "what this stack's published runs did")
    } else if large && cells.row.text("cluster").starts_with("a100") {
        (Recompute::Full, "more than 100 billion parameters on A100s")
    } else {
        (Recompute::None, "what the stack's launchers default to")
    };
    cells.assume("act_ckpt", &value, why);
    value
}

/// Has all layers computed again, where a row does not say it, if a micro-batch's activations alone are more than the device
/// has: the run did fit.
pub(super) fn recompute_at_need(cells: &mut Cells<'_>, scenario: &mut Scenario) {
    let stated = words::recompute(cells.row.text("act_ckpt")).is_some();
    if stated || scenario.plan.recompute != Recompute::None || scenario.plan.offload.activations() {
        return;
    }
    let rates = Rates::new(scenario, &Factors::default());
    let of_kinds = scenario.model.kinds().map(|(kind, layers)| rates.activations(kind).layer * f64::from(layers));
    let kept = of_kinds.sum::<Bytes>() / f64::from(scenario.plan.pipeline);
    if kept > scenario.cluster.device.memory {
        cells.assume("act_ckpt", &Recompute::Full, "activations of a micro-batch alone are more than the device has");
        scenario.plan.recompute = Recompute::Full;
    }
}

/// The order of a pipeline's work: interleaved where the note gives stages per rank or layers per stage.
fn schedule(cells: &mut Cells<'_>, pipeline: u32, micro_batches: u32) -> Result<(Schedule, u32), String> {
    let plain = Ok((Schedule::USUAL, 1));
    if pipeline == 1 {
        return plain;
    }
    let notes = cells.row.text("notes");
    let layers = f64::from(cells.row.needed("layers")?) / f64::from(pipeline);
    let per_stage = ["layers per virtual stage)=", "layers per virtual stage="];
    let stated = (cells.row.number("vp")?)
        .or_else(|| words::after(notes, "pipeline interleaving="))
        .or_else(|| words::after(notes, "VP="))
        .or_else(|| per_stage.iter().find_map(|key| words::after(notes, key)).map(|each| layers / each));
    let stages = stated.map_or_else(|| usual_stages(cells, layers as u32), |stages| stages.round().max(1.0) as u32);
    if stages == 1 {
        return plain;
    }
    if !micro_batches.is_multiple_of(pipeline) {
        cells.assume("notes", &"not interleaved", "the interleaved schedule takes micro-batches in groups of pp");
        return plain;
    }
    Ok((Schedule::INTERLEAVING, stages))
}

/// Stages of a rank with so many layers where a source leaves them out.
fn usual_stages(cells: &mut Cells<'_>, layers: u32) -> u32 {
    let Some(rule) = cells.conventions().stage_rule(cells.row.text("cluster")) else { return 1 };
    let stages = rule.stages(layers);
    cells.assume("notes", &format!("{stages} stages per rank"), &rule.why);
    stages
}
