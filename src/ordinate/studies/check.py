"""Whether a store is sound, and what to type so that what is damaged is done again."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ordinate.core.errors import InputError, OtherVersionError
from ordinate.store import Run, Store
from ordinate.store.check import LOCK, Fault, left, leftover, look_at_files
from ordinate.store.check import faults as faults_of_runs
from ordinate.store.files import read_json
from ordinate.studies import asked, shelf
from ordinate.studies.driver import driver
from ordinate.studies.gather import gather
from ordinate.studies.shelf import Kept
from ordinate.studies.stages import next_stage
from ordinate.studies.state import State
from ordinate.training import again, resume


def faults(store: Store) -> Iterator[Fault]:
    """Of all runs and studies that nobody is at work on."""
    damaged = set()
    for fault in faults_of_runs(store):
        yield fault
        damaged |= set() if fault.leftover else {fault.path}
    for run in store.runs():
        if run.folder not in damaged and run.state in ("interrupted", "failed"):
            with suppress(OtherVersionError):
                yield from _that_cannot_go_on(run)
    for folder in shelf.lost(store):
        yield Fault(folder, f"{folder} is damaged (it has no study.json): move it away")
    for name in sorted(shelf.names(store)):
        yield from _of_study(store, store.folder / "studies" / name)


def _that_cannot_go_on(run: Run) -> Iterator[Fault]:
    try:
        resume.check(run)
    except (InputError, OSError) as error:
        yield Fault(run.folder, str(error))


def _of_study(store: Store, folder: Path) -> Iterator[Fault]:
    try:
        look_at_files(folder, (LOCK, "driver"))
        shelf.find(store, folder.name)
    except OtherVersionError as error:
        yield Fault(folder, str(error), other=True)
    except (InputError, OSError) as error:
        yield Fault(folder, str(error))
        return
    if driver(folder) is None:
        yield from map(leftover, (path for path in (folder / "driver",) if path.exists()))
        yield from left(folder.rglob(".*.tmp"))


def runs_of(store: Store, kept: Kept) -> set[str]:
    """All runs that a study reads, its pilots too."""
    state = State(kept.study, store)
    next_stage(state)  # which does not look beyond a pilot that is missing
    return state.asked | {row["run"] for row in gather(State(kept.study, store), kept.command).runs}


def ways_back(store: Store, damaged: list[Path]) -> dict[str, list[str]]:
    """By command, what it makes again: a run by the studies that it belongs to, else alone."""
    found: dict[str, list[str]] = {}
    for name in shelf.names(store):
        with suppress(InputError):
            kept = shelf.find(store, name)
            if ours := sorted(runs_of(store, kept) & {path.name for path in damaged}):
                found[kept.again] = ours
    for path in damaged:
        if not any(path.name in ids for ids in found.values()) and (command := _alone(store, path)):
            found[command + store.option] = [path.name]
    return found


def _alone(store: Store, path: Path) -> str | None:
    with suppress(InputError, ValueError):
        if path.parent == store.folder:
            return again.command(Run(path).config)
        content = read_json(path / "study.json")
        return asked.checked(content.get("command")) if isinstance(content, dict) else None
    return None
