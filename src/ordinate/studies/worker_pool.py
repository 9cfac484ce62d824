"""Workers that do runs side by side, wherever they are: a queue that hands the runs out, and outlives its workers."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from ordinate.core.errors import InputError
from ordinate.store import Store
from ordinate.studies.executor import Event, EventWatch, StudyStopped
from ordinate.training import Progress, RunConfig

DEATHS = 3  # of a worker at the same run, before the run counts as failed
POLL = 0.5  # seconds between looks at runs that another driver does

Message = dict[str, Any]  # of a worker: its kind is ready, progress, done, failed or elsewhere


@runtime_checkable
class Worker(Protocol):
    """A process, and the run it is at."""

    config: RunConfig | None
    ready: bool

    @property
    def idle(self) -> bool:
        """Whether it can be given a run. A run is not to blame for a process that died before."""

    def start(self, config: RunConfig) -> None:
        """Give it a run."""

    def end(self) -> str:
        """Stop it; returns how its process ended."""


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class WorkerPool(ABC, Generic[AnyWorker]):
    """Workers that claim runs in the store, so that several drivers may share it; started once and used again."""

    def __init__(self, store: Store, size: int) -> None:
        if size < 1:
            raise InputError(f"workers must be at least 0 (none: all in this process), got {size}")
        self.store, self.workers_wanted, self.stop = store, size, 0
        self.workers: list[AnyWorker] = []

    @property
    def stopping(self) -> bool:
        return self.stop > 0

    @abstractmethod
    def prepare(self, count: int | None = None) -> None:
        """Start the workers, as many as there is work for; loading torch takes them a few seconds."""

    @abstractmethod
    def listen(self) -> Iterable[tuple[AnyWorker, Message | None]]:
        """Messages of workers, for a moment; None if a worker has died."""

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

        before = interrupts(stop)
        try:
            yield
        finally:
            interrupts(before)


def interrupts(handler: Any) -> Any:
    """Set the handler of Ctrl-C, where this thread may; returns the previous one."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)


class _RunQueue(Generic[AnyWorker]):
    """One call of `WorkerPool.run`."""

    def __init__(self, pool: WorkerPool[AnyWorker], configs: Sequence[RunConfig], watch: EventWatch) -> None:
        self.pool, self.watch = pool, watch
        self.queue, self.elsewhere = deque(configs), list[RunConfig]()
        self.deaths: dict[str, int] = {}
        self.failures: dict[str, str] = {}
        self.looked, self.early = time.monotonic(), 0

    def go(self) -> dict[str, str]:
        try:
            while self._open():
                self._hand_out()
                for worker, message in self.pool.listen():
                    if message is None:
                        self._died(worker)
                    else:
                        self._heard(worker, message)
                self._look_elsewhere()
        except BaseException:
            self.pool.close()
            raise
        if self.pool.stop:
            self.pool.close()
            raise StudyStopped
        return self.failures

    def _open(self) -> bool:
        busy = any(worker.config for worker in self.pool.workers)
        if self.pool.stop:
            return busy and self.pool.stop == 1
        return bool(busy or self.queue or self.elsewhere)

    def _hand_out(self) -> None:
        """Give runs to idle workers."""
        while self.queue and not self.pool.stop:
            if self.pool.store.run(self.queue[0].id).done:
                self.watch(Event("done", self.queue.popleft()))
                continue
            busy = sum(worker.config is not None for worker in self.pool.workers)
            if len(self.pool.workers) < min(self.pool.workers_wanted, busy + len(self.queue)):
                self.pool.prepare(busy + len(self.queue))
            idle = next((worker for worker in self.pool.workers if worker.idle), None)
            if idle is None:
                return
            config = self.queue.popleft()
            idle.start(config)
            self.watch(Event("started", config))

    def _heard(self, worker: AnyWorker, message: Message) -> None:
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
            error = self.failures[config.id] = self.pool.store.run(config.id).error or message["error"]
        self.watch(Event(kind, config, error=error))

    def _died(self, worker: AnyWorker) -> None:
        """A worker is gone: the run goes on elsewhere, unless it has cost too many workers."""
        self.pool.workers.remove(worker)
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
        with (run := self.pool.store.run(config.id)).claimed() as mine:
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
            run = self.pool.store.run(config.id)
            if run.done:
                self.watch(Event("done", config))
            elif run.busy():
                still.append(config)
            else:
                self.queue.append(config)
        self.elsewhere = still
