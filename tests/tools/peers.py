#!/usr/bin/env python3
"""Step times and peaks of memory of measured runs by shardscope and by the planners beside it, each at its own defaults.

    tests/tools/peers.py FOLDER [ROWS.csv ...] [--shardscope PROGRAM]

FOLDER gets an environment of Python with the peers that are on PyPI, and clones of those that are not (a clone that is there
already is taken, and its commit checked). Without tables the published runs that come with the program are compared. A row
counts where the peer has words for all of it: its device, its model, how it was sharded, and what it recomputes.
"""

import argparse
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys
import time
import typing
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
# On PyPI "calculon" is another project; SimuMax is not there.
CALCULON = ("https://github.com/calculon-ai/calculon", "caa4b11f8fe1fee3ba57adaacb7590d7deabd053")
PACKAGES = ["llm-analysis==0.2.2", "mlsysim==0.3.0", "pandas", "psutil"]
NOT_ASKED = {
    "SimuMax 1.2": "it has measured machine files for B200 and A100 over PCIe, of which these tables have no run",
    "AIConfigurator 0.12": "it plans serving, not training",
}
# GB/s and direction that a GPU sends out of its node on these clusters.
LINKS = {"a100-80gb-dgx": 25.0, "h100-80gb-dgx": 50.0, "a100-40gb-dgx": 25.0}


class Unsaid(Exception):
    """A run that a peer has no words for."""


class Run(typing.NamedTuple):
    """A measured run."""

    id: str
    group: str
    device: str
    devices: int
    parameters: float
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    gated: bool
    vocabulary: int
    sequence: int
    micro_batch: int
    accumulate: int
    zero: int
    tensor: int
    pipeline: int
    data: int
    recompute: str
    # What was measured of it; a table has one of both at least.
    seconds: float | None
    bytes: float | None


class Predicted(typing.NamedTuple):
    """What a planner says of a run: a step, and the peak of a device."""

    seconds: float
    bytes: float


Planner = typing.Callable[[Run], Predicted]


def runs(tables: typing.Iterable[str]) -> typing.Iterator[Run]:
    """The runs of tables that everyone may know: dense models in 16 bits on clusters of A100 and H100."""
    zero = {"ddp": 0, "3d": 0, "zero1": 1, "zero1+3d": 1, "full_shard": 3}
    needed = ("params_b", "layers", "hidden", "heads", "ffn_hidden", "vocab", "seq_len", "micro_batch", "grad_accum", "dp", "act_ckpt")
    for table in tables:
        for row in csv.DictReader(io.StringIO(table)):
            known = row["cluster"] in LINKS and row["strategy_class"] in zero and "fp8" not in row["precision"]
            plain = (row.get("cp") or "1") == "1" and not any(row.get(key) for key in ("experts", "train", "method"))
            # Mixed precision as all of them take it: weights of 16 bits over masters of 32.
            plain = plain and row.get("master_weights") in (None, "", "fp32")
            # What is told apart as no measure of speed may still be one of memory.
            seconds = float(row["step_time_s"]) if row["step_time_s"] and row["scored"] != "no" else None
            peak = float(row["metric_peak_mem_gb"]) * 2**30 if row["metric_peak_mem_gb"] else None
            if not (known and plain and (seconds or peak) and all(row[key] for key in needed)):
                continue
            hidden, layers, ffn, vocabulary = (int(row[key]) for key in ("hidden", "layers", "ffn_hidden", "vocab"))
            heads, kv_heads = int(row["heads"]), int(row["kv_heads"] or row["heads"])
            attention = 2 * hidden * hidden * (1 + kv_heads / heads)
            # Two matrices of an MLP, or three where it is gated: whichever comes nearer to the stated parameters.
            size = [abs(layers * (attention + k * hidden * ffn) + vocabulary * hidden - 1e9 * float(row["params_b"])) for k in (2, 3)]
            yield Run(
                row["id"], row["group"], row["cluster"], int(row["num_gpus"]), 1e9 * float(row["params_b"]), layers, hidden, heads,
                kv_heads, ffn, size[1] < size[0], vocabulary, int(row["seq_len"]), int(row["micro_batch"]), int(row["grad_accum"]),
                zero[row["strategy_class"]], int(row["tp"] or 1), int(row["pp"] or 1), int(row["dp"] or 1), row["act_ckpt"],
                seconds, peak,
            )  # fmt: skip


def llm_analysis() -> Planner:
    import logging

    from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis
    from llm_analysis.config import ModelConfig, ParallelismConfig, get_gpu_config_by_name

    recompute = {
        "none": ActivationRecomputation.NONE,
        "selective": ActivationRecomputation.SELECTIVE,
        "full": ActivationRecomputation.FULL,
    }
    logging.disable(logging.WARNING)
    stages = [DSZeRO.NONE, DSZeRO.STAGE_1, DSZeRO.STAGE_2, DSZeRO.STAGE_3]
    devices = {"a100-80gb-dgx": "a100-sxm-80gb", "a100-40gb-dgx": "a100-sxm-40gb", "h100-80gb-dgx": "h100-sxm-80gb"}

    def step(run: Run) -> Predicted:
        if run.recompute not in recompute:
            raise Unsaid("recompute that is not stated, or of some layers")
        if run.ffn % run.hidden:
            raise Unsaid("an MLP whose width is no multiple of the model's")
        model = ModelConfig("run", run.layers, run.heads, run.hidden, run.vocabulary, run.sequence, num_key_value_heads=run.kv_heads,
                            ffn_embed_dim=run.ffn)  # fmt: skip
        ranks = ParallelismConfig(tp_size=run.tensor, pp_size=run.pipeline, dp_size=run.data)
        analysis = LLMAnalysis(model, get_gpu_config_by_name(devices[run.device]), parallelism_config=ranks)
        try:
            found = analysis.training(
                batch_size_per_gpu=run.micro_batch,
                gradient_accumulation_steps=run.accumulate,
                seq_len=run.sequence,
                activation_recomputation=recompute[run.recompute],
                ds_zero=stages[run.zero],
                mlp_gated_linear_units=run.gated,
            )
        except AssertionError as error:
            raise Unsaid("refused, as it would not fit" if "max_batch_size" in str(error) else "refused") from error
        return Predicted(found["latency_per_iter"], found["(weight+op_state+grad+act)_memory_per_gpu"])

    return step


def mlsysim() -> Planner:
    import mlsysim as peer
    from mlsysim.engine.solvers.distributed import DistributedModel
    from mlsysim.models.types import TransformerWorkload
    from mlsysim.systems.types import Fleet, NetworkFabric, Node

    unit = peer.ureg
    cloud = peer.Hardware.Cloud
    devices = {
        "a100-80gb-dgx": (cloud.A100, 300.0),
        "a100-40gb-dgx": (cloud.A100_40GB, 300.0),
        "h100-80gb-dgx": (cloud.H100, 450.0),
    }
    solver = DistributedModel()

    def step(run: Run) -> Predicted:
        if run.recompute not in ("none", "full"):
            raise Unsaid("recompute of some layers or of attention alone")
        device, link = devices[run.device]
        each = min(8, run.devices)
        if run.devices % each:
            raise Unsaid("nodes that are not full")
        node = Node(name="node", accelerator=device, accelerators_per_node=each, intra_node_bw=link * unit.GB / unit.s)
        fabric = NetworkFabric(name="fabric", bandwidth=LINKS[run.device] * unit.GB / unit.s)
        fleet = Fleet(name="fleet", node=node, count=run.devices // each, fabric=fabric)
        model = TransformerWorkload(name="run", architecture="Transformer", parameters=run.parameters * unit.param,
                                    layers=run.layers, hidden_dim=run.hidden, heads=run.heads, kv_heads=run.kv_heads)  # fmt: skip
        # Without a pipeline it has no micro-batches: the step is that of all of them, and the peak that of one.
        def solved(micro_batches: int) -> typing.Any:
            return solver.solve(
                model,
                fleet,
                batch_size=run.micro_batch * micro_batches * run.data,
                tp_size=run.tensor,
                pp_size=run.pipeline,
                microbatch_count=micro_batches if run.pipeline > 1 else 1,
                zero_stage=run.zero,
                activation_recomputation=run.recompute == "full",
                seq_len=run.sequence,
            )

        found = solved(run.accumulate)
        fullest = found if run.pipeline > 1 or not run.bytes else solved(1)
        peak = fullest.node_profile.memory_footprint.to("byte").magnitude
        return Predicted(found.step_latency_total.to("s").magnitude, peak)

    return step


def calculon(folder: pathlib.Path) -> Planner:
    sys.path.insert(0, str(folder / "calculon"))
    import logging

    from calculon.llm import Llm
    from calculon.system import System

    files = {"a100-80gb-dgx": "a100_80g", "h100-80gb-dgx": "h100_80g_nvl8"}
    quiet = logging.getLogger("calculon")
    quiet.addHandler(logging.NullHandler())
    systems = {}
    for device, name in files.items():
        with open(folder / "calculon" / "systems" / f"{name}.json", encoding="utf-8") as file:
            systems[device] = json.load(file)

    def step(run: Run) -> Predicted:
        if run.device not in systems:
            raise Unsaid("a machine without a file of its own")
        if run.gated or run.kv_heads != run.heads:
            raise Unsaid("a gated MLP, or keys that heads share")
        if run.zero > 1:
            raise Unsaid("gradients and weights that are sharded over data-parallel ranks")
        if run.recompute not in ("none", "full"):
            raise Unsaid("recompute of some layers")
        shape = {"name": "run", "hidden": run.hidden, "feedforward": run.ffn, "seq_size": run.sequence, "attn_heads": run.heads,
                 "attn_size": run.hidden // run.heads, "num_blocks": run.layers}  # fmt: skip
        if run.layers % run.pipeline:
            raise Unsaid("stages of unequal size")
        plan = {
            "num_procs": run.devices, "tensor_par": run.tensor, "pipeline_par": run.pipeline, "data_par": run.data,
            "tensor_par_net": 0, "pipeline_par_net": 1, "data_par_net": 1, "batch_size": run.micro_batch * run.accumulate * run.data,
            "microbatch_size": run.micro_batch, "datatype": "float16", "fused_activation": True, "attention_type": "multihead",
            "activation_recompute": run.recompute, "pipeline_interleaving": 1, "optimizer_sharding": run.zero == 1 and run.data > 1,
            "tensor_par_comm_type": "ar", "tensor_par_overlap": "none", "seq_par_ag_redo": False, "data_par_overlap": False,
            "weight_offload": False, "activations_offload": False, "optimizer_offload": False, "training": True,
        }  # fmt: skip
        system = System(systems[run.device])
        model = Llm(Llm.Application(shape), quiet)
        try:
            model.compile(system, Llm.Execution.from_json(plan))
            model.run(system)
        except Llm.Error as error:
            raise Unsaid("refused, as it would not fit" if "mem" in str(error).lower() else "refused") from error
        return Predicted(model.get_total_time(), model.get_mem_tier1_cap_req())

    return step


def spread(ratios: typing.Mapping[str, typing.Sequence[float]], factor: float) -> tuple[float, float]:
    """The mean error of groups, and what nine in ten are within, where predictions are divided by a factor."""
    errors = sorted(statistics.fmean(abs(ratio / factor - 1.0) for ratio in group) for group in ratios.values())
    return statistics.fmean(errors), errors[min(len(errors) - 1, int(0.9 * len(errors)))]


def score(name: str, step: Planner, asked: typing.Sequence[Run], of: str) -> list[str]:
    """A line of the table of `seconds` or `bytes`. The best single factor is the one that fits all runs by hindsight: what a user gains who sets the
    planner's efficiency to what was measured."""
    ratios: dict[str, list[float]] = {}
    unsaid: dict[str, int] = {}
    said = []
    for run in asked:
        try:
            ratios.setdefault(run.group, []).append(getattr(step(run), of) / getattr(run, of))
            said.append(run)
        except Unsaid as why:
            unsaid[str(why)] = unsaid.get(str(why), 0) + 1
    ratios = {group: found for group, found in ratios.items() if found}
    missing = "; ".join(f"{count} x {why}" for why, count in sorted(unsaid.items(), key=lambda one: -one[1]))
    if not ratios:
        return [name, "0", "0", "-", "-", "-", "-", missing]
    times = []
    for _ in range(3):
        began = time.perf_counter()
        for run in said:
            step(run)
        times.append((time.perf_counter() - began) / len(said))
    # One of the ratios is nearly as good as any factor between them.
    best = min(spread(ratios, factor)[0] for group in ratios.values() for factor in group)
    mean, p90 = spread(ratios, 1.0)
    return [name, str(len(said)), str(len(ratios)), f"{mean:.1%}", f"{p90:.1%}", f"{best:.1%}", f"{1 / min(times):,.0f}", missing or "-"]


def shardscope(program: str, tables: typing.Sequence[str]) -> Planner:
    found = json.loads(subprocess.run([program, "validate", "--format", "json", *tables], check=True, capture_output=True, text=True).stdout)
    predicted: dict[str, dict[str, float]] = {}
    for one in found["rows"]:
        predicted.setdefault(one["id"], {})[one["metric"]] = one["predicted"]

    def step(run: Run) -> Predicted:
        own = predicted.get(run.id, {})
        if (run.seconds and "step_time" not in own) or (run.bytes and "memory" not in own):
            raise Unsaid("a row that validate leaves out")
        return Predicted(own.get("step_time", 0.0), own.get("memory", 0.0))

    return step


def environment(folder: pathlib.Path) -> None:
    """Continues in an environment that has the peers."""
    python = folder / "environment" / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == (folder / "environment").resolve():
        return
    if not python.exists():
        venv.create(folder / "environment", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    clone = folder / "calculon"
    if not clone.exists():
        subprocess.run(["git", "clone", "-q", CALCULON[0], clone], check=True)
    subprocess.run(["git", "-C", clone, "checkout", "-q", CALCULON[1]], check=True)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:]], check=False).returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--shardscope", default="shardscope")
    asked = parser.parse_intermixed_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    environment(asked.folder)
    tables = asked.tables or sorted(str(file) for file in (ROOT / "presets/measured").glob("*.csv"))
    known = list(runs(pathlib.Path(table).read_text(encoding="utf-8") for table in tables))
    peers = {"llm-analysis 0.2.2": llm_analysis(), "MLSys-im 0.3.0": mlsysim(), "calculon caa4b11": calculon(asked.folder)}
    own = shardscope(asked.shardscope, tables)
    heads = ["planner", "runs", "groups", "mean error", "90 % within", "by its best single factor", "evaluations a second", "no words for"]
    for of, what in (("seconds", "Step times"), ("bytes", "Peaks of memory")):
        measured = [run for run in known if getattr(run, of)]
        print(f"{what} of {len(measured)} runs\n\n| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
        for name, step in peers.items():
            print("| " + " | ".join(score(name, step, measured, of)) + " |")
            # The same runs by this program: what a peer leaves out is left out here too.
            said = [run for run in measured if can(step, run)]
            line = score("shardscope, the same runs", own, said, of)
            # Its own speed is measured in benches: these figures came out of one run of `validate`.
            line[6] = "-"
            print("| " + " | ".join(line) + " |")
        print()
    for name, why in NOT_ASKED.items():
        print(f"| {name} | 0 | 0 | - | - | - | - | {why} |")


def can(step: Planner, run: Run) -> bool:
    try:
        step(run)
    except Unsaid:
        return False
    return True


if __name__ == "__main__":
    main()
