//! Programs of fine-tuning that start the Trainer with defaults of their own, as one node's users write them.

use super::super::run::assert_contains;
use super::{ON_A100, imported, refused};

/// The command of LLaMA-Factory's web page: its `torchrun` starts a process on each visible device, and what is not said is
/// 2,048 tokens, layers computed again and adapters on all matrices (`src/llamafactory/cli.py`, `hparams`).
#[test]
fn llama_factory_from_its_own_command() {
    let script = "export CUDA_VISIBLE_DEVICES=0,1,2,3\nllamafactory-cli train --stage sft --do_train True \\\n \
                  --model_name_or_path m --finetuning_type lora --template llama3 --flash_attn auto --dataset d \\\n \
                  --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --bf16 True --output_dir o";
    let run = imported(&[("run.sh", script)], &format!("{ON_A100} --strict"));
    let said = ["devices = 4", "sequence = 2048", "recompute = \"full\"", "train = \"lora\"", "lora_rank = 8"];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["lora_targets = \"all\"", "precision = \"bf16\""]);
    assert_contains(&run.stderr, &["devices = 4 (run.sh: CUDA_VISIBLE_DEVICES)", "sequence = 2048 (LLaMA-Factory's"]);
}

/// 1 x 2 sequences at once, and at least 16 in a step: 16 / 2 = 8 micro-batches (`swift/trainers/arguments.py`).
#[test]
fn ms_swift_by_its_defaults() {
    let script = "NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset d \
                  --max_length 2048 --output_dir output --system 'You are helpful.' --model_author swift --deepspeed zero2";
    let run = imported(&[("run.sh", script)], &format!("{ON_A100} --strict"));
    let said = ["devices = 2", "micro_batch = 1", "accumulate = 8", "recompute = \"full\"", "precision = \"bf16\""];
    assert_contains(&run.stdout, &said);
    assert_contains(
        &run.stdout,
        &["train = \"lora\"", "lora_rank = 8", "lora_targets = \"all\"", "strategy = \"zero2\""],
    );
    let of = |flags: &str| imported(&[("run.sh", &format!("{script} {flags}"))], ON_A100).stdout;
    assert_contains(&of("--train_type full --torch_dtype float16"), &["train = \"full\"", "precision = \"fp16\""]);
    assert_contains(&of("--quant_bits 4 --quant_method bnb"), &["train = \"lora\"", "frozen_format = \"nf4\""]);
    // Its two versions of the files with an offload differ.
    let offloaded = script.replace("zero2", "zero3_offload");
    assert_contains(&refused(&[("run.sh", &offloaded)], ON_A100), &["--deepspeed: 'zero3_offload'", "give that file"]);
    let other = refused(&[("run.sh", &format!("{script} --tuner_backend unsloth"))], ON_A100);
    assert_contains(&other, &["--tuner_backend: 'unsloth'", "kernels"]);
}

/// What TRL's own command leaves open: bf16, layers computed again and 1,024 tokens, and the Trainer's eight sequences
/// (`trl/trainer/sft_config.py`); its named configurations of Accelerate have eight processes.
#[test]
fn trl_by_its_defaults() {
    let script = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name stanfordnlp/imdb";
    let profile = |flags: &str| imported(&[("run.sh", &format!("{script} {flags}"))], &format!("{ON_A100} --strict"));
    let run = profile("--accelerate_config zero2 --num_processes 4");
    let said =
        ["devices = 4", "strategy = \"zero2\"", "sequence = 1024", "recompute = \"full\"", "precision = \"bf16\""];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["micro_batch = 8"]);
    assert_contains(&profile("--accelerate_config fsdp2").stdout, &["devices = 8", "strategy = \"fsdp\""]);
    assert_contains(&profile("--accelerate_config single_gpu").stdout, &["devices = 1", "strategy = \"ddp\""]);
    let own = refused(&[("run.sh", &format!("{script} --accelerate_config acc.yaml"))], ON_A100);
    assert_contains(&own, &["--accelerate_config: 'acc.yaml' is a file that says more"]);
    let yaml = "model_name_or_path: m\nper_device_train_batch_size: 4\nnum_processes: 2\nuse_peft: true\nlora_r: 32\n\
                max_length: 2048\nbf16: false\ngradient_checkpointing: false\n";
    let run = imported(&[("sft.yaml", yaml)], ON_A100);
    let said = ["devices = 2", "lora_rank = 32", "sequence = 2048", "precision = \"fp32\"", "recompute = \"none\""];
    assert_contains(&run.stdout, &said);
}

/// Guanaco's script: 16 tokens that are read and 512 that are answered are 528.
#[test]
fn qlora_s_own_script() {
    let script = "CUDA_VISIBLE_DEVICES=0 python qlora.py --model_name_or_path huggyllama/llama-7b --use_auth \\\n \
                  --output_dir o --dataloader_num_workers 1 --group_by_length --do_mmlu_eval --lora_r 64 --lora_modules all \\\n \
                  --double_quant --quant_type nf4 --bf16 --bits 4 --gradient_checkpointing --source_max_len 16 \\\n \
                  --target_max_len 512 --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --max_grad_norm 0.3";
    let run = imported(&[("run.sh", script)], &format!("{ON_A100} --strict"));
    let said = ["devices = 1", "sequence = 528", "lora_rank = 64", "lora_targets = \"all\"", "frozen_format = \"nf4\""];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["optimizer = \"adam\"", "paged_optimizer = true"]);
    // 1,024 and 256 are its defaults.
    let shorter = script.replace("--source_max_len 16", "");
    assert_contains(&imported(&[("run.sh", &shorter)], ON_A100).stdout, &["sequence = 1536"]);
    let full = refused(&[("run.sh", &format!("{script} --full_finetune"))], ON_A100);
    assert_contains(&full, &["--full_finetune", "--train full"]);
}

/// `LLaVA`'s switch for adapters, on every matrix (`find_all_linear_names`), and DeepSpeed-Chat's stage and offload.
#[test]
fn other_programs_by_their_own_switches() {
    let llava = "deepspeed --num_gpus 8 train_mem.py --lora_enable True --lora_r 128 --deepspeed ds.json --bf16 True \
                 --model_name_or_path m --per_device_train_batch_size 16 --model_max_length 2048";
    let zero = r#"{"zero_optimization": {"stage": 3}}"#;
    let run = imported(&[("run.sh", llava), ("ds.json", zero)], ON_A100);
    assert_contains(&run.stdout, &["train = \"lora\"", "lora_rank = 128", "lora_targets = \"all\""]);
    let chat = "deepspeed --include localhost:0,1 main.py --model_name_or_path m --per_device_train_batch_size 4 \
                --gradient_checkpointing --dtype bf16 --zero_stage 3 --offload --deepspeed --data_split 2,4,4";
    let run = imported(&[("run.sh", chat)], &format!("{ON_A100} --strict"));
    let said = ["strategy = \"zero3\"", "offload = \"state\"", "precision = \"bf16\"", "sequence = 512"];
    assert_contains(&run.stdout, &said);
    let half = chat.replace("--dtype bf16", "");
    assert_contains(&imported(&[("run.sh", &half)], ON_A100).stdout, &["precision = \"fp16\""]);
    let unsloth = "python unsloth-cli.py --load_in_4bit --r 64 --use_gradient_checkpointing unsloth \
                   --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --quantization_method q8_0";
    let refused = refused(&[("run.sh", unsloth)], &format!("{ON_A100} --devices 1"));
    assert_eq!(refused.lines().filter(|line| line.starts_with("error")).count(), 1, "{refused}");
    assert_contains(&refused, &["--use_gradient_checkpointing", "kernels"]);
}

/// axolotl's `offload` keeps the inputs of layers on the host; what DeepSpeed's file leaves on the device does not object.
#[test]
fn checkpoints_that_axolotl_offloads() {
    let yaml = |way: &str| {
        format!(
            "base_model: m\ndatasets:\n  - path: d\nsequence_len: 8192\ngradient_accumulation_steps: 2\nmicro_batch_size: 1\n\
             bf16: true\ngradient_checkpointing: {way}\ndeepspeed: zero1.json\n"
        )
    };
    let zero = r#"{"zero_optimization": {"stage": 1}, "bf16": {"enabled": "auto"}}"#;
    for way in ["offload", "unsloth"] {
        let files = [("full.yml", &*yaml(way)), ("zero1.json", zero)];
        let run = imported(&files, &format!("{ON_A100} --devices 8"));
        assert_contains(&run.stdout, &["recompute = \"full\"", "offload = \"checkpoints\"", "strategy = \"zero1\""]);
    }
    let other =
        refused(&[("full.yml", &yaml("offload_disk")), ("zero1.json", zero)], &format!("{ON_A100} --devices 8"));
    assert_contains(&other, &["gradient_checkpointing: 'offload_disk'"]);
}

/// Without a file, `accelerate launch` starts a process on each visible device.
#[test]
fn devices_that_are_visible() {
    let script = |options: &str| {
        format!(
            "CUDA_VISIBLE_DEVICES=0,1 accelerate launch {options} t.py --per_device_train_batch_size 2 --fsdp full_shard"
        )
    };
    // Its format is that of arguments that have none.
    let run = imported(&[("run.sh", &script("--mixed_precision bf16"))], ON_A100);
    assert_contains(&run.stdout, &["devices = 2", "precision = \"bf16\""]);
    let yaml = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 1\nfsdp_config:\n  fsdp_version: 1\n  \
                fsdp_sharding_strategy: FULL_SHARD\n";
    let files = [("run.sh", &*script("--config_file acc.yaml")), ("acc.yaml", yaml)];
    assert_contains(&imported(&files, ON_A100).stdout, &["devices = 1"]);
    // One process drives several devices in its own way.
    let alone = "CUDA_VISIBLE_DEVICES=0,1 python t.py --per_device_train_batch_size 2 --bf16 --gradient_checkpointing";
    assert_contains(&refused(&[("run.sh", alone)], ON_A100), &["no file says how many devices"]);
}

/// Two copies over two ranks each, of sequences on two ranks: 2 x 2 x 2 = 8 devices, and a copy's shards lie over 2 x 2.
#[test]
fn meshes_of_axolotl() {
    let yaml = |mesh: &str| {
        format!(
            "base_model: m\ndatasets:\n  - path: d\nsequence_len: 8192\ngradient_accumulation_steps: 1\nmicro_batch_size: 1\n\
             bf16: true\nfsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n{mesh}"
        )
    };
    let read = |mesh: &str| imported(&[("full.yml", &yaml(mesh))], &format!("{ON_A100} --devices 8 --strict")).stdout;
    let all = read("dp_replicate_size: 2\ndp_shard_size: 2\ncontext_parallel_size: 2\n");
    assert_contains(&all, &["strategy = \"hsdp\"", "shard = 4", "context = 2"]);
    let two = read("dp_shard_size: 4\ntensor_parallel_size: 2\n");
    assert_contains(&two, &["strategy = \"fsdp\"", "tensor = 2"]);
    let wrong = refused(&[("full.yml", &yaml("dp_shard_size: 3\n"))], &format!("{ON_A100} --devices 8"));
    assert_contains(&wrong, &["dp_shard_size", "are 3 devices, not 8"]);
    let kernels = refused(&[("full.yml", &yaml("liger_rms_norm: true\n"))], &format!("{ON_A100} --devices 8"));
    assert_contains(&kernels, &["liger_rms_norm", "--stack"]);
}

/// What the Trainer writes down of its arguments has a section of FSDP though FSDP is off.
#[test]
fn arguments_that_the_trainer_wrote_down() {
    let json = r#"{"per_device_train_batch_size": 4, "bf16": true, "fp16": false, "use_ipex": false, "fsdp": [],
        "fsdp_config": {"min_num_params": 0, "xla": false, "xla_fsdp_v2": false}, "deepspeed": null}"#;
    let run = imported(&[("training_args.json", json)], &format!("{ON_A100} --devices 4 --strict"));
    assert_contains(&run.stdout, &["strategy = \"ddp\"", "micro_batch = 4"]);
    let yaml = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nfp16: false\nnum_processes: 4\n";
    assert_contains(&imported(&[("acc.yaml", yaml)], &format!("{ON_A100} --strict")).stdout, &["devices = 4"]);
    let half = yaml.replace("false", "true");
    assert_contains(&refused(&[("acc.yaml", &half)], ON_A100), &["fp16", "mixed_precision"]);
}

/// A script that names a file says how many processes there are, and its options go before the file's.
#[test]
fn a_script_that_starts_a_program_with_a_file() {
    let factory = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\nlora_target: all\ncutoff_len: 2048\n\
                   per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n";
    let axolotl = "base_model: m\ndatasets:\n  - path: d\nsequence_len: 4096\nadapter: lora\nlora_r: 32\n\
                   gradient_accumulation_steps: 4\nmicro_batch_size: 2\nbf16: true\n";
    let trl = "model_name_or_path: m\nper_device_train_batch_size: 4\n";
    for (script, name, file, said) in [
        (
            "FORCE_TORCHRUN=1 llamafactory-cli train sft.yaml",
            "sft.yaml",
            factory,
            &["micro_batch = 1", "devices = 2"][..],
        ),
        ("axolotl train full.yml --micro-batch-size 1", "full.yml", axolotl, &["micro_batch = 1", "lora_rank = 32"]),
        ("trl sft --config sft.yaml", "sft.yaml", trl, &["micro_batch = 4", "sequence = 1024"]),
    ] {
        let script = format!("export CUDA_VISIBLE_DEVICES=0,1\n{script}\n");
        let run = imported(&[("run.sh", &script), (name, file)], &format!("{ON_A100} --strict"));
        assert_contains(&run.stdout, said);
        assert_contains(&run.stdout, &["devices = 2"]);
        assert_contains(&refused(&[("run.sh", &script)], ON_A100), &[&format!("'{name}' is a file that says more")]);
    }
}

/// PEFT's own example: weights of four bits under a name of its own, and adapters on every matrix.
#[test]
fn peft_s_example() {
    let script = "accelerate launch --config_file acc.yaml train.py --model_name_or_path m --max_seq_len 2048 --bf16 True \
                  --packing True --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --gradient_checkpointing True \
                  --use_reentrant True --splits train,test --use_peft_lora True --lora_r 8 --use_4bit_quantization True \
                  --use_nested_quant True --bnb_4bit_quant_storage_dtype bfloat16";
    let yaml = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 2\nfsdp_config:\n  fsdp_version: 1\n  \
                fsdp_sharding_strategy: FULL_SHARD\n";
    let run = imported(&[("run.sh", script), ("acc.yaml", yaml)], &format!("{ON_A100} --strict"));
    let said =
        ["train = \"lora\"", "lora_rank = 8", "lora_targets = \"all\"", "frozen_format = \"nf4\"", "devices = 2"];
    assert_contains(&run.stdout, &said);
}

/// A model of reference, or one that judges, takes memory and time that no plan has.
#[test]
fn preferences_are_refused() {
    let flags = "--model_name_or_path m --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16";
    for (command, names) in [
        ("trl dpo", "trl dpo: 'dpo'"),
        ("swift rlhf --rlhf_type dpo", "swift rlhf: 'rlhf'"),
        ("llamafactory-cli train --stage kto", "--stage: 'kto'"),
    ] {
        let script = format!("{command} {flags}");
        assert_contains(
            &refused(&[("run.sh", &script)], &format!("{ON_A100} --devices 1")),
            &[names, "no other beside"],
        );
    }
    let yaml = "base_model: m\ndatasets:\n  - path: d\nsequence_len: 4096\nmicro_batch_size: 1\nrl: dpo\nbf16: true\n";
    assert_contains(&refused(&[("dpo.yml", yaml)], &format!("{ON_A100} --devices 1")), &["rl: 'dpo'"]);
}
