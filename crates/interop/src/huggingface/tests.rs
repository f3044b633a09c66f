//! Configurations that others wrote, and what is wrong with some.

use serde_json::json;

use super::*;
use shardscope_engine::model::{AttentionWindow, Biases, LatentAttention};

/// Trained parameters, and those of them that are active, of the reference implementation: transformers 5.23.0 on the
/// meta device, tied weights once, buffers left out.
const COUNTS: [(&str, u64, u64); 24] = [
    ("llama-2-7b", 6_738_415_616, 6_738_415_616),
    ("llama-3.1-8b", 8_030_261_248, 8_030_261_248),
    ("llama-4-scout", 107_769_861_120, 17_172_894_720),
    ("mistral-7b", 7_241_732_096, 7_241_732_096),
    ("mixtral-8x7b", 46_702_792_704, 12_879_925_248),
    ("qwen2-7b", 7_615_616_512, 7_615_616_512),
    ("qwen2-moe-a2.7b", 14_315_784_192, 2_689_173_504),
    ("qwen3-8b", 8_190_735_360, 8_190_735_360),
    ("qwen3-30b-a3b", 30_532_122_624, 3_353_032_704),
    ("gemma-2b", 2_506_172_416, 2_506_172_416),
    ("gemma-2-2b", 2_614_341_888, 2_614_341_888),
    ("gemma-3-1b", 999_885_952, 999_885_952),
    ("phi-3.5-mini", 3_821_079_552, 3_821_079_552),
    ("redpajama-3b-neox", 2_775_864_320, 2_775_864_320),
    ("opt-1.3b", 1_315_758_080, 1_315_758_080),
    ("falcon-40b", 41_303_293_952, 41_303_293_952),
    ("olmo-2-7b", 7_298_617_344, 7_298_617_344),
    ("deepseek-v2-lite", 15_748_993_024, 2_703_659_008),
    ("gpt2", 124_439_808, 124_439_808),
    ("smollm-135m", 134_515_008, 134_515_008),
    ("deepseek-r1", 671_026_404_352, 37_552_282_624),
    ("qwen2-0.5b", 494_032_768, 494_032_768),
    ("olmo-2-13b", 13_716_198_400, 13_716_198_400),
    ("smollm-360m", 361_821_120, 361_821_120),
];

fn fixture(name: &str) -> String {
    let path = format!("{}/../../tests/fixtures/hf/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn import(text: &str) -> Result<Imported<CountedModel>, Problem> {
    model(text, ImportOptions { file: "config.json", ..ImportOptions::default() })
}

/// A fixture with some of its keys changed; null removes one.
fn changed(name: &str, changes: Value) -> Result<Imported<CountedModel>, Problem> {
    let mut value: Value = serde_json::from_str(&fixture(name)).unwrap();
    let Value::Object(changes) = changes else { panic!("an object") };
    for (key, change) in changes {
        value[&key] = change;
    }
    import(&value.to_string())
}

fn without(name: &str, key: &str) -> Result<Imported<CountedModel>, Problem> {
    let mut value: Value = serde_json::from_str(&fixture(name)).unwrap();
    value.as_object_mut().unwrap().remove(key).unwrap_or_else(|| panic!("no {key}"));
    import(&value.to_string())
}

fn assumed(imported: &Imported<CountedModel>, field: &str) -> Option<String> {
    let found = imported.report.assumed.iter().find(|assumed| assumed.field == field);
    found.map(|assumed| assumed.value.clone())
}

#[test]
fn every_decoder_has_the_parameters_of_the_reference_to_the_unit() {
    for (name, parameters, active) in COUNTS {
        let made = import(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}")).made;
        assert_eq!((made.parameters, made.active_parameters), (parameters, active), "{name}");
    }
}

#[test]
fn an_import_is_a_preset_with_the_same_model() {
    for (name, ..) in COUNTS {
        let made = import(&fixture(name)).unwrap().made;
        let text = made.to_toml().unwrap();
        let back: Model = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        assert_eq!(back, made.model, "{name}");
        assert_eq!(back.problems(), [], "{name}");
        assert!(back.source.starts_with("imported from config.json (HF config.json, model_type "), "{}", back.source);
    }
}

#[test]
fn hybrids_and_models_that_are_no_plain_decoders_are_refused_by_name() {
    // The file has an `Infinity`, which is not JSON, and its type is unknown too: what matters is that it is a hybrid.
    let said = import(&fixture("nemotron-h-56b")).unwrap_err().to_string();
    assert!(said.starts_with("hybrid_override_pattern: is \"M-M-") && said.contains("a hybrid"), "{said}");
    for (changes, place, what) in [
        (json!({"block_configs": [{"n_heads": 1}]}), "block_configs", "layers differ"),
        (json!({"mamba_d_state": 16}), "mamba_d_state", "hybrid"),
        (json!({"layer_types": ["full_attention", "linear_attention"]}), "layer_types", "hybrid"),
        (json!({"is_encoder_decoder": true}), "is_encoder_decoder", "encoder"),
        (json!({"weight_map": {"a": "b"}}), "weight_map", "index"),
        (json!({"num_attention_heads": [1, 2]}), "num_attention_heads", "a list: layers differ"),
        (json!({"num_local_experts": 8}), "num_local_experts", "llama does not have"),
        (json!({"pruned_heads": {"1": [2]}}), "pruned_heads", "cannot express"),
        (json!({"model_type": "whale"}), "model_type", "unknown model_type 'whale'"),
        (json!({"num_hidden_layers": null}), "num_hidden_layers", "is missing"),
        (json!({"vocab_size": -1}), "vocab_size", "is -1"),
        (json!({"hidden_size": 4096.5}), "hidden_size", "is 4096.5"),
        (json!({"intermediate_size": "wide"}), "intermediate_size", "is \"wide\""),
        (json!({"n_layer": 31}), "n_layer", "is 31, and num_hidden_layers is 32"),
        (json!({"tie_word_embeddings": "no"}), "tie_word_embeddings", "write true or false"),
    ] {
        let error = changed("llama-2-7b", changes).unwrap_err();
        assert_eq!(error.field, place);
        assert!(error.what.contains(what) || error.fix.contains(what), "{error}");
        assert!(!error.fix.is_empty(), "{error}");
    }
    for text in ["", "[]", "3", "{", "\u{feff}{}", "{\"model_type\": 3}"] {
        assert!(import(text).is_err(), "{text}");
    }
}

#[test]
fn an_unknown_type_is_read_as_the_one_that_is_named() {
    let text = fixture("llama-2-7b").replace("\"llama\"", "\"whale\"");
    let error = import(&text).unwrap_err().to_string();
    assert!(error.contains("known: llama, llama4_text") && error.contains("--like llama"), "{error}");
    let options = ImportOptions { file: "whale.json", name: None, like: Some("llama") };
    let made = model(&text, options).unwrap().made;
    assert_eq!((made.parameters, made.model.name.as_str()), (6_738_415_616, "whale"));
    assert_eq!(made.model.source, "imported from whale.json (HF config.json, model_type whale, read as llama)");
    let wrong = ImportOptions { like: Some("shark"), ..options };
    assert_eq!(model(&text, wrong).unwrap_err().field, "--like");
}

#[test]
fn what_python_and_editors_write_around_json_is_read() {
    let text = format!("\u{feff}{}\n", fixture("qwen2-0.5b"));
    assert_eq!(import(&text).unwrap().made.parameters, 494_032_768);
    // A list of ends, a value of Python's, and a text that only looks like one.
    let text = fixture("llama-2-7b").replacen(
        '{',
        r#"{"eos_token_id": [1, 2], "a": -Infinity, "b": NaN, "c\"": "NaN \\","#,
        1,
    );
    let imported = import(&text).unwrap();
    assert_eq!(imported.made.parameters, 6_738_415_616);
    assert!(imported.report.ignored.iter().any(|ignored| ignored.field == "c\""));
}

#[test]
fn absent_keys_are_the_defaults_of_their_classes_and_said() {
    // Mistral's class has 8 heads of keys and values, whatever the heads.
    let imported = without("mistral-7b", "num_key_value_heads").unwrap();
    assert_eq!(assumed(&imported, "kv_heads").as_deref(), Some("8"));
    // 8 do not divide 9 heads.
    let error = changed("mistral-7b", json!({"num_attention_heads": 9, "head_dim": 128, "num_key_value_heads": null}))
        .unwrap_err();
    assert!(error.to_string().contains("num_key_value_heads: is absent"), "{error}");
    // Llama's are as many as heads: 32 x 128 = 4096 rows more of each, of which there were 1024.
    let more = without("llama-3.1-8b", "num_key_value_heads").unwrap().made.parameters;
    assert_eq!(more, 8_030_261_248 + 32 * 2 * 4096 * (4096 - 1024));
    // Gemma's head has 256 channels, whatever the width: 8 x 256 = 2048, not 2304.
    assert_eq!(without("gemma-2-2b", "head_dim").unwrap().made.parameters, 2_614_341_888);
    // Qwen3's 128 happens to be the width over the heads of 8 B.
    assert_eq!(assumed(&without("qwen3-8b", "head_dim").unwrap(), "head_size").as_deref(), Some("128"));
    // A head of Falcon's own, which its class ties: 65024 x 8192.
    let untied = changed("falcon-40b", json!({"tie_word_embeddings": false})).unwrap().made.parameters;
    assert_eq!((untied, untied - 41_303_293_952), (41_835_970_560, 65024 * 8192));
    // The published DeepSeek-V2-Lite says null, which the file of the fixture leaves out.
    let lite = import(&fixture("deepseek-v2-lite")).unwrap();
    assert_eq!(assumed(&lite, "latent.query").as_deref(), Some("1536"));
    let published = changed("deepseek-v2-lite", json!({"q_lora_rank": null})).unwrap().made;
    assert_eq!((published.parameters, published.model.latent.unwrap().query), (15_706_484_224, None));
}

#[test]
fn the_sequence_is_the_users_and_4096_at_most_is_assumed() {
    let imported = import(&fixture("llama-3.1-8b")).unwrap();
    assert_eq!(imported.made.model.sequence, 4096);
    let why = imported.report.assumed.iter().find(|one| one.field == "sequence").unwrap();
    assert!(why.why.contains("131072") && why.why.contains("--seq"), "{}", why.why);
    // GPT-2 was trained with fewer, and OPT's table of positions has two more rows than it.
    assert_eq!(import(&fixture("gpt2")).unwrap().made.model.sequence, 1024);
    let opt = import(&fixture("opt-1.3b")).unwrap().made.model;
    assert_eq!((opt.sequence, opt.position_rows), (2048, Some(2050)));
    // A learned table keeps its rows where a shorter sequence is trained.
    let long = changed("gpt2", json!({"n_positions": 8192})).unwrap().made;
    assert_eq!((long.model.sequence, long.parameters), (4096, 124_439_808 + 768 * (8192 - 1024)));
}

#[test]
fn windows_are_those_of_their_layers() {
    let window = |name: &str| import(&fixture(name)).unwrap().made.model.window;
    let of = |size, layers, full_every| Some(AttentionWindow { size, layers, full_every, chunked: false });
    // A switch is off, whatever the size says.
    assert_eq!(window("qwen2-7b"), None);
    assert_eq!(window("mixtral-8x7b"), None, "null");
    assert_eq!(window("mistral-7b"), of(4096, None, None));
    // Every other layer, and all but each sixth.
    assert_eq!(window("gemma-2-2b"), of(4096, None, Some(2)));
    assert_eq!(window("gemma-3-1b"), of(512, None, Some(6)));
    // All but each fourth.
    let chunks = AttentionWindow { size: 8192, layers: None, full_every: Some(4), chunked: true };
    assert_eq!(window("llama-4-scout"), Some(chunks));
    let some = changed("qwen2-7b", json!({"use_sliding_window": true, "max_window_layers": 20})).unwrap();
    assert_eq!(some.made.model.window, of(131_072, Some(8), None));
    let listed = json!({"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]});
    assert_eq!(changed("gemma-2-2b", listed).unwrap().made.model.window, of(4096, Some(2), None));
}

#[test]
fn the_decoder_of_a_model_that_sees_is_the_one_in_text_config() {
    let text =
        fixture("llama-4-scout").replacen('{', r#"{"vision_config": {"hidden_size": 1408}, "vocab_size": 7,"#, 1);
    let imported = import(&text).unwrap();
    assert_eq!(imported.made.parameters, 107_769_861_120);
    let taken = imported.report.taken.iter().find(|taken| taken.field == "vocab").unwrap();
    assert_eq!((taken.value.as_str(), taken.place.as_str()), ("202048", "text_config.vocab_size"));
    let ignored = imported.report.ignored.iter().find(|ignored| ignored.field == "vision_config").unwrap();
    assert!(ignored.why.contains("pictures"));
}

#[test]
fn aliases_are_the_classes_that_they_stand_for() {
    let as_type = |name: &str, kind: &str| changed(name, json!({"model_type": kind})).unwrap().made.parameters;
    assert_eq!(as_type("deepseek-r1", "kimi_k2"), 671_026_404_352);
    assert_eq!(as_type("falcon-40b", "RefinedWeb"), 41_303_293_952);
    assert_eq!(as_type("falcon-40b", "RefinedWebModel"), 41_303_293_952);
    let latent = import(&fixture("deepseek-r1")).unwrap().made.model.latent;
    let expected = LatentAttention { query: Some(1536), key_value: 512, rotary: 64, value_head: 128 };
    assert_eq!(latent, Some(expected));
}

#[test]
fn biases_are_those_that_a_class_has() {
    // Qwen2 alone has them on queries, keys and values: 28 x (3584 + 2 x 512).
    let qwen = import(&fixture("qwen2-7b")).unwrap().made.model;
    assert_eq!(qwen.biases, Some(Biases { qkv: true, ..Biases::default() }));
    assert_eq!(qwen.parameters() - Model { biases: None, ..qwen.clone() }.parameters(), 28 * (3584 + 2 * 512));
    assert!(import(&fixture("gpt2")).unwrap().made.model.bias);
    // Those of Llama's matrices on request: 32 x (4096 + 2 x 1024 + 4096) and 32 x (2 x 14336 + 4096).
    let count = |changes| changed("llama-3.1-8b", changes).unwrap().made.parameters - 8_030_261_248;
    assert_eq!(count(json!({"attention_bias": true})), 32 * (4096 + 2 * 1024 + 4096));
    assert_eq!(count(json!({"mlp_bias": true})), 32 * (2 * 14336 + 4096));
}

/// A configuration of GPT-OSS by hand: a layer of 3 experts of width 4, 2 of them active, on a width of 8.
///
/// Attention: queries 8 x 4 + 4, keys and values each 8 x 2 + 2, projection 4 x 8 + 8, two sinks: 36 + 36 + 40 + 2 = 114.
/// An expert: 8 x 8 + 8, and 4 x 8 + 8: 112. Router: 3 x 8 + 3 = 27. Norms: 2 x 8. Layer: 114 + 3 x 112 + 27 + 16 = 493.
/// Embedding and logits 10 x 8 each, last norm 8: 168.
#[test]
fn experts_have_biases_and_heads_have_sinks_in_gpt_oss() {
    let text = json!({
        "model_type": "gpt_oss", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 2, "intermediate_size": 4, "vocab_size": 10,
        "num_local_experts": 3, "num_experts_per_tok": 2,
    });
    let made = import(&text.to_string()).unwrap().made;
    assert_eq!((made.parameters, made.active_parameters), (493 + 168, 493 + 168 - 112));
}

/// Falcon-40B's first file has no `new_decoder_architecture`: `RefinedWeb` says it, and `RefinedWebModel` is the 7B's.
#[test]
fn the_first_files_of_falcon_say_their_architecture_by_their_type() {
    let first = |kind: &str| {
        let text = json!({
            "model_type": kind, "hidden_size": 8192, "n_head": 128, "n_head_kv": 8, "n_layer": 60, "bias": false,
            "parallel_attn": true, "vocab_size": 65024, "alibi": false,
        });
        import(&text.to_string()).unwrap().made
    };
    let made = first("RefinedWeb");
    assert_eq!((made.parameters, made.model.kv_heads, made.model.norms), (41_303_293_952, 8, 2));
    let other = first("RefinedWebModel").model;
    assert_eq!((other.kv_heads, other.norms), (1, 1));
    // Two norms side by side, whatever the architecture: 60 more of 2 x 8192.
    let two = changed("falcon-40b", json!({"new_decoder_architecture": false, "num_ln_in_parallel_attn": 2})).unwrap();
    let one = changed("falcon-40b", json!({"new_decoder_architecture": false})).unwrap();
    assert_eq!(two.made.parameters - one.made.parameters, 60 * 2 * 8192);
}

/// As published, with neither heads nor vocabulary. A layer: queries and projection each 2560 x 8 x 256, keys and values
/// each 2560 x 4 x 256, MLP 3 x 2560 x 10240, norms 4 x 2560 + 2 x 256: 94,382,592. Embedding 262,208 x 2560, last norm:
/// 34 x 94,382,592 + 671,252,480 + 2560 = 3,880,263,168, which is what transformers builds too.
#[test]
fn gemma_3_4b_leaves_sizes_to_its_class() {
    let text = json!({
        "model_type": "gemma3", "vision_config": {"hidden_size": 1152},
        "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
            "num_hidden_layers": 34, "sliding_window": 1024},
    });
    let imported = import(&text.to_string()).unwrap();
    assert_eq!(imported.made.parameters, 3_880_263_168);
    assert_eq!((assumed(&imported, "heads"), assumed(&imported, "vocab")), (Some("8".into()), Some("262208".into())));
}

/// The class of GPT-2 has 1024 positions: 768 x 1024 parameters fewer than 2048 would have.
#[test]
fn positions_that_are_not_said_are_those_of_the_class() {
    assert_eq!(without("gpt2", "n_positions").unwrap().made.parameters, 124_439_808);
}

/// Layers alternate: of 4, those with numbers 1 and 3 have experts. Dense ones 3 x 8 x 6 = 144, experts 2 x 3 x 8 x 4 =
/// 192 beside a shared one of 96 and a router of 16: 304. Attention 4 x 8 x 8 = 256 and norms 16 in each of the four.
#[test]
fn layers_with_and_without_experts_alternate_in_llama_4() {
    let text = json!({
        "model_type": "llama4_text", "num_hidden_layers": 4, "hidden_size": 8, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 4, "intermediate_size_mlp": 6, "vocab_size": 10,
        "num_local_experts": 2, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
    });
    let imported = import(&text.to_string()).unwrap();
    assert_eq!(imported.made.parameters, 4 * 272 + 2 * 144 + 2 * 304 + 168);
    assert_eq!(imported.made.active_parameters, imported.made.parameters - 2 * 96);
    let experts = imported.made.model.experts.unwrap();
    assert_eq!((experts.dense_layers, experts.every), (None, Some(2)));
}
