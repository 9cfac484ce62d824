"""Who does the runs. All executors give the same results; only the time they take differs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from ordinate.core.errors import error_text
from ordinate.store import Store
from ordinate.training import Progress, RunConfig, train


@dataclass(frozen=True)
class Event:
    """Something that happened to a run."""

    kind: Literal["started", "progress", "done", "failed", "elsewhere"]  # elsewhere: another driver is at it
    config: RunConfig
    progress: Progress | None = None
    error: str = ""


EventWatch = Callable[[Event], None]


class StudyStopped(Exception):  # noqa: N818
    """The user wanted no more runs to be started."""


@runtime_checkable
class Executor(Protocol):
    """Executes runs and reports the progress of each; a failed run does not stop the others."""

    @property
    def workers_wanted(self) -> int:
        """How many runs go on side by side, in processes of their own; 0: one, in this process."""

    @property
    def stopping(self) -> bool:
        """Whether it only waits for runs under way."""

    def run(self, configs: Sequence[RunConfig], watch: EventWatch) -> dict[str, str]:
        """Do all of them that are not done. Returns the errors of those that failed, by run."""

    def close(self) -> None:
        """Free what was held for the next call."""


class Plain:
    """One run after the other, in this process."""

    workers_wanted, stopping = 0, False

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, configs: Sequence[RunConfig], watch: EventWatch) -> dict[str, str]:
        failures = {}
        for config in configs:

            def report(progress: Progress, config: RunConfig = config) -> None:
                watch(Event("progress", config, progress))

            watch(Event("started", config))
            try:
                train(config, self.store, report)
            except Exception as error:  # kept with the run, whatever it is
                failures[config.id] = self.store.run(config.id).error or error_text(error)
                watch(Event("failed", config, error=failures[config.id]))
            else:
                watch(Event("done", config))
        return failures

    def close(self) -> None:
        pass
