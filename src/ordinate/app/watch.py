"""A comparison under way, read from its store: each look reads only what is new."""

import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

from ordinate.results.comparison import Curve
from ordinate.results.run_result import Record
from ordinate.results.serialize import read
from ordinate.store import Store
from ordinate.studies.plan import PILOT, Study
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
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
                record = read(Record, json.loads(line), "record")
            except ValueError:
                continue  # the run reports its own damage
            self.points.setdefault((record.split, record.metric), []).append((record.step, record.value))

    @property
    def step(self) -> int:
        return max((points[-1][0] for points in self.points.values()), default=0)


@dataclass(frozen=True)
class RunProgress:
    """One run of the comparison: how far it is."""

    run: str
    task: str
    encoding: str
    seed: int
    rate: float
    state: str  # waiting, running, interrupted, failed, damaged, done, diverged
    step: int
    of: int
    validation: float | None
    seconds: float | None


@dataclass(frozen=True)
class Snapshot:
    """What a look found."""

    stage: str
    runs: tuple[RunProgress, ...]
    curves: tuple[Curve, ...]

    def count(self, state: str) -> int:
        return sum(run.state == state for run in self.runs)


class Watched:
    """One comparison, and all that was read of it."""

    def __init__(self, study: Study, store: Store) -> None:
        self.state, self.store = StudyState(study, store), store
        self.readers: dict[str, JournalReader] = {}
        self.lock = Lock()
        self.metrics = {task: base.make_task().metric for task, _, base in study.bases}

    def look(self) -> Snapshot:
        """How far it is now. Two tabs may call this at once."""
        names = {(b.task, b.model.encoding): (task, encoding) for task, encoding, b in self.state.study.bases}
        rows, curves = [], []
        with self.lock:
            self.state.failed = dict(self.state.damaged)  # runs that failed may be tried again, these are not
            stage = next_stage(self.state)
            for config in stage.runs:
                task, encoding = names[config.task, config.model.encoding]
                rows.append(self._progress(config, task, encoding))
                if config.seed != PILOT:
                    curves.append(self._curve(config, task, encoding))
        return Snapshot(stage.name, tuple(rows), tuple(curves))

    def _points(self, config: RunConfig, metric: str) -> Sequence[tuple[int, float | None]]:
        reader = self.readers.setdefault(config.id, JournalReader())
        reader.read(self.store, config.id)
        return reader.points.get(("valid", metric), [])

    def _progress(self, config: RunConfig, task: str, encoding: str) -> RunProgress:
        about = config.id, task, encoding, config.seed, config.lr
        result = self.state.result(config)
        if result is not None:
            state = "diverged" if result.diverged else "done"
            return RunProgress(*about, state, result.steps, result.steps, result.valid.score, result.seconds)
        run = self.store.run(config.id)
        state = "waiting" if not run.folder.exists() else "damaged" if config.id in self.state.damaged else run.state
        points = self._points(config, self.metrics[task]) if state != "waiting" else []
        at = self.readers[config.id].step if config.id in self.readers else 0
        return RunProgress(*about, state, at, config.steps, points[-1][1] if points else None, None)

    def _curve(self, config: RunConfig, task: str, encoding: str) -> Curve:
        result = self.state.result(config)
        if result is not None:
            points = [(r.step, r.value) for r in result.learning_curve]
        else:
            points = list(self._points(config, self.metrics[task]))
        return Curve(task, encoding, config.seed, tuple(p[0] for p in points), tuple(p[1] for p in points))


@cache
def freeze_garbage() -> None:
    """Streamlit collects garbage after every run of its script and visits all objects of torch each time. Freezing what
    is loaded by now halves the cost of watching a comparison."""
    gc.collect()
    gc.freeze()
