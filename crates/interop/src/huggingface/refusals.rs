//! Refuses, by key, what the model format cannot express, rather than import another model.

use serde_json::{Map, Value};

use super::experts;
use super::family::{Families, Family, Presence};
use super::keys::{Keys, shown};
use shardscope_engine::problem::Problem;

/// Keys of models whose layers are not all attention and MLP, or not all alike.
const HYBRID: [(&str, &str); 8] = [
    ("hybrid_override_pattern", "a hybrid of state-space and attention layers"),
    ("layers_block_type", "a hybrid of several kinds of layers"),
    ("attn_layer_period", "a hybrid of state-space and attention layers"),
    ("attn_layer_indices", "a hybrid of state-space and attention layers"),
    ("linear_attn_config", "a hybrid of linear and full attention"),
    ("attn_res_block_size", "layers that attend to what layers before them put out"),
    ("ssm_state_size", "a hybrid or state-space model"),
    ("block_configs", "a model whose layers differ from one another"),
];

/// Keys that describe Nemotron-H.
const OF_NEMOTRON: [&str; 3] = ["hybrid_override_pattern", "layers_block_type", "ssm_state_size"];

/// Key for the format of a gated delta net's state in inference.
const STATE_FORMAT: &str = "mamba_ssm_dtype";

/// Refuses a file that is no decoder's configuration.
pub(super) fn whole(object: &Map<String, Value>) -> Result<(), Problem> {
    let there = |key: &str| object.get(key).filter(|value| !value.is_null());
    if there("weight_map").is_some() {
        return Err(Problem::new("weight_map", "this is the index of a model's weights", "name its config.json"));
    }
    let only = "only plain decoders can be imported; of others describe a like one in models/*.toml";
    // Nemotron-H is the one class whose Mamba layers are known.
    let known = there("model_type").is_some_and(|name| name == "nemotron_h");
    let kimi = there("model_type").is_some_and(|name| name == "kimi_linear");
    let read = |key: &str| known && OF_NEMOTRON.contains(&key) || kimi && key == "linear_attn_config";
    for (key, what) in HYBRID.into_iter().filter(|(key, _)| !read(key)) {
        if let Some(value) = there(key) {
            return Err(Problem::new(key, format!("is {}: {what}", shown(value)), only));
        }
    }
    let of_mamba = |key: &str| key.starts_with("mamba_") && key != STATE_FORMAT && !known;
    if let Some((key, value)) = object.iter().find(|(key, _)| of_mamba(key)) {
        return Err(Problem::new(key, format!("is {}: a hybrid or state-space model", shown(value)), only));
    }
    let classes = object.get("architectures").and_then(Value::as_array).into_iter().flatten();
    if let Some(class) = classes.filter_map(Value::as_str).find(|class| class.ends_with("ForMaskedLM")) {
        return Err(Problem::new(
            "architectures",
            format!("is {class}: an encoder, whose attention sees both sides"),
            only,
        ));
    }
    for (key, what) in [("is_encoder_decoder", "an encoder and a decoder"), ("add_cross_attention", "cross-attention")]
    {
        if there(key) == Some(&Value::Bool(true)) {
            return Err(Problem::new(key, format!("is true: the model has {what}"), only));
        }
    }
    Ok(())
}

/// Refuses unread keys that change the shape.
pub(super) fn unread(keys: &Keys<'_>, family: &Family) -> Result<(), Problem> {
    let own = |key: &str, what: String| keys.error(key, what, "import a configuration without it, or with --like");
    for (key, value) in keys.unread() {
        if experts::misplaced(key, value).is_some() || key == "kv_lora_rank" && !value.is_null() {
            return Err(own(key, format!("is {}, which model_type {} does not have", shown(value), family.name)));
        }
        if key == "index_topk" && !value.is_null() {
            let what = format!(
                "is {}: an indexer chooses what attention looks at, which model_type {} does not have",
                shown(value),
                family.name
            );
            return Err(own(key, what));
        }
        if key == "linear_num_value_heads" && !value.is_null() {
            let what =
                format!("is {}: a hybrid of linear and full attention, which {} is not", shown(value), family.name);
            return Err(own(key, what));
        }
        let both_sides = match key.as_str() {
            "is_causal" => *value == false,
            "use_bidirectional_attention" => *value == true || value == "all",
            _ => false,
        };
        if both_sides {
            let what = format!("is {}: attention sees both sides, as an encoder's does", shown(value));
            return Err(own(key, what));
        }
        // Switches of other classes: this class has read its own before.
        let wrong = match key.as_str() {
            // Qwen 2's classes have these biases whatever the file says.
            "attention_bias" if matches!(family.biases.qkv, Presence::Yes) => false,
            "attention_bias"
            | "mla_use_output_gate"
            | "mlp_bias"
            | "use_bias"
            | "bias"
            | "lm_head_bias"
            | "use_double_wide_mlp"
            | "qk_layernorm" => *value == true,
            "hidden_size_per_layer_input" | "num_kv_shared_layers" | "shared_intermediate_size" => {
                value.as_u64().is_some_and(|count| count > 0)
            }
            // A 0 marks a layer with lightning attention.
            "attn_type_list" => value.as_array().is_some_and(|kinds| kinds.iter().any(|kind| *kind != 1)),
            "do_layer_norm_before" | "layer_norm_elementwise_affine" => *value == false,
            "word_embed_proj_dim" => keys.object.get("hidden_size") != Some(value),
            "pruned_heads" => value.as_object().is_some_and(|heads| !heads.is_empty()),
            _ => false,
        };
        if wrong {
            return Err(own(key, format!("is {}, which the model format cannot express here", shown(value))));
        }
    }
    attention_config(keys)
}

/// Parts of the names of size keys.
const SIZES: &str = "attn attention conv dense expert ffn head hidden intermediate latent layer shared";

/// Refuses sizes of a file read as another family which that family lacks: they would be dropped silently.
pub(super) fn of_another(keys: &Keys<'_>, family: &Family, families: &Families) -> Result<(), Problem> {
    let is_size = |key: &str, value: &Value| {
        let named = SIZES.split(' ').any(|part| key.contains(part)) && families.reason(key).is_none();
        named && value.as_f64().is_some_and(|value| value > 1.0)
    };
    match keys.unread().find(|(key, value)| is_size(key, value)) {
        Some((key, value)) => {
            let what = format!("is {}, and no shape is read from it as {}", shown(value), family.name);
            Err(keys.error(
                key,
                what,
                "take it out of the file where it changes no size, or describe the model in models/*.toml",
            ))
        }
        None => Ok(()),
    }
}

/// Activation functions that no class uses in a gated MLP: the MLP has two matrices, not three.
const UNGATED: [&str; 3] = ["relu2", "relu", "xielu"];

/// Refuses an ungated MLP in a file read as a gated family.
pub(super) fn activation(keys: &Keys<'_>, family: &Family) -> Result<(), Problem> {
    let function = keys.object.get("hidden_act").and_then(Value::as_str).filter(|name| UNGATED.contains(name));
    match function {
        Some(name) if family.gated => {
            let what = format!("is '{name}': its MLP has two matrices, and that of {} three", family.name);
            Err(keys.error("hidden_act", what, "name with --like a family without a gate, like nemotron or starcoder2"))
        }
        _ => Ok(()),
    }
}

/// Refuses settings of `attn_config` that transformers' class of MPT lacks.
fn attention_config(keys: &Keys<'_>) -> Result<(), Problem> {
    let Some(attention) = keys.object.get("attn_config").and_then(Value::as_object) else { return Ok(()) };
    let heads = keys.object.get("n_heads");
    let other = |key: &&str| match (*key, attention.get(*key)) {
        (_, None | Some(Value::Null)) => false,
        ("kv_n_heads", value) => value != heads,
        ("attn_type", Some(value)) => *value != "multihead_attention",
        (_, Some(value)) => *value == true,
    };
    match ["kv_n_heads", "attn_type", "qk_ln"].iter().find(|key| other(key)) {
        Some(key) => {
            let what = format!("is {}, which transformers' class of MPT does not build", shown(&attention[*key]));
            Err(keys.error(&format!("attn_config.{key}"), what, "describe the model in models/*.toml"))
        }
        None => Ok(()),
    }
}
