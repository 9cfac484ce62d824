"""All runs of a folder."""

import math
import os
import re
import shlex
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from ordinate.core.errors import InputError, nearest
from ordinate.store.documents import content_sum
from ordinate.store.files import read_json, write_json
from ordinate.store.run import AT_WORK, Run

USUAL = "runs"
DAMAGED = "damaged"  # the folder of what was set aside
_ID = re.compile(r"[0-9a-f]{12}")


class Store:
    """Runs by id, and what is computed once for many runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def option(self) -> str:
        """What a command must end with to use this store; nothing if it is the usual one."""
        return "" if str(self.folder) == USUAL else f" --store {shlex.quote(str(self.folder))}"

    def check_place(self) -> None:
        """Refuse a path at which no folder can be."""
        try:
            if self.folder.exists() and not self.folder.is_dir():
                raise InputError(f"{self.folder} is a file, not a folder of runs")
            os.lstat(self.folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            where = f"{self.folder} ({error.strerror})"
            raise InputError(f"there can be no store at {where}: choose another with --store") from error

    def check_writable(self) -> None:
        """Refuse, before any work is done, a path that cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the store {self.folder} cannot be made: {error.strerror}") from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise InputError(f"the store {self.folder} cannot be written: choose another with --store")
        probe = self.folder / f".probe.{os.getpid()}"
        try:
            probe.write_bytes(b"x")
            probe.unlink()
        except OSError as error:
            with suppress(OSError):  # a full disk leaves an empty file
                probe.unlink(missing_ok=True)
            raise InputError(f"the store {self.folder} cannot be written: {error.strerror}") from error

    def run(self, run_id: str) -> Run:
        """The folder of a run, whether or not it exists yet."""
        if not is_id(run_id):
            raise InputError(f"a run id is twelve hexadecimal digits, got {run_id!r}")
        return Run(self.folder / run_id)

    def find(self, start: str) -> Run:
        """The one run whose id starts like this."""
        found = [run for run in self.runs() if run.id.startswith(start)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{len(found)} runs start with {start!r}: give more digits")
        raise InputError(f"no run {start!r} in {self.folder}: {nearest(start, [run.id for run in self.runs()])}")

    def runs(self) -> list[Run]:
        """All runs, oldest first."""
        return [Run(folder) for folder in by_age(self.folder, "config.json")]

    def lost(self) -> list[Run]:
        """Runs that have files but no config.json."""
        return [Run(folder) for folder in without(self.folder, "config.json", AT_WORK)]

    def remember(
        self, kind: str, key: str, possible: Callable[[dict[str, float]], bool], compute: Callable[[], dict[str, float]]
    ) -> dict[str, float]:
        """Numbers that are computed once and stored under a hash of all they depend on, if `possible` accepts them."""
        path = self.folder / kind / f"{key}.json"
        with suppress(InputError):  # none yet; and damaged ones are computed again
            kept = numbers(path)
            if possible(kept):
                return kept
        content = compute()
        with suppress(OSError, InputError):  # a cache that cannot be written must not fail the run
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {**content, "sum": content_sum(content)})
        return content


def numbers(path: Path) -> dict[str, float]:
    """Kept numbers by name; anything else is damage."""
    kept = read_json(path)
    written = kept.pop("sum", None) if isinstance(kept, dict) else None
    if not isinstance(kept, dict) or not kept or not all(type(value) in (int, float) for value in kept.values()):
        raise InputError(f"{path} is damaged (it holds other things than numbers): move it away")
    if not all(map(math.isfinite, kept.values())) or written != content_sum(kept):
        raise InputError(f"{path} is damaged (its sum is another): move it away")
    return kept


def is_id(name: str) -> bool:
    """Whether this can name a run or a study."""
    return _ID.fullmatch(name) is not None


def without(folder: Path, document: str, unless: Collection[str]) -> list[Path]:
    """The folders named by an id that lack this document but hold other files than those in `unless`."""
    found = []
    for inner in sorted(inside(folder)):
        if inner.is_dir() and not inner.is_symlink():
            with suppress(OSError):
                names = os.listdir(inner)
                if document not in names and any(not name.startswith(".") and name not in unless for name in names):
                    found.append(inner)
    return found


def by_age(folder: Path, document: str) -> list[Path]:
    """The folders with an id for a name and such a document in them, oldest first.

    Links are among them, though they are not followed: reading one raises an error that says so.
    """
    ages: dict[Path, float] = {}
    for inner in inside(folder):
        try:
            ages[inner] = (inner if inner.is_symlink() else inner / document).lstat().st_mtime
        except PermissionError:
            ages[inner] = 0.0  # reading it later raises the error
        except (FileNotFoundError, NotADirectoryError):
            pass
    return sorted(ages, key=lambda inner: ages[inner])


def inside(folder: Path) -> list[Path]:
    """What has an id for a name."""
    try:
        return [inner for inner in folder.iterdir() if is_id(inner.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from error


def open_store(path: str | Path = USUAL) -> Store:
    """A store to read from; it need not exist yet."""
    return Store(Path(path))
