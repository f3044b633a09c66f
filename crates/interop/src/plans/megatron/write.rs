//! A plan as arguments of Megatron-LM: a list in a shell script, with what its environment needs.

use crate::FileText;
use crate::megatron::{RECIPE, RECIPES, SHARDED};
use shardscope_engine::model::{LayerPattern, Mamba, Model, Norm, Positions, QkNorm};
use shardscope_engine::plan::{
    Capacity, CudaGraphs, DispatchFormats, Dispatcher, Format, GradientFormat, Module, Offload, Precision, Recompute,
    Sharded, StageSizes,
};
use shardscope_engine::scenario::{Field, Value};
use shardscope_library::text::shell::ShellCode;

use super::super::lacks::{ALIKE, AskedPlan, Deviation, ONE_EXTENT, Shards, ToolTable, sums_each_micro_batch};
use super::super::stages::write_layout;
use super::super::writer::{Line, PlanWriter};
use super::super::written::{Head, Ranks, options};
use super::parts;
use super::shape::{MAMBA_CHUNK, MAMBA_CONV, OUTPUT_GATE, QKV_BIAS, QKV_BIASES};
use super::{
    CAPACITY, CAPACITY_FILLED, COMBINED_BACK, COPIES, DISPATCHED, DISPATCHER, DISPATCHER_BACKEND, FLEXIBLE, GLOBAL,
    GRADIENTS_BF16, GRADIENTS_FP32, KEYS, LAYERS_ON_HOST, LAYOUT, MODULES, NARROW, ON_HOST, WHOLE_GRAPH,
};

/// The version that [`script`] is for.
pub(crate) const VERSIONS: &[&str] = &["0.20"];

/// What its arguments say, and what Megatron-LM does otherwise.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS],
    also: Some(&[
        &[Field::Offload, Field::HostPinned, Field::GlobalBatch, Field::Accumulate, Field::Devices],
        &[Field::Precision, Field::GradientFormat, Field::CudaGraphs, Field::Capacity],
        &[Field::Dispatcher, Field::DispatchFormat],
        &[Field::StagesPerRank, Field::StageLayers, Field::Schedule, Field::Recompute, Field::RecomputeModules, Field::Reshard],
    ]),
    deviations: &[
        ONE_EXTENT,
        ALIKE,
        Deviation::instead(
            Field::Reduction,
            |asked, _| sums_each_micro_batch(asked) == Some(true),
            "gradients are summed over the instances of the optimizer once a step",
        ),
        Deviation::sentence(
            Field::Model,
            |asked, _| takes_more(&asked.job.model).any(|(takes, _)| takes),
            |asked, _| {
                let more = takes_more(&asked.job.model).filter(|(takes, _)| *takes).map(|(_, what)| what);
                let more = more.collect::<Vec<_>>().join(", ");
                format!("model {}: {more} take further arguments", asked.job.model.id)
            },
        )
        .alone(),
        Deviation::sentence(
            Field::Model,
            |asked, _| asked.job.model.mamba.is_some_and(|mamba| (mamba.conv, mamba.chunk) != (MAMBA_CONV, MAMBA_CHUNK)),
            |asked, _| {
                let (conv, chunk) = asked.job.model.mamba.map(|mamba| (mamba.conv, mamba.chunk)).unwrap_or_default();
                format!(
                    "model {}: MambaMixer takes convolutions of {MAMBA_CONV} tokens and chunks of {MAMBA_CHUNK}, not {conv} and \
                     {chunk}",
                    asked.job.model.id
                )
            },
        )
        .alone(),
        Deviation::sentence(
            Field::Sequence,
            |asked, _| positions(asked) < asked.plan().sequence,
            |asked, _| {
                let rows = positions(asked);
                format!("sequence {}: the model's table has {rows} positions, and gets more", asked.plan().sequence)
            },
        )
        .alone(),
        Deviation::unsaid(Field::DispatchFormat, |asked, _| {
            asked.plan().experts.formats.is_some_and(|formats| ways(formats).is_none())
        })
        .alone(),
        Deviation::instead(
            Field::Schedule,
            |asked, _| asked.layout().pipeline > 1 && !asked.plan().effective_schedule().rules().alternates,
            "Megatron-LM runs 1f1b, or interleaved with several stages on a rank",
        ),
        Deviation::unsaid(Field::Offload, |asked, _| {
            let offload = asked.plan().offload;
            !matches!(offload, Offload::None | Offload::Optimizer) && !offload.activations()
        })
        .alone(),
        Deviation::instead(
            Field::Offload,
            |asked, _| asked.plan().offload.activations() && asked.plan().recompute != Recompute::None,
            "activations go to the host where nothing is computed again",
        ),
        Deviation::unsaid(Field::HostPinned, |asked, _| {
            !asked.plan().offload.optimizer() && asked.value(Field::HostPinned).is_some()
        }),
        Deviation::instead_of(
            Field::Recompute,
            |asked, _| layers_again(asked).is_some_and(|layers| (layers - layers.round()).abs() > 1e-9),
            |asked, _| {
                let whole = layers_again(asked).unwrap_or_default().round();
                format!("{whole} whole layers of each stage are computed again")
            },
        ),
        Deviation::unsaid(Field::Reshard, |asked, _| asked.value(Field::Reshard) == Some(&Value::Switch(false))),
        Deviation::instead(
            Field::TensorOverlap,
            |asked, _| asked.plan().tensor_overlap && !asked.job.stack.sequence_parallel,
            "its collectives overlap where sequences are split over tensor ranks",
        ),
    ],
};

/// Parts of a model that take further arguments than are written.
fn takes_more(model: &Model) -> impl Iterator<Item = (bool, &'static str)> {
    let parts = [
        (model.window.is_some(), "the window of its attention"),
        (model.delta_net.is_some_and(|net| net.full_last || net.gate_rank.is_some()), "its delta nets"),
        (model.value_head.is_some(), "its heads of values, of a size of their own"),
        (model.biases.is_some_and(|biases| biases != QKV_BIASES), "its own set of biases"),
        (model.norms != 2, "its norms per layer"),
        (model.qk_norm == QkNorm::Width, "its norm over all heads"),
    ];
    parts.into_iter()
}

/// The formats of the two ways that may be in 8 bits; `None` where others are asked for.
fn ways(DispatchFormats { dispatch, combine }: DispatchFormats) -> Option<[Format; 2]> {
    let ways = [dispatch.forward, combine.backward];
    let known = ways.iter().all(|way| matches!(way, Format::Bf16 | Format::Fp8));
    (known && [dispatch.backward, combine.forward] == [Format::Bf16; 2]).then_some(ways)
}

/// Layers of each stage that a share of all computes again: half of 32 layers in 2 x 2 stages are the first 4 of each.
fn layers_again(asked: &AskedPlan<'_>) -> Option<f64> {
    let Recompute::Share(share) = asked.plan().recompute else { return None };
    Some(share * f64::from(asked.job.model.layers) / f64::from(asked.stages()))
}

/// The longest sequence, or the rows of the table of learned positions.
fn positions(asked: &AskedPlan<'_>) -> u32 {
    let model = &asked.job.model;
    match model.positions {
        Positions::Learned => model.position_rows.unwrap_or(model.sequence),
        Positions::Computed => asked.plan().sequence,
    }
}

/// The lines of its arguments, and what its environment needs.
pub fn script(writer: &mut PlanWriter) -> (Vec<Line>, &'static str) {
    let mut lines = of_model(&writer.scenario.model);
    lines.extend(writer.lines(KEYS));
    lines.retain(|line| line.name != "cpu_optimizer" && (line.name != ON_HOST || line.value == true));
    if writer.plan().offload == Offload::Optimizer || writer.value(Field::Moments).is_some() {
        lines.push(Line::new("use_precision_aware_optimizer", true));
    }
    // Where nothing is said the program has as many as tensor ranks, whatever the stack of the plan has.
    let (own, said) = (writer.layout.expert_tensor, writer.value(Field::ExpertTensor).is_some());
    lines.extend((own != writer.layout.tensor && !said).then(|| Line::new("expert_tensor_parallel_size", own)));
    write_activations(&mut lines, writer);
    if writer.plan().offload.optimizer() && writer.say(Field::HostPinned).is_some() {
        lines.extend(["no_pin_cpu_grads", "no_pin_cpu_params"].map(|off| Line::new(off, true)));
    }
    lines.extend(writer.line(GLOBAL, Field::GlobalBatch));
    writer.say(Field::Accumulate);
    let sequence = writer.plan().sequence;
    lines.push(Line::new("max_position_embeddings", positions(writer.asked).max(sequence)));
    if writer.layout.tensor > 1 && writer.scenario.stack.sequence_parallel {
        lines.push(Line::new("sequence_parallel", true));
    }
    write_precision(&mut lines, writer);
    write_graphs(&mut lines, writer);
    write_capacity(&mut lines, writer);
    write_dispatch(&mut lines, writer);
    write_pipeline(&mut lines, writer);
    write_recompute(&mut lines, writer);
    if let Some(tokens) = writer.plan().length() {
        let samples = (tokens / f64::from(writer.plan().sequence)).ceil();
        lines.push(Line::new("train_samples", samples as u64));
    }
    let fsdp = write_sharding(&mut lines, writer);
    let meshed = writer.layout.tensor * writer.layout.context > 1;
    let environment = match (fsdp, meshed) {
        (true, _) => "unset CUDA_DEVICE_MAX_CONNECTIONS  # FSDP overlaps on several connections\n",
        (false, true) => "export CUDA_DEVICE_MAX_CONNECTIONS=1  # tensor and context parallelism need it\n",
        (false, false) => "",
    };
    writer.say(Field::Devices);
    if writer.scenario.model.experts.is_some() {
        writer.elsewhere.push(ROUTER.to_owned());
    }
    (lines, environment)
}

/// The script: a list that the user's command takes.
pub fn text(head: &Head, lines: &[Line], environment: &'static str, ranks: &Ranks) -> Result<FileText, String> {
    let dashed = |line: &Line| Line { name: line.name.replace('_', "-"), ..line.clone() };
    let program = if lines.iter().any(|line| line.name == PATTERN) { "pretrain_hybrid.py" } else { "pretrain_gpt.py" };
    let lines: Vec<Line> = lines.iter().map(dashed).collect();
    let script = ShellCode::default().comments(head.lines()).code(environment);
    let script = script.code("WORLD_SIZE=").word(ranks.devices).code("  # nodes x devices of each\nMEGATRON_ARGS=(");
    FileText::shell(
        options(script, "\n   ", &lines).code("\n)\n").code(RUN).code(program).code(" \"${MEGATRON_ARGS[@]}\" ...\n"),
    )
}

/// What no plan says of a router, since it changes neither size nor time.
const ROUTER: &str = "how the router scores and balances: --moe-router-score-function, --moe-router-load-balancing-type, \
                      --moe-router-enable-expert-bias, --moe-router-bias-update-rate";

const RUN: &str = "# torchrun --nnodes NODES --nproc-per-node DEVICES ";

/// What each layer is, where they are one thing each.
const PATTERN: &str = "hybrid_layer_pattern";

fn of_model(model: &Model) -> Vec<Line> {
    let mut lines: Vec<Line> = [
        ("num_layers", model.layers),
        ("hidden_size", model.hidden),
        ("ffn_hidden_size", model.ffn_hidden),
        ("num_attention_heads", model.heads),
        ("kv_channels", model.head_size),
        ("vocab_size", model.vocab),
        // The vocabulary is filled up already.
        ("make_vocab_size_divisible_by", 1),
    ]
    .map(|(name, count)| Line::new(name, count))
    .into();
    // Heads of compressed attention have sizes of their own.
    lines.retain(|line| model.latent.is_none() || line.name != "kv_channels");
    let rms = model.norm == Norm::RmsNorm;
    let computed = model.positions == Positions::Computed;
    lines.push(Line::new("normalization", if rms { "RMSNorm" } else { "LayerNorm" }));
    lines.push(Line::new("position_embedding_type", if computed { "rope" } else { "learned_absolute" }));
    for (on, name) in [
        (model.kv_heads != model.heads, "group_query_attention"),
        (model.gated, "swiglu"),
        (!model.tied, "untie_embeddings_and_output_weights"),
        (!model.bias, "disable_bias_linear"),
        (model.qk_norm == QkNorm::Head || model.latent.is_some(), "qk_layernorm"),
        (model.output_gate, OUTPUT_GATE),
        (model.biases == Some(QKV_BIASES), QKV_BIAS),
    ] {
        lines.extend(on.then(|| Line::new(name, true)));
    }
    if model.kv_heads != model.heads {
        lines.push(Line::new("num_query_groups", model.kv_heads));
    }
    lines.extend(parts::lines(model));
    if let Some(pattern) = &model.pattern {
        lines.retain(|line| line.name != "num_layers");
        lines.push(Line::new(PATTERN, letters(pattern, model.layers)));
        lines.extend(mamba(model));
        // Its MLPs have no gate, and squared ReLUs.
        lines.extend((!model.gated).then(|| Line::new("squared_relu", true)));
    }
    lines
}

/// A letter for each layer.
fn letters(pattern: &LayerPattern, layers: u32) -> String {
    String::from(pattern.clone()).chars().cycle().take(layers as usize).collect()
}

/// The state space of layers that have one.
fn mamba(model: &Model) -> Vec<Line> {
    let counts = |Mamba { heads, head, state, groups, .. }| {
        [("mamba_num_heads", heads), ("mamba_head_dim", head), ("mamba_state_dim", state), ("mamba_num_groups", groups)]
    };
    model.mamba.map(counts).into_iter().flatten().map(|(name, count)| Line::new(name, count)).collect()
}

fn write_precision(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let precision = writer.plan().precision;
    if precision != Precision::Fp32 {
        lines.push(Line::new(precision.storage().word(), true));
    }
    let recipe = RECIPES.iter().find(|(_, own)| *own == precision).map(|(word, _)| *word);
    match precision {
        Precision::Nvfp4 => lines.push(Line::new("fp4_format", "e2m1")),
        // Blocks hold gradients in the format of the other factors too.
        Precision::Fp8Block | Precision::Mxfp8 => lines.push(Line::new("fp8_format", "e4m3")),
        precision if precision.is_low() => lines.push(Line::new("fp8_format", "hybrid")),
        _ => {}
    }
    lines.extend(recipe.map(|word| Line::new(RECIPE, word)));
    if let Some(format) = writer.plan().gradients {
        let name = if format == GradientFormat::Bf16 { GRADIENTS_BF16 } else { GRADIENTS_FP32 };
        lines.push(Line::new(name, true));
        writer.say(Field::GradientFormat);
    }
    writer.say(Field::Precision);
}

fn write_capacity(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    if let Capacity::Factor(factor) = writer.plan().experts.capacity {
        lines.extend([Line::new(CAPACITY, factor.to_string()), Line::new(CAPACITY_FILLED, true)]);
    }
    writer.say(Field::Capacity);
}

/// The library of exchanges where experts are divided, and the two ways that may be in 8 bits.
fn write_dispatch(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let experts = writer.plan().experts;
    let library = experts.dispatcher;
    match library {
        Dispatcher::AllToAll if experts.ranks == 1 => {}
        Dispatcher::AllToAll => lines.push(Line::new(DISPATCHER, library.word())),
        library => {
            lines.extend([Line::new(DISPATCHER, FLEXIBLE), Line::new(DISPATCHER_BACKEND, library.word())]);
        }
    }
    writer.say(Field::Dispatcher);
    let Some(ways) = experts.formats.and_then(ways) else { return };
    let word = |format: Format| if format == Format::Fp8 { NARROW } else { format.word() };
    lines.extend([DISPATCHED, COMBINED_BACK].into_iter().zip(ways).map(|(name, way)| Line::new(name, word(way))));
    writer.say(Field::DispatchFormat);
}

fn write_graphs(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    match writer.plan().cuda_graphs {
        CudaGraphs::None => {}
        CudaGraphs::Layer => lines.push(Line::new("cuda_graph_impl", "transformer_engine")),
        CudaGraphs::Full => {
            lines.extend([Line::new("cuda_graph_impl", "local"), Line::new("cuda_graph_scope", WHOLE_GRAPH)]);
        }
    }
    writer.say(Field::CudaGraphs);
}

fn write_pipeline(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    lines.extend(writer.line("num_virtual_stages_per_pipeline_rank", Field::StagesPerRank));
    writer.say(Field::Schedule);
    if let StageSizes::Layers(layers) = &writer.plan().stage_layers {
        lines.push(Line::new(LAYOUT, write_layout(layers)));
    }
    writer.say(Field::StageLayers);
}

/// Activations on the host, of all layers but the last: more are refused, as is recompute beside them.
fn write_activations(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    if !writer.plan().offload.activations() {
        return;
    }
    writer.say(Field::Offload);
    lines.push(Line::new(LAYERS_ON_HOST, writer.scenario.model.layers.saturating_sub(1)));
}

fn write_recompute(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    writer.say(Field::Recompute);
    let (granularity, method) = match writer.plan().recompute {
        Recompute::None => return,
        Recompute::Selective => ("selective", None),
        Recompute::Full => ("full", Some(("uniform", 1))),
        Recompute::Share(_) => {
            let whole = layers_again(writer.asked).unwrap_or_default().round();
            if whole < 1.0 {
                return;
            }
            ("full", Some(("block", whole as u64)))
        }
    };
    lines.push(Line::new("recompute_granularity", granularity));
    let modules = writer.plan().repeated_modules();
    if !modules.is_of_stack() {
        writer.say(Field::RecomputeModules);
        lines.push(Line::new(MODULES, modules.iter().map(Module::word).collect::<Vec<_>>()));
    }
    if let Some((method, layers)) = method {
        lines.push(Line::new("recompute_method", method));
        lines.push(Line::new("recompute_num_layers", layers));
    }
}

/// Says whether it is FSDP.
fn write_sharding(lines: &mut Vec<Line>, writer: &mut PlanWriter) -> bool {
    let Shards { first, copies, .. } = writer.asked.shards();
    if first.is_none() {
        return false;
    }
    lines.push(Line::new("use_distributed_optimizer", true));
    if copies > 1 {
        lines.push(Line::new(COPIES, copies));
    }
    if writer.value(Field::Reshard) == Some(&Value::Switch(true)) {
        writer.say(Field::Reshard);
    }
    let fsdp = first != Some(Sharded::Optimizer);
    if fsdp {
        let word = SHARDED.iter().find(|(.., own)| *own == first).map_or("no_shard", |(word, ..)| word);
        lines.extend([
            Line::new("use_megatron_fsdp", true),
            Line::new("data_parallel_sharding_strategy", word),
            Line::new("no_gradient_accumulation_fusion", true),
            Line::new("ckpt_format", "fsdp_dtensor"),
        ]);
    }
    fsdp
}
