"""A comparison of encodings: its analysis, and all that is needed to show it."""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ordinate.core.extras import optional
from ordinate.results.run_result import Machine, Status
from ordinate.statistics.observations import RangeKey
from ordinate.statistics.sentences import verdicts
from ordinate.statistics.types import Analysis

if TYPE_CHECKING:
    from pandas import DataFrame

Settings = dict[str, object]  # plain JSON data


@dataclass(frozen=True)
class RatePoint:
    """One learning rate tried on the pilot seed."""

    rate: float
    score: float | None  # on the validation set; None: diverged
    loss: float | None
    outside: dict[RangeKey, float | None]  # scores out of distribution, shown but never used to choose
    error: float = 0.0  # standard error of the validation score


@dataclass(frozen=True)
class Sweep:
    """The learning rates of one encoding on one task: all that were tried, and those that its reported runs use."""

    task: str
    encoding: str
    points: tuple[RatePoint, ...]  # by rate
    tied: tuple[float, ...]  # within one standard error of the best
    chosen: float  # the middle of the tied rates around the best: the grid grows on its side
    at_edge: bool  # no tied rate is interior and the grid may not grow further

    @property
    def used(self) -> tuple[float, ...]:
        """The tied rates, which are dealt out over the reported seeds."""
        return self.tied or (self.chosen,)


@dataclass(frozen=True)
class Curve:
    """The learning curve of one reported run, in the task's metric on the validation set."""

    task: str
    encoding: str
    seed: int
    steps: tuple[int, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Profile:
    """What an encoding costs on one task, and how far it goes."""

    task: str
    encoding: str
    extrapolation: str  # past the trained length: computes, extends, clips, untrained or refuses
    max_positions: int | None  # the first position that it cannot encode; None: no limit
    parameters: int
    own_parameters: int  # the encoding's
    step_ms: float  # mean over runs, validation included
    memory: int | None  # bytes: weights, gradients, optimizer and what one step keeps for the backward pass
    rates: tuple[float, ...]  # learning rates, dealt out over the reported seeds
    embedding_norm: float
    encoding_norm: float  # how much the encoding changes embeddings at the start
    attention: Path | None  # a safetensors file: layer_0, layer_1, ... [example, head, query, key], tokens, targets
    probe: Path | None = None  # what probes found of one run, if it was probed


@dataclass(frozen=True)
class ComparedRun:
    run: str
    task: str
    encoding: str
    seed: int
    rate: float
    pilot: bool  # its seed chooses learning rates and is never reported
    state: Status | Literal["not started", "running", "interrupted", "failed", "damaged", "done"]
    seconds: float | None  # None: not finished
    started: str | None = None  # local time of its machine: 2026-01-31 23:59:59; None: not known


@dataclass(frozen=True)
class Comparison:
    """Tasks by encodings by seeds."""

    id: str
    command: str  # that makes it again
    metrics: dict[str, str]  # task: accuracy, exact or loss
    trained: dict[str, tuple[int, int]]  # task: shortest and longest trained length
    analysis: Analysis
    sweeps: tuple[Sweep, ...]
    curves: tuple[Curve, ...]
    profiles: tuple[Profile, ...]
    settings: dict[str, Settings]  # task: the configuration that all its runs share
    runs: tuple[ComparedRun, ...]
    machine: Machine | None  # of the first run; None: not known
    failures: dict[str, str]  # run: its error
    title: str = ""  # the name that it was given, or the study and part that it belongs to
    note: str = ""  # of the user's

    @property
    def table(self) -> "DataFrame":
        """One row for each task, range and encoding, with word, mean, interval and floor."""
        table: DataFrame = optional("pandas").DataFrame(self.analysis.records())
        return table

    def __str__(self) -> str:
        """The verdicts, one sentence a line."""
        return "\n".join(verdicts(self.analysis))


def from_results(analysis: Analysis, path: Path) -> Comparison:
    """The comparison of a file of results, which has no curves, sweeps, costs or settings."""
    digest = hashlib.sha256()
    for record in analysis.each_record():
        digest.update(repr(record).encode("utf-8", "backslashreplace"))
    inside = {task.task: [r.length for r in task.ranges if r.split == "id"] for task in analysis.tasks if task.trained}
    trained = {task: (min(lengths), max(lengths)) for task, lengths in inside.items()}
    return Comparison(
        id=digest.hexdigest()[:12], command=shlex.join(["ordinate", "analyze", str(path)]),
        metrics={task.task: "loss" if task.direction == "lower" else "score" for task in analysis.tasks},
        trained=trained, analysis=analysis, sweeps=(), curves=(), profiles=(), settings={}, runs=(), machine=None,
        failures={},
    )  # fmt: skip
