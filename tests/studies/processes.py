"""Comparisons in processes of their own, that can be interrupted and killed."""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

from ordinate.results.serialize import write
from ordinate.store import Run, Store
from ordinate.studies import worker

# Forked processes have torch loaded already.
Process = multiprocessing.get_context("fork").Process
LONG = 120.0  # seconds after which something that should have happened counts as not happening


class Forked:
    """Stands in for `subprocess.Popen`: a worker like any other, but for the seconds that loading torch takes."""

    def __init__(self, command: list[str], stdin: int, stdout: int, stderr: IO[bytes], env: dict[str, str]) -> None:
        theirs_in, mine_in = os.pipe()
        mine_out, theirs_out = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._work((theirs_in, theirs_out, stderr.fileno()), command[command.index(worker.__name__) + 1 :])
        os.close(theirs_in)
        os.close(theirs_out)
        self.returncode: int | None = None
        self.stdin, self.stdout = os.fdopen(mine_in, "wb"), os.fdopen(mine_out, "rb")

    def _work(self, streams: tuple[int, ...], arguments: list[str]) -> NoReturn:
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.closerange(3, 1024)  # above all the ends of other workers' pipes
            sys.stdin = os.fdopen(0)
            worker.main(*arguments)
        finally:
            os._exit(1)

    def poll(self) -> int | None:
        return self._look(os.WNOHANG)

    def wait(self) -> int | None:
        return self._look(0)

    def _look(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def until(true: Callable[[], Any], what: str = "") -> Any:
    """Wait for something that will come."""
    end = time.monotonic() + LONG
    while not (found := true()):
        assert time.monotonic() < end, what or true
        time.sleep(0.01)
    return found


def ended(process: Any) -> int:
    """How a process ended."""
    process.join(LONG)
    assert process.exitcode is not None, "it does not end"
    return int(process.exitcode)


def owner(run: Run) -> int | None:
    """The process that is at a run."""
    if run.state != "running":
        return None
    try:
        return int(json.loads((run.folder / "claim").read_text())["pid"])
    except (OSError, ValueError):
        return None


def owners(store: Store) -> list[int]:
    return [pid for run in store.runs() if (pid := owner(run))]


def alive(pid: int) -> bool:
    """A zombie is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


TIMED = ("seconds", "files")  # hashes of the journal, which holds how fast it went


def outcome(run: Run) -> dict[str, Any]:
    """All that a run leaves behind, but for how long it took and what a killed process could not clear away."""
    result = {key: value for key, value in write(run.result).items() if key not in TIMED}
    journal = [record for record in run.journal.read() if record["metric"] != "tokens_per_second"]
    names = ("model.safetensors", "attention.safetensors", "config.json")
    kept = sorted(f.name for f in run.folder.iterdir() if f.suffix in (".json", ".jsonl", ".safetensors", ".tmp"))
    return {
        "result": result,
        "journal": journal,
        "bytes": [(run.folder / n).read_bytes() for n in names],
        "files": kept,
    }


def outcomes(store: Store) -> dict[str, dict[str, Any]]:
    return {run.id: outcome(run) for run in store.runs()}


def log(run: Run) -> str:
    return (run.folder / "log.txt").read_text()
