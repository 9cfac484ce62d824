"""A comparison under way, read from its store: each look reads only what is new."""

import gc
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

from ordinate.app.pace import pace
from ordinate.results.comparison import Curve
from ordinate.results.run_result import Record
from ordinate.results.serialize import read
from ordinate.store import Store
from ordinate.studies.local import usable_cores
from ordinate.studies.plan import PILOT, Study
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
from ordinate.studies.time_left import EARLY, RunAhead, TimeRange, time_left
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
    """What a look found. Curves are of pilots while learning rates are chosen, and of reported seeds after that."""

    stage: str
    pilot: bool
    runs: tuple[RunProgress, ...]
    curves: tuple[Curve, ...]  # validation, in the task's metric
    losses: tuple[Curve, ...]  # training
    under_way: frozenset[str]  # ids of running runs
    share: float  # of the steps of all runs, those to come among them
    left: TimeRange | None  # None: not known yet
    left_under_way: TimeRange | None  # of the runs under way alone

    def count(self, state: str) -> int:
        return sum(run.state == state for run in self.runs)

    def running(self, curves: Sequence[Curve]) -> list[Curve]:
        """The curves, one for each of the runs that are drawn, of those under way."""
        return [curve for curve, run in zip(curves, self.drawn, strict=True) if run.run in self.under_way]

    @property
    def drawn(self) -> list[RunProgress]:
        """The runs whose curves are shown."""
        return [run for run in self.runs if (run.seed == PILOT) == self.pilot]


class Watched:
    """One comparison, and all that was read of it."""

    def __init__(self, study: Study, store: Store) -> None:
        self.state, self.store = StudyState(study, store), store
        self.readers: dict[str, JournalReader] = {}
        self.lock = Lock()
        self.metrics = {task: base.make_task().metric for task, _, base in study.bases}
        self.last: tuple[float, Snapshot] | None = None

    def recent(self) -> Snapshot:
        """A look that is at most a second old: a page may show one comparison twice."""
        if self.last is None or time.monotonic() - self.last[0] > EVERY / 2:
            self.last = time.monotonic(), self.look()
        return self.last[1]

    def look(self) -> Snapshot:
        """How far it is now. Two tabs may call this at once."""
        names = {(b.task, b.model.encoding): (task, encoding) for task, encoding, b in self.state.study.bases}
        with self.lock:
            self.state.failed = dict(self.state.damaged)  # runs that failed may be tried again, these are not
            stage = next_stage(self.state)
            pilot = bool(stage.runs) and all(config.seed == PILOT for config in stage.runs)
            rows, curves, losses = [], [], []
            for config in stage.runs:
                task, encoding = names[config.task, config.model.encoding]
                rows.append(self._progress(config, task, encoding))
                if (config.seed == PILOT) == pilot:
                    curves.append(self._curve(config, task, encoding))
                    losses.append(self._losses(config, task, encoding))
            under_way = [row for row in rows if row.state == "running"]
            steps, planned = sum(row.step for row in rows), sum(row.of for row in rows) + self._steps_to_come(pilot)
            paces = self._paces(rows)
            ahead, now = self._ahead(rows, pilot), self._ahead(under_way, pilot=False)
        return Snapshot(
            stage.name, pilot, tuple(rows), tuple(curves), tuple(losses), frozenset(row.run for row in under_way),
            1.0 if not stage.missing else steps / max(1, planned),
            time_left(ahead, paces, len(under_way) or len(usable_cores())), time_left(now, paces, len(under_way)),
        )  # fmt: skip

    def _steps_to_come(self, pilot: bool) -> int:
        """Of the reported seeds, which are not planned before learning rates are chosen."""
        return sum(base.steps for *_, base in self.state.study.bases) * self.state.looks.sizes[0] if pilot else 0

    def _paces(self, rows: Sequence[RunProgress]) -> dict[str, list[float]]:
        """Seconds per step of each encoding, in the runs that are done and under way."""
        found: dict[str, list[float]] = {}
        for row in rows:
            seconds = row.seconds / max(1, row.step) if row.seconds is not None else None
            if row.state == "running":
                seconds = pace(self.store.run(row.run), row.step)
            if seconds is not None:
                found.setdefault(row.encoding, []).append(seconds)
        return found

    def _ahead(self, rows: Sequence[RunProgress], pilot: bool) -> list[RunAhead]:
        """The runs that are not done, and what they take if they learn as early as the finished ones."""
        ended: dict[tuple[str, str], list[int]] = {}
        for row in rows:
            if row.state in ("done", "diverged") and row.seed != PILOT:
                ended.setdefault((row.task, row.encoding), []).append(row.step)

        def ahead(task: str, encoding: str, step: int, steps: int, fixed: bool) -> RunAhead:
            own = ended.get((task, encoding))
            likely = steps if fixed else round(sum(own) / len(own)) if own else round(EARLY * steps)
            return RunAhead(encoding, step, steps, likely)

        fixed = {(task, encoding): base.budget == "fixed" for task, encoding, base in self.state.study.bases}
        found = [
            ahead(row.task, row.encoding, row.step, row.of, fixed[row.task, row.encoding])
            for row in rows
            if row.state in ("waiting", "running", "interrupted")
        ]
        seeds = self.state.looks.sizes[0] if pilot else 0
        for task, encoding, base in self.state.study.bases:
            found += [ahead(task, encoding, 0, base.steps, fixed[task, encoding])] * seeds
        return found

    def _reader(self, config: RunConfig) -> JournalReader:
        reader = self.readers.setdefault(config.id, JournalReader())
        reader.read(self.store, config.id)
        return reader

    def _progress(self, config: RunConfig, task: str, encoding: str) -> RunProgress:
        about = config.id, task, encoding, config.seed, config.lr
        result = self.state.result(config)
        if result is not None:
            state = "diverged" if result.diverged else "done"
            return RunProgress(*about, state, result.steps, result.steps, result.valid.score, result.seconds)
        run = self.store.run(config.id)
        state = "waiting" if not run.folder.exists() else "damaged" if config.id in self.state.damaged else run.state
        if state == "waiting":
            return RunProgress(*about, state, 0, config.steps, None, None)
        reader = self._reader(config)
        points = reader.points.get(("valid", self.metrics[task]), [])
        return RunProgress(*about, state, reader.step, config.steps, points[-1][1] if points else None, None)

    def _curve(self, config: RunConfig, task: str, encoding: str) -> Curve:
        result = self.state.result(config)
        if result is not None:
            points = [(r.step, r.value) for r in result.learning_curve]
        else:
            points = self._reader(config).points.get(("valid", self.metrics[task]), [])
        return _curve_of(config, task, encoding, points)

    def _losses(self, config: RunConfig, task: str, encoding: str) -> Curve:
        return _curve_of(config, task, encoding, self._reader(config).points.get(("train", "loss"), []))


def _curve_of(config: RunConfig, task: str, encoding: str, points: Sequence[tuple[int, float | None]]) -> Curve:
    return Curve(task, encoding, config.seed, tuple(step for step, _ in points), tuple(value for _, value in points))


@cache
def freeze_garbage() -> None:
    """Streamlit collects garbage after every run of its script and visits all objects of torch each time. Freezing what
    is loaded by now halves the cost of watching a comparison."""
    gc.collect()
    gc.freeze()
