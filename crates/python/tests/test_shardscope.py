"""The module beside the program: the same numbers, and sentences where there are none.

    SHARDSCOPE=target/release/shardscope python -m unittest discover crates/python/tests
"""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import typing
import unittest

import numpy
import shardscope

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("SHARDSCOPE", "shardscope")
TOP = ("cluster", "stack", "model", "strategy")
# The fields of a scenario's table `[post_training]`, by the engine's table of fields.
FIELDS = ROOT / "crates/engine/src/scenario/field/table.rs"
AFTER = set(re.findall(r'"post_training\.(\w+)"', FIELDS.read_text(encoding="utf-8")))


def value(text: str) -> typing.Any:
    """A setting of the table of predictions as TOML has it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def scenario_of(name: str) -> dict:
    settings = dict(word.split("=", 1) for word in name.split() if "=" in word)
    top = {key: text for key, text in settings.items() if key in TOP}
    plan = {key: value(text) for key, text in settings.items() if key not in TOP and key not in AFTER}
    after = {key: value(text) for key, text in settings.items() if key in AFTER}
    return {"format": 1, **top, "plan": plan, **({"post_training": after} if after else {})}


def printed(*words: str) -> str:
    # 3: it does not fit, which has figures too.
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


class Predictions(unittest.TestCase):
    """The committed table of predictions, number by number."""

    # The table's bands take the constants as exact.
    COLUMNS = {
        "step_time_s": lambda found: found.step_time_s,
        "tokens_per_s_per_device": lambda found: found.tokens_per_s_per_device,
        "model_tflops_per_device": lambda found: found.model_tflops_per_device,
        "hardware_tflops_per_device": lambda found: found.hardware_tflops_per_device,
        "mfu": lambda found: found.mfu,
        "hfu": lambda found: found.hfu,
        "compute_s": lambda found: found.time.compute_s,
        "exposed_communication_s": lambda found: found.time.exposed_communication_s,
        "bubble_s": lambda found: found.time.bubble_s,
        "optimizer_s": lambda found: found.time.optimizer_s,
        "peak_bytes": lambda found: found.memory.peak_bytes,
        "weights": lambda found: found.memory.parts["weights"],
        "activations": lambda found: found.memory.parts["activations"],
    }

    def test_to_the_bit(self) -> None:
        compared = refused = 0
        with open(ROOT / "tests/predictions/steps.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if "operators=" in row["id"]:
                    continue
                with self.subTest(row["id"]):
                    if row["refused"]:
                        refused += 1
                        with self.assertRaises(shardscope.Error):
                            shardscope.evaluate(shardscope.Scenario(scenario_of(row["id"])))
                        continue
                    found = shardscope.evaluate(shardscope.Scenario(scenario_of(row["id"])))
                    for column, figure in self.COLUMNS.items():
                        # Steps with rollouts have no time.
                        expected = None if row[column] == "null" else float(row[column])
                        self.assertEqual(expected, figure(found), column)
                    compared += 1
        print(f"\n{compared} rows of the table of predictions, equal to the bit; {refused} refused alike")
        self.assertGreater(compared, 1000)


class Figures(unittest.TestCase):
    def test_everything_that_json_says_is_typed(self) -> None:
        asked = [
            [],
            ["--model", "mixtral-8x7b", "--nodes", "4", "--ep", "8", "--strategy", "zero1", "--offload", "optimizer"],
            ["--model", "mpt-7b", "--pp", "2", "--recompute", "full", "--tokens", "300B", "--price", "2 USD"],
            ["--model", "deepseek-v3", "--nodes", "16", "--hardware", "b200-dgx", "--stack", "megatron-bridge-2025"],
            ["--model", "mpt-1b", "--hardware", "rtx4090", "--stack", "hf-trainer-2024", "--devices", "1", "--seq", "2048",
             "--paged-optimizer", "on"],
        ]  # fmt: skip
        for words in asked:
            said = json.loads(printed("eval", *words, "--format", "json"))
            self.assertIsNone(said.pop("measured"))
            flags = dict(zip(words[::2], words[1::2]))
            fields = {flag[2:].replace("-", "_"): text for flag, text in flags.items()}
            found = shardscope.evaluate(shardscope.Scenario(**fields)).to_dict()
            self.assertEqual({key: one for key, one in said.items() if one is not None},
                             {key: one for key, one in found.items() if one is not None})  # fmt: skip

    def test_a_scenario_goes_out_and_in(self) -> None:
        job = shardscope.Scenario(model="mpt-7b", nodes=2, micro_batch=2, recompute="full", compile=True)
        self.assertEqual(job, shardscope.Scenario(job.to_dict()))
        self.assertEqual(job, shardscope.Scenario.from_toml(job.to_toml()))
        self.assertEqual(job.get("micro_batch"), "2")
        self.assertNotEqual(job, job.replace(nodes=4))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "job.toml")
            file.write_text(job.to_toml(), encoding="utf-8")
            self.assertEqual(job, shardscope.Scenario(file))
            self.assertEqual(job, shardscope.Scenario(str(file)))

    def test_errors_say_the_same_sentences(self) -> None:
        done = subprocess.run([PROGRAM, "eval", "--tp", "7"], capture_output=True, text=True, check=False)
        with self.assertRaises(shardscope.Error) as raised:
            shardscope.evaluate(shardscope.Scenario(tp=7))
        said = done.stderr.split("--tp: ", 1)[1].splitlines()[0]
        self.assertEqual(str(raised.exception).splitlines()[0], f"tp: {said}")
        self.assertEqual(raised.exception.problems[0].field, "tp")
        for wrong in ({"no_such": 1}, {"model": "no-such-model"}, {"micro_batch": "many"}):
            with self.assertRaises(shardscope.Error):
                shardscope.Scenario(**wrong)


class Sweeps(unittest.TestCase):
    JOB = shardscope.Scenario(model="llama-2-7b", hardware="h100-80gb-dgx", strategy="fsdp", accumulate=1)

    def test_values_are_those_of_the_program(self) -> None:
        words = ["sweep", "--model", "llama-2-7b", "--hardware", "h100-80gb-dgx", "--strategy", "fsdp", "--accumulate", "1"]
        text = printed(*words, "--x", "nodes=1..4:1", "--y", "micro-batch=1..8:1", "--metric", "mfu", "--format", "csv")
        found = shardscope.sweep(self.JOB, ("nodes", [1, 2, 3, 4]), ("micro_batch", range(1, 9)), ["mfu", "step-time"])
        self.assertEqual(found["mfu"].shape, (8, 4))
        for index, row in enumerate(csv.DictReader(text.splitlines())):
            place = divmod(index, 4)
            self.assertEqual(float(row["value"]), found["mfu"][place])
            self.assertEqual(row["fits"] == "true", bool(found.fits[place]))
        job = found.scenario(1, 2)
        self.assertEqual((job.get("nodes"), job.get("micro_batch")), ("3", "2"))
        # A metric's figure is that of the cell's own evaluation.
        self.assertEqual(found["mfu"][1, 2], 100.0 * shardscope.evaluate(job).mfu)

    def test_cells_that_cannot_be_say_why(self) -> None:
        found = shardscope.sweep(self.JOB, ("nodes", [1, 2]), ("tp", [1, 3]), ["mfu"])
        self.assertTrue(numpy.isnan(found["mfu"][1]).all())
        self.assertIn("3", found.why_not(1, 0) or "")
        self.assertIsNone(found.why_not(0, 0))
        with self.assertRaises(IndexError):
            found.scenario(9, 9)

    def test_the_interpreter_is_free_and_an_interrupt_ends_it(self) -> None:
        ticks, done = [], threading.Event()

        def count() -> None:
            while not done.wait(0.01):
                ticks.append(time.monotonic())

        # Jobs in the background ignore interrupts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        counter = threading.Thread(target=count)
        counter.start()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            shardscope.sweep(self.JOB.replace(pp=4, accumulate=64), ("nodes", range(1, 2000)), ("micro_batch", range(1, 200)))
        took = time.monotonic() - began
        done.set()
        counter.join()
        self.assertLess(took, 5.0)
        self.assertGreater(len(ticks), 10)


class Searches(unittest.TestCase):
    def test_each_plan_is_better_than_the_last(self) -> None:
        job = shardscope.Scenario(model="mpt-7b", hardware="a100-80gb-dgx", stack="megatron-2024", nodes=4)
        search = shardscope.search(job, top=3)
        rates = [shardscope.evaluate(plan).tokens_per_s for plan in search]
        self.assertEqual(rates[-1], max(rates))
        self.assertTrue(search.exact)
        self.assertEqual(len(search.plans), 3)
        said = json.loads(printed("search", "--model", "mpt-7b", "--hardware", "a100-80gb-dgx", "--stack", "megatron-2024",
                                  "--nodes", "4", "--top", "3", "--format", "json"))  # fmt: skip
        self.assertEqual(said["plans"][0]["evaluation"]["step_time_s"], shardscope.evaluate(search.plans[0]).step_time_s)
        self.assertIn("megatron", search.plans[0].runs_in())
        files = shardscope.export(search.plans[0], "megatron").files
        self.assertIn("--micro-batch-size", "".join(files.values()))

    def test_plans_fit_as_safely_as_the_programs(self) -> None:
        # Of 13B on one node, the fastest plan that fits at all is none that fits safely.
        given = {"model": "llama-2-13b", "hardware": "h100-80gb-dgx", "nodes": 1, "global_batch": 32}
        job = shardscope.Scenario(**given)
        words = [word for key, value in given.items() for word in ("--" + key.replace("_", "-"), str(value))]
        for margin in (None, 0.0, 0.2):
            more = [] if margin is None else ["--margin", str(margin)]
            said = json.loads(printed("search", *words, *more, "--top", "1", "--format", "json"))
            best = shardscope.search(job, margin=margin, top=1).plans[0]
            self.assertEqual(said["plans"][0]["evaluation"]["step_time_s"], shardscope.evaluate(best).step_time_s)
            if margin is None:
                self.assertGreaterEqual(shardscope.evaluate(best).memory.p_fits, 0.9)
        with self.assertRaises(shardscope.Error):
            shardscope.search(job, margin=1.5)

    def test_lengths_are_those_of_the_program(self) -> None:
        words = ("--model", "mpt-1b", "--hardware", "h100-80gb-dgx", "--stack", "torchtitan-2025", "--devices", "1")
        said = json.loads(printed("search", *words, "--objective", "sequence", "--format", "json"))
        job = shardscope.Scenario(model="mpt-1b", hardware="h100-80gb-dgx", stack="torchtitan-2025", devices=1)
        found = shardscope.lengths(job)
        self.assertEqual([length.sequence for length in found.lengths], [length["sequence"] for length in said["lengths"]])
        self.assertEqual(found.too_long, said["too_long"])
        for length, theirs in zip(found.lengths, said["lengths"]):
            evaluation = shardscope.evaluate(length.scenario)
            self.assertEqual(evaluation.tokens_per_s, theirs["tokens_per_s"])
            self.assertEqual(length.needs, theirs["needs"])

    def test_it_stops(self) -> None:
        search = shardscope.search(shardscope.Scenario(model="deepseek-v3", hardware="b200-dgx", nodes=64,
                                                       stack="megatron-bridge-2025"))  # fmt: skip
        began = time.monotonic()
        search.stop()
        self.assertLess(time.monotonic() - began, 30.0)
        self.assertFalse(search.exact)

    def test_a_wish_that_is_no_word_is_refused(self) -> None:
        for wishes in ({"allow": ["ofload"]}, {"objective": "speed"}, {"runs_in": "nobody"}, {"fix": ["no_such"]}):
            with self.assertRaises(shardscope.Error):
                shardscope.search(Sweeps.JOB, **wishes)


class Check(unittest.TestCase):
    def test_what_does_not_fit_raises_with_what_would(self) -> None:
        job = shardscope.Scenario(model="llama-2-13b", hardware="h100-80gb-dgx", nodes=2, recompute="none", micro_batch=4)
        with self.assertRaises(shardscope.DoesNotFit) as raised:
            shardscope.check(job)
        self.assertTrue(raised.exception.ways)
        for words, way in raised.exception.ways.items():
            self.assertIn(words, str(raised.exception))
            self.assertGreaterEqual(shardscope.check(way).memory.p_fits, 0.9)

    def test_a_launchers_file(self) -> None:
        config = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n" \
                 "  fsdp_reshard_after_forward: true\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "accelerate.yaml")
            file.write_text(config, encoding="utf-8")
            found = shardscope.check(file, model="llama-2-7b", hardware="h100-80gb-dgx", seq=2048, micro_batch=1)
        self.assertEqual(found.batch.data_ranks, 16)


class Evidence(unittest.TestCase):
    def test_rows_come_from_a_path_or_a_frame(self) -> None:
        import pandas

        file = sorted((ROOT / "presets/measured").glob("*.csv"))[0]
        of_path = shardscope.validate(file)
        self.assertTrue(of_path["rows"])
        of_frame = shardscope.validate(pandas.read_csv(file, dtype=str, keep_default_na=False))
        self.assertEqual(of_path["summary"], of_frame["summary"])

    def test_rows_that_say_nothing_are_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "rows.csv")
            file.write_text("id,model\n", encoding="utf-8")
            with self.assertRaises(shardscope.Error):
                shardscope.validate(file)
            with self.assertRaises(shardscope.Error):
                shardscope.calibrate(file)


if __name__ == "__main__":
    unittest.main()
