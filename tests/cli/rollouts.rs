//! Files of programs that train on answers which the model writes: what they say of a plan, with their defaults, and what is refused.

use super::run::{Home, Run, assert_contains};

const MACHINE: &str = "--model llama-3.1-8b --hardware h100-80gb-dgx";

fn read(file: &str, text: &str, flags: &str) -> Run {
    let home = Home::new();
    home.write(file, text);
    home.run(&format!("import plan {file} {MACHINE} {flags}"))
}

/// verl's words behind its module: batches are prompts, and the group multiplies them; both offloads leave nothing of the trainer.
#[test]
fn verl_counts_prompts() {
    let script = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=512 \\\n  \
                  data.max_prompt_length=1024 data.max_response_length=3072 actor_rollout_ref.model.path=/m/x \\\n  \
                  actor_rollout_ref.actor.ppo_mini_batch_size=128 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\\n  \
                  actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.actor.optim.lr=1e-6 \\\n  \
                  actor_rollout_ref.actor.fsdp_config.param_offload=True \\\n  \
                  actor_rollout_ref.actor.fsdp_config.optimizer_offload=True actor_rollout_ref.rollout.name=vllm \\\n  \
                  actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \\\n  \
                  trainer.n_gpus_per_node=8 trainer.nnodes=2 trainer.logger=console +trainer.val_before_train=False\n";
    let run = read("run.sh", script, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(
        &run.stdout,
        &[
            "method = \"grpo\"",
            "reference = \"resident\"",
            "global_batch = 1024",
            "updates = 4",
            "group = 8",
            "sequence = 4096",
            "devices = 16",
            "rollout_tp = 2",
            "rollout_share = 0.6",
            "sleep = 2",
            "trainer_offload = \"all\"",
            "recompute = \"full\"",
            "strategy = \"fsdp\"",
        ],
    );
    assert_contains(&run.stderr, &["(prompts)", "rollout_tp = 2 (", "verl's default"]);
    // On FSDP the entropy is compiled into one kernel, unless that is off; Megatron Core keeps two tensors of the logits' size.
    assert_contains(&run.stderr, &["entropy = off (verl computes it without tensors"]);
    let with = |word: &str| script.replace("trainer.nnodes=2", &format!("trainer.nnodes=2 {word}"));
    let eager = read("run.sh", &with("actor_rollout_ref.actor.fsdp_config.use_torch_compile=False"), "");
    let on_megatron = with("actor_rollout_ref.actor.strategy=megatron").replace("fsdp_config", "megatron");
    let megatron = read("run.sh", &on_megatron, "");
    for run in [&eager, &megatron] {
        assert_contains(&run.stdout, &["entropy = true"]);
    }
    let word = "strategy=megatron actor_rollout_ref.actor.entropy_from_logits_with_chunking=True";
    let chunked = read("run.sh", &on_megatron.replace("strategy=megatron", word), "");
    assert_contains(&chunked.stderr, &["entropy = off (verl"]);
    let critic = read("run.sh", &script.replace("=grpo", "=gae"), "");
    assert_contains(&critic.stdout, &["method = \"ppo\""]);
    // As verl's own scripts start it: by uv, on an engine by its name, with Megatron's arguments inside and a reference that lies
    // alike.
    let by_uv = on_megatron.replace("actor_rollout_ref.actor.strategy=megatron", "model_engine=megatron").replace(
        "python3 ",
        "LAUNCH=(uv run --frozen --extra vllm python3)\nRAY=(ray_kwargs.py=\"uv -v run --frozen\")\n\"${LAUNCH[@]}\" ",
    );
    let layers = "\"${RAY[@]}\" actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \
                  actor_rollout_ref.ref.megatron.tensor_model_parallel_size=4 actor_rollout_ref.ref.megatron.param_offload=True \
                  actor_rollout_ref.actor.megatron.use_mbridge=True \
                  +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=selective \
                  actor_rollout_ref.actor.profiler.enable=True actor_rollout_ref.rollout.calculate_log_probs=True \"$@\"";
    let run = read("run.sh", &by_uv.replace("trainer.logger=console", layers), "");
    assert_contains(
        &run.stdout,
        &["tensor = 4", "recompute = \"selective\"", "strategy = \"zero1\"", "reference = \"host\""],
    );
    assert!(!run.stdout.contains("unknown"), "{}", run.stdout);
    // Without them nothing is computed again on Megatron Core.
    assert_contains(&megatron.stdout, &["entropy = true"]);
    assert!(!megatron.stdout.contains("recompute = \"full\""), "{}", megatron.stdout);
    // A file of defaults by its name chooses the engine; another one says more than the command.
    let named =
        on_megatron.replace("actor_rollout_ref.actor.strategy=megatron", "--config-name='ppo_megatron_trainer.yaml'");
    assert_contains(&read("run.sh", &named, "").stdout, &["strategy = \"zero1\"", "entropy = true"]);
    let more = read("run.sh", &with("--config-path=\"$P\" --config-name='gsm8k_multiturn_grpo'"), "");
    assert_contains(&more.stdout, &["[[unknown]]", "key = \"config_name\""]);
    // The older name counts all devices: 32 over 16 of them are 2.
    let all = script.replace("ppo_micro_batch_size_per_gpu=2", "ppo_micro_batch_size=32");
    assert_contains(&read("run.sh", &all, "").stdout, &["micro_batch = 2"]);
    // Weights alone on the host is less than a plan can say.
    let weights = read("run.sh", &script.replace("optimizer_offload=True", "optimizer_offload=False"), "");
    assert_contains(
        &weights.stdout,
        &["trainer_offload = \"none\"", "key = \"actor_rollout_ref.actor.fsdp_config.param_offload\""],
    );
    let formats = "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype=bf16 \
                   actor_rollout_ref.actor.fsdp_config.mixed_precision.reduce_dtype=fp32 \
                   actor_rollout_ref.actor.fsdp_config.mixed_precision.buffer_dtype=fp32";
    let run = read("run.sh", &with(formats), "");
    assert!(run.code == Some(0) && !run.stdout.contains("[[unknown]]"), "{}{}", run.stdout, run.stderr);
    let outside = read("run.sh", &script.replace("trainer.nnodes=2", "trainer.nnodes=$N"), "");
    assert_contains(&outside.stderr, &["'$N' is set outside the file; say it with --devices"]);
    let other = read("run.sh", &script.replace("trainer.nnodes=2", "trainer.nnodes=2 model_engine=veomni"), "");
    assert_contains(&other.stderr, &["choose dp or megatron"]);
    // Weights kept in 16 bits, shards over a node, and a state that FSDP2 keeps on the host.
    let fsdp = |words: &str| read("run.sh", &with(words), "").stdout;
    assert_contains(
        &fsdp("actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 actor_rollout_ref.actor.fsdp_config.fsdp_size=8"),
        &["master_weights = \"none\"", "moments = \"bf16\"", "strategy = \"hsdp\"", "shard = 8"],
    );
    assert_contains(&fsdp("actor_rollout_ref.actor.fsdp_config.fsdp_size=16"), &["strategy = \"fsdp\""]);
    let refused = read("run.sh", &script.replace("rollout.name=vllm", "rollout.name=hf"), "");
    assert_eq!(refused.code, Some(2));
    assert_contains(&refused.stderr, &["actor_rollout_ref.rollout.name", "choose vllm"]);
}

/// `OpenRLHF` by its older names, whose rollout counts prompts and whose update counts answers, and by its newer ones.
#[test]
fn openrlhf_counts_both() {
    let script = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --colocate_all_models \\\n  \
                  --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.5 --vllm_enable_sleep \\\n  \
                  --deepspeed_enable_sleep --pretrain /m/x --rollout_batch_size 128 --n_samples_per_prompt 8 \\\n  \
                  --train_batch_size 256 --micro_train_batch_size 1 --prompt_max_len 1024 --generate_max_len 7168 \\\n  \
                  --zero_stage 3 --bf16 --gradient_checkpointing --init_kl_coef 0 --remote_rm_url /r.py\n";
    let wanted = [
        "method = \"grpo\"",
        "reference = \"none\"",
        "global_batch = 256",
        "updates = 4",
        "sequence = 8192",
        "rollout_tp = 2",
        "trainer_offload = \"all\"",
        "strategy = \"zero3\"",
        "stack = \"hf-deepspeed-2024\"",
    ];
    let run = read("run.sh", script, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &wanted);
    assert_contains(&run.stderr, &["(prompts)", "(answers)"]);
    let newer = [
        ("--actor_num", "--actor.num"),
        ("--colocate_all_models", "--train.colocate_all"),
        ("--vllm_", "--vllm."),
        ("--deepspeed_enable_sleep", "--ds.enable_sleep"),
        ("--pretrain", "--actor.model_name_or_path"),
        ("--rollout_batch_size", "--rollout.batch_size"),
        ("--n_samples_per_prompt", "--rollout.n_samples_per_prompt"),
        ("--train_batch_size", "--train.batch_size"),
        ("--micro_train_batch_size", "--train.micro_batch_size"),
        ("--prompt_max_len 1024 --generate_max_len 7168", "--data.max_len 8192"),
        ("--zero_stage", "--ds.zero_stage"),
        ("--gradient_checkpointing", "--actor.gradient_checkpointing_enable"),
        ("--init_kl_coef", "--algo.kl.init_coef"),
        ("--remote_rm_url", "--reward.remote_url"),
    ];
    let script = newer.iter().fold(script.to_owned(), |script, (old, new)| script.replace(old, new));
    let run = read("run.sh", &script, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &wanted);
    let apart = read("run.sh", &script.replace("--algo.kl.init_coef 0", "").replace("--train.colocate_all", ""), "");
    assert_contains(&apart.stderr, &["ref_num_nodes", "devices of its own"]);
}

/// `OpenRLHF`'s `train_dpo`, by its names of 2026 and by those before: batches are pairs, 8 a device and 128 a step unless it is said, of
/// 512 tokens, on ZeRO-2, beside a copy of the model that the host may have.
#[test]
fn openrlhf_has_pairs_too() {
    let script = "deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo --model.model_name_or_path /m/x --train.batch_size 256 \\\n  \
                  --train.micro_batch_size 1 --data.max_len 8192 --ds.zero_stage 3 --ds.zpg 8 --model.beta 0.1 --ref.offload \\\n  \
                  --model.gradient_checkpointing_enable --data.dataset /d --adam.lr 5e-7 --ckpt.output_dir /o --max_norm 1.0\n";
    let wanted = [
        "method = \"dpo\"",
        "reference = \"host\"",
        "global_batch = 256",
        "micro_batch = 1",
        "sequence = 8192",
        "devices = 8",
        "recompute = \"full\"",
        "strategy = \"zero3\"",
        "hpz = 8",
        "padding = \"longest\"",
        "stack = \"hf-deepspeed-2024\"",
    ];
    let older = [
        ("--model.model_name_or_path", "--pretrain"),
        ("--train.batch_size", "--train_batch_size"),
        ("--train.micro_batch_size", "--micro_train_batch_size"),
        ("--data.max_len", "--max_len"),
        ("--ds.zero_stage", "--zero_stage"),
        ("--ds.zpg", "--zpg"),
        ("--model.beta", "--beta"),
        ("--ref.offload", "--ref_offload --bf16"),
        ("--model.gradient_checkpointing_enable", "--gradient_checkpointing"),
        ("--data.dataset", "--dataset"),
        ("--adam.lr", "--learning_rate"),
        ("--ckpt.output_dir", "--save_path"),
    ];
    let before = older.iter().fold(script.to_owned(), |script, (new, old)| script.replace(new, old));
    for script in [script, &before] {
        let run = read("run.sh", script, "--strict");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_contains(&run.stdout, &wanted);
    }
    let bare = "deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo --model.model_name_or_path /m/x\n";
    let run = read("run.sh", bare, "");
    assert_contains(
        &run.stdout,
        &[
            "reference = \"resident\"",
            "global_batch = 128",
            "micro_batch = 8",
            "sequence = 512",
            "strategy = \"zero2\"",
        ],
    );
    // A copy has the log-probabilities beside adapters too, and what no plan says is refused by its key.
    let with = |words: &str| read("run.sh", &bare.replace("/m/x", &format!("/m/x {words}")), "");
    assert_contains(
        &with("--ds.lora.rank 16 --ds.load_in_4bit").stdout,
        &["reference = \"resident\"", "frozen_format = \"nf4\""],
    );
    for (words, key) in [
        ("--ds.deepcompile", "ds.deepcompile"),
        ("--ds.use_liger_kernel", "ds.use_liger_kernel"),
        ("--ds.load_in_4bit", "ds.load_in_4bit"),
        ("--ref.model_name_or_path /m/y", "ref.model_name_or_path"),
        ("--ds.grad_accum_dtype fp32", "ds.grad_accum_dtype"),
    ] {
        let refused = with(words);
        assert_eq!(refused.code, Some(2), "{words}: {}", refused.stdout);
        assert_contains(&refused.stderr, &[key]);
    }
}

/// NeMo RL's YAML: an update counts answers, the trainer waits on the host, and engines apart take devices from it.
#[test]
fn nemo_rl_counts_answers() {
    let yaml = "grpo:\n  num_prompts_per_step: 64\n  num_generations_per_prompt: 32\n  async_grpo: {enabled: false}\n\
                loss_fn: {reference_policy_kl_penalty: 0.01}\n\
                policy:\n  model_name: /m/x\n  train_global_batch_size: 512\n  train_micro_batch_size: 1\n  \
                max_total_sequence_length: 4096\n  precision: bfloat16\n  dtensor_cfg: {enabled: false}\n  megatron_cfg:\n    \
                enabled: true\n    tensor_model_parallel_size: 2\n    pipeline_model_parallel_size: 1\n    \
                activation_checkpointing: true\n  generation:\n    backend: vllm\n    max_new_tokens: 4096\n    \
                colocated: {enabled: COLOCATED, resources: {gpus_per_node: null, num_nodes: 1}}\n    vllm_cfg: \
                {tensor_parallel_size: 1, gpu_memory_utilization: 0.6}\ncluster: {gpus_per_node: 8, num_nodes: 2}\n";
    let run = read("grpo.yaml", &yaml.replace("COLOCATED", "true"), "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = [
        "method = \"grpo\"",
        "global_batch = 512",
        "updates = 4",
        "group = 32",
        "tensor = 2",
        "devices = 16",
        "trainer_offload = \"all\"",
        "stack = \"megatron-bridge-2025\"",
    ];
    assert_contains(&run.stdout, &said);
    let split = read("grpo.yaml", &yaml.replace("COLOCATED", "false"), "");
    assert_eq!(split.code, Some(0), "{}", split.stderr);
    assert_contains(&split.stdout, &["layout = \"split\"", "rollout_devices = 8", "devices = 8"]);
    assert_contains(&run.stdout, &["reference = \"host\""]);
    // DPO has batches of pairs, and no engine.
    let dpo = "dpo: {max_num_epochs: 1, reference_policy_kl_penalty: 0.05}\npolicy:\n  model_name: /m/x\n  \
               train_global_batch_size: 128\n  train_micro_batch_size: 2\n  max_total_sequence_length: 2048\n  precision: bfloat16\n  \
               dtensor_cfg: {enabled: true, activation_checkpointing: true, tensor_parallel_size: 1}\n  \
               sequence_packing: {enabled: false}\ncluster: {gpus_per_node: 8, num_nodes: 1}\n";
    let run = read("dpo.yaml", dpo, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said =
        ["method = \"dpo\"", "reference = \"host\"", "global_batch = 128", "padding = \"longest\"", "devices = 8"];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stderr, &["(pairs)"]);
    let stale = yaml.replace("async_grpo: {enabled: false}", "async_grpo: {enabled: true}");
    assert_contains(&read("grpo.yaml", &stale, "").stderr, &["grpo.async_grpo.enabled", "switch it off"]);
}

/// TRL's GRPO and ms-swift's, each with its own defaults beside the Trainer's settings; without an engine they are refused by the
/// key that would say one.
#[test]
fn trl_and_ms_swift_have_defaults_of_their_own() {
    let trl = "trl grpo --model_name_or_path /m/x --dataset_name d --use_vllm true --vllm_mode colocate --num_generations 16 \\\n  \
               --max_prompt_length 512 --max_completion_length 1536 --per_device_train_batch_size 4 \\\n  \
               --gradient_accumulation_steps 8 --steps_per_generation 16 --bf16 true --output_dir o\n";
    let run = read("grpo.sh", trl, "--devices 8");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = [
        "method = \"grpo\"",
        "reference = \"none\"",
        "group = 16",
        "updates = 2",
        "sequence = 2048",
        "micro_batch = 4",
        "rollout_share = 0.3",
        "sleep = 0",
    ];
    assert_contains(&run.stdout, &said);
    assert_contains(&run.stderr, &["batches of answers"]);
    // Both compute logits of answers alone, of as many tokens as these may have.
    assert_contains(&run.stdout, &["logits = \"completions\"", "response_max = 1536"]);
    let alone = read("grpo.sh", &trl.replace("--use_vllm true", ""), "--devices 8");
    assert_eq!(alone.code, Some(2));
    assert_contains(&alone.stderr, &["use_vllm", "writes its answers itself"]);
    let server = read("grpo.sh", &trl.replace("colocate", "server"), "--devices 8");
    assert_contains(&server.stderr, &["--vllm_mode", "--rollout-devices"]);
    let swift = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model /m/x --train_type full --deepspeed zero3 --use_vllm true \\\n  \
                 --vllm_mode colocate --vllm_gpu_memory_utilization 0.4 --sleep_level 1 --offload_optimizer true \\\n  \
                 --max_length 1024 --max_completion_length 1024 --num_generations 8 --per_device_train_batch_size 1\n";
    let run = read("grpo.sh", swift, "");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(
        &run.stdout,
        &["method = \"grpo\"", "sequence = 2048", "rollout_share = 0.4", "trainer_offload = \"optimizer\""],
    );
    assert!(!run.stdout.contains("reference = \"none\""), "{}", run.stdout);
    assert_contains(&run.stdout, &["logits = \"completions\"", "response_max = 1024"]);
}

/// axolotl hands its section `trl` to TRL's GRPO, and its section `vllm` where `vllm_mode` is said; its length is of no part of a rollout.
#[test]
fn axolotl_has_rollouts_of_trl() {
    let yaml = "base_model: /m/x\ndatasets:\n  - path: d\nsequence_len: 512\nmicro_batch_size: 4\ngradient_accumulation_steps: 8\n\
                bf16: true\ngradient_checkpointing: true\noptimizer: adamw_torch_fused\nrl: grpo\nrl_beta: 0.01\ntrl:\n  \
                use_vllm: true\n  vllm_mode: colocate\n  vllm_enable_sleep_mode: true\n  num_generations: 16\n  \
                max_completion_length: 1536\n  reward_funcs: [rewards.f]\n  temperature: 0.7\nvllm:\n  \
                gpu_memory_utilization: 0.4\n  tensor_parallel_size: 2\n  max_model_len: 2048\n  dtype: auto\n";
    let run = read("grpo.yaml", yaml, "--devices 8 --strict");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(
        &run.stdout,
        &[
            "method = \"grpo\"",
            "group = 16",
            "micro_batch = 4",
            "sequence = 2048",
            "rollout_share = 0.4",
            "rollout_tp = 2",
            "sleep = 2",
            "logits = \"completions\"",
            "response_max = 1536",
        ],
    );
    assert!(!run.stdout.contains("reference = \"none\""), "{}", run.stdout);
    // Without a mode TRL's own defaults are the engine's, whatever the other section says.
    let unsaid = read("grpo.yaml", &yaml.replace("  vllm_mode: colocate\n", ""), "--devices 8 --seq 2048");
    assert_contains(&unsaid.stdout, &["rollout_share = 0.3", "layout = \"colocated\""]);
    let asked = read("grpo.yaml", &yaml.replace("  max_model_len: 2048\n", ""), "--devices 8");
    assert_contains(&asked.stderr, &["trl.max_completion_length", "--seq"]);
    for (word, key) in [("async_prefetch: true", "trl.async_prefetch"), ("use_liger_loss: true", "trl.use_liger_loss")]
    {
        let refused = read("grpo.yaml", &yaml.replace("trl:\n", &format!("trl:\n  {word}\n")), "--devices 8");
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        assert_contains(&refused.stderr, &[key]);
    }
    let alone = read("grpo.yaml", &yaml.replace("use_vllm: true", "use_vllm: false"), "--devices 8");
    assert_contains(&alone.stderr, &["rl: ", "use_vllm"]);
}
