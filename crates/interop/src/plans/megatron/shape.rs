//! The model that Megatron-LM's arguments describe, in both directions.
//!
//! Does not read the plan.

use std::path::Path;

use shardscope_engine::model::{LayerPattern, Mamba, Model, Norm, Positions, QkNorm};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::Field;
use shardscope_engine::text::printable;

use super::super::deviation::Deviation;
use super::super::draft::PlanDraft;
use super::super::settings::ToolSettings;
use super::super::table::{self, OFF, ToolKey, only};
use super::super::writer::Line;
use super::attention;
use super::on;
use super::parts::{self, CONFIG, Count, count};

/// Arguments of models that this format cannot express.
const KEYS: &[ToolKey] = &[
    only("hybrid_attention_ratio", OFF, "write the layers with --hybrid-layer-pattern"),
    only("hybrid_mlp_ratio", OFF, "write the layers with --hybrid-layer-pattern"),
    only("spec", OFF, "its layers are code: name the model with --model"),
];

/// A hybrid model's argument with a letter for each layer.
pub(super) const PATTERN: &str = "hybrid_layer_pattern";

/// Sizes of Mamba layers, which have defaults.
const MAMBA: [Count<Mamba>; 4] = [
    ("mamba_head_dim", "mamba.head", |mamba| &mut mamba.head),
    ("mamba_num_heads", "mamba.heads", |mamba| &mut mamba.heads),
    ("mamba_state_dim", "mamba.state", |mamba| &mut mamba.state),
    ("mamba_num_groups", "mamba.groups", |mamba| &mut mamba.groups),
];

/// Models that Megatron-LM's arguments express only in part.
pub(super) const LOST: [Deviation; 2] = [
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
];

/// Vocabularies of tokenizers that have a fixed one.
const TOKENIZERS: [(&str, u32); 3] =
    [("GPT2BPETokenizer", 50_257), ("Llama2Tokenizer", 32_000), ("BertWordPieceLowerCase", 30_522)];

/// Reads the model, unless the user names one.
pub fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if draft.is_given(Field::Model) {
        let names = NAMES.split(' ').chain(MAMBA.map(|(name, ..)| name)).chain(parts::names()).chain(attention::NAMES);
        for name in names.chain(KEYS.iter().map(|key| key.name)) {
            if let Some(setting) = settings.take(name) {
                draft.report.ignore(&setting.place, "--model says it");
            }
        }
        return;
    }
    table::read(KEYS, settings, draft);
    match shape(settings, draft) {
        Ok(model) => draft.model = Some(model),
        Err(error) => draft.errors.push(error),
    }
}

/// Arguments that are read here.
const NAMES: &str = "num_layers hidden_size num_attention_heads ffn_hidden_size kv_channels group_query_attention \
    num_query_groups swiglu glu_activation normalization position_embedding_type \
    untie_embeddings_and_output_weights padded_vocab_size vocab_size attention_output_gate \
    use_rotary_position_embeddings qk_layernorm max_position_embeddings hybrid_layer_pattern hybrid_override_pattern \
    is_hybrid_model squared_relu make_vocab_size_divisible_by no_position_embedding quick_geglu enable_gpt_oss \
    glu_linear_offset activation_func_clamp_value original_max_position_embeddings model_type activation_func";

/// Gates the output of attention.
const OUTPUT_GATE: &str = "attention_output_gate";
/// Clamps the activation function's input.
const LIMIT: &str = "activation_func_clamp_value";
/// Adds an offset to the linear half of a GLU, which changes neither size nor time.
const OFFSET: &str = "glu_linear_offset";

fn shape(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Result<Model, Problem> {
    let file = settings.file.clone();
    let mut count = |name: &str, field: &str| count(settings, draft, name, field);
    let missing = |name: &str| Problem::new(&file, format!("no --{name}, so the model is not known"), CONFIG);
    let layers = count("num_layers", "layers")?;
    let hidden = count("hidden_size", "hidden")?.ok_or_else(|| missing("hidden-size"))?;
    let heads = count("num_attention_heads", "heads")?.ok_or_else(|| missing("num-attention-heads"))?;
    let groups = count("num_query_groups", "kv_heads")?;
    let ffn = count("ffn_hidden_size", "ffn_hidden")?;
    let head = count("kv_channels", "head_size")?;
    let rows = count("max_position_embeddings", "position_rows")?;
    let padded = count("padded_vocab_size", "vocab")?;
    let mamba = mamba(settings, draft, hidden)?;
    let pattern = pattern(settings, draft)?;
    // The pattern's length overrides `num_layers`.
    let layers = pattern.as_ref().map(LayerPattern::layers).or(layers).ok_or_else(|| missing("num-layers"))?;
    let experts = parts::experts(settings, draft, layers)?;
    let latent = parts::latent(settings, draft)?;
    let (indexer, delta_net) = parts::variant(settings, draft)?;
    let (latent, head) = latent.map_or((None, head), |(latent, head)| (Some(latent), Some(head)));
    let [swiglu, other, quick] = ["swiglu", "glu_activation", "quick_geglu"].map(|name| on(settings, name));
    let gated = swiglu.or(other).or(quick);
    let grouped = on(settings, "group_query_attention").is_some();
    let rotary = on(settings, "use_rotary_position_embeddings").is_some();
    let per_head = on(settings, "qk_layernorm").is_some();
    // Older switches: rotary positions have no position table.
    let none = on(settings, "no_position_embedding").is_some();
    let learned =
        !rotary && !none && settings.take("position_embedding_type").is_none_or(|it| it.text == "learned_absolute");
    let rms = settings.take("normalization").is_some_and(|it| it.text == "RMSNorm");
    let (bias, biases) = attention::biases(settings, experts.is_some());
    let window = attention::window(settings, draft, layers)?;
    let tied = on(settings, "untie_embeddings_and_output_weights").is_none();
    let vocab = match padded {
        Some(padded) => padded,
        None => padded_vocabulary(settings, draft)?,
    };
    let sequence = draft.count(Field::Sequence).unwrap_or(2048);
    let positions = if learned { Positions::Learned } else { Positions::Computed };
    let model = Model {
        name: format!("model of {}", stem(&file)),
        source: format!("imported from {file} (Megatron-LM arguments)"),
        kv_heads: groups.filter(|_| grouped && latent.is_none()).unwrap_or(heads),
        head_size: head.unwrap_or_else(|| (hidden / heads).max(1)),
        // With a gate, Megatron-LM's default keeps the parameter count of two matrices of 4 x hidden.
        ffn_hidden: ffn.unwrap_or(if gated.is_some() { (4 * hidden * 2 / 3) / 64 * 64 } else { 4 * hidden }),
        gated: gated.is_some(),
        activation_limit: limit(settings)?,
        vocab,
        tied,
        positions,
        position_rows: rows.filter(|rows| learned && *rows != sequence),
        norm: if rms { Norm::RmsNorm } else { Norm::LayerNorm },
        // Latent attention includes its norms.
        qk_norm: if per_head && latent.is_none() { QkNorm::Head } else { QkNorm::None },
        bias,
        sequence,
        mamba: Some(mamba).filter(|_| pattern.as_ref().is_some_and(LayerPattern::has_recurrence)),
        pattern,
        biases,
        latent,
        indexer,
        output_gate: on(settings, OUTPUT_GATE).is_some(),
        window,
        delta_net,
        experts,
        ..Model::dense(layers, hidden, heads)
    };
    match model.problems().into_iter().next() {
        Some(Problem { field, what: must, .. }) => {
            Err(Problem::new(&file, format!("its model's {field} {must}"), CONFIG))
        }
        None => Ok(model),
    }
}

/// The layers of a hybrid model: `M`, `*`, `-` and `E` as in `megatron/core/models/hybrid/hybrid_layer_allocation.py`,
/// which also has letters of other mixers, stages between `|` and layers for further tokens after `/`.
fn pattern(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Result<Option<LayerPattern>, Problem> {
    // Implied by the pattern, or an activation function, which has no parameters.
    for name in ["is_hybrid_model", "squared_relu"] {
        on(settings, name);
    }
    let [new, old] = [PATTERN, "hybrid_override_pattern"].map(|name| on(settings, name));
    let Some(setting) = new.or(old) else { return Ok(None) };
    let refuse = |what: String, fix: &str| Problem::new(&setting.place, what, fix);
    for (sign, what, fix) in [
        ('|', "the stages of a pipeline", "write the layers alone, and stages with --stage-layers"),
        ('/', "layers that predict further tokens", "write the layers alone; --mtp-layers says how many there are"),
    ] {
        if setting.text.contains(sign) {
            return Err(refuse(format!("'{}' has {what} behind '{sign}'", setting.text), fix));
        }
    }
    let pattern = LayerPattern::try_from(setting.text.clone()).map_err(|what| refuse(what, CONFIG))?;
    draft.report.take("model.pattern", &setting.text, &setting.place);
    Ok(Some(pattern))
}

/// Mamba layers of `MambaMixer`, with convolutions over 4 tokens and chunks of 128 (`megatron/core/ssm/mamba_mixer.py`;
/// the defaults are those of `transformer_config.py`).
fn mamba(settings: &mut ToolSettings, draft: &mut PlanDraft, hidden: u32) -> Result<Mamba, Problem> {
    let mut mamba = Mamba { heads: 0, head: 64, state: 128, groups: 8, conv: MAMBA_CONV, chunk: MAMBA_CHUNK };
    for (name, field, of) in MAMBA {
        if let Some(size) = count(settings, draft, name, field)? {
            *of(&mut mamba) = size;
        }
    }
    let heads = if mamba.heads == 0 { 2 * hidden / mamba.head } else { mamba.heads };
    Ok(Mamba { heads, ..mamba })
}

/// Tokens in a Mamba layer's convolution; no argument sets it.
const MAMBA_CONV: u32 = 4;

/// Tokens in a chunk of Mamba's scan; no argument sets it.
const MAMBA_CHUNK: u32 = 128;

/// A file's name without folders and extension; it becomes the model's id.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Rows of the embedding: the vocabulary, padded to a multiple that tensor ranks divide evenly.
fn padded_vocabulary(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Result<u32, Problem> {
    let vocab = count(settings, draft, "vocab_size", "vocab")?;
    let multiple =
        settings.take("make_vocab_size_divisible_by").and_then(|it| it.text.parse::<u32>().ok()).unwrap_or(128);
    let step = multiple.max(1).saturating_mul(draft.ranks(Field::Tensor));
    let tokenizer = settings.text("tokenizer_type").unwrap_or_default().to_owned();
    let known = TOKENIZERS.iter().find(|(name, _)| *name == tokenizer).map(|(_, size)| *size);
    let Some(size) = vocab.or(known) else {
        let what = match tokenizer.as_str() {
            "" => "neither --vocab-size nor --tokenizer-type is there, so the size of the vocabulary is not known"
                .to_owned(),
            name => format!("no --vocab-size, and --tokenizer-type {name} does not say how large the vocabulary is"),
        };
        return Err(Problem::new(&settings.file, what, CONFIG));
    };
    let rows = size.div_ceil(step).saturating_mul(step);
    if vocab.is_none() {
        let why = format!(
            "{size} is what {tokenizer} usually has, filled up to a multiple of {step}; --model says otherwise"
        );
        draft.report.assume("model.vocab", rows, why);
    }
    Ok(rows)
}

/// The arguments of a model.
pub(super) fn lines(model: &Model) -> Vec<Line> {
    let mut lines: Vec<Line> = [
        ("num_layers", model.layers),
        ("hidden_size", model.hidden),
        ("ffn_hidden_size", model.ffn_hidden),
        ("num_attention_heads", model.heads),
        ("kv_channels", model.head_size),
        ("vocab_size", model.vocab),
        // The vocabulary is padded already.
        ("make_vocab_size_divisible_by", 1),
    ]
    .map(|(name, count)| Line::new(name, count))
    .into();
    // Heads of latent attention have their own sizes.
    lines.retain(|line| model.latent.is_none() || line.name != "kv_channels");
    let rms = model.norm == Norm::RmsNorm;
    let computed = model.positions == Positions::Computed;
    lines.push(Line::new("normalization", if rms { "RMSNorm" } else { "LayerNorm" }));
    lines.push(Line::new("position_embedding_type", if computed { "rope" } else { "learned_absolute" }));
    for (on, name) in [
        (model.kv_heads != model.heads, "group_query_attention"),
        (model.gated, "swiglu"),
        (!model.tied, "untie_embeddings_and_output_weights"),
        (model.qk_norm == QkNorm::Head || model.latent.is_some(), "qk_layernorm"),
        (model.output_gate, OUTPUT_GATE),
    ] {
        lines.extend(on.then(|| Line::new(name, true)));
    }
    lines.extend(model.activation_limit.map(|limit| Line::new(LIMIT, limit)));
    lines.extend(attention::lines(model));
    if model.kv_heads != model.heads {
        lines.push(Line::new("num_query_groups", model.kv_heads));
    }
    lines.extend(parts::lines(model));
    if let Some(pattern) = &model.pattern {
        lines.retain(|line| line.name != "num_layers");
        lines.push(Line::new(PATTERN, letters(pattern, model.layers)));
        if let Some(mut mamba) = model.mamba {
            lines.extend(MAMBA.map(|(name, _, of)| Line::new(name, *of(&mut mamba))));
        }
        // A hybrid's ungated MLPs have squared ReLUs.
        lines.extend((!model.gated).then(|| Line::new("squared_relu", true)));
    }
    lines
}

/// Clamp on the activation function's input.
fn limit(settings: &mut ToolSettings) -> Result<Option<f64>, Problem> {
    on(settings, OFFSET);
    let Some(limit) = on(settings, LIMIT) else { return Ok(None) };
    match limit.text.parse() {
        Ok(bound) => Ok(Some(bound)),
        Err(_) => Err(Problem::new(&limit.place, format!("'{}' is no number", printable(&limit.text)), CONFIG)),
    }
}

/// The pattern, with a letter for each layer.
fn letters(pattern: &LayerPattern, layers: u32) -> String {
    String::from(pattern.clone()).chars().cycle().take(layers as usize).collect()
}

/// Parts of a model that need more arguments than are written.
fn takes_more(model: &Model) -> impl Iterator<Item = (bool, &'static str)> {
    let parts = [
        (model.delta_net.is_some_and(|net| net.full_last || net.gate_rank.is_some()), "its delta nets"),
        (model.value_head.is_some(), "its heads of values, of a size of their own"),
        (model.norms != 2, "its norms per layer"),
        (model.qk_norm == QkNorm::Width, "its norm over all heads"),
    ];
    attention::takes_more(model).into_iter().chain(parts)
}
