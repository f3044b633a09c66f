"""shardscope: memory, time and plans of sharded training, before anything runs.

>>> import shardscope
>>> job = shardscope.Scenario(model="llama-3.1-8b", hardware="h100-80gb-dgx", nodes=2, strategy="fsdp", micro_batch=2)
>>> shardscope.evaluate(job).memory.p_fits > 0.9
True

Every figure is the one that the program of the same name prints, to the last bit. Keywords are the program's flags with
underscores; `fields()` lists them. Nothing here uses the network.
"""

from __future__ import annotations

import os
import typing

from . import _native
from ._errors import DoesNotFit, Error, Problem
from ._figures import Evaluation, read as _read
from ._native import Scenario, __version__

if typing.TYPE_CHECKING:
    import numpy.typing

__all__ = [
    "DoesNotFit",
    "Error",
    "Evaluation",
    "Export",
    "Fit",
    "Length",
    "Lengths",
    "Problem",
    "Scenario",
    "Search",
    "Sweep",
    "add_presets",
    "calibrate",
    "check",
    "evaluate",
    "export",
    "fields",
    "lengths",
    "metrics",
    "presets",
    "read",
    "search",
    "sweep",
    "validate",
]

class Frame(typing.Protocol):
    """A table in memory that writes itself as CSV, as pandas' does."""

    def to_csv(self, *, index: bool) -> str: ...


Rows = typing.Union[str, "os.PathLike[str]", Frame]
Values = typing.Union[str, typing.Sequence[typing.Any]]


def evaluate(scenario: Scenario) -> Evaluation:
    """Every figure of a scenario. A job that does not fit has figures too; one that cannot be laid out raises `Error`."""
    return _read(Evaluation, _native.evaluate(scenario))


def check(config: typing.Any, **fields: typing.Any) -> Evaluation:
    """Raises `DoesNotFit`, with what would fit instead, unless a job fits its devices safely; else returns its figures.

    A launcher calls it before it starts. `config` is a `Scenario`, the path of a launcher's file or several of them, or the dict
    of a scenario; `fields` say what a launcher's file leaves open, such as `model`, `hardware` and `nodes`.
    """
    if isinstance(config, Scenario):
        job = config.replace(**fields)
    elif isinstance(config, dict):
        job = Scenario(config, **fields)
    else:
        job = read(config, **fields)
    found = evaluate(job)
    if not found.fits or found.memory.p_fits < _native.SAFE_CHANCE:
        raise DoesNotFit(found, _native.SAFE_CHANCE, dict(_native.would_fit(job)))
    return found


def read(files: typing.Any, **fields: typing.Any) -> Scenario:
    """The scenario of a launcher's files, with what they leave open as keywords. What cannot be said raises `Error`."""
    several = isinstance(files, (list, tuple))
    scenario, _ = _native.read([os.fspath(file) for file in (files if several else [files])], **fields)
    return scenario


class Sweep:
    """A map of figures over two axes: arrays whose rows go down `y` and whose columns go along `x`."""

    x: list[typing.Any]
    """The values along a row."""
    y: list[typing.Any]
    """The values down a column."""
    values: dict[str, numpy.typing.NDArray[numpy.float64]]
    """A metric's figures, in the unit that `metrics()` names; NaN where there is no such figure."""
    fits: numpy.typing.NDArray[numpy.bool_]
    """Whether each cell can be and fits."""

    def __init__(self, native: _native.Sweep) -> None:
        import numpy

        self._native = native
        self.x, self.y = native.places
        shape = (len(self.y), len(self.x))
        doubles = native.doubles()
        self.values = {word: numpy.frombuffer(raw, dtype=numpy.float64).reshape(shape) for word, raw in doubles.items()}
        self.fits = numpy.frombuffer(native.fitting(), dtype=numpy.bool_).reshape(shape)

    def __getitem__(self, metric: str) -> numpy.typing.NDArray[numpy.float64]:
        return self.values[metric]

    def why_not(self, row: int, column: int) -> typing.Optional[str]:
        """Why a cell cannot be; `None` where it can."""
        return self._native.why_not(self._place(row, column))

    def scenario(self, row: int, column: int) -> Scenario:
        """The scenario of a cell, with its best micro-batch and recompute where the map is tuned."""
        return self._native.scenario(self._place(row, column))

    def best(self, metric: str, least: bool = False) -> typing.Optional[Scenario]:
        """The scenario with the largest (or least) figure among the cells that fit; `None` where none fits."""
        import numpy

        asked = numpy.where(self.fits, self.values[metric] * (-1.0 if least else 1.0), -numpy.inf)
        row, column = numpy.unravel_index(int(numpy.nanargmax(asked)), asked.shape)
        return self.scenario(int(row), int(column)) if self.fits[row, column] else None

    def _place(self, row: int, column: int) -> int:
        if not (0 <= row < len(self.y) and 0 <= column < len(self.x)):
            raise IndexError(f"the map has {len(self.y)} rows and {len(self.x)} columns")
        return row * len(self.x) + column


def sweep(
    scenario: Scenario,
    x: typing.Tuple[str, Values],
    y: typing.Tuple[str, Values],
    metrics: typing.Sequence[str] = ("throughput",),
    tune: bool = False,
) -> Sweep:
    """Evaluates every pair of values of two fields, on all cores; `RAYON_NUM_THREADS` says fewer.

    An axis is a field with its values: `("nodes", [1, 2, 4])`, `("micro_batch", range(1, 9))` or `("nodes", "1..64")`. Tuned cells
    each take their best micro-batch, recompute and accumulation. The interpreter's lock is free meanwhile, and an interrupt ends it.
    """
    return Sweep(_native.sweep(scenario, [_axis(*x), _axis(*y)], list(metrics), tune))


def _axis(field: str, values: Values) -> str:
    said = values if isinstance(values, str) else ",".join(str(value) for value in values)
    return f"{field.replace('_', '-')}={said}"


class Search:
    """A search over whole plans: an iterator of scenarios, each better than all before it.

    It ends when no plan can be better. `plans` has the best ones then; `stop()` ends it early.
    """

    def __init__(self, native: _native.Search) -> None:
        self._native = native

    def __iter__(self) -> Search:
        return self

    def __next__(self) -> Scenario:
        return next(self._native)

    def stop(self) -> None:
        """Ends the search; what was found so far stays."""
        self._native.stop()

    @property
    def plans(self) -> list[Scenario]:
        """The best plans, best first; waits for the end."""
        return self._native.plans()

    @property
    def beyond(self) -> list[Scenario]:
        """Better plans than the first, which no launcher takes; waits for the end."""
        return self._native.beyond()

    @property
    def exact(self) -> bool:
        """Whether no plan of the grid is better; waits for the end."""
        return self._native.exact()


def search(
    scenario: Scenario,
    *,
    objective: str = "throughput",
    over: typing.Optional[typing.Mapping[str, Values]] = None,
    fix: typing.Sequence[str] = (),
    allow: typing.Sequence[str] = (),
    devices_max: typing.Optional[int] = None,
    margin: typing.Optional[float] = None,
    deadline_days: typing.Optional[float] = None,
    runs_in: typing.Optional[str] = None,
    any_plan: bool = False,
    top: int = 10,
) -> Search:
    """Searches the best plans at the scenario's global batch, in a thread of its own.

    Fields that the scenario's keywords said are held, and those of `fix`; fields of `over` take the values given there. `allow`
    names what a plan may do beside: `quantised`, `offload`, `fp8`. Plans leave a share `margin` of the memory free; without it,
    what makes them fit safely. `runs_in` holds plans to a launcher, `any_plan` to none.
    """
    wishes = _wishes(
        objective, over, fix, allow, devices_max, margin, runs_in, any_plan, deadline_days=deadline_days, top=top
    )
    return Search(_native.search(scenario, wishes))


class Length(typing.NamedTuple):
    """The best plan at one length of the sequence."""

    sequence: int
    """Tokens."""
    scenario: Scenario
    """The fastest plan that fits."""
    needs: list[str]
    """Fields for whose usual value no plan fits."""


class Lengths(typing.NamedTuple):
    """How long a context fits."""

    lengths: list[Length]
    """The best plan at each length, the shortest first; the last is the longest that fits."""
    too_long: typing.Optional[int]
    """The shortest length that was found not to fit."""


def lengths(
    scenario: Scenario,
    *,
    over: typing.Optional[typing.Mapping[str, Values]] = None,
    fix: typing.Sequence[str] = (),
    allow: typing.Sequence[str] = (),
    devices_max: typing.Optional[int] = None,
    margin: typing.Optional[float] = None,
    tokens_per_s_min: typing.Optional[float] = None,
    runs_in: typing.Optional[str] = None,
    any_plan: bool = False,
) -> Lengths:
    """How long a context fits, and the fastest plan at each length; the keywords are those of `search`.

    `tokens_per_s_min` is the fewest tokens per second of the job. The interpreter's lock is free meanwhile, and an interrupt ends it.
    """
    wishes = _wishes(
        "throughput", over, fix, allow, devices_max, margin, runs_in, any_plan, tokens_per_s_min=tokens_per_s_min
    )
    found, too_long = _native.lengths(scenario, wishes)
    return Lengths([Length(*length) for length in found], too_long)


def _wishes(
    objective: str,
    over: typing.Optional[typing.Mapping[str, Values]],
    fix: typing.Sequence[str],
    allow: typing.Sequence[str],
    devices_max: typing.Optional[int],
    margin: typing.Optional[float],
    runs_in: typing.Optional[str],
    any_plan: bool,
    deadline_days: typing.Optional[float] = None,
    tokens_per_s_min: typing.Optional[float] = None,
    top: int = 1,
) -> dict[str, typing.Any]:
    return {
        "objective": objective,
        "over": [_axis(field, values) for field, values in (over or {}).items()],
        "fix": list(fix),
        "allow": list(allow),
        "devices_max": devices_max,
        "margin": margin,
        "deadline_days": deadline_days,
        "tokens_per_s_min": tokens_per_s_min,
        "runs_in": runs_in,
        "any_plan": any_plan,
        "top": top,
    }


class Export(typing.NamedTuple):
    """A plan as a launcher takes it."""

    files: dict[str, str]
    """Texts by the names of their files."""
    notes: list[str]
    """What the launcher does otherwise than planned."""
    scenario: Scenario
    """The plan that the files hold: with `nearest` it may be another one."""


def export(
    scenario: Scenario, tool: str, version: typing.Optional[str] = None, nearest: bool = False
) -> Export:
    """A plan as another tool takes it, by the words of `export --to`. What the tool lacks raises `Error`, unless the nearest plan
    that it has is wanted."""
    return Export(**_native.export(scenario, tool, version, nearest))


def _tables(rows: typing.Union[Rows, typing.Sequence[Rows]]) -> list[tuple[str, str]]:
    """The texts of tables, each with its name."""
    tables = []
    all_rows: typing.Sequence[Rows] = rows if isinstance(rows, (list, tuple)) else [typing.cast(Rows, rows)]
    for table in all_rows:
        if isinstance(table, (str, os.PathLike)):
            with open(table, encoding="utf-8", errors="replace") as file:
                tables.append((os.fspath(table), file.read()))
        else:
            tables.append(("the frame", table.to_csv(index=False)))
    return tables


def validate(rows: typing.Union[Rows, typing.Sequence[Rows]]) -> dict[str, typing.Any]:
    """Predictions beside measured runs, as `validate --format json` has them. `rows` are paths of tables or pandas frames."""
    return _native.validate(_tables(rows))


class Fit(typing.NamedTuple):
    """Constants fitted to measured runs."""

    report: dict[str, typing.Any]
    """What `calibrate --format json` says."""
    calibration: str
    """The text of the calibration's file: under `DIR/calibration/` it serves with `add_presets(DIR)`."""


def calibrate(rows: typing.Union[Rows, typing.Sequence[Rows]], from_scratch: bool = False) -> Fit:
    """Fits constants to measured runs, beginning at what shipped rows tell, or from scratch."""
    return Fit(*_native.calibrate(_tables(rows), from_scratch))


def presets(kind: str) -> dict[str, str]:
    """The ids of presets of a kind (`clusters`, `models`, `stacks`, `strategies`, `scenarios`), each with its name."""
    return dict(_native.presets(kind))


def add_presets(folder: typing.Union[str, os.PathLike[str]]) -> list[str]:
    """Adds a folder of presets, as `--presets` does. Returns what in it cannot be used."""
    return _native.add_presets(os.fspath(folder))


def fields() -> dict[str, str]:
    """The keywords of scenarios, each with what it takes and means."""
    return {keyword: f"{takes}: {about}" for keyword, takes, about in _native.fields()}


def metrics() -> dict[str, str]:
    """The words of metrics that maps can show, each with its unit."""
    return dict(_native.metrics())
