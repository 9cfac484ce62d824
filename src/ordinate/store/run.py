"""One run's folder."""

import fcntl
import json
import os
import socket
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from ordinate.core.errors import InputError
from ordinate.store.files import Journal, read_json, write_atomic, write_json

SCHEMA = 1  # raised when the files below change their meaning
SILENCE = 120.0  # seconds without a heartbeat after which a run on another machine counts as dead

RunState = Literal["done", "running", "failed", "interrupted"]


def readable(content: Any, where: Path) -> dict[str, Any]:
    """What was read, unless a newer program wrote it: its fields may mean something else."""
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(found, int):
        raise InputError(f"{where} is damaged (it names no schema): move it away")
    if found > SCHEMA:
        raise InputError(f"{where} was written by a newer ordinate (schema {found}, this one reads {SCHEMA}): update")
    return dict(content)


class Run:
    """config.json, env.json, metrics.jsonl, result.json, log.txt, error.txt, heartbeat, claim, weights, checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.id = folder, folder.name
        self.journal = Journal(folder / "metrics.jsonl")
        self.token = ""

    def begin(self, config: dict[str, Any], env: dict[str, Any]) -> None:
        """Make the folder and say what is run and where."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "config.json").exists():
            write_json(self.folder / "config.json", config)
        elif read_json(self.folder / "config.json") != json.loads(json.dumps(config)):
            raise InputError(
                f"{self.folder} holds a run with another configuration: use another store, or move it away"
            )
        if not (self.folder / "env.json").exists():
            write_json(self.folder / "env.json", {"schema": SCHEMA, **env})
        else:  # the first machine stays on record; the log tells where the run went on
            self.log(f"going on: {json.dumps(env)}")

    @property
    def config(self) -> dict[str, Any]:
        return dict(read_json(self.folder / "config.json"))

    @property
    def done(self) -> bool:
        return (self.folder / "result.json").exists()

    @property
    def result(self) -> dict[str, Any]:
        return readable(read_json(self.folder / "result.json"), self.folder)

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result. From then on, and not before, the run is done."""
        write_json(self.folder / "result.json", {"schema": SCHEMA, "run": self.id, **result}, indent=None)

    @property
    def state(self) -> RunState:
        if self.done:
            return "done"
        if _alive(self.folder):
            return "running"
        return "failed" if (self.folder / "error.txt").exists() else "interrupted"

    def fail(self, error: BaseException | str) -> None:
        """Keep an error, for whoever looks for the reason; the next attempt takes it away."""
        text = error if isinstance(error, str) else "".join(traceback.format_exception(error))
        with suppress(OSError):  # a full disk must not hide the error itself
            write_atomic(self.folder / "error.txt", text.encode())

    @property
    def error(self) -> str:
        """The last line of the error that ended the run, empty if there is none."""
        try:
            last = (self.folder / "error.txt").read_text().strip().rpartition("\n")[2]
            return last.removeprefix("ordinate.core.errors.InputError: ")  # a sentence for users needs no class
        except OSError:
            return ""

    @property
    def step(self) -> int:
        """How far the journal has come."""
        return max((int(record["step"]) for record in self.journal.read()), default=0)

    def beat(self) -> None:
        """Say that the run is alive."""
        (self.folder / "heartbeat").touch()

    def log(self, text: str) -> None:
        with open(self.folder / "log.txt", "a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Yields whether this process may do the run; then nobody else may, until the `with` ends or it dies."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mine = self._claim()
        try:
            yield mine
        finally:
            if mine and self.mine():
                (self.folder / "claim").unlink(missing_ok=True)

    def mine(self) -> bool:
        """Whether the claim is still this process's: one that slept too long may have lost it to another machine."""
        try:
            return bool(read_json(self.folder / "claim").get("token") == self.token)
        except (OSError, ValueError, AttributeError):
            return False

    def _claim(self) -> bool:
        with open(self.folder / ".lock", "w") as lock:  # one at a time looks at the claim and changes it
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.done or _alive(self.folder):
                return False
            self.beat()
            self.token = uuid4().hex
            owner = {
                "token": self.token,
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "started": started(os.getpid()),
            }
            write_json(self.folder / "claim", owner)
            (self.folder / "error.txt").unlink(missing_ok=True)
            for leftover in self.folder.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)
            return True


def _alive(folder: Path) -> bool:
    """Whether somebody is at work on this run: by process on this machine, by heartbeat on another."""
    try:
        owner = read_json(folder / "claim")
    except (OSError, InputError):
        return False
    if not isinstance(owner, dict) or not {"host", "pid", "started"} <= owner.keys():
        return False
    if owner["host"] == socket.gethostname():
        return bool(owner["started"]) and started(owner["pid"]) == owner["started"]
    try:
        return time.time() - (folder / "heartbeat").stat().st_mtime < SILENCE
    except OSError:
        return False


def started(pid: int) -> str:
    """When a process started, so that a number used again is not taken for it; empty if it is dead or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:  # no /proc on macOS: existence has to do
        os.kill(pid, 0)
        return "alive"
    except OSError:
        return ""
