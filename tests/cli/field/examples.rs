//! Words of public example folders that were once refused though a plan can say them, or read as something else. Each says whose
//! code gives the meaning.

use super::super::run::{Home, assert_contains};
use super::{imported, refused};

const ON_H100: &str = "--model llama-3.1-8b --hardware h100-80gb-dgx --devices 8";

fn axolotl(more: &str) -> String {
    format!(
        "base_model: m\ndatasets:\n  - path: d\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_checkpointing: true\n{more}"
    )
}

/// axolotl's patterns of a model's matrices, of which PEFT takes those whose whole name fits (`check_target_module_exists`), and
/// names with the part of a layer.
#[test]
fn patterns_of_modules_are_their_matrices() {
    let adapter =
        |targets: &str| axolotl(&format!("bf16: true\nadapter: lora\nlora_r: 16\nlora_target_modules: {targets}\n"));
    for (targets, said) in [
        (r"'model.language_model.layers.[\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj'", "\"all\""),
        (r"'model.layers.[\d]+.self_attn.(q|v)_proj'", "\"q,v\""),
        ("[self_attn.q_proj, self_attn.k_proj, self_attn.v_proj, self_attn.o_proj]", "\"attention\""),
    ] {
        let run = imported(&[("a.yml", &adapter(targets))], &format!("{ON_H100} --strict"));
        assert_contains(&run.stdout, &[&format!("lora_targets = {said}")]);
    }
    let some = refused(&[("a.yml", &adapter(r"'.*\.layers\.(3|7)\.self_attn\.q_proj'"))], ON_H100);
    assert_contains(&some, &["lora_target_modules"]);
}

/// axolotl's own words: weights without mixed precision, muon, scores, logs of `SwanLab`, gpt-oss's weights in 16 bits, all of the
/// model that reads text, and two things on the host.
#[test]
fn words_of_axolotl() {
    let read = |more: &str| imported(&[("a.yml", &axolotl(more))], &format!("{ON_H100} --strict")).stdout;
    assert_contains(&read("bfloat16: true\noptimizer: muon\n"), &["precision = \"bf16\"", "optimizer = \"muon\""]);
    assert_contains(&read("float16: true\n"), &["precision = \"fp16\""]);
    assert_contains(&read("bf16: false\nfp16: false\nfloat16: true\n"), &["precision = \"fp16\""]);
    let scored =
        read("bf16: true\nreward_model: true\nnum_labels: 1\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n");
    assert_contains(&scored, &["method = \"reward\"", "train = \"lora\""]);
    let quiet = "bf16: true\nplugins:\n  - axolotl.integrations.swanlab.SwanLabPlugin\nuse_swanlab: true\n\
                 model_quantization_config: Mxfp4Config\nmodel_quantization_config_kwargs:\n  dequantize: true\n";
    assert_contains(&read(quiet), &["train = \"full\""]);
    let text = read("bf16: true\nunfrozen_parameters:\n  - model.language_model.*\n  - lm_head.*\n");
    assert_contains(&text, &["train = \"full\"", "frozen_layers = 0", "frozen_ends = \"none\""]);
    let both =
        "bf16: true\nactivation_offloading: legacy\nfsdp:\n  - full_shard\nfsdp_config:\n  fsdp_offload_params: true\n";
    assert_contains(&read(both), &["offload = \"all\""]);
    let packed = refused(&[("a.yml", &axolotl("bf16: true\nmodel_quantization_config: Mxfp4Config\n"))], ON_H100);
    assert_contains(&packed, &["model_quantization_config"]);
}

/// Kernels of Liger under each program's switch: the loss in chunks, and the rest with the plan as what may change its figures.
#[test]
fn kernels_of_liger_stay_with_the_plan() {
    let script = "torchrun --nproc_per_node 8 train.py --model_name_or_path m --per_device_train_batch_size 1 --bf16 \
                  --gradient_checkpointing --max_length 2048";
    let on_h100 = "--model llama-3.1-8b --hardware h100-80gb-dgx";
    for switch in ["--use_liger_kernel", "--use_liger_kernel True", "--enable_liger_kernel true"] {
        let run = imported(&[("run.sh", &format!("{script} {switch}"))], on_h100).stdout;
        assert_contains(&run, &["loss = \"chunked\"", "[[unknown]]", "liger_kernel\""]);
    }
    let off = imported(&[("run.sh", &format!("{script} --use_liger_kernel False"))], &format!("{on_h100} --strict"));
    assert!(!off.stdout.contains("chunked"), "{}", off.stdout);
}

/// LLaMA-Factory: its switch for Muon goes before `optim`, attention that is disabled keeps its scores, a file that only predicts
/// trains nothing, and one of its losses has a reference (`hparams/finetuning_args.py`, `model/model_utils/attention.py`).
#[test]
fn words_of_llama_factory() {
    let yaml = |more: &str| {
        format!(
            "stage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n{more}"
        )
    };
    let read = |more: &str| imported(&[("a.yaml", &yaml(more))], &format!("{ON_H100} --strict")).stdout;
    assert_contains(&read("use_muon: true\noptim: adamw_torch\n"), &["optimizer = \"muon\""]);
    assert_contains(&read("flash_attn: disabled\n"), &["attention_kernel = \"plain\""]);
    let asft = refused(&[("a.yaml", &yaml("use_asft_loss: true\n"))], ON_H100);
    assert_contains(&asft, &["use_asft_loss", "no other model beside"]);
    let predicts = yaml("do_predict: true\n").replace("do_train: true\n", "");
    assert_contains(&refused(&[("a.yaml", &predicts)], ON_H100), &["do_predict", "trains"]);
    let both = read("do_predict: true\n");
    assert_contains(&both, &["train = \"full\""]);
    let bridge = read(
        "tensor_model_parallel_size: 2\nmax_grad_norm: 1.0\nmixed_precision: bf16_mixed\nuse_distributed_optimizer: true\n",
    );
    assert_contains(&bridge, &["tensor = 2", "strategy = \"zero1\"", "stack = \"megatron-core-2026\""]);
}

/// A file behind `--config` of a program on Megatron-LM, or behind `--yaml-cfg` of its own, says the plan: it goes beside the script.
#[test]
fn a_program_on_megatron_names_its_file() {
    let script = "NPROC_PER_NODE=8 megatron sft --config my.yaml";
    let on_h100 = "--model llama-3.1-8b --hardware h100-80gb-dgx";
    assert_contains(&refused(&[("run.sh", script)], on_h100), &["'my.yaml' is a file that says more of the plan"]);
    let yaml = "model: Qwen/Qwen3-8B\ntuner_type: full\ntensor_model_parallel_size: 4\nmax_length: 4096\nmicro_batch_size: 2\n";
    let run = imported(&[("run.sh", script), ("my.yaml", yaml)], on_h100).stdout;
    assert_contains(&run, &["tensor = 4", "micro_batch = 2", "sequence = 4096", "devices = 8", "strategy = \"zero1\""]);
    let own =
        "torchrun --nproc_per_node 8 pretrain_gpt.py --yaml-cfg model.yaml --micro-batch-size 1 --seq-length 2048";
    assert_contains(&refused(&[("run.sh", own)], on_h100), &["model.yaml"]);
}

/// Scripts that only set the arguments of Megatron-LM's reinforcement learning (`examples/rl/model_configs`) train no plan.
#[test]
fn arguments_of_reinforcement_learning_are_enough() {
    let script = "ARGS=\"--micro-batch-size 1 --global-batch-size 256 --seq-length 8192 --bf16 --grpo-group-size 16 \\\n \
                  --grpo-kl-beta 0.0 --langrl-env-config x.yaml\"\n";
    let said = refused(&[("qwen3_8b.sh", script)], ON_H100);
    assert_contains(&said, &["--grpo-group-size: '16'", "trains on given answers"]);
}

/// Megatron-LM's older switch recomputes experts (`moe_layer_recompute` of `transformer_config.py`).
#[test]
fn an_older_switch_recomputes_experts() {
    let script = "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --seq-length 2048 --bf16 --optimizer dist_muon \
                  --use-distributed-optimizer --moe-layer-recompute";
    let run = imported(&[("run.sh", script)], "--model qwen3-30b-a3b --hardware h100-80gb-dgx").stdout;
    assert_contains(&run, &["recompute = \"selective\"", "recompute_modules = \"moe\"", "optimizer = \"muon\""]);
}

/// Modules whose inputs go to the host (`offload_modules` of `transformer_config.py`); alone they do nothing, and with all of a layer
/// computed again its input is what is taken.
#[test]
fn megatron_takes_inputs_of_modules_to_the_host() {
    let read = |more: &str| {
        let script = format!(
            "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --seq-length 2048 --bf16 \
             --use-distributed-optimizer {more}"
        );
        imported(&[("run.sh", &script)], "--model qwen3-30b-a3b --hardware h100-80gb-dgx").stdout
    };
    let on = "--fine-grained-activation-offloading --offload-modules";
    assert_contains(
        &read(&format!("{on} core_attn attn_proj expert_fc1")),
        &["offload_modules = \"core_attn+attn_proj+expert_fc1\""],
    );
    assert_contains(&read(&format!("{on} fused_group_mlp")), &["offload_modules = \"expert_fc1+moe_act+expert_fc2\""]);
    let of_layers = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
    assert_contains(&read(&format!("{of_layers} {on} layer_input")), &["offload = \"checkpoints\""]);
    assert!(!read("--offload-modules core_attn").contains("offload"));
    let home = Home::new();
    let plan = "--model llama-3.1-8b --hardware h100-80gb-dgx --nodes 1 --stack megatron-core-2026 --strategy zero1 --to megatron";
    let written = home.run(&format!("export {plan} --offload-modules core_attn+attn_proj+mlp"));
    assert_contains(
        &written.stdout,
        &["--fine-grained-activation-offloading", "--offload-modules core_attn attn_proj"],
    );
    assert_contains(&written.stdout, &["it has no word for inputs of mlp, which stay on the device"]);
}

/// torchtune: pairs of answers, with a copy of the model where all of it is trained; a teacher; every second layer again.
#[test]
fn recipes_of_torchtune_after_pre_training() {
    let recipe = |more: &str| {
        format!(
            "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  _component_: \
             torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 1024\nbatch_size: 2\ndtype: bf16\n{more}"
        )
    };
    let on_h100 = "--hardware h100-80gb-dgx --devices 8";
    let pairs = recipe(
        "loss:\n  _component_: torchtune.rlhf.loss.DPOLoss\n  beta: 0.05\nref_checkpointer:\n  checkpoint_dir: /x\n",
    );
    let run = imported(&[("a.yaml", &pairs)], &format!("{on_h100} --strict")).stdout;
    assert_contains(&run, &["method = \"dpo\"", "reference = \"resident\"", "loss = \"whole\""]);
    let taught = recipe(
        "teacher_model:\n  _component_: torchtune.models.llama3_1.llama3_1_70b\nteacher_checkpointer:\n  checkpoint_dir: /x\n\
         kd_loss:\n  _component_: torchtune.modules.loss.ForwardKLWithChunkedOutputLoss\nkd_ratio: 0.5\n",
    );
    let run = imported(&[("a.yaml", &taught)], &format!("{on_h100} --strict")).stdout;
    assert_contains(&run, &["method = \"distill\"", "teacher = \"llama-3.1-70b\""]);
    let some = recipe("enable_activation_checkpointing: false\nac_mode: selective\nac_option: 2\n");
    assert_contains(&imported(&[("a.yaml", &some)], on_h100).stdout, &["recompute = \"0.5\""]);
}

/// A container or a list of packages says which release of a tool runs: 0.13 of Megatron Core came in 2025.
#[test]
fn a_release_chooses_the_stack() {
    let script = "#SBATCH --container-image=nvcr.io/nvidia/nemo:TAG\ntorchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 \
                  --seq-length 2048 --bf16";
    let on_h100 = "--model llama-3.1-8b --hardware h100-80gb-dgx";
    let read = |tag: &str| imported(&[("run.sh", &script.replace("TAG", tag))], on_h100);
    let new = read("25.09");
    assert_contains(&new.stdout, &["stack = \"megatron-core-2026\""]);
    assert_contains(&new.stderr, &["run.sh: nvidia/nemo 25.9"]);
    assert_contains(&read("24.05").stdout, &["stack = \"megatron-2024\""]);
    let files =
        [("run.sh", &*script.replace("TAG", "24.05")), ("requirements.txt", "torch==2.8.0\nmegatron-core==0.14.0\n")];
    let older = [files[0], ("requirements.txt", "megatron_core==0.11.0\n")];
    let plain = script.replace("#SBATCH --container-image=nvcr.io/nvidia/nemo:TAG\n", "");
    assert_contains(&imported(&[("run.sh", &plain), files[1]], on_h100).stdout, &["stack = \"megatron-core-2026\""]);
    assert_contains(&imported(&older, on_h100).stdout, &["stack = \"megatron-2024\""]);
    let zero =
        "{\"zero_optimization\": {\"stage\": 3}, \"bf16\": {\"enabled\": true}, \"train_micro_batch_size_per_gpu\": 1}";
    let lock = "[[package]]\nname = \"deepspeed\"\nversion = \"0.8.3\"\n";
    // Models of transformers but those with learned positions attend otherwise than DeepSpeed's own stacks.
    let job = "--model opt-30b --hardware h100-80gb-dgx --devices 8";
    let run = imported(&[("ds.json", zero), ("uv.lock", lock)], job).stdout;
    assert_contains(&run, &["stack = \"deepspeed-zero3-2022\""]);
}

/// Configurations of tools that are not read are refused by their names.
#[test]
fn other_tools_are_named() {
    let primus = "export EXP=examples/megatron/configs/MI355X/llama3.1_8B-pretrain.yaml\nbash ./examples/run_slurm_pretrain.sh \
                  --micro_batch_size 2 --global_batch_size 64 --seq_length 8192";
    assert_contains(&refused(&[("run.sh", primus)], ON_H100), &["EXP: 'examples/megatron", "says more of the plan"]);
    let bridge = "torchrun --nproc_per_node 8 run_script.py --recipe llama3_8b_pretrain_config --micro_batch_size 2 --seq_length 8192";
    assert_contains(&refused(&[("run.sh", bridge)], ON_H100), &["--recipe", "log of the run"]);
    // A card of Megatron Bridge's that lists the commands of several runs is no script.
    let run = |size: u32| {
        format!("  - torchrun --nproc_per_node 8 run.py --micro_batch_size {size} --seq_length 4096 --bf16\n")
    };
    let card = format!("card: x\nruns:\n{}{}", run(1), run(2));
    assert_contains(&refused(&[("card.yaml", &card)], ON_H100), &["is no configuration of"]);
    for (text, tool) in [
        ("base_config: base.yml\nper_device_batch_size: 4\nici_fsdp_parallelism: 8\n", "MaxText"),
        ("work_group: amd\nexp_name: x\nmodules:\n  pre_trainer:\n    framework: maxtext\n", "Primus"),
    ] {
        assert_contains(&refused(&[("a.yaml", text)], ON_H100), &[tool, "is not read"]);
    }
}

/// swiss-ai's 300M on GH200 (pull request 23 of swiss-ai/Megatron-LM): 131,072 x 2,048 of 570 million weights are its logits',
/// 47 %, where no measured dense model has more than 31 %. It took 0.9 s, and 0.33 s without a word was wrong.
#[test]
fn models_that_are_mostly_logits_have_no_interval() {
    let config = "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 2048, \"intermediate_size\": \
                  5632, \"num_hidden_layers\": 6, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"vocab_size\": 131072, \
                  \"max_position_embeddings\": 4096, \"tie_word_embeddings\": true, \"hidden_act\": \"silu\"}";
    let home = super::with(&[("config.json", config)]);
    let run = home.run(
        "eval --hardware gh200-96gb-alps --nodes 8 --stack megatron-core-2026 --model ./config.json --strategy zero1 --seq 4096 \
         --micro-batch 2 --global-batch 256 --recompute none",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &["no measured run like this"]);
    assert_contains(&format!("{}{}", run.stdout, run.stderr), &["32.0 % of its products on logits"]);
}

/// `Qwen2Attention` has biases of queries, keys and values, and a file of its class may say so (`XiaomiMiMo/MiMo-7B-Base`).
#[test]
fn biases_that_a_class_has_may_be_said() {
    let config = "{\"architectures\": [\"MiMoForCausalLM\"], \"model_type\": \"mimo\", \"attention_bias\": true, \"hidden_size\": 4096, \
                  \"intermediate_size\": 11008, \"num_hidden_layers\": 36, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \
                  \"vocab_size\": 151680, \"max_position_embeddings\": 32768, \"tie_word_embeddings\": false, \"hidden_act\": \"silu\"}";
    let run = super::with(&[("config.json", config)]).run("import model config.json");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_contains(&run.stdout, &["qkv = true"]);
}

/// What public examples showed to be read as something else, or refused though a plan can say it.
#[test]
fn what_public_examples_taught() {
    // swift/megatron/arguments/megatron_args.py: experts have one tensor rank of their own, where Megatron-LM gives them all.
    let script = "NPROC_PER_NODE=8 megatron sft --model m --dataset d --tensor_model_parallel_size 2 --max_length 4096 \
                  --expert_model_parallel_size 8 --recompute_granularity full --recompute_method uniform \
                  --recompute_num_layers 1 --tuner_type full";
    let on_h100 = "--hardware h100-80gb-dgx --strict";
    let run = imported(&[("run.sh", script)], &format!("--model qwen3-30b-a3b {on_h100}"));
    assert_contains(&run.stdout, &["experts = 8", "expert_tensor = 1", "tensor = 2", "devices = 8"]);
    let dense = script.replace("--expert_model_parallel_size 8 ", "");
    let run = imported(&[("run.sh", &dense)], &format!("--model llama-3.1-8b {on_h100}"));
    assert!(!run.stdout.contains("expert_tensor"), "{}", run.stdout);
    // An engine that answers and a benchmark's offline mode train nothing.
    let serves = "torchrun --nproc_per_node 8 -m examples.inference.launch_inference_server --micro-batch-size 1 --seq-length 512";
    assert_contains(&refused(&[("run.sh", serves)], ON_H100), &["'inference' is what the program does by its name"]);
    // PiSSA begins adapters otherwise, in the sizes of LoRA (`init_lora_weights` of PEFT).
    let pissa = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\npissa_init: true\n\
                 pissa_iter: 16\npissa_convert: true\nper_device_train_batch_size: 1\nbf16: true\n";
    let run = imported(&[("a.yaml", pissa)], &format!("{ON_H100} --strict"));
    assert_contains(&run.stdout, &["train = \"lora\"", "lora_rank = 8"]);
    // A function of Python says what a configuration of torchtitan has; those that are known say it themselves.
    let titan = "NGPU=8 MODULE=llama3 CONFIG=llama3_debugmodel ./run_train.sh --training.seq_len 4096";
    let run = imported(&[("run.sh", titan)], ON_H100);
    assert_contains(&run.stdout, &["[[unknown]]", "value = \"llama3_debugmodel\""]);
    // What reads pictures is named as what is left out.
    let sees = axolotl("bf16: true\nprocessor_type: AutoProcessor\n");
    let run = imported(&[("a.yml", &sees)], &format!("{ON_H100} --strict"));
    assert_contains(&run.stderr, &["processor_type: the part that reads pictures"]);
    let bridge = "train:\n  train_iters: 20\n  micro_batch_size: 1\nmodel:\n  seq_length: 4096\n";
    assert_contains(&refused(&[("a.yaml", bridge)], ON_H100), &["a configuration of Megatron-Bridge"]);
}

/// ms-swift's GRPO: its prompts' limit and the longest answer, where the engine's limit is no shorter, and words of the loss.
#[test]
fn answers_of_ms_swift_by_its_examples() {
    let script = "NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model m --dataset d --use_vllm true --vllm_mode colocate \
                  --max_length 256 --max_completion_length 128 --num_generations 8 --per_device_train_batch_size 1 \
                  --gradient_accumulation_steps 8 --torch_dtype bfloat16 --tuner_type full --deepspeed zero2 \
                  --kl_in_reward true --overlong_filter true --dynamic_sample false --tau_pos 1 --check_model false";
    let read = |limit: &str| {
        let script = format!("{script} --vllm_max_model_len {limit}");
        imported(&[("run.sh", &script)], "--model llama-3.1-8b --hardware h100-80gb-dgx --strict").stdout
    };
    assert_contains(&read("1024"), &["sequence = 384"]);
    assert_contains(&read("320"), &["sequence = 320"]);
}
