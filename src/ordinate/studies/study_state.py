"""Which runs a study needs. This follows from the store alone, so any driver can continue where another stopped."""

from dataclasses import dataclass, field, replace

from ordinate.statistics.looks import Looks
from ordinate.statistics.looks import plan as plan_looks
from ordinate.studies.arm import Arm
from ordinate.studies.plan import HOPELESS, PILOT, PILOT_SHARE
from ordinate.studies.study_results import StudyResults
from ordinate.studies.sweep import choose, grow, left_floor, point
from ordinate.training import RunConfig


@dataclass
class StudyState(StudyResults):
    """A study as far as its store has it: its arms, their pilots and their reported runs."""

    _configs: dict[tuple[str, str, int, float, int], RunConfig] = field(default_factory=dict)

    @property
    def looks(self) -> Looks:
        """After how many seeds to look, and the risk of a false claim at each look."""
        if self.study.seeds == "auto":
            return plan_looks(self.study.tests)
        return Looks((self.study.seeds,), 0.05)

    def config(self, arm: Arm, seed: int, rate: float, steps: int = 0) -> RunConfig:
        """One run, built once because checking and hashing it takes longer than looking it up."""
        key = (arm.task, arm.encoding, seed, rate, steps)
        if key not in self._configs:
            self._configs[key] = arm.base.again(seed, rate, steps or None)
        return self._configs[key]

    @property
    def run_ids(self) -> set[str]:
        """All runs that were looked up so far."""
        return {config.id for config in self._configs.values()}

    def arms(self) -> list[Arm]:
        """One for each task and encoding. Its learning rates do not depend on which others are compared with it."""
        bare = [Arm(task, encoding, base, None) for task, encoding, base in self.study.bases]
        if not self.study.rates:
            return bare
        swept = [self._swept(arm) for arm in bare]
        return [self._limited(arm, [other for other in swept if other.task == arm.task]) for arm in swept]

    def _limited(self, arm: Arm, arms: list[Arm]) -> Arm:
        """An encoding that no pilot learned the task with gets a multiple of the steps that the fastest one took."""
        learned = {other.encoding: step for other in arms if (step := self._learned_at(other)) is not None}
        if arm.base.budget == "fixed" or not learned or arm.encoding in learned:
            return arm
        fastest = min(learned, key=lambda encoding: learned[encoding])
        steps = max(arm.pilot_steps, HOPELESS * learned[fastest])
        return replace(arm, steps=steps, fastest=(fastest, learned[fastest])) if steps < arm.base.steps else arm

    def _learned_at(self, arm: Arm) -> int | None:
        """The fewest steps in which a pilot learned the task."""
        results = [self.result(self.pilot(arm, point.rate)) for point in arm.sweep.points] if arm.sweep else []
        return min((r.learned_at for r in results if r is not None and r.learned_at is not None), default=None)

    def _swept(self, arm: Arm) -> Arm:
        """All arms start with the same rates; a grid grows until its best rate, or one tied with it, is interior."""
        rates, lower = list(self.study.rates), self.task(arm.base).direction == "lower"
        while True:
            arm = self._piloted(arm, rates)
            points = [point(rate, self.result(self.pilot(arm, rate))) for rate in rates]
            arm = replace(arm, sweep=choose(arm.task, arm.encoding, points, lower=lower))
            next_rate = grow(arm.sweep) if arm.sweep else None
            if next_rate is None or self.missing([self.pilot(arm, rate) for rate in rates]):
                return arm
            rates.append(next_rate)

    def _piloted(self, arm: Arm, rates: list[float]) -> Arm:
        """With the budget of its pilots: a part of the whole one, unless all of them end at the floor there."""
        if arm.base.budget == "fixed":
            return replace(arm, pilot_steps=arm.base.steps)
        short = replace(arm, pilot_steps=max(1, arm.base.steps // PILOT_SHARE))
        results = [self.result(config) for rate in rates if (config := self.pilot(short, rate)).id not in self.failed]
        all_done = all(result is not None for result in results) and bool(results)
        return replace(arm, pilot_steps=arm.base.steps) if all_done and not any(map(left_floor, results)) else short

    def pilot(self, arm: Arm, rate: float) -> RunConfig:
        """The run on the pilot seed by which a rate is judged."""
        return self.config(arm, PILOT, rate, arm.pilot_steps)

    def pilots(self) -> list[RunConfig]:
        """The runs that choose learning rates, as far as the grid has grown."""
        return [self.pilot(arm, p.rate) for arm in self.arms() if arm.sweep for p in arm.sweep.points]

    def reported(self, seeds: int) -> list[RunConfig]:
        """Shared seeds; all encodings advance together."""
        arms = self.arms()
        return [self.reported_run(arm, seed) for seed in range(1, seeds + 1) for arm in arms]

    def reported_run(self, arm: Arm, seed: int) -> RunConfig:
        """The run of a reported seed, at the rate that is dealt to it."""
        return self.config(arm, seed, arm.rate(seed), arm.steps)
