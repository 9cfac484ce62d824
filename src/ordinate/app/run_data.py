"""One run as read from its folder, with a sentence for each file that cannot be read."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

import streamlit as st

from ordinate.app.pace import pace
from ordinate.app.watch import JournalReader
from ordinate.core.errors import InputError
from ordinate.report.run_figures import Points
from ordinate.results.run_result import Record, RunResult, StoredConfig
from ordinate.results.run_summary import ShownState
from ordinate.store import Run, Store

T = TypeVar("T")


@dataclass(frozen=True)
class RunFacts:
    """What a page shows of a run."""

    run: Run
    state: ShownState
    config: StoredConfig | None  # None: damaged
    result: RunResult | None  # None: not done, or damaged
    points: Points
    pace: float | None  # seconds that a step takes; none: not known
    problems: tuple[str, ...]

    @property
    def step(self) -> int:
        return _step(self.points)


def read(run: Run) -> RunFacts:
    """The present state of a run. Damaged files become `problems`, not errors."""
    problems: list[str] = []
    state: ShownState = run.state
    config = _part(lambda: run.config, problems)
    result = _part(lambda: run.result, problems) if state == "done" and config else None
    points = _points(run, result, state, problems)
    if result is not None:
        state = "diverged" if result.diverged else "done"
    elif state == "done" or not config:
        state = "damaged"
    seconds_per_step = result.seconds / max(1, result.steps) if result is not None else None
    if state == "running":
        seconds_per_step = pace(run, _step(points))
    return RunFacts(run, state, config, result, points, seconds_per_step, tuple(dict.fromkeys(problems)))


def _part(read_part: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return read_part()
    except InputError as error:
        problems.append(str(error))
        return None


def _step(points: Points) -> int:
    return max((line[-1][0] for line in points.values() if line), default=0)


def _points(run: Run, result: RunResult | None, state: str, problems: list[str]) -> Points:
    """The journal; of a run that is under way only what is new. A store without journals has curves in its results."""
    try:
        if state == "running":
            return _growing(run)
        found = run.journal.path.stat()
        return _whole(run.journal.path, found.st_mtime_ns, found.st_size)
    except FileNotFoundError:
        pass
    except (InputError, OSError) as error:
        problems.append(str(error))
    return _sorted(result.records) if result is not None else {}


def _sorted(records: Iterable[Record]) -> Points:
    points: dict[tuple[str, str], list[tuple[int, float | None]]] = {}
    for record in records:
        points.setdefault((record.split, record.metric), []).append((record.step, record.value))
    return points


@st.cache_data(max_entries=64, show_spinner=False)
def _whole(path: Path, changed: int, size: int) -> Points:
    """The curves of a journal that grows no more."""
    return _sorted(Run(path.parent).records())


_reading = Lock()  # two tabs may look at the same run


@st.cache_resource(max_entries=64, show_spinner=False)
def _reader(folder: Path) -> JournalReader:
    return JournalReader()


def _growing(run: Run) -> Points:
    with _reading:
        reader = _reader(run.folder)
        reader.read(Store(run.folder.parent), run.id)
        return {key: list(points) for key, points in reader.points.items()}


def machine(run: Run) -> dict[str, object]:
    """Where a run was made; empty if that cannot be read."""
    try:
        return asdict(run.machine)
    except InputError:
        return {}
