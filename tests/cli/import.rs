//! Other tools' files, brought in.

use super::run::{Home, assert_contains};

fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/hf/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a fixture")
}

#[test]
fn a_configuration_becomes_a_preset_and_says_where_each_part_comes_from() {
    let home = Home::new();
    home.write("lite/config.json", &fixture("deepseek-v2-lite"));
    let run = home.run("import model lite/config.json --name Lite");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(
        &run.stdout,
        &[
            "# 15,748,993,024 parameters, 2,703,659,008 of them active",
            "source = \"imported from config.json (HF config.json, model_type deepseek_v2)\"",
        ],
    );
    assert_contains(
        &run.stderr,
        &[
            "taken:\n  layers = 27 (num_hidden_layers)",
            "assumed:\n",
            "latent.query = 1536 (q_lora_rank is absent",
            "ignored:\n",
            "torch_dtype: the format of the published weights",
        ],
    );
    home.write("presets/models/lite.toml", &run.stdout);
    let shown = home.run("presets models --show lite --presets presets");
    assert_contains(&shown.stdout, &["name = \"Lite\"", "# 15,748,993,024 parameters"]);
    let json = home.run("eval --model lite --presets presets --nodes 8 --format json").json(0);
    assert_eq!(json["parameters"]["total"], 15_748_993_024_u64);
    assert_eq!(json["parameters"]["active"], 2_703_659_008_u64);
}

#[test]
fn all_of_an_import_is_one_json() {
    let home = Home::new();
    home.write("config.json", &fixture("qwen2-moe-a2.7b"));
    let json = home.run("import model config.json --format json").json(0);
    assert_eq!(json["parameters"], 14_315_784_192_u64);
    assert_eq!(json["active_parameters"], 2_689_173_504_u64);
    assert_eq!(json["model"]["experts"]["shared_ffn"], 5632);
    for list in ["taken", "assumed", "ignored"] {
        assert!(json[list].as_array().is_some_and(|entries| !entries.is_empty()), "{list}");
    }
}

#[test]
fn a_model_is_named_by_its_file_wherever_an_id_goes() {
    let home = Home::new();
    // Its name is a preset's; the imported one gets another id.
    home.write("mpt-7b.json", &fixture("gemma-2-2b"));
    let run = home.run("eval --model mpt-7b.json --nodes 1");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &["the model: 2,614,341,888 parameters"]);
    assert_contains(&run.stderr, &["assumed:\n", "sequence = 4096"]);
    for command in ["sweep --x nodes=1,2 --y micro-batch=1,2", "limits", "export --to fsdp2"] {
        let run = home.run(&format!("{command} --model ./mpt-7b.json"));
        assert_ne!(run.code, Some(2), "{command}: {}", run.stderr);
    }
}

#[test]
fn every_fixture_is_evaluated() {
    let home = Home::new();
    for entry in std::fs::read_dir(format!("{}/tests/fixtures/hf", env!("CARGO_MANIFEST_DIR"))).expect("fixtures") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let run = home.run(&format!("eval --nodes 64 --model {}", path.display()));
            // 512 devices are too few for some, which is said too.
            assert!([Some(0), Some(3)].contains(&run.code), "{}: {}{}", path.display(), run.stdout, run.stderr);
        }
    }
}

#[test]
fn what_cannot_be_imported_is_refused_with_file_field_value_and_a_way_out() {
    let home = Home::new();
    home.write("hybrid.json", r#"{"model_type": "jamba", "attn_layer_period": 8}"#);
    for command in ["import model hybrid.json", "eval --model ./hybrid.json"] {
        assert_contains(
            &home.run(command).refused().join("\n"),
            &["hybrid.json: attn_layer_period: is 8: a hybrid", "only plain decoders"],
        );
    }
    let missing = home.run("eval --model ./absent.json");
    assert_eq!(missing.code, Some(1));
    assert_contains(&missing.stderr, &["./absent.json"]);
    home.write("whale.json", &fixture("llama-2-7b").replace("\"llama\"", "\"whale\""));
    assert_contains(&home.run("import model whale.json").refused().join("\n"), &["'whale'", "--like says so"]);
    assert_contains(&home.run("import model whale.json --like llama").stdout, &["# 6,738,415,616 parameters"]);
    // A class of the user's own: without a gate 32 layers have 4,096 x 11,008 weights less each, 6,738,415,616 - 1,442,840,576.
    std::fs::create_dir_all(home.path().join("mine/tools")).expect("a folder");
    let file = |entry: &str| {
        home.write("mine/tools/ours.toml", &format!("format = 1\n[[family]]\nname = \"whale\"\n{entry}\n"));
    };
    file("gated = false");
    let own = home.run("import model whale.json --presets mine");
    assert_contains(&own.stdout, &["# 5,295,575,040 parameters"]);
    file("kv-heads = { heads = 1 }");
    let broken = home.run("import model whale.json --presets mine").refused().join("\n");
    assert_contains(&broken, &["tools/ours.toml:4", "kv-heads"]);
}

#[test]
fn a_result_goes_to_a_new_file_and_over_an_old_one_only_by_force() {
    let home = Home::new();
    home.write("config.json", &fixture("gpt2"));
    assert_eq!(home.run("import model config.json --out gpt2.toml").code, Some(0));
    assert_eq!(home.run("import model config.json --out gpt2.toml").code, Some(1));
    assert_eq!(home.run("import model config.json --out gpt2.toml --force").code, Some(0));
    assert_eq!(home.run("import model config.json --out config.json --force").code, Some(2));
    let input = home.run_with_input("import model - --name piped", &fixture("gpt2"));
    assert_contains(&input.stdout, &["name = \"piped\"", "# 124,439,808 parameters"]);
}

fn log(name: &str) -> String {
    format!("{}/tests/fixtures/links/{name}.log", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn logs_of_benchmarks_become_a_cluster_that_eval_computes_on() {
    let home = Home::new();
    let logs = [log("h100-n1-g8-ar-ag-rs"), log("h100-n10-g8")].join(" ");
    let run = home.run(&format!("import links {logs} --cluster h100-80gb-dgx --name Mine --out mine.toml"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    assert_contains(
        &run.stderr,
        &["node.measured.bandwidth = ", ":55-64", "system.measured.latency", "--collective all-reduce takes it"],
    );
    let step = |hardware: &str| {
        let json = home.run(&format!("eval --hardware {hardware} --nodes 10 --format json")).json(0);
        json["step_time_s"].as_f64().expect("a step")
    };
    let (stated, measured) = (step("h100-80gb-dgx"), step("mine.toml"));
    assert!((measured / stated - 1.0).abs() > 1e-4, "{measured} is as before");
    let json = home.run(&format!("import links {logs} --cluster ./mine.toml --format json")).json(0);
    assert_eq!(
        (json["runs"][6]["collective"].as_str(), json["runs"][6]["ranks"].as_u64()),
        (Some("all-gather"), Some(80))
    );
    assert_eq!(json["cluster"]["levels"][0]["measured"]["latency"], "2 us");
}

#[test]
fn logs_that_measure_no_link_are_refused() {
    let home = Home::new();
    let pair = log("h100-pair-cut-short2");
    let said = home.run(&format!("import links {pair} --cluster h100-80gb-dgx")).refused().join("\n");
    assert_contains(&said, &["no run of all-gather or reduce-scatter", "all_gather_perf"]);
    let unknown = home.run(&format!("import links {pair} --cluster h101")).refused().join("\n");
    assert_contains(&unknown, &["--cluster", "h101"]);
    home.write("wrong.toml", "format = 1\nname = 3\n");
    assert_contains(&home.run("eval --hardware wrong.toml").refused().join("\n"), &["wrong.toml:2:8: name"]);
    assert_eq!(home.run("eval --hardware absent.toml").code, Some(1));
}

#[test]
fn what_a_login_node_says_becomes_a_cluster() {
    let home = Home::new();
    let sinfo = format!("{}/tests/fixtures/topo/slurm22-sinfo-o.txt", env!("CARGO_MANIFEST_DIR"));
    let run =
        home.run(&format!("import cluster {sinfo} --device h100-80gb-dgx --rate 400GB/s --name Ours --out ours.toml"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stderr, &["nodes = 64", "devices of a node = 8", "system.injection = 400 GB/s", "assumed:"]);
    assert_eq!(home.run("eval --hardware ours.toml --nodes 8").code, Some(0));
    let text = std::fs::read_to_string(&sinfo).expect("a fixture");
    let piped = home.run_with_input("import cluster - --device h100-80gb-dgx", &text);
    assert_contains(&piped.refused().join("\n"), &["--rate"]);
}

/// What most people type has no column of devices: of 1, 64 and 16 nodes the 64 of one partition are taken. The same of
/// `sinfo -N -l`, which has a row for each node and partition.
#[test]
fn plain_sinfo_is_taken_and_asks_for_the_rest() {
    let home = Home::new();
    let plain = format!("{}/tests/fixtures/topo/slurm22-sinfo.txt", env!("CARGO_MANIFEST_DIR"));
    let asked = home.run(&format!("import {plain}"));
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert_contains(&asked.stderr, &["--device", "sinfo -o '%P|%D|%G|%N|%l'"]);
    let told = home.run(&format!("import {plain} --device h100-80gb-dgx --rate 400GB/s"));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_contains(&told.stdout, &["nodes = 64", "partition = \"gpu\""]);
    let rows: Vec<String> =
        (1..=3).map(|node| format!("gpu0{node} 1 gpu* idle 96 2:24:2 1031000 0 1 (null) none")).collect();
    let long = format!(
        "Sat Nov 28 10:00:00 2026\nNODELIST NODES PARTITION STATE CPUS S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n{}\n",
        rows.join("\n")
    );
    home.write("nodes.txt", &long);
    let told = home.run("import nodes.txt --device h100-80gb-dgx --rate 400GB/s");
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert_contains(&told.stdout, &["nodes = 3"]);
}
