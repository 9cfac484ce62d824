"""Probes runs in processes beside the app; what they find is stored beside the runs, and read from there."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ordinate.probes.records import stored
from ordinate.probes.run_probe import RunProbe
from ordinate.store import Run

EACH = 20.0  # seconds that all probes of a run take at most, on a quiet core


@dataclass
class Probing:
    """One process, and the runs that it was given."""

    process: "subprocess.Popen[bytes]"
    runs: tuple[Run, ...]
    errors: IO[bytes]
    begun: float = field(default_factory=time.monotonic)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def done(self) -> int:
        """How many of its runs have a record by now."""
        return sum(stored(RunProbe, run) is not None for run in self.runs)

    @property
    def share(self) -> float:
        """How much is done: by the runs, and within a run by the time that it takes at most."""
        whole = EACH * len(self.runs)
        return min(0.99, max(self.done / len(self.runs), (time.monotonic() - self.begun) / (whole + EACH)))

    def problem(self) -> str:
        """What it said of runs that cannot be probed."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip().rpartition("\n")[2]


_under_way: dict[tuple[Path, ...], Probing] = {}  # by the folders of the runs; for every tab


def start(runs: Sequence[Run]) -> Probing:
    """Probe these runs of one store, unless that is under way."""
    key = tuple(run.folder for run in runs)
    known = _under_way.get(key)
    if known is not None and known.running:
        return known
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
    words = [sys.executable, "-m", "ordinate.probes.worker", str(runs[0].folder.parent), *(run.id for run in runs)]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
    )
    _under_way[key] = Probing(process, tuple(runs), errors)
    return _under_way[key]


def of(runs: Sequence[Run]) -> Probing | None:
    """The last process that was given these runs."""
    return _under_way.get(tuple(run.folder for run in runs))
