"""How fast a run goes, from what it has written so far."""

import re
import time
from pathlib import Path

from ordinate.store import Run

_BEGAN = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:started:|continued at step (\d+))")
MOST_LOG = 100_000  # bytes from the end


def pace(run: Run, step: int) -> float | None:
    """Seconds per step, from when the log says that the run began, or continued, to the last line of its journal."""
    began = _BEGAN.findall(tail(run.folder / "log.txt"))
    if not began:
        return None
    at, first = began[-1]
    try:
        seconds = run.journal.path.stat().st_mtime - time.mktime(time.strptime(at, "%Y-%m-%d %H:%M:%S"))
    except (OSError, ValueError):
        return None
    done = step - int(first or 0)
    return seconds / done if done > 0 and seconds > 0 else None


def tail(path: Path, lines: int = 200) -> str:
    """The last lines of a text; nothing if there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - MOST_LOG))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
