"""Studies of a small task, and results that are made up: nothing need be trained to see what a study does with them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ordinate.results.run_result import EvaluationRow, Norms, RunResult
from ordinate.store import Store
from ordinate.studies.executor import Event, EventWatch
from ordinate.studies.plan import Study, plan
from ordinate.studies.study_state import StudyState
from ordinate.training import RunConfig

TASK = "k_back(k=1,vocabulary=4)"
LOSS_TASK = "markers"
SETTINGS: dict[str, Any] = dict(
    dim=16, heads=2, layers=1, steps=20, batch=8, train_lengths=[4, 8], ood_lengths=[12], evaluation_sequences=40
)  # runs of a quarter of a second
ENCODINGS = "rope,learned(rows=8)"  # the second cannot go where none was trained
SWEPT: dict[str, Any] = dict(seeds=2, rates=[0.01, 0.03])  # a grid that has to grow once
SIX = ("alibi", "fire", "none", "rope", "sinusoidal", "t5")

_planned: dict[str, Study] = {}  # planning tries every model once, which takes a while

Make = Callable[[RunConfig], RunResult | None]


def study(encodings: str | Sequence[str] = "rope,alibi", tasks: str = TASK, **options: Any) -> Study:
    """`fixed=True`: one learning rate for all, so that there is no sweep."""
    settings = SETTINGS | ({"lr": 0.01} if options.pop("fixed", False) else {}) | options.pop("settings", {})
    key = repr((encodings, tasks, settings, options))
    if key not in _planned:
        _planned[key] = plan(tasks, encodings, settings=settings, **options)
    return _planned[key]


def result(
    valid: float = 1.0,
    *,
    loss: float = 0.1,
    inside: float | None = 1.0,
    outside: float | None = 1.0,
    loss_error: float = 0.0,
    metric: str = "accuracy",
    status: str = "finished",
    norms: tuple[float, float] = (1.0, 1.0),
    seen: float = 0.0,
    problems: str = "the same",
    learned_at: int | None = 10,
) -> RunResult:
    """A result with one validation set, one in distribution and one out of distribution."""
    told = status == "finished"
    rows = [
        EvaluationRow(
            split=split, length=length, score=score if told else None, loss=loss if told else None, accuracy=None,
            exact=None, loss_error=loss_error, chance=0.25, majority=0.25, position_only=0.25, bag_of_tokens=0.25,
            floor=0.25, sequences=1000, hash=problems, seen=seen, groups={},
        )
        for split, length, score in (("valid", 8, valid), ("id", 8, inside), ("ood", 12, outside))
    ]  # fmt: skip
    return RunResult(
        run="0" * 12, task=TASK, status=status, metric=metric, direction="lower" if metric == "loss" else "higher",
        bar=None if metric == "loss" else 0.95, evaluation=tuple(rows), steps=20,
        learned_at=learned_at if told and metric != "loss" else None, norms=Norms(*norms), parameters=0,
        encoding_parameters=0, records=(), memory=None, seconds=0.0,
    )  # fmt: skip


def pretend(monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    """Let every study find these results in its store."""
    monkeypatch.setattr(StudyState, "result", lambda self, config: make(config))


def state_of(asked: Study) -> StudyState:
    """A study whose store holds nothing, nor is looked into."""
    return StudyState(asked, Store(Path("nowhere")))


class Pretend:
    """An executor that makes results up, once a run is asked for. Runs that `fails` names end with an error."""

    workers_wanted, stopping = 0, False

    def __init__(self, make: Make, fails: Callable[[RunConfig], bool] = lambda config: False) -> None:
        self.make, self.fails = make, fails
        self.batches: list[list[RunConfig]] = []
        self.done: dict[str, RunResult | None] = {}

    def run(self, configs: Sequence[RunConfig], watch: EventWatch) -> dict[str, str]:
        self.batches.append(list(configs))
        failures = {config.id: "out of luck" for config in configs if self.fails(config)}
        for config in configs:
            if config.id not in failures:
                assert config.id not in self.done  # nothing is asked for twice
                self.done[config.id] = self.make(config)
                watch(Event("done", config))
        return failures

    def result(self, config: RunConfig) -> RunResult | None:
        return self.done.get(config.id)

    def close(self) -> None:
        pass
