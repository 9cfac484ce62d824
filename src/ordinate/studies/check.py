"""Whether a store is sound, and what to type so that what is damaged is done again."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ordinate.core.errors import InputError, OtherVersionError
from ordinate.store import Run, Store
from ordinate.store.check import Fault
from ordinate.store.check import faults as faults_of_runs
from ordinate.store.files import read_json
from ordinate.studies import shelf
from ordinate.studies.driver import driver
from ordinate.studies.shelf import Kept
from ordinate.studies.stages import next_stage
from ordinate.studies.state import State
from ordinate.training import again


def faults(store: Store) -> Iterator[Fault]:
    """Of all runs and studies that nobody is at work on."""
    yield from faults_of_runs(store)
    for name in sorted(shelf.names(store)):
        folder = store.folder / "studies" / name
        try:
            shelf.find(store, name)
        except OtherVersionError:
            pass
        except InputError as error:
            yield Fault(folder, str(error))
            continue
        if driver(folder) is None:
            left = [path for path in (folder / "driver", *folder.rglob(".*.tmp")) if path.exists()]
            yield from (Fault(path, f"{path} was left by a process that died", leftover=True) for path in left)


def runs_of(store: Store, kept: Kept) -> set[str]:
    """All runs that a study reads, its pilots too."""
    state = State(kept.study, store)
    next_stage(state)
    return state.asked


def ways_back(store: Store, damaged: list[Path]) -> dict[str, list[str]]:
    """By command, what it makes again: a run by the studies that it belongs to, else alone."""
    found: dict[str, list[str]] = {}
    for name in shelf.names(store):
        with suppress(InputError):
            kept = shelf.find(store, name)
            if ours := sorted(runs_of(store, kept) & {path.name for path in damaged}):
                found[kept.command] = ours
    for path in damaged:
        if not any(path.name in ids for ids in found.values()) and (command := _alone(store, path)):
            found[command] = [path.name]
    return found


def _alone(store: Store, path: Path) -> str | None:
    with suppress(InputError):
        if path.parent == store.folder:
            return again.command(Run(path).config)
        content = read_json(path / "study.json")
        return str(content["command"]) if isinstance(content, dict) and "command" in content else None
    return None
