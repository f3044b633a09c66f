//! Inputs as users have them, each with the value that it means: a refusal where no scenario can say it.

use super::run::{Home, Run, assert_contains};

fn with(files: &[(&str, &str)]) -> Home {
    let home = Home::new();
    files.iter().for_each(|(name, text)| home.write(name, text));
    home
}

/// The plan of some files, with the report.
fn imported(files: &[(&str, &str)], flags: &str) -> Run {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let run = with(files).run(&format!("import plan {} {flags}", names.join(" ")));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

fn refused(files: &[(&str, &str)], flags: &str) -> String {
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    with(files).run(&format!("import plan {} {flags}", names.join(" "))).refused().join("\n")
}

const ON_A100: &str = "--model llama-2-7b --hardware a100-40gb-dgx";

/// A script of the Trainer's on four devices of one node, as most are written.
const SCRIPT: &str = "torchrun --nproc_per_node=4 --master_port=29501 train.py --model_name_or_path m --bf16 True \\\n \
                      --output_dir out --per_device_train_batch_size 1 --gradient_accumulation_steps 16 \\\n \
                      --evaluation_strategy no --learning_rate 2e-5 --fsdp 'full_shard auto_wrap' \\\n \
                      --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer --gradient_checkpointing True";

#[test]
fn weights_that_are_frozen_or_quantised_are_refused_by_name() {
    let script = |flags: &str| format!("{SCRIPT} {flags}");
    for (flags, names) in [
        ("--finetuning_type lora --quantization_bit 4", &["--finetuning_type: 'lora'", "--quantization_bit: '4'"][..]),
        ("--use_peft --lora_r 16", &["--use_peft", "--lora_r"]),
        ("--load_in_8bit True", &["--load_in_8bit"]),
        ("--bits 4 --double_quant True", &["--bits: '4'"]),
        ("--train_type lora", &["--train_type"]),
        ("--freeze_backbone True", &["--freeze_backbone"]),
        ("--attn_implementation eager", &["--attn_implementation: 'eager'", "--stack"]),
        ("--stage dpo", &["--stage: 'dpo'"]),
    ] {
        assert_contains(&refused(&[("run.sh", &script(flags))], ON_A100), names);
    }
    let full = script("--finetuning_type full --bits 16 --use_peft False --load_in_4bit false --stage sft");
    assert_contains(&imported(&[("run.sh", &full)], ON_A100).stdout, &["strategy = \"fsdp\""]);
}

/// 12 B x 6.74e9 / 4 = 18.8 GiB beside whole gradients of 12.6 to 25.1 GiB: more than 40 GB hold.
#[test]
fn fsdp_keeps_gradients_whole_while_micro_batches_accumulate() {
    let home = with(&[("run.sh", SCRIPT)]);
    let run = home.run(&format!("import plan run.sh {ON_A100} --seq 2048 --out out.toml"));
    assert_contains(&run.stderr, &["devices = 4", "reduction = step", "until the last micro-batch"]);
    assert_contains(&home.run("eval ./out.toml").stdout, &["does not fit"]);
    // One micro-batch leaves nothing to wait for.
    let once = SCRIPT.replace("steps 16", "steps 1");
    assert!(!imported(&[("run.sh", &once)], ON_A100).stderr.contains("reduction"));
    // DeepSpeed and DDP have no such switch.
    for other in ["--deepspeed ds.json", ""] {
        let script = SCRIPT.replace("--fsdp 'full_shard auto_wrap'", other);
        let files = [("run.sh", script.as_str()), ("ds.json", r#"{"zero_optimization": {"stage": 2}}"#)];
        let files = if other.is_empty() { &files[..1] } else { &files[..] };
        assert!(!imported(files, ON_A100).stderr.contains("reduction"), "{other}");
    }
    let arguments = |each: &str| {
        format!(
            r#"{{"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16, "bf16": true, "fsdp": "full_shard",
            "accelerator_config": {{"split_batches": false, "gradient_accumulation_kwargs": {{"sync_each_batch": {each}}}}}}}"#
        )
    };
    for (each, reduction) in [("true", "micro-batch"), ("false", "step")] {
        let run = imported(&[("args.json", &arguments(each))], &format!("{ON_A100} --devices 8"));
        assert_contains(&run.stdout, &[&format!("reduction = \"{reduction}\"")]);
    }
}

/// A switch that is absent or off leaves checkpointing to the other file, and so does a format.
#[test]
fn two_files_of_which_one_is_silent_agree() {
    let yaml = "distributed_type: FSDP\nmixed_precision: MIXED\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 1\n  \
                fsdp_sharding_strategy: FULL_SHARD\n  fsdp_activation_checkpointing: CHECKPOINTS\n";
    let script =
        "accelerate launch --config_file acc.yaml sft.py --per_device_train_batch_size 1 --max_seq_length 2048";
    for (mixed, checkpoints, flags) in [
        ("bf16", "true", "--bf16 True"),
        ("bf16", "true", "--bf16 True --gradient_checkpointing False"),
        ("bf16", "false", "--bf16 True --gradient_checkpointing True"),
        ("bf16", "true", ""),
        ("'no'", "true", "--bf16 True"),
    ] {
        let yaml = yaml.replace("MIXED", mixed).replace("CHECKPOINTS", checkpoints);
        let script = format!("{script} {flags}");
        let run = imported(&[("run.sh", &script), ("acc.yaml", &yaml)], ON_A100);
        assert_contains(&run.stdout, &["recompute = \"full\"", "precision = \"bf16\"", "devices = 8"]);
    }
}

#[test]
fn the_length_of_a_sequence_under_each_name() {
    for name in ["model_max_length", "cutoff_len", "block_size", "max_seq_length", "max_seq_len", "max_length"] {
        for flag in [name.to_owned(), name.replace('_', "-")] {
            let script = format!("{SCRIPT} --{flag} 2048");
            assert_contains(&imported(&[("run.sh", &script)], ON_A100).stdout, &["sequence = 2048"]);
        }
    }
}

/// `--per_device_train_batch_size`, `--fsdp` and `--bf16` are the Trainer's, with underscores or hyphens.
#[test]
fn a_short_script_is_known_by_few_flags() {
    for script in [
        "torchrun --nnodes=1 --nproc_per_node=8 train.py --output_dir o --bf16 True --fsdp full_shard \
         --per_device_train_batch_size 4",
        "torchrun --nproc-per-node 8 train.py --output-dir o --bf16 --fsdp full_shard --per-device-train-batch-size 4",
        "accelerate launch --num_processes 8 train.py --bf16 --fsdp full_shard --per_device_train_batch_size 4",
        "deepspeed --num_gpus=8 train.py --bf16 --fsdp full_shard --per_device_train_batch_size 4",
    ] {
        let run = imported(&[("run.sh", script)], ON_A100);
        assert_contains(&run.stdout, &["strategy = \"fsdp\"", "micro_batch = 4", "devices = 8"]);
    }
}

#[test]
fn offload_under_the_names_of_both_versions_of_the_trainer() {
    for fsdp in [
        r#""fsdp": true, "fsdp_config": {"version": 2, "cpu_offload": true, "activation_checkpointing": true}"#,
        r#""fsdp": "full_shard offload", "fsdp_config": {"activation_checkpointing": true}"#,
        r#""fsdp": "full_shard", "fsdp_config": {"fsdp_offload_params": true, "fsdp_activation_checkpointing": true}"#,
    ] {
        let arguments = format!(r#"{{"per_device_train_batch_size": 1, "bf16": true, {fsdp}}}"#);
        let run = imported(&[("args.json", &arguments)], &format!("{ON_A100} --devices 8"));
        assert_contains(&run.stdout, &["offload = \"state\"", "recompute = \"full\""]);
    }
}

/// A DeepSpeed file says whose it is; its stack of 2023 keeps the scores of plain attention.
#[test]
fn deepspeed_s_own_stack_and_keys() {
    let script = "torchrun --nnodes=4 --nproc_per_node=4 run_clm.py --model_name_or_path m --deepspeed ds.json --fp16 \
                  --per_device_train_batch_size 1 --max_seq_length 2048 --do_train";
    let zero = r#"{"fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 3,
        "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}}"#;
    let home = with(&[("run.sh", script), ("ds.json", zero)]);
    let run = home.run("import plan run.sh ds.json --model opt-30b --hardware a100-80gb-dgx --out out.toml");
    assert_contains(&run.stderr, &["stack = deepspeed-zeropp-2023 (what is known of DeepSpeed", "devices = 16"]);
    // 76.7 GiB were in use when 896 MiB more were wanted.
    assert_contains(&home.run("eval ./out.toml").stdout, &["does not fit"]);
    let other = |inside: &str| {
        let text = format!(r#"{{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {{"stage": 2}}, {inside}}}"#);
        refused(&[("ds.json", &text)], "--devices 16")
    };
    for (inside, name) in [
        (r#""data_types": {"grad_accum_dtype": "fp32"}"#, "data_types.grad_accum_dtype: 'fp32'"),
        (r#""communication_data_type": "fp32""#, "communication_data_type: 'fp32'"),
        (r#""bf16": {"enabled": true, "bf16_master_weights_and_grads": true}"#, "bf16_master_weights_and_grads"),
        (r#""sparse_attention": {"mode": "fixed"}"#, "sparse_attention.mode"),
        (r#""compile": {"deepcompile": true}"#, "compile.deepcompile"),
    ] {
        assert_contains(&other(inside), &[name]);
    }
    let ratio = r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.4}}}"#;
    assert_contains(&refused(&[("ds.json", ratio)], "--devices 16"), &["offload_optimizer.ratio: '0.4'"]);
}

/// Compiled code is taken for what it is not, and that is said twice: in the report and in the scenario.
#[test]
fn compiled_code_is_named() {
    let toml = "[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nbatch_size = 1\nseq_len = 8192\ncompile = true\n\
                data_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = 'selective'\n";
    let newer = toml.replace("compile = true\n", "").replace("batch_size", "local_batch_size");
    let newer = format!("{newer}[compile]\nenable = true\ncomponents = ['model', 'loss']\n");
    let yaml = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\ndynamo_config:\n  dynamo_backend: INDUCTOR\n  \
                dynamo_mode: default\nfsdp_config:\n  fsdp_version: 2\n";
    let trainer = r#"{"per_device_train_batch_size": 1, "bf16": true, "torch_compile": true}"#;
    for (name, text) in [("a.toml", toml), ("b.toml", &newer), ("acc.yaml", yaml), ("args.json", trainer)] {
        let run = imported(&[(name, text)], "--devices 8");
        assert_contains(&run.stderr, &["compile = off", "is on, which no scenario says"]);
        assert_contains(&run.stdout, &["its code is compiled, and predicted as if it were not"]);
    }
    let eager = imported(&[("a.toml", &toml.replace("compile = true", "compile = false"))], "--devices 8");
    assert!(!eager.stdout.contains("compiled"), "{}", eager.stdout);
}

/// What nobody here knows is counted, and harmless names are told from it.
#[test]
fn unknown_settings_are_counted() {
    let script = format!("{SCRIPT} --surprise 4 --warmup_ratio 0.03 --other_surprise");
    let run = imported(&[("run.sh", &script)], ON_A100);
    assert_contains(
        &run.stderr,
        &["unknown to this program, 2, which may change", "run.sh: --surprise", "--warmup_ratio: how the"],
    );
    assert!(!imported(&[("run.sh", SCRIPT)], ON_A100).stderr.contains("unknown"));
}
