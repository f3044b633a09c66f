//! A plan as arguments of Megatron-LM: a list in a shell script, with what its environment needs.

use crate::FileText;
use crate::megatron::{RECIPE, RECIPES, SHARDED};
use shardscope_engine::model::{LayerPattern, Mamba, Model, Norm, Positions, QkNorm};
use shardscope_engine::plan::{
    Capacity, CudaGraphs, DispatchFormats, Dispatcher, Format, GradientFormat, Module, Offload, Precision, Recompute,
    Sharded,
};
use shardscope_engine::scenario::{Field, Value};
use shardscope_library::text::shell::ShellCode;

use super::super::table;
use super::super::writer::{Line, PlanWriter, Shards};
use super::super::written::{Head, Ranks, options};
use super::shape::{MAMBA_CHUNK, MAMBA_CONV};
use super::{
    CAPACITY, CAPACITY_FILLED, COMBINED_BACK, COPIES, DISPATCHED, DISPATCHER, DISPATCHER_BACKEND, FLEXIBLE, GLOBAL,
    GRADIENTS_BF16, GRADIENTS_FP32, KEYS, LAYERS_ON_HOST, MODULES, NARROW, ON_HOST, WHOLE_GRAPH,
};

/// The version that [`script`] is for.
pub(crate) const VERSIONS: &[&str] = &["0.20"];

/// The lines of its arguments, and what its environment needs.
pub fn script(writer: &mut PlanWriter) -> (Vec<Line>, &'static str) {
    let mut lines = of_model(&writer.scenario.model, writer);
    lines.extend(table::write(KEYS, writer));
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
    lines.push(positions(&writer.scenario.model, writer));
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

const RUN: &str = "# torchrun --nnodes NODES --nproc-per-node DEVICES ";

/// What each layer is, where they are one thing each.
const PATTERN: &str = "hybrid_layer_pattern";

fn of_model(model: &Model, writer: &mut PlanWriter) -> Vec<Line> {
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
    let rms = model.norm == Norm::RmsNorm;
    let computed = model.positions == Positions::Computed;
    lines.push(Line::new("normalization", if rms { "RMSNorm" } else { "LayerNorm" }));
    lines.push(Line::new("position_embedding_type", if computed { "rope" } else { "learned_absolute" }));
    for (on, name) in [
        (model.kv_heads != model.heads, "group_query_attention"),
        (model.gated, "swiglu"),
        (!model.tied, "untie_embeddings_and_output_weights"),
        (!model.bias, "disable_bias_linear"),
        (model.qk_norm == QkNorm::Head, "qk_layernorm"),
    ] {
        lines.extend(on.then(|| Line::new(name, true)));
    }
    if model.kv_heads != model.heads {
        lines.push(Line::new("num_query_groups", model.kv_heads));
    }
    if let Some(experts) = model.experts {
        let width = experts.ffn_hidden.unwrap_or(model.ffn_hidden);
        for (name, count) in
            [("num_experts", experts.count), ("moe_router_topk", experts.active), ("moe_ffn_hidden_size", width)]
        {
            lines.push(Line::new(name, count));
        }
    }
    let alone = model.pattern.is_some();
    if let Some(pattern) = &model.pattern {
        lines.retain(|line| line.name != "num_layers");
        lines.push(Line::new(PATTERN, letters(pattern, model.layers)));
        write_mamba(model, &mut lines, writer);
        for (name, count) in model.experts.into_iter().flat_map(|experts| {
            [("moe_shared_expert_intermediate_size", experts.shared_ffn), ("moe_latent_size", experts.latent)]
        }) {
            lines.extend(count.map(|count| Line::new(name, count)));
        }
        // Its MLPs have no gate, and squared ReLUs.
        lines.extend((!model.gated).then(|| Line::new("squared_relu", true)));
    }
    let own = [
        (model.latent.is_some(), "its attention's compressed keys and values"),
        (model.window.is_some(), "the window of its attention"),
        (model.delta_net.is_some(), "its gated delta nets (--experimental-attention-variant gated_delta_net)"),
        (model.indexer.is_some(), "its sparse attention (--experimental-attention-variant dsa)"),
        (
            !alone && model.experts.is_some_and(|experts| experts.latent.is_some()),
            "its experts' narrower tokens (--moe-latent-size)",
        ),
        (model.output_gate, "the gate of its attention's output"),
        (model.value_head.is_some(), "its heads of values, of a size of their own"),
        (model.biases.is_some(), "its own set of biases"),
        (model.norms != 2, "its norms per layer"),
        (model.qk_norm == QkNorm::Width, "its norm over all heads"),
        (
            !alone
                && model
                    .experts
                    .is_some_and(|it| it.shared_ffn.is_some() || it.dense_layers.is_some() || it.every.is_some()),
            "its shared experts and dense layers",
        ),
    ];
    for (_, what) in own.into_iter().filter(|(there, _)| *there) {
        writer.notes.push(format!("model {}: {what} take further arguments", model.id));
    }
    lines
}

/// A letter for each layer.
fn letters(pattern: &LayerPattern, layers: u32) -> String {
    String::from(pattern.clone()).chars().cycle().take(layers as usize).collect()
}

/// The state space of layers that have one.
fn write_mamba(model: &Model, lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let Some(Mamba { heads, head, state, groups, conv, chunk }) = model.mamba else { return };
    for (name, count) in
        [("mamba_num_heads", heads), ("mamba_head_dim", head), ("mamba_state_dim", state), ("mamba_num_groups", groups)]
    {
        lines.push(Line::new(name, count));
    }
    if (conv, chunk) != (MAMBA_CONV, MAMBA_CHUNK) {
        writer.notes.push(format!(
            "model {}: MambaMixer takes convolutions of {MAMBA_CONV} tokens and chunks of {MAMBA_CHUNK}, not {conv} and {chunk}",
            model.id
        ));
    }
}

/// The longest sequence, or the rows of the table of learned positions.
fn positions(model: &Model, writer: &mut PlanWriter) -> Line {
    let sequence = writer.plan().sequence;
    let rows = match model.positions {
        Positions::Learned => model.position_rows.unwrap_or(model.sequence),
        Positions::Computed => sequence,
    };
    if rows < sequence {
        writer.notes.push(format!("sequence {sequence}: the model's table has {rows} positions, and gets more"));
    }
    Line::new("max_position_embeddings", rows.max(sequence))
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
    let Some(formats) = experts.formats else { return };
    let DispatchFormats { dispatch, combine } = formats;
    let known = [dispatch.forward, combine.backward].iter().all(|way| matches!(way, Format::Bf16 | Format::Fp8));
    if known && [dispatch.backward, combine.forward] == [Format::Bf16; 2] {
        let word = |format: Format| if format == Format::Fp8 { NARROW } else { format.word() };
        let ways = [(DISPATCHED, dispatch.forward), (COMBINED_BACK, combine.backward)];
        lines.extend(ways.map(|(name, format)| Line::new(name, word(format))));
        writer.say(Field::DispatchFormat);
    }
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
    match writer.value(Field::Schedule) {
        None => {}
        Some(_) if writer.plan().schedule.rules().alternates => drop(writer.say(Field::Schedule)),
        Some(_) => writer.note(Field::Schedule, "Megatron-LM runs 1f1b, or interleaved with several stages on a rank"),
    }
}

/// Activations on the host, of all layers but the last: more are refused, as is recompute beside them.
fn write_activations(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    if !writer.plan().offload.activations() {
        return;
    }
    if writer.plan().recompute == Recompute::None {
        writer.say(Field::Offload);
    } else {
        writer.note(Field::Offload, "activations go to the host where nothing is computed again");
    }
    lines.push(Line::new(LAYERS_ON_HOST, writer.scenario.model.layers.saturating_sub(1)));
}

fn write_recompute(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let layers = writer.scenario.model.layers;
    let stages = writer.stages();
    let (granularity, method) = match writer.plan().recompute {
        Recompute::None => return drop(writer.say(Field::Recompute)),
        Recompute::Selective => ("selective", None),
        Recompute::Full => ("full", Some(("uniform", 1))),
        Recompute::Share(share) => {
            // Half of 32 layers in 2 x 2 stages: the first 4 layers of each.
            let of_stage = share * f64::from(layers) / f64::from(stages);
            let whole = of_stage.round();
            if (of_stage - whole).abs() > 1e-9 {
                writer.note(Field::Recompute, &format!("{whole} whole layers of each stage are computed again"));
            }
            if whole < 1.0 {
                return drop(writer.say(Field::Recompute));
            }
            ("full", Some(("block", whole as u64)))
        }
    };
    writer.say(Field::Recompute);
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
    let Shards { first, copies, .. } = writer.shards();
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
