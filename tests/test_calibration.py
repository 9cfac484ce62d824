"""The table of what encodings do on every task at its defaults is up to date, and the tasks are calibrated."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ordinate import tasks

DOCS = Path(__file__).parents[1] / "docs"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibration", DOCS / "calibration.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CALIBRATION = load()
ROWS: list[dict[str, Any]] = json.loads(CALIBRATION.RUNS.read_text())


def test_the_page_is_written_from_the_kept_runs() -> None:
    assert CALIBRATION.page() == CALIBRATION.PAGE.read_text()


def _rows(name: str) -> list[dict[str, Any]]:
    """The stored runs of a task. A new task has none until `docs/calibration.py` has stored them."""
    rows = [row for row in ROWS if row["task"] == name]
    if not rows:
        pytest.skip(f"no runs of {name} are stored: it is not calibrated yet")
    return rows


def test_the_calibrated_tasks_exist() -> None:
    calibrated = {row["task"] for row in ROWS}
    assert len(calibrated) >= 8 and calibrated <= set(tasks.names())


@pytest.mark.parametrize("name", tasks.names())
def test_the_runs_are_those_of_todays_defaults(name: str) -> None:
    """A run is named by all of its settings: another budget, length or width would be another run."""
    rows = _rows(name)
    present = {row["encoding"] for row in rows}
    assert present <= set(CALIBRATION.wanted(name))
    assert {(row["encoding"], row["seed"]) for row in rows} == {(e, s) for e in present for s in CALIBRATION.SEEDS}
    for row in rows:
        asked = {key: row[key] for key in ("task", "encoding", "seed", "lr")}
        assert CALIBRATION.default(**asked) == row["run"], f"{name} with {row['encoding']}: run the comparison again"


@pytest.mark.parametrize("name", tasks.names())
def test_some_encoding_learns_each_task_in_every_seed(name: str) -> None:
    task = tasks.create(name)
    if task.metric == "loss" or task.control:
        return
    longest = task.train_lengths[1]
    learned: dict[str, list[bool]] = {}
    for row in _rows(name):
        score = next(score for split, length, score in row["scores"] if (split, length) == ("id", longest))
        learned.setdefault(row["encoding"], []).append(score >= task.bar)
    assert any(len(seeds) == 3 and all(seeds) for seeds in learned.values()), learned
