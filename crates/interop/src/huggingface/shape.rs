//! Builds a model's shape from a configuration's keys.

use shardscope_engine::model::{Biases, Indexer, LatentAttention, Model, Positions, QkNorm};
use shardscope_engine::text;

use super::family::{DeltaNetRule, Family, KvHeads, Norms, Presence, QkNormRule, Tied, WindowRule};
use super::keys::Keys;
use super::{ImportOptions, delta_net, experts, mamba, window};
use shardscope_engine::problem::Problem;

/// The longest sequence assumed: if the limit is longer, most of training used this length.
const USUAL_SEQUENCE: u32 = 4096;

/// Default sequence limit of the classes, except GPT-2's.
const NO_LIMIT: u32 = 2048;
const NO_LIMIT_GPT2: u32 = 1024;

/// The model of a configuration.
pub(super) fn model(keys: &mut Keys<'_>, family: &Family, options: ImportOptions<'_>) -> Result<Model, Problem> {
    let pattern = mamba::pattern(keys, family)?;
    let layers = match &pattern {
        Some(pattern) => pattern.layers(),
        None => keys.needed_or(family, "layers", &["num_hidden_layers", "n_layer", "n_layers", "num_layers"])?,
    };
    let hidden = keys.needed_or(family, "hidden", &["hidden_size", "n_embd", "d_model"])?;
    let heads = keys.needed_or(family, "heads", &["num_attention_heads", "n_head", "n_heads"])?;
    let latent = latent(keys, family)?;
    let head_size = match latent {
        Some((_, head)) => head,
        None if matches!(family.window, WindowRule::Gemma4) => {
            keys.needed_or(family, "head_size", &["global_head_dim"])?
        }
        None => head_size(keys, family, hidden, heads)?,
    };
    let values_are_keys =
        matches!(family.window, WindowRule::Gemma4) && keys.switch_or("values_are_keys", "attention_k_eq_v", false)?;
    let kv_heads = match latent {
        Some(_) => heads,
        None if values_are_keys => keys.needed("kv_heads", &["num_global_key_value_heads"])?,
        None => kv_heads(keys, family, heads)?,
    };
    let value_head = match family.window {
        WindowRule::Mimo => keys.count("value_head", &["v_head_dim"])?.filter(|size| *size != head_size),
        _ => None,
    };
    let vocab = keys.needed_or(family, "vocab", &["vocab_size"])?;
    let (sequence, limit) = sequence(keys, family)?;
    // A learned position table has all its rows, however short the training sequences.
    let learned = learned(keys, family);
    let mut model = Model {
        name: name(keys, options),
        source: source(keys, options),
        kv_heads,
        head_size,
        value_head,
        values_are_keys,
        ffn_hidden: 0,
        gated: family.gated,
        activation_limit: family.activation_limit,
        vocab,
        tied: tied(keys, family)?,
        positions: if learned.is_some() { Positions::Learned } else { Positions::Computed },
        position_rows: learned.map(|more| limit + more).filter(|rows| *rows != sequence),
        norm: family.norm,
        norms: norms(keys, family)?,
        qk_norm: qk_norm(keys, family)?,
        sequence,
        latent: latent.map(|(latent, _)| latent),
        indexer: indexer(keys, family)?,
        output_gate: family.delta_net == DeltaNetRule::Gated
            && keys.switch_or("output_gate", "attn_output_gate", true)?,
        window: if family.delta_net == DeltaNetRule::None { window::read(keys, family, layers)? } else { None },
        delta_net: delta_net::read(keys, family, layers)?,
        mamba: mamba::read(keys, pattern.as_ref())?,
        pattern,
        ..Model::dense(layers, hidden, heads)
    };
    experts::put(keys, family, &mut model)?;
    put_biases(keys, family, &mut model)?;
    Ok(model)
}

/// The name from the user, the configuration or the file.
fn name(keys: &mut Keys<'_>, options: ImportOptions<'_>) -> String {
    let own = keys.value("_name_or_path").and_then(|value| value.as_str());
    let own = own.and_then(|name| name.trim_end_matches('/').rsplit('/').next()).filter(|name| !name.is_empty());
    let file = options.file.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
    text::name(options.name.or(own).unwrap_or(file))
}

fn source(keys: &Keys<'_>, options: ImportOptions<'_>) -> String {
    let written = keys.object.get("model_type").and_then(|value| value.as_str()).unwrap_or("none");
    let like = options.like.map_or_else(String::new, |like| format!(", read as {like}"));
    let file = options.file.rsplit('/').next().unwrap_or_default();
    format!("imported from {file} (HF config.json, model_type {written}{like})")
}

/// The training sequence length, and the limit.
fn sequence(keys: &mut Keys<'_>, family: &Family) -> Result<(u32, u32), Problem> {
    let mut limit = None;
    for name in ["max_position_embeddings", "n_positions", "max_seq_len"] {
        if let Some(value) = keys.value(name).filter(|_| limit.is_none()) {
            limit = Some((name, keys.number(name, value)?));
        }
    }
    let usual = if ["gpt2", "gpt_bigcode"].contains(&family.name.as_str()) { NO_LIMIT_GPT2 } else { NO_LIMIT };
    let (why, limit) = match limit {
        Some((name, limit)) => (format!("{} is the limit, {limit}", keys.place(name)), limit),
        None => (format!("no limit is said, and that of the class is {usual}"), usual),
    };
    let sequence = limit.min(USUAL_SEQUENCE);
    keys.report.assume("sequence", sequence, format!("{why}; --seq says what is trained"));
    Ok((sequence, limit))
}

fn head_size(keys: &mut Keys<'_>, family: &Family, hidden: u32, heads: u32) -> Result<u32, Problem> {
    if let Some(size) = keys.count("head_size", &["head_dim", "attention_head_dim"])? {
        return Ok(size);
    }
    if let Some(size) = family.head_size {
        keys.assume("head_size", size, "head_dim");
        return Ok(size);
    }
    if heads == 0 || !hidden.is_multiple_of(heads) {
        let what = format!("is absent, and {heads} heads do not divide a width of {hidden}");
        return Err(keys.error("head_dim", what, "add it"));
    }
    Ok(hidden / heads)
}

fn kv_heads(keys: &mut Keys<'_>, family: &Family, heads: u32) -> Result<u32, Problem> {
    const NAMES: [&str; 3] = ["num_key_value_heads", "num_kv_heads", "n_head_kv"];
    if let KvHeads::MultiQuery = family.kv_heads {
        let new = family.name == "falcon" && new_decoder(keys)?;
        if !new {
            // The class ignores other keys of KV heads.
            keys.skip(&NAMES);
            return Ok(if keys.switch_or("kv_heads of 1", "multi_query", true)? { 1 } else { heads });
        }
        keys.skip(&["multi_query"]);
        return Ok(keys.count("kv_heads", &NAMES)?.unwrap_or(heads));
    }
    if let Some(count) = keys.count("kv_heads", &NAMES)? {
        return Ok(count);
    }
    let KvHeads::Constant(count) = family.kv_heads else { return Ok(heads) };
    if count == 0 || !heads.is_multiple_of(count) {
        let what = format!("is absent, and the default of its class, {count}, does not divide the {heads} heads");
        return Err(keys.error(NAMES[0], what, "add it"));
    }
    keys.assume("kv_heads", count, NAMES[0]);
    Ok(count)
}

/// True for Falcon's later architecture (40B), which its first files tell by `model_type` alone.
fn new_decoder(keys: &mut Keys<'_>) -> Result<bool, Problem> {
    let first = keys.object.get("model_type").is_some_and(|name| name == "RefinedWeb");
    Ok(keys.switch("kv_heads", "new_decoder_architecture")?.unwrap_or(first))
}

/// Latent attention, and the size of a query head.
fn latent(keys: &mut Keys<'_>, family: &Family) -> Result<Option<(LatentAttention, u32)>, Problem> {
    /// Default query rank of DeepSeek-V2's and V3's classes.
    const QUERY: u32 = 1536;
    if !family.latent {
        return Ok(None);
    }
    let key_value = keys.needed("latent.key_value", &["kv_lora_rank"])?;
    // Null means none; absent means the class's default, as in the published files.
    let query = if keys.is_null("q_lora_rank") {
        keys.skip(&["q_lora_rank"]);
        keys.report.take("latent.query", "none", keys.inside.to_owned() + "q_lora_rank is null");
        None
    } else {
        let said = keys.count("latent.query", &["q_lora_rank"])?;
        if said.is_none() {
            let why = "q_lora_rank is absent: the default of its class in transformers; write null where queries are \
                       not compressed";
            keys.report.assume("latent.query", QUERY, why);
        }
        Some(said.unwrap_or(QUERY))
    };
    let plain = keys.needed("head_size without positions", &["qk_nope_head_dim"])?;
    let rotary = keys.needed("latent.rotary", &["qk_rope_head_dim"])?;
    let value_head = keys.needed("latent.value_head", &["v_head_dim"])?;
    // Each head has its own keys and values, whatever these keys say.
    keys.skip(&["num_key_value_heads", "head_dim", "qk_head_dim"]);
    let why = "the matrices that compress are split as the others are; most frameworks copy them to every rank";
    keys.report.assume("latent", "split over tensor ranks", why);
    Ok(Some((LatentAttention { query, key_value, rotary, value_head }, plain + rotary)))
}

/// The indexer, which selects the tokens that latent attention reads.
fn indexer(keys: &mut Keys<'_>, family: &Family) -> Result<Option<Indexer>, Problem> {
    if !family.indexer {
        return Ok(None);
    }
    let only = "only models whose layers each have an indexer can be imported";
    if keys.count("layers that share what an indexer chooses", &["index_topk_freq"])?.is_some_and(|every| every > 1) {
        let what = "is not 1: layers without an indexer of their own, which take what one before them chose";
        return Err(keys.error("index_topk_freq", what, only));
    }
    for key in ["indexer_types", "index_topk_pattern"] {
        let said = keys.value(key).map(ToString::to_string).unwrap_or_default();
        if said.contains("shared") || key == "index_topk_pattern" && said.contains('S') {
            return Err(keys.error(key, "has layers without an indexer of their own", only));
        }
    }
    Ok(Some(Indexer {
        heads: keys.needed("indexer.heads", &["index_n_heads"])?,
        head: keys.needed("indexer.head", &["index_head_dim"])?,
        top_k: keys.needed("indexer.top_k", &["index_topk"])?,
    }))
}

fn tied(keys: &mut Keys<'_>, family: &Family) -> Result<bool, Problem> {
    const KEY: &str = "tie_word_embeddings";
    match (keys.switch_of_all("tied", KEY)?, family.tied) {
        (Some(tied), _) => Ok(tied),
        (None, Tied::Said) => Err(keys.error(KEY, "is missing", "add it")),
        (None, usual) => {
            keys.assume("tied", usual == Tied::Yes, KEY);
            Ok(usual == Tied::Yes)
        }
    }
}

/// Suffixes of classes whose head is not a language model's.
const OTHER_HEADS: [&str; 5] =
    ["ForSequenceClassification", "ForTokenClassification", "ForRewardModel", "RewardModel", "Model"];

/// Notes for an embedder, a scorer or a classifier that its counts assume a language model's head. A wrapper of a
/// decoder may also be called a model (`InternVLChatModel`); its head is the decoder's.
pub(super) fn note_head(keys: &mut Keys<'_>) {
    let classes = keys.object.get("architectures").and_then(serde_json::Value::as_array).into_iter().flatten();
    let is_other = |class: &&str| OTHER_HEADS.iter().any(|end| class.ends_with(end)) && !class.ends_with("LMHeadModel");
    if let Some(class) = classes.filter_map(serde_json::Value::as_str).find(is_other) {
        let why =
            format!("architectures is {class}: the counts have logits over the vocabulary in place of its own head");
        keys.report.assume("head", "of a language model", why);
    }
}

/// Extra rows of the learned position table beyond the limit; `None` if positions are computed.
fn learned(keys: &mut Keys<'_>, family: &Family) -> Option<u32> {
    if family.name != "mpt" {
        return family.learned;
    }
    let attention = keys.value("attn_config")?;
    let alibi = attention.get("alibi").and_then(serde_json::Value::as_bool).unwrap_or(true);
    keys.report.take("positions", if alibi { "computed" } else { "learned" }, "attn_config.alibi");
    (!alibi).then_some(0)
}

fn norms(keys: &mut Keys<'_>, family: &Family) -> Result<u32, Problem> {
    match &family.norms {
        Norms::Count(count) => Ok(*count),
        Norms::OneIf(switch) => Ok(if keys.switch_or("norms of 1", switch, false)? { 1 } else { 2 }),
        Norms::MoreIf(switch) => Ok(if keys.switch_or("norms of 7", switch, false)? { 7 } else { 4 }),
        Norms::Falcon => {
            let parallel = keys.switch_or("norms of 1", "parallel_attn", true)?;
            // Falcon-40B has a norm for each parallel half; Falcon-7B shares one.
            let usual = if new_decoder(keys)? { 2 } else { 1 };
            let said = keys.count("norms", &["num_ln_in_parallel_attn"])?;
            Ok(if parallel { said.unwrap_or(usual) } else { 2 })
        }
    }
}

fn qk_norm(keys: &mut Keys<'_>, family: &Family) -> Result<QkNorm, Problem> {
    match &family.qk_norm {
        QkNormRule::Always(norm) => Ok(*norm),
        QkNormRule::HeadIf(switch) => {
            Ok(if keys.switch_or("qk_norm", switch, false)? { QkNorm::Head } else { QkNorm::None })
        }
        QkNormRule::WidthIf(switch) => {
            Ok(if keys.switch_or("qk_norm", switch, false)? { QkNorm::Width } else { QkNorm::None })
        }
    }
}

/// Sets the matrices that have biases: all, none or some.
fn put_biases(keys: &mut Keys<'_>, family: &Family, model: &mut Model) -> Result<(), Problem> {
    let rules = &family.biases;
    let mut given = |field: &str, has: &Presence| match has {
        Presence::No => Ok(false),
        Presence::Yes => Ok(true),
        Presence::If(switch, usual) => keys.switch_or(field, switch, *usual),
    };
    let biases = Biases {
        qkv: given("biases.qkv", &rules.qkv)?,
        projection: given("biases.projection", &rules.projection)?,
        mlp: given("biases.mlp", &rules.mlp)?,
        router: given("biases.router", &rules.router)?,
        head: given("biases.head", &rules.head)?,
        sinks: given("biases.sinks", &rules.sinks)?,
    };
    model.bias = biases == Biases { qkv: true, projection: true, mlp: true, ..Biases::default() };
    model.biases = Some(biases).filter(|biases| !model.bias && *biases != Biases::default());
    Ok(())
}
