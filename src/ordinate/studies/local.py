"""Runs side by side on this machine: one process per core, one thread each, started once and used again."""

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.memory import require_memory
from ordinate.store import Store
from ordinate.studies.executor import Event, EventWatch, StudyStopped
from ordinate.training import Progress, RunConfig

DEATHS = 3  # of a worker at the same run, before the run counts as failed
WORKER = 150_000_000  # bytes that a process needs before it has any work: mostly torch
POLL = 0.5  # seconds between looks at runs that another driver does


class Worker:
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
        """Whether it can be given a run. A run is not to blame for a process that died before."""
        return self.ready and self.config is None and self.process.poll() is None

    def start(self, config: RunConfig) -> None:
        assert self.process.stdin is not None
        self.config = config
        with suppress(BrokenPipeError):  # it died just now, which the end of its output shows
            self.process.stdin.write(json.dumps(to_dict(config)).encode() + b"\n")
            self.process.stdin.flush()

    def messages(self) -> list[dict[str, Any]] | None:
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


class Local:
    """Workers that claim runs in the store, so that several drivers may share it."""

    def __init__(self, store: Store, workers: int | None = None, threads: int = 1) -> None:
        cores = (
            sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
        )
        wanted = max(1, len(cores) // threads) if workers is None else workers
        if wanted < 1:
            raise InputError(f"workers must be at least 0 (none: all in this process), got {wanted}")
        require_memory(wanted * WORKER, f"{wanted} workers")
        self.store, self.threads = store, threads
        # Two drivers with one pinned worker each would meet on one core, so only a full machine is pinned.
        pinned = wanted == len(cores) and threads == 1
        self.places: list[int | None] = list(cores) if pinned else [None] * wanted
        self.workers: list[Worker] = []
        self.stop = 0

    @property
    def workers_wanted(self) -> int:
        return len(self.places)

    @property
    def stopping(self) -> bool:
        return self.stop > 0

    def prepare(self, count: int | None = None) -> None:
        """Start the workers, as many as there is work for; loading torch takes them a few seconds."""
        taken = [worker.core for worker in self.workers]
        free = list(self.places)
        for core in taken:
            free.remove(core)
        before = _interrupts(signal.SIG_IGN)  # inherited: a Ctrl-C at a worker's start must not kill it
        try:
            for core in free[: None if count is None else max(0, count - len(taken))]:
                self.workers.append(Worker(self.store, core, self.threads))
        finally:
            _interrupts(before)

    def run(self, configs: Sequence[RunConfig], watch: EventWatch) -> dict[str, str]:
        """Do all of them. One Ctrl-C lets the running runs finish, a second one ends them."""
        with self._interruptible():
            return _RunQueue(self, configs, watch).go()

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
        self.workers = []

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self.stop += 1

        before = _interrupts(stop)
        try:
            yield
        finally:
            _interrupts(before)


def _interrupts(handler: Any) -> Any:
    """Set the handler of Ctrl-C, where this thread may; returns the previous one."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)


class _RunQueue:
    """One call of `Local.run`."""

    def __init__(self, local: Local, configs: Sequence[RunConfig], watch: EventWatch) -> None:
        self.local, self.watch = local, watch
        self.queue, self.elsewhere = deque(configs), list[RunConfig]()
        self.deaths: dict[str, int] = {}
        self.failures: dict[str, str] = {}
        self.looked, self.early = time.monotonic(), 0

    def go(self) -> dict[str, str]:
        try:
            while self._open():
                self._hand_out()
                self._listen()
                self._look_elsewhere()
        except BaseException:
            self.local.close()
            raise
        if self.local.stop:
            self.local.close()
            raise StudyStopped
        return self.failures

    def _open(self) -> bool:
        busy = any(worker.config for worker in self.local.workers)
        if self.local.stop:
            return busy and self.local.stop == 1
        return bool(busy or self.queue or self.elsewhere)

    def _hand_out(self) -> None:
        """Give runs to idle workers."""
        while self.queue and not self.local.stop:
            if self.local.store.run(self.queue[0].id).done:
                self.watch(Event("done", self.queue.popleft()))
                continue
            busy = sum(worker.config is not None for worker in self.local.workers)
            if len(self.local.workers) < min(len(self.local.places), busy + len(self.queue)):
                self.local.prepare(busy + len(self.queue))
            idle = next((worker for worker in self.local.workers if worker.idle), None)
            if idle is None:
                return
            config = self.queue.popleft()
            idle.start(config)
            self.watch(Event("started", config))

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for worker in self.local.workers:
                assert worker.process.stdout is not None
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            if not self.local.workers:
                time.sleep(0.1)
                return
            for key, _ in selector.select(timeout=0.2):
                messages = key.data.messages()
                if messages is None:
                    self._died(key.data)
                for message in messages or ():
                    self._heard(key.data, message)

    def _heard(self, worker: Worker, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "ready":
            worker.ready, self.early = True, 0
            return
        config = worker.config
        assert config is not None
        if kind == "progress":
            self.watch(Event("progress", config, Progress(**message["progress"])))
            return
        worker.config = None
        if kind == "elsewhere":
            self.elsewhere.append(config)
        error = ""
        if kind == "failed":
            error = self.failures[config.id] = self.local.store.run(config.id).error or message["error"]
        self.watch(Event(kind, config, error=error))

    def _died(self, worker: Worker) -> None:
        """A worker is gone: the run goes on elsewhere, unless it has cost too many workers."""
        self.local.workers.remove(worker)
        why, config = worker.end(), worker.config
        if config is None:
            self.early += not worker.ready
            if self.early >= DEATHS:
                raise InputError(f"a worker process cannot be started ({why})")
            return
        self.deaths[config.id] = self.deaths.get(config.id, 0) + 1
        if self.deaths[config.id] < DEATHS:
            self.queue.appendleft(config)
            return
        error = f"its process died {DEATHS} times ({why})"
        with (run := self.local.store.run(config.id)).claimed() as mine:
            if mine:
                run.fail(error)
        self.failures[config.id] = error
        self.watch(Event("failed", config, error=error))

    def _look_elsewhere(self) -> None:
        """Runs that another driver had claimed: finished by now, or free again."""
        if not self.elsewhere or time.monotonic() - self.looked < POLL:
            return
        self.looked, still = time.monotonic(), []
        for config in self.elsewhere:
            run = self.local.store.run(config.id)
            if run.done:
                self.watch(Event("done", config))
            elif run.busy():
                still.append(config)
            else:
                self.queue.append(config)
        self.elsewhere = still
