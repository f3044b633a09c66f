//! Launchers' configurations, brought in as scenarios.

use super::run::{Home, Run, assert_contains};

/// A real file of `tests/fixtures/launch`, imported where it lies.
fn import(arguments: &str) -> Run {
    let folder = format!("{}/tests/fixtures/launch", env!("CARGO_MANIFEST_DIR"));
    Home::new().run(&format!("import plan {folder}/{arguments}"))
}

/// The scenario that comes out.
fn scenario(arguments: &str) -> toml::Table {
    let run = import(arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.parse().expect("TOML")
}

fn plan(arguments: &str, fields: &[(&str, &str)]) -> toml::Table {
    let scenario = scenario(arguments);
    for (field, expected) in fields {
        let found = scenario["plan"].get(field).or_else(|| scenario.get(*field));
        let found = found.map_or_else(String::new, |value| value.to_string().trim_matches('"').to_owned());
        assert_eq!(found, *expected, "{field} of {arguments}");
    }
    scenario
}

#[test]
fn fsdp_of_both_versions() {
    plan("accelerate-fsdp-template.yaml", &[("devices", "2"), ("strategy", "fsdp"), ("precision", "bf16")]);
    // 8 processes = 2 copies x 2 shards x 2 tensor ranks.
    let mesh =
        [("devices", "8"), ("strategy", "hsdp"), ("shard", "2"), ("tensor", "2"), ("reshard_after_forward", "true")];
    plan("accelerate-tp-hsdp.yaml --model llama-3.1-8b", &mesh);
}

#[test]
fn deepspeed_leaves_batches_to_be_said() {
    let said = "ds-zero3-offload.json --devices 16 --micro-batch 4";
    plan(said, &[("strategy", "zero3"), ("offload", "state"), ("precision", "fp16"), ("micro_batch", "4")]);
    let lines = import("ds-zero3-offload.json --devices 16").refused().join("\n");
    assert_contains(&lines, &["ds-zero3-offload.json: train_micro_batch_size_per_gpu", "'auto'", "--micro-batch"]);
    let lines = import("ds-zero3-offload.json --micro-batch 4").refused().join("\n");
    assert_contains(&lines, &["how many devices", "--devices N or --nodes N"]);
}

#[test]
fn a_script_says_model_and_plan() {
    let arguments = "megatron-lumi-33b-8node.sh --hardware mi250x-lumi";
    // 8 nodes of 8 devices; 4 x 6656 is the MLP's width; 146,500,000 samples of 2048 tokens.
    let expected = [
        ("devices", "64"),
        ("tensor", "2"),
        ("pipeline", "4"),
        ("micro_batch", "2"),
        ("global_batch", "1024"),
        ("sequence", "2048"),
        ("recompute", "full"),
        ("strategy", "zero1"),
        ("tokens", "300032000000.0"),
    ];
    let scenario = plan(arguments, &expected);
    let shape = &scenario["shape"];
    let size = |field: &str| shape[field].as_integer().expect("a count");
    assert_eq!(["layers", "hidden", "heads", "ffn_hidden"].map(size), [60, 6656, 52, 26_624]);
    // GPT-2's 50,257 tokens in multiples of 128 x 2 tensor ranks: 197 x 256 = 50,432.
    assert_eq!((size("vocab"), shape["positions"].as_str()), (50_432, Some("computed")));
}

#[test]
fn what_an_import_writes_is_evaluated() {
    let home = Home::new();
    let folder = format!("{}/tests/fixtures/launch", env!("CARGO_MANIFEST_DIR"));
    let script = format!("{folder}/megatron-lumi-33b-8node.sh");
    assert_eq!(home.run(&format!("import plan {script} --hardware mi250x-lumi --out plan.toml")).code, Some(0));
    let json = home.run("eval ./plan.toml --format json");
    assert!([Some(0), Some(3)].contains(&json.code), "{}", json.stderr);
    // 60 x (12 x 6656^2 + 13 x 6656) in the layers, 50,432 x 6656 in the embedding, and two vectors in the last norm.
    let layers = 60 * (12 * 6656_u64.pow(2) + 13 * 6656);
    assert_eq!(json.json(json.code.unwrap_or(0))["parameters"]["total"], layers + 50_432 * 6656 + 2 * 6656);
}

#[test]
fn torchtitan_of_2024() {
    let arguments = "torchtitan-llama3-8b-frontier.toml --hardware mi250x-frontier";
    let expected = [
        ("model", "llama-3.1-8b"),
        ("devices", "512"),
        ("strategy", "hsdp"),
        ("shard", "32"),
        ("tensor", "8"),
        ("micro_batch", "21"),
        ("sequence", "8192"),
        ("recompute", "full"),
    ];
    plan(arguments, &expected);
    assert_contains(&import(arguments).stderr, &["names of 2024", "precision = bf16 (torchtitan's default"]);
}

#[test]
fn others_are_refused_by_name() {
    for (file, name) in [("gpt-neox-6-7b.yml", "gpt-neox"), ("llm-foundry-mpt-7b.yaml", "llm-foundry")] {
        assert_contains(&import(file).refused().join("\n"), &[file, name, "give the log"]);
    }
    let home = Home::new();
    home.write("a.yaml", "base_model: a/b\nmicro_batch_size: 2\noutput_dir: out\nfsdp:\n  - full_shard\n");
    assert_contains(
        &home.run("import plan a.yaml --devices 8").refused().join("\n"),
        &["a.yaml: base_model", "--model"],
    );
    home.write("b.yaml", "learning_rate: 0.1\noutput_dir: out\n");
    assert_contains(&home.run("import plan b.yaml --devices 8").refused().join("\n"), &["no configuration of"]);
    home.write("recipe.py", "from nemo.collections import llm\n");
    assert_contains(&home.run("import plan recipe.py").refused().join("\n"), &["recipe.py", "NeMo"]);
}

#[test]
fn what_a_plan_cannot_say_is_refused_with_field_value_and_way_out() {
    let home = Home::new();
    let refusal = |name: &str, text: &str| {
        home.write(name, text);
        home.run(&format!("import plan {name} --devices 8")).refused().join("\n")
    };
    let zero = |inside: &str| {
        format!(r#"{{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {{"stage": 3, {inside}}}}}"#)
    };
    let tape = zero(r#""offload_param": {"device": "tape"}"#);
    assert_contains(
        &refusal("ds.json", &tape),
        &["ds.json: zero_optimization.offload_param.device", "'tape'", "cpu, nvme or none"],
    );
    let two_places = zero(r#""offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "cpu"}"#);
    assert_contains(&refusal("ds.json", &two_places), &["offload_optimizer.device", "to one place"]);
    let piped = zero(r#""offload_optimizer": {"device": "nvme", "pipeline_read": true}"#);
    assert_contains(&refusal("ds.json", &piped), &["pipeline_read", "before the next"]);
    let wrong = r#"{"train_batch_size": 30, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}"#;
    // 2 x 2 x 8 = 32.
    assert_contains(&refusal("ds.json", wrong), &["train_batch_size", "'30'", "32"]);
    let cpu = "distributed_type: MULTI_CPU\nnum_processes: 8\n";
    assert_contains(&refusal("cpu.yaml", cpu), &["distributed_type", "'MULTI_CPU'"]);
    let script = "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --micro-batch-size $MBS \
                  --vocab-size 1000 --seq-length 64 --moe-use-upcycling\n";
    assert_contains(
        &refusal("run.sh", script),
        &["--micro-batch-size", "'$MBS' is set outside the file", "--moe-use-upcycling"],
    );
}

#[test]
fn accelerate_and_the_trainer_take_deepspeed_from_a_file_beside_them() {
    let home = Home::new();
    home.write(
        "ds.json",
        r#"{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}"#,
    );
    home.write("accelerate.yaml", "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n");
    let run = home.run("import plan accelerate.yaml --micro-batch 2");
    assert_contains(&run.stdout, &["strategy = \"zero2\"", "precision = \"bf16\"", "micro_batch = 2"]);
    home.write("arguments.json", r#"{"output_dir": "o", "per_device_train_batch_size": 4, "bf16": true, "gradient_checkpointing": true, "deepspeed": "ds.json"}"#);
    let run = home.run("import plan arguments.json --nodes 2");
    assert_contains(
        &run.stdout,
        &["nodes = 2", "strategy = \"zero2\"", "precision = \"bf16\"", "micro_batch = 4", "recompute = \"full\""],
    );
    home.write("other/arguments.json", r#"{"output_dir": "o", "deepspeed": "elsewhere.json"}"#);
    assert_contains(
        &home.run("import plan other/arguments.json --nodes 2").refused().join("\n"),
        &["elsewhere.json", "give that file too"],
    );
}

/// Flags of the Trainer behind `torchrun`: 2 x 8 devices.
#[test]
fn a_script_that_starts_the_trainer() {
    let home = Home::new();
    let script = "#!/bin/bash\nMBS=2\ntorchrun --nproc_per_node=8 --nnodes=2 train.py --model_name_or_path a/b \\\n  \
                  --per_device_train_batch_size $MBS --gradient_accumulation_steps 4 --bf16 True \\\n  --gradient_checkpointing \
                  True --fsdp \"full_shard auto_wrap\" --max_seq_length 4096\n";
    home.write("run.sh", script);
    let run = home.run("import plan run.sh --model llama-3.1-8b");
    let said = ["devices = 16", "strategy = \"fsdp\"", "micro_batch = 2", "accumulate = 4", "sequence = 4096"];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["precision = \"bf16\"", "recompute = \"full\""]);
    assert_contains(
        &home.run("import plan run.sh").refused().join("\n"),
        &["--model_name_or_path", "'a/b'", "--model"],
    );
}

/// Accelerate's names inside `fsdp_config` make no file of Accelerate's of the Trainer's arguments.
#[test]
fn the_trainer_s_own_fsdp() {
    let home = Home::new();
    let arguments = r#"{"output_dir": "o", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "bf16": true,
        "fsdp": ["full_shard", "auto_wrap"], "fsdp_config": {"fsdp_version": 2, "activation_checkpointing": true}}"#;
    home.write("arguments.json", arguments);
    let run = home.run("import plan arguments.json --nodes 2");
    assert_contains(&run.stdout, &["micro_batch = 4", "accumulate = 8", "recompute = \"full\"", "strategy = \"fsdp\""]);
}

/// 8 processes of 2 tensor and 2 pipeline ranks.
#[test]
fn megatron_behind_accelerate() {
    let home = Home::new();
    let config = "distributed_type: MEGATRON_LM\nnum_processes: 8\nmixed_precision: bf16\nmegatron_lm_config:\n  \
                  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n  megatron_lm_num_micro_batches: 4\n  \
                  megatron_lm_recompute_activations: true\n  megatron_lm_use_distributed_optimizer: true\n";
    home.write("a.yaml", config);
    let said = ["devices = 8", "tensor = 2", "pipeline = 2", "accumulate = 4", "recompute = \"selective\""];
    let run = home.run("import plan a.yaml");
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["strategy = \"zero1\""]);
}

/// Megatron-DeepSpeed prints a dense model's experts as `[1]`, and LUMI's build `params_dtype` alone.
#[test]
fn logs_of_megatron_s_relatives() {
    plan(
        "../logs/superbench-megatron-deepspeed.log",
        &[("devices", "16"), ("micro_batch", "2"), ("strategy", "zero1")],
    );
    let lumi = scenario("../logs/lumi-175b-16-node.out --hardware mi250x-lumi");
    assert_eq!(lumi["plan"].get("precision").map_or("bf16", |format| format.as_str().expect("a word")), "bf16");
    assert_eq!(lumi["model"].as_str(), Some("model-of-lumi-175b-16-node"), "{lumi}");
    // Stage 0 in bf16: 38,350 MiB lie on rank 0 between steps, 14 bytes for each of its 2.87 billion weights. That is bf16
    // weights and gradients, fp32 gradients, and half of the 12 bytes of fp32 weights and moments.
    assert_eq!(lumi["strategy"].as_str(), Some("zero1"), "{lumi}");
}

/// Files of each kind, known by what is in them, whatever they are called.
#[test]
fn a_file_is_known_by_its_content() {
    let home = Home::new();
    let fixture = |name: &str| {
        let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("a fixture")
    };
    for (name, said, result) in [
        ("hf/qwen3-8b.json", "is a model's configuration: import model", "layers = 36"),
        ("logs/lumi-175b-16-node.out", "is the log of a run: import run", "id,"),
        ("launch/accelerate-fsdp-template.yaml", "is a launcher's configuration: import plan", "strategy = \"fsdp\""),
    ] {
        home.write("file", &fixture(name));
        let run = home.run("import file");
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
        assert_contains(&run.stderr, &[said]);
        assert_contains(&run.stdout, &[result]);
    }
    // Its `Infinity` is no JSON, and it is no plain decoder: known, and refused by what it is.
    home.write("file", r#"{"model_type": "jamba", "attn_layer_period": 8, "time_step_limit": [0.0, Infinity]}"#);
    assert_contains(&home.run("import file").refused().join("\n"), &["attn_layer_period"]);
    home.write("file", "#  size  count  type  redop  root  time  algbw  busbw\n");
    assert_contains(&home.run("import file").refused().join("\n"), &["a log of nccl-tests", "--cluster ID"]);
    home.write("file", &fixture("topo/slurm22-scontrol-node-h100.txt"));
    assert_contains(
        &home.run("import file --format json").stderr,
        &["is what a cluster's tools print: import cluster"],
    );
    home.write("file", "a shopping list\n");
    assert_contains(&home.run("import file").refused().join("\n"), &["KIND model, links, run, oom, plan, cluster"]);
    assert_contains(&home.run("import").refused().join("\n"), &["no file is named"]);
    assert_contains(&home.run("import -").refused().join("\n"), &["standard input"]);
}

/// The last line of an import is the command to type next; its file may go by any name that a shell would split.
#[test]
fn an_import_ends_with_the_command_to_type_next() {
    let home = Home::new();
    let folder = format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let next = |command: &str| {
        let run = home.run(command);
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
        run.stderr.lines().last().unwrap_or_default().to_owned()
    };
    let plan = format!("import {folder}/launch/accelerate-fsdp-template.yaml --nodes 2 --out job.toml");
    assert_eq!(next(&plan), "next: shardscope eval ./job.toml");
    // Whether it fits is not the import's business.
    assert!([Some(0), Some(3)].contains(&home.run("eval ./job.toml").code));
    let cluster =
        format!("import {folder}/topo/slurm22-sinfo-o.txt --device h100-80gb-dgx --rate 400GB/s --out ours.toml");
    assert_eq!(next(&cluster), "next: shardscope eval --hardware ./ours.toml");
    // The log says the devices of no job, nor its shape: those options are named, and with them there is a row.
    let log = format!("import run {folder}/logs/torchtitan-h100-tps-mfu.log");
    let again = next(&log);
    assert_contains(&again, &["next: shardscope import run", "--hardware ", "--set num_gpus=64", "--set layers=32"]);
    let (_, options) = again.split_once(".log").expect("the file");
    let (options, _) = options.split_once("   (").expect("a remark");
    assert_eq!(next(&format!("{log}{options} --out rows.csv")), "next: shardscope validate ./rows.csv");
    assert_eq!(home.run("validate ./rows.csv").code, Some(0));
}

/// An option that belongs to another kind of file is refused with those that this kind takes.
#[test]
fn options_belong_to_the_kind_of_a_file() {
    let home = Home::new();
    let folder = format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let refused = |command: &str| home.run(&format!("import {folder}/{command}")).refused().join("\n");
    assert_contains(&refused("hf/qwen3-8b.json --rate 1GB/s"), &["--rate", "known here: --name, --like"]);
    assert_contains(&refused("topo/slurm22-sinfo-o.txt --rate fast"), &["--rate: 'fast'", "like \"400 GB/s\""]);
    assert_contains(&refused("topo/slurm22-sinfo-o.txt --nodes 0"), &["--nodes: '0'"]);
    assert_contains(&refused("links/h100-n1-g8-ar-ag-rs.log --collective broadcast"), &["--collective", "all-reduce"]);
    assert_contains(&refused("logs/lumi-175b-16-node.out --set size=3"), &["--set: 'size=3' names no column"]);
}

/// From another tool's files to another tool's file, with a model that no preset has.
#[test]
fn a_model_of_the_users_own_goes_all_the_way() {
    let home = Home::new();
    let config = format!("{}/tests/fixtures/hf/gpt2.json", env!("CARGO_MANIFEST_DIR"));
    home.write(
        "fsdp.yaml",
        "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n",
    );
    assert_eq!(home.run(&format!("import plan fsdp.yaml --model {config} --out job.toml")).code, Some(0));
    let best = home.run("plan ./job.toml --out better.toml");
    assert_eq!(best.code, Some(0), "{}", best.stderr);
    let export = home.run("export ./better.toml --to accelerate");
    assert_eq!(export.code, Some(0), "{}", export.stderr);
    assert_contains(&export.stdout, &["num_processes: 8", "fsdp_version: 2"]);
}

/// From the files that a cluster's user has to a job: what each command writes the next one reads, and a machine that is no
/// preset goes along in full.
#[test]
fn from_a_cluster_to_a_job() {
    let home = Home::new();
    let folder = format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let done = |command: &str| {
        let run = home.run(command);
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
        run
    };
    let sinfo = format!("{folder}/topo/slurm22-sinfo-o.txt --device h100-80gb-dgx --rate 200GB/s");
    done(&format!("import cluster {sinfo} --name Ours --out new/folder/ours.toml"));
    let model = format!("--model {folder}/hf/qwen3-8b.json");
    let hardware = "--hardware new/folder/ours.toml";
    done(&format!(
        "import plan {folder}/launch/accelerate-fsdp-template.yaml {model} {hardware} --nodes 2 --out job.toml"
    ));
    let job: toml::Table =
        std::fs::read_to_string(home.path().join("job.toml")).expect("a file").parse().expect("TOML");
    // 200 GB/s of a node on eight devices.
    assert_eq!(job["machine"]["levels"][1]["bandwidth"].as_str(), Some("25 GB/s"), "{job}");
    let shown = done("eval ./job.toml").stdout;
    assert_contains(&shown, &["on 16 devices of Ours, strategy fsdp"]);
    let step = |command: &str| {
        let json = home.run(&format!("{command} --format json")).json(0);
        json["step_time_s"].as_f64().expect("a step")
    };
    // A preset that is named takes the place of the machine, which no other flag does.
    assert!((step("eval ./job.toml --hardware new/folder/ours.toml") - step("eval ./job.toml")).abs() < 1e-12);
    assert!(step("eval ./job.toml --hardware h100-80gb-dgx") < step("eval ./job.toml"));
    done("plan ./job.toml --out better.toml");
    assert_contains(&done("eval ./better.toml").stdout, &["of Ours"]);
    done("export ./better.toml --to accelerate --out run");
    done("export ./better.toml --to sbatch --launcher accelerate --out run");
    let script = std::fs::read_to_string(home.path().join("run/job.sh")).expect("a job");
    assert_contains(&script, &["#SBATCH --nodes=2\n", "accelerate launch --config_file accelerate.yaml"]);
    // What the job reads fits too, though Accelerate says less of a plan.
    let better: toml::Table =
        std::fs::read_to_string(home.path().join("better.toml")).expect("a file").parse().expect("TOML");
    let batch = ["micro_batch", "accumulate"]
        .map(|field| better["plan"].get(field).map_or(1, |count| count.as_integer().expect("a count")));
    let batch = format!("--micro-batch {} --accumulate {}", batch[0], batch[1]);
    done(&format!("import plan run/accelerate.yaml {model} {hardware} {batch} --out launched.toml"));
    assert_contains(&done("eval ./launched.toml").stdout, &["\nfits"]);
    let bad = toml::to_string(&job).expect("TOML").replace("\"25 GB/s\"", "\"0 GB/s\"");
    home.write("bad.toml", &bad);
    assert_contains(&home.run("eval ./bad.toml").refused().join("\n"), &["machine.levels", "leave 'machine' out"]);
}

/// A name that no table knows is unknown; one that says what is trained is refused unless it is off, and so is one that is a
/// setting in another tool's files. What the user calls harmless comes first.
#[test]
fn what_cannot_be_harmless_is_refused_and_users_say_what_is() {
    let home = Home::new();
    let import = |setting: &str, presets: &str| {
        let text = format!(
            r#"{{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "bf16": {{"enabled": true}},
                "zero_optimization": {{"stage": 3}}, {setting}}}"#
        );
        home.write("ds.json", &text);
        home.run(&format!("import plan ds.json --devices 16 {presets}"))
    };
    assert_contains(&import(r#""surprise": 4"#, "").stderr, &["unknown to this program, 1"]);
    assert_contains(&import(r#""surprise_lora_scale": false"#, "").stderr, &["unknown to this program, 1"]);
    let refused = import(r#""surprise_lora_scale": 4"#, "");
    assert_contains(&refused.refused().join("\n"), &["surprise_lora_scale", "by its name ('lora')", "tools/"]);
    let other = import(r#""seq_length": 4096"#, "");
    assert_contains(&other.refused().join("\n"), &["seq_length", "a setting of another tool"]);
    std::fs::create_dir_all(home.path().join("mine/tools")).expect("a folder");
    let own = "format = 1\nof = \"deepspeed\"\n[[harmless]]\nwhy = \"we wrote it\"\nnames = [\"surprise_*\"]\n";
    home.write("mine/tools/ours.toml", own);
    let harmless = import(r#""surprise_lora_scale": 4"#, "--presets mine");
    assert_eq!(harmless.code, Some(0), "{}", harmless.stderr);
    assert_contains(&harmless.stderr, &["surprise_lora_scale: we wrote it"]);
    home.write("mine/tools/ours.toml", "format = 1\nharmful = 1\n");
    let broken = import(r#""surprise": 4"#, "--presets mine");
    assert_contains(&broken.refused().join("\n"), &["tools/ours.toml", "[[harmless]]"]);
}
