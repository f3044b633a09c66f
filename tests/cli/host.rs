//! Offloaded updates as they were measured, with the threads that are assumed of each.

use super::run::{Home, assert_contains};

fn step(flags: &str) -> f64 {
    let run = Home::new().run(&format!("eval {flags} --format json"));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    json["step_time_s"].as_f64().expect("a step time")
}

fn within_a_third(what: &str, predicted: f64, measured: f64) {
    assert!((predicted / measured - 1.0).abs() < 0.35, "{what}: {predicted:.2} s predicted, {measured:.2} s measured");
}

/// Seconds that an optimizer on the host adds to a step, per 1e9 parameters and node:
/// - DeepSpeed issue 6834: 72B on 4 nodes of 8 A100, 10 s x 4 / 72;
/// - gist chenyaofo/d4cd6a20: 7B on 8 A800, 64 sequences at 2.05 a second, at 4.45 without, 16.8 s / 6.74;
/// - DeepSpeed issue 6695: 1.2B, Adam of 1.5 s / 1.2;
/// - DeepSpeed issue 1635: 1.35B beside an RTX 3090, 22.9 s / 1.35.
#[test]
fn updates_take_what_published_runs_took() {
    for (what, flags, threads, parameters, nodes, measured) in [
        ("6834", "--hardware a100-80gb-dgx --model llama-2-70b --strategy zero3 --nodes 4", 4, 68.98, 4.0, 0.555),
        (
            "7B on 8 A800",
            "--hardware a800-80gb --model llama-2-7b --strategy zero3 --nodes 1 --micro-batch 2 --global-batch 64",
            1,
            6.738,
            1.0,
            2.49,
        ),
        (
            "6695",
            "--hardware a100-80gb-dgx --model mpt-1b --strategy zero2 --devices 1 --seq 128",
            16,
            1.316,
            1.0,
            1.25,
        ),
        ("1635", "--hardware rtx3090 --model mpt-1b --strategy zero2 --devices 1 --seq 128", 1, 1.316, 1.0, 16.96),
    ] {
        let flags = format!("{flags} --recompute full --stack deepspeed-zeropp-2023");
        let offloaded = step(&format!("{flags} --offload optimizer --host-threads {threads}"));
        within_a_third(what, (offloaded - step(&flags)) * nodes / parameters, measured);
    }
}

/// `tatsu-lab/stanford_alpaca` issue 280: `LLaMA` 7B on four A100 with FSDP's offload, started by torchrun: 52,002 examples three
/// times over in 58 hours, 2 x 4 x 8 a step, 85.7 s each. One thread a rank moves 6.74e9 / 4 x 80 B at 1.5 GB/s in 89.8 s.
#[test]
fn an_unfused_adam_takes_what_a_published_run_took() {
    let flags = "--hardware a100-40gb-dgx --stack default --model llama-2-7b --strategy fsdp --devices 4 --seq 512 \
                 --recompute none --micro-batch 2 --accumulate 8 --offload state";
    within_a_third("7B on 4 A100", step(flags), 85.7);
}

/// Megatron-LM's most, all layers but one, and TRL's switch are activations on the host; of fewer layers a plan can say nothing. A
/// script sets the threads of each process; DeepSpeed's launcher divides 128 cores of a DGX A100 among 8.
#[test]
fn files_say_what_is_on_the_host_and_with_how_many_threads() {
    let home = Home::new();
    let megatron = |layers: u32| {
        format!(
            "export OMP_NUM_THREADS=8\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n  \
             --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 \\\n  \
             --global-batch-size 64 --bf16 --cpu-offloading-num-layers {layers} --vocab-size 32000\n"
        )
    };
    home.write("all.sh", &megatron(31));
    home.write("some.sh", &megatron(16));
    let run = home.run("import plan all.sh");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &["offload = \"activations\"", "host_threads = 8"]);
    assert_contains(&home.run("import plan some.sh").refused().join("\n"), &["every layer but the last"]);
    home.write(
        "trl.yaml",
        "output_dir: out\nper_device_train_batch_size: 1\nactivation_offloading: true\nbf16: true\n",
    );
    let run = home.run("import plan trl.yaml --devices 1 --model llama-3.1-8b");
    assert_contains(&run.stdout, &["offload = \"activations\""]);
    home.write(
        "ds.json",
        r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}}"#,
    );
    home.write(
        "ds.sh",
        "deepspeed --num_gpus 8 --bind_cores_to_rank train.py --output_dir out --per_device_train_batch_size 1 --bf16 true \
         --deepspeed ds.json\n",
    );
    let run = home.run("import plan ds.sh ds.json --model llama-2-7b --hardware a100-80gb-dgx");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &["offload = \"optimizer\"", "host_threads = 16"]);
    // torchrun gives each of several processes one thread, whoever's stack runs in them.
    let script = |launcher: &str| {
        let text = format!(
            "{launcher} train.py --output_dir out --per_device_train_batch_size 1 --bf16 true --deepspeed ds.json\n"
        );
        home.write("torchrun.sh", &text);
        let run = home.run("import plan torchrun.sh ds.json --model llama-2-7b --hardware a100-80gb-dgx");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    assert_contains(&script("torchrun --nproc_per_node 4"), &["host_threads = 1"]);
    assert_contains(&script("CUDA_VISIBLE_DEVICES=0,1 accelerate launch"), &["host_threads = 1"]);
    for open in ["torchrun --nproc_per_node 1", "deepspeed --num_gpus 4"] {
        assert!(!script(open).contains("host_threads"), "{open}");
    }
}

/// Memory of the host is page-locked where a file says so, and where a tool does it by default: DeepSpeed did not before 0.19.6. Of
/// gradients and weights a plan locks both or neither.
#[test]
fn files_say_what_is_page_locked() {
    let home = Home::new();
    let deepspeed = |inside: &str| {
        let text = format!(r#"{{"zero_optimization": {{"stage": 2, "offload_optimizer": {{{inside}}}}}}}"#);
        home.write("ds.json", &text);
        home.run("import plan ds.json --devices 8 --model llama-2-7b --seq 2048")
    };
    for (inside, off) in [
        (r#""device": "cpu", "pin_memory": true"#, false),
        (r#""device": "cpu", "pin_memory": false"#, true),
        (r#""device": "cpu""#, true),
        (r#""device": "none", "pin_memory": false"#, false),
    ] {
        let run = deepspeed(inside);
        assert_eq!(run.stdout.contains("host_pinned = false"), off, "{inside}: {}{}", run.stdout, run.stderr);
    }
    assert_contains(&deepspeed(r#""device": "cpu""#).stderr, &["off by default before DeepSpeed 0.19.6"]);
    let megatron = |flags: &str| {
        let script = format!(
            "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\\n  \
             --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 \\\n  \
             --vocab-size 32000 --use-distributed-optimizer --optimizer-cpu-offload {flags}\n"
        );
        home.write("run.sh", &script);
        home.run("import plan run.sh")
    };
    assert!(!megatron("").stdout.contains("host_pinned = false"));
    assert_contains(&megatron("--no-pin-cpu-grads --no-pin-cpu-params").stdout, &["host_pinned = false"]);
    assert_contains(
        &megatron("--no-pin-cpu-grads").refused().join("\n"),
        &["gradients and weights on the host, or neither"],
    );
}

/// 8 billion parameters on two cards of 48 GB: 16 bytes each do not fit, and the report says what helps.
#[test]
fn a_search_proposes_the_host_where_nothing_fits() {
    let search = "search --model llama-3.1-8b --hardware a6000-48gb --stack accelerate --devices 2 --seq 4096 \
                  --over micro-batch=1 --over recompute=full --over cp=1 --over tp=1";
    let run = Home::new().run(search);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert_contains(&run.stdout, &["nothing fits", "none fits the devices alone: offload", "--allow offload"]);
    let json = Home::new().run(&format!("{search} --format json")).json(3);
    let (with, without) = (&json["on_host"], &json["on_host"]["without"]);
    let number = |value: &serde_json::Value, key: &str| value[key].as_f64().expect(key);
    assert!(number(with, "step_time_s") > number(without, "step_time_s"), "{with}");
    // Two ranks hold 8.03e9 x 16 B of optimizer and gradients at least; the devices lacked at least their half.
    assert!(number(with, "host_bytes") > 8.03e9 * 16.0 && number(without, "host_bytes") < 1.0, "{with}");
    assert!(number(without, "peak_bytes") > number(with, "peak_bytes") + 8.03e9 * 12.0 / 2.0 * 0.9);
    assert_eq!(with["scenario"]["plan"]["offload"], "state");
}
