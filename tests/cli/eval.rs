//! `eval`: the contract of its JSON, its exit codes, and what it says about bad input.

use serde_json::Value;

use super::run::{Home, Run, assert_contains, keys, number, run};

/// Fits with room to spare: a 125M model on one node of 80 GB devices.
const SMALL: &str = "--hardware a100-80gb-nvlink16 --model mpt-125m --nodes 1";
/// Cannot fit: DDP holds 16 bytes of state for each of 70e9 parameters on every device, over 1 TB.
const LARGE: &str = "--hardware a100-80gb-nvlink16 --model mpt-70b --strategy ddp --nodes 1";

fn json(arguments: &str) -> Value {
    let run = run(&format!("eval {arguments} --format json"));
    assert_eq!(run.stderr, "");
    serde_json::from_str(&run.stdout).expect("JSON and nothing else on stdout")
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let json = json(SMALL);
    let top = [
        "format",
        "scenario",
        "fits",
        "step_time_s",
        "tokens_per_s_per_device",
        "model_tflops_per_device",
        "hardware_tflops_per_device",
        "mfu",
        "hfu",
        "error_band",
        "time",
        "memory",
        "traffic",
        "bottleneck",
        "intensities",
    ];
    for key in top {
        assert!(json.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(json["format"], 1);
    assert_eq!(json["fits"], true);
    let time =
        "compute_s communication_s exposed_communication_s bubble_s optimizer_s other_s slowed_s dispatch_exposed_s";
    assert_eq!(keys(&json["time"]), time);
    assert_eq!(keys(&json["memory"]), "capacity_bytes peak_bytes spare_bytes p_fits parts stages");
    let parts = "weights gradients optimizer secondary_weights activations gathered communication reserved";
    assert_eq!(keys(&json["memory"]["parts"]), parts);
    for level in json["traffic"].as_array().expect("an array") {
        assert_eq!(keys(level), "level bytes_per_device busy_s");
    }
    // So small a model is limited by its launches; the link to the host is `host` too.
    let bottleneck = &self::json(&format!("{SMALL} --stack llm-foundry-2024"))["bottleneck"];
    assert_eq!(keys(bottleneck), "resource host elasticity");
    assert_eq!((&bottleneck["resource"], &bottleneck["host"]), (&"host".into(), &"launches".into()));
    let bottleneck = &self::json("--accumulate 8 --recompute full")["bottleneck"];
    assert_eq!(keys(bottleneck), "resource elasticity");
}

/// PyTorch's DDP under autocast: casts of the weights in bf16 (2 bytes a parameter), gradients in fp32 and buckets as large
/// (8), fp32 weights and Adam's moments (12). What shares state has no buckets.
#[test]
fn ddp_holds_gradients_and_their_buckets() {
    let parts = |strategy: &str| {
        let json = json(&format!("--hardware a100-80gb-dgx --model mpt-1b --strategy {strategy} --nodes 1"));
        let parts = json["memory"]["parts"].clone();
        ["gradients", "optimizer"].map(|part| number(&parts, part) / number(&parts, "weights"))
    };
    let [gradients, optimizer] = parts("ddp");
    assert!((gradients - 8.0 / 2.0).abs() < 1e-9 && (optimizer - 12.0 / 2.0).abs() < 1e-9, "{gradients} {optimizer}");
    assert!(parts("zero2")[0] < 4.0);
}

/// Llama 3.1 8B at 8,192 tokens: 7,504,658,432 weights in matrix products x 6 = 45.028 GFLOP, and
/// 12 x 32 x 4096 x 8192 = 12.885 of attention, of which Megatron counts half since March 2025: 51.470.
#[test]
fn model_flop_are_counted_by_the_convention_that_is_asked_for() {
    let per_token = |count: &str| {
        let json = json(&format!("--model llama-3.1-8b --nodes 1 --seq 8192 --flop-count {count}"));
        1e3 * number(&json, "model_tflops_per_device") / number(&json, "tokens_per_s_per_device")
    };
    for (count, expected) in [("matrices", 57.912_9), ("causal", 51.470_4)] {
        assert!((per_token(count) - expected).abs() < 1e-3, "{count}: {}", per_token(count));
    }
}

/// Hybrid sharding of Llama 2 7B (6.738e9 parameters) over 4 nodes of 8, gradients in fp32: each sum over the four replicas
/// of a shard sends 2 x 3/4 x 4 B x 6.738e9 / 8 = 5.05 GB from each device, at each of 4 micro-batches or at the last.
#[test]
fn sums_over_replicas_can_wait_for_the_last_micro_batch() {
    let sent = |reduction: &str| {
        let flags = "--hardware h100-80gb-dgx --model llama-2-7b --strategy hsdp --nodes 4 --accumulate 4";
        let json = json(&format!("{flags} --reduction {reduction}"));
        let levels = json["traffic"].as_array().expect("a list").clone();
        levels.iter().find(|level| level["level"] == "system").map(|level| number(level, "bytes_per_device") / 1e9)
    };
    for (reduction, expected) in [("sharded-last", 5.054), ("micro-batch", 4.0 * 5.054), ("default", 4.0 * 5.054)] {
        let sent = sent(reduction).expect("it crosses nodes");
        assert!((sent / expected - 1.0).abs() < 0.01, "{reduction}: {sent}");
    }
}

#[test]
fn parts_sum_to_the_step_and_to_the_peak() {
    for scenario in [SMALL, LARGE, "", "--nodes 4 --micro-batch 2 --accumulate 2 --recompute full"] {
        sums(scenario);
    }
}

/// An evaluation whose parts of time must sum to the step, and those of memory to the peak.
fn sums(scenario: &str) -> Value {
    let json = json(scenario);
    let parts = ["compute_s", "exposed_communication_s", "bubble_s", "optimizer_s", "other_s"];
    let (sum, step) = (parts.map(|part| number(&json["time"], part)).iter().sum::<f64>(), number(&json, "step_time_s"));
    assert!((sum - step).abs() <= 1e-9 * step, "{scenario}: {sum} s is not {step} s");
    let memory = &json["memory"];
    let sum: f64 = memory["parts"].as_object().expect("parts").values().filter_map(Value::as_f64).sum();
    assert!((sum - number(memory, "peak_bytes")).abs() < 0.5, "{scenario}: {sum} bytes");
    assert!(number(&json["time"], "exposed_communication_s") <= number(&json["time"], "communication_s"));
    json
}

#[test]
fn what_fits_ends_with_0_and_what_does_not_with_3_and_its_report() {
    assert_eq!(run(&format!("eval {SMALL}")).code, Some(0));
    for format in ["text", "json", "toml"] {
        let run = run(&format!("eval {LARGE} --format {format}"));
        assert_eq!((run.code, run.stderr.as_str()), (Some(3), ""));
        assert!(!run.stdout.is_empty());
    }
    assert_eq!(json(LARGE)["fits"], false);
}

#[test]
fn toml_is_toml() {
    let text = run(&format!("eval {SMALL} --format toml")).stdout;
    let table: toml::Table = text.parse().expect("TOML");
    assert_eq!(table["format"].as_integer(), Some(1));
    assert_eq!(table["fits"].as_bool(), Some(true));
}

#[test]
fn without_a_terminal_the_explorer_prints_the_text_report() {
    let (explorer, eval) = (run(""), run("eval"));
    assert_eq!((explorer.code, explorer.stdout), (eval.code, eval.stdout));
    assert_eq!(explorer.stderr, "");
    assert_eq!(explorer.code, Some(0));
    let (explorer, eval) = (run(SMALL), run(&format!("eval {SMALL}")));
    assert_eq!((explorer.code, explorer.stdout), (eval.code, eval.stdout), "the explorer takes the flags too");
}

#[test]
fn flags_before_a_command_are_refused() {
    assert_eq!(
        run("--nodes 2 eval").refused(),
        ["error: '--nodes' stands before a command: write it after the command"]
    );
}

#[test]
fn flags_change_the_scenario() {
    let (one, two) = (json(SMALL), json(&format!("{SMALL} --seq 1024")));
    assert_ne!(one["step_time_s"], two["step_time_s"]);
    // --model brings the model's own sequence length: 2048 tokens for fsdp-7b, 16 x 32 = 512 for x-32.
    assert_eq!(json("--model fsdp-7b")["scenario"]["plan"]["sequence"], 2048);
    assert_eq!(json("--model x-32")["scenario"]["plan"]["sequence"], 512);
    assert_eq!(json("--model x-32 --seq 256")["scenario"]["plan"]["sequence"], 256);
}

#[test]
fn tokens_bring_days_to_the_text_report() {
    let text = run(&format!("eval {SMALL} --tokens 3e11")).stdout;
    assert_contains(&text, &["300,000,000,000 tokens", "days", "device-hours"]);
}

#[test]
fn a_misspelt_id_is_refused_with_the_nearest_one() {
    let run = run("eval --model mpt7b");
    let lines = run.refused();
    assert_eq!(lines.len(), 1);
    assert_contains(lines[0], &["mpt7b", "mpt-7b"]);
}

#[test]
fn all_problems_are_told_at_once() {
    let run = run("eval --hardware a100x --model mpt7b --strategy zero9 --micro-batch none");
    assert_contains(&run.refused().join("\n"), &["a100x", "mpt7b", "zero9", "micro-batch"]);
    let run = super::run::run("eval --micro-batch 0 --accumulate 0");
    assert_contains(&run.refused().join("\n"), &["--micro-batch", "--accumulate"]);
}

#[test]
fn bad_usage_ends_with_2_and_names_the_flag() {
    for (arguments, part) in [
        ("eval --nope", "--nope"),
        ("eval --format yaml", "json"),
        ("eval --nodes 1 --devices 8", "--devices"),
        ("eval --precision bf17", "bf16"),
        ("eval --threads 0", "--threads"),
        ("eval --shard node --strategy ddp", "--shard"),
        ("eval --shard 3", "--shard: groups of 3"),
        ("eval --weights-over 3", "--weights-over: groups of 3"),
        ("eval --shard 8 --gradients-over 24", "--gradients-over: groups of 24"),
        ("eval --optimizer-over 3", "--optimizer-over: groups of 3"),
        ("eval --hpz 3", "--hpz: groups of 3"),
        ("eval --cp 3", "--cp: 3 ranks do not divide"),
        ("eval --shard rack", "rack"),
        ("eval --recompute 2", "recompute"),
        ("eval --recompute -0.5", "--recompute: '-0.5' is not valid; recompute is none"),
        ("eval --nodes -1", "--nodes: '-1' is not valid; write a whole number"),
        ("eval --nodes 18446744073709551615", "it is too large: write a smaller whole number"),
        // The fault lies in a field that no flag has set, and no file.
        ("eval --hpz foo", "--hpz: DGX H100 has no level 'foo'"),
        (
            "eval --pp 2 --tp 8 --strategy zero1 --schedule interleaved --stages-per-rank 2 --accumulate 1",
            "--accumulate: interleaved",
        ),
        ("eval --global-batch 1000", "--global-batch: 1,000 sequences are no multiple of the 64 that micro-batch 1"),
        ("eval --global-batch 1000", "choose 960 or 1024"),
        ("eval --global-batch 1024 --accumulate 8", "choose --accumulate 16 or --global-batch 512"),
        ("eval --price -1", "write a price, like \"2.50 EUR\""),
        ("eval --global-batch many", "write sequences, like 1024, tokens"),
        ("default eval", "default"),
        ("evil", "evil"),
    ] {
        assert_contains(&run(arguments).refused().join("\n"), &[part]);
    }
}

/// Lengths of 100, 300 and 5,000 tokens are cut at 2,000: 800 on average, of three examples. 3 x 800 tokens are trained.
#[test]
fn lengths_of_examples_are_read_from_a_file() {
    let home = Home::new();
    home.write("lengths.txt", "100\n300\n\n5000\n");
    let run = home.run("eval --train lora --seq 2000 --packing ./lengths.txt --format json");
    let json = run.json(0);
    let plan = &json["scenario"]["plan"];
    assert_eq!((&plan["packing"], &plan["examples"]), (&800.into(), &3.into()));
    assert!((number(&json["training"], "tokens") - 2400.0).abs() < 1e-9, "{}", json["training"]);
    home.write("wrong.txt", "100\nmany\n");
    let refused = home.run("eval --train lora --packing ./wrong.txt").refused().join("\n");
    assert_contains(&refused, &["wrong.txt:2", "'many' is no length"]);
    // A fraction is a wrong mean, and no file that is missing.
    let refused = home.run("eval --train lora --packing 512.5").refused().join("\n");
    assert!(refused.contains("--packing") && !refused.contains("No such file"), "{refused}");
}

/// A price of a device-hour gives the cost, in that currency, and the command line that says it again.
#[test]
fn a_price_makes_a_cost() {
    let json = json("--tokens 1T --price 2.50EUR");
    let training = &json["training"];
    let (cost, hours) = (number(training, "cost"), number(training, "device_hours"));
    assert!((cost / (2.5 * hours) - 1.0).abs() < 1e-9 && training["currency"] == "EUR", "{training}");
    assert!(
        json["command"].as_str().is_some_and(|command| command.contains("--price '2.5 EUR'")),
        "{}",
        json["command"]
    );
    let text = run("eval --tokens 1T").stdout;
    assert_contains(&text, &["cost", "with the price of a device-hour, like --price '2.50 EUR'"]);
}

#[test]
fn accumulation_follows_from_the_global_batch() {
    // 8 nodes of 8 devices hold 64 data ranks: 1,024 / 64 = 16 micro-batches of one sequence.
    let json = json("--global-batch 1024 --accumulate 16");
    let batch = &json["batch"];
    assert_eq!(
        (&batch["sequences"], &batch["accumulate"], &batch["data_ranks"]),
        (&1024.into(), &16.into(), &64.into())
    );
    let (rate, each) = (number(&json, "tokens_per_s"), number(&json, "tokens_per_s_per_device"));
    assert!((rate / (64.0 * each) - 1.0).abs() < 1e-12);
    // What a file alone says yields to the flag of accumulation, and to what divides: 6 nodes take 48 at once.
    assert_eq!(self::json("--accumulate 3")["batch"]["sequences"], 192);
    let nearest = self::json("--nodes 6 --memory-factor 2");
    assert_eq!(nearest["batch"]["sequences"], 1008, "21 x 48; 22 x 48 is 1,056");
    let text = run("eval --nodes 6 --memory-factor 2").stdout;
    assert_contains(&text, &["global batch: 1,008 sequences", "the nearest to 1,024 that divides (-1.6 %)"]);
    let tokens = self::json("--global-batch 2097152tokens");
    assert_eq!(tokens["batch"]["sequences"], 1024, "of 2,048 tokens each");
}

#[test]
fn one_mistake_in_the_extents_is_told_once() {
    assert_eq!(run("eval --strategy mics --tp 8").refused().len(), 1);
    let home = Home::new();
    home.write("own.toml", &home.run("presets scenarios --show default").stdout.replace("\"fsdp\"", "\"mics\""));
    let told = home.run("eval ./own.toml --tp 8");
    let told = told.refused();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_contains(told[0], &["plan.sharding.weights: ", "tensor parallelism"]);
}

/// How long the default's own model trains says nothing of another one.
#[test]
fn a_model_brings_no_length_of_training() {
    assert_contains(&run("eval").stdout, &["1,000,000,000,000 tokens"]);
    assert!(!run(&format!("eval {SMALL}")).stdout.contains("device-hours"));
    assert_eq!(json(SMALL)["scenario"]["plan"].get("tokens"), None);
}

#[test]
fn a_report_is_opened_as_its_scenario() {
    let home = Home::new();
    home.write("report.toml", &home.run(&format!("eval {SMALL} --micro-batch 4 --format toml")).stdout);
    let again = home.run("eval report.toml --format json").json(0);
    assert_eq!(again["step_time_s"], json(&format!("{SMALL} --micro-batch 4"))["step_time_s"]);
    home.write("bad.toml", "format = 1\n[scenario]\nformat = 1\ncluster = \"none\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n");
    assert_contains(
        &home.run("eval bad.toml").refused().join("\n"),
        &["bad.toml:4:1: scenario.cluster: no cluster 'none'"],
    );
}

#[test]
fn lines_keep_within_100_characters() {
    let megatron = "--hardware a100-80gb-dgx --stack megatron-2022 --model gpt3-175b --nodes 16 --tp 8 --pp 8 \
                    --strategy zero1 --accumulate 32 --recompute full --tokens 1e20";
    for scenario in ["", "frontier-20b-384", "osdp-48x1536", megatron] {
        let text = run(&format!("eval {scenario}")).stdout;
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

/// Whole attention is counted, causal kernels compute half of it: so it says where more is used than there is.
#[test]
fn more_than_the_peak_is_explained_where_it_stands() {
    let above = "eval --offload all --stack ideal --hardware v100-32gb-dgx2";
    let json = run(&format!("{above} --format json"));
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert!(json["mfu"].as_f64().is_some_and(|mfu| mfu > 1.0), "{json}");
    assert_contains(json["caveats"][0].as_str().expect("a sentence"), &["above the peak", "causal kernels skip half"]);
    assert_contains(&run(above).stdout, &["\nnote: above the peak"]);
    assert_eq!(run(&format!("eval {SMALL} --format json")).json(0)["caveats"], serde_json::json!([]));
}

/// DeepSpeed's rows are of plain attention; fp8 is kept and sent as bf16.
#[test]
fn what_the_model_leaves_out_is_said() {
    let caveats = |flags: &str| {
        let json = run(&format!(
            "eval --hardware h100-80gb-dgx --model llama-2-7b --nodes 2 --recompute full {flags} --format json"
        ));
        json.json(0)["caveats"].to_string()
    };
    let (deepspeed, fp8) = ("times are of plain attention", "in fp8, weights that are gathered");
    let plain = caveats("");
    assert!(!plain.contains(deepspeed) && !plain.contains(fp8), "{plain}");
    assert_contains(&caveats("--stack deepspeed-zero3-2022 --strategy zero3"), &[deepspeed]);
    assert_contains(&caveats("--precision fp8"), &[fp8]);
}

/// What a training of so many tokens takes is no number.
#[test]
fn a_training_beyond_any_is_refused() {
    assert_contains(&run("eval --tokens 1e308").refused().join("\n"), &["--tokens", "at most 100000000T"]);
}

#[test]
fn a_scenario_file_is_named_by_its_path() {
    let home = Home::new();
    let text = home.run("presets scenarios --show default").stdout;
    home.write("mine.toml", &text);
    let (file, preset) = (home.run("eval mine.toml --format json"), home.run("eval default --format json"));
    assert_eq!(file.stderr, "");
    let figures = |text: &str| serde_json::from_str::<Value>(text).expect("JSON")["step_time_s"].clone();
    assert_eq!(figures(&file.stdout), figures(&preset.stdout));
    let missing = home.run("eval ./absent.toml");
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    assert_contains(&missing.stderr, &["./absent.toml"]);
}

#[test]
fn a_bad_scenario_file_is_refused_with_line_and_valid_names() {
    let home = Home::new();
    let text = home.run("presets scenarios --show default").stdout;
    home.write("bad.toml", &format!("colour = 1\n{text}"));
    assert_contains(&home.run("eval ./bad.toml").refused().join("\n"), &["bad.toml:1:1", "colour", "model"]);
}

/// 4 ranks and 8 micro-batches of blocks alone, at the peaks: the contiguous schedules idle 3 of 11 slots, the
/// breadth-first one with 4 stages per rank 3 of 35 [layered B8]; what one stage sends another is below 1 % of a slot.
#[test]
fn a_pipeline_idles_less_the_more_stages_it_has() {
    let bubble = |flags: &str| {
        let job = "--model fsdp-7b --stack ideal --devices 4 --pp 4 --strategy ddp --accumulate 8 --recompute full";
        let json = json(&format!("{job} {flags}"));
        assert_eq!(json["memory"]["stages"].as_array().expect("a list").len(), 4);
        number(&json["time"], "bubble_s") / number(&json, "step_time_s")
    };
    for (flags, law) in [("--schedule 1f1b", 3.0 / 11.0), ("--schedule breadth-first --stages-per-rank 4", 3.0 / 35.0)]
    {
        let share = bubble(flags);
        assert!((law..law + 0.003).contains(&share), "{flags}: {share} is not {law}");
    }
}

/// 13 billion weights come from the host twice and their gradients go there: 2 x 24 GiB at 15.75 GB/s take longer than
/// anything else.
#[test]
fn a_link_to_the_host_that_limits_is_named() {
    let job = "eval --hardware a100-80gb-nvlink16 --stack ideal --model mpt-13b --nodes 1 --recompute full \
               --strategy ddp --offload state --global-batch free";
    let json = run(&format!("{job} --format json")).json(0);
    assert_eq!(json["bottleneck"]["resource"], "host");
    let felt = |key: &str| number(&json["bottleneck"]["elasticity"], key);
    assert!(felt("host_bandwidth") > 0.5 && felt("host_bandwidth") > felt("peak_flop"), "{}", json["bottleneck"]);
    let link = &json["host_link"];
    let bytes = |way: &str| number(&link[way], "bytes_per_device");
    assert!((bytes("to_host") / 25.7e9 - 1.0).abs() < 0.001, "{link}: 2 bytes each");
    assert!((bytes("from_host") / bytes("to_host") - 2.0).abs() < 1e-12);
    assert!((number(&link["from_host"], "busy_s") - bytes("from_host") / 15.75e9).abs() < 1e-6, "{link}");
    assert_contains(
        &run(job).stdout,
        &["limited by bandwidth of the host link: +10 % gives +", "of it, waits for copies", "to host", "from host"],
    );
}

#[test]
fn an_interleaved_pipeline_names_the_nearest_count() {
    let run = run("eval --pp 4 --schedule interleaved --stages-per-rank 2 --accumulate 6");
    let refused = run.refused().join("\n");
    assert_contains(&refused, &["--accumulate: interleaved takes multiples of 4 micro-batches, not 6; choose 4"]);
    // The explorer says it in one line, with its fix.
    let run = run_30("--stages-per-rank 2");
    assert!(run.refused().join("\n").trim_start_matches("error: --").len() <= 78);
    assert_eq!(run_30("--stages-per-rank 1").code, Some(0), "one stage per rank is 1F1B, which takes any count");
}

fn run_30(stages: &str) -> Run {
    run(&format!("eval --pp 8 --tp 2 --schedule interleaved --accumulate 30 --model mpt-7b --nodes 8 {stages}"))
}

/// The acceptance runs: 48 Frontier nodes on a stack that overlaps nothing.
#[test]
fn three_levels_beat_zeropp_and_that_beats_zero3_on_frontier() {
    let throughput = |strategy: &str| {
        let json = sums(&format!(
            "--hardware mi250x-frontier --stack deepspeed-zeropp-2023 --model gpt-neox-20b --seq 2048 \
             --micro-batch 1 --accumulate 8 --recompute full --strategy {strategy} --nodes 48"
        ));
        number(&json, "model_tflops_per_device")
    };
    let [zero3, zeropp, levels] = ["zero3", "zeropp", "zero-topo"].map(throughput);
    assert!(zero3 < zeropp && zeropp < levels, "{zero3}, {zeropp}, {levels}");
}

#[test]
fn every_a100_and_h100_preset_gives_parts_that_sum() {
    let clusters = run("presets clusters").stdout;
    let ids = clusters.split_whitespace().filter(|word| word.starts_with("a100-") || word.starts_with("h100-"));
    let ids: Vec<&str> = ids.collect();
    assert!(ids.len() >= 8, "{ids:?}");
    for id in ids {
        sums(&format!("--hardware {id} --model mpt-7b --nodes 2"));
    }
}

/// [layered B5], `X_160` on 16 A100 per node at 200 Gb/s: `2 d_m / 15` = 3413 on NVLink, where 520 is needed and
/// tensor parallelism costs 1 + 520 / 3413 = 1.152; `12 d_m` = 307,200 of a modular pipeline; 6240 of 200 Gb/s
/// over 1280 per micro-batch: 5.
#[test]
fn intensities_of_the_paper() {
    let arguments = "--hardware a100-80gb-nvlink16 --stack ideal --model x-160 --strategy zero3 --nodes 2415 --tp 16 \
                     --pp 5 --stages-per-rank 32 --accumulate 5 --accumulation layered --recompute full";
    let json = json(arguments);
    let found = |kind: &str| {
        let rows = json["intensities"].as_array().expect("an array");
        rows.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("{kind} is not in {rows:?}")).clone()
    };
    let close = |value: &Value, key: &str, expected: f64| {
        assert!((number(value, key) - expected).abs() < 5e-4 * expected, "{key}: {value}");
    };
    let tensor = found("tensor");
    let names =
        "kind link flop_per_byte threshold_flop_per_byte overlapped hidden slowdown micro_batches_to_hide formula";
    assert_eq!(keys(&tensor), names);
    close(&tensor, "flop_per_byte", 3413.0);
    close(&tensor, "threshold_flop_per_byte", 520.0);
    close(&tensor, "slowdown", 1.152);
    assert_eq!(
        (&tensor["link"], &tensor["overlapped"], &tensor["hidden"]),
        (&"node".into(), &false.into(), &false.into())
    );
    close(&found("pipeline"), "flop_per_byte", 307_200.0);
    let state = found("partitioned-state");
    assert_eq!(
        (&state["link"], &state["hidden"], &state["micro_batches_to_hide"]),
        (&"system".into(), &true.into(), &5.into())
    );
    let text = run(&format!("eval {arguments}")).stdout;
    assert_contains(
        &text,
        &[
            "307,200 = ",
            "      520 needed by node: not overlapped with compute, which takes 1.152 times",
            "    6,240 needed by system: hidden behind compute from 5 micro-batches on",
        ],
    );
    // Five micro-batches in the usual order gather five times: 6240 / 1280 = 4.875.
    let standard = arguments.replace("--pp 5 --stages-per-rank 32", "").replace("layered", "standard");
    let told = ["6,240 needed by system: exposed, compute takes 4.875 times as long;", "5 micro-batches would hide it"];
    assert_contains(&run(&format!("eval {standard}")).stdout, &told);
}

#[test]
fn a_preset_with_published_figures_prints_them_beside_its_own() {
    let report = run("eval frontier-20b-384");
    assert_eq!(report.code, Some(0));
    // [frontier D5]: three levels over ZeRO-3, and what the rate between nodes rests on.
    let parts =
        ["published, and here", "speedup over zero3", "2.398,", "within 10 %", "inferred from two published ratios"];
    let words: Vec<&str> = report.stdout.split_whitespace().collect();
    assert_contains(&words.join(" "), &parts);
    let figures = json("frontier-20b-384")["published"]["figures"].clone();
    for figure in figures.as_array().expect("an array") {
        assert_eq!(figure["within"], true, "{figure}");
        let error = number(figure, "here") / number(figure, "published") - 1.0;
        assert!((number(figure, "error") - error).abs() < 1e-12);
    }
    // They are of the scenario as it was published, not of another one.
    assert_eq!(json("frontier-20b-384 --nodes 8").get("published"), None);
}

/// What nobody can have measured is refused, with what can be.
#[test]
fn a_measured_figure_that_cannot_be_is_refused() {
    let home = Home::new();
    for (value, said) in [
        ("1e308s", "to 1e6 s"),
        ("1e-320s", "from 1 us"),
        ("1e300GiB", "71 GiB"),
        ("1e7GiB", "to 1 PB"),
        ("1e-300%", "from 0.0001 %"),
        ("infs", "3.4 s"),
        ("nan%", "from 0.0001 %"),
    ] {
        let refused = home.run(&format!("eval h100-7b --measured {value}")).refused().join("\n");
        assert_contains(&refused, &["--measured", said]);
    }
    assert_contains(&home.run("eval h100-7b --measured-mfu 1e-9").refused().join("\n"), &["from 0.0001% to 100%"]);
}

/// Gathers that run one unit further ahead take the links from exchanges here: the step is longer, by as much as two evaluations
/// say, and the report says what moved. With one unit ahead there is nothing to say.
#[test]
fn what_makes_a_step_longer_that_should_shorten_it_is_explained() {
    let home = Home::new();
    let of = |prefetch: u32| {
        let job = "--hardware h200-141gb-4node --model qwen3.5-35b-a3b --stack ideal --strategy fsdp --nodes 4 --tp 2 --ep 8 --etp 1 \
                   --micro-batch 4 --accumulate 1 --seq 8192";
        home.run(&format!("eval {job} --prefetch {prefetch} --format json")).json(0)
    };
    let [one, two] = [1, 2].map(of);
    let longer = 100.0 * (number(&two, "step_time_s") / number(&one, "step_time_s") - 1.0);
    assert!(longer > 1.0, "{longer}");
    let said = two["setbacks"].to_string();
    assert_contains(
        &said,
        &[&format!("prefetch 2 makes a step {longer:.1} % longer than 1: exposed communication "), "more"],
    );
    assert_eq!(one.get("setbacks"), None);
}

/// Six heads of a device and one sequence are no multiple of the four that Megatron's fused softmax takes; two sequences are
/// twelve. The host then launches fewer kernels, so that twice the work takes less time: the report says why.
#[test]
fn a_softmax_that_is_not_fused_is_said() {
    let home = Home::new();
    let of = |micro_batch: u32| {
        // 12 heads over 2 tensor ranks.
        let job = "--hardware a100-80gb-dgx --model mpt-760m --stack deepspeed-zeropp-2023 --nodes 2 --tp 2";
        home.run(&format!("eval {job} --micro-batch {micro_batch} --format json")).json(0)["caveats"].to_string()
    };
    assert_contains(&of(1), &["softmax is not fused", "1 x 6 (--micro-batch, --tp)"]);
    assert!(!of(2).contains("softmax is not fused"));
}
