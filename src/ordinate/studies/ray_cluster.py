"""Runs side by side on a Ray cluster: one actor per worker, on whatever node has room for it."""

import time
from collections.abc import Iterator
from contextlib import suppress

from ordinate.core.config import to_dict
from ordinate.core.errors import InputError
from ordinate.core.extras import require_extra
from ordinate.core.memory import require_memory
from ordinate.store import Store
from ordinate.studies.local import WORKER, usable_cores
from ordinate.studies.ray_actor import RunActor
from ordinate.studies.ray_connection import Connection
from ordinate.studies.worker_pool import Message, WorkerPool
from ordinate.training import RunConfig


class RayWorker:
    """An actor, and the run it is at."""

    def __init__(self, connection: Connection, store: Store, threads: int) -> None:
        self.ray, self.ready, self.how = connection.ray, False, "stopped"
        self.config: RunConfig | None = None
        # One call does the run, one listens. Nothing restarts by itself: the queue decides where a run goes on.
        actor = connection.remote(
            RunActor, num_cpus=threads, max_concurrency=2, max_restarts=0, max_task_retries=0,
            scheduling_strategy="SPREAD",
        )  # fmt: skip
        self.actor = actor.remote(str(store.folder.absolute()), connection.path)
        self.heard = self.actor.listen.remote()

    @property
    def idle(self) -> bool:
        return self.ready and self.config is None

    def start(self, config: RunConfig) -> None:
        self.config = config
        self.actor.work.remote(to_dict(config))

    def messages(self) -> list[Message] | None:
        """Messages since the last call; None if its process or its node has died."""
        try:
            messages: list[Message] = self.ray.get(self.heard)
        except self.ray.exceptions.RayError as error:
            self.how = _last_words(error)
            return None
        self.heard = self.actor.listen.remote()
        return messages

    def end(self) -> str:
        with suppress(Exception):  # the cluster may be gone
            self.ray.kill(self.actor)
        return self.how


class RayCluster(WorkerPool[RayWorker]):
    """Actors on the nodes of the cluster at an address, or of one that runs on this machine until `close`."""

    def __init__(self, store: Store, workers: int | None = None, threads: int = 1, address: str | None = None) -> None:
        require_extra("ray")
        super().__init__(store, 1 if workers is None else workers)
        self.address, self.threads = address, threads
        self.cpus = max(len(usable_cores()), threads)  # of this machine
        self.connection = None if address is None else Connection(address, self.cpus)
        room = self.connection.room(threads) if self.connection else self.cpus // threads
        if workers is None and room:
            self.workers_wanted = room
        if self.workers_wanted > room:
            self.close()
            each = f"{threads} CPU{'s' * (threads != 1)} each"
            fix = "choose fewer with --workers, or add nodes" if room else "add nodes"
            raise InputError(f"{self.workers_wanted} workers with {each} do not fit: Ray has CPUs for {room}, {fix}")
        if self.connection is None:
            require_memory(self.workers_wanted * WORKER, f"{self.workers_wanted} workers")

    def prepare(self, count: int | None = None) -> None:
        if self.connection is None:
            self.connection = Connection(self.address, self.cpus)
        self.connection.check_nodes(self.store, self.threads)
        wanted = self.workers_wanted if count is None else min(count, self.workers_wanted)
        for _ in range(wanted - len(self.workers)):
            self.workers.append(RayWorker(self.connection, self.store, self.threads))

    def listen(self) -> Iterator[tuple[RayWorker, Message | None]]:
        if self.connection is None or not self.workers:
            time.sleep(0.1)
            return
        wait, waiting = self.connection.ray.wait, {worker.heard: worker for worker in self.workers}
        wait(list(waiting), timeout=0.2)  # for one of them
        heard, _ = wait(list(waiting), num_returns=len(waiting), timeout=0)
        for worker in [waiting[answer] for answer in heard]:
            messages = worker.messages()
            yield from ((worker, message) for message in ([None] if messages is None else messages))

    def close(self) -> None:
        super().close()
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _last_words(error: Exception) -> str:
    """The first sentence of the last line: Ray says before where it was, and after what might be the reasons."""
    return str(error).strip().rpartition("\n")[2].partition(". ")[0]
