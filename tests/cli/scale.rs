//! Published runs on hundreds to thousands of devices, to none of which a constant is fitted: each lies in its own interval.
//!
//! Not for rows of tables, which `validate` reads.

use super::run::{Home, number};

/// Nemotron-4 340B (arXiv 2406.11704, table 1).
const NEMOTRON: &str = "format = 1\nname = \"Nemotron-4 340B\"\nsource = \"arXiv 2406.11704, table 1\"\nlayers = 96\nhidden = 18432\n\
                        heads = 96\nkv_heads = 8\nhead_size = 192\nffn_hidden = 73728\ngated = false\nvocab = 256000\ntied = false\n\
                        positions = \"computed\"\nnorm = \"layer-norm\"\nbias = false\nsequence = 4096\n";

/// Llama 3 405B, whose MFU counts half of attention (arXiv 2407.21783, table 4).
const LLAMA: &str = "--hardware h100-80gb-dgx --model llama-3.1-405b --stack megatron-2024 --strategy zero2 --tp 8 --pp 16 \
                     --schedule interleaved --stages-per-rank 8 --flop-count causal";
const NEMOTRONS: &str = "--hardware h100-80gb-dgx --model ./nemotron.toml --stack nemo-2024 --tp 8 --pp 12 --schedule interleaved \
                         --stages-per-rank 8 --strategy zero1";
/// Megatron-LM's runs beside those of `MegaScale` (arXiv 2402.15627, table 2).
const GPT3: &str = "--hardware a100-80gb-dgx --model gpt3-175b --stack megatron-2024 --tp 8 --pp 8 --schedule interleaved \
                    --stages-per-rank 6 --recompute selective --strategy zero1";
const DEEPSEEK: &str = "eval --hardware h800-80gb --model deepseek-v3 --stack hai-llm-2024 --precision fp8 --nodes 256 --pp 16 --ep 64 \
                        --strategy zero1 --recompute selective --recompute-modules mla_up_proj+layernorm+moe_act \
                        --global-batch 15360 --mtp-layers 1 --stage-layers 4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,1 --imbalance balanced \
                        --dispatcher deepep --format json";

/// Figures by which runs are published.
enum Published {
    /// Seconds of a step.
    Step(f64),
    /// Model flop per second and device over 1e12.
    Tflops(f64),
    Mfu(f64),
}

#[test]
fn published_runs_of_many_devices_lie_in_their_intervals() {
    use Published::{Mfu, Step, Tflops};
    let home = Home::new();
    home.write("nemotron.toml", NEMOTRON);
    for (plan, run, published) in [
        (LLAMA, "--nodes 1024 --global-batch 2048", Tflops(430.0)),
        (LLAMA, "--nodes 2048 --global-batch 2048", Tflops(400.0)),
        (LLAMA, "--nodes 2048 --global-batch 128 --cp 16 --seq 131072", Tflops(380.0)),
        (NEMOTRONS, "--nodes 192 --global-batch 768", Step(10.3)),
        (NEMOTRONS, "--nodes 384 --global-batch 1536", Step(10.3)),
        (NEMOTRONS, "--nodes 768 --global-batch 2304", Step(8.0)),
        (GPT3, "--nodes 32 --global-batch 768", Mfu(0.530)),
        (GPT3, "--nodes 128 --global-batch 768", Mfu(0.447)),
        (GPT3, "--nodes 384 --global-batch 6144", Mfu(0.487)),
        (GPT3, "--nodes 1536 --global-batch 6144", Step(8.57)),
    ] {
        let json = home.run(&format!("eval {plan} {run} --format json"));
        let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
        let step = number(&json, "step_time_s");
        let took = match published {
            Step(seconds) => seconds,
            Tflops(rate) => step * number(&json, "model_tflops_per_device") / rate,
            Mfu(share) => step * number(&json, "mfu") / share,
        };
        let [low, high] = ["low", "high"].map(|end| number(&json["error_band"], end));
        assert!((low..high).contains(&took), "{run}: took {took} s, predicted {step}, {low} to {high}");
        // Few rows are of so many devices, and an interval says so.
        assert!(high / low > 1.35, "{run}: {low} to {high}");
    }
}

/// Llama 2 7B fully sharded: from 128 to 2,048 H100 each device trains 37.2 % fewer tokens a second (arXiv 2411.13055, abstract and
/// section 4.1). Latencies of flat rings over 2,048 ranks are most of it.
#[test]
fn fully_sharded_steps_lose_as_much_as_was_measured_from_128_to_2048_devices() {
    let home = Home::new();
    let rate = |devices: u32| {
        let json = home.run(&format!(
            "eval --model llama-2-7b --hardware h100-80gb-dgx --devices {devices} --strategy fsdp --micro-batch 2 --accumulate 1 \
             --recompute none --format json"
        ));
        let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
        number(&json, "tokens_per_s_per_device")
    };
    let lost = 1.0 - rate(2048) / rate(128);
    assert!((0.32..0.42).contains(&lost), "{lost:.3}");
}

/// 180 thousand device-hours of 2,048 H800s for a trillion tokens (arXiv 2412.19437): 360 s / 2,048 devices / 1e12 tokens x 62.9
/// million tokens a step, 15,360 sequences of 4,096: 19.9 s.
#[test]
fn the_hours_of_deepseek_v3_lie_in_the_interval() {
    let json = Home::new().run(DEEPSEEK);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let took = 180e3 * 3600.0 / 2048.0 / 1e12 * 15_360.0 * 4096.0;
    let [low, high] = ["low", "high"].map(|end| number(&json["error_band"], end));
    assert!((low..high).contains(&took), "{took} s, {low} to {high}");
}
