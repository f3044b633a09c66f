//! Plans as launchers take them: what each file says of hand-worked plans, and what is refused.

use super::run::{Home, assert_contains, run};

const BASE: &str = "--hardware h100-80gb-dgx --model llama-3.1-8b --seq 4096";

/// The lines of an export, without its comments.
fn lines(to: &str, plan: &str) -> Vec<String> {
    let run = run(&format!("export --strict --to {to} {BASE} {plan}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// 64 devices are 2 tensor ranks x 32 others: 16 that share the state, twice.
#[test]
fn accelerate() {
    let expected = "\
compute_environment: 'LOCAL_MACHINE'
debug: false
distributed_type: 'FSDP'
machine_rank: 0
main_training_function: 'main'
num_machines: 8
rdzv_backend: 'c10d'
same_network: true
use_cpu: false
num_processes: 64
parallelism_config:
  parallelism_config_tp_size: 2
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: 16
mixed_precision: 'bf16'
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: 'TRANSFORMER_BASED_WRAP'
  fsdp_state_dict_type: 'SHARDED_STATE_DICT'
  fsdp_reshard_after_forward: true
  fsdp_activation_checkpointing: true
  fsdp_offload_params: true";
    let plan = "--devices 64 --tp 2 --strategy hsdp --shard 16 --recompute full --offload state";
    assert_eq!(lines("accelerate", plan), expected.lines().collect::<Vec<_>>());
    let text = run(&format!("export --to accelerate {BASE} {plan} --micro-batch 2 --accumulate 4")).stdout;
    assert_contains(
        &text,
        &["# for accelerate 1.15.0\n", "# set outside this file: micro_batch 2: the training script's own\n"],
    );
}

#[test]
fn the_trainer() {
    let expected = "\
output_dir: 'output'
bf16: true
fp16: false
fsdp: true
fsdp_config:
  version: 2
  reshard_after_forward: true
  activation_checkpointing: true
  cpu_offload: false
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
optim: 'adamw_torch_fused'";
    let plan = "--devices 16 --strategy fsdp --micro-batch 4 --accumulate 2 --recompute full";
    assert_eq!(lines("hf-trainer", plan), expected.lines().collect::<Vec<_>>());
}

/// 64 x 1 x 8 = 512 sequences; a layer of Llama 3.1 8B has 4096 x (2 x 4096 + 2 x 1024 + 3 x 14,336 + 2) = 218,112,000
/// parameters, of which three are gathered ahead.
#[test]
fn deepspeed() {
    let plan = "--devices 64 --strategy zeropp --micro-batch 1 --accumulate 8 --prefetch 3 --offload all";
    let text = lines("deepspeed", plan).join("\n");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["for"], "deepspeed 0.19.8");
    assert_eq!(json["notes"], serde_json::json!([]));
    let zero = serde_json::json!({
        "stage": 3,
        "zero_quantized_weights": true,
        "zero_quantized_gradients": true,
        "zero_hpz_partition_size": 8,
        "stage3_prefetch_bucket_size": 3 * 218_112_000_u64,
        "offload_optimizer": { "device": "cpu", "pin_memory": true },
        "offload_param": { "device": "cpu", "pin_memory": true },
    });
    assert_eq!(json["zero_optimization"], zero);
    assert_eq!(json["train_batch_size"], 512);
    assert_eq!(json["activation_checkpointing"]["cpu_checkpointing"], true);
    assert_eq!((&json["bf16"]["enabled"], &json["fp16"]["enabled"]), (&true.into(), &false.into()));
    let drives = lines("deepspeed", "--devices 64 --strategy fsdp --accumulate 8 --offload optimizer-nvme").join("\n");
    assert_contains(
        &drives,
        &["\"device\": \"nvme\"", "\"nvme_path\": \"/local_nvme\"", "where the nodes' drives are"],
    );
    // MiCS was there up to 0.18.
    let mics = lines("deepspeed --target-version 0.18", "--devices 64 --strategy mics").join("\n");
    assert_contains(&mics, &["\"mics_shard_size\": 8"]);
}

/// With all of the state on the host an update copies nothing, beside which nothing can overlap; with the optimizer's alone
/// it copies gradients and weights, and DeepSpeed does so one after the other.
#[test]
fn what_changes_nothing_in_a_plan_is_no_deviation_of_a_tool() {
    let plan = "--devices 64 --strategy zero3 --offload";
    let overlapped = lines("deepspeed", &format!("{plan} state --offload-overlap on"));
    assert_eq!(overlapped, lines("deepspeed", &format!("{plan} state")));
    let counts = run(&format!("export --strict --to deepspeed {BASE} {plan} optimizer --offload-overlap on"));
    assert_contains(&counts.refused().join("\n"), &["offload_overlap on: not supported by deepspeed"]);
}

/// 2 tensor x 2 pipeline ranks leave 16: 4 sequences of each x 8 micro-batches x 16 = 512.
#[test]
fn megatron() {
    let plan = "--devices 64 --tp 2 --pp 2 --schedule interleaved --stages-per-rank 2 --strategy zero1 --micro-batch 4 \
                --accumulate 8 --recompute 0.5 --precision fp8 --offload optimizer --tokens 4096000";
    let expected = "\
export CUDA_DEVICE_MAX_CONNECTIONS=1  # tensor and context parallelism need it
WORLD_SIZE=64  # nodes x devices of each
MEGATRON_ARGS=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --kv-channels 128
    --vocab-size 128256
    --make-vocab-size-divisible-by 1
    --normalization RMSNorm
    --position-embedding-type rope
    --group-query-attention
    --swiglu
    --untie-embeddings-and-output-weights
    --disable-bias-linear
    --num-query-groups 8
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 4
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 2
    --optimizer-cpu-offload
    --optimizer adam
    --use-precision-aware-optimizer
    --global-batch-size 512
    --sequence-parallel
    --bf16
    --fp8-format hybrid
    --num-virtual-stages-per-pipeline-rank 2
    --recompute-granularity full
    --recompute-method block
    --recompute-num-layers 4
    --train-samples 1000
    --use-distributed-optimizer
)";
    assert_eq!(lines("megatron", plan), expected.lines().collect::<Vec<_>>());
    // Four copies of shards over 16 of 64 ranks; FSDP wants its own connections.
    let fsdp = lines("megatron", "--devices 64 --strategy mics --shard 16").join("\n");
    assert_contains(
        &fsdp,
        &[
            "unset CUDA_DEVICE_MAX_CONNECTIONS",
            "--use-distributed-optimizer\n    --num-distributed-optimizer-instances 4\n    --use-megatron-fsdp\n    \
             --data-parallel-sharding-strategy optim_grads_params\n    --no-gradient-accumulation-fusion\n    \
             --ckpt-format fsdp_dtensor",
        ],
    );
}

/// The arguments are those of `NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.sh` of Megatron-LM's examples; read again they make the same
/// model. What stands between stages or behind the layers is refused.
#[test]
fn megatron_has_hybrids() {
    let home = Home::new();
    let plan = "--hardware h100-80gb-dgx --model nemotron-3-nano --devices 64 --strategy zero1 --ep 8 --seq 8192";
    let script = home.run(&format!("export --to megatron {plan}")).stdout;
    assert_contains(
        &script,
        &[
            "--hybrid-layer-pattern ",
            "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
            "--mamba-num-heads 64\n",
            "--mamba-head-dim 64\n",
            "--mamba-state-dim 128\n",
            "--mamba-num-groups 8\n",
            "--moe-shared-expert-intermediate-size 3712\n",
            "--squared-relu\n",
            "pretrain_hybrid.py",
        ],
    );
    assert!(!script.contains("--num-layers") && !script.contains("further arguments"), "{script}");
    home.write("job.sh", &script);
    let import = home.run("import plan job.sh --hardware h100-80gb-dgx --out job.toml");
    assert_eq!(import.code, Some(0), "{}", import.stderr);
    let counts = |command: &str| {
        let run = home.run(command);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        [&json["parameters"]["total"], &json["parameters"]["active"]].map(serde_json::Value::as_u64)
    };
    assert_eq!(counts("eval ./job.toml --format json"), [Some(31_577_937_344), Some(3_580_073_408)]);
    for (pattern, what) in [("MEM|EM*E", "the stages of a pipeline"), ("MEM*/ME", "further tokens"), ("GEM*", "'G'")] {
        home.write("job.sh", &script.replace("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", pattern));
        let refused = home.run("import plan job.sh --hardware h100-80gb-dgx").refused().join("\n");
        assert_contains(&refused, &["hybrid", what]);
    }
}

/// The arguments are those of Megatron-LM's `pretrain_gpt.py` for DeepSeek-V3: ranks of 1536 and 512, heads of 128 channels and
/// 64 of positions, values of 128, 3 dense layers before 58 with a shared expert of 2048. Read again they make the same model,
/// of 671,026,404,352 parameters as the published file has it.
#[test]
fn megatron_has_compressed_attention() {
    let home = Home::new();
    let plan = "--hardware b200-dgx --model deepseek-v3 --stack megatron-core-2026 --devices 512 --strategy zero1 --pp 8 --ep 64";
    let script = home.run(&format!("export --to megatron {plan}")).stdout;
    assert_contains(
        &script,
        &[
            "--multi-latent-attention\n",
            "--qk-layernorm\n",
            "--q-lora-rank 1536\n",
            "--kv-lora-rank 512\n",
            "--qk-head-dim 128\n",
            "--qk-pos-emb-head-dim 64\n",
            "--v-head-dim 128\n",
            "--moe-shared-expert-intermediate-size 2048\n",
            "--moe-layer-freq '[0]*3+[1]*58'\n",
            "--moe-router-num-groups 8\n",
            "--moe-router-group-topk 4\n",
        ],
    );
    assert!(!script.contains("--kv-channels") && !script.contains("further arguments"), "{script}");
    home.write("job.sh", &script);
    let import = home.run("import plan job.sh --hardware b200-dgx --out job.toml");
    assert_eq!(import.code, Some(0), "{}", import.stderr);
    let read = home.run("eval ./job.toml --format json").json(0);
    assert_eq!(read["parameters"]["total"].as_u64(), Some(671_026_404_352));
    for (change, what) in [
        (("'[0]*3+[1]*58'", "'[0]*3+[1]*57'"), "places experts in layers as no model can say"),
        (("'[0]*3+[1]*58'", "2"), "places experts in layers as no model can say"),
        (("--kv-lora-rank 512", ""), "no --kv-lora-rank"),
        (("--qk-layernorm", "--experimental-attention-variant kimi_delta_attention"), "'kimi_delta_attention'"),
    ] {
        home.write("job.sh", &script.replace(change.0, change.1));
        let refused = home.run("import plan job.sh --hardware b200-dgx").refused().join("\n");
        assert_contains(&refused, &[what]);
    }
}

/// The arguments are those of `examples/gptoss/02_train.sh` of Megatron-LM: every second layer looks back over 127 tokens and
/// sees itself, each head has a learned score. Read again they make the same model, of 20,914,757,184 parameters as its
/// published files have it.
#[test]
fn megatron_has_windows_and_learned_scores() {
    let home = Home::new();
    let plan = "--hardware h100-80gb-dgx --model gpt-oss-20b --stack megatron-core-2026 --devices 16 --strategy zero1";
    let script = home.run(&format!("export --to megatron {plan}")).stdout;
    let said = [
        "--window-size 127,0\n",
        "--window-attn-skip-freq 2\n",
        "--softmax-type learnable\n",
        "--quick-geglu --glu-linear",
    ];
    assert_contains(&script, &said);
    assert!(!script.contains("--disable-bias-linear") && !script.contains("further arguments"), "{script}");
    let read = |script: &str| {
        home.write("job.sh", script);
        home.run("import plan job.sh --hardware h100-80gb-dgx --stack megatron-core-2026 --out job.toml --force")
    };
    let shape = |key: &str| {
        let text = std::fs::read_to_string(home.path().join("job.toml")).expect("written");
        text.lines().find(|line| line.starts_with(key)).map(ToOwned::to_owned)
    };
    assert_eq!(read(&script).code, Some(0));
    // Without shards of the weights it does not fit, which the evaluation says.
    let again = home.run("eval ./job.toml --format json").json(3);
    assert_eq!(again["parameters"]["total"].as_u64(), Some(20_914_757_184));
    assert_eq!(shape("full_every").as_deref(), Some("full_every = 2"));
    // A list says the same; one of which the first layers alone have windows is another kind, as are those in which the first
    // layer sees everything.
    for (places, key, said) in [
        ("'[1,0]*12'", "full_every", Some("full_every = 2")),
        ("'[0,1]*12'", "full_leads", Some("full_leads = true")),
        ("'[0,1,1,1,1,0]+[1,1,1,1,1,0]*3'", "full_first", Some("full_first = true")),
        ("'[1]*7+[0]*17'", "layers = 7", Some("layers = 7")),
        ("1", "[window]", None),
    ] {
        let script = script.replace("--window-attn-skip-freq 2", &format!("--window-attn-skip-freq {places}"));
        let run = read(&script);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(shape(key).as_deref(), said, "{places}");
    }
    for (change, what) in [
        (("-freq 2", "-freq '[1,1,0,0,1]*4'"), "is no list of 24 layers"),
        (("-freq 2", "-freq '[1,1,0,0]*6'"), "gives windows to layers as no model can say"),
        (("127,0", "wide"), "'wide' is no pair of counts"),
    ] {
        let refused = read(&script.replace(change.0, change.1)).refused().join("\n");
        assert_contains(&refused, &[what]);
    }
}

/// A rank's batch is 8 micro-batches of 2; 16 data-parallel ranks make 256 sequences; 32 layers over 4 stages are 8 each.
#[test]
fn torchtitan() {
    let plan = "--devices 64 --tp 2 --pp 2 --schedule breadth-first --stages-per-rank 2 --strategy hsdp --shard 8 \
                --micro-batch 2 --accumulate 8 --recompute selective --offload state";
    let expected = "\
[model]
name = \"llama3\"
flavor = \"8B\"
[training]
seq_len = 4096
enable_cpu_offload = true
mixed_precision_param = \"bfloat16\"
local_batch_size = 16
global_batch_size = 256
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
pipeline_parallel_schedule = \"LoopedBFS\"
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 8
fsdp_reshard_after_forward = \"always\"
pipeline_parallel_microbatch_size = 2
pipeline_parallel_layers_per_stage = 8
pipeline_parallel_first_stage_less_layers = 0
pipeline_parallel_last_stage_less_layers = 0
[optimizer]
name = \"AdamW\"
[activation_checkpoint]
mode = \"selective\"
selective_ac_option = \"op\"";
    assert_eq!(lines("torchtitan --target-version 0.2.2", plan), expected.lines().collect::<Vec<_>>());
    let command = lines("torchtitan", plan);
    assert_eq!(command[0], "torchrun --nnodes 8 --nproc-per-node 8 -m torchtitan.train \\");
    assert_eq!(command[1..3], ["    --module llama3 \\", "    --config llama3_8b \\"]);
    assert!(command.contains(&"    --training.disable_cuda_graphs \\".to_owned()), "{command:?}");
    assert_eq!(command.last().map(String::as_str), Some("    activation-checkpoint:selective"));
}

/// 0.2 and 0.3 have Llama 3, and no module of Llama 2.
#[test]
fn torchtitan_has_the_models_of_its_version() {
    for version in ["0.3.0", "0.2.2"] {
        let plan = format!("export --to torchtitan --target-version {version} --hardware h100-80gb-dgx --devices 64");
        let refused = run(&format!("{plan} --model llama-2-7b")).refused().join("\n");
        assert_contains(&refused, &[&format!("torchtitan {version} has no model"), "llama-3.1-8b"]);
        assert_contains(&run(&format!("{plan} --model llama-3.1-70b")).stdout, &["llama3"]);
    }
}

/// 4 devices are half of a node.
#[test]
fn a_job() {
    let job = run(&format!("export --to sbatch {BASE} --devices 4 --partition gpu --account mine")).stdout;
    assert_contains(
        &job,
        &[
            "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n",
            "#SBATCH --partition=gpu\n#SBATCH --account=mine\n",
            "# no --time",
            "srun torchrun --nnodes \"$SLURM_JOB_NUM_NODES\" --nproc-per-node 4",
        ],
    );
    assert!(!job.contains("#SBATCH --time"), "{job}");
    let said = "--cpus-per-task 96 --gpu-type h100 --launcher accelerate";
    let said = run(&format!("export --to sbatch {BASE} --devices 16 {said}")).stdout;
    assert_contains(
        &said,
        &[
            "#SBATCH --gpus-per-node=h100:8\n",
            "#SBATCH --cpus-per-task=96\n",
            "srun --cpus-per-task \"$SLURM_CPUS_PER_TASK\" accelerate launch --config_file accelerate.yaml \\\n",
            "--rdzv_backend c10d --main_process_ip \"$head\" --main_process_port 29500 \"$@\"\n",
        ],
    );
    let timed = run(&format!("export --to sbatch {BASE} --nodes 2 --tokens 1e9")).stdout;
    assert_contains(&timed, &["#SBATCH --nodes=2\n", "#SBATCH --time=0-"]);
    for wrong in ["--partition gpu;rm", "--account $(id)", "--gpu-type a:8"] {
        assert_contains(&run(&format!("export --to sbatch {BASE} {wrong}")).refused().join("\n"), &["is no name"]);
    }
}

/// The partition's bounds: a day, and two nodes. 1e11 tokens take some days on them, so that one job follows another.
#[test]
fn a_job_on_a_queue() {
    let home = Home::new();
    let sinfo = "PARTITION NODES GRES TIMELIMIT JOB_SIZE NODELIST\ngpu* 8 gpu:h100:8 1-00:00:00 1-2 n[1-8]\n";
    home.write("sinfo.txt", sinfo);
    let flags = "--device h100-80gb-dgx --rate 400GB/s --out ours.toml";
    assert_eq!(home.run(&format!("import cluster sinfo.txt {flags}")).code, Some(0));
    let job = |flags: &str| {
        let run = home.run(&format!("export --to sbatch --hardware ./ours.toml --model llama-3.1-8b {flags}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    let untimed = job("--nodes 2");
    assert_contains(&untimed, &["#SBATCH --partition=gpu\n", "# no --time"]);
    assert!(!untimed.contains("#SBATCH --time") && !untimed.contains("not as planned"), "{untimed}");
    let short = job("--nodes 2 --tokens 1e8");
    assert!(!short.contains("singleton"), "{short}");
    let long = job("--nodes 2 --tokens 1e11");
    assert_contains(&long, &["#SBATCH --time=1-00:00:00\n", "#SBATCH --dependency=singleton\n", "#SBATCH --job-name="]);
    // As many jobs as days, the margin of a fifth included.
    let json =
        home.run("eval --hardware ./ours.toml --model llama-3.1-8b --nodes 2 --tokens 1e11 --format json").json(0);
    let days = json["tokens_per_s"].as_f64().map(|rate| 1e11 / rate / 86_400.0).expect("a rate");
    let jobs = format!("# for job in $(seq {}); do sbatch job.sh train.py ARGUMENTS; done\n", (days * 1.2).ceil());
    assert_contains(&long, &[&jobs, "each from the last checkpoint of the one before"]);
    assert_contains(&job("--nodes 4"), &["not as planned: 4 nodes: a job in partition gpu has 2 at most"]);
    // Another partition has bounds of its own.
    let other = job("--nodes 4 --partition big --tokens 1e11");
    assert!(!other.contains("singleton") && !other.contains("at most"), "{other}");
    // The sample scenario's tokens are nobody's training.
    assert!(!run("export --to sbatch").stdout.contains("#SBATCH --time"));
}

/// ZeRO-1 over a node is no strategy of DeepSpeed, whose stages shard over all ranks: over all 64 is three doublings away, and
/// so is none at all.
#[test]
fn a_plan_that_the_tool_lacks_is_refused_and_the_nearest_is_written_on_request() {
    let plan = format!("--to deepspeed {BASE} --devices 64 --strategy zero1-hier");
    let refused = run(&format!("export {plan}")).refused().join("\n");
    assert_contains(&refused, &["shards of weights/gradients/optimizer over 1/1/8 ranks", "--nearest writes it"]);
    let written = run(&format!("export {plan} --nearest"));
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_contains(&written.stderr, &["the nearest plan that deepspeed has", "optimizer_over node -> "]);
    assert_eq!(run(&format!("export {plan} --nearest")).stdout, written.stdout, "the same each time");
}

#[test]
fn what_a_tool_does_otherwise_is_said_and_refused_where_that_is_asked_for() {
    let plan = format!("--to accelerate {BASE} --devices 64 --moments bf16");
    let text = run(&format!("export {plan}")).stdout;
    let notes = ["moments bf16: not supported by accelerate"];
    assert_contains(&text, &notes.map(|note| format!("# not as planned: {note}\n")).each_ref().map(String::as_str));
    assert_contains(&run(&format!("export --strict {plan}")).refused().join("\n"), &notes);
    // Neither computes a part of each layer again, or of the layers: nearest is none, where that fits.
    for to in ["accelerate", "hf-trainer"] {
        for recompute in ["selective", "0.75"] {
            let export = format!("export --to {to} {BASE} --devices 64 --recompute {recompute}");
            let refused = run(&export).refused().join("\n");
            let nearest = format!("recompute {recompute} -> none, ");
            assert_contains(&refused, &[&format!("has no recompute {recompute}"), &nearest]);
            let written = run(&format!("{export} --nearest"));
            assert_eq!(written.code, Some(0), "{}", written.stderr);
            assert_contains(&written.stderr, &[&nearest]);
        }
    }
    let home = Home::new();
    let export = home.run(&format!("export {plan} --out here"));
    assert_eq!((export.code, export.stdout.as_str()), (Some(0), "here/accelerate.yaml\n"));
    assert_contains(&export.stderr, &notes);
}

#[test]
fn versions_and_models_that_are_not_known_are_refused_with_those_that_are() {
    let refused = |arguments: &str| run(&format!("export {arguments}")).refused().join("\n");
    assert_contains(&refused("--to torchtitan --target-version main"), &["'main'", "0.3.0, 0.2.2"]);
    assert_contains(&refused("--to fsdp2 --target-version 1"), &["'1'", "2.15.0"]);
    assert_contains(&refused("--to torchtitan --model mpt-7b"), &["mpt-7b", "llama-3.1-8b"]);
}

#[test]
fn modules_are_called_as_their_library_calls_them() {
    let paths = |names: &str| {
        let text = run(&format!("export --to fsdp2 {BASE} --nodes 1 --module-names {names}")).stdout;
        let spec: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let modules = spec["modules"].as_array().expect("a list").clone();
        modules.iter().map(|module| module["path"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths("torchtitan"), ["layers.{layer}", "tok_embeddings", "output"]);
    assert_eq!(paths("huggingface"), ["model.layers.{layer}", "model.embed_tokens", "lm_head"]);
}

/// torchtitan reduces gradients at each micro-batch, as FSDP2 does unless it is told otherwise: once a step is refused, and the
/// nearest plan says what it costs.
#[test]
fn the_nearest_plan_changes_every_field_that_is_lacked_and_says_what_it_costs() {
    let command = format!("export --to torchtitan {BASE} --nodes 4 --accumulate 4 --reduction step");
    assert_contains(&run(&command).refused().join("\n"), &["reduction by step", "--nearest writes it"]);
    let nearest = run(&format!("{command} --nearest"));
    assert_eq!(nearest.code, Some(0), "{}", nearest.stderr);
    assert_contains(&nearest.stderr, &["reduction step -> ", " a step, peak ", " -> ", "which fits"]);
    assert!(!nearest.stdout.contains("not as planned"), "{}", nearest.stdout);
    // What a tool does otherwise than planned changes too where that is asked for.
    let moments = format!("export --to accelerate {BASE} --nodes 4 --moments bf16");
    assert_contains(&run(&moments).stdout, &["not as planned: moments bf16"]);
    assert_contains(&run(&format!("{moments} --nearest")).stderr, &["moments bf16 -> fp32, "]);
}
