//! Configurations that others wrote, and what is wrong with some.

use serde_json::json;

use super::*;
use shardscope_engine::model::{AttentionWindow, Biases, Indexer, LatentAttention};

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

fn families() -> Families {
    Families::of_library(&shardscope_presets::library()).unwrap()
}

fn import(text: &str) -> Result<Imported<CountedModel>, Problem> {
    model(text, &families(), ImportOptions { file: "config.json", ..ImportOptions::default() })
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
    let puzzle = fixture("nemotron-h-56b").replace("nemotron_h\"", "nemotron_h_puzzle\"");
    let said = import(&puzzle).unwrap_err().to_string();
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

/// Qwen3-Next-80B-A3B as transformers' `Qwen3NextConfig` writes it; its published weights have as many parameters.
#[test]
fn gated_delta_nets_are_layers_of_their_own_kind() {
    let text = json!({
        "model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48, "vocab_size": 151_936, "head_dim": 256,
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_experts": 512, "num_experts_per_tok": 10,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "linear_num_key_heads": 16,
        "linear_key_head_dim": 128, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "max_position_embeddings": 262_144,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "tie_word_embeddings": false, "hidden_act": "silu",
    });
    let made = import(&text.to_string()).unwrap().made;
    assert_eq!((made.parameters, made.active_parameters), (79_674_391_296, 3_874_929_408));
    assert!(made.model.output_gate && made.model.window.is_none());
    let listed = |types: [&str; 4]| {
        let mut text = text.clone();
        text["layer_types"] = json!(types.repeat(12));
        text.as_object_mut().unwrap().remove("full_attention_interval");
        import(&text.to_string())
    };
    let (linear, full) = ("linear_attention", "full_attention");
    let each_second = listed([linear, full, linear, full]).unwrap().made.model.delta_net.unwrap();
    assert_eq!(each_second.full_every, 2);
    assert_eq!(listed([full, linear, linear, full]).unwrap_err().field, "layer_types");
    let other = changed("llama-2-7b", json!({"linear_num_value_heads": 32})).unwrap_err();
    assert!(other.field == "linear_num_value_heads" && other.what.contains("a hybrid"), "{other}");
}

/// The keys that deepseek-ai/DeepSeek-V3.2 has beside those of V3.
fn sparse() -> Value {
    json!({"model_type": "deepseek_v32", "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048})
}

#[test]
fn an_indexer_is_read_where_its_class_has_one_and_refused_elsewhere() {
    let made = changed("deepseek-r1", sparse()).unwrap().made;
    assert_eq!(made.parameters, 671_877_929_216);
    assert_eq!(made.model.indexer, Some(Indexer { heads: 64, head: 128, top_k: 2048 }));
    let error = |file: &str, changes: Value| changed(file, changes).unwrap_err();
    let missing = error("deepseek-r1", json!({"model_type": "deepseek_v32"}));
    assert!(missing.field == "index_n_heads" && missing.what.contains("is missing"), "{missing}");
    let elsewhere = error("deepseek-r1", json!({"index_topk": 2048}));
    assert!(elsewhere.field == "index_topk" && elsewhere.what.contains("an indexer chooses"), "{elsewhere}");
    let mut shared = sparse();
    shared["index_topk_freq"] = json!(4);
    let shared = error("deepseek-r1", shared);
    assert!(shared.field == "index_topk_freq" && shared.what.contains("without an indexer"), "{shared}");
}

/// Kimi Linear as its published file has it.
#[test]
fn kimi_delta_attention_is_read_from_its_own_table() {
    let mut text = json!({
        "model_type": "kimi_linear", "hidden_size": 2304, "num_hidden_layers": 27, "vocab_size": 163_840, "head_dim": 72,
        "num_attention_heads": 32, "num_key_value_heads": 32, "num_experts": 256, "num_experts_per_token": 8,
        "moe_intermediate_size": 1024, "intermediate_size": 9216, "num_shared_experts": 1, "first_k_dense_replace": 1,
        "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "mla_use_nope": true, "moe_router_activation_func": "sigmoid", "num_expert_group": 1,
        "topk_group": 1, "tie_word_embeddings": false, "hidden_act": "silu", "num_nextn_predict_layers": 0,
        "linear_attn_config": {
            "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
        },
    });
    let made = import(&text.to_string()).unwrap().made;
    assert_eq!((made.parameters, made.active_parameters), (49_122_675_072, 3_484_453_248));
    let error = |text: &Value| import(&text.to_string()).unwrap_err();
    text["linear_attn_config"]["full_attn_layers"] = json!([4, 9]);
    assert_eq!(error(&text).field, "linear_attn_config.full_attn_layers");
    text["linear_attn_config"]["use_full_rank_gate"] = json!(true);
    assert_eq!(error(&text).field, "linear_attn_config.use_full_rank_gate");
    // Kimi-K3.
    text["attn_res_block_size"] = json!(12);
    let error = error(&text);
    assert!(error.field == "attn_res_block_size" && error.what.contains("attend to what layers"), "{error}");
}

/// Nemotron-H 56B has 54 state spaces of `8192 x 36,352 + 5 x 20,480 + 3 x 256 + 16,384 + 16,384 x 8192` parameters and a norm,
/// 54 MLPs of two matrices, and 10 layers of attention: 56,324,350,464 with embedding and logits.
#[test]
fn layers_of_one_thing_each_are_read_from_their_pattern() {
    let made = import(&fixture("nemotron-h-56b")).unwrap().made;
    assert_eq!(made.parameters, 56_324_350_464);
    assert_eq!(String::from(made.model.pattern.unwrap()).matches('M').count(), 54);
    let mut nano = json!({
        "model_type": "nemotron_h", "hidden_size": 2688, "num_hidden_layers": 52, "vocab_size": 131_072, "head_dim": 128,
        "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", "num_attention_heads": 32,
        "num_key_value_heads": 2, "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
        "conv_kernel": 4, "chunk_size": 128, "expand": 2, "use_conv_bias": true, "mamba_proj_bias": false,
        "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856, "n_shared_experts": 1,
        "moe_shared_expert_intermediate_size": 3712, "intermediate_size": 1856, "mlp_hidden_act": "relu2",
        "tie_word_embeddings": false, "n_group": 1, "topk_group": 1, "max_position_embeddings": 262_144,
    });
    let made = import(&nano.to_string()).unwrap().made;
    assert_eq!((made.parameters, made.active_parameters), (31_577_937_344, 3_580_073_408));
    // Later files list the layers.
    let letters = String::from(made.model.pattern.unwrap());
    let types = letters.chars().map(|letter| match letter {
        'M' => "mamba",
        '*' => "attention",
        _ => "moe",
    });
    nano["layers_block_type"] = json!(types.collect::<Vec<_>>());
    nano.as_object_mut().unwrap().remove("hybrid_override_pattern");
    assert_eq!(import(&nano.to_string()).unwrap().made.parameters, made.parameters);
    // Tokens of half the width at 128 experts of two matrices, in 23 layers, and two matrices that narrow and widen them.
    let mut narrow = nano.clone();
    narrow["moe_latent_size"] = json!(1344);
    let less = 23 * (128 * 2 * 1344 * 1856 - 2 * 2688 * 1344);
    assert_eq!(import(&narrow.to_string()).unwrap().made.parameters, made.parameters - less);
    for (key, value) in [
        ("num_hidden_layers", json!(51)),
        ("layers_block_type", json!(["mamba", "lstm"])),
        ("use_conv_bias", json!(false)),
        ("moe_latent_size", json!("narrow")),
        ("ssm_state_size", json!(null)),
    ] {
        let mut wrong = nano.clone();
        wrong[key] = value;
        assert_eq!(import(&wrong.to_string()).unwrap_err().field, key);
    }
}

#[test]
fn an_unknown_type_is_read_as_the_one_that_is_named() {
    let text = fixture("llama-2-7b").replace("\"llama\"", "\"whale\"");
    let error = import(&text).unwrap_err().to_string();
    assert!(error.contains("known: llama, llama4_text") && error.contains("--like says so"), "{error}");
    let options = ImportOptions { file: "whale.json", name: None, like: Some("llama") };
    let made = model(&text, &families(), options).unwrap().made;
    assert_eq!((made.parameters, made.model.name.as_str()), (6_738_415_616, "whale"));
    assert_eq!(made.model.source, "imported from whale.json (HF config.json, model_type whale, read as llama)");
    let wrong = ImportOptions { like: Some("shark"), ..options };
    assert_eq!(model(&text, &families(), wrong).unwrap_err().field, "--like");
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
    let of =
        |size, layers, full_every| Some(AttentionWindow { size, layers, full_every, ..AttentionWindow::default() });
    // A switch is off, whatever the size says.
    assert_eq!(window("qwen2-7b"), None);
    assert_eq!(window("mixtral-8x7b"), None, "null");
    assert_eq!(window("mistral-7b"), of(4096, None, None));
    // Every other layer, and all but each sixth.
    assert_eq!(window("gemma-2-2b"), of(4096, None, Some(2)));
    assert_eq!(window("gemma-3-1b"), of(512, None, Some(6)));
    // All but each fourth.
    let chunks = AttentionWindow { size: 8192, full_every: Some(4), chunked: true, ..AttentionWindow::default() };
    assert_eq!(window("llama-4-scout"), Some(chunks));
    let some = changed("qwen2-7b", json!({"use_sliding_window": true, "max_window_layers": 20})).unwrap();
    assert_eq!(some.made.model.window, of(131_072, Some(8), None));
    let listed = json!({"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]});
    assert_eq!(changed("gemma-2-2b", listed).unwrap().made.model.window, of(4096, Some(2), None));
}

/// The keys of XiaomiMiMo/MiMo-V2-Flash and google/gemma-4-26B-A4B that make their shapes.
#[test]
fn windows_may_have_heads_of_their_own() {
    let every = |count: usize, full: Value, window: Value| -> Vec<Value> {
        (1..=count).map(|layer| if layer % 6 == 0 { full.clone() } else { window.clone() }).collect()
    };
    let mut pattern = every(48, json!(0), json!(1));
    pattern[0] = json!(0);
    let mut experts = vec![1; 48];
    experts[0] = 0;
    let mimo = json!({
        "model_type": "mimo_v2_flash", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "intermediate_size": 16384, "vocab_size": 152_576,
        "max_position_embeddings": 262_144, "sliding_window": 128, "sliding_window_size": 128, "swa_num_attention_heads": 64,
        "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "hybrid_layer_pattern": pattern,
        "moe_layer_freq": experts, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": null,
        "num_experts_per_tok": 8, "n_group": 1, "topk_group": 1, "attention_bias": false, "tie_word_embeddings": false,
    });
    let made = import(&mimo.to_string()).unwrap().made;
    // As tests of presets compute them by hand.
    assert_eq!(made.parameters, 308_778_369_024 + 97 * 4096);
    let window = made.model.window.unwrap();
    assert_eq!((window.full_every, window.full_first, window.kv_heads), (Some(6), true, Some(8)));
    assert_eq!((made.model.value_head, made.model.experts.unwrap().dense_layers), (Some(128), Some(1)));
    let gemma = |changes: Value| {
        let mut text = json!({
            "model_type": "gemma4_text", "num_hidden_layers": 30, "hidden_size": 2816, "num_attention_heads": 16,
            "num_key_value_heads": 8, "num_global_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512,
            "attention_k_eq_v": true, "enable_moe_block": true, "intermediate_size": 2112, "moe_intermediate_size": 704,
            "num_experts": 128, "top_k_experts": 8, "sliding_window": 1024, "vocab_size": 262_144,
            "layer_types": every(30, json!("full_attention"), json!("sliding_attention")), "tie_word_embeddings": true,
            "max_position_embeddings": 262_144, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
        });
        for (key, change) in changes.as_object().unwrap() {
            text[key] = change.clone();
        }
        import(&json!({"text_config": text, "model_type": "gemma4"}).to_string())
    };
    let made = gemma(json!({})).unwrap().made;
    assert_eq!(made.parameters, 25_232_441_344 + 211 * 2816 + 25 * 512 + 5 * 1024);
    assert_eq!(made.active_parameters, made.parameters - 30 * 120 * 3 * 2816 * 704);
    // Keys of their own layers and inputs for each layer are another model.
    for key in ["hidden_size_per_layer_input", "num_kv_shared_layers"] {
        assert!(gemma(json!({key: 256})).unwrap_err().field.ends_with(key));
    }
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

/// Decoders of known families under other names: Qwen3-VL-8B has the text of Qwen3-8B.
#[test]
fn decoders_of_models_of_text_and_pictures() {
    let of = |name: &str, kind: &str, outer: &str| {
        let mut inner: Value = serde_json::from_str(&fixture(name)).unwrap();
        inner["model_type"] = json!(kind);
        import(&json!({"model_type": outer, "text_config": inner, "vision_config": {"depth": 27}}).to_string())
    };
    for (name, kind, outer, count) in [
        ("qwen3-8b", "qwen3_vl_text", "qwen3_vl", 8_190_735_360),
        ("qwen3-30b-a3b", "qwen3_vl_moe_text", "qwen3_vl_moe", 30_532_122_624),
        ("qwen2-7b", "qwen2_5_vl_text", "qwen2_5_vl", 7_615_616_512),
        ("llama-2-7b", "llama", "llava", 6_738_415_616),
    ] {
        assert_eq!(of(name, kind, outer).expect(kind).made.parameters, count, "{kind}");
    }
    // InternVL's own files call it otherwise.
    let inner: Value = serde_json::from_str(&fixture("qwen2-7b")).unwrap();
    let other = json!({"model_type": "internvl_chat", "architectures": ["InternVLChatModel"], "llm_config": inner});
    let other = import(&other.to_string()).expect("a model");
    assert_eq!(other.made.parameters, 7_615_616_512);
    assert_eq!(assumed(&other, "head"), None, "its decoder's head is a language model's");
}

/// A configuration inside another leaves out what its class has: Llama's is Llama 2 7B, here with 64 more tokens in two
/// tables of 4096: 6,738,415,616 + 2 x 64 x 4096.
#[test]
fn sizes_of_the_class_inside_another_configuration() {
    let llava = json!({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32_064}});
    let found = import(&llava.to_string()).expect("a model");
    assert_eq!(found.made.parameters, 6_738_939_904);
    assert!(found.report.assumed.iter().any(|assumed| assumed.field == "layers" && assumed.value == "32"));
    // LLaVA 1.6 on Mistral 7B: 7,241,732,096 + 2 x 64 x 4096.
    let mistral = json!({"model_type": "llava_next", "text_config": {"model_type": "mistral", "vocab_size": 32_064}});
    assert_eq!(import(&mistral.to_string()).expect("a model").made.parameters, 7_242_256_384);
    // By itself it is any model's.
    assert!(import(r#"{"model_type": "llama", "vocab_size": 32064}"#).is_err());
}

/// Families by hand. Each sum: attention, its biases, MLP and norms of a layer; both tables of tokens; the last norm.
#[test]
fn younger_families_by_hand() {
    let size = |config: Value| import(&config.to_string()).expect("a model").made.parameters;
    let sizes = |kind: &str, sizes: [u32; 6]| {
        let [layers, hidden, heads, kv, ffn, vocab] = sizes;
        json!({"model_type": kind, "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
            "num_key_value_heads": kv, "intermediate_size": ffn, "vocab_size": vocab, "head_dim": 128,
            "tie_word_embeddings": false})
    };
    // Minitron 8B: two matrices of an MLP, norms with biases, heads of 128 that are wider together than the model.
    let mut minitron = sizes("nemotron", [32, 4096, 48, 8, 16_384, 256_000]);
    minitron["hidden_act"] = json!("relu2");
    let attention = 2 * 4096 * 6144 + 2 * 4096 * 1024;
    assert_eq!(size(minitron.clone()), 32 * (attention + 2 * 4096 * 16_384 + 4 * 4096) + 2 * 256_000 * 4096 + 2 * 4096);
    assert_eq!(size(minitron.clone()), 8_271_699_968);
    // Read as Llama it would have three matrices.
    let like =
        model(&minitron.to_string(), &families(), ImportOptions { like: Some("llama"), ..ImportOptions::default() });
    let error = like.unwrap_err().to_string();
    assert!(error.contains("hidden_act") && error.contains("nemotron"), "{error}");
    // GLM-4 9B: biases of queries, keys and values, four norms.
    let attention = 2 * 4096 * 4096 + 2 * 4096 * 256 + 4096 + 2 * 256;
    let expected = 40 * (attention + 3 * 4096 * 13_696 + 4 * 4096) + 2 * 151_552 * 4096 + 4096;
    assert_eq!((size(sizes("glm4", [40, 4096, 32, 2, 13_696, 151_552])), expected), (expected, 9_400_279_040));
    // Seed-OSS 36B.
    let attention = 2 * 5120 * 10_240 + 2 * 5120 * 1024 + 10_240 + 2 * 1024;
    let expected = 64 * (attention + 3 * 5120 * 27_648 + 2 * 5120) + 2 * 155_136 * 5120 + 5120;
    assert_eq!(size(sizes("seed_oss", [64, 5120, 80, 8, 27_648, 155_136])), expected);
    // One layer without experts, three with eight of them and a shared one; norms of queries and keys.
    let mut glm = sizes("glm4_moe", [4, 4096, 96, 8, 10_944, 151_552]);
    let more = json!({"n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "moe_intermediate_size": 1408, "use_qk_norm": true, "attention_bias": true});
    for (key, value) in more.as_object().unwrap() {
        glm[key] = value.clone();
    }
    let attention: u64 = 2 * 4096 * 12_288 + 2 * 4096 * 1024 + 12_288 + 2 * 1024 + 2 * 128;
    let experts = 9 * 3 * 4096 * 1408 + 8 * 4096;
    let layers = 4 * (attention + 2 * 4096) + 3 * 4096 * 10_944 + 3 * experts;
    assert_eq!(size(glm), layers + 2 * 151_552 * 4096 + 4096);
}

/// What is near a known family is named; of others nothing is guessed.
#[test]
fn the_hint_names_the_family_that_a_type_goes_on_from() {
    let hint = |kind: &str| import(&json!({"model_type": kind}).to_string()).unwrap_err().fix;
    assert!(hint("qwen3_surprise").ends_with("--like qwen3 reads it as that"));
    assert!(hint("surprise").ends_with("where its layers are those of one of them, --like says so"));
}

/// Families of 2024 and later by hand, each against what its authors count: a table of tokens, attention, MLP and norms of each
/// layer, the last norm.
#[test]
fn families_of_exaone_cohere_and_others_by_hand() {
    let size = |config: Value| import(&config.to_string()).expect("a model").made.parameters;
    let sizes = |kind: &str, sizes: [u32; 6]| {
        let [layers, hidden, heads, kv, ffn, vocab] = sizes;
        json!({"model_type": kind, "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
            "num_key_value_heads": kv, "intermediate_size": ffn, "vocab_size": vocab})
    };
    // EXAONE 4.0 32B: norms behind the halves, norms of heads of 128, three layers of four with a window.
    let mut exaone = sizes("exaone4", [64, 5120, 40, 8, 27_392, 102_400]);
    let every = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"];
    for (key, value) in [
        ("layer_types", json!(every.repeat(16))),
        ("sliding_window", json!(4096)),
        ("sliding_window_pattern", json!("LLLG")),
        ("tie_word_embeddings", json!(false)),
        ("head_dim", json!(128)),
    ] {
        exaone[key] = value;
    }
    let layer: u64 = 2 * 5120 * 5120 + 2 * 5120 * 1024 + 3 * 5120 * 27_392 + 2 * 5120 + 2 * 128;
    assert_eq!((size(exaone.clone()), 64 * layer + 2 * 102_400 * 5120 + 5120), (32_003_216_384, 32_003_216_384));
    let window = import(&exaone.to_string()).unwrap().made.model.window.unwrap();
    assert_eq!((window.size, window.full_every), (4096, Some(4)));
    // EXAONE 3.5 7.8B says its layers under another name.
    let mut older = sizes("exaone", [32, 4096, 32, 8, 14_336, 102_400]);
    older["num_layers"] = older["num_hidden_layers"].take();
    assert_eq!(size(older), 7_818_448_896);
    // Command R: one norm for both halves, and one table for both ends; Command R+ has norms of queries and keys.
    let layer: u64 = 4 * 8192 * 8192 + 3 * 8192 * 22_528 + 8192;
    let command = sizes("cohere", [40, 8192, 64, 64, 22_528, 256_000]);
    assert_eq!((size(command), 40 * layer + 256_000 * 8192 + 8192), (34_980_831_232, 34_980_831_232));
    let mut plus = sizes("cohere", [64, 12_288, 96, 8, 33_792, 256_000]);
    plus["use_qk_norm"] = json!(true);
    assert_eq!(size(plus), 103_810_674_688);
    let window = import(&sizes("cohere2", [32, 4096, 32, 8, 14_336, 256_000]).to_string()).unwrap().made.model.window;
    assert_eq!(window.map(|window| (window.size, window.full_every)), Some((4096, Some(4))));
    // InternLM 2.5 7B, Baichuan 2 7B.
    let mut intern = sizes("internlm2", [32, 4096, 32, 8, 14_336, 92_544]);
    intern["bias"] = json!(false);
    assert_eq!(size(intern), 7_737_708_544);
    assert_eq!(size(sizes("baichuan", [32, 4096, 32, 32, 11_008, 125_696])), 7_505_973_248);
}

/// Whether both ends share a table is said for the whole model: Qwen3 1.7B has 151,936 x 2048 parameters fewer so.
#[test]
fn what_stands_around_a_decoder_says_whether_its_ends_share_a_table() {
    let text = json!({"model_type": "qwen3_vl_text", "num_hidden_layers": 28, "hidden_size": 2048,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 6144,
        "vocab_size": 151_936});
    let of = |tied: bool| {
        let outer = json!({"model_type": "qwen3_vl", "tie_word_embeddings": tied, "text_config": text});
        import(&outer.to_string()).expect("a model").made.parameters
    };
    assert_eq!((of(true), of(false) - of(true)), (1_720_574_976, 151_936 * 2048));
}

#[test]
fn what_sees_both_sides_or_attends_otherwise_is_refused() {
    for (name, changes, place) in [
        ("qwen2-7b", json!({"is_causal": false}), "is_causal"),
        ("gemma-3-1b", json!({"use_bidirectional_attention": true}), "use_bidirectional_attention"),
        ("mixtral-8x7b", json!({"attn_type_list": [0, 1]}), "attn_type_list"),
        ("mixtral-8x7b", json!({"shared_intermediate_size": 1024}), "shared_intermediate_size"),
    ] {
        assert_eq!(changed(name, changes).unwrap_err().field, place);
    }
    // Gemma 4 looks at both sides of pictures alone, and MiniMax M2 lists layers that all attend alike.
    assert!(changed("qwen2-7b", json!({"is_causal": true, "use_bidirectional_attention": "vision"})).is_ok());
    assert!(changed("mixtral-8x7b", json!({"attn_type_list": [1, 1], "shared_intermediate_size": 0})).is_ok());
}

/// Where layers are listed, the list counts: two more of DeepSeek-R1's without experts have `3 x 7168 x 18,432` parameters each in
/// place of `257 x 3 x 7168 x 2048 + 256 x 7168`.
#[test]
fn a_list_of_layers_with_experts_goes_before_the_count_of_those_without() {
    let types = |dense: usize| json!([vec!["dense"; dense], vec!["sparse"; 61 - dense]].concat());
    let count = |dense| changed("deepseek-r1", json!({"mlp_layer_types": types(dense)})).unwrap().made.parameters;
    assert_eq!(count(3), 671_026_404_352);
    let experts = 257 * 3 * 7168 * 2048 + 256 * 7168;
    assert_eq!(count(3) - count(5), 2 * (experts - 3 * 7168 * 18_432));
    let mut shared = sparse();
    shared["indexer_types"] = json!(["full", "shared"]);
    assert_eq!(changed("deepseek-r1", shared).unwrap_err().field, "indexer_types");
}

#[test]
fn a_file_of_an_embedder_says_that_its_model_is_counted_with_logits() {
    let of = |class: &str| changed("mistral-7b", json!({"architectures": [class]})).unwrap();
    assert_eq!(assumed(&of("MistralModel"), "head").as_deref(), Some("of a language model"));
    assert_eq!(assumed(&of("LlamaForSequenceClassification"), "head").as_deref(), Some("of a language model"));
    assert_eq!(assumed(&of("MistralForCausalLM"), "head"), None);
    assert_eq!(assumed(&of("GPT2LMHeadModel"), "head"), None);
}
