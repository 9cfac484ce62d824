"""What a published table can state of a run, and how to read the same from ours."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ordinate.core.errors import InputError, nearest
from ordinate.results.run_result import EvaluationRow, RunResult

ALL_RIGHT = 0.995  # an accuracy that is printed as 100 %


@dataclass(frozen=True)
class Measure:
    """One number of a run. `margin` is the difference that a reader of the table would not mind."""

    name: str
    title: str
    read: Callable[[RunResult], float | None]
    form: str = ".3f"
    margin: float = 0.02
    relative: bool = False  # the margin is a share of the published number
    share: bool = False  # it lies between 0 and 1
    by_machine: bool = False  # it depends on the machine and its load: shown beside a published one, not judged by it

    def tolerance(self, published: float) -> float:
        return self.margin * abs(published) if self.relative else self.margin


def _inside(field: str) -> Callable[[RunResult], float | None]:
    return lambda result: _number(result.in_distribution, field)


def _beyond(field: str) -> Callable[[RunResult], float | None]:
    return lambda result: _number(result.headline, field)


def _number(row: EvaluationRow, field: str) -> float | None:
    value: float | None = getattr(row, field)
    return value


def _first_perfect(result: RunResult) -> float | None:
    """The first step at which a validation check finds all answers right; infinite if none does."""
    steps = [r.step for r in result.learning_curve if r.value is not None and r.value >= ALL_RIGHT]
    return float(min(steps)) if steps else math.inf


def _first_learned(result: RunResult) -> float | None:
    """The first of two validation checks in a row at the task's bar; infinite if there are none."""
    return math.inf if result.learned_at is None else float(result.learned_at)


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("accuracy", "accuracy in distribution, all tokens", _inside("accuracy"), share=True),
        Measure("ood accuracy", "accuracy out of distribution, all tokens", _beyond("accuracy"), share=True),
        Measure("score", "score in distribution", _inside("score")),
        Measure("ood score", "score out of distribution", _beyond("score")),
        Measure("loss", "loss in distribution", _inside("loss")),
        Measure("ood loss", "loss out of distribution", _beyond("loss")),
        Measure("first perfect", "first validation check at 99.5 %, step", _first_perfect, ".0f", 0.5, relative=True),
        Measure("first learned", "first of two checks at the bar, step", _first_learned, ".0f", 0.5, relative=True),
        Measure("parameters", "parameters", lambda result: float(result.parameters), ",.0f", 0.02, relative=True),
        Measure("minutes", "minutes", lambda result: result.seconds / 60, ".1f", by_machine=True),
    )
}


def find(name: str) -> Measure:
    """The measure of this name; `loss@63` is the validation loss after 63 steps, read from the learning curve."""
    metric, at, step = name.partition("@")
    if at and metric in ("loss", "accuracy") and step.isdecimal():
        return Measure(name, f"validation {metric} after {int(step):,} steps", _at_step(metric, int(step)))
    if name not in MEASURES:
        raise InputError(f"no measure {name!r}: {nearest(name, [*MEASURES, 'loss@STEP', 'accuracy@STEP'])}")
    return MEASURES[name]


def _at_step(metric: str, step: int) -> Callable[[RunResult], float | None]:
    def read(result: RunResult) -> float | None:
        values = {r.step: r.value for r in result.records if r.split == "valid" and r.metric == metric}
        return values.get(step)

    return read
