"""The process that carries out a study, recorded in the study's folder so that others can see it and stop it."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ordinate.store.claim import Claim
from ordinate.store.holder import Holder


@contextmanager
def driving(folder: Path) -> Iterator[None]:
    """This process is the one, until the `with` ends. If another was first, it stays on record."""
    claim = Claim(folder / "driver")
    with claim.locked() as lock:
        mine = claim.take(lock)
        for left in folder.glob(".driver.*.tmp") if mine else ():  # by one who was killed: all write under this lock
            left.unlink(missing_ok=True)
    try:
        yield
    finally:
        if mine:
            claim.free()
        else:
            claim.clear()  # the one that was first may have been killed


def record(folder: Path, process: int) -> None:
    """Write down who it will be: a process that was just started."""
    claim = Claim(folder / "driver")
    with claim.locked():
        claim.give(process)


def driver(folder: Path) -> Holder | None:
    """The process that carries out the study, here or on another machine; none if there is none, or it has died."""
    return Claim(folder / "driver").holder


def stop(folder: Path) -> bool:
    """Ask it as Ctrl-C would: once to finish the runs under way, twice to stop at once. Tells whether it was there."""
    process = driver(folder)
    if process is None or not process.near:
        return False
    try:
        os.kill(process.pid, signal.SIGINT)
    except ProcessLookupError:
        return False
    return True
