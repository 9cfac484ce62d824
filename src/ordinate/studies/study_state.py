"""How far a study is. It follows from the store alone, so any driver can go on where another stopped."""

from dataclasses import dataclass, field, replace

from ordinate.core.errors import InputError, told
from ordinate.core.task import Task
from ordinate.results.comparison import Sweep
from ordinate.results.run_result import RunResult
from ordinate.statistics.looks import Looks
from ordinate.statistics.looks import plan as plan_looks
from ordinate.store import Store
from ordinate.studies.plan import PILOT, PILOT_SHARE, Study
from ordinate.studies.sweep import choose, grow, left_floor, point
from ordinate.training import RunConfig
from ordinate.training.data import evaluation_sets


@dataclass(frozen=True)
class Arm:
    """One encoding on one task, with the rate that its reported runs have."""

    task: str
    encoding: str
    base: RunConfig
    sweep: Sweep | None  # none: nothing is swept
    pilot_steps: int = 0  # the largest budget of its pilots

    @property
    def rate(self) -> float:
        return self.sweep.chosen if self.sweep else self.base.lr


@dataclass
class StudyState:
    """A study as far as its store has it. Runs in `failed` are not waited for, nor are those that cannot be read."""

    study: Study
    store: Store
    failed: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)  # some of `failed`: done, but unreadable
    _results: dict[str, RunResult] = field(default_factory=dict)
    _hashes: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    _configs: dict[tuple[str, str, int, float, int], RunConfig] = field(default_factory=dict)
    _tasks: dict[str, Task] = field(default_factory=dict)

    @property
    def looks(self) -> Looks:
        """After how many seeds to look, and the risk of a false claim at each look."""
        if self.study.seeds == "auto":
            return plan_looks(self.study.pairs)
        return Looks((self.study.seeds,), 0.05)

    def config(self, arm: Arm, seed: int, rate: float, steps: int = 0) -> RunConfig:
        """One run; made once, because checking and hashing it takes longer than looking it up."""
        key = (arm.task, arm.encoding, seed, rate, steps)
        if key not in self._configs:
            self._configs[key] = arm.base.again(seed, rate, steps or None)
        return self._configs[key]

    def task(self, config: RunConfig) -> Task:
        """The task of a run; made once, because it is looked for among all that is installed."""
        if config.task not in self._tasks:
            self._tasks[config.task] = config.make_task()
        return self._tasks[config.task]

    def result(self, config: RunConfig) -> RunResult | None:
        """What a run came to, read once. One that cannot be used counts as failed, and takes no other with it."""
        if config.id not in self._results and config.id not in self.damaged:
            run = self.store.run(config.id)
            try:
                if not run.done:
                    return None
                self._results[config.id] = self._usable(config, run.result)
            except (InputError, OSError) as error:
                self.damaged[config.id] = self.failed[config.id] = told(error)
        return self._results.get(config.id)

    def _usable(self, config: RunConfig, result: RunResult) -> RunResult:
        """Its problems must be those that the task gives now."""
        if result.hashes != self.sets(config):
            raise InputError(
                f"run {config.id} was scored on other problems than {config.task} gives now: use another store"
            )
        return result

    @property
    def asked(self) -> set[str]:
        """The runs that it has looked for so far."""
        return {config.id for config in self._configs.values()}

    def sets(self, config: RunConfig) -> dict[tuple[str, int], str]:
        """The hashes of the problems that all runs of a task are scored on, by split and length."""
        if config.task not in self._hashes:
            sets = evaluation_sets(config, self.task(config))
            self._hashes[config.task] = {(s.split, s.length): s.hash for s in sets}
        return self._hashes[config.task]

    def waiting(self, configs: list[RunConfig]) -> list[RunConfig]:
        """Those that are still to be done."""
        return [c for c in configs if self.result(c) is None and c.id not in self.failed]  # reading may find damage

    def arms(self) -> list[Arm]:
        """One for each task and encoding. No arm depends on which others are compared with it."""
        bare = [Arm(task, encoding, base, None) for task, encoding, base in self.study.bases]
        return [self._swept(arm) for arm in bare] if self.study.rates else bare

    def _swept(self, arm: Arm) -> Arm:
        """All start with the same rates; a grid grows until its best rate, or one tied with it, is interior."""
        rates, lower = list(self.study.rates), self.task(arm.base).direction == "lower"
        while True:
            arm = self._piloted(arm, rates)
            points = [point(rate, self.result(self.pilot(arm, rate))) for rate in rates]
            arm = replace(arm, sweep=choose(arm.task, arm.encoding, points, lower=lower))
            more = grow(arm.sweep) if arm.sweep else None
            if more is None or self.waiting([self.pilot(arm, rate) for rate in rates]):
                return arm
            rates.append(more)

    def _piloted(self, arm: Arm, rates: list[float]) -> Arm:
        """With the budget of its pilots: a part of the whole one, unless all of them end at the floor there."""
        if arm.base.budget == "fixed":
            return replace(arm, pilot_steps=arm.base.steps)
        short = replace(arm, pilot_steps=max(1, arm.base.steps // PILOT_SHARE))
        results = [self.result(config) for rate in rates if (config := self.pilot(short, rate)).id not in self.failed]
        told = all(result is not None for result in results) and bool(results)
        return replace(arm, pilot_steps=arm.base.steps) if told and not any(map(left_floor, results)) else short

    def pilot(self, arm: Arm, rate: float) -> RunConfig:
        """The run that tells how good a rate is."""
        return self.config(arm, PILOT, rate, arm.pilot_steps)

    def pilots(self) -> list[RunConfig]:
        """The runs that choose learning rates, as far as the grid has grown."""
        return [self.pilot(arm, p.rate) for arm in self.arms() if arm.sweep for p in arm.sweep.points]

    def reported(self, seeds: int) -> list[RunConfig]:
        """Paired seeds at the chosen rates; all encodings advance together."""
        arms = self.arms()
        return [self.config(arm, seed, arm.rate) for seed in range(1, seeds + 1) for arm in arms]
