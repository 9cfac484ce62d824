"""Check that the runs of a store are what was written. Damaged runs can be set aside and are never deleted."""

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ordinate.core.errors import InputError, OtherVersionError, error_text
from ordinate.store.claim import SILENCE, Claim
from ordinate.store.files import folder_fault, refuse_link
from ordinate.store.run import AT_WORK, Run
from ordinate.store.store import DAMAGED, Store, inside, is_id, numbers
from ordinate.store.sums import SUMMED, check_files

LOCK = ".lock"
FILES = ("config.json", "result.json", "error.txt", *SUMMED, *AT_WORK)
OURS = (LOCK, "log.txt", "metrics.jsonl")  # that are added to, and so never through a link


@dataclass(frozen=True)
class Fault:
    """Something damaged, or a leftover of a process that died, which does no harm and may be removed."""

    path: Path  # the folder of a run or a study, or one file
    problem: str
    leftover: bool = False
    other: bool = False  # intact, but this version cannot use it


def faults(store: Store) -> Iterator[Fault]:
    """The faults of all runs that no process is working on, and of the baselines kept for many runs."""
    for path in sorted(inside(store.folder)):
        if not path.is_dir():
            yield Fault(path, f"{path} is named like a run and is none: move it away")
        elif (run := Run(path)).claim.holder is None:
            yield from _of_run(run)
    for path in (store.folder / name for name in ("studies", "baselines")):
        yield from bad_folder(path)
    yield from left(store.folder.glob("baselines/.*.tmp"))
    for path in sorted(store.folder.glob("baselines/*.json")):
        try:
            numbers(path)
        except InputError as error:
            yield Fault(path, str(error))


def bad_folder(path: Path) -> Iterator[Fault]:
    """A path that must be a readable folder and is not."""
    if problem := folder_fault(path):
        yield Fault(path, f"{path} {problem}")


def left(paths: Iterable[Path]) -> Iterator[Fault]:
    """Temporary files whose writer died: writing one takes less than `SILENCE` seconds."""
    for path in paths:
        with suppress(FileNotFoundError):  # its writer is alive, and has renamed it
            if time.time() - path.lstat().st_mtime > SILENCE and not path.is_dir():
                yield leftover(path)


def leftover(path: Path) -> Fault:
    return Fault(path, f"{path} was left by a process that died", leftover=True)


def look_at_files(folder: Path, names: Iterable[str]) -> None:
    """Raise an InputError at the first of them that exists and is not a file."""
    for name in names:
        path = folder / name
        if os.path.lexists(path) and (not path.is_file() or (name in OURS and path.is_symlink())):
            raise InputError(f"{path} is not a file: move it away")


def aside(store: Store) -> Path:
    """The folder of what is set aside."""
    folder = store.folder / DAMAGED
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder}, where what is damaged would go, is not a folder: move it away")
    folder.mkdir(exist_ok=True)
    return folder


def set_aside(store: Store, path: Path) -> Path | None:
    """Move a path to where nothing reads it; None if a process is working on it by now."""
    whole = is_id(path.name) or path.parent == store.folder
    name = path.name if whole else f"{path.parent.name}-{path.name}"
    targets = (aside(store) / f"{name}-{number}" for number in count(1))
    target = next(target for target in targets if not os.path.lexists(target))
    owner = path if is_id(path.name) else path.parent
    lock = owner / LOCK  # a folder that cannot be locked has no process working in it
    lockable = not os.path.lexists(lock) or (lock.is_file() and not lock.is_symlink())
    if is_id(owner.name) and owner.is_dir() and not owner.is_symlink() and lockable:
        claim = Claim(owner / ("claim" if owner.parent == store.folder else "driver"))
        return target if claim.move(path, target) else None
    os.rename(path, target)
    return target


def _of_run(run: Run) -> Iterator[Fault]:
    try:
        refuse_link(run.folder)
        if any(re.match(r"[^.].*\.", name) for name in os.listdir(run.folder)):  # or it was claimed and never begun
            _look(run)
        leftovers = run.leftovers()
    except (InputError, OSError) as error:
        yield Fault(run.folder, error_text(error), other=isinstance(error, OtherVersionError))
        return
    yield from _of_environment(run)
    yield from map(leftover, leftovers)


def _of_environment(run: Run) -> Iterator[Fault]:
    """A fault of env.json alone, on which no result depends."""
    path = run.folder / "env.json"
    try:
        look_at_files(run.folder, (path.name,))
        if path.exists():
            _ = run.machine
    except (InputError, OSError) as error:
        yield Fault(path, error_text(error), other=isinstance(error, OtherVersionError))


def _look(run: Run) -> None:
    """Raise an InputError at the first damage. Whether a run can be resumed, `training.resume` checks."""
    _ = run.config
    look_at_files(run.folder, (*FILES, *OURS))
    if run.done:
        hashes = run.result.files
        check_files(run.folder, hashes)
        for _ in run.records():
            pass
        for path in (run.folder / name for name in SUMMED if name not in hashes):
            if os.path.lexists(path):
                raise InputError(f"{path} is damaged (its result does not name it): move the run's folder away")
