"""Who carries out a study just now, so that anybody who looks at its folder can tell, and ask it to stop."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError
from ordinate.store.files import read_json, write_json
from ordinate.store.run import started


@contextmanager
def driving(folder: Path) -> Iterator[None]:
    """This process is the one, until the `with` ends. If another was first, it stays on record."""
    mine = os.getpid()
    if driver(folder) is None:
        record(folder, mine)
    try:
        yield
    finally:
        if driver(folder) == mine:
            (folder / "driver").unlink(missing_ok=True)


def record(folder: Path, process: int) -> None:
    """Write down who it is: a process of this machine, told from others that had its number by when it started."""
    write_json(folder / "driver", {"host": socket.gethostname(), "pid": process, "started": started(process)})


def driver(folder: Path) -> int | None:
    """The process that carries out the study on this machine; none if there is none, or it has died."""
    found = _read(folder / "driver")
    if found.get("host") != socket.gethostname() or not isinstance(found.get("pid"), int):
        return None
    alive = bool(found.get("started")) and started(found["pid"]) == found["started"]
    return int(found["pid"]) if alive else None


def stop(folder: Path) -> bool:
    """Ask it as Ctrl-C would: once to finish the runs under way, twice to stop at once. Tells whether it was there."""
    process = driver(folder)
    if process is None:
        return False
    try:
        os.kill(process, signal.SIGINT)
    except ProcessLookupError:
        return False
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_json(path)
    except (OSError, InputError):
        return {}
    return content if isinstance(content, dict) else {}
