"""Whether the runs of a store are what was written; what is damaged can be set aside, and is never deleted."""

import os
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from safetensors import SafetensorError, safe_open

from ordinate.core.config import digest
from ordinate.core.errors import InputError, OtherVersionError
from ordinate.core.rules import RULES
from ordinate.store.claim import SILENCE, Claim
from ordinate.store.files import regular
from ordinate.store.pack import BLOCK
from ordinate.store.run import Run
from ordinate.store.store import DAMAGED, Store, is_id, numbers
from ordinate.store.unpack import BROKEN


@dataclass(frozen=True)
class Fault:
    """Something damaged, or left by a process that died: that does no harm, and may be removed."""

    path: Path  # the folder of a run or a study, or one file
    problem: str
    leftover: bool = False


def faults(store: Store) -> Iterator[Fault]:
    """Of all runs that nobody is at work on, and of what was computed once for many."""
    for folder in sorted(path for path in store.folder.glob("*") if is_id(path.name)):
        run = Run(folder)
        if run.claim.holder is None:
            yield from _of_run(run)
    for path in store.folder.glob("baselines/.*.tmp"):
        if time.time() - path.stat().st_mtime > SILENCE:  # nobody takes that long to write one
            yield Fault(path, f"{path} was left by a process that died", leftover=True)
    for path in sorted(store.folder.glob("baselines/*.json")):
        try:
            numbers(path)
        except InputError as error:
            yield Fault(path, str(error))


def set_aside(store: Store, path: Path) -> Path | None:
    """Move it to where nothing reads it; none if somebody is at work on it by now."""
    places = (store.folder / DAMAGED / f"{path.name}-{number}" for number in count(1))
    place = next(place for place in places if not os.path.lexists(place))
    if path.is_dir() and not path.is_symlink():
        claim = Claim(path / ("driver" if path.parent.name == "studies" else "claim"))
        return place if claim.move_folder(place) else None
    place.parent.mkdir(exist_ok=True)
    os.rename(path, place)
    return place


def _of_run(run: Run) -> Iterator[Fault]:
    try:
        if run.folder.is_symlink() or any(run.folder.glob("[!.]*.*")):  # or else it was claimed and never begun
            _look(run)
        leftovers = run.leftovers()
    except OtherVersionError:
        return
    except (InputError, OSError) as error:
        yield Fault(run.folder, str(error))
        return
    for path in leftovers:
        yield Fault(path, f"{path} was left by a process that died", leftover=True)


def _look(run: Run) -> None:
    """Fails at the first thing that is damaged."""
    config = run.config
    if config.get("rules", 1) != RULES:
        raise OtherVersionError(f"{run.folder} was made by rules {config.get('rules', 1)}")
    if digest(config) != run.id:
        raise InputError(f"{run.folder / 'config.json'} is damaged (of run {digest(config)}): move the folder away")
    if (run.folder / "env.json").exists():
        _ = run.environment
    if run.done:
        _ = run.result
    elif (run.folder / "checkpoint.pt").exists():
        _look_at_checkpoint(run.folder / "checkpoint.pt")
    _look_at_journal(run)
    for path in run.folder.glob("*.safetensors"):
        _look_at_tensors(path)


def _look_at_journal(run: Run) -> None:
    """Steps never go back: two processes that wrote at once would show."""
    last = 0
    for record in run.records():
        if record["step"] < last:
            where = f"{run.journal.path} is damaged (step {record['step']} follows step {last})"
            raise InputError(f"{where}: move the run's folder away")
        last = record["step"]


def _look_at_tensors(path: Path) -> None:
    with open(path, "rb", opener=regular) as file:  # every byte of it can be read
        while file.read(BLOCK):
            pass
    try:
        safe_open(path, "numpy")  # which compares what its head says with its size
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}): move the run's folder away") from error


def _look_at_checkpoint(path: Path) -> None:
    """It is a zip file, with a sum for each part."""
    try:
        with open(path, "rb", opener=regular) as file, zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
    except BROKEN as error:
        raise InputError(f"{path} is damaged ({error}): move it away") from error
    if damaged:
        raise InputError(f"{path} is damaged ({damaged} has another sum): move it away")
