"""Runs side by side on this machine: one process per core, one thread each, started once and used again."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress

from ordinate.core.config import to_dict
from ordinate.core.memory import require_memory
from ordinate.store import Store
from ordinate.studies.worker_pool import Message, WorkerPool, interrupts
from ordinate.training import RunConfig

WORKER = 150_000_000  # bytes that a process needs before it has any work: mostly torch


class LocalWorker:
    """A process, and the run it is at."""

    def __init__(self, store: Store, core: int | None, threads: int) -> None:
        self.core, self.ready, self.rest = core, False, b""
        self.config: RunConfig | None = None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
        more = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        more["PYTHONPATH"] = os.pathsep.join(sys.path)  # it finds what this process finds; -P: and nothing else
        command = [sys.executable, "-P", "-m", "ordinate.studies.worker", str(store.folder.absolute())]
        self.process = subprocess.Popen(
            command + ([] if core is None else [str(core)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env=os.environ | more,
        )  # fmt: skip

    @property
    def idle(self) -> bool:
        return self.ready and self.config is None and self.process.poll() is None

    def start(self, config: RunConfig) -> None:
        assert self.process.stdin is not None
        self.config = config
        with suppress(BrokenPipeError):  # it died just now, which the end of its output shows
            self.process.stdin.write(json.dumps(to_dict(config)).encode() + b"\n")
            self.process.stdin.flush()

    def messages(self) -> list[Message] | None:
        """Messages since the last call; None after the last one."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self) -> str:
        """Stop it; returns its exit code and its last line of errors."""
        self.process.kill()
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        self.errors.close()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}: {last}" if last else how


class Local(WorkerPool[LocalWorker]):
    """Processes on this machine, pinned to its cores if there is one for each."""

    def __init__(self, store: Store, workers: int | None = None, threads: int = 1) -> None:
        cores = usable_cores()
        super().__init__(store, max(1, len(cores) // threads) if workers is None else workers)
        require_memory(self.workers_wanted * WORKER, f"{self.workers_wanted} workers")
        self.threads = threads
        # Two drivers with one pinned worker each would meet on one core, so only a full machine is pinned.
        pinned = self.workers_wanted == len(cores) and threads == 1
        self.places: list[int | None] = list(cores) if pinned else [None] * self.workers_wanted

    def prepare(self, count: int | None = None) -> None:
        taken = [worker.core for worker in self.workers]
        free = list(self.places)
        for core in taken:
            free.remove(core)
        before = interrupts(signal.SIG_IGN)  # inherited: a Ctrl-C at a worker's start must not kill it
        try:
            for core in free[: None if count is None else max(0, count - len(taken))]:
                self.workers.append(LocalWorker(self.store, core, self.threads))
        finally:
            interrupts(before)

    def listen(self) -> Iterator[tuple[LocalWorker, Message | None]]:
        if not self.workers:
            time.sleep(0.1)
            return
        with selectors.DefaultSelector() as selector:
            for worker in self.workers:
                assert worker.process.stdout is not None
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            heard = [key.data for key, _ in selector.select(timeout=0.2)]
        for worker in heard:
            messages = worker.messages()
            yield from ((worker, message) for message in ([None] if messages is None else messages))


def usable_cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
