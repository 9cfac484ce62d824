"""Whether a store is sound, and what to type so that what is damaged is done again."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError, OtherVersionError, error_text
from ordinate.store import Run, Store
from ordinate.store.check import LOCK, Fault, bad_folder, left, leftover, look_at_files
from ordinate.store.check import faults as faults_of_runs
from ordinate.store.files import folder_fault
from ordinate.store.store import inside
from ordinate.studies import study_store
from ordinate.studies.collect import collect
from ordinate.studies.driver import driver
from ordinate.studies.stages import next_stage
from ordinate.studies.study_state import StudyState
from ordinate.studies.study_store import StoredStudy
from ordinate.training import rerun_command
from ordinate.training.checkpoint import check_resumable


def faults(store: Store) -> Iterator[Fault]:
    """The faults of all runs and studies that no process is working on."""
    damaged = set()
    for fault in faults_of_runs(store):
        yield fault
        damaged |= set() if fault.leftover else {fault.path}
    for run in store.runs():
        if run.folder not in damaged and run.state in ("interrupted", "failed"):
            with suppress(OtherVersionError):
                yield from _that_cannot_go_on(run)
    yield from _of_studies(store)


def _that_cannot_go_on(run: Run) -> Iterator[Fault]:
    try:
        check_resumable(run)
    except (InputError, OSError) as error:
        yield Fault(run.folder, error_text(error))


def _of_studies(store: Store) -> Iterator[Fault]:
    if folder_fault(store.folder / "studies"):  # which is a fault already
        return
    known, lost = study_store.names(store), study_store.lost(store)
    for path in sorted(inside(store.folder / "studies")):
        if path.name in known:
            yield from _of_study(store, path)
        elif path in lost:
            yield Fault(path, f"{path} is damaged (it has no study.json): move it away")
        elif not path.is_dir():
            yield Fault(path, f"{path} is named like a study and is none: move it away")


def studies(store: Store) -> list[str]:
    """The ids of its studies; none where their folder as a whole is at fault."""
    return [] if folder_fault(store.folder / "studies") else study_store.names(store)


def _of_study(store: Store, folder: Path) -> Iterator[Fault]:
    try:
        look_at_files(folder, (LOCK, "driver", "log.txt"))
        study_store.find(store, folder.name)
    except OtherVersionError as error:
        yield Fault(folder, str(error), other=True)
    except (InputError, OSError) as error:
        yield Fault(folder, error_text(error))
        return
    yield from _of_report(folder)
    if driver(folder) is None:
        yield from map(leftover, (path for path in (folder / "driver",) if path.exists()))
        yield from left(folder.rglob(".*.tmp"))


def _of_report(folder: Path) -> Iterator[Fault]:
    """Something else in the place of a file that a report would write."""
    files = [folder / "report.html"]
    for inner in (folder / "tables", folder / "figures"):
        yield from bad_folder(inner)
        files += sorted(inner.iterdir()) if inner.is_dir() and not folder_fault(inner) else ()
    for path in files:
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            yield Fault(path, f"{path} is not a file: move it away")


def runs_of(store: Store, kept: StoredStudy) -> set[str]:
    """All runs that a study reads, its pilots too."""
    return _runs_of(StudyState(kept.study, store), kept)[0]


def _runs_of(state: StudyState, kept: StoredStudy) -> tuple[set[str], bool]:
    """With whether some of them are missing; the next stage does not look beyond a pilot that is."""
    missing = bool(next_stage(state).missing or state.failed)
    return state.run_ids | {row.run for row in collect(state, kept.command).runs}, missing


def runs_to_pack(store: Store, kept: StoredStudy) -> set[str]:
    """Those of its runs that are there; while some are missing, all that may be read once they are not."""
    ours, missing = _runs_of(StudyState(kept.study, store), kept)
    ours |= runs_alike(store, kept) if missing else set()
    return {name for name in ours if os.path.lexists(store.run(name).folder)}


def runs_alike(store: Store, kept: StoredStudy) -> set[str]:
    """The runs of a store that differ from those of a study in nothing but their seed, rate and budget."""
    bases = [_without_budget(json.loads(json.dumps(to_dict(base)))) for _, _, base in kept.study.bases]
    found = set()
    for run in store.runs():
        with suppress(InputError, OSError):
            found |= {run.id} if _without_budget(run.config) in bases else set()
    return found


def _without_budget(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in ("seed", "lr", "steps", "warmup")}


def ways_back(store: Store, damaged: list[Path]) -> dict[str, list[str]]:
    """By command, what it makes again: a run by the studies that it belongs to, else alone."""
    found: dict[str, list[str]] = {}
    for name in studies(store):
        with suppress(InputError):
            kept = study_store.find(store, name)
            if ours := sorted(runs_of(store, kept) & {path.name for path in damaged}):
                found[kept.again] = ours
    for path in damaged:
        if not any(path.name in ids for ids in found.values()) and (command := _alone(store, path)):
            found[command + store.option] = [path.name]
    return found


def _alone(store: Store, path: Path) -> str | None:
    """The command of a run or a study that still says, and can be believed, what it is."""
    with suppress(InputError):
        if path.parent == store.folder / "studies":
            return study_store.find(store, path.name).command
        return rerun_command.command(Run(path).config)
    return None
