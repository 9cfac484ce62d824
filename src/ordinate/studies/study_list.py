"""The comparisons of a store as a list: name, state, date and verdicts of each."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ordinate import statistics
from ordinate.core.errors import InputError
from ordinate.statistics.sentences import sentences
from ordinate.store import Store
from ordinate.store.documents import read_document, write_document
from ordinate.store.examples import ARCHIVE, Examples
from ordinate.store.files import folder_fault
from ordinate.studies import study_store
from ordinate.studies.collect import collect_stored
from ordinate.studies.driver import driver
from ordinate.studies.study_store import StoredStudy

SHIPPED = ARCHIVE.with_suffix(".json")
FINISHED = ("finished", "diverged")  # states of a run that is not trained again


@dataclass(frozen=True)
class StudyRow:
    """A comparison in one row. `verdicts` has the first sentence of each task that has results."""

    kept: StoredStudy
    state: str  # running, finished, stopped, not started
    done: int
    runs: int
    verdicts: dict[str, str]

    @property
    def name(self) -> str:
        """Its title, else its tasks: `ordinate report` finds it by either."""
        return self.kept.title or ", ".join(self.kept.study.tasks)

    @property
    def started(self) -> datetime:
        """When it was planned, or continued the last time."""
        return datetime.fromtimestamp((self.kept.folder / "study.json").stat().st_mtime).replace(microsecond=0)

    def as_dict(self) -> dict[str, Any]:
        study = self.kept.study
        about = {"id": study.id, "name": self.name, "note": self.kept.note, "tasks": list(study.tasks)}
        plan = {"encodings": list(study.encodings), "seeds": study.seeds, "started": self.started.isoformat()}
        return {**about, **plan, "state": self.state, "done": self.done, "runs": self.runs, "verdicts": self.verdicts}


@dataclass(frozen=True)
class _Verdicts:
    """Those of a finished comparison, valid while its runs are there and the rules are these."""

    rules: str
    runs: tuple[str, ...]
    verdicts: dict[str, str]


def study_rows(store: Store) -> tuple[list[StudyRow], list[str]]:
    """The newest first, and a sentence for each comparison that cannot be read."""
    rows, damaged = [], []
    try:
        names = study_store.names(store)
    except InputError as error:
        return [], [str(error)]
    for name in reversed(names):
        try:
            rows.append(study_row(store, study_store.find(store, name)))
        except InputError as error:
            damaged.append(str(error))
    return rows, damaged


def study_row(store: Store, kept: StoredStudy) -> StudyRow:
    """Collecting takes up to a second for each comparison, so the verdicts of a finished one are kept in the store."""
    running = driver(kept.folder) is not None
    known = None if running else _known(store, kept)
    if known is not None:
        return StudyRow(kept, "finished", len(known.runs), len(known.runs), known.verdicts)
    return collected_row(store, kept)


def collected_row(store: Store, kept: StoredStudy) -> StudyRow:
    """From its runs."""
    running = driver(kept.folder) is not None
    comparison = collect_stored(store, kept)
    done = sum(run.state in FINISHED for run in comparison.runs)
    verdicts = {task.task: sentences(comparison.analysis, task)[0] for task in comparison.analysis.tasks}
    complete = done == len(comparison.runs)
    if complete and not running and not isinstance(store, Examples):
        _keep(store, kept, _Verdicts(_rules(), tuple(run.run for run in comparison.runs), verdicts))
    begun = any(store.run(run.run).folder.exists() for run in comparison.runs)
    state = "running" if running else "finished" if complete else "stopped" if begun else "not started"
    return StudyRow(kept, state, done, len(comparison.runs), verdicts)


def shipped_verdicts(examples: Store) -> str:
    """The content of `SHIPPED`, by which those that come with the program are listed at once."""
    found = {}
    for name, kept in sorted(study_store.readable(examples).items()):
        row = collected_row(examples, kept)
        found[name] = {"runs": row.runs, "verdicts": row.verdicts}
    return json.dumps(found, indent=1) + "\n"


@cache
def _shipped() -> dict[str, _Verdicts]:
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    return {name: _Verdicts("", ("",) * row["runs"], row["verdicts"]) for name, row in found.items()}


def _known(store: Store, kept: StoredStudy) -> _Verdicts | None:
    if isinstance(store, Examples):
        return _shipped().get(kept.study.id)
    with suppress(InputError, OSError):
        found = read_document(_Verdicts, _path(store, kept), "summary")
        present = all(os.path.lexists(store.run(run).folder / "result.json") for run in found.runs)
        return found if present and found.rules == _rules() else None
    return None


def _keep(store: Store, kept: StoredStudy, found: _Verdicts) -> None:
    path = _path(store, kept)
    with suppress(InputError, OSError):  # a store for reading only: collect again next time
        if not folder_fault(path.parent):
            path.parent.mkdir(exist_ok=True)
            write_document(path, found)


def _path(store: Store, kept: StoredStudy) -> Path:
    """Beside the studies and not among them: archives, which anyone may have made, do not contain it."""
    return store.folder / "summaries" / f"{kept.study.id}.json"


@cache
def _rules() -> str:
    """The hash of the code that draws conclusions."""
    files = sorted(Path(statistics.__path__[0]).rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
