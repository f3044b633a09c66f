"""Takes the first plan of forty searches through a launcher and back.

    python3 tests/tools/first_plans.py target/release/shardscope

The jobs have between them every architecture of the model presets and every family of software that a launcher starts.
Of each the first plan must run in a launcher; it is exported to the first that takes it with `--strict`, so that nothing
is written otherwise than planned, read back, and timed again: the same step, or it fails. A plan that our own FSDP2
script alone takes is not read back.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# model, cluster, stack, and what else is said.
JOBS = [
    # The eight of newcomers, on the stack that they would have.
    ("llama-2-7b", "a100-40gb-juwels", "default", "--nodes 8"),
    ("llama-3.1-8b", "a100-40gb-perlmutter", "default", "--nodes 8"),
    ("llama-3.1-70b", "a100-80gb-dgx", "default", "--nodes 32"),
    ("fsdp-30b", "a100-80gb-dgx", "default", "--nodes 8"),
    ("qwen3-32b", "h200-141gb-dgx", "default", "--nodes 8"),
    ("llama-2-13b", "a100-40gb-dgx", "megatron-2024", "--nodes 12"),
    ("llama-3.1-8b", "h100-80gb-dgx", "torchtune-2025", "--nodes 2"),
    ("llama-3.1-8b", "rtx4090", "peft-2025", "--devices 1 --train qlora --seq 1024 --global-batch 16"),
    # Families of software.
    ("llama-3.1-8b", "h100-80gb-dgx", "torchtitan-2025", "--nodes 8"),
    ("llama-3.1-70b", "h100-80gb-dgx", "torchtitan-2026", "--nodes 32"),
    ("llama-3.1-405b", "h100-80gb-dgx", "nemo-2025", "--nodes 64"),
    ("mpt-7b", "a100-80gb-dgx", "default", "--nodes 8"),
    ("mpt-1b", "mi250x-lumi", "default", "--nodes 4"),
    ("llama-2-34b", "mi250x-frontier", "megatron-2024", "--nodes 32"),
    ("gpt-neox-20b", "a100-40gb-dgx", "megatron-2022", "--nodes 12"),
    ("opt-30b", "v100-32gb-dgx2", "deepspeed-zero3-2022", "--nodes 8"),
    ("gpt-18b-zeropp", "v100-32gb-dgx2", "deepspeed-zeropp-2023", "--nodes 16"),
    ("llama-3.1-8b", "a100-80gb-dgx", "hf-trainer-2024", "--nodes 1"),
    ("llama-3.1-8b", "h100-80gb-dgx", "hf-deepspeed-2024", "--nodes 1"),
    ("llama-2-7b", "a100-80gb-dgx", "accelerate", "--nodes 2"),
    ("qwen3-8b", "h100-80gb-dgx", "torchtune-2025", "--nodes 1 --train lora"),
    ("llama-3.1-70b", "mi300x", "primus-megatron-2025", "--nodes 8"),
    ("llama-2-70b", "mi300x", "peft-2025", "--nodes 1 --train lora --seq 8192 --global-batch 8"),
    ("llama-3.1-8b", "gh200-96gb-alps", "megatron-core-2026", "--nodes 8"),
    ("megatron-39b", "a100-80gb-dgx", "megatron-2021", "--nodes 16"),
    ("megatron-145b", "a100-80gb-dgx", "megatron-2022", "--nodes 48"),
    # Architectures.
    ("mixtral-8x7b", "h100-80gb-dgx", "megatron-core-2026", "--nodes 8"),
    ("qwen3-30b-a3b", "b200-dgx", "megatron-bridge-2025", "--nodes 2"),
    ("qwen3-235b-a22b", "h100-80gb-dgx", "megatron-bridge-2025", "--nodes 32"),
    ("gpt-oss-20b", "h100-80gb-dgx", "megatron-core-2026", "--nodes 2"),
    ("deepseek-v2-lite", "h100-80gb-dgx", "megatron-core-2026", "--nodes 2"),
    ("deepseek-v3", "b200-dgx", "megatron-bridge-2025", "--nodes 32 --global-batch 2048"),
    ("glm-4.5-air", "h200-141gb-dgx", "megatron-core-2026", "--nodes 8"),
    ("kimi-linear-48b-a3b", "h100-80gb-dgx", "hf-trainer-2024", "--nodes 8"),
    ("qwen3-next-80b-a3b", "h100-80gb-dgx", "megatron-core-2026", "--nodes 8"),
    ("nemotron-h-8b", "h100-80gb-dgx", "megatron-core-2026", "--nodes 2"),
    ("nemotron-3-nano", "h100-80gb-dgx", "megatron-bridge-2025", "--nodes 4"),
    ("gemma3-12b", "h100-80gb-dgx", "hf-trainer-2024", "--nodes 2"),
    ("llama4-scout", "h100-80gb-dgx", "hf-trainer-2024", "--nodes 16"),
    ("grok-1", "h100-80gb-dgx", "megatron-core-2026", "--nodes 32"),
]

# What the file of a launcher leaves to the training script or to the launcher's command, by its flag.
FLAGS = {
    "micro_batch": "--micro-batch",
    "accumulate": "--accumulate",
    "global_batch": "--global-batch",
    "sequence": "--seq",
    "recompute": "--recompute",
    "reduction": "--reduction",
}


def run(program, folder, command):
    """Runs a command of the program; its exit code, what it printed, and what it complained of."""
    done = subprocess.run([program, *command.split()], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def outside(text):
    """The flags of what is set outside a file, as its notes or its list say it."""
    notes = re.findall(r"^# set outside this file: (.+)$", text, re.MULTILINE)
    if text.startswith("{"):
        notes += json.loads(text)["elsewhere"]
    said = (re.match(r"(\w+) ([^:]+):", note) for note in notes)
    return "".join(f"{FLAGS[one.group(1)]} {one.group(2)} " for one in said if one and one.group(1) in FLAGS)


def through(program, model, cluster, stack, more):
    """A line about a job, and whether its plan came back."""
    name = f"{model} on {cluster}, {stack}, {more}"
    job = f"--model {model} --hardware {cluster} --stack {stack} {more}"
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        began = time.monotonic()
        code, out, err = run(program, folder, f"search {job} --top 1 --out best.toml --format json --threads 1")
        took = f"{time.monotonic() - began:6.1f} s"
        if code:
            return f"{name}: search: {err.strip()}", False
        plan = json.loads(out)["plans"][0]
        names = plan["runs_in"]
        tools = [tool for tool in names if tool != "fsdp2"]
        step = plan["evaluation"]["step_time_s"]
        said = f"{took}  {step:9.3f} s a step  {name}"
        if not names:
            return f"{said}: runs in no launcher", False
        if not tools:
            return f"{said}: fsdp2 alone", True
        tool = tools[0]
        code, out, err = run(program, folder, f"export best.toml --to {tool} --strict --out .")
        if code:
            return f"{said}: {tool} refuses it: {err.strip()}", False
        file = folder / out.split()[-1]
        # The cluster's devices and the adapters of a model are the job's.
        kept = " ".join(re.findall(r"--(?:nodes|devices|train) \S+", more))
        base = f"--model {model} --hardware {cluster} --stack {stack} {kept} {outside(file.read_text())}"
        code, out, err = run(program, folder, f"import plan {file.name} {base} --out read.toml")
        if code:
            return f"{said}: not read back from {tool}: {err.strip()}", False
        again = json.loads(run(program, folder, "eval read.toml --format json")[1])["step_time_s"]
        same = again is not None and abs(again / step - 1) < 1e-9
        return f"{said}: {tool}, read back as {again:.3f} s", same


def main():
    """Prints a line for each job, and fails where one did not come back."""
    program = Path(sys.argv[1]).resolve()
    with ThreadPoolExecutor(2) as pool:
        wrong = 0
        for line, came_back in pool.map(lambda job: through(program, *job), JOBS):
            print(line if came_back else f"WRONG {line}", flush=True)
            wrong += not came_back
    print(f"{len(JOBS) - wrong} of {len(JOBS)} jobs")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
