"""A comparison under way, read from its store: each look reads only what is new."""

import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

from ordinate.store import Store
from ordinate.studies.comparison import Curve
from ordinate.studies.plan import PILOT, Study
from ordinate.studies.stages import next_stage
from ordinate.studies.state import State
from ordinate.training import RunConfig

EVERY = 2.0  # seconds between looks at what is under way


@dataclass
class JournalReader:
    """The journal of one run, as far as it was read."""

    at: int = 0
    points: dict[tuple[str, str], list[tuple[int, float | None]]] = field(default_factory=dict)  # split, metric

    def read(self, store: Store, run_id: str) -> None:
        """Take in the lines that were added; a run that began again is read from its start."""
        path = store.run(run_id).journal.path
        try:
            size = path.stat().st_size
            if size < self.at:
                self.at, self.points = 0, {}
            if size == self.at:
                return
            with open(path, "rb") as file:
                file.seek(self.at)
                new = file.read(size - self.at)
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self.at += len(whole)
        for line in whole.splitlines():
            try:
                record = json.loads(line)
                key = (record["split"], record["metric"])
                self.points.setdefault(key, []).append((int(record["step"]), record["value"]))
            except (ValueError, KeyError, TypeError):
                continue  # the run itself will say what is wrong with it

    @property
    def step(self) -> int:
        return max((points[-1][0] for points in self.points.values()), default=0)


@dataclass(frozen=True)
class Snapshot:
    """What a look found."""

    stage: str
    runs: tuple[dict[str, Any], ...]  # run, task, encoding, seed, rate, state, step, of, validation, seconds
    curves: tuple[Curve, ...]

    def count(self, state: str) -> int:
        return sum(run["state"] == state for run in self.runs)


class Watched:
    """One comparison, and all that was read of it."""

    def __init__(self, study: Study, store: Store) -> None:
        self.state, self.store = State(study, store), store
        self.readers: dict[str, JournalReader] = {}
        self.lock = Lock()
        self.metrics = {task: base.make_task().metric for task, _, base in study.bases}

    def look(self) -> Snapshot:
        """How far it is now. Two tabs may ask at once."""
        with self.lock:
            return self._look()

    def _look(self) -> Snapshot:
        self.state.failed = dict(self.state.damaged)  # runs that failed may be tried again, these are not
        stage = next_stage(self.state)
        named = {self._key(base): (task, encoding) for task, encoding, base in self.state.study.bases}
        rows, curves = [], []
        for config in stage.runs:
            task, encoding = named[self._key(config)]
            row = {"run": config.id, "task": task, "encoding": encoding, "seed": config.seed, "rate": config.lr}
            rows.append(row | self._progress(config, self.metrics[task]))
            if config.seed != PILOT:
                curves.append(self._curve(config, task, encoding))
        return Snapshot(stage.name, tuple(rows), tuple(curves))

    @staticmethod
    def _key(config: RunConfig) -> tuple[str, Any]:
        return config.task, config.model.encoding

    def _points(self, config: RunConfig, metric: str) -> Sequence[tuple[int, float | None]]:
        reader = self.readers.setdefault(config.id, JournalReader())
        reader.read(self.store, config.id)
        return reader.points.get(("valid", metric), [])

    def _progress(self, config: RunConfig, metric: str) -> dict[str, Any]:
        result = self.state.result(config)
        if result is not None:
            state = "done" if result["status"] == "finished" else result["status"]
            score = next((row["score"] for row in result["evaluation"] if row["split"] == "valid"), None)
            seconds = result["timing"]["seconds"]
            return {
                "state": state,
                "step": result["steps"],
                "of": result["steps"],
                "validation": score,
                "seconds": seconds,
            }
        run = self.store.run(config.id)
        state = "waiting" if not run.folder.exists() else "damaged" if config.id in self.state.damaged else run.state
        points = self._points(config, metric) if state != "waiting" else []
        at = self.readers[config.id].step if config.id in self.readers else 0
        score = points[-1][1] if points else None
        return {"state": state, "step": at, "of": config.steps, "validation": score, "seconds": None}

    def _curve(self, config: RunConfig, task: str, encoding: str) -> Curve:
        result = self.state.result(config)
        if result is not None:
            kept = [r for r in result["records"] if r["split"] == "valid" and r["metric"] == result["metric"]]
            points = [(r["step"], r["value"]) for r in kept]
        else:
            points = list(self._points(config, self.metrics[task]))
        return Curve(task, encoding, config.seed, tuple(p[0] for p in points), tuple(p[1] for p in points))


@cache
def freeze_garbage() -> None:
    """Streamlit collects garbage after every run of its script and visits all objects of torch each time. Freezing what
    is loaded by now halves the cost of watching a comparison."""
    gc.collect()
    gc.freeze()
