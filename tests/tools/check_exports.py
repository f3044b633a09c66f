"""Gives exported plans to the parsers of the tools that they are for.

    python3 tests/tools/check_exports.py target/debug/shardscope accelerate deepspeed hf-trainer

It needs no GPU. A package that is missing is a failure, not a skip: name the targets whose packages are there.
    accelerate      accelerate 1.15.0
    deepspeed       deepspeed 0.19.8
    hf-trainer      transformers 5.24.0, and trl 1.16.0 for adapters, which its parser of `trl sft` reads
    llama-factory   llamafactory 0.9.5 and what its arguments import: transformers 5.6, trl 0.24, accelerate 1.11
    ms-swift        ms-swift 4.6.0 with the same, and bitsandbytes
    torchtitan      torchtitan 0.2.2, of which the TOML is read (0.3.0 in an environment of its own: torchtitan-command)
    torchtune       torchtune 0.7.0 with torchao 0.18: a configuration of its recipes with ours over it, as `tune validate` checks it.
                    The registry has 0.6.1 at most, whose recipes lack the mesh: let PYTHONPATH name a clone of v0.7.0
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BASE = "--hardware h100-80gb-dgx --model llama-3.1-8b --seq 4096"
# Each with the devices of its job, and a part of what the tool must make of it.
PLANS = {
    "accelerate": [
        ("--devices 64 --strategy fsdp --recompute full", {"FSDP_RESHARD_AFTER_FORWARD": "true", "FSDP_VERSION": "2"}),
        ("--devices 64 --strategy hsdp --shard 16 --tp 2 --offload state", {"PARALLELISM_CONFIG_DP_SHARD_SIZE": "16"}),
        ("--devices 32 --strategy fsdp --cp 2 --reshard off", {"FSDP_RESHARD_AFTER_FORWARD": "false"}),
        ("--devices 16 --strategy ddp --precision fp16", {"ACCELERATE_MIXED_PRECISION": "fp16"}),
        ("--devices 64 --strategy hsdp --shard 8 --accumulate 4", {"FSDP_VERSION": "2"}),
    ],
    "deepspeed": [
        ("--devices 64 --strategy zero3 --micro-batch 2 --accumulate 4 --offload all", {"stage": 3, "batch": 512}),
        ("--devices 64 --strategy zeropp --micro-batch 1 --accumulate 8", {"stage": 3, "batch": 512}),
        ("--devices 64 --strategy zero3 --accumulate 8 --offload state-nvme", {"stage": 3, "batch": 512}),
        ("--devices 64 --strategy zero2 --accumulate 1 --precision fp16 --offload optimizer", {"stage": 2, "batch": 64}),
        ("--devices 64 --strategy ddp --accumulate 1 --precision fp32", {"stage": 0, "batch": 64}),
        ("--devices 64 --strategy zero3 --accumulate 2", {"stage": 3, "batch": 128}),
    ],
    "hf-trainer": [
        ("--devices 64 --strategy fsdp --micro-batch 4 --accumulate 2 --recompute full", {"micro": 4, "fsdp": True}),
        ("--devices 64 --strategy fsdp --precision fp16", {"micro": 1, "fsdp": True}),
        ("--devices 8 --strategy fsdp --offload state", {"micro": 1, "fsdp": True, "cpu_offload": True}),
        ("--devices 64 --strategy ddp --optimizer adam8bit --recompute full", {"micro": 1, "fsdp": False}),
        ("--devices 1 --strategy ddp --train qlora --micro-batch 4", {"micro": 4, "fsdp": False, "rank": 16, "bits": 4}),
        ("--devices 8 --strategy fsdp --train lora --lora-rank 64", {"micro": 1, "fsdp": True, "rank": 64, "bits": None}),
    ],
    "torchtitan": [
        ("--devices 64 --strategy hsdp --shard 8 --tp 2 --pp 2 --schedule breadth-first --stages-per-rank 2 "
         "--accumulate 8 --micro-batch 2 --recompute selective --offload state --precision fp8", {"local": 16}),
        ("--devices 64 --strategy fsdp --cp 2 --recompute full --reshard off", {"local": 1}),
        ("--devices 8 --strategy ddp --recompute none --precision fp32", {"local": 1}),
        ("--devices 32 --strategy fsdp --pp 4 --schedule gpipe --accumulate 8", {"local": 8}),
    ],
}
PLANS["torchtune"] = [
    (f"--stack torchtune-2025 --moments bf16 --master-weights none {plan}", expected)
    for plan, expected in [
        ("--devices 8 --strategy fsdp --micro-batch 2 --recompute full --offload checkpoints", {"recipe": "full"}),
        ("--devices 16 --strategy hsdp --shard 8 --tp 2 --reshard off", {"recipe": "full"}),
        ("--devices 8 --strategy fsdp --offload state --optimizer adam8bit", {"recipe": "full"}),
        ("--devices 8 --strategy fsdp --train lora --lora-targets q,v,o --compile on", {"recipe": "lora"}),
        ("--devices 8 --strategy fsdp --train qlora --lora-rank 64", {"recipe": "lora"}),
    ]
]
PLANS["torchtitan-command"] = PLANS["torchtitan"]
# What both of these are given, and what their files say of it.
TUNED = [
    ("--devices 8 --strategy fsdp --recompute full --micro-batch 2 --accumulate 4", {"micro": 2, "again": True}),
    ("--devices 8 --strategy fsdp --recompute none --precision fp16 --optimizer adam8bit", {"again": False}),
    ("--devices 8 --strategy fsdp --offload state --reshard off", {"offload": True, "reshard": False}),
    ("--devices 16 --strategy hsdp --shard 8 --recompute full", {"again": True}),
    ("--devices 8 --strategy ddp --train lora --lora-rank 64 --lora-targets q,v", {"rank": 64, "targets": ["q_proj", "v_proj"]}),
    ("--devices 1 --strategy ddp --train qlora --micro-batch 4 --recompute full", {"bits": 4, "micro": 4}),
    ("--devices 8 --strategy ddp --train lora --frozen-format int8", {"bits": 8}),
    ("--devices 8 --strategy fsdp --method dpo --padding longest", {"method": "dpo"}),
    ("--devices 8 --strategy fsdp --method orpo --padding longest", {"method": "orpo"}),
    ("--devices 8 --strategy fsdp --method kto --padding longest --train lora", {"method": "kto"}),
    ("--devices 8 --strategy fsdp --method reward --padding longest --recompute full", {"method": "rm", "again": True}),
]
PLANS["llama-factory"] = TUNED
PLANS["ms-swift"] = TUNED + [
    ("--devices 8 --strategy fsdp --method dpo --reference precomputed --padding packed", {"ahead": True, "packing": True}),
    ("--devices 8 --strategy fsdp --method dpo --padding longest --logits completions --response-max 1024", {"answers": True}),
    ("--devices 8 --strategy fsdp --method kto --padding longest", {"answers": False}),
]


def export(program, target, plan, folder):
    """The path of the file that an export writes."""
    name, _, command = target.partition("-command")
    version = {"torchtitan": "0.2.2", "torchtitan-command": "0.3.0"}.get(target)
    words = [program, "export", "--to", target.removesuffix("-command"), "--out", folder, *BASE.split(), *plan.split()]
    words += ["--target-version", version] if version else []
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{plan}: {run.stderr}")
    return run.stdout.splitlines()[0]


def accelerate(path, expected, _devices):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import ParallelismConfig
    from accelerate.utils.launch import prepare_multi_gpu_env

    load_config_from_file(path)
    args = launch_command_parser().parse_args(["--config_file", path, "--main_process_ip", "a", "train.py"])
    args, _, _ = _validate_launch_command(args)
    environment = prepare_multi_gpu_env(args)
    for key, value in expected.items():
        assert environment.get(key) == value, f"{key} is {environment.get(key)}, not {value}"
    os.environ.update({key: value for key, value in environment.items() if isinstance(value, str)})
    if environment.get("FSDP_VERSION") == "2":
        from accelerate.utils import FullyShardedDataParallelPlugin

        FullyShardedDataParallelPlugin()
    if any(key.startswith("PARALLELISM_CONFIG") for key in environment):
        ParallelismConfig()


def deepspeed(path, expected, devices):
    os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    deepspeed.comm.get_rank = lambda *_: 0
    deepspeed.comm.get_world_size = lambda *_: devices
    deepspeed.comm.is_initialized = lambda *_: True
    config = DeepSpeedConfig(json.loads(Path(path).read_text()))
    found = {"stage": int(config.zero_config.stage), "batch": config.train_batch_size}
    assert found == expected, f"{found}, not {expected}"


def hf_trainer(path, expected, _devices):
    import yaml
    from transformers import TrainingArguments

    arguments = yaml.safe_load(Path(path).read_text())
    # Without a device neither format can be had, and what is asked for is not what a device would do.
    arguments = {key: value for key, value in arguments.items() if key not in ("bf16", "fp16")}
    if "use_peft" in arguments:
        read, adapters = sft(arguments)
        found = {"rank": adapters.lora_r, "bits": 4 if adapters.load_in_4bit else None}
        assert adapters.use_peft and read.max_length == 4096, (adapters, read.max_length)
    else:
        read, found = TrainingArguments(use_cpu=True, **arguments), {}
    found |= {"micro": read.per_device_train_batch_size, "fsdp": bool(read.fsdp)}
    if read.fsdp and read.fsdp_plugin_args.get("cpu_offload"):
        found["cpu_offload"] = True
    assert found == expected, f"{found}, not {expected}"
    if read.fsdp:
        assert read.fsdp_plugin_args["fsdp_version"] == 2, read.fsdp_plugin_args


def sft(arguments):
    """What `trl sft --config FILE` makes of arguments."""
    from trl import ModelConfig, SFTConfig, TrlParser

    parsed = TrlParser((SFTConfig, ModelConfig)).parse_dict({**arguments, "use_cpu": True})
    return parsed[0], parsed[1]


def llama_factory(path, expected, _devices):
    """What `llamafactory-cli train FILE` makes of it; model and data are no part of a plan."""
    from llamafactory.hparams import get_train_args
    from omegaconf import OmegaConf

    own = OmegaConf.to_container(OmegaConf.load(path))
    given = {"model_name_or_path": "m", "dataset": "d", "template": "llama3", "report_to": "none", **WITHOUT_DEVICE}
    model, data, training, tuning, _ = get_train_args(own | given)
    assert data.cutoff_len == 4096, data.cutoff_len
    method = "orpo" if tuning.stage == "dpo" and tuning.pref_loss == "orpo" else tuning.stage
    found = of_trainer(training) | {
        "method": method,
        "again": not model.disable_gradient_checkpointing,
        "bits": model.quantization_bit,
        "rank": tuning.lora_rank,
        "targets": tuning.lora_target,
    }
    has(found, expected)


def swift(path, expected, _devices):
    """What `swift sft FILE` or `swift rlhf FILE` makes of it, of a model whose shape alone is there."""
    import yaml
    from swift.arguments import RLHFArguments, SftArguments
    from swift.cli.main import parse_yaml_args
    from swift.utils import parse_args

    own = yaml.safe_load(Path(path).read_text())
    folder = Path(path).parent / "model"
    folder.mkdir()
    shape = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}
    shape |= {"num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 8192}
    (folder / "config.json").write_text(json.dumps(shape))
    words = [path]
    parse_yaml_args(words)
    kind = RLHFArguments if "rlhf_type" in own else SftArguments
    given = f"--model {folder} --model_type llama --template llama3_2 --dataset d --report_to none".split()
    given += [word for key, value in WITHOUT_DEVICE.items() for word in (f"--{key}", str(value))]
    args, left = parse_args(kind, words + given)
    assert not left, f"it leaves {left}"
    assert args.max_length == 4096, args.max_length
    training = args.training_args
    found = of_trainer(training) | {
        "method": getattr(args, "rlhf_type", "sft"),
        "again": training.gradient_checkpointing or bool((training.fsdp_config or {}).get("activation_checkpointing")),
        "bits": args.quant_bits,
        "rank": args.lora_rank,
        "targets": args.target_modules,
        "ahead": getattr(training, "precompute_ref_log_probs", None),
        "packing": args.packing,
        "answers": args.use_logits_to_keep,
    }
    has(found, expected)


# What else is said where there is no device: neither format can be had there.
WITHOUT_DEVICE = {"use_cpu": True, "bf16": False, "fp16": False}


def of_trainer(read):
    """What the Trainer's arguments say, whichever program reads them."""
    sharded = read.fsdp_config or {} if read.fsdp else {}
    return {
        "micro": read.per_device_train_batch_size,
        "offload": "offload" in str(read.fsdp),
        "reshard": sharded.get("reshard_after_forward", True),
    }


def has(found, expected):
    for key, value in expected.items():
        assert found[key] == value, f"{key} is {found[key]}, not {value}"


def torchtune_recipe(path, expected, _devices):
    import torchtune
    from omegaconf import OmegaConf
    from torchtune.config import validate

    # The recipes stand beside the package, and cannot be imported.
    folder, kind = Path(torchtune.__file__).parent.parent / "recipes", expected["recipe"]
    own = OmegaConf.load(path)
    over = {"full": "8B_full", "lora": "8B_lora"}[kind]
    base = OmegaConf.load(folder / f"configs/llama3_1/{over}.yaml")
    # Another component takes the place of the whole section but for what ours says: it has arguments of its own.
    for name, section in own.items():
        if OmegaConf.is_dict(section) and section.get("_component_") not in (None, base[name].get("_component_")):
            del base[name]
    validate(OmegaConf.merge(base, own))
    source = (folder / f"{kind}_finetune_distributed.py").read_text()
    unread = [name for name in own if f"cfg.{name}" not in source and f'"{name}"' not in source]
    assert not unread, f"its recipe never reads {', '.join(unread)}"


def torchtitan(path, expected, devices):
    from torchtitan.config import ConfigManager

    config = ConfigManager().parse_args([f"--job.config_file={path}"])
    degrees = config.parallelism
    product = degrees.data_parallel_replicate_degree * degrees.data_parallel_shard_degree
    product *= degrees.tensor_parallel_degree * degrees.context_parallel_degree * degrees.pipeline_parallel_degree
    assert product == devices, f"the degrees come to {product} devices, not {devices}"
    assert config.training.local_batch_size == expected["local"]
    schedule(degrees.pipeline_parallel_schedule)


def torchtitan_command(path, expected, _devices):
    from torchtitan.config import ConfigManager

    words = [word for line in Path(path).read_text().splitlines() if not line.startswith("#") for word in line.split()]
    words = [word for word in words if word != "\\"]
    config = ConfigManager().parse_args(words[words.index("torchtitan.train") + 1 :])
    assert config.training.local_batch_size == expected["local"]
    schedule(config.parallelism.pipeline_parallel_schedule)


def schedule(name):
    from torch.distributed.pipelining.schedules import get_schedule_class

    get_schedule_class(name)


CHECKS = {
    "accelerate": accelerate,
    "deepspeed": deepspeed,
    "hf-trainer": hf_trainer,
    "llama-factory": llama_factory,
    "ms-swift": swift,
    "torchtitan": torchtitan,
    "torchtitan-command": torchtitan_command,
    "torchtune": torchtune_recipe,
}


def main():
    program, *targets = sys.argv[1:]
    if not targets or set(targets) - set(CHECKS):
        raise SystemExit(f"name the program, and targets among {', '.join(CHECKS)}")
    for target in targets:
        for plan, expected in PLANS[target]:
            words = plan.split()
            devices = int(words[words.index("--devices") + 1])
            before = dict(os.environ)
            with tempfile.TemporaryDirectory() as folder:
                CHECKS[target](export(program, target, plan, folder), expected, devices)
            os.environ.clear()
            os.environ.update(before)
            print(f"{target}: {plan}: accepted")


if __name__ == "__main__":
    main()
