//! Methods of post-training: their flags, their table in a file, what is said of them, and commands that carry them.

use serde_json::Value;

use super::run::{Home, assert_contains, keys, number, run};

/// Llama 3.1 8B under ZeRO-3 on one node, trained by pairs of answers.
const DPO: &str = "--hardware h100-80gb-dgx --nodes 1 --model llama-3.1-8b --stack hf-deepspeed-2024 --strategy zero3 \
                   --seq 2048 --recompute full --method dpo";

/// Parameters of the model.
const PARAMETERS: f64 = 8_030_261_248.0;

fn json(arguments: &str) -> Value {
    let run = run(&format!("eval {arguments} --format json"));
    assert_eq!(run.stderr, "");
    serde_json::from_str(&run.stdout).expect("JSON and nothing else on stdout")
}

/// A frozen copy of 2 bytes a parameter over 8 devices, a quarter of an update for the forward through it, and one of two phases
/// decides on the memory.
#[test]
fn dpo_is_said_by_phase_and_by_example() {
    let json = json(&format!("{DPO} --global-batch 64 --examples 60000"));
    let post = &json["post_training"];
    let known = "method reference teacher phases samples_per_step samples_per_h seconds_per_sample epoch_s ahead_s";
    assert_eq!(keys(post), known);
    assert_eq!((&post["method"], &post["reference"]), (&"dpo".into(), &"resident".into()));
    let found = number(&json["memory"]["parts"], "beside");
    assert!((found - 2.0 * PARAMETERS / 8.0).abs() <= 0.5, "{found}");
    // 64 pairs are 128 sequences.
    let batch = &json["batch"];
    assert_eq!((number(batch, "sequences"), number(batch, "tokens")), (128.0, 128.0 * 2048.0));
    assert!((number(post, "samples_per_step") - 64.0).abs() < 1e-9);
    assert!(json["error_band"].is_null(), "no measured run compares answers: {}", json["error_band"]);
    let step = number(&json, "step_time_s");
    assert!((number(post, "epoch_s") / (step * 60_000.0 / 64.0) - 1.0).abs() < 1e-9);
    let phases = post["phases"].as_array().expect("two phases");
    assert_eq!([&phases[0]["name"], &phases[1]["name"]], ["update", "reference"]);
    let [update, reference] = [0, 1].map(|at: usize| number(&phases[at], "seconds"));
    assert!((update + reference - step).abs() < 1e-9 * step);
    assert!((0.2..0.3).contains(&(reference / update)), "{reference} of {update}");
    let peaks = [0, 1].map(|at: usize| number(&phases[at], "peak_bytes"));
    let peak = number(&json["memory"], "peak_bytes");
    assert!((peaks[0].max(peaks[1]) - peak).abs() < 64.0, "{peaks:?} and {peak}");
}

/// The report names the phase that decides, and the text of a step counts pairs.
#[test]
fn the_report_has_the_phases() {
    let text = run(&format!("eval {DPO} --global-batch 64")).stdout;
    assert_contains(&text, &["post-training\n", "dpo, reference resident", "phase: reference", "which decides"]);
    assert_contains(&text, &["64 pairs, 128 sequences", "models beside", "forward beside"]);
    let plain = run("eval --model mpt-125m --hardware a100-80gb-dgx --nodes 1").stdout;
    assert!(!plain.contains("post-training") && !plain.contains("beside"), "{plain}");
}

/// What a pass ahead of the training gives spares the copy and a quarter of the step, and is timed.
#[test]
fn a_pass_ahead_spares_the_copy() {
    let [resident, ahead] =
        ["resident", "precomputed"].map(|reference| json(&format!("{DPO} --reference {reference}")));
    let spared = number(&resident, "step_time_s") - number(&ahead, "step_time_s");
    let passed = number(&ahead["post_training"], "ahead_s");
    assert!((spared / passed - 1.0).abs() < 0.05, "{spared} and {passed}");
    assert!(ahead["memory"]["parts"].get("beside").is_none());
}

/// A scenario keeps its method in a table of its own, which every command reads again to the same figures.
#[test]
fn a_file_has_a_table_of_post_training() {
    let home = Home::new();
    let flags =
        "--method distill --teacher qwen3-30b-a3b --teacher-over node --top-k 64 --model qwen3-8b --nodes 1 --seq 2048";
    let toml = home.run(&format!("eval {flags} --format toml"));
    assert_contains(&toml.stdout, &["[scenario.post_training]", "teacher = \"qwen3-30b-a3b\"", "top_k = 64"]);
    home.write(
        "job.toml",
        "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"qwen3-8b\"\nstrategy = \"fsdp\"\n\
         [plan]\nnodes = 1\nsequence = 2048\n[post_training]\nmethod = \"distill\"\nteacher = \"qwen3-30b-a3b\"\n\
         teacher_over = \"node\"\ntop_k = 64\n",
    );
    let figures = |arguments: &str| {
        let out = home.run(&format!("eval {arguments} --format json")).stdout;
        let json: Value = serde_json::from_str(&out).expect("JSON");
        json["step_time_s"].clone()
    };
    let flags = format!("--hardware h100-80gb-dgx --stack default --strategy fsdp --global-batch free {flags}");
    assert_eq!(figures("./job.toml"), figures(&flags));
    let unknown = home.run("eval ./job.toml --teacher no-such");
    assert_eq!(unknown.code, Some(2));
    assert_contains(&unknown.stderr, &["--teacher: no model 'no-such'"]);
    home.write("bad.toml", "format = 1\ncluster = \"a\"\nstack = \"b\"\nmodel = \"c\"\nstrategy = \"d\"\n[post_training]\nmethod = \"rl\"\n");
    let bad = home.run("eval ./bad.toml");
    assert_contains(&bad.stderr, &["post_training.method", "sft, dpo, orpo, kto, reward, distill"]);
}

/// Adapters need no copy: the frozen weights are the reference.
#[test]
fn adapters_are_their_own_reference() {
    let adapters = "--stack peft-2025 --strategy fsdp --train lora";
    let json = json(&DPO.replace("--stack hf-deepspeed-2024 --strategy zero3", adapters));
    assert_eq!(json["post_training"]["reference"], "adapters-off");
    assert!(json["memory"]["parts"].get("beside").is_none());
    let refused = run(&format!("eval {DPO} --reference adapters-off"));
    assert_eq!(refused.code, Some(2));
    assert_contains(&refused.stderr, &["--reference", "no adapters to switch off", "choose resident"]);
}

/// A reward model has no logits: less memory than pairs whose logits are kept, and no weights of them.
#[test]
fn a_reward_model_scores() {
    let [scored, paired] =
        ["reward", "orpo"].map(|method| json(&DPO.replace("--method dpo", &format!("--method {method}"))));
    let peak = |json: &Value| number(&json["memory"], "peak_bytes");
    assert!(peak(&scored) < peak(&paired));
    // Logits of 128,256 rows of 4,096 weights, in place of which stand 4,096.
    let total = number(&scored["parameters"], "total");
    assert!((total - (PARAMETERS - (128_256.0 - 1.0) * 4096.0)).abs() < 0.5, "{total}");
}

/// Sweeps and searches try the fields of post-training, and hold the method.
#[test]
fn sweeps_and_searches_carry_it() {
    let swept = run(&format!(
        "sweep {DPO} --x reference=resident,host,precomputed --y micro-batch=1,2 --metric step-time --format csv"
    ));
    assert_eq!((swept.code, swept.stdout.lines().count()), (Some(0), 7), "{}{}", swept.stdout, swept.stderr);
    let found = run(&format!(
        "search {DPO} --global-batch 64 --over reference=resident,precomputed --over micro-batch=1,2 --top 1 --format json"
    ));
    let json: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let best = &json["plans"][0]["scenario"];
    assert_eq!(
        (&best["post_training"]["method"], &best["post_training"]["reference"]),
        (&"dpo".into(), &"precomputed".into())
    );
}

/// LLaMA-Factory's stage with TRL's keys, a command of TRL and one of ms-swift say the method, and what stands beside.
#[test]
fn files_of_other_tools_say_the_method() {
    let home = Home::new();
    let read = |file: &str, text: &str, flags: &str| {
        home.write(file, text);
        home.run(&format!("import plan {file} --model llama-3.1-8b --hardware a100-80gb-dgx {flags}"))
    };
    let llama = read(
        "dpo.yaml",
        "model_name_or_path: /m/x\nstage: dpo\npref_beta: 0.1\npref_loss: sigmoid\nfinetuning_type: full\ncutoff_len: 2048\n\
         per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\nref_model: /m/x\ndeepspeed: zero3\n",
        "--nodes 1",
    );
    assert_eq!(llama.code, Some(0), "{}", llama.stderr);
    assert_contains(
        &llama.stdout,
        &["[post_training]", "method = \"dpo\"", "reference = \"resident\"", "sequence = 2048"],
    );
    let simpo = read(
        "simpo.yaml",
        "model_name_or_path: /m/x\nstage: dpo\npref_loss: simpo\nfinetuning_type: lora\nper_device_train_batch_size: 1\nbf16: true\n",
        "--devices 1",
    );
    assert_contains(&simpo.stdout, &["method = \"orpo\""]);
    let trl = read(
        "trl.sh",
        "trl dpo --model_name_or_path /m/x --dataset_name mine --precompute_ref_log_probs true --beta 0.1 \\\n  \
         --per_device_train_batch_size 2 --output_dir out\n",
        "--devices 1",
    );
    assert_eq!(trl.code, Some(0), "{}", trl.stderr);
    let said = ["method = \"dpo\"", "reference = \"precomputed\"", "sequence = 1024", "padding = \"longest\""];
    assert_contains(&trl.stdout, &said);
    home.write("trl.toml", &trl.stdout);
    let padded = home.run("eval ./trl.toml");
    assert_contains(
        &padded.stdout.replace("\n      ", " "),
        &["padded to their longest answer, of 1,024 tokens at most"],
    );
    let swift = read(
        "swift.sh",
        "NPROC_PER_NODE=4 swift rlhf --rlhf_type kto --model /m/x --train_type full --deepspeed zero3 --max_length 8192\n",
        "--devices 4",
    );
    assert_contains(&swift.stdout, &["method = \"kto\"", "sequence = 8192"]);
    // ms-swift computes logits of answers alone unless it is told not to, and TRL did where it was told.
    assert_contains(&swift.stdout, &["logits = \"completions\""]);
    let trl = "trl dpo --model_name_or_path /m/x --per_device_train_batch_size 2 --output_dir out --use_logits_to_keep";
    for (command, logits) in [
        (
            "swift rlhf --rlhf_type dpo --model /m/x --train_type full --max_length 8192 --use_logits_to_keep false",
            None,
        ),
        ("swift rlhf --rlhf_type dpo --model /m/x --train_type full --max_length 8192 --packing true", None),
        ("swift rlhf --rlhf_type orpo --model /m/x --train_type full --max_length 8192", None),
        (&format!("{trl} true"), Some("logits = \"completions\"")),
        (&format!("{trl} false"), None),
    ] {
        let run = read("run.sh", &format!("{command}\n"), "--devices 1");
        assert_eq!(run.code, Some(0), "{command}: {}", run.stderr);
        assert_eq!(logits.is_some(), run.stdout.contains("completions"), "{command}: {}", run.stdout);
    }
}

/// Launchers of fine-tuning have a word for each method, and files read back to the same plan; TRL's is its command's.
#[test]
fn launchers_say_the_method() {
    let home = Home::new();
    let plan = "--model llama-3.1-8b --hardware h100-80gb-dgx --nodes 1 --seq 2048 --recompute full";
    let written = |to: &str, more: &str| home.run(&format!("export --to {to} {plan} {more}"));
    let factory = written("llama-factory", "--strategy fsdp --method orpo --padding longest").stdout;
    assert_contains(&factory, &["stage: 'dpo'", "pref_loss: 'orpo'", "finetuning_type: 'full'", "cutoff_len: 2048"]);
    let swift = written("ms-swift", "--strategy fsdp --method dpo --padding packed").stdout;
    assert_contains(&swift, &["rlhf_type: 'dpo'", "packing: true", "tuner_type: 'full'", "  fsdp_config:\n"]);
    let trl = written("hf-trainer", "--strategy fsdp --method kto").stdout;
    assert_contains(&trl, &["set outside this file: method kto: the word of TRL's command", "max_length: 2048"]);
    for (file, text, method) in [("f.yaml", &factory, "orpo"), ("s.yaml", &swift, "dpo"), ("t.yaml", &trl, "kto")] {
        home.write(file, text);
        let told = if method == "kto" { "--method kto" } else { "" };
        let back = home.run(&format!(
            "import plan {file} --model llama-3.1-8b --hardware h100-80gb-dgx --nodes 1 --seq 2048 {told}"
        ));
        assert_eq!(back.code, Some(0), "{file}: {}", back.stderr);
        assert_contains(
            &back.stdout,
            &[&format!("method = \"{method}\""), "strategy = \"fsdp\"", "recompute = \"full\""],
        );
    }
    // What a launcher lacks is named.
    let lacks = |to: &str, more: &str| written(to, &format!("{more} --strict")).stderr;
    assert_contains(&lacks("hf-trainer", "--method orpo"), &["method orpo", "started by scripts"]);
    assert_contains(
        &lacks("llama-factory", "--method dpo --reference host"),
        &["reference host", "a copy of the model"],
    );
    assert_contains(&lacks("megatron", "--strategy zero1 --method dpo"), &["method dpo: not supported"]);
}

/// A student that writes the answers that it is taught on is refused by the key that says so.
#[test]
fn distillation_on_own_answers_is_refused_by_key() {
    let home = Home::new();
    home.write(
        "gkd.sh",
        "swift rlhf --rlhf_type gkd --teacher_model /m/t --model /m/x --lmbda 0.5 --max_length 2048\n",
    );
    let writes = home.run("import plan gkd.sh --model qwen3-8b --hardware a100-80gb-dgx --devices 4");
    assert_contains(&writes.stderr, &["--rlhf_type", "lmbda 0"]);
    // Of given answers TRL's script names the teacher, whose shape only the user can say.
    home.write(
        "gkd.sh",
        "python gkd.py --model_name_or_path /m/x --teacher_model_name_or_path /m/t --lmbda 0 --bf16 true --per_device_train_batch_size 1\n",
    );
    let asked = home.run("import plan gkd.sh --model qwen3-8b --hardware a100-80gb-dgx --devices 1");
    assert_contains(&asked.stderr, &["--teacher_model_name_or_path", "say it with --teacher"]);
    let told = home.run("import plan gkd.sh --model qwen3-8b --hardware a100-80gb-dgx --devices 1 --teacher qwen3-32b");
    assert_contains(&told.stdout, &["method = \"distill\"", "teacher = \"qwen3-32b\""]);
}

/// GRPO of an 8B on one node: phases with their memory, an engine on half of each device, and no time of a step.
#[test]
fn rollouts_are_said_by_what_fits() {
    let grpo = DPO.replace("--method dpo", "--method grpo").replace("--stack hf-deepspeed-2024 ", "--stack default ");
    let json = json(&format!("{grpo} --global-batch 64 --updates 4 --group 16"));
    assert!(json["step_time_s"].is_null() && json["tokens_per_s"].is_null());
    let post = &json["post_training"];
    let phases = post["phases"].as_array().expect("phases");
    let names: Vec<&str> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
    assert_eq!(names, ["rollout", "log-probabilities", "reference", "update", "weights"]);
    assert!(phases[0]["seconds"].is_null() && phases[0]["lane"] == "engine" && phases[3]["lane"] == "trainer");
    // 64 answers of each of 4 updates, 16 to a prompt.
    assert!(
        (number(post, "answers_per_step") - 256.0).abs() < 1e-9
            && (number(post, "prompts_per_step") - 16.0).abs() < 1e-9
    );
    // 2 x 32 layers x 8 heads x 128 numbers of 2 bytes are 131,072 bytes a token.
    let engine = &post["engine"];
    assert!((number(engine, "sequence_bytes") - 2048.0 * 131_072.0).abs() < 1.0);
    assert!((number(engine, "weights_bytes") - 2.0 * PARAMETERS).abs() < 1.0);
    let left = number(engine, "share_bytes") - number(engine, "weights_bytes") - number(engine, "workspace_bytes");
    assert!((number(post, "cache_bytes") - left).abs() < 2.0);
    assert!((number(post, "cache_sequences") - (left / 2048.0 / 131_072.0).floor()).abs() < 0.5);
    let peak = phases.iter().map(|phase| number(phase, "peak_bytes")).fold(0.0, f64::max);
    assert!((peak - number(&json["memory"], "peak_bytes")).abs() < 64.0);
    let text = run(&format!("eval {grpo} --global-batch 64")).stdout;
    assert_contains(&text, &["rollouts are not timed", "phase: rollout", "which decides", "time of an update"]);
    // DeepSeek-V3 keeps 61 layers of 512 + 64 numbers on every device of an engine.
    let latent = "eval --model deepseek-v3 --hardware h100-80gb-dgx --nodes 32 --method grpo --rollout-tp 32 --rollout-share 0.8 --seq 1024 --strategy fsdp --format json";
    let latent: Value = serde_json::from_str(&run(latent).stdout).expect("JSON");
    let engine = &latent["post_training"]["engine"];
    assert!((number(engine, "sequence_bytes") - 1024.0 * 70_272.0).abs() < 1.0, "{engine}");
}

/// What fits is searched over the engine's devices and share, and over what of the trainer waits on the host.
#[test]
fn a_search_finds_what_fits_of_rollouts() {
    let found = run(
        "search --model llama-3.1-70b --hardware h100-80gb-dgx --nodes 4 --strategy fsdp --seq 4096 --recompute full --method grpo \
         --global-batch 256 --over rollout-tp=2,4,8 --over rollout-share=0.5,0.7 --over trainer-offload=none,all --over micro-batch=1 \
         --top 3 --format json",
    );
    let json: Value = serde_json::from_str(&found.stdout).expect("JSON");
    let best = &json["plans"][0]["evaluation"];
    assert!(best["memory"]["peak_bytes"].as_u64() < best["memory"]["capacity_bytes"].as_u64(), "{}", found.stdout);
    let alone =
        run("eval --model llama-3.1-70b --hardware h100-80gb-dgx --nodes 4 --strategy fsdp --seq 4096 --method grpo");
    assert_eq!(alone.code, Some(2));
    assert_contains(&alone.stderr, &["--rollout-share", "an engine needs", "--rollout-tp 2"]);
}

/// Peaks of fifteen runs that scripts of ms-swift state (modelscope/ms-swift at 3602360a5, `examples/megatron` and
/// `examples/train/rlhf`; nvidia-smi's, in GiB). What is kept throughout a step is never more. Where answers are packed, so that
/// their lengths are known, the whole peak is within 20 %: the cache of the allocator is in the measured one. Packs of pairs are
/// filled up to 8,192 tokens by the sum of both answers, each of which may have as many, so that a pair may have a pack of its own of up to
/// 16,384 (`swift/dataset/packing.py`): of two runs on the same pairs the peak is taken at the mean of both.
#[test]
fn static_memory_is_below_what_ms_swift_measured() {
    const ZERO3: &str = "--stack hf-deepspeed-2024 --strategy zero3";
    const MEGATRON: &str = "--stack megatron-core-2026 --strategy zero1";
    for (model, stack, flags, measured, within) in [
        ("qwen2.5-7b", ZERO3, "--devices 4 --seq 1024 --method dpo", &[47.0, 57.0][..], None),
        ("qwen3-4b", MEGATRON, "--devices 4 --tp 4 --seq 12288 --method dpo --padding packed", &[28.0], Some(0.2)),
        (
            "qwen3-30b-a3b",
            MEGATRON,
            "--devices 8 --tp 4 --ep 8 --etp 1 --seq 12288 --method dpo --padding packed --offload optimizer",
            &[46.0],
            Some(0.2),
        ),
        ("qwen2.5-7b", MEGATRON, "--devices 4 --tp 4 --seq 1024 --method dpo", &[45.0], None),
        (
            "qwen3-30b-a3b",
            MEGATRON,
            "--devices 2 --ep 2 --train lora --lora-rank 8 --seq 2048 --method dpo",
            &[65.0],
            None,
        ),
        ("qwen2.5-7b", MEGATRON, "--devices 4 --tp 4 --seq 8192 --method kto", &[43.0], Some(0.2)),
        // Of Qwen2.5-VL-7B, whose text part has the shape of Qwen2.5-7B; what reads pictures is beside it.
        ("qwen2.5-7b", MEGATRON, "--devices 2 --tp 2 --seq 8192 --method reward --padding packed", &[70.0], None),
        // Four that write half of their answers or all, with an engine beside one of them, and one that writes none.
        (
            "qwen2.5-7b",
            ZERO3,
            "--devices 4 --seq 1024 --method distill --teacher qwen2.5-14b",
            &[66.0, 54.0, 54.0, 73.0, 56.0],
            None,
        ),
        ("qwen3-8b", ZERO3, "--devices 4 --seq 4096 --method distill --teacher resident", &[67.0], Some(0.2)),
        (
            "llama-3.1-8b",
            ZERO3,
            "--devices 8 --seq 1024 --method ppo --reward-model resident --layout split --rollout-devices 1",
            &[65.0],
            None,
        ),
    ] {
        let plan = format!("--model {model} --hardware a100-80gb-dgx {stack} --recompute full {flags}");
        let json = json(&plan);
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let parts = json["memory"]["parts"].as_object().expect("parts");
        let kept = ["weights", "gradients", "optimizer", "beside"].map(|part| parts.get(part).and_then(Value::as_f64));
        let kept = gib(kept.into_iter().flatten().sum());
        for measured in measured {
            assert!(kept < *measured, "{plan}: {kept} of {measured}");
            let ratio = gib(number(&json["memory"], "peak_bytes")) / measured;
            assert!(within.is_none_or(|within: f64| (ratio - 1.0).abs() < within), "{plan}: {ratio}");
        }
    }
}
