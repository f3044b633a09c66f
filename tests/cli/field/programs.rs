//! Programs of fine-tuning that start the Trainer with defaults of their own, as one node's users write them.

use super::super::run::assert_contains;
use super::{ON_A100, SCRIPT, imported, refused};

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
        &["train = \"lora\"", "lora_rank = 8", "lora_targets = \"all\"", "lora_dropout = 0.05", "strategy = \"zero2\""],
    );
    let of = |flags: &str| imported(&[("run.sh", &format!("{script} {flags}"))], ON_A100).stdout;
    assert_contains(&of("--train_type full --torch_dtype float16"), &["train = \"full\"", "precision = \"fp16\""]);
    assert!(!of("--lora_dropout 0").contains("lora_dropout = 0.05"));
    assert_contains(&of("--lora_dropout 0.1"), &["lora_dropout = 0.1"]);
    assert_contains(&of("--quant_bits 4 --quant_method bnb"), &["train = \"lora\"", "frozen_format = \"nf4\""]);
    // swift/config/zero3_offload.json of version 4 has weights and optimizer on the host, page-locked.
    let offloaded = imported(&[("run.sh", &script.replace("zero2", "zero3_offload"))], ON_A100).stdout;
    assert_contains(&offloaded, &["strategy = \"zero3\"", "offload = \"state\""]);
    let other = imported(&[("run.sh", &script.replace("zero2", "zero2_offload"))], ON_A100).stdout;
    assert_contains(&other, &["strategy = \"zero2\"", "offload = \"optimizer\""]);
    let unknown = refused(&[("run.sh", &script.replace("zero2", "zero9"))], ON_A100);
    assert_contains(&unknown, &["--deepspeed: 'zero9'", "give that file"]);
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
    let few = refused(&[("run.sh", &format!("{script} --full_finetune"))], ON_A100);
    assert_contains(&few, &["weights of so few bits are frozen"]);
    let full = format!("{} --full_finetune", script.replace("--bits 4", "--bits 16"));
    assert_contains(&imported(&[("run.sh", &full)], ON_A100).stdout, &["train = \"full\""]);
}

/// `LLaVA`'s switch for adapters, on every matrix (`find_all_linear_names`), and DeepSpeed-Chat's stage and offload.
#[test]
fn other_programs_by_their_own_switches() {
    let llava = "deepspeed --num_gpus 8 train_mem.py --lora_enable True --lora_r 128 --deepspeed ds.json --bf16 True \
                 --model_name_or_path m --per_device_train_batch_size 16 --model_max_length 2048";
    let zero = r#"{"zero_optimization": {"stage": 3}}"#;
    let run = imported(&[("run.sh", llava), ("ds.json", zero)], ON_A100);
    assert_contains(
        &run.stdout,
        &["train = \"lora\"", "lora_rank = 128", "lora_targets = \"all\"", "lora_dropout = 0.05"],
    );
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

/// Older files of axolotl say a device's batch, 4 / 2 = 2 micro-batches, and hand options to bitsandbytes by a section of its own
/// (axolotl's examples/archived/falcon/config-7b.yml and examples/gemma4/31b-qlora.yaml).
#[test]
fn batches_of_older_axolotl_and_options_of_bitsandbytes() {
    let yaml = "base_model: m\ndatasets:\n  - path: d\nsequence_len: 2048\nmicro_batch_size: 2\nbf16: true\nadapter: qlora\nlora_r: 16\n\
                lora_target_linear: true\nload_in_4bit: true\n";
    let old = format!("{yaml}batch_size: 4\nlora_fan_in_fan_out: true\n");
    let read = imported(&[("old.yml", &old)], &format!("{ON_A100} --devices 8 --strict")).stdout;
    assert_contains(&read, &["micro_batch = 2", "accumulate = 2", "train = \"qlora\""]);
    let both = format!("{old}gradient_accumulation_steps: 4\n");
    assert_contains(&refused(&[("old.yml", &both)], &format!("{ON_A100} --devices 8")), &["batch_size: '4'"]);
    // examples/archived/redpajama/config-3b.yml names a rank and no adapter.
    let whole = old.replace("adapter: qlora", "adapter:").replace("load_in_4bit: true\n", "");
    let read = imported(&[("whole.yml", &whole)], &format!("{ON_A100} --devices 8 --strict")).stdout;
    assert_contains(&read, &["train = \"full\""]);
    let options = |kind: &str| {
        format!("{yaml}bnb_config_kwargs:\n  bnb_4bit_use_double_quant: true\n  bnb_4bit_quant_type: {kind}\n")
    };
    let read = imported(&[("new.yml", &options("nf4"))], &format!("{ON_A100} --devices 8 --strict")).stdout;
    assert_contains(&read, &["frozen_format = \"nf4\""]);
    let single = options("nf4").replace("double_quant: true", "double_quant: false");
    let read = imported(&[("new.yml", &single)], &format!("{ON_A100} --devices 8 --strict")).stdout;
    assert_contains(&read, &["frozen_format = \"nf4-single\""]);
    let other = refused(&[("new.yml", &options("fp4"))], &format!("{ON_A100} --devices 8"));
    assert_contains(&other, &["bnb_config_kwargs.bnb_4bit_quant_type: 'fp4'"]);
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
    // What its kernels of norms save is not known: they stay with the plan.
    let kernels = imported(&[("full.yml", &yaml("liger_rms_norm: true\n"))], &format!("{ON_A100} --devices 8")).stdout;
    assert_contains(&kernels, &["[[unknown]]", "key = \"liger_rms_norm\""]);
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
    assert_contains(&run.stdout, &["lora_dropout = 0.1"]);
    let single = script.replace("--use_nested_quant True ", "");
    let run = imported(&[("run.sh", &single), ("acc.yaml", yaml)], &format!("{ON_A100} --strict"));
    assert_contains(&run.stdout, &["frozen_format = \"nf4-single\""]);
}

/// The command of a program, its flags or its file say what preferences are trained with.
#[test]
fn preferences_are_a_method() {
    let flags = "--model_name_or_path m --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16";
    let on = format!("{ON_A100} --devices 1");
    for (command, method) in
        [("trl dpo", "dpo"), ("swift rlhf --rlhf_type dpo", "dpo"), ("llamafactory-cli train --stage kto", "kto")]
    {
        let run = imported(&[("run.sh", &format!("{command} {flags}"))], &on);
        assert_contains(&run.stdout, &["[post_training]", &format!("method = \"{method}\"")]);
    }
    let yaml = "base_model: m\ndatasets:\n  - path: d\nsequence_len: 4096\nmicro_batch_size: 1\nrl: dpo\nbf16: true\n";
    assert_contains(&imported(&[("dpo.yml", yaml)], &on).stdout, &["method = \"dpo\""]);
    assert_contains(&refused(&[("grpo.yml", &yaml.replace("dpo", "grpo"))], &on), &["rl: ", "without use_vllm"]);
}

/// LLaMA-Factory hands what follows its file to `OmegaConf.from_cli` (`read_args` of its `hparams/parser.py`): `name=value` goes
/// before the file, null takes away, and `--name value` is not read.
#[test]
fn overrides_of_llama_factory() {
    let yaml = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\nlora_target: all\ncutoff_len: 2048\n\
                per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\ndeepspeed: ds.json\n";
    let script = |words: &str| format!("CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train lf.yaml {words}\n");
    let read = |words: &str, strict: &str| {
        imported(&[("lf.sh", &script(words)), ("lf.yaml", yaml)], &format!("{ON_A100} {strict}"))
    };
    let run = read("per_device_train_batch_size=4 cutoff_len=8192 finetuning_type=full deepspeed=null", "--strict");
    let said = ["devices = 2", "micro_batch = 4", "sequence = 8192", "strategy = \"ddp\"", "accumulate = 8"];
    assert_contains(&run.stdout, &said);
    assert!(!run.stdout.contains("train = \"lora\""), "{}", run.stdout);
    assert_contains(&run.stderr, &["micro_batch = 4 (lf.sh: per_device_train_batch_size)"]);
    let targets = read("lora_target=[q_proj, v_proj] deepspeed=null", "--strict");
    assert_contains(&targets.stdout, &["lora_targets = \"q,v\""]);
    let other = read("--per_device_train_batch_size 4 deepspeed=null", "");
    assert_contains(&other.stdout, &["micro_batch = 1"]);
    let unread = "lf.sh: --per_device_train_batch_size 4, where llamafactory-cli train reads name=value";
    assert_contains(&other.stderr, &["unknown to this program, 1", unread]);
    let files = [("lf.sh", &*script("--cutoff_len 4 deepspeed=null")), ("lf.yaml", yaml)];
    assert_contains(&refused(&files, &format!("{ON_A100} --strict")), &["lf.sh: --cutoff_len 4, where"]);
}

/// `tune run` has torchrun's options, the recipe, its file, and `name=value` (`torchtune/_cli/run.py`, `config/_utils.py`): a
/// component goes by the name of its section, and `~name` takes away.
#[test]
fn overrides_of_torchtune() {
    let yaml = "model:\n  _component_: torchtune.models.llama2.llama2_7b\ntokenizer:\n  _component_: torchtune.models.llama2.\
                llama2_tokenizer\n  max_seq_len: 2048\noptimizer:\n  _component_: torch.optim.AdamW\nbatch_size: 2\n\
                gradient_accumulation_steps: 8\ndtype: bf16\nenable_activation_checkpointing: true\n";
    let command = "tune run --nnodes 1 --nproc_per_node 4 full_finetune_distributed --config my.yaml batch_size=4";
    let script = format!(
        "{command} tokenizer.max_seq_len=4096 optimizer=bitsandbytes.optim.PagedAdamW8bit ~gradient_accumulation_steps\n"
    );
    let flags = "--hardware a100-40gb-dgx --strict";
    let run = imported(&[("run.sh", &script), ("my.yaml", yaml)], flags);
    let said = ["devices = 4", "micro_batch = 4", "sequence = 4096", "optimizer = \"adam8bit\"", "accumulate = 1"];
    assert_contains(&run.stdout, &said);
    let alone = refused(&[("run.sh", &script)], flags);
    assert_contains(&alone, &["run.sh: --config: 'my.yaml' is a file that says more", "`tune cp` copies it"]);
    let flag = format!("{command} --batch_size 8\n");
    let unread = refused(&[("run.sh", &flag), ("my.yaml", yaml)], flags);
    assert_contains(&unread, &["--batch_size 8, where tune run reads name=value"]);
}

/// TRL's parser takes a file behind `--config`, before which its own options go, whoever launches it.
#[test]
fn a_program_of_trl_s_parser_behind_a_launcher() {
    let yaml = "model_name_or_path: m\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nbf16: true\n\
                max_length: 2048\n";
    let acc = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n";
    let script = "accelerate launch --config_file acc.yaml sft.py --config t.yaml --max_length 4096\n";
    let files = [("run.sh", script), ("acc.yaml", acc), ("t.yaml", yaml)];
    let run = imported(&files, &format!("{ON_A100} --strict"));
    assert_contains(&run.stdout, &["devices = 8", "strategy = \"fsdp\"", "micro_batch = 4", "sequence = 4096"]);
    let alone = refused(&[("run.sh", script), ("acc.yaml", acc)], ON_A100);
    assert_contains(&alone, &["run.sh: --config: 't.yaml' is a file that says more"]);
    let fsdp = "accelerate launch --use_fsdp --fsdp_version 2 --num_processes 4 sft.py --config t.yaml batch=1\n";
    let run = imported(&[("run.sh", fsdp), ("t.yaml", yaml)], ON_A100);
    assert_contains(&run.stdout, &["devices = 4", "strategy = \"fsdp\"", "sequence = 2048"]);
    assert_contains(&run.stderr, &["run.sh: batch=1, where sft.py reads --name value"]);
    let unknown = "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py lr=1\n";
    assert_contains(
        &refused(&[("run.sh", unknown)], ON_A100),
        &["its last command is `torchrun --nproc_per_node 8 train.py"],
    );
}

/// The last of two launches counts, and the report says so; an echo is none, nor is the same launch again.
#[test]
fn a_script_with_two_launches() {
    let two = format!("{SCRIPT}\n{}\n", SCRIPT.replace("batch_size 1", "batch_size 2"));
    let run = imported(&[("run.sh", &two)], ON_A100);
    assert_contains(&run.stdout, &["micro_batch = 2"]);
    // Each launch has four lines.
    let other = "run.sh: line 1: train.py, another launch: that of line 5 is taken";
    assert_contains(&run.stderr, &["unknown to this program, 1", other]);
    assert_contains(&refused(&[("run.sh", &two)], &format!("{ON_A100} --strict")), &[other]);
    let again = format!("echo {SCRIPT}\n{SCRIPT}\n{SCRIPT} > log 2>&1\n");
    imported(&[("run.sh", &again)], &format!("{ON_A100} --strict"));
}

/// torchtitan's options have dots and hyphens, before its file or over a configuration that it has by name.
#[test]
fn overrides_of_torchtitan() {
    let toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n\
                [parallelism]\ntensor_parallel_degree = 2\n[activation_checkpoint]\nmode = \"full\"\n";
    let words = "--training.local-batch-size=4 --activation_checkpoint.mode none";
    let script = format!("torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file x.toml {words}\n");
    let flags = "--hardware h100-80gb-dgx --strict";
    let run = imported(&[("run.sh", &script), ("x.toml", toml)], flags);
    let said = ["devices = 8", "micro_batch = 4", "tensor = 2", "recompute = \"none\"", "sequence = 8192"];
    assert_contains(&run.stdout, &said);
    // llama3_70b has 8 tensor ranks, 8 sequences of 8,192 tokens, and computes everything again.
    let named = "NGPU=8 MODULE=llama3 CONFIG=llama3_70b ./run_train.sh --training.seq_len 4096\n";
    let run = imported(&[("run.sh", named)], flags);
    let said = ["devices = 8", "micro_batch = 8", "tensor = 8", "recompute = \"full\"", "sequence = 4096"];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stdout, &["model = \"llama-3.1-70b\""]);
}

/// Switches as Hugging Face's parser takes them: `yes`, `1`, and `--no_` before one that is on by default, as TRL's are.
#[test]
fn switches_in_other_words() {
    let script = SCRIPT.replace("--bf16 True", "--bf16 yes").replace("checkpointing True", "checkpointing 1");
    let run = imported(&[("run.sh", &script)], &format!("{ON_A100} --strict"));
    assert_contains(&run.stdout, &["precision = \"bf16\"", "recompute = \"full\""]);
    let trl = "trl sft --model_name_or_path m --per_device_train_batch_size 1 --no_gradient_checkpointing --no-bf16";
    let run = imported(&[("run.sh", trl)], &format!("{ON_A100} --devices 1 --strict"));
    assert_contains(&run.stdout, &["precision = \"fp32\"", "recompute = \"none\""]);
}

/// `LLaMA-Factory`'s `v1` says in sections what the files before it say side by side (`src/llamafactory/v1/config`), computes all
/// layers again and exchanges heads between context ranks.
#[test]
fn sections_of_llama_factory_v1() {
    let file = "model: Qwen/Qwen3-0.6B\nmodel_class: llm\ndist_config:\n  name: fsdp2\n  dcp_path: null\ncp_mode: ulysses\n\
                cp_size: 2\ntrain_dataset: d.yaml\noutput_dir: o\nmicro_batch_size: 4\nglobal_batch_size: 64\ncutoff_len: 4096\n\
                learning_rate: 1.0e-4\nmax_steps: 10\nsample_backend: hf\nmax_new_tokens: 128\n";
    let on = "--model llama-3.1-8b --hardware h100-80gb-dgx --devices 8 --strict";
    assert_contains(
        &imported(&[("v1.yaml", file)], on).stdout,
        &[
            "strategy = \"fsdp\"",
            "context = 2",
            "context_kind = \"ulysses\"",
            "micro_batch = 4",
            "global_batch = 64",
            "sequence = 4096",
            "recompute = \"full\"",
            "precision = \"bf16\"",
        ],
    );
    let lora = file.replace("cp_mode", "peft_config:\n  name: lora\n  r: 16\n  target_modules: all\ncp_mode");
    let text = imported(&[("v1.yaml", &lora)], on).stdout;
    assert_contains(&text, &["train = \"lora\"", "lora_rank = 16", "lora_targets = \"all\""]);
    let kernels = file.replace("cp_mode", "kernel_config:\n  name: auto\ncp_mode");
    let open = imported(&[("v1.yaml", &kernels)], "--model llama-3.1-8b --hardware h100-80gb-dgx --devices 8").stdout;
    assert_contains(&open, &["[[unknown]]", "kernel_config.name"]);
}
