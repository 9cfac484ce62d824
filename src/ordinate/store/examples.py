"""The comparisons that are shipped with the package: a read-only store, unpacked once for all processes."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

from ordinate.core.errors import InputError
from ordinate.store.store import Store
from ordinate.store.unpack import unpack

ARCHIVE = Path(__file__).parents[1] / "examples.zip"


class Examples(Store):
    """A store that nothing is added to."""

    def check_writable(self) -> None:
        raise InputError("the comparisons that come with the program are for reading: choose another store")

    def remember(
        self, kind: str, key: str, possible: Callable[[dict[str, float]], bool], compute: Callable[[], dict[str, float]]
    ) -> dict[str, float]:
        return compute()


def open_examples() -> Store:
    """The comparisons that come with the program; asking again costs next to nothing."""
    return Examples(_unpacked(ARCHIVE))


def _unpacked(archive: Path) -> Path:
    """A folder in the user's cache, named by the archive's content: another version of the program has its own."""
    try:
        folder = cache_folder() / f"examples-{_digest(archive)}"
    except RuntimeError:  # the home directory of this user is unknown
        return _temporary(archive)
    if not folder.is_dir():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            unpack(archive, folder)
        except (InputError, OSError):  # no right to write, no room; or another process was quicker
            return folder if folder.is_dir() else _temporary(archive)
    return folder


def cache_folder() -> Path:
    """Where programs keep what they can make again."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "ordinate"


@cache
def _digest(archive: Path) -> str:
    try:
        return sha256(archive.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InputError(f"{archive} cannot be read ({error.strerror}): install ordinate again") from error


@cache
def _temporary(archive: Path) -> Path:
    """A folder for this process alone."""
    parent = tempfile.mkdtemp(prefix="ordinate-")
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    unpack(archive, Path(parent) / "examples")
    return Path(parent) / "examples"
