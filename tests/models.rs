//! Parameter counts of the preset models against published ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails as a test does")]

use std::fs;

use shardscope_engine::model::{Mixer, Model};
use shardscope_engine::presets::Kind;
use shardscope_interop::huggingface::{self, Families, ImportOptions};

fn model(id: &str) -> Model {
    let found = shardscope_presets::library().model(id).unwrap_or_else(|unknown| panic!("{unknown}"));
    Model::clone(&found)
}

/// Half of the last digit of a printed number: 0.05e9 for "145.6e9".
fn half_digit(printed: &str) -> f64 {
    let (number, exponent) = printed.split_once('e').unwrap();
    let decimals = number.split_once('.').map_or(0, |(_, digits)| i32::try_from(digits.len()).unwrap());
    0.5 * 10_f64.powi(exponent.parse::<i32>().unwrap() - decimals)
}

/// Counts published to the last parameter.
#[test]
fn exact_counts() {
    for (id, published, source) in [
        ("mpt-7b", 6_658_859_008_u64, "llm-foundry benchmarking README"),
        ("mpt-13b", 12_853_954_560, "llm-foundry benchmarking README"),
        ("mpt-30b", 29_975_214_080, "llm-foundry benchmarking README"),
        ("mpt-70b", 64_862_437_376, "llm-foundry benchmarking README"),
        ("gpt-neox-20b", 20_554_567_680, "arXiv 2204.06745, table 1"),
        ("llama-2-7b", 6_738_415_616, "Hugging Face, meta-llama/Llama-2-7b-hf"),
        ("llama-2-13b", 13_015_864_320, "Hugging Face, meta-llama/Llama-2-13b-hf"),
        ("llama-2-70b", 68_976_648_192, "Hugging Face, meta-llama/Llama-2-70b-hf"),
        ("llama-3.1-8b", 8_030_261_248, "Hugging Face, meta-llama/Llama-3.1-8B"),
        ("llama-3.1-70b", 70_553_706_496, "Hugging Face, meta-llama/Llama-3.1-70B"),
        ("llama-3.1-405b", 405_853_388_800, "Hugging Face, meta-llama/Llama-3.1-405B"),
        ("mixtral-8x7b", 46_702_792_704, "Hugging Face, mistralai/Mixtral-8x7B-v0.1"),
        ("llama4-scout", 107_769_861_120, "transformers 5.23.0 on the meta device"),
        ("qwen3-8b", 8_190_735_360, "transformers 5.23.0 on the meta device"),
        ("qwen3-4b", 4_022_468_096, "Hugging Face, Qwen/Qwen3-4B"),
        ("qwen2.5-7b", 7_615_616_512, "Hugging Face, Qwen/Qwen2.5-7B"),
        ("qwen2.5-14b", 14_770_033_664, "Hugging Face, Qwen/Qwen2.5-14B"),
        ("qwen3-30b-a3b", 30_532_122_624, "transformers 5.23.0 on the meta device"),
        ("gemma3-1b", 999_885_952, "transformers 5.23.0 on the meta device"),
        ("deepseek-v2-lite", 15_706_484_224, "Hugging Face, deepseek-ai/DeepSeek-V2-Lite"),
        (
            "deepseek-v3",
            671_026_404_352,
            "Hugging Face, deepseek-ai/DeepSeek-V3, without its layer for a further token",
        ),
    ] {
        assert_eq!(model(id).parameters(), published, "{id}: {source}");
    }
}

/// Counts published with a few digits: within half of the last one, or 0.5 %.
#[test]
fn rounded_counts() {
    for (id, printed, source) in [
        ("mpt-125m", "0.125311e9", "llm-foundry benchmarking README"),
        ("mpt-350m", "0.355985e9", "llm-foundry benchmarking README"),
        ("mpt-760m", "0.760471e9", "llm-foundry benchmarking README"),
        ("mpt-1b", "1.31595e9", "llm-foundry benchmarking README"),
        ("mpt-3b", "2.65184e9", "llm-foundry benchmarking README"),
        ("gpt3-175b", "174.6e9", "arXiv 2104.04473 with GPT-3's shape"),
        ("gpt3-175b", "175.0e9", "arXiv 2005.14165, table 2.1"),
        ("gpt-neox-10b", "10e9", "arXiv 2501.04266 (a name, no count)"),
        ("opt-30b", "29.97e9", "Hugging Face, facebook/opt-30b"),
        ("gemma3-27b", "27.0e9", "arXiv 2503.19786, table 1: 25,600M and 1,416M of the embedding"),
        ("llama-2-34b", "33.744e9", "Hugging Face, codellama/CodeLlama-34b-hf"),
        ("megatron-1.7b", "1.7e9", "arXiv 2104.04473, table 1"),
        ("megatron-3.6b", "3.6e9", "arXiv 2104.04473, table 1"),
        ("megatron-7.5b", "7.5e9", "arXiv 2104.04473, table 1"),
        ("megatron-18b", "18.4e9", "arXiv 2104.04473, table 1"),
        ("megatron-39b", "39.1e9", "arXiv 2104.04473, table 1"),
        ("megatron-76b", "76.1e9", "arXiv 2104.04473, table 1"),
        ("megatron-145b", "145.6e9", "arXiv 2104.04473, table 1"),
        ("megatron-310b", "310.1e9", "arXiv 2104.04473, table 1"),
        ("megatron-530b", "529.6e9", "arXiv 2104.04473, table 1"),
        ("megatron-1t", "1008.0e9", "arXiv 2104.04473, table 1"),
    ] {
        let published: f64 = printed.parse().unwrap();
        let error = (model(id).parameters() as f64 - published).abs();
        assert!(error <= half_digit(printed).max(0.005 * published), "{id}: off by {error} from {source}");
    }
}

/// Billions of parameters, and those of them that are active for a token, counted apart from each model's shape without
/// norms and biases, which are less than 0.1 % of it. Of `OLMoE3` the digits are those of allenai/OLMo-core's README.
#[test]
fn shapes_of_2026() {
    for (id, total, active) in [
        ("llama3-8b", 8.03, 8.03),
        ("llama3-70b", 70.552, 70.552),
        ("llama4-scout", 107.769, 17.172),
        ("llama4-maverick", 400.711, 17.184),
        ("mixtral-8x22b", 140.62, 39.151),
        ("mixtral-8x22b-g8t8", 140.639, 22.259),
        ("deepseek-v2-lite", 15.706, 2.661),
        ("deepseek-v2", 235.741, 21.375),
        ("deepseek-v3", 671.025, 37.551),
        ("deepseek-v3.2", 671.877, 38.403),
        ("kimi-k2", 1026.407, 32.86),
        ("qwen2-57b-a14b", 57.408, 14.249),
        ("qwen3-8b", 8.19, 8.19),
        ("qwen3-32b", 32.761, 32.761),
        ("qwen3-30b-a3b", 30.532, 3.353),
        ("qwen3-235b-a22b", 235.093, 22.19),
        ("qwen3-coder-480b-a35b", 480.154, 35.474),
        ("qwen3-next-80b-a3b", 79.674, 3.875),
        ("qwen3.5-27b", 26.895, 26.895),
        ("qwen3.5-35b-a3b", 34.66, 3.455),
        ("qwen3.5-122b-a10b", 122.111, 9.771),
        ("qwen3.5-397b-a17b", 396.346, 17.349),
        ("nemotron-3-nano", 31.577, 3.579),
        ("nemotron-3.5-lightning", 31.578, 3.58),
        ("nemotron-3-super", 120.668, 12.769),
        ("nemotron-3-ultra", 549.306, 56.056),
        ("gpt-oss-20b", 20.908, 4.186),
        ("gpt-oss-120b", 116.789, 5.71),
        ("glm-4.5-air", 106.851, 13.423),
        ("glm-4.5", 352.796, 33.63),
        ("glm-4.7", 352.796, 33.63),
        ("glm-5", 743.91, 41.784),
        ("minimax-m2.5", 228.689, 11.03),
        ("ling-1t", 999.704, 51.053),
        ("grok-1", 316.454, 84.526),
        ("gemma3-1b", 1.0, 1.0),
        ("gemma3-4b", 3.88, 3.88),
        ("gemma3-12b", 11.765, 11.765),
        ("gemma3-27b", 27.008, 27.008),
        ("olmoe3-8l-32e", 13.037, 3.172),
        ("olmoe3-8l-48e", 18.674, 3.172),
        ("olmoe3-tiny-64e", 12.912, 1.587),
        ("olmoe3-small-64e", 40.863, 4.294),
        ("olmoe3-medium-64e", 70.223, 7.371),
        ("olmoe3-medium-96e", 103.748, 7.375),
        ("olmoe3-medium-128e", 137.272, 7.379),
        ("olmoe3-large-128e", 295.988, 15.138),
        ("olmoe3-ultra-128e", 1200.483, 58.357),
        ("olmoe3-ultra-256e", 2379.499, 58.405),
    ] {
        let model = model(id);
        for (counted, billions) in [(model.parameters(), total), (model.active_parameters(), active)] {
            let error = counted as f64 / (billions * 1e9) - 1.0;
            assert!(error.abs() < 0.001, "{id}: {counted} is off by {error} from {billions} billion");
        }
    }
}

/// Layers with a window have heads of their own, by hand from the configurations.
#[test]
fn windows_of_own_heads() {
    // MiMo-V2-Flash: both tables, then of 9 full layers and 39 with a window queries of 64 x 192, keys of 192 and values of
    // 128 channels for 4 or 8 heads, and outputs of 64 x 128; one MLP, and 47 layers of 256 experts with a router. It is
    // called 309B with 15B active; the table counts windows as full layers, 308.574 billion.
    let attention = |heads: u64, keys: u64, values: u64| 64 * (192 + 128) + heads * (keys + values);
    let layers = 9 * attention(4, 192, 128) + 39 * attention(8, 192, 128);
    let expert = 3 * 4096 * 2048;
    let norms = (2 * 48 + 1) * 4096;
    let mimo = 4096 * (2 * 152_576 + layers + 3 * 16_384 + 47 * 256) + 47 * 256 * expert + norms;
    assert_eq!(mimo, 308_778_369_024 + norms);
    // Gemma 4 26B-A4B: one table; of 25 layers with a window queries of 16 x 256 and 8 heads of keys and of values, of 5 full
    // ones queries of 16 x 512 and 2 heads of keys, which are the values too; in each an MLP of 2112 beside 128 experts of 704
    // with a router, and 7 norms; norms of queries and keys for each head.
    let attention = 25 * (2 * 16 * 256 + 2 * 8 * 256) + 5 * (2 * 16 * 512 + 2 * 512);
    let norms = (7 * 30 + 1) * 2816 + 25 * 2 * 256 + 5 * 2 * 512;
    let gemma = 2816 * (262_144 + attention + 30 * (3 * (2112 + 128 * 704) + 128)) + norms;
    assert_eq!(gemma, 25_232_441_344 + norms);
    // Step-3.7-Flash: 12 full layers with 64 heads of 128 and 33 with 96 in a window, 8 heads of keys and values in either; 3
    // MLPs of 11,264; 42 layers of 289 experts of 1280 and a router with biases.
    let attention = 12 * (2 * 64 + 16) * 128 + 33 * (2 * 96 + 16) * 128;
    let norms = (2 * 45 + 1) * 4096 + 45 * 2 * 128;
    let experts = 42 * (288 + 289 * 3 * 1280);
    let step = 4096 * (2 * 128_896 + attention + 3 * 3 * 11_264 + experts) + 42 * 288 + norms;
    for (id, parameters) in [("mimo-v2-flash", mimo), ("gemma4-26b-a4b", gemma), ("step-3.7-flash", step)] {
        assert_eq!(model(id).parameters(), parameters, "{id}");
    }
    // Of MiMo's layers the first has an MLP and sees everything, and so do the last of every six.
    let mimo = model("mimo-v2-flash");
    let full = |layer: &u32| mimo.kind(*layer).mixer == Mixer::Attention;
    assert_eq!((0..48).filter(full).collect::<Vec<_>>(), [0, 5, 11, 17, 23, 29, 35, 41, 47]);
    let step = model("step-3.7-flash");
    let full = |layer: &u32| step.kind(*layer).mixer == Mixer::Attention;
    assert_eq!((0..45).filter(full).collect::<Vec<_>>(), (0..45).step_by(4).collect::<Vec<_>>());
    // Scores of a window of 128 over 4,096 tokens, (128 - 128^2 / 8192) / 2048 of them: with 64 heads of 160 channels on average.
    let window = mimo.attended_width(mimo.kind(1), 4096);
    assert!((window - 64.0 * 160.0 * (126.0 / 2048.0)).abs() < 1e-9, "{window}");
    let gemma = model("gemma4-26b-a4b");
    let [window, full] = [0, 5].map(|layer| gemma.attended_width(gemma.kind(layer), 1024));
    assert_eq!((window, full), (16.0 * 256.0, 16.0 * 512.0));
}

/// Presets have the shapes that the published `config.json` of their models describe, layer by layer.
#[test]
fn presets_are_what_their_configurations_say() {
    let families = Families::of_library(&shardscope_presets::library()).unwrap();
    for (file, id) in [
        ("llama-2-7b", "llama-2-7b"),
        ("llama-3.1-8b", "llama-3.1-8b"),
        ("llama-4-scout", "llama4-scout"),
        ("mixtral-8x7b", "mixtral-8x7b"),
        ("qwen3-8b", "qwen3-8b"),
        ("qwen3-30b-a3b", "qwen3-30b-a3b"),
        ("gemma-3-1b", "gemma3-1b"),
        ("deepseek-v2-lite", "deepseek-v2-lite"),
        ("deepseek-r1", "deepseek-v3"),
        ("deepseek-r1", "deepseek-v3.2"),
    ] {
        let path = format!("{}/tests/fixtures/hf/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let mut config: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        if file == "deepseek-v2-lite" {
            // The fixture leaves it out; the published file has null, which does not compress queries.
            config["q_lora_rank"] = serde_json::Value::Null;
        }
        if id == "deepseek-v3.2" {
            // What its file has beside that of V3.
            for (key, value) in [("index_n_heads", 64), ("index_head_dim", 128), ("index_topk", 2048)] {
                config[key] = value.into();
            }
            config["model_type"] = "deepseek_v32".into();
        }
        let imported = huggingface::model(&config.to_string(), &families, ImportOptions::default()).unwrap().made.model;
        let preset = model(id);
        let Model { id: own, name, source, sequence, .. } = preset.clone();
        assert_eq!(Model { id: own, name, source, sequence, ..imported }, preset, "{file}");
    }
}

/// The ZeRO++ tutorial's log: 18.44 B parameters, 16 bytes each over 64 GPUs make 4395 MiB.
#[test]
fn zeropp_tutorial() {
    let parameters = model("gpt-18b-zeropp").parameters() as f64;
    assert!((parameters / 18.44e9 - 1.0).abs() < 0.001, "{parameters}");
    assert_eq!((16.0 * parameters / 64.0 / 1024.0 / 1024.0).round() as u64, 4395);
}

/// Mixtral (arXiv 2401.04088): 12.9 B of its parameters are active for a token.
#[test]
fn mixtral_active() {
    let active = model("mixtral-8x7b").active_parameters() as f64;
    assert!((active - 12.9e9).abs() < 0.05e9, "{active}");
}

/// DeepSeek-V3 (arXiv 2412.19437): 37 B of its parameters are active for a token, and the first three layers are dense.
#[test]
fn deepseek_active() {
    let model = model("deepseek-v3");
    let active = model.active_parameters() as f64;
    assert!((active - 37.5e9).abs() < 0.5e9, "{active}");
    // Megatron's flop of a token are 0.2498 TFLOP for sequences of 4096, without its layer for a further token: 6 for each
    // weight of a product, and 6 for each channel and position attended to, of which a causal kernel computes half.
    let attended: f64 = model.kinds().map(|(kind, layers)| f64::from(layers) * model.attended_width(kind, 4096)).sum();
    let flop = 6.0 * model.matrix_parameters() as f64 + 6.0 * attended * 4096.0;
    assert!((flop / 0.24981e12 - 1.0).abs() < 1e-4, "{flop}");
    let kinds: Vec<(String, u32)> = model.kinds().map(|(kind, layers)| (kind.name(&model), layers)).collect();
    assert_eq!(kinds, [("dense".to_owned(), 3), ("experts".to_owned(), 58)]);
}

/// The layer of DeepSeek-V3 for a further token: attention 187,107,328 weights and norms, 257 experts of 3 x 7168 x 2048,
/// a router of 256 x 7168, five norms of 7168 (three of them around the layer) and a product of 2 x 7168 by 7168. With it
/// NVIDIA's tables count 0.260 TFLOP a token, Megatron's own function 0.25999.
#[test]
fn deepseek_further_token() {
    let plain = model("deepseek-v3");
    let model = Model { mtp_layers: 1, ..model("deepseek-v3") };
    let layer = 187_107_328 + 257 * 3 * 7168 * 2048 + 256 * 7168 + 5 * 7168 + 2 * 7168 * 7168;
    assert_eq!(model.parameters() - plain.parameters(), layer);
    let attended: f64 = model.kinds().map(|(kind, layers)| f64::from(layers) * model.attended_width(kind, 4096)).sum();
    let flop = 6.0 * model.matrix_parameters() as f64 + 6.0 * attended * 4096.0;
    assert!((flop / 0.25999e12 - 1.0).abs() < 1e-4, "{flop}");
}

/// SC21's own formula, P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)) (arXiv 2104.04473, equation 2),
/// which leaves out the last norm's 2 h.
#[test]
fn megatron_formula() {
    for entry in shardscope_presets::library().entries(Kind::Model).filter(|entry| entry.id.starts_with("megatron-")) {
        let model = model(&entry.id);
        let [l, h, v, s] = [model.layers, model.hidden, model.vocab, model.sequence].map(f64::from);
        let formula = 12.0 * l * h * h * (1.0 + 13.0 / (12.0 * h) + (v + s) / (12.0 * l * h));
        assert!((model.parameters() as f64 - 2.0 * h - formula).abs() < 1e-9 * formula, "{}", entry.id);
    }
    for (id, printed) in [("megatron-1.7b", "1.652e9"), ("megatron-3.6b", "3.562e9")] {
        let error = (model(id).parameters() as f64 - printed.parse::<f64>().unwrap()).abs();
        assert!(error <= half_digit(printed), "{id}: off by {error}");
    }
}

/// The FSDP-limits notes count 12 L H^2 and nothing else (arXiv 2504.03655).
#[test]
fn blocks_only() {
    for (id, layers, hidden, printed) in [
        ("fsdp-1.3b", 24_u64, 2048_u64, "1.2080e9"),
        ("fsdp-7b", 32, 4096, "6.4425e9"),
        ("fsdp-13b", 40, 5120, "12.583e9"),
        ("fsdp-30b", 48, 7168, "29.595e9"),
        ("fsdp-66b", 64, 9216, "65.230e9"),
        ("fsdp-175b", 96, 12288, "173.95e9"),
        ("fsdp-310b", 96, 16384, "309.24e9"),
    ] {
        let model = model(id);
        assert_eq!(model.parameters(), 12 * layers * hidden * hidden, "{id}");
        assert!((model.parameters() as f64 - printed.parse::<f64>().unwrap()).abs() <= half_digit(printed), "{id}");
        assert_eq!(model.sequence, 2048, "{id}");
    }
}

/// X_[x]: x layers, hidden x^2, sequence 16 x, x/2 heads, 12 x^5 parameters (arXiv 2106.02679).
#[test]
fn layered_family() {
    for x in [32_u32, 108, 160] {
        let model = model(&format!("x-{x}"));
        assert_eq!((model.layers, model.hidden, model.sequence), (x, x * x, 16 * x));
        assert_eq!((model.heads, model.head_size), (x / 2, 2 * x));
        assert_eq!(model.parameters(), 12 * u64::from(x).pow(5));
    }
}
