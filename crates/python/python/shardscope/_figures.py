"""The figures of an evaluation, each under the name that it has in `eval --format json`, in the same unit.

Bytes, seconds and shares; `tflops` are 1e12 floating-point operations per second. `None` stands for what the scenario does not
say, such as the cost where nothing has a price.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, fields, is_dataclass

Figure = typing.Optional[float]
Record = typing.Dict[str, typing.Any]


@dataclass(frozen=True)
class Parameters:
    """Parameters of the model."""

    total: int
    active: int
    """Those that a token passes."""
    trained: int
    """Those that the step updates, adapters' among them."""


@dataclass(frozen=True)
class Batch:
    """What one step trains on."""

    sequences: int
    tokens: int
    micro_batch: int
    accumulate: int
    data_ranks: int


@dataclass(frozen=True)
class ErrorBand:
    """Where the step of somebody's run lies, with a chance of 80 %."""

    low: float
    high: float
    rows: int
    """Measured groups that it rests on."""
    own: int
    """Own runs among them."""
    lacks: typing.List[str]
    """What the measured runs nearest to it lack: release, device, format, size, sequence, kinds of layers, layout."""


@dataclass(frozen=True)
class Time:
    """Seconds of a step: compute, exposed communication, bubble, optimizer and the rest sum to it."""

    compute_s: float
    communication_s: float
    exposed_communication_s: float
    bubble_s: float
    optimizer_s: float
    other_s: float
    slowed_s: float
    """The part of the compute that transfers beside it cost."""
    dispatch_exposed_s: float


@dataclass(frozen=True)
class Phases:
    """Seconds of a step by phase, which sum to it."""

    forward_s: float
    backward_s: float
    update_s: float
    beside_s: Figure = None
    """Forwards of models beside the one that is trained."""


@dataclass(frozen=True)
class Stage:
    """Memory of a pipeline rank."""

    stage: int
    peak_bytes: int
    parts: typing.Dict[str, int]


@dataclass(frozen=True)
class Store:
    """What a node keeps on its host or its drives."""

    node_bytes: int
    capacity_bytes: typing.Optional[int]
    parts: typing.Dict[str, int]


@dataclass(frozen=True)
class Pages:
    """A paged optimizer's state."""

    moved_bytes: int
    left_bytes: int


@dataclass(frozen=True)
class Memory:
    """Memory of the fullest device; its parts sum to the peak."""

    capacity_bytes: int
    peak_bytes: int
    spare_bytes: int
    """Negative where it does not fit."""
    p_fits: float
    """The chance that it fits."""
    parts: typing.Dict[str, int]
    stages: typing.List[Stage]
    host: typing.Optional[Store] = None
    drives: typing.Optional[Store] = None
    pages: typing.Optional[Pages] = None
    experts: typing.Optional[typing.Dict[str, int]] = None
    """The experts' share of weights, gradients and optimizer state."""


@dataclass(frozen=True)
class Level:
    """What a device sends into a level of the network."""

    level: str
    bytes_per_device: int
    busy_s: float


@dataclass(frozen=True)
class Copies:
    """What a device copies over its host link, one way."""

    bytes_per_device: int
    busy_s: float


@dataclass(frozen=True)
class HostLink:
    """Both ways of the host link."""

    to_host: Copies
    from_host: Copies


@dataclass(frozen=True)
class Bottleneck:
    """What limits the step."""

    resource: str
    elasticity: typing.Dict[str, float]
    """By how many percent throughput rises for one percent more of each."""
    host: typing.Optional[str] = None


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on the file system."""

    bytes: typing.Optional[int]
    write_s: Figure
    interval_s: Figure


@dataclass(frozen=True)
class Training:
    """The whole training."""

    tokens: float
    days: Figure
    device_hours: Figure
    cost: Figure
    currency: typing.Optional[str]
    energy_j: Figure
    goodput: Figure
    days_with_failures: Figure
    cost_with_failures: Figure
    energy_with_failures_j: Figure
    checkpoint: Checkpoint
    energy_kwh: Figure = None


@dataclass(frozen=True)
class StepPhase:
    """A phase of a step of post-training: the update, models that are passed forward alone, or a rollout."""

    name: str
    lane: str
    seconds: Figure
    peak_bytes: int
    """The most memory that a device has in use meanwhile."""
    host_bytes: int


@dataclass(frozen=True)
class Engine:
    """The engine that writes answers, on one of its devices."""

    count: int
    devices: int
    share_bytes: int
    weights_bytes: int
    workspace_bytes: int
    sequence_bytes: int
    """Keys and values of a sequence of the plan's length."""
    asleep_bytes: int


@dataclass(frozen=True)
class PostTraining:
    """A step of post-training, by its phases and for each example."""

    method: str
    reference: typing.Optional[str]
    teacher: typing.Optional[str]
    phases: typing.List[StepPhase]
    samples_per_step: Figure
    samples_per_h: Figure
    seconds_per_sample: Figure
    epoch_s: Figure
    ahead_s: Figure
    """The pass ahead of the training, over as many examples as a step has."""
    critic: typing.Optional[str] = None
    reward_model: typing.Optional[str] = None
    prompts_per_step: Figure = None
    answers_per_step: Figure = None
    updates_per_step: Figure = None
    slots: Figure = None
    """Sequences that an engine writes at once."""
    cache_bytes: Figure = None
    cache_sequences: Figure = None
    """Sequences of the plan's length that the cache holds."""
    engine: typing.Optional[Engine] = None


@dataclass(frozen=True)
class Evaluation:
    """Everything about one scenario."""

    fits: bool
    step_time_s: Figure
    """`None` where the model writes its answers: rollouts are not timed."""
    tokens_per_s_per_device: Figure
    tokens_per_s: Figure
    parameters: Parameters
    batch: Batch
    model_tflops_per_device: float
    hardware_tflops_per_device: float
    mfu: float
    hfu: float
    error_band: typing.Optional[ErrorBand]
    time: Time
    phases: Phases
    memory: Memory
    traffic: typing.List[Level]
    bottleneck: Bottleneck
    training: typing.Optional[Training]
    caveats: typing.List[str]
    unknown: typing.List[Record]
    """What an import did not understand: tool, file, line, key and value of each."""
    scenario: Record
    intensities: typing.List[Record]
    command: typing.Optional[str]
    """The command line that gives this evaluation."""
    runs_in: typing.List[str]
    """The launchers that run the plan as planned."""
    format: int
    collectives: typing.Optional[typing.List[Record]] = None
    host_link: typing.Optional[HostLink] = None
    setbacks: typing.Optional[typing.List[str]] = None
    layers: typing.Optional[typing.List[Record]] = None
    post_training: typing.Optional[PostTraining] = None
    published: typing.Optional[Record] = None
    command_note: typing.Optional[str] = None

    def to_dict(self) -> Record:
        """The figures as JSON has them."""
        return {name: _written(one) for name, one in _said(self)}


def _said(of: typing.Any) -> typing.Iterator[tuple[str, typing.Any]]:
    """The fields of a record, less those that are not said: they have a default, and have it."""
    for field in fields(of):
        value = getattr(of, field.name)
        if value is not None or field.default is not None:
            yield field.name, value


def _written(value: typing.Any) -> typing.Any:
    if is_dataclass(value):
        return {name: _written(one) for name, one in _said(value)}
    if isinstance(value, list):
        return [_written(one) for one in value]
    return value


T = typing.TypeVar("T")


def read(kind: type[T], document: Record) -> T:
    """A document of JSON as the record that it is."""
    hints = typing.get_type_hints(kind)
    return kind(**{name: _typed(hints[name], one) for name, one in document.items()})


def _typed(hint: typing.Any, value: typing.Any) -> typing.Any:
    if value is None:
        return None
    if typing.get_origin(hint) is typing.Union:
        return _typed(next(one for one in typing.get_args(hint) if one is not type(None)), value)
    if typing.get_origin(hint) is list:
        return [_typed(typing.get_args(hint)[0], one) for one in value]
    return read(hint, value) if isinstance(hint, type) and is_dataclass(hint) else value
