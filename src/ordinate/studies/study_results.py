"""The results of a study's runs, read from the store once each."""

from dataclasses import dataclass, field

from ordinate.core.errors import InputError, error_text
from ordinate.core.task import Task
from ordinate.results.run_result import RunResult
from ordinate.statistics.observations import RangeKey
from ordinate.store import Store
from ordinate.studies.plan import Study
from ordinate.training import RunConfig
from ordinate.training.data import evaluation_sets

# By task, lengths and number of sequences, for all studies of a process: drawing the problems takes longer than
# reading a study's results.
_HASHES: dict[tuple[str, tuple[int, ...], tuple[int, ...], int], dict[RangeKey, str]] = {}


@dataclass
class StudyResults:
    """A reader with a cache. Runs in `failed`, some of which are done but cannot be read, are not waited for."""

    study: Study
    store: Store
    failed: dict[str, str] = field(default_factory=dict)  # errors by run
    damaged: dict[str, str] = field(default_factory=dict)  # the part of `failed` whose results cannot be read
    _results: dict[str, RunResult] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)

    def result(self, config: RunConfig) -> RunResult | None:
        """The result of a run; None if it is not done. A result that cannot be used counts as failed."""
        if config.id not in self._results and config.id not in self.damaged:
            run = self.store.run(config.id)
            try:
                if not run.done:
                    return None
                self._results[config.id] = self._usable(config, run.result)
            except (InputError, OSError) as error:
                self.damaged[config.id] = self.failed[config.id] = error_text(error)
        return self._results.get(config.id)

    def _usable(self, config: RunConfig, result: RunResult) -> RunResult:
        if result.hashes != self.problem_hashes(config):
            raise InputError(
                f"run {config.id} was scored on other problems than {config.task} gives now: use another store"
            )
        return result

    def missing(self, configs: list[RunConfig]) -> list[RunConfig]:
        """The runs that are still to be done."""
        return [c for c in configs if self.result(c) is None and c.id not in self.failed]  # reading may find damage

    def task(self, config: RunConfig) -> Task:
        """The task of a run, built once."""
        if config.task not in self._tasks:
            self._tasks[config.task] = config.make_task()
        return self._tasks[config.task]

    def problem_hashes(self, config: RunConfig) -> dict[RangeKey, str]:
        """The problems that all runs of a task are scored on."""
        key = config.task, config.test_lengths, config.ood_lengths, config.evaluation_sequences
        if key not in _HASHES:
            _HASHES[key] = {(s.split, s.length): s.hash for s in evaluation_sets(config, self.task(config))}
        return _HASHES[key]
