#!/usr/bin/env python3
"""What `shardscope import` takes of a folder of public files, and why it refuses the rest.

    tests/tools/imports.py FOLDER ... [--models] [--python] [--shardscope PROGRAM] [--list TABLE.tsv]

Each folder is a checkout, or a part of one. Every launcher's file in it is imported with `--model llama-3.1-8b`, or
qwen3-30b-a3b where it divides experts, with `--devices 8` where no file says how many, and with the files beside it that it
names (DeepSpeed's configuration, a script's settings). With --python so are files of Python, as XTuner's are. With --models every `config.json` is
imported as a model instead. Prints a table of the verdicts, and with --list writes a line for each file: folder, file, verdict,
keys that are unknown, reason.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

LAUNCHERS = {".yaml", ".yml", ".json", ".toml", ".sh", ".bash", ".sbatch", ".slurm"}
# Messages of files that start no training tool.
FOREIGN = ("is no configuration of", "starts no program whose options are known", "no kind of file", "nests", "is larger")
NAMED = re.compile(r"[\w./${}-]+\.(?:ya?ml|json|toml)\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=lambda folder: pathlib.Path(folder).resolve())
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--shardscope", default="shardscope")
    parser.add_argument("--list", type=pathlib.Path)
    options = parser.parse_args()
    lines = []
    print("folder\ttaken\twith unknown settings\trefused\tleft out")
    for folder in options.folders:
        verdicts = read(folder, options)
        counts = collections.Counter(verdict for _, verdict, _, _ in verdicts)
        kinds = ["taken", "unknown", "refused", "foreign"]
        print("\t".join([folder.name, *(str(counts[kind]) for kind in kinds)]))
        lines += ["\t".join([folder.name, *verdict]) for verdict in verdicts]
    if options.list:
        options.list.write_text("\n".join(lines) + "\n")


def read(folder: pathlib.Path, options: argparse.Namespace) -> list[tuple[str, str, str, str]]:
    """File, verdict, unknown keys and reason, of each file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and is_asked(path, options))
    names = collections.defaultdict(list)
    for path in folder.rglob("*"):
        if path.is_file():
            names[path.name].append(path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda path: judge(path, folder, names, options), files))


def is_asked(path: pathlib.Path, options: argparse.Namespace) -> bool:
    if options.models:
        return path.name.endswith("config.json")
    return path.suffix in LAUNCHERS or options.python and path.suffix == ".py"


def judge(path, folder, names, options) -> tuple[str, str, str, str]:
    name = str(path.relative_to(folder))
    if options.models:
        return (name, *outcome([options.shardscope, "import", "model", str(path)], path.parent))
    files = [str(path)]
    verdict = plan(files, options, folder)
    # Files that the first one names go with it, where the folder has one of that name.
    for beside in named(path, names) if verdict[0] == "refused" else []:
        second = plan([*files, str(beside)], options, folder)
        if second[0] == "foreign" or "do not make one plan" in second[2]:
            continue
        if second[0] in ("taken", "unknown"):
            return (name, *second)
        if is_named(verdict[2]):
            verdict, files = second, [*files, str(beside)]
    return (name, *verdict)


def plan(files, options, folder) -> tuple[str, str, str]:
    """The outcome of an import, with what the files leave open."""
    wishes = ["--model", "llama-3.1-8b"]
    command = [options.shardscope, "import", "plan", *files]
    verdict = outcome([*command, *wishes], folder)
    if "how many devices" in verdict[2] or "say it with --devices" in verdict[2]:
        wishes += ["--devices", "8"]
        verdict = outcome([*command, *wishes], folder)
    if "has no experts" in verdict[2]:
        verdict = outcome([*command, "--model", "qwen3-30b-a3b", *wishes[2:]], folder)
    return verdict


def is_named(reason: str) -> bool:
    return "which was not given" in reason or "file" in reason


def named(path: pathlib.Path, names) -> list[pathlib.Path]:
    """Files that a file names, of those of the folder: of several of one name the one at the nearest place."""
    found = []
    for word in dict.fromkeys(NAMED.findall(path.read_text(errors="replace"))):
        ends = [one for one in names.get(pathlib.PurePath(word).name, []) if one != path]
        tail = [part for part in pathlib.PurePath(word).parts if "$" not in part and part not in (".", "..")]
        ends = [one for one in ends if list(one.parts[-len(tail):]) == tail] or ends
        if ends:
            found.append(min(ends, key=lambda one: len(os.path.relpath(one, path.parent))))
    return found[:6]


def outcome(command: list[str], folder: pathlib.Path) -> tuple[str, str, str]:
    """Verdict, unknown keys and reason of one import."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120, check=False)
    said = done.stderr
    if done.returncode == 0:
        keys = re.findall(r"^key = (.*)$", done.stdout, re.MULTILINE)
        keys = [json.loads(key) if key.startswith('"') else key for key in keys]
        return ("unknown" if keys else "taken", ",".join(sorted(set(keys))), "")
    errors = [line.removeprefix("error: ") for line in said.splitlines() if line.startswith("error: ")]
    reason = " | ".join(errors) or said.strip().replace("\n", " ")
    if done.returncode not in (2, 3):
        return ("crash", "", reason)
    return ("foreign" if any(sign in reason for sign in FOREIGN) else "refused", "", reason)


main()
