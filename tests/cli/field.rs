//! Inputs as users have them, each with the value that it means: a refusal where no scenario can say it.

mod examples;
mod kinds;
mod primus;
mod programs;
mod xtuner;

use super::run::{Home, Run, assert_contains};

fn with(files: &[(&str, &str)]) -> Home {
    let home = Home::new();
    for (name, text) in files {
        home.write(name, text);
    }
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
fn adapters_are_read_as_each_tool_names_them() {
    let script = |flags: &str| format!("{SCRIPT} {flags}");
    for (flags, values) in [
        (
            "--finetuning_type lora --quantization_bit 4 --lora_target q_proj,v_proj",
            &["train = \"lora\"", "lora_rank = 8", "lora_targets = \"q,v\"", "frozen_format = \"nf4\""][..],
        ),
        ("--use_peft --lora_r 32", &["train = \"lora\"", "lora_rank = 32", "lora_targets = \"q,v\""]),
        (
            "--q_lora True --lora_r 64 --lora_target_modules all-linear",
            &["train = \"qlora\"", "lora_targets = \"all\""],
        ),
        ("--lora_r 8 --load_in_8bit True --load_in_4bit False", &["train = \"lora\"", "frozen_format = \"int8\""]),
        ("--train_type lora --lora_rank 4 --lora_alpha 32", &["lora_rank = 4"]),
    ] {
        assert_contains(&imported(&[("run.sh", &script(flags))], ON_A100).stdout, values);
    }
}

/// axolotl's own example of `QLoRA` on one device (examples/llama-2/qlora.yml), and one of `LLaMA-Factory`'s
/// (`examples/train_lora/llama3_lora_sft.yaml`), which computes layers again unless told otherwise.
#[test]
fn files_of_fine_tuning_tools_are_what_they_say() {
    let axolotl = "base_model: NousResearch/Llama-2-7b-hf\nload_in_8bit: false\nload_in_4bit: true\ndatasets:\n  - path: d\n    \
                   type: alpaca\nadapter: qlora\nsequence_len: 4096\nsample_packing: true\nlora_r: 32\nlora_alpha: 16\n\
                   lora_dropout: 0.05\nlora_target_linear: true\ngradient_accumulation_steps: 4\nmicro_batch_size: 2\n\
                   num_epochs: 4\noptimizer: paged_adamw_32bit\nbf16: auto\ngradient_checkpointing: true\n\
                   flash_attention: true\n";
    let run = imported(&[("qlora.yml", axolotl)], &format!("{ON_A100} --devices 1"));
    assert_contains(
        &run.stdout,
        &[
            "train = \"qlora\"",
            "lora_rank = 32",
            "lora_targets = \"all\"",
            "sequence = 4096",
            "micro_batch = 2",
            "recompute = \"full\"",
            "accumulate = 4",
        ],
    );
    let factory = "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n\
                   cutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n";
    let run = imported(&[("sft.yaml", factory)], &format!("{ON_A100} --devices 1"));
    assert_contains(
        &run.stdout,
        &["train = \"lora\"", "lora_targets = \"all\"", "sequence = 2048", "recompute = \"full\"", "micro_batch = 1"],
    );
}

/// LLaMA-Factory's `freeze` on the 32 layers of Llama 2 7B: its default of the last two, and the last eight with the embedding.
/// axolotl's patterns: logits and the layers from 24.
#[test]
fn frozen_parts_are_read_as_each_tool_names_what_is_free() {
    let factory = |more: &str| {
        let text = format!(
            "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: freeze\n{more}cutoff_len: 2048\n\
                            per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n"
        );
        imported(&[("sft.yaml", &text)], &format!("{ON_A100} --devices 1")).stdout
    };
    assert_contains(&factory(""), &["train = \"full\"", "frozen_layers = 30", "frozen_ends = \"both\""]);
    let eight = "freeze_trainable_layers: 8\nfreeze_trainable_modules: all\nfreeze_extra_modules: embed_tokens,norm\n";
    assert_contains(&factory(eight), &["frozen_layers = 24", "frozen_ends = \"head\""]);
    let axolotl = |pattern: &str| {
        format!(
            "base_model: m\nunfrozen_parameters:\n  - ^lm_head.weight$\n  - model.layers.2[4-9]\n  - {pattern}\nsequence_len: 4096\n\
             gradient_accumulation_steps: 4\nmicro_batch_size: 2\nbf16: auto\ngradient_checkpointing: true\n"
        )
    };
    let run = imported(&[("full.yml", &axolotl("model.layers.3[0-9]"))], &format!("{ON_A100} --devices 1"));
    assert_contains(&run.stdout, &["frozen_layers = 24", "frozen_ends = \"embedding\""]);
    let parts = axolotl("model.layers.3[0-9].block_sparse_moe.gate");
    let alone = format!("{ON_A100} --devices 1");
    assert_contains(&refused(&[("full.yml", &parts)], &alone), &["unfrozen_parameters", "parts of layers"]);
    let gap = axolotl("model.layers.30.");
    assert_contains(&refused(&[("full.yml", &gap)], &alone), &["unfrozen_parameters", "not the last layers"]);
}

#[test]
fn weights_that_are_quantised_or_frozen_otherwise_are_refused_by_name() {
    let script = |flags: &str| format!("{SCRIPT} {flags}");
    for (flags, names) in [
        ("--load_in_8bit True", &["--load_in_8bit", "--train qlora"][..]),
        ("--bits 4 --double_quant True", &["--bits", "--train qlora"]),
        ("--finetuning_type freeze --freeze_trainable_modules self_attn", &["--freeze_trainable_modules", "give all"]),
        ("--finetuning_type freeze --freeze_trainable_layers -2", &["--freeze_trainable_layers: '-2'"]),
        ("--finetuning_type oft", &["--finetuning_type: 'oft'"]),
        ("--use_peft --use_dora True", &["--use_dora"]),
        ("--use_peft False --lora_r 8", &["--lora_r"]),
        ("--freeze_backbone True", &["--freeze_backbone"]),
        ("--stage ppo", &["--stage: 'ppo'"]),
    ] {
        assert_contains(&refused(&[("run.sh", &script(flags))], ON_A100), names);
    }
    let eager = imported(&[("run.sh", &script("--attn_implementation eager"))], ON_A100).stdout;
    assert_contains(&eager, &["attention_kernel = \"plain\""]);
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
    // A model with learned positions, whose class attended plainly: the others have `hf-deepspeed-2024`.
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
        (r#""sparse_attention": {"mode": "fixed"}"#, "sparse_attention.mode"),
        (r#""compile": {"deepcompile": true}"#, "compile.deepcompile"),
    ] {
        assert_contains(&other(inside), &[name]);
    }
    let own = r#"{"zero_optimization": {"stage": 1},
        "bf16": {"enabled": true, "bf16_master_weights_and_grads": true, "bf16_optimizer_states": true}}"#;
    let own = imported(&[("ds.json", own)], "--devices 16").stderr;
    assert_contains(&own, &["master_weights = none", "moments = bf16"]);
    let ratio = r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.4}}}"#;
    assert_contains(&imported(&[("ds.json", ratio)], "--devices 16").stderr, &["offload_ratio = 0.4"]);
    // Weights are offloaded whole: their object has no ratio.
    let weights = ratio.replace(
        "\"ratio\": 0.4}",
        "\"nvme_path\": \"/local_nvme\"}, \"offload_param\": {\"device\": \"cpu\", \"ratio\": 0.4}",
    );
    let run = imported(&[("ds.json", &weights)], "--devices 16");
    assert!(!run.stdout.contains("offload_ratio"), "{}", run.stdout);
    assert_contains(&run.stderr, &["offload_param.ratio", "it divides the optimizer alone"]);
    let drives = weights.replace("\"cpu\"", "\"nvme\"");
    let run = imported(&[("ds.json", &drives)], "--devices 16 --hardware h100-80gb-dgx");
    assert_contains(&run.stdout, &["offload = \"state-nvme\""]);
}

/// A norm of 0 is no clipping, by each tool's own word for it; any other, and one that is filled in, is a plan's usual.
#[test]
fn clipping_is_imported() {
    let zero = |clipped: &str| format!(r#"{{"zero_optimization": {{"stage": 2}}, "gradient_clipping": {clipped}}}"#);
    let trainer =
        |clipped: &str| format!(r#"{{"per_device_train_batch_size": 1, "bf16": true, "max_grad_norm": {clipped}}}"#);
    for file in [zero, trainer] {
        for (clipped, off) in [("0.0", true), ("1.0", false), ("\"auto\"", false)] {
            let run = imported(&[("config.json", &file(clipped))], "--devices 8");
            assert_eq!(run.stdout.contains("clip_norm = false"), off, "{clipped}: {}", run.stdout);
        }
    }
}

/// axolotl's files of FSDP2 name no strategy: a version beside a section shards all (`examples/glm45/glm4.5-fft-fsdp2.yaml`), with
/// what the section says of the host and of recompute. A paged optimizer is one.
#[test]
fn axolotl_s_section_of_fsdp2_is_a_strategy() {
    let file = "base_model: NousResearch/Meta-Llama-3.1-8B\ndatasets:\n  - path: x\n    type: chat_template\nsequence_len: 2048\n\
                sample_packing: true\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\noptimizer: paged_adamw_8bit\n\
                lr_scheduler: cosine\nbf16: auto\nfsdp_version: 2\nfsdp_config:\n  offload_params: true\n  \
                cpu_offload_pin_memory: false\n  reshard_after_forward: true\n  activation_checkpointing: true\n  \
                final_state_dict_type: FULL_STATE_DICT\n";
    let run = imported(&[("axolotl.yaml", file)], "--devices 8 --model llama-3.1-8b --strict");
    assert_contains(
        &run.stdout,
        &[
            "strategy = \"fsdp\"",
            "offload = \"state\"",
            "host_pinned = false",
            "recompute = \"full\"",
            "optimizer = \"adam8bit\"",
            "paged_optimizer = true",
        ],
    );
    // The section alone switches FSDP on, of the first version (`core/builders/base.py`, `setup_fsdp_envs`).
    let first = file.replace("fsdp_version: 2\n", "").replace("accumulation_steps: 1", "accumulation_steps: 4");
    let run = imported(&[("axolotl.yaml", &first)], "--devices 8 --model llama-3.1-8b");
    assert_contains(&run.stdout, &["strategy = \"fsdp\"", "offload = \"state\"", "reduction = \"step\""]);
}

/// Compiled code is a field, of layers alone where the loss is not among the components.
#[test]
fn compiled_code_is_imported() {
    let toml = "[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nbatch_size = 1\nseq_len = 8192\ncompile = true\n\
                data_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = 'selective'\n";
    let newer = toml.replace("compile = true\n", "").replace("batch_size", "local_batch_size");
    let newer = format!("{newer}[compile]\nenable = true\ncomponents = ['model', 'loss']\n");
    let layers = newer.replace(", 'loss'", "");
    let yaml = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\ndynamo_config:\n  dynamo_backend: INDUCTOR\n  \
                dynamo_mode: default\nfsdp_config:\n  fsdp_version: 2\n";
    let trainer = r#"{"per_device_train_batch_size": 1, "bf16": true, "torch_compile": true}"#;
    let files = [
        ("a.toml", toml, "on"),
        ("b.toml", &newer, "on"),
        ("c.toml", &layers, "layer"),
        ("acc.yaml", yaml, "on"),
        ("args.json", trainer, "on"),
    ];
    for (name, text, compile) in files {
        let run = imported(&[(name, text)], "--devices 8");
        assert_contains(&run.stdout, &[&format!("compile = \"{compile}\"")]);
    }
    let eager = imported(&[("a.toml", &toml.replace("compile = true", "compile = false"))], "--devices 8");
    assert!(!eager.stdout.contains("compile = \"on\""), "{}", eager.stdout);
}

/// What the model cannot say of a scenario stands with its figures, in words and in JSON.
#[test]
fn caveats_stand_with_every_figure() {
    let llama = "--hardware a100-80gb-dgx --model llama-2-7b";
    let zero3 =
        format!("{llama} --strategy zero3 --devices 4 --seq 4096 --recompute full --micro-batch 8 --accumulate 1");
    let offload = |stack: &str, offload: &str| format!("{llama} --stack {stack} --nodes 1 --offload {offload}");
    let fp8 = "--hardware h100-80gb-dgx --model llama-3.1-70b --devices 32 --tp 8 --pp 4 --precision fp8";
    let cases = [
        (format!("{zero3} --stack deepspeed-zeropp-2023"), "Hugging Face models with flash attention keep no scores"),
        (format!("{zero3} --stack deepspeed-zero3-2022"), "times are of plain attention"),
        (format!("{zero3} --stack default"), "zero3 is DeepSpeed's word"),
        (offload("default", "state"), "each rank updates there with one thread"),
        // Eight ranks share 128 cores: 6.74e9 / 8 parameters x 28 B at 1.5 GB/s are 15.7 s.
        (
            offload("deepspeed-zeropp-2023 --strategy zero2", "optimizer"),
            "one thread for each rank, as here, takes 15.7 s, 16 threads take 983 ms",
        ),
        (format!("{fp8} --stack megatron-bridge-2025 --strategy zero1"), "in fp8, weights that are gathered"),
        (format!("{fp8} --stack torchtitan"), "in fp8, weights that are gathered"),
        // Intervals end where their rows do: on other devices, and beyond twice their largest size.
        (
            "--hardware gh200-96gb-alps --model llama-2-7b --nodes 8 --stack nemo-2025".to_owned(),
            "rows of nemo-2025 on hopper are of other devices than the NVIDIA GH200 96 GB: the interval is that of",
        ),
        (
            "--hardware h100-80gb-dgx --model llama-2-70b --nodes 256 --stack llm-foundry-2024".to_owned(),
            "rows of llm-foundry-2024 on hopper, sharded, across nodes have at most 512 devices",
        ),
    ];
    for (flags, words) in cases {
        let home = Home::new();
        let text = home.run(&format!("eval {flags}")).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{flags}: {text}");
        let json: serde_json::Value =
            serde_json::from_str(&home.run(&format!("eval {flags} --format json")).stdout).expect("JSON");
        let caveats = json["caveats"].as_array().expect("a list");
        assert!(
            caveats.iter().any(|caveat| caveat.as_str().is_some_and(|it| it.contains(words))),
            "{flags}: {caveats:?}"
        );
    }
    // FSDP's own word on FSDP's own program leaves nothing to say of it.
    assert!(!Home::new().run(&format!("eval {llama} --stack default --nodes 1")).stdout.contains("zero3"));
}

/// What a stack has no compiled kernels for is timed without, and that stands with every figure of it.
#[test]
fn what_an_import_could_not_say_stands_with_the_figures() {
    let deepspeed = r#"{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "compile": {"enabled": true},
        "zero_optimization": {"stage": 2}}"#;
    let home = with(&[("ds.json", deepspeed)]);
    let job = "--model opt-30b --hardware a100-80gb-dgx --seq 2048 --devices 8";
    let run = home.run(&format!("import plan ds.json {job} --out out.toml"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for command in ["eval ./out.toml --format json", "eval ./out.toml --micro-batch 2 --format json"] {
        let json: serde_json::Value = serde_json::from_str(&home.run(command).stdout).expect("JSON");
        let caveats = json["caveats"].to_string();
        assert!(caveats.contains("no kernels of torch.compile that are known"), "{caveats}");
    }
}

/// torchtune's recipes train 16 bits alone, beside which nothing is kept: two moments of two bytes. Its names of matrices mean
/// the same, and what its file says comes back from an export.
#[test]
fn recipes_of_torchtune_go_in_and_out() {
    let lora = "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_attn_modules: ['q_proj', 'v_proj', \
                'output_proj']\n  apply_lora_to_mlp: True\n  apply_lora_to_output: False\n  lora_rank: 8\n  lora_alpha: 16\n\
                tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 2048\nbatch_size: 2\n\
                optimizer:\n  _component_: torch.optim.AdamW\n  fused: True\n  lr: 3e-4\nloss:\n  _component_: \
                torchtune.modules.loss.LinearCrossEntropyLoss\nepochs: 1\ngradient_accumulation_steps: 8\ncompile: True\n\
                device: cuda\ndtype: bf16\nenable_activation_checkpointing: True\nenable_activation_offloading: False\n";
    let home = with(&[("8B_lora.yaml", lora)]);
    let run = home.run("import plan 8B_lora.yaml --devices 1 --strict --out lora.toml");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let scenario = std::fs::read_to_string(home.path().join("lora.toml")).expect("a file");
    let said = [
        "stack = \"torchtune-2025\"",
        "model = \"llama-3.1-8b\"",
        "train = \"lora\"",
        "lora_rank = 8",
        "lora_targets = \"q,v,o,gate,up,down\"",
        "micro_batch = 2",
        "accumulate = 8",
        "sequence = 2048",
        "master_weights = \"none\"",
        "moments = \"bf16\"",
        "compile = \"on\"",
    ];
    assert_contains(&scenario, &said);
    let run = home.run("export ./lora.toml --to torchtune --out out --strict");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let again = home.run("import plan out/torchtune.yaml --devices 1 --strict");
    assert_contains(&again.stdout, &said);
    let full = lora.replace("lora_llama3_1_8b", "llama3_1_8b").replace("AdamW", "SGD");
    assert_contains(
        &refused(&[("a.yaml", &full)], "--devices 1"),
        &["'torch.optim.SGD' is nothing that a plan can say"],
    );
    let other = lora.replace("lora_rank: 8", "use_dora: True");
    assert_contains(&refused(&[("a.yaml", &other)], "--devices 1"), &["model.use_dora"]);
}

/// Accelerate shards over one number of ranks, without a pipeline, and computes all of a layer again or nothing: so do the
/// plans that a search proposes for what was imported of it.
#[test]
fn an_imported_plan_is_searched_within_what_its_tool_writes() {
    let yaml = "distributed_type: FSDP\nnum_processes: 16\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n  \
                fsdp_reshard_after_forward: true\n";
    let home = with(&[("acc.yaml", yaml)]);
    let import = "import plan acc.yaml --model llama-2-13b --hardware a100-80gb-dgx --seq 4096 --out out.toml";
    assert_contains(
        &home.run(import).stderr,
        &["stack = accelerate (what is known of Hugging Face models on Accelerate"],
    );
    let found: serde_json::Value =
        serde_json::from_str(&home.run("search ./out.toml --top 3 --format json").stdout).expect("JSON");
    let plans = found["plans"].as_array().expect("plans");
    assert!(!plans.is_empty());
    for plan in plans {
        let plan = &plan["scenario"]["plan"];
        assert_eq!(plan["pipeline"].as_u64().unwrap_or(1), 1, "{plan}");
        assert!(["none", "full"].contains(&plan["recompute"].as_str().unwrap_or("none")), "{plan}");
        let sharding = &plan["sharding"];
        assert_eq!(sharding["weights"], sharding["optimizer"], "{plan}");
    }
    home.run("search ./out.toml --out best.toml");
    assert_eq!(home.run("export ./best.toml --to accelerate").code, Some(0));
}

/// What Accelerate 1.15 moves to the host has a key each.
#[test]
fn checkpoints_on_the_host_under_accelerate_s_name() {
    let yaml = |keys: &str| {
        format!(
            "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n  \
             fsdp_activation_checkpointing: true\n{keys}"
        )
    };
    let [state, checkpoints] =
        ["offload_params", "activation_checkpointing_offload"].map(|key| format!("  fsdp_{key}: true\n"));
    for (keys, offload) in
        [(state.clone(), "state"), (checkpoints.clone(), "checkpoints"), (format!("{state}{checkpoints}"), "all")]
    {
        let run = imported(&[("acc.yaml", &yaml(&keys))], ON_A100);
        assert_contains(&run.stdout, &[&format!("offload = \"{offload}\""), "recompute = \"full\""]);
    }
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
    let strict = refused(&[("run.sh", &script)], &format!("{ON_A100} --strict"));
    assert_contains(&strict, &["run.sh: --surprise: is unknown to this program", "run.sh: --other_surprise"]);
    assert!(!strict.contains("warmup"), "{strict}");
    imported(&[("run.sh", SCRIPT)], &format!("{ON_A100} --strict"));
}

/// The Trainer's head, bars and end.
const TRAINER_LOG: &str = "\
[INFO] >> ***** Running training *****
[INFO] >>   Instantaneous batch size per device = 1
[INFO] >>   Total train batch size (w. parallel, distributed & accumulation) = 4
[INFO] >>   Gradient Accumulation steps = 2
[INFO] >>   Total optimization steps = 4,500
[INFO] >>   Number of trainable parameters = 27,893,760
Loading checkpoint shards: 100%|##| 4/4 [00:40<00:00, 10.0s/it]
  0%|          | 1/4500 [00:21<26:43:10, 21.38s/it]
  0%|          | 2/4500 [00:42<26:33:10, 21.25s/it]
  0%|          | 3/4500 [01:04<26:40:10, 21.35s/it]
  0%|          | 4/4500 [01:25<26:40:10, 21.35s/it]
  0%|          | 5/4500 [01:46<26:40:10, 21.36s/it]
  0%|          | 6/4500 [02:08<26:40:10, 21.35s/it]
";

fn row(run: &Run) -> std::collections::BTreeMap<String, String> {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut lines = run.stdout.lines();
    let [head, cells] = [(); 2].map(|()| lines.next().expect("a line").split(',').map(str::to_owned));
    head.zip(cells).collect()
}

/// From step 4 at 85 s to step 6 at 128 s: 21.5 s each. 4 sequences of 1 x 2 on a device are 2 devices.
#[test]
fn a_run_of_the_trainer_that_has_not_ended() {
    for text in [TRAINER_LOG.to_owned(), TRAINER_LOG.replace("it]\n", "it]\r")] {
        let home = with(&[("train.log", text.as_str())]);
        let row = row(&home.run("import run train.log"));
        let cells =
            ["step_time_s", "micro_batch", "grad_accum", "global_batch", "num_gpus"].map(|name| row[name].as_str());
        assert_eq!(cells, ["21.5", "1", "2", "4", "2"]);
        assert!(row["notes"].contains("27893760 trained parameters"), "{row:?}");
    }
}

/// 12 x 40 x 5120^2 = 12.6e9 parameters, of which 27.9 million are trained.
#[test]
fn a_run_that_trains_adapters_is_no_row() {
    let home = with(&[("train.log", TRAINER_LOG)]);
    let refused = home.run("import run train.log --set layers=40 --set hidden=5120").refused().join("\n");
    assert_contains(&refused, &["line 6", "27893760 of some 1.258e10 parameters", "LoRA", "--set method=lora"]);
    let peft = format!("trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.06\n{TRAINER_LOG}");
    let home = with(&[("train.log", peft.as_str())]);
    assert_contains(&home.run("import run train.log").refused().join("\n"), &["line 1", "4194304 of some 6.743e9"]);
}

/// Words of a device in a second, as torchtitan called them in 2024: 5 x 8192 / 112,109 = 0.365359 s.
#[test]
fn a_log_of_torchtitan_of_2024() {
    let log = "\
[rank0]: Building 1-D device mesh with ['dp'], [4]
[rank0]: Building llama3 gpt2 with ModelArgs(dim=768, n_layers=12, n_heads=12, n_kv_heads=None, vocab_size=128256, \
multiple_of=256, ffn_dim_multiplier=None, norm_eps=1e-05)
[rank0]: Model llama3 gpt2 size: 281,953,536 total parameters
[rank0]: Applied selective activation checkpointing to the model
[rank0]: Compiling each TransformerBlock with torch.compile
[rank0]: Applied FSDP to the model
[rank0]: Training starts at step 1, with local batch size 5, global batch size 20, sequence length 8192, total steps 9
[rank0]: step:  1  loss: 12.2365  memory: 81.67GiB(85.93%)  wps: 5,380  mfu: 1.09%
[rank0]: step: 10  loss: 12.1951  memory: 81.67GiB(85.93%)  wps: 111,770  mfu: 22.69%
[rank0]: step: 20  loss: 12.1951  memory: 81.67GiB(85.93%)  wps: 111,714  mfu: 22.68%
[rank0]: step: 30  loss: 12.1951  memory: 81.67GiB(85.93%)  wps: 112,194  mfu: 22.78%
[rank0]: step: 40  loss: 12.1951  memory: 81.67GiB(85.93%)  wps: 112,109  mfu: 22.76%
[rank0]: step: 50  loss: 12.1951  memory: 81.67GiB(85.93%)  wps: 112,018  mfu: 22.78%
";
    let home = with(&[("titan.log", log)]);
    let row = row(&home.run("import run titan.log --hardware h100-96gb-hbm2e --stack torchtitan"));
    for (column, expected) in [
        ("step_time_s", "0.365359"),
        ("metric_peak_mem_gb", "81.67"),
        ("layers", "12"),
        ("hidden", "768"),
        ("heads", "12"),
        ("ffn_hidden", "2048"),
        ("vocab", "128256"),
        ("compiled", "yes"),
        ("strategy_class", "fsdp"),
        ("act_ckpt", "selective"),
    ] {
        assert_eq!(row[column], expected, "{column}");
    }
    let replicated = log.replace("Applied FSDP", "Applied DDP");
    let home = with(&[("titan.log", replicated.as_str())]);
    assert_eq!(self::row(&home.run("import run titan.log"))["strategy_class"], "ddp");
}

/// 8 x 1,024 tokens; 4,000,000 sequences; 500e9 tokens.
#[test]
fn counts_in_the_field_s_habit() {
    let home = Home::new();
    let run = home.run("eval --model llama-2-7b --nodes 2 --seq 8k --tokens 500b");
    assert_contains(&run.stdout, &["8,192 tokens"]);
    let same = home.run("eval --model llama-2-7b --nodes 2 --seq 8192 --tokens 500B");
    assert_eq!(run.stdout, same.stdout);
    let batch = home.run("eval --model mpt-125m --nodes 1 --global-batch 4k");
    assert_contains(&batch.stdout, &["4,000 sequences"]);
}

/// What `import model` writes, `--model` takes by its path.
#[test]
fn a_model_by_the_path_of_a_preset_s_file() {
    let home = Home::new();
    let config = format!("{}/tests/fixtures/hf/qwen3-8b.json", env!("CARGO_MANIFEST_DIR"));
    let imported = home.run(&format!("import model {config} --out mine.toml"));
    assert_eq!(imported.code, Some(0));
    assert_contains(&imported.stderr, &["next: shardscope eval --model ./mine.toml"]);
    let [by_toml, by_json] = ["./mine.toml", config.as_str()].map(|model| {
        let flags = "--hardware h100-80gb-dgx --nodes 2 --recompute full --format json";
        let run = home.run(&format!("eval --model {model} {flags}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str::<serde_json::Value>(&run.stdout).expect("JSON")
    });
    assert_eq!(by_toml["step_time_s"], by_json["step_time_s"]);
    assert_eq!(by_toml["parameters"]["total"], 8_190_735_360_u64);
    home.write("bad.toml", "format = 1\nname = 'x'\nlayers = 'many'\n");
    assert_contains(&home.run("eval --model ./bad.toml").refused().join("\n"), &["bad.toml", "layers"]);
}

/// One node sends nothing to others, so that nobody need say how fast.
#[test]
fn a_single_node_needs_no_rate() {
    let home = with(&[("sinfo.txt", "PARTITION NODES GRES NODELIST\ngpu 1 gpu:a100:8 n1\n")]);
    let run = home.run("import cluster sinfo.txt --device a100-80gb-dgx");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stderr, &["one node sends nothing to others"]);
    let two = with(&[("sinfo.txt", "PARTITION NODES GRES NODELIST\ngpu 2 gpu:a100:8 n[1-2]\n")]);
    let refused = two.run("import cluster sinfo.txt --device a100-80gb-dgx").refused().join("\n");
    assert_contains(&refused, &["--rate: no file says how fast"]);
}

/// Each option of `accelerate launch` is a key of its file, and what follows the program's name is the program's.
#[test]
fn options_of_accelerate_launch_are_read_as_its_file() {
    let launch = |options: &str, program: &str| {
        format!("accelerate launch --num_processes 16 --num_machines 2 {options} train.py {program}")
    };
    let trainer =
        "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_seq_length 2048 --output_dir o";
    let fsdp = "--use_fsdp --mixed_precision bf16 --fsdp_sharding_strategy FULL_SHARD --fsdp_auto_wrap_policy \
                TRANSFORMER_BASED_WRAP --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer";
    let run =
        imported(&[("run.sh", &launch(&format!("{fsdp} --fsdp_activation_checkpointing true"), trainer))], ON_A100);
    let plan = ["strategy = \"fsdp\"", "devices = 16", "micro_batch = 2", "accumulate = 4", "precision = \"bf16\""];
    assert_contains(&run.stdout, &plan);
    assert_contains(&run.stdout, &["recompute = \"full\""]);

    // A program of one's own: its options are read over, and listed.
    let run = imported(&[("run.sh", &launch(fsdp, "--depth 12"))], ON_A100);
    assert_contains(&run.stdout, &["strategy = \"fsdp\"", "devices = 16"]);
    assert_contains(&run.stderr, &["--depth"]);

    // ZeRO's stage is 2 unless an option says otherwise.
    for (stage, strategy) in [("", "zero2"), ("--zero_stage 3", "zero3")] {
        let options = format!("--use_deepspeed {stage} --offload_optimizer_device cpu --mixed_precision bf16");
        let run = imported(&[("run.sh", &launch(&options, trainer))], ON_A100);
        assert_contains(&run.stdout, &[&format!("strategy = \"{strategy}\""), "offload = \"optimizer\""]);
    }

    // Two copies over eight ranks each.
    let mesh = "--use_fsdp --fsdp_version 2 --use_parallelism_config --parallelism_config_dp_replicate_size 2 \
                --parallelism_config_dp_shard_size 8 --mixed_precision bf16";
    let run = imported(&[("run.sh", &launch(mesh, trainer))], ON_A100);
    assert_contains(&run.stdout, &["shard = 8"]);

    // An option goes before the file; a file that is named and not given is asked for.
    let yaml = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 1\n  \
                fsdp_sharding_strategy: FULL_SHARD\n  fsdp_activation_checkpointing: false\n";
    let both = launch("--config_file acc.yaml --use_fsdp --fsdp_activation_checkpointing true", trainer);
    let run = imported(&[("run.sh", &both), ("acc.yaml", yaml)], ON_A100);
    assert_contains(&run.stdout, &["recompute = \"full\"", "devices = 16", "precision = \"bf16\""]);
    assert!(refused(&[("run.sh", &both)], ON_A100).contains("--config_file: 'acc.yaml' is a file that says more"));
}
