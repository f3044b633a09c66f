"""What is raised, with every problem's field, what is wrong and how to fix it."""

from __future__ import annotations

import typing
from dataclasses import dataclass

if typing.TYPE_CHECKING:
    from ._native import Scenario
    from ._figures import Evaluation


@dataclass(frozen=True)
class Problem:
    """Something that cannot be, and how to fix it."""

    field: str
    """The keyword of the field, or a place in a file; empty where it is the whole."""
    what: str
    """What is wrong."""
    fix: str
    """How to fix it; empty where `what` says it."""

    def __str__(self) -> str:
        colon = f"{self.field}: " if self.field else ""
        return f"{colon}{self.what}{f'; {self.fix}' if self.fix else ''}"


class Error(ValueError):
    """A scenario, a file or a question that cannot be. Its text is what the program would print."""

    problems: tuple[Problem, ...]
    """All that is wrong."""

    def __init__(self, problems: typing.Iterable[tuple[str, str, str]]) -> None:
        self.problems = tuple(Problem(*problem) for problem in problems)
        super().__init__("\n".join(map(str, self.problems)))


class DoesNotFit(Error):
    """A job whose memory does not fit safely, raised by `check`."""

    evaluation: Evaluation
    """Its figures."""
    ways: dict[str, Scenario]
    """Single changes with each of which it fits safely, in words, and the scenarios with them."""

    def __init__(self, evaluation: Evaluation, least: float, ways: dict[str, Scenario]) -> None:
        self.evaluation, self.ways = evaluation, ways
        memory = evaluation.memory
        gib = 2.0**30
        peak = f"needs {memory.peak_bytes / gib:.1f} GiB of {memory.capacity_bytes / gib:.1f} GiB"
        what = f"a device {peak}, P(fits) {memory.p_fits:.0%} where {least:.0%} is safe"
        fix = f"it would fit with {' or '.join(ways)}" if ways else "no single change makes it fit"
        super().__init__([("", what, fix)])
