//! Inputs of kinds that were once read as something else: other programs' defaults, other training than a plan's, sizes under
//! other names. Each says whose example it is.

use super::super::run::{Home, Run, assert_contains};
use super::{imported, refused, with};

/// axolotl's full fine-tuning of gpt-oss-20b with FSDP2 on eight cards of 48 GB (examples/gpt-oss/gpt-oss-20b-fft-fsdp2.yaml):
/// "FFT SFT (8x48GB @ ~36GiB/GPU)". Gradients that waited whole for the last micro-batch would be 20.9e9 x 2 B = 38.9 GiB alone.
#[test]
fn fsdp2_of_axolotl_reduces_each_micro_batch_of_weights_in_16_bits() {
    let yaml = "base_model: /m/gpt-oss-20b\nsequence_len: 4096\nsample_packing: true\ngradient_accumulation_steps: 2\n\
                micro_batch_size: 1\noptimizer: adamw_torch_8bit\nlearning_rate: 2e-5\nbf16: true\ngradient_checkpointing: true\n\
                activation_offloading: true\nattn_implementation: kernels-community/vllm-flash-attn3\nfsdp_version: 2\nfsdp_config:\n  \
                offload_params: false\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  \
                transformer_layer_cls_to_wrap: GptOssDecoderLayer\n  reshard_after_forward: true\n";
    let home = with(&[("fft.yaml", yaml)]);
    let run = home.run("import plan fft.yaml --model gpt-oss-20b --hardware a6000-48gb --devices 8 --out out.toml");
    let said = ["reduction = micro-batch", "before 1.11", "master_weights = none", "moments = bf16"];
    assert_contains(&run.stderr, &said);
    let peak = json(&home.run("eval ./out.toml --format json"))["memory"]["peak_bytes"].as_f64().expect("bytes");
    assert!((28.0..41.4).contains(&(peak / f64::from(1 << 30))), "{peak}");
    // FSDP1 waits, and so does FSDP2 of later releases where the user says so.
    let first = yaml.replace("fsdp_version: 2", "fsdp_version: 1");
    let run = imported(&[("fft.yaml", &first)], "--model gpt-oss-20b --hardware a6000-48gb --devices 8");
    assert_contains(&run.stderr, &["reduction = step", "until the last micro-batch"]);
}

/// axolotl's full fine-tuning of Llama 3 8B, "single GPU at 48 GB" (examples/llama-3/README.md): weights and gradients of 15.0
/// GiB each in bf16 and no copy in fp32 beside them, which would take 29.9 GiB more.
#[test]
fn axolotl_trains_weights_in_the_format_of_loading() {
    let yaml = "base_model: /m/l8\nsequence_len: 8192\ngradient_accumulation_steps: 8\nmicro_batch_size: 1\n\
                optimizer: paged_adamw_8bit\nbf16: auto\ngradient_checkpointing: true\nattn_implementation: flash_attention_2\n";
    let home = with(&[("fft.yaml", yaml)]);
    let run = home.run("import plan fft.yaml --model llama-3.1-8b --hardware a6000-48gb --devices 1 --out out.toml");
    assert_contains(&run.stderr, &["master_weights = none (axolotl trains weights", "stack = hf-trainer-2024"]);
    let figures = json(&home.run("eval ./out.toml --format json"));
    assert!(figures["memory"]["p_fits"].as_f64().expect("a chance") > 0.3, "{}", figures["memory"]);
    // DeepSpeed makes that copy, whatever the program loads.
    let zero = yaml.to_owned() + "deepspeed: zero1.json\n";
    let files = [("fft.yaml", zero.as_str()), ("zero1.json", r#"{"zero_optimization": {"stage": 1}}"#)];
    let run = imported(&files, "--model llama-3.1-8b --hardware a6000-48gb --devices 2");
    assert!(!run.stdout.contains("master_weights"), "{}", run.stdout);
    assert_contains(&run.stdout, &["stack = \"hf-deepspeed-2024\""]);
}

/// axolotl's examples with cut cross-entropy (examples/ministral, devstral and gpt-oss): 8.76 GiB, 21 GB and about 44 GiB measured,
/// where whole logits of 4,096 x 131,072 and 4,096 x 201,088 take 12 B each, 6.0 and 9.2 GiB.
#[test]
fn cut_cross_entropy_holds_no_logits() {
    let mistral = |hidden: u32, layers: u32, width: u32| {
        format!(
            r#"{{"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": {hidden},
                "num_hidden_layers": {layers}, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                "intermediate_size": {width}, "vocab_size": 131072, "tie_word_embeddings": false,
                "max_position_embeddings": 131072, "hidden_act": "silu"}}"#
        )
    };
    let plugin = "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n";
    let qlora = format!(
        "base_model: /m/x\nload_in_4bit: true\nadapter: qlora\nsequence_len: 2048\nsample_packing: true\nlora_r: 32\n\
         lora_target_modules: [gate_proj, down_proj, up_proj, q_proj, v_proj, k_proj, o_proj]\n\
         gradient_accumulation_steps: 4\nmicro_batch_size: 2\noptimizer: adamw_bnb_8bit\nbf16: auto\n\
         gradient_checkpointing: true\nattn_implementation: flash_attention_2\n{plugin}"
    );
    let lora = format!(
        "base_model: /m/gpt-oss-20b\nsequence_len: 4096\nsample_packing: true\nadapter: lora\nlora_r: 8\n\
         lora_target_linear: true\ngradient_accumulation_steps: 8\nmicro_batch_size: 1\noptimizer: adamw_torch_8bit\n\
         bf16: true\ngradient_checkpointing: true\nactivation_offloading: true\nattn_implementation: flash_attention_2\n{plugin}"
    );
    let peak = |yaml: &str, model: &str, files: &[(&str, &str)], hardware: &str| {
        let home = with(&[&[("q.yaml", yaml)], files].concat());
        let run = home.run(&format!(
            "import plan q.yaml --model {model} --hardware {hardware} --devices 1 --strict --out out.toml"
        ));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let figures = json(&home.run("eval ./out.toml --format json"));
        figures["memory"]["peak_bytes"].as_f64().expect("bytes") / f64::from(1 << 30)
    };
    let [ministral, devstral] = [mistral(4096, 36, 12288), mistral(5120, 40, 32768)];
    for (config, measured) in [(&ministral, 8.76), (&devstral, 21.0e9 / f64::from(1 << 30))] {
        let held = peak(&qlora, "./config.json", &[("config.json", config)], "h100-80gb-dgx");
        assert!((held / measured - 1.0).abs() < 0.15, "{held} for {measured}");
        let whole = peak(&qlora.replace(plugin, ""), "./config.json", &[("config.json", config)], "h100-80gb-dgx");
        // Without logits a layer's backward may be the peak.
        assert!((4.5..6.5).contains(&(whole - held)), "{whole} {held}");
    }
    let held = peak(&lora, "gpt-oss-20b", &[], "a6000-48gb");
    assert!((held / 44.0 - 1.0).abs() < 0.15 && held < 48.0, "{held}");
}

/// axolotl's MLP in tiles (`src/axolotl/monkeypatch/tiled_mlp/patch.py`), of a sequence's 65,536 tokens over 4,096 channels where
/// nobody says how many; ms-swift's (`swift/plugin/tiled_mlp.py`) has four.
#[test]
fn an_mlp_in_tiles_is_read() {
    let read = |more: &str| {
        let yaml = format!(
            "base_model: /m/x\nsequence_len: 65536\ngradient_accumulation_steps: 1\nmicro_batch_size: 1\nbf16: auto\n\
             gradient_checkpointing: true\n{more}"
        );
        imported(&[("q.yaml", &yaml)], "--model llama-2-7b --hardware h100-80gb-dgx --devices 1 --strict").stdout
    };
    for (more, said) in [
        ("tiled_mlp: true\n", "mlp_tiles = 16"),
        ("tiled_mlp: true\ntiled_mlp_num_shards: 8\n", "mlp_tiles = 8"),
        ("use_tiled_mlp: true\n", "mlp_tiles = 4"),
    ] {
        assert_contains(&read(more), &[said]);
    }
    assert!(!read("tiled_mlp: false\n").contains("mlp_tiles"));
}

/// Kernels of the loss are read by their switches, and others are refused by name.
#[test]
fn kernels_of_the_loss_have_switches() {
    let yaml = |more: &str| {
        format!(
            "base_model: /m/x\nsequence_len: 2048\ngradient_accumulation_steps: 4\nmicro_batch_size: 2\nbf16: auto\n\
             gradient_checkpointing: true\n{more}"
        )
    };
    let flags = "--model llama-2-7b --hardware h100-80gb-dgx --devices 1";
    let liger = "plugins:\n  - axolotl.integrations.liger.LigerPlugin\n";
    for (more, said) in [
        (format!("{liger}liger_fused_linear_cross_entropy: true\n"), "loss = \"chunked\""),
        (format!("{liger}liger_cross_entropy: true\n"), "loss = \"fused\""),
        ("flash_attn_cross_entropy: true\n".to_owned(), "loss = \"fused\""),
        ("loss_type: chunked_nll\n".to_owned(), "loss_format = \"fp32\""),
        ("cut_cross_entropy: true\n".to_owned(), "loss_chunk = 128"),
    ] {
        let run = imported(&[("q.yaml", &yaml(&more))], &format!("{flags} --strict"));
        assert_contains(&run.stdout, &[said]);
    }
    for (more, said) in [
        ("chunked_cross_entropy: true\n".to_owned(), "its logits are whole"),
        ("loss_type: dpo_norm\n".to_owned(), "is a loss that no plan has"),
        (
            "plugins:\n  - axolotl.integrations.spectrum.SpectrumPlugin\n".to_owned(),
            "'SpectrumPlugin' is code that trains as no plan can say",
        ),
    ] {
        assert_contains(&refused(&[("q.yaml", &yaml(&more))], flags), &[said]);
    }
    imported(
        &[("q.yaml", &yaml("plugins:\n  - axolotl.integrations.lm_eval.LMEvalPlugin\n"))],
        &format!("{flags} --strict"),
    );
}

/// ms-swift's example of Qwen3-30B-A3B on 16 A800 (`examples/train/megatron/qwen3_moe.sh`, 9.6 s a step): bf16, the distributed
/// optimizer and 8,192 tokens, none of which Megatron-LM has by default.
#[test]
fn megatron_swift_has_defaults_of_its_own() {
    let script = |command: &str, more: &str| {
        format!(
            "NNODES=2 NPROC_PER_NODE=8 megatron {command} --load /m/q30 --dataset mine --tensor_model_parallel_size 2 \\\n \
             --expert_model_parallel_size 8 --moe_grouped_gemm true --moe_permute_fusion true --packing true \\\n \
             --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --train_iters 2000 \\\n \
             --moe_aux_loss_coeff 1e-3 --lr 1e-5 --max_length 8192 --sequence_parallel true {more}"
        )
    };
    let flags = "--model qwen3-30b-a3b --hardware a800-80gb --strict";
    let run = imported(&[("run.sh", &script("sft", ""))], flags);
    let said = [
        "strategy = \"zero1\"",
        "precision = \"bf16\"",
        "sequence = 8192",
        "devices = 16",
        "global_batch = 16",
        "stack = \"megatron-core-2026\"",
    ];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stderr, &["precision = bf16 (run.sh: Megatron-SWIFT's default)"]);
    let run =
        imported(&[("run.sh", &script("sft", "--tuner_type lora --lora_rank 16 --target_modules all-linear"))], flags);
    assert_contains(&run.stdout, &["train = \"lora\"", "lora_rank = 16", "stack = \"megatron-bridge-2025\""]);
    let run = imported(&[("run.sh", &script("rlhf", "--rlhf_type dpo"))], flags);
    assert_contains(&run.stdout, &["method = \"dpo\""]);
}

/// Reinforcement learning and preferences say so by a command, by the program's file or by flags alone: examples/rl of
/// Megatron-LM, scripts of TRL.
#[test]
fn other_training_than_a_plan_s_is_refused_however_it_is_said() {
    let megatron = "torchrun --nproc-per-node 8 PROGRAM --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 128256 \
                    --micro-batch-size 1 --bf16 --seq-length 8192 --global-batch-size 128";
    let trainer = "torchrun --nproc_per_node 8 PROGRAM --model_name_or_path m --per_device_train_batch_size 1 --bf16 --output_dir o";
    for (script, program, said) in [
        (megatron, "train_rl.py", "train_rl.py: 'rl'"),
        (megatron, "pretrain_gpt.py --perform-rl-step --grpo-group-size 8", "--perform-rl-step"),
        (megatron, "tools/run_text_generation.py", "'generation' is what the program does by its name"),
        (trainer, "trl/scripts/grpo.py", "use_vllm"),
        (trainer, "train.py --beta 0.1", "--beta: '0.1'"),
        (trainer, "train.py --num_generations 8", "--num_generations: '8'"),
        (trainer, "train.py --task_type seq_cls", "--task_type: 'seq_cls'"),
    ] {
        // What follows the program's file are options of it.
        let (file, more) = program.split_once(' ').unwrap_or((program, ""));
        let script = format!("{} {more}", script.replace("PROGRAM", file));
        assert_contains(&refused(&[("run.sh", &script)], "--model llama-2-7b --hardware a100-80gb-dgx"), &[said]);
    }
}

/// `LLaMA-Factory`'s `examples/megatron/qwen3_moe_full.yaml`: Megatron-LM's degrees in a file of the Trainer's.
#[test]
fn llama_factory_on_megatron_is_megatron_s_plan() {
    let yaml = "model_name_or_path: /m/x\nstage: sft\ndo_train: true\ncutoff_len: 2048\nper_device_train_batch_size: 1\n\
                gradient_accumulation_steps: 8\nlearning_rate: 1.0e-4\nbf16: true\nfinetuning_type: full\n\
                tensor_model_parallel_size: 1\npipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\n\
                sequence_parallel: false\nuse_distributed_optimizer: true\nmoe_grouped_gemm: true\nrecompute_granularity: full\n";
    let run = imported(&[("mca.yaml", yaml)], "--model qwen3-30b-a3b --hardware h100-80gb-dgx --devices 8 --strict");
    let said =
        ["strategy = \"zero1\"", "pipeline = 4", "experts = 2", "accumulate = 8", "sequence = 2048", "micro_batch = 1"];
    assert_contains(&run.stdout, &said);
    let script = "USE_MCA=1 NPROC_PER_NODE=8 llamafactory-cli train mca.yaml";
    let run = imported(&[("run.sh", script), ("mca.yaml", yaml)], "--model qwen3-30b-a3b --hardware h100-80gb-dgx");
    assert_contains(&run.stdout, &["devices = 8", "pipeline = 4"]);
}

/// `LLaMA-Factory`'s examples/extras: an optimizer whose moments have a low rank, and products in fp8.
#[test]
fn optimizers_and_formats_that_no_plan_has_are_refused() {
    let yaml = |more: &str| {
        format!(
            "model_name_or_path: /m/x\nstage: sft\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n\
             finetuning_type: full\n{more}"
        )
    };
    let flags = "--model llama-3.1-8b --hardware h100-80gb-dgx --devices 4";
    for (more, said) in [
        ("use_apollo: true\napollo_target: all\napollo_rank: 128\n", "use_apollo: 'true'"),
        ("fp8: true\nfp8_backend: torchao\n", "fp8: 'true'"),
        ("use_adam_mini: true\n", "use_adam_mini: 'true'"),
        ("mixture_of_depths: convert\n", "mixture_of_depths: 'convert'"),
    ] {
        let refused = refused(&[("a.yaml", &yaml(more))], flags);
        assert_contains(&refused, &[said]);
        assert_eq!(refused.lines().filter(|line| line.starts_with("error")).count(), 1, "{refused}");
    }
    imported(&[("a.yaml", &yaml("use_apollo: false\napollo_rank: 128\n"))], &format!("{flags} --strict"));
}

/// torchtune's `llama3_2_vision` with a frozen decoder, its configurations that evaluate or generate, and Megatron-LM's examples/multimodal,
/// whose `seq_length` counts pictures.
#[test]
fn models_that_read_pictures_and_runs_that_train_nothing_are_refused() {
    let vision = "model:\n  _component_: torchtune.models.llama3_2_vision.llama3_2_vision_11b\n  decoder_trainable: False\n  \
                  encoder_trainable: True\ntokenizer:\n  max_seq_len: 8192\noptimizer:\n  _component_: torch.optim.AdamW\nbatch_size: 2\n\
                  dtype: bf16\n";
    let flags = "--model llama-3.1-8b --hardware a100-80gb-dgx --devices 8";
    assert_contains(&refused(&[("v.yaml", vision)], flags), &["model.decoder_trainable: 'false'", "reads pictures"]);
    let evaluation = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntasks: [\"truthfulqa_mc2\"]\nbatch_size: 8\n\
                      enable_kv_cache: True\ndtype: bf16\n";
    assert_contains(&refused(&[("e.yaml", evaluation)], flags), &["tasks:", "a recipe that trains"]);
    let megatron = |more: &str| {
        format!(
            "torchrun --nproc-per-node 8 train.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
             --vocab-size 128256 --micro-batch-size 1 --bf16 --seq-length 576 --decoder-seq-length 2048 --global-batch-size 256 {more}"
        )
    };
    let h100 = "--hardware h100-80gb-dgx";
    let frozen = refused(&[("run.sh", &megatron("--vision-model-type clip --freeze-LM"))], h100);
    assert_contains(&frozen, &["--vision-model-type: 'clip'", "--freeze-LM"]);
    let run = imported(&[("run.sh", &megatron(""))], h100);
    assert_contains(&run.stdout, &["sequence = 2048"]);
    assert_contains(&run.stderr, &["--seq-length: decoder_seq_length says"]);
}

/// Megatron-LM's arguments for 30 layers over four ranks, 7 at each end: 16 are left for two. The counts are written as a layout,
/// which is read back.
#[test]
fn stages_that_are_not_alike_are_read_and_written() {
    let script = |stages: &str| {
        format!(
            "torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py --num-layers 30 --hidden-size 4096 --ffn-hidden-size 11008 \
             --num-attention-heads 32 --seq-length 4096 --swiglu --normalization RMSNorm --position-embedding-type rope \
             --untie-embeddings-and-output-weights --disable-bias-linear --vocab-size 32000 --micro-batch-size 1 \
             --global-batch-size 256 --bf16 --use-distributed-optimizer --tensor-model-parallel-size 2 \
             --pipeline-model-parallel-size 4 {stages}"
        )
    };
    for stages in [
        "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7",
        "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
        "--pipeline-model-parallel-layout 'Et*7|(t*8|)*2t*7L'",
    ] {
        let run = imported(&[("run.sh", &script(stages))], "--hardware h100-80gb-dgx");
        assert_contains(&run.stdout, &["stage_layers = \"7,8,8,7\""]);
    }
    let wrong = refused(&[("run.sh", &script("--decoder-first-pipeline-num-layers 7"))], "--hardware h100-80gb-dgx");
    assert_contains(&wrong, &["30 layers do not divide so over 4 ranks", "--stage-layers"]);
    let home =
        with(&[("run.sh", &script("--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7"))]);
    home.run("import plan run.sh --hardware h100-80gb-dgx --out out.toml");
    let run = home.run("export ./out.toml --to megatron --out run --strict");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let again = home.run("import plan run/megatron.sh --hardware h100-80gb-dgx");
    assert_contains(&again.stdout, &["stage_layers = \"7,8,8,7\""]);
}

/// dots.llm1 by its card: 142 B, of which 14 B are active. 61 layers x (6 + 2) experts x 3 x 4,096 x 1,408 = 8.44 B, a dense layer
/// 3 x 4,096 x 10,944 = 0.13 B, attention 62 x 4 x 4,096^2 = 4.16 B, two tables of 152,064 x 4,096 = 1.25 B: 13.98 B, and norms.
#[test]
fn a_model_read_as_another_keeps_its_shared_experts() {
    let config = |family: &str, class: &str, more: &str| {
        format!(
            r#"{{"architectures": ["{class}"], "model_type": "{family}", "hidden_size": 4096, "num_hidden_layers": 62,
                "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "intermediate_size": 10944,
                "vocab_size": 152064, "tie_word_embeddings": false, "max_position_embeddings": 32768{more}}}"#
        )
    };
    let experts = r#", "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6,
                      "first_k_dense_replace": 1"#;
    let home = with(&[
        ("dots.json", &config("dots1", "Dots1ForCausalLM", experts)),
        ("new.json", &config("new_moe", "NewForCausalLM", experts)),
        ("bert.json", &config("modernbert", "ModernBertForMaskedLM", "")),
        ("other.json", &config("new", "NewForCausalLM", r#", "global_attn_every_n_layers": 3"#)),
    ]);
    for file in ["dots.json", "new.json --like qwen3_moe"] {
        let found = json(&home.run(&format!("import model {file} --format json")));
        let active = found["active_parameters"].as_f64().expect("a count");
        assert!((active / 14.0e9 - 1.0).abs() < 0.01, "{file}: {active}");
    }
    let encoder = home.run("import model bert.json --like llama").refused().join("\n");
    assert_contains(&encoder, &["ModernBertForMaskedLM: an encoder"]);
    let other = home.run("import model other.json --like llama").refused().join("\n");
    assert_contains(&other, &["global_attn_every_n_layers: is 3, and no shape is read from it as llama"]);
}

/// QwenLM/Qwen3, issue 736: of `LoRA` on 8 H100 with ZeRO-3 the 57B-A14B took 2,713.7 s where the 72B took 483.9. What runs one
/// expert after the other is not what is timed, and says so.
#[test]
fn experts_that_run_one_by_one_are_timed_with_a_word() {
    let job = "eval --hardware h100-80gb-dgx --devices 8 --stack hf-deepspeed-2024 --strategy zero3 --train lora --lora-rank 64 \
               --lora-targets all --seq 2048 --micro-batch 1 --accumulate 8 --recompute full --format json";
    let figures = json(&Home::new().run(&format!("{job} --model qwen2-57b-a14b")));
    assert!(figures["error_band"].is_null(), "{}", figures["error_band"]);
    assert!(figures["caveats"].to_string().contains("one after the other"), "{}", figures["caveats"]);
    let dense = json(&Home::new().run(&format!("{job} --model llama-3.1-70b")));
    assert!(!dense["caveats"].to_string().contains("one after the other"), "{}", dense["caveats"]);
}

fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

/// What an import did not understand stays with the plan: no error band, the wider chance of fitting, a note, and the same in
/// what a search and a snapshot write.
#[test]
fn what_is_unknown_travels_with_the_plan() {
    let script = "torchrun --nproc_per_node=4 train.py --model_name_or_path m --bf16 True --output_dir o \\\n \
                  --per_device_train_batch_size 1 --fsdp full_shard --gradient_checkpointing True \\\n --surprise 4";
    let home = with(&[("run.sh", script)]);
    home.run("import plan run.sh --model llama-2-7b --hardware h100-80gb-dgx --seq 2048 --out out.toml");
    let file = std::fs::read_to_string(home.path().join("out.toml")).expect("a file");
    let entry = [
        "[[unknown]]",
        "tool = \"HF Trainer\"",
        "file = \"run.sh\"",
        "line = 3",
        "key = \"surprise\"",
        "value = \"4\"",
    ];
    assert_contains(&file, &entry);
    let said = "1 setting is unknown and may change size, time or memory (run.sh: surprise)";
    assert_contains(&home.run("eval ./out.toml").stdout.replace("\n     ", ""), &[said, "no measured run like this"]);
    home.write("known.toml", &file[..file.find("[[unknown]]").expect("an entry")]);
    let [with, without] = ["out", "known"].map(|name| json(&home.run(&format!("eval ./{name}.toml --format json"))));
    assert_eq!(with["step_time_s"], without["step_time_s"]);
    assert!(with["error_band"].is_null() && !without["error_band"].is_null(), "{}", with["error_band"]);
    assert_eq!(with["unknown"][0]["key"], "surprise");
    assert_eq!(without["unknown"].as_array().map(Vec::len), Some(0));
    assert!(!with["memory"]["p_fits"].is_null());
    home.run("search ./out.toml --top 1 --out best.toml");
    assert_contains(&std::fs::read_to_string(home.path().join("best.toml")).expect("a file"), &entry[..4]);
    let export = home.run("export ./out.toml --to hf-trainer");
    assert!(format!("{}{}", export.stdout, export.stderr).contains("surprise"), "{}{}", export.stdout, export.stderr);
}

/// `$(expr 16 / $N)` is a sum like `$((16 / N))`: 16 / 2 = 8.
#[test]
fn sums_of_expr_are_computed() {
    let script = "N=2\nNPROC_PER_NODE=$N swift sft --model m --max_length 2048 --per_device_train_batch_size 1 \
                  --gradient_accumulation_steps $(expr 16 / $N) --freeze_vit true --split_dataset_ratio 0.01";
    let run = imported(&[("run.sh", script)], "--model llama-2-7b --hardware a100-80gb-dgx --strict");
    assert_contains(&run.stdout, &["accumulate = 8", "devices = 2"]);
}

/// One card of a kind whose preset joins pairs, and a size in a name that no preset has.
#[test]
fn single_cards_and_other_sizes() {
    let home = Home::new();
    home.write("one.txt", "GPU 0: NVIDIA RTX A6000 (UUID: GPU-0)\n");
    home.write("old.txt", "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-0)\n");
    let run = home.run("import cluster one.txt --nodes 1");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stderr, &["bridges between cards are not there"]);
    assert_contains(
        &home.run("import cluster old.txt --nodes 1").refused().join("\n"),
        &["has 16 GB, which no preset"],
    );
    let run = home.run("import cluster old.txt --nodes 1 --device v100-32gb-dgx1");
    assert_contains(&run.stdout, &["memory = \"16 GiB\""]);
}
